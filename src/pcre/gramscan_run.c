/*
 * gramscan_run.c
 *		The scan for the grams of literals.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "pcre/gramscan_int.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1
#include <immintrin.h>
#endif

static inline bool
has_bit(const uint64 *bits, uint32 hash)
{
	return (bits[hash >> 6] >> (hash & 63)) & 1;
}

/* May one of the literals with the gram at this offset be there, by the bytes around? */
static inline bool
may_be_wider(const Filter *filter, const unsigned char *line, int len, uint32 word, int at, int nbits)
{
	return filter->wider[0] == NULL ||
		(at + 6 <= len && has_bit(filter->wider[0], hash_wider(word, line + at + 4, nbits))) ||
		(at >= 2 && has_bit(filter->wider[1], hash_wider(word, line + at - 2, nbits)));
}

/* Eight bytes, of which those behind the end do not count. */
static inline uint64
read_window(const unsigned char *line, int len, int at)
{
	uint64		window = 0;

	if (likely(at + 8 <= len))
		memcpy(&window, line + at, 8);
	else
		memcpy(&window, line + at, len - at);
	return window;
}

static bool
is_literal(const L4GramScan *gs, const Literal *literal, const unsigned char *p)
{
	int			k = 0;

	if (!literal->caseless)
		return memcmp(p, literal->text, literal->len) == 0;
	while (k < literal->len && gs->fold[p[k]] == literal->text[k])
		k++;
	return k == literal->len;
}

/* The gram at this offset has its bits set: which literals are there? */
static pg_noinline void
check_literals(L4GramScan *gs, const Filter *filter, uint32 word, int at)
{
	const unsigned char *line = (const unsigned char *) gs->line;
	const int  *head = gram_head(filter, word);

	for (int i = head[0]; i < head[1]; i++)
	{
		const Gram *gram = &filter->grams[i];
		int			start = at - gram->offset;
		uint64		window;

		if (start < 0 || start + gram->len > gs->len)
			continue;
		window = read_window(line, gs->len, start + gram->window_offset);
		window |= gram->caseless ? FOLD8 : 0;
		if ((window & gram->window_mask) == gram->window &&
			is_literal(gs, &gs->literals[gram->literal], line + start))
			gs->hit(gs->arg, gram->literal);
	}
}

/* One filter over the line, at every stride-th position. Size, stride and bits are constants where it is called. */
static pg_attribute_always_inline void
scan_positions(L4GramScan *gs, const Filter *filter, int size, int stride, int nbits, int from)
{
	const unsigned char *line = (const unsigned char *) gs->line;

	for (int i = from; i + 4 <= gs->len; i += stride)
	{
		uint32		gram = read_gram(line + i, size);
		uint32		hash = hash_gram(gram);
		uint32		bits = word_bits(hash);

		if (unlikely((filter->bits[word_index(hash, nbits)] & bits) == bits) &&
			may_be_wider(filter, line, gs->len, gram, i, nbits))
			check_literals(gs, filter, gram, i);
	}
}

/* Grams of less than four bytes, where less than four are left: read from a copy. */
static void
scan_tail(L4GramScan *gs, const Filter *filter, int size)
{
	int			full = Max(gs->len - 3, 0);
	unsigned char tail[8] = {0};

	memcpy(tail, gs->line + full, gs->len - full);
	for (int i = full; i < gs->len; i++)
		check_literals(gs, filter, read_gram(tail + i - full, size), i);
}

#ifdef HAVE_AVX2

/* Eight words of a table. The instruction for that is slow on many processors since it had to be made safe. */
__attribute__((target("avx2"), always_inline))
static inline __m256i
gather(const uint32 *table, __m256i index)
{
	uint32		at[8];

	_mm256_storeu_si256((__m256i *) at, index);
	return _mm256_setr_epi32(table[at[0]], table[at[1]], table[at[2]], table[at[3]],
							 table[at[4]], table[at[5]], table[at[6]], table[at[7]]);
}

