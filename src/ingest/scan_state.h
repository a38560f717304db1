/*
 * scan_state.h
 *		Where a stream is: what the scan of one piece hands to that of the next.
 */
#ifndef L4_SCAN_STATE_H
#define L4_SCAN_STATE_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "ingest/scan_result.h"
#include "lines/iterrule.h"
#include "lines/streamprefix.h"

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

#endif							/* L4_SCAN_STATE_H */
