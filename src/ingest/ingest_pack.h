/*
 * ingest_pack.h
 *		From scan results to packed rows: what the leader does with each scan result.
 */
#ifndef L4_INGEST_PACK_H
#define L4_INGEST_PACK_H

#include "ingest/scan_result.h"
#include "packed/packed.h"

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

#endif							/* L4_INGEST_PACK_H */
