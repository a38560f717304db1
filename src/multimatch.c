/*
 * multimatch.c
 *		Many regular expressions over many lines, each line read once.
 *
 * Of every pattern we know literals of which one must occur (literal.c).
 * Grams of each literal, four bytes long, go into a bitmap by hash; a line is
 * scanned by hashing the four bytes at every fourth position, since of four
 * grams in a row one begins there wherever the literal stands. Where the
 * bitmap has a bit, the literals with this gram are compared, and where one
 * occurs its patterns become candidates. Only candidates are run, and those
 * patterns of which no literal is known. Which grams of a literal are rare is
 * guessed at first and known after some hundred lines. Literals of less than seven bytes
 * are looked for with SIMD where that is possible and they are few, else in
 * filters of their own with shorter strides or grams.
 *
 * Bytes are hashed with bit 0x20 set, which makes letters of both cases equal
 * (and some other bytes too: the comparison sorts them out).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "literal.h"
#include "multimatch.h"
#include "shortscan.h"

/*
 * Bitmaps have 2^16 bits, 8 kB; where a filter holds more grams than this, all
 * have 2^20. Both are constants in the inner loop.
 */
#define SMALL_BITS 16
#define LARGE_BITS 20
#define SMALL_GRAMS 4096

#define FOLD4 0x20202020

/* Lines after which the grams are chosen anew, by how often these lines had them. */
#define SAMPLE_LINES 256

/* One literal, shared by all patterns that need it. */
typedef struct Literal
{
	const unsigned char *text;	/* in lower case when caseless */
	int			len;
	bool		caseless;
	int			filter;			/* -1: in the short scanner */
	int			next;			/* literal with the same hash, -1 none */
	int			first_pattern;	/* in mm->links, -1 none */
} Literal;

/* What a pattern needs besides the literal that made it a candidate: one item of each set. */
typedef struct Also
{
	int			n[L4_LITERAL_ALSO];
	L4Literal  *items[L4_LITERAL_ALSO];
} Also;

/* A pattern in the list of a literal. */
typedef struct Link
{
	int			pattern;
	int			next;
} Link;

/* A gram of a literal in a filter. */
typedef struct Gram
{
	uint32		gram;			/* its bytes as read_gram gives them */
	uint32		start;			/* the same for the first four bytes of the literal, if it has them */
	int			literal;
	int			offset;			/* in the literal */
	int			next;			/* with the same hash, -1 none */
} Gram;

