/*
 * scan.c
 *		One pass over a message: marks its parameters and hashes its shape.
 *
 * The message is cut into blanks, bytes that always end a token, and compounds
 * (runs of everything else). A compound's classes of bytes tell which
 * recognisers can apply at all; most compounds are plain words or numbers and
 * meet none. What a compound became is then cut into parts: a part that mixes
 * letters and several digits, or that touches a mark, becomes one mark.
 */
#include "postgres.h"

#if defined(__SSE2__) && !defined(L4_SCALAR)
#define SCAN_SSE2 1
#include <emmintrin.h>
#endif

#include "base/load.h"
#include "scan/scan_int.h"

#define MIN_BUFFER	256

static const struct
{
	const char *bytes;
	uint32		cls;
}			punctuation[] =
{
	{".", C_DOT},
	{":", C_COLON | C_DELIM},
	{"/", C_SLASH},
	{"\\", C_BSLASH},
	{"@", C_AT | C_DELIM},
	{"-", C_DASH},
	{"+%~*^`", C_OTHER},
	{",;()[]{}\"'|=<>!?&#$", C_HARD | C_DELIM},
};

/* delimiters: more bytes that separate slots, may be NULL */
void
l4_scanner_init(L4Scanner *scanner, bool builtin, const char *delimiters)
{
	memset(scanner, 0, sizeof(*scanner));
	scanner->builtin = builtin;
	scanner->max_text = L4_MAX_SHAPE;
	scanner->plain_words = delimiters == NULL || strchr(delimiters, '_') == NULL;
	for (int c = 0; c < 256; c++)
	{
		if (c <= ' ' || c == 0x7f)
			scanner->cls[c] = C_BLANK;
		else if (c >= '0' && c <= '9')
			scanner->cls[c] = C_DIGIT;
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f' && c < 0x80)
			scanner->cls[c] = C_LETTER | C_HEXL;
		else if (((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c >= 0x80)
			scanner->cls[c] = C_LETTER | C_NONHEX;
		else if (c == '_')
			scanner->cls[c] = C_USCORE | C_NONHEX;
		else
			scanner->cls[c] = C_OTHER;
	}
	for (int i = 0; i < lengthof(punctuation); i++)
		for (const char *b = punctuation[i].bytes; *b; b++)
			scanner->cls[(uint8) *b] = punctuation[i].cls;
	for (int c = 0; c < 256; c++)
		if ((scanner->cls[c] & C_WORD) || (c && c < 0x80 && strchr(".+@%#$~*:/-", c)))
			scanner->cls[c] |= C_PATH;
	for (const char *b = "BKMGTPkms"; *b; b++)
		scanner->cls[(uint8) *b] |= C_UNIT;
	for (const uint8 *b = (const uint8 *) delimiters; b && *b; b++)
	{
		/* bytes that masks are made of keep that role: masks come first */
		if (scanner->cls[*b] & (C_WORD | C_OTHER))
			scanner->cls[*b] = C_HARD | C_DELIM | (scanner->cls[*b] & C_PATH);
		else if (!(scanner->cls[*b] & C_BLANK))
			scanner->cls[*b] |= C_DELIM;
	}
}

void
l4_shape_init(L4Shape *shape, MemoryContext cxt)
{
	memset(shape, 0, sizeof(*shape));
	shape->cxt = cxt;
	shape->text_size = MIN_BUFFER;
	shape->text = MemoryContextAlloc(cxt, MIN_BUFFER);
	shape->bits_size = 16;
	shape->bits = MemoryContextAlloc(cxt, 3 * shape->bits_size * sizeof(uint64));
	shape->slots_size = 32;
	shape->slots = MemoryContextAlloc(cxt, 32 * sizeof(L4Slot));
}

/* Copy what a scan gave into the buffers of another shape. */
void
l4_shape_copy(L4Shape *to, const L4Shape *from)
{
	if (unlikely(to->text_size < from->len))
	{
		to->text_size = 2 * (Size) from->len;
		to->text = repalloc_huge(to->text, to->text_size);
	}
	while (unlikely(to->slots_size < from->nslots))
		l4_grow_slots(to);
	memcpy(to->text, from->text, from->len);
	memcpy(to->slots, from->slots, from->nslots * sizeof(L4Slot));
	to->len = from->len;
	to->nslots = from->nslots;
	to->hash = from->hash;
}

static inline uint64
mix(uint64 a, uint64 b)
{
	a = (a ^ b) * UINT64CONST(0x9E3779B97F4A7C15);
	return a ^ (a >> 29);
}

/* Hash of bytes: the same on every machine, since it is stored. */
uint64
l4_hash_bytes(const void *bytes, int len)
{
	const uint8 *p = bytes;
	uint64		h = mix(UINT64CONST(0x2545F4914F6CDD1D), len);
	uint64		tail = 0;

	for (; len >= 8; len -= 8, p += 8)
		h = mix(h, l4_load64(p));
	for (int i = 0; i < len; i++)
		tail |= (uint64) p[i] << (8 * i);
	h = mix(h, tail);
	h *= UINT64CONST(0xBF58476D1CE4E5B9);
	return h ^ (h >> 32);
}

/*
 * A word of letters at p, len bytes that already stand behind the output:
 * constants, dates that start with a name, HTTP methods. Most are nothing of it.
 */
static inline const uint8 *
word(L4ScanRun *s, const uint8 *p, int len)
{
	const uint8 *e = p + len;
	int			n;

	if (len <= 7)
	{
		if ((len == 4 || len == 5) && l4_rec_constant(p, len))
		{
			l4_mark(s, p, len, L4_MASK_CONSTANT);
			return e;
		}
		if (*p <= 'Z' && len >= 3)
		{
			if (len == 3 && (n = l4_rec_day(s, p)) > 0)
			{
				l4_mark(s, p, n, L4_MASK_DATE);
				return p + n;
			}
			if (l4_at(s, e) == ' ' && l4_at(s, e + 1) == '/' && l4_rec_method(p, len) &&
				(n = l4_rec_request(s, e + 1)) > 0)
			{
				l4_literal(s, p, len + 1);
				l4_mark(s, e + 1, n, L4_MASK_PATH);
				return e + 1 + n;
			}
		}
	}
	else if ((s->cls[*p] & s->cls[p[1]] & C_HEXL) && l4_rec_hex(s, p, len))
	{
		l4_mark(s, p, len, L4_MASK_HEX);
		return e;
	}
	s->out->len += len;
	return e;
}

/* A run of digits at p, len of them; with the groups of thousands and the unit that follow. */
static inline const uint8 *
number(L4ScanRun *s, const uint8 *p, int len)
{
	int			kind = L4_MASK_NUMBER;

	if (len <= 3 && l4_at(s, p + len) == ',')
		len += l4_rec_thousands(s, p + len);
	if (l4_at(s, p + len) == ' ' && l4_class(s, p + len + 1) & C_UNIT)
		len += l4_rec_unit(s, p + len, &kind);
	l4_mark(s, p, len, kind);
	return p + len;
}

/* A word of letters and digits at p: len bytes that already stand behind the output. */
static const uint8 *
alnum(L4ScanRun *s, const uint8 *p, int len)
{
	int			kind = L4_MASK_ID;
	int			letters = 0;
	int			digits = 0;

	if ((s->cls[*p] & C_DIGIT) && l4_rec_number(s, p, &kind) >= len)
	{
		l4_mark(s, p, len, kind);
		return p + len;
	}
	if (l4_rec_word(s, p, len, &kind) == 0)
	{
		for (int i = 0; i < len; i++)
		{
			uint32		c = s->cls[p[i]];

			letters += (c & C_LETTER) != 0;
			digits += (c & C_DIGIT) != 0;
		}
		kind = l4_mixed(letters, digits, (s->cls[*p] & C_DIGIT) != 0) ? L4_MASK_ID : L4_MASK_NONE;
	}
	if (kind != L4_MASK_NONE)
		l4_mark(s, p, len, kind);
	else
		s->out->len += len;
	return p + len;
}

/* Keep what was written until the last full token and let one variable stand for the rest. */
static void
cut_short(L4ScanRun *s)
{
	s->out->len = s->safe_text;
	s->out->nslots = s->safe_slots;
	l4_mark(s, s->safe, s->msg_end - s->safe, L4_MASK_LIST);
}

#ifdef SCAN_SSE2
/* Bits of 64 bytes for the usual classes: bytes of words and digits. */
static inline void
classify64(const uint8 *p, uint64 *words, uint64 *digits)
{
	uint64		w = 0;
	uint64		d = 0;

	for (int k = 0; k < 4; k++)
	{
		__m128i		b = _mm_loadu_si128((const __m128i *) (p + 16 * k));
		__m128i		from0 = _mm_sub_epi8(b, _mm_set1_epi8('0'));
		__m128i		froma = _mm_sub_epi8(_mm_or_si128(b, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
		__m128i		digit = _mm_cmpeq_epi8(_mm_min_epu8(from0, _mm_set1_epi8(9)), from0);
		__m128i		alpha = _mm_cmpeq_epi8(_mm_min_epu8(froma, _mm_set1_epi8(25)), froma);
		__m128i		uscore = _mm_cmpeq_epi8(b, _mm_set1_epi8('_'));
		__m128i		word = _mm_or_si128(_mm_or_si128(digit, alpha), _mm_or_si128(uscore, b));

		w |= (uint64) (uint16) _mm_movemask_epi8(word) << (16 * k);
		d |= (uint64) (uint16) _mm_movemask_epi8(digit) << (16 * k);
	}
	*words = w;
	*digits = d;
}
#endif

/*
 * Classify a message, one bit a byte: is it a byte of a word, is it a digit, is
 * it the first behind a word? There is an end behind the last word too; the
 * other bits behind the message are zero, 64 of them at least.
 */
static void
classify(const L4Scanner *scanner, const uint8 *msg, int len, uint64 *words, uint64 *digits, uint64 *ends)
{
	int			i = 0;
	uint64		last = 0;		/* bit 0: the byte before was of a word */

#ifdef SCAN_SSE2
	if (scanner->plain_words)
	{
		uint8		rest[64] = {0};

		for (; i + 64 <= len; i += 64)
			classify64(msg + i, &words[i / 64], &digits[i / 64]);
		memcpy(rest, msg + i, len - i);
		classify64(rest, &words[i / 64], &digits[i / 64]);
		i += 64;
	}
#endif
	for (; i <= len; i += 64)
	{
		int			n = Min(64, len - i);

		CHECK_FOR_INTERRUPTS();
		words[i / 64] = digits[i / 64] = 0;
		for (int k = 0; k < n; k++)
		{
			uint32		c = scanner->cls[msg[i + k]];

			words[i / 64] |= (uint64) ((c & C_WORD) != 0) << k;
			digits[i / 64] |= (uint64) ((c & C_DIGIT) != 0) << k;
		}
	}
	for (i = 0; i <= len / 64; i++)
	{
		ends[i] = ~words[i] & (words[i] << 1 | last);
		last = words[i] >> 63;
	}
	words[i] = digits[i] = 0;
	ends[i] = last;
}

/* May a word of four or five letters that starts so be one that stands for a value? */
#define FIRST_OF_CONSTANT	(1U << ('t' & 31) | 1U << ('n' & 31) | 1U << ('r' & 31) | 1U << ('f' & 31) | 1U << ('a' & 31))

/*
 * Is a word of letters at p nothing but a word? Else it may be a constant, the
 * start of a date, an HTTP method before its target, or hex.
 */
static inline bool
just_a_word(const L4ScanRun *s, const uint32 *cls, const uint8 *p, int len)
{
	if (len >= 8)
		return !(cls[p[0]] & cls[p[1]] & C_HEXL);
	if (len < 3)
		return true;
	if (*p <= 'Z' && (len == 3 || l4_at(s, p + len + 1) == '/'))
		return false;
	return len < 4 || len > 5 || !(FIRST_OF_CONSTANT >> (*p & 31) & 1) || !l4_rec_constant(p, len);
}

/* A token at p that is not simple, or not only a word or a number; returns what follows. */
static const uint8 *
other_token(L4ScanRun *s, const uint8 *p, int len)
{
	uint64		digits;
	int			n;

	if (len > 0)
	{
		l4_literal(s, p, len);
		s->out->len -= len;
		digits = l4_digit_bits(s, p, len);
		if (digits == 0)
			return word(s, p, len);
		if (digits == (UINT64CONST(1) << len) - 1)
			return number(s, p, len);
		return alnum(s, p, len);
	}
	if (s->cls[*p] & C_COMPOUND)
		return l4_compound(s, p);
	if (*p == '<' && (l4_class(s, p + 1) & C_DIGIT) && (n = l4_rec_fuzzy(s, p)) > 0)
	{
		l4_mark(s, p, n, L4_MASK_DURATION);
		return p + n;
	}
	l4_literal(s, p, 1);
	if (*p == '|' && p == s->mark_end && p > s->msg && p[-1] == '%' && (n = l4_rec_bar(s, p + 1)) > 0)
	{
		l4_mark(s, p + 1, n, L4_MASK_LIST);
		return p + 1 + n;
	}
	return p + 1;
}

/* Bits of the ends of words behind byte i: those of its block. */
static inline uint64
ends_behind(const uint64 *ends, int i)
{
	return ends[i >> 6] & (~UINT64CONST(0) << (i & 63) << 1);
}

/*
 * Length of the word from p to e if it stands alone, else 0: a blank or a byte
 * that always ends tokens behind it, with at most a colon or full stop between.
 * Such are most.
 */
static inline int
word_alone(const L4ScanRun *s, const uint32 *cls, const uint8 *p, const uint8 *e, const uint8 *end)
{
	uint32		next = e < end ? cls[*e] : C_BLANK;

	if (!(next & (C_BLANK | C_HARD)) && (next & (C_COLON | C_DOT)))
		next = e + 1 < end ? cls[e[1]] : C_BLANK;
	if (likely((next & (C_BLANK | C_HARD)) && e - p < L4_WINDOW && p != s->mark_end && e <= end))
		return e - p;
	return 0;
}

/*
 * Write len bytes of a word alone at o if they are nothing but a word or a
 * number; where the output goes on, NULL if they may be more.
 */
static inline char *
plain_token(L4ScanRun *s, const uint32 *cls, const uint8 *p, int len, char *o)
{
	uint64		digits = l4_digit_bits(s, p, len);

	if (digits == 0 && just_a_word(s, cls, p, len))
	{
		if (likely(len <= 16 && s->msg_end - p >= 16))
			memcpy(o, p, 16);
		else
			memcpy(o, p, len);
		return o + len;
	}
	if (digits == (UINT64CONST(1) << len) - 1 && !(l4_class(s, p + len + 1) & (C_UNIT | C_DIGIT)))
	{
		l4_add_slot(s, p, len, L4_MASK_NUMBER);
		*o = L4_MARK;
		s->mark_end = p + len;
		return o + 1;
	}
	return NULL;
}

/*
 * Scan the bytes from p to s->end; false when the shape is full. The output
 * cursor is kept in a register, since stores of characters may alias anything,
 * and the ends of words are taken one after another from their bits, so that
 * finding the next token does not wait for this one.
 */
static bool
segment(L4ScanRun *s, const uint8 *p)
{
	L4Shape    *out = s->out;
	char	   *const text = out->text;
	char	   *const full = text + s->max_text;
	const uint32 *const cls = s->cls;
	const uint8 *const msg = s->msg;
	const uint8 *const end = s->end;
	const uint8 *stop = p;
	const uint32 word_class = s->builtin ? C_WORD : 0;
	char	   *o = text + out->len;
	const uint64 *ends = s->ends + ((p - msg) >> 6);
	uint64		bits = p > msg ? ends_behind(s->ends, p - msg) : ends[0];

	while (p < stop || (stop = l4_next_stop(p, end)) > p)
	{
		uint32		c = cls[*p];
		char	   *plain = NULL;
		int			len = 0;

		if (c & C_BLANK)
		{
			if (o > text && o[-1] != ' ')
				*o++ = ' ';
			p++;
			continue;
		}
		if (c & word_class)
		{
			while (bits == 0)
				bits = *++ends;
			len = word_alone(s, cls, p, msg + (ends - s->ends) * 64 + pg_rightmost_one_pos64(bits), end);
			bits &= bits - 1;
			if (len > 0 && o + L4_WINDOW < full)
				plain = plain_token(s, cls, p, len, o);
		}
		if (likely(plain != NULL))
		{
			o = plain;
			p += len;
		}
		else
		{
			s->safe = p;
			s->safe_text = o - text;
			s->safe_slots = out->nslots;
			if (word_class == 0 || ((c & C_HARD) && *p != '<' && *p != '|'))
				*o++ = *p++;
			else
			{
				out->len = o - text;
				p = other_token(s, p, len);
				o = text + out->len;
				if (p != s->safe + len)
					len = 0;
				ends = s->ends + ((p - msg) >> 6);
				bits = ends_behind(s->ends, p - msg);
			}
			if (unlikely(o > full))
			{
				cut_short(s);
				return false;
			}
		}
		/* what a word alone ends with, and mostly one blank */
		if (len > 0 && p < end && (*p == ':' || *p == '.'))
			*o++ = *p++;
		if (p < end && *p == ' ')
		{
			*o++ = ' ';
			p++;
		}
	}
	out->len = o - text;
	return true;
}

/* Write the mark of a range, which starts where the scan has come to; false when the shape is full. */
static bool
user_mark(L4ScanRun *s, const L4Range *range)
{
	L4Shape    *out = s->out;

	if (out->len + 2 > s->max_text)
	{
		s->safe = s->end;
		s->safe_text = out->len;
		s->safe_slots = out->nslots;
		cut_short(s);
		return false;
	}
	l4_add_slot(s, s->end, range->len, L4_MASK_USER + range->user_mask);
	out->text[out->len++] = L4_USER_MARK;
	out->text[out->len++] = (char) (L4_USER_MARK_BASE + range->user_mask);
	s->mark_end = s->end + range->len;
	return true;
}

/* Scan a message of which the ranges, none if NULL, were masked already. */
void
l4_scan(const L4Scanner *scanner, const char *msg, int len,
		const L4Range *ranges, int nranges, L4Shape *out)
{
	L4ScanRun	s = {0};
	const uint8 *p = (const uint8 *) msg;
	Size		need = (nranges > 0 ? 2 : 1) * (Size) len + 32;
	bool		more = true;

	out->len = 0;
	out->nslots = 0;
	if (unlikely(out->bits_size < len / 64 + 3))
	{
		out->bits_size = len / 64 + 3 + len / 128;
		pfree(out->bits);
		out->bits = MemoryContextAllocHuge(out->cxt, 3 * out->bits_size * sizeof(uint64));
	}
	if (unlikely(out->text_size < need))
	{
		out->text_size = need + need / 2;
		pfree(out->text);
		out->text = MemoryContextAllocHuge(out->cxt, out->text_size);
	}
	s.cls = scanner->cls;
	s.words = out->bits;
	s.digits = out->bits + out->bits_size;
	s.ends = out->bits + 2 * (Size) out->bits_size;
	classify(scanner, p, len, out->bits, out->bits + out->bits_size, out->bits + 2 * (Size) out->bits_size);
	s.max_text = scanner->max_text;
	s.msg = s.safe = p;
	s.msg_end = p + len;
	s.out = out;
	s.builtin = scanner->builtin;
	s.compound = PG_INT32_MAX;
	for (int i = 0; i < nranges && more; i++)
	{
		s.end = (const uint8 *) msg + ranges[i].off;
		more = segment(&s, p);
		if (more)
			more = user_mark(&s, &ranges[i]);
		p = s.mark_end;
	}
	s.end = s.msg_end;
	if (more)
		segment(&s, p);
	if (out->len > 0 && out->text[out->len - 1] == ' ')
		out->len--;
	out->hash = l4_hash_bytes(out->text, out->len);
}

/* Name of a built-in mask, as parser_parameters shows it. */
const char *
l4_mask_name(int mask)
{
	static const char *const names[] = {
		"", "word", "number", "hex", "id", "uuid", "date", "time", "duration", "size", "ip", "mac", "host",
		"email", "url", "path", "name", "constant", "list"
	};

	return mask >= 0 && mask < lengthof(names) ? names[mask] : "";
}
