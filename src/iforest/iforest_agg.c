/*
 * iforest_agg.c
 *		Aggregate iforest_train.
 *
 * The state is a list of vectors, sorted from time to time and then each kept
 * once, with its number of rows. A set has no order, so neither row order nor the
 * way partial states were combined can show in the result. Beyond
 * L4_IFOREST_MAX_POOL only the vectors with the smallest hashes stay: as many,
 * from the smallest hash on, as fit. Which those are depends on the whole set
 * alone, and a vector that was left out once can never come back in, so
 * nothing needs to be kept of it: memory is bounded whatever the number of
 * rows.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "base/args.h"
#include "base/grow.h"
#include "base/seen.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

/* What an entry counts beside its bytes. */
#define ENTRY_SIZE		64

typedef struct ForestState
{
	MemoryContext context;
	L4ForestOptions options;
	Jsonb	   *given;			/* the options as given; NULL: none or unknown */
	L4ForestRow *rows;
	int			nrows;
	int			size;
	int64		bytes;			/* of its vectors */
	bool		cut;			/* vectors from cutoff on are left out */
	uint64		cutoff;
} ForestState;

static void
parse_options(Jsonb *json, L4ForestOptions *options)
{
	const L4Option known[] = {
		{"trees", L4_OPTION_INT, 1, L4_IFOREST_MAX_TREES, &options->trees},
		{"sample_size", L4_OPTION_INT, L4_IFOREST_MIN_SAMPLE, L4_IFOREST_MAX_SAMPLE, &options->sample_size},
		{"seed", L4_OPTION_INT, (double) PG_INT64_MIN, (double) PG_INT64_MAX, &options->seed}
	};

	options->trees = 100;
	options->sample_size = 256;
	options->seed = 0;
	if (json != NULL)
		l4_check_options(json, known, lengthof(known), "iforest_train");
	if (options->trees * options->sample_size > L4_IFOREST_MAX_LEAVES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("isolation forest of %d trees with samples of %d is too large",
						(int) options->trees, (int) options->sample_size),
				 errdetail("The product of \"trees\" and \"sample_size\" may be %d at most.",
						   L4_IFOREST_MAX_LEAVES)));
}

static ForestState *
create_state(MemoryContext parent, const L4ForestOptions *options)
{
	MemoryContext context = AllocSetContextCreate(parent, "l4 iforest_train",
												  ALLOCSET_DEFAULT_SIZES);
	ForestState *state = MemoryContextAllocZero(context, sizeof(ForestState));

	state->context = context;
	state->options = *options;
	L4_GROW(state->rows, state->nrows, state->size, context);
	return state;
}

/* Without the header, whose length depends on where the value came from. */
static int64
row_size(const L4ForestRow *row)
{
	return (int64) VARSIZE_ANY_EXHDR(row->vector) + ENTRY_SIZE;
}

/* Sort the rows and make one of those with equal vectors. */
static void
merge_rows(ForestState *state)
{
	int			n = 0;

	qsort(state->rows, state->nrows, sizeof(L4ForestRow), l4_iforest_compare_rows);
	for (int i = 0; i < state->nrows; i++)
	{
		L4ForestRow *row = &state->rows[i];

		if (n > 0 && l4_iforest_compare_rows(row, &state->rows[n - 1]) == 0)
		{
			state->rows[n - 1].rows += row->rows;
			state->bytes -= row_size(row);
			pfree(row->vector);
		}
		else
			state->rows[n++] = *row;
	}
	state->nrows = n;
}

/*
 * Sort the rows and leave out those that do not fit. Rows of one hash stay or
 * go together, so that a hash is enough to tell what was left out.
 */
static void
sort_rows(ForestState *state)
{
	int			fit = 0;
	int64		bytes = 0;

	merge_rows(state);
	while (fit < state->nrows)
	{
		uint64		hash = state->rows[fit].hash;
		int			next = fit;

		if (state->cut && hash >= state->cutoff)
			break;
		for (; next < state->nrows && state->rows[next].hash == hash; next++)
			bytes += row_size(&state->rows[next]);
		if (bytes > L4_IFOREST_MAX_POOL)
		{
			state->cut = true;
			state->cutoff = hash;
			break;
		}
		fit = next;
	}
	while (state->nrows > fit)
	{
		L4ForestRow *row = &state->rows[--state->nrows];

		state->bytes -= row_size(row);
		pfree(row->vector);
	}
}

/* Add rows of one vector; its bytes are copied. */
static void
add_rows(ForestState *state, struct varlena *vector, int64 rows)
{
	uint64		hash = l4_evector_hash(vector, (uint64) state->options.seed);
	L4ForestRow *row;

	if (state->cut && hash >= state->cutoff)
		return;
	if (state->nrows == state->size || state->bytes > L4_IFOREST_MAX_POOL + L4_IFOREST_MAX_POOL / 4)
	{
		/* at least half of the room is free then, so that it is seldom done */
		sort_rows(state);
		L4_GROW(state->rows, state->nrows * 2, state->size, state->context);
	}
	row = &state->rows[state->nrows++];
	row->hash = hash;
	row->rows = rows;
	row->vector = l4_keep_value(vector, state->context);
	state->bytes += row_size(row);
}

