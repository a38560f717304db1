/*
 * iforest_agg.c
 *		Aggregate iforest_train.
 *
 * The state is the set of distinct vectors, each with its number of rows. A
 * set has no order, so neither row order nor the way partial states were
 * combined can show in the result. Beyond L4_IFOREST_MAX_POOL only the
 * vectors with the smallest hashes stay: as many, from the smallest hash on,
 * as fit. Which those are depends on the whole set alone, and a vector that
 * was left out once can never come back in, so nothing needs to be kept of
 * it: memory is bounded whatever the number of rows.
 */
#include "postgres.h"

#include "common/int.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/seen.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_iforest_accum);
PG_FUNCTION_INFO_V1(l4_iforest_combine);
PG_FUNCTION_INFO_V1(l4_iforest_serialize);
PG_FUNCTION_INFO_V1(l4_iforest_deserialize);
PG_FUNCTION_INFO_V1(l4_iforest_final);

#define STATE_VERSION	1

/* What an entry counts beside its bytes. */
#define ENTRY_SIZE		64

typedef struct PoolEntry
{
	L4ForestRow row;
	char		status;
} PoolEntry;

#define SH_PREFIX pool
#define SH_ELEMENT_TYPE PoolEntry
#define SH_KEY_TYPE L4ForestRow
#define SH_KEY row
#define SH_HASH_KEY(table, key) ((uint32) (key).hash)
#define SH_EQUAL(table, a, b) ((a).hash == (b).hash && l4_iforest_compare_rows(&(a), &(b)) == 0)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct ForestState
{
	MemoryContext context;
	L4ForestOptions options;
	Jsonb	   *given;			/* the options as given; NULL: none or unknown */
	pool_hash  *pool;
	int64		bytes;			/* of its vectors */
	int64		total;			/* rows seen */
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
	state->pool = pool_create(context, 16, NULL);
	return state;
}

/* Without the header, whose length depends on where the value came from. */
static int64
row_size(const L4ForestRow *row)
{
	return (int64) VARSIZE_ANY_EXHDR(row->vector) + ENTRY_SIZE;
}

/*
 * How many of the sorted rows stay. Rows of one hash stay or go together, so
 * that a hash is enough to tell what was left out.
 */
static int
rows_that_fit(const ForestState *state, const L4ForestRow *rows, int n)
{
	int64		bytes = 0;
	int			fit = 0;

	while (fit < n && !(state->cut && rows[fit].hash >= state->cutoff))
	{
		int			next = fit;

		do
			bytes += row_size(&rows[next++]);
		while (next < n && rows[next].hash == rows[fit].hash);
		if (bytes > L4_IFOREST_MAX_POOL)
			break;
		fit = next;
	}
	return fit;
}

/* The rows in order, in the current context; *fit of them stay. */
static L4ForestRow *
sorted_rows(const ForestState *state, int *fit)
{
	int			n = (int) state->pool->members;
	L4ForestRow *rows = palloc_extended(Max(n, 1) * sizeof(L4ForestRow), MCXT_ALLOC_HUGE);
	pool_iterator it;
	PoolEntry  *entry;
	int			i = 0;

	pool_start_iterate(state->pool, &it);
	while ((entry = pool_iterate(state->pool, &it)) != NULL)
		rows[i++] = entry->row;
	qsort(rows, n, sizeof(L4ForestRow), l4_iforest_compare_rows);
	*fit = rows_that_fit(state, rows, n);
	return rows;
}

static void
trim(ForestState *state)
{
	int			n = (int) state->pool->members;
	int			fit;
	L4ForestRow *rows = sorted_rows(state, &fit);

	if (fit < n)
	{
		state->cut = true;
		state->cutoff = rows[fit].hash;
	}
	for (int i = fit; i < n; i++)
	{
		state->bytes -= row_size(&rows[i]);
		pool_delete(state->pool, rows[i]);
		pfree(rows[i].vector);
	}
	pfree(rows);
}

