/*
 * regexnfa.h
 *		A nondeterministic automaton for a set of patterns.
 */
#ifndef L4_REGEXNFA_H
#define L4_REGEXNFA_H

#include "pcre/regextree.h"

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

#endif							/* L4_REGEXNFA_H */
