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

#include "base/grow.h"
#include "base/map.h"
#include "base/order.h"
#include "base/rng.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

/* Most bytes of counts that are spread over a matrix; beyond it they are read from the vectors. */
#define MAX_MATRIX		(256 * 1024 * 1024)

typedef struct Builder
{
	L4Rng		rng;
	int			depth_limit;
	const struct varlena **vectors; /* that are in some sample */
	int			nvectors;
	int32	   *ids;			/* of all their events, ascending; behind them those to be sorted in */
	int			nids;
	int			nids_all;
	int			ids_size;
	int64		bits;			/* that are set in some count */
	void	   *cells;			/* counts, by vector and position of the event; NULL: too many */
	bool		narrow;			/* cells are uint16, else int64 */
	uint32	   *rows;			/* vectors of the tree, permuted by the splits */
	int64	   *values;			/* by position in rows: counts of one event */
	int32	   *candidates;		/* positions of events, those that may differ first */
	L4ForestNode *nodes;
	int64		nnodes;
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

/* The count of the event at this position. */
static inline int64
count_of(const Builder *b, uint32 row, int32 event)
{
	Size		cell = (Size) row * b->nids + event;

	if (b->cells == NULL)
		return l4_evector_get(b->vectors[row], b->ids[event]);
	return b->narrow ? ((uint16 *) b->cells)[cell] : ((int64 *) b->cells)[cell];
}

/*
 * Draw an event that differs between the node's rows, uniformly. What is
 * found not to differ leaves the candidates, here and below. Returns its
 * position, or -1 when all rows are the same.
 */
static int
draw_event(Builder *b, int first, int n, int *ncandidates, int64 *min, int64 *max)
{
	while (*ncandidates > 0)
	{
		int			c = (int) l4_rng_below(&b->rng, *ncandidates);
		int32		event = b->candidates[c];

		CHECK_FOR_INTERRUPTS();
		*min = PG_INT64_MAX;
		*max = 0;
		for (int i = first; i < first + n; i++)
		{
			int64		count = count_of(b, b->rows[i], event);

			b->values[i] = count;
			*min = Min(*min, count);
			*max = Max(*max, count);
		}
		if (*min < *max)
			return event;
		b->candidates[c] = b->candidates[*ncandidates - 1];
		b->candidates[--*ncandidates] = event;
	}
	return -1;
}

/* Grow the subtree of rows first … first + n - 1. */
static void
grow_tree(Builder *b, int first, int n, int ncandidates, int depth)
{
	L4ForestNode *node = &b->nodes[b->nnodes++];
	int			left = 0;
	int64		min;
	int64		max;

	CHECK_FOR_INTERRUPTS();
	node->event = -1;
	if (n > 1 && depth < b->depth_limit)
		node->event = draw_event(b, first, n, &ncandidates, &min, &max);
	if (node->event < 0)
	{
		node->right = 0;
		node->value = n;
		return;
	}

	node->value = min + (int64) l4_rng_below(&b->rng, (uint64) (max - min));
	for (int i = 0; i < n; i++)
	{
		if (b->values[first + i] <= node->value)
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
	node->right = (int32) (&b->nodes[b->nnodes] - node);
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

/* Sort the new ids in among those that are known. */
static void
sort_ids(Builder *b)
{
	if (b->nids_all > 1)
		qsort(b->ids, b->nids_all, sizeof(int32), l4_order_int32);
	b->nids = 0;
	for (int i = 0; i < b->nids_all; i++)
	{
		if (b->nids == 0 || b->ids[b->nids - 1] != b->ids[i])
			b->ids[b->nids++] = b->ids[i];
	}
	b->nids_all = b->nids;
}

/* Note the events of a vector. */
static void
note_events(Builder *b, const struct varlena *vector)
{
	L4EvectorReader reader;
	uint16		counts[L4_EVECTOR_RUN];
	int			at = 0;

	l4_evector_open(&reader, vector);
	while (l4_evector_next(&reader))
	{
		int64		id = reader.event_id;
		int			run;

		b->bits |= reader.count;
		run = l4_evector_next_run(&reader, counts);
		for (int i = 0; i < run; i++)
			b->bits |= counts[i];
		for (int i = 0; i <= run; i++)
		{
			at = l4_evector_seek(b->ids, b->nids, at, id + i);
			if (at < b->nids - (run - i) && b->ids[at] == id + i && b->ids[at + run - i] == id + run)
				break;
			if (at < b->nids && b->ids[at] == id + i)
				continue;
			L4_GROW(b->ids, b->nids_all, b->ids_size, CurrentMemoryContext);
			b->ids[b->nids_all++] = (int32) (id + i);
		}
	}
	/* known ids double each time, so that they are seldom sorted */
	if (b->nids_all > 2 * b->nids)
		sort_ids(b);
}

/* The vectors that are in some sample, of which samples then hold the numbers, and their counts. */
static void
read_vectors(Builder *b, const L4ForestRow *rows, int nrows, uint32 *samples, Size nsamples)
{
	uint32	   *number = palloc_extended(nrows * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);	/* from 1 */
	Size		width;

	b->vectors = palloc_extended(nrows * sizeof(struct varlena *), MCXT_ALLOC_HUGE);
	for (Size i = 0; i < nsamples; i++)
	{
		uint32		row = samples[i];

		if (number[row] == 0)
		{
			b->vectors[b->nvectors] = rows[row].vector;
			note_events(b, rows[row].vector);
			number[row] = ++b->nvectors;
			CHECK_FOR_INTERRUPTS();
		}
		samples[i] = number[row] - 1;
	}
	sort_ids(b);
	b->narrow = b->bits <= PG_UINT16_MAX;
	width = b->narrow ? sizeof(uint16) : sizeof(int64);
	if ((int64) b->nvectors * b->nids * width > MAX_MATRIX)
		return;
	b->cells = palloc((Size) b->nvectors * b->nids * width);
	for (int i = 0; i < b->nvectors; i++)
	{
		l4_evector_spread(b->vectors[i], b->ids, b->nids, (char *) b->cells + i * b->nids * width, b->narrow);
		CHECK_FOR_INTERRUPTS();
	}
}

struct varlena *
l4_iforest_train(const L4ForestOptions *options, const L4ForestRow *rows, int nrows)
{
	Builder		b = {{{0}}};
	int64	   *upto = palloc_extended(nrows * sizeof(int64), MCXT_ALLOC_HUGE);
	int64		total = 0;
	int			sample;
	uint32	   *samples;

	for (int r = 0; r < nrows; r++)
		upto[r] = total = total + rows[r].rows;
	sample = (int) Min(options->sample_size, total);
	samples = draw_samples(options, nrows, sample, upto);
	read_vectors(&b, rows, nrows, samples, (Size) options->trees * sample);

	b.depth_limit = l4_iforest_depth_limit(sample);
	b.rows = samples;
	b.values = palloc(sample * sizeof(int64));
	b.candidates = palloc_extended(Max(b.nids, 1) * sizeof(int32), MCXT_ALLOC_HUGE);
	b.nodes = palloc_extended((Size) options->trees * (2 * sample - 1) * sizeof(L4ForestNode), MCXT_ALLOC_HUGE);
	for (int t = 0; t < options->trees; t++)
	{
		for (int i = 0; i < b.nids; i++)
			b.candidates[i] = i;
		l4_rng_seed(&b.rng, (uint64) options->seed, (uint64) t * 2);
		grow_tree(&b, 0, sample, b.nids, 0);
		b.rows += sample;
		CHECK_FOR_INTERRUPTS();
	}
	return l4_iforest_encode(options, sample, total, b.ids, b.nids, b.nodes, b.nnodes);
}