static void
check_same_options(const ForestState *state, const L4ForestOptions *options)
{
	if (memcmp(options, &state->options, sizeof(*options)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of iforest_train must be the same in every row")));
}

#define STATE_ARGUMENT(n)	(PG_ARGISNULL(n) ? NULL : (ForestState *) PG_GETARG_POINTER(n))

L4_FUNCTION(l4_iforest_accum)
{
	MemoryContext parent = l4_aggregate_context(fcinfo);
	ForestState *state = STATE_ARGUMENT(0);
	Jsonb	   *json = NULL;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
		json = PG_GETARG_JSONB_P(2);
	/* options are compared by bytes first */
	if (state == NULL || !l4_same_value(json, state->given))
	{
		L4ForestOptions options;

		parse_options(json, &options);
		if (state != NULL)
			check_same_options(state, &options);
		else
		{
			state = create_state(parent, &options);
			if (json != NULL)
				state->given = l4_keep_value(json, state->context);
		}
	}
	add_rows(state, L4_GETARG_EVECTOR(1), 1);
	PG_RETURN_POINTER(state);
}

L4_FUNCTION(l4_iforest_combine)
{
	MemoryContext parent = l4_aggregate_context(fcinfo);
	ForestState *state = STATE_ARGUMENT(0);
	ForestState *other = STATE_ARGUMENT(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = create_state(parent, &other->options);
	else
		check_same_options(state, &other->options);
	if (other->cut && (!state->cut || other->cutoff < state->cutoff))
	{
		state->cut = true;
		state->cutoff = other->cutoff;
	}
	for (int i = 0; i < other->nrows; i++)
	{
		add_rows(state, other->rows[i].vector, other->rows[i].rows);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_POINTER(state);
}

L4_FUNCTION(l4_iforest_serialize)
{
	ForestState *state = STATE_ARGUMENT(0);
	StringInfoData buf;

	sort_rows(state);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, state->options.trees);
	pq_sendint64(&buf, state->options.sample_size);
	pq_sendint64(&buf, state->options.seed);
	pq_sendbyte(&buf, state->cut);
	pq_sendint64(&buf, (int64) state->cutoff);
	pq_sendint32(&buf, state->nrows);
	for (int i = 0; i < state->nrows; i++)
	{
		struct varlena *vector = state->rows[i].vector;

		pq_sendint64(&buf, state->rows[i].rows);
		pq_sendint32(&buf, (uint32) VARSIZE_ANY_EXHDR(vector));
		pq_sendbytes(&buf, VARDATA_ANY(vector), VARSIZE_ANY_EXHDR(vector));
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* Only l4_iforest_serialize makes such bytes: the server passes no others to an aggregate. */
L4_FUNCTION(l4_iforest_deserialize)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StringInfoData buf;
	L4ForestOptions options;
	ForestState *state;
	int			n;

	buf.data = VARDATA_ANY(bytes);
	buf.len = buf.maxlen = VARSIZE_ANY_EXHDR(bytes);
	buf.cursor = 0;
	options.trees = pq_getmsgint64(&buf);
	options.sample_size = pq_getmsgint64(&buf);
	options.seed = pq_getmsgint64(&buf);
	state = create_state(CurrentMemoryContext, &options);
	state->cut = pq_getmsgbyte(&buf) != 0;
	state->cutoff = (uint64) pq_getmsgint64(&buf);
	n = (int) pq_getmsgint(&buf, 4);
	for (int i = 0; i < n; i++)
	{
		int64		rows = pq_getmsgint64(&buf);
		int			size = (int) pq_getmsgint(&buf, 4);
		struct varlena *vector = palloc(VARHDRSZ + size);

		SET_VARSIZE(vector, VARHDRSZ + size);
		pq_copymsgbytes(&buf, VARDATA(vector), size);
		add_rows(state, vector, rows);
		pfree(vector);
		CHECK_FOR_INTERRUPTS();
	}
	pq_getmsgend(&buf);
	PG_RETURN_POINTER(state);
}

/* A window frame goes on with the state: sorting it changes nothing in what it means. */
L4_FUNCTION(l4_iforest_final)
{
	ForestState *state = STATE_ARGUMENT(0);
	MemoryContext context;
	MemoryContext old;
	struct varlena *trained;
	struct varlena *result;

	sort_rows(state);
	context = AllocSetContextCreate(CurrentMemoryContext, "l4 iforest training",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	trained = l4_iforest_train(&state->options, state->rows, state->nrows);
	MemoryContextSwitchTo(old);
	result = palloc(VARSIZE(trained));
	memcpy(result, trained, VARSIZE(trained));
	MemoryContextDelete(context);
	PG_RETURN_POINTER(result);
}
