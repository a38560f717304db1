/*
 * scan_int.h
 *		What the scanner (scan.c) and its recognisers (scan_rec.c) share.
 */
#ifndef L4_SCAN_INT_H
#define L4_SCAN_INT_H

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "scan/scan.h"

/* Class bits of a byte. */
#define C_BLANK		0x0001		/* blanks and control bytes */
#define C_LETTER	0x0002		/* letters, bytes above 127 */
#define C_DIGIT		0x0004
#define C_HEXL		0x0008		/* a-f, A-F (also C_LETTER) */
#define C_NONHEX	0x0010		/* letters that are not hex digits, and _ */
#define C_USCORE	0x0020
#define C_DOT		0x0040
#define C_COLON		0x0080
#define C_SLASH		0x0100
#define C_BSLASH	0x0200
#define C_AT		0x0400
#define C_DASH		0x0800
#define C_OTHER		0x1000		/* + % ~ * ^ and the backtick: inside a token, no structure of their own */
#define C_UNIT		0x10000		/* a unit may start with it */
#define C_HARD		0x2000		/* ends a token whatever stands around it */
#define C_DELIM		0x4000		/* separates slots */
#define C_PATH		0x8000		/* may stand in a path */

#define C_WORD		(C_LETTER | C_DIGIT | C_USCORE)
#define C_STRUCT	(C_DOT | C_COLON | C_SLASH | C_BSLASH | C_AT | C_DASH | C_OTHER)
#define C_COMPOUND	(C_WORD | C_STRUCT)
#define C_SEP		(C_DOT | C_DASH | C_SLASH | C_BSLASH | C_OTHER)	/* cuts a slot into parts */

/* One scan. Pointers into the message; the output cursor is text + out->len. */
typedef struct L4ScanRun
{
	const uint32 *cls;
	const uint8 *msg;
	const uint8 *end;			/* of what may be looked at: the message or the next user range */
	const uint8 *mark_end;		/* where the last mark ended in the message, NULL none */
	const uint8 *date_end;		/* where the last date ended */
	const uint8 *list_end;		/* up to here groups of three digits are a list, not a number */
	const uint64 *words;		/* bits of the message's bytes, see classify */
	const uint64 *digits;
	const uint64 *ends;
	L4Shape    *out;
	bool		builtin;
	int			compound;		/* where the compound being written starts in the text */
	bool		fix;			/* it needs to be cut into parts */
	int			max_text;
	const uint8 *msg_end;
	const uint8 *safe;			/* up to here the output is whole tokens: */
	int			safe_text;		/* so much text */
	int			safe_slots;		/* and slots */
} L4ScanRun;

#define IS_DIGIT(c)		((uint8) ((c) - '0') <= 9)
#define IS_ALPHA(c)		((uint8) (((c) | 0x20) - 'a') <= 25)
#define IS_HEX(c)		(IS_DIGIT(c) || (uint8) (((c) | 0x20) - 'a') <= 5)

/* Up to where a loop over bytes goes on from p before it asks again. */
static inline const uint8 *
l4_next_stop(const uint8 *p, const uint8 *end)
{
	CHECK_FOR_INTERRUPTS();
	return end - p > L4_SCAN_STRIDE ? p + L4_SCAN_STRIDE : end;
}

/* Byte at p, a blank past the end. */
static inline uint8
l4_at(const L4ScanRun *s, const uint8 *p)
{
	return p < s->end ? *p : (uint8) ' ';
}

static inline uint32
l4_class(const L4ScanRun *s, const uint8 *p)
{
	return p < s->end ? s->cls[*p] : (uint32) C_BLANK;
}

static inline bool
l4_is_word(L4ScanRun *s, const uint8 *p)
{
	return (l4_class(s, p) & C_WORD) != 0;
}

static inline int
l4_digits(L4ScanRun *s, const uint8 *p, int max)
{
	int			n = 0;

	while (n < max && p + n < s->end && IS_DIGIT(p[n]))
		n++;
	return n;
}

static inline int
l4_hexdigits(L4ScanRun *s, const uint8 *p, int max)
{
	int			n = 0;

	while (n < max && p + n < s->end && IS_HEX(p[n]))
		n++;
	return n;
}

/* Does the message go on with this text at p, whatever the case of letters? */
static inline bool
l4_text_at(L4ScanRun *s, const uint8 *p, const char *text)
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

/* How many bits l4_window gives at least; those above may be zero. */
#define L4_WINDOW	57

/* The bits from bit i on. */
static inline uint64
l4_window(const uint64 *bits, int i)
{
#ifndef WORDS_BIGENDIAN
	uint64		v;

	/* one load from the byte that bit i is in */
	memcpy(&v, (const char *) bits + (i >> 3), sizeof(v));
	return v >> (i & 7);
#else
	return (bits[i >> 6] >> (i & 63)) | (bits[(i >> 6) + 1] << 1 << (63 - (i & 63)));
#endif
}

