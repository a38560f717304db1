/*
 * pack_state.c
 *		What the packing of a stream carries from one scan result to the next, and its
 *		stored form.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/grow.h"
#include "ingest/pack_state.h"
#include "l4_compat.h"

#define STATE_VERSION 2
#define STATE_MAX_RANKS 256
#define STATE_MAX_STAGES 1000

static void
put_short_text(StringInfo buf, const char *text)
{
	l4_put_uint(buf, strlen(text));
	appendStringInfoString(buf, text);
}

/* Number of a stage's name, a new one where it is not known yet. */
int
l4_pack_state_stage(L4PackState *pack_state, const char *name, int len)
{
	for (int i = 0; i < pack_state->nstages; i++)
		if ((int) strlen(pack_state->stage_names[i]) == len && memcmp(pack_state->stage_names[i], name, len) == 0)
			return i;
	if (pack_state->nstages >= STATE_MAX_STAGES)
		l4_bytes_corrupted("stages");
	pack_state->stage_names[pack_state->nstages] = MemoryContextAlloc(pack_state->cxt, len + 1);
	memcpy(pack_state->stage_names[pack_state->nstages], name, len);
	pack_state->stage_names[pack_state->nstages][len] = '\0';
	return pack_state->nstages++;
}

/* State of a rank; ranks beyond the limit share the last one. */
L4PackRank *
l4_pack_state_rank(L4PackState *pack_state, int32 rank)
{
	L4PackRank *state;

	for (int i = 0; i < pack_state->nranks; i++)
		if (pack_state->ranks[i].rank == rank)
			return &pack_state->ranks[i];
	if (pack_state->nranks >= STATE_MAX_RANKS)
		return &pack_state->ranks[STATE_MAX_RANKS - 1];
	L4_GROW_FROM(pack_state->ranks, pack_state->nranks, pack_state->ranks_size, 4, pack_state->cxt);
	state = &pack_state->ranks[pack_state->nranks++];
	memset(state, 0, sizeof(*state));
	state->rank = rank;
	state->stage = -1;
	state->first_ts = state->last_ts = L4_NO_TS;
	return state;
}

void
l4_pack_state_event(L4PackState *pack_state, L4PackRank *rank, int32 event_id)
{
	L4_GROW_FROM(rank->events, rank->nevents, rank->events_size, 32, pack_state->cxt);
	rank->events[rank->nevents++] = event_id;
}

/* The record that began at a line; NULL where it is none that lines may join. */
const L4Joinable *
l4_pack_state_joinable(const L4PackState *pack_state, int64 line_no)
{
	int			low = 0;
	int			high = pack_state->njoinable;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (pack_state->joinable[mid].line_no < line_no)
			low = mid + 1;
		else
			high = mid;
	}
	return low < pack_state->njoinable && pack_state->joinable[low].line_no == line_no ? &pack_state->joinable[low] : NULL;
}

static void
read_rank(L4ByteReader *reader, L4PackState *pack_state)
{
	L4PackRank *rank = l4_pack_state_rank(pack_state, (int32) l4_get_int(reader));
	uint64		n;

	rank->stage = (int) l4_get_int(reader);
	if (rank->stage < -1 || rank->stage >= pack_state->nstages)
		l4_bytes_corrupted("stage");
	rank->epoch = (int32) l4_get_int(reader);
	rank->iteration = (int32) l4_get_int(reader);
	rank->first_ts = l4_get_int(reader);
	rank->last_ts = l4_get_int(reader);
	n = l4_get_uint(reader);
	if (n > L4_MAX_SEQUENCE)
		l4_bytes_corrupted("sequence");
	for (uint64 i = 0; i < n; i++)
		l4_pack_state_event(pack_state, rank, (int32) l4_get_int(reader));
}

/* Records are written as differences to the one before: most are of the same rank and iteration. */
static void
read_joinable(L4ByteReader *reader, const L4PackState *pack_state, L4Joinable *record)
{
	record->line_no = (int64) ((uint64) record->line_no + (uint64) l4_get_int(reader));
	record->event_id = (int32) l4_get_int(reader);
	if (l4_get_uint(reader) != 0)
	{
		record->stage = (int) l4_get_int(reader);
		record->rank = (int32) l4_get_int(reader);
		record->context = (int32) l4_get_int(reader);
		record->epoch = (int32) l4_get_int(reader);
		record->iteration = (int32) l4_get_int(reader);
	}
	if (record->stage < -1 || record->stage >= pack_state->nstages)
		l4_bytes_corrupted("stage");
}

