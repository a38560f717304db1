/*
 * expanded.h
 *		States of aggregates whose transition type is the type of a stored
 *		value. Within an aggregate a state is an expanded object; wherever it
 *		leaves (a worker, a spill, the result) it is flattened. Since the state
 *		is of an SQL type, any engine that moves values can combine partial ones.
 */
#ifndef L4_EXPANDED_H
#define L4_EXPANDED_H

#include "fmgr.h"
#include "utils/expandeddatum.h"

typedef struct L4Expanded L4Expanded;

/* The flat form in the current context; the state stays as it is. The function tells what a state is of. */
typedef struct varlena *(*L4Flatten) (L4Expanded *state);

/* Begins the struct of a state, which with all that it has lives in hdr.eoh_context. */
struct L4Expanded
{
	ExpandedObjectHeader hdr;
	L4Flatten	flatten;
	struct varlena *flat;		/* between asking for its size and writing it */
};

/* The state that a value is, NULL where it is flat. */
extern L4Expanded *l4_expanded_state(Datum value, L4Flatten flatten);

/*
 * The state in argument 0, ready to be added to. Inside an aggregate that is
 * the state itself; called in any other way, a new one of so many bytes, so
 * that no value that somebody else holds ever changes: *made tells the caller
 * to read argument 0 into it.
 */
extern L4Expanded *l4_expanded_argument(FunctionCallInfo fcinfo, Size size, L4Flatten flatten, bool *made);

#endif							/* L4_EXPANDED_H */
