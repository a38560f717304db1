/*
 * lazydfa.h
 *		Which of many patterns may match a line, at one step a byte.
 */
#ifndef L4_LAZYDFA_H
#define L4_LAZYDFA_H

typedef struct L4Dfa L4Dfa;

extern L4Dfa *l4_dfa_create(MemoryContext parent);
extern void l4_dfa_free(L4Dfa *dfa);

/* Add a pattern. False when it is not fit for this: see l4_nfa_add. */
extern bool l4_dfa_add(L4Dfa *dfa, const char *text, int len, int pattern);

/* After the last one was added. */
extern void l4_dfa_prepare(L4Dfa *dfa);

/*
 * Add the patterns that may match the line to the set: all that do, and
 * perhaps others. False, and the set is worth nothing, when these patterns and
 * lines need too many states.
 */
extern bool l4_dfa_run(L4Dfa *dfa, const char *line, int len, uint64 *found);

#endif							/* L4_LAZYDFA_H */
