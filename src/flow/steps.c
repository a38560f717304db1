/*
 * steps.c
 *		What happened in each step: its duration, its records, how long it was
 *		busy with either kind of traffic.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define SLOW_SHARE		0.04	/* of the median: a slow step is longer by this at least, */
#define SLOW_SIGMA		(3 * 1.4826)	/* and by so many median deviations of logarithms: steps vary by factors */
#define CP_BURSTS		2.5		/* times those of the least busy runs of the group */
#define CP_FILLS		0.6		/* of the step, */
#define CP_REST			0.4		/* and at most, of those */
#define NEAR_RECORD		0.08	/* of the usual pipeline records of a step, and */
#define FEW_RECORDS		2		/* so many: counts are off by that, as of messages that are sent in pieces */
#define AROUND			6		/* steps before one and behind that are looked at */
#define HIDDEN			0.5		/* of a period: records as long hide the order of what was sent both ways */
#define COARSE			0.1		/* of a period: pipeline records as long are several micro-batches */

/* Number of the step in which a time lies; nsteps behind the last one. */
int
l4_step_of(const L4FlowStint *stint, int64 at)
{
	const int64 *ends = stint->ends;
	int			low = 0;
	int			high = stint->nsteps;
	int			guess;

	if (high == 0 || at <= ends[0])
		return 0;
	if (at > ends[high - 1])
		return high;
	/* steps are much alike: most are where the period says, or beside it */
	guess = Min(high - 1, 1 + (int) ((at - ends[0]) / stint->period));
	while (guess < high - 1 && low++ < 4 && ends[guess] < at)
		guess++;
	while (guess > 1 && low++ < 4 && ends[guess - 1] >= at)
		guess--;
	if (ends[guess - 1] < at && ends[guess] >= at)
		return guess;
	low = 0;
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (ends[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Group of a NIC in a stint, -1 none. */
int
l4_flows_group_of(const L4Flows *flows, const L4FlowStint *stint, int nic)
{
	for (int g = 0; g < stint->ngroups; g++)
		for (int k = 0; k < flows->groups[stint->groups[g]].nnics; k++)
			if (flows->groups[stint->groups[g]].nics[k] == nic)
				return stint->groups[g];
	return -1;
}

/* Count the records of a run in the steps; returns in how many of them it has any, and its steps in all. */
static int
count_run(const L4FlowStint *stint, const L4FlowRun *run, const L4Flow *flow, int n, int *steps)
{
	double	   *counts = palloc0(sizeof(double) * (stint->nsteps + 1));
	int		   *step = palloc(sizeof(int) * (stint->nsteps + 1));
	int			seen = 0;
	int			usual;
	int			at = 0;

	for (int k = 0; k < n; k++)
	{
		at = k == 0 ? l4_step_of(stint, flow[0].start) : l4_step_from(stint, at, flow[k].start);
		stint->records[at]++;
		if (seen == 0 || step[seen - 1] != at)
			step[seen++] = at;
		counts[seen - 1]++;
	}
	for (int i = 0; i < seen && run->kind == L4_FLOW_PP; i++)
		stint->pp_records[step[i]] += (int) counts[i];
	usual = (int) l4_quantile(counts, seen, 0.5);
	for (int i = 0; i < seen && run->kind == L4_FLOW_PP; i++)
		stint->pp_usual[step[i]] += usual;
	*steps = seen == 0 ? 0 : step[seen - 1] - step[0] + 1;
	pfree(counts);
	pfree(step);
	return seen;
}

/* The usual value around a step: the greater median of the few before it and of those behind. */
static double
value_around(const double *values, int n, int at)
{
	double		few[AROUND];
	double		result = 0;

	for (int from = at - AROUND; from <= at + 1; from += AROUND + 1)
	{
		int			nfew = 0;

		for (int i = Max(from, 0); i < Min(from + AROUND, n); i++)
			few[nfew++] = values[i];
		result = Max(result, l4_quantile(few, nfew, 0.5));
	}
	return result;
}

/* Records of the pipeline that the steps around have, too, as micro-batches in a step may become more, are usual. */
static void
set_usual_records(const L4FlowStint *stint)
{
	double	   *ratios = palloc(sizeof(double) * Max(stint->nsteps, 1));

	for (int s = 0; s < stint->nsteps; s++)
		ratios[s] = (double) stint->pp_records[s] / Max(stint->pp_usual[s], 1);
	for (int s = 0; s < stint->nsteps; s++)
		stint->pp_usual[s] = (int) rint(stint->pp_usual[s] * value_around(ratios, stint->nsteps, s));
	pfree(ratios);
}

/* By how many records of the pipeline a step may differ from what is usual. */
static int
record_slack(const L4FlowStint *stint, int step)
{
	return Max(FEW_RECORDS, (int) (NEAR_RECORD * stint->pp_usual[step]));
}

/* Has a step more records of the pipeline than its pairs usually have: an evaluation? */
static bool
has_evaluation(const L4FlowStint *stint, int step)
{
	return stint->pp_usual[step] > 0 && stint->pp_records[step] - stint->pp_usual[step] > record_slack(stint, step);
}

/* Does the pipeline send as much behind the last step as an evaluation of a step before did? A job often ends with one. */
bool
l4_flows_ends_evaluating(const L4FlowStint *stint)
{
	for (int s = 0; s < stint->nsteps; s++)
		if (has_evaluation(stint, s)
			&& abs(stint->pp_records[s] - stint->pp_usual[s] - stint->pp_records[stint->nsteps]) <= record_slack(stint, s))
			return true;
	return false;
}

/* Part of a step from the first to the last record of the run's main size, in the median. */
static double
step_fill(const L4FlowStint *stint, const L4FlowRun *run, const L4Flow *flow, int n)
{
	double	   *fills = palloc0(sizeof(double) * (stint->nsteps + 1));
	int64		first = 0;
	int			before = -1;
	double		result;

	for (int i = 0; i < n; i++)
	{
		int			step = l4_step_of(stint, flow[i].start);

		if (flow[i].bytes < run->classes[0].size || flow[i].bytes > run->classes[0].top)
			continue;
		if (step != before)
			first = flow[i].start;
		before = step;
		fills[step] = Max(fills[step], (double) (flow[i].end - first) / stint->period);
	}
	result = l4_quantile(fills, stint->nsteps, 0.5);
	pfree(fills);
	return result;
}

/*
 * Context parallel: a run that is busier than the others of its group, and
 * sends its main size all through the step, as the least busy one does not:
 * that one may join the replicas of what is sharded. Loads records of others.
 */
static bool
is_context_parallel(L4Flows *flows, const L4FlowStint *stint, const L4FlowRun *run, const L4Flow *flow, int n)
{
	const L4FlowGroup *group;
	const L4FlowRun *rest;

	if (run->kind != L4_FLOW_DP || run->group < 0)
		return false;
	group = &flows->groups[run->group];
	rest = l4_flows_least_busy(flows, group->runs, group->nruns);
	if (run->bursts < CP_BURSTS * rest->bursts || step_fill(stint, run, flow, n) < CP_FILLS)
		return false;
	flow = l4_flows_load(flows, &rest->pair, 1, rest->first, rest->last, &n);
	return step_fill(stint, rest, flow, n) < CP_REST;
}

/* NICs and machines of the runs that are left. */
static void
leave_out_strays(L4Flows *flows, L4FlowStint *stint)
{
	int			n = 0;
	int		   *nics = palloc(sizeof(int) * Max(flows->naddresses, 1) * 2);
	bool	   *used = palloc0(Max(flows->naddresses, 1));

	for (int r = 0; r < stint->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[stint->runs[r]];

		if (run->stint >= 0)
			used[flows->pairs[run->pair].a] = used[flows->pairs[run->pair].b] = true;
	}
	for (int i = 0; i < stint->nnics; i++)
		if (used[stint->nics[i]])
			nics[n++] = stint->nics[i];
	memcpy(stint->nics, nics, sizeof(int) * n);
	stint->nnics = n;
	for (int i = 0; i < n; i++)
		stint->machines[i] = flows->addresses[nics[i]].machine;
	stint->nmachines = l4_sort_unique(stint->machines, n);
	pfree(nics);
	pfree(used);
}

/* Records of the steps of a stint. Runs that are silent in most steps, as those to storage, do not belong to it. */
static void
count_records(L4Flows *flows, L4FlowStint *stint)
{
	bool		strays = false;

	stint->records = palloc0(sizeof(int) * (stint->nsteps + 1));
	stint->pp_records = palloc0(sizeof(int) * (stint->nsteps + 1));
	stint->pp_usual = palloc0(sizeof(int) * (stint->nsteps + 1));
	for (int r = 0; r < stint->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[stint->runs[r]];
		int			n;
		const L4Flow *flow = l4_flows_load(flows, &run->pair, 1, run->first, run->last, &n);
		int			steps;
		int			seen = count_run(stint, run, flow, n, &steps);

		if (2 * seen < steps)
		{
			run->stint = -1;
			run->kind = L4_FLOW_OTHER;
			strays = true;
		}
		else if (is_context_parallel(flows, stint, run, flow, n))
			run->kind = L4_FLOW_CP;
	}
	set_usual_records(stint);
	if (strays)
		leave_out_strays(flows, stint);
}

static void
measure_durations(L4Flows *flows, L4FlowStint *stint)
{
	stint->duration = palloc0(sizeof(float) * Max(stint->nsteps, 1));
	stint->dp_ms = palloc0(sizeof(float) * Max(stint->nsteps, 1));
	for (int s = 1; s < stint->nsteps; s++)
		stint->duration[s] = (float) (stint->ends[s] - stint->ends[s - 1]);
	for (int g = 0; g < stint->ngroups; g++)
	{
		const L4FlowGroup *group = &flows->groups[stint->groups[g]];

		for (int e = 0; e < group->nends; e++)
		{
			int			s = l4_step_of(stint, group->ends[e] - flows->clusters[group->cluster].offset);

			if (s < stint->nsteps)
				stint->dp_ms[s] = Max(stint->dp_ms[s], group->busy[e] / 1000.0f);
		}
	}
}

/* Are records longer than the silences between steps, or micro-batches run together? */
static bool
is_coarse(const L4Flows *flows, const L4FlowStint *stint)
{
	for (int c = 0; c < stint->nclusters; c++)
		if (flows->clusters[stint->clusters[c]].coarse)
			return true;
	for (int r = 0; r < stint->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[stint->runs[r]];

		if (run->duration > (run->kind == L4_FLOW_PP ? COARSE : HIDDEN) * stint->period)
			return true;
	}
	return false;
}

/* A kind that records are too long to tell is not guessed. */
static void
withhold_kinds(L4Flows *flows, const L4FlowStint *stint)
{
	for (int r = 0; r < stint->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[stint->runs[r]];

		if (run->one_way < L4_ONE_WAY && (stint->nsteps == 0 || run->duration > HIDDEN * stint->period))
			run->kind = L4_FLOW_OTHER;
	}
}

typedef struct PipelineRecord
{
	int			step;
	int64		start;
	int64		end;
} PipelineRecord;

L4_COMPARE(order_records, PipelineRecord, L4_UP(step) L4_UP(start))

/* Records of the pipeline in order: all those of steps with an evaluation, of others the first one. */
static PipelineRecord *
pipeline_records(L4Flows *flows, const L4FlowStint *stint, int *n)
{
	PipelineRecord *all = palloc(sizeof(PipelineRecord) * (stint->nsteps + 1));
	int			size = stint->nsteps + 1;

	for (*n = 0; *n <= stint->nsteps; (*n)++)
		all[*n] = (PipelineRecord) {*n, DT_NOEND, DT_NOEND};
	for (int r = 0; r < stint->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[stint->runs[r]];
		int			nflow = 0;
		const L4Flow *flow = run->kind != L4_FLOW_PP ? NULL : l4_flows_load(flows, &run->pair, 1, run->first, run->last, &nflow);

		for (int k = 0, step = 0; k < nflow; k++)
		{
			step = l4_step_from(stint, step, flow[k].start);
			if (step < stint->nsteps && has_evaluation(stint, step))
			{
				L4_GROW(all, *n, size, flows->cxt);
				all[(*n)++] = (PipelineRecord) {step, flow[k].start, flow[k].end};
			}
			else
				all[step].start = Min(all[step].start, flow[k].start);
		}
	}
	qsort(all, *n, sizeof(PipelineRecord), order_records);
	return all;
}

/*
 * An evaluation sends forward only, behind the end of a step: the records that
 * the next one has more are the first ones. The step ends before the first
 * that is not of the evaluation, by the time that usually passes.
 */
static void
end_evaluations(L4Flows *flows, L4FlowStint *stint)
{
	double	   *values = palloc(sizeof(double) * Max(stint->nsteps, 1));
	double		lag;
	int			nlags = 0;
	int			n;
	PipelineRecord *all;

	all = pipeline_records(flows, stint, &n);
	for (int i = 0; i < n; i++)
		if (all[i].step > 0 && all[i].start != DT_NOEND && all[i].step < stint->nsteps && !has_evaluation(stint, all[i].step))
			values[nlags++] = (double) (all[i].start - stint->ends[all[i].step - 1]);
	lag = l4_quantile(values, nlags, 0.5);
	for (int from = 0, to; from < n && nlags > 0; from = to)
	{
		int			step = all[from].step;
		int			more = stint->pp_records[step] - stint->pp_usual[step];
		int			slack = record_slack(stint, step);
		int64		end = all[from].end;
		int64		longest = 0;
		int64		at = DT_NOBEGIN;

		for (to = from; to < n && all[to].step == step; to++)
		{
			if (all[to].start != DT_NOEND && abs(to - from - more) <= slack && all[to].start - end > longest)
			{
				longest = all[to].start - end;
				at = all[to].start - (int64) lag;
			}
			end = Max(end, all[to].end == DT_NOEND ? end : all[to].end);
		}
		if (step == 0 || step >= stint->nsteps || !has_evaluation(stint, step) || at <= stint->ends[step - 1])
			continue;
		stint->ends[step - 1] = at;
		stint->pp_records[step - 1] += more;
		stint->pp_records[step] -= more;
	}
	pfree(values);
	pfree(all);
}

/* Usual duration of steps, and which are slow. */
static void
find_slow_steps(L4FlowStint *stint)
{
	double	   *values = palloc(sizeof(double) * Max(stint->nsteps, 1));
	double		least;
	int			n = 0;

	stint->slow = palloc0(sizeof(float) * Max(stint->nsteps, 1));
	stint->reason = palloc0(sizeof(char *) * Max(stint->nsteps, 1));
	for (int s = 0; s < stint->nsteps; s++)
		if (stint->duration[s] > 0)
			values[n++] = stint->duration[s];
	stint->usual = l4_quantile(values, n, 0.5);
	for (int i = 0; i < n; i++)
		values[i] = fabs(log(values[i] / stint->usual));
	least = Max(exp(SLOW_SIGMA * l4_quantile(values, n, 0.5)), 1 + SLOW_SHARE);
	for (int s = 0; s < stint->nsteps; s++)
	{
		double		ratio = stint->duration[s] / stint->usual;

		if (has_evaluation(stint, s))
			stint->reason[s] = "more pipeline records than usual: evaluation";
		if (n >= 5 && ratio > least && stint->reason[s] == NULL)
			stint->slow[s] = (float) (ratio - 1);
	}
	pfree(values);
}

void
l4_flows_steps(L4Flows *flows, L4FlowStint *stint)
{
	CHECK_FOR_INTERRUPTS();
	count_records(flows, stint);
	end_evaluations(flows, stint);
	measure_durations(flows, stint);
	stint->coarse = is_coarse(flows, stint);
	withhold_kinds(flows, stint);
	find_slow_steps(stint);
}
