/*
 * shortscan.c
 *		Find a few dozen short strings in a line at once, with SIMD.
 *
 * The method is known as Teddy (from Hyperscan): each string belongs to one of
 * eight buckets, and three bytes of it (two, if it has no more) are looked for. For
 * each of the three, two tables of sixteen bytes tell by low and high half of
 * a byte which buckets it may belong to; a shuffle looks up 32 positions in
 * one instruction. What all six tables agree on is compared in full. Needs
 * AVX2, which is asked for at run time; without it the caller has other means.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "literal.h"
#include "shortscan.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_SHORTSCAN 1
#include <immintrin.h>
#endif

#define BUCKETS 8
#define BYTES 3					/* looked at per string */
#define STEP 32					/* positions per instruction */

typedef struct ShortString
{
	const unsigned char *text;
	int			len;
	bool		caseless;
	int			number;
	int			offset;			/* of the bytes looked at */
	int			next;			/* of the same bucket, -1 none */
} ShortString;

struct L4ShortScan
{
	int			n;
	ShortString strings[L4_SHORT_MAX];
	int			first[BUCKETS]; /* -1 none */
	uint8		low[BYTES][16];
	uint8		high[BYTES][16];
};

bool
l4_short_available(void)
{
#ifdef HAVE_SHORTSCAN
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

L4ShortScan *
l4_short_create(void)
{
	L4ShortScan *scan = palloc0(sizeof(L4ShortScan));

	memset(scan->first, 0xFF, sizeof(scan->first));
	return scan;
}

/* A byte may be the k-th one of a string in this bucket. */
static void
allow(L4ShortScan *scan, int bucket, int k, unsigned char c)
{
	scan->low[k][c & 15] |= 1 << bucket;
	scan->high[k][c >> 4] |= 1 << bucket;
}

bool
l4_short_add(L4ShortScan *scan, const unsigned char *text, int len, bool caseless, int number)
{
	ShortString *s = &scan->strings[scan->n];
	int			bytes = Min(len, BYTES);
	int			best = -1;
	int			bucket;

	if (scan->n == L4_SHORT_MAX)
		return false;
	Assert(len >= L4_SHORT_LEN);
	s->text = text;
	s->len = len;
	s->caseless = caseless;
	s->number = number;
	for (int i = 0; i + bytes <= len; i++)
	{
		int			weight = l4_literal_weight(text + i, bytes);

		if (weight > best)
		{
			best = weight;
			s->offset = i;
		}
	}

	/*
	 * Strings with the same first bytes share a bucket, so that few bytes are
	 * allowed in each; those of two bytes allow any third and keep apart.
	 */
	bucket = bytes < BYTES ? 0 :
		1 + (text[s->offset] + 3 * text[s->offset + 1]) % (BUCKETS - 1);
	s->next = scan->first[bucket];
	scan->first[bucket] = scan->n++;
	for (int k = 0; k < bytes; k++)
	{
		unsigned char c = text[s->offset + k];

		allow(scan, bucket, k, c);
		if (caseless && c >= 'a' && c <= 'z')
			allow(scan, bucket, k, c & ~0x20);
	}
	for (int k = bytes; k < BYTES; k++)
		for (int half = 0; half < 16; half++)
		{
			scan->low[k][half] |= 1 << bucket;
			scan->high[k][half] |= 1 << bucket;
		}
	return true;
}

#ifdef HAVE_SHORTSCAN

static bool
is_at(const ShortString *s, const unsigned char *p)
{
	/* two bytes rule out most strings of a bucket without a call */
	if (!s->caseless)
		return p[0] == s->text[0] && p[s->len - 1] == s->text[s->len - 1] &&
			memcmp(p, s->text, s->len) == 0;
	for (int k = 0; k < s->len; k++)
	{
		unsigned char c = p[k];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != s->text[k])
			return false;
	}
	return true;
}

/* These buckets may have a string whose bytes begin here: which one has? */
static pg_noinline void
check_buckets(const L4ShortScan *scan, const char *line, int len, int at, uint32 buckets,
			  L4ShortHit hit, void *arg)
{
	for (; buckets != 0; buckets &= buckets - 1)
		for (int i = scan->first[pg_rightmost_one_pos32(buckets)]; i >= 0;
			 i = scan->strings[i].next)
		{
			const ShortString *s = &scan->strings[i];
			int			start = at - s->offset;

			if (start >= 0 && start + s->len <= len &&
				is_at(s, (const unsigned char *) line + start))
				hit(arg, s->number);
		}
}

__attribute__((target("avx2")))
void
l4_short_scan(const L4ShortScan *scan, const char *line, int len, L4ShortHit hit, void *arg)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);
	__m256i		low[BYTES];
	__m256i		high[BYTES];
	char		tail[STEP + BYTES - 1];

	for (int k = 0; k < BYTES; k++)
	{
		low[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) scan->low[k]));
		high[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) scan->high[k]));
	}
	for (int i = 0; i < len; i += STEP)
	{
		const char *p = line + i;
		__m256i		may = _mm256_set1_epi8(-1);
		uint32		positions;
		uint8		buckets[STEP];

		if (len - i < STEP + BYTES - 1)
		{
			memset(tail, 0, sizeof(tail));
			memcpy(tail, p, len - i);
			p = tail;
		}
		for (int k = 0; k < BYTES; k++)
		{
			__m256i		v = _mm256_loadu_si256((const __m256i *) (p + k));
			__m256i		l = _mm256_shuffle_epi8(low[k], _mm256_and_si256(v, nibble));
			__m256i		h = _mm256_shuffle_epi8(high[k],
												_mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));

			may = _mm256_and_si256(may, _mm256_and_si256(l, h));
		}
		positions = ~(uint32) _mm256_movemask_epi8(_mm256_cmpeq_epi8(may, _mm256_setzero_si256()));
		if (likely(positions == 0))
			continue;
		_mm256_storeu_si256((__m256i *) buckets, may);
		for (; positions != 0; positions &= positions - 1)
		{
			int			at = pg_rightmost_one_pos32(positions);

			if (i + at < len)
				check_buckets(scan, line, len, i + at, buckets[at], hit, arg);
		}
	}
}

#else

void
l4_short_scan(const L4ShortScan *scan, const char *line, int len, L4ShortHit hit, void *arg)
{
	elog(ERROR, "short strings cannot be scanned on this machine");
}

#endif
