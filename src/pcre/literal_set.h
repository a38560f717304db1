/*
 * literal_set.h
 *		Small sets of strings, for reading literals out of a pattern.
 */
#ifndef L4_LITERAL_SET_H
#define L4_LITERAL_SET_H

#include "pcre/literal.h"

/* Sets that stand for what a part matches exactly are cut at this many strings. */
#define L4_EXACT_MAX 16

/* A set of strings; any means "not known", and then n is 0. */
typedef struct L4Strings
{
	bool		any;
	int			n;
	L4Literal	items[L4_LITERAL_SET];
} L4Strings;

/* What is known of a part of the pattern. */
typedef struct L4Part
{
	L4Strings	exact;			/* it matches one of these and nothing else */
	L4Strings	required;		/* one of these is in what it matches */
	L4Strings	also[L4_LITERAL_ALSO];	/* and one of each of these, best first */
} L4Part;

extern void l4_strings_any(L4Strings *s);
extern void l4_strings_empty(L4Strings *s);	/* the set of the empty string */
/* Without the room that is not used. */
static inline void
l4_strings_copy(L4Strings *to, const L4Strings *from)
{
	to->any = from->any;
	to->n = from->n;
	memcpy(to->items, from->items, sizeof(L4Literal) * from->n);
}

extern bool l4_strings_same(const L4Strings *a, const L4Strings *b);
extern void l4_strings_unite(L4Strings *a, const L4Strings *b, int max);
extern void l4_strings_require_either(L4Strings *a, const L4Strings *b);
extern bool l4_strings_append(L4Strings *a, const L4Strings *b);
extern int	l4_strings_score(const L4Strings *s);

extern void l4_part_require_nothing(L4Part *out);
extern void l4_part_require(L4Part *out, const L4Strings *candidate);
extern void l4_part_require_all(L4Part *out, const L4Part *part);

#endif							/* L4_LITERAL_SET_H */
