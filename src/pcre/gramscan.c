/*
 * gramscan.c
 *		Where do any of thousands of literals occur in a line?
 *
 * Grams of each literal, four bytes long, go into a bitmap by hash; a line is
 * scanned by hashing the four bytes at every fourth position, since of four
 * grams in a row one begins there wherever the literal stands. The positions
 * where the bitmap has the bits are listed without a jump, which no processor
 * could predict; there the literals with this gram are compared, first eight
 * bytes of each at once. Which grams of a literal are rare is guessed at first
 * and counted in the lines seen.
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

#include "pcre/gramscan_int.h"

/* Filters by length of literal: 7 and more, 5 and 6, 4, 3, 2. */
static const struct
{
	int			min_len;
	int			size;
	int			stride;
}			filter_kinds[NFILTERS] = {{7, 4, 4}, {5, 4, 2}, {4, 4, 1}, {3, 3, 1}, {2, 2, 1}};

#define LITERAL_SLOTS 4096		/* of the table that finds equal literals, a power of two */

/*
 * So many lines are counted before the grams are chosen anew, by how often
 * these had them: first those at the beginning, then one of 64, of 4,096 ...
 */
#define SAMPLE_LINES 256
#define SAMPLE_THINNER 64

/* ---- building ---- */

L4GramScan *
l4_gramscan_create(void)
{
	L4GramScan *gs = palloc0(sizeof(L4GramScan));

	gs->literal_table = palloc(sizeof(int) * LITERAL_SLOTS);
	memset(gs->literal_table, 0xFF, sizeof(int) * LITERAL_SLOTS);
	gs->avx2 = l4_short_available();
	for (int c = 0; c < 256; c++)
		gs->fold[c] = (c >= 'A' && c <= 'Z') ? c | 0x20 : c;
	return gs;
}

/* How common a gram of a literal is, by the sample or by its letters. */
static int64
commonness(const L4GramScan *gs, const unsigned char *text, int size)
{
	if (gs->counted && size == 4)
		return gs->gram_counts[hash_gram(read_gram(text, size)) >> (32 - COUNT_BITS)];
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
		filter->head_bits = HEAD_BITS_MIN;
		while (filter->head_bits < HEAD_BITS_MAX && (1 << filter->head_bits) < filter->ngrams)
			filter->head_bits++;
		filter->heads = palloc(sizeof(int) * ((1 << filter->head_bits) + 1));
		filter->grams = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(Gram) * (Size) filter->ngrams);
		for (int side = 0; side < 2 && filter_kinds[f].min_len >= WIDER_LEN; side++)
			filter->wider[side] = palloc(((Size) 1) << (gs->bits - 3));
	}
}

/* Put a gram of a literal into its place, and into the bitmaps. */
static void
fill_gram(const L4GramScan *gs, Filter *filter, int number, int offset, Gram *gram)
{
	const Literal *literal = &gs->literals[number];
	uint32		word = read_short_gram(literal->text + offset, filter->size);
	uint32		hash = hash_gram(word);

	memset(gram, 0, sizeof(Gram));
	gram->literal = number;
	gram->offset = offset;
	gram->len = literal->len;
	gram->caseless = literal->caseless;
	/* a window around the gram tells literals with the same one apart */
	gram->window_offset = Max(Min(offset - 2, literal->len - 8), 0);
	memcpy(&gram->window, literal->text + gram->window_offset, Min(literal->len, 8));
	memset(&gram->window_mask, 0xFF, Min(literal->len, 8));
	if (literal->caseless)
		gram->window |= FOLD8 & gram->window_mask;
	filter->bits[word_index(hash, gs->bits)] |= word_bits(hash);
	if (filter->wider[0] != NULL)
	{
		bool		before = (offset + 6 > literal->len);

		hash = hash_wider(word, literal->text + offset + (before ? -2 : 4), gs->bits);
		filter->wider[before][hash >> 6] |= UINT64CONST(1) << (hash & 63);
	}
}

static void
clear_filter(const L4GramScan *gs, Filter *filter)
{
	memset(filter->bits, 0, ((Size) 1) << (gs->bits - 3));
	memset(filter->heads, 0, sizeof(int) * ((1 << filter->head_bits) + 1));
	for (int side = 0; side < 2 && filter->wider[side] != NULL; side++)
		memset(filter->wider[side], 0, ((Size) 1) << (gs->bits - 3));
}

/* As many grams in a row of each literal as the stride of its filter is long, ordered by hash. */
static void
fill_filters(L4GramScan *gs)
{
	for (int f = 0; f < NFILTERS; f++)
		if (gs->filters[f].ngrams > 0)
			clear_filter(gs, &gs->filters[f]);
	for (int i = 0; i < gs->nliterals; i++)
	{
		Literal    *literal = &gs->literals[i];
		const Filter *filter;

		if (literal->filter < 0)
			continue;
		filter = &gs->filters[literal->filter];
		literal->from = rarest_grams(gs, literal, filter->size, filter->stride);
		for (int k = 0; k < filter->stride; k++)
			++*gram_head(filter, read_short_gram(literal->text + literal->from + k, filter->size));
	}
	/* first the end of each, which then becomes the beginning */
	for (int f = 0; f < NFILTERS; f++)
		for (int h = 1; gs->filters[f].ngrams > 0 && h <= 1 << gs->filters[f].head_bits; h++)
			gs->filters[f].heads[h] += gs->filters[f].heads[h - 1];
	for (int i = 0; i < gs->nliterals; i++)
	{
		const Literal *literal = &gs->literals[i];
		Filter	   *filter;

		if (literal->filter < 0)
			continue;
		filter = &gs->filters[literal->filter];
		for (int k = 0; k < filter->stride; k++)
		{
			int			offset = literal->from + k;
			int		   *head = gram_head(filter, read_short_gram(literal->text + offset, filter->size));

			fill_gram(gs, filter, i, offset, &filter->grams[--*head]);
		}
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
	gs->gram_counts = palloc0(sizeof(uint32) << COUNT_BITS);
	gs->sample_distance = 1;
}

/* Count the grams of a line now and then; after enough lines choose the literals' grams by them. */
static void
sample_line(L4GramScan *gs, const char *line, int len)
{
	for (int i = 0; i + 4 <= Min(len, 1024); i++)
		gs->gram_counts[hash_gram(read_gram((const unsigned char *) line + i, 4)) >> (32 - COUNT_BITS)]++;
	gs->sampled++;
	if (gs->sampled == SAMPLE_LINES)
	{
		gs->counted = true;
		fill_filters(gs);
		gs->sampled = 0;
		gs->sample_distance *= SAMPLE_THINNER;
	}
	/* not at like distances, since logs repeat */
	gs->next_sample = gs->line_no + 1 + murmurhash32(gs->line_no) % (2 * gs->sample_distance - 1);
}

void
l4_gramscan(L4GramScan *gs, const char *line, int len, L4LiteralHit hit, void *arg)
{
	if (gs->line_no++ >= gs->next_sample)
		sample_line(gs, line, len);
	gs->line = line;
	gs->len = len;
	gs->hit = hit;
	gs->arg = arg;
	l4_gramscan_run(gs);
	if (gs->shorts != NULL)
		l4_short_scan(gs->shorts, line, len, hit, arg);
}
