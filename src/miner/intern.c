/*
 * intern.c
 *		Strings of algorithm l4: interning, cutting a shape into slots and
 *		delimiters, printing a template.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "base/grow.h"
#include "miner/miner_int.h"
#include "scan/scan_int.h"

/* A run of this many variables with one same separator prints as one. */
#define LIST_RUN	7

/* Does it hold a digit or a mark, as values do? */
static bool
has_value(const char *s, int len)
{
	for (int i = 0; i < len; i++)
		if ((s[i] >= '0' && s[i] <= '9') || s[i] == L4_MARK || s[i] == L4_USER_MARK)
			return true;
	return false;
}

/* Is the word one of these (lower case, ending with NULL)? */
static bool
is_one_of(const char *const *words, const char *s, int len)
{
	for (; *words != NULL; words++)
		if ((*s | 0x20) == (**words | 0x20) && strlen(*words) == len && pg_strncasecmp(*words, s, len) == 0)
			return true;
	return false;
}

/*
 * A value that tells how something went: a number that is none, or an
 * outcome or a state, alone, with a prefix that negates it, or as the last
 * word of a name (State.FAILED, NotReady). A variable that took in both of two
 * opposites would hide the one thing that a reader looks for.
 */
bool
l4_is_telling(const char *s, int len)
{
	static const char *const numbers[] = {"nan", "inf", "-nan", "-inf", "infinity", NULL};
	static const char *const states[] = {
		"ok", "success", "successful", "succeeded", "pass", "passed", "healthy", "alive", "ready", "reachable", "online", "up",
		"connected", "enabled", "accepted", "granted", "valid", "available", "active", "complete", "completed", "started",
		"running", "normal",
		"fail", "failed", "failure", "error", "aborted", "crashed", "killed", "dead", "lost", "timeout", "hung",
		"refused", "rejected", "denied", "corrupt", "corrupted", "offline", "down",
		"disabled", "stopped", "terminated", "expired", "exited", "degraded", NULL
	};
	static const char *const negations[] = {"un", "in", "not", "non", "dis", "ab", NULL};
	int			word = len;

	if (len < 2 || len > 64)
		return false;
	if (is_one_of(numbers, s, len))
		return true;
	while (word > 0 && l4_ascii_letter(s[word - 1]))
		word--;
	/* the last word of a name in which words start with a capital */
	for (int i = word + 1; i < len - 1; i++)
		if (s[i] >= 'A' && s[i] <= 'Z' && s[i - 1] >= 'a' && s[i + 1] >= 'a')
			word = i;
	s += word;
	len -= word;
	if (len < 2 || len > 16)
		return false;
	if (is_one_of(states, s, len))
		return true;
	for (int i = 0; negations[i] != NULL; i++)
	{
		int			n = strlen(negations[i]);

		if (len >= n + 4 && pg_strncasecmp(s, negations[i], n) == 0 && is_one_of(states, s + n, len - n))
			return true;
	}
	return false;
}

/* What the statistics need to know about a string. */
static uint8
string_flags(const char *s, int len)
{
	static const char *const who[] = {"user", "username", "logname", "host", "hostname", NULL};
	uint8		flags = 0;
	char		last = len > 0 ? s[len - 1] : 0;
	int			joints = 0;

	for (int i = 1; i + 1 < len; i++)
		joints += (s[i] == '.' || s[i] == '/') && l4_ascii_letter(s[i - 1]) && (l4_ascii_letter(s[i + 1]) || s[i + 1] == '.');
	if (joints >= 2)
		flags |= S_DOTTED;
	for (int i = 0; i < len; i++)
	{
		uint8		c = s[i];

		if (c == L4_MARK || c == L4_USER_MARK)
		{
			flags |= S_MARK;
			if (c == L4_USER_MARK)
				i++;
		}
		else if (l4_ascii_letter(c) || c >= 0x80)
			flags |= S_LETTER;
	}
	if (last == ' ' && len > 1)
		last = s[len - 2];
	if (last == '=' || last == ':' || last == '"' || last == '\'' || last == '(' || last == '[' || last == '{')
		flags |= S_KEY;
	if (len >= 4 && len <= 8 && is_one_of(who, s, len))
		flags |= S_WHO;
	if (l4_is_telling(s, len))
		flags |= S_TELLING;
	if (has_value(s, len))
		flags |= S_VALUE;
	return flags;
}

