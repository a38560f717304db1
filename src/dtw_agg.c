/*
 * dtw_agg.c
 *		Aggregate _dtw_deviation: how far each sequence is from the ones before.
 *
 * Iterations repeat, so most sequences are equal to one seen before. The
 * state keeps each distinct sequence once and for every row only its number;
 * the distance of two distinct sequences is computed once. Cost and memory
 * grow with the distinct sequences, and four bytes a row.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "l4_compat.h"
#include "args.h"
#include "dtw.h"

PG_FUNCTION_INFO_V1(l4_dtw_deviation_accum);
PG_FUNCTION_INFO_V1(l4_dtw_deviation_final);

#define MAX_WINDOW		1000
#define MAX_ROWS		4194304

/* Events in all distinct sequences: 64 MB. */
#define MAX_EVENTS		16777216

typedef struct Sequence
{
	uint32		hash;
	int32		length;
	int32	   *events;
} Sequence;

typedef struct DeviationState
{
	MemoryContext context;
	int32		window;
	Sequence   *sequences;
	int			nsequences;
	int			size;			/* room in sequences */
	uint32	   *slots;			/* hash to position + 1 */
	uint32		mask;
	int32	   *rows;			/* position of each row's sequence */
	int			nrows;
	int			rows_size;
	int64		nevents;
} DeviationState;

/* Distance of two distinct sequences, once computed. */
typedef struct Distance
{
	uint64		pair;			/* lower position << 32 | higher, + 1; 0: free */
	double		value;
} Distance;

typedef struct DistanceTable
{
	Distance   *items;
	uint64		mask;
	uint64		used;
} DistanceTable;

static DeviationState *
create_state(MemoryContext parent, int32 window)
{
	MemoryContext context = AllocSetContextCreate(parent, "l4 dtw deviation",
												  ALLOCSET_SMALL_SIZES);
	DeviationState *state = MemoryContextAllocZero(context, sizeof(DeviationState));

	state->context = context;
	state->window = window;
	state->size = 8;
	state->mask = 15;
	state->rows_size = 64;
	state->sequences = MemoryContextAlloc(context, state->size * sizeof(Sequence));
	state->slots = MemoryContextAllocZero(context, 16 * sizeof(uint32));
	state->rows = MemoryContextAlloc(context, state->rows_size * sizeof(int32));
	return state;
}

static uint32 *
find_slot(DeviationState *state, uint32 hash, const int32 *events, int32 n)
{
	for (uint32 h = hash;; h++)
	{
		uint32	   *slot = &state->slots[h & state->mask];
		Sequence   *sequence;

		if (*slot == 0)
			return slot;
		sequence = &state->sequences[*slot - 1];
		if (sequence->hash == hash && sequence->length == n &&
			memcmp(sequence->events, events, n * sizeof(int32)) == 0)
			return slot;
	}
}

static void
grow(DeviationState *state)
{
	state->size *= 2;
	state->mask = (uint32) state->size * 2 - 1;
	state->sequences = repalloc_huge(state->sequences, state->size * sizeof(Sequence));
	pfree(state->slots);
	state->slots = MemoryContextAllocExtended(state->context,
											  (Size) state->size * 2 * sizeof(uint32),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < state->nsequences; i++)
	{
		uint32		h = state->sequences[i].hash;

		while (state->slots[h & state->mask] != 0)
			h++;
		state->slots[h & state->mask] = (uint32) i + 1;
	}
}

/* Position of a sequence among the distinct ones, a new one where needed. */
static int32
intern_sequence(DeviationState *state, const int32 *events, int32 n)
{
	uint32		hash = hash_bytes((const unsigned char *) events, n * sizeof(int32));
	uint32	   *slot = find_slot(state, hash, events, n);
	Sequence   *sequence;

	if (*slot != 0)
		return (int32) *slot - 1;
	state->nevents += n;
	if (state->nevents > MAX_EVENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("distinct sequences have more than %d events", MAX_EVENTS)));
	if (state->nsequences == state->size)
	{
		grow(state);
		slot = find_slot(state, hash, events, n);
	}
	sequence = &state->sequences[state->nsequences];
	sequence->hash = hash;
	sequence->length = n;
	sequence->events = MemoryContextAlloc(state->context, Max(n, 1) * sizeof(int32));
	memcpy(sequence->events, events, n * sizeof(int32));
	*slot = (uint32) ++state->nsequences;
	return state->nsequences - 1;
}

