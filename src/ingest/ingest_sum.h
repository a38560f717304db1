/*
 * ingest_sum.h
 *		Counts of events and of values of their variable parts.
 */
#ifndef L4_INGEST_SUM_H
#define L4_INGEST_SUM_H

#include "ingest/ingest_unit.h"

typedef struct L4Sums L4Sums;

extern L4Sums *l4_sums_create(bytea *events, bytea *slots, MemoryContext cxt);
extern void l4_sums_add_record(L4Sums *sums, int32 event_id, const L4UnitRec *rec);
extern bool l4_sums_may_be_first(L4Sums *sums, int32 event_id, TimestampTz ts, int64 line_no);
extern void l4_sums_add_shape(L4Sums *sums, const L4Local *local);
extern bytea *l4_sums_events(L4Sums *sums);
extern bytea *l4_sums_slots(L4Sums *sums);

#endif							/* L4_INGEST_SUM_H */
