/*
 * packed_int.h
 *		The stored forms of packed columns, shared by writer and reader.
 */
#ifndef L4_PACKED_INT_H
#define L4_PACKED_INT_H

#include "base/bytes.h"

/* The type of a column, and whether some of its rows are NULL */
#define L4_COL_HAS_NULLS	0x80

/* Floats are stored as whole numbers of fewer decimal places than that, or else as their bits, with that for places. */
#define L4_MAX_PLACES			16
#define L4_WHOLE_MAX			9007199254740992.0	/* up to here a float8 holds every whole number */

extern void l4_put_ints(StringInfo buf, const int64 *values, int n);
extern void l4_get_ints(L4ByteReader *reader, int64 *values, int n);

#endif							/* L4_PACKED_INT_H */
