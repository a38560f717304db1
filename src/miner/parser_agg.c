/*
 * parser_agg.c
 *		Aggregate parser_train.
 *
 * The transition type is bytea. Within an aggregate the state is an expanded
 * object; where it leaves the process or the aggregate it is flattened into
 * the bytes of train.c. Since the state is a SQL type, any engine that moves
 * values can combine what was learnt apart.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "base/seen.h"
#include "miner/parser_int.h"

PG_FUNCTION_INFO_V1(l4_parser_train_trans);
PG_FUNCTION_INFO_V1(l4_parser_train_combine);
PG_FUNCTION_INFO_V1(l4_parser_train_final);

/* Everything lives in hdr.eoh_context. */
typedef struct ExpandedTrain
{
	ExpandedObjectHeader hdr;
	L4Train		train;
	Jsonb	   *options;		/* of the rows that were learnt here, NULL none */
	struct varlena *flat;		/* made by get_flat_size for flatten_into */
} ExpandedTrain;

static Size
train_get_flat_size(ExpandedObjectHeader *eohptr)
{
	ExpandedTrain *state = (ExpandedTrain *) eohptr;

	if (state->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->hdr.eoh_context);

		state->flat = l4_train_write(&state->train);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(state->flat);
}

static void
train_flatten_into(ExpandedObjectHeader *eohptr, void *result, Size allocated_size)
{
	ExpandedTrain *state = (ExpandedTrain *) eohptr;

	if (state->flat == NULL || VARSIZE(state->flat) != allocated_size)
		elog(ERROR, "state of parser_train changed while it was flattened");
	memcpy(result, state->flat, allocated_size);
	pfree(state->flat);
	state->flat = NULL;
}

static const ExpandedObjectMethods train_methods = {
	train_get_flat_size,
	train_flatten_into
};

/* The state that a value is, NULL where it is flat. */
static ExpandedTrain *
expanded(Datum value)
{
	ExpandedTrain *state;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return NULL;
	state = (ExpandedTrain *) DatumGetEOHP(value);
	return state->hdr.eoh_methods == &train_methods ? state : NULL;
}

/*
 * The state in argument 0, ready to be added to. Inside an aggregate that is
 * the state itself; called in any other way, a copy, so that no value that
 * somebody else holds ever changes.
 */
static ExpandedTrain *
get_state(FunctionCallInfo fcinfo)
{
	MemoryContext parent = CurrentMemoryContext;
	bool		aggregate = AggCheckCallContext(fcinfo, &parent) != 0;
	ExpandedTrain *state = aggregate && !PG_ARGISNULL(0) ? expanded(PG_GETARG_DATUM(0)) : NULL;
	MemoryContext cxt;

	if (state != NULL && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
	{
		if (state->flat != NULL)
			pfree(state->flat);
		state->flat = NULL;
		return state;
	}
	cxt = AllocSetContextCreate(aggregate ? parent : CurrentMemoryContext, "l4 parser_train", ALLOCSET_DEFAULT_SIZES);
	state = MemoryContextAllocZero(cxt, sizeof(ExpandedTrain));
	EOH_init_header(&state->hdr, &train_methods, cxt);
	state->train.cxt = cxt;
	if (!PG_ARGISNULL(0))
		l4_train_read(&state->train, PG_GETARG_BYTEA_PP(0));
	return state;
}

/* parser_train(message [, options]) */
Datum
l4_parser_train_trans(PG_FUNCTION_ARGS)
{
	ExpandedTrain *state;
	Jsonb	   *options = NULL;
	text	   *message;

	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
		options = PG_GETARG_JSONB_P(2);
	state = get_state(fcinfo);
	if (state->train.parser != NULL && !l4_same_value(options, state->options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of parser_train must be the same in all rows")));
	if (!PG_ARGISNULL(1))
	{
		if (state->train.parser == NULL)
		{
			state->options = options ? l4_keep_value(options, state->hdr.eoh_context) : NULL;
			state->train.parser = l4_parser_create(state->options, state->hdr.eoh_context);
		}
		message = PG_GETARG_TEXT_PP(1);
		l4_parser_learn(state->train.parser, 0, VARDATA_ANY(message), VARSIZE_ANY_EXHDR(message), 1);
	}
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->hdr));
}

/* What was learnt apart is kept beside what was learnt here. */
Datum
l4_parser_train_combine(PG_FUNCTION_ARGS)
{
	ExpandedTrain *state;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	state = get_state(fcinfo);
	l4_train_read(&state->train, PG_GETARG_BYTEA_PP(1));
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->hdr));
}

/* The state stays as it is: it goes on learning in a window frame or for another aggregate that shares it. */
Datum
l4_parser_train_final(PG_FUNCTION_ARGS)
{
	ExpandedTrain *state = expanded(PG_GETARG_DATUM(0));
	L4Train		read = {.cxt = CurrentMemoryContext};
	struct varlena *result;

	if (state == NULL)
		l4_train_read(&read, PG_GETARG_BYTEA_PP(0));
	result = l4_train_result(state ? &state->train : &read);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(result);
}
