/*
 * scan_rec.c
 *		Recognisers of the built-in masks: words, paths and identifiers, and which recogniser is asked at which byte.
 *
 * A recogniser looks at the bytes from p on and says how many belong to it, 0
 * for none. None looks over the same bytes more than a bounded number of times,
 * so that a scan is linear in the message.
 */
#include "postgres.h"

#include "scan/scan_int.h"

static int
rec_uuid(L4ScanRun *s, const uint8 *p)
{
	static const int group[] = {8, 4, 4, 4, 12};
	const uint8 *q = p;

	if (l4_at(s, p + 8) != '-')
		return 0;
	for (int i = 0; i < 5; i++)
	{
		if (l4_hexdigits(s, q, 13) != group[i])
			return 0;
		q += group[i];
		if (i < 4 && l4_at(s, q++) != '-')
			return 0;
	}
	return l4_is_word(s, q) ? 0 : q - p;
}

static int
rec_email(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	int			labels = 0;

	while (q < s->end && q - p < 64 && (IS_ALPHA(*q) || IS_DIGIT(*q) || (*q && strchr("._%+-", *q))))
		q++;
	if (q == p || l4_at(s, q) != '@')
		return 0;
	q++;
	for (;;)
	{
		const uint8 *label = q;

		while (q < s->end && (IS_ALPHA(*q) || IS_DIGIT(*q) || *q == '-'))
			q++;
		if (q == label)
			return 0;
		labels++;
		if (l4_at(s, q) == '.' && (IS_ALPHA(l4_at(s, q + 1)) || IS_DIGIT(l4_at(s, q + 1))))
			q++;
		else
			break;
	}
	return labels >= 2 && !l4_is_word(s, q) ? q - p : 0;
}

/* com.example.Foo@1a2b3c */
static int
rec_object(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	int			dots = 0;
	int			n;

	while (q < s->end && q - p < 256 && ((s->cls[*q] & C_WORD) || *q == '.' || *q == '$' || *q == '-'))
		dots += *q++ == '.';
	if (dots == 0 || l4_at(s, q) != '@')
		return 0;
	q++;
	n = l4_hexdigits(s, q, 9);
	return n >= 5 && n <= 8 && !l4_is_word(s, q + n) ? q + n - p : 0;
}

/* R02-M1-N0-C:J12-U11: short letters and a number, several times */
static int
rec_node(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	int			parts = 0;
	int			ndigits = 0;

	for (;;)
	{
		int			letters = 0;
		int			n;

		while (letters < 4 && IS_ALPHA(l4_at(s, q + letters)))
			letters++;
		if (letters < 1 || letters > 3)
			return 0;
		q += letters;
		n = l4_digits(s, q, 6);
		if (n > 5 || (parts == 0 && n == 0))
			return 0;
		ndigits += n;
		q += n;
		parts++;
		if (l4_at(s, q) != '-' || !IS_ALPHA(l4_at(s, q + 1)))
			break;
		q++;
	}
	if (parts < 2 || ndigits < 2)
		return 0;
	if (l4_at(s, q) == ':' && IS_ALPHA(l4_at(s, q + 1)) && IS_DIGIT(l4_at(s, q + 2)))
	{
		const uint8 *r = q + 2;

		r += l4_digits(s, r, 5);
		if (l4_at(s, r) == '-' && IS_ALPHA(l4_at(s, r + 1)) && IS_DIGIT(l4_at(s, r + 2)))
		{
			r += 2;
			r += l4_digits(s, r, 5);
			q = r;
		}
	}
	return l4_is_word(s, q) ? 0 : q - p;
}

static int
rec_path(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	const uint8 *slash;

	if (*q == '~')
		q++;
	else if (*q == '.')
		q += l4_at(s, q + 1) == '.' ? 2 : 1;
	if (l4_at(s, q) != '/')
		return 0;
	slash = q++;
	while (q < s->end && (s->cls[*q] & C_PATH))
		q++;
	while (q > slash + 1 && (q[-1] == '.' || q[-1] == ':'))
		q--;
	/* slashes alone are no path */
	while (slash < q && *slash == '/')
		slash++;
	return slash < q ? q - p : 0;
}

/* C:\..., \\server\... */
static int
rec_winpath(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;

	if (IS_ALPHA(*p) && l4_at(s, p + 1) == ':' && l4_at(s, p + 2) == '\\')
		q = p + 3;
	else if (*p == '\\' && l4_at(s, p + 1) == '\\')
	{
		q = p + 2;
		while (q < s->end && (IS_ALPHA(*q) || IS_DIGIT(*q) || *q == '.' || *q == '?'))
			q++;
		if (q == p + 2 || l4_at(s, q) != '\\')
			return 0;
		q++;
	}
	else
		return 0;
	while (q < s->end && !(s->cls[*q] & C_BLANK) && !(*q && strchr("\"'<>|,;)]", *q)))
		q++;
	return q - p;
}

