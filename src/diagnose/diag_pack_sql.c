/*
 * diag_pack_sql.c: SQL side of what diagnosis does with packed values, so that millions of iterations never become rows.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/grow.h"
#include "base/map.h"
#include "diagnose/diagnose.h"
#include "l4_compat.h"
#include "packed/slot_values.h"

typedef struct LateState
{
	L4Iterations *all;
	int32		place;
	float8		min_nodes;
} LateState;

/* Lines of a picture of activity: as many as there are, each with columns from -1 on. */
#define ACTIVITY_COLUMNS	1024

typedef struct ActivityState
{
	int			nrows;
	int			size;
	int64		(*lines)[ACTIVITY_COLUMNS];
} ActivityState;

/*
 * Add arguments 1 and 2, settled and open iterations, of the node that argument 3 numbers; its clock, and since when reports count, are
 * the arguments from "more" on.
 */
static void
add_iterations(FunctionCallInfo fcinfo, L4Iterations *all, int more)
{
	int64		clock = PG_ARGISNULL(more) ? 0 : PG_GETARG_INT64(more);
	int64		since = PG_ARGISNULL(more + 1) ? PG_INT64_MIN : PG_GETARG_TIMESTAMPTZ(more + 1);

	if (PG_ARGISNULL(3))
		return;
	l4_check_range(PG_GETARG_INT32(3), "node", 0, L4_ITERATIONS_NODES - 1);
	for (int i = 1; i <= 2; i++)
		if (!PG_ARGISNULL(i))
			l4_iterations_add(all, PG_GETARG_BYTEA_PP(i), PG_GETARG_INT32(3), clock, since);
}

/* l4._iteration_table(packed, open, node, clock, since) */
L4_FUNCTION(l4_iterations_accum)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	L4Iterations *all = PG_ARGISNULL(0) ? l4_iterations_create(cxt, false) : (L4Iterations *) PG_GETARG_POINTER(0);

	add_iterations(fcinfo, all, 4);
	PG_RETURN_POINTER(all);
}

/* Two packed values: iterations, nodes */
L4_FUNCTION(l4_iterations_final)
{
	L4Iterations *all = (L4Iterations *) PG_GETARG_POINTER(0);
	Datum		parts[2];

	parts[0] = PointerGetDatum(l4_pack_encode(l4_iterations_table(all)));
	parts[1] = PointerGetDatum(l4_pack_encode(l4_iterations_nodes(all)));
	PG_RETURN_DATUM(l4_array(parts, 2, BYTEAOID));
}

/* l4._late_nodes(packed, open, node, place, min_nodes, clock, since) */
L4_FUNCTION(l4_late_accum)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	LateState  *state = PG_ARGISNULL(0) ? NULL : (LateState *) PG_GETARG_POINTER(0);

	if (state == NULL)
	{
		if (PG_ARGISNULL(4) || PG_ARGISNULL(5))
			PG_RETURN_NULL();
		state = MemoryContextAllocZero(cxt, sizeof(LateState));
		state->all = l4_iterations_create(cxt, true);
		state->place = PG_GETARG_INT32(4);
		state->min_nodes = PG_GETARG_FLOAT8(5);
	}
	add_iterations(fcinfo, state->all, 6);
	PG_RETURN_POINTER(state);
}

L4_FUNCTION(l4_late_final)
{
	LateState  *state = (LateState *) PG_GETARG_POINTER(0);

	PG_RETURN_BYTEA_P(l4_pack_encode(l4_iterations_late(state->all, state->place, state->min_nodes)));
}

static L4Deviations *
create_deviations(FunctionCallInfo fcinfo, MemoryContext cxt)
{
	int			nmerged;
	int			nsurvivors;
	const int32 *merged = l4_get_ids(fcinfo, 4, "merged", &nmerged);
	const int32 *survivors = l4_get_ids(fcinfo, 5, "survivors", &nsurvivors);

	l4_check_same_length(nmerged, "merged", nsurvivors, "survivors");
	return l4_deviations_create(cxt, merged, survivors, nmerged);
}

/* l4._deviations(packed, open, stream, merged, survivors): the arrays of the first row count */
L4_FUNCTION(l4_deviations_accum)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	L4Deviations *all = PG_ARGISNULL(0) ? create_deviations(fcinfo, cxt) : (L4Deviations *) PG_GETARG_POINTER(0);

	for (int i = 1; i <= 2; i++)
		if (!PG_ARGISNULL(i) && !PG_ARGISNULL(3))
			l4_deviations_add(all, PG_GETARG_BYTEA_PP(i), PG_GETARG_INT32(3));
	PG_RETURN_POINTER(all);
}

L4_FUNCTION(l4_deviations_final)
{
	PG_RETURN_BYTEA_P(l4_pack_encode(l4_deviations_result((L4Deviations *) PG_GETARG_POINTER(0))));
}

