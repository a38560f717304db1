/*
 * spurs.c
 *		Runs that lead out of a job, or into it, and on no way back.
 *
 * Who trains together hears from each other: in rings, trees and pipelines
 * there is a way from each machine to each other one and back. Weights that
 * are pushed to machines that generate, copies of a job's state, and what is
 * read at each step go one way only, however regular they are.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define SAME_SIZE		1.02	/* sizes that differ by less are the same */

/* Which machines send to each other: those behind start[m] are the receivers of m. */
typedef struct Ways
{
	int			nmachines;
	int		   *start;
	int		   *to;
} Ways;

/* Sizes that machines which hear from each other send, in one of the sets that no run connects. */
typedef struct SizeRange
{
	int			set;
	double		size;
	double		top;
} SizeRange;

L4_COMPARE(order_ranges, SizeRange, L4_UP(set) L4_UP(size))

/* Machines that a run leads from and to, in the direction d: false where it has none. */
static bool
run_way(const L4Flows *flows, const L4FlowRun *run, int d, int *from, int *to)
{
	const L4FlowPair *pair = &flows->pairs[run->pair];

	*from = flows->addresses[d == 0 ? pair->a : pair->b].machine;
	*to = flows->addresses[d == 0 ? pair->b : pair->a].machine;
	return run->regular && (run->one_way < L4_ONE_WAY || run->back == (d == 1));
}

static void
find_ways(const L4Flows *flows, Ways *ways)
{
	int			from;
	int			to;

	ways->nmachines = 0;
	for (int i = 0; i < flows->naddresses; i++)
		ways->nmachines = Max(ways->nmachines, flows->addresses[i].machine + 1);
	/* two further, so that filling leaves the starts one further, where they are read */
	ways->start = palloc0(sizeof(int) * (ways->nmachines + 2));
	for (int i = 0; i < 2 * flows->nruns; i++)
		if (run_way(flows, &flows->runs[i / 2], i % 2, &from, &to))
			ways->start[from + 2]++;
	for (int m = 0; m < ways->nmachines; m++)
		ways->start[m + 2] += ways->start[m + 1];
	ways->to = palloc(sizeof(int) * Max(ways->start[ways->nmachines + 1], 1));
	for (int i = 0; i < 2 * flows->nruns; i++)
		if (run_way(flows, &flows->runs[i / 2], i % 2, &from, &to))
			ways->to[ways->start[from + 1]++] = to;
}

/* The part of each machine: those that are in one hear from each other (Tarjan's algorithm, without recursion). */
static int *
find_parts(const Ways *ways)
{
	int			n = ways->nmachines;
	int		   *part = palloc(sizeof(int) * Max(n, 1));
	int		   *seen = palloc0(sizeof(int) * Max(n, 1));	/* when, 0 never */
	int		   *low = palloc(sizeof(int) * Max(n, 1));
	int		   *next = palloc(sizeof(int) * Max(n, 1));
	int		   *path = palloc(sizeof(int) * Max(n, 1));
	int		   *open = palloc(sizeof(int) * Max(n, 1));
	int			npath = 0;
	int			nopen = 0;
	int			count = 0;

	for (int m = 0; m < n; m++)
		part[m] = -1;
	for (int root = 0; root < n; root++)
	{
		int			enter = seen[root] == 0 ? root : -1;

		CHECK_FOR_INTERRUPTS();
		while (enter >= 0 || npath > 0)
		{
			int			m = enter >= 0 ? enter : path[npath - 1];

			if (enter >= 0)
			{
				seen[m] = low[m] = ++count;
				next[m] = ways->start[m];
				path[npath++] = open[nopen++] = m;
			}
			enter = -1;
			while (next[m] < ways->start[m + 1] && enter < 0)
			{
				int			other = ways->to[next[m]++];

				if (seen[other] == 0)
					enter = other;
				else if (part[other] < 0)
					low[m] = Min(low[m], seen[other]);
			}
			if (enter >= 0)
				continue;
			npath--;
			if (npath > 0)
				low[path[npath - 1]] = Min(low[path[npath - 1]], low[m]);
			while (low[m] == seen[m] && part[m] < 0)
				part[open[--nopen]] = m;
		}
	}
	pfree(seen);
	pfree(low);
	pfree(next);
	pfree(path);
	pfree(open);
	return part;
}

