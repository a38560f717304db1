/*
 * scan_rec.c
 *		Recognisers of the built-in masks. Each looks at the bytes from p on and
 *		says how many belong to it. None looks further than a bounded number of
 *		times over the same bytes, so a scan is linear in the message.
 */
#include "postgres.h"

#include "scan_int.h"

#define IS_DIGIT(c)		((uint8) ((c) - '0') <= 9)
#define IS_ALPHA(c)		((uint8) (((c) | 0x20) - 'a') <= 25)
#define IS_HEX(c)		(IS_DIGIT(c) || (uint8) (((c) | 0x20) - 'a') <= 5)

static inline bool
is_word(L4Scan *s, const uint8 *p)
{
	return (l4_class(s, p) & C_WORD) != 0;
}

static int
digits(L4Scan *s, const uint8 *p, int max)
{
	int			n = 0;

	while (n < max && p + n < s->end && IS_DIGIT(p[n]))
		n++;
	return n;
}

static int
hexdigits(L4Scan *s, const uint8 *p, int max)
{
	int			n = 0;

	while (n < max && p + n < s->end && IS_HEX(p[n]))
		n++;
	return n;
}

/* Does the message go on with this text at p, whatever the case of letters? */
static bool
text_at(L4Scan *s, const uint8 *p, const char *text)
{
	int			i;

	for (i = 0; text[i]; i++)
	{
		uint8		c = l4_at(s, p + i);

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != (uint8) text[i])
			return false;
	}
	return true;
}

/* :port of one to max digits, not followed by a digit */
static int
port(L4Scan *s, const uint8 *p, int min)
{
	int			n;

	if (l4_at(s, p) != ':')
		return 0;
	n = digits(s, p + 1, 6);
	return n >= min && n <= 5 ? n + 1 : 0;
}

/* four decimal groups; the caller checks what follows */
static int
ip4_plain(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;

	for (int i = 0; i < 4; i++)
	{
		int			n = digits(s, q, 4);

		if (n < 1 || n > 3)
			return 0;
		q += n;
		if (i < 3 && l4_at(s, q++) != '.')
			return 0;
	}
	return q - p;
}

/* [/]IP[:port], and a list of them */
static int
rec_ip(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	const uint8 *done = p;

	for (;;)
	{
		int			n;

		if (l4_at(s, q) == '/')
			q++;
		n = ip4_plain(s, q);
		if (n == 0)
			break;
		q += n;
		q += port(s, q, 1);
		if (is_word(s, q) || (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1))))
			break;
		done = q;
		if (l4_at(s, q) != ',')
			break;
		q++;
	}
	return done - p;
}

/* The family that some write behind an address: " (IPv6)" */
int
l4_rec_family(L4Scan *s, const uint8 *p)
{
	return l4_at(s, p) == ' ' && l4_at(s, p + 1) == '(' &&
		(text_at(s, p + 2, "ipv6)") || text_at(s, p + 2, "ipv4)")) ? 7 : 0;
}

/* Groups of hex digits with colons between: MAC or IPv6 address. */
static int
rec_colon_hex(L4Scan *s, const uint8 *p, int *kind)
{
	const uint8 *q = p;
	int			groups = 0;
	int			pairs = 0;
	int			ndigits = 0;
	bool		gap = false;
	int			n;

	for (;;)
	{
		n = hexdigits(s, q, 5);
		if (n > 4 || groups > 32)
			return 0;
		if (n > 0)
		{
			int			dotted = groups > 0 && gap ? ip4_plain(s, q) : 0;

			if (dotted > 0)
			{
				q += dotted;
				groups += 2;
				ndigits++;
				break;
			}
			groups++;
			pairs += n == 2;
			for (int i = 0; i < n; i++)
				ndigits += IS_DIGIT(q[i]);
			q += n;
		}
		if (l4_at(s, q) != ':')
			break;
		if (l4_at(s, q + 1) == ':' && !gap)
		{
			gap = true;
			q += 2;
			if (!IS_HEX(l4_at(s, q)))
				break;
		}
		else if (IS_HEX(l4_at(s, q + 1)))
			q++;
		else
			break;
	}
	if (is_word(s, q) || ndigits == 0)
		return 0;
	if (!gap && groups >= 4 && pairs == groups)
		*kind = L4_MASK_MAC;
	else if ((!gap && groups == 8) ||
			 (gap && groups <= 8 && (groups >= 3 || *p == ':' || hexdigits(s, p, 5) == 4)))
		*kind = L4_MASK_IP;
	else
		return 0;
	return q - p;
}

