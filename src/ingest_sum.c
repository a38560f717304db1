/*
 * ingest_sum.c
 *		Counts of a stream: records of each event, values of its variable
 *		parts. Old counts are read, new ones added, all written again.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "ingest_pack.h"
#include "l4_compat.h"

typedef struct EventSum
{
	int32		event_id;
	char		status;
	int64		occurrences;
	TimestampTz first_ts;
	TimestampTz last_ts;
	int64		first_line_no;
	int64		last_line_no;
} EventSum;

typedef struct SlotSum
{
	uint64		key;			/* event and place */
	char		status;
	int32		event_id;
	int32		pos;
	char	   *mask;
	bool		many;
	int			nvalues;
	int			values_size;
	L4Value    *values;
} SlotSum;

#define SH_PREFIX eventsum
#define SH_ELEMENT_TYPE EventSum
#define SH_KEY_TYPE int32
#define SH_KEY event_id
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) (key))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define SH_PREFIX slotsum
#define SH_ELEMENT_TYPE SlotSum
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) ((key) ^ ((key) >> 32) * 0x9e3779b1))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct L4Sums
{
	MemoryContext cxt;
	eventsum_hash *events;
	slotsum_hash *slots;
};

enum
{
	SL_EVENT, SL_SLOT, SL_N, SL_MASK, SL_VALUE, SL_COUNT, SL_TS, SL_COLS
};

static SlotSum *
slot_sum(L4Sums *sums, int32 event_id, int32 pos, const char *mask)
{
	uint64		key = ((uint64) (uint32) event_id << 32) | (uint32) pos;
	SlotSum    *slot;
	bool		found;

	slot = slotsum_insert(sums->slots, key, &found);
	if (!found)
	{
		slot->event_id = event_id;
		slot->pos = pos;
		slot->mask = MemoryContextStrdup(sums->cxt, mask);
		slot->many = false;
		slot->nvalues = slot->values_size = 0;
		slot->values = NULL;
	}
	return slot;
}

/* Add occurrences of a value; the 33rd different one ends the counting, and new ones are not kept from then on. */
static void
slot_add(L4Sums *sums, SlotSum *slot, const char *text, int len, int64 occurrences, TimestampTz ts)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) text, len, 0);
	L4Value    *value;

	for (int i = 0; i < slot->nvalues; i++)
	{
		value = &slot->values[i];
		if (value->hash == hash)
		{
			value->occurrences += occurrences;
			if (ts != L4_NO_TS && (value->first_ts == L4_NO_TS || ts < value->first_ts))
				value->first_ts = ts;
			return;
		}
	}
	if (slot->many || slot->nvalues >= L4_MAX_VALUES)
	{
		slot->many = true;
		return;
	}
	if (slot->nvalues >= slot->values_size)
	{
		int			size = slot->values_size == 0 ? 4 : slot->values_size * 2;

		slot->values = slot->values == NULL ? MemoryContextAlloc(sums->cxt, sizeof(L4Value) * size)
			: repalloc(slot->values, sizeof(L4Value) * size);
		slot->values_size = size;
	}
	value = &slot->values[slot->nvalues++];
	value->hash = hash;
	value->text = MemoryContextAlloc(sums->cxt, len + 1);
	memcpy(value->text, text, len);
	value->text[len] = '\0';
	value->len = len;
	value->occurrences = occurrences;
	value->first_ts = ts;
}

static void
read_events(L4Sums *sums, bytea *packed)
{
	L4Pack	   *pack = l4_pack_decode(packed, CurrentMemoryContext);

	if (pack->ncols != L4_EVENT_COLS)
		l4_pack_corrupted("events");
	for (int i = 0; i < pack->nrows; i++)
	{
		bool		found;
		EventSum   *event = eventsum_insert(sums->events, (int32) pack->cols[L4_EVENT_ID].ints[i], &found);

		event->occurrences = pack->cols[L4_EVENT_OCCURRENCES].ints[i];
		event->first_ts = l4_pack_is_null(pack, L4_EVENT_FIRST_TS, i) ? L4_NO_TS : pack->cols[L4_EVENT_FIRST_TS].ints[i];
		event->last_ts = l4_pack_is_null(pack, L4_EVENT_LAST_TS, i) ? L4_NO_TS : pack->cols[L4_EVENT_LAST_TS].ints[i];
		event->first_line_no = pack->cols[L4_EVENT_FIRST_LINE].ints[i];
		event->last_line_no = pack->cols[L4_EVENT_LAST_LINE].ints[i];
	}
}

