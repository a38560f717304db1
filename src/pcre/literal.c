/*
 * literal.c
 *		What text a regular expression cannot match without.
 *
 * For every part of the pattern's tree: the text that it matches, if that is
 * one, and the best set of which one text must occur in what it matches.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "pcre/literal.h"
#include "pcre/regextree.h"

/* Parts nested deeper are taken for any text: each level takes some kB of stack. */
#define NESTING_MAX 24

/* The weight of a string of four letters or so. */
#define NOT_COMMON 16

/* What is known of a part of the pattern. */
typedef struct Known
{
	bool		exact;			/* it matches this text and nothing else */
	L4Literal	text;
	L4LiteralSet required;		/* one of these is in what it matches; none: not known */
} Known;

typedef struct LiteralReader
{
	bool		caseless;		/* the whole pattern: texts in lower case */
	int			nesting;
} LiteralReader;

static void read_part(LiteralReader *r, const L4RegexNode *node, Known *out);

/* ---- sets of texts ---- */

/* Without the room that is not used. */
static void
copy_set(L4LiteralSet *to, const L4LiteralSet *from)
{
	to->n = from->n;
	memcpy(to->items, from->items, sizeof(L4Literal) * from->n);
}

static bool
contains(const L4LiteralSet *set, const L4Literal *item)
{
	for (int i = 0; i < set->n; i++)
		if (set->items[i].len == item->len &&
			memcmp(set->items[i].text, item->text, item->len) == 0)
			return true;
	return false;
}

/* a := a or b; not known when one of them is not, or the set gets too large. */
static void
unite(L4LiteralSet *a, const L4LiteralSet *b)
{
	if (a->n == 0)
		return;
	if (b->n == 0)
		a->n = 0;
	for (int i = 0; i < b->n; i++)
	{
		if (contains(a, &b->items[i]))
			continue;
		if (a->n == L4_LITERAL_SET)
		{
			a->n = 0;
			return;
		}
		a->items[a->n++] = b->items[i];
	}
}

/* ---- which set is best ---- */

int
l4_literal_weight(const unsigned char *text, int len)
{
	static const char common[] = "etainorsl0123456789";
	static const char between[] = ":,.=-_/[]()\"'";
	static uint8 weights[256];
	int			weight = 0;

	if (weights[0] == 0)
	{
		memset(weights, 6, sizeof(weights));
		memset(weights + 'a', 5, 'z' - 'a' + 1);
		for (const char *c = common; *c != '\0'; c++)
			weights[(unsigned char) *c] = 4;
		for (const char *c = between; *c != '\0'; c++)
			weights[(unsigned char) *c] = 3;
		weights[' '] = 2;
	}
	for (int i = 0; i < len; i++)
		weight += weights[text[i]];
	return weight;
}

/* How good a set is to look for: the commonest of its texts decides. */
static int
score(const L4LiteralSet *set)
{
	int			least = PG_INT32_MAX;

	if (set->n == 0)
		return 0;
	for (int i = 0; i < set->n; i++)
	{
		/* a single byte is everywhere */
		int			weight = set->items[i].len < 2 ? 0 :
			l4_literal_weight(set->items[i].text, set->items[i].len);

		least = Min(least, weight);
	}
	/* many are worse than few, but those that are not common are better than none */
	return Max(least < NOT_COMMON ? 0 : 1, least - set->n / 3);
}

/* One of these occurs as well: is that better to know? */
static void
require(Known *out, const L4LiteralSet *candidate)
{
	if (score(candidate) > score(&out->required))
		copy_set(&out->required, candidate);
}

static void
require_text(Known *out, const L4Literal *text)
{
	L4LiteralSet one;

	one.n = 1;
	one.items[0] = *text;
	require(out, &one);
}

/* ---- reading a tree ---- */

/* It matches no text itself, as an assertion, or any text. */
static void
know_nothing(Known *out, bool exact)
{
	out->exact = exact;
	out->text.len = 0;
	out->required.n = 0;
}

/* The byte of a plain set. */
static inline unsigned char
plain_byte(const LiteralReader *r, const L4RegexNode *set)
{
	return r->caseless && l4_ascii_upper(set->byte) ? set->byte | 0x20 : set->byte;
}

