/*
 * literalscan.c
 *		Which of many patterns have one of their literals in a line?
 *
 * The automaton of Aho and Corasick (Efficient String Matching, 1975) with a
 * table of which a row is made when a line first leads to its state: one step
 * a byte, and few lines cost no more than their few states. To keep it small
 * it knows only a key of each literal, its rarest KEY_LEN bytes in a row, and
 * takes letters of both cases for the same, and all digits. Where a key ends,
 * its literals are compared with the line.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "base/grow.h"
#include "pcre/literalscan.h"
#include "pcre/patternset.h"

/* Bytes of a literal that the automaton looks for. */
#define KEY_LEN 8

/* States there may be: with the 60 or so bytes that keys are made of a table of all has 120 MB. */
#define MAX_STATES (1 << 19)

/* Bytes of a long line between two checks for a cancel. */
#define STRETCH 1048576

typedef struct PatternLiteral
{
	unsigned char *text;
	int			len;
	bool		caseless;
	int			pattern;
	int			key;			/* offset of its key in the text */
	int			state;			/* of the automaton behind the key */
	int			next;			/* other literal whose key ends there, -1 none */
} PatternLiteral;

/* A beginning of keys. States of shorter ones have lower numbers; the empty one is 0. */
typedef struct KeyState
{
	int			child;			/* first state with a byte more, 0 none */
	int			sibling;		/* next one with another last byte, 0 none */
	int			ending;			/* first literal whose key ends here, -1 none */
	int			suffix;			/* state of the longest proper suffix that is the beginning of a key */
	int			ended;			/* the longest proper suffix in which a key ends, 0 none */
	uint32		row;			/* where its row begins, NOT_MADE */
	uint8		class;			/* of its last byte */
} KeyState;

/*
 * Entries of the table: where the row of the next state begins, and whether a
 * key ends there; or the number of a state and that it is to be looked up.
 */
#define KEY_ENDS UINT32_C(0x80000000)
#define NOT_MADE UINT32_C(0x40000000)

struct L4LiteralScan
{
	MemoryContext cxt;
	PatternLiteral *literals;
	int			nliterals;
	int			literals_size;
	int			key_bytes;		/* of all literals: more than there are states */

	/* the automaton, made when it is first asked for */
	bool		ready;
	int			nclasses;		/* of bytes: those in no key are of class 0 */
	uint8		class_of[256];
	KeyState   *states;
	int			nstates;
	uint32	   *table;
	int		   *row_states;		/* of which state each row is */
	int			nrows;
	int			rows_size;
};

L4LiteralScan *
l4_literalscan_create(MemoryContext cxt)
{
	L4LiteralScan *scan = MemoryContextAllocZero(cxt, sizeof(L4LiteralScan));

	scan->cxt = cxt;
	return scan;
}

static inline unsigned char
fold_case(unsigned char c)
{
	return l4_ascii_upper(c) ? c | 0x20 : c;
}

static inline unsigned char
fold_digit(unsigned char c)
{
	return l4_ascii_digit(c) ? '0' : c;
}

/* What a byte of a key is to the automaton. */
static inline unsigned char
fold(unsigned char c)
{
	return fold_digit(fold_case(c));
}

static inline int
key_len(const PatternLiteral *literal)
{
	return Min(literal->len, KEY_LEN);
}

/* How rare a byte of a key is: digits are not, as any will do. */
static int
key_weight(unsigned char c)
{
	return l4_ascii_digit(c) ? 1 : l4_literal_weight(&c, 1);
}

/* Where in a literal its key starts: where the sum of weights is largest. */
static int
choose_key(const PatternLiteral *literal)
{
	int			best = 0;
	int			most = 0;
	int			weight = 0;

	for (int i = 0; i < literal->len; i++)
	{
		weight += key_weight(literal->text[i]);
		if (i >= KEY_LEN)
			weight -= key_weight(literal->text[i - KEY_LEN]);
		if (weight > most)
		{
			best = Max(i + 1 - KEY_LEN, 0);
			most = weight;
		}
	}
	return best;
}

