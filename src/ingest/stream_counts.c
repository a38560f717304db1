/*
 * stream_counts.c
 *		Counts of a stream: records of each event, values of its variable
 *		parts. Old counts are read, new ones added, all written again.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/map.h"
#include "base/order.h"
#include "ingest/ingest_pack.h"
#include "packed/sections.h"

typedef struct EventSum
{
	int32		event_id;
	int64		occurrences;
	TimestampTz first_ts;
	TimestampTz last_ts;
	int64		first_line_no;
	int64		last_line_no;
} EventSum;

typedef struct SlotSum
{
	uint64		key;			/* event and place */
	int32		event_id;
	int32		pos;
	bool		many;
	bool		more;			/* many once all values are there */
	int64		records;		/* that have the slot */
	int			nvalues;
	int			values_size;
	L4Value    *values;
} SlotSum;

/* Numbers are places in the arrays, from 1. */
struct L4StreamCounts
{
	MemoryContext cxt;
	L4Map	   *event_numbers;
	int			nevents;
	int			events_size;
	EventSum   *events;
	L4Map	   *slot_numbers;
	int			nslots;
	int			slots_size;
	SlotSum    *slots;
};

/* The sum of an event, valid until that of another one is asked for. */
static EventSum *
event_sum(L4StreamCounts *counts, int32 event_id, int64 line_no)
{
	int32	   *number = l4_map_put(counts->event_numbers, event_id, NULL);

	if (*number == 0)
	{
		L4_GROW(counts->events, counts->nevents, counts->events_size, counts->cxt);
		counts->events[counts->nevents++] = (EventSum) {.event_id = event_id, .first_ts = L4_NO_TS, .last_ts = L4_NO_TS,
			.first_line_no = line_no, .last_line_no = line_no};
		*number = counts->nevents;
	}
	return &counts->events[*number - 1];
}

static SlotSum *
slot_sum(L4StreamCounts *counts, int32 event_id, int32 pos)
{
	uint64		key = ((uint64) (uint32) event_id << 32) | (uint32) pos;
	int32	   *number = l4_map_put(counts->slot_numbers, key, NULL);

	if (*number == 0)
	{
		L4_GROW(counts->slots, counts->nslots, counts->slots_size, counts->cxt);
		counts->slots[counts->nslots++] = (SlotSum) {.key = key, .event_id = event_id, .pos = pos};
		*number = counts->nslots;
	}
	return &counts->slots[*number - 1];
}

/* A place for one more value: where there are enough, that of the one that came last, if this one came before it. */
static L4Value *
slot_room(L4StreamCounts *counts, SlotSum *slot, int64 line_no)
{
	L4Value    *last = NULL;
	int			room = slot->many ? slot->nvalues : L4_MAX_VALUES;

	if (slot->nvalues < room)
	{
		L4_GROW_FROM(slot->values, slot->nvalues, slot->values_size, 4, counts->cxt);
		return &slot->values[slot->nvalues++];
	}
	slot->many = true;
	for (int i = 0; i < slot->nvalues; i++)
		if (last == NULL || slot->values[i].first_line_no > last->first_line_no)
			last = &slot->values[i];
	return last != NULL && last->first_line_no > line_no ? last : NULL;
}

/*
 * Add occurrences of a value. Kept are the values whose first lines are the
 * lowest, whatever order they come in; the 33rd different one ends the counting.
 */
static void
slot_add(L4StreamCounts *counts, SlotSum *slot, const L4Value *add)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) add->text, add->len, 0);
	L4Value    *value;

	for (int i = 0; i < slot->nvalues; i++)
	{
		value = &slot->values[i];
		if (value->hash != hash)
			continue;
		value->occurrences += add->occurrences;
		value->first_ts = l4_earlier(value->first_ts, add->first_ts);
		value->first_line_no = Min(value->first_line_no, add->first_line_no);
		if (strcmp(add->mask, value->mask) < 0)
			value->mask = add->mask;
		return;
	}
	value = slot_room(counts, slot, add->first_line_no);
	if (value == NULL)
		return;
	*value = *add;
	value->hash = hash;
	value->text = MemoryContextAlloc(counts->cxt, Max(add->len, 1));
	memcpy(value->text, add->text, add->len);
}

static void
read_events(L4StreamCounts *counts, bytea *packed)
{
	L4Pack	   *pack = l4_pack_decode(packed, CurrentMemoryContext);

	if (pack->ncols != L4_EVENT_COLS)
		l4_bytes_corrupted("events");
	for (int i = 0; i < pack->nrows; i++)
	{
		EventSum   *event = event_sum(counts, (int32) pack->cols[L4_EVENT_ID].ints[i], 0);

		event->occurrences = pack->cols[L4_EVENT_OCCURRENCES].ints[i];
		event->first_ts = l4_pack_get_ts(pack, L4_EVENT_FIRST_TS, i);
		event->last_ts = l4_pack_get_ts(pack, L4_EVENT_LAST_TS, i);
		event->first_line_no = pack->cols[L4_EVENT_FIRST_LINE].ints[i];
		event->last_line_no = pack->cols[L4_EVENT_LAST_LINE].ints[i];
	}
}