/* A character that is written out, in one case or, without case, in both. */
static void
read_set(const LiteralReader *r, const L4RegexNode *set, Known *out)
{
	know_nothing(out, set->plain);
	if (set->plain)
	{
		out->text.text[out->text.len++] = plain_byte(r, set);
		return;
	}
	for (int c = 0; c < 256 && set->listed; c++)
	{
		bool		capital = c >= 'A' && c <= 'Z';

		if (!l4_byte_set_has(&set->bytes, c) || (r->caseless && capital && l4_byte_set_has(&set->bytes, c | 0x20)))
			continue;
		out->exact = out->text.len == 0;
		if (!out->exact)
			return;
		out->text.text[out->text.len++] = r->caseless && capital ? c | 0x20 : c;
	}
}

static void
read_sequence(LiteralReader *r, const L4RegexNode *sequence, Known *out)
{
	L4Literal	run;			/* what the items since the last unknown one match */
	bool		whole = true;	/* run is the whole sequence so far */
	Known		item;

	know_nothing(out, false);
	run.len = 0;
	for (const L4RegexNode *node = sequence->first; node != NULL; node = node->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (node->kind == L4_NODE_SET && node->plain && run.len < L4_LITERAL_LEN)
		{
			run.text[run.len++] = plain_byte(r, node);
			continue;
		}
		read_part(r, node, &item);
		require(out, &item.required);
		if (!item.exact || run.len + item.text.len > L4_LITERAL_LEN)
		{
			require_text(out, &run);
			whole = false;
			run.len = 0;
		}
		if (item.exact)
		{
			memcpy(run.text + run.len, item.text.text, item.text.len);
			run.len += item.text.len;
		}
	}
	require_text(out, &run);
	out->text = run;
	out->exact = whole;
}

static void
read_alternatives(LiteralReader *r, const L4RegexNode *alternatives, Known *out)
{
	Known		other;

	read_part(r, alternatives->first, out);
	out->exact = false;
	for (const L4RegexNode *node = alternatives->first->next; node != NULL; node = node->next)
	{
		read_part(r, node, &other);
		unite(&out->required, &other.required);
	}
}

static void
read_part(LiteralReader *r, const L4RegexNode *node, Known *out)
{
	bool		group = false;

	/* a group around one item is that item */
	while (node->kind == L4_NODE_SEQUENCE && node->first != NULL && node->first == node->last)
	{
		node = node->first;
		group = true;
	}
	if (r->nesting >= NESTING_MAX)
	{
		know_nothing(out, false);
		return;
	}
	r->nesting++;
	switch (node->kind)
	{
		case L4_NODE_NOTHING:
		case L4_NODE_ASSERT:
			know_nothing(out, true);
			break;
		case L4_NODE_LOOK:
			/* what it looks at is in the line, but not part of the text around */
			read_part(r, node->first, out);
			if (out->exact)
				require_text(out, &out->text);
			out->exact = true;
			out->text.len = 0;
			break;
		case L4_NODE_SET:
			read_set(r, node, out);
			break;
		case L4_NODE_SEQUENCE:
			read_sequence(r, node, out);
			break;
		case L4_NODE_ALTERNATIVES:
			read_alternatives(r, node, out);
			break;
		case L4_NODE_REPEAT:
			read_part(r, node->first, out);
			if (node->least == 0)
				out->required.n = 0;
			else if (out->exact)
				require_text(out, &out->text);
			out->exact = out->exact && node->least == 1 && node->most == 1;
			break;
		case L4_NODE_ANY:
			know_nothing(out, false);
			break;
	}
	if (group && out->exact)
		require_text(out, &out->text);
	r->nesting--;
}

void
l4_required_literals(const char *pattern, size_t len, L4Required *required)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 pattern tree",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4RegexNode *tree = l4_regex_tree(pattern, len, &required->caseless, &required->tells_digits);
	LiteralReader r = {required->caseless, 0};
	Known		whole;

	know_nothing(&whole, false);
	if (tree != NULL)
		read_part(&r, tree, &whole);
	required->best.n = 0;
	if (score(&whole.required) > 0)
		copy_set(&required->best, &whole.required);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
