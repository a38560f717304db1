/*
 * literal.c
 *		What text a regular expression cannot match without.
 *
 * For every part of the pattern's tree: the set of strings that it matches
 * exactly, as long as that is small, and the best set of which one string
 * must occur in what it matches.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "pcre/literal.h"
#include "pcre/regextree.h"

/* A character class counts as its members up to this number. */
#define CLASS_MAX 8

/* Sets of what a part matches exactly have at most this many strings. */
#define EXACT_MAX 16

/* Parts nested deeper are taken for any text: each level takes some kB of stack. */
#define NESTING_MAX 24

/* The weight of a string of four letters or so. */
#define NOT_COMMON 16

/* A set of strings; any means "not known", and then n is 0. */
typedef struct Strings
{
	bool		any;
	int			n;
	int			score;			/* of a required set: how good it is to look for */
	L4Literal	items[L4_LITERAL_SET];
} Strings;

/* What is known of a part of the pattern. */
typedef struct Known
{
	Strings		exact;			/* it matches one of these and nothing else */
	Strings		required;		/* one of these is in what it matches */
} Known;

typedef struct LiteralReader
{
	bool		caseless;		/* the whole pattern: strings in lower case */
	int			nesting;
} LiteralReader;

static void read_part(LiteralReader *r, const L4RegexNode *node, Known *out);

/* ---- sets of strings ---- */

static void
set_any(Strings *s)
{
	s->any = true;
	s->n = 0;
	s->score = 0;
}

/* The set of the empty string. */
static void
set_empty(Strings *s)
{
	s->any = false;
	s->n = 1;
	s->items[0].len = 0;
}

/* Without the room that is not used. */
static void
copy_strings(Strings *to, const Strings *from)
{
	to->any = from->any;
	to->n = from->n;
	memcpy(to->items, from->items, sizeof(L4Literal) * from->n);
}

static bool
contains(const Strings *s, const L4Literal *item)
{
	for (int i = 0; i < s->n; i++)
		if (s->items[i].len == item->len &&
			memcmp(s->items[i].text, item->text, item->len) == 0)
			return true;
	return false;
}

/* a := a or b; not known when it gets larger than max. */
static void
unite(Strings *a, const Strings *b, int max)
{
	if (b->any)
		set_any(a);
	for (int i = 0; i < b->n && !a->any; i++)
	{
		if (contains(a, &b->items[i]))
			continue;
		if (a->n == max)
			set_any(a);
		else
			a->items[a->n++] = b->items[i];
	}
}

static void
append_text(L4Literal *to, const L4Literal *more)
{
	memcpy(to->text + to->len, more->text, more->len);
	to->len += more->len;
}

/* a := a followed by b; false, and a as it was, when that is too many or too long. */
static bool
append(Strings *a, const Strings *b)
{
	Strings		product;

	if (a->any || b->any || a->n * b->n > EXACT_MAX)
		return false;
	product.any = false;
	product.n = 0;
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < b->n; j++)
		{
			L4Literal  *item = &product.items[product.n];

			if (a->items[i].len + b->items[j].len > L4_LITERAL_LEN)
				return false;
			*item = a->items[i];
			append_text(item, &b->items[j]);
			if (!contains(&product, item))
				product.n++;
		}
	copy_strings(a, &product);
	return true;
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

/* How good a set is to look for: the commonest of its strings decides. */
static int
score(const Strings *s)
{
	int			least = PG_INT32_MAX;

	if (s->any || s->n == 0)
		return 0;
	for (int i = 0; i < s->n; i++)
	{
		/* a single byte is everywhere */
		int			weight = s->items[i].len < 2 ? 0 :
			l4_literal_weight(s->items[i].text, s->items[i].len);

		least = Min(least, weight);
	}
	/* many are worse than few, but those that are not common are better than none */
	return Max(least < NOT_COMMON ? 0 : 1, least - s->n / 3);
}

/* One of these occurs as well: is that better to know? */
static void
require(Known *out, const Strings *candidate, int value)
{
	if (value <= out->required.score)
		return;
	copy_strings(&out->required, candidate);
	out->required.score = value;
}

/* ---- reading a tree ---- */

static void
know_nothing(Known *out)
{
	set_any(&out->exact);
	set_any(&out->required);
}

/* It matches no text itself: an assertion. */
static void
know_empty(Known *out)
{
	set_empty(&out->exact);
	set_any(&out->required);
}

