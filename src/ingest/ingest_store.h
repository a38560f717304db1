/*
 * ingest_store.h
 *		Storing what scan results hold, and the counts of their jobs.
 */
#ifndef L4_INGEST_STORE_H
#define L4_INGEST_STORE_H

#include "ingest/write_set.h"
#include "ingest/ingest_query.h"

/* job_counts.c: events of the jobs of a batch */
typedef struct L4JobCounts L4JobCounts;

extern L4JobCounts *l4_job_counts_create(MemoryContext cxt);
extern void l4_job_counts_begin(L4JobCounts *job_counts, Datum streams);
extern void l4_job_counts_stream(L4JobCounts *job_counts, const char *job_id, const char *node, const char *source,
							 const L4Packed *packed);
extern void l4_job_counts_store(L4JobCounts *job_counts);

#endif							/* L4_INGEST_STORE_H */
