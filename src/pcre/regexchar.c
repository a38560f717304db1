/*
 * regexchar.c
 *		Single characters of a pattern: literals, escapes, classes.
 */
#include "postgres.h"

#include <ctype.h>

#include "base/ascii.h"
#include "pcre/regextree.h"

/* Letters that stand for a class of characters behind a backslash. */
static const char classes[] = "dDwWsShHvV";

/* ---- nodes ---- */

L4RegexNode *
l4_regex_node(L4RegexNodeKind kind)
{
	L4RegexNode *node = palloc0(sizeof(L4RegexNode));

	node->kind = kind;
	return node;
}

L4RegexNode *
l4_regex_assert(L4Assert assertion)
{
	L4RegexNode *node = l4_regex_node(L4_NODE_ASSERT);

	node->assertion = assertion;
	return node;
}

void
l4_regex_add(L4RegexNode *parent, L4RegexNode *child)
{
	if (parent->last != NULL)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
}

static void
add_byte(L4RegexNode *set, unsigned char c)
{
	set->bytes.bits[c >> 6] |= UINT64CONST(1) << (c & 63);
}

/* Add the ASCII characters of \d and the like. With a capital letter these are all others, and all beyond ASCII. */
static void
add_class(L4RegexNode *set, char class)
{
	static const char *const members[] = {"d0123456789", "s \t\n\v\f\r", "h \t", "v\n\v\f\r",
	"w0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"};
	L4RegexNode in = {0};

	for (int i = 0; i < lengthof(members); i++)
		if (members[i][0] == tolower((unsigned char) class))
			for (const char *c = members[i] + 1; *c != '\0'; c++)
				add_byte(&in, *c);
	for (int i = 0; i < 2; i++)
		set->bytes.bits[i] |= l4_ascii_upper(class) ? ~in.bytes.bits[i] : in.bytes.bits[i];
	/* \h and \v have some beyond ASCII as well */
	set->wide |= (strchr("dws", class) == NULL);
	set->listed = false;
}

/* Any character. */
void
l4_regex_fill(L4RegexNode *set)
{
	memset(&set->bytes, 0xFF, sizeof(set->bytes));
	set->wide = true;
	set->listed = false;
}

/* Without case every letter is in the set in both. */
static void
add_cases(L4RegexNode *set)
{
	for (int c = 'a'; c <= 'z'; c++)
		if (l4_byte_set_has(&set->bytes, c) || l4_byte_set_has(&set->bytes, c & ~0x20))
		{
			add_byte(set, c);
			add_byte(set, c & ~0x20);
			set->wide |= (c == 'k' || c == 's');
		}
}

static void
make_plain(L4RegexReader *r, L4RegexNode *node, unsigned char c)
{
	node->kind = L4_NODE_SET;
	add_byte(node, c);
	node->listed = true;
	node->plain = true;
	node->byte = c;
	r->tells_digits |= (isdigit(c) != 0);
	if (r->flags.caseless && l4_ascii_letter(c))
	{
		add_byte(node, c ^ 0x20);
		node->wide = ((c | 0x20) == 'k' || (c | 0x20) == 's');
	}
}

/* One byte of ASCII that stands for itself. */
L4RegexNode *
l4_regex_byte(L4RegexReader *r, unsigned char c)
{
	L4RegexNode *node = l4_regex_node(L4_NODE_SET);

	make_plain(r, node, c);
	return node;
}

/* ---- reading ---- */

/*
 * A run of bytes beyond ASCII, of which the first was read. Where characters
 * begin depends on the encoding, and so does what a quantifier behind the run
 * repeats.
 */
L4RegexNode *
l4_regex_run(L4RegexReader *r)
{
	const unsigned char *start = r->at - 1;
	L4RegexNode *run;

	while (r->at < r->end && *r->at >= 0x80)
		r->at++;
	if (r->flags.extended)
		r->failed = true;		/* might be white space to skip */
	if (r->flags.caseless)
		return l4_regex_node(L4_NODE_ANY);	/* other cases have other bytes */
	if (r->at < r->end && strchr("*+?{\\(", *r->at) != NULL)
		return l4_regex_node(L4_NODE_ANY);
	run = l4_regex_node(L4_NODE_SEQUENCE);
	for (const unsigned char *p = start; p < r->at; p++)
		l4_regex_add(run, l4_regex_byte(r, *p));
	return run;
}

/* Outside of classes, without (?x). */
static bool
stands_for_itself(unsigned char c)
{
	switch (c)
	{
		case '\\':
		case '^':
		case '$':
		case '.':
		case '[':
		case '(':
		case ')':
		case '|':
		case '*':
		case '+':
		case '?':
		case '{':
			return false;
		default:
			return c < 0x80;
	}
}

/*
 * Most of a pattern is bytes that stand for themselves, many in a row: add
 * those that no quantifier can follow to the sequence, made all at once.
 */
void
l4_regex_plain(L4RegexReader *r, L4RegexNode *sequence)
{
	const unsigned char *end = r->at;
	L4RegexNode *nodes;

	if (r->quoted || r->flags.extended)
		return;
	while (end < r->end && stands_for_itself(*end))
		end++;
	if (end < r->end)
		end--;
	if (end <= r->at)
		return;
	nodes = palloc0(sizeof(L4RegexNode) * (end - r->at));
	for (; r->at < end; r->at++)
	{
		make_plain(r, nodes, *r->at);
		l4_regex_add(sequence, nodes++);
	}
}

/* Skip to just behind a closing byte. */
void
l4_regex_skip_past(L4RegexReader *r, unsigned char closing)
{
	while (r->at < r->end && *r->at != closing)
		r->at++;
	if (r->at < r->end)
		r->at++;
	else
		r->failed = true;
}

