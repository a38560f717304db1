/*
 * gramscan.c
 *		Where do any of thousands of literals occur in a line?
 *
 * Grams of each literal, four bytes long, go into a bitmap by hash; a line is
 * scanned by hashing the four bytes at every fourth position, since of four
 * grams in a row one begins there wherever the literal stands. Where the
 * bitmap has a bit, the literals with this gram are compared. Which grams of
 * a literal are rare is guessed at first and known after some hundred lines.
 * Literals of less than seven bytes are looked for with SIMD where that is
 * possible and they are few, else in filters of their own with shorter
 * strides or grams.
 *
 * Bytes are hashed with bit 0x20 set, which makes letters of both cases equal
 * (and some other bytes too: the comparison sorts them out).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

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

/* The first grams are found by the upper bits of the hash: small enough for a cache. */
#define HEAD_BITS 16

/*
 * Common grams are ruled out by two bytes more, which a literal of seven bytes
 * has behind or before each of its grams.
 */
#define WIDER_LEN 7
#define WIDER_BITS 16

#define FOLD4 0x20202020

/* Lines after which the grams are chosen anew, by how often these lines had them. */
#define SAMPLE_LINES 256

typedef struct Literal
{
	const unsigned char *text;	/* in lower case when caseless */
	int			len;
	bool		caseless;
	int			filter;			/* -1: in the short scanner */
	int			next;			/* literal with the same hash, -1 none */
} Literal;

/* A gram of a literal in a filter. */
typedef struct Gram
{
	uint32		gram;			/* its bytes as read_gram gives them */
	uint32		start;			/* the same for the first four bytes of the literal, if it has them */
	int			literal;
	int			next;			/* with the same hash, -1 none */
	uint8		offset;			/* in the literal */
	uint8		len;			/* of the literal */
	uint8		last;			/* its last byte, folded */
} Gram;

/* Literals of like length: every stride-th position of a line is looked up. */
typedef struct Filter
{
	int			size;			/* bytes of a gram */
	int			stride;
	int			ngrams;
	uint64	   *bits;
	int		   *heads;			/* first gram by the hash's upper bits, -1 none */
	Gram	   *grams;
	uint64	   *wider[2];		/* bitmaps of six bytes: a gram and two behind it or before it; NULL: none */
} Filter;

/* Filters by length of literal: 7 and more, 5 and 6, 4, 3, 2. */
#define NFILTERS 5
static const struct
{
	int			min_len;
	int			size;
	int			stride;
}			filter_kinds[NFILTERS] = {{7, 4, 4}, {5, 4, 2}, {4, 4, 1}, {3, 3, 1}, {2, 2, 1}};

#define LITERAL_SLOTS 4096		/* of the table that finds equal literals, a power of two */

struct L4GramScan
{
	Literal    *literals;
	int			nliterals;
	int			literals_size;
	int		   *literal_table;	/* first literal by hash; only while building */
	L4ShortScan *shorts;		/* NULL: not needed, or not on this machine; what it cannot take goes into the filters */
	Filter		filters[NFILTERS];
	int			bits;			/* of the filters' bitmaps, log2 */
	int			sampled;		/* lines counted in gram_counts */
	uint32	   *gram_counts;	/* grams of four bytes by hash; NULL when done */
	unsigned char fold[256];

	/* the line at hand */
	const char *line;
	int			len;
	L4LiteralHit hit;
	void	   *arg;
};

static inline uint32
hash_gram(uint32 gram, int bits)
{
	return (gram * 0x9E3779B1U) >> (32 - bits);
}

/* The bytes of a word, as it is in memory, that belong to a gram of this size. */
static inline uint32
gram_mask(int size)
{
#ifdef WORDS_BIGENDIAN
	return PG_UINT32_MAX << (8 * (4 - size));
#else
	return PG_UINT32_MAX >> (8 * (4 - size));
#endif
}

static inline uint32
read_gram(const unsigned char *p, int size)
{
	uint32		gram;

	memcpy(&gram, p, 4);
	return (gram | FOLD4) & gram_mask(size);
}

