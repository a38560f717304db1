/*
 * literal.c
 *		What text a regular expression cannot match without.
 *
 * A small reader of PCRE2's syntax that keeps, for every part of a pattern,
 * the set of strings that it matches exactly, as long as that is small, and
 * the best set of which one must occur. It is conservative: what it does not
 * know, it takes for "anything", and what could make it misread the rest of
 * the pattern ("(*VERB)", flag xx, odd braces) ends it without an answer.
 */
#include "postgres.h"

#include <ctype.h>

#include "miscadmin.h"

#include "literal.h"
#include "literal_set.h"

/* A character class counts as its members up to so many. */
#define CLASS_MAX 8

/* Groups nested deeper are not read: each level takes some kB of stack. */
#define NESTING_MAX 12

typedef struct Reader
{
	const unsigned char *at;
	const unsigned char *end;
	bool		failed;
	bool		quoted;			/* between \Q and \E */
	bool		caseless;
	bool		extended;		/* (?x) */
	bool		ever_caseless;
	int			nesting;
} Reader;

static void read_alternatives(Reader *r, L4Part *out);

/* ---- reading ---- */

static bool
more(const Reader *r)
{
	return r->at < r->end && !r->failed;
}

static bool
next_is(const Reader *r, const char *text)
{
	size_t		len = strlen(text);

	return r->end - r->at >= len && memcmp(r->at, text, len) == 0;
}

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

/* One byte of ASCII that stands for itself. */
static void
literal_byte(unsigned char c, L4Part *out)
{
	l4_strings_empty(&out->exact);
	out->exact.items[0].len = 1;
	out->exact.items[0].text[0] = c;
	l4_part_require_nothing(out);
}

/*
 * A run of bytes beyond ASCII, of which the first was read: characters or not,
 * that depends on the encoding, and so does what a quantifier behind it means.
 */
static void
literal_run(Reader *r, L4Part *out)
{
	const unsigned char *start = r->at - 1;

	unknown(out);
	while (r->at < r->end && *r->at >= 0x80)
		r->at++;
	if (r->extended)
		r->failed = true;		/* might be white space to skip */
	if (r->caseless || r->at - start > L4_LITERAL_LEN)
		return;					/* other cases have other bytes */
	if (r->at < r->end && strchr("*+?{\\(", *r->at) != NULL)
		return;
	l4_strings_empty(&out->exact);
	out->exact.items[0].len = r->at - start;
	memcpy(out->exact.items[0].text, start, r->at - start);
}

