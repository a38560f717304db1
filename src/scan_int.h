/*
 * scan_int.h
 *		What the scanner (scan.c) and its recognisers (scan_rec.c) share.
 */
#ifndef L4_SCAN_INT_H
#define L4_SCAN_INT_H

#include "port/pg_bitutils.h"

#include "scan.h"

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
typedef struct L4Scan
{
	const uint32 *cls;
	const uint8 *msg;
	const uint8 *end;			/* of what may be looked at: the message or the next user range */
	const uint8 *mark_end;		/* where the last mark ended in the message, NULL none */
	const uint8 *date_end;		/* where the last date ended */
	const uint64 *words;		/* bits of the message's bytes, see classify */
	const uint64 *digits;
	L4Shape    *out;
	bool		builtin;
	int			compound;		/* where the compound being written starts in the text */
	bool		fix;			/* it needs to be cut into parts */
	int			max_text;
	const uint8 *msg_end;
	const uint8 *safe;			/* up to here the output is whole tokens: */
	int			safe_text;		/* so much text */
	int			safe_slots;		/* and slots */
} L4Scan;

/* Byte at p, a blank past the end. */
static inline uint8
l4_at(const L4Scan *s, const uint8 *p)
{
	return p < s->end ? *p : (uint8) ' ';
}

static inline uint32
l4_class(const L4Scan *s, const uint8 *p)
{
	return p < s->end ? s->cls[*p] : (uint32) C_BLANK;
}

/* The 64 bits from bit i on. */
static inline uint64
l4_window(const uint64 *bits, int i)
{
	return (bits[i >> 6] >> (i & 63)) | (bits[(i >> 6) + 1] << 1 << (63 - (i & 63)));
}

/* How many bytes of a word stand at p; ends with what may be looked at. */
static inline int
l4_word_run(const L4Scan *s, const uint8 *p)
{
	int			max = s->end - p;
	int			n = 0;

	while (n < max)
	{
		uint64		gap = ~l4_window(s->words, p - s->msg + n);

		if (gap != 0)
		{
			n += pg_rightmost_one_pos64(gap);
			break;
		}
		n += 64;
	}
	return Min(n, max);
}

/* Is one of len bytes at p a digit? */
static inline bool
l4_has_digit(const L4Scan *s, const uint8 *p, int len)
{
	for (; len > 0; len -= 64, p += 64)
	{
		uint64		bits = l4_window(s->digits, p - s->msg);

		if (len < 64)
			bits &= (UINT64CONST(1) << len) - 1;
		if (bits != 0)
			return true;
	}
	return false;
}

/* A word byte or a mark stands right before p. */
#define WORD_BEFORE(s, p) \
	((p) == (s)->mark_end || ((p) > (s)->msg && ((s)->cls[(p)[-1]] & C_WORD)))

/*
 * Recognisers: length of what starts at p, 0 if it is not there. sig holds
 * the classes that occur in the compound around p.
 */
extern int	l4_rec_alpha(L4Scan *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_digit(L4Scan *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_family(L4Scan *s, const uint8 *p);
extern int	l4_rec_id_tail(L4Scan *s, const uint8 *p, int len);
extern int	l4_rec_punct(L4Scan *s, const uint8 *p, uint32 sig, int *kind);
extern int	l4_rec_word(L4Scan *s, const uint8 *p, int len, int *kind);
extern bool l4_rec_hex(const uint8 *p, int len);
extern int	l4_rec_number(L4Scan *s, const uint8 *p, int *kind);
extern bool l4_rec_method(const uint8 *p, int len);
extern int	l4_rec_unit(L4Scan *s, const uint8 *p, int *kind);
extern int	l4_rec_time(L4Scan *s, const uint8 *p);
extern int	l4_rec_date(L4Scan *s, const uint8 *p, bool *whole);
extern int	l4_rec_fuzzy(L4Scan *s, const uint8 *p);
extern int	l4_rec_dotted_value(L4Scan *s, const uint8 *p);
extern int	l4_rec_day(L4Scan *s, const uint8 *p);
extern int	l4_rec_request(L4Scan *s, const uint8 *p);
extern bool l4_rec_constant(const uint8 *p, int len);

#endif							/* L4_SCAN_INT_H */
