/*
 * foldkernel.h
 *		The loops of foldmemo.c over bytes, for SSE2 and for any machine.
 *
 * They add a step of a text, or the eight bytes that starts grow by, its digits
 * left out, to a hash: the halves of eight bytes, told apart by where they
 * stand, multiplied and added up. And they compare a step with a key.
 */
#ifndef L4_FOLDKERNEL_H
#define L4_FOLDKERNEL_H

#if defined(__SSE2__) && !defined(L4_SCALAR)
#define FOLD_SSE2 1
#include <emmintrin.h>
#endif

#include "port/pg_bswap.h"

#include "base/foldmemo.h"

#define STEP			16		/* bytes looked at at once */
#define SPREAD			UINT64CONST(0x9E3779B185EBCA87)

/* Which bytes of a block are what, one bit a byte. */
typedef struct FoldBits
{
	uint64		digits;
	uint64		hex;			/* letters a to f */
	uint64		letters;
} FoldBits;

/* A hash being made. */
typedef struct FoldHash
{
#ifdef FOLD_SSE2
	__m128i		sum;
	__m128i		place;
#else
	uint64		sum[2];
	uint64		place;
#endif
} FoldHash;

#ifdef FOLD_SSE2

static inline void
hash_start(FoldHash *hash, uint64 seed)
{
	hash->sum = _mm_setzero_si128();
	hash->place = _mm_set1_epi64x(seed);
}

static inline uint64
hash_end(const FoldHash *hash)
{
	uint64		half[2];

	_mm_storeu_si128((__m128i *) half, hash->sum);
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
add_bytes(FoldHash *hash, __m128i b, __m128i digits)
{
	b = _mm_add_epi64(_mm_andnot_si128(digits, b), hash->place);
	hash->sum = _mm_add_epi64(hash->sum, _mm_mul_epu32(b, _mm_srli_epi64(b, 32)));
	hash->place = _mm_add_epi64(hash->place, _mm_set1_epi64x(SPREAD));
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
	add_bytes(hash, b, digits);
}

static inline void
hash_start_bytes(FoldHash *hash, const char *p)
{
	__m128i		b = _mm_loadl_epi64((const __m128i *) p);

	add_bytes(hash, b, in_range(b, '0', 10));
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
	hash->sum[0] = hash->sum[1] = 0;
	hash->place = seed;
}

static inline uint64
hash_end(const FoldHash *hash)
{
	return (hash->sum[0] ^ (hash->sum[0] >> 31)) * UINT64CONST(0x9E3779B97F4A7C15) + hash->sum[1];
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
add_bytes(FoldHash *hash, int half, uint64 x, uint64 digits)
{
	x = (x & ~((digits >> 7) * 0xff)) + hash->place;
	hash->sum[half] += (x >> 32) * (uint32) x;
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
		add_bytes(hash, i, x, digits);
	}
	hash->place += SPREAD;
}

static inline void
hash_start_bytes(FoldHash *hash, const char *p)
{
	uint64		x;

	memcpy(&x, p, 8);
	add_bytes(hash, 0, x, is_digit(x));
	hash->place += SPREAD;
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

#endif							/* L4_FOLDKERNEL_H */
