/*
 * renumber.c
 *		Stored values of a stream under other numbers of events.
 *
 * Where only a column names events it alone is written anew; the other columns
 * stay as they are. Counts are added up, as several events may be one now.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/order.h"
#include "ingest/ingest_pack.h"
#include "packed/sections.h"
#include "travel/renumber.h"

static int32
renumbered(const L4Renumber *map, int32 event_id)
{
	const int32 *found = bsearch(&event_id, map->ids, map->n, sizeof(int32), l4_order_int32);

	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the export is damaged"),
				 errdetail("It names event %d and does not say what that is.", event_id)));
	return map->to[found - map->ids];
}

/* A pack, with the column that names events under the new numbers. */
static bytea *
renumber_column(const L4Renumber *map, bytea *value, int colno, char type)
{
	L4Pack	   *pack = l4_pack_reopen(value, CurrentMemoryContext);
	L4PackCol  *col = &pack->cols[colno];
	int64		before = 0;

	if (colno >= pack->ncols || col->type != type)
		l4_bytes_corrupted("columns");
	for (int i = 0; i < col->nentries; i++)
		for (int k = 0; k < col->entry_len[i]; k++)
			((int32 *) col->entry[i])[k] = renumbered(map, ((int32 *) col->entry[i])[k]);
	for (int row = 0; type == L4_PACK_INT && row < pack->nrows; row++)
	{
		int64		number = col->ints[row];

		if ((row & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
		if (l4_pack_is_null(pack, colno, row))
			continue;
		/* most lines of a stretch have one event */
		if (row > 0 && number == before && !l4_pack_is_null(pack, colno, row - 1))
			col->ints[row] = col->ints[row - 1];
		else
			col->ints[row] = renumbered(map, (int32) number);
		before = number;
	}
	return l4_pack_encode(pack);
}

/* Counts of stored bytes that nobody made are added up all the same: no sum of a pack's rows may overflow. */
#define MAX_COUNT	(INT64CONST(1) << 38)

/* A pack of these columns, decoded. Only times may be missing. */
static L4Pack *
open_typed(bytea *value, const char *types, int counts)
{
	L4Pack	   *pack = l4_pack_decode(value, CurrentMemoryContext);

	if (pack->ncols != strlen(types))
		l4_bytes_corrupted("columns");
	for (int c = 0; types[c] != '\0'; c++)
		if (pack->cols[c].type != types[c] || (pack->cols[c].nulls != NULL && types[c] == L4_PACK_TEXT))
			l4_bytes_corrupted("columns");
	for (int row = 0; row < pack->nrows; row++)
		if (pack->cols[counts].ints[row] < -MAX_COUNT || pack->cols[counts].ints[row] > MAX_COUNT)
			l4_bytes_corrupted("counts");
	return pack;
}

static bytea *
renumber_events(const L4Renumber *map, bytea *value)
{
	L4Pack	   *pack = open_typed(value, L4_EVENT_TYPES, L4_EVENT_OCCURRENCES);
	L4StreamCounts *counts = l4_stream_counts_create(NULL, NULL, CurrentMemoryContext);

	for (int row = 0; row < pack->nrows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		l4_stream_counts_add_event(counts, renumbered(map, (int32) pack->cols[L4_EVENT_ID].ints[row]),
								   pack->cols[L4_EVENT_OCCURRENCES].ints[row], l4_pack_get_ts(pack, L4_EVENT_FIRST_TS, row),
								   l4_pack_get_ts(pack, L4_EVENT_LAST_TS, row), pack->cols[L4_EVENT_FIRST_LINE].ints[row],
								   pack->cols[L4_EVENT_LAST_LINE].ints[row]);
	}
	return l4_stream_counts_events(counts);
}

typedef struct SlotsTaken
{
	const L4Renumber *map;
	L4StreamCounts *counts;
} SlotsTaken;

static void
take_value(void *to, int32 event, int32 slot, const L4SlotOut *value, bool counted)
{
	SlotsTaken *taken = (SlotsTaken *) to;

	l4_stream_counts_add_value(taken->counts, renumbered(taken->map, event), slot, value, counted);
}

/* How many records of events have the words of another one. */
static void
take_words_of(const L4Renumber *map, const L4Pack *pack, L4StreamCounts *counts)
{
	const L4PackCol *cols = pack->cols;

	for (int row = 0; row < pack->nrows; row++)
	{
		char		number[12];
		int32		event;
		int32		other;
		L4SlotOut	out;

		if (cols[L4_SLOT_PLACE].ints[row] != L4_SLOT_WORDS_OF)
			continue;
		l4_slot_value(pack, row, &out);
		event = renumbered(map, (int32) cols[L4_SLOT_EVENT].ints[row]);
		other = renumbered(map, l4_slot_words_of(&out));
		if (event == other)
			continue;
		out.len = pg_ltoa(other, number);
		out.text = number;
		l4_stream_counts_add_value(counts, event, L4_SLOT_WORDS_OF, &out, out.occurrences > 0);
	}
}

/* Words that records have because their event was made by a message with them are counted from here on, where that is another message now. */
static bytea *
renumber_slots(const L4Renumber *map, bytea *value, bytea *events)
{
	SlotsTaken	taken = {.map = map, .counts = l4_stream_counts_create(NULL, NULL, CurrentMemoryContext)};
	L4SlotReader reader;

	memset(&reader, 0, sizeof(reader));
	reader.cxt = CurrentMemoryContext;
	reader.words = map->words;
	if (value != NULL)
		reader.slots[0] = open_typed(value, L4_SLOT_TYPES, L4_SLOT_COUNT);
	if (events != NULL)
		reader.events[0] = open_typed(events, L4_EVENT_TYPES, L4_EVENT_OCCURRENCES);
	l4_slot_values_read(&reader, take_value, &taken);
	if (value != NULL)
		take_words_of(map, reader.slots[0], taken.counts);
	return l4_stream_counts_slots(taken.counts);
}

static bytea *
renumber_pack_state(const L4Renumber *map, bytea *value)
{
	static const L4Stages none;
	L4PackState *state = l4_pack_state_read(value, &none, CurrentMemoryContext);

	for (int i = 0; i < state->nranks; i++)
		for (int k = 0; k < state->ranks[i].nevents; k++)
			state->ranks[i].events[k] = renumbered(map, state->ranks[i].events[k]);
	for (int i = 0; i < state->njoinable; i++)
		state->joinable[i].event_id = renumbered(map, state->joinable[i].event_id);
	return l4_pack_state_write(state, CurrentMemoryContext);
}

bytea *
l4_renumber(const L4Renumber *map, L4RenumberKind kind, bytea *value, bytea *events)
{
	if (kind == L4_RENUMBER_SLOTS)
		return value == NULL && events == NULL ? NULL : renumber_slots(map, value, events);
	if (value == NULL)
		return NULL;
	switch (kind)
	{
		case L4_RENUMBER_EVENTS:
			return renumber_events(map, value);
		case L4_RENUMBER_DURATIONS:
			return renumber_column(map, value, 0, L4_PACK_INT);
		case L4_RENUMBER_SEQUENCES:
			return renumber_column(map, value, 3, L4_PACK_INTS);
		case L4_RENUMBER_LINES:
			return renumber_column(map, value, 4, L4_PACK_INT);
		default:
			return renumber_pack_state(map, value);
	}
}