/*
 * Rows of packed durations follow each other by event and slot: one row of
 * sums for each run of them. Block -1 is what came without an iteration.
 */
static void
put_duration_sums(ReturnSetInfo *rsinfo, bytea *packed, int block)
{
	L4Pack	   *pack = l4_pack_open_as(packed, "iiiii", CurrentMemoryContext);
	L4PackCol  *cols = pack->cols;
	int64		sums[4] = {0, 0, 0, 0};

	for (int i = 0; i < pack->nrows; i++)
	{
		int			since = cols[2].ints[i] >= block ? 2 : 0;

		if (cols[2].ints[i] >= 0 || block < 0)
		{
			sums[since] += cols[3].ints[i];
			sums[since + 1] += cols[4].ints[i];
		}
		if (i + 1 == pack->nrows || cols[0].ints[i + 1] != cols[0].ints[i] || cols[1].ints[i + 1] != cols[1].ints[i])
		{
			Datum		values[6];
			bool		nulls[6] = {false};

			values[0] = Int32GetDatum((int32) cols[0].ints[i]);
			values[1] = Int32GetDatum((int32) cols[1].ints[i]);
			for (int k = 0; k < 4; k++)
				values[2 + k] = Int64GetDatum(sums[k]);
			if (sums[0] > 0 || sums[2] > 0)
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
			memset(sums, 0, sizeof(sums));
			CHECK_FOR_INTERRUPTS();
		}
	}
}

/* l4._duration_sums(packed, open, block) -> event_id, slot, number and microseconds before the block and since */
L4_FUNCTION(l4_duration_sums)
{
	l4_init_materialized_srf(fcinfo);
	for (int i = 0; i < 2; i++)
		if (!PG_ARGISNULL(i) && !PG_ARGISNULL(2))
			put_duration_sums((ReturnSetInfo *) fcinfo->resultinfo, PG_GETARG_BYTEA_PP(i), PG_GETARG_INT32(2));
	return (Datum) 0;
}