/* PCI address: domain:bus:device with or without .function */
static int
rec_pci(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	int			n = hexdigits(s, q, 9);

	if ((n != 4 && n != 8) || l4_at(s, q + n) != ':')
		return 0;
	q += n + 1;
	if (hexdigits(s, q, 3) != 2 || l4_at(s, q + 2) != ':' || hexdigits(s, q + 3, 3) != 2)
		return 0;
	q += 5;
	if (l4_at(s, q) == '.' && hexdigits(s, q + 1, 2) == 1)
		q += 2;
	return is_word(s, q) || l4_at(s, q) == ':' ? 0 : q - p;
}

static int
rec_uuid(L4Scan *s, const uint8 *p)
{
	static const int group[] = {8, 4, 4, 4, 12};
	const uint8 *q = p;

	for (int i = 0; i < 5; i++)
	{
		if (hexdigits(s, q, 13) != group[i])
			return 0;
		q += group[i];
		if (i < 4 && l4_at(s, q++) != '-')
			return 0;
	}
	return is_word(s, q) ? 0 : q - p;
}

static int
rec_url(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	const uint8 *start;

	while (q < s->end && q - p < 20 && (IS_ALPHA(*q) || IS_DIGIT(*q) || *q == '+' || *q == '.' || *q == '-'))
		q++;
	if (l4_at(s, q) != ':' || l4_at(s, q + 1) != '/' || l4_at(s, q + 2) != '/')
		return 0;
	q += 3;
	start = q;
	while (q < s->end && !(s->cls[*q] & C_BLANK) && *q != ',' && *q != ';' && *q != '"' && *q != '\'' &&
		   *q != '<' && *q != '>' && *q != '(' && *q != ')' && *q != '[' && *q != ']' &&
		   *q != '{' && *q != '}' && *q != '|')
		q++;
	/* the full stop of a sentence is no part of the address */
	while (q > start && (q[-1] == '.' || q[-1] == ':' || q[-1] == '!' || q[-1] == '?'))
		q--;
	/* tcp://[::1]:29500 */
	if (q == start && l4_at(s, q) == '[')
	{
		int			kind;
		int			n = rec_colon_hex(s, q + 1, &kind);

		if (n > 0 && l4_at(s, q + 1 + n) == ']')
		{
			q += n + 2;
			q += port(s, q, 1);
		}
	}
	return q > start ? q - p : 0;
}

static int
rec_email(L4Scan *s, const uint8 *p)
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
	return labels >= 2 && !is_word(s, q) ? q - p : 0;
}

/* com.example.Foo@1a2b3c */
static int
rec_object(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	int			dots = 0;
	int			n;

	while (q < s->end && q - p < 256 && ((s->cls[*q] & C_WORD) || *q == '.' || *q == '$' || *q == '-'))
		dots += *q++ == '.';
	if (dots == 0 || l4_at(s, q) != '@')
		return 0;
	q++;
	n = hexdigits(s, q, 9);
	return n >= 5 && n <= 8 && !is_word(s, q + n) ? q + n - p : 0;
}

/* Up to eight bytes as a number, to compare labels with lists. */
#define L1(a)					((uint64) (a))
#define L2(a, b)				(L1(a) | (uint64) (b) << 8)
#define L3(a, b, c)				(L2(a, b) | (uint64) (c) << 16)
#define L4(a, b, c, d)			(L3(a, b, c) | (uint64) (d) << 24)
#define L5(a, b, c, d, e)		(L4(a, b, c, d) | (uint64) (e) << 32)
#define L7(a, b, c, d, e, f, g) (L5(a, b, c, d, e) | (uint64) (f) << 40 | (uint64) (g) << 48)
#define L8(a, b, c, d, e, f, g, h) (L7(a, b, c, d, e, f, g) | (uint64) (h) << 56)

