/*
 * ingest_pack.h
 *		From scan results to packed rows: what the leader does with each scan result.
 */
#ifndef L4_INGEST_PACK_H
#define L4_INGEST_PACK_H

#include "ingest/scan_result.h"
#include "packed/packed.h"
#include "packed/slot_values.h"

#define L4_CHUNK_LINES		16384
#define L4_MAX_SEQUENCE		512 /* events kept of an iteration */
#define L4_MAX_SPANS		100000	/* stage spans kept of a stream */

/* Stages that events mark: sorted by event_id. */
typedef struct L4StageMark
{
	int32		event_id;
	int			stage;			/* number in names */
	int			then;			/* of the lines after it */
} L4StageMark;

typedef struct L4Stages
{
	int			nmarks;
	L4StageMark *marks;
	int			nnames;
	char	  **names;
} L4Stages;

/* Packed values of a stream, as they are stored. */
typedef struct L4Sections
{
	bytea	   *events;
	bytea	   *slots;
	bytea	   *durations;
	bytea	   *iterations;
	bytea	   *stages;
	bytea	   *activity;
	bytea	   *sequences;
} L4Sections;

#define L4_NSECTIONS ((int) (sizeof(L4Sections) / sizeof(bytea *)))

static inline bytea **
l4_section(L4Sections *sections, int i)
{
	return (bytea **) sections + i;
}

typedef struct L4Chunk
{
	int			lines;
	int64		first_line_no;
	int64		last_line_no;
	TimestampTz first_ts;		/* L4_NO_TS none */
	TimestampTz last_ts;
	bytea	   *body;
} L4Chunk;

typedef struct L4Example
{
	int32		event_id;
	int64		line_no;
	TimestampTz ts;
	const char *text;
	int			len;
} L4Example;

/* What becomes of a scan result. */
typedef struct L4Packed
{
	int			nchunks;		/* the first replaces the one that was given, if any */
	L4Chunk    *chunks;
	L4Chunk    *open_chunk;		/* NULL none */
	L4Sections	settled;
	L4Sections	open;
	bytea	   *pack_state;
	int			nexamples;
	L4Example  *examples;
	TimestampTz first_ts;
	TimestampTz last_ts;
	int32		last_event_id;	/* 0 none */
} L4Packed;

/* In: what is stored of the stream so far; NULL where there is nothing. */
typedef struct L4PackInput
{
	L4ScanResult	   *scanned;
	L4Stages   *stages;
	L4Sections	before;
	bytea	   *chunk;			/* the last one, when it has room */
	bytea	   *pack_state;
	bool		late;			/* lines that fill a gap: no context */
} L4PackInput;

extern L4Packed *l4_pack_result(L4PackInput *input, MemoryContext cxt);

/* pack_iterations.c */
extern void l4_pack_iterations(L4Pack *pack, const L4ResultPart *part);

/* ---- pack_state.c: what the packing of a stream carries from one scan result to the next ---- */

/* No rank has this number. */
#define L4_RANK_UNKNOWN PG_INT32_MAX

/* A rank of the stream: its stage, and its iteration that is going on. */
typedef struct L4PackRank
{
	int32		rank;
	int			stage;			/* -1 none */
	int32		epoch;
	int32		iteration;
	int			nevents;
	int			events_size;
	int32	   *events;
} L4PackRank;

/* A record that lines to come may join. */
typedef struct L4Joinable
{
	int64		line_no;
	int32		event_id;
	int			stage;
	int32		rank;
	int32		context;
	int32		iteration;
} L4Joinable;

typedef struct L4PackState
{
	MemoryContext cxt;
	int			nranks;
	int			ranks_size;
	L4PackRank *ranks;
	int32		span_rank;		/* the rank whose stages make spans; L4_RANK_UNKNOWN at first */
	int			njoinable;
	L4Joinable *joinable;		/* by line */
	int			nstages;
	char	  **stage_names;
	int		   *stage_of_name;	/* number of each name of L4Stages */
} L4PackState;

extern L4PackState *l4_pack_state_read(bytea *stored, const L4Stages *stages, MemoryContext cxt);
extern bytea *l4_pack_state_write(L4PackState *pack_state, MemoryContext cxt);
extern L4PackRank *l4_pack_state_rank(L4PackState *pack_state, int32 rank);
extern void l4_pack_state_event(L4PackState *pack_state, L4PackRank *rank, int32 event_id);
extern int	l4_pack_state_stage(L4PackState *pack_state, const char *name, int len);
extern const L4Joinable *l4_pack_state_joinable(const L4PackState *pack_state, int64 line_no);

/* ---- stream_counts.c: counts of events and of values of their variable parts ---- */

typedef struct L4StreamCounts L4StreamCounts;

extern L4StreamCounts *l4_stream_counts_create(bytea *events, bytea *slots, MemoryContext cxt);
extern bool l4_stream_counts_may_be_first(L4StreamCounts *counts, int32 event_id, TimestampTz ts, int64 line_no);
extern void l4_stream_counts_add_shape(L4StreamCounts *counts, const L4Local *local);
extern void l4_stream_counts_add_event(L4StreamCounts *counts, int32 event_id, int64 occurrences, TimestampTz first_ts,
									   TimestampTz last_ts, int64 first_line_no, int64 last_line_no);
extern void l4_stream_counts_add_value(L4StreamCounts *counts, int32 event_id, int32 pos, const L4SlotOut *add, bool counted);
extern bytea *l4_stream_counts_events(L4StreamCounts *counts);
extern bytea *l4_stream_counts_slots(L4StreamCounts *counts);

#endif							/* L4_INGEST_PACK_H */
