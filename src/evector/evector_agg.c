/*
 * evector_agg.c
 *		Aggregates that make event vectors.
 *
 * The transition state is an event_vector. Its expanded form is a hash table
 * that takes O(1) a row.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/args.h"
#include "base/expanded.h"
#include "evector/evector.h"

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

typedef struct ExpandedVector
{
	L4Expanded	state;
	counts_hash *counts;
} ExpandedVector;

#define INITIAL_SIZE	8

static inline void
add_event(ExpandedVector *vector, int32 event_id, int64 count)
{
	CountEntry *entry;
	bool		found;

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

static struct varlena *
flatten(L4Expanded *state)
{
	ExpandedVector *vector = (ExpandedVector *) state;
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

static ExpandedVector *
get_state(FunctionCallInfo fcinfo)
{
	bool		made;
	ExpandedVector *vector = (ExpandedVector *) l4_expanded_argument(fcinfo, sizeof(ExpandedVector), flatten, &made);

	if (made)
		vector->counts = counts_create(vector->state.hdr.eoh_context, INITIAL_SIZE, NULL);
	if (made && !PG_ARGISNULL(0))
		add_vector(vector, L4_GETARG_EVECTOR(0));
	return vector;
}

static Datum
return_state(ExpandedVector *vector)
{
	return EOHPGetRWDatum(&vector->state.hdr);
}

/* The state as it came: this row adds nothing. */
static Datum
return_unchanged(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Aggregates event_vector_agg(event_id): one more of it; event_vector_agg(event_id, n): n more. */
L4_FUNCTION(l4_event_vector_accum)
{
	ExpandedVector *vector;
	int64		n = 1;

	if (PG_ARGISNULL(1) || (PG_NARGS() > 2 && PG_ARGISNULL(2)))
		return return_unchanged(fcinfo);
	if (PG_NARGS() > 2)
		n = PG_GETARG_INT64(2);
	l4_evector_check_count(PG_GETARG_INT32(1), n);
	vector = get_state(fcinfo);
	add_event(vector, PG_GETARG_INT32(1), n);
	return return_state(vector);
}

/* A vector more: event_vector_sum, and the combine function of all three. */
L4_FUNCTION(l4_event_vector_combine)
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
L4_FUNCTION(l4_event_vector_final)
{
	L4Expanded *state = l4_expanded_state(PG_GETARG_DATUM(0), flatten);

	if (state != NULL)
		PG_RETURN_POINTER(flatten(state));
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