/* Literals of like length: every stride-th position of a line is looked up. */
typedef struct Filter
{
	int			size;			/* bytes of a gram */
	int			stride;
	int			ngrams;
	uint64	   *bits;
	int		   *heads;			/* first gram by hash, -1 none */
	Gram	   *grams;
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

struct L4MultiMatch
{
	MemoryContext cxt;
	int			n;
	char	  **patterns;
	int		   *lens;
	L4Regex   **compiled;		/* NULL until first run */
	Also	   *also;

	Literal    *literals;
	int			nliterals;
	int			literals_size;
	Link	   *links;
	int			nlinks;
	int			links_size;
	int		   *literal_table;	/* first literal by hash; only while building */
	L4ShortScan *shorts;		/* NULL: not needed, or not on this machine; what it cannot take goes into the filters */
	Filter		filters[NFILTERS];
	int			bits;			/* of the filters' bitmaps, log2 */
	int			sampled;		/* lines counted in gram_counts */
	uint32	   *gram_counts;	/* grams of four bytes by hash; NULL when done */

	int			words;			/* of the bitmaps below */
	uint64	   *always;			/* patterns without a literal */
	uint64	   *caseless;		/* patterns for which K and S have other spellings */
	int			nalways;
	bool		any_caseless;

	/* the line at hand */
	const char *line;
	int			len;
	uint64	   *candidates;
	bool		found;			/* candidates has a bit */
	int			word;			/* where next() stands */
	uint64		rest;			/* its bits not yet returned */
	unsigned char fold[256];
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

/* ---- building ---- */

/* How common a gram of a literal is, by the sample or by its letters. */
static int64
commonness(const L4MultiMatch *mm, const unsigned char *text, int size)
{
	if (mm->sampled == SAMPLE_LINES && size == 4)
		return mm->gram_counts[hash_gram(read_gram(text, size), SMALL_BITS)];
	return -l4_literal_weight(text, size);
}

/* Where in a literal the count grams in a row begin that are rarest. */
static int
rarest_grams(const L4MultiMatch *mm, const Literal *literal, int size, int count)
{
	int			best = 0;
	int64		least = PG_INT64_MAX;

	for (int i = 0; i + count + size - 1 <= literal->len; i++)
	{
		int64		sum = 0;

		for (int k = 0; k < count; k++)
			sum += commonness(mm, literal->text + i + k, size);
		if (sum < least)
		{
			best = i;
			least = sum;
		}
	}
	return best;
}

/* The number of a literal: patterns with the same one share it. */
static int
add_literal(L4MultiMatch *mm, const L4Literal *item, bool caseless)
{
	uint32		slot = hash_bytes(item->text, item->len) & (LITERAL_SLOTS - 1);
	int			number = mm->literal_table[slot];
	Literal    *literal;
	unsigned char *copy;
	int			f = 0;

	for (; number >= 0; number = mm->literals[number].next)
		if (mm->literals[number].len == item->len && mm->literals[number].caseless == caseless &&
			memcmp(mm->literals[number].text, item->text, item->len) == 0)
			return number;
	if (mm->nliterals == mm->literals_size)
	{
		mm->literals_size = Max(256, mm->literals_size * 2);
		if (mm->literals == NULL)
			mm->literals = palloc(sizeof(Literal) * mm->literals_size);
		else
			mm->literals = repalloc_huge(mm->literals,
										 sizeof(Literal) * (Size) mm->literals_size);
	}
	while (item->len < filter_kinds[f].min_len)
		f++;
	copy = palloc(item->len);
	memcpy(copy, item->text, item->len);
	number = mm->nliterals++;
	literal = &mm->literals[number];
	literal->text = copy;
	literal->len = item->len;
	literal->caseless = caseless;
	literal->filter = f;
	literal->first_pattern = -1;
	literal->next = mm->literal_table[slot];
	mm->literal_table[slot] = number;
	if (f > 0 && l4_short_available())
	{
		if (mm->shorts == NULL)
			mm->shorts = l4_short_create();
		if (l4_short_add(mm->shorts, copy, item->len, caseless, number))
		{
			literal->filter = -1;
			return number;
		}
	}
	mm->filters[f].ngrams += filter_kinds[f].stride;
	return number;
}

static void
add_link(L4MultiMatch *mm, int literal, int pattern)
{
	if (mm->nlinks == mm->links_size)
	{
		mm->links_size = Max(256, mm->links_size * 2);
		if (mm->links == NULL)
			mm->links = palloc(sizeof(Link) * mm->links_size);
		else
			mm->links = repalloc_huge(mm->links, sizeof(Link) * (Size) mm->links_size);
	}
	mm->links[mm->nlinks].pattern = pattern;
	mm->links[mm->nlinks].next = mm->literals[literal].first_pattern;
	mm->literals[literal].first_pattern = mm->nlinks++;
}

/* Make the bitmaps and lists of the filters, still empty. */
static void
init_filters(L4MultiMatch *mm)
{
	mm->bits = SMALL_BITS;
	for (int f = 0; f < NFILTERS; f++)
		if (mm->filters[f].ngrams > SMALL_GRAMS)
			mm->bits = LARGE_BITS;
	for (int f = 0; f < NFILTERS; f++)
	{
		Filter	   *filter = &mm->filters[f];
		filter->size = filter_kinds[f].size;
		filter->stride = filter_kinds[f].stride;
		if (filter->ngrams == 0)
			continue;
		filter->bits = palloc(((Size) 1) << (mm->bits - 3));
		filter->heads = palloc(sizeof(int) << mm->bits);
		filter->grams = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(Gram) * (Size) filter->ngrams);
	}
}

static void
add_gram(L4MultiMatch *mm, Filter *filter, int number, int offset)
{
	const Literal *literal = &mm->literals[number];
	Gram	   *gram = &filter->grams[filter->ngrams];
	unsigned char bytes[4] = {0};
	uint32		hash;

	memcpy(bytes, literal->text + offset, filter->size);
	gram->gram = read_gram(bytes, filter->size);
	memcpy(bytes, literal->text, filter->size);
	gram->start = read_gram(bytes, filter->size);
	gram->literal = number;
	gram->offset = offset;
	hash = hash_gram(gram->gram, mm->bits);
	filter->bits[hash >> 6] |= UINT64CONST(1) << (hash & 63);
	gram->next = filter->heads[hash];
	filter->heads[hash] = filter->ngrams++;
}

/* As many grams in a row of each literal as the stride of its filter is long. */
static void
fill_filters(L4MultiMatch *mm)
{
	for (int f = 0; f < NFILTERS; f++)
		if (mm->filters[f].ngrams > 0)
		{
			memset(mm->filters[f].bits, 0, ((Size) 1) << (mm->bits - 3));
			memset(mm->filters[f].heads, 0xFF, sizeof(int) << mm->bits);
			mm->filters[f].ngrams = 0;
		}
	for (int i = 0; i < mm->nliterals; i++)
	{
		Filter	   *filter;
		int			from;

		if (mm->literals[i].filter < 0)
			continue;
		filter = &mm->filters[mm->literals[i].filter];
		from = rarest_grams(mm, &mm->literals[i], filter->size, filter->stride);
		for (int k = 0; k < filter->stride; k++)
			add_gram(mm, filter, i, from + k);
	}
}

/* Read the literals of pattern i, which is in place. */
static void
add_pattern(L4MultiMatch *mm, int i, L4Required *required)
{
	uint64		bit = UINT64CONST(1) << (i & 63);
	const L4LiteralSet *best = &required->best;

	l4_required_literals(mm->patterns[i], mm->lens[i], required);
	if (best->n == 0)
	{
		mm->always[i >> 6] |= bit;
		mm->nalways++;
		return;
	}
	for (int k = 0; k < best->n; k++)
		add_link(mm, add_literal(mm, &best->items[k], required->caseless), i);
	for (int k = 0; k < L4_LITERAL_ALSO; k++)
	{
		const L4LiteralSet *also = &required->also[k];

		if (also->n == 0)
			break;
		mm->also[i].n[k] = also->n;
		mm->also[i].items[k] = palloc(sizeof(L4Literal) * also->n);
		memcpy(mm->also[i].items[k], also->items, sizeof(L4Literal) * also->n);
	}
	if (required->caseless && GetDatabaseEncoding() == PG_UTF8)
	{
		mm->caseless[i >> 6] |= bit;
		mm->any_caseless = true;
	}
}

L4MultiMatch *
l4_multimatch_build(int n, const char *const *patterns, const int *lens, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 multimatch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4MultiMatch *mm = palloc0(sizeof(L4MultiMatch));
	L4Required *required = palloc(sizeof(L4Required));

	mm->cxt = cxt;
	mm->n = n;
	mm->patterns = palloc(sizeof(char *) * Max(n, 1));
	mm->lens = palloc(sizeof(int) * Max(n, 1));
	mm->compiled = palloc0(sizeof(L4Regex *) * Max(n, 1));
	mm->also = palloc0(sizeof(Also) * Max(n, 1));
	mm->words = (n + 63) / 64;
	mm->always = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->caseless = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->candidates = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->word = mm->words;
	mm->literal_table = palloc(sizeof(int) * LITERAL_SLOTS);
	memset(mm->literal_table, 0xFF, sizeof(int) * LITERAL_SLOTS);
	for (int c = 0; c < 256; c++)
		mm->fold[c] = (c >= 'A' && c <= 'Z') ? c | 0x20 : c;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mm->patterns[i] = pnstrdup(patterns[i], lens[i]);
		mm->lens[i] = lens[i];
		add_pattern(mm, i, required);
	}
	pfree(required);
	pfree(mm->literal_table);
	if (mm->shorts != NULL)
		l4_short_prepare(mm->shorts);
	init_filters(mm);
	fill_filters(mm);
	mm->gram_counts = palloc0(sizeof(uint32) << SMALL_BITS);
	MemoryContextSwitchTo(old);
	return mm;
}

