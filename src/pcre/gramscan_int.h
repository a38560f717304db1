/*
 * gramscan_int.h
 *		What building and scanning share: the filters of grams.
 */
#ifndef L4_GRAMSCAN_INT_H
#define L4_GRAMSCAN_INT_H

#include "pcre/gram.h"
#include "pcre/gramscan.h"
#include "pcre/shortscan.h"

/*
 * Bitmaps have 2^16 bits, 8 kB; where a filter holds more grams than this, all
 * have 2^18 or 2^20, constants in the inner loop. A larger one lets fewer grams
 * through that are none, but does not stay in the first cache.
 */
#define SMALL_BITS 16
#define SMALL_GRAMS 4096
#define LARGE_BITS 18
#define LARGE_GRAMS 32768
#define HUGE_BITS 20

/* The grams are found by the upper bits of the hash, about as many as there are grams. */
#define HEAD_BITS_MIN 8
#define HEAD_BITS_MAX 20

/*
 * Common grams are ruled out by two bytes more, which a literal of seven bytes
 * has behind or before each of its grams.
 */
#define WIDER_LEN 7

#define COUNT_BITS 16			/* of the table that counts grams */

#define FOLD8 UINT64CONST(0x2020202020202020)

typedef struct Literal
{
	const unsigned char *text;	/* in lower case when caseless */
	int			len;
	bool		caseless;
	int			filter;			/* -1: in the short scanner */
	int			from;			/* where the grams that the filter has begin */
	int			next;			/* literal with the same hash, -1 none */
} Literal;

/* A gram of a literal in a filter. */
typedef struct Gram
{
	uint64		window;			/* eight bytes of the literal, or all it has */
	uint64		window_mask;
	int			literal;
	uint8		offset;			/* of the gram in the literal */
	uint8		window_offset;
	uint8		len;			/* of the literal */
	bool		caseless;
} Gram;

/* Literals of like length: every stride-th position of a line is looked up. */
typedef struct Filter
{
	int			size;			/* bytes of a gram */
	int			stride;
	int			ngrams;
	uint32	   *bits;
	int			head_bits;
	int		   *heads;			/* first gram by the hash's upper bits; one more is the end of the last */
	Gram	   *grams;			/* in this order */
	uint64	   *wider[2];		/* bitmaps of six bytes: a gram and two behind it or before it; NULL: none */
} Filter;

#define NFILTERS 5

struct L4GramScan
{
	Literal    *literals;
	int			nliterals;
	int			literals_size;
	int		   *literal_table;	/* first literal by hash; only while building */
	L4ShortScan *shorts;		/* NULL: not needed, or not on this machine; what it cannot take goes into the filters */
	Filter		filters[NFILTERS];
	int			bits;			/* of the filters' bitmaps, log2 */
	uint64		line_no;
	uint64		next_sample;
	uint64		sample_distance;
	int			sampled;		/* lines counted in gram_counts since the grams were chosen */
	uint32	   *gram_counts;	/* grams of four bytes by hash */
	bool		avx2;			/* this machine has it */
	bool		counted;		/* and they say which are rare */
	unsigned char fold[256];

	/* the line at hand */
	const char *line;
	int			len;
	L4LiteralHit hit;
	void	   *arg;
};

#define HASH_FACTOR 0x9E3779B1U
#define HASH_FOLD 15

/* The upper bits are for tables. */
static inline uint32
hash_gram(uint32 gram)
{
	uint32		hash = gram * HASH_FACTOR;

	return hash ^ hash >> HASH_FOLD;
}

/* Where in a bitmap of so many bits the word of a gram is. */
static inline uint32
word_index(uint32 hash, int nbits)
{
	return hash >> (32 - (nbits - 5));
}

/* Two bits in this word stand for a gram, so that few others have both. */
static inline uint32
word_bits(uint32 hash)
{
	return UINT32_C(1) << (hash & 31) | UINT32_C(1) << (hash >> 5 & 31);
}

/* A gram with the two bytes at p, in a bitmap of so many bits. */
static inline uint32
hash_wider(uint32 gram, const unsigned char *p, int nbits)
{
	uint32		two = (p[0] | (uint32) p[1] << 8) | 0x2020;

	return hash_gram(gram ^ two * 0x85EBCA6BU) >> (32 - nbits);
}

static inline int *
gram_head(const Filter *filter, uint32 gram)
{
	return &filter->heads[hash_gram(gram) >> (32 - filter->head_bits)];
}

/* gramscan_run.c: tell the literals in the line at hand */
extern void l4_gramscan_run(L4GramScan *gs);

#endif							/* L4_GRAMSCAN_INT_H */