/* A label, in small letters; 0 if it is longer than eight bytes. */
static inline uint64
label_of(const uint8 *p, int len)
{
	uint64		v = 0;

	if (len > 8)
		return 0;
	for (int i = 0; i < len; i++)
		v |= (uint64) (p[i] | 0x20) << (8 * i);
	return v;
}

/* Names that start reversed domains: what follows is a class or a package. */
static bool
is_reverse_dns(const uint8 *p, int len)
{
	switch (label_of(p, len))
	{
		case L3('c', 'o', 'm'):
		case L3('o', 'r', 'g'):
		case L3('n', 'e', 't'):
		case L4('j', 'a', 'v', 'a'):
		case L5('j', 'a', 'v', 'a', 'x'):
		case L2('i', 'o'):
		case L3('e', 'd', 'u'):
		case L3('g', 'o', 'v'):
		case L3('s', 'u', 'n'):
		case L7('a', 'n', 'd', 'r', 'o', 'i', 'd'):
			return true;
		default:
			return false;
	}
}

/* Last labels of hosts that have more than two letters. */
static bool
is_generic_tld(const uint8 *p, int len)
{
	switch (label_of(p, len))
	{
		case L3('c', 'o', 'm'):
		case L3('n', 'e', 't'):
		case L3('o', 'r', 'g'):
		case L3('e', 'd', 'u'):
		case L3('g', 'o', 'v'):
		case L3('m', 'i', 'l'):
		case L4('i', 'n', 'f', 'o'):
		case L3('b', 'i', 'z'):
		case L5('l', 'o', 'c', 'a', 'l'):
		case L3('l', 'a', 'n'):
		case L8('i', 'n', 't', 'e', 'r', 'n', 'a', 'l'):
		case L4('a', 'r', 'p', 'a'):
			return true;
		default:
			return false;
	}
}

/*
 * Countries: second letters by the first one. Those that are as well a word of
 * programs or a file's extension (in, is, py, sh, rs, ...) are left out.
 */
static const char *const countries[26] = {
	"rtu", "er", "ahnz", "ek", "su", "ir", "r", "ku", "elrt", "p", "r", "", "x", "lz", "", "", "", "ou",
	"eg", "hrw", "aks", "n", "", "", "", "a"
};

/* A last label that is no host's: file names and their line. */
static bool
is_file_ext(const uint8 *p, int len)
{
	switch (label_of(p, len))
	{
		case L1('c'):
		case L1('h'):
		case L2('c', 'c'):
		case L3('c', 'p', 'p'):
		case L3('c', 'x', 'x'):
		case L2('c', 'u'):
		case L3('c', 'u', 'h'):
		case L3('h', 'p', 'p'):
		case L2('p', 'y'):
		case L3('p', 'y', 'x'):
		case L4('j', 'a', 'v', 'a'):
		case L2('g', 'o'):
		case L2('r', 's'):
		case L2('j', 's'):
		case L2('t', 's'):
		case L2('r', 'b'):
		case L2('p', 'l'):
		case L2('s', 'h'):
		case L3('l', 'o', 'g'):
		case L3('t', 'x', 't'):
		case L3('x', 'm', 'l'):
		case L4('c', 'o', 'n', 'f'):
		case L3('c', 'f', 'g'):
		case L4('j', 's', 'o', 'n'):
		case L4('y', 'a', 'm', 'l'):
		case L3('y', 'm', 'l'):
		case L2('s', 'o'):
		case L5('s', 'c', 'a', 'l', 'a'):
		case L2('k', 't'):
		case L2('c', 's'):
		case L3('p', 'h', 'p'):
		case L3('l', 'u', 'a'):
		case L2('m', 'd'):
		case L4('h', 't', 'm', 'l'):
		case L3('c', 's', 's'):
		case L3('s', 'q', 'l'):
		case L5('j', 's', 'o', 'n', 'l'):
		case L4('t', 'o', 'm', 'l'):
		case L3('i', 'n', 'i'):
		case L2('p', 't'):
		case L3('p', 't', 'h'):
		case L3('b', 'i', 'n'):
			return true;
		default:
			return false;
	}
}