/* Which of eight grams, four bytes apart, have their bits set? */
__attribute__((target("avx2"), always_inline))
static inline uint32
sieve(const Filter *filter, const unsigned char *p, int size, int nbits)
{
	const __m256i last = _mm256_set1_epi32(31);
	__m256i		hash;
	__m256i		words;
	__m256i		both;

	hash = _mm256_or_si256(_mm256_loadu_si256((const __m256i *) p), _mm256_set1_epi32(FOLD4));
	if (size < 4)
		hash = _mm256_and_si256(hash, _mm256_set1_epi32(gram_mask(size)));
	hash = _mm256_mullo_epi32(hash, _mm256_set1_epi32(HASH_FACTOR));
	hash = _mm256_xor_si256(hash, _mm256_srli_epi32(hash, HASH_FOLD));
	words = gather(filter->bits, _mm256_srli_epi32(hash, 32 - (nbits - 5)));
	both = _mm256_and_si256(_mm256_srlv_epi32(words, _mm256_and_si256(hash, last)),
							_mm256_srlv_epi32(words, _mm256_and_si256(_mm256_srli_epi32(hash, 5), last)));
	return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(both, 31)));
}

/*
 * The same as scan_positions, 32 bytes of the line at once, as long as there
 * are so many. First all that is found in some of these steps, then what to do
 * about it: whether there is something cannot be predicted, and a step would
 * have to wait for that.
 */
__attribute__((target("avx2"), always_inline))
static inline void
scan_avx2(L4GramScan *gs, const Filter *filter, int size, int stride, int nbits)
{
	const unsigned char *line = (const unsigned char *) gs->line;
	int			steps = (gs->len - (4 - stride)) / 32;

	if (filter->ngrams == 0)
		return;
	for (int step = 0; step < steps; step += 8)
		for (int k = 0; k < 4; k += stride)
		{
			const unsigned char *p = line + step * 32 + k;
			int			n = Min(steps - step, 8);
			uint64		found = 0;

			for (int i = 0; i < n; i++)
				found |= (uint64) sieve(filter, p + i * 32, size, nbits) << (i * 8);
			for (; found != 0; found &= found - 1)
			{
				int			at = p - line + pg_rightmost_one_pos64(found) * 4;
				uint32		gram = read_gram(line + at, size);

				if (may_be_wider(filter, line, gs->len, gram, at, nbits))
					check_literals(gs, filter, gram, at);
			}
		}
	scan_positions(gs, filter, size, stride, nbits, Max(steps, 0) * 32);
	if (size < 4)
		scan_tail(gs, filter, size);
}

#endif

static pg_attribute_always_inline void
scan_plain(L4GramScan *gs, const Filter *filter, int size, int stride, int nbits)
{
	if (filter->ngrams == 0)
		return;
	scan_positions(gs, filter, size, stride, nbits, 0);
	if (size < 4)
		scan_tail(gs, filter, size);
}

/* All filters, as filter_kinds says. */
#define SCAN_FILTERS(scan, nbits) \
	do { \
		scan(gs, &gs->filters[0], 4, 4, nbits); \
		scan(gs, &gs->filters[1], 4, 2, nbits); \
		scan(gs, &gs->filters[2], 4, 1, nbits); \
		scan(gs, &gs->filters[3], 3, 1, nbits); \
		scan(gs, &gs->filters[4], 2, 1, nbits); \
	} while (0)

#define SCAN(scan) \
	do { \
		if (gs->bits == SMALL_BITS) \
			SCAN_FILTERS(scan, SMALL_BITS); \
		else if (gs->bits == LARGE_BITS) \
			SCAN_FILTERS(scan, LARGE_BITS); \
		else \
			SCAN_FILTERS(scan, HUGE_BITS); \
	} while (0)

#ifdef HAVE_AVX2
__attribute__((target("avx2")))
static void
run_avx2(L4GramScan *gs)
{
	SCAN(scan_avx2);
}
#endif

void
l4_gramscan_run(L4GramScan *gs)
{
#ifdef HAVE_AVX2
	if (gs->avx2)
	{
		run_avx2(gs);
		return;
	}
#endif
	SCAN(scan_plain);
}
