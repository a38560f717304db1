/*
 * drain_text.c
 *		How Drain3 looks at text: what separates tokens, and what is a digit.
 *
 * Drain3 works on Python strings, whose split() and isdigit() know Unicode;
 * in a database of another encoding than UTF8 only ASCII counts.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "base/grow.h"
#include "drain/drain_int.h"

/* Code points beyond ASCII with str.isdigit(), first and last of each run (Unicode 14). */
static const uint32 digit_runs[][2] = {
	{0xB2, 0xB3}, {0xB9, 0xB9}, {0x660, 0x669}, {0x6F0, 0x6F9}, {0x7C0, 0x7C9},
	{0x966, 0x96F}, {0x9E6, 0x9EF}, {0xA66, 0xA6F}, {0xAE6, 0xAEF}, {0xB66, 0xB6F},
	{0xBE6, 0xBEF}, {0xC66, 0xC6F}, {0xCE6, 0xCEF}, {0xD66, 0xD6F}, {0xDE6, 0xDEF},
	{0xE50, 0xE59}, {0xED0, 0xED9}, {0xF20, 0xF29}, {0x1040, 0x1049}, {0x1090, 0x1099},
	{0x1369, 0x1371}, {0x17E0, 0x17E9}, {0x1810, 0x1819}, {0x1946, 0x194F}, {0x19D0, 0x19DA},
	{0x1A80, 0x1A89}, {0x1A90, 0x1A99}, {0x1B50, 0x1B59}, {0x1BB0, 0x1BB9}, {0x1C40, 0x1C49},
	{0x1C50, 0x1C59}, {0x2070, 0x2070}, {0x2074, 0x2079}, {0x2080, 0x2089}, {0x2460, 0x2468},
	{0x2474, 0x247C}, {0x2488, 0x2490}, {0x24EA, 0x24EA}, {0x24F5, 0x24FD}, {0x24FF, 0x24FF},
	{0x2776, 0x277E}, {0x2780, 0x2788}, {0x278A, 0x2792}, {0xA620, 0xA629}, {0xA8D0, 0xA8D9},
	{0xA900, 0xA909}, {0xA9D0, 0xA9D9}, {0xA9F0, 0xA9F9}, {0xAA50, 0xAA59}, {0xABF0, 0xABF9},
	{0xFF10, 0xFF19}, {0x104A0, 0x104A9}, {0x10A40, 0x10A43}, {0x10D30, 0x10D39}, {0x10E60, 0x10E68},
	{0x11052, 0x1105A}, {0x11066, 0x1106F}, {0x110F0, 0x110F9}, {0x11136, 0x1113F}, {0x111D0, 0x111D9},
	{0x112F0, 0x112F9}, {0x11450, 0x11459}, {0x114D0, 0x114D9}, {0x11650, 0x11659}, {0x116C0, 0x116C9},
	{0x11730, 0x11739}, {0x118E0, 0x118E9}, {0x11950, 0x11959}, {0x11C50, 0x11C59}, {0x11D50, 0x11D59},
	{0x11DA0, 0x11DA9}, {0x16A60, 0x16A69}, {0x16AC0, 0x16AC9}, {0x16B50, 0x16B59}, {0x1D7CE, 0x1D7FF},
	{0x1E140, 0x1E149}, {0x1E2F0, 0x1E2F9}, {0x1E950, 0x1E959}, {0x1F100, 0x1F10A}, {0x1FBF0, 0x1FBF9}
};

/* What a byte means to the tokenizer. */
enum
{
	BYTE_TOKEN,
	BYTE_BLANK,
	BYTE_LEAD					/* may begin a blank of several bytes (UTF-8) */
};

/* Prepare the byte classes: blanks, and delimiters of one byte. */
void
l4_drain_text_init(L4Drain *drain)
{
	const L4DrainOptions *options = &drain->options;

	drain->utf8 = (GetDatabaseEncoding() == PG_UTF8);
	for (int c = 0; c < 256; c++)
		drain->byte_class[c] = (c == ' ' || (c >= '\t' && c <= '\r') ||
								(c >= 0x1C && c <= 0x1F)) ? BYTE_BLANK : BYTE_TOKEN;
	if (drain->utf8)
	{
		drain->byte_class[0xC2] = BYTE_LEAD;
		drain->byte_class[0xE1] = BYTE_LEAD;
		drain->byte_class[0xE2] = BYTE_LEAD;
		drain->byte_class[0xE3] = BYTE_LEAD;
	}

	/*
	 * Single bytes can be told while splitting. A longer delimiter may contain
	 * what another one replaces, so then all are replaced in turn.
	 */
	drain->long_delimiters = false;
	for (int i = 0; i < options->ndelimiters; i++)
		if (strlen(options->delimiters[i]) > 1)
			drain->long_delimiters = true;
	if (!drain->long_delimiters)
		for (int i = 0; i < options->ndelimiters; i++)
			drain->byte_class[(unsigned char) options->delimiters[i][0]] = BYTE_BLANK;
}