/* Is it the last label of a host's name? */
static bool
is_top_level(L4Scan *s, const uint8 *p, int len)
{
	if (len == 2)
	{
		const char *second = IS_ALPHA(*p) ? countries[(*p | 0x20) - 'a'] : "";

		while (*second && *second != (p[1] | 0x20))
			second++;
		return *second != 0;
	}
	return is_generic_tld(p, len) || (len == 11 && text_at(s, p, "localdomain"));
}

/*
 * Host names: labels with dots between and a known or telling form, name-12:port,
 * each with an address and a port after it. What stands before p was checked.
 */
static int
rec_host(L4Scan *s, const uint8 *p, uint32 sig)
{
	const uint8 *q = p;
	const uint8 *label = p;
	const uint8 *last_part = p;
	int			labels = 1;
	int			first_len;
	bool		digit = false;
	bool		ends_ok;
	bool		known = false;
	int			n;

	for (;;)
	{
		uint8		c;

		n = l4_word_run(s, q);
		if (n == 0)
			return 0;
		digit |= l4_has_digit(s, q, n);
		q += n;
		c = l4_at(s, q);
		if (c == '-')
		{
			while (l4_at(s, q) == '-')
				q++;
			last_part = q;
		}
		else if (c == '.' && is_word(s, q + 1))
		{
			labels++;
			label = last_part = ++q;
		}
		else
			break;
	}
	if (labels == 1)
	{
		/* name-12:port, localhost:port, name-a/IP */
		bool		dashed = last_part > p;

		n = port(s, q, 2);
		if (n > 0 && !is_word(s, q + n) && l4_at(s, q + n) != ':' &&
			((dashed && digits(s, last_part, q - last_part) == q - last_part) ||
			 (q - p == 9 && text_at(s, p, "localhost"))))
			return q + n - p;
		if (dashed && l4_at(s, q) == '/' && (n = ip4_plain(s, q + 1)) > 0)
		{
			q += n + 1;
			q += port(s, q, 1);
			return is_word(s, q) ? 0 : q - p;
		}
		return 0;
	}
	for (first_len = 0; p[first_len] != '.';)
		first_len++;
	if (!IS_ALPHA(*label))
		ends_ok = false;
	else
	{
		ends_ok = true;
		for (const uint8 *r = label; r < q; r++)
			if (!IS_ALPHA(*r))
				ends_ok = false;
	}
	known = ends_ok && ((labels >= 3 && digit && q - label >= 2) || is_top_level(s, label, q - label)) &&
		!is_reverse_dns(p, first_len);
	if (known && labels >= 3 && is_file_ext(label, q - label))
		known = false;
	if (known)
	{
		if (l4_at(s, q) == '/' && (n = ip4_plain(s, q + 1)) > 0)
			q += n + 1;
		q += port(s, q, 1);
		return q - p;
	}
	/* a name with a port: two digits make a port, a single one a line or a column */
	n = port(s, q, labels >= 3 ? 1 : 2);
	if (n > 0 && !is_word(s, q + n) && l4_at(s, q + n) != ':' && l4_at(s, q + n) != '.' &&
		IS_ALPHA(*label) && !is_file_ext(label, q - label))
		return q + n - p;
	return 0;
}

/* R02-M1-N0-C:J12-U11: short letters and a number, several times */
static int
rec_node(L4Scan *s, const uint8 *p)
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
		n = digits(s, q, 6);
		if (n > 5 || (parts == 0 && n == 0))
			return 0;
		ndigits += n;
		q += n;
		parts++;
		if (l4_at(s, q) != '-' || !IS_ALPHA(l4_at(s, q + 1)))
			break;
		q++;
	}
	if (parts < 2 || ndigits == 0)
		return 0;
	if (l4_at(s, q) == ':' && IS_ALPHA(l4_at(s, q + 1)) && IS_DIGIT(l4_at(s, q + 2)))
	{
		const uint8 *r = q + 2;

		r += digits(s, r, 5);
		if (l4_at(s, r) == '-' && IS_ALPHA(l4_at(s, r + 1)) && IS_DIGIT(l4_at(s, r + 2)))
		{
			r += 2;
			r += digits(s, r, 5);
			q = r;
		}
	}
	return is_word(s, q) ? 0 : q - p;
}

