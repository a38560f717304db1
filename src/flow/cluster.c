/*
 * cluster.c
 *		Clusters: regular runs that share addresses at the same time. Kinds of
 *		their pairs, and groups: addresses that data parallel pairs connect.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define HUB_PEERS		64		/* an address with more peers is translated, or no NIC */
#define SERVED			3		/* peers of an address that only sends, or only receives, and is no member */
#define SIMULTANEOUS	0.9
#define VARIED			0.3		/* main size of experts' traffic is less; of simultaneous traffic: */
#define VARIED_BOTH		0.12
#define ONE_SIZE		0.95
#define BURSTS			2.5		/* times those of the least bursty pair: pipeline that sends and receives at once */

int
l4_sets_find(int *parent, int i)
{
	while (parent[i] != i)
	{
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

void
l4_sets_join(int *parent, int i, int j)
{
	i = l4_sets_find(parent, i);
	j = l4_sets_find(parent, j);
	parent[Max(i, j)] = Min(i, j);
}

int
l4_sort_unique(int *values, int n)
{
	int			kept = 0;

	qsort(values, n, sizeof(int), l4_order_int32);
	for (int i = 0; i < n; i++)
		if (kept == 0 || values[kept - 1] != values[i])
			values[kept++] = values[i];
	return kept;
}

/* Of two ascending sets. */
double
l4_jaccard(const int *a, int na, const int *b, int nb)
{
	int			common = 0;
	int			i = 0;
	int			j = 0;

	while (i < na && j < nb)
	{
		int			order = a[i] - b[j];

		common += order == 0;
		i += order <= 0;
		j += order >= 0;
	}
	return na + nb == common ? 0 : (double) common / (na + nb - common);
}

/*
 * Count the regular peers of each address; runs of hubs are left out. So are
 * those of servers: storage, caches, balancers only send to several, or only
 * receive, where members of a ring do both.
 */
static void
leave_out_hubs(L4Flows *flows)
{
	int			before = -1;

	for (int i = 0; i < flows->nruns; i++)
	{
		const L4FlowRun *run = &flows->runs[i];
		L4FlowAddress *a = &flows->addresses[flows->pairs[run->pair].a];
		L4FlowAddress *b = &flows->addresses[flows->pairs[run->pair].b];

		if (!run->regular)
			continue;
		a->peers += run->pair != before;
		b->peers += run->pair != before;
		before = run->pair;
		a->sends |= run->one_way < L4_ONE_WAY || !run->back;
		a->receives |= run->one_way < L4_ONE_WAY || run->back;
		b->sends |= run->one_way < L4_ONE_WAY || run->back;
		b->receives |= run->one_way < L4_ONE_WAY || !run->back;
	}
	for (int i = 0; i < flows->naddresses; i++)
	{
		L4FlowAddress *address = &flows->addresses[i];

		address->hub = address->peers > HUB_PEERS || (address->peers >= SERVED && !(address->sends && address->receives));
		flows->hubs += address->hub;
	}
	for (int i = 0; i < flows->nruns; i++)
	{
		L4FlowPair *pair = &flows->pairs[flows->runs[i].pair];

		if (flows->addresses[pair->a].hub || flows->addresses[pair->b].hub)
			flows->runs[i].regular = false;
	}
}

static bool
same_time(const L4FlowRun *x, const L4FlowRun *y)
{
	int64		both = Min(x->last, y->last) - Max(x->first, y->first);

	return both * 2 >= Min(x->last - x->first, y->last - y->first);
}

/* Join regular runs of an address that overlap in time: parent is a set of runs. */
static void
join_runs(L4Flows *flows, int *parent)
{
	int		   *start = palloc0(sizeof(int) * (flows->naddresses + 2));
	int		   *of;

	/* two further, so that filling leaves the starts one further, where they are read */
	for (int i = 0; i < flows->nruns; i++)
		if (flows->runs[i].regular)
		{
			start[flows->pairs[flows->runs[i].pair].a + 2]++;
			start[flows->pairs[flows->runs[i].pair].b + 2]++;
		}
	for (int a = 0; a < flows->naddresses; a++)
		start[a + 2] += start[a + 1];
	of = palloc(sizeof(int) * Max(start[flows->naddresses + 1], 1));
	for (int i = 0; i < flows->nruns; i++)
		if (flows->runs[i].regular)
		{
			of[start[flows->pairs[flows->runs[i].pair].a + 1]++] = i;
			of[start[flows->pairs[flows->runs[i].pair].b + 1]++] = i;
		}
	for (int a = 0; a < flows->naddresses; a++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = start[a]; i < start[a + 1]; i++)
			for (int j = start[a]; j < i; j++)
				if (same_time(&flows->runs[of[i]], &flows->runs[of[j]]))
					l4_sets_join(parent, of[i], of[j]);
	}
	pfree(start);
	pfree(of);
}

/* NICs and machines of a cluster, ascending. */
static void
fill_cluster(L4Flows *flows, L4FlowCluster *cluster)
{
	cluster->nics = palloc(sizeof(int) * 2 * cluster->nruns);
	cluster->machines = palloc(sizeof(int) * 2 * cluster->nruns);
	cluster->first = DT_NOEND;
	cluster->last = DT_NOBEGIN;
	for (int i = 0; i < cluster->nruns; i++)
	{
		L4FlowRun  *run = &flows->runs[cluster->runs[i]];
		L4FlowPair *pair = &flows->pairs[run->pair];

		cluster->nics[2 * i] = pair->a;
		cluster->nics[2 * i + 1] = pair->b;
		cluster->first = Min(cluster->first, run->first);
		cluster->last = Max(cluster->last, run->last);
	}
	cluster->nnics = l4_sort_unique(cluster->nics, 2 * cluster->nruns);
	for (int i = 0; i < cluster->nnics; i++)
		cluster->machines[i] = flows->addresses[cluster->nics[i]].machine;
	cluster->nmachines = l4_sort_unique(cluster->machines, cluster->nnics);
}

static void
make_clusters(L4Flows *flows, int *parent)
{
	int		   *number = palloc(sizeof(int) * Max(flows->nruns, 1));

	for (int i = 0; i < flows->nruns; i++)
	{
		int			root = l4_sets_find(parent, i);
		L4FlowCluster *cluster;

		if (!flows->runs[i].regular)
			continue;
		if (root == i)
		{
			L4_GROW(flows->clusters, flows->nclusters, flows->clusters_size, flows->cxt);
			number[i] = flows->nclusters;
			memset(&flows->clusters[flows->nclusters++], 0, sizeof(L4FlowCluster));
		}
		flows->runs[i].cluster = number[root];
		cluster = &flows->clusters[number[root]];
		cluster->nruns++;
	}
	for (int c = 0; c < flows->nclusters; c++)
	{
		flows->clusters[c].runs = palloc(sizeof(int) * flows->clusters[c].nruns);
		flows->clusters[c].nruns = 0;
		flows->clusters[c].stint = -1;
	}
	for (int i = 0; i < flows->nruns; i++)
		if (flows->runs[i].cluster >= 0)
		{
			L4FlowCluster *cluster = &flows->clusters[flows->runs[i].cluster];

			cluster->runs[cluster->nruns++] = i;
		}
	for (int c = 0; c < flows->nclusters; c++)
		fill_cluster(flows, &flows->clusters[c]);
	pfree(number);
}

/* Kind of a run by itself. */
L4FlowKind
l4_flows_kind(const L4FlowRun *run)
{
	bool		together = run->simultaneous >= SIMULTANEOUS;

	if (run->one_way >= L4_ONE_WAY)
		return L4_FLOW_DP;
	if (run->main_size < (together ? VARIED_BOTH : VARIED))
		return L4_FLOW_EP;
	return together ? L4_FLOW_DP : L4_FLOW_PP;
}

/* Kinds of the pairs of a cluster, by how they send. */
static void
find_kinds(L4Flows *flows, L4FlowCluster *cluster)
{
	int			least = PG_INT32_MAX;
	bool		parallel = false;

	for (int i = 0; i < cluster->nruns; i++)
		least = Min(least, flows->runs[cluster->runs[i]].bursts);
	for (int i = 0; i < cluster->nruns; i++)
	{
		L4FlowRun  *run = &flows->runs[cluster->runs[i]];

		run->kind = l4_flows_kind(run);
		/* sends and receives of a pipeline that pass each other: of one size, and often */
		if (run->kind == L4_FLOW_DP && run->one_way < L4_ONE_WAY && run->main_size >= ONE_SIZE && run->bursts >= BURSTS * least)
			run->kind = L4_FLOW_PP;
		parallel |= run->kind == L4_FLOW_DP;
	}
	for (int i = 0; i < cluster->nruns; i++)
	{
		L4FlowRun  *run = &flows->runs[cluster->runs[i]];

		/* a ring that gathers the other way round than it reduces: other sizes each way, and nothing else in the cluster */
		if (!parallel && run->kind == L4_FLOW_PP && run->sized_one_way >= L4_ONE_WAY)
			run->kind = L4_FLOW_DP;
		cluster->pipeline |= run->kind == L4_FLOW_PP;
	}
}

/* Groups of a cluster: components of its data parallel pairs; of a pipeline of one replica those of all. */
static void
make_groups(L4Flows *flows, int c, int *parent)
{
	L4FlowCluster *cluster = &flows->clusters[c];
	L4FlowKind	kind = L4_FLOW_PP;

	cluster->first_group = flows->ngroups;
	for (int i = 0; i < cluster->nruns; i++)
		if (flows->runs[cluster->runs[i]].kind == L4_FLOW_DP)
			kind = L4_FLOW_DP;
	for (int i = 0; i < cluster->nnics; i++)
		parent[cluster->nics[i]] = cluster->nics[i];
	for (int i = 0; i < cluster->nruns; i++)
	{
		L4FlowRun  *run = &flows->runs[cluster->runs[i]];

		if (run->kind == kind)
			l4_sets_join(parent, flows->pairs[run->pair].a, flows->pairs[run->pair].b);
	}
	for (int i = 0; i < cluster->nnics; i++)
	{
		int			root = cluster->nics[i];
		L4FlowGroup group = {.cluster = c, .kind = kind};

		if (l4_sets_find(parent, root) != root)
			continue;
		group.runs = palloc(sizeof(int) * cluster->nruns);
		group.nics = palloc(sizeof(int) * cluster->nnics);
		for (int j = 0; j < cluster->nruns; j++)
		{
			L4FlowRun  *run = &flows->runs[cluster->runs[j]];

			if (run->kind != kind || l4_sets_find(parent, flows->pairs[run->pair].a) != root)
				continue;
			run->group = flows->ngroups;
			group.runs[group.nruns++] = cluster->runs[j];
		}
		if (group.nruns == 0)
		{
			pfree(group.runs);
			pfree(group.nics);
			continue;
		}
		for (int j = 0; j < cluster->nnics; j++)
			if (l4_sets_find(parent, cluster->nics[j]) == root)
				group.nics[group.nnics++] = cluster->nics[j];
		group.runs = repalloc(group.runs, sizeof(int) * group.nruns);
		group.nics = repalloc(group.nics, sizeof(int) * group.nnics);
		L4_GROW(flows->groups, flows->ngroups, flows->groups_size, flows->cxt);
		flows->groups[flows->ngroups++] = group;
	}
	cluster->ngroups = flows->ngroups - cluster->first_group;
}

void
l4_flows_cluster(L4Flows *flows)
{
	int		   *parent = palloc(sizeof(int) * Max(Max(flows->nruns, flows->naddresses), 1));

	leave_out_hubs(flows);
	l4_flows_leave_out_spurs(flows);
	for (int i = 0; i < flows->nruns; i++)
		parent[i] = i;
	join_runs(flows, parent);
	make_clusters(flows, parent);
	for (int c = 0; c < flows->nclusters; c++)
	{
		CHECK_FOR_INTERRUPTS();
		find_kinds(flows, &flows->clusters[c]);
		make_groups(flows, c, parent);
	}
	pfree(parent);
}