/* Behind the argument of \g, \k, \p, \x, \o, \N: in brackets of some kind, or bare. */
static void
skip_argument(L4RegexReader *r)
{
	if (r->at >= r->end)
		return;
	if (*r->at == '{')
		l4_regex_skip_past(r, '}');
	else if (*r->at == '<')
		l4_regex_skip_past(r, '>');
	else if (*r->at == '\'')
	{
		r->at++;
		l4_regex_skip_past(r, '\'');
	}
	else
	{
		if (*r->at == '+' || *r->at == '-')
			r->at++;
		while (r->at < r->end && isxdigit(*r->at))
			r->at++;
		/* "\pL" and the like */
		if (r->at[-1] == 'p' || r->at[-1] == 'P')
			r->at += (r->at < r->end);
	}
}

/* A backslash outside of a class was read. */
L4RegexNode *
l4_regex_escape(L4RegexReader *r)
{
	unsigned char c;
	L4RegexNode *node;
	static const char controls[] = "t\tn\nr\rf\fa\ae\033";

	if (r->at >= r->end)
	{
		r->failed = true;
		return l4_regex_node(L4_NODE_ANY);
	}
	c = *r->at++;
	switch (c)
	{
		case 'A':
			return l4_regex_assert(L4_AT_START);
		case 'z':
			return l4_regex_assert(L4_AT_END);
		case 'Z':
			return l4_regex_assert(L4_AT_LINE_END);
		case 'b':
			return l4_regex_assert(L4_AT_WORD_EDGE);
		case 'B':
			return l4_regex_assert(L4_NOT_WORD_EDGE);
		case 'G':
		case 'K':
		case 'E':
			return l4_regex_node(L4_NODE_NOTHING);
		default:
			break;
	}
	if (c >= 0x80)
		return l4_regex_run(r);
	if (!isalnum(c))
		return l4_regex_byte(r, c);
	if (strchr(classes, c) != NULL)
	{
		node = l4_regex_node(L4_NODE_SET);
		add_class(node, c);
		return node;
	}
	if (strchr("tnrfae", c) != NULL)
		return l4_regex_byte(r, strchr(controls, c)[1]);
	r->tells_digits = true;		/* a reference may */
	if (c == 'c')
		r->at += (r->at < r->end);
	else if (strchr("gkpPxoN", c) != NULL)
		skip_argument(r);
	else if (isdigit(c))
		while (r->at < r->end && isdigit(*r->at))
			r->at++;
	/* else \R, \X */
	return l4_regex_node(L4_NODE_ANY);
}

/* "[" was read and is not the whole member: "[:alpha:]", unless it is not closed before the class ends. */
static bool
skip_posix_class(L4RegexReader *r)
{
	const unsigned char *p = r->at + 1;

	if (r->at >= r->end || strchr(":.=", *r->at) == NULL || *r->at == '\0')
		return false;
	while (p < r->end && (isalpha(*p) || *p == '^'))
		p++;
	if (p + 1 < r->end && *p == *r->at && p[1] == ']')
		r->at = p + 2;
	return true;
}

/* A backslash in a class was read. True when c became the character that is meant; false when it is done. */
static bool
read_class_escape(L4RegexReader *r, L4RegexNode *set, bool *unsure, unsigned char *c)
{
	if (l4_regex_next_is(r, "Q") || l4_regex_next_is(r, "E") || l4_regex_next_is(r, "c") || r->at >= r->end)
	{
		r->failed = true;		/* not worth reading on */
		return false;
	}
	*c = *r->at++;
	if (!isalnum(*c))
		return true;
	if (strchr(classes, *c) != NULL)
		add_class(set, *c);
	else
		*unsure = true;			/* what is left of "\x41" or "\p{L}" reads as members */
	return false;
}

/* Has it some digits, but not all? */
static bool
tells_digits(const L4RegexNode *set)
{
	int			n = 0;

	for (int c = '0'; c <= '9'; c++)
		n += l4_byte_set_has(&set->bytes, c);
	return n > 0 && n < 10;
}

/* A class: "[" was read. With members that are not understood it is any character. */
L4RegexNode *
l4_regex_class(L4RegexReader *r)
{
	L4RegexNode *set = l4_regex_node(L4_NODE_SET);
	bool		negated = (r->at < r->end && *r->at == '^');
	bool		unsure = false;

	set->listed = true;
	r->at += negated;
	for (bool first = true;; first = false)
	{
		unsigned char c;
		unsigned char last;

		if (r->at >= r->end || r->failed)
		{
			r->failed = true;
			return set;
		}
		c = *r->at++;
		if (c == ']' && !first)
			break;
		if (c == '[' && skip_posix_class(r))
		{
			unsure = true;
			continue;
		}
		if (c == '\\' && !read_class_escape(r, set, &unsure, &c))
			continue;
		last = c;
		if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']')
		{
			last = r->at[1];
			if (last == '\\' || last == '[')
			{
				unsure = true;	/* a range to what an escape says, or none */
				last = c;
				r->at++;
			}
			else
				r->at += 2;
		}
		for (int k = c; k <= Min(last, 0x7F); k++)
			add_byte(set, k);
		if (last >= 0x80)
		{
			set->wide = true;
			set->listed = false;
			unsure |= r->flags.caseless;	/* might be K or S without case */
		}
	}
	r->tells_digits |= unsure || tells_digits(set);
	if (unsure)
		l4_regex_fill(set);
	else
	{
		if (r->flags.caseless)
			add_cases(set);
		if (negated)
		{
			for (int i = 0; i < 2; i++)
				set->bytes.bits[i] = ~set->bytes.bits[i];
			set->wide = true;
			set->listed = false;
		}
	}
	return set;
}