static int
rec_path(L4Scan *s, const uint8 *p)
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
	return q > slash + 1 ? q - p : 0;
}

/* C:\..., \\server\... */
static int
rec_winpath(L4Scan *s, const uint8 *p)
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

/* Clock time d:dd[:dd[.fff]] */
int
l4_rec_time(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p + digits(s, p, 3);

	if (q == p || q > p + 2 || l4_at(s, q) != ':' || digits(s, q + 1, 3) != 2)
		return 0;
	q += 3;
	if (l4_at(s, q) == ':' && digits(s, q + 1, 3) == 2)
	{
		q += 3;
		if ((l4_at(s, q) == '.' || l4_at(s, q) == ',') && IS_DIGIT(l4_at(s, q + 1)))
			q += 1 + digits(s, q + 1, 9);
	}
	if (is_word(s, q) || l4_at(s, q) == ':')
		return 0;
	return q - p;
}

/*
 * A date at p: its length, 0 if there is none. Years have four digits and come
 * first; with a T and a time right behind it is one value (*whole).
 */
int
l4_rec_date(L4Scan *s, const uint8 *p, bool *whole)
{
	const uint8 *q = p + 5;
	uint8		sep = l4_at(s, p + 4);
	int			n;

	*whole = false;
	if ((sep != '-' && sep != '/') || digits(s, p, 5) != 4)
		return 0;
	n = digits(s, q, 3);
	if (n < 1 || n > 2 || (sep == '-' && n != 2) || l4_at(s, q + n) != sep)
		return 0;
	q += n + 1;
	n = digits(s, q, 3);
	if (n < 1 || n > 2 || (sep == '-' && n != 2))
		return 0;
	q += n;
	if (l4_at(s, q) == 'T' && digits(s, q + 1, 3) == 2 && l4_at(s, q + 3) == ':' && digits(s, q + 4, 3) == 2)
	{
		q += 6;
		if (l4_at(s, q) == ':')
			q += 1 + digits(s, q + 1, 2);
		if (l4_at(s, q) == '.' || l4_at(s, q) == ',')
			q += 1 + digits(s, q + 1, 9);
		if (l4_at(s, q) == 'Z')
			q++;
		else if ((l4_at(s, q) == '+' || l4_at(s, q) == '-') && digits(s, q + 1, 3) == 2)
		{
			q += 3;
			if (l4_at(s, q) == ':')
				q++;
			q += digits(s, q, 2);
		}
		*whole = true;
	}
	return is_word(s, q) ? 0 : q - p;
}

static bool
in_names(const uint8 *p, const char *names)
{
	for (; *names; names += 3)
		if (memcmp(p, names, 3) == 0)
			return true;
	return false;
}

/* Mon Jan  2 10:11:12 [CET] 2024, with and without weekday, zone and year */
int
l4_rec_day(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	const uint8 *r;
	int			n;

	if (s->end - p < 12)
		return 0;
	if (in_names(q, "MonTueWedThuFriSatSun"))
	{
		q += 3;
		if (*q == ',')
			q++;
		if (*q++ != ' ')
			return 0;
	}
	if (s->end - q < 12 || !in_names(q, "JanFebMarAprMayJunJulAugSepOctNovDec") || q[3] != ' ')
		return 0;
	q += 4;
	if (*q == ' ')
		q++;
	n = digits(s, q, 3);
	if (n < 1 || n > 2)
		return 0;
	q += n;
	if (l4_at(s, q) == ',')
		q++;
	if (l4_at(s, q++) != ' ')
		return 0;
	if (digits(s, q, 5) == 4 && l4_at(s, q + 4) == ' ')
		q += 5;
	n = l4_rec_time(s, q);
	if (n < 8)
		return 0;
	q += n;
	r = q;
	if (*r == ' ' || l4_at(s, r) == ' ')
	{
		for (r++, n = 0; n < 5 && l4_at(s, r + n) >= 'A' && l4_at(s, r + n) <= 'Z';)
			n++;
		if (n >= 3 && n <= 4 && !is_word(s, r + n))
			q = r + n;
		if (l4_at(s, q) == ' ' && digits(s, q + 1, 5) == 4 && !is_word(s, q + 5))
			q += 5;
	}
	return q - p;
}