/* The target and protocol of an HTTP request whose method stands before p. */
int
l4_rec_request(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;

	if (l4_at(s, q) != '/')
		return 0;
	while (q < s->end && !(s->cls[*q] & C_BLANK))
		q++;
	if (l4_at(s, q) != ' ' || !l4_text_at(s, q + 1, "http/") || !IS_DIGIT(l4_at(s, q + 6)))
		return 0;
	q += 7;
	while (IS_DIGIT(l4_at(s, q)) || (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1))))
		q++;
	return q - p;
}

bool
l4_rec_method(const uint8 *p, int len)
{
	static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

	for (int i = 0; i < lengthof(methods); i++)
		if (strlen(methods[i]) == len && memcmp(p, methods[i], len) == 0)
			return true;
	return false;
}

#define WORD4(a, b, c, d)	((uint32) (a) | (uint32) (b) << 8 | (uint32) (c) << 16 | (uint32) (d) << 24)

/* Words of four or five bytes that stand for a value: true, null, root, false, admin. */
bool
l4_rec_constant(const uint8 *p, int len)
{
	uint32		start = (p[0] | p[1] << 8 | p[2] << 16 | (uint32) p[3] << 24) | 0x20202020;

	if (len == 4)
		return start == WORD4('t', 'r', 'u', 'e') || start == WORD4('n', 'u', 'l', 'l') ||
			start == WORD4('r', 'o', 'o', 't');
	return (start == WORD4('f', 'a', 'l', 's') && (p[4] | 0x20) == 'e') ||
		(start == WORD4('a', 'd', 'm', 'i') && (p[4] | 0x20) == 'n');
}

/* Hex digits alone? */
bool
l4_rec_hex(const L4ScanRun *s, const uint8 *p, int len)
{
	for (int i = 0; i < len; i++)
		if (!(s->cls[p[i]] & (C_DIGIT | C_HEXL)))
			return false;
	return true;
}

/* A word of letters and digits (and _) as a whole: identifiers and hex. */
int
l4_rec_word(L4ScanRun *s, const uint8 *p, int len, int *kind)
{
	bool		has_digit = l4_has_digit(s, p, len);

	/* hex digits only: with a digit six do, letters alone need eight */
	if ((s->cls[*p] & (C_DIGIT | C_HEXL)) && len >= (has_digit ? 6 : 8) && l4_rec_hex(s, p, len))
	{
		*kind = L4_MASK_HEX;
		return len;
	}
	if (*p == '0' && len > 2 && (p[1] | 0x20) == 'x' && l4_hexdigits(s, p + 2, len) == len - 2)
	{
		*kind = L4_MASK_HEX;
		return len;
	}
	if (has_digit && IS_ALPHA(*p))
	{
		/* name_12, name_12_3 */
		const uint8 *q = p;
		const uint8 *end = p + len;

		while (q < end && IS_ALPHA(*q))
			q++;
		while (q + 1 < end && *q == '_' && IS_DIGIT(q[1]))
		{
			q++;
			while (q < end && IS_DIGIT(*q))
				q++;
		}
		if (q == end)
		{
			*kind = L4_MASK_ID;
			return len;
		}
	}
	return 0;
}

/* What goes on behind a word that ends in _: blk_-123, task_1_-2. p is behind the word. */
int
l4_rec_id_tail(L4ScanRun *s, const uint8 *p, int len)
{
	const uint8 *q = p;

	if (len < 2 || p[-1] != '_' || !IS_ALPHA(p[-len]) || l4_at(s, q) != '-' || !IS_DIGIT(l4_at(s, q + 1)))
		return 0;
	q++;
	while (q < s->end && (IS_DIGIT(*q) || *q == '_'))
		q++;
	return l4_is_word(s, q) ? 0 : q - p;
}

/* Take what a recogniser finds. */
#define TRY(call, mask) \
	do { \
		if ((n = (call)) > 0) \
		{ \
			*kind = (mask); \
			return n; \
		} \
	} while (0)

