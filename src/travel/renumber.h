/*
 * renumber.h
 *		Stored values of streams under other numbers of events: what another
 *		server packed, as this one would have.
 */
#ifndef L4_RENUMBER_H
#define L4_RENUMBER_H

#include "packed/packed.h"
#include "packed/slot_values.h"

typedef struct L4Renumber
{
	int			n;
	const int32 *ids;			/* ascending */
	const int32 *to;
	L4OwnWords	words;			/* of events as they were, that differ from the own words of what they are now */
} L4Renumber;

/* What a value is: this decides where it has numbers of events. */
typedef enum L4RenumberKind
{
	L4_RENUMBER_EVENTS,
	L4_RENUMBER_SLOTS,
	L4_RENUMBER_DURATIONS,
	L4_RENUMBER_SEQUENCES,
	L4_RENUMBER_LINES,
	L4_RENUMBER_PACK_STATE
} L4RenumberKind;

/* A value of one stream; events: those of the same stream, for slots. All in the current context. */
extern bytea *l4_renumber(const L4Renumber *map, L4RenumberKind kind, bytea *value, bytea *events);

#endif							/* L4_RENUMBER_H */
