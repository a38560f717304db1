/*
 * stream_counts.h
 *		Counts of events and of values of their variable parts.
 */
#ifndef L4_STREAM_COUNTS_H
#define L4_STREAM_COUNTS_H

#include "ingest/scan_result.h"
#include "packed/slot_values.h"

typedef struct L4StreamCounts L4StreamCounts;

extern L4StreamCounts *l4_stream_counts_create(bytea *events, bytea *slots, MemoryContext cxt);
extern void l4_stream_counts_add_record(L4StreamCounts *counts, int32 event_id, const L4ResultRecord *rec);
extern bool l4_stream_counts_may_be_first(L4StreamCounts *counts, int32 event_id, TimestampTz ts, int64 line_no);
extern void l4_stream_counts_add_shape(L4StreamCounts *counts, const L4Local *local);
extern void l4_stream_counts_add_event(L4StreamCounts *counts, int32 event_id, int64 occurrences, TimestampTz first_ts,
									   TimestampTz last_ts, int64 first_line_no, int64 last_line_no);
extern void l4_stream_counts_add_value(L4StreamCounts *counts, int32 event_id, int32 pos, const L4SlotOut *add, bool counted);
extern bytea *l4_stream_counts_events(L4StreamCounts *counts);
extern bytea *l4_stream_counts_slots(L4StreamCounts *counts);

#endif							/* L4_STREAM_COUNTS_H */
