/*
 * scan_parts.c
 *		Compounds: runs of bytes without blanks and hard delimiters that are
 *		more than a word or a number. They are taken apart by the recognisers,
 *		then cut into parts that are variable as a whole or not at all.
 */
#include "postgres.h"

#include "scan/scan_int.h"

/* What a part of a slot is made of, while fix_parts walks over it. */
typedef struct Part
{
	int			text;			/* where it starts in the shape's text */
	int			slot;			/* its first slot */
	const uint8 *raw;			/* where it starts in the message */
	int			letters;
	int			digits;
	int			others;
	int			marks;
	bool		digit_first;
} Part;

bool
l4_mixed(int letters, int digits, bool digit_first)
{
	return letters > 0 && (digits >= 2 || (digit_first && letters <= 2));
}

/*
 * Close a part whose text ends at w and whose bytes end at raw: one mark if it
 * varies. A part of one mark that follows such a part and a full stop is
 * joined with it. Returns the new w; *prev is where a part of one mark ended.
 */
static int
close_part(L4ScanRun *s, Part *part, int w, int *nslots, const uint8 *raw, int *prev)
{
	L4Shape    *out = s->out;
	int			plain = part->letters + part->digits + part->others;
	bool		sole = part->marks == 1 && plain == 0;

	if (part->marks > 1 || (part->marks == 1 && plain > 0) ||
		(part->marks == 0 && l4_mixed(part->letters, part->digits, part->digit_first)))
	{
		if (part->marks == 0)
		{
			if (part->slot >= out->slots_size)
				l4_grow_slots(out);
			out->slots[part->slot].mask = L4_MASK_ID;
		}
		else if (plain > 0)
			out->slots[part->slot].mask = L4_MASK_ID;
		out->slots[part->slot].off = part->raw - s->msg;
		out->slots[part->slot].len = raw - part->raw;
		*nslots = part->slot + 1;
		out->text[part->text] = L4_MARK;
		w = part->text + 1;
		sole = true;
	}
	if (sole && *prev >= 0 && *prev + 2 == w && out->text[*prev] == '.')
	{
		L4Slot	   *first = &out->slots[*nslots - 2];

		first->len = raw - s->msg - first->off;
		first->mask = L4_MASK_ID;
		(*nslots)--;
		w -= 2;
	}
	*prev = sole ? w : -1;
	return w;
}

/*
 * Cut what was written since text position from, slot first_slot and message
 * byte raw into parts and put one mark for each that varies. Marks that the
 * parts add may stand before slots not yet read: those are moved aside first.
 */
static void
fix_parts(L4ScanRun *s, int from, int first_slot, const uint8 *raw)
{
	L4Shape    *out = s->out;
	int			nold = out->nslots - first_slot;
	int			ntext = out->len - from;
	int			read;
	int			w = from;
	int			nslots = first_slot;
	int			prev = -1;
	Part		part = {0};

	/* at most one new slot for every second byte: move the old ones behind them */
	while (out->slots_size < first_slot + ntext + nold + 1)
		l4_grow_slots(out);
	read = first_slot + ntext;
	memmove(out->slots + read, out->slots + first_slot, nold * sizeof(L4Slot));
	part.text = w;
	part.slot = nslots;
	part.raw = raw;
	for (int i = from; i < from + ntext; i++)
	{
		uint8		c = out->text[i];
		uint32		cls = s->cls[c];

		if (unlikely((i - from) % L4_SCAN_STRIDE == L4_SCAN_STRIDE - 1))
			CHECK_FOR_INTERRUPTS();
		if (c == L4_MARK)
		{
			out->slots[nslots] = out->slots[read++];
			raw = s->msg + out->slots[nslots].off + out->slots[nslots].len;
			nslots++;
			part.marks++;
		}
		else
		{
			if (cls & (C_SEP | C_DELIM))
			{
				w = close_part(s, &part, w, &nslots, raw, &prev);
				raw++;
				out->text[w++] = c;
				memset(&part, 0, sizeof(part));
				part.text = w;
				part.slot = nslots;
				part.raw = raw;
				continue;
			}
			raw++;
			if (cls & C_DIGIT)
			{
				part.digit_first |= part.letters + part.digits + part.others == 0;
				part.digits++;
			}
			else if (cls & C_LETTER)
				part.letters++;
			else
				part.others++;
		}
		out->text[w++] = c;
	}
	w = close_part(s, &part, w, &nslots, raw, &prev);
	out->len = w;
	out->nslots = nslots;
}

