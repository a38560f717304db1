/*
 * diag_iter.c: iterations of all nodes of a job, put together.
 *
 * A thousand nodes report millions of iterations. They are read once, in place of grouping and sorting them in SQL; twelve bytes are kept of each.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/map.h"
#include "diagnose/diag_iter.h"

/* Iterations whose reports are kept together */
#define BUCKET_BITS 6
#define BUCKET (1 << BUCKET_BITS)

typedef struct Iteration
{
	int32		epoch;
	int32		iteration;
	int			nodes;
	int			last_node;
	int64		done;
	int			n;
	double	   *values;			/* durations, or times of reports */
	uint32	   *reporters;		/* nodes of the reports */
} Iteration;

/*
 * Reports of BUCKET iterations, as they come: node by node. An array for each iteration would have the next report go to another place in memory
 * every time.
 */
typedef struct Bucket
{
	int			n;
	int			size;
	double	   *values;
	uint32	   *tags;			/* node and place of the iteration in the bucket; later the node alone */
} Bucket;

typedef struct NodeSum
{
	int64		n;
	int64		first;
	int64		last;
	int32		last_epoch;
	int32		last_iteration;
	/* lateness: sum over slow iterations, and each of the others */
	double		sum;
	int			nslow;
	int			nbefore;
	int			size;
	double	   *before;
} NodeSum;

struct L4Iterations
{
	MemoryContext cxt;
	bool		late;
	L4Map	   *table;			/* epoch and number to place in items */
	Iteration  *items;			/* in the order in which they are met */
	int			nitems;
	int			items_size;
	Bucket	   *buckets;
	int			buckets_size;
	NodeSum    *nodes;
	int			nnodes;
	int			nodes_size;
};

#define ST_SORT sort_values
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The middle of n > 0 values, as percentile_cont(0.5) has it; they are reordered. */
static double
median_of(double *values, int n)
{
	int			k = n / 2;

	sort_values(values, n);
	return n % 2 == 1 ? values[k] : values[k - 1] + 0.5 * (values[k] - values[k - 1]);
}

L4Iterations *
l4_iterations_create(MemoryContext cxt, bool late)
{
	L4Iterations *all = MemoryContextAllocZero(cxt, sizeof(L4Iterations));

	all->cxt = cxt;
	all->late = late;
	all->table = l4_map_create(cxt, 1024, NULL);
	return all;
}

static NodeSum *
get_node(L4Iterations *all, int number)
{
	if (number >= all->nnodes)
	{
		L4_GROW_FROM(all->nodes, number, all->nodes_size, Max(64, number + 1), all->cxt);
		memset(all->nodes + all->nnodes, 0, sizeof(NodeSum) * (number + 1 - all->nnodes));
		all->nnodes = number + 1;
	}
	return &all->nodes[number];
}

static void
keep_value(L4Iterations *all, int place, double value, int node)
{
	Bucket	   *bucket = &all->buckets[place >> BUCKET_BITS];

	int			size = bucket->size;

	L4_GROW_FROM(bucket->values, bucket->n, size, BUCKET, all->cxt);
	L4_GROW_FROM(bucket->tags, bucket->n, bucket->size, BUCKET, all->cxt);
	all->items[place].n++;
	bucket->values[bucket->n] = value;
	bucket->tags[bucket->n++] = (uint32) node << BUCKET_BITS | (place & (BUCKET - 1));
}

/* Sorts the reports of each bucket by iteration, those of one in the order in which they came. */
static void
sort_reports(L4Iterations *all)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 reports", ALLOCSET_DEFAULT_SIZES);

	for (int from = 0; from < all->nitems; from += BUCKET)
	{
		Bucket	   *bucket = &all->buckets[from >> BUCKET_BITS];
		double	   *values = MemoryContextAllocHuge(cxt, sizeof(double) * Max(bucket->n, 1));
		uint32	   *nodes = MemoryContextAllocHuge(cxt, sizeof(uint32) * Max(bucket->n, 1));
		int			next[BUCKET];
		int			start = 0;

		CHECK_FOR_INTERRUPTS();
		for (int i = from; i < Min(from + BUCKET, all->nitems); i++)
		{
			all->items[i].values = bucket->values + start;
			all->items[i].reporters = bucket->tags + start;
			next[i - from] = start;
			start += all->items[i].n;
		}
		for (int i = 0; i < bucket->n; i++)
		{
			int			to = next[bucket->tags[i] & (BUCKET - 1)]++;

			values[to] = bucket->values[i];
			nodes[to] = bucket->tags[i] >> BUCKET_BITS;
		}
		if (bucket->n > 0)
		{
			memcpy(bucket->values, values, sizeof(double) * bucket->n);
			memcpy(bucket->tags, nodes, sizeof(uint32) * bucket->n);
		}
		MemoryContextReset(cxt);
	}
	MemoryContextDelete(cxt);
}