/* A gram with the two bytes at p. */
static inline uint32
hash_wider(uint32 gram, const unsigned char *p)
{
	uint32		two = (p[0] | (uint32) p[1] << 8) | 0x2020;

	return hash_gram(gram ^ two * 0x85EBCA6BU, WIDER_BITS);
}

/* ---- building ---- */

L4GramScan *
l4_gramscan_create(void)
{
	L4GramScan *gs = palloc0(sizeof(L4GramScan));

	gs->literal_table = palloc(sizeof(int) * LITERAL_SLOTS);
	memset(gs->literal_table, 0xFF, sizeof(int) * LITERAL_SLOTS);
	for (int c = 0; c < 256; c++)
		gs->fold[c] = (c >= 'A' && c <= 'Z') ? c | 0x20 : c;
	return gs;
}

/* How common a gram of a literal is, by the sample or by its letters. */
static int64
commonness(const L4GramScan *gs, const unsigned char *text, int size)
{
	if (gs->sampled == SAMPLE_LINES && size == 4)
		return gs->gram_counts[hash_gram(read_gram(text, size), SMALL_BITS)];
	return -l4_literal_weight(text, size);
}

/* Where in a literal the count grams in a row begin that are rarest. */
static int
rarest_grams(const L4GramScan *gs, const Literal *literal, int size, int count)
{
	int			best = 0;
	int64		least = PG_INT64_MAX;

	for (int i = 0; i + count + size - 1 <= literal->len; i++)
	{
		int64		sum = 0;

		for (int k = 0; k < count; k++)
			sum += commonness(gs, literal->text + i + k, size);
		if (sum < least)
		{
			best = i;
			least = sum;
		}
	}
	return best;
}

int
l4_gramscan_add(L4GramScan *gs, const L4Literal *item, bool caseless)
{
	uint32		slot = hash_bytes(item->text, item->len) & (LITERAL_SLOTS - 1);
	int			number = gs->literal_table[slot];
	Literal    *literal;
	unsigned char *copy;
	int			f = 0;

	for (; number >= 0; number = gs->literals[number].next)
		if (gs->literals[number].len == item->len && gs->literals[number].caseless == caseless &&
			memcmp(gs->literals[number].text, item->text, item->len) == 0)
			return number;
	if (gs->nliterals == gs->literals_size)
	{
		gs->literals_size = Max(256, gs->literals_size * 2);
		if (gs->literals == NULL)
			gs->literals = palloc(sizeof(Literal) * gs->literals_size);
		else
			gs->literals = repalloc_huge(gs->literals,
										 sizeof(Literal) * (Size) gs->literals_size);
	}
	while (item->len < filter_kinds[f].min_len)
		f++;
	copy = palloc(item->len);
	memcpy(copy, item->text, item->len);
	number = gs->nliterals++;
	literal = &gs->literals[number];
	literal->text = copy;
	literal->len = item->len;
	literal->caseless = caseless;
	literal->filter = f;
	literal->next = gs->literal_table[slot];
	gs->literal_table[slot] = number;
	if (f > 0 && l4_short_available())
	{
		if (gs->shorts == NULL)
			gs->shorts = l4_short_create();
		if (l4_short_add(gs->shorts, copy, item->len, caseless, number))
		{
			literal->filter = -1;
			return number;
		}
	}
	gs->filters[f].ngrams += filter_kinds[f].stride;
	return number;
}

