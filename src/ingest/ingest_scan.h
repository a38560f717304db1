/*
 * ingest_scan.h
 *		One pass over a piece of a stream: lines in, a scan result out.
 *
 * A scan result is what the leader needs of the piece: its lines and records with
 * local numbers of shapes, the dictionary of those shapes, values of their
 * variable parts, durations, iterations, and the state with which the next
 * piece goes on. Nothing here depends on other streams.
 */
#ifndef L4_INGEST_SCAN_H
#define L4_INGEST_SCAN_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "ingest/ingest_shape.h"
#include "ingest/scan_result.h"
#include "lines/iterrule.h"
#include "lines/record.h"
#include "lines/streamprefix.h"

#define L4_MAX_SCAN_MSG		8192	/* bytes of a message that are looked at */
#define L4_RESULT_MEMORY		(48 * 1024 * 1024)	/* dictionary of a scan result: beyond, the scan result ends early */
#define L4_RESULT_OVERRUN		2000	/* lines read to complete the records at the end of a piece */

typedef struct L4Scan L4Scan;

/* One for many pieces, one after the other: begin, lines, finish. */
extern L4Scan *l4_scan_create(L4ScanShared *shared, MemoryContext cxt);
extern void l4_scan_begin(L4Scan *scan, const char *node, const uint32 *vocabulary, const char *scan_state, int state_len,
						  int64 last_line_no, bool settle_all);
/* line: NULL is an empty one */
extern bool l4_scan_line(L4Scan *scan, int64 line_no, TimestampTz ts, int32 rank, const char *line, int len);
extern void l4_scan_finish(L4Scan *scan, L4ScanResult *scanned);

/*
 * ---- ingest_dict.c ----
 * The dictionary of a scan result: an entry for each shape of its part, made by
 * the first record that has it.
 */

typedef struct L4Dict
{
	L4ScanShared *shared;
	MemoryContext cxt;			/* of the entries */
	struct l4_map_hash *numbers;	/* of entries in the part, from 1, by shape and level */
	Size		memory;			/* bytes of all entries, also those of dictionaries before */
} L4Dict;

/* An empty one; memory goes on. */
extern void l4_dict_begin(L4Dict *dict, L4ScanShared *shared, MemoryContext cxt);

/* The entry of the shape of a record's message, added to the part when it is new; the array of the part grows in a context. */
extern L4Local *l4_dict_entry(L4Dict *dict, L4ResultPart *part, const L4Record *record, const char *msg, int msg_len,
							  const L4Shape *shape, TimestampTz ts, MemoryContext array_cxt);

/* ---- scan_state.c: where a stream is: what the scan of one piece hands to that of the next ---- */

#define L4_MAX_RANKS		256 /* ranks told apart in a stream */

/* Where one rank of the stream is. */
typedef struct L4RankState
{
	int32		rank;
	int32		epoch;
	int32		current;		/* iteration in flight, L4_NO_INT before the first */
	int32		done;			/* last one reported, L4_NO_INT none */
	TimestampTz done_ts;
	bool		numbered;		/* some report gave its number */
	bool		named;			/* did the last report name its epoch */
	int32		total;			/* of the reports that give numbers, 0 not known */
	int32		reports;		/* with that total, since others came last */
	int32		others;			/* with less than that total, since then */
	bool		counted;		/* reports without numbers came with that total: others are of other bars */
	int32		elapsed;		/* seconds that the last bar gave, -1 none did */
	TimestampTz elapsed_ts;		/* when that was */
	TimestampTz own_ts;			/* time that the last report gives itself, L4_NO_TS none */
} L4RankState;

/* What lasts from one piece of a stream to the next. */
typedef struct L4ScanState
{
	TimestampTz last_ts;
	int32		stored_epoch;	/* last iteration that was kept */
	int32		stored_iteration;
	int32		first_epoch;	/* first one that was kept */
	int32		first_iteration;
	int32		kept;			/* how many were, since the stream began or began anew */
	int32		max_in_flight;
	int32		last_rank;		/* L4_NO_INT none yet */
	int			nranks;
	L4RankState ranks[L4_MAX_RANKS];
	L4StreamPrefix head;
	StringInfoData record_state;	/* of the record reader; len 0 = none */
} L4ScanState;

extern void l4_scan_state_write(L4ScanState *scan_state, StringInfo buf);
extern void l4_scan_state_read(L4ScanState *scan_state, const char *bytes, int len);
extern L4RankState *l4_scan_state_rank(L4ScanState *scan_state, int32 rank);
extern bool l4_scan_state_iteration(L4ScanState *scan_state, L4RankState *state, const L4Iteration *found,
							   TimestampTz ts, TimestampTz own_ts, L4ResultRecord *rec, double *duration_ms);

#endif							/* L4_INGEST_SCAN_H */
