/*
 * ingest_query.h
 *		Statements that are prepared once and run for each stream.
 */
#ifndef L4_INGEST_QUERY_H
#define L4_INGEST_QUERY_H

#include "executor/spi.h"
#include "utils/builtins.h"

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

/* A column of the first row that a statement returned; otherwise: where it is NULL. */
extern int	l4_query_get_int(int col, int otherwise);
extern int64 l4_query_get_bigint(int col, int64 otherwise);

/* A column, from 1, of any row. */
static inline Datum
l4_query_value(const SPITupleTable *rows, uint64 row, int col, bool *isnull)
{
	return SPI_getbinval(rows->vals[row], rows->tupdesc, col, isnull);
}

static inline void
l4_query_put_bytes(L4Query *query, const bytea *value)
{
	l4_query_put(query, PointerGetDatum(value), value == NULL);
}

static inline void
l4_query_put_ts(L4Query *query, TimestampTz ts)
{
	l4_query_put(query, Int64GetDatum(ts), ts == L4_NO_TS);
}

static inline void
l4_query_put_int(L4Query *query, int32 value)
{
	l4_query_put(query, Int32GetDatum(value), value == L4_NO_INT);
}

static inline void
l4_query_put_bigint(L4Query *query, int64 value)
{
	l4_query_put(query, Int64GetDatum(value), false);
}

static inline void
l4_query_put_bool(L4Query *query, bool value)
{
	l4_query_put(query, BoolGetDatum(value), false);
}

static inline void
l4_query_put_text(L4Query *query, const char *value)
{
	l4_query_put(query, value == NULL ? (Datum) 0 : CStringGetTextDatum(value), value == NULL);
}

#endif							/* L4_INGEST_QUERY_H */
