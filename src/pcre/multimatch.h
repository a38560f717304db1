/*
 * multimatch.h
 *		Many regular expressions over many lines, each line read once.
 */
#ifndef L4_MULTIMATCH_H
#define L4_MULTIMATCH_H

#include "pcre/pcre.h"

typedef struct L4MultiMatch L4MultiMatch;

/* What to search for: n patterns, which are copied. They must compile, but are compiled only when first run. */
extern L4MultiMatch *l4_multimatch_build(int n, const char *const *patterns, const int *lens,
										 MemoryContext parent);
extern void l4_multimatch_free(L4MultiMatch *mm);

/*
 * Find the patterns that match a line: begin with scan, then call next until
 * it returns -1. Patterns come in ascending order; *gave_up tells that this
 * one neither matched nor not, because it hit a limit.
 */
extern void l4_multimatch_scan(L4MultiMatch *mm, const char *line, int len);
extern int	l4_multimatch_next(L4MultiMatch *mm, bool *gave_up);

extern L4Regex *l4_multimatch_regex(L4MultiMatch *mm, int i);

#endif							/* L4_MULTIMATCH_H */
