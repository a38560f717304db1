/*
 * lazydfa.c
 *		Which of many patterns may match a line, at one step a byte.
 *
 * A deterministic automaton over the nondeterministic one of all patterns
 * (regexnfa.c), of which only those states are made that lines lead to. A
 * state is the set of instructions that are next, and the kind of the byte
 * just read. Instructions that read no byte are followed when the next byte
 * is known, since assertions depend on it. So a match is told one byte late,
 * at the end of the line by a step that reads no byte. What may begin at any
 * byte is left out of the sets, since all of them would have it; what is next
 * of what began with the byte just read is the same for all that read it.
 *
 * States have a limited room. When it is full, all are thrown away and made
 * again as needed; when that happens too soon, the caller is told.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "base/grow.h"
#include "base/order.h"
#include "pcre/lazydfa.h"

/* Room for states, in bytes. */
#define ROOM (16 * 1024 * 1024)

/* States pay if so many bytes were read for each of them before the room is full. */
#define BYTES_A_STATE 100

#define STATE_SLOTS 16384		/* of the hash table of states, a power of two */

/* Bytes of a long line between two checks for a cancel. */
#define STRETCH 1048576

/* What stands before a place in the line. */
typedef enum Before
{
	BEFORE_START,
	BEFORE_NEWLINE,
	BEFORE_WORD,
	BEFORE_OTHER
} Before;
#define N_BEFORE 4

typedef struct Numbers
{
	int			n;
	int32	   *items;
} Numbers;

typedef struct DfaState
{
	const Numbers *begun;		/* next of what began with the byte just read */
	Numbers		next;			/* other instructions, ascending */
	Numbers		matches;		/* patterns that were found on the way into it, ascending */
	Before		before;
	uint32		hash;
	int			chain;			/* of the same slot, -1 none */
} DfaState;

/* Entries of the table: where the row of the next state begins, and a flag when it has matches. */
#define LOOK UINT32_C(0x80000000)
#define UNKNOWN UINT32_C(0xFFFFFFFF)

struct L4Dfa
{
	MemoryContext cxt;
	const L4Nfa *nfa;
	L4ByteSet  *sets;			/* its sets; where digits are alike with all digits or none */
	int			nclasses;		/* of bytes that no set tells apart; one more is the end */
	uint8		class_of[256];
	uint8		example[256];	/* a byte of each class */
	Numbers		starts[257];	/* by class: first instructions of patterns that may begin with it; of the end none */
	int			starts_size[257];
	Numbers	   *begun[N_BEFORE];	/* next if a pattern begins with a byte, by its class; items NULL: not known yet */
	Numbers		none;

	MemoryContext room;			/* states and table; reset when full */
	DfaState   *states;
	int			nstates;
	int			states_size;
	uint32	   *table;
	int		   *slots;
	Size		used;
	uint64		bytes;			/* read since the room was empty */

	/* for making states */
	uint32		generation;
	uint32	   *read_marks;		/* by instruction: generation in which it was read */
	uint32	   *next_marks;		/* by instruction: generation in which it became one of next */
	int32	   *stack;
	Numbers		next;
	Numbers		found;
};

/* Where no assertion asks, all bytes are alike. */
static Before
before_next(const L4Dfa *dfa, unsigned char c)
{
	if (!dfa->nfa->asserts)
		return BEFORE_START;
	return l4_ascii_word(c) ? BEFORE_WORD : l4_may_be_newline(c) ? BEFORE_NEWLINE : BEFORE_OTHER;
}

/* Bytes are of one class when no set tells them apart and they are the same to assertions. */
static void
find_classes(L4Dfa *dfa)
{
	for (int c = 0; c < 256; c++)
		dfa->class_of[c] = before_next(dfa, c);
	for (int i = 0; i < dfa->nfa->nsets; i++)
	{
		int16		split[2][256];
		int			n = 0;

		memset(split, 0xFF, sizeof(split));
		for (int c = 0; c < 256; c++)
		{
			int16	   *class = &split[l4_byte_set_has(&dfa->sets[i], c)][dfa->class_of[c]];

			if (*class < 0)
				*class = n++;
			dfa->class_of[c] = *class;
		}
	}
	for (int c = 0; c < 256; c++)
	{
		dfa->example[dfa->class_of[c]] = c;
		dfa->nclasses = Max(dfa->nclasses, dfa->class_of[c] + 1);
	}
}

static inline int
row_len(const L4Dfa *dfa)
{
	return dfa->nclasses + 1;
}

static void
start_step(L4Dfa *dfa)
{
	dfa->generation++;
	if (dfa->generation == 0)
		elog(ERROR, "too many steps of an automaton");
	dfa->next.n = 0;
	dfa->found.n = 0;
}