/* Machines that runs connect, whatever their direction, are in one set. */
static int *
find_sets(const Ways *ways)
{
	int		   *set = palloc(sizeof(int) * Max(ways->nmachines, 1));

	for (int m = 0; m < ways->nmachines; m++)
		set[m] = m;
	for (int m = 0; m < ways->nmachines; m++)
		for (int i = ways->start[m]; i < ways->start[m + 1]; i++)
			l4_sets_join(set, m, ways->to[i]);
	return set;
}

/* Of a regular run: does it lead out of the part that it is in? */
static bool
leads_out(const L4Flows *flows, const int *part, const L4FlowRun *run)
{
	const L4FlowPair *pair = &flows->pairs[run->pair];

	return part[flows->addresses[pair->a].machine] != part[flows->addresses[pair->b].machine];
}

/* Ranges of the sizes that are sent within parts of each set, ascending, that do not touch. */
static SizeRange *
find_sizes(const L4Flows *flows, const int *part, int *set, int *n)
{
	int			all = 0;
	SizeRange  *ranges;

	for (int r = 0; r < flows->nruns; r++)
		all += flows->runs[r].nlarge;
	ranges = palloc(sizeof(SizeRange) * Max(all, 1));
	all = *n = 0;
	for (int r = 0; r < flows->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[r];
		int			of = l4_sets_find(set, flows->addresses[flows->pairs[run->pair].a].machine);

		for (int c = 0; c < run->nlarge && run->regular && !leads_out(flows, part, run); c++)
			ranges[all++] = (SizeRange) {of, run->classes[c].size / SAME_SIZE, run->classes[c].top * SAME_SIZE};
	}
	qsort(ranges, all, sizeof(SizeRange), order_ranges);
	for (int i = 0; i < all; i++)
	{
		SizeRange  *last = &ranges[Max(*n - 1, 0)];

		if (*n > 0 && last->set == ranges[i].set && ranges[i].size <= last->top)
			last->top = Max(last->top, ranges[i].top);
		else
			ranges[(*n)++] = ranges[i];
	}
	return ranges;
}

/* Do parts of a set send anything, but nothing that lies in a class? */
static bool
sends_others(const SizeRange *ranges, int n, int set, const L4FlowClass *class)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (ranges[middle].set < set || (ranges[middle].set == set && ranges[middle].top < class->size))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n && ranges[low].set == set)
		return ranges[low].size > class->top;
	return low > 0 && ranges[low - 1].set == set;
}

/*
 * Leave out what leads from one part to another one. Where a switch does not
 * export, a ring is seen in part, and leads out of each machine: but what it
 * sends there, it or another one of the job sends elsewhere, too.
 */
void
l4_flows_leave_out_spurs(L4Flows *flows)
{
	Ways		ways;
	int		   *part;
	int		   *set;
	SizeRange  *ranges;
	int			n;

	find_ways(flows, &ways);
	part = find_parts(&ways);
	set = find_sets(&ways);
	ranges = find_sizes(flows, part, set, &n);
	for (int r = 0; r < flows->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[r];
		int			of = l4_sets_find(set, flows->addresses[flows->pairs[run->pair].a].machine);

		if (run->regular && leads_out(flows, part, run) && sends_others(ranges, n, of, &run->classes[0]))
			run->regular = false;
	}
	pfree(ways.start);
	pfree(ways.to);
	pfree(part);
	pfree(set);
	pfree(ranges);
}
