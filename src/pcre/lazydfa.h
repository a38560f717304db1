/*
 * lazydfa.h
 *		Which of many patterns may match a line: sets of patterns, an automaton
 *		made of their trees, and its run at one step a byte.
 */
#ifndef L4_LAZYDFA_H
#define L4_LAZYDFA_H

#include "pcre/regextree.h"

/* ---- a set of patterns, one bit for each ---- */

#define L4_PATTERNSET_WORDS(n) (((n) + 63) / 64)

static inline void
l4_patternset_add(uint64 *set, int pattern)
{
	set[pattern >> 6] |= UINT64CONST(1) << (pattern & 63);
}

static inline void
l4_patternset_remove(uint64 *set, int pattern)
{
	set[pattern >> 6] &= ~(UINT64CONST(1) << (pattern & 63));
}

static inline bool
l4_patternset_has(const uint64 *set, int pattern)
{
	return (set[pattern >> 6] >> (pattern & 63)) & 1;
}

/* ---- regexnfa.c: a nondeterministic automaton for a set of patterns ---- */

typedef enum L4Op
{
	L4_OP_SET,					/* a byte of the set, then a */
	L4_OP_SPLIT,				/* a or b */
	L4_OP_ASSERT,				/* where it holds, a */
	L4_OP_MATCH					/* of pattern a */
} L4Op;

typedef struct L4Instruction
{
	uint8		op;
	uint8		assertion;		/* L4Assert */
	int32		a;
	int32		b;
	int32		set;
} L4Instruction;

#define L4_LIKELY_NUMBERS 509

/* Everything is allocated in the context that was current when it was created. */
typedef struct L4Nfa
{
	MemoryContext cxt;
	bool		asserts;		/* some instruction is an assertion */
	L4Instruction *code;
	int			n;
	int			size;
	L4ByteSet  *sets;			/* distinct ones */
	int			nsets;
	int			sets_size;
	int			likely_numbers[L4_LIKELY_NUMBERS];	/* of sets, by a hash of them */
	int32	   *starts;			/* first instruction by pattern added */
	int			nstarts;
	int			starts_size;
} L4Nfa;

extern L4Nfa *l4_nfa_create(void);

/*
 * Add a pattern by its tree: the automaton matches whatever the tree does.
 * False when it is not fit: it may match the empty text, is nested too deeply,
 * or has too many instructions.
 */
extern bool l4_nfa_add(L4Nfa *nfa, const L4RegexNode *tree, int pattern);

/* ---- lazydfa.c: which of many patterns may match a line, at one step a byte ---- */

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