/* Make the bitmaps and lists of the filters, still empty. */
static void
init_filters(L4GramScan *gs)
{
	gs->bits = SMALL_BITS;
	for (int f = 0; f < NFILTERS; f++)
		if (gs->filters[f].ngrams > SMALL_GRAMS)
			gs->bits = Max(gs->bits, gs->filters[f].ngrams > LARGE_GRAMS ? HUGE_BITS : LARGE_BITS);
	for (int f = 0; f < NFILTERS; f++)
	{
		Filter	   *filter = &gs->filters[f];
		filter->size = filter_kinds[f].size;
		filter->stride = filter_kinds[f].stride;
		if (filter->ngrams == 0)
			continue;
		filter->bits = palloc(((Size) 1) << (gs->bits - 3));
		filter->heads = palloc(sizeof(int) << HEAD_BITS);
		filter->grams = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(Gram) * (Size) filter->ngrams);
		for (int side = 0; side < 2 && filter_kinds[f].min_len >= WIDER_LEN; side++)
			filter->wider[side] = palloc(((Size) 1) << (WIDER_BITS - 3));
	}
}

static void
add_gram(L4GramScan *gs, Filter *filter, int number, int offset)
{
	const Literal *literal = &gs->literals[number];
	Gram	   *gram = &filter->grams[filter->ngrams];
	unsigned char bytes[4] = {0};
	uint32		hash;

	memcpy(bytes, literal->text + offset, filter->size);
	gram->gram = read_gram(bytes, filter->size);
	memcpy(bytes, literal->text, filter->size);
	gram->start = read_gram(bytes, filter->size);
	gram->literal = number;
	gram->offset = offset;
	gram->len = literal->len;
	gram->last = literal->text[literal->len - 1] | 0x20;
	hash = hash_gram(gram->gram, gs->bits);
	filter->bits[hash >> 6] |= UINT64CONST(1) << (hash & 63);
	hash >>= gs->bits - HEAD_BITS;
	gram->next = filter->heads[hash];
	filter->heads[hash] = filter->ngrams++;
	if (filter->wider[0] != NULL)
	{
		bool		before = (offset + 6 > literal->len);

		hash = hash_wider(gram->gram, literal->text + offset + (before ? -2 : 4));
		filter->wider[before][hash >> 6] |= UINT64CONST(1) << (hash & 63);
	}
}

/* As many grams in a row of each literal as the stride of its filter is long. */
static void
fill_filters(L4GramScan *gs)
{
	for (int f = 0; f < NFILTERS; f++)
		if (gs->filters[f].ngrams > 0)
		{
			memset(gs->filters[f].bits, 0, ((Size) 1) << (gs->bits - 3));
			memset(gs->filters[f].heads, 0xFF, sizeof(int) << HEAD_BITS);
			for (int side = 0; side < 2 && gs->filters[f].wider[side] != NULL; side++)
				memset(gs->filters[f].wider[side], 0, ((Size) 1) << (WIDER_BITS - 3));
			gs->filters[f].ngrams = 0;
		}
	for (int i = 0; i < gs->nliterals; i++)
	{
		Filter	   *filter;
		int			from;

		if (gs->literals[i].filter < 0)
			continue;
		filter = &gs->filters[gs->literals[i].filter];
		from = rarest_grams(gs, &gs->literals[i], filter->size, filter->stride);
		for (int k = 0; k < filter->stride; k++)
			add_gram(gs, filter, i, from + k);
	}
}

void
l4_gramscan_prepare(L4GramScan *gs)
{
	pfree(gs->literal_table);
	if (gs->shorts != NULL)
		l4_short_prepare(gs->shorts);
	init_filters(gs);
	fill_filters(gs);
	gs->gram_counts = palloc0(sizeof(uint32) << SMALL_BITS);
}

/* ---- scanning ---- */

static inline bool
has_bit(const uint64 *bits, uint32 hash)
{
	return (bits[hash >> 6] >> (hash & 63)) & 1;
}

/* May one of the literals with the gram at this offset be there, by the bytes around? */
static inline bool
may_be_wider(const Filter *filter, const unsigned char *line, int len, uint32 word, int at)
{
	return (at + 6 <= len && has_bit(filter->wider[0], hash_wider(word, line + at + 4))) ||
		(at >= 2 && has_bit(filter->wider[1], hash_wider(word, line + at - 2)));
}

