/*
 * regexnfa.c
 *		A nondeterministic automaton for a set of patterns.
 *
 * It is built from the trees of patterns, back to front, and matches at least
 * what they match. It matches more where exactness would cost many states:
 * look-arounds count as true, high counts of a repeat as any count, and
 * a character beyond ASCII as any run of such bytes.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/grow.h"
#include "pcre/lazydfa.h"

/* Instructions of one pattern. */
#define PATTERN_MAX 1500

/* And of all together. */
#define ALL_MAX (4 * 1024 * 1024)

/* An item is written out this often at most: "x{20,}" becomes "x{16,}". */
#define COPIES_MAX 16

/* Optional copies behind the required ones; with more, any number may follow. */
#define OPTIONAL_MAX 3

/* Depth of the recursion over a tree. */
#define NESTING_MAX 100

typedef struct Compiler
{
	L4Nfa	   *nfa;
	int			limit;			/* instructions there may be */
	bool		failed;
	int			nesting;
} Compiler;

static int	compile(Compiler *c, const L4RegexNode *node, int next);

L4Nfa *
l4_nfa_create(void)
{
	L4Nfa	   *nfa = palloc0(sizeof(L4Nfa));

	nfa->cxt = CurrentMemoryContext;
	return nfa;
}

static int
emit(Compiler *c, L4Op op, int a, int b)
{
	L4Nfa	   *nfa = c->nfa;
	L4Instruction *code;

	if (nfa->n >= c->limit)
	{
		c->failed = true;
		return 0;
	}
	L4_GROW(nfa->code, nfa->n, nfa->size, nfa->cxt);
	code = &nfa->code[nfa->n];
	memset(code, 0, sizeof(L4Instruction));
	code->op = op;
	code->a = a;
	code->b = b;
	return nfa->n++;
}

static int
emit_set(Compiler *c, const L4ByteSet *set, int next)
{
	L4Nfa	   *nfa = c->nfa;
	int		   *likely_number = &nfa->likely_numbers[(set->bits[0] * 31 + set->bits[1] + set->bits[2]) % L4_LIKELY_NUMBERS];
	int			number = *likely_number;
	int			at = emit(c, L4_OP_SET, next, 0);

	if (c->failed)
		return 0;
	if (number >= nfa->nsets || memcmp(&nfa->sets[number], set, sizeof(L4ByteSet)) != 0)
		number = 0;
	while (number < nfa->nsets && memcmp(&nfa->sets[number], set, sizeof(L4ByteSet)) != 0)
		number++;
	*likely_number = number;
	L4_GROW(nfa->sets, number, nfa->sets_size, nfa->cxt);
	if (number == nfa->nsets)
		nfa->sets[nfa->nsets++] = *set;
	nfa->code[at].set = number;
	return at;
}

/* The bytes that a character of the set may begin with; without wide these are all of it. */
static L4ByteSet
first_bytes(const L4RegexNode *node)
{
	L4ByteSet	set = node->bytes;

	if (node->wide)
		set.bits[2] = set.bits[3] = PG_UINT64_MAX;
	return set;
}

/* Any number of bytes of the set, then next. */
static int
emit_loop(Compiler *c, const L4ByteSet *set, int next)
{
	int			loop = emit(c, L4_OP_SPLIT, 0, next);
	int			body = emit_set(c, set, loop);

	if (!c->failed)
		c->nfa->code[loop].a = body;
	return loop;
}

static int
compile_set(Compiler *c, const L4RegexNode *node, int next)
{
	L4ByteSet	set = first_bytes(node);
	L4ByteSet	further = {{0, 0, PG_UINT64_MAX, 0}};	/* 0x80 to 0xBF */

	if (node->wide)
		next = emit_loop(c, &further, next);
	return emit_set(c, &set, next);
}

static int
compile_any(Compiler *c, int next)
{
	L4ByteSet	all;

	memset(&all, 0xFF, sizeof(all));
	return emit_loop(c, &all, next);
}

/* Can the node match no text at all? */
static bool
may_be_empty(const L4RegexNode *node)
{
	check_stack_depth();
	switch (node->kind)
	{
		case L4_NODE_SET:
			return false;
		case L4_NODE_REPEAT:
			return node->least == 0 || may_be_empty(node->first);
		case L4_NODE_SEQUENCE:
			for (const L4RegexNode *child = node->first; child != NULL; child = child->next)
				if (!may_be_empty(child))
					return false;
			return true;
		case L4_NODE_ALTERNATIVES:
			for (const L4RegexNode *child = node->first; child != NULL; child = child->next)
				if (may_be_empty(child))
					return true;
			return false;
		default:
			return true;
	}
}

static bool
is_unlimited(const L4RegexNode *repeat)
{
	return repeat->most == L4_REPEAT_INF || repeat->most - repeat->least > OPTIONAL_MAX ||
		repeat->least > COPIES_MAX;
}

/* Is there a repeat without limit in it? */
static bool
has_unlimited(const L4RegexNode *node)
{
	check_stack_depth();
	if (node->kind == L4_NODE_REPEAT)
		return is_unlimited(node) || has_unlimited(node->first);
	if (node->kind != L4_NODE_SEQUENCE && node->kind != L4_NODE_ALTERNATIVES)
		return false;
	for (const L4RegexNode *child = node->first; child != NULL; child = child->next)
		if (has_unlimited(child))
			return true;
	return false;
}