/* Which patterns may begin with a byte of which class, if all assertions hold. */
static void
index_starts(L4Dfa *dfa)
{
	const L4Nfa *nfa = dfa->nfa;
	Numbers    *starts = dfa->starts;

	for (int s = 0; s < nfa->nstarts; s++)
	{
		int			depth = 0;

		CHECK_FOR_INTERRUPTS();
		start_step(dfa);
		dfa->stack[depth++] = nfa->starts[s];
		while (depth > 0)
		{
			int32		i = dfa->stack[--depth];
			const L4Instruction *code = &nfa->code[i];

			if (dfa->read_marks[i] == dfa->generation)
				continue;
			dfa->read_marks[i] = dfa->generation;
			if (code->op == L4_OP_SPLIT)
				dfa->stack[depth++] = code->b;
			if (code->op == L4_OP_SPLIT || code->op == L4_OP_ASSERT)
				dfa->stack[depth++] = code->a;
			for (int k = 0; k < 4 && code->op == L4_OP_SET; k++)
				for (uint64 bits = dfa->sets[code->set].bits[k]; bits != 0; bits &= bits - 1)
				{
					int			c = 64 * k + pg_rightmost_one_pos64(bits);
					int			class = dfa->class_of[c];

					if (c != dfa->example[class])
						continue;
					L4_GROW(starts[class].items, starts[class].n, dfa->starts_size[class], dfa->cxt);
					starts[class].items[starts[class].n++] = nfa->starts[s];
				}
		}
	}
}

/* ---- states ---- */

static Numbers
copy_list(const Numbers *list)
{
	Numbers		copy = {list->n, palloc(sizeof(int32) * Max(list->n, 1))};

	if (list->n > 0)
		memcpy(copy.items, list->items, sizeof(int32) * list->n);
	return copy;
}

static bool
same_list(const Numbers *a, const Numbers *b)
{
	return a->n == b->n && memcmp(a->items, b->items, sizeof(int32) * a->n) == 0;
}

static uint32
hash_list(const Numbers *list)
{
	return hash_bytes((const unsigned char *) list->items, sizeof(int32) * list->n);
}

/* The state with these lists, made if there is none yet. */
static int
get_state(L4Dfa *dfa, const Numbers *begun, const Numbers *next, const Numbers *matches, Before before)
{
	uint32		hash = hash_combine(hash_combine(hash_list(next), hash_list(matches)),
									murmurhash32((uint32) (uintptr_t) begun + before));
	int			slot = hash & (STATE_SLOTS - 1);
	MemoryContext old;
	DfaState   *state;
	uint32	   *row;

	for (int i = dfa->slots[slot]; i >= 0; i = dfa->states[i].chain)
	{
		state = &dfa->states[i];
		if (state->hash == hash && state->begun == begun && state->before == before &&
			same_list(&state->next, next) && same_list(&state->matches, matches))
			return i;
	}
	old = MemoryContextSwitchTo(dfa->room);
	if (dfa->nstates == dfa->states_size)
	{
		dfa->states_size *= 2;
		dfa->states = repalloc(dfa->states, sizeof(DfaState) * dfa->states_size);
		dfa->table = repalloc(dfa->table, sizeof(uint32) * dfa->states_size * row_len(dfa));
	}
	state = &dfa->states[dfa->nstates];
	state->begun = begun;
	state->next = copy_list(next);
	state->matches = copy_list(matches);
	state->before = before;
	state->hash = hash;
	state->chain = dfa->slots[slot];
	dfa->slots[slot] = dfa->nstates;
	row = dfa->table + dfa->nstates * row_len(dfa);
	for (int k = 0; k < row_len(dfa); k++)
		row[k] = UNKNOWN;
	dfa->used += sizeof(DfaState) + sizeof(uint32) * row_len(dfa) +
		sizeof(int32) * (next->n + matches->n);
	MemoryContextSwitchTo(old);
	return dfa->nstates++;
}

/* Throw all states away but the one in which lines begin. */
static void
empty_room(L4Dfa *dfa)
{
	MemoryContext old;

	MemoryContextReset(dfa->room);
	old = MemoryContextSwitchTo(dfa->room);
	dfa->nstates = 0;
	dfa->states_size = 64;
	dfa->states = palloc(sizeof(DfaState) * dfa->states_size);
	dfa->table = palloc(sizeof(uint32) * dfa->states_size * row_len(dfa));
	dfa->slots = palloc(sizeof(int) * STATE_SLOTS);
	memset(dfa->slots, 0xFF, sizeof(int) * STATE_SLOTS);
	dfa->used = 0;
	dfa->bytes = 0;
	MemoryContextSwitchTo(old);
	get_state(dfa, &dfa->none, &dfa->none, &dfa->none, BEFORE_START);
}

