/*
 * flow_sql.c
 *		SQL side: parameters of trace_flows, change points, division into steps.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "base/args.h"
#include "base/grow.h"
#include "base/order.h"
#include "flow/divide.h"
#include "l4_compat.h"

/* parameters jsonb -> (late_s, window_s, keep_s), seconds; an unknown name or a value out of range is an error */
L4_FUNCTION(l4_flow_parameters)
{
	double		late = 60;
	double		window = 3600;
	double		keep = 0;
	const L4Option options[] = {
		{"late_s", L4_OPTION_FLOAT, 0, 1e6, &late},
		{"window_s", L4_OPTION_FLOAT, 1, 1e9, &window},
		{"keep_s", L4_OPTION_FLOAT, 0, 1e9, &keep},
	};
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	l4_check_options(PG_GETARG_JSONB_P(0), options, lengthof(options), "l4.trace_flows()");
	values[0] = Float8GetDatum(late);
	values[1] = Float8GetDatum(window);
	values[2] = Float8GetDatum(keep);
	PG_RETURN_DATUM(l4_row(fcinfo, values, nulls));
}

/* What change_points collects. */
typedef struct SeriesState
{
	MemoryContext cxt;
	int			n;
	int			size;
	double	   *values;
	double		length;
	int64		lag;
} SeriesState;

/* (state, value [, options]) -> state; options are those of the first row; a NULL value is left out */
L4_FUNCTION(l4_change_points_add)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	SeriesState *state;

	if (PG_ARGISNULL(0))
	{
		state = MemoryContextAllocZero(cxt, sizeof(SeriesState));
		state->cxt = cxt;
		state->length = 100;
		state->lag = 5;
		if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
		{
			const L4Option options[] = {
				{"length", L4_OPTION_FLOAT, 2, 1e9, &state->length},
				{"lag", L4_OPTION_INT, 1, 1000, &state->lag},
			};

			l4_check_options(PG_GETARG_JSONB_P(2), options, lengthof(options), "l4.change_points()");
		}
	}
	else
		state = (SeriesState *) PG_GETARG_POINTER(0);
	if (!PG_ARGISNULL(1))
	{
		double		value = PG_GETARG_FLOAT8(1);

		if (!isfinite(value))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("a value of l4.change_points() is not finite")));
		L4_GROW(state->values, state->n, state->size, state->cxt);
		state->values[state->n++] = value;
	}
	PG_RETURN_POINTER(state);
}

/* state -> float8[]: of each value the probability that a change lies before it; NULL without values */
L4_FUNCTION(l4_change_points_final)
{
	SeriesState *state = (SeriesState *) PG_GETARG_POINTER(0);
	double	   *probability;
	Datum	   *result;

	if (state->n == 0)
		PG_RETURN_NULL();
	probability = palloc(sizeof(double) * state->n);
	l4_change_points(state->values, state->n, state->length, (int) state->lag, probability);
	result = palloc(sizeof(Datum) * state->n);
	for (int i = 0; i < state->n; i++)
		result[i] = Float8GetDatum(probability[i]);
	PG_RETURN_DATUM(l4_array(result, state->n, FLOAT8OID));
}

L4_COMPARE_NUMBERS(order_indices, float8,)

#define MICROSECONDS(seconds) ((int64) llrint((seconds) * 1e6))

/* Number of the part in which each record lies, in the order of the arguments. */
static Datum
divide(const float8 *start, const float8 *finish, const float8 *bytes, int n, double period)
{
	int		   *order = palloc(sizeof(int) * Max(n, 1));
	int64	   *starts = palloc(sizeof(int64) * Max(n, 1));
	int64	   *ends = palloc(sizeof(int64) * Max(n, 1));
	double	   *sizes = palloc(sizeof(double) * Max(n, 1));
	int		   *part = palloc0(sizeof(int) * Max(n, 1));
	Datum	   *result = palloc(sizeof(Datum) * Max(n, 1));
	L4Division	divisions[L4_DIVISIONS];
	L4Records	records = {.n = n, .start = starts, .end = ends, .bytes = sizes};
	int			best;
	int			ndivisions;

	for (int i = 0; i < n; i++)
		order[i] = i;
	qsort_arg(order, n, sizeof(int), order_indices, unconstify(float8 *, start));
	for (int i = 0; i < n; i++)
	{
		starts[i] = MICROSECONDS(start[order[i]]);
		ends[i] = MICROSECONDS(finish[order[i]]);
		sizes[i] = bytes[order[i]];
	}
	ndivisions = l4_divide(&records, divisions, &best);
	for (int i = 0; period > 0 && i < ndivisions; i++)
		if (divisions[i].period > 0 && (best < 0 || fabs(log(divisions[i].period / (period * 1e6)))
										< fabs(log(divisions[best].period / (period * 1e6)))))
			best = i;
	if (best >= 0)
		l4_divide_parts(&records, divisions[best].threshold, part);
	for (int i = 0; i < n; i++)
		result[order[i]] = Int32GetDatum(part[i]);
	return l4_array(result, n, INT4OID);
}

/*
 * (start, finish, bytes, options) -> int[]: seconds and bytes of records in
 * any order; the part of each, from 0. All are 0 where there are too few for
 * a division.
 */
L4_FUNCTION(l4_divide_steps)
{
	int			n[3];
	const float8 *start = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(0), "start", &n[0]);
	const float8 *finish = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(1), "finish", &n[1]);
	const float8 *bytes = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(2), "bytes", &n[2]);
	double		period = 0;
	const L4Option options[] = {
		{"period", L4_OPTION_FLOAT, 0, 1e9, &period},
	};

	l4_check_options(PG_GETARG_JSONB_P(3), options, lengthof(options), "l4.divide_steps()");
	if (n[0] != n[1] || n[0] != n[2])
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("start, finish and bytes must have the same length"),
				 errdetail("They have %d, %d and %d elements.", n[0], n[1], n[2])));
	for (int i = 0; i < n[0]; i++)
		if (finish[i] < start[i] || bytes[i] <= 0 || fabs(start[i]) > 1e12 || fabs(finish[i]) > 1e12)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("record %d ends before it starts, has no bytes, or lies out of range", i + 1)));
	return divide(start, finish, bytes, n[0], period);
}
