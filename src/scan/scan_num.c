/*
 * scan_num.c
 *		Recognisers of numbers: with units, versions, groups of thousands,
 *		bounds, and the drawing of progress bars. See scan_rec.c for what a
 *		recogniser is.
 */
#include "postgres.h"

#include "scan/scan_int.h"

/*
 * A unit right after a number that ends at p: what it adds to the number's
 * length. A size may have a blank before its unit.
 */
int
l4_rec_unit(L4ScanRun *s, const uint8 *p, int *kind)
{
	static const char *const units[] = {"secs", "sec", "msecs", "msec", "ms", "us", "ns"};
	int			n = 0;
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
			if (l4_is_word(s, q))
				return 0;
			*kind = L4_MASK_SIZE;
			return q - p;
		default:
			break;
	}
	if (q > p)
	{
		/* the unit of a time stays in the template, the number is still one */
		if (l4_text_at(s, q, "ms") || l4_text_at(s, q, "sec"))
			*kind = L4_MASK_DURATION;
		return 0;
	}
	for (int i = 0; i < lengthof(units); i++)
		if ((c | 0x20) == units[i][0] && l4_text_at(s, q, units[i]))
		{
			n = strlen(units[i]);
			break;
		}
	if (n == 0 && c != 's' && c != 'm' && c != 'h')
		return 0;
	q += Max(n, 1);
	if (l4_is_word(s, q))
		return 0;
	*kind = L4_MASK_DURATION;
	return q - p;
}

/* v1.2.3 */
int
l4_rec_version(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p + 1;
	int			dots = 0;

	if ((*p | 0x20) != 'v' || !IS_DIGIT(l4_at(s, q)))
		return 0;
	while (IS_DIGIT(l4_at(s, q)) || (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1))))
		dots += *q++ == '.';
	return dots > 0 && !l4_is_word(s, q) ? q - p : 0;
}

/*
 * Groups of three digits, and a fraction, behind the first ones: 1,234,567.8. p
 * is behind 1 to 3 digits; the length of it. What ends a run of groups decides
 * for all of it, so a list is looked through once.
 */
int
l4_rec_thousands(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;

	if (p < s->list_end)
		return 0;
	while (l4_at(s, q) == ',' && l4_digits(s, q + 1, 4) == 3)
		q += 4;
	if (q > p && l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1)))
		q += 1 + l4_digits(s, q + 1, 20);
	/* of a list the next element would follow */
	if (l4_is_word(s, q) || (l4_at(s, q) == ',' && IS_DIGIT(l4_at(s, q + 1))))
	{
		s->list_end = q;
		return 0;
	}
	return q - p;
}

/* What is drawn between the bars of a progress bar, p is behind the first one: its length. */
int
l4_rec_bar(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p;

	while (q < s->end && q - p < 1000 && (*q >= 0x80 || IS_DIGIT(*q) || (*q && strchr(" #=>-.", *q))))
		q++;
	return q > p && l4_at(s, q) == '|' ? q - p : 0;
}

/* A number with sign, fraction, exponent, percent sign or unit. */
int
l4_rec_number(L4ScanRun *s, const uint8 *p, int *kind)
{
	const uint8 *q = p;
	const uint8 *whole = NULL;
	int			dots = 0;
	int			unit;

	*kind = L4_MASK_NUMBER;
	if (*q == '-' || *q == '+')
		q++;
	q += l4_digits(s, q, s->end - q);
	while (l4_at(s, q) == '.' && IS_DIGIT(l4_at(s, q + 1)) && dots < 32)
	{
		dots++;
		whole = q++;
		q += l4_digits(s, q, s->end - q);
	}
	if (l4_at(s, q) == '%' && !l4_is_word(s, q + 1))
		return q + 1 - p;
	if ((l4_at(s, q) | 0x20) == 'e' && dots <= 1)
	{
		const uint8 *e = q + 1;

		if (l4_at(s, e) == '-' || l4_at(s, e) == '+')
			e++;
		if (IS_DIGIT(l4_at(s, e)) && (e > q + 1 || dots == 1))
		{
			e += l4_digits(s, e, 4);
			if (!l4_is_word(s, e))
				return e - p;
		}
	}
	unit = dots <= 1 ? l4_rec_unit(s, q, kind) : 0;
	if (unit > 0)
		return q + unit - p;
	if (!l4_is_word(s, q))
		return q - p;
	/* 1.0beta: what stands before the last dot is a number */
	return whole ? whole - p : 0;
}

/* "<1 sec": a duration below a bound. p is at the '<'. */
int
l4_rec_fuzzy(L4ScanRun *s, const uint8 *p)
{
	const uint8 *q = p + 1;
	int			kind = L4_MASK_NUMBER;
	int			n = l4_digits(s, q, 20);

	if (n == 0 || WORD_BEFORE(s, p))
		return 0;
	q += n;
	if (l4_at(s, q) == ' ' && (l4_text_at(s, q + 1, "sec") || l4_text_at(s, q + 1, "ms")))
		q++;
	n = l4_rec_unit(s, q, &kind);
	return n > 0 && kind == L4_MASK_DURATION ? q + n - p : 0;
}