/* At a digit that starts a word. */
int
l4_rec_digit(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	bool		after_dot = before && *before == '.';
	int			n;

	if (sig & C_COLON)
	{
		if ((n = l4_rec_colon_hex(s, p, kind)) > 0)
			return n;
		TRY(l4_rec_pci(s, p), L4_MASK_ID);
		if (!(before && (*before == ':' || *before == '-' || *before == '/')))
			TRY(l4_rec_time(s, p), L4_MASK_TIME);
	}
	if (sig & C_DASH)
		TRY(rec_uuid(s, p), L4_MASK_UUID);
	if (sig & C_DOT)
	{
		if (!after_dot)
			TRY(l4_rec_ip(s, p), L4_MASK_IP);
		if ((sig & C_LETTER) && !(before && ((s->cls[*before] & (C_DOT | C_SLASH | C_AT | C_DASH)) || *before == '$')))
			TRY(l4_rec_host(s, p), L4_MASK_HOST);
	}
	if (sig & C_AT)
		TRY(rec_email(s, p), L4_MASK_EMAIL);
	return l4_rec_number(s, p, kind);
}

/* At a letter that starts a word. */
int
l4_rec_alpha(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	bool		joined = before && ((s->cls[*before] & (C_DOT | C_SLASH | C_AT | C_DASH)) || *before == '$');
	int			n;

	if ((sig & (C_COLON | C_SLASH)) == (C_COLON | C_SLASH))
		TRY(l4_rec_url(s, p), L4_MASK_URL);
	if (sig & C_AT)
	{
		TRY(rec_email(s, p), L4_MASK_EMAIL);
		if (!(before && *before == '.'))
			TRY(rec_object(s, p), L4_MASK_ID);
	}
	if (sig & C_BSLASH)
		TRY(rec_winpath(s, p), L4_MASK_PATH);
	if (((sig & C_DOT) || (sig & (C_DASH | C_DIGIT)) == (C_DASH | C_DIGIT) || (*p | 0x20) == 'l') &&
		!joined)
		TRY(l4_rec_host(s, p), L4_MASK_HOST);
	if (sig & C_DIGIT)
	{
		if (sig & C_DOT)
			TRY(l4_rec_version(s, p), L4_MASK_ID);
		if ((sig & C_COLON) && (n = l4_rec_colon_hex(s, p, kind)) > 0)
			return n;
		if (sig & C_DASH)
		{
			TRY(rec_uuid(s, p), L4_MASK_UUID);
			TRY(rec_node(s, p), L4_MASK_ID);
		}
	}
	return 0;
}

/* At a byte of structure: paths, signed numbers, IPv6 that starts with a colon. */
int
l4_rec_punct(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	int			n;

	switch (*p)
	{
		case '/':
		case '.':
		case '~':
			if (before && ((s->cls[*before] & (C_WORD | C_DOT | C_DASH | C_SLASH)) ||
						   *before == '<' || *before == '>' || *before == '*' || *before == ')' || *before == ']'))
				return 0;
			if (p == s->mark_end)
				return 0;
			if (*p == '/')
				TRY(l4_rec_ip(s, p), L4_MASK_IP);
			*kind = L4_MASK_PATH;
			return rec_path(s, p);
		case '\\':
			*kind = L4_MASK_PATH;
			return before && (s->cls[*before] & C_WORD) ? 0 : rec_winpath(s, p);
		case '-':
		case '+':
			if (!IS_DIGIT(l4_at(s, p + 1)) || p == s->mark_end ||
				(before && ((s->cls[*before] & C_WORD) || *before == ')' || *before == ']' || *before == '.')))
				return 0;
			return l4_rec_number(s, p, kind);
		case ':':
			if (l4_at(s, p + 1) == ':' && !WORD_BEFORE(s, p))
				return l4_rec_colon_hex(s, p, kind);
			return 0;
		default:
			return 0;
	}
}

/* A dotted name that is given as a value: what follows name= in name=com.example.Foo/.Bar@1f */
int
l4_rec_dotted_value(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	int			dots = 0;

	if (!IS_ALPHA(*q) && *q != '_')
		return 0;
	while (l4_is_word(s, q) || l4_at(s, q) == '-' || (dots > 0 && l4_at(s, q) == '$') ||
		   (l4_at(s, q) == '.' && (l4_is_word(s, q + 1) || l4_at(s, q + 1) == '$')))
		dots += *q++ == '.';
	if (dots == 0)
		return 0;
	if (l4_at(s, q) == '/')
	{
		q++;
		while (l4_is_word(s, q) || l4_at(s, q) == '.' || l4_at(s, q) == '$' || l4_at(s, q) == '-')
			q++;
	}
	if (l4_at(s, q) == '@' && l4_is_word(s, q + 1))
	{
		q++;
		while (l4_is_word(s, q))
			q++;
	}
	return l4_is_word(s, q) || l4_at(s, q) == '/' ? 0 : q - p;
}
