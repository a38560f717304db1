/*
 * scanmemo.c
 *		Remembers what scans made of messages.
 *
 * Logs repeat but for their numbers. The scanner asks what class a byte has,
 * not which digit it is; so two messages of one length that differ in digits
 * only, and in none that stays in the template, have the same shape and the
 * same slots. This is a memo, not a guess: the few places where the scanner
 * does look at a digit itself must be equal. In words of hexadecimal digits
 * that stand alone, letters from a to f may differ as well.
 */
#include "postgres.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "template/scan_int.h"
#include "template/scanmemo.h"

#define MEMO_SETS		2048	/* of two entries; a power of two */
#define MEMO_MIN_LEN	16
#define MEMO_MAX_LEN	512
#define MEMO_SAMPLE		16		/* bytes of each of the four samples that choose the set */

/*
 * To make an entry costs as much as a dozen look-ups. Messages that never
 * repeat must not pay for it, nor for all look-ups: the budget shrinks with
 * each entry and grows with hits; without budget few messages are looked up.
 */
#define MEMO_BUDGET		8192
#define MEMO_PER_HIT	4
#define MEMO_IDLE		16		/* of so many messages one is looked up and remembered */

/* What may stand at a byte of a message. */
#define VARY_NOT		0x00	/* this byte only */
#define VARY_DIGIT		0x01
#define VARY_HEX		0xff	/* digits, and letters from a to f */

typedef struct MemoEntry
{
	int32		len;			/* 0: empty */
	int32		text_len;
	int32		nslots;
	int32		nhex;
	uint64		hash;			/* of the shape */
	uint8	   *bytes;			/* the message, then how each byte varies; then the shape's text */
	L4Slot	   *slots;
	Size		size;			/* of bytes and slots */
	int32	   *hex;			/* the slots in which letters vary */
} MemoEntry;

struct L4ScanMemo
{
	MemoryContext cxt;
	int			budget;
	uint32		idle;
	MemoEntry	entries[MEMO_SETS][2];
};

L4ScanMemo *
l4_scanmemo_create(MemoryContext cxt)
{
	L4ScanMemo *memo = MemoryContextAllocZero(cxt, sizeof(L4ScanMemo));

	memo->cxt = cxt;
	memo->budget = MEMO_BUDGET;
	return memo;
}

static inline bool
is_hex_letter(uint8 c)
{
	return c >= 'a' && c <= 'f';
}

#ifdef __SSE2__
/* 0xff where the bytes are digits; where they are letters from a to f. */
static inline __m128i
digits_of(__m128i b)
{
	__m128i		from0 = _mm_sub_epi8(b, _mm_set1_epi8('0'));

	return _mm_cmpeq_epi8(_mm_min_epu8(from0, _mm_set1_epi8(9)), from0);
}

static inline __m128i
hex_letters_of(__m128i b)
{
	__m128i		froma = _mm_sub_epi8(b, _mm_set1_epi8('a'));

	return _mm_cmpeq_epi8(_mm_min_epu8(froma, _mm_set1_epi8(5)), froma);
}
#endif

/* Two words of a sample in which all that may vary is alike. */
static inline void
sample(const uint8 *p, uint64 *a, uint64 *b)
{
	uint64		w[2];

#ifdef __SSE2__
	__m128i		v = _mm_loadu_si128((const __m128i *) p);

	v = _mm_andnot_si128(_mm_or_si128(digits_of(v), hex_letters_of(v)), v);
	_mm_storeu_si128((__m128i *) w, v);
#else
	uint8		bytes[MEMO_SAMPLE];

	for (int i = 0; i < MEMO_SAMPLE; i++)
		bytes[i] = IS_DIGIT(p[i]) || is_hex_letter(p[i]) ? 0 : p[i];
	memcpy(w, bytes, sizeof(w));
#endif
	*a = (*a ^ w[0]) * UINT64CONST(0x9E3779B97F4A7C15);
	*a ^= *a >> 29;
	*b = (*b ^ w[1]) * UINT64CONST(0xD6E8FEB86659FD93);
	*b ^= *b >> 32;
}

