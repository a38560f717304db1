/*
 * regexwindow.c
 *		What must be somewhere in a line for a pattern to match.
 *
 * Looked for are runs of characters of which the pattern writes out a few each;
 * what repeats, what may be missing and what can be nearly anything ends a run.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "pcre/regextree.h"

/* Characters of a run that are looked for: of a longer one the rarest. */
#define WINDOW_LEN	24

/* Texts of a window: more would hardly tell lines apart. */
#define MOST_TEXTS	80

/* A character of which more bytes are allowed may be nearly anything. */
#define MOST_BYTES	16

/* The weight of a string of four letters or so. */
#define NOT_COMMON	16

/* Parts nested deeper are taken for any text. */
#define NESTING_MAX 24

typedef struct RegexWindow
{
	L4RegexNode *alternatives;	/* NULL: it is a run */
	int			weight;			/* of its commonest text, 0: no window */
	int			ntexts;
	int			n;
	L4RegexNode *sets[WINDOW_LEN];	/* characters in a row */
} RegexWindow;

typedef struct Finder
{
	RegexWindow run;			/* the run at hand */
	RegexWindow best;
	int			nesting;
} Finder;

static void find_window(L4RegexNode *node, int nesting, RegexWindow *best);

/* How rare a byte is in logs: bits, roughly. Blanks are everywhere, then come signs, digits and common letters. */
static int
byte_weight(unsigned char c)
{
	static const char weights[] =
	"6666666666666666666666666666666626366663336633334444444444366366"
	"6666666666666666666666666663636364555455545545445544455555566666";

	return c < 0x80 ? weights[c] - '0' : 6;
}

/* How rare a character of a set is; 0: it may be nearly anything. */
static int
set_weight(L4RegexNode *set)
{
	int			least = PG_INT32_MAX;
	int			n = 0;

	if (set->plain)
		return byte_weight(set->byte);
	if (set->wide && !set->listed)
		return 0;
	for (int i = 0; i < 4; i++)
		for (uint64 bits = set->bytes.bits[i]; bits != 0 && n <= MOST_BYTES; bits &= bits - 1, n++)
			least = Min(least, byte_weight(64 * i + pg_rightmost_one_pos64(bits)));
	return n == 0 || n > MOST_BYTES ? 0 : Max(least - n / 3, 1);
}

static void
consider(Finder *f, const RegexWindow *window)
{
	if (window->weight > f->best.weight)
		f->best = *window;
}

/* The window of a part, which is not part of the text around. */
static void
consider_part(Finder *f, L4RegexNode *part)
{
	RegexWindow window;

	find_window(part, f->nesting, &window);
	consider(f, &window);
}

static void
end_run(Finder *f)
{
	/* a single byte is everywhere */
	if (f->run.n > 1)
		consider(f, &f->run);
	f->run = (RegexWindow) {.ntexts = 1};
}

static void
add_set(Finder *f, L4RegexNode *set)
{
	RegexWindow	   *run = &f->run;
	int			weight = set_weight(set);

	if (weight == 0)
	{
		end_run(f);
		return;
	}
	if (run->n == WINDOW_LEN)
	{
		consider(f, run);
		run->weight -= set_weight(run->sets[0]);
		memmove(run->sets, run->sets + 1, --run->n * sizeof(run->sets[0]));
	}
	run->sets[run->n++] = set;
	run->weight += weight;
}

/* A window as a tree: of the nodes of the tree that it is in, which is used up. */
static L4RegexNode *
window_tree(const RegexWindow *window)
{
	L4RegexNode *sequence = window->alternatives;

	if (sequence != NULL)
		return sequence;
	sequence = l4_regex_node(L4_NODE_SEQUENCE);
	for (int i = 0; i < window->n; i++)
	{
		window->sets[i]->next = NULL;
		l4_regex_add(sequence, window->sets[i]);
	}
	return sequence;
}

/* A window for each alternative, if all have one. */
static void
consider_alternatives(Finder *f, L4RegexNode *alternatives)
{
	RegexWindow all = {.alternatives = l4_regex_node(L4_NODE_ALTERNATIVES), .weight = PG_INT32_MAX};

	for (L4RegexNode *node = alternatives->first; node != NULL; node = node->next)
	{
		RegexWindow one;

		find_window(node, f->nesting, &one);
		all.ntexts += one.ntexts;
		if (one.weight == 0 || all.ntexts > MOST_TEXTS)
			return;
		l4_regex_add(all.alternatives, window_tree(&one));
		all.weight = Min(all.weight, one.weight);
	}
	/* many are worse than few, but those that are not common are better than none */
	all.weight = Max(all.weight < NOT_COMMON ? 0 : 1, all.weight - all.ntexts / 3);
	consider(f, &all);
}

static void
read_node(Finder *f, L4RegexNode *node)
{
	CHECK_FOR_INTERRUPTS();
	if (f->nesting >= NESTING_MAX)
	{
		end_run(f);
		return;
	}
	f->nesting++;
	switch (node->kind)
	{
		case L4_NODE_NOTHING:
		case L4_NODE_ASSERT:
			break;
		case L4_NODE_LOOK:
			consider_part(f, node->first);
			break;
		case L4_NODE_SET:
			add_set(f, node);
			break;
		case L4_NODE_SEQUENCE:
			for (L4RegexNode *child = node->first; child != NULL; child = child->next)
				if (child->kind == L4_NODE_SET)
					add_set(f, child);
				else
					read_node(f, child);
			break;
		case L4_NODE_ALTERNATIVES:
			end_run(f);
			consider_alternatives(f, node);
			break;
		case L4_NODE_REPEAT:
			end_run(f);
			if (node->least > 0)
				consider_part(f, node->first);
			break;
		case L4_NODE_ANY:
			end_run(f);
			break;
	}
	f->nesting--;
}

/* The rarest window of a node; of weight 0 where there is none. */
static void
find_window(L4RegexNode *node, int nesting, RegexWindow *best)
{
	Finder		f = {.nesting = nesting, .run.ntexts = 1};

	read_node(&f, node);
	end_run(&f);
	*best = f.best;
}

L4RegexNode *
l4_regex_window(L4RegexNode *tree)
{
	RegexWindow window;

	find_window(tree, 0, &window);
	return window.weight == 0 ? NULL : window_tree(&window);
}