/* The item any number of times, then next. An item that is empty or repeats would make many states: it becomes any text. */
static int
compile_star(Compiler *c, const L4RegexNode *item, int next)
{
	int			loop;
	int			body;

	while (item->kind == L4_NODE_SEQUENCE && item->first != NULL && item->first == item->last)
		item = item->first;
	if (item->kind == L4_NODE_SET)
	{
		L4ByteSet	set = first_bytes(item);

		return emit_loop(c, &set, next);
	}
	if (may_be_empty(item) || has_unlimited(item))
		return compile_any(c, next);
	loop = emit(c, L4_OP_SPLIT, 0, next);
	body = compile(c, item, loop);
	if (!c->failed)
		c->nfa->code[loop].a = body;
	return loop;
}

static int
compile_repeat(Compiler *c, const L4RegexNode *node, int next)
{
	const L4RegexNode *item = node->first;
	int			entry = next;
	int			optional = node->most - node->least;
	bool		unlimited = is_unlimited(node);

	if (unlimited)
		entry = compile_star(c, item, next);
	for (int i = 0; i < optional && !unlimited && !c->failed; i++)
	{
		int			body = compile(c, item, entry);

		entry = emit(c, L4_OP_SPLIT, body, next);
	}
	for (int i = 0; i < Min(node->least, COPIES_MAX) && !c->failed; i++)
		entry = compile(c, item, entry);
	return entry;
}

/* The children from the last to the first, each in front of what follows. */
static int
compile_sequence(Compiler *c, const L4RegexNode *node, int next)
{
	int			n = 0;
	const L4RegexNode **children;

	for (const L4RegexNode *child = node->first; child != NULL; child = child->next)
		n++;
	children = palloc(sizeof(L4RegexNode *) * Max(n, 1));
	n = 0;
	for (const L4RegexNode *child = node->first; child != NULL; child = child->next)
		children[n++] = child;
	while (n > 0 && !c->failed)
		next = compile(c, children[--n], next);
	pfree(children);
	return next;
}

static int
compile_alternatives(Compiler *c, const L4RegexNode *node, int next)
{
	int			entry = compile(c, node->first, next);

	for (const L4RegexNode *child = node->first->next; child != NULL && !c->failed; child = child->next)
	{
		int			other = compile(c, child, next);

		entry = emit(c, L4_OP_SPLIT, entry, other);
	}
	return entry;
}

/* Where to begin so that the node is matched and then what begins at next. */
static int
compile(Compiler *c, const L4RegexNode *node, int next)
{
	int			entry = next;

	if (c->failed || c->nesting >= NESTING_MAX)
	{
		c->failed = true;
		return next;
	}
	c->nesting++;
	switch (node->kind)
	{
		case L4_NODE_NOTHING:
		case L4_NODE_LOOK:
			break;
		case L4_NODE_ASSERT:
			entry = emit(c, L4_OP_ASSERT, next, 0);
			if (!c->failed)
				c->nfa->code[entry].assertion = node->assertion;
			c->nfa->asserts = true;
			break;
		case L4_NODE_SET:
			entry = compile_set(c, node, next);
			break;
		case L4_NODE_SEQUENCE:
			entry = compile_sequence(c, node, next);
			break;
		case L4_NODE_ALTERNATIVES:
			entry = compile_alternatives(c, node, next);
			break;
		case L4_NODE_REPEAT:
			entry = compile_repeat(c, node, next);
			break;
		case L4_NODE_ANY:
			entry = compile_any(c, next);
			break;
	}
	c->nesting--;
	return entry;
}

/* Any character any number of times, or what may be just that. */
static bool
takes_any_text(const L4RegexNode *node)
{
	if (node->kind == L4_NODE_REPEAT && node->least == 0)
	{
		const L4RegexNode *item = node->first;

		if (item->kind != L4_NODE_SET || !item->wide)
			return item->kind == L4_NODE_ANY;
		return (item->bytes.bits[0] & item->bytes.bits[1]) == PG_UINT64_MAX;
	}
	return node->kind == L4_NODE_ANY;
}

/*
 * The sequence without a front that any text satisfies: ".*x" is found
 * wherever "x" is, and so is "^.*x", on one line. Such a front would be in
 * every state.
 */
static const L4RegexNode *
without_front(const L4RegexNode *tree, L4RegexNode *copy)
{
	*copy = *tree;
	if (tree->kind != L4_NODE_SEQUENCE)
		return copy;
	for (const L4RegexNode *p = tree->first; p != NULL; p = p->next)
	{
		if (takes_any_text(p))
			copy->first = p->next;
		else if (p->kind != L4_NODE_ASSERT && p->kind != L4_NODE_NOTHING && p->kind != L4_NODE_LOOK)
			break;
	}
	return copy;
}

bool
l4_nfa_add(L4Nfa *nfa, const L4RegexNode *tree, int pattern)
{
	Compiler	c = {nfa, Min(nfa->n + PATTERN_MAX, ALL_MAX)};
	L4RegexNode		copy;
	int			before = nfa->n;
	int			start;

	tree = without_front(tree, &copy);
	if (may_be_empty(tree))
		return false;
	start = compile(&c, tree, emit(&c, L4_OP_MATCH, pattern, 0));
	if (c.failed)
	{
		nfa->n = before;
		return false;
	}
	L4_GROW(nfa->starts, nfa->nstarts, nfa->starts_size, nfa->cxt);
	nfa->starts[nfa->nstarts++] = start;
	return true;
}