static void
copy_sets(L4Dfa *dfa, bool digits_alike)
{
	static const uint64 digits = UINT64CONST(0x3FF) << '0';

	dfa->sets = palloc(sizeof(L4ByteSet) * Max(dfa->nfa->nsets, 1));
	for (int i = 0; i < dfa->nfa->nsets; i++)
	{
		dfa->sets[i] = dfa->nfa->sets[i];
		if (digits_alike && (dfa->sets[i].bits[0] & digits))
			dfa->sets[i].bits[0] |= digits;
	}
}

L4Dfa *
l4_dfa_create(const L4Nfa *nfa, bool digits_alike, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 automaton", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Dfa	   *dfa = palloc0(sizeof(L4Dfa));
	int			n = nfa->n + 1;

	dfa->cxt = cxt;
	dfa->nfa = nfa;
	copy_sets(dfa, digits_alike);
	find_classes(dfa);
	for (int i = 0; i < N_BEFORE; i++)
		dfa->begun[i] = palloc0(sizeof(Numbers) * row_len(dfa));
	dfa->read_marks = palloc0(sizeof(uint32) * n);
	dfa->next_marks = palloc0(sizeof(uint32) * n);
	dfa->stack = palloc(sizeof(int32) * 2 * n);
	dfa->next.items = palloc(sizeof(int32) * n);
	dfa->found.items = palloc(sizeof(int32) * 2 * n);
	dfa->none.items = palloc0(sizeof(int32));
	index_starts(dfa);
	dfa->room = AllocSetContextCreate(cxt, "l4 automaton states", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	empty_room(dfa);
	return dfa;
}

/* ---- steps ---- */

/* Does it hold between what stands before and byte c, or the end? */
static bool
holds(L4Assert assertion, Before before, int c, bool end)
{
	bool		edge = (before == BEFORE_WORD) != (!end && l4_ascii_word(c));

	switch (assertion)
	{
		case L4_AT_START:
			return before == BEFORE_START;
		case L4_AT_LINE_START:
			return before == BEFORE_START || before == BEFORE_NEWLINE;
		case L4_AT_END:
			return end;
		case L4_AT_LINE_END:
			return end || l4_may_be_newline(c);
		case L4_AT_WORD_EDGE:
			return edge;
		case L4_NOT_WORD_EDGE:
			return !edge;
	}
	return true;
}

static void
add_next(L4Dfa *dfa, int32 instruction)
{
	if (dfa->next_marks[instruction] == dfa->generation)
		return;
	dfa->next_marks[instruction] = dfa->generation;
	dfa->next.items[dfa->next.n++] = instruction;
}

/* This instruction is next and the byte is known: past splits and assertions, read it. */
static void
read_byte(L4Dfa *dfa, int32 instruction, Before before, int c, bool end)
{
	int			depth = 0;

	dfa->stack[depth++] = instruction;
	while (depth > 0)
	{
		int32		i = dfa->stack[--depth];
		const L4Instruction *code = &dfa->nfa->code[i];

		if (dfa->read_marks[i] == dfa->generation)
			continue;
		dfa->read_marks[i] = dfa->generation;
		switch ((L4Op) code->op)
		{
			case L4_OP_SPLIT:
				dfa->stack[depth++] = code->b;
				dfa->stack[depth++] = code->a;
				break;
			case L4_OP_ASSERT:
				if (holds(code->assertion, before, c, end))
					dfa->stack[depth++] = code->a;
				break;
			case L4_OP_SET:
				if (!end && l4_byte_set_has(&dfa->sets[code->set], c))
					add_next(dfa, code->a);
				break;
			case L4_OP_MATCH:
				dfa->found.items[dfa->found.n++] = code->a;
				break;
		}
	}
}

/* What is next if a pattern begins with a byte of this class: found out once. */
static const Numbers *
find_begun(L4Dfa *dfa, Before before, int class)
{
	bool		end = (class == dfa->nclasses);
	Numbers    *begun = &dfa->begun[before][class];
	MemoryContext old;

	if (begun->items == NULL)
	{
		start_step(dfa);
		for (int i = 0; i < dfa->starts[class].n; i++)
			read_byte(dfa, dfa->starts[class].items[i], before, end ? 0 : dfa->example[class], end);
		old = MemoryContextSwitchTo(dfa->cxt);
		*begun = copy_list(&dfa->next);
		MemoryContextSwitchTo(old);
	}
	return begun->n == 0 ? &dfa->none : begun;
}

/* Add what an entry's state has. */
static void
add_state(L4Dfa *dfa, uint32 entry)
{
	const DfaState *state = &dfa->states[(entry & ~LOOK) / row_len(dfa)];

	for (int i = 0; i < state->next.n; i++)
		add_next(dfa, state->next.items[i]);
	for (int i = 0; i < state->matches.n; i++)
		dfa->found.items[dfa->found.n++] = state->matches.items[i];
}

/*
 * From a state over a class of bytes: the entry of the table, made now. What
 * began with the byte before goes on as from the state that has nothing else.
 */
static uint32
make_entry(L4Dfa *dfa, uint32 from, int class)
{
	int			row = from / row_len(dfa);
	const Numbers *begun = dfa->states[row].begun;
	Before		before = dfa->states[row].before;
	bool		end = (class == dfa->nclasses);
	int			c = end ? 0 : dfa->example[class];
	uint32		alone = from;
	const Numbers *next_begun;
	int			to;
	uint32		entry;

	if (begun->n > 0 && dfa->states[row].next.n > 0)
	{
		alone = (uint32) get_state(dfa, begun, &dfa->none, &dfa->none, before) * row_len(dfa);
		if (dfa->table[alone + class] == UNKNOWN)
			make_entry(dfa, alone, class);
	}
	next_begun = find_begun(dfa, before, class);
	start_step(dfa);
	for (int i = 0; i < next_begun->n; i++)
		dfa->next_marks[next_begun->items[i]] = dfa->generation;
	if (alone != from)
		add_state(dfa, dfa->table[alone + class]);
	for (int i = 0; i < begun->n && alone == from; i++)
		read_byte(dfa, begun->items[i], before, c, end);
	for (int i = 0; i < dfa->states[row].next.n; i++)
		read_byte(dfa, dfa->states[row].next.items[i], before, c, end);
	qsort(dfa->next.items, dfa->next.n, sizeof(int32), l4_order_int32);
	qsort(dfa->found.items, dfa->found.n, sizeof(int32), l4_order_int32);
	to = get_state(dfa, next_begun, &dfa->next, &dfa->found, end ? BEFORE_START : before_next(dfa, c));
	entry = (uint32) to * row_len(dfa) | (dfa->found.n > 0 ? LOOK : 0);
	dfa->table[from + class] = entry;
	return entry;
}

/* More to do than to follow an entry: make it, or tell the matches. */
static pg_noinline uint32
look(L4Dfa *dfa, uint32 from, int class, uint64 *found)
{
	uint32		entry = dfa->table[from + class];
	const DfaState *state;

	if (entry == UNKNOWN)
		entry = make_entry(dfa, from, class);
	if ((entry & LOOK) == 0)
		return entry;
	entry &= ~LOOK;
	state = &dfa->states[entry / row_len(dfa)];
	for (int i = 0; i < state->matches.n; i++)
		l4_patternset_add(found, state->matches.items[i]);
	return entry;
}

/* Throw all states away but that of a row, which gets another one. */
static uint32
begin_anew(L4Dfa *dfa, uint32 row)
{
	const DfaState *state = &dfa->states[row / row_len(dfa)];
	const Numbers *begun = state->begun;
	Before		before = state->before;

	dfa->next.n = state->next.n;
	memcpy(dfa->next.items, state->next.items, sizeof(int32) * state->next.n);
	empty_room(dfa);
	return get_state(dfa, begun, &dfa->next, &dfa->none, before) * row_len(dfa);
}

bool
l4_dfa_run(L4Dfa *dfa, const char *line, int len, bool at_any_cost, uint64 *found)
{
	const unsigned char *p = (const unsigned char *) line;
	const unsigned char *end = p + len;
	const uint8 *class_of = dfa->class_of;
	uint32		state = 0;
	uint32		entry;

	while (p < end)
	{
		const unsigned char *stretch = p;
		const unsigned char *stop = p + Min(end - p, STRETCH);
		const uint32 *table = dfa->table;

		CHECK_FOR_INTERRUPTS();
		while (p < stop)
		{
			uint8		class = class_of[*p++];

			entry = table[state + class];
			if (unlikely(entry & LOOK))
			{
				entry = look(dfa, state, class, found);
				table = dfa->table;
				if (unlikely(dfa->used > ROOM))
					stop = p;
			}
			state = entry;
		}
		dfa->bytes += p - stretch;
		if (likely(dfa->used <= ROOM))
			continue;
		if (!at_any_cost && dfa->bytes < (uint64) dfa->nstates * BYTES_A_STATE)
			return false;
		state = begin_anew(dfa, state);
	}
	entry = dfa->table[state + dfa->nclasses];
	if (entry & LOOK)
		look(dfa, state, dfa->nclasses, found);
	return true;
}
