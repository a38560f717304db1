/*
 * timeline.c
 *		Ends of parts of each group, and of its cluster.
 *
 * Each group is divided by its own silences, then again by the period of its
 * cluster where it disagrees. Where a job gathers its parameters layer by
 * layer the longest silence may lie inside the step: then the first part is
 * a fraction of a step, by which all ends are moved.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define WHOLE			0.85	/* of the usual bytes: less is no whole part */
#define MOST_TURNS		4		/* parts of a step that take turns */
#define TURN_SHARE		0.02	/* of a part: the first of a step is longer by this at least, */
#define MOST_SHARE		0.3		/* and at most */
#define NEAR_BYTES		0.02	/* of the usual bytes: the end of a step is so near to where it should be */
#define END_SILENCE		0.15	/* of the silences that divide: one at the end of a step is as long */
#define LEFT_OUT		0.02	/* byte share of records that do not divide: more may be pieces */
#define FILLS			0.5		/* of the time: records that hide the silences between steps */
#define FILLS_LITTLE	0.02	/* of it: less is what a served model sends, */
#define FEWEST_LINKS	3		/* and fewer say nothing about */
#define TOGETHER		1.25	/* times the bursts of a link: all of them have no more, if they send together */
#define MOST_PEERS		4		/* of a NIC in the pipeline */
#define OTHER_PERIOD	0.1		/* a group's period that differs more from the cluster's is wrong */

typedef struct GroupRecords
{
	L4Records	records;
	int64	   *start;
	int64	   *end;
	double	   *bytes;
	int		   *part;
} GroupRecords;

