/*
 * regextree.c
 *		A regular expression as a tree, as far as it can be understood.
 *
 * A small reader of PCRE2's syntax. It is conservative: it takes what it does
 * not know for any text, and gives up where it might misread the rest of the
 * pattern ("(*VERB)", flag xx, odd braces).
 */
#include "postgres.h"

#include <ctype.h>

#include "miscadmin.h"

#include "pcre/regextree.h"

static L4RegexNode *read_alternatives(L4RegexReader *r);

/* "(?" was read and flags follow. True when a group with a body follows (":"). */
static bool
read_flags(L4RegexReader *r)
{
	bool		on = true;

	while (l4_regex_more(r))
	{
		unsigned char c = *r->at++;

		switch (c)
		{
			case '^':
				memset(&r->flags, 0, sizeof(L4RegexFlags));
				break;
			case '-':
				on = false;
				break;
			case 'i':
				r->flags.caseless = on;
				break;
			case 'x':
				if (l4_regex_next_is(r, "x"))
					r->failed = true;
				r->flags.extended = on;
				break;
			case 'm':
				r->flags.multiline = on;
				break;
			case 's':
			case 'n':
			case 'J':
			case 'U':
				break;
			case ':':
				return true;
			case ')':
				return false;
			default:
				r->failed = true;
		}
	}
	r->failed = true;
	return false;
}

/* The body of a group up to its closing parenthesis; flags set inside end with it. */
static L4RegexNode *
read_body(L4RegexReader *r, L4RegexFlags outside)
{
	L4RegexNode *body;

	check_stack_depth();
	body = read_alternatives(r);
	if (r->at >= r->end || *r->at != ')')
		r->failed = true;
	else
		r->at++;
	r->flags = outside;
	return body;
}

/* Skip this text, if it is next. */
static bool
take(L4RegexReader *r, const char *text)
{
	if (!l4_regex_next_is(r, text))
		return false;
	r->at += strlen(text);
	return true;
}

/* "(?" was read: does it call a group, or refer to one, by name or number? */
static bool
is_call(const L4RegexReader *r)
{
	return l4_regex_next_is(r, "R") || l4_regex_next_is(r, "&") || l4_regex_next_is(r, "P>") ||
		l4_regex_next_is(r, "P=") || l4_regex_next_is(r, "+") ||
		(r->at < r->end && isdigit(*r->at)) ||
		(r->end - r->at > 1 && *r->at == '-' && isdigit(r->at[1]));
}

/* A parenthesis was read. */
static L4RegexNode *
read_group(L4RegexReader *r)
{
	L4RegexFlags flags = r->flags;

	if (l4_regex_next_is(r, "*") || l4_regex_next_is(r, "?<*") || l4_regex_next_is(r, "?(") || l4_regex_next_is(r, "?C"))
		r->failed = true;		/* verbs, as (*ACCEPT), can end a match early; conditions and callouts */
	else if (!take(r, "?"))
		return read_body(r, flags);
	else if (take(r, "#"))
		l4_regex_skip_past(r, ')');
	else if (take(r, "!") || take(r, "<!"))
		read_body(r, flags);
	else if (take(r, "=") || take(r, "<="))
	{
		L4RegexNode *look = l4_regex_node(L4_NODE_LOOK);

		l4_regex_add(look, read_body(r, flags));
		return look;
	}
	else if (take(r, ":") || take(r, ">") || take(r, "|"))
		return read_body(r, flags);
	else if (take(r, "<") || take(r, "P<"))
	{
		l4_regex_skip_past(r, '>');
		return read_body(r, flags);
	}
	else if (take(r, "'"))
	{
		l4_regex_skip_past(r, '\'');
		return read_body(r, flags);
	}
	else if (is_call(r))
	{
		l4_regex_skip_past(r, ')');
		r->tells_digits = true;
		return l4_regex_node(L4_NODE_ANY);
	}
	else if (read_flags(r))
		return read_body(r, flags);
	return l4_regex_node(L4_NODE_NOTHING);
}

/* A number of a quantifier. PCRE2 allows 65535 at most. */
static int
read_count(const unsigned char **p)
{
	int			count = 0;

	for (; isdigit(**p); (*p)++)
		count = Min(count * 10 + (**p - '0'), 100000);
	return count;
}

/*
 * A quantifier, if one follows: how often at least and at most. Odd braces
 * are left alone by some versions and not by others.
 */
