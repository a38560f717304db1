/*
 * terminal.c
 *		What a terminal would show of a raw line, and progress bars on it.
 *
 * Bars are painted again and again behind carriage returns, without a line
 * end, so that a log has them in front of whatever is printed next: on the
 * same line, painted over or not.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/ascii.h"
#include "lines/line_int.h"

/* A bar's label, its drawing and its figures are not longer than this. */
#define L4_BAR_LABEL 80
#define L4_BAR_DRAWING 600
#define L4_BAR_FIGURES 400

/* Length of the escape sequence at p (ECMA-48: CSI, OSC, or two or three bytes). */
static int
escape_length(const char *p, const char *end)
{
	const char *s = p + 1;

	if (s == end)
		return 1;
	if (*s == '[')
	{
		for (s++; s < end && (unsigned char) *s >= 0x20 && (unsigned char) *s < 0x40; s++)
			;
		if (s < end && (unsigned char) *s >= 0x40 && (unsigned char) *s < 0x7F)
			s++;
		return s - p;
	}
	if (*s == ']')
	{
		for (s++; s < end && *s != '\a' && *s != '\033'; s++)
			;
		if (s < end && *s == '\a')
			s++;
		else if (s + 1 < end && s[1] == '\\')
			s += 2;
		return s - p;
	}
	if ((unsigned char) *s >= 0x20 && (unsigned char) *s < 0x30)
		return s + 1 < end && (unsigned char) s[1] < 0x7F ? 3 : 2;
	return (unsigned char) *s < 0x7F ? 2 : 1;
}

/* "12/60 [00:01<00:05, 9.1it/s]" and what is behind the drawing of other bars of that kind. */
static const char *
figures_end(const char *s, const char *end)
{
	const char *digits;

	while (s < end && *s == ' ')
		s++;
	digits = s;
	while (s < end && (l4_ascii_digit(*s) || *s == '.' || *s == 'k' || *s == 'M' || *s == 'G'))
		s++;
	if (s == digits || s == end || *s != '/')
		return NULL;
	for (s++; s < end && (l4_ascii_digit(*s) || *s == '.' || *s == 'k' || *s == 'M' || *s == 'G' || *s == '?'); s++)
		;
	if (end - s < 3 || s[0] != ' ' || s[1] != '[' || !l4_ascii_digit(s[2]))
		return NULL;
	s = memchr(s, ']', Min(end - s, L4_BAR_FIGURES));
	return s == NULL ? NULL : s + 1;
}

int
l4_bar_length(const char *p, int len)
{
	const char *end = p + len;
	const char *s = memchr(p, '|', Min(len, L4_BAR_LABEL));
	const char *stop;

	/* " 20%|", or "Training: |" before the total is known */
	if (s == NULL || s - p < 2 ||
		!((s[-1] == '%' && l4_ascii_digit(s[-2])) || (s[-1] == ' ' && s[-2] == ':')))
		return 0;
	stop = memchr(s + 1, '|', Min(end - s - 1, L4_BAR_DRAWING));
	stop = stop == NULL ? NULL : figures_end(stop + 1, end);
	return stop == NULL ? 0 : stop - p;
}

int
l4_bar_elapsed(const char *bar, int len)
{
	const char *s = memchr(bar, '|', len);
	const char *end = bar + len;
	int			seconds = 0;
	int			part = 0;

	s = s == NULL ? NULL : memchr(s + 1, '|', end - s - 1);
	s = s == NULL ? NULL : memchr(s, '[', end - s);
	if (s == NULL)
		return -1;
	/* "01:05", "1:01:05" */
	for (s++; s < end && (l4_ascii_digit(*s) || *s == ':'); s++)
	{
		if (*s != ':')
			part = part * 10 + (*s - '0');
		else
		{
			seconds = (seconds + part) * 60;
			part = 0;
		}
		if (part > 10000 || seconds > 100 * 86400)
			return -1;
	}
	return s < end && (*s == '<' || *s == ',') ? seconds + part : -1;
}

/* Only what the last carriage return left counts, but for the bar before it. */
static void
paint_over(const char **p, int *len, L4Wiped *wiped)
{
	const char *s = *p;
	const char *end = s + *len;
	const char *cr = end;
	const char *from;

	while (cr > s && cr[-1] != '\r')
		cr--;
	/* a carriage return in front of a line end belongs to it: that text has several lines */
	if (cr == end || memchr(s, '\n', *len) != NULL)
		return;
	wiped->first = s;
	wiped->first_len = (const char *) memchr(s, '\r', *len) - s;
	for (const char *stop = cr - 1; wiped->bar == NULL && stop > s; stop = from - 1)
	{
		for (from = stop; from > s && from[-1] != '\r'; from--)
			CHECK_FOR_INTERRUPTS();
		wiped->bar_len = l4_bar_length(from, stop - from);
		if (wiped->bar_len > 0)
			wiped->bar = from;
		if (from == s)
			break;
	}
	*p = cr;
	*len = end - cr;
}

void
l4_terminal_show(StringInfo plain, const char **p, int *len, L4Wiped *wiped)
{
	const char *s = *p;
	const char *end = s + *len;
	const char *esc;

	memset(wiped, 0, sizeof(*wiped));
	while (end > s && l4_ascii_blank(end[-1]))
		end--;
	*len = end - s;
	if (memchr(s, '\033', end - s) != NULL)
	{
		resetStringInfo(plain);
		while ((esc = memchr(s, '\033', end - s)) != NULL)
		{
			appendBinaryStringInfo(plain, s, esc - s);
			s = esc + escape_length(esc, end);
			CHECK_FOR_INTERRUPTS();
		}
		appendBinaryStringInfo(plain, s, end - s);
		while (plain->len > 0 && l4_ascii_blank(plain->data[plain->len - 1]))
			plain->len--;
		*p = plain->data;
		*len = plain->len;
	}
	if (memchr(*p, '\r', *len) != NULL)
		paint_over(p, len, wiped);
}