/* The gram at this offset has its bit set: which literals are there? */
static pg_noinline void
check_literals(L4GramScan *gs, const Filter *filter, uint32 word, int at)
{
	const unsigned char *line = (const unsigned char *) gs->line;

	if (filter->wider[0] != NULL && !may_be_wider(filter, line, gs->len, word, at))
		return;

	for (int i = filter->heads[hash_gram(word, HEAD_BITS)]; i >= 0; i = filter->grams[i].next)
	{
		const Gram *gram = &filter->grams[i];
		const Literal *literal;
		int			start = at - gram->offset;
		int			k = 0;

		if (gram->gram != word || start < 0 || start + gram->len > gs->len)
			continue;
		/* most are ruled out without a look at the literal */
		if ((line[start + gram->len - 1] | 0x20) != gram->last)
			continue;
		if (filter->size == 4 && read_gram(line + start, 4) != gram->start)
			continue;
		literal = &gs->literals[gram->literal];
		if (!literal->caseless)
		{
			if (memcmp(line + start, literal->text, literal->len) != 0)
				continue;
		}
		else
		{
			while (k < literal->len && gs->fold[line[start + k]] == literal->text[k])
				k++;
			if (k < literal->len)
				continue;
		}
		gs->hit(gs->arg, gram->literal);
	}
}

/* One filter over the line, at every stride-th position. Size, stride and bits are constants where it is called. */
static pg_attribute_always_inline void
scan_positions(L4GramScan *gs, const Filter *filter, int size, int stride, int nbits)
{
	const unsigned char *line = (const unsigned char *) gs->line;
	const uint64 *bits = filter->bits;
	int			full = gs->len - 3;
	unsigned char tail[8] = {0};

	if (filter->ngrams == 0)
		return;
	for (int i = 0; i < full; i += stride)
	{
		uint32		word = read_gram(line + i, size);

		if (unlikely(has_bit(bits, hash_gram(word, nbits))))
			check_literals(gs, filter, word, i);
	}
	if (size == 4)
		return;

	/* short grams where less than four bytes are left, read from a copy */
	full = Max(full, 0);
	memcpy(tail, line + full, gs->len - full);
	for (int i = full; i < gs->len; i++)
	{
		uint32		word = read_gram(tail + i - full, size);

		if (has_bit(bits, hash_gram(word, nbits)))
			check_literals(gs, filter, word, i);
	}
}

/* All filters: the same as filter_kinds says. */
static pg_attribute_always_inline void
scan_filters(L4GramScan *gs, int nbits)
{
	scan_positions(gs, &gs->filters[0], 4, 4, nbits);
	scan_positions(gs, &gs->filters[1], 4, 2, nbits);
	scan_positions(gs, &gs->filters[2], 4, 1, nbits);
	scan_positions(gs, &gs->filters[3], 3, 1, nbits);
	scan_positions(gs, &gs->filters[4], 2, 1, nbits);
}

/* Count the grams of a line; after enough lines choose the literals' grams by them. */
static void
sample_line(L4GramScan *gs, const char *line, int len)
{
	for (int i = 0; i + 4 <= Min(len, 1024); i++)
		gs->gram_counts[hash_gram(read_gram((const unsigned char *) line + i, 4), SMALL_BITS)]++;
	if (++gs->sampled < SAMPLE_LINES)
		return;
	fill_filters(gs);
	pfree(gs->gram_counts);
	gs->gram_counts = NULL;
}

void
l4_gramscan(L4GramScan *gs, const char *line, int len, L4LiteralHit hit, void *arg)
{
	if (gs->gram_counts != NULL)
		sample_line(gs, line, len);
	gs->line = line;
	gs->len = len;
	gs->hit = hit;
	gs->arg = arg;
	if (gs->bits == SMALL_BITS)
		scan_filters(gs, SMALL_BITS);
	else if (gs->bits == LARGE_BITS)
		scan_filters(gs, LARGE_BITS);
	else
		scan_filters(gs, HUGE_BITS);
	if (gs->shorts != NULL)
		l4_short_scan(gs->shorts, line, len, hit, arg);
}
