/*
 * grow.h
 *		Arrays that grow by doubling.
 */
#ifndef L4_GROW_H
#define L4_GROW_H

#include "utils/memutils.h"

/* Room for one more element: array and size are changed where count has reached size. */
#define L4_GROW(array, count, size, cxt) \
	do { \
		if ((count) >= (size)) \
		{ \
			int			newsize_ = Max(64, (size) * 2); \
			(array) = (array) == NULL ? MemoryContextAllocHuge(cxt, sizeof(*(array)) * (Size) newsize_) \
				: repalloc_huge(array, sizeof(*(array)) * (Size) newsize_); \
			(size) = newsize_; \
		} \
	} while (0)

#endif							/* L4_GROW_H */
