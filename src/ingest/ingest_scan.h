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

#include "ingest/ingest_shape.h"

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

#endif							/* L4_INGEST_SCAN_H */
