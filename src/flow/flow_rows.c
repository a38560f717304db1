/*
 * flow_rows.c
 *		Statements that take many rows at once.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "flow/flow_rows.h"
#include "l4_compat.h"

#define FLUSH_BYTES (1024 * 1024)	/* rows are written when they have these */

void
l4_rows_prepare(L4Rows *rows, const char *sql, int ncols, const Oid *types)
{
	Oid			arrays[L4_QUERY_MAX_ARGS];

	memset(rows, 0, sizeof(*rows));
	rows->ncols = ncols;
	for (int c = 0; c < ncols; c++)
	{
		rows->types[c] = types[c];
		get_typlenbyvalalign(types[c], &rows->typlen[c], &rows->byval[c], &rows->align[c]);
		arrays[c] = get_array_type(types[c]);
	}
	l4_query_prepare(&rows->query, sql, ncols, arrays);
	rows->cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 rows", ALLOCSET_DEFAULT_SIZES);
}

/* A value for each column in turn; values are copied. */
void
l4_rows_put(L4Rows *rows, Datum value, bool isnull)
{
	int			c = rows->col;

	if (rows->nrows >= rows->size)
	{
		int			size = Max(32, rows->size * 2);

		for (int i = 0; i < rows->ncols; i++)
		{
			rows->values[i] = rows->size == 0 ? MemoryContextAlloc(rows->cxt, sizeof(Datum) * size)
				: repalloc(rows->values[i], sizeof(Datum) * size);
			rows->nulls[i] = rows->size == 0 ? MemoryContextAlloc(rows->cxt, sizeof(bool) * size)
				: repalloc(rows->nulls[i], sizeof(bool) * size);
		}
		rows->size = size;
	}
	if (!isnull && !rows->byval[c])
	{
		MemoryContext old = MemoryContextSwitchTo(rows->cxt);

		value = datumCopy(value, false, rows->typlen[c]);
		MemoryContextSwitchTo(old);
		rows->bytes += datumGetSize(value, false, rows->typlen[c]);
	}
	rows->values[c][rows->nrows] = isnull ? (Datum) 0 : value;
	rows->nulls[c][rows->nrows] = isnull;
	rows->col = (c + 1) % rows->ncols;
	rows->nrows += rows->col == 0;
	if (rows->col == 0 && rows->bytes >= FLUSH_BYTES)
		l4_rows_flush(rows);
}

/* Run the statement for the rows that were put. */
void
l4_rows_flush(L4Rows *rows)
{
	MemoryContext old;
	int			lbound = 1;

	if (rows->col != 0)
		elog(ERROR, "a row has %d values, not %d", rows->col, rows->ncols);
	if (rows->nrows == 0)
		return;
	old = MemoryContextSwitchTo(rows->cxt);
	for (int c = 0; c < rows->ncols; c++)
		l4_query_put(&rows->query,
					 PointerGetDatum(construct_md_array(rows->values[c], rows->nulls[c], 1, &rows->nrows, &lbound,
														rows->types[c], rows->typlen[c], rows->byval[c], rows->align[c])), false);
	l4_query_run(&rows->query);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->cxt);
	rows->nrows = rows->size = 0;
	rows->bytes = 0;
}