static void
read_slots(L4Sums *sums, bytea *packed)
{
	L4Pack	   *pack = l4_pack_decode(packed, CurrentMemoryContext);

	if (pack->ncols != SL_COLS)
		l4_pack_corrupted("slots");
	for (int i = 0; i < pack->nrows; i++)
	{
		L4PackCol  *mask = &pack->cols[SL_MASK];
		L4PackCol  *value = &pack->cols[SL_VALUE];
		char		name[64];
		SlotSum    *slot;

		strlcpy(name, "", sizeof(name));
		memcpy(name, mask->entry[mask->ints[i]], Min(mask->entry_len[mask->ints[i]], (int) sizeof(name) - 1));
		name[Min(mask->entry_len[mask->ints[i]], (int) sizeof(name) - 1)] = '\0';
		slot = slot_sum(sums, (int32) pack->cols[SL_EVENT].ints[i], (int32) pack->cols[SL_SLOT].ints[i], name);
		slot_add(sums, slot, value->entry[value->ints[i]], value->entry_len[value->ints[i]],
				 pack->cols[SL_COUNT].ints[i],
				 l4_pack_is_null(pack, SL_TS, i) ? L4_NO_TS : pack->cols[SL_TS].ints[i]);
	}
	/* when all that was kept is there again */
	for (int i = 0; i < pack->nrows; i++)
		if (l4_pack_is_null(pack, SL_COUNT, i))
			slot_sum(sums, (int32) pack->cols[SL_EVENT].ints[i], (int32) pack->cols[SL_SLOT].ints[i], "")->many = true;
}

L4Sums *
l4_sums_create(bytea *events, bytea *slots, MemoryContext cxt)
{
	L4Sums	   *sums = MemoryContextAllocZero(cxt, sizeof(L4Sums));

	sums->cxt = cxt;
	sums->events = eventsum_create(cxt, 256, NULL);
	sums->slots = slotsum_create(cxt, 256, NULL);
	if (events != NULL)
		read_events(sums, events);
	if (slots != NULL)
		read_slots(sums, slots);
	return sums;
}

void
l4_sums_add_record(L4Sums *sums, int32 event_id, const L4UnitRec *rec)
{
	bool		found;
	EventSum   *event = eventsum_insert(sums->events, event_id, &found);

	if (!found)
	{
		event->occurrences = 0;
		event->first_ts = event->last_ts = L4_NO_TS;
		event->first_line_no = event->last_line_no = rec->line_no;
	}
	event->occurrences++;
	if (rec->ts != L4_NO_TS)
	{
		if (event->first_ts == L4_NO_TS || rec->ts < event->first_ts)
			event->first_ts = rec->ts;
		if (event->last_ts == L4_NO_TS || rec->ts > event->last_ts)
			event->last_ts = rec->ts;
	}
	event->first_line_no = Min(event->first_line_no, rec->line_no);
	event->last_line_no = Max(event->last_line_no, rec->line_no);
}

/* May a record of this time and line be the first one of its event in the stream? By time, those without one last, then by line. */
bool
l4_sums_may_be_first(L4Sums *sums, int32 event_id, TimestampTz ts, int64 line_no)
{
	const EventSum *event = eventsum_lookup(sums->events, event_id);

	if (event == NULL)
		return true;
	if (ts == L4_NO_TS)
		return event->first_ts == L4_NO_TS && line_no < event->first_line_no;
	/* which line had the lowest time is not kept: the job's record decides */
	return event->first_ts == L4_NO_TS || ts <= event->first_ts;
}

void
l4_sums_add_values(L4Sums *sums, const L4Local *local, const L4Param *param)
{
	SlotSum    *slot = slot_sum(sums, local->event_id, param->pos, param->mask_name);

	for (int i = 0; i < param->nvalues; i++)
		slot_add(sums, slot, param->values[i].text, param->values[i].len,
				 param->values[i].occurrences, param->values[i].first_ts);
	slot->many |= param->many;
}

