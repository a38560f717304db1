/*
 * ranks.c
 *		Slow ranks: NICs that take longer between receiving and sending in the
 *		pipeline than the others of their data parallel group.
 *
 * All ranks wait for the slowest, so most times between sends are the same.
 * The least ones of a step are not: they have no waiting in them.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define LOW_INTERVAL	0.2		/* quantile of times between sends */
#define SLOW_RATIO		1.12
#define SLOW_STEPS		4
#define FEW_SENDS		3
#define AT_ONCE			1000	/* microseconds between sends of ranks that share a NIC */

/* What a NIC takes in each step: microseconds, then a ratio to its group; NAN where it is not known. */
typedef struct NicTimes
{
	int			nic;
	int			group;
	int			npairs;			/* of the pipeline */
	int		   *pairs;			/* ascending */
	bool		middle;			/* sends to and receives from two stages */
	bool		answers;		/* receives before it sends: the last stage */
	float	   *interval;
	float	   *answer;
} NicTimes;

static bool
is_sent(const L4Flows *flows, const L4Flow *flow, int nic)
{
	return (flow->back ? flows->pairs[flow->pair].b : flows->pairs[flow->pair].a) == nic;
}

/*
 * Time from the k-th receive to the k-th send behind it: a low quantile, or
 * that of the first, before which nobody waits.
 */
static float
answer_time(const L4Flows *flows, int nic, const L4Flow *flow, int n, bool first)
{
	double	   *values = palloc(sizeof(double) * Max(n, 1));
	int			nvalues = 0;
	int			send = 0;
	float		result;

	for (int i = 0; i < n && send < n; i++)
	{
		if (is_sent(flows, &flow[i], nic))
			continue;
		while (send < n && !(is_sent(flows, &flow[send], nic) && flow[send].start > flow[i].end))
			send++;
		if (send < n)
			values[nvalues++] = (double) (flow[send++].start - flow[i].end);
	}
	result = first && nvalues > 0 ? (float) values[0] : nvalues < FEW_SENDS ? NAN : (float) l4_quantile(values, nvalues, LOW_INTERVAL);
	pfree(values);
	return result;
}

/* Records of a NIC's pipeline pairs in one step, in order: its times. */
static void
measure_step(const L4Flows *flows, NicTimes *times, const L4Flow *flow, int n, int step, float *pp_ms)
{
	double	   *values = palloc(sizeof(double) * Max(n, 1));
	int64	   *before = palloc(sizeof(int64) * times->npairs);	/* last send of each pair */
	int64		end = DT_NOBEGIN;
	int64		busy = 0;
	int			nvalues = 0;

	for (int i = 0; i < times->npairs; i++)
		before[i] = DT_NOBEGIN;
	for (int i = 0; i < n; i++)
	{
		int			pair;
		int			at;

		busy += Max(flow[i].end - Max(flow[i].start, end), 0);
		end = Max(end, flow[i].end);
		if (!is_sent(flows, &flow[i], times->nic))
			continue;
		pair = flow[i].pair;
		at = (int *) bsearch(&pair, times->pairs, times->npairs, sizeof(int), l4_order_int32) - times->pairs;
		if (before[at] != DT_NOBEGIN && flow[i].start - before[at] <= AT_ONCE)
			continue;
		if (before[at] != DT_NOBEGIN)
			values[nvalues++] = (double) (flow[i].start - before[at]);
		before[at] = flow[i].start;
	}
	*pp_ms = busy / 1000.0f;
	times->interval[step] = nvalues < FEW_SENDS ? NAN : (float) l4_quantile(values, nvalues, LOW_INTERVAL);
	times->answer[step] = answer_time(flows, times->nic, flow, n, times->answers);
	pfree(values);
	pfree(before);
}

/* Does a NIC receive before it sends in most steps? */
static bool
answers_first(const L4Flows *flows, const L4FlowStint *stint, int nic, const L4Flow *flow, int n)
{
	int			before = -1;
	int			receives = 0;
	int			steps = 0;

	for (int i = 0, step = 0; i < n; i++)
	{
		step = l4_step_from(stint, step, flow[i].start);
		if (step == before)
			continue;
		before = step;
		steps++;
		receives += !is_sent(flows, &flow[i], nic);
	}
	return 2 * receives > steps;
}

