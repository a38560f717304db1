/*
 * diag_iter.c: iterations of all nodes of a job, put together.
 *
 * A thousand nodes report millions of iterations. They are read once, in place of grouping and sorting them in SQL.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "miscadmin.h"

#include "base/grow.h"
#include "base/map.h"
#include "diagnose/diagnose.h"

/* What an iteration counts for in l4_iterations_late */
typedef enum IterationPart
{
	PART_NONE,
	PART_BEFORE,
	PART_SLOW,
} IterationPart;

typedef struct Iteration
{
	int32		epoch;
	int32		iteration;
	int			nodes;
	int			last_node;
	int64		done;
	int			n;				/* reports */
	int			size;
	double	   *values;			/* durations in milliseconds, or times */
	int		   *turns;			/* with times: whose turn each was, ascending */
	IterationPart part;
	double		median;
} Iteration;

typedef struct NodeSum
{
	int64		n;
	int64		first;
	int64		last;
	int32		last_epoch;
	int32		last_iteration;
} NodeSum;

struct L4Iterations
{
	MemoryContext cxt;
	bool		late;
	L4Map	   *table;			/* epoch and number to place in items */
	Iteration  *items;			/* in the order in which they are met */
	int			nitems;
	int			items_size;
	NodeSum    *nodes;
	int			nnodes;
	int			nodes_size;
	int		   *turns;			/* nodes in the order in which they come */
	int			nturns;
	int			turns_size;
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
keep_value(L4Iterations *all, Iteration *it, double value)
{
	int			size = it->size;

	if (all->late)
	{
		L4_GROW_FROM(it->turns, it->n, size, 16, all->cxt);
		it->turns[it->n] = all->nturns - 1;
	}
	L4_GROW_FROM(it->values, it->n, it->size, 16, all->cxt);
	it->values[it->n++] = value;
}

/* The median of what is reported of each iteration; of some nothing is. */
static void
find_medians(L4Iterations *all)
{
	double	   *values = NULL;
	int			size = 0;

	for (int i = 0; i < all->nitems; i++)
	{
		Iteration  *it = &all->items[i];

		CHECK_FOR_INTERRUPTS();
		if (it->n == 0)
			continue;
		L4_GROW_FROM(values, it->n, size, it->n + 1, CurrentMemoryContext);
		memcpy(values, it->values, sizeof(double) * it->n);
		it->median = median_of(values, it->n);
	}
}

static void
add_item(L4Iterations *all, int32 epoch, int32 iteration)
{
	Iteration  *it;

	L4_GROW(all->items, all->nitems, all->items_size, all->cxt);
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
		keep_value(all, it, *ms);
	else if (all->late && ended != L4_NO_TS)
		keep_value(all, it, (double) ended);
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

static bool
same_report(const L4Pack *pack, int a, int b)
{
	return pack->cols[1].ints[a] == pack->cols[1].ints[b] && !l4_pack_is_null(pack, 3, a) && !l4_pack_is_null(pack, 3, b) &&
		pack->cols[3].floats[a] == pack->cols[3].floats[b];
}

/*
 * Reports without those at the end that a launcher shows again when a process failed: they repeat the ones before them, durations included,
 * in less time than they say to have taken.
 */
static int
reports_shown_once(const L4Pack *pack)
{
	int			n = pack->nrows;
	double		ms = 0;

	for (int again = 2; again <= n / 2; again++)
	{
		int			first = n - again;
		int			same = 0;

		CHECK_FOR_INTERRUPTS();
		if (l4_pack_is_null(pack, 2, first) || l4_pack_is_null(pack, 2, n - 1) || l4_pack_is_null(pack, 3, first + 1))
			break;
		ms += pack->cols[3].floats[first + 1];
		if ((double) (pack->cols[2].ints[n - 1] - pack->cols[2].ints[first]) / 1000 >= ms)
			break;
		while (same < again && same_report(pack, n - 1 - same, first - 1 - same))
			same++;
		if (same == again)
			return first;
	}
	return n;
}

/* Reports of one whole second, which is as much as their stamps tell, share the time that passed before it. */
static void
share_time(L4Pack *pack, int n)
{
	int			to;

	for (int from = 0; from < n; from = to)
	{
		int64		second = l4_pack_get_ts(pack, 2, from);
		double		sum = 0;
		int			many = 0;

		CHECK_FOR_INTERRUPTS();
		for (to = from; to < n && (to == from || (second % USECS_PER_SEC == 0 && l4_pack_get_ts(pack, 2, to) == second)); to++)
			if (!l4_pack_is_null(pack, 3, to))
			{
				sum += pack->cols[3].floats[to];
				many++;
			}
		for (int i = from; i < to && many > 1; i++)
			if (!l4_pack_is_null(pack, 3, i))
				pack->cols[3].floats[i] = sum / many;
	}
}

/*
 * Reports without numbers are counted until a bar tells the first number, less
 * than a report later: it is that of the last one counted, and as many
 * iterations lie between any two of them.
 */
static void
number_counted(L4Pack *pack, int n)
{
	int64	   *number = pack->cols[1].ints;
	int64		first;
	int64		last;
	int64		bar;
	int64		stride;
	int			counted = 0;

	while (counted < n && pack->cols[0].ints[counted] == pack->cols[0].ints[0] && number[counted] == counted + 1)
	{
		CHECK_FOR_INTERRUPTS();
		counted++;
	}
	if (counted < 2 || counted == n || pack->cols[0].ints[counted] != pack->cols[0].ints[0] || number[counted] % counted != 0)
		return;
	first = l4_pack_get_ts(pack, 2, 0);
	last = l4_pack_get_ts(pack, 2, counted - 1);
	bar = l4_pack_get_ts(pack, 2, counted);
	if (first == L4_NO_TS || last == L4_NO_TS || bar == L4_NO_TS || bar - last >= (last - first) / (counted - 1))
		return;
	stride = number[counted] / counted;
	for (int i = 0; i < counted; i++)
	{
		number[i] *= stride;
		if (!l4_pack_is_null(pack, 3, i))
			pack->cols[3].floats[i] /= stride;
	}
}

/* Is a report one of a later attempt, which gets no further than the latest one? Two of one iteration follow each other. */
static bool
is_earlier(const L4Pack *pack, int i, int latest)
{
	int64		epochs = pack->cols[0].ints[i] - pack->cols[0].ints[latest];
	int64		iterations = pack->cols[1].ints[i] - pack->cols[1].ints[latest];

	return epochs < 0 || (epochs == 0 && (iterations < 0 || (iterations == 0 && i > latest + 1)));
}

void
l4_iterations_add(L4Iterations *all, bytea *packed, int node, int64 clock, int64 since)
{
	L4Pack	   *pack = l4_pack_open_as(packed, "iiif", CurrentMemoryContext);
	int			n = reports_shown_once(pack);
	int			place = -1;
	int			latest = -1;

	share_time(pack, n);
	number_counted(pack, n);
	if (all->nturns == 0 || all->turns[all->nturns - 1] != node)
	{
		L4_GROW(all->turns, all->nturns, all->turns_size, all->cxt);
		all->turns[all->nturns++] = node;
	}
	for (int i = 0; i < n; i++)
	{
		int64		ended = L4_NO_TS;

		if (!l4_pack_is_null(pack, 2, i) && pg_sub_s64_overflow(pack->cols[2].ints[i], clock, &ended))
			l4_bytes_corrupted("iterations");
		if (ended < since || (latest >= 0 && is_earlier(pack, i, latest)))
			continue;
		latest = i;
		place = get_place(all, (int32) pack->cols[0].ints[i], (int32) pack->cols[1].ints[i], place);
		add_report(all, place, ended, l4_pack_is_null(pack, 3, i) ? NULL : &pack->cols[3].floats[i], node);
	}
}

L4Pack *
l4_iterations_table(L4Iterations *all)
{
	L4Pack	   *pack = l4_pack_create("iiiif", all->cxt);

	find_medians(all);
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
			l4_pack_float(pack, 4, it->median);
	}
	return pack;
}

L4Pack *
l4_iterations_nodes(L4Iterations *all)
{
	L4Pack	   *pack = l4_pack_create("iiiiii", all->cxt);

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

/* A row of l4_iterations_late; the values before the slow iterations are reordered. */
static void
put_lateness(L4Pack *pack, int number, double sum, int nslow, double *before, int nbefore)
{
	double		median = nbefore == 0 ? 0 : median_of(before, nbefore);

	if (nslow == 0 && nbefore == 0)
		return;
	l4_pack_int(pack, 0, number);
	if (nslow == 0)
		l4_pack_null(pack, 1);
	else
		l4_pack_float(pack, 1, sum / nslow - median);
	if (nbefore == 0)
	{
		l4_pack_null(pack, 2);
		l4_pack_null(pack, 3);
		return;
	}
	for (int i = 0; i < nbefore; i++)
		before[i] = fabs(before[i] - median);
	l4_pack_float(pack, 2, median);
	l4_pack_float(pack, 3, median_of(before, nbefore));
}

/* What iterations count for: all but the first one, if enough nodes report it. */
static void
divide_iterations(L4Iterations *all, int place, double min_nodes)
{
	int			n = all->nitems;
	Iteration **sorted = MemoryContextAllocHuge(all->cxt, sizeof(Iteration *) * Max(n, 1));

	for (int i = 0; i < n; i++)
		sorted[i] = &all->items[i];
	qsort(sorted, n, sizeof(Iteration *), compare_iterations);
	for (int i = 1; i < n; i++)
		if (sorted[i]->nodes >= min_nodes)
			sorted[i]->part = i + 1 >= place ? PART_SLOW : PART_BEFORE;
	pfree(sorted);
}

L4Pack *
l4_iterations_late(L4Iterations *all, int place, double min_nodes)
{
	L4Pack	   *pack = l4_pack_create("ifff", all->cxt);
	int		   *next = palloc_extended(sizeof(int) * (Size) Max(all->nitems, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	double	   *before = NULL;
	int			size = 0;

	find_medians(all);
	divide_iterations(all, place, min_nodes);
	/* node by node, as they came */
	for (int turn = 0; turn < all->nturns; turn++)
	{
		double		sum = 0;
		int			nslow = 0;
		int			nbefore = 0;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < all->nitems; i++)
			for (const Iteration *it = &all->items[i]; next[i] < it->n && it->turns[next[i]] == turn; next[i]++)
			{
				double		ms = (it->values[next[i]] - it->median) / 1000;

				if (it->part == PART_SLOW)
				{
					sum += ms;
					nslow++;
				}
				else if (it->part == PART_BEFORE)
				{
					L4_GROW(before, nbefore, size, CurrentMemoryContext);
					before[nbefore++] = ms;
				}
			}
		put_lateness(pack, all->turns[turn], sum, nslow, before, nbefore);
	}
	return pack;
}
