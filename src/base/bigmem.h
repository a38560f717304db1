/*
 * bigmem.h
 *		Memory by the megabyte.
 *
 * The first touch of each page is a trap into the system, which takes longer
 * than filling the page. Where the system has large pages it is told that they
 * would do; what it makes of it changes nothing but the time.
 */
#ifndef L4_BIGMEM_H
#define L4_BIGMEM_H

#include "utils/memutils.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#define L4_BIG_PAGE		((Size) 2 * 1024 * 1024)

/* Not set to anything; freed with its context. What takes several large pages begins at one. */
static inline void *
l4_alloc_big(MemoryContext context, Size size)
{
	Size		slack = size < 2 * L4_BIG_PAGE ? 0 : L4_BIG_PAGE;
	char	   *p = MemoryContextAllocExtended(context, size + slack, MCXT_ALLOC_HUGE);

	if (slack == 0)
		return p;
	p = (char *) TYPEALIGN(L4_BIG_PAGE, p);
#ifdef MADV_HUGEPAGE
	(void) madvise(p, size / L4_BIG_PAGE * L4_BIG_PAGE, MADV_HUGEPAGE);
#endif
	return p;
}

#endif							/* L4_BIGMEM_H */
