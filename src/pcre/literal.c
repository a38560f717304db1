/*
 * literal.c
 *		What text a regular expression cannot match without.
 *
 * For every part of the pattern's tree: the set of strings that it matches
 * exactly, as long as that is small, and the best sets of which one must
 * occur.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "pcre/literal.h"
#include "pcre/literal_set.h"
#include "pcre/regextree.h"

/* A character class counts as its members up to so many. */
#define CLASS_MAX 8

/* Parts nested deeper are taken for any text: each level takes some kB of stack. */
#define NESTING_MAX 24

typedef struct Context
{
	bool		caseless;		/* of the whole pattern: strings in lower case */
	int			nesting;
} Context;

static void read_part(Context *c, const L4Node *node, L4Part *out);

static void
unknown(L4Part *out)
{
	l4_strings_any(&out->exact);
	l4_part_require_nothing(out);
}

/* Matches no text itself: an assertion. */
static void
nothing(L4Part *out)
{
	l4_strings_empty(&out->exact);
	l4_part_require_nothing(out);
}

/* A character: its members when they are few and written out, else anything. */
static void
read_set(const Context *c, const L4Node *set, L4Part *out)
{
	L4Strings  *members = &out->exact;

	nothing(out);
	members->n = 0;
	for (int i = 0; i < 4; i++)
		for (uint64 bits = set->listed ? set->bytes.bits[i] : 0; bits != 0; bits &= bits - 1)
		{
			unsigned char byte = i * 64 + pg_rightmost_one_pos64(bits);

			/* capital letters are there in lower case as well when there is no difference */
			if (c->caseless && byte >= 'A' && byte <= 'Z' && l4_byte_set_has(&set->bytes, byte | 0x20))
				continue;
			if (c->caseless && byte >= 'A' && byte <= 'Z')
				byte |= 0x20;
			if (members->n == CLASS_MAX)
			{
				l4_strings_any(members);
				return;
			}
			members->items[members->n].len = 1;
			members->items[members->n++].text[0] = byte;
		}
	if (members->n == 0)
		l4_strings_any(members);
}

static void
read_repeat(Context *c, const L4Node *repeat, L4Part *out)
{
	L4Strings	empty;

	read_part(c, repeat->first, out);
	if (repeat->least > 0)
	{
		if (repeat->most == 1)
			return;
		l4_part_require(out, &out->exact);
		l4_strings_any(&out->exact);
	}
	else if (repeat->most == 1 && !out->exact.any)
	{
		l4_strings_empty(&empty);
		l4_strings_unite(&out->exact, &empty, L4_EXACT_MAX);
		l4_part_require_nothing(out);
	}
	else
		unknown(out);
}

static void
read_sequence(Context *c, const L4Node *sequence, L4Part *out)
{
	L4Strings	run;			/* what the items since the last unknown one match exactly */
	bool		whole = true;	/* run is the whole sequence so far */
	L4Part		item;

	l4_part_require_nothing(out);
	l4_strings_empty(&run);
	for (const L4Node *node = sequence->first; node != NULL; node = node->next)
	{
		CHECK_FOR_INTERRUPTS();
		read_part(c, node, &item);
		l4_part_require_all(out, &item);
		if (l4_strings_append(&run, &item.exact))
			continue;
		l4_part_require(out, &run);
		whole = false;
		l4_strings_copy(&run, &item.exact);
		if (run.any)
			l4_strings_empty(&run);
	}
	l4_part_require(out, &run);
	l4_strings_copy(&out->exact, &run);
	if (!whole)
		l4_strings_any(&out->exact);
}

static void
read_alternatives(Context *c, const L4Node *alternatives, L4Part *out)
{
	L4Part		other;

	read_part(c, alternatives->first, out);
	for (const L4Node *node = alternatives->first->next; node != NULL; node = node->next)
	{
		read_part(c, node, &other);
		l4_strings_unite(&out->exact, &other.exact, L4_EXACT_MAX);
		for (int i = 0; i < L4_LITERAL_ALSO; i++)
		{
			/* what is required once may as well be required twice */
			if (out->also[i].any)
				l4_strings_copy(&out->also[i], &out->required);
			l4_strings_require_either(&out->also[i], other.also[i].any ? &other.required : &other.also[i]);
		}
		l4_strings_require_either(&out->required, &other.required);
	}
}

static void
read_part(Context *c, const L4Node *node, L4Part *out)
{
	bool		group = false;

	/* a group around one item is that item */
	while (node->kind == L4_NODE_SEQUENCE && node->first != NULL && node->first == node->last)
	{
		node = node->first;
		group = true;
	}
	if (c->nesting >= NESTING_MAX)
	{
		unknown(out);
		return;
	}
	c->nesting++;
	switch (node->kind)
	{
		case L4_NODE_NOTHING:
		case L4_NODE_ASSERT:
			nothing(out);
			break;
		case L4_NODE_LOOK:
			/* what it looks at is in the line, but not part of the text around */
			read_part(c, node->first, out);
			l4_part_require(out, &out->exact);
			l4_strings_empty(&out->exact);
			break;
		case L4_NODE_SET:
			read_set(c, node, out);
			break;
		case L4_NODE_SEQUENCE:
			read_sequence(c, node, out);
			break;
		case L4_NODE_ALTERNATIVES:
			read_alternatives(c, node, out);
			break;
		case L4_NODE_REPEAT:
			read_repeat(c, node, out);
			break;
		case L4_NODE_ANY:
			unknown(out);
			break;
	}
	if (group)
		l4_part_require(out, &out->exact);
	c->nesting--;
}

static void
copy_set(L4LiteralSet *set, const L4Strings *s)
{
	set->n = l4_strings_score(s) > 0 ? s->n : 0;
	memcpy(set->items, s->items, sizeof(L4Literal) * set->n);
}

void
l4_tree_literals(const L4Node *tree, bool caseless, L4Required *required)
{
	Context		c = {caseless, 0};
	L4Part		whole;

	unknown(&whole);
	if (tree != NULL)
		read_part(&c, tree, &whole);
	required->caseless = caseless;
	copy_set(&required->best, &whole.required);
	for (int i = 0; i < L4_LITERAL_ALSO; i++)
		copy_set(&required->also[i], &whole.also[i]);
}

void
l4_required_literals(const char *pattern, size_t len, L4Required *required)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 pattern tree",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	bool		caseless;
	L4Node	   *tree = l4_regex_tree(pattern, len, &caseless, &required->tells_digits);

	MemoryContextSwitchTo(old);
	l4_tree_literals(tree, caseless, required);
	MemoryContextDelete(cxt);
}
