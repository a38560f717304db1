/*
 * foldmemo.c
 *		Remembers values by texts that are alike but for their digits.
 *
 * A text is hashed without its digits, and without the letters a to f of long
 * hexadecimal numbers, so that texts that fit one key mostly have one hash. It
 * need not be so: then the text has an entry of its own.
 */
#include "postgres.h"

#if defined(__SSE2__) && !defined(L4_SCALAR)
#define FOLD_SSE2 1
#include <emmintrin.h>
#endif

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#include "base/foldmemo.h"

#define WAYS			4		/* entries of one hash */
#define STEP			16		/* bytes looked at at once */

/* After so many look-ups with few hits, for what a hit spares, the memo is left alone for a while. */
#define TRIAL			1024
#define FEW(memo)		(TRIAL / 4 / (memo)->cost)
#define PAUSE			(15 * TRIAL)

/* Hits that may be ahead of entries, in entries; and so many misses count as one hit. */
#define BUDGET			4096
#define MISSES_PER_HIT	4

typedef struct FoldPlace
{
	uint32		hash;
	uint16		len;			/* of the text; 0: empty */
	uint16		kind;
	struct FoldEntry *entry;
} FoldPlace;

/* A key, and aligned behind it the value: what a look-up reads is in one place. */
typedef struct FoldEntry
{
	int32		room;			/* for both */
	char		key[FLEXIBLE_ARRAY_MEMBER];
} FoldEntry;

struct L4FoldMemo
{
	MemoryContext cxt;
	uint32		mask;			/* sets - 1 */
	bool		hex;			/* hexadecimal letters may vary in keys */
	int			cost;
	int			budget;
	int			tried;			/* look-ups of this trial */
	int			found;
	int			pause;			/* look-ups to leave out */
	FoldPlace	places[FLEXIBLE_ARRAY_MEMBER][WAYS];
};

/* Keys shorter than a step have blanks behind them. */
#define KEY_LEN(len)		Max(len, STEP)
#define VALUE_AT(len)		MAXALIGN(offsetof(FoldEntry, key) + KEY_LEN(len))

L4FoldMemo *
l4_foldmemo_create(int places, int cost, bool hex, MemoryContext cxt)
{
	L4FoldMemo *memo = MemoryContextAllocZero(cxt, offsetof(L4FoldMemo, places) + places * sizeof(FoldPlace));

	memo->cxt = cxt;
	memo->mask = places / WAYS - 1;
	memo->hex = hex;
	memo->cost = cost;
	memo->budget = BUDGET * cost;
	return memo;
}

void
l4_foldmemo_clear(L4FoldMemo *memo)
{
	for (uint32 i = 0; i <= memo->mask; i++)
		for (int k = 0; k < WAYS; k++)
			memo->places[i][k].len = 0;
}

#define BLOCK			64		/* bytes hashed at once */
#define BLOCKS			(L4_FOLD_MAX / BLOCK)
#define SPREAD			UINT64CONST(0x9E3779B185EBCA87)

/* Which bytes of a block are what, one bit a byte. */
typedef struct FoldBits
{
	uint64		digits;
	uint64		hex;			/* letters a to f */
	uint64		letters;
} FoldBits;

/* A hash being made. */
typedef union FoldHash
{
#ifdef FOLD_SSE2
	struct
	{
		__m128i		sum;
		__m128i		place;
	}			v;
#endif
	struct
	{
		uint64		half[2];
		uint64		place;
	}			w;
} FoldHash;

/*
 * The kernels, for SSE2 and for any machine. They add a step of a text, its
 * digits left out, to a hash: the halves of eight bytes, told apart by where
 * they stand, multiplied and added up. And they compare a step with a key.
 */
#ifdef FOLD_SSE2

static inline void
hash_start(FoldHash *hash, uint64 seed)
{
	hash->v.sum = _mm_setzero_si128();
	hash->v.place = _mm_set1_epi64x(seed);
}

static inline uint64
hash_end(const FoldHash *hash)
{
	uint64		half[2];

	_mm_storeu_si128((__m128i *) half, hash->v.sum);
	return (half[0] ^ (half[0] >> 31)) * UINT64CONST(0x9E3779B97F4A7C15) + half[1];
}

/* 0xff for n bytes from first on */
static inline __m128i
in_range(__m128i b, uint8 first, uint8 n)
{
	__m128i		from = _mm_sub_epi8(b, _mm_set1_epi8(first));

	return _mm_cmpeq_epi8(_mm_min_epu8(from, _mm_set1_epi8(n - 1)), from);
}

