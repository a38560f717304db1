/*
 * diag_iter.c: iterations of all nodes of a job, put together.
 *
 * A thousand nodes report millions of iterations. They are read once, in place of grouping and sorting them in SQL; eight bytes are kept of each.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "diagnose/diag_iter.h"

typedef struct Iteration
{
	uint64		key;			/* epoch and number */
	char		status;
	int32		epoch;
	int32		iteration;
	int			nodes;
	int			last_node;
	int64		done;
	int			n;
	int			size;
	double	   *values;			/* durations, or times of reports */
	int32	   *reporters;		/* nodes of the reports */
} Iteration;

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

#define SH_PREFIX iteration
#define SH_ELEMENT_TYPE Iteration
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) ((key) ^ ((key) >> 32) * 0x9e3779b1))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct L4Iterations
{
	MemoryContext cxt;
	bool		late;
	iteration_hash *table;
	NodeSum    *nodes;
	int			nnodes;
};

/* Move the k-th smallest value to its place: smaller ones before it, greater ones behind. */
static void
select_place(double *values, int n, int k)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		double		pivot = values[low + (high - low) / 2];
		int			i = low;
		int			j = high;

		while (i <= j)
		{
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j)
			{
				double		swap = values[i];

				values[i++] = values[j];
				values[j--] = swap;
			}
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			return;
	}
}

double
l4_median(double *values, int n)
{
	int			k = n / 2;
	double		below;

	select_place(values, n, k);
	if (n % 2 == 1)
		return values[k];
	below = values[0];
	for (int i = 1; i < k; i++)
		below = Max(below, values[i]);
	return below + 0.5 * (values[k] - below);
}

L4Iterations *
l4_iterations_create(MemoryContext cxt, bool late)
{
	L4Iterations *all = MemoryContextAllocZero(cxt, sizeof(L4Iterations));

	all->cxt = cxt;
	all->late = late;
	all->table = iteration_create(cxt, 1024, NULL);
	return all;
}

static NodeSum *
get_node(L4Iterations *all, int number)
{
	if (number >= all->nnodes)
	{
		int			n = Max(64, Max(number + 1, all->nnodes * 2));

		all->nodes = all->nodes == NULL ? MemoryContextAllocHuge(all->cxt, sizeof(NodeSum) * n)
			: repalloc_huge(all->nodes, sizeof(NodeSum) * n);
		memset(all->nodes + all->nnodes, 0, sizeof(NodeSum) * (n - all->nnodes));
		all->nnodes = n;
	}
	return &all->nodes[number];
}

static void
keep_value(L4Iterations *all, Iteration *it, double value, int node)
{
	if (it->n == it->size)
	{
		int			size = Max(8, it->size * 2);

		it->values = it->size == 0 ? MemoryContextAlloc(all->cxt, sizeof(double) * size)
			: repalloc_huge(it->values, sizeof(double) * size);
		if (all->late)
			it->reporters = it->size == 0 ? MemoryContextAlloc(all->cxt, sizeof(int32) * size)
				: repalloc_huge(it->reporters, sizeof(int32) * size);
		it->size = size;
	}
	if (all->late)
		it->reporters[it->n] = node;
	it->values[it->n++] = value;
}

static void
add_iteration(L4Iterations *all, int32 epoch, int32 iteration, int64 ended, const double *ms, int number)
{
	uint64		key = ((uint64) (uint32) epoch << 32) | (uint32) iteration;
	NodeSum    *node = get_node(all, number);
	bool		found;
	Iteration  *it = iteration_insert(all->table, key, &found);

	if (!found)
	{
		it->epoch = epoch;
		it->iteration = iteration;
		it->nodes = it->n = it->size = 0;
		it->last_node = -1;
		it->done = L4_NO_TS;
		it->values = NULL;
		it->reporters = NULL;
	}
	if (it->last_node != number)
	{
		it->nodes++;
		it->last_node = number;
	}
	it->done = Max(it->done, ended);
	if (!all->late && ms != NULL)
		keep_value(all, it, *ms, number);
	else if (all->late && ended != L4_NO_TS)
		keep_value(all, it, (double) ended, number);
	if (node->n++ == 0)
		node->first = node->last = L4_NO_TS;
	if (ended != L4_NO_TS)
	{
		node->first = node->first == L4_NO_TS ? ended : Min(node->first, ended);
		node->last = Max(node->last, ended);
	}
	if (node->n == 1 || epoch > node->last_epoch || (epoch == node->last_epoch && iteration > node->last_iteration))
	{
		node->last_epoch = epoch;
		node->last_iteration = iteration;
	}
}

