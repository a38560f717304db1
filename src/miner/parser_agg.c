/*
 * parser_agg.c
 *		Aggregate parser_train.
 *
 * The transition type is bytea: the bytes of train.c.
 */
#include "postgres.h"

#include "base/args.h"
#include "base/expanded.h"
#include "base/seen.h"
#include "miner/parser_int.h"

typedef struct ExpandedTrain
{
	L4Expanded	state;
	L4Train		train;
	Jsonb	   *options;		/* of the rows that were learnt here, NULL none */
} ExpandedTrain;

static struct varlena *
flatten(L4Expanded *state)
{
	return l4_train_write(&((ExpandedTrain *) state)->train);
}

static ExpandedTrain *
get_state(FunctionCallInfo fcinfo)
{
	bool		made;
	ExpandedTrain *state = (ExpandedTrain *) l4_expanded_argument(fcinfo, sizeof(ExpandedTrain), flatten, &made);

	if (made)
		state->train.cxt = state->state.hdr.eoh_context;
	if (made && !PG_ARGISNULL(0))
		l4_train_read(&state->train, PG_GETARG_BYTEA_PP(0));
	return state;
}

/* parser_train(message [, options]) */
L4_FUNCTION(l4_parser_train_trans)
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
			state->options = options ? l4_keep_value(options, state->train.cxt) : NULL;
			state->train.parser = l4_parser_create(state->options, state->train.cxt);
		}
		message = PG_GETARG_TEXT_PP(1);
		l4_parser_learn(state->train.parser, 0, VARDATA_ANY(message), VARSIZE_ANY_EXHDR(message), 1);
	}
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->state.hdr));
}

/* What was learnt apart is kept beside what was learnt here. */
L4_FUNCTION(l4_parser_train_combine)
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
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->state.hdr));
}

/* The state stays as it is: it goes on learning in a window frame or for another aggregate that shares it. */
L4_FUNCTION(l4_parser_train_final)
{
	ExpandedTrain *state = (ExpandedTrain *) l4_expanded_state(PG_GETARG_DATUM(0), flatten);
	L4Train		read = {.cxt = CurrentMemoryContext};
	struct varlena *result;

	if (state == NULL)
		l4_train_read(&read, PG_GETARG_BYTEA_PP(0));
	result = l4_train_result(state ? &state->train : &read);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(result);
}
