/*
 * jobs.c
 *		Stints: clusters whose steps end together on the same machines.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define SAME_MACHINES	0.8
#define SAME_PERIOD		0.03
#define SAME_END		0.05	/* of a period */
#define ENDS_AGREE		0.3		/* chance alone makes it a tenth; a rail is late while it is slow, or its clock was set */
#define CLOCKS			0.003	/* of a period: offsets of clusters that differ by less do so by chance, */
#define UNUSUAL			0.004	/* and lengths of steps from the usual one */
#define FEWEST_UNUSUAL	8		/* steps: fewer tell nothing, */
#define RISE_AGREE		0.7		/* nor does it that half of them, as chance makes, are longer in both clusters or shorter */
#define SIGNATURE		0.02	/* tolerance of sizes by which a job that is started again is known */

/* Share of ends that have one of the other cluster nearby. */
static double
ends_agree(const L4FlowCluster *x, const L4FlowCluster *y, int64 from, int64 to)
{
	int			n = 0;
	int			agree = 0;
	int			j = 0;

	for (int i = 0; i < x->nends; i++)
	{
		if (x->ends[i] < from || x->ends[i] > to)
			continue;
		while (j + 1 < y->nends && llabs(y->ends[j + 1] - x->ends[i]) <= llabs(y->ends[j] - x->ends[i]))
			j++;
		n++;
		agree += j < y->nends && llabs(y->ends[j] - x->ends[i]) <= SAME_END * x->period;
	}
	return n == 0 ? 0 : (double) agree / n;
}

static void
step_lengths(const L4FlowCluster *cluster, int from, int n, double *lengths, double *usual)
{
	double	   *values = palloc(sizeof(double) * n);

	for (int i = 0; i < n; i++)
		values[i] = lengths[i] = (double) (cluster->ends[from + i + 1] - cluster->ends[from + i]);
	*usual = l4_quantile(values, n, 0.5);
	pfree(values);
}

/* Are the same steps longer than usual in both clusters, counted from the first one or from the last? */
static bool
rise_together(const L4FlowCluster *x, const L4FlowCluster *y)
{
	int			n = Min(x->nends, y->nends) - 1;
	double	   *lengths[2];
	bool		agree = n < FEWEST_UNUSUAL;

	lengths[0] = palloc(sizeof(double) * Max(n, 1));
	lengths[1] = palloc(sizeof(double) * Max(n, 1));
	for (int behind = 0; behind < 2 && !agree; behind++)
	{
		int			unusual = 0;
		int			same = 0;
		double		usual[2];

		step_lengths(x, behind ? x->nends - 1 - n : 0, n, lengths[0], &usual[0]);
		step_lengths(y, behind ? y->nends - 1 - n : 0, n, lengths[1], &usual[1]);
		for (int i = 0; i < n; i++)
		{
			double		more[2] = {lengths[0][i] / usual[0] - 1, lengths[1][i] / usual[1] - 1};

			if (Max(fabs(more[0]), fabs(more[1])) < UNUSUAL)
				continue;
			unusual++;
			same += more[0] * more[1] > 0;
		}
		agree = unusual < FEWEST_UNUSUAL || same >= RISE_AGREE * unusual;
	}
	pfree(lengths[0]);
	pfree(lengths[1]);
	return agree;
}

/*
 * Jobs of one shape on the same machines begin one after the other, and ends
 * of their steps may lie together by chance. What is seen to begin or to end
 * tells more: what does both together, and takes longer in the same steps, is
 * one job, whatever the clocks say.
 */