static void
add_item(L4Iterations *all, int32 epoch, int32 iteration)
{
	Iteration  *it;
	int			bucket = all->nitems >> BUCKET_BITS;

	L4_GROW(all->items, all->nitems, all->items_size, all->cxt);
	L4_GROW(all->buckets, bucket, all->buckets_size, all->cxt);
	if (all->nitems % BUCKET == 0)
		memset(&all->buckets[bucket], 0, sizeof(Bucket));
	it = &all->items[all->nitems++];
	memset(it, 0, sizeof(*it));
	it->epoch = epoch;
	it->iteration = iteration;
	it->last_node = -1;
	it->done = L4_NO_TS;
}

/* Place of an iteration. Most follow the one before, on this node as on the first one. */
static int
get_place(L4Iterations *all, int32 epoch, int32 iteration, int before)
{
	bool		found;
	int32	   *place;

	if (before + 1 < all->nitems && all->items[before + 1].iteration == iteration && all->items[before + 1].epoch == epoch)
		return before + 1;
	place = l4_map_put(all->table, ((uint64) (uint32) epoch << 32) | (uint32) iteration, &found);
	if (!found)
	{
		*place = all->nitems;
		add_item(all, epoch, iteration);
	}
	return *place;
}

static void
add_report(L4Iterations *all, int place, int64 ended, const double *ms, int number)
{
	Iteration  *it = &all->items[place];
	NodeSum    *node = get_node(all, number);

	if (it->last_node != number)
	{
		it->nodes++;
		it->last_node = number;
	}
	it->done = Max(it->done, ended);
	if (!all->late && ms != NULL)
		keep_value(all, place, *ms, number);
	else if (all->late && ended != L4_NO_TS)
		keep_value(all, place, (double) ended, number);
	if (node->n++ == 0)
		node->first = node->last = L4_NO_TS;
	if (ended != L4_NO_TS)
	{
		node->first = node->first == L4_NO_TS ? ended : Min(node->first, ended);
		node->last = Max(node->last, ended);
	}
	if (node->n == 1 || it->epoch > node->last_epoch || (it->epoch == node->last_epoch && it->iteration > node->last_iteration))
	{
		node->last_epoch = it->epoch;
		node->last_iteration = it->iteration;
	}
}

void
l4_iterations_add(L4Iterations *all, bytea *packed, int node, int64 clock, int64 since)
{
	L4Pack	   *pack = l4_pack_open_as(packed, "iiif", CurrentMemoryContext);
	int			place = -1;

	for (int i = 0; i < pack->nrows; i++)
	{
		int64		ended = L4_NO_TS;

		if (!l4_pack_is_null(pack, 2, i) && pg_sub_s64_overflow(pack->cols[2].ints[i], clock, &ended))
			l4_bytes_corrupted("iterations");
		if (ended < since)
			continue;
		place = get_place(all, (int32) pack->cols[0].ints[i], (int32) pack->cols[1].ints[i], place);
		add_report(all, place, ended, l4_pack_is_null(pack, 3, i) ? NULL : &pack->cols[3].floats[i], node);
	}
}

L4Pack *
l4_iterations_table(L4Iterations *all)
{
	L4Pack	   *pack = l4_pack_create(all->cxt);

	sort_reports(all);
	l4_pack_add_col(pack, L4_PACK_INT, "epoch");
	l4_pack_add_col(pack, L4_PACK_INT, "iteration");
	l4_pack_add_col(pack, L4_PACK_INT, "nodes");
	l4_pack_add_col(pack, L4_PACK_INT, "done_ts");
	l4_pack_add_col(pack, L4_PACK_FLOAT, "duration_ms");
	for (int i = 0; i < all->nitems; i++)
	{
		const Iteration *it = &all->items[i];

		CHECK_FOR_INTERRUPTS();
		l4_pack_int(pack, 0, it->epoch);
		l4_pack_int(pack, 1, it->iteration);
		l4_pack_int(pack, 2, it->nodes);
		l4_pack_ts(pack, 3, it->done);
		if (it->n == 0)
			l4_pack_null(pack, 4);
		else
			l4_pack_float(pack, 4, median_of(it->values, it->n));
	}
	return pack;
}

