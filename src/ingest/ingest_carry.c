/*
 * ingest_carry.c
 *		What the packing of a stream carries from one unit to the next, and its
 *		stored form.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ingest/ingest_carry.h"
#include "l4_compat.h"

#define CARRY_VERSION 2
#define CARRY_MAX_RANKS 256
#define CARRY_MAX_STAGES 1000

static void
put_short_text(StringInfo buf, const char *text)
{
	l4_put_uint(buf, strlen(text));
	appendStringInfoString(buf, text);
}

/* Number of a stage's name, a new one where it is not known yet. */
int
l4_carry_stage(L4PackCarry *carry, const char *name, int len)
{
	for (int i = 0; i < carry->nstages; i++)
		if ((int) strlen(carry->stage_names[i]) == len && memcmp(carry->stage_names[i], name, len) == 0)
			return i;
	if (carry->nstages >= CARRY_MAX_STAGES)
		l4_bytes_corrupted("stages");
	carry->stage_names[carry->nstages] = MemoryContextAlloc(carry->cxt, len + 1);
	memcpy(carry->stage_names[carry->nstages], name, len);
	carry->stage_names[carry->nstages][len] = '\0';
	return carry->nstages++;
}

/* State of a rank; ranks beyond the limit share the last one. */
L4PackRank *
l4_carry_pack_rank(L4PackCarry *carry, int32 rank)
{
	L4PackRank *state;

	for (int i = 0; i < carry->nranks; i++)
		if (carry->ranks[i].rank == rank)
			return &carry->ranks[i];
	if (carry->nranks >= CARRY_MAX_RANKS)
		return &carry->ranks[CARRY_MAX_RANKS - 1];
	if (carry->nranks >= carry->ranks_size)
	{
		carry->ranks_size = Max(4, carry->ranks_size * 2);
		carry->ranks = carry->ranks == NULL ? MemoryContextAlloc(carry->cxt, sizeof(L4PackRank) * carry->ranks_size)
			: repalloc(carry->ranks, sizeof(L4PackRank) * carry->ranks_size);
	}
	state = &carry->ranks[carry->nranks++];
	memset(state, 0, sizeof(*state));
	state->rank = rank;
	state->stage = -1;
	state->first_ts = state->last_ts = L4_NO_TS;
	return state;
}

void
l4_carry_room(L4PackCarry *carry, L4PackRank *rank)
{
	int			size;

	if (rank->nevents < rank->events_size)
		return;
	size = Max(32, rank->events_size * 2);
	rank->events = rank->events == NULL ? MemoryContextAlloc(carry->cxt, sizeof(int32) * size)
		: repalloc(rank->events, sizeof(int32) * size);
	rank->events_size = size;
}

/* The record that began at a line; NULL where it is none that lines may join. */
const L4Joinable *
l4_carry_joinable(const L4PackCarry *carry, int64 line_no)
{
	int			low = 0;
	int			high = carry->njoinable;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (carry->joinable[mid].line_no < line_no)
			low = mid + 1;
		else
			high = mid;
	}
	return low < carry->njoinable && carry->joinable[low].line_no == line_no ? &carry->joinable[low] : NULL;
}

static void
read_rank(L4ByteReader *reader, L4PackCarry *carry)
{
	L4PackRank *rank = l4_carry_pack_rank(carry, (int32) l4_get_int(reader));
	uint64		n;

	rank->stage = (int) l4_get_int(reader);
	if (rank->stage < -1 || rank->stage >= carry->nstages)
		l4_bytes_corrupted("stage");
	rank->epoch = (int32) l4_get_int(reader);
	rank->iteration = (int32) l4_get_int(reader);
	rank->first_ts = l4_get_int(reader);
	rank->last_ts = l4_get_int(reader);
	n = l4_get_uint(reader);
	if (n > L4_MAX_SEQUENCE)
		l4_bytes_corrupted("sequence");
	for (uint64 i = 0; i < n; i++)
	{
		l4_carry_room(carry, rank);
		rank->events[rank->nevents++] = (int32) l4_get_int(reader);
	}
}

