/*
 * order.h
 *		Comparisons for qsort() and bsearch(), written once.
 */
#ifndef L4_ORDER_H
#define L4_ORDER_H

#define L4_ORDER(name, type) \
static inline int \
name(const void *a, const void *b) \
{ \
	type		x = *(const type *) a; \
	type		y = *(const type *) b; \
\
	return (x > y) - (x < y); \
}
L4_ORDER(l4_order_int32, int32)
L4_ORDER(l4_order_int64, int64)
L4_ORDER(l4_order_double, double)

/* Structs by fields, of which the first that differs decides: L4_COMPARE(by_age, Person, L4_DOWN(age) L4_UP(number)). */
#define L4_UP(field)	if (x->field != y->field) return x->field < y->field ? -1 : 1;
#define L4_DOWN(field)	if (x->field != y->field) return x->field > y->field ? -1 : 1;
#define L4_COMPARE(name, type, fields) \
static int \
name(const void *a, const void *b) \
{ \
	const type *x = a; \
	const type *y = b; \
\
	fields \
	return 0; \
}

/* Numbers by what they are of in an array, its elements themselves or a field of them, for qsort_arg(). */
#define L4_COMPARE_NUMBERS(name, type, field) \
static int \
name(const void *a, const void *b, void *array) \
{ \
	const type *all = array; \
	int			x = *(const int *) a; \
	int			y = *(const int *) b; \
\
	if (all[x]field != all[y]field) \
		return all[x]field < all[y]field ? -1 : 1; \
	return x - y; \
}

#endif							/* L4_ORDER_H */