/* One mark for each part between separators. */
static void
mark_parts(L4ScanRun *s, const uint8 *p, int len, uint8 separator, int kind)
{
	const uint8 *part = p;

	for (const uint8 *q = p; q < p + len; q++)
		if (*q == separator)
		{
			l4_mark(s, part, q - part, kind);
			l4_literal(s, q, 1);
			part = q + 1;
		}
	l4_mark(s, part, p + len - part, kind);
}

/* A date is written with three marks, with its time as one; returns its length or 0. */
static int
date_parts(L4ScanRun *s, const uint8 *p)
{
	bool		whole;
	int			len = l4_rec_date(s, p, &whole);

	if (len == 0)
		return 0;
	if (whole)
		l4_mark(s, p, len, L4_MASK_DATE);
	else
		mark_parts(s, p, len, IS_DIGIT(p[2]) ? p[4] : p[2], L4_MASK_DATE);
	s->date_end = p + len;
	return len;
}

/* The time right after a date, in its three parts. */
static int
time_parts(L4ScanRun *s, const uint8 *p)
{
	int			len = l4_rec_time(s, p);

	if (len < 7)
		return 0;
	mark_parts(s, p, len, ':', L4_MASK_TIME);
	return len;
}

/* One piece of a compound at p; returns where the next starts. */
static const uint8 *
piece(L4ScanRun *s, const uint8 *p, uint32 sig)
{
	uint32		c = s->cls[*p];
	int			kind = L4_MASK_NONE;
	int			n = 0;
	int			len;
	const uint8 *q;
	bool		has_digit;

	if (!(c & C_WORD))
	{
		n = l4_rec_punct(s, p, sig, &kind);
		if (n > 0)
			l4_mark(s, p, n, kind);
		else
			l4_literal(s, p, n = 1);
		return p + n;
	}
	if (!WORD_BEFORE(s, p))
	{
		if (c & C_DIGIT)
		{
			if ((sig & (C_DASH | C_SLASH | C_DOT)) && (n = date_parts(s, p)) > 0)
				return p + n;
			if ((sig & C_SLASH) && (sig & C_LETTER) && (n = l4_rec_web_date(s, p)) > 0)
			{
				l4_mark(s, p, n, L4_MASK_DATE);
				return p + n;
			}
			if (s->date_end && (p == s->date_end + 1) && (n = time_parts(s, p)) > 0)
				return p + n;
			n = l4_rec_digit(s, p, sig, &kind);
		}
		else if (sig & C_STRUCT)
			n = l4_rec_alpha(s, p, sig, &kind);
		if (n > 0)
		{
			if (kind == L4_MASK_HOST || kind == L4_MASK_IP)
				n += l4_rec_family(s, p + n);
			l4_mark(s, p, n, kind);
			return p + n;
		}
	}
	len = l4_word_run(s, p);
	q = p + len;
	has_digit = l4_has_digit(s, p, len);
	if (!WORD_BEFORE(s, p))
	{
		n = 0;
		if ((len == 4 || len == 5) && !has_digit && l4_rec_constant(p, len))
		{
			n = len;
			kind = L4_MASK_CONSTANT;
		}
		else if ((sig & C_DASH) && (n = l4_rec_id_tail(s, q, len)) > 0)
		{
			n += len;
			kind = L4_MASK_ID;
		}
		else if (has_digit || (len >= 8 && (s->cls[*p] & s->cls[p[1]] & C_HEXL)))
			n = l4_rec_word(s, p, len, &kind);
		if (n > 0)
		{
			l4_mark(s, p, n, kind);
			return p + n;
		}
	}
	s->fix |= has_digit || l4_touches(s, false);
	l4_literal(s, p, len);
	return q;
}