static bool
read_quantifier(L4RegexReader *r, int *least, int *most)
{
	const unsigned char *p = r->at;

	if (r->at >= r->end)
		return false;
	*most = L4_REPEAT_INF;
	if (*p == '*' || *p == '+' || *p == '?')
	{
		*least = (*p == '+');
		if (*p == '?')
			*most = 1;
		p++;
	}
	else if (*p == '{')
	{
		const unsigned char *first = ++p;

		while (p < r->end && strchr("0123456789, ", *p) != NULL && *p != '\0')
			p++;
		if (p >= r->end || *p != '}' || p == first)
			return false;		/* a brace that stands for itself */
		if (!isdigit(*first) || memchr(first, ' ', p - first) != NULL)
			r->failed = true;	/* "{,3}", "{ 3 }" */
		*least = *most = read_count(&first);
		if (*first == ',')
		{
			first++;
			*most = isdigit(*first) ? read_count(&first) : L4_REPEAT_INF;
		}
		p++;
	}
	else
		return false;
	if (p < r->end && (*p == '?' || *p == '+'))
		p++;					/* lazy or possessive */
	r->at = p;
	return true;
}

/* Comments, \Q, \E, and white space under (?x): ignored, even between an item and its quantifier. */
static void
skip_ignored(L4RegexReader *r)
{
	while (l4_regex_more(r))
	{
		if (*r->at != '\\' && *r->at != '(' && !r->flags.extended)
			break;
		else if (l4_regex_next_is(r, "\\E"))
		{
			r->at += 2;
			r->quoted = false;
		}
		else if (r->quoted)
			break;
		else if (l4_regex_next_is(r, "\\Q"))
		{
			r->at += 2;
			r->quoted = true;
		}
		else if (l4_regex_next_is(r, "(?#"))
			l4_regex_skip_past(r, ')');
		else if (r->flags.extended && *r->at == '#')
		{
			while (r->at < r->end && *r->at != '\n')
				if (*r->at++ == '\r')
					r->failed = true;	/* may end a line as well */
		}
		else if (r->flags.extended && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')))
			r->at++;
		else
			break;
	}
}

/* One item without its quantifiers. */
static L4RegexNode *
read_single(L4RegexReader *r)
{
	unsigned char c = *r->at++;
	L4RegexNode *node;

	if (c >= 0x80)
		return l4_regex_run(r);
	if (r->quoted)
		return l4_regex_byte(r, c);
	switch (c)
	{
		case '\\':
			return l4_regex_escape(r);
		case '[':
			return l4_regex_class(r);
		case '(':
			return read_group(r);
		case '^':
			return l4_regex_assert(r->flags.multiline ? L4_AT_LINE_START : L4_AT_START);
		case '$':
			return l4_regex_assert(L4_AT_LINE_END);
		case '.':
			node = l4_regex_node(L4_NODE_SET);
			l4_regex_fill(node);
			return node;
		default:
			return l4_regex_byte(r, c);
	}
}

/* One item and its quantifiers. */
static L4RegexNode *
read_item(L4RegexReader *r)
{
	L4RegexNode *node = read_single(r);
	int			least;
	int			most;

	skip_ignored(r);
	while (!r->failed && !r->quoted && read_quantifier(r, &least, &most))
	{
		L4RegexNode *repeat = l4_regex_node(L4_NODE_REPEAT);

		repeat->least = least;
		repeat->most = most;
		l4_regex_add(repeat, node);
		node = repeat;
		skip_ignored(r);
	}
	return node;
}

/* A sequence of items up to "|", ")" or the end. */
static L4RegexNode *
read_sequence(L4RegexReader *r)
{
	L4RegexNode *sequence = l4_regex_node(L4_NODE_SEQUENCE);

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		skip_ignored(r);
		l4_regex_plain(r, sequence);
		if (!l4_regex_more(r) || (!r->quoted && (*r->at == '|' || *r->at == ')')))
			return sequence;
		l4_regex_add(sequence, read_item(r));
	}
}

/* Alternatives up to ")" or the end. Flags set in one go on in the next. */
static L4RegexNode *
read_alternatives(L4RegexReader *r)
{
	L4RegexNode *first = read_sequence(r);
	L4RegexNode *alternatives;

	if (!l4_regex_more(r) || *r->at != '|')
		return first;
	alternatives = l4_regex_node(L4_NODE_ALTERNATIVES);
	l4_regex_add(alternatives, first);
	while (l4_regex_more(r) && *r->at == '|')
	{
		r->at++;
		l4_regex_add(alternatives, read_sequence(r));
	}
	return alternatives;
}

L4RegexNode *
l4_regex_tree(const char *pattern, size_t len, bool *tells_digits)
{
	L4RegexReader r = {(const unsigned char *) pattern, (const unsigned char *) pattern + len};
	L4RegexNode *tree = read_alternatives(&r);

	*tells_digits = r.tells_digits || r.failed || r.at < r.end;
	return (r.failed || r.at < r.end) ? NULL : tree;
}