static void
read_slots(L4StreamCounts *counts, bytea *packed)
{
	L4Pack	   *pack = l4_pack_decode(packed, CurrentMemoryContext);
	L4PackCol  *cols = pack->cols;
	const char **masks;

	if (pack->ncols != L4_SLOT_COLS)
		l4_bytes_corrupted("slots");
	masks = (const char **) palloc(sizeof(char *) * Max(cols[L4_SLOT_MASK].nentries, 1));
	for (int i = 0; i < cols[L4_SLOT_MASK].nentries; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(counts->cxt);

		masks[i] = pnstrdup(cols[L4_SLOT_MASK].entry[i], cols[L4_SLOT_MASK].entry_len[i]);
		MemoryContextSwitchTo(old);
	}
	for (int i = 0; i < pack->nrows; i++)
	{
		SlotSum    *slot = slot_sum(counts, (int32) cols[L4_SLOT_EVENT].ints[i], (int32) cols[L4_SLOT_PLACE].ints[i]);
		int			entry = (int) cols[L4_SLOT_VALUE].ints[i];
		L4Value		value;

		memset(&value, 0, sizeof(value));
		value.text = cols[L4_SLOT_VALUE].entry[entry];
		value.len = cols[L4_SLOT_VALUE].entry_len[entry];
		value.mask = masks[cols[L4_SLOT_MASK].ints[i]];
		value.occurrences = Max(cols[L4_SLOT_COUNT].ints[i], 0);
		value.first_ts = l4_pack_get_ts(pack, L4_SLOT_TS, i);
		value.first_line_no = cols[L4_SLOT_LINE].ints[i];
		slot_add(counts, slot, &value);
		slot->records += l4_slot_records(cols[L4_SLOT_COUNT].ints[i]);
	}
	/* when all that was kept is there again */
	for (int i = 0; i < pack->nrows; i++)
		if (cols[L4_SLOT_COUNT].ints[i] <= 0)
			slot_sum(counts, (int32) cols[L4_SLOT_EVENT].ints[i], (int32) cols[L4_SLOT_PLACE].ints[i])->many = true;
}

L4StreamCounts *
l4_stream_counts_create(bytea *events, bytea *slots, MemoryContext cxt)
{
	L4StreamCounts	   *counts = MemoryContextAllocZero(cxt, sizeof(L4StreamCounts));

	counts->cxt = cxt;
	counts->event_numbers = l4_map_create(cxt, 256, NULL);
	counts->slot_numbers = l4_map_create(cxt, 256, NULL);
	if (events != NULL)
		read_events(counts, events);
	if (slots != NULL)
		read_slots(counts, slots);
	return counts;
}

/* Records of an event: one, or those that another server has counted. */
void
l4_stream_counts_add_event(L4StreamCounts *counts, int32 event_id, int64 occurrences, TimestampTz first_ts, TimestampTz last_ts,
						   int64 first_line_no, int64 last_line_no)
{
	EventSum   *event = event_sum(counts, event_id, first_line_no);

	event->occurrences += occurrences;
	event->first_ts = l4_earlier(event->first_ts, first_ts);
	event->last_ts = Max(event->last_ts, last_ts);
	event->first_line_no = Min(event->first_line_no, first_line_no);
	event->last_line_no = Max(event->last_line_no, last_line_no);
}

/* A value of a slot that was kept elsewhere; counted: all values of the slot are. */
void
l4_stream_counts_add_value(L4StreamCounts *counts, int32 event_id, int32 pos, const L4SlotOut *add, bool counted)
{
	SlotSum    *slot = slot_sum(counts, event_id, pos);
	L4Value		value;

	memset(&value, 0, sizeof(value));
	value.text = unconstify(char *, add->text);
	value.len = add->len;
	value.mask = MemoryContextStrdup(counts->cxt, pnstrdup(add->mask, add->mask_len));
	value.occurrences = Max(add->occurrences, 0);
	value.first_ts = add->ts;
	value.first_line_no = add->line_no;
	slot_add(counts, slot, &value);
	slot->records += l4_slot_records(add->occurrences);
	slot->more |= !counted;
}

/* May a record of this time and line be the first one of its event in the stream? By time, those without one last, then by line. */
bool
l4_stream_counts_may_be_first(L4StreamCounts *counts, int32 event_id, TimestampTz ts, int64 line_no)
{
	int32		number = l4_map_get(counts->event_numbers, event_id);
	const EventSum *event;

	if (number == 0)
		return true;
	event = &counts->events[number - 1];
	if (ts == L4_NO_TS)
		return event->first_ts == L4_NO_TS && line_no < event->first_line_no;
	/* which line had the lowest time is not kept: the job's record decides */
	return event->first_ts == L4_NO_TS || ts <= event->first_ts;
}