static int
compare_events(const void *a, const void *b)
{
	int32		x = (*(EventSum *const *) a)->event_id;
	int32		y = (*(EventSum *const *) b)->event_id;

	return x < y ? -1 : x > y;
}

static int
compare_slots(const void *a, const void *b)
{
	uint64		x = (*(SlotSum *const *) a)->key;
	uint64		y = (*(SlotSum *const *) b)->key;

	return x < y ? -1 : x > y;
}

bytea *
l4_sums_events(L4Sums *sums)
{
	L4Pack	   *pack = l4_pack_create(sums->cxt);
	EventSum  **sorted = (EventSum **) palloc(sizeof(EventSum *) * Max(sums->events->members, 1));
	eventsum_iterator it;
	EventSum   *event;
	int			n = 0;

	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	eventsum_start_iterate(sums->events, &it);
	while ((event = eventsum_iterate(sums->events, &it)) != NULL)
		sorted[n++] = event;
	qsort(sorted, n, sizeof(EventSum *), compare_events);
	for (int i = 0; i < n; i++)
	{
		event = sorted[i];
		l4_pack_int(pack, L4_EVENT_ID, event->event_id);
		l4_pack_int(pack, L4_EVENT_OCCURRENCES, event->occurrences);
		l4_pack_ts(pack, L4_EVENT_FIRST_TS, event->first_ts);
		l4_pack_ts(pack, L4_EVENT_LAST_TS, event->last_ts);
		l4_pack_int(pack, L4_EVENT_FIRST_LINE, event->first_line_no);
		l4_pack_int(pack, L4_EVENT_LAST_LINE, event->last_line_no);
	}
	pfree(sorted);
	return n == 0 ? NULL : l4_pack_encode(pack);
}

/*
 * Values that are kept. Many different ones that are all measured, fractions
 * or durations, name nothing that could be looked for: some show what they
 * are like.
 */
static int
kept_values(const SlotSum *slot)
{
	if (!slot->many || slot->nvalues <= L4_MAX_MEASURES)
		return slot->nvalues;
	if (strcmp(slot->mask, "duration") != 0)
		for (int i = 0; i < slot->nvalues; i++)
			if (memchr(slot->values[i].text, '.', slot->values[i].len) == NULL ||
				strspn(slot->values[i].text, "+-.0123456789eE") < (size_t) slot->values[i].len)
				return slot->nvalues;
	return L4_MAX_MEASURES;
}

bytea *
l4_sums_slots(L4Sums *sums)
{
	L4Pack	   *pack = l4_pack_create(sums->cxt);
	SlotSum   **sorted = (SlotSum **) palloc(sizeof(SlotSum *) * Max(sums->slots->members, 1));
	slotsum_iterator it;
	SlotSum    *slot;
	int			n = 0;

	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_TEXT, "");
	l4_pack_add_col(pack, L4_PACK_TEXT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	l4_pack_add_col(pack, L4_PACK_INT, "");
	slotsum_start_iterate(sums->slots, &it);
	while ((slot = slotsum_iterate(sums->slots, &it)) != NULL)
		sorted[n++] = slot;
	qsort(sorted, n, sizeof(SlotSum *), compare_slots);
	for (int i = 0; i < n; i++)
	{
		int			nkept = kept_values(sorted[i]);

		slot = sorted[i];
		for (int k = 0; k < nkept; k++)
		{
			L4Value    *value = &slot->values[k];

			l4_pack_int(pack, SL_EVENT, slot->event_id);
			l4_pack_int(pack, SL_SLOT, slot->pos);
			l4_pack_int(pack, SL_N, k);
			l4_pack_text(pack, SL_MASK, slot->mask, strlen(slot->mask));
			l4_pack_text(pack, SL_VALUE, value->text, value->len);
			if (slot->many)
				l4_pack_null(pack, SL_COUNT);
			else
				l4_pack_int(pack, SL_COUNT, value->occurrences);
			l4_pack_ts(pack, SL_TS, value->first_ts);
		}
	}
	pfree(sorted);
	return n == 0 ? NULL : l4_pack_encode(pack);
}