/* Length of the Unicode blank at s, 0 if it is none. */
static int
blank_length(const unsigned char *s, const unsigned char *end)
{
	if (end - s >= 2 && s[0] == 0xC2)
		return (s[1] == 0x85 || s[1] == 0xA0) ? 2 : 0;	/* U+0085, U+00A0 */
	if (end - s < 3)
		return 0;
	if (s[0] == 0xE1)			/* U+1680 */
		return (s[1] == 0x9A && s[2] == 0x80) ? 3 : 0;
	if (s[0] == 0xE2 && s[1] == 0x80)	/* U+2000..200A, 2028, 2029, 202F */
		return (s[2] <= 0x8A || s[2] == 0xA8 || s[2] == 0xA9 || s[2] == 0xAF) ? 3 : 0;
	if (s[0] == 0xE2 && s[1] == 0x81)	/* U+205F */
		return s[2] == 0x9F ? 3 : 0;
	if (s[0] == 0xE3)			/* U+3000 */
		return (s[1] == 0x80 && s[2] == 0x80) ? 3 : 0;
	return 0;
}

/* Replace one delimiter by a blank everywhere, from left to right. */
static void
replace_delimiter(StringInfo out, const char *text, int len, const char *delimiter)
{
	int			size = strlen(delimiter);
	const char *end = text + len;

	resetStringInfo(out);
	while (text < end)
	{
		const char *hit = memchr(text, delimiter[0], end - text);

		while (hit != NULL && (end - hit < size || memcmp(hit, delimiter, size) != 0))
			hit = memchr(hit + 1, delimiter[0], end - hit - 1);
		if (hit == NULL)
			break;
		appendBinaryStringInfo(out, text, hit - text);
		appendStringInfoChar(out, ' ');
		text = hit + size;
	}
	appendBinaryStringInfo(out, text, end - text);
}

static inline void
add_token(L4Drain *drain, int n, int off, int len)
{
	L4_GROW(drain->ranges, n, drain->ranges_size, drain->cxt);
	drain->ranges[n].off = off;
	drain->ranges[n].len = len;
}

int
l4_drain_tokenize(L4Drain *drain, const char *line, int len,
				  const char **text, const L4DrainToken **tokens)
{
	const unsigned char *s;
	const unsigned char *end;
	const unsigned char *start = NULL;	/* of the open token */
	int			n = 0;

	if (drain->long_delimiters)
		for (int i = 0; i < drain->options.ndelimiters; i++)
		{
			StringInfo	out = &drain->replaced[i & 1];

			replace_delimiter(out, line, len, drain->options.delimiters[i]);
			line = out->data;
			len = out->len;
		}
	s = (const unsigned char *) line;
	end = s + len;
	while (s < end)
	{
		int			class = drain->byte_class[*s];
		int			blank = class;	/* a blank of one byte is one byte long */

		if (class == BYTE_LEAD)
			blank = blank_length(s, end);
		if (blank == 0)
		{
			if (start == NULL)
				start = s;
			s++;
			continue;
		}
		if (start != NULL)
			add_token(drain, n++, (const char *) start - line, s - start);
		start = NULL;
		s += blank;
	}
	if (start != NULL)
		add_token(drain, n++, (const char *) start - line, end - start);
	*text = line;
	*tokens = drain->ranges;
	return n;
}

/* Python's any(char.isdigit() for char in token) */
bool
l4_drain_has_digit(const L4Drain *drain, const char *token, int len)
{
	const unsigned char *s = (const unsigned char *) token;
	const unsigned char *end = s + len;

	while (s < end)
	{
		uint32		c;

		if (*s < 0x80 || !drain->utf8)
		{
			if (*s >= '0' && *s <= '9')
				return true;
			s++;
			continue;
		}
		c = utf8_to_unicode(s);
		for (int i = 0; i < lengthof(digit_runs) && c >= digit_runs[i][0]; i++)
			if (c <= digit_runs[i][1])
				return true;
		s += pg_utf_mblen(s);
	}
	return false;
}
