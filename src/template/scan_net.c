/*
 * scan_net.c
 *		Recognisers of addresses: IP, MAC and PCI addresses, URLs, host names.
 *		See scan_rec.c for what a recogniser is.
 */
#include "postgres.h"

#include "template/scan_int.h"

/* :port of one to max digits, not followed by a digit */
static int
port(L4Scan *s, const uint8 *p, int min)
{
	int			n;

	if (l4_at(s, p) != ':')
		return 0;
	n = l4_digits(s, p + 1, 6);
	return n >= min && n <= 5 ? n + 1 : 0;
}

/* four decimal groups; the caller checks what follows */
static int
ip4_plain(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;

	for (int i = 0; i < 4; i++)
	{
		int			n = l4_digits(s, q, 4);

		if (n < 1 || n > 3)
			return 0;
		q += n;
		if (i < 3 && l4_at(s, q++) != '.')
			return 0;
	}
	return q - p;
}

/* [/]IP[:port], and a list of them */
int
l4_rec_ip(L4Scan *s, const uint8 *p)
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
		if (l4_is_word(s, q) || (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1))))
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
		(l4_text_at(s, p + 2, "ipv6)") || l4_text_at(s, p + 2, "ipv4)")) ? 7 : 0;
}

/* Groups of hex digits with colons between: MAC or IPv6 address. */
int
l4_rec_colon_hex(L4Scan *s, const uint8 *p, int *kind)
{
	const uint8 *q = p;
	int			groups = 0;
	int			pairs = 0;
	int			ndigits = 0;
	bool		gap = false;
	int			n;

	for (;;)
	{
		n = l4_hexdigits(s, q, 5);
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
	if (l4_is_word(s, q) || ndigits == 0)
		return 0;
	if (!gap && groups >= 4 && pairs == groups)
		*kind = L4_MASK_MAC;
	else if ((!gap && groups == 8) ||
			 (gap && groups <= 8 && (groups >= 3 || *p == ':' || l4_hexdigits(s, p, 5) == 4)))
		*kind = L4_MASK_IP;
	else
		return 0;
	return q - p;
}

/* PCI address: domain:bus:device with or without .function */
int
l4_rec_pci(L4Scan *s, const uint8 *p)
{
	const uint8 *q = p;
	int			n = l4_hexdigits(s, q, 9);

	if ((n != 4 && n != 8) || l4_at(s, q + n) != ':')
		return 0;
	q += n + 1;
	if (l4_hexdigits(s, q, 3) != 2 || l4_at(s, q + 2) != ':' || l4_hexdigits(s, q + 3, 3) != 2)
		return 0;
	q += 5;
	if (l4_at(s, q) == '.' && l4_hexdigits(s, q + 1, 2) == 1)
		q += 2;
	return l4_is_word(s, q) || (l4_at(s, q) == ':' && l4_is_word(s, q + 1)) ? 0 : q - p;
}

int
l4_rec_url(L4Scan *s, const uint8 *p)
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
		int			n = l4_rec_colon_hex(s, q + 1, &kind);

		if (n > 0 && l4_at(s, q + 1 + n) == ']')
		{
			q += n + 2;
			q += port(s, q, 1);
		}
	}
	return q > start ? q - p : 0;
}

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
		case LABEL3('c', 'o', 'm'):
		case LABEL3('o', 'r', 'g'):
		case LABEL3('n', 'e', 't'):
		case LABEL4('j', 'a', 'v', 'a'):
		case LABEL5('j', 'a', 'v', 'a', 'x'):
		case LABEL2('i', 'o'):
		case LABEL3('e', 'd', 'u'):
		case LABEL3('g', 'o', 'v'):
		case LABEL3('s', 'u', 'n'):
		case LABEL7('a', 'n', 'd', 'r', 'o', 'i', 'd'):
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
		case LABEL3('c', 'o', 'm'):
		case LABEL3('n', 'e', 't'):
		case LABEL3('o', 'r', 'g'):
		case LABEL3('e', 'd', 'u'):
		case LABEL3('g', 'o', 'v'):
		case LABEL3('m', 'i', 'l'):
		case LABEL4('i', 'n', 'f', 'o'):
		case LABEL3('b', 'i', 'z'):
		case LABEL5('l', 'o', 'c', 'a', 'l'):
		case LABEL3('l', 'a', 'n'):
		case LABEL8('i', 'n', 't', 'e', 'r', 'n', 'a', 'l'):
		case LABEL4('a', 'r', 'p', 'a'):
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