/* A character: its members when they are few and written out, else anything. */
static void
read_set(const LiteralReader *r, const L4RegexNode *set, Known *out)
{
	Strings    *members = &out->exact;

	know_empty(out);
	members->n = 0;
	for (int i = 0; i < 4; i++)
		for (uint64 bits = set->listed ? set->bytes.bits[i] : 0; bits != 0; bits &= bits - 1)
		{
			unsigned char byte = i * 64 + pg_rightmost_one_pos64(bits);

			/* capital letters are there in lower case as well when there is no difference */
			if (r->caseless && byte >= 'A' && byte <= 'Z' && l4_byte_set_has(&set->bytes, byte | 0x20))
				continue;
			if (r->caseless && byte >= 'A' && byte <= 'Z')
				byte |= 0x20;
			if (members->n == CLASS_MAX)
			{
				set_any(members);
				return;
			}
			members->items[members->n].len = 1;
			members->items[members->n++].text[0] = byte;
		}
	if (members->n == 0)
		set_any(members);
}

/* a := a followed by a byte that is written out, as it mostly is; false, and a as it was, when that is too long. */
static bool
append_byte(const LiteralReader *r, Strings *a, const L4RegexNode *node)
{
	if (!node->plain)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->items[i].len == L4_LITERAL_LEN)
			return false;
	for (int i = 0; i < a->n; i++)
		a->items[i].text[a->items[i].len++] = r->caseless && l4_ascii_upper(node->byte) ? node->byte | 0x20 : node->byte;
	return true;
}

static void
read_repeat(LiteralReader *r, const L4RegexNode *repeat, Known *out)
{
	Strings		empty;

	read_part(r, repeat->first, out);
	if (repeat->least > 0)
	{
		if (repeat->most == 1)
			return;
		require(out, &out->exact, score(&out->exact));
		set_any(&out->exact);
	}
	else if (repeat->most == 1 && !out->exact.any)
	{
		set_empty(&empty);
		unite(&out->exact, &empty, EXACT_MAX);
		set_any(&out->required);
	}
	else
		know_nothing(out);
}

static void
read_sequence(LiteralReader *r, const L4RegexNode *sequence, Known *out)
{
	Strings		run;			/* what the items since the last unknown one match exactly */
	bool		whole = true;	/* run is the whole sequence so far */
	Known		item;

	set_any(&out->required);
	set_empty(&run);
	for (const L4RegexNode *node = sequence->first; node != NULL; node = node->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (append_byte(r, &run, node))
			continue;
		read_part(r, node, &item);
		require(out, &item.required, item.required.score);
		if (append(&run, &item.exact))
			continue;
		require(out, &run, score(&run));
		whole = false;
		copy_strings(&run, &item.exact);
		if (run.any)
			set_empty(&run);
	}
	require(out, &run, score(&run));
	copy_strings(&out->exact, &run);
	if (!whole)
		set_any(&out->exact);
}

static void
read_alternatives(LiteralReader *r, const L4RegexNode *alternatives, Known *out)
{
	Known		other;

	read_part(r, alternatives->first, out);
	for (const L4RegexNode *node = alternatives->first->next; node != NULL; node = node->next)
	{
		read_part(r, node, &other);
		unite(&out->exact, &other.exact, EXACT_MAX);
		unite(&out->required, &other.required, L4_LITERAL_SET);
		out->required.score = score(&out->required);
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
		know_nothing(out);
		return;
	}
	r->nesting++;
	switch (node->kind)
	{
		case L4_NODE_NOTHING:
		case L4_NODE_ASSERT:
			know_empty(out);
			break;
		case L4_NODE_LOOK:
			/* what it looks at is in the line, but not part of the text around */
			read_part(r, node->first, out);
			require(out, &out->exact, score(&out->exact));
			set_empty(&out->exact);
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
			read_repeat(r, node, out);
			break;
		case L4_NODE_ANY:
			know_nothing(out);
			break;
	}
	if (group)
		require(out, &out->exact, score(&out->exact));
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

	know_nothing(&whole);
	if (tree != NULL)
		read_part(&r, tree, &whole);
	required->best.n = whole.required.score > 0 ? whole.required.n : 0;
	memcpy(required->best.items, whole.required.items, sizeof(L4Literal) * required->best.n);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
