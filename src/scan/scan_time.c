/*
 * scan_time.c
 *		Recognisers of dates and times of day. See scan_rec.c for what a
 *		recogniser is.
 */
#include "postgres.h"

#include "scan/scan_int.h"

#define MONTHS "JanFebMarAprMayJunJulAugSepOctNovDec"

/* Clock time d:dd[:dd[.fff]] */
int
l4_rec_time(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p + l4_digits(s, p, 3);

	if (q == p || q > p + 2 || l4_at(s, q) != ':' || l4_digits(s, q + 1, 3) != 2)
		return 0;
	q += 3;
	if (l4_at(s, q) == ':' && l4_digits(s, q + 1, 3) == 2)
	{
		q += 3;
		if ((l4_at(s, q) == '.' || l4_at(s, q) == ',') && IS_DIGIT(l4_at(s, q + 1)))
			q += 1 + l4_digits(s, q + 1, 9);
	}
	if (l4_is_word(s, q) || l4_at(s, q) == ':')
		return 0;
	return q - p;
}

/* 26.11.2026, 26/11/2026 or 11-26-2026: two digits, two and the year. */
static int
rec_year_last(L4ScanRun *s, const uint8 *p)
{
	uint8		sep = l4_at(s, p + 2);

	if ((sep != '.' && sep != '/' && sep != '-') || l4_digits(s, p, 3) != 2 || l4_digits(s, p + 3, 3) != 2 ||
		l4_at(s, p + 5) != sep || l4_digits(s, p + 6, 5) != 4 || l4_is_word(s, p + 10))
		return 0;
	return 10;
}

/*
 * A date at p: its length, 0 if there is none. Years have four digits; where they come first, with a T and a time right
 * behind, it is one value (*whole).
 */
int
l4_rec_date(L4ScanRun *s, const uint8 *p, bool *whole)
{
	const uint8 *q = p + 5;
	uint8		sep = l4_at(s, p + 4);
	int			n;

	*whole = false;
	if ((sep != '-' && sep != '/') || l4_digits(s, p, 5) != 4)
		return rec_year_last(s, p);
	n = l4_digits(s, q, 3);
	if (n < 1 || n > 2 || (sep == '-' && n != 2) || l4_at(s, q + n) != sep)
		return 0;
	q += n + 1;
	n = l4_digits(s, q, 3);
	if (n < 1 || n > 2 || (sep == '-' && n != 2))
		return 0;
	q += n;
	if (l4_at(s, q) == 'T' && l4_digits(s, q + 1, 3) == 2 && l4_at(s, q + 3) == ':' && l4_digits(s, q + 4, 3) == 2)
	{
		q += 6;
		if (l4_at(s, q) == ':')
			q += 1 + l4_digits(s, q + 1, 2);
		if (l4_at(s, q) == '.' || l4_at(s, q) == ',')
			q += 1 + l4_digits(s, q + 1, 9);
		if (l4_at(s, q) == 'Z')
			q++;
		else if ((l4_at(s, q) == '+' || l4_at(s, q) == '-') && l4_digits(s, q + 1, 3) == 2)
		{
			q += 3;
			if (l4_at(s, q) == ':')
				q++;
			q += l4_digits(s, q, 2);
		}
		*whole = true;
	}
	return l4_is_word(s, q) ? 0 : q - p;
}

static bool
in_names(const uint8 *p, const char *names)
{
	for (; *names; names += 3)
		if (memcmp(p, names, 3) == 0)
			return true;
	return false;
}

/* 21/Nov/2026:11:01:02 +0000, as web servers write it */
int
l4_rec_web_date(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p + l4_digits(s, p, 3);

	if (q == p || q > p + 2 || s->end - q < 18 || *q != '/' || !in_names(q + 1, MONTHS) || q[4] != '/' ||
		l4_digits(s, q + 5, 5) != 4 || q[9] != ':')
		return 0;
	q += 10;
	if (l4_rec_time(s, q) != 8)
		return 0;
	q += 8;
	if (l4_at(s, q) == ' ' && (l4_at(s, q + 1) == '+' || l4_at(s, q + 1) == '-') && l4_digits(s, q + 2, 5) == 4)
		q += 6;
	return l4_is_word(s, q) ? 0 : q - p;
}

/* Mon Jan  2 10:11:12 [CET] 2024, with and without weekday, zone and year */
int
l4_rec_day(L4ScanRun *s, const uint8 *p)
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
	if (s->end - q < 12 || !in_names(q, MONTHS) || q[3] != ' ')
		return 0;
	q += 4;
	if (*q == ' ')
		q++;
	n = l4_digits(s, q, 3);
	if (n < 1 || n > 2)
		return 0;
	q += n;
	if (l4_at(s, q) == ',')
		q++;
	if (l4_at(s, q++) != ' ')
		return 0;
	if (l4_digits(s, q, 5) == 4 && l4_at(s, q + 4) == ' ')
		q += 5;
	n = l4_rec_time(s, q);
	if (n < 8)
		return 0;
	q += n;
	r = q;
	if (l4_at(s, r) == ' ')
	{
		for (r++, n = 0; n < 5 && l4_at(s, r + n) >= 'A' && l4_at(s, r + n) <= 'Z';)
			n++;
		if (n >= 3 && n <= 4 && !l4_is_word(s, r + n))
			q = r + n;
		if (l4_at(s, q) == ' ' && l4_digits(s, q + 1, 5) == 4 && !l4_is_word(s, q + 5))
			q += 5;
	}
	return q - p;
}