/* Is it the last label of a host's name? */
bool
l4_is_top_level(L4Scan *s, const uint8 *p, int len)
{
	if (len == 2)
	{
		const char *second = IS_ALPHA(*p) ? countries[(*p | 0x20) - 'a'] : "";

		while (*second && *second != (p[1] | 0x20))
			second++;
		return *second != 0;
	}
	return is_generic_tld(p, len) || (len == 11 && l4_text_at(s, p, "localdomain"));
}

/* A last label that is no host's: file names and their line. */
static bool
is_file_ext(const uint8 *p, int len)
{
	switch (label_of(p, len))
	{
		case LABEL1('c'):
		case LABEL1('h'):
		case LABEL2('c', 'c'):
		case LABEL3('c', 'p', 'p'):
		case LABEL3('c', 'x', 'x'):
		case LABEL2('c', 'u'):
		case LABEL3('c', 'u', 'h'):
		case LABEL3('h', 'p', 'p'):
		case LABEL2('p', 'y'):
		case LABEL3('p', 'y', 'x'):
		case LABEL4('j', 'a', 'v', 'a'):
		case LABEL2('g', 'o'):
		case LABEL2('r', 's'):
		case LABEL2('j', 's'):
		case LABEL2('t', 's'):
		case LABEL2('r', 'b'):
		case LABEL2('p', 'l'):
		case LABEL2('s', 'h'):
		case LABEL3('l', 'o', 'g'):
		case LABEL3('t', 'x', 't'):
		case LABEL3('x', 'm', 'l'):
		case LABEL4('c', 'o', 'n', 'f'):
		case LABEL3('c', 'f', 'g'):
		case LABEL4('j', 's', 'o', 'n'):
		case LABEL4('y', 'a', 'm', 'l'):
		case LABEL3('y', 'm', 'l'):
		case LABEL2('s', 'o'):
		case LABEL5('s', 'c', 'a', 'l', 'a'):
		case LABEL2('k', 't'):
		case LABEL2('c', 's'):
		case LABEL3('p', 'h', 'p'):
		case LABEL3('l', 'u', 'a'):
		case LABEL2('m', 'd'):
		case LABEL4('h', 't', 'm', 'l'):
		case LABEL3('c', 's', 's'):
		case LABEL3('s', 'q', 'l'):
		case LABEL5('j', 's', 'o', 'n', 'l'):
		case LABEL4('t', 'o', 'm', 'l'):
		case LABEL3('i', 'n', 'i'):
		case LABEL2('p', 't'):
		case LABEL3('p', 't', 'h'):
		case LABEL3('b', 'i', 'n'):
			return true;
		default:
			return false;
	}
}

/* A host's name without dots, up to q: name-12:port, localhost:port, name-a/IP. */
static int
single_label(L4Scan *s, const uint8 *p, const uint8 *q, const uint8 *last_part)
{
	bool		dashed = last_part > p;
	int			n = port(s, q, 2);

	if (n > 0 && !l4_is_word(s, q + n) && l4_at(s, q + n) != ':' &&
		((dashed && l4_digits(s, last_part, q - last_part) == q - last_part) ||
		 (q - p == 9 && l4_text_at(s, p, "localhost"))))
		return q + n - p;
	if (dashed && l4_at(s, q) == '/' && (n = ip4_plain(s, q + 1)) > 0)
	{
		q += n + 1;
		q += port(s, q, 1);
		return l4_is_word(s, q) ? 0 : q - p;
	}
	return 0;
}

/*
 * Host names: labels with dots between and a known or telling form, name-12:port,
 * each with an address and a port after it. What stands before p was checked.
 */
int
l4_rec_host(L4Scan *s, const uint8 *p)
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
		else if (c == '.' && l4_is_word(s, q + 1))
		{
			labels++;
			label = last_part = ++q;
		}
		else
			break;
	}
	if (labels == 1)
		return single_label(s, p, q, last_part);
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
	known = ends_ok && ((labels >= 3 && digit && q - label >= 2) || l4_is_top_level(s, label, q - label)) &&
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
	if (n > 0 && !l4_is_word(s, q + n) && l4_at(s, q + n) != ':' && l4_at(s, q + n) != '.' &&
		IS_ALPHA(*label) && !is_file_ext(label, q - label))
		return q + n - p;
	return 0;
}
