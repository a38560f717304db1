/*
 * prefixmemo.c
 *		Remembers which format the start of a line has.
 *
 * Prefixes repeat but for their digits. So the first bytes of a line, digits
 * made equal, are looked up in a table. A hit gives the format and where its
 * fields are; no regular expression runs.
 *
 * The memo is exact. An entry is made only when every line that starts so gets
 * the same answer: by partial matching, a format fails, or a prefix ends,
 * without looking at the end of the given bytes. And the formats must not tell
 * digits apart, which is read off their text.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "lines/line_int.h"
#include "lines/lineformat.h"

/* Whole characters of the first n bytes. */
static inline int
whole_characters(const char *p, int n)
{
	return GetDatabaseEncoding() == PG_UTF8 ? pg_mbcliplen(p, n, n) : n;
}

/*
 * From how many bytes on is it certain what all formats make of a line that
 * starts with them? 0 when L4_FOLD_START_MAX bytes are not enough. What is
 * certain of some bytes is certain of more, so each format goes on where the
 * one before it came to.
 */
static int
certain_length(L4Rules *rules, const char *p, int len, int format)
{
	int			n = L4_FOLD_START;

	for (const int *list = rules->by_byte[(unsigned char) *p]; *list >= 0; list++)
	{
		L4Format   *f = &rules->formats[*list];
		bool		found = *list == format;

		if (found && f->prefix_pattern == NULL)
			return 0;
		if (found && f->prefix == NULL)
			f->prefix = l4_regex_compile(f->prefix_pattern, strlen(f->prefix_pattern), 0, rules->cxt);
		for (;; n += L4_FOLD_START)
		{
			if (n > Min(len, L4_FOLD_START_MAX))
				return 0;
			if (found ? l4_regex_exec_prefix(f->prefix, p, whole_characters(p, n)) > 0 :
				l4_regex_exec_prefix(f->re, p, whole_characters(p, n)) == 0)
				break;
		}
		if (found)
			break;
	}
	return n <= len ? n : 0;
}

/* Do the formats up to the one that matches tell digits apart? */
static bool
digits_matter(L4Rules *rules, const char *p, int format)
{
	for (const int *list = rules->by_byte[(unsigned char) *p]; *list >= 0; list++)
	{
		if (!rules->formats[*list].digits_alike)
			return true;
		if (*list == format)
			break;
	}
	return false;
}

void
l4_memo_fields(const L4Format *format, L4Regex *re, const char *p, L4Fields *fields)
{
	const size_t *ov = l4_regex_ovector(re);

	memset(fields, 0, sizeof(*fields));
	for (int i = 0; i < L4_NFIELDS; i++)
	{
		int			g = format->group[i];

		if (g > 0 && ov[2 * g] != L4_REGEX_UNSET)
		{
			fields->start[i] = ov[2 * g];
			fields->end[i] = ov[2 * g + 1];
		}
	}
	if (fields->end[L4_FIELD_LEVEL] > 0)
		fields->level = l4_level_of(p + fields->start[L4_FIELD_LEVEL],
									fields->end[L4_FIELD_LEVEL] - fields->start[L4_FIELD_LEVEL]);
}

void
l4_memo_learn(L4FoldMemo *memo, L4Rules *rules, const char *p, int len, int format)
{
	L4KnownPrefix *known;
	L4Regex    *matched;
	char	   *key;
	int			n;

	if (len == 0 || !l4_foldmemo_wants(memo) || digits_matter(rules, p, format))
		return;
	n = certain_length(rules, p, len, format);
	if (n == 0 && len >= L4_FOLD_START_MAX)
		return;
	known = l4_foldmemo_add(memo, p, n > 0 ? n : len, n > 0, sizeof(L4KnownPrefix), &key);
	if (known == NULL)
		return;
	l4_fold_digits(key, n > 0 ? n : len);
	memset(known, 0, sizeof(L4KnownPrefix));
	known->format = format;
	if (format < 0)
		return;
	/* the fields of a whole line are those of the match that the caller has just made */
	matched = n > 0 ? rules->formats[format].prefix : rules->formats[format].re;
	l4_memo_fields(&rules->formats[format], matched, p, &known->fields);
}