static inline uint64
bits_of(__m128i bytes, int at)
{
	return (uint64) _mm_movemask_epi8(bytes) << at;
}

static inline void
hash_step(FoldHash *hash, const char *p, bool hex, FoldBits *bits, int at)
{
	__m128i		b = _mm_loadu_si128((const __m128i *) (p + at));
	__m128i		digits = in_range(b, '0', 10);

	if (hex)
	{
		bits->digits |= bits_of(digits, at);
		bits->hex |= bits_of(in_range(b, 'a', 6), at);
		bits->letters |= bits_of(in_range(_mm_or_si128(b, _mm_set1_epi8(0x20)), 'a', 26), at);
	}
	b = _mm_add_epi64(_mm_andnot_si128(digits, b), hash->v.place);
	hash->v.sum = _mm_add_epi64(hash->v.sum, _mm_mul_epu32(b, _mm_srli_epi64(b, 32)));
	hash->v.place = _mm_add_epi64(hash->v.place, _mm_set1_epi64x(SPREAD));
}

static inline bool
fits_step(const char *p, const char *key)
{
	__m128i		b = _mm_loadu_si128((const __m128i *) p);
	__m128i		k = _mm_loadu_si128((const __m128i *) key);
	__m128i		any_hex = _mm_cmpeq_epi8(k, _mm_set1_epi8(L4_FOLD_HEX));
	__m128i		any = _mm_or_si128(any_hex, _mm_cmpeq_epi8(k, _mm_set1_epi8(L4_FOLD_DIGIT)));
	__m128i		ok = _mm_andnot_si128(any, _mm_cmpeq_epi8(b, k));

	ok = _mm_or_si128(ok, _mm_and_si128(any, in_range(b, '0', 10)));
	ok = _mm_or_si128(ok, _mm_and_si128(any_hex, in_range(b, 'a', 6)));
	return _mm_movemask_epi8(ok) == 0xffff;
}

#else

static inline void
hash_start(FoldHash *hash, uint64 seed)
{
	hash->w.half[0] = hash->w.half[1] = 0;
	hash->w.place = seed;
}

static inline uint64
hash_end(const FoldHash *hash)
{
	return (hash->w.half[0] ^ (hash->w.half[0] >> 31)) * UINT64CONST(0x9E3779B97F4A7C15) + hash->w.half[1];
}

#define EACH(byte)		(UINT64CONST(0x0101010101010101) * (byte))
#define TOP				EACH(0x80)

/* The top bit of each byte of x that is at least n, 0 < n <= 128. */
static inline uint64
at_least(uint64 x, int n)
{
	return (((x & EACH(0x7f)) + EACH(0x80 - n)) | x) & TOP;
}

static inline uint64
is_digit(uint64 x)
{
	return ~at_least(x ^ EACH('0'), 10) & TOP;
}

/* n letters from a on; 0x60 is the byte before them */
static inline uint64
is_letter(uint64 x, int n)
{
	return at_least(x ^ EACH(0x60), 1) & ~at_least(x ^ EACH(0x60), n + 1);
}

/* The top bits of eight bytes as eight bits. */
static inline uint64
bits_of(uint64 top, int at)
{
#ifdef WORDS_BIGENDIAN
	top = pg_bswap64(top);
#endif
	return ((top >> 7) * UINT64CONST(0x0102040810204080)) >> 56 << at;
}

static inline void
hash_step(FoldHash *hash, const char *p, bool hex, FoldBits *bits, int at)
{
	for (int i = 0; i < 2; i++, at += 8)
	{
		uint64		x;
		uint64		digits;

		memcpy(&x, p + at, 8);
		digits = is_digit(x);
		if (hex)
		{
			bits->digits |= bits_of(digits, at);
			bits->hex |= bits_of(is_letter(x, 6), at);
			bits->letters |= bits_of(is_letter(x | EACH(0x20), 26), at);
		}
		x = (x & ~((digits >> 7) * 0xff)) + hash->w.place;
		hash->w.half[i] += (x >> 32) * (uint32) x;
	}
	hash->w.place += SPREAD;
}

static inline bool
fits_step(const char *p, const char *key)
{
	for (int i = 0; i < 2; i++)
	{
		uint64		x;
		uint64		k;
		uint64		plain;
		uint64		ok;

		memcpy(&x, p + 8 * i, 8);
		memcpy(&k, key + 8 * i, 8);
		plain = at_least(k, 2);
		ok = (plain & ~at_least(x ^ k, 1)) | (~plain & is_digit(x)) | (~plain & at_least(k, 1) & is_letter(x, 6));
		if ((ok & TOP) != TOP)
			return false;
	}
	return true;
}

