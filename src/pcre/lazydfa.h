/*
 * lazydfa.h
 *		Which of many patterns may match a line, at one step a byte.
 */
#ifndef L4_LAZYDFA_H
#define L4_LAZYDFA_H

#include "pcre/regexnfa.h"

typedef struct L4Dfa L4Dfa;

/*
 * Of the patterns of a nondeterministic automaton, which must stay as it is.
 * digits_alike: what is told holds for all lines that differ in their digits only.
 */
extern L4Dfa *l4_dfa_create(const L4Nfa *nfa, bool digits_alike, MemoryContext parent);

/*
 * Add the patterns that may match the line to the set: all that do, and
 * perhaps others. False, and the set is worth nothing, when these patterns and
 * lines need too many states; never at_any_cost.
 */
extern bool l4_dfa_run(L4Dfa *dfa, const char *line, int len, bool at_any_cost, uint64 *found);

#endif							/* L4_LAZYDFA_H */
