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

#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "evector/evector.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_event_vector_accum);
PG_FUNCTION_INFO_V1(l4_event_vector_accum_n);
PG_FUNCTION_INFO_V1(l4_event_vector_combine);
PG_FUNCTION_INFO_V1(l4_event_vector_final);

#define EXPANDED_MAGIC	0x4c344556

/*
 * Counts in order of first appearance, and an open-addressing table from
 * event id to position + 1 (0: free). Everything lives in hdr.eoh_context.
 */
typedef struct ExpandedVector
{
	ExpandedObjectHeader hdr;
	uint32		magic;
	int32		n;
	int32		size;			/* room in counts */
	uint32		mask;			/* slots - 1, slots is twice size */
	bool		sorted;			/* counts ascend by event id */
	L4EventCount *counts;
	uint32	   *slots;
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
	vector->size = INITIAL_SIZE;
	vector->mask = 2 * INITIAL_SIZE - 1;
	vector->sorted = true;
	vector->counts = MemoryContextAlloc(context, INITIAL_SIZE * sizeof(L4EventCount));
	vector->slots = MemoryContextAllocZero(context, 2 * INITIAL_SIZE * sizeof(uint32));
	return vector;
}

/* Slot of an event: its own, or the free one where it belongs. */
static inline uint32 *
find_slot(ExpandedVector *vector, int32 event_id)
{
	uint32		h = (uint32) event_id;

	h = (h ^ (h >> 16)) * 0x85ebca6b;
	h = (h ^ (h >> 13)) * 0xc2b2ae35;
	h ^= h >> 16;
	for (;; h++)
	{
		uint32	   *slot = &vector->slots[h & vector->mask];

		if (*slot == 0 || vector->counts[*slot - 1].event_id == event_id)
			return slot;
	}
}

static void
grow(ExpandedVector *vector)
{
	MemoryContext context = vector->hdr.eoh_context;
	uint32	   *slots = MemoryContextAllocZero(context, (Size) vector->size * 4 * sizeof(uint32));

	vector->counts = repalloc(vector->counts, (Size) vector->size * 2 * sizeof(L4EventCount));
	pfree(vector->slots);
	vector->slots = slots;
	vector->size *= 2;
	vector->mask = (uint32) vector->size * 2 - 1;
	for (int32 i = 0; i < vector->n; i++)
		*find_slot(vector, vector->counts[i].event_id) = (uint32) i + 1;
}

static inline void
add_event(ExpandedVector *vector, int32 event_id, int64 count)
{
	uint32	   *slot = find_slot(vector, event_id);

	if (vector->flat != NULL)
	{
		pfree(vector->flat);
		vector->flat = NULL;
	}
	if (*slot != 0)
	{
		L4EventCount *known = &vector->counts[*slot - 1];

		known->count = l4_evector_add_counts(event_id, known->count, count);
		return;
	}
	if (count == 0)
		return;
	l4_evector_check_size((int64) vector->n + 1);
	if (vector->n == vector->size)
	{
		grow(vector);
		slot = find_slot(vector, event_id);
	}
	if (vector->n > 0 && event_id < vector->counts[vector->n - 1].event_id)
		vector->sorted = false;
	vector->counts[vector->n].event_id = event_id;
	vector->counts[vector->n].count = count;
	*slot = (uint32) ++vector->n;
}

static void
add_vector(ExpandedVector *vector, const struct varlena *other)
{
	L4EvectorReader reader;

	l4_evector_open(&reader, other);
	while (l4_evector_next(&reader))
		add_event(vector, (int32) reader.event_id, reader.count);
}

/* Flat form in the current context; the vector stays as it is. */
static struct varlena *
flatten(ExpandedVector *vector)
{
	L4EventCount *counts = vector->counts;
	struct varlena *flat;

	if (!vector->sorted)
	{
		counts = palloc((Size) vector->n * sizeof(L4EventCount));
		memcpy(counts, vector->counts, (Size) vector->n * sizeof(L4EventCount));
	}
	flat = l4_evector_from_counts(counts, vector->n);
	if (!vector->sorted)
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
