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

#include "l4_compat.h"
#include "iforest.h"
#include "rng.h"

/* After so many events that do not differ in a node, look at all at once. */
#define MAX_MISSES		64

/* Cells of a matrix for all trees; above, each tree makes its own. */
#define MAX_SHARED_CELLS	(32 * 1024 * 1024)

/* So many rows are looked at before room for a matrix is made. */
#define PREVIEW_ROWS	32

#define RECENT_IDS		8192

/*
 * Counts of rows, dense, a row after the other. Cells have 16 bits unless a
 * count needs more. Columns are events in order of first appearance, which
 * the order of rows fixes.
 */
typedef struct Matrix
{
	int			nrows;
	int			ncolumns;
	Size		stride;			/* cells from row to row, a multiple of 16 */
	bool		wide;			/* cells are int64, not uint16 */
	void	   *cells;
	int32	   *events;			/* by column */
	uint32	   *table;			/* event id hash to column + 1 */
	uint32		mask;
	uint32		recent[RECENT_IDS];	/* event id modulo size to column, a cache */
} Matrix;

typedef struct Builder
{
	L4Rng		rng;
	Matrix	   *matrix;
	int			depth_limit;
	uint32	   *rows;			/* of the matrix, permuted by the splits */
	int64	   *values;			/* by position in rows: counts of one event */
	uint32	   *candidates;		/* columns, those that may differ first */
	uint64	   *differ;			/* work space of filter_candidates */
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

/* Entry of the table for an event: its column + 1, or 0 where it belongs. */
static uint32 *
matrix_entry(Matrix *matrix, int32 event_id)
{
	uint32		h = (uint32) event_id * 0x9e3779b1;

	for (h ^= h >> 15;; h++)
	{
		uint32	   *entry = &matrix->table[h & matrix->mask];

		if (*entry == 0 || matrix->events[*entry - 1] == event_id)
			return entry;
	}
}

static void *
alloc_cells(const Matrix *matrix)
{
	return MemoryContextAllocExtended(CurrentMemoryContext,
									  matrix->nrows * matrix->stride *
									  (matrix->wide ? sizeof(int64) : sizeof(uint16)),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
free_matrix(Matrix *matrix)
{
	if (matrix->cells != NULL)
		pfree(matrix->cells);
	pfree(matrix->events);
	pfree(matrix->table);
	pfree(matrix);
}

/* The column of an event, a new one at its first appearance. */
static uint32
get_column(Matrix *matrix, int32 event_id)
{
	uint32	   *recent = &matrix->recent[(uint32) event_id % RECENT_IDS];
	uint32	   *entry;

	if (*recent < matrix->ncolumns && matrix->events[*recent] == event_id)
		return *recent;
	entry = matrix_entry(matrix, event_id);
	if (*entry != 0)
		return *recent = *entry - 1;
	if ((uint32) matrix->ncolumns == matrix->mask / 2)
	{
		uint32		slots = (matrix->mask + 1) * 2;

		matrix->events = repalloc(matrix->events, slots / 2 * sizeof(int32));
		pfree(matrix->table);
		matrix->table = palloc0(slots * sizeof(uint32));
		matrix->mask = slots - 1;
		for (int c = 0; c < matrix->ncolumns; c++)
			*matrix_entry(matrix, matrix->events[c]) = c + 1;
		entry = matrix_entry(matrix, event_id);
	}
	matrix->events[matrix->ncolumns++] = event_id;
	*entry = matrix->ncolumns;
	return *recent = *entry - 1;
}

/*
 * Room for the columns so far and some more: false when those are too many.
 * done is the number of rows that have cells already. The stride is no power
 * of two, which would put a column into few sets of the processor's cache.
 */
static bool
set_stride(Matrix *matrix, int done, int64 max_cells)
{
	Size		width = matrix->wide ? sizeof(int64) : sizeof(uint16);
	Size		old_stride = matrix->stride;
	char	   *old_cells = matrix->cells;

	matrix->stride = ((Size) matrix->ncolumns + matrix->ncolumns / 4) / 16 * 16 + 16;
	if ((matrix->stride & (matrix->stride - 1)) == 0)
		matrix->stride += 16;
	if ((int64) (matrix->stride * matrix->nrows) > max_cells)
		return false;
	matrix->cells = alloc_cells(matrix);
	if (old_cells == NULL)
		return true;
	for (int r = 0; r < done; r++)
		memcpy((char *) matrix->cells + r * matrix->stride * width,
			   old_cells + r * old_stride * width, old_stride * width);
	pfree(old_cells);
	return true;
}

/* Write n counts into cells that follow each other. */
static inline void
store_counts(Matrix *matrix, Size cell, const int64 *restrict counts, int n)
{
	if (matrix->wide)
		memcpy((int64 *) matrix->cells + cell, counts, n * sizeof(int64));
	else
	{
		uint16	   *restrict cells = (uint16 *) matrix->cells + cell;

		for (int i = 0; i < n; i++)
			cells[i] = (uint16) counts[i];
	}
}

/*
 * Fill one row: false when it does not fit max_cells, or needs wide cells.
 * While there are no cells yet, it only makes columns. Rows mostly have the
 * same events in the same order, so a run of them is tried first.
 */
static bool
fill_row(Matrix *matrix, int row, const struct varlena *vector, int64 max_cells)
{
	L4EvectorReader reader;
	int32		ids[L4_EVECTOR_BLOCK];
	int64		counts[L4_EVECTOR_BLOCK];
	uint32		column = 0;
	int			n;

	l4_evector_open(&reader, vector);
	while ((n = l4_evector_next_block(&reader, ids, counts)) > 0)
	{
		uint64		all = 0;

		for (int i = 0; i < n; i++)
			all |= (uint64) counts[i];
		if (!matrix->wide && all > PG_UINT16_MAX)
			return false;
		if (matrix->cells != NULL && column + n <= matrix->ncolumns &&
			column + n <= matrix->stride &&
			memcmp(&matrix->events[column], ids, n * sizeof(int32)) == 0)
		{
			store_counts(matrix, row * matrix->stride + column, counts, n);
			column += n;
			continue;
		}
		for (int i = 0; i < n; i++)
		{
			column = get_column(matrix, ids[i]);
			if (matrix->cells == NULL)
				continue;
			if (column >= matrix->stride && !set_stride(matrix, row + 1, max_cells))
				return false;
			store_counts(matrix, row * matrix->stride + column, &counts[i], 1);
		}
		column++;
	}
	return true;
}

/*
 * The matrix of some rows, NULL when it would have more than max_cells.
 * which[i] is the row of the training set that becomes row i. The first rows
 * are read twice: they show how wide the matrix will be, so that it seldom
 * has to be moved.
 */
static Matrix *
make_matrix(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	for (int wide = 0; wide <= 1; wide++)
	{
		Matrix	   *matrix = palloc0(sizeof(Matrix));
		int			done = 0;

		matrix->nrows = n;
		matrix->wide = wide;
		matrix->mask = 63;
		matrix->events = palloc(32 * sizeof(int32));
		matrix->table = palloc0(64 * sizeof(uint32));
		while (done < Min(n, PREVIEW_ROWS) &&
			   fill_row(matrix, done, rows[which[done]].vector, max_cells))
			done++;
		if (done == Min(n, PREVIEW_ROWS) && set_stride(matrix, 0, max_cells))
		{
			done = 0;
			while (done < n && fill_row(matrix, done, rows[which[done]].vector, max_cells))
			{
				done++;
				CHECK_FOR_INTERRUPTS();
			}
			if (done == n)
				return matrix;
		}
		free_matrix(matrix);
	}
	return NULL;
}

/* The counts of one event in the node's rows; true when they differ. */
static inline bool
fetch_values(const Builder *b, int first, int n, uint32 column,
			 int64 *min, int64 *max)
{
	const Matrix *matrix = b->matrix;
	const uint32 *rows = b->rows + first;
	int64	   *values = b->values + first;
	int64		least;
	int64		most;

	if (matrix->wide)
	{
		const int64 *cells = (const int64 *) matrix->cells + column;

		for (int i = 0; i < n; i++)
			values[i] = cells[rows[i] * matrix->stride];
	}
	else
	{
		const uint16 *cells = (const uint16 *) matrix->cells + column;

		for (int i = 0; i < n; i++)
			values[i] = cells[rows[i] * matrix->stride];
	}
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

/*
 * Of the candidates, put those that differ between the node's rows first and
 * return how many they are. One pass over whole rows, eight bytes at a time.
 */
static int
filter_candidates(Builder *b, int first, int n, int ncandidates)
{
	const Matrix *matrix = b->matrix;
	Size		width = matrix->wide ? sizeof(int64) : sizeof(uint16);
	Size		words = matrix->stride * width / sizeof(uint64);
	const uint64 *cells = matrix->cells;
	const uint64 *reference = cells + b->rows[first] * words;
	int			kept = 0;

	memset(b->differ, 0, words * sizeof(uint64));
	for (int i = 1; i < n; i++)
	{
		const uint64 *row = cells + b->rows[first + i] * words;

		for (Size w = 0; w < words; w++)
			b->differ[w] |= row[w] ^ reference[w];
		CHECK_FOR_INTERRUPTS();
	}
	for (int c = 0; c < ncandidates; c++)
	{
		uint32		column = b->candidates[c];
		bool		differs = matrix->wide ? b->differ[column] != 0 :
			((const uint16 *) b->differ)[column] != 0;

		if (differs)
		{
			b->candidates[c] = b->candidates[kept];
			b->candidates[kept++] = column;
		}
	}
	return kept;
}

/*
 * Draw an event that differs between the node's rows, uniformly. What is
 * found not to differ leaves the candidates, here and below. Returns the
 * column, or -1 when all rows are the same.
 */
static int
draw_event(Builder *b, int first, int n, int *ncandidates, int64 *min, int64 *max)
{
	int			misses = 0;

	while (*ncandidates > 0)
	{
		int			c = (int) l4_rng_below(&b->rng, *ncandidates);
		uint32		column = b->candidates[c];

		if (fetch_values(b, first, n, column, min, max))
			return (int) column;
		b->candidates[c] = b->candidates[*ncandidates - 1];
		b->candidates[--*ncandidates] = column;
		if (++misses == MAX_MISSES)
			*ncandidates = filter_candidates(b, first, n, *ncandidates);
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
draw_sample(L4Rng *rng, const int64 *upto, int ndistinct, int sample,
			uint64 *seen, uint32 mask, uint32 *result)
{
	int64		total = upto[ndistinct - 1];

	memset(seen, 0, ((Size) mask + 1) * sizeof(uint64));
	for (int i = 0; i < sample; i++)
	{
		int64		last = total - sample + i;
		uint64		row = l4_rng_below(rng, (uint64) last + 1);
		int			lo = 0;
		int			hi = ndistinct - 1;

		for (int attempt = 0; attempt < 2; attempt++)
		{
			uint32		h = (uint32) ((row * UINT64CONST(0x9e3779b97f4a7c15)) >> 32);

			while (seen[h & mask] != 0 && seen[h & mask] != row + 1)
				h++;
			if (seen[h & mask] == 0)
			{
				seen[h & mask] = row + 1;
				break;
			}
			row = (uint64) last;	/* drawn before; this one cannot be */
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
	uint32		slots = 4;
	uint64	   *seen;

	while (slots < (uint32) sample * 2)
		slots *= 2;
	seen = palloc(slots * sizeof(uint64));
	for (int t = 0; t < options->trees; t++)
	{
		L4Rng		rng;

		l4_rng_seed(&rng, (uint64) options->seed, (uint64) t * 2 + 1);
		draw_sample(&rng, upto, nrows, sample, seen, slots - 1,
					samples + (Size) t * sample);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(seen);
	return samples;
}

/* Grow tree t from the rows of b->rows. */
static void
grow(Builder *b, const L4ForestOptions *options, int t, int sample)
{
	int			ncolumns = b->matrix->ncolumns;

	for (int c = 0; c < ncolumns; c++)
		b->candidates[c] = c;
	l4_rng_seed(&b->rng, (uint64) options->seed, (uint64) t * 2);
	grow_tree(b, 0, sample, ncolumns, 0);
}

static void
prepare_matrix(Builder *b, Matrix *matrix)
{
	b->matrix = matrix;
	b->candidates = palloc(matrix->stride * sizeof(uint32));
	b->differ = palloc(matrix->stride * (matrix->wide ? sizeof(int64) : sizeof(uint16)));
}

static void
forget_matrix(Builder *b)
{
	free_matrix(b->matrix);
	pfree(b->candidates);
	pfree(b->differ);
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
static Matrix *
matrix_of_tree(const L4ForestRow *rows, const uint32 *used, const uint32 *sample, int n)
{
	uint32	   *which = palloc(n * sizeof(uint32));
	Matrix	   *matrix;

	for (int i = 0; i < n; i++)
		which[i] = used[sample[i]];
	matrix = make_matrix(rows, which, n, L4_IFOREST_MAX_CELLS);
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
	Matrix	   *shared;

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
	shared = make_matrix(rows, used, nused, MAX_SHARED_CELLS);
	if (shared != NULL)
		prepare_matrix(&b, shared);
	for (int t = 0; t < options->trees; t++)
	{
		const uint32 *mine = samples + (Size) t * sample;

		for (int i = 0; i < sample; i++)
			b.rows[i] = shared != NULL ? mine[i] : i;
		if (shared == NULL)
			prepare_matrix(&b, matrix_of_tree(rows, used, mine, sample));
		grow(&b, options, t, sample);
		if (shared == NULL)
			forget_matrix(&b);
		CHECK_FOR_INTERRUPTS();
	}
	if (shared != NULL)
		forget_matrix(&b);
	return l4_iforest_encode(options, sample, total, b.splits, b.nsplits);
}
