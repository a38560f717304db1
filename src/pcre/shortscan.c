/*
 * shortscan.c
 *		Find some hundred short strings in a line at once, with SIMD.
 *
 * The method is known as Teddy (from Hyperscan): each string belongs to one of
 * eight buckets, and three bytes of it (two, if it has no more) are looked for. For
 * each of the three, two tables of sixteen bytes tell by low and high half of
 * a byte which buckets it may belong to; a shuffle looks up 32 positions in
 * one instruction. More strings have up to four such planes of eight buckets.
 * Where all six tables of a plane agree, the three bytes are looked up in a
 * hash table of the strings.
 *
 * What counts is that few positions get that far. So strings share a bucket
 * that allow almost the same bytes: of all pairs of buckets those are merged,
 * one after the other, that let the least additional text through.
 *
 * Needs AVX2, which is asked for at run time; without it the caller has other
 * means.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "pcre/literal.h"
#include "pcre/shortscan.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_SHORTSCAN 1
#include <immintrin.h>
#endif

#define BUCKETS 8
#define PLANES 4
#define PLANE_STRINGS 48		/* a further plane from so many on, up to PLANES */
#define BYTES 3					/* looked at per string */
#define STEP 32					/* positions per instruction */
#define WINDOW (STEP + BYTES - 1)	/* bytes that a step looks at */
#define STEPS 8					/* before what they found is looked at */
#define HASH_BITS 10

typedef struct ShortString
{
	const unsigned char *text;
	int			len;
	bool		caseless;
	int			number;
	int			offset;			/* of the bytes looked at */
	uint32		key;			/* these bytes, folded */
	int			next;			/* with the same hash, -1 none */
} ShortString;

/* The halves of a byte that may stand at each of the places: a set of byte strings. */
typedef struct Bucket
{
	uint16		low[BYTES];
	uint16		high[BYTES];
	uint64		passes;			/* how much text gets through, relatively */
	int			nearest;		/* the bucket to merge with, while preparing */
	uint64		loss;			/* and what it costs */
} Bucket;

struct L4ShortScan
{
	int			n;
	ShortString strings[L4_SHORT_MAX];
	bool		any_pair;		/* some have two bytes only */
	int16		heads[1 << HASH_BITS];	/* by three bytes, -1 none */
	int16		pair_heads[1 << HASH_BITS]; /* strings of two bytes */
	int			planes;
	uint8		low[PLANES][BYTES][16];
	uint8		high[PLANES][BYTES][16];
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

	memset(scan->heads, 0xFF, sizeof(scan->heads));
	memset(scan->pair_heads, 0xFF, sizeof(scan->pair_heads));
	return scan;
}

/* The bytes looked at, with bit 0x20 set: letters of both cases are equal. */
static inline uint32
read_key(const unsigned char *p, int bytes)
{
	uint32		key = p[0] | (uint32) p[1] << 8 | 0x2020;

	return bytes < BYTES ? key : key | (uint32) p[2] << 16 | 0x200000;
}

static inline uint32
hash_key(uint32 key)
{
	return (key * 0x9E3779B1U) >> (32 - HASH_BITS);
}

bool
l4_short_add(L4ShortScan *scan, const unsigned char *text, int len, bool caseless, int number)
{
	ShortString *s = &scan->strings[scan->n];
	int			bytes = Min(len, BYTES);
	int			best = -1;
	int16	   *head;

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
	s->key = read_key(text + s->offset, bytes);
	scan->any_pair |= (bytes < BYTES);
	head = (bytes < BYTES ? scan->pair_heads : scan->heads) + hash_key(s->key);
	s->next = *head;
	*head = scan->n++;
	return true;
}

/* ---- choosing buckets ---- */

/* How often a byte stands in logs, relatively. */
static void
count_bytes(uint8 often[256])
{
	static const uint8 by_weight[] = {0, 0, 24, 8, 8, 4, 2};

	for (int c = 0; c < 256; c++)
	{
		unsigned char byte = c;

		often[c] = (c < 0x20 || c >= 0x7F) ? 1 : by_weight[l4_literal_weight(&byte, 1)];
	}
}

static uint64
text_passing(const Bucket *b, const uint8 often[256])
{
	uint64		product = 1;

	for (int k = 0; k < BYTES; k++)
	{
		uint64		sum = 0;

		for (uint32 highs = b->high[k]; highs != 0; highs &= highs - 1)
			for (uint32 lows = b->low[k]; lows != 0; lows &= lows - 1)
				sum += often[pg_rightmost_one_pos32(highs) << 4 | pg_rightmost_one_pos32(lows)];
		product *= sum;
	}
	return product;
}

