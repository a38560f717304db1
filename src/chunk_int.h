/*
 * chunk_int.h
 *		The stored forms of packed columns, shared by writer and reader.
 */
#ifndef L4_CHUNK_INT_H
#define L4_CHUNK_INT_H

/* A list of integers: flags of its form */
#define L4_FORM_DIFFERENCES	1	/* each as the difference from the one before */
#define L4_FORM_RUNS		2	/* each followed by the length of its run */
#define L4_FORM_COUNT		4

/* An integer column: is it a list, or a sorted dictionary and codes */
#define L4_CODED_NO			0
#define L4_CODED_YES		1
#define L4_MAX_DICTIONARY	1024

/* What cannot be written as a decimal: exponents that no float8 has */
#define L4_EXPONENT_NAN			1000
#define L4_EXPONENT_INF			1001
#define L4_EXPONENT_NEG_INF		1002
#define L4_EXPONENT_NEG_ZERO	1003

#endif							/* L4_CHUNK_INT_H */