static inline uint32
set_of(const uint8 *p, int len)
{
	int			last = len - MEMO_SAMPLE;
	uint64		a = len;
	uint64		b = 0;

	sample(p, &a, &b);
	sample(p + last / 3, &a, &b);
	sample(p + last / 3 * 2, &a, &b);
	sample(p + last, &a, &b);
	return (uint32) ((a ^ b) >> 20) & (MEMO_SETS - 1);
}

/* Is the message that of the entry but for what varies? */
static inline bool
is_like(const MemoEntry *e, const uint8 *p, int len)
{
	const uint8 *known = e->bytes;
	const uint8 *vary = e->bytes + len;

#ifdef __SSE2__
	for (int i = 0;;)
	{
		__m128i		b = _mm_loadu_si128((const __m128i *) (p + i));
		__m128i		v = _mm_loadu_si128((const __m128i *) (vary + i));
		__m128i		same = _mm_cmpeq_epi8(b, _mm_loadu_si128((const __m128i *) (known + i)));
		__m128i		fixed = _mm_cmpeq_epi8(v, _mm_setzero_si128());
		__m128i		hex = _mm_cmpgt_epi8(_mm_setzero_si128(), v);

		same = _mm_or_si128(same, _mm_andnot_si128(fixed, digits_of(b)));
		same = _mm_or_si128(same, _mm_and_si128(hex, hex_letters_of(b)));
		if (_mm_movemask_epi8(same) != 0xffff)
			return false;
		if (i == len - 16)
			return true;
		i = Min(i + 16, len - 16);
	}
#else
	for (int i = 0; i < len; i++)
		if (p[i] != known[i] &&
			!(vary[i] != VARY_NOT && IS_DIGIT(p[i])) && !(vary[i] == VARY_HEX && is_hex_letter(p[i])))
			return false;
	return true;
#endif
}

/* Digits and letters: only letters would be a word, only digits a number. */
static bool
is_mixed(const uint8 *p, int len)
{
	bool		digit = false;
	bool		letter = false;

	for (int i = 0; i < len && !(digit && letter); i++)
	{
		digit |= IS_DIGIT(p[i]);
		letter |= is_hex_letter(p[i]);
	}
	return digit && letter;
}

static inline bool
hex_is_hex(const MemoEntry *e, const uint8 *p)
{
	for (int i = 0; i < e->nhex; i++)
		if (!is_mixed(p + e->slots[e->hex[i]].off, e->slots[e->hex[i]].len))
			return false;
	return true;
}

/* Give back what the scan gave. */
static void
copy_out(const MemoEntry *e, L4Shape *out)
{
	if (unlikely(out->text_size < e->text_len))
	{
		out->text_size = 2 * e->text_len;
		out->text = repalloc_huge(out->text, out->text_size);
	}
	while (unlikely(out->slots_size < e->nslots))
		l4_grow_slots(out);
	memcpy(out->text, e->bytes + 2 * e->len, e->text_len);
	memcpy(out->slots, e->slots, e->nslots * sizeof(L4Slot));
	out->len = e->text_len;
	out->nslots = e->nslots;
	out->hash = e->hash;
}

bool
l4_scanmemo_find(L4ScanMemo *memo, const char *msg, int len, L4Shape *out)
{
	const uint8 *p = (const uint8 *) msg;
	MemoEntry  *e;

	if (len < MEMO_MIN_LEN || len > MEMO_MAX_LEN || (memo->budget <= 0 && memo->idle++ % MEMO_IDLE != 0))
		return false;
	e = memo->entries[set_of(p, len)];
	for (int i = 0; i < 2; i++, e++)
		if (e->len == len && is_like(e, p, len) && hex_is_hex(e, p))
		{
			memo->budget = Min(memo->budget + MEMO_PER_HIT, MEMO_BUDGET);
			copy_out(e, out);
			return true;
		}
	return false;
}