/* Records are written as differences to the one before: most are of the same rank and iteration. */
static void
read_joinable(L4ByteReader *reader, const L4PackCarry *carry, L4Joinable *record)
{
	record->line_no += l4_get_int(reader);
	record->event_id = (int32) l4_get_int(reader);
	if (l4_get_uint(reader) != 0)
	{
		record->stage = (int) l4_get_int(reader);
		record->rank = (int32) l4_get_int(reader);
		record->context = (int32) l4_get_int(reader);
		record->epoch = (int32) l4_get_int(reader);
		record->iteration = (int32) l4_get_int(reader);
	}
	if (record->stage < -1 || record->stage >= carry->nstages)
		l4_bytes_corrupted("stage");
}

static void
write_joinable(StringInfo buf, const L4Joinable *record, const L4Joinable *before)
{
	bool		other = record->stage != before->stage || record->rank != before->rank || record->context != before->context ||
		record->epoch != before->epoch || record->iteration != before->iteration;

	l4_put_int(buf, record->line_no - before->line_no);
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

L4PackCarry *
l4_pack_carry_read(bytea *stored, const L4Stages *stages, MemoryContext cxt)
{
	L4PackCarry *carry = MemoryContextAllocZero(cxt, sizeof(L4PackCarry));

	carry->cxt = cxt;
	carry->span_rank = L4_RANK_UNKNOWN;
	carry->stage_names = MemoryContextAlloc(cxt, sizeof(char *) * CARRY_MAX_STAGES);
	if (stored != NULL)
	{
		L4ByteReader reader;
		L4Joinable	record = {0};
		uint64		n;

		reader.ptr = (const unsigned char *) VARDATA_ANY(stored);
		reader.end = reader.ptr + VARSIZE_ANY_EXHDR(stored);
		if (*l4_get_bytes(&reader, 1) != CARRY_VERSION)
			l4_bytes_corrupted("version");
		for (n = l4_get_uint(&reader); n > 0; n--)
		{
			uint64		len = l4_get_uint(&reader);

			l4_carry_stage(carry, l4_get_bytes(&reader, len), (int) len);
		}
		carry->span_rank = (int32) l4_get_int(&reader);
		n = l4_get_uint(&reader);
		if (n > CARRY_MAX_RANKS)
			l4_bytes_corrupted("ranks");
		for (; n > 0; n--)
			read_rank(&reader, carry);
		carry->njoinable = l4_get_count(&reader);
		carry->joinable = MemoryContextAlloc(cxt, sizeof(L4Joinable) * Max(carry->njoinable, 1));
		for (int i = 0; i < carry->njoinable; i++)
		{
			read_joinable(&reader, carry, &record);
			if (i > 0 && record.line_no <= carry->joinable[i - 1].line_no)
				l4_bytes_corrupted("joinable records");
			carry->joinable[i] = record;
		}
	}
	carry->stage_of_name = MemoryContextAlloc(cxt, sizeof(int) * Max(stages->nnames, 1));
	for (int i = 0; i < stages->nnames; i++)
		carry->stage_of_name[i] = l4_carry_stage(carry, stages->names[i], strlen(stages->names[i]));
	return carry;
}

bytea *
l4_pack_carry_write(const L4PackCarry *carry, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	StringInfoData buf;
	bytea	   *result;
	const L4Joinable none = {0};
	const L4Joinable *before = &none;

	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	appendStringInfoChar(&buf, CARRY_VERSION);
	l4_put_uint(&buf, carry->nstages);
	for (int i = 0; i < carry->nstages; i++)
		put_short_text(&buf, carry->stage_names[i]);
	l4_put_int(&buf, carry->span_rank);
	l4_put_uint(&buf, carry->nranks);
	for (int i = 0; i < carry->nranks; i++)
	{
		const L4PackRank *rank = &carry->ranks[i];

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
	l4_put_uint(&buf, carry->njoinable);
	for (int i = 0; i < carry->njoinable; i++)
	{
		write_joinable(&buf, &carry->joinable[i], before);
		before = &carry->joinable[i];
	}
	result = (bytea *) buf.data;
	SET_VARSIZE(result, buf.len);
	MemoryContextSwitchTo(old);
	return result;
}