static bool
same_stint(const L4Flows *flows, const L4FlowCluster *x, const L4FlowCluster *y)
{
	int64		from = Max(x->first, y->first);
	int64		to = Min(x->last, y->last);
	int64		slack = (int64) (x->period / 2);
	bool		begun = llabs(x->first - y->first) <= x->period;
	bool		ended = llabs(x->last - y->last) <= x->period;

	if (fabs(x->period / y->period - 1) > SAME_PERIOD || 2 * (to - from) < Min(x->last - x->first, y->last - y->first))
		return false;
	if (flows->inventory && l4_jaccard(x->machines, x->nmachines, y->machines, y->nmachines) < SAME_MACHINES)
		return false;
	if (!begun && !ended)
		return false;
	if (x->nends == 0 && y->nends == 0)
		return flows->inventory;
	if (flows->inventory && begun && ended
		&& (Min(x->first, y->first) > flows->first + x->period || Max(x->last, y->last) < flows->last - x->period)
		&& rise_together(x, y))
		return true;
	return ends_agree(x, y, from - slack, to + slack) >= ENDS_AGREE && ends_agree(y, x, from - slack, to + slack) >= ENDS_AGREE;
}

L4_COMPARE_NUMBERS(order_periods, L4FlowCluster, .period)

/* Join clusters of one stint: parent is a set of clusters. Only those of near periods are compared. */
static void
join_clusters(L4Flows *flows, int *parent)
{
	int		   *by_period = palloc(sizeof(int) * Max(flows->nclusters, 1));
	int			n = 0;

	for (int c = 0; c < flows->nclusters; c++)
	{
		parent[c] = c;
		if (flows->clusters[c].period > 0)
			by_period[n++] = c;
	}
	qsort_arg(by_period, n, sizeof(int), order_periods, flows->clusters);
	for (int i = 0; i < n; i++)
	{
		L4FlowCluster *x = &flows->clusters[by_period[i]];

		CHECK_FOR_INTERRUPTS();
		for (int j = i + 1; j < n; j++)
		{
			L4FlowCluster *y = &flows->clusters[by_period[j]];

			if (y->period > x->period * (1 + 2 * SAME_PERIOD))
				break;
			if (l4_sets_find(parent, by_period[i]) != l4_sets_find(parent, by_period[j]) && same_stint(flows, x, y))
				l4_sets_join(parent, by_period[i], by_period[j]);
		}
	}
	pfree(by_period);
}

/*
 * Do most machines both send and receive, as in rings and trees? Of caches
 * and tokens that are handed on, some only send and others only receive.
 * Without an inventory each address is a machine.
 */
static bool
sends_round(L4Flows *flows, int *parent, int root)
{
	int			machines = 0;
	uint8	   *seen;			/* of each machine: 1 sends, 2 receives */
	int			n = 0;
	int			both = 0;

	for (int i = 0; i < flows->naddresses; i++)
		machines = Max(machines, flows->addresses[i].machine + 1);
	seen = palloc0(Max(machines, 1));
	for (int r = 0; r < flows->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[r];
		const L4FlowPair *pair = &flows->pairs[run->pair];
		int			a = flows->addresses[pair->a].machine;
		int			b = flows->addresses[pair->b].machine;

		if (run->cluster < 0 || flows->clusters[run->cluster].period <= 0 || l4_sets_find(parent, run->cluster) != root)
			continue;
		seen[a] |= run->one_way < L4_ONE_WAY ? 3 : run->back ? 2 : 1;
		seen[b] |= run->one_way < L4_ONE_WAY ? 3 : run->back ? 1 : 2;
	}
	for (int m = 0; m < machines; m++)
	{
		n += seen[m] != 0;
		both += seen[m] == 3;
	}
	pfree(seen);
	return 2 * both > n;
}

L4_COMPARE(order_classes, L4FlowClass, L4_UP(size))