void
l4_multimatch_free(L4MultiMatch *mm)
{
	MemoryContextDelete(mm->cxt);
}

L4Regex *
l4_multimatch_regex(L4MultiMatch *mm, int i)
{
	if (mm->compiled[i] == NULL)
		mm->compiled[i] = l4_regex_compile(mm->patterns[i], mm->lens[i], false, mm->cxt);
	return mm->compiled[i];
}

/* ---- scanning ---- */

/* A literal occurs: its patterns become candidates. */
static void
found_literal(void *arg, int number)
{
	L4MultiMatch *mm = (L4MultiMatch *) arg;

	mm->found = true;
	for (int link = mm->literals[number].first_pattern; link >= 0; link = mm->links[link].next)
	{
		int			pattern = mm->links[link].pattern;

		mm->candidates[pattern >> 6] |= UINT64CONST(1) << (pattern & 63);
	}
}

/* The gram at this offset has its bit set: which literals are there? */
static pg_noinline void
check_literals(L4MultiMatch *mm, const Filter *filter, uint32 word, int at)
{
	const unsigned char *line = (const unsigned char *) mm->line;

	for (int i = filter->heads[hash_gram(word, mm->bits)]; i >= 0; i = filter->grams[i].next)
	{
		const Gram *gram = &filter->grams[i];
		const Literal *literal;
		int			start = at - gram->offset;
		int			k = 0;

		if (gram->gram != word || start < 0)
			continue;
		literal = &mm->literals[gram->literal];
		if (start + literal->len > mm->len)
			continue;
		if (filter->size == 4 && read_gram(line + start, 4) != gram->start)
			continue;
		if (!literal->caseless)
		{
			if (memcmp(line + start, literal->text, literal->len) != 0)
				continue;
		}
		else
		{
			while (k < literal->len && mm->fold[line[start + k]] == literal->text[k])
				k++;
			if (k < literal->len)
				continue;
		}
		found_literal(mm, gram->literal);
	}
}