/* The target and protocol of an HTTP request whose method stands before p. */
int
l4_rec_request(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;

	if (l4_at(s, q) != '/')
		return 0;
	while (q < s->end && !(s->cls[*q] & C_BLANK))
		q++;
	if (l4_at(s, q) != ' ' || !text_at(s, q + 1, "http/") || !IS_DIGIT(l4_at(s, q + 6)))
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

/* Words of four or five bytes that stand for a value: true, null, root, false, admin. */
bool
l4_rec_constant(const uint8 *p, int len)
{
	uint32		start = (p[0] | p[1] << 8 | p[2] << 16 | (uint32) p[3] << 24) | 0x20202020;

	if (len == 4)
		return start == (uint32) L4('t', 'r', 'u', 'e') || start == (uint32) L4('n', 'u', 'l', 'l') ||
			start == (uint32) L4('r', 'o', 'o', 't');
	return (start == (uint32) L4('f', 'a', 'l', 's') && (p[4] | 0x20) == 'e') ||
		(start == (uint32) L4('a', 'd', 'm', 'i') && (p[4] | 0x20) == 'n');
}

/*
 * A unit right after a number that ends at p: what it adds to the number's
 * length. A size may have a blank before its unit.
 */
int
l4_rec_unit(L4Scan *s, const uint8 *p, int *kind)
{
	const uint8 *q = p;
	uint8		c = l4_at(s, q);

	if (c == ' ')
		c = l4_at(s, ++q);
	switch (c)
	{
		case 'K':
		case 'M':
		case 'G':
		case 'T':
		case 'P':
		case 'k':
			q++;
			if (l4_at(s, q) == 'i')
				q++;
			if (l4_at(s, q) != 'B')
				return 0;
			/* FALLTHROUGH */
		case 'B':
			q++;
			if (is_word(s, q))
				return 0;
			*kind = L4_MASK_SIZE;
			return q - p;
		default:
			break;
	}
	if (q > p)
	{
		/* the unit of a time stays in the template, the number is still one */
		if (text_at(s, q, "ms") || text_at(s, q, "sec"))
			*kind = L4_MASK_DURATION;
		return 0;
	}
	if (text_at(s, q, "secs"))
		q += 4;
	else if (text_at(s, q, "sec"))
		q += 3;
	else if (text_at(s, q, "msecs"))
		q += 5;
	else if (text_at(s, q, "msec"))
		q += 4;
	else if (text_at(s, q, "ms") || text_at(s, q, "us") || text_at(s, q, "ns"))
		q += 2;
	else if (c == 's' || c == 'm' || c == 'h')
		q += 1;
	else
		return 0;
	if (is_word(s, q))
		return 0;
	*kind = L4_MASK_DURATION;
	return q - p;
}

/* Hex digits alone? */
bool
l4_rec_hex(const uint8 *p, int len)
{
	for (int i = 0; i < len; i++)
		if (!IS_HEX(p[i]))
			return false;
	return true;
}

/* A word of letters and digits (and _) as a whole: identifiers and hex. */
int
l4_rec_word(L4Scan *s, const uint8 *p, int len, int *kind)
{
	bool		has_digit = l4_has_digit(s, p, len);

	/* hex digits only: with a digit six do, letters alone need eight */
	if ((s->cls[*p] & (C_DIGIT | C_HEXL)) && len >= (has_digit ? 6 : 8) && l4_rec_hex(p, len))
	{
		*kind = L4_MASK_HEX;
		return len;
	}
	if (*p == '0' && len > 2 && (p[1] | 0x20) == 'x' && hexdigits(s, p + 2, len) == len - 2)
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
l4_rec_id_tail(L4Scan *s, const uint8 *p, int len)
{
	const uint8 *q = p;

	if (len < 2 || p[-1] != '_' || !IS_ALPHA(p[-len]) || *q != '-' || !IS_DIGIT(l4_at(s, q + 1)))
		return 0;
	q++;
	while (q < s->end && (IS_DIGIT(*q) || *q == '_'))
		q++;
	return is_word(s, q) ? 0 : q - p;
}

/* v1.2.3 */
static int
rec_version(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p + 1;
	int			dots = 0;

	if ((*p | 0x20) != 'v' || !IS_DIGIT(l4_at(s, q)))
		return 0;
	while (IS_DIGIT(l4_at(s, q)) || (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1))))
		dots += *q++ == '.';
	return dots > 0 && !is_word(s, q) ? q - p : 0;
}