void
l4_iterations_add(L4Iterations *all, bytea *packed, int node, int64 clock, int64 since)
{
	static const char types[] = {L4_PACK_INT, L4_PACK_INT, L4_PACK_INT, L4_PACK_FLOAT};
	L4Pack	   *pack = l4_pack_open(packed, CurrentMemoryContext);

	if (pack->ncols < 4)
		l4_pack_corrupted("iterations");
	for (int c = 0; c < 4; c++)
	{
		if (pack->cols[c].type != types[c])
			l4_pack_corrupted("iterations");
		l4_pack_need(pack, c);
	}
	for (int i = 0; i < pack->nrows; i++)
	{
		int64		ended = L4_NO_TS;

		if (!l4_pack_is_null(pack, 2, i) && pg_sub_s64_overflow(pack->cols[2].ints[i], clock, &ended))
			l4_pack_corrupted("iterations");
		if (ended >= since)
			add_iteration(all, (int32) pack->cols[0].ints[i], (int32) pack->cols[1].ints[i], ended,
						  l4_pack_is_null(pack, 3, i) ? NULL : &pack->cols[3].floats[i], node);
	}
}

L4Pack *
l4_iterations_table(L4Iterations *all)
{
	L4Pack	   *pack = l4_pack_create(all->cxt);
	iteration_iterator cursor;
	Iteration  *it;

	l4_pack_add_col(pack, L4_PACK_INT, "epoch");
	l4_pack_add_col(pack, L4_PACK_INT, "iteration");
	l4_pack_add_col(pack, L4_PACK_INT, "nodes");
	l4_pack_add_col(pack, L4_PACK_INT, "done_ts");
	l4_pack_add_col(pack, L4_PACK_FLOAT, "duration_ms");
	iteration_start_iterate(all->table, &cursor);
	while ((it = iteration_iterate(all->table, &cursor)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		l4_pack_int(pack, 0, it->epoch);
		l4_pack_int(pack, 1, it->iteration);
		l4_pack_int(pack, 2, it->nodes);
		l4_pack_ts(pack, 3, it->done);
		if (it->n == 0)
			l4_pack_null(pack, 4);
		else
			l4_pack_float(pack, 4, l4_median(it->values, it->n));
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
	for (int i = 0; i < all->nnodes; i++)
	{
		if (all->nodes[i].n == 0)
			continue;
		l4_pack_int(pack, 0, i);
		l4_pack_ts(pack, 1, all->nodes[i].first);
		l4_pack_ts(pack, 2, all->nodes[i].last);
		l4_pack_int(pack, 3, all->nodes[i].n);
		l4_pack_int(pack, 4, all->nodes[i].last_iteration);
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
	median = l4_median(room, it->n);
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
		if (node->nbefore == node->size)
		{
			node->size = Max(16, node->size * 2);
			node->before = node->before == NULL ? MemoryContextAlloc(all->cxt, sizeof(double) * node->size)
				: repalloc_huge(node->before, sizeof(double) * node->size);
		}
		node->before[node->nbefore++] = ms;
	}
}

static void
put_lateness(L4Pack *pack, int number, NodeSum *node)
{
	double		before = node->nbefore == 0 ? 0 : l4_median(node->before, node->nbefore);

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
	l4_pack_float(pack, 3, l4_median(node->before, node->nbefore));
}

L4Pack *
l4_iterations_late(L4Iterations *all, int place, double min_nodes)
{
	L4Pack	   *pack = l4_pack_create(all->cxt);
	int			n = 0;
	int			most = 0;
	Iteration **sorted = MemoryContextAllocHuge(all->cxt, sizeof(Iteration *) * Max(all->table->members, 1));
	double	   *room;
	iteration_iterator cursor;
	Iteration  *it;

	iteration_start_iterate(all->table, &cursor);
	while ((it = iteration_iterate(all->table, &cursor)) != NULL)
	{
		sorted[n++] = it;
		most = Max(most, it->n);
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
