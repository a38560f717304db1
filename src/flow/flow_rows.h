/*
 * flow_rows.h
 *		Statements that take many rows at once: their parameters are arrays,
 *		one for each column.
 */
#ifndef L4_FLOW_ROWS_H
#define L4_FLOW_ROWS_H

#include "ingest/ingest_query.h"

typedef struct L4Rows
{
	L4Query		query;
	MemoryContext cxt;			/* of the values */
	int			ncols;
	Oid			types[L4_QUERY_MAX_ARGS];	/* of the elements */
	int16		typlen[L4_QUERY_MAX_ARGS];
	bool		byval[L4_QUERY_MAX_ARGS];
	char		align[L4_QUERY_MAX_ARGS];
	int			col;			/* the one whose value is next */
	int			nrows;
	int			size;
	Datum	   *values[L4_QUERY_MAX_ARGS];
	bool	   *nulls[L4_QUERY_MAX_ARGS];
	Size		bytes;
} L4Rows;

extern void l4_rows_prepare(L4Rows *rows, const char *sql, int ncols, const Oid *types);
extern void l4_rows_put(L4Rows *rows, Datum value, bool isnull);
extern void l4_rows_flush(L4Rows *rows);

static inline void
l4_rows_put_bytes(L4Rows *rows, const bytea *value)
{
	l4_rows_put(rows, PointerGetDatum(value), value == NULL);
}

static inline void
l4_rows_put_ts(L4Rows *rows, TimestampTz ts)
{
	l4_rows_put(rows, Int64GetDatum(ts), ts == L4_NO_TS);
}

static inline void
l4_rows_put_int(L4Rows *rows, int32 value)
{
	l4_rows_put(rows, Int32GetDatum(value), value == L4_NO_INT);
}

static inline void
l4_rows_put_bigint(L4Rows *rows, int64 value)
{
	l4_rows_put(rows, Int64GetDatum(value), false);
}

#endif							/* L4_FLOW_ROWS_H */
