/*
 * evector_agg.c
 *		Aggregates that make event vectors.
 *
 * The transition state is an event_vector. Between rows of one aggregate it
 * has an expanded form, a hash table that takes O(1) a row; wherever it
 * leaves (a worker, a spill, the result) it is flattened into the bytes of
 * the type. Since the state is a SQL type, any engine that moves values can
 * combine partial sums.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "evector/evector.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_event_vector_accum);
PG_FUNCTION_INFO_V1(l4_event_vector_accum_n);
PG_FUNCTION_INFO_V1(l4_event_vector_combine);
PG_FUNCTION_INFO_V1(l4_event_vector_final);

#define EXPANDED_MAGIC	0x4c344556

typedef struct CountEntry
{
	int64		count;
	int32		event_id;
	char		status;
} CountEntry;

#define SH_PREFIX counts
#define SH_ELEMENT_TYPE CountEntry
#define SH_KEY_TYPE int32
#define SH_KEY event_id
#define SH_HASH_KEY(table, key) murmurhash32((uint32) (key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Everything lives in hdr.eoh_context. */
typedef struct ExpandedVector
{
	ExpandedObjectHeader hdr;
	uint32		magic;
	counts_hash *counts;
	struct varlena *flat;		/* made by get_flat_size for flatten_into */
} ExpandedVector;

#define INITIAL_SIZE	8

static Size evector_get_flat_size(ExpandedObjectHeader *eohptr);
static void evector_flatten_into(ExpandedObjectHeader *eohptr,
								 void *result, Size allocated_size);

static const ExpandedObjectMethods evector_methods = {
	evector_get_flat_size,
	evector_flatten_into
};

static ExpandedVector *
create_expanded(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "l4 expanded event_vector",
												  ALLOCSET_START_SMALL_SIZES);
	ExpandedVector *vector = MemoryContextAllocZero(context, sizeof(ExpandedVector));

	EOH_init_header(&vector->hdr, &evector_methods, context);
	vector->magic = EXPANDED_MAGIC;
	vector->counts = counts_create(context, INITIAL_SIZE, NULL);
	return vector;
}

static inline void
add_event(ExpandedVector *vector, int32 event_id, int64 count)
{
	CountEntry *entry;
	bool		found;

	if (vector->flat != NULL)
	{
		pfree(vector->flat);
		vector->flat = NULL;
	}
	if (count == 0)
		return;
	entry = counts_insert(vector->counts, event_id, &found);
	if (!found)
	{
		entry->count = 0;
		l4_evector_check_size(vector->counts->members);
	}
	entry->count = l4_evector_add_counts(event_id, entry->count, count);
}

static void
add_vector(ExpandedVector *vector, const struct varlena *other)
{
	L4EvectorReader reader;

	l4_evector_open(&reader, other);
	while (l4_evector_next(&reader))
	{
		add_event(vector, (int32) reader.event_id, reader.count);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Flat form in the current context; the vector stays as it is. */
static struct varlena *
flatten(ExpandedVector *vector)
{
	L4EventCount *counts = palloc(vector->counts->members * sizeof(L4EventCount));
	struct varlena *flat;
	counts_iterator it;
	CountEntry *entry;
	int32		n = 0;

	counts_start_iterate(vector->counts, &it);
	while ((entry = counts_iterate(vector->counts, &it)) != NULL)
	{
		counts[n].event_id = entry->event_id;
		counts[n++].count = entry->count;
	}
	flat = l4_evector_from_counts(counts, n);
	pfree(counts);
	return flat;
}

static Size
evector_get_flat_size(ExpandedObjectHeader *eohptr)
{
	ExpandedVector *vector = (ExpandedVector *) eohptr;

	Assert(vector->magic == EXPANDED_MAGIC);
	if (vector->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(vector->hdr.eoh_context);

		vector->flat = flatten(vector);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(vector->flat);
}

static void
evector_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					 Size allocated_size)
{
	ExpandedVector *vector = (ExpandedVector *) eohptr;

	if (vector->flat == NULL || VARSIZE(vector->flat) != allocated_size)
		elog(ERROR, "event_vector changed while it was flattened");
	memcpy(result, vector->flat, allocated_size);
	pfree(vector->flat);
	vector->flat = NULL;
}

/*
 * The state in argument 0, ready to be added to. Inside an aggregate that is
 * the state itself; called in any other way, a copy, so that no value that
 * somebody else holds ever changes.
 */
static ExpandedVector *
get_state(FunctionCallInfo fcinfo)
{
	MemoryContext parent;
	ExpandedVector *vector;
	bool		aggregate = AggCheckCallContext(fcinfo, &parent) != 0;

	if (aggregate && !PG_ARGISNULL(0) &&
		VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
	{
		vector = (ExpandedVector *) DatumGetEOHP(PG_GETARG_DATUM(0));
		if (vector->hdr.eoh_methods != &evector_methods)
			elog(ERROR, "aggregate state is not an event_vector");
		return vector;
	}
	vector = create_expanded(aggregate ? parent : CurrentMemoryContext);
	if (!PG_ARGISNULL(0))
		add_vector(vector, L4_GETARG_EVECTOR(0));
	return vector;
}

static Datum
return_state(ExpandedVector *vector)
{
	return EOHPGetRWDatum(&vector->hdr);
}

/* The state as it came: this row adds nothing. */
static Datum
return_unchanged(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Aggregate event_vector_agg(event_id): one more of it. */
Datum
l4_event_vector_accum(PG_FUNCTION_ARGS)
{
	ExpandedVector *vector;

	if (PG_ARGISNULL(1))
		return return_unchanged(fcinfo);
	vector = get_state(fcinfo);
	add_event(vector, PG_GETARG_INT32(1), 1);
	return return_state(vector);
}

/* Aggregate event_vector_agg(event_id, n): n more of it. */
Datum
l4_event_vector_accum_n(PG_FUNCTION_ARGS)
{
	ExpandedVector *vector;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return return_unchanged(fcinfo);
	l4_evector_check_count(PG_GETARG_INT32(1), PG_GETARG_INT64(2));
	vector = get_state(fcinfo);
	add_event(vector, PG_GETARG_INT32(1), PG_GETARG_INT64(2));
	return return_state(vector);
}

/* A vector more: event_vector_sum, and the combine function of all three. */
Datum
l4_event_vector_combine(PG_FUNCTION_ARGS)
{
	ExpandedVector *vector;

	if (PG_ARGISNULL(1))
		return return_unchanged(fcinfo);
	vector = get_state(fcinfo);
	add_vector(vector, L4_GETARG_EVECTOR(1));
	return return_state(vector);
}

/*
 * A flat copy: the state goes on counting in a window frame or for another
 * aggregate that shares it.
 */
Datum
l4_event_vector_final(PG_FUNCTION_ARGS)
{
	Datum		state = PG_GETARG_DATUM(0);

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)))
	{
		ExpandedVector *vector = (ExpandedVector *) DatumGetEOHP(state);

		if (vector->hdr.eoh_methods != &evector_methods)
			elog(ERROR, "aggregate state is not an event_vector");
		PG_RETURN_POINTER(flatten(vector));
	}
	PG_RETURN_DATUM(state);
}
