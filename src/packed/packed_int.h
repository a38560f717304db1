/*
 * packed_int.h
 *		The stored forms of packed columns, shared by writer and reader.
 */
#ifndef L4_PACKED_INT_H
#define L4_PACKED_INT_H

#include "base/bytes.h"

/* The type of a column, and whether some of its rows are NULL */
#define L4_COL_HAS_NULLS	0x80

/* A list of integers: flags of its form */
#define L4_FORM_DIFFERENCES	1	/* each as the difference from the one before */
#define L4_FORM_RUNS		2	/* each followed by the length of its run */
#define L4_FORM_COUNT		4
#define L4_FORM_SCALED		4	/* without the decimal zeros that all end in; their number comes first */
#define L4_FORM_BY_KEY		16	/* one for each different value of a column before, ascending, whose number comes first; alone */
#define L4_MIN_ZEROS		3
#define L4_MAX_ZEROS		6

/* What an entry of a text column is: the two lowest bits of its first number */
#define L4_ENTRY_TEXT		0	/* length, then the bytes */
#define L4_ENTRY_INTEGER	1	/* difference from the integer before */
#define L4_ENTRY_DECIMAL	2	/* difference from the mantissa before, then the digits behind the point */
#define L4_ENTRY_KIND_BITS	2
#define L4_ENTRY_KINDS		3
#define L4_MAX_ENTRY_DIGITS	17

/* What cannot be written as a decimal: exponents that no float8 has */
#define L4_EXPONENT_NAN			1000
#define L4_EXPONENT_INF			1001
#define L4_EXPONENT_NEG_INF		1002
#define L4_EXPONENT_NEG_ZERO	1003

extern void l4_put_ints(StringInfo buf, const int64 *values, int n);
extern void l4_get_ints(L4ByteReader *reader, int64 *values, int n);

extern int *l4_key_places(const int64 *keys, int n, int *ndistinct);
extern int64 *l4_values_by_key(const int64 *keys, const int64 *values, int n, int *nvalues);

#endif							/* L4_PACKED_INT_H */
