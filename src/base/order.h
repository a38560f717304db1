/*
 * order.h
 *		Numbers in ascending order, for qsort() and bsearch().
 */
#ifndef L4_ORDER_H
#define L4_ORDER_H

static inline int
l4_order_int32(const void *a, const void *b)
{
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;

	return (x > y) - (x < y);
}

static inline int
l4_order_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

static inline int
l4_order_double(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

#endif							/* L4_ORDER_H */
