/*
 * foldkernel.h
 *		The loops of foldmemo.c over bytes, as vectors of 16.
 *
 * They add a step of a text, or the eight bytes that starts grow by, its digits
 * left out, to a hash: the halves of eight bytes, told apart by where they
 * stand, multiplied and added up. And they compare a step with a key. The
 * vectors are those that GCC and Clang know for every machine. Two operations
 * that SSE2 has in one instruction are written for it as well.
 */
#ifndef L4_FOLDKERNEL_H
#define L4_FOLDKERNEL_H

#if defined(__SSE2__) && !defined(L4_SCALAR)
#define FOLD_SSE2 1
#include <emmintrin.h>
#endif

#include "base/foldmemo.h"
#include "base/load.h"

#define STEP			16		/* bytes looked at at once */
#define SPREAD			UINT64CONST(0x9E3779B185EBCA87)

typedef uint8 FoldBytes __attribute__((vector_size(STEP)));
typedef uint64 FoldWords __attribute__((vector_size(STEP)));

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
	FoldWords	sum;
	FoldWords	place;
} FoldHash;

static inline void
hash_start(FoldHash *hash, uint64 seed)
{
	hash->sum = (FoldWords) {0, 0};
	hash->place = (FoldWords) {seed, seed};
}

static inline uint64
hash_end(const FoldHash *hash)
{
	return (hash->sum[0] ^ (hash->sum[0] >> 31)) * UINT64CONST(0x9E3779B97F4A7C15) + hash->sum[1];
}

static inline FoldBytes
load_step(const char *p)
{
	FoldBytes	b;

	memcpy(&b, p, STEP);
	return b;
}

/* 0xff for n bytes from first on */
static inline FoldBytes
in_range(FoldBytes b, uint8 first, uint8 n)
{
	return (FoldBytes) (b - first < n);
}

/* The bytes, each 0 or 0xff, as bits. */
static inline uint64
bits_of(FoldBytes bytes)
{
#ifdef FOLD_SSE2
	return _mm_movemask_epi8((__m128i) bytes);
#else
	FoldBytes	ones = bytes & 1;

	/* the multiplication moves the bit of each byte into the highest one */
	return (l4_load64(&ones) * UINT64CONST(0x0102040810204080)) >> 56 |
		(l4_load64((char *) &ones + 8) * UINT64CONST(0x0102040810204080)) >> 56 << 8;
#endif
}

/* The lower half of each word times its upper half. */
static inline FoldWords
multiply_halves(FoldWords x)
{
#ifdef FOLD_SSE2
	return (FoldWords) _mm_mul_epu32((__m128i) x, (__m128i) (x >> 32));
#else
	return (x & PG_UINT32_MAX) * (x >> 32);
#endif
}

static inline void
add_bytes(FoldHash *hash, FoldBytes b, FoldBytes varying)
{
	hash->sum += multiply_halves((FoldWords) (b & ~varying) + hash->place);
	hash->place += SPREAD;
}

/* hide: the letters a to f are left out as well. bits: those of the block that the step at p + at is of, or NULL */
static inline void
hash_step(FoldHash *hash, const char *p, int at, bool hide, FoldBits *bits)
{
	FoldBytes	b = load_step(p + at);
	FoldBytes	digits = in_range(b, '0', 10);
	FoldBytes	hex = in_range(b, 'a', 6);

	if (bits != NULL)
	{
		bits->digits |= bits_of(digits) << at;
		bits->hex |= bits_of(hex) << at;
		bits->letters |= bits_of(in_range(b | 0x20, 'a', 26)) << at;
	}
	add_bytes(hash, b, hide ? digits | hex : digits);
}

static inline void
hash_start_bytes(FoldHash *hash, const char *p)
{
	FoldBytes	b = (FoldBytes) (FoldWords) {l4_load64(p), 0};

	add_bytes(hash, b, in_range(b, '0', 10));
}

static inline bool
fits_step(const char *p, const char *key)
{
	FoldBytes	b = load_step(p);
	FoldBytes	k = load_step(key);
	FoldBytes	any_hex = (FoldBytes) (k == L4_FOLD_HEX);
	FoldBytes	any = any_hex | (FoldBytes) (k == L4_FOLD_DIGIT);
	FoldBytes	fits = (~any & (FoldBytes) (b == k)) | (any & in_range(b, '0', 10)) | (any_hex & in_range(b, 'a', 6));

	return bits_of(fits) == 0xffff;
}

#endif							/* L4_FOLDKERNEL_H */