/* How many bytes of a word stand at p; ends with what may be looked at. */
static inline int
l4_word_run(const L4ScanRun *s, const uint8 *p)
{
	int			max = s->end - p;
	int			n = 0;

	while (n < max)
	{
		int			run = pg_rightmost_one_pos64(~(l4_window(s->words, p - s->msg + n) &
												   ((UINT64CONST(1) << L4_WINDOW) - 1)));

		n += run;
		if (run < L4_WINDOW)
			break;
	}
	return Min(n, max);
}

/* The bits of digits among the len bytes at p, len at most L4_WINDOW. */
static inline uint64
l4_digit_bits(const L4ScanRun *s, const uint8 *p, int len)
{
	return l4_window(s->digits, p - s->msg) & ((UINT64CONST(1) << len) - 1);
}

/* Is one of len bytes at p a digit? */
static inline bool
l4_has_digit(const L4ScanRun *s, const uint8 *p, int len)
{
	for (; len > 0; len -= L4_WINDOW, p += L4_WINDOW)
		if (l4_digit_bits(s, p, Min(len, L4_WINDOW)) != 0)
			return true;
	return false;
}

/* Are the len bytes at p digits? More than a window counts as no. */
static inline bool
l4_all_digits(const L4ScanRun *s, const uint8 *p, int len)
{
	return len <= L4_WINDOW && l4_digit_bits(s, p, len) == (UINT64CONST(1) << len) - 1;
}

/* Does a token end at p whatever it is? */
static inline bool
l4_ends(const L4ScanRun *s, const uint8 *p)
{
	return (l4_class(s, p) & (C_BLANK | C_HARD)) != 0;
}

/* A word byte or a mark stands right before p. */
#define WORD_BEFORE(s, p) \
	((p) == (s)->mark_end || ((p) > (s)->msg && ((s)->cls[(p)[-1]] & C_WORD)))

/*
 * Recognisers: length of what starts at p, 0 if it is not there. sig holds
 * the classes that occur in the compound around p.
 */
extern int	l4_rec_ip(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_colon_hex(L4ScanRun *s, const uint8 *p, int *kind);
extern int	l4_rec_pci(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_url(L4ScanRun *s, const uint8 *p);
extern bool l4_is_top_level(L4ScanRun *s, const uint8 *p, int len);
extern int	l4_rec_host(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_alpha(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_digit(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_family(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_id_tail(L4ScanRun *s, const uint8 *p, int len);
extern int	l4_rec_punct(L4ScanRun *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_word(L4ScanRun *s, const uint8 *p, int len, int *kind);
extern bool l4_rec_hex(const L4ScanRun *s, const uint8 *p, int len);
extern int	l4_rec_number(L4ScanRun *s, const uint8 *p, int *kind);
extern bool l4_rec_method(const uint8 *p, int len);
extern int	l4_rec_unit(L4ScanRun *s, const uint8 *p, int *kind);
extern int	l4_rec_version(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_time(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_date(L4ScanRun *s, const uint8 *p, bool *whole);
extern int	l4_rec_fuzzy(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_dotted_value(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_day(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_web_date(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_bar(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_thousands(L4ScanRun *s, const uint8 *p);
extern int	l4_rec_request(L4ScanRun *s, const uint8 *p);
extern bool l4_rec_constant(const uint8 *p, int len);

/* scan_parts.c */
extern bool l4_mixed(int letters, int digits, bool digit_first);
extern const uint8 *l4_compound(L4ScanRun *s, const uint8 *p);

static inline void
l4_grow_slots(L4Shape *out)
{
	out->slots_size *= 2;
	out->slots = repalloc_huge(out->slots, out->slots_size * sizeof(L4Slot));
}

static inline void
l4_add_slot(L4ScanRun *s, const uint8 *p, int len, int kind)
{
	L4Shape    *out = s->out;
	L4Slot	   *slot;

	if (unlikely(out->nslots == out->slots_size))
		l4_grow_slots(out);
	slot = &out->slots[out->nslots++];
	slot->off = p - s->msg;
	slot->len = len;
	slot->mask = kind;
}

/*
 * Does what is about to be written make one part with what stands before it,
 * or a pair of variables that a full stop joins? Then the compound needs
 * fix_parts.
 */
static inline bool
l4_touches(L4ScanRun *s, bool variable)
{
	const char *text = s->out->text;
	int			len = s->out->len;
	uint8		last;

	if (len <= s->compound)
		return false;
	last = text[len - 1];
	if (last == L4_MARK)
		return true;
	if (!variable)
		return false;
	return (s->cls[last] & C_WORD) || (last == '.' && len - 1 > s->compound && text[len - 2] == L4_MARK);
}

static inline void
l4_mark(L4ScanRun *s, const uint8 *p, int len, int kind)
{
	s->fix |= l4_touches(s, true);
	l4_add_slot(s, p, len, kind);
	s->out->text[s->out->len++] = L4_MARK;
	s->mark_end = p + len;
}

static inline void
l4_literal(L4ScanRun *s, const uint8 *p, int len)
{
	char	   *to = s->out->text + s->out->len;

	/* the output has room for a few bytes more than the message */
	if (len <= 16 && s->msg_end - p >= 16)
		memcpy(to, p, 16);
	else
		memcpy(to, p, len);
	s->out->len += len;
}

#endif							/* L4_SCAN_INT_H */