static void
write_joinable(StringInfo buf, const L4Joinable *record, const L4Joinable *before)
{
	bool		other = record->stage != before->stage || record->rank != before->rank || record->context != before->context ||
		record->epoch != before->epoch || record->iteration != before->iteration;

	l4_put_int(buf, (int64) ((uint64) record->line_no - (uint64) before->line_no));
	l4_put_int(buf, record->event_id);
	l4_put_uint(buf, other);
	if (!other)
		return;
	l4_put_int(buf, record->stage);
	l4_put_int(buf, record->rank);
	l4_put_int(buf, record->context);
	l4_put_int(buf, record->epoch);
	l4_put_int(buf, record->iteration);
}

L4PackState *
l4_pack_state_read(bytea *stored, const L4Stages *stages, MemoryContext cxt)
{
	L4PackState *pack_state = MemoryContextAllocZero(cxt, sizeof(L4PackState));

	pack_state->cxt = cxt;
	pack_state->span_rank = L4_RANK_UNKNOWN;
	pack_state->stage_names = MemoryContextAlloc(cxt, sizeof(char *) * STATE_MAX_STAGES);
	if (stored != NULL)
	{
		L4ByteReader reader;
		L4Joinable	record = {0};
		uint64		n;

		reader.ptr = (const unsigned char *) VARDATA_ANY(stored);
		reader.end = reader.ptr + VARSIZE_ANY_EXHDR(stored);
		if (*l4_get_bytes(&reader, 1) != STATE_VERSION)
			l4_bytes_corrupted("version");
		for (n = l4_get_uint(&reader); n > 0; n--)
		{
			uint64		len = l4_get_uint(&reader);

			l4_pack_state_stage(pack_state, l4_get_bytes(&reader, len), (int) len);
		}
		pack_state->span_rank = (int32) l4_get_int(&reader);
		n = l4_get_uint(&reader);
		if (n > STATE_MAX_RANKS)
			l4_bytes_corrupted("ranks");
		for (; n > 0; n--)
			read_rank(&reader, pack_state);
		pack_state->njoinable = l4_get_count(&reader);
		pack_state->joinable = MemoryContextAlloc(cxt, sizeof(L4Joinable) * Max(pack_state->njoinable, 1));
		for (int i = 0; i < pack_state->njoinable; i++)
		{
			read_joinable(&reader, pack_state, &record);
			if (i > 0 && record.line_no <= pack_state->joinable[i - 1].line_no)
				l4_bytes_corrupted("joinable records");
			pack_state->joinable[i] = record;
		}
	}
	pack_state->stage_of_name = MemoryContextAlloc(cxt, sizeof(int) * Max(stages->nnames, 1));
	for (int i = 0; i < stages->nnames; i++)
		pack_state->stage_of_name[i] = l4_pack_state_stage(pack_state, stages->names[i], strlen(stages->names[i]));
	return pack_state;
}

bytea *
l4_pack_state_write(const L4PackState *pack_state, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	StringInfoData buf;
	bytea	   *result;
	const L4Joinable none = {0};
	const L4Joinable *before = &none;

	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	appendStringInfoChar(&buf, STATE_VERSION);
	l4_put_uint(&buf, pack_state->nstages);
	for (int i = 0; i < pack_state->nstages; i++)
		put_short_text(&buf, pack_state->stage_names[i]);
	l4_put_int(&buf, pack_state->span_rank);
	l4_put_uint(&buf, pack_state->nranks);
	for (int i = 0; i < pack_state->nranks; i++)
	{
		const L4PackRank *rank = &pack_state->ranks[i];

		l4_put_int(&buf, rank->rank);
		l4_put_int(&buf, rank->stage);
		l4_put_int(&buf, rank->epoch);
		l4_put_int(&buf, rank->iteration);
		l4_put_int(&buf, rank->first_ts);
		l4_put_int(&buf, rank->last_ts);
		l4_put_uint(&buf, rank->nevents);
		for (int k = 0; k < rank->nevents; k++)
			l4_put_int(&buf, rank->events[k]);
	}
	l4_put_uint(&buf, pack_state->njoinable);
	for (int i = 0; i < pack_state->njoinable; i++)
	{
		write_joinable(&buf, &pack_state->joinable[i], before);
		before = &pack_state->joinable[i];
	}
	result = (bytea *) buf.data;
	SET_VARSIZE(result, buf.len);
	MemoryContextSwitchTo(old);
	return result;
}
