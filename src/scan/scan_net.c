/*
 * scan_net.c
 *		Recognisers of addresses: IP, MAC and PCI addresses, URLs, host names.
 *		See scan_rec.c for what a recogniser is.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "scan/scan_int.h"

/* :port of one to max digits, not followed by a digit */
static int
port(L4ScanRun *s, const uint8 *p, int min)
{
	int			n;

	if (l4_at(s, p) != ':')
		return 0;
	n = l4_digits(s, p + 1, 6);
	return n >= min && n <= 5 ? n + 1 : 0;
}

/* four decimal groups; the caller checks what follows */
static int
ip4_plain(L4ScanRun *s, const uint8 *p)
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
l4_rec_ip(L4ScanRun *s, const uint8 *p)
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
l4_rec_family(L4ScanRun *s, const uint8 *p)
{
	return l4_at(s, p) == ' ' && l4_at(s, p + 1) == '(' &&
		(l4_text_at(s, p + 2, "ipv6)") || l4_text_at(s, p + 2, "ipv4)")) ? 7 : 0;
}

/* Groups of hex digits with colons between: MAC or IPv6 address. */
int
l4_rec_colon_hex(L4ScanRun *s, const uint8 *p, int *kind)
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
l4_rec_pci(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	int			n;

	if (l4_at(s, p + 4) != ':' && l4_at(s, p + 8) != ':')
		return 0;
	n = l4_hexdigits(s, q, 9);
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
l4_rec_url(L4ScanRun *s, const uint8 *p)
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

/* Names that start reversed domains: what follows is a class or a package. */
#define REVERSE_DNS " com org net java javax io edu gov sun android "

/* Last labels of hosts that have more than two letters. */
#define GENERIC_TLD " com net org edu gov mil info biz local lan internal arpa localdomain "

/* Last labels that are no host's: of files, which may have a line behind them. */
#define FILE_EXT " c h cc cpp cxx cu cuh hpp py pyx java go rs js ts rb pl sh log txt xml conf cfg json yaml yml so scala kt cs php " \
	"lua md html css sql jsonl toml ini pt pth bin "

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
l4_is_top_level(L4ScanRun *s, const uint8 *p, int len)
{
	if (len == 2)
	{
		const char *second = IS_ALPHA(*p) ? countries[(*p | 0x20) - 'a'] : "";

		while (*second && *second != (p[1] | 0x20))
			second++;
		return *second != 0;
	}
	return l4_ascii_listed((const char *) p, len, GENERIC_TLD);
}

/* A host's name without dots, up to q: name-12:port, localhost:port, name-a/IP. */
static int
single_label(L4ScanRun *s, const uint8 *p, const uint8 *q, const uint8 *last_part)
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
l4_rec_host(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;
	const uint8 *label = p;
	const uint8 *last_part = p;
	int			labels = 1;
	int			first_len;
	bool		digit = false;
	bool		known = true;
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
	for (const uint8 *r = label; r < q; r++)
		known &= IS_ALPHA(*r);
	known = known && ((labels >= 3 && digit && q - label >= 2) || l4_is_top_level(s, label, q - label)) &&
		!l4_ascii_listed((const char *) p, first_len, REVERSE_DNS) &&
		!(labels >= 3 && l4_ascii_listed((const char *) label, q - label, FILE_EXT));
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
		IS_ALPHA(*label) && !l4_ascii_listed((const char *) label, q - label, FILE_EXT))
		return q + n - p;
	return 0;
}