bool
l4_literalscan_add(L4LiteralScan *scan, const L4Literal *literal, bool caseless, int pattern)
{
	PatternLiteral *copy;

	if (scan->key_bytes + KEY_LEN >= MAX_STATES)
		return false;
	L4_GROW(scan->literals, scan->nliterals, scan->literals_size, scan->cxt);
	copy = &scan->literals[scan->nliterals++];
	memset(copy, 0, sizeof(PatternLiteral));
	copy->text = MemoryContextAlloc(scan->cxt, literal->len);
	memcpy(copy->text, literal->text, literal->len);
	copy->len = literal->len;
	copy->caseless = caseless;
	copy->pattern = pattern;
	copy->key = choose_key(copy);
	scan->key_bytes += key_len(copy);
	return true;
}

/* ---- building ---- */

static void
find_classes(L4LiteralScan *scan)
{
	memset(scan->class_of, 0, sizeof(scan->class_of));
	scan->nclasses = 1;
	for (int i = 0; i < scan->nliterals; i++)
	{
		const PatternLiteral *literal = &scan->literals[i];

		for (int k = 0; k < key_len(literal); k++)
		{
			uint8	   *class = &scan->class_of[fold(literal->text[literal->key + k])];

			if (*class == 0)
				*class = scan->nclasses++;
		}
	}
	for (int c = 0; c < 256; c++)
		scan->class_of[c] = scan->class_of[fold(c)];
}

static int
find_child(const L4LiteralScan *scan, int state, uint8 class)
{
	int			child = scan->states[state].child;

	while (child != 0 && scan->states[child].class != class)
		child = scan->states[child].sibling;
	return child;
}

static int
add_state(L4LiteralScan *scan, int parent, uint8 class)
{
	int			number = scan->nstates++;
	KeyState   *state = &scan->states[number];

	memset(state, 0, sizeof(KeyState));
	state->ending = -1;
	state->row = NOT_MADE;
	state->class = class;
	if (number > 0)
	{
		state->sibling = scan->states[parent].child;
		scan->states[parent].child = number;
	}
	return number;
}

/* The keys as a tree. */
static void
add_keys(L4LiteralScan *scan)
{
	for (int depth = 0; depth < KEY_LEN; depth++)
		for (int i = 0; i < scan->nliterals; i++)
		{
			PatternLiteral *literal = &scan->literals[i];
			uint8		class;
			int			child;

			CHECK_FOR_INTERRUPTS();
			if (depth >= key_len(literal))
				continue;
			if (depth == 0)
				literal->state = 0;
			class = scan->class_of[literal->text[literal->key + depth]];
			child = find_child(scan, literal->state, class);
			literal->state = child > 0 ? child : add_state(scan, literal->state, class);
			if (depth == key_len(literal) - 1)
			{
				literal->next = scan->states[literal->state].ending;
				scan->states[literal->state].ending = i;
			}
		}
}

/* Where a key does not go on, its longest suffix does that is the beginning of another one. */
static void
add_suffixes(L4LiteralScan *scan)
{
	KeyState   *states = scan->states;

	for (int i = 0; i < scan->nstates; i++)
		for (int child = states[i].child; child != 0; child = states[child].sibling)
		{
			int			from = i;
			int			suffix = 0;

			CHECK_FOR_INTERRUPTS();
			while (from != 0 && suffix == 0)
			{
				from = states[from].suffix;
				suffix = find_child(scan, from, states[child].class);
			}
			states[child].suffix = suffix;
			states[child].ended = states[suffix].ending >= 0 ? suffix : states[suffix].ended;
		}
}

/* The row of a state: its own next bytes, else those of its suffixes, the longest first. */
static void
make_row(L4LiteralScan *scan, int number)
{
	int			chain[KEY_LEN + 1];
	int			n = 0;
	uint32	   *row;

	if (scan->nrows >= scan->rows_size)
	{
		scan->rows_size = Max(scan->rows_size * 2, 64);
		scan->table = repalloc_huge(scan->table, sizeof(uint32) * scan->nclasses * (Size) scan->rows_size);
		scan->row_states = repalloc_huge(scan->row_states, sizeof(int) * (Size) scan->rows_size);
	}
	scan->states[number].row = (uint32) scan->nrows * scan->nclasses;
	scan->row_states[scan->nrows++] = number;
	row = scan->table + scan->states[number].row;
	for (int i = 0; i < scan->nclasses; i++)
		row[i] = NOT_MADE;
	for (int state = number; state != 0; state = scan->states[state].suffix)
		chain[n++] = state;
	chain[n++] = 0;
	while (n-- > 0)
		for (int child = scan->states[chain[n]].child; child != 0; child = scan->states[child].sibling)
			row[scan->states[child].class] = NOT_MADE | child;
}

