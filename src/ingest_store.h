/*
 * ingest_store.h
 *		Storing what units hold, and the counts of their jobs.
 */
#ifndef L4_INGEST_STORE_H
#define L4_INGEST_STORE_H

#include "executor/spi.h"

#include "ingest_pack.h"

#define L4_QUERY_MAX_ARGS	32

/* A prepared statement and the values of its parameters. */
typedef struct L4Query
{
	SPIPlanPtr	plan;
	int			nargs;
	int			n;				/* values so far */
	Datum		values[L4_QUERY_MAX_ARGS];
	char		nulls[L4_QUERY_MAX_ARGS];
} L4Query;

extern void l4_query_prepare(L4Query *query, const char *sql, int nargs, const Oid *types);
extern uint64 l4_query_run(L4Query *query);
extern void l4_query_put(L4Query *query, Datum value, bool isnull);
extern void l4_query_put_bytes(L4Query *query, bytea *value);
extern void l4_query_put_ts(L4Query *query, TimestampTz ts);
extern void l4_query_put_int(L4Query *query, int32 value);

/* ingest_rollup.c: events of the jobs of a batch */
typedef struct L4RollUp L4RollUp;

extern L4RollUp *l4_rollup_create(MemoryContext cxt);
extern void l4_rollup_stream(L4RollUp *rollup, const char *job_id, const char *node, const char *source,
							 bool may_lose, const L4Packed *packed);
extern void l4_rollup_store(L4RollUp *rollup);

#endif							/* L4_INGEST_STORE_H */