static void
unite(Bucket *a, const Bucket *b, const uint8 often[256])
{
	for (int k = 0; k < BYTES; k++)
	{
		a->low[k] |= b->low[k];
		a->high[k] |= b->high[k];
	}
	a->passes = text_passing(a, often);
}

/* Of the buckets behind bucket i, which one costs least to merge with it? */
static void
find_nearest(Bucket *buckets, int n, int i, const uint8 often[256])
{
	buckets[i].loss = PG_UINT64_MAX;
	for (int j = i + 1; j < n; j++)
	{
		Bucket		both = buckets[i];
		uint64		loss;

		unite(&both, &buckets[j], often);
		loss = both.passes - Min(both.passes, buckets[i].passes + buckets[j].passes);
		if (loss < buckets[i].loss)
		{
			buckets[i].loss = loss;
			buckets[i].nearest = j;
		}
	}
}

/* The bucket that holds nothing but this string. */
static void
init_bucket(Bucket *b, const ShortString *s, const uint8 often[256])
{
	memset(b, 0, sizeof(Bucket));
	for (int k = 0; k < BYTES; k++)
	{
		unsigned char c;

		if (k >= s->len)
		{
			b->low[k] = b->high[k] = 0xFFFF;
			continue;
		}
		c = s->text[s->offset + k];
		b->low[k] = 1 << (c & 15);
		b->high[k] = 1 << (c >> 4);
		if (s->caseless && c >= 'a' && c <= 'z')
			b->high[k] |= 1 << ((c & ~0x20) >> 4);
	}
	b->passes = text_passing(b, often);
}

void
l4_short_prepare(L4ShortScan *scan)
{
	uint8		often[256];
	Bucket	   *buckets = palloc(sizeof(Bucket) * Max(scan->n, 1));
	int			n = scan->n;

	count_bytes(often);
	scan->planes = Min(1 + scan->n / PLANE_STRINGS, PLANES);
	for (int i = 0; i < n; i++)
		init_bucket(&buckets[i], &scan->strings[i], often);
	for (int i = 0; i < n; i++)
		find_nearest(buckets, n, i, often);
	while (n > scan->planes * BUCKETS)
	{
		int			a = 0;
		int			b;

		for (int i = 1; i < n; i++)
			if (buckets[i].loss < buckets[a].loss)
				a = i;
		b = buckets[a].nearest;
		unite(&buckets[a], &buckets[b], often);
		buckets[b] = buckets[--n];
		/* what moved or changed may be another's nearest */
		for (int i = 0; i < n; i++)
			if (i == a || i == b || buckets[i].nearest == a || buckets[i].nearest == b ||
				buckets[i].nearest >= n)
				find_nearest(buckets, n, i, often);
	}
	memset(scan->low, 0, sizeof(scan->low));
	memset(scan->high, 0, sizeof(scan->high));
	for (int i = 0; i < n; i++)
		for (int k = 0; k < BYTES; k++)
			for (int half = 0; half < 16; half++)
			{
				scan->low[i / BUCKETS][k][half] |= (buckets[i].low[k] >> half & 1) << i % BUCKETS;
				scan->high[i / BUCKETS][k][half] |= (buckets[i].high[k] >> half & 1) << i % BUCKETS;
			}
	pfree(buckets);
}

/* ---- scanning ---- */

#ifdef HAVE_SHORTSCAN

static bool
is_at(const ShortString *s, const unsigned char *p)
{
	if (!s->caseless)
		return memcmp(p, s->text, s->len) == 0;
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

/* The bytes of some string may stand at this place of the line: which are there in full? */
static void
check_strings(const L4ShortScan *scan, int first, uint32 key, const char *line, int len, int at,
			  L4LiteralHit hit, void *arg)
{
	for (int i = first; i >= 0; i = scan->strings[i].next)
	{
		const ShortString *s = &scan->strings[i];
		int			start = at - s->offset;

		if (s->key == key && start >= 0 && start + s->len <= len &&
			is_at(s, (const unsigned char *) line + start))
			hit(arg, s->number);
	}
}

/* The buckets that may have a string with these halves of a byte at place k. */
#define LOOK_UP(table, k, halves) \
	_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (table)[k])), \
						halves)

