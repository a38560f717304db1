/*
 * ingest_pack.h
 *		From units to packed rows: what the leader does with each unit.
 */
#ifndef L4_INGEST_PACK_H
#define L4_INGEST_PACK_H

#include "chunk/chunk.h"
#include "ingest/ingest_unit.h"

#define L4_CHUNK_LINES		16384
#define L4_MAX_SEQUENCE		512 /* events kept of an iteration */
#define L4_MAX_SPANS		100000	/* stage spans kept of a stream */
#define L4_RECENT_RECORDS	32	/* records that later lines can still join */

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

/* What becomes of a unit. */
typedef struct L4Packed
{
	int			nchunks;		/* the first replaces the one that was given, if any */
	L4Chunk    *chunks;
	L4Chunk    *open_chunk;		/* NULL none */
	L4Sections	settled;
	L4Sections	open;
	bytea	   *carry;
	int			nexamples;
	L4Example  *examples;
	TimestampTz first_ts;
	TimestampTz last_ts;
	int32		last_event_id;	/* 0 none */
} L4Packed;

/* In: what is stored of the stream so far; NULL where there is nothing. */
typedef struct L4PackInput
{
	L4Unit	   *unit;
	L4Stages   *stages;
	L4Sections	before;
	bytea	   *chunk;			/* the last one, when it has room */
	bytea	   *carry;
	bool		late;			/* lines that fill a gap: no context */
} L4PackInput;

extern L4Packed *l4_pack_unit(L4PackInput *input, MemoryContext cxt);

/* Columns of packed counts of events */
enum
{
	L4_EVENT_ID, L4_EVENT_OCCURRENCES, L4_EVENT_FIRST_TS, L4_EVENT_LAST_TS, L4_EVENT_FIRST_LINE, L4_EVENT_LAST_LINE, L4_EVENT_COLS
};
#define L4_EVENT_TYPES "iiiiii"

/* Columns of packed values of variable parts */
enum
{
	L4_SLOT_EVENT, L4_SLOT_PLACE, L4_SLOT_LINE, L4_SLOT_MASK, L4_SLOT_VALUE, L4_SLOT_COUNT, L4_SLOT_TS, L4_SLOT_COLS
};
#define L4_SLOT_TYPES "iiissii"

/* Values that are not counted have the number 0, the first of them less the number of all records of the slot. */
static inline int64
l4_slot_records(int64 count)
{
	return count < 0 ? -count : count;
}

/* A place that no variable part has: values are the numbers of events that have the words of some records, see l4_sums_add_shape */
#define L4_SLOT_WORDS_OF	(-1)

/* ingest_sum.c: counts of events and of values */
typedef struct L4Sums L4Sums;

extern L4Sums *l4_sums_create(bytea *events, bytea *slots, MemoryContext cxt);
extern void l4_sums_add_record(L4Sums *sums, int32 event_id, const L4UnitRec *rec);
extern bool l4_sums_may_be_first(L4Sums *sums, int32 event_id, TimestampTz ts, int64 line_no);
extern void l4_sums_add_shape(L4Sums *sums, const L4Local *local);
extern bool l4_is_measure(const char *mask, int mask_len, const char *text, int len);
extern bytea *l4_sums_events(L4Sums *sums);
extern bytea *l4_sums_slots(L4Sums *sums);

#endif							/* L4_INGEST_PACK_H */
