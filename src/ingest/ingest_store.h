/*
 * ingest_store.h
 *		Storing what units hold, and the counts of their jobs.
 */
#ifndef L4_INGEST_STORE_H
#define L4_INGEST_STORE_H

#include "ingest/ingest_parcel.h"
#include "ingest/ingest_rows.h"

/* ingest_rollup.c: events of the jobs of a batch */
typedef struct L4RollUp L4RollUp;

extern L4RollUp *l4_rollup_create(MemoryContext cxt);
extern void l4_rollup_begin(L4RollUp *rollup, Datum streams);
extern void l4_rollup_stream(L4RollUp *rollup, const char *job_id, const char *node, const char *source,
							 const L4Packed *packed);
extern void l4_rollup_store(L4RollUp *rollup);

#endif							/* L4_INGEST_STORE_H */