static inline bool
has_bit(const uint64 *bits, uint32 hash)
{
	return (bits[hash >> 6] >> (hash & 63)) & 1;
}

/* One filter over the line, at every stride-th position. Size, stride and bits are constants where it is called. */
static pg_attribute_always_inline void
scan_positions(L4MultiMatch *mm, const Filter *filter, int size, int stride, int nbits)
{
	const unsigned char *line = (const unsigned char *) mm->line;
	const uint64 *bits = filter->bits;
	int			full = mm->len - 3;
	unsigned char tail[8] = {0};

	if (filter->ngrams == 0)
		return;
	for (int i = 0; i < full; i += stride)
	{
		uint32		word = read_gram(line + i, size);

		if (unlikely(has_bit(bits, hash_gram(word, nbits))))
			check_literals(mm, filter, word, i);
	}
	if (size == 4)
		return;

	/* short grams where less than four bytes are left, read from a copy */
	full = Max(full, 0);
	memcpy(tail, line + full, mm->len - full);
	for (int i = full; i < mm->len; i++)
	{
		uint32		word = read_gram(tail + i - full, size);

		if (has_bit(bits, hash_gram(word, nbits)))
			check_literals(mm, filter, word, i);
	}
}

/* All filters: the same as filter_kinds says. */
static pg_attribute_always_inline void
scan_filters(L4MultiMatch *mm, int nbits)
{
	scan_positions(mm, &mm->filters[0], 4, 4, nbits);
	scan_positions(mm, &mm->filters[1], 4, 2, nbits);
	scan_positions(mm, &mm->filters[2], 4, 1, nbits);
	scan_positions(mm, &mm->filters[3], 3, 1, nbits);
	scan_positions(mm, &mm->filters[4], 2, 1, nbits);
}

/* Count the grams of a line; after enough lines choose the literals' grams by them. */
static void
sample_line(L4MultiMatch *mm, const char *line, int len)
{
	for (int i = 0; i + 4 <= Min(len, 1024); i++)
		mm->gram_counts[hash_gram(read_gram((const unsigned char *) line + i, 4), SMALL_BITS)]++;
	if (++mm->sampled < SAMPLE_LINES)
		return;
	fill_filters(mm);
	pfree(mm->gram_counts);
	mm->gram_counts = NULL;
}

void
l4_multimatch_scan(L4MultiMatch *mm, const char *line, int len)
{
	if (mm->gram_counts != NULL)
		sample_line(mm, line, len);
	if (mm->found)
		memset(mm->candidates, 0, sizeof(uint64) * mm->words);
	mm->found = false;
	mm->line = line;
	mm->len = len;
	if (mm->bits == SMALL_BITS)
		scan_filters(mm, SMALL_BITS);
	else
		scan_filters(mm, LARGE_BITS);
	if (mm->shorts != NULL)
		l4_short_scan(mm->shorts, line, len, found_literal, mm);
	if (mm->any_caseless && l4_has_odd_letters(line, len))
	{
		mm->found = true;
		for (int w = 0; w < mm->words; w++)
			mm->candidates[w] |= mm->caseless[w];
	}
	mm->word = (mm->found || mm->nalways > 0) ? -1 : mm->words;
	mm->rest = 0;
}

/* Before a candidate's pattern is run, which may take long: is the rest there that it needs? */
static bool
has_also(const L4MultiMatch *mm, int pattern)
{
	const Also *also = &mm->also[pattern];

	for (int k = 0; k < L4_LITERAL_ALSO && also->n[k] > 0; k++)
		if (!l4_any_literal_in(also->items[k], also->n[k], mm->line, mm->len))
			return false;
	return true;
}

int
l4_multimatch_next(L4MultiMatch *mm, bool *gave_up)
{
	for (;;)
	{
		int			pattern;
		int			rc;

		while (mm->rest == 0)
		{
			if (mm->word + 1 >= mm->words)
			{
				mm->word = mm->words;
				return -1;
			}
			mm->word++;
			mm->rest = mm->candidates[mm->word] | mm->always[mm->word];
		}
		pattern = mm->word * 64 + pg_rightmost_one_pos64(mm->rest);
		mm->rest &= mm->rest - 1;
		if (!has_also(mm, pattern))
			continue;
		rc = l4_regex_exec(l4_multimatch_regex(mm, pattern), mm->line, mm->len, 0);
		if (rc == 0)
			continue;
		*gave_up = (rc < 0);
		return pattern;
	}
}