#endif

/* The bits of x that are in runs of six. */
static inline uint64
runs_of_six(uint64 x)
{
	uint64		two = x & x >> 1;
	uint64		run = two & two >> 2 & two >> 4;

	run |= run << 1;
	return run | run << 2 | run << 4;
}

/*
 * Where letters are in long runs of hexadecimal digits and dashes, copy the
 * text with zeros for them to out.
 */
static bool
hide_hex(const char *text, int len, const FoldBits *bits, char *out)
{
	static const int steps[] = {1, 2, 4, 4};
	int			n = (len + BLOCK - 1) / BLOCK;
	uint64		run[BLOCKS + 1] = {0};
	uint64		any = 0;

	StaticAssertStmt(L4_FOLD_HEX_RUN == 12, "the steps make runs of twelve");
	for (int i = 0; i < n; i++)
	{
		uint64		near = bits[i].digits | bits[i].hex;
		uint64		two = near & near << 1;

		/* a dash between has four such digits before it, or is the first byte */
		run[i] = near;
		for (uint64 next = ~near & ((two & two << 2) << 1 | 1); next != 0; next &= next - 1)
		{
			int			k = pg_rightmost_one_pos64(next);

			if (BLOCK * i + k < len && text[BLOCK * i + k] == '-')
				run[i] |= UINT64CONST(1) << k;
		}
	}
	for (int k = 0; k < lengthof(steps); k++)
		for (int i = 0; i < n; i++)
			run[i] &= run[i] >> steps[k] | run[i + 1] << (64 - steps[k]);
	for (int k = 0; k < lengthof(steps); k++)
		for (int i = n - 1; i >= 0; i--)
			run[i] |= run[i] << steps[k] | (i > 0 ? run[i - 1] >> (64 - steps[k]) : 0);
	for (int i = 0; i < n; i++)
		any |= run[i] & bits[i].hex;
	if (any == 0)
		return false;
	memcpy(out, text, len);
	for (int i = 0; i < n; i++)
		for (uint64 hex = run[i] & bits[i].hex; hex != 0; hex &= hex - 1)
			out[BLOCK * i + pg_rightmost_one_pos64(hex)] = '0';
	return true;
}

/*
 * A digit behind a letter that ends a word is mostly a part of a name (GPU7,
 * eth0) that does not vary: the first one of each block goes into the hash.
 */
static inline uint64
hash_name(uint64 hash, const char *text, const FoldBits *bits)
{
	uint64		names = bits->digits & bits->letters << 1 & ~((bits->digits | bits->letters) >> 1);
	int			at;

	if (names == 0)
		return hash;
	at = pg_rightmost_one_pos64(names);
	return (hash ^ (text[at] << 8 | at)) * SPREAD;
}

static uint64 hash_hidden(const char *text, int len, int kind, const FoldBits *bits);

/* Hash of a text of at least a block without its digits; the last block may overlap the one before. */
static pg_attribute_always_inline uint64
hash_blocks(const char *text, int len, int kind, bool hex)
{
	FoldHash	hash;
	FoldBits	bits[BLOCKS];
	uint64		names = len;
	bool		hidden = false;

	hash_start(&hash, SPREAD * (2 * kind + 1));
	for (int i = 0; i < len; i += BLOCK)
	{
		FoldBits	b = {0};
		int			skip = Max(i + BLOCK - len, 0);

		hash_step(&hash, text + i - skip, hex, &b, 0);
		hash_step(&hash, text + i - skip, hex, &b, STEP);
		hash_step(&hash, text + i - skip, hex, &b, 2 * STEP);
		hash_step(&hash, text + i - skip, hex, &b, 3 * STEP);
		if (!hex)
			continue;
		b.digits >>= skip;
		b.hex >>= skip;
		b.letters >>= skip;
		bits[i / BLOCK] = b;
		hidden |= (runs_of_six(b.digits | b.hex) & b.hex) != 0;
		names = hash_name(names, text + i, &b);
	}
	if (hidden)
	{
		uint64		other = hash_hidden(text, len, kind, bits);

		if (other != 0)
			return other;
	}
	return (hash_end(&hash) ^ names) * UINT64CONST(0xD6E8FEB86659FD93);
}

