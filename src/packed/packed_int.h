/*
 * packed_int.h
 *		The stored forms of packed columns, shared by writer and reader.
 */
#ifndef L4_PACKED_INT_H
#define L4_PACKED_INT_H

#include "base/bytes.h"

/* The type of a column, and whether some of its rows are NULL */
#define L4_COL_HAS_NULLS	0x80

/* What cannot be written as a decimal: exponents that no float8 has */
#define L4_EXPONENT_NAN			1000
#define L4_EXPONENT_INF			1001
#define L4_EXPONENT_NEG_INF		1002
#define L4_EXPONENT_NEG_ZERO	1003

extern void l4_put_ints(StringInfo buf, const int64 *values, int n);
extern void l4_get_ints(L4ByteReader *reader, int64 *values, int n);

#endif							/* L4_PACKED_INT_H */