/*
 * Hash of a name without its digits; 0 if it has none, or no letter, or if the
 * number is a version and not one of several alike (IPv4, v6, L2).
 */
static uint64
stem_of(const char *s, int len)
{
	uint64		h = 0;
	int			letters = 0;
	int			ndigits = 0;

	if (len <= 2 || (len == 4 && pg_strncasecmp(s, "ipv", 3) == 0))
		return 0;

	for (int i = 0; i < len; i++)
	{
		if (s[i] >= '0' && s[i] <= '9')
			ndigits++;
		else
		{
			h = l4_hash2(h, (uint8) s[i]);
			letters += l4_ascii_letter(s[i]);
		}
	}
	return ndigits > 0 && letters > 0 ? h | 1 : 0;
}

/* Fill in what statistics need: most strings of a model that is only asked are never looked at. */
const L4String *
l4_string_class(const L4Model *m, L4Str str)
{
	L4String   *s = &m->strings[str];

	s->flags = string_flags(s->bytes, s->len);
	s->stem = s->flags & S_VALUE ? stem_of(s->bytes, s->len) : 0;
	s->classed = true;
	return s;
}

/* The number of a string. Bytes of a new one are copied, or stay where they are. */
L4Str
l4_string_intern(L4Model *m, const char *bytes, int len, bool copy)
{
	uint64		hash = l4_hash_bytes(bytes, len);
	bool		found;
	int32	   *value = l4_map_put(m->string_map, hash, &found);

	if (!found)
	{
		L4String   *s;

		L4_GROW(m->strings, m->nstrings, m->strings_size, m->cxt);
		s = &m->strings[m->nstrings];
		s->bytes = copy && len > 0 ? memcpy(MemoryContextAlloc(m->cxt, len), bytes, len) : bytes;
		s->len = len;
		s->classed = false;
		*value = m->nstrings++;
	}
	return *value;
}

/* A mark takes one byte, that of a user two. */
static inline bool
is_delim(const L4Model *m, const char *p)
{
	return (m->cls[(uint8) *p] & C_DELIM) != 0;
}

/*
 * Length of the delimiter at p, 0 if there is none: an opening bracket with the
 * blanks around it, =, a run of others and blanks, a full stop before a blank
 * or the end, dots.
 */
static int
delimiter(const L4Model *m, const char *p, const char *end)
{
	const char *q = p;

	if (*q == ' ' && q + 1 < end && (q[1] == '(' || q[1] == '[' || q[1] == '{'))
		return q + 2 < end && q[2] == ' ' ? 3 : 2;
	if (*q == '(' || *q == '[' || *q == '{')
		return q + 1 < end && q[1] == ' ' ? 2 : 1;
	if (*q == '=')
		return 1;
	if (*q == '.')
	{
		if (q + 1 == end || q[1] == ' ')
			return 1;
		while (q < end && *q == '.')
			q++;
		return q - p > 1 ? q - p : 0;
	}
	while (q < end && (*q == ' ' || (is_delim(m, q) && *q != '(' && *q != '[' && *q != '{' && *q != '=')))
		q++;
	return q - p;
}

static inline L4Str
string_of(L4Model *m, const char *p, int len, bool intern)
{
	L4Str		str;

	if (len == 0)
		return L4_STR_EMPTY;
	if (len == 1 && *p == L4_MARK)
		return L4_STR_MARK;
	if (intern)
		return l4_string_intern(m, p, len, true);
	str = l4_map_get(m->string_map, l4_hash_bytes(p, len));
	if (str == L4_STR_UNKNOWN && l4_is_telling(p, len))
		str = L4_STR_TELLING;
	else if (str == L4_STR_UNKNOWN && has_value(p, len))
		str = L4_STR_VALUE;
	return str;
}

/* In which slot each parameter of a shape is, counted from 0. */
void
l4_columns(const L4Model *m, const L4Shape *shape, int *columns)
{
	const char *p = shape->text;
	const char *end = p + shape->len;
	int			col = 0;
	int			n = 0;

	while (p < end && n < shape->nslots)
	{
		int			len = delimiter(m, p, end);

		if (len > 0)
		{
			col++;
			p += len;
			continue;
		}
		if (*p == L4_MARK || *p == L4_USER_MARK)
			columns[n++] = col;
		p += *p == L4_USER_MARK ? 2 : 1;
	}
	while (n < shape->nslots)
		columns[n++] = col;
}

