/*
 * expanded.c
 *		States of aggregates that are expanded objects.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/expanded.h"
#include "l4_compat.h"

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	L4Expanded *state = (L4Expanded *) header;

	if (state->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(header->eoh_context);

		state->flat = state->flatten(state);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(state->flat);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size allocated_size)
{
	L4Expanded *state = (L4Expanded *) header;

	if (state->flat == NULL || VARSIZE(state->flat) != allocated_size)
		elog(ERROR, "state of an aggregate changed while it was flattened");
	memcpy(result, state->flat, allocated_size);
	pfree(state->flat);
	state->flat = NULL;
}

static const ExpandedObjectMethods methods = {
	get_flat_size,
	flatten_into
};

L4Expanded *
l4_expanded_state(Datum value, L4Flatten flatten)
{
	L4Expanded *state;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return NULL;
	state = (L4Expanded *) DatumGetEOHP(value);
	return state->hdr.eoh_methods == &methods && state->flatten == flatten ? state : NULL;
}

L4Expanded *
l4_expanded_argument(FunctionCallInfo fcinfo, Size size, L4Flatten flatten, bool *made)
{
	MemoryContext cxt = CurrentMemoryContext;
	L4Expanded *state = NULL;

	if (AggCheckCallContext(fcinfo, &cxt) && !PG_ARGISNULL(0) &&
		VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
		state = l4_expanded_state(PG_GETARG_DATUM(0), flatten);
	*made = state == NULL;
	if (*made)
	{
		/* AggCheckCallContext says NULL where there is no aggregate */
		cxt = AllocSetContextCreate(cxt != NULL ? cxt : CurrentMemoryContext, "l4 expanded state", ALLOCSET_START_SMALL_SIZES);
		state = MemoryContextAllocZero(cxt, size);
		EOH_init_header(&state->hdr, &methods, cxt);
		state->flatten = flatten;
	}
	else if (state->flat != NULL)
	{
		pfree(state->flat);
		state->flat = NULL;
	}
	return state;
}