/* Sizes of a stint: classes of all its runs, near ones put together. */
static void
collect_sizes(L4Flows *flows, L4FlowStint *stint)
{
	int			n = 0;

	stint->sizes = palloc(sizeof(L4FlowClass) * stint->nruns * L4_FLOW_CLASSES);
	for (int r = 0; r < stint->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[stint->runs[r]];

		memcpy(stint->sizes + n, run->classes, sizeof(L4FlowClass) * run->nclasses);
		n += run->nclasses;
		stint->sampled |= run->packets > 0;
	}
	qsort(stint->sizes, n, sizeof(L4FlowClass), order_classes);
	for (int i = 0; i < n; i++)
	{
		L4FlowClass *last = &stint->sizes[Max(stint->nsizes - 1, 0)];

		if (stint->nsizes > 0 && stint->sizes[i].size <= last->size * (1 + 2 * SIGNATURE))
			last->bytes += stint->sizes[i].bytes;
		else
			stint->sizes[stint->nsizes++] = stint->sizes[i];
	}
	stint->sizes = repalloc(stint->sizes, sizeof(L4FlowClass) * Max(stint->nsizes, 1));
}

static void
make_stint(L4Flows *flows, int *parent, int root)
{
	L4FlowStint stint = {.first = DT_NOEND, .last = DT_NOBEGIN, .clusters = palloc(sizeof(int) * flows->nclusters)};
	double	   *periods = palloc(sizeof(double) * flows->nclusters);
	int			nics = 0;

	for (int c = 0; c < flows->nclusters; c++)
	{
		L4FlowCluster *cluster = &flows->clusters[c];

		if (cluster->period <= 0 || l4_sets_find(parent, c) != root)
			continue;
		periods[stint.nclusters] = cluster->period;
		stint.clusters[stint.nclusters++] = c;
		stint.first = Min(stint.first, cluster->first);
		stint.last = Max(stint.last, cluster->last);
		nics += cluster->nnics;
		stint.nruns += cluster->nruns;
		stint.ngroups += cluster->ngroups;
	}
	stint.period = l4_quantile(periods, stint.nclusters, 0.5);
	stint.nics = palloc(sizeof(int) * nics);
	stint.machines = palloc(sizeof(int) * nics);
	stint.runs = palloc(sizeof(int) * stint.nruns);
	stint.groups = palloc(sizeof(int) * Max(stint.ngroups, 1));
	stint.nruns = stint.ngroups = 0;
	for (int i = 0; i < stint.nclusters; i++)
	{
		L4FlowCluster *cluster = &flows->clusters[stint.clusters[i]];

		memcpy(stint.nics + stint.nnics, cluster->nics, sizeof(int) * cluster->nnics);
		stint.nnics += cluster->nnics;
		memcpy(stint.runs + stint.nruns, cluster->runs, sizeof(int) * cluster->nruns);
		stint.nruns += cluster->nruns;
		for (int g = 0; g < cluster->ngroups; g++)
			stint.groups[stint.ngroups++] = cluster->first_group + g;
	}
	stint.nnics = l4_sort_unique(stint.nics, stint.nnics);
	for (int i = 0; i < stint.nnics; i++)
		stint.machines[i] = flows->addresses[stint.nics[i]].machine;
	stint.nmachines = l4_sort_unique(stint.machines, stint.nnics);
	collect_sizes(flows, &stint);
	L4_GROW_FROM(flows->stints, flows->nstints, flows->stints_size, 16, flows->cxt);
	flows->stints[flows->nstints++] = stint;
	pfree(periods);
}

/* Median difference of a cluster's ends from the steps: clocks of exporters differ. */
static int64
clock_offset(const L4FlowCluster *cluster, const int64 *ends, int nends, double period)
{
	double	   *differences = palloc(sizeof(double) * Max(cluster->nends, 1));
	int			n = 0;
	int			j = 0;
	int64		result;

	for (int i = 0; i < cluster->nends && nends > 0; i++)
	{
		while (j + 1 < nends && llabs(ends[j + 1] - cluster->ends[i]) <= llabs(ends[j] - cluster->ends[i]))
			j++;
		if (llabs(ends[j] - cluster->ends[i]) <= L4_SAME_STEP * period)
			differences[n++] = (double) (cluster->ends[i] - ends[j]);
	}
	result = (int64) l4_quantile(differences, n, 0.5);
	pfree(differences);
	return result;
}