/* A value follows: name=value */
static inline bool
after_equals(L4ScanRun *s, const uint8 *p)
{
	if (p > s->msg && p[-1] == ' ')
		p--;
	return p > s->msg && p[-1] == '=' && !(p - 1 > s->msg && p[-2] == '=');
}

/*
 * The most frequent compounds, which start with len digits: a date, a time, a
 * decimal, a number before a slash. Only what ends the compound as well is
 * taken here, so that the rest need not know; returns where it ends, or NULL.
 */
static const uint8 *
quick_number(L4ScanRun *s, const uint8 *p, int len)
{
	int			kind = L4_MASK_NUMBER;
	int			n = 8;
	uint64		digits = l4_digit_bits(s, p, Min(s->end - p, L4_WINDOW));

	/* dddd-dd-dd and dd:dd:dd by the places of their digits */
	if ((digits & 0x7ff) == 0x36f && (p[4] == '-' || p[4] == '/') && p[7] == p[4] && l4_ends(s, p + 10))
	{
		mark_parts(s, p, 10, p[4], L4_MASK_DATE);
		s->date_end = p + 10;
		return s->date_end;
	}
	if ((digits & 0x1ff) == 0xdb && p[2] == ':' && p[5] == ':')
	{
		if ((l4_at(s, p + 8) == ',' || l4_at(s, p + 8) == '.') && (digits & 0x200))
			n += 1 + l4_digits(s, p + 9, 9);
		if (!l4_ends(s, p + n))
			return NULL;
		if (s->date_end != NULL && p == s->date_end + 1)
			mark_parts(s, p, n, ':', L4_MASK_TIME);
		else
			l4_mark(s, p, n, L4_MASK_TIME);
		return p + n;
	}
	if (p[len] == '/' && l4_ends(s, p + len + 1))
	{
		l4_mark(s, p, len, kind);
		l4_literal(s, p + len, 1);
		return p + len + 1;
	}
	/* more dots: an address or a version */
	if (p[len] != '.' || (n = l4_rec_number(s, p, &kind)) == 0 || !l4_ends(s, p + n) ||
		memchr(p + len + 1, '.', Max(0, n - len - 1)) != NULL)
		return NULL;
	l4_mark(s, p, n, kind);
	return p + n;
}

/* A compound at p; returns where it ended. */
const uint8 *
l4_compound(L4ScanRun *s, const uint8 *p)
{
	int			from = s->out->len;
	int			first_slot = s->out->nslots;
	const uint8 *e = p;
	const uint8 *q = p;
	uint32		sig = 0;
	int			kind;
	int			n;

	if ((s->cls[*p] & C_DIGIT) && p != s->mark_end)
	{
		const uint8 *after;

		n = l4_word_run(s, p);
		if (p + n < s->end && l4_all_digits(s, p, n) && (after = quick_number(s, p, n)) != NULL)
			return after;
	}
	else if (*p == '/' && (n = l4_rec_punct(s, p, 0, &kind)) > 0 && l4_ends(s, p + n))
	{
		l4_mark(s, p, n, kind);
		return p + n;
	}
	while (e < s->end && (s->cls[*e] & C_COMPOUND))
		sig |= s->cls[*e++];

	if ((sig & C_DOT) && after_equals(s, p) && (n = l4_rec_dotted_value(s, p)) > 0)
	{
		l4_mark(s, p, n, L4_MASK_NAME);
		return p + n;
	}
	s->compound = from;
	s->fix = false;
	while (q < e)
	{
		CHECK_FOR_INTERRUPTS();
		q = piece(s, q, sig);
	}
	if (s->fix)
		fix_parts(s, from, first_slot, p);
	s->compound = PG_INT32_MAX;
	return q;
}