/* Skip to just behind a closing byte. */
static void
skip_past(Reader *r, unsigned char closing)
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
skip_argument(Reader *r)
{
	if (r->at >= r->end)
		return;
	if (*r->at == '{')
		skip_past(r, '}');
	else if (*r->at == '<')
		skip_past(r, '>');
	else if (*r->at == '\'')
	{
		r->at++;
		skip_past(r, '\'');
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
static void
read_escape(Reader *r, L4Part *out)
{
	unsigned char c;
	static const char controls[] = "t\tn\nr\rf\fa\ae\033";

	if (r->at >= r->end)
	{
		r->failed = true;
		return;
	}
	c = *r->at++;
	unknown(out);
	if (c >= 0x80)
		literal_run(r, out);
	else if (!isalnum(c))
		literal_byte(c, out);
	else if (c != 'Q' && strchr("bBAzZGKE", c) != NULL)
		nothing(out);
	else if (strchr("tnrfae", c) != NULL)
		literal_byte(strchr(controls, c)[1], out);
	else if (c == 'c')
		r->at += (r->at < r->end);
	else if (strchr("gkpPxoN", c) != NULL)
		skip_argument(r);
	else if (isdigit(c))
		while (r->at < r->end && isdigit(*r->at))
			r->at++;
	/* else a class of characters: \d \w \s \h \v \R \X and their opposites */
}

/*
 * A class: "[" was read. Its members when they are few single characters,
 * else anything; what matters most is where it ends.
 */
static void
read_class(Reader *r, L4Part *out)
{
	bool		simple = true;
	bool		first = true;
	L4Strings	members = {false, 0};

	unknown(out);
	if (r->at < r->end && *r->at == '^')
	{
		simple = false;
		r->at++;
	}
	for (;; first = false)
	{
		unsigned char c;
		unsigned char last;
		L4Part		one;

		if (r->at >= r->end)
		{
			r->failed = true;
			return;
		}
		c = *r->at++;
		if (c == ']' && !first)
			break;
		if (c == '[' && r->at < r->end && strchr(":.=", *r->at) != NULL)
		{
			/* [:alpha:], unless it is not closed before the class ends */
			const unsigned char *p = r->at + 1;

			while (p < r->end && (isalpha(*p) || *p == '^'))
				p++;
			if (p + 1 < r->end && *p == *r->at && p[1] == ']')
				r->at = p + 2;
			simple = false;
			continue;
		}
		if (c == '\\')
		{
			if (next_is(r, "Q") || next_is(r, "E") || next_is(r, "c"))
				r->failed = true;	/* not worth reading on */
			else if (r->at < r->end && !isalnum(*r->at) && *r->at < 0x80)
				c = *r->at;
			else
				simple = false;
			r->at += (r->at < r->end);
		}
		else if (c >= 0x80)
			simple = false;
		if (!simple || r->failed)
			continue;
		last = c;
		if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']')
		{
			/* a range, when it is one of digits or letters */
			last = r->at[1];
			if (!isalnum(c) || !isalnum(last) || last >= 0x80 || last < c || last - c >= CLASS_MAX)
				simple = false;
			else
				r->at += 2;
		}
		for (; simple && c <= last; c++)
		{
			literal_byte(c, &one);
			l4_strings_unite(&members, &one.exact, CLASS_MAX);
		}
	}
	if (simple)
		out->exact = members;
}

/* "(?" was read and flags follow. True when a group with a body follows (":"). */
static bool
read_flags(Reader *r)
{
	bool		on = true;

	while (more(r))
	{
		unsigned char c = *r->at++;

		switch (c)
		{
			case '^':
				r->caseless = r->extended = false;
				break;
			case '-':
				on = false;
				break;
			case 'i':
				r->caseless = on;
				r->ever_caseless |= on;
				break;
			case 'x':
				if (next_is(r, "x"))
					r->failed = true;
				r->extended = on;
				break;
			case 'm':
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
static void
read_body(Reader *r, bool caseless, bool extended, L4Part *out)
{
	if (++r->nesting > NESTING_MAX)
	{
		r->failed = true;
		return;
	}
	read_alternatives(r, out);
	r->nesting--;
	if (r->at >= r->end || *r->at != ')')
		r->failed = true;
	else
		r->at++;
	r->caseless = caseless;
	r->extended = extended;
}

/* A parenthesis was read. */
static void
read_group(Reader *r, L4Part *out)
{
	bool		caseless = r->caseless;
	bool		extended = r->extended;

	nothing(out);
	if (next_is(r, "*") || next_is(r, "?<*"))
		r->failed = true;		/* verbs: (*ACCEPT) can end a match early */
	else if (!next_is(r, "?"))
		read_body(r, caseless, extended, out);
	else if (next_is(r, "?#"))
		skip_past(r, ')');
	else if (next_is(r, "?!") || next_is(r, "?<!"))
	{
		r->at += next_is(r, "?!") ? 2 : 3;
		read_body(r, caseless, extended, out);
		nothing(out);
	}
	else if (next_is(r, "?=") || next_is(r, "?<="))
	{
		/* what it looks at is in the line, but not part of the text around */
		r->at += next_is(r, "?=") ? 2 : 3;
		read_body(r, caseless, extended, out);
		l4_part_require(out, &out->exact);
		l4_strings_empty(&out->exact);
	}
	else if (next_is(r, "?:") || next_is(r, "?>") || next_is(r, "?|"))
	{
		r->at += 2;
		read_body(r, caseless, extended, out);
	}
	else if (next_is(r, "?<") || next_is(r, "?P<") || next_is(r, "?'"))
	{
		unsigned char closing = next_is(r, "?'") ? '\'' : '>';

		r->at += next_is(r, "?P<") ? 3 : 2;
		skip_past(r, closing);
		read_body(r, caseless, extended, out);
	}
	else if (next_is(r, "?R") || next_is(r, "?&") || next_is(r, "?P>") || next_is(r, "?P=") ||
			 next_is(r, "?+") ||
			 (r->end - r->at > 1 && isdigit(r->at[1])) ||
			 (r->end - r->at > 2 && r->at[1] == '-' && isdigit(r->at[2])))
	{
		skip_past(r, ')');
		unknown(out);
	}
	else if (next_is(r, "?(") || next_is(r, "?C"))
		r->failed = true;		/* conditions and callouts */
	else
	{
		r->at++;
		if (read_flags(r))
			read_body(r, caseless, extended, out);
	}
}

/*
 * A quantifier, if one follows: how often at least (0, 1 or more), and whether
 * just once. Odd braces are left alone by some versions and not by others.
 */
static bool
read_quantifier(Reader *r, int *least, bool *once)
{
	const unsigned char *p = r->at;

	*least = 1;
	*once = true;
	if (r->at >= r->end)
		return false;
	if (*p == '*' || *p == '+' || *p == '?')
	{
		*least = (*p == '+');
		*once = false;
		p++;
	}
	else if (*p == '{')
	{
		const unsigned char *first = ++p;

		while (p < r->end && strchr("0123456789, ", *p) != NULL && *p != '\0')
			p++;
		if (p >= r->end || *p != '}' || p == first)
			return false;		/* a brace that stands for itself */
		*least = 0;
		if (!isdigit(*first))
			r->failed = true;	/* "{,3}" */
		for (const unsigned char *q = first; isdigit(*q); q++)
			*least |= (*q != '0');
		*once = (p - first == 1 && *first == '1');
		p++;
	}
	else
		return false;
	if (p < r->end && (*p == '?' || *p == '+'))
		p++;					/* lazy or possessive */
	r->at = p;
	return true;
}

/* What does not count, not even between an item and its quantifier. */
static void
skip_ignored(Reader *r)
{
	while (more(r))
	{
		if (next_is(r, "\\E"))
		{
			r->at += 2;
			r->quoted = false;
		}
		else if (r->quoted)
			break;
		else if (next_is(r, "\\Q"))
		{
			r->at += 2;
			r->quoted = true;
		}
		else if (next_is(r, "(?#"))
			skip_past(r, ')');
		else if (r->extended && *r->at == '#')
		{
			while (r->at < r->end && *r->at != '\n')
				if (*r->at++ == '\r')
					r->failed = true;	/* may end a line as well */
		}
		else if (r->extended && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')))
			r->at++;
		else
			break;
	}
}

/* One item and its quantifiers. */
static void
read_item(Reader *r, L4Part *out)
{
	unsigned char c = *r->at++;
	int			least;
	bool		once;

	if (c >= 0x80)
		literal_run(r, out);
	else if (r->quoted)
		literal_byte(c, out);
	else if (c == '\\')
		read_escape(r, out);
	else if (c == '[')
		read_class(r, out);
	else if (c == '(')
		read_group(r, out);
	else if (c == '.')
		unknown(out);
	else if (c == '^' || c == '$')
		nothing(out);
	else
		literal_byte(c, out);

	skip_ignored(r);
	while (!r->failed && !r->quoted && read_quantifier(r, &least, &once))
	{
		if (least == 0)
		{
			/* "x?" is x or nothing, all else anything */
			L4Strings	empty;

			if (r->at[-1] == '?' && r->at[-2] != '*' && r->at[-2] != '}' && !out->exact.any)
			{
				l4_strings_empty(&empty);
				l4_strings_unite(&out->exact, &empty, L4_EXACT_MAX);
				l4_part_require_nothing(out);
			}
			else
				unknown(out);
		}
		else if (!once)
		{
			l4_part_require(out, &out->exact);
			l4_strings_any(&out->exact);
		}
		skip_ignored(r);
	}
}

/* A sequence of items up to "|", ")" or the end. */
static void
read_sequence(Reader *r, L4Part *out)
{
	L4Strings	run;			/* what the items since the last unknown one match exactly */
	bool		whole = true;	/* run is the whole sequence so far */

	l4_part_require_nothing(out);
	l4_strings_empty(&run);
	for (;;)
	{
		L4Part		item;

		CHECK_FOR_INTERRUPTS();
		skip_ignored(r);
		if (!more(r) || (!r->quoted && (*r->at == '|' || *r->at == ')')))
			break;
		read_item(r, &item);
		l4_part_require_all(out, &item);
		if (l4_strings_append(&run, &item.exact))
			continue;
		l4_part_require(out, &run);
		whole = false;
		run = item.exact;
		if (run.any)
			l4_strings_empty(&run);
	}
	l4_part_require(out, &run);
	out->exact = run;
	if (!whole)
		l4_strings_any(&out->exact);
}

/* Alternatives up to ")" or the end. Flags set in one go on in the next. */
static void
read_alternatives(Reader *r, L4Part *out)
{
	read_sequence(r, out);
	while (more(r) && *r->at == '|')
	{
		L4Part		other;

		r->at++;
		read_sequence(r, &other);
		l4_strings_unite(&out->exact, &other.exact, L4_EXACT_MAX);
		for (int i = 0; i < L4_LITERAL_ALSO; i++)
		{
			/* what is required once may as well be required twice */
			if (out->also[i].any)
				out->also[i] = out->required;
			l4_strings_unite(&out->also[i], other.also[i].any ? &other.required : &other.also[i],
							 L4_LITERAL_SET);
		}
		l4_strings_unite(&out->required, &other.required, L4_LITERAL_SET);
	}
}

static void
copy_set(L4LiteralSet *set, const L4Strings *s)
{
	set->n = l4_strings_score(s) > 0 ? s->n : 0;
	memcpy(set->items, s->items, sizeof(L4Literal) * set->n);
}

void
l4_required_literals(const char *pattern, size_t len, L4Required *required)
{
	Reader		r = {(const unsigned char *) pattern, (const unsigned char *) pattern + len};
	L4Part		whole;
	L4LiteralSet *best = &required->best;

	read_alternatives(&r, &whole);
	required->caseless = r.ever_caseless;
	if (r.failed || r.at < r.end)
		l4_part_require_nothing(&whole);
	copy_set(best, &whole.required);
	for (int i = 0; i < L4_LITERAL_ALSO; i++)
	{
		if (required->caseless)
			l4_strings_any(&whole.also[i]);
		copy_set(&required->also[i], &whole.also[i]);
	}
	if (required->caseless)
		for (int i = 0; i < best->n; i++)
			for (int k = 0; k < best->items[i].len; k++)
				if (best->items[i].text[k] >= 'A' && best->items[i].text[k] <= 'Z')
					best->items[i].text[k] |= 0x20;
}