/* A word of hexadecimal digits between blanks or delimiters: no other recogniser looks at it. */
static bool
is_lone_hex(const L4Scanner *scanner, const uint8 *p, int len, const L4Slot *slot)
{
	uint32		before = slot->off == 0 ? C_BLANK : scanner->cls[p[slot->off - 1]];
	uint32		after = slot->off + slot->len == len ? C_BLANK : scanner->cls[p[slot->off + slot->len]];

	if (!(before & (C_BLANK | C_HARD)) || !(after & (C_BLANK | C_HARD)) || !is_mixed(p + slot->off, slot->len))
		return false;
	return slot->mask == L4_MASK_UUID || (slot->mask == L4_MASK_HEX && slot->len >= 12 && slot->len < L4_WINDOW);
}

/* A digit that the scanner reads: that of 0x, and of a family in brackets (ipv6). */
static inline bool
is_read(const uint8 *p, int len, int i)
{
	return (i + 1 < len && (p[i + 1] | 0x20) == 'x') || (i > 0 && (p[i - 1] | 0x20) == 'v');
}

/* Which bytes of the message may be other ones; counts the slots in which letters may be. */
static void
find_varying(MemoEntry *e, const L4Scanner *scanner, const uint8 *p, int len)
{
	uint8	   *vary = e->bytes + len;

	memset(vary, VARY_NOT, len);
	e->nhex = 0;
	for (int s = 0; s < e->nslots; s++)
	{
		const L4Slot *slot = &e->slots[s];
		bool		hex = is_lone_hex(scanner, p, len, slot);

		if (hex)
			e->hex[e->nhex++] = s;
		for (int i = slot->off; i < slot->off + slot->len; i++)
		{
			if (IS_DIGIT(p[i]) && !is_read(p, len, i))
				vary[i] = hex ? VARY_HEX : VARY_DIGIT;
			else if (hex && is_hex_letter(p[i]))
				vary[i] = VARY_HEX;
		}
	}
}

void
l4_scanmemo_learn(L4ScanMemo *memo, const L4Scanner *scanner, const char *msg, int len, const L4Shape *shape)
{
	const uint8 *p = (const uint8 *) msg;
	MemoEntry  *e;
	Size		at_slots = MAXALIGN(2 * len + shape->len);
	Size		need = at_slots + shape->nslots * (sizeof(L4Slot) + sizeof(int32));

	if (len < MEMO_MIN_LEN || len > MEMO_MAX_LEN || (memo->budget <= 0 && (memo->idle - 1) % MEMO_IDLE != 0))
		return;
	memo->budget = Max(memo->budget - 1, 0);
	e = memo->entries[set_of(p, len)];
	if (e[0].len != 0)
	{
		/* the newer one goes first; it takes the memory of the one that is dropped */
		MemoEntry	dropped = e[1];

		e[1] = e[0];
		e[0] = dropped;
	}
	if (e->size < need)
	{
		e->len = 0;
		if (e->bytes != NULL)
			pfree(e->bytes);
		e->size = 0;
		e->bytes = NULL;
		e->bytes = MemoryContextAlloc(memo->cxt, need);
		e->size = need;
	}
	e->len = len;
	e->text_len = shape->len;
	e->nslots = shape->nslots;
	e->hash = shape->hash;
	e->slots = (L4Slot *) (e->bytes + at_slots);
	e->hex = (int32 *) (e->slots + shape->nslots);
	memcpy(e->bytes, msg, len);
	memcpy(e->bytes + 2 * len, shape->text, shape->len);
	memcpy(e->slots, shape->slots, shape->nslots * sizeof(L4Slot));
	find_varying(e, scanner, p, len);
}
