/*
 * names.h
 *		Names to numbers: 0, 1, 2 as they come first. Compared by bytes.
 */
#ifndef L4_NAMES_H
#define L4_NAMES_H

#include "base/map.h"

typedef struct L4Names
{
	MemoryContext cxt;
	L4Map	   *map;			/* numbers by hash; of the next one where it is another name's */
	int			n;
	int			size;
	char	  **names;			/* zero-terminated */
} L4Names;

extern void l4_names_init(L4Names *names, MemoryContext cxt);
extern int	l4_names_number(L4Names *names, const char *name, int len);

#endif							/* L4_NAMES_H */