/* Cut a shape. Without intern, a slot never seen is L4_STR_UNKNOWN. */
void
l4_cut(L4Model *m, const L4Shape *shape, bool intern, L4Cut *cut)
{
	const char *p = shape->text;
	const char *end = p + shape->len;
	const char *slot = p;
	int			n = 0;

	cut->hash = 0;
	for (;;)
	{
		int			len = p < end ? delimiter(m, p, end) : 0;

		if (p < end && len == 0)
		{
			p += *p == L4_USER_MARK ? 2 : 1;
			continue;
		}
		if (n == cut->size)
		{
			int			size = cut->size;

			L4_GROW(cut->cols, n, size, m->cxt);
			size = cut->size;
			L4_GROW(cut->delims, n, size, m->cxt);
			size = cut->size;
			L4_GROW(cut->from, n, size, m->cxt);
			L4_GROW(cut->len, n, cut->size, m->cxt);
		}
		cut->from[n] = slot - shape->text;
		cut->len[n] = p - slot;
		cut->cols[n] = string_of(m, slot, p - slot, intern);
		cut->delims[n] = string_of(m, p, len, intern);
		cut->hash = l4_hash2(cut->hash, l4_hash_bytes(p, len));
		n++;
		if (p >= end)
			break;
		p += len;
		slot = p;
	}
	cut->ncols = n;
}

/* Append a slot's or delimiter's text. */
static char *
put_string(const L4Model *m, char *out, L4Str str)
{
	if (str == L4_STR_OPEN)
	{
		*out = L4_OPEN_MARK;
		return out + 1;
	}
	memcpy(out, m->strings[str].bytes, m->strings[str].len);
	return out + m->strings[str].len;
}

static inline bool
is_word_byte(char c)
{
	return l4_ascii_letter(c) || (c >= '0' && c <= '9') || (uint8) c >= 0x80;
}

/*
 * Shorten text[0 .. len): marks that touch are one, and so is a long run of
 * marks with one same separator. Returns the length.
 */
static int
collapse(char *text, int len)
{
	int			w = 0;

	for (int i = 0; i < len; i++)
	{
		if (L4_IS_MARK(text[i]) && w > 0 && L4_IS_MARK(text[w - 1]))
		{
			text[w - 1] = Max(text[w - 1], text[i]);
			continue;
		}
		text[w++] = text[i];
	}
	len = w;
	w = 0;
	for (int i = 0; i < len;)
	{
		int			best = 0;

		if (L4_IS_MARK(text[i]))
		{
			int			slen = 0;
			int			j = i + 1;
			int			run = 1;

			while (i + 1 + slen < len && slen < 4 && !L4_IS_MARK(text[i + 1 + slen]) &&
				   text[i + 1 + slen] != L4_USER_MARK && !is_word_byte(text[i + 1 + slen]))
				slen++;
			while (slen > 0 && j + slen < len && memcmp(text + j, text + i + 1, slen) == 0 &&
				   L4_IS_MARK(text[j + slen]))
			{
				j += slen + 1;
				run++;
			}
			if (run >= LIST_RUN)
				best = j - i;
		}
		text[w++] = best > 0 ? L4_OPEN_MARK : text[i];
		i += best > 0 ? best : 1;
	}
	return w;
}

/* The text of a template with marks, shortened for print; palloc'd in cxt, terminated. */
char *
l4_model_pattern(L4Model *m, int32 template, int *len, MemoryContext cxt)
{
	const L4Template *t = &m->templates[template];
	const L4Group *g = &m->groups[m->nodes[t->node].group];
	Size		size = 1;
	char	   *text;
	char	   *out;

	for (int i = 0; i < g->ncols; i++)
		size += m->strings[t->cols[i]].len + m->strings[g->delims[i]].len;
	text = out = MemoryContextAlloc(cxt, size);
	for (int i = 0; i < g->ncols; i++)
	{
		out = put_string(m, out, t->cols[i]);
		out = put_string(m, out, g->delims[i]);
	}
	*len = collapse(text, out - text);
	text[*len] = '\0';
	return text;
}