/* l4._last_of_ranks(packed, open) -> rank, and the greatest of its epochs (upper 32 bits) and iterations */
L4_FUNCTION(l4_last_of_ranks)
{
	ReturnSetInfo *rsinfo;
	L4Map	   *places = l4_map_create(CurrentMemoryContext, 16, NULL);
	int64	   *ranks = NULL;
	int64	   *last = NULL;
	int			nranks = 0;
	int			ranks_size = 0;
	int			last_size = 0;

	l4_init_materialized_srf(fcinfo);
	rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	for (int i = 0; i < 2; i++)
	{
		L4Pack	   *pack;

		if (PG_ARGISNULL(i))
			continue;
		pack = l4_pack_open_as(PG_GETARG_BYTEA_PP(i), "iiia", CurrentMemoryContext);
		for (int row = 0; row < pack->nrows; row++)
		{
			int64		at = (int64) (int32) pack->cols[1].ints[row] * (INT64CONST(1) << 32) + (int32) pack->cols[2].ints[row];
			int32	   *place;

			CHECK_FOR_INTERRUPTS();
			if (l4_pack_is_null(pack, 0, row) || l4_pack_is_null(pack, 1, row) || l4_pack_is_null(pack, 2, row))
				continue;
			place = l4_map_put(places, (uint64) pack->cols[0].ints[row], NULL);
			if (*place == 0)
			{
				L4_GROW(ranks, nranks, ranks_size, CurrentMemoryContext);
				L4_GROW(last, nranks, last_size, CurrentMemoryContext);
				ranks[nranks] = pack->cols[0].ints[row];
				last[nranks] = at;
				*place = ++nranks;
			}
			last[*place - 1] = Max(last[*place - 1], at);
		}
	}
	for (int k = 0; k < nranks; k++)
	{
		Datum		values[2] = {Int32GetDatum((int32) ranks[k]), Int64GetDatum(last[k])};
		bool		nulls[2] = {false, false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* l4._wrote_between(packed, open, from_ts, to_ts): packed activity has a second in [from_ts, to_ts) */
L4_FUNCTION(l4_wrote_between)
{
	for (int i = 0; i < 2; i++)
	{
		L4Pack	   *pack;

		if (PG_ARGISNULL(i) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
			continue;
		pack = l4_pack_open_as(PG_GETARG_BYTEA_PP(i), "i", CurrentMemoryContext);
		for (int row = 0; row < pack->nrows; row++)
			if (pack->cols[0].ints[row] >= PG_GETARG_TIMESTAMPTZ(2) && pack->cols[0].ints[row] < PG_GETARG_TIMESTAMPTZ(3))
				PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}

/* l4._activity_columns(packed, open, row, from_ts, to_ts, width): width is in seconds */
L4_FUNCTION(l4_activity_accum)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	ActivityState *state = PG_ARGISNULL(0) ? MemoryContextAllocZero(cxt, sizeof(ActivityState)) : (ActivityState *) PG_GETARG_POINTER(0);
	int			row;

	for (int i = 3; i <= 6; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_POINTER(state);
	row = PG_GETARG_INT32(3);
	if (row < 0 || row > PG_INT16_MAX || !(PG_GETARG_FLOAT8(6) > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row and width of a picture must be positive, not %d and %g", row, PG_GETARG_FLOAT8(6))));
	if (row >= state->nrows)
	{
		L4_GROW_FROM(state->lines, row, state->size, row + 1, cxt);
		memset(state->lines + state->nrows, 0, sizeof(*state->lines) * (row + 1 - state->nrows));
		state->nrows = row + 1;
	}
	for (int i = 1; i <= 2; i++)
	{
		L4Pack	   *pack;

		if (PG_ARGISNULL(i))
			continue;
		pack = l4_pack_open_as(PG_GETARG_BYTEA_PP(i), "ii", CurrentMemoryContext);
		for (int k = 0; k < pack->nrows; k++)
		{
			double		seconds = ((double) pack->cols[0].ints[k] - (double) PG_GETARG_TIMESTAMPTZ(4)) / USECS_PER_SEC;
			double		column = floor(seconds / PG_GETARG_FLOAT8(6)) + 1;

			if (seconds > -1 && pack->cols[0].ints[k] <= PG_GETARG_TIMESTAMPTZ(5) && column >= 0 && column < ACTIVITY_COLUMNS)
				state->lines[row][(int) column] += pack->cols[1].ints[k];
		}
	}
	PG_RETURN_POINTER(state);
}

/* Packed (row, column, lines) */
L4_FUNCTION(l4_activity_final)
{
	ActivityState *state = (ActivityState *) PG_GETARG_POINTER(0);
	L4Pack	   *pack = l4_pack_create("iii", CurrentMemoryContext);

	for (int row = 0; row < state->nrows; row++)
		for (int k = 0; k < ACTIVITY_COLUMNS; k++)
		{
			int64		n = state->lines[row][k];

			if (n == 0)
				continue;
			l4_pack_int(pack, 0, row);
			l4_pack_int(pack, 1, k - 1);
			l4_pack_int(pack, 2, n);
		}
	PG_RETURN_BYTEA_P(l4_pack_encode(pack));
}

/* Two arguments, from "first" on, as lines and numbers; the lines ascend. */
static L4KnownNumbers
known_numbers(FunctionCallInfo fcinfo, int first, const char *lines, const char *numbers)
{
	L4KnownNumbers known;
	int			n;

	known.lines = l4_check_int8_array(PG_GETARG_ARRAYTYPE_P(first), lines, &known.n);
	known.numbers = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(first + 1), numbers, &n);
	l4_check_same_length(known.n, lines, n, numbers);
	for (int i = 1; i < n; i++)
		if (known.lines[i] <= known.lines[i - 1])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be ascending", lines)));
	return known;
}

/*
 * l4._count_records(lines bigint[], times timestamptz[], known_lines bigint[], known_numbers int[], epoch_lines bigint[], epochs int[],
 * step int, low int, high int) -> bytea; strict but for high: NULL where numbers do not begin anew, the greatest integer where they do but not
 * known when. Of lines and times, one each for every record, -infinity stands for no time.
 */
L4_FUNCTION(l4_count_records_sql)
{
	int			n;
	const int64 *lines;
	ArrayType  *times;
	L4KnownNumbers known;
	L4KnownNumbers epochs;
	L4CounterRule rule;

	for (int i = 0; i < 8; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	lines = l4_check_int8_array(PG_GETARG_ARRAYTYPE_P(0), "lines", &n);
	times = PG_GETARG_ARRAYTYPE_P(1);
	known = known_numbers(fcinfo, 2, "known_lines", "known_numbers");
	epochs = known_numbers(fcinfo, 4, "epoch_lines", "epochs");
	l4_check_range(PG_GETARG_INT32(6), "step", 1, PG_INT32_MAX);
	l4_check_same_length(n, "lines", l4_check_array(times, "times"), "times");
	rule.step = PG_GETARG_INT32(6);
	rule.low = PG_GETARG_INT32(7);
	rule.begins_anew = !PG_ARGISNULL(8);
	rule.high = PG_ARGISNULL(8) ? PG_INT32_MAX : PG_GETARG_INT32(8);
	PG_RETURN_BYTEA_P(l4_pack_encode(l4_count_records(CurrentMemoryContext, n, lines, (const int64 *) ARR_DATA_PTR(times), &known, &epochs,
													  &rule)));
}