/* A number with sign, fraction, exponent, percent sign or unit. */
int
l4_rec_number(L4Scan *s, const uint8 *p, int *kind)
{
	const uint8 *q = p;
	const uint8 *whole = NULL;
	int			dots = 0;
	int			unit;

	*kind = L4_MASK_NUMBER;
	if (*q == '-' || *q == '+')
		q++;
	q += digits(s, q, s->end - q);
	while (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1)) && dots < 32)
	{
		dots++;
		whole = q++;
		q += digits(s, q, s->end - q);
	}
	if (l4_at(s, q) == '%' && !is_word(s, q + 1))
		return q + 1 - p;
	if ((l4_at(s, q) | 0x20) == 'e' && dots <= 1)
	{
		const uint8 *e = q + 1;

		if (l4_at(s, e) == '-' || l4_at(s, e) == '+')
			e++;
		if (IS_DIGIT(l4_at(s, e)) && (e > q + 1 || dots == 1))
		{
			e += digits(s, e, 4);
			if (!is_word(s, e))
				return e - p;
		}
	}
	unit = dots <= 1 ? l4_rec_unit(s, q, kind) : 0;
	if (unit > 0)
		return q + unit - p;
	if (!is_word(s, q))
		return q - p;
	/* 1.0beta: what stands before the last dot is a number */
	return whole ? whole - p : 0;
}

/* At a digit that starts a word. */
int
l4_rec_digit(L4Scan *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	bool		after_dot = before && *before == '.';
	int			n;

	if (sig & C_COLON)
	{
		if ((n = rec_colon_hex(s, p, kind)) > 0)
			return n;
		if ((n = rec_pci(s, p)) > 0)
		{
			*kind = L4_MASK_ID;
			return n;
		}
		if (!(before && (*before == ':' || *before == '-' || *before == '/')) && (n = l4_rec_time(s, p)) > 0)
		{
			*kind = L4_MASK_TIME;
			return n;
		}
	}
	if (sig & C_DASH)
	{
		if ((n = rec_uuid(s, p)) > 0)
		{
			*kind = L4_MASK_UUID;
			return n;
		}
	}
	if (sig & C_DOT)
	{
		if (!after_dot && (n = rec_ip(s, p)) > 0)
		{
			*kind = L4_MASK_IP;
			return n;
		}
		if ((sig & C_LETTER) && !(before && ((s->cls[*before] & (C_DOT | C_SLASH | C_AT | C_DASH)) || *before == '$')) && (n = rec_host(s, p, sig)) > 0)
		{
			*kind = L4_MASK_HOST;
			return n;
		}
	}
	if ((sig & C_AT) && (n = rec_email(s, p)) > 0)
	{
		*kind = L4_MASK_EMAIL;
		return n;
	}
	return l4_rec_number(s, p, kind);
}