/* The same of what hide_hex makes of the text; 0 if that hides nothing. */
static pg_noinline uint64
hash_hidden(const char *text, int len, int kind, const FoldBits *bits)
{
	char		out[L4_FOLD_MAX];

	return hide_hex(text, len, bits, out) ? hash_blocks(out, len, kind, false) : 0;
}

/* Hash of a text: a short one has blanks behind it. */
static uint32
hash_text(const char *text, int len, int kind, bool hex)
{
	char		block[BLOCK];

	if (len < BLOCK)
	{
		memset(block, ' ', BLOCK);
		memcpy(block, text, len);
		text = block;
	}
	kind += 2 * len;
	len = Max(len, BLOCK);
	return (hex ? hash_blocks(text, len, kind, true) : hash_blocks(text, len, kind, false)) >> 32;
}

static inline bool
fits(const char *text, int len, const char *key)
{
	for (int i = 0; i < len - STEP; i += STEP)
		if (!fits_step(text + i, key + i))
			return false;
	return fits_step(text + len - STEP, key + len - STEP);
}

/* A text shorter than a step, with blanks behind it. */
static inline const char *
padded(char *buffer, const char *text, int len)
{
	memset(buffer, ' ', STEP);
	memcpy(buffer, text, len);
	return buffer;
}

/* Is this text to be looked up? */
static inline bool
in_turn(L4FoldMemo *memo)
{
	if (memo->pause > 0)
	{
		memo->pause--;
		return false;
	}
	if (memo->tried == TRIAL)
	{
		memo->pause = memo->found < FEW(memo) ? PAUSE : 0;
		memo->tried = memo->found = 0;
	}
	memo->tried++;
	return true;
}

void *
l4_foldmemo_find(L4FoldMemo *memo, const char *text, int len, int kind)
{
	char		buffer[STEP];
	const char *full = text;
	uint32		hash;
	FoldPlace  *set;

	if (len <= 0 || len > L4_FOLD_MAX || !in_turn(memo))
		return NULL;
	if (len < STEP)
		full = padded(buffer, text, len);
	hash = hash_text(text, len, kind, memo->hex);
	set = memo->places[hash & memo->mask];
	for (int k = 0; k < WAYS; k++)
	{
		FoldEntry  *entry = set[k].entry;

		if (set[k].hash != hash || set[k].len != len || set[k].kind != kind ||
			!fits(full, KEY_LEN(len), entry->key))
			continue;
		memo->found++;
		memo->budget = Min(memo->budget + 1, BUDGET * memo->cost);
		if (k > 0)
		{
			/* what is met again moves away from the end, where entries are dropped */
			FoldPlace	met = set[k];

			set[k] = set[k - 1];
			set[k - 1] = met;
		}
		return (char *) entry + VALUE_AT(len);
	}
	return NULL;
}

bool
l4_foldmemo_wants(L4FoldMemo *memo)
{
	if (memo->pause > 0)
		return false;
	if (memo->budget < memo->cost)
	{
		if (memo->tried % MISSES_PER_HIT == 0)
			memo->budget++;
		return false;
	}
	memo->budget -= memo->cost;
	return true;
}

void *
l4_foldmemo_add(L4FoldMemo *memo, const char *text, int len, int kind, Size size, char **key)
{
	char		buffer[STEP];
	const char *full = text;
	Size		need = VALUE_AT(len) + size;
	uint32		hash;
	FoldPlace  *set;
	FoldPlace	last;

	if (len <= 0 || len > L4_FOLD_MAX)
		return NULL;
	for (int i = 0; i < len; i++)
		if (text[i] == L4_FOLD_DIGIT || text[i] == L4_FOLD_HEX)
			return NULL;
	if (len < STEP)
		full = padded(buffer, text, len);
	hash = hash_text(text, len, kind, memo->hex);
	set = memo->places[hash & memo->mask];
	last = set[WAYS - 1];
	/* it takes the memory of the entry that is dropped, and comes before those not met again */
	set[WAYS - 1].len = 0;
	if (last.entry == NULL || last.entry->room < need)
	{
		if (last.entry != NULL)
			pfree(last.entry);
		set[WAYS - 1].entry = NULL;
		last.entry = MemoryContextAlloc(memo->cxt, need);
		last.entry->room = need;
	}
	last.hash = hash;
	last.len = len;
	last.kind = kind;
	memmove(set + WAYS / 2 + 1, set + WAYS / 2, (WAYS / 2 - 1) * sizeof(FoldPlace));
	set[WAYS / 2] = last;
	*key = memcpy(last.entry->key, full, KEY_LEN(len));
	return (char *) last.entry + VALUE_AT(len);
}