/* Add rows of one vector; its bytes are copied where they are new. */
static void
add_rows(ForestState *state, struct varlena *vector, int64 rows)
{
	L4ForestRow row;
	PoolEntry  *entry;
	bool		found;

	if (pg_add_s64_overflow(state->total, rows, &state->total))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows for an isolation forest")));
	row.hash = l4_evector_hash(vector, (uint64) state->options.seed);
	row.rows = rows;
	row.vector = vector;
	if (state->cut && row.hash >= state->cutoff)
		return;
	entry = pool_insert(state->pool, row, &found);
	if (found)
	{
		entry->row.rows += rows;
		return;
	}
	entry->row.rows = rows;
	entry->row.vector = l4_keep_value(vector, state->context);
	state->bytes += row_size(&entry->row);
	if (state->bytes > L4_IFOREST_MAX_POOL + L4_IFOREST_MAX_POOL / 4)
		trim(state);
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

Datum
l4_iforest_accum(PG_FUNCTION_ARGS)
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

Datum
l4_iforest_combine(PG_FUNCTION_ARGS)
{
	MemoryContext parent = l4_aggregate_context(fcinfo);
	ForestState *state = STATE_ARGUMENT(0);
	ForestState *other = STATE_ARGUMENT(1);
	pool_iterator it;
	PoolEntry  *entry;

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
		trim(state);
	}
	pool_start_iterate(other->pool, &it);
	while ((entry = pool_iterate(other->pool, &it)) != NULL)
	{
		add_rows(state, entry->row.vector, entry->row.rows);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_POINTER(state);
}

Datum
l4_iforest_serialize(PG_FUNCTION_ARGS)
{
	ForestState *state = STATE_ARGUMENT(0);
	pool_iterator it;
	PoolEntry  *entry;
	StringInfoData buf;

	l4_aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	pq_sendbyte(&buf, STATE_VERSION);
	pq_sendint64(&buf, state->options.trees);
	pq_sendint64(&buf, state->options.sample_size);
	pq_sendint64(&buf, state->options.seed);
	pq_sendbyte(&buf, state->cut);
	pq_sendint64(&buf, (int64) state->cutoff);
	pq_sendint32(&buf, state->pool->members);
	pool_start_iterate(state->pool, &it);
	while ((entry = pool_iterate(state->pool, &it)) != NULL)
	{
		struct varlena *vector = entry->row.vector;

		pq_sendint64(&buf, entry->row.rows);
		pq_sendint32(&buf, (uint32) VARSIZE_ANY_EXHDR(vector));
		pq_sendbytes(&buf, VARDATA_ANY(vector), VARSIZE_ANY_EXHDR(vector));
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

static void
bad_state(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("state of iforest_train is corrupted")));
}

Datum
l4_iforest_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StringInfoData buf;
	L4ForestOptions options;
	ForestState *state;
	bool		cut;
	uint64		cutoff;
	int			n;

	l4_aggregate_context(fcinfo);
	buf.data = VARDATA_ANY(bytes);
	buf.len = buf.maxlen = VARSIZE_ANY_EXHDR(bytes);
	buf.cursor = 0;
	if (pq_getmsgbyte(&buf) != STATE_VERSION)
		bad_state();
	options.trees = pq_getmsgint64(&buf);
	options.sample_size = pq_getmsgint64(&buf);
	options.seed = pq_getmsgint64(&buf);
	if (options.trees < 1 || options.trees > L4_IFOREST_MAX_TREES ||
		options.sample_size < L4_IFOREST_MIN_SAMPLE ||
		options.sample_size > L4_IFOREST_MAX_SAMPLE ||
		options.trees * options.sample_size > L4_IFOREST_MAX_LEAVES)
		bad_state();
	cut = pq_getmsgbyte(&buf) != 0;
	cutoff = (uint64) pq_getmsgint64(&buf);
	n = (int) pq_getmsgint(&buf, 4);

	state = create_state(CurrentMemoryContext, &options);
	for (int i = 0; i < n; i++)
	{
		int64		rows = pq_getmsgint64(&buf);
		int			size = (int) pq_getmsgint(&buf, 4);
		struct varlena *vector;

		if (rows < 1 || size < 0 || size > L4_EVECTOR_MAX_BYTES(L4_EVECTOR_MAX_EVENTS))
			bad_state();
		vector = palloc(VARHDRSZ + size);
		SET_VARSIZE(vector, VARHDRSZ + size);
		pq_copymsgbytes(&buf, VARDATA(vector), size);
		add_rows(state, vector, rows);
		pfree(vector);
		CHECK_FOR_INTERRUPTS();
	}
	pq_getmsgend(&buf);
	state->cut = cut;
	state->cutoff = cutoff;
	PG_RETURN_POINTER(state);
}

/* Trains on a sorted copy of the set; the state stays as it is. */
Datum
l4_iforest_final(PG_FUNCTION_ARGS)
{
	ForestState *state = STATE_ARGUMENT(0);
	MemoryContext context;
	MemoryContext old;
	L4ForestRow *rows;
	int			nrows;
	struct varlena *trained;
	struct varlena *result;

	l4_aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	context = AllocSetContextCreate(CurrentMemoryContext, "l4 iforest training",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	rows = sorted_rows(state, &nrows);
	trained = l4_iforest_train(&state->options, rows, nrows);
	MemoryContextSwitchTo(old);
	result = palloc(VARSIZE(trained));
	memcpy(result, trained, VARSIZE(trained));
	MemoryContextDelete(context);
	PG_RETURN_POINTER(result);
}