/* At a letter that starts a word. */
int
l4_rec_alpha(L4Scan *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	bool		joined = before && ((s->cls[*before] & (C_DOT | C_SLASH | C_AT | C_DASH)) || *before == '$');
	int			n;

	if ((sig & (C_COLON | C_SLASH)) == (C_COLON | C_SLASH) && (n = rec_url(s, p)) > 0)
	{
		*kind = L4_MASK_URL;
		return n;
	}
	if (sig & C_AT)
	{
		if ((n = rec_email(s, p)) > 0)
		{
			*kind = L4_MASK_EMAIL;
			return n;
		}
		if (!(before && *before == '.') && (n = rec_object(s, p)) > 0)
		{
			*kind = L4_MASK_ID;
			return n;
		}
	}
	if ((sig & C_BSLASH) && (n = rec_winpath(s, p)) > 0)
	{
		*kind = L4_MASK_PATH;
		return n;
	}
	if (((sig & C_DOT) || (sig & (C_DASH | C_DIGIT)) == (C_DASH | C_DIGIT) || (*p | 0x20) == 'l') &&
		!joined && (n = rec_host(s, p, sig)) > 0)
	{
		*kind = L4_MASK_HOST;
		return n;
	}
	if (sig & C_DIGIT)
	{
		if ((sig & C_DOT) && (n = rec_version(s, p)) > 0)
		{
			*kind = L4_MASK_ID;
			return n;
		}
		if ((sig & C_COLON) && (n = rec_colon_hex(s, p, kind)) > 0)
			return n;
		if (sig & C_DASH)
		{
			if ((n = rec_uuid(s, p)) > 0)
			{
				*kind = L4_MASK_UUID;
				return n;
			}
			if ((n = rec_node(s, p)) > 0)
			{
				*kind = L4_MASK_ID;
				return n;
			}
		}
	}
	return 0;
}

/* At a byte of structure: paths, signed numbers, IPv6 that starts with a colon. */
int
l4_rec_punct(L4Scan *s, const uint8 *p, uint32 sig, int *kind)
{
	const uint8 *before = p > s->msg ? p - 1 : NULL;
	int			n;

	switch (*p)
	{
		case '/':
		case '.':
		case '~':
			if (before && *before && (strchr(".-/<>*)]", *before) || (s->cls[*before] & C_WORD)))
				return 0;
			if (p == s->mark_end)
				return 0;
			if (*p == '/' && (n = rec_ip(s, p)) > 0)
			{
				*kind = L4_MASK_IP;
				return n;
			}
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
				return rec_colon_hex(s, p, kind);
			return 0;
		default:
			return 0;
	}
}

/* "<1 sec": a duration below a bound. p is at the '<'. */
int
l4_rec_fuzzy(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p + 1;
	int			kind = L4_MASK_NUMBER;
	int			n = digits(s, q, 20);

	if (n == 0 || WORD_BEFORE(s, p))
		return 0;
	q += n;
	if (l4_at(s, q) == ' ' && (text_at(s, q + 1, "sec") || text_at(s, q + 1, "ms")))
		q++;
	n = l4_rec_unit(s, q, &kind);
	return n > 0 && kind == L4_MASK_DURATION ? q + n - p : 0;
}

/* A dotted name that is given as a value: what follows name= in name=com.example.Foo/.Bar@1f */
int
l4_rec_dotted_value(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	int			dots = 0;

	if (!IS_ALPHA(*q) && *q != '_')
		return 0;
	while (is_word(s, q) || l4_at(s, q) == '-' || (dots > 0 && l4_at(s, q) == '$') ||
		   (l4_at(s, q) == '.' && (is_word(s, q + 1) || l4_at(s, q + 1) == '$')))
		dots += *q++ == '.';
	if (dots == 0)
		return 0;
	if (l4_at(s, q) == '/')
	{
		q++;
		while (is_word(s, q) || l4_at(s, q) == '.' || l4_at(s, q) == '$' || l4_at(s, q) == '-')
			q++;
	}
	if (l4_at(s, q) == '@' && is_word(s, q + 1))
	{
		q++;
		while (is_word(s, q))
			q++;
	}
	return is_word(s, q) || l4_at(s, q) == '/' ? 0 : q - p;
}