/* Starts of the pipeline's records of a NIC of the group, if it has any: all its ranks do the same. To be freed. */
static int64 *
load_beats(L4Flows *flows, const L4FlowGroup *group, int64 first, int64 last, int *n)
{
	const L4FlowCluster *cluster = &flows->clusters[group->cluster];
	int			pairs[MOST_PEERS];
	int			npairs = 0;
	int			nic = -1;
	const L4Flow *flow;
	int64	   *beats;

	for (int r = 0; r < cluster->nruns && npairs < MOST_PEERS && group->kind == L4_FLOW_DP; r++)
	{
		const L4FlowRun *run = &flows->runs[cluster->runs[r]];
		const L4FlowPair *pair = &flows->pairs[run->pair];

		if (run->kind != L4_FLOW_PP)
			continue;
		for (int i = 0; i < group->nnics && nic < 0; i++)
			nic = pair->a == group->nics[i] || pair->b == group->nics[i] ? group->nics[i] : -1;
		if (nic >= 0 && (pair->a == nic || pair->b == nic))
			pairs[npairs++] = run->pair;
	}
	flow = l4_flows_load(flows, pairs, l4_sort_unique(pairs, npairs), first, last, n);
	beats = palloc(sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		beats[i] = flow[i].start;
	return beats;
}

/* Records of a group that divide it, or all of them, in load_cxt. Returns the byte share of those that are left out. */
static double
load_group(L4Flows *flows, const L4FlowGroup *group, bool all, GroupRecords *out)
{
	int		   *pairs = palloc(sizeof(int) * group->nruns);
	int64		first = DT_NOEND;
	int64		last = DT_NOBEGIN;
	double		bytes = 0;
	double		small_bytes = 0;
	int			least = l4_flows_least_busy(flows, group->runs, group->nruns)->bursts;
	L4Map	   *small;			/* 2 for a size that does not divide, else 1 */
	const L4Flow *flow;
	int64	   *beats;
	MemoryContext old;
	int			n;

	for (int i = 0; i < group->nruns; i++)
	{
		const L4FlowRun *run = &flows->runs[group->runs[i]];

		pairs[i] = run->pair;
		first = Min(first, run->first);
		last = Max(last, run->last);
	}
	memset(out, 0, sizeof(*out));
	beats = load_beats(flows, group, first, last, &out->records.nbeats);
	flow = l4_flows_load(flows, pairs, l4_sort_unique(pairs, group->nruns), first, last, &n);
	old = MemoryContextSwitchTo(flows->load_cxt);
	out->start = palloc(sizeof(int64) * Max(n, 1));
	out->end = palloc(sizeof(int64) * Max(n, 1));
	out->bytes = palloc(sizeof(double) * Max(n, 1));
	out->part = palloc(sizeof(int) * Max(n, 1));
	small = l4_map_create(CurrentMemoryContext, 64, NULL);
	for (int i = 0; i < n; i++)
	{
		int32	   *known = l4_map_put(small, (uint64) flow[i].bytes, NULL);

		if (*known == 0)
			*known = 1 + l4_flows_small(flows, group->runs, group->nruns, least, flow[i].bytes);
		if (*known == 2)
			small_bytes += flow[i].bytes;
		if (*known == 2 && !all)
			continue;
		out->start[out->records.n] = flow[i].start;
		out->end[out->records.n] = flow[i].end;
		out->bytes[out->records.n++] = flow[i].bytes;
		bytes += flow[i].bytes;
	}
	out->records.beats = memcpy(palloc(sizeof(int64) * Max(out->records.nbeats, 1)), beats, sizeof(int64) * out->records.nbeats);
	out->records.micro = group->kind == L4_FLOW_PP;
	out->records.start = out->start;
	out->records.end = out->end;
	out->records.bytes = out->bytes;
	MemoryContextSwitchTo(old);
	pfree(pairs);
	pfree(beats);
	return small_bytes / (small_bytes + bytes);
}

/* Bytes and ends of the parts; the busy time of each. */
typedef struct Parts
{
	int			n;
	double	   *bytes;
	int64	   *ends;
	int64	   *busy;
	double	   *usual;			/* bytes of parts near each, */
	double		all_usual;		/* and of all */
} Parts;

/* Lesser median of the parts before one and of those behind, as micro-batches in a step may become more or less. */
static double
usual_bytes(const double *bytes, int n, int part)
{
	double		few[L4_NEAR_PARTS];
	int			nfew = Min(L4_NEAR_PARTS, n);
	double		before;

	memcpy(few, bytes + Min(Max(part - nfew, 0), n - nfew), sizeof(double) * nfew);
	before = l4_quantile(few, nfew, 0.5);
	memcpy(few, bytes + Min(part + 1, n - nfew), sizeof(double) * nfew);
	return Min(before, l4_quantile(few, nfew, 0.5));
}

static void
measure_parts(const GroupRecords *g, Parts *parts, int n)
{
	double	   *sorted = palloc(sizeof(double) * Max(n, 1));
	int64		end = DT_NOBEGIN;

	parts->n = n;
	parts->bytes = palloc0(sizeof(double) * Max(n, 1));
	parts->ends = palloc0(sizeof(int64) * Max(n, 1));
	parts->busy = palloc0(sizeof(int64) * Max(n, 1));
	parts->usual = palloc(sizeof(double) * Max(n, 1));
	for (int i = 0; i < g->records.n; i++)
	{
		int			p = g->part[i];

		parts->ends[p] = parts->bytes[p] == 0 ? g->end[i] : Max(parts->ends[p], g->end[i]);
		parts->bytes[p] += g->bytes[i];
		parts->busy[p] += Max(g->end[i] - Max(g->start[i], end), 0);
		end = Max(end, g->end[i]);
	}
	for (int p = 0; p < n; p++)
		parts->usual[p] = usual_bytes(parts->bytes, n, p);
	memcpy(sorted, parts->bytes, sizeof(double) * n);
	parts->all_usual = l4_quantile(sorted, n, 0.5);
	pfree(sorted);
}

/*
 * Join parts that have the usual bytes together: stalls cut a step, as those
 * of a connection that lost packets. Returns how many parts are left.
 */
static int
join_parts(GroupRecords *g, const Parts *parts)
{
	int		   *number = palloc(sizeof(int) * parts->n);
	int			n = 0;

	for (int p = 0; p < parts->n; n++)
	{
		double		bytes = parts->bytes[p];
		int			last = p;

		while (bytes < WHOLE * parts->usual[p] && last + 1 < parts->n
			   && parts->bytes[last + 1] < WHOLE * parts->usual[last + 1])
			bytes += parts->bytes[++last];
		if (fabs(bytes / parts->usual[p] - 1) > 1 - WHOLE)
			last = p;
		while (p <= last)
			number[p++] = n;
	}
	for (int i = 0; i < g->records.n; i++)
		g->part[i] = number[g->part[i]];
	pfree(number);
	return n;
}

/*
 * How many parts make a step, and which is the first one: 1 where all are
 * alike. Micro-batches of a sharded job follow each other as steps do, but
 * the first of a step comes later, by the time that the optimizer takes.
 * place is the last micro-batch of each part: one may have several.
 */
static int
parts_in_turn(const Parts *parts, double period, int *place, int *first)
{
	double	   *lengths = palloc(sizeof(double) * parts->n);

	for (int i = 0; i < parts->n; i++)
		place[i] = (i == 0 ? -1 : place[i - 1]) + Max(1, (int) rint(Min(parts->bytes[i] / parts->usual[i], MOST_TURNS)));
	for (int k = 2; k <= MOST_TURNS && parts->n > 3 * k; k++)
	{
		double		turn[MOST_TURNS];
		double		spread = 0;
		int			longest = 0;
		double		next = 0;

		for (int r = 0; r < k; r++)
		{
			int			n = 0;

			for (int i = 1; i < parts->n; i++)
				if (place[i] % k == r && place[i] == place[i - 1] + 1)
					lengths[n++] = (double) (parts->ends[i] - parts->ends[i - 1]);
			turn[r] = l4_quantile(lengths, n, 0.5);
			spread = Max(spread, l4_quantile(lengths, n, 0.8) - l4_quantile(lengths, n, 0.2));
			longest = turn[r] > turn[longest] ? r : longest;
		}
		for (int r = 0; r < k; r++)
			next = r == longest ? next : Max(next, turn[r]);
		if (turn[longest] - next > Max(TURN_SHARE * period, spread) && turn[longest] - next < MOST_SHARE * period)
		{
			*first = longest;
			pfree(lengths);
			return k;
		}
	}
	pfree(lengths);
	return 1;
}

/*
 * Where the longest silence lies inside the step the first part has a share q
 * of a step's bytes, and each other one the end of a step behind the rest of
 * them, before a silence: of those that are not much shorter than the longest
 * one so near, the nearest. Moves these ends, unless there is no silence, as
 * the records began inside a step.
 */
static void
shift_parts(GroupRecords *g, Parts *parts, double q)
{
	int		   *last = palloc(sizeof(int) * parts->n);	/* record of the end in each part */
	double	   *between = palloc0(sizeof(double) * parts->n);	/* silence before it, */
	double	   *longest = palloc0(sizeof(double) * parts->n);	/* in it, where the end may be, */
	double	   *inside = palloc0(sizeof(double) * parts->n);	/* and at the end */
	double	   *off = palloc(sizeof(double) * parts->n);
	double		usual;
	int			n = parts->n - 1;

	for (int pass = 0; pass < 2; pass++)
	{
		int64		end = g->end[0];
		double		bytes = 0;

		for (int i = 1; i < g->records.n; i++)
		{
			int			p = g->part[i];
			double		silence = (double) (g->start[i] - end);
			double		place;

			end = Max(end, g->end[i]);
			bytes = p == g->part[i - 1] ? bytes + g->bytes[i - 1] : 0;
			place = bytes / parts->all_usual - (1 - q);
			if (pass == 0 && p != g->part[i - 1])
				between[p] = silence;
			if (pass == 0 && (p != g->part[i - 1] || place <= -NEAR_BYTES))
			{
				last[p] = i - 1;
				off[p] = NEAR_BYTES;
			}
			else if (fabs(place) > NEAR_BYTES || silence <= 0)
				continue;
			else if (pass == 0)
				longest[p] = Max(longest[p], silence);
			else if (silence >= END_SILENCE * longest[p] && fabs(place) <= off[p])
			{
				off[p] = fabs(place);
				inside[p] = silence;
				last[p] = i - 1;
			}
		}
	}
	memcpy(off + 1, inside + 1, sizeof(double) * n);
	usual = l4_quantile(off + 1, n, 0.5);
	if (usual < END_SILENCE * l4_quantile(between + 1, n, 0.5))
		return;
	/* the last part may be no more than the end of a step */
	if (parts->bytes[n] < (1 - q + NEAR_BYTES) * parts->all_usual)
		last[n] = g->records.n - 1;
	for (int i = 0; i < g->records.n; i++)
		if (g->part[i] > 0 && i <= last[g->part[i]])
			g->part[i]--;
	measure_parts(g, parts, g->part[g->records.n - 1] + 1);
}

/* Divide a group by a threshold; its ends live as long as the analysis. */
static void
end_parts(L4Flows *flows, L4FlowGroup *group, GroupRecords *g, double threshold)
{
	MemoryContext old = MemoryContextSwitchTo(flows->load_cxt);
	int			n = l4_divide_parts(&g->records, threshold, g->part);
	Parts		parts;
	int		   *place;
	int			turns;
	int			first;
	double		q;

	measure_parts(g, &parts, n);
	n = join_parts(g, &parts);
	measure_parts(g, &parts, n);
	place = palloc(sizeof(int) * Max(n, 1));
	turns = flows->clusters[group->cluster].pipeline ? 1 : parts_in_turn(&parts, group->period, place, &first);
	if (turns > 1)
	{
		for (int i = 0; i < g->records.n; i++)
			g->part[i] = (place[g->part[i]] + turns - first) / turns - (first == 0);
		n = g->part[g->records.n - 1] + 1;
		group->period *= turns;
		measure_parts(g, &parts, n);
	}
	q = parts.bytes[0] / parts.all_usual;
	if (n > 2 && q > 0.1 && q < 0.9 && g->start[0] - flows->first > group->period / 2)
		shift_parts(g, &parts, q);
	MemoryContextSwitchTo(old);
	group->ends = palloc(sizeof(int64) * Max(parts.n, 1));
	group->busy = palloc(sizeof(int64) * Max(parts.n, 1));
	group->nends = 0;
	for (int i = 0; i < parts.n; i++)
	{
		/* all its records lie before the end that was moved */
		if (parts.bytes[i] == 0)
			continue;
		if ((i == 0 || i == parts.n - 1) && parts.bytes[i] < WHOLE * parts.usual[i])
		{
			group->open = i > 0 ? parts.bytes[i] / parts.usual[i] : 0;
			continue;
		}
		group->busy[group->nends] = parts.busy[i];
		group->ends[group->nends++] = parts.ends[i];
	}
}

/*
 * Of a group whose steps are not seen: do its records fill most of the time,
 * and hide them? Or do all its members send together, for a good part of it?
 * It trains then, though its parts are unlike, if these are not the parts of
 * steps of minutes.
 */
static void
look_at_undivided(const L4Flows *flows, const L4FlowGroup *group, const L4Records *records, L4FlowCluster *cluster)
{
	int64		end = records->start[0];
	int64		busy = 0;
	int			bursts = 0;
	double		each = 0;
	bool		again = false;

	for (int i = 0; i < records->n; i++)
	{
		bursts += records->start[i] > end;
		busy += Max(records->end[i] - Max(records->start[i], end), 0);
		end = Max(end, records->end[i]);
	}
	for (int r = 0; r < group->nruns; r++)
	{
		each += flows->runs[group->runs[r]].bursts;
		again |= l4_flows_again(flows, group->runs[r]) || l4_flows_again(flows, group->runs[r] + 1);
	}
	cluster->coarse |= busy >= FILLS * (end - records->start[0]);
	cluster->together |= !again && group->nruns >= FEWEST_LINKS && busy >= FILLS_LITTLE * (end - records->start[0])
		&& bursts * group->nruns <= TOGETHER * each;
}

/*
 * Divide what divides a group; where that is not nearly all of it and its
 * parts are not alike all records, if their period is the same and they cost
 * less: then the others are pieces of its messages, not other traffic.
 */
static int
load_division(L4Flows *flows, const L4FlowGroup *group, GroupRecords *g, L4Division *divisions, int *best)
{
	double		left_out = load_group(flows, group, false, g);
	int			n = l4_divide(&g->records, divisions, best);
	L4Division	others[L4_DIVISIONS];
	int			best_other;
	int			nothers;

	if (*best < 0 || left_out < LEFT_OUT || divisions[*best].cost < L4_FINER)
		return n;
	(void) load_group(flows, group, true, g);
	nothers = l4_divide(&g->records, others, &best_other);
	if (best_other >= 0 && others[best_other].cost < divisions[*best].cost
		&& fabs(others[best_other].period / divisions[*best].period - 1) <= OTHER_PERIOD)
	{
		memcpy(divisions, others, sizeof(L4Division) * nothers);
		*best = best_other;
		return nothers;
	}
	(void) load_group(flows, group, false, g);
	return n;
}

/* Divide a group, at best by a period that is known (0 none). */
static void
divide_group(L4Flows *flows, L4FlowGroup *group, double period)
{
	GroupRecords g;
	L4Division	divisions[L4_DIVISIONS];
	int			best;
	int			n;

	n = load_division(flows, group, &g, divisions, &best);
	if (period > 0)
	{
		int			nearest = -1;

		for (int i = 0; i < n; i++)
			if (divisions[i].period > 0 &&
				(nearest < 0 || fabs(log(divisions[i].period / period)) < fabs(log(divisions[nearest].period / period))))
				nearest = i;
		if (nearest < 0 || fabs(divisions[nearest].period / period - 1) > OTHER_PERIOD)
			return;
		best = nearest;
	}
	if (best < 0)
	{
		if (g.records.n > 0)
			look_at_undivided(flows, group, &g.records, &flows->clusters[group->cluster]);
		return;
	}
	group->period = divisions[best].period;
	group->cost = divisions[best].cost;
	end_parts(flows, group, &g, divisions[best].threshold);
}

typedef struct End
{
	int64		at;
	int			group;
	int64		same;			/* ends of other groups up to here may be of its step */
} End;

L4_COMPARE(order_ends, End, L4_UP(at) L4_UP(group))

/*
 * Steps of several groups: ends that lie within a part of the period belong
 * together, and the latest is the end of the step. All wait for a rail that is
 * slow: so much later as their steps are longer its end may be. cover, if
 * wanted, is the share of groups whose end was seen.
 */
int
l4_flows_merge_ends(L4Flows *flows, const int *groups, const int64 *offset, int ngroups, double period, int64 *ends, float *cover)
{
	int			n = 0;
	int			nsteps = 0;
	End		   *all;
	int		   *seen = palloc(sizeof(int) * Max(ngroups, 1));

	for (int g = 0; g < ngroups; g++)
		n += flows->groups[groups[g]].nends;
	all = palloc(sizeof(End) * Max(n, 1));
	n = 0;
	for (int g = 0; g < ngroups; g++)
	{
		L4FlowGroup *group = &flows->groups[groups[g]];

		seen[g] = -1;
		for (int i = 0; i < group->nends; i++)
		{
			int64		at = group->ends[i] - (offset == NULL ? 0 : offset[g]);
			double		length = i + 1 == group->nends ? period : Min((double) (group->ends[i + 1] - group->ends[i]), 2 * period);

			all[n++] = (End) {at, g, at + (int64) (L4_SAME_STEP * Max(length, period))};
		}
	}
	qsort(all, n, sizeof(End), order_ends);
	for (int i = 0; i < n;)
	{
		int64		first = all[i].at;
		int64		same = all[i].same;
		int			members = 0;

		for (; i < n && (all[i].at - first <= L4_SAME_STEP * period || (all[i].at <= same && seen[all[i].group] != nsteps)); i++)
		{
			members += seen[all[i].group] != nsteps;
			seen[all[i].group] = nsteps;
			ends[nsteps] = all[i].at;
		}
		if (cover != NULL)
			cover[nsteps] = (float) members / ngroups;
		nsteps++;
	}
	pfree(all);
	pfree(seen);
	return nsteps;
}

static void
divide_cluster(L4Flows *flows, L4FlowCluster *cluster)
{
	double	   *periods = palloc(sizeof(double) * Max(cluster->ngroups, 1));
	int		   *numbers = palloc(sizeof(int) * Max(cluster->ngroups, 1));
	int			n = 0;
	int			nends = 0;

	for (int g = cluster->first_group; g < cluster->first_group + cluster->ngroups; g++)
	{
		divide_group(flows, &flows->groups[g], 0);
		if (flows->groups[g].period > 0)
			periods[n++] = flows->groups[g].period;
	}
	cluster->period = l4_quantile(periods, n, 0.5);
	/* training whose steps cannot be seen; what sends now and then is none */
	cluster->coarse &= n == 0;
	cluster->together &= n == 0;
	n = 0;
	for (int g = cluster->first_group; cluster->period > 0 && g < cluster->first_group + cluster->ngroups; g++)
	{
		L4FlowGroup *group = &flows->groups[g];

		if (fabs(group->period / cluster->period - 1) > OTHER_PERIOD)
		{
			group->nends = 0;
			divide_group(flows, group, cluster->period);
		}
		if (group->nends == 0)
			continue;
		numbers[n++] = g;
		nends += group->nends;
	}
	if (cluster->coarse || cluster->together)
		cluster->period = L4_FLOW_SECOND;
	cluster->ends = palloc(sizeof(int64) * Max(nends, 1));
	cluster->nends = l4_flows_merge_ends(flows, numbers, NULL, n, cluster->period, cluster->ends, NULL);
	pfree(periods);
	pfree(numbers);
}

void
l4_flows_divide(L4Flows *flows)
{
	for (int c = 0; c < flows->nclusters; c++)
	{
		l4_flows_keep(flows);
		divide_cluster(flows, &flows->clusters[c]);
	}
}