L4Pack *
l4_iterations_nodes(L4Iterations *all)
{
	L4Pack	   *pack = l4_pack_create(all->cxt);

	l4_pack_add_col(pack, L4_PACK_INT, "node");
	l4_pack_add_col(pack, L4_PACK_INT, "train_ts");
	l4_pack_add_col(pack, L4_PACK_INT, "progress_ts");
	l4_pack_add_col(pack, L4_PACK_INT, "iterations");
	l4_pack_add_col(pack, L4_PACK_INT, "last_iteration");
	l4_pack_add_col(pack, L4_PACK_INT, "last_epoch");
	for (int i = 0; i < all->nnodes; i++)
	{
		if (all->nodes[i].n == 0)
			continue;
		l4_pack_int(pack, 0, i);
		l4_pack_ts(pack, 1, all->nodes[i].first);
		l4_pack_ts(pack, 2, all->nodes[i].last);
		l4_pack_int(pack, 3, all->nodes[i].n);
		l4_pack_int(pack, 4, all->nodes[i].last_iteration);
		l4_pack_int(pack, 5, all->nodes[i].last_epoch);
	}
	return pack;
}

static int
compare_iterations(const void *a, const void *b)
{
	const Iteration *x = *(Iteration *const *) a;
	const Iteration *y = *(Iteration *const *) b;

	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->iteration < y->iteration ? -1 : x->iteration > y->iteration;
}

/* How late each node reports one iteration. */
static void
add_lateness(L4Iterations *all, const Iteration *it, double *room, bool slow)
{
	double		median;

	memcpy(room, it->values, sizeof(double) * it->n);
	median = median_of(room, it->n);
	for (int i = 0; i < it->n; i++)
	{
		NodeSum    *node = &all->nodes[it->reporters[i]];
		double		ms = (it->values[i] - median) / 1000;

		if (slow)
		{
			node->sum += ms;
			node->nslow++;
			continue;
		}
		L4_GROW_FROM(node->before, node->nbefore, node->size, 16, all->cxt);
		node->before[node->nbefore++] = ms;
	}
}

static void
put_lateness(L4Pack *pack, int number, NodeSum *node)
{
	double		before = node->nbefore == 0 ? 0 : median_of(node->before, node->nbefore);

	l4_pack_int(pack, 0, number);
	if (node->nslow == 0)
		l4_pack_null(pack, 1);
	else
		l4_pack_float(pack, 1, node->sum / node->nslow - before);
	if (node->nbefore == 0)
	{
		l4_pack_null(pack, 2);
		l4_pack_null(pack, 3);
		return;
	}
	for (int i = 0; i < node->nbefore; i++)
		node->before[i] = fabs(node->before[i] - before);
	l4_pack_float(pack, 2, before);
	l4_pack_float(pack, 3, median_of(node->before, node->nbefore));
}

L4Pack *
l4_iterations_late(L4Iterations *all, int place, double min_nodes)
{
	L4Pack	   *pack = l4_pack_create(all->cxt);
	int			n = all->nitems;
	int			most = 0;
	Iteration **sorted = MemoryContextAllocHuge(all->cxt, sizeof(Iteration *) * Max(n, 1));
	double	   *room;

	sort_reports(all);
	for (int i = 0; i < n; i++)
	{
		sorted[i] = &all->items[i];
		most = Max(most, sorted[i]->n);
	}
	qsort(sorted, n, sizeof(Iteration *), compare_iterations);
	room = MemoryContextAllocHuge(all->cxt, sizeof(double) * Max(most, 1));
	for (int i = 1; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (sorted[i]->n > 0 && sorted[i]->nodes >= min_nodes)
			add_lateness(all, sorted[i], room, i + 1 >= place);
	}
	l4_pack_add_col(pack, L4_PACK_INT, "node");
	l4_pack_add_col(pack, L4_PACK_FLOAT, "ms");
	l4_pack_add_col(pack, L4_PACK_FLOAT, "before_ms");
	l4_pack_add_col(pack, L4_PACK_FLOAT, "spread_ms");
	for (int i = 0; i < all->nnodes; i++)
		if (all->nodes[i].nslow > 0 || all->nodes[i].nbefore > 0)
			put_lateness(pack, i, &all->nodes[i]);
	return pack;
}
