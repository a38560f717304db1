/*
 * iforest_build.c
 *		Growing the trees of an isolation forest.
 *
 * A tree is grown from a sample of the rows: at each node an event that
 * differs between the rows there is drawn, every such event with the same
 * probability, and a threshold between the least and the greatest count.
 * Counts are integers, and so are thresholds: a uniform integer t in min …
 * max - 1 with "left: count <= t" splits as a uniform real number would, and
 * no result depends on how a platform rounds.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/map.h"
#include "base/rng.h"
#include "iforest/iforest_matrix.h"
#include "l4_compat.h"

/* Cells of a matrix for all trees; above, each tree makes its own. */
#define MAX_SHARED_CELLS	(32 * 1024 * 1024)

typedef struct Builder
{
	L4Rng		rng;
	L4Matrix   *matrix;
	int			depth_limit;
	uint32	   *rows;			/* of the matrix, permuted by the splits */
	int64	   *values;			/* by position in rows: counts of one event */
	uint32	   *candidates;		/* columns, those that may differ first */
	L4ForestSplit *splits;
	int64		nsplits;
} Builder;

int
l4_iforest_compare_rows(const void *a, const void *b)
{
	const L4ForestRow *x = a;
	const L4ForestRow *y = b;
	Size		x_size;
	Size		y_size;
	int			order;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	x_size = VARSIZE_ANY_EXHDR(x->vector);
	y_size = VARSIZE_ANY_EXHDR(y->vector);
	order = memcmp(VARDATA_ANY(x->vector), VARDATA_ANY(y->vector), Min(x_size, y_size));
	if (order != 0)
		return order;
	return (x_size > y_size) - (x_size < y_size);
}

static pg_attribute_always_inline int64
cell(const void *cells, Size width, Size i)
{
	return width == sizeof(uint8) ? ((const uint8 *) cells)[i] :
		width == sizeof(uint16) ? ((const uint16 *) cells)[i] : ((const int64 *) cells)[i];
}

/* The counts of one event in the node's rows; true when they differ. */
static pg_attribute_always_inline bool
fetch_width(const Builder *b, int first, int n, uint32 column, Size width, int64 *min, int64 *max)
{
	const uint32 *rows = b->rows + first;
	int64	   *values = b->values + first;
	Size		stride = b->matrix->stride;
	int64		least;
	int64		most;

	for (int i = 0; i < n; i++)
		values[i] = cell(b->matrix->cells, width, rows[i] * stride + column);
	least = most = values[0];
	for (int i = 1; i < n; i++)
	{
		least = Min(least, values[i]);
		most = Max(most, values[i]);
	}
	*min = least;
	*max = most;
	return least < most;
}

static bool
fetch_values(const Builder *b, int first, int n, uint32 column, int64 *min, int64 *max)
{
	if (b->matrix->width == sizeof(uint8))
		return fetch_width(b, first, n, column, sizeof(uint8), min, max);
	if (b->matrix->width == sizeof(uint16))
		return fetch_width(b, first, n, column, sizeof(uint16), min, max);
	return fetch_width(b, first, n, column, sizeof(int64), min, max);
}

/*
 * Draw an event that differs between the node's rows, uniformly. What is
 * found not to differ leaves the candidates, here and below. Returns the
 * column, or -1 when all rows are the same.
 */
static int
draw_event(Builder *b, int first, int n, int *ncandidates, int64 *min, int64 *max)
{
	while (*ncandidates > 0)
	{
		int			c = (int) l4_rng_below(&b->rng, *ncandidates);
		uint32		column = b->candidates[c];

		CHECK_FOR_INTERRUPTS();
		if (fetch_values(b, first, n, column, min, max))
			return (int) column;
		b->candidates[c] = b->candidates[*ncandidates - 1];
		b->candidates[--*ncandidates] = column;
	}
	return -1;
}

/* Grow the subtree of rows first … first + n - 1. */
static void
grow_tree(Builder *b, int first, int n, int ncandidates, int depth)
{
	L4ForestSplit *split = &b->splits[b->nsplits++];
	int			column = -1;
	int			left = 0;
	int64		min;
	int64		max;

	CHECK_FOR_INTERRUPTS();
	if (n > 1 && depth < b->depth_limit)
		column = draw_event(b, first, n, &ncandidates, &min, &max);
	if (column < 0)
	{
		split->leaf = true;
		split->event_id = 0;
		split->value = n;
		return;
	}

	split->leaf = false;
	split->event_id = b->matrix->events[column];
	split->value = min + (int64) l4_rng_below(&b->rng, (uint64) (max - min));
	for (int i = 0; i < n; i++)
	{
		if (b->values[first + i] <= split->value)
		{
			uint32		row = b->rows[first + i];

			/* values follow, so that each row is judged by its own */
			b->rows[first + i] = b->rows[first + left];
			b->rows[first + left] = row;
			b->values[first + i] = b->values[first + left];
			left++;
		}
	}
	Assert(left > 0 && left < n);
	grow_tree(b, first, left, ncandidates, depth + 1);
	grow_tree(b, first + left, n - left, ncandidates, depth + 1);
}

/*
 * Draw sample of n rows (all rows counted, equal ones too) without
 * replacement, by Floyd's method; result are positions among the distinct
 * ones. upto[i] is the number of rows up to and including distinct row i.
 */