/* Which of 32 positions may be of a string, as bits. The number of planes is a constant where it is called. */
__attribute__((target("avx2"), always_inline))
static inline uint32
sieve(const L4ShortScan *scan, const char *p, int planes)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);
	__m256i		first = _mm256_loadu_si256((const __m256i *) p);
	__m256i		second = _mm256_loadu_si256((const __m256i *) (p + 1));
	__m256i		third = _mm256_loadu_si256((const __m256i *) (p + 2));
	__m256i		low0 = _mm256_and_si256(first, nibble);
	__m256i		low1 = _mm256_and_si256(second, nibble);
	__m256i		low2 = _mm256_and_si256(third, nibble);
	__m256i		high0 = _mm256_and_si256(_mm256_srli_epi16(first, 4), nibble);
	__m256i		high1 = _mm256_and_si256(_mm256_srli_epi16(second, 4), nibble);
	__m256i		high2 = _mm256_and_si256(_mm256_srli_epi16(third, 4), nibble);
	uint32		none = PG_UINT32_MAX;

	for (int plane = 0; plane < planes; plane++)
	{
		const uint8 (*low)[16] = scan->low[plane];
		const uint8 (*high)[16] = scan->high[plane];
		__m256i		may;

		may = _mm256_and_si256(LOOK_UP(low, 0, low0), LOOK_UP(high, 0, high0));
		may = _mm256_and_si256(may, LOOK_UP(low, 1, low1));
		may = _mm256_and_si256(may, LOOK_UP(high, 1, high1));
		may = _mm256_and_si256(may, LOOK_UP(low, 2, low2));
		may = _mm256_and_si256(may, LOOK_UP(high, 2, high2));
		none &= (uint32) _mm256_movemask_epi8(_mm256_cmpeq_epi8(may, _mm256_setzero_si256()));
	}
	return ~none;
}

__attribute__((target("avx2"), always_inline))
static inline uint32
sieve_planes(const L4ShortScan *scan, const char *p)
{
	return scan->planes == 1 ? sieve(scan, p, 1) : scan->planes == 2 ? sieve(scan, p, 2)
		: sieve(scan, p, scan->planes);
}

/*
 * The same for the positions from at on, of which fewer are left. That the
 * last one or two have no three bytes behind them does not matter: the pair
 * at the end is looked up in any case.
 */
__attribute__((target("avx2")))
static uint32
sieve_rest(const L4ShortScan *scan, const char *line, int len, int at)
{
	char		copy[WINDOW] = {0};
	int			back = at - (len - WINDOW);

	if (len >= WINDOW)
		return back < STEP ? sieve_planes(scan, line + len - WINDOW) >> back : 0;
	memcpy(copy, line + at, len - at);
	return sieve_planes(scan, copy);
}

/* At this position there may be a string: which? */
static inline void
check_position(const L4ShortScan *scan, const char *line, int len, int at, L4LiteralHit hit, void *arg)
{
	const unsigned char *p = (const unsigned char *) line + at;
	uint32		key;

	if (at + BYTES <= len)
	{
		key = read_key(p, BYTES);
		check_strings(scan, scan->heads[hash_key(key)], key, line, len, at, hit, arg);
	}
	if (scan->any_pair && at + BYTES - 1 <= len)
	{
		key = read_key(p, BYTES - 1);
		check_strings(scan, scan->pair_heads[hash_key(key)], key, line, len, at, hit, arg);
	}
}

/* First where strings may be, for some steps, then what there is: jumps that cannot be predicted do not hold up the steps. */
__attribute__((target("avx2")))
void
l4_short_scan(const L4ShortScan *scan, const char *line, int len, L4LiteralHit hit, void *arg)
{
	for (int from = 0; from < len; from += STEPS * STEP)
	{
		uint32		found[STEPS];
		int			n = 0;

		for (int at = from; at < len && n < STEPS; at += STEP)
			found[n++] = at + WINDOW <= len ? sieve_planes(scan, line + at)
				: sieve_rest(scan, line, len, at);
		for (int i = 0; i < n; i++)
			for (uint32 rest = found[i]; rest != 0; rest &= rest - 1)
				check_position(scan, line, len, from + i * STEP + pg_rightmost_one_pos32(rest), hit, arg);
	}
	if (len >= WINDOW)
		check_position(scan, line, len, len - (BYTES - 1), hit, arg);
}

#else

void
l4_short_scan(const L4ShortScan *scan, const char *line, int len, L4LiteralHit hit, void *arg)
{
	elog(ERROR, "short strings cannot be scanned on this machine");
}

#endif
