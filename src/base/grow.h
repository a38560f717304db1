/*
 * grow.h
 *		Arrays that grow by doubling.
 */
#ifndef L4_GROW_H
#define L4_GROW_H

#include "utils/memutils.h"

/* Room for one more element, at first for so many: array and size are changed where count has reached size. */
#define L4_GROW_FROM(array, count, size, first, cxt) \
	do { \
		if ((count) >= (size)) \
		{ \
			int			newsize_ = Max(first, (size) * 2); \
			(array) = (array) == NULL ? MemoryContextAllocHuge(cxt, sizeof(*(array)) * (Size) newsize_) \
				: repalloc_huge(array, sizeof(*(array)) * (Size) newsize_); \
			(size) = newsize_; \
		} \
	} while (0)

#define L4_GROW(array, count, size, cxt) L4_GROW_FROM(array, count, size, 64, cxt)

#endif							/* L4_GROW_H */