/* Steps of a stint: of all groups together, after their clocks are set. */
static void
find_steps(L4Flows *flows, L4FlowStint *stint)
{
	int		   *groups = palloc(sizeof(int) * Max(stint->ngroups, 1));
	int64	   *offset = palloc0(sizeof(int64) * Max(stint->ngroups, 1));
	int			n = 0;
	int			nends = 0;
	int64		least = PG_INT64_MAX;
	int64		most = PG_INT64_MIN;

	for (int g = 0; g < stint->ngroups; g++)
		if (flows->groups[stint->groups[g]].nends > 0)
		{
			groups[n++] = stint->groups[g];
			nends += flows->groups[stint->groups[g]].nends;
		}
	stint->ends = palloc(sizeof(int64) * Max(nends, 1));
	stint->cover = palloc(sizeof(float) * Max(nends, 1));
	stint->nsteps = l4_flows_merge_ends(flows, groups, NULL, n, stint->period, stint->ends, stint->cover);
	for (int i = 0; i < stint->nclusters; i++)
	{
		L4FlowCluster *cluster = &flows->clusters[stint->clusters[i]];

		cluster->offset = clock_offset(cluster, stint->ends, stint->nsteps, stint->period);
		least = Min(least, cluster->offset);
		most = Max(most, cluster->offset);
	}
	for (int i = 0; i < stint->nclusters && most - least < CLOCKS * stint->period; i++)
		flows->clusters[stint->clusters[i]].offset = 0;
	if (most - least >= CLOCKS * stint->period)
	{
		for (int i = 0; i < n; i++)
			offset[i] = flows->clusters[flows->groups[groups[i]].cluster].offset;
		stint->nsteps = l4_flows_merge_ends(flows, groups, offset, n, stint->period, stint->ends, stint->cover);
	}
	pfree(groups);
	pfree(offset);
}

L4_COMPARE(order_stints, L4FlowStint, L4_UP(first) L4_UP(nics[0]))

/* Put stints in the order of time. */
static void
order_all(L4Flows *flows)
{
	qsort(flows->stints, flows->nstints, sizeof(L4FlowStint), order_stints);
	for (int s = 0; s < flows->nstints; s++)
		for (int i = 0; i < flows->stints[s].nclusters; i++)
			flows->clusters[flows->stints[s].clusters[i]].stint = s;
}

/* Runs of clusters become those of their stints; so do irregular ones between two NICs of a stint. */
static void
adopt_runs(L4Flows *flows)
{
	for (int r = 0; r < flows->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[r];
		int			ends[2] = {flows->pairs[run->pair].a, flows->pairs[run->pair].b};

		if (run->cluster >= 0)
			run->stint = flows->clusters[run->cluster].stint;
		for (int s = 0; s < flows->nstints && run->cluster < 0 && run->stint < 0; s++)
		{
			L4FlowStint *stint = &flows->stints[s];

			if (run->first <= stint->last && run->last >= stint->first
				&& bsearch(&ends[0], stint->nics, stint->nnics, sizeof(int), l4_order_int32) != NULL
				&& bsearch(&ends[1], stint->nics, stint->nnics, sizeof(int), l4_order_int32) != NULL)
			{
				run->stint = s;
				run->kind = l4_flows_kind(run) == L4_FLOW_EP ? L4_FLOW_EP : L4_FLOW_OTHER;
			}
		}
	}
}

void
l4_flows_jobs(L4Flows *flows)
{
	int		   *parent = palloc(sizeof(int) * Max(flows->nclusters, 1));

	join_clusters(flows, parent);
	for (int c = 0; c < flows->nclusters; c++)
		if (flows->clusters[c].period > 0 && l4_sets_find(parent, c) == c && sends_round(flows, parent, c))
		{
			make_stint(flows, parent, c);
			find_steps(flows, &flows->stints[flows->nstints - 1]);
		}
	order_all(flows);
	adopt_runs(flows);
	pfree(parent);
}
