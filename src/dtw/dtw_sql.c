/*
 * dtw_sql.c
 *		SQL side of dynamic time warping.
 */
#include "postgres.h"

#include "base/args.h"
#include "dtw/dtw.h"
#include "l4_compat.h"

/* Argument 2, where NULL means no band. */
static int
get_band(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(2))
		return L4_DTW_NO_BAND;
	l4_check_range(PG_GETARG_INT32(2), "band", 0, PG_INT32_MAX);
	return PG_GETARG_INT32(2);
}

L4_FUNCTION(l4_dtw_distance)
{
	const int32 *a;
	const int32 *b;
	int			n;
	int			m;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	a = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(0), "a", &n);
	b = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "b", &m);
	l4_dtw_check_lengths(n, m);
	PG_RETURN_FLOAT8(l4_dtw_int(a, n, b, m, get_band(fcinfo)));
}

L4_FUNCTION(l4_dtw_distance_numeric)
{
	const float8 *a;
	const float8 *b;
	int			n;
	int			m;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	a = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(0), "a", &n);
	b = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(1), "b", &m);
	l4_dtw_check_lengths(n, m);
	PG_RETURN_FLOAT8(l4_dtw_float(a, n, b, m, get_band(fcinfo)));
}

#define PATH_COLUMNS	3

/* Set of (i, j, cost), positions from 1 as in SQL arrays. */
L4_FUNCTION(l4_dtw_path_rows)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const int32 *a;
	const int32 *b;
	int			n;
	int			m;
	int			nsteps;
	L4DtwStep  *steps;

	l4_init_materialized_srf(fcinfo);
	Assert(rsinfo->setDesc->natts == PATH_COLUMNS);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	a = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(0), "a", &n);
	b = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "b", &m);
	steps = l4_dtw_path(a, n, b, m, get_band(fcinfo), &nsteps);
	for (int s = 0; s < nsteps; s++)
	{
		Datum		values[PATH_COLUMNS];
		bool		nulls[PATH_COLUMNS] = {false};

		values[0] = Int32GetDatum(steps[s].i + 1);
		values[1] = Int32GetDatum(steps[s].j + 1);
		values[2] = Float8GetDatum(steps[s].cost);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
