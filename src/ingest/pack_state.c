/*
 * pack_state.c
 *		What the packing of a stream carries from one scan result to the next, and its
 *		stored form.
 */
#include "postgres.h"


#include "base/codec.h"
#include "base/grow.h"
#include "base/order.h"
#include "ingest/ingest_pack.h"

#define STATE_VERSION 4
#define STATE_MAX_RANKS 256
#define STATE_MAX_STAGES 1000

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
	if (pack_state->njoinable == 0)
		return NULL;
	return bsearch(&line_no, pack_state->joinable, pack_state->njoinable, sizeof(L4Joinable), l4_order_int64);
}

static void
code_rank(L4Codec *codec, const L4PackState *pack_state, L4PackRank *rank)
{
	l4_code_int(codec, &rank->rank);
	l4_code_int(codec, &rank->stage);
	if (rank->stage < -1 || rank->stage >= pack_state->nstages)
		l4_bytes_corrupted("stage");
	l4_code_int(codec, &rank->epoch);
	l4_code_int(codec, &rank->iteration);
	L4_CODE_ARRAY(codec, rank->events, rank->nevents);
	if (rank->nevents > L4_MAX_SEQUENCE)
		l4_bytes_corrupted("sequence");
	if (l4_codec_reads(codec))
		rank->events_size = rank->nevents;
	for (int i = 0; i < rank->nevents; i++)
		l4_code_int(codec, &rank->events[i]);
}

static void
code_joinable(L4Codec *codec, const L4PackState *pack_state, L4Joinable *record)
{
	l4_code_int64(codec, &record->line_no);
	l4_code_int(codec, &record->event_id);
	l4_code_int(codec, &record->stage);
	l4_code_int(codec, &record->rank);
	l4_code_int(codec, &record->context);
	l4_code_int(codec, &record->iteration);
	if (record->stage < -1 || record->stage >= pack_state->nstages)
		l4_bytes_corrupted("stage");
}

static void
code_state(L4Codec *codec, L4PackState *pack_state)
{
	l4_code_count(codec, &pack_state->nstages);
	if (pack_state->nstages > STATE_MAX_STAGES)
		l4_bytes_corrupted("stages");
	for (int i = 0; i < pack_state->nstages; i++)
		l4_code_string(codec, &pack_state->stage_names[i]);
	l4_code_int(codec, &pack_state->span_rank);
	L4_CODE_ARRAY(codec, pack_state->ranks, pack_state->nranks);
	if (pack_state->nranks > STATE_MAX_RANKS)
		l4_bytes_corrupted("ranks");
	if (l4_codec_reads(codec))
		pack_state->ranks_size = pack_state->nranks;
	for (int i = 0; i < pack_state->nranks; i++)
		code_rank(codec, pack_state, &pack_state->ranks[i]);
	L4_CODE_ARRAY(codec, pack_state->joinable, pack_state->njoinable);
	for (int i = 0; i < pack_state->njoinable; i++)
	{
		code_joinable(codec, pack_state, &pack_state->joinable[i]);
		if (i > 0 && pack_state->joinable[i].line_no <= pack_state->joinable[i - 1].line_no)
			l4_bytes_corrupted("joinable records");
	}
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
		L4ByteReader reader = l4_bytea_reader(stored);
		L4Codec		codec = {.in = &reader, .cxt = cxt};

		if (*l4_get_bytes(&reader, 1) != STATE_VERSION)
			l4_bytes_corrupted("version");
		code_state(&codec, pack_state);
	}
	pack_state->stage_of_name = MemoryContextAlloc(cxt, sizeof(int) * Max(stages->nnames, 1));
	for (int i = 0; i < stages->nnames; i++)
		pack_state->stage_of_name[i] = l4_pack_state_stage(pack_state, stages->names[i], strlen(stages->names[i]));
	return pack_state;
}

bytea *
l4_pack_state_write(L4PackState *pack_state, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	StringInfoData buf;
	L4Codec		codec = {.out = &buf};

	l4_bytea_begin(&buf);
	appendStringInfoChar(&buf, STATE_VERSION);
	code_state(&codec, pack_state);
	MemoryContextSwitchTo(old);
	return l4_bytea_end(&buf);
}