/* Add the values of a variable part. */
static void
add_values(L4StreamCounts *counts, const L4Local *local, int32 event_id, const L4Param *param)
{
	SlotSum    *slot = slot_sum(counts, event_id, param->pos);

	for (int i = 0; i < param->nvalues; i++)
	{
		L4Value		value = param->values[i];

		value.mask = param->mask_name;
		slot_add(counts, slot, &value);
	}
	slot->many |= param->many;
	slot->records += local->occurrences;
}

/* Add a text that all records of a shape have. */
static void
add_text(L4StreamCounts *counts, const L4Local *local, int32 event_id, int pos, const char *text, int len)
{
	SlotSum    *slot = slot_sum(counts, event_id, pos);
	L4Value		value;

	memset(&value, 0, sizeof(value));
	value.text = unconstify(char *, text);
	value.len = len;
	value.mask = l4_mask_name(L4_MASK_WORD);
	value.occurrences = local->occurrences;
	value.first_ts = local->ts;
	value.first_line_no = local->first_line_no;
	slot_add(counts, slot, &value);
	slot->records += local->occurrences;
}

/*
 * Values of the variable parts of a shape and its words where its template is
 * open, under the event that has its other words. That is mostly its event;
 * else the event notes how many records it has of that one.
 */
void
l4_stream_counts_add_shape(L4StreamCounts *counts, const L4Local *local)
{
	int32		event_id = local->words_of > 0 ? local->words_of : local->event_id;

	for (int k = 0; k < local->nparams; k++)
		add_values(counts, local, event_id, &local->params[k]);
	for (int k = 0; k < local->nwords; k++)
		add_text(counts, local, event_id, local->words[k].pos, local->words[k].text, local->words[k].len);
	if (event_id != local->event_id)
	{
		char		number[12];

		pg_ltoa(event_id, number);
		add_text(counts, local, local->event_id, L4_SLOT_WORDS_OF, number, strlen(number));
	}
}

/* Both of these end the counting. */
bytea *
l4_stream_counts_events(L4StreamCounts *counts)
{
	L4Pack	   *pack = l4_pack_create(L4_EVENT_TYPES, counts->cxt);

	qsort(counts->events, counts->nevents, sizeof(EventSum), l4_order_int32);
	for (int i = 0; i < counts->nevents; i++)
	{
		const EventSum *event = &counts->events[i];

		l4_pack_int(pack, L4_EVENT_ID, event->event_id);
		l4_pack_int(pack, L4_EVENT_OCCURRENCES, event->occurrences);
		l4_pack_ts(pack, L4_EVENT_FIRST_TS, event->first_ts);
		l4_pack_ts(pack, L4_EVENT_LAST_TS, event->last_ts);
		l4_pack_int(pack, L4_EVENT_FIRST_LINE, event->first_line_no);
		l4_pack_int(pack, L4_EVENT_LAST_LINE, event->last_line_no);
	}
	return counts->nevents == 0 ? NULL : l4_pack_encode(pack);
}

/* Values that are kept: of many different ones that are all measured some show what they are like. */
static int
kept_values(const SlotSum *slot)
{
	if (!slot->many || slot->nvalues <= L4_MAX_MEASURES)
		return slot->nvalues;
	for (int i = 0; i < slot->nvalues; i++)
		if (!l4_is_measure(slot->values[i].mask, strlen(slot->values[i].mask), slot->values[i].text, slot->values[i].len))
			return slot->nvalues;
	return L4_MAX_MEASURES;
}

static void
put_slot(L4Pack *pack, SlotSum *slot)
{
	int			nkept;

	slot->many |= slot->more;
	nkept = kept_values(slot);
	for (int k = 0; k < nkept; k++)
	{
		const L4Value *value = &slot->values[k];

		l4_pack_int(pack, L4_SLOT_EVENT, slot->event_id);
		l4_pack_int(pack, L4_SLOT_PLACE, slot->pos);
		l4_pack_int(pack, L4_SLOT_LINE, value->first_line_no);
		l4_pack_text(pack, L4_SLOT_MASK, value->mask, strlen(value->mask));
		l4_pack_text(pack, L4_SLOT_VALUE, value->text, value->len);
		l4_pack_int(pack, L4_SLOT_COUNT, !slot->many ? value->occurrences : k == 0 ? -slot->records : 0);
		l4_pack_ts(pack, L4_SLOT_TS, value->first_ts);
	}
}

bytea *
l4_stream_counts_slots(L4StreamCounts *counts)
{
	L4Pack	   *pack = l4_pack_create(L4_SLOT_TYPES, counts->cxt);

	qsort(counts->slots, counts->nslots, sizeof(SlotSum), l4_order_int64);
	for (int i = 0; i < counts->nslots; i++)
	{
		SlotSum    *slot = &counts->slots[i];

		/* a line has one time */
		qsort(slot->values, slot->nvalues, sizeof(L4Value), l4_order_int64);
		put_slot(pack, slot);
	}
	return counts->nslots == 0 ? NULL : l4_pack_encode(pack);
}
