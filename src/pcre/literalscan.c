/*
 * literalscan.c
 *		Which of many patterns have one of their literals in a line?
 *
 * The automaton of Aho and Corasick (Efficient String Matching, 1975) with a
 * complete table: one step a byte. To keep the table small it knows only a
 * key of each literal, its rarest KEY_LEN bytes in a row, and takes letters of
 * both cases for the same, and all digits. Where a key ends, its literals are
 * compared with the line.
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

/* States there may be: with the 60 or so bytes that keys are made of the table has 120 MB. */
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

typedef struct KeyState
{
	int			ending;			/* first literal whose key ends here, -1 none */
	int			suffix;			/* state of the longest proper suffix that is the beginning of a key */
} KeyState;

/* Entries of the table: where the row of the next state begins, and whether a key ends there. */
#define KEY_ENDS UINT32_C(0x80000000)

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
	uint32	   *table;
	KeyState   *states;
	int			nstates;
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

static inline uint32 *
row_of(const L4LiteralScan *scan, int state)
{
	return scan->table + (Size) state * scan->nclasses;
}

static int
add_state(L4LiteralScan *scan)
{
	scan->states[scan->nstates].ending = -1;
	scan->states[scan->nstates].suffix = 0;
	memset(row_of(scan, scan->nstates), 0, sizeof(uint32) * scan->nclasses);
	return scan->nstates++;
}

/*
 * The keys as a tree: entries of the table are the numbers of states so far, 0
 * where there is none. States that stand for shorter texts come first: lines
 * lead to these most of the time, so they should share the cache.
 */
static void
add_keys(L4LiteralScan *scan)
{
	for (int depth = 0; depth < KEY_LEN; depth++)
		for (int i = 0; i < scan->nliterals; i++)
		{
			PatternLiteral *literal = &scan->literals[i];
			uint32	   *entry;

			CHECK_FOR_INTERRUPTS();
			if (depth >= key_len(literal))
				continue;
			if (depth == 0)
				literal->state = 0;
			entry = &row_of(scan, literal->state)[scan->class_of[literal->text[literal->key + depth]]];
			if (*entry == 0)
				*entry = add_state(scan);
			literal->state = *entry;
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
	{
		uint32	   *row = row_of(scan, i);
		const uint32 *suffix_row = row_of(scan, states[i].suffix);

		CHECK_FOR_INTERRUPTS();
		for (int class = 0; class < scan->nclasses; class++)
			if (row[class] == 0)
				row[class] = suffix_row[class];
			else if (i > 0)
				states[row[class]].suffix = suffix_row[class];
	}
	/* from here on the longest suffix in which a key ends: that of a shorter text is known already */
	for (int i = 1; i < scan->nstates; i++)
		if (states[states[i].suffix].ending < 0)
			states[i].suffix = states[states[i].suffix].suffix;
}

static pg_noinline void
make_automaton(L4LiteralScan *scan)
{
	int			max_states = scan->key_bytes + 1;

	find_classes(scan);
	scan->states = MemoryContextAllocHuge(scan->cxt, sizeof(KeyState) * (Size) max_states);
	scan->table = MemoryContextAllocHuge(scan->cxt, sizeof(uint32) * scan->nclasses * (Size) max_states);
	scan->nstates = 0;
	add_state(scan);
	add_keys(scan);
	add_suffixes(scan);
	/* keys have beginnings in common, so there are fewer states */
	scan->table = repalloc_huge(scan->table, sizeof(uint32) * scan->nclasses * (Size) scan->nstates);
	scan->states = repalloc_huge(scan->states, sizeof(KeyState) * (Size) scan->nstates);
	for (Size i = 0; i < (Size) scan->nstates * scan->nclasses; i++)
	{
		const KeyState *state = &scan->states[scan->table[i]];

		scan->table[i] *= scan->nclasses;
		if (state->ending >= 0 || state->suffix > 0)
			scan->table[i] |= KEY_ENDS;
	}
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

	for (; state > 0; state = states[state].suffix)
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
			row = table[row + class_of[*p++]];
			if (unlikely(row & KEY_ENDS))
			{
				row &= ~KEY_ENDS;
				any |= compare_literals(scan, row / scan->nclasses, begin, p, end, any_digits, found);
			}
		}
	}
	return any;
}