static void
draw_sample(L4Rng *rng, const int64 *upto, int ndistinct, int sample, L4Map *drawn, uint32 *result)
{
	int64		total = upto[ndistinct - 1];

	l4_map_reset(drawn);
	for (int i = 0; i < sample; i++)
	{
		int64		last = total - sample + i;
		uint64		row = l4_rng_below(rng, (uint64) last + 1);
		int			lo = 0;
		int			hi = ndistinct - 1;
		bool		before;

		(void) l4_map_put(drawn, row, &before);
		if (before)
		{
			row = (uint64) last;	/* which cannot have been drawn */
			(void) l4_map_put(drawn, row, NULL);
		}
		if (total == ndistinct)
			lo = hi = (int) row;
		while (lo < hi)
		{
			int			middle = lo + (hi - lo) / 2;

			if (upto[middle] > (int64) row)
				hi = middle;
			else
				lo = middle + 1;
		}
		result[i] = lo;
	}
}

/*
 * The samples of all trees, one after the other: positions among the distinct
 * rows of the training set.
 */
static uint32 *
draw_samples(const L4ForestOptions *options, int nrows, int sample,
			 const int64 *upto)
{
	uint32	   *samples = palloc_extended((Size) options->trees * sample * sizeof(uint32),
										  MCXT_ALLOC_HUGE);
	L4Map	   *drawn = l4_map_create(CurrentMemoryContext, sample, NULL);

	for (int t = 0; t < options->trees; t++)
	{
		L4Rng		rng;

		l4_rng_seed(&rng, (uint64) options->seed, (uint64) t * 2 + 1);
		draw_sample(&rng, upto, nrows, sample, drawn, samples + (Size) t * sample);
		CHECK_FOR_INTERRUPTS();
	}
	l4_map_destroy(drawn);
	return samples;
}

/* Grow tree t from the rows of b->rows. */
static void
grow(Builder *b, const L4ForestOptions *options, int t, int sample)
{
	int			ncolumns = b->matrix->ncolumns;

	memcpy(b->candidates, b->matrix->columns, ncolumns * sizeof(uint32));
	l4_rng_seed(&b->rng, (uint64) options->seed, (uint64) t * 2);
	grow_tree(b, 0, sample, ncolumns, 0);
}

/* Grow from a matrix; the candidates belong to it. */
static void
set_matrix(Builder *b, L4Matrix *matrix)
{
	b->matrix = matrix;
	b->candidates = MemoryContextAllocHuge(matrix->context, matrix->stride * sizeof(uint32));
}

/*
 * Number the distinct rows that some sample has, in order. Returns how many;
 * samples then hold these numbers, and used[] the row of each.
 */
static int
renumber(uint32 *samples, Size nsamples, int nrows, uint32 *used)
{
	uint32	   *number = palloc0(nrows * sizeof(uint32));
	int			n = 0;

	for (Size i = 0; i < nsamples; i++)
		number[samples[i]] = 1;
	for (int r = 0; r < nrows; r++)
	{
		if (number[r] != 0)
		{
			used[n] = r;
			number[r] = n++;
		}
	}
	for (Size i = 0; i < nsamples; i++)
		samples[i] = number[samples[i]];
	pfree(number);
	return n;
}

/* A matrix of the rows of one tree alone; its rows become 0, 1, 2 … */
static L4Matrix *
matrix_of_tree(const L4ForestRow *rows, const uint32 *used, const uint32 *sample, int n)
{
	uint32	   *which = palloc(n * sizeof(uint32));
	L4Matrix   *matrix;

	for (int i = 0; i < n; i++)
		which[i] = used[sample[i]];
	matrix = l4_matrix_make(rows, which, n, L4_IFOREST_MAX_CELLS);
	if (matrix == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vectors have too many events for an isolation forest"),
				 errdetail("The sample of a tree, %d rows times their events, may have %d cells at most.",
						   n, L4_IFOREST_MAX_CELLS),
				 errhint("Leave out events that do not matter, or make \"sample_size\" smaller.")));
	pfree(which);
	return matrix;
}

struct varlena *
l4_iforest_train(const L4ForestOptions *options, const L4ForestRow *rows, int nrows)
{
	Builder		b = {{{0}}};
	int64	   *upto = palloc(nrows * sizeof(int64));
	int64		total = 0;
	int			sample;
	uint32	   *samples;
	uint32	   *used = palloc(nrows * sizeof(uint32));
	int			nused;
	L4Matrix   *shared;

	for (int r = 0; r < nrows; r++)
		upto[r] = total = total + rows[r].rows;
	sample = (int) Min(options->sample_size, total);
	samples = draw_samples(options, nrows, sample, upto);
	nused = renumber(samples, (Size) options->trees * sample, nrows, used);

	b.depth_limit = l4_iforest_depth_limit(sample);
	b.rows = palloc(sample * sizeof(uint32));
	b.values = palloc(sample * sizeof(int64));
	b.splits = palloc_extended((Size) options->trees * (2 * sample - 1) * sizeof(L4ForestSplit),
							   MCXT_ALLOC_HUGE);
	shared = l4_matrix_make(rows, used, nused, MAX_SHARED_CELLS);
	if (shared != NULL)
		set_matrix(&b, shared);
	for (int t = 0; t < options->trees; t++)
	{
		const uint32 *mine = samples + (Size) t * sample;

		for (int i = 0; i < sample; i++)
			b.rows[i] = shared != NULL ? mine[i] : i;
		if (shared == NULL)
			set_matrix(&b, matrix_of_tree(rows, used, mine, sample));
		grow(&b, options, t, sample);
		if (shared == NULL)
			MemoryContextDelete(b.matrix->context);
		CHECK_FOR_INTERRUPTS();
	}
	if (shared != NULL)
		MemoryContextDelete(shared->context);
	return l4_iforest_encode(options, sample, total, b.splits, b.nsplits);
}
