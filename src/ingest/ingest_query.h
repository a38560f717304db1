/*
 * ingest_query.h
 *		Statements that are prepared once and run for each stream.
 */
#ifndef L4_INGEST_QUERY_H
#define L4_INGEST_QUERY_H

#include "executor/spi.h"

#include "ingest/scan_result.h"

#define L4_QUERY_MAX_ARGS	32

/* A prepared statement and the values of its parameters. */
typedef struct L4Query
{
	SPIPlanPtr	plan;
	bool		read_only;		/* sees what the calling statement sees */
	int			nargs;
	int			n;				/* values so far */
	Datum		values[L4_QUERY_MAX_ARGS];
	char		nulls[L4_QUERY_MAX_ARGS];
} L4Query;

extern void l4_query_prepare(L4Query *query, const char *sql, int nargs, const Oid *types);
extern uint64 l4_query_run(L4Query *query);
extern void l4_query_put(L4Query *query, Datum value, bool isnull);
extern void l4_query_put_bytes(L4Query *query, bytea *value);
extern void l4_query_put_int(L4Query *query, int32 value);

#endif							/* L4_INGEST_QUERY_H */