/* Transition (state, events, window_size); rows without events are left out. */
Datum
l4_dtw_deviation_accum(PG_FUNCTION_ARGS)
{
	DeviationState *state = PG_ARGISNULL(0) ? NULL : (DeviationState *) PG_GETARG_POINTER(0);
	MemoryContext parent;
	const int32 *events;
	int			n;

	if (!AggCheckCallContext(fcinfo, &parent))
		elog(ERROR, "dtw deviation support function called outside an aggregate");
	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" must not be null", "window_size")));
	l4_check_range(PG_GETARG_INT32(2), "window_size", 1, MAX_WINDOW);
	if (state == NULL)
		state = create_state(parent, PG_GETARG_INT32(2));
	else if (state->window != PG_GETARG_INT32(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be the same in every row, not %d and %d",
						"window_size", state->window, PG_GETARG_INT32(2))));
	events = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "events", &n);
	l4_dtw_check_lengths(n, n);
	if (state->nrows == state->rows_size)
	{
		if (state->nrows >= MAX_ROWS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("more than %d sequences", MAX_ROWS)));
		state->rows_size *= 2;
		state->rows = repalloc(state->rows, state->rows_size * sizeof(int32));
	}
	state->rows[state->nrows++] = intern_sequence(state, events, n);
	PG_RETURN_POINTER(state);
}

static Distance *
find_distance(DistanceTable *table, uint64 pair)
{
	uint64		h = (pair * UINT64CONST(0x9e3779b97f4a7c15)) >> 20;

	while (table->items[h & table->mask].pair != 0 &&
		   table->items[h & table->mask].pair != pair)
		h++;
	return &table->items[h & table->mask];
}

static void
grow_table(DistanceTable *table)
{
	Distance   *old = table->items;
	uint64		size = table->mask + 1;

	table->items = palloc_extended(size * 2 * sizeof(Distance),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	table->mask = size * 2 - 1;
	for (uint64 i = 0; i < size; i++)
	{
		if (old[i].pair != 0)
			*find_distance(table, old[i].pair) = old[i];
	}
	pfree(old);
}

static double
get_distance(DistanceTable *table, const DeviationState *state, int32 x, int32 y)
{
	uint64		pair = ((uint64) Min(x, y) << 32 | (uint64) Max(x, y)) + 1;
	const Sequence *a = &state->sequences[x];
	const Sequence *b = &state->sequences[y];
	Distance   *distance;

	if (x == y)
		return 0;
	distance = find_distance(table, pair);
	if (distance->pair != 0)
		return distance->value;
	if (table->used > table->mask / 2)
	{
		grow_table(table);
		distance = find_distance(table, pair);
	}
	distance->value = l4_dtw_int(a->events, a->length, b->events, b->length, L4_DTW_NO_BAND);
	distance->pair = pair;
	table->used++;
	return distance->value;
}

/*
 * For each row the mean distance to the (up to) window rows before it; NULL
 * for the first row, which has none.
 */
Datum
l4_dtw_deviation_final(PG_FUNCTION_ARGS)
{
	DeviationState *state;
	DistanceTable table;
	Datum	   *means;
	bool	   *nulls;
	int			dims[1];
	int			lower[1] = {1};
	ArrayType  *result;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "dtw deviation support function called outside an aggregate");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (DeviationState *) PG_GETARG_POINTER(0);
	table.mask = 63;
	table.used = 0;
	table.items = palloc0((table.mask + 1) * sizeof(Distance));
	means = palloc(state->nrows * sizeof(Datum));
	nulls = palloc0(state->nrows * sizeof(bool));
	nulls[0] = true;
	means[0] = (Datum) 0;
	for (int i = 1; i < state->nrows; i++)
	{
		int			first = Max(0, i - state->window);
		double		sum = 0;

		for (int j = first; j < i; j++)
			sum += get_distance(&table, state, state->rows[i], state->rows[j]);
		means[i] = Float8GetDatum(sum / (i - first));
		CHECK_FOR_INTERRUPTS();
	}
	dims[0] = state->nrows;
	result = construct_md_array(means, nulls, 1, dims, lower, FLOAT8OID,
								sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	pfree(table.items);
	PG_RETURN_ARRAYTYPE_P(result);
}