/* Times of a NIC in all steps of a stint. */
static void
measure_nic(L4Flows *flows, L4FlowStint *stint, const L4FlowCluster *cluster, NicTimes *times, float *pp_ms)
{
	int		   *pairs = palloc(sizeof(int) * cluster->nruns);
	int			npairs = 0;
	int			nic = times->nic;
	int			n;
	int			from = 0;
	const L4Flow *flow;
	MemoryContext old;

	for (int r = 0; r < cluster->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[cluster->runs[r]];
		L4FlowPair *pair = &flows->pairs[run->pair];

		if (run->kind == L4_FLOW_PP && (pair->a == nic || pair->b == nic))
			pairs[npairs++] = run->pair;
	}
	npairs = l4_sort_unique(pairs, npairs);
	times->pairs = pairs;
	times->npairs = npairs;
	times->middle = npairs > 1;
	times->answers = false;
	for (int s = 0; s < stint->nsteps; s++)
		times->interval[s] = times->answer[s] = NAN;
	if (npairs > 0)
	{
		flow = l4_flows_load(flows, pairs, npairs, stint->first, stint->last, &n);
		old = MemoryContextSwitchTo(flows->load_cxt);
		times->answers = !times->middle && answers_first(flows, stint, nic, flow, n);
		for (int i = 0, step = 0, next = 0; i <= n; i++, step = next)
		{
			if (i < n)
				next = l4_step_from(stint, step, flow[i].start);
			if (i < n && next == step)
				continue;
			if (step < stint->nsteps && i > from)
				measure_step(flows, times, flow + from, i - from, step, &pp_ms[step]);
			from = i;
		}
		MemoryContextSwitchTo(old);
	}
	pfree(pairs);
}

L4_COMPARE_NUMBERS(order_groups, NicTimes, .group)

/* Times become ratios to the lower median of the group in the step; NAN where there is nothing to compare with. */
static void
compare_step(NicTimes *times, const int *nics, int n, int step, bool answer, double *values)
{
	int			nvalues = 0;

	for (int i = 0; i < n; i++)
	{
		float		value = (answer ? times[nics[i]].answer : times[nics[i]].interval)[step];

		if (!isnan(value))
			values[nvalues++] = value;
	}
	qsort(values, nvalues, sizeof(double), l4_order_double);
	for (int i = 0; i < n; i++)
		(answer ? times[nics[i]].answer : times[nics[i]].interval)[step] /= nvalues < 2 ? NAN : (float) values[(nvalues - 1) / 2];
}

static void
compare_groups(NicTimes *times, int n, int nsteps)
{
	int		   *order = palloc(sizeof(int) * n);
	double	   *values = palloc(sizeof(double) * n);

	for (int i = 0; i < n; i++)
		order[i] = i;
	qsort_arg(order, n, sizeof(int), order_groups, times);
	for (int from = 0, to; from < n; from = to)
	{
		for (to = from + 1; to < n && times[order[to]].group == times[order[from]].group; to++)
			;
		for (int s = 0; s < nsteps && times[order[from]].group >= 0; s++)
		{
			compare_step(times, order + from, to - from, s, false, values);
			compare_step(times, order + from, to - from, s, true, values);
		}
	}
	pfree(order);
	pfree(values);
}

/* Steps in which a NIC is slow become an issue where there are enough in a row; one that is not may lie between. */
static void
find_slow(L4Flows *flows, const L4FlowStint *stint, const NicTimes *times, int address)
{
	int			from = -1;
	int			last = -1;
	int			count = 0;
	double		sum = 0;

	for (int s = 0; s <= stint->nsteps; s++)
	{
		double		ratio = 0;

		if (s < stint->nsteps)
		{
			ratio = times->interval[s];
			if (!times->middle)
			{
				double		answer = times->answer[s];

				ratio = isnan(answer) ? ratio : isnan(ratio) ? answer : Min(ratio, answer);
			}
		}
		if (ratio > SLOW_RATIO)
		{
			from = from < 0 ? s : from;
			last = s;
			count++;
			sum += ratio - 1;
			continue;
		}
		if (from >= 0 && (s - last > 1 || s == stint->nsteps))
		{
			if (count >= SLOW_STEPS)
			{
				L4FlowIssue *issue = l4_flows_issue(flows, (int) (stint - flows->stints), L4_FLOW_SLOW_RANK, flows->addresses[address].text,
													from == 0 ? stint->first : stint->ends[from - 1], stint->ends[last],
													sum / count,
													psprintf("%.0f %% longer between sends than its data parallel group in %d steps",
															 100 * sum / count, count));

				issue->nic = address;
				issue->answers = times->answers;
			}
			from = -1;
			count = 0;
			sum = 0;
		}
	}
}

