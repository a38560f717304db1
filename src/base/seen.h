/*
 * seen.h
 *		Values that a call site keeps, to know them when they come again.
 */
#ifndef L4_SEEN_H
#define L4_SEEN_H

#include "l4_compat.h"

/* Byte for byte the same; of toasted values the pointers. NULL is the same as NULL alone. */
static inline bool
l4_same_value(const void *a, const void *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE_ANY(a) == VARSIZE_ANY(b) && memcmp(a, b, VARSIZE_ANY(a)) == 0;
}

/* A copy of a value as it is, toasted or not. */
static inline void *
l4_keep_value(const void *value, MemoryContext cxt)
{
	Size		size = VARSIZE_ANY(value);

	return memcpy(MemoryContextAlloc(cxt, size), value, size);
}

/* Makes something of a value, NULL or toasted or not, in a context. */
typedef void *(*L4SeenMake) (struct varlena *value, MemoryContext cxt);

/*
 * What make gave for an argument; valid until the call site sees another
 * value. summed: not NULL, and the first bytes have a checksum of all. Takes
 * fn_extra.
 */
extern void *l4_seen_argument(FunctionCallInfo fcinfo, int argno, bool summed, L4SeenMake make);

#endif							/* L4_SEEN_H */