/* An entry names a state: from now on where its row begins, which is made if it is not there yet. */
static pg_noinline uint32
look_up(L4LiteralScan *scan, Size entry)
{
	int			number = scan->table[entry] & ~NOT_MADE;
	const KeyState *state = &scan->states[number];

	if (state->row == NOT_MADE)
		make_row(scan, number);
	scan->table[entry] = state->row | (state->ending >= 0 || state->ended > 0 ? KEY_ENDS : 0);
	return scan->table[entry];
}

static pg_noinline void
make_automaton(L4LiteralScan *scan)
{
	find_classes(scan);
	scan->states = MemoryContextAllocHuge(scan->cxt, sizeof(KeyState) * ((Size) scan->key_bytes + 1));
	scan->nstates = 0;
	add_state(scan, 0, 0);
	add_keys(scan);
	add_suffixes(scan);
	/* keys have beginnings in common, so there are fewer states */
	scan->states = repalloc_huge(scan->states, sizeof(KeyState) * (Size) scan->nstates);
	scan->table = MemoryContextAlloc(scan->cxt, sizeof(uint32));
	scan->row_states = MemoryContextAlloc(scan->cxt, sizeof(int));
	make_row(scan, 0);
	scan->ready = true;
}

/* ---- scanning ---- */

static bool
is_at(const PatternLiteral *literal, const unsigned char *p, bool any_digits)
{
	if (!literal->caseless && !any_digits)
		return memcmp(p, literal->text, literal->len) == 0;
	for (int i = 0; i < literal->len; i++)
	{
		unsigned char want = literal->text[i];
		unsigned char have = literal->caseless ? fold_case(p[i]) : p[i];

		if (have != want && !(any_digits && fold_digit(have) == fold_digit(want)))
			return false;
	}
	return true;
}

/* A key ends before p: is its literal there, and are those of shorter keys that end there too? */
static bool
compare_literals(const L4LiteralScan *scan, int state, const unsigned char *line, const unsigned char *p,
				 const unsigned char *end, bool any_digits, uint64 *found)
{
	const KeyState *states = scan->states;
	bool		any = false;

	for (; state > 0; state = states[state].ended)
		for (int i = states[state].ending; i >= 0; i = scan->literals[i].next)
		{
			const PatternLiteral *literal = &scan->literals[i];
			int			before = literal->key + key_len(literal);

			if (l4_patternset_has(found, literal->pattern) || p - line < before ||
				end - p < literal->len - before || !is_at(literal, p - before, any_digits))
				continue;
			l4_patternset_add(found, literal->pattern);
			any = true;
		}
	return any;
}

bool
l4_literalscan_run(L4LiteralScan *scan, const char *line, int len, bool any_digits, uint64 *found)
{
	const unsigned char *begin = (const unsigned char *) line;
	const unsigned char *end = begin + len;
	const unsigned char *p = begin;
	uint32		row = 0;
	bool		any = false;

	if (!scan->ready)
		make_automaton(scan);
	while (p < end)
	{
		const unsigned char *stop = p + Min(end - p, STRETCH);
		const uint32 *table = scan->table;
		const uint8 *class_of = scan->class_of;

		CHECK_FOR_INTERRUPTS();
		while (p < stop)
		{
			uint32		entry = row + class_of[*p++];

			row = table[entry];
			if (unlikely(row >= NOT_MADE))
			{
				if (row < KEY_ENDS)
				{
					row = look_up(scan, entry);
					table = scan->table;
					if (row < KEY_ENDS)
						continue;
				}
				row &= ~KEY_ENDS;
				any |= compare_literals(scan, scan->row_states[row / scan->nclasses], begin, p, end, any_digits, found);
			}
		}
	}
	return any;
}