static void
rank_cluster(L4Flows *flows, L4FlowStint *stint, const L4FlowCluster *cluster)
{
	NicTimes   *times = palloc0(sizeof(NicTimes) * cluster->nnics);
	Size		bytes = sizeof(float) * Max(stint->nsteps, 1);

	for (int i = 0; i < cluster->nnics; i++)
	{
		int		   *at = bsearch(&cluster->nics[i], stint->nics, stint->nnics, sizeof(int), l4_order_int32);

		CHECK_FOR_INTERRUPTS();
		times[i].nic = cluster->nics[i];
		times[i].group = l4_flows_group_of(flows, stint, cluster->nics[i]);
		times[i].interval = palloc(bytes);
		times[i].answer = palloc(bytes);
		if (at != NULL)
			measure_nic(flows, stint, cluster, &times[i], stint->nic_pp_ms[at - stint->nics]);
		/* a stray, as storage, or a stage of a single replica, which has nothing to be compared with */
		if (at == NULL || (times[i].group >= 0 && flows->groups[times[i].group].kind != L4_FLOW_DP))
			times[i].group = -1;
	}
	compare_groups(times, cluster->nnics, stint->nsteps);
	for (int i = 0; i < cluster->nnics && !stint->coarse; i++)
		if (times[i].group >= 0)
			find_slow(flows, stint, &times[i], cluster->nics[i]);
	for (int i = 0; i < cluster->nnics; i++)
	{
		pfree(times[i].interval);
		pfree(times[i].answer);
	}
	pfree(times);
}

/*
 * The two ends of a pipeline of two that send and receive at once wait for
 * each other: the one that answers was compared without waiting, so where it
 * is slow, the other one is not.
 */
static void
drop_waiting(L4Flows *flows)
{
	for (int i = 0; i < flows->nissues; i++)
		for (int j = 0; j < flows->nissues && !flows->issues[i].answers; j++)
		{
			L4FlowIssue *x = &flows->issues[i];
			L4FlowIssue *y = &flows->issues[j];
			bool		linked = false;

			if (!y->answers || y->stint != x->stint || Min(x->last, y->last) <= Max(x->first, y->first))
				continue;
			for (int r = 0; r < flows->nruns && !linked; r++)
			{
				L4FlowPair *pair = &flows->pairs[flows->runs[r].pair];

				linked = flows->runs[r].kind == L4_FLOW_PP && flows->runs[r].stint == x->stint
					&& Min(pair->a, pair->b) == Min(x->nic, y->nic) && Max(pair->a, pair->b) == Max(x->nic, y->nic);
			}
			if (linked)
			{
				flows->issues[i--] = flows->issues[--flows->nissues];
				break;
			}
		}
}

/* NICs of one machine that are slow at the same time are one rank's, or ranks of one tensor parallel group. */
static void
join_machines(L4Flows *flows)
{
	for (int i = 0; i < flows->nissues; i++)
	{
		L4FlowIssue *x = &flows->issues[i];

		if (x->kind != L4_FLOW_SLOW_RANK)
			continue;
		for (int j = i + 1; j < flows->nissues;)
		{
			L4FlowIssue *y = &flows->issues[j];

			if (y->kind != L4_FLOW_SLOW_RANK || y->stint != x->stint || flows->addresses[y->nic].machine != flows->addresses[x->nic].machine
				|| Min(x->last, y->last) <= Max(x->first, y->first))
			{
				j++;
				continue;
			}
			x->subject = psprintf("%s %s", x->subject, y->subject);
			x->first = Min(x->first, y->first);
			x->last = Max(x->last, y->last);
			x->score = Max(x->score, y->score);
			memmove(y, y + 1, sizeof(L4FlowIssue) * (--flows->nissues - j));
		}
	}
}

void
l4_flows_ranks(L4Flows *flows, L4FlowStint *stint)
{
	stint->nic_pp_ms = palloc(sizeof(float *) * stint->nnics);
	for (int i = 0; i < stint->nnics; i++)
		stint->nic_pp_ms[i] = palloc0(sizeof(float) * Max(stint->nsteps, 1));
	for (int i = 0; i < stint->nclusters; i++)
		rank_cluster(flows, stint, &flows->clusters[stint->clusters[i]]);
}

/* Slow ranks of all stints together. */
void
l4_flows_join_ranks(L4Flows *flows)
{
	drop_waiting(flows);
	join_machines(flows);
}
