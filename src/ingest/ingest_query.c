/*
 * ingest_query.c
 *		Statements that are prepared once and run for each stream.
 */
#include "postgres.h"

#include "ingest/ingest_query.h"

void
l4_query_prepare(L4Query *query, const char *sql, int nargs, const Oid *types)
{
	Assert(nargs <= L4_QUERY_MAX_ARGS);
	query->nargs = nargs;
	query->n = 0;
	query->read_only = false;
	/* its values are whole columns: a plan for each of them would cost more than it gains */
	query->plan = SPI_prepare_cursor(sql, nargs, unconstify(Oid *, types), CURSOR_OPT_GENERIC_PLAN);
	if (query->plan == NULL)
		elog(ERROR, "cannot prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
}

/* Run with the values that were put; rows are in SPI_tuptable. */
uint64
l4_query_run(L4Query *query)
{
	MemoryContext old = CurrentMemoryContext;
	int			result;

	if (query->n != query->nargs)
		elog(ERROR, "query has %d values, not %d", query->n, query->nargs);
	query->n = 0;
	result = SPI_execute_plan(query->plan, query->values, query->nulls, query->read_only, 0);
	if (result < 0)
		elog(ERROR, "cannot run a statement: %s", SPI_result_code_string(result));
	/* SPI leaves its own context as the current one: what the caller makes now would live as long as the connection */
	MemoryContextSwitchTo(old);
	return SPI_processed;
}

void
l4_query_put(L4Query *query, Datum value, bool isnull)
{
	Assert(query->n < query->nargs);
	query->values[query->n] = isnull ? (Datum) 0 : value;
	query->nulls[query->n++] = isnull ? 'n' : ' ';
}

int
l4_query_get_int(int col, int otherwise)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

int64
l4_query_get_bigint(int col, int64 otherwise)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	return isnull ? otherwise : DatumGetInt64(value);
}
