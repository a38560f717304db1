/*
 * blame.c
 *		Slow links, and the NIC or switch that explains most of them.
 *
 * A unit is a pipeline pair in one direction, or a data parallel group. Time
 * is cut into bins; a unit is slow in a bin where its bandwidth is less than
 * that of most units of its kind in its job. Of the NICs and switches that
 * slow units have in common the one that explains most of them is blamed, its
 * units are taken away, and so on. A link that none of them explains is named
 * by its two ends.
 *
 * The greater part of a slow unit's records is slow. Of a flapping one some
 * are, which it does not always have.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define LEAST_BIN		(2 * L4_FLOW_SECOND)
#define MOST_BINS		512
#define BIN_PERIODS		2
#define IN_BIN			0.75	/* quantile of bandwidths in a bin */
#define LOW_IN_BIN		0.20	/* another: it tells what flaps */
#define USUAL			0.60	/* quantile of bandwidths of units */
#define SLOW			0.75	/* of the usual bandwidth */
#define OWN_USUAL		0.80	/* quantile of what a link has in all bins */
#define FLAPS			0.6		/* of what is usual for records of a size, and in other bins */
#define ALONE			0.5		/* of a link that nothing else explains */
#define EXPLAINS		0.6		/* share of its units that are slow */
#define SWITCH_UNITS	3
#define FEW_PACKETS		10		/* sampled ones: their bandwidth is noise */
#define FEWEST_BINS		2

typedef struct LinkUnit
{
	int			stint;
	bool		dp;
	bool		single;			/* one direction of a pair in a group whose links differ */
	int			ends[2];		/* addresses: sender, receiver */
	int			npath;
	int		   *path;			/* addresses, then naddresses + switch; ascending */
	double		weight;
	float	   *bandwidth;		/* of each bin, NAN none */
	float	   *low;			/* ratio to what it usually has */
	bool	   *slow;
	bool	   *alone;			/* slow, and no candidate explains it */
} LinkUnit;

struct L4Blame
{
	L4Flows    *flows;
	int64		width;			/* of a bin */
	int			nbins;
	int			ncandidates;
	int			nunits;
	int			units_size;
	LinkUnit   *units;
	bool	   *blamed;			/* of each candidate in each bin */
	double	   *slowness;		/* of each candidate: sum over its bins */
};

static bool
counts(const L4Flow *flow, bool back)
{
	return flow->back == back && flow->end > flow->start && (flow->packets == 0 || flow->packets >= FEW_PACKETS);
}

/*
 * Bandwidth in each bin of one direction of a run: a quantile of its records',
 * and the lower ones, each against its size. What is sent beside the messages,
 * as to experts or a copy of the job's state, is slow by nature; but what has
 * none of their sizes in a bin may be pieces of slow ones.
 */
static void
measure_bins(L4Blame *blame, const L4FlowRun *run, const L4Flow *flow, int n, bool back, float *bandwidth, float *low)
{
	double	   *values = palloc(sizeof(double) * Max(n, 1));
	double	   *beside = palloc(sizeof(double) * Max(n, 1));	/* of records in no large size class */
	double	   *ratios = palloc(sizeof(double) * Max(n, 1));
	int8	   *class = palloc(Max(n, 1));	/* of each record, -1 where it does not count */
	double	   *lows = palloc(sizeof(double) * blame->nbins);
	float	   *all = palloc(sizeof(float) * blame->nbins);
	bool		others = false;
	int			nlows = 0;
	double		usual[L4_FLOW_CLASSES + 1];
	double		own;
	int			nvalues = 0;
	int			nratios = 0;
	int			bin = 0;

	for (int i = 0; i < n; i++)
	{
		class[i] = counts(&flow[i], back) ? l4_flows_large_class(run, flow[i].bytes) : -1;
		others |= class[i] == run->nlarge;
	}
	/* records of no large class are compared with all */
	for (int c = 0; c < run->nlarge + others; c++)
	{
		nvalues = 0;
		for (int i = 0; i < n; i++)
			if (class[i] == c || (c == run->nlarge && class[i] >= 0))
				values[nvalues++] = flow[i].bytes / (flow[i].end - flow[i].start);
		usual[c] = l4_quantile(values, nvalues, 0.5);
	}
	nvalues = 0;
	for (int i = 0; i < blame->nbins; i++)
		bandwidth[i] = low[i] = all[i] = NAN;
	for (int i = 0; i <= n; i++)
	{
		int			b = i == n ? -1 : (int) Min((flow[i].start - blame->flows->first) / blame->width, blame->nbins - 1);

		if (b != bin)
		{
			double	   *sent = nvalues > 0 ? values : beside;

			nvalues = nvalues > 0 ? nvalues : nratios;
			if (nvalues > 0)
			{
				bandwidth[bin] = (float) l4_quantile(sent, nvalues, IN_BIN);
				/* one slow record alone says nothing */
				low[bin] = (float) l4_quantile(ratios, nratios, Max(LOW_IN_BIN, 1.5 / nratios));
				lows[nlows++] = all[bin] = (float) l4_quantile(sent, nvalues, Max(LOW_IN_BIN, 1.5 / nvalues));
			}
			nvalues = nratios = 0;
			bin = b;
		}
		if (i == n || class[i] < 0)
			continue;
		/* the next place of both, of which one keeps it */
		beside[nratios - nvalues] = values[nvalues] = flow[i].bytes / (flow[i].end - flow[i].start);
		ratios[nratios++] = values[nvalues] / usual[class[i]];
		nvalues += class[i] < run->nlarge;
	}
	own = l4_quantile(lows, nlows, OWN_USUAL);
	for (int i = 0; i < blame->nbins; i++)
		low[i] = Max(low[i], (float) (all[i] / own));
	pfree(lows);
	pfree(all);
	pfree(values);
	pfree(beside);
	pfree(ratios);
	pfree(class);
}

static void
add_path(LinkUnit *unit, const L4Flows *flows, const L4FlowPair *pair, int d)
{
	int			ends[2] = {d == 0 ? pair->a : pair->b, d == 0 ? pair->b : pair->a};

	memcpy(unit->ends, ends, sizeof(ends));
	unit->path = repalloc(unit->path, sizeof(int) * (unit->npath + 4 + pair->nswitches[d]));
	for (int e = 0; e < 2; e++)
	{
		unit->path[unit->npath++] = ends[e];
		if (flows->addresses[ends[e]].leaf >= 0)
			unit->path[unit->npath++] = flows->naddresses + flows->addresses[ends[e]].leaf;
	}
	for (int s = 0; s < pair->nswitches[d]; s++)
		unit->path[unit->npath++] = flows->naddresses + pair->switches[d][s];
}

static bool
has_link(const LinkUnit *unit, int candidate)
{
	return bsearch(&candidate, unit->path, unit->npath, sizeof(int), l4_order_int32) != NULL;
}

static LinkUnit *
add_unit(L4Blame *blame, int stint, bool dp)
{
	LinkUnit   *unit;

	L4_GROW(blame->units, blame->nunits, blame->units_size, blame->flows->cxt);
	unit = &blame->units[blame->nunits++];
	*unit = (LinkUnit) {.stint = stint, .dp = dp, .path = palloc(sizeof(int))};
	unit->bandwidth = palloc(sizeof(float) * blame->nbins);
	unit->low = palloc(sizeof(float) * blame->nbins);
	unit->alone = palloc0(blame->nbins);
	unit->slow = palloc0(blame->nbins);
	return unit;
}

static void
finish_unit(LinkUnit *unit)
{
	unit->npath = l4_sort_unique(unit->path, unit->npath);
	unit->weight = (unit->dp && !unit->single ? 2 : 1) / sqrt(unit->npath);
}

static void
pipeline_units(L4Blame *blame, int stint, const L4FlowRun *run)
{
	L4Flows    *flows = blame->flows;
	int			n;
	const L4Flow *flow = l4_flows_load(flows, &run->pair, 1, run->first, run->last, &n);

	for (int d = 0; d < 2; d++)
	{
		LinkUnit   *unit = add_unit(blame, stint, false);

		measure_bins(blame, run, flow, n, d, unit->bandwidth, unit->low);
		add_path(unit, flows, &flows->pairs[run->pair], d);
		finish_unit(unit);
	}
}

/* Medians over the links of a group in each bin. */
static void
median_links(const L4Blame *blame, const float *links, int nlinks, float *medians)
{
	double	   *values = palloc(sizeof(double) * nlinks);

	for (int b = 0; b < blame->nbins; b++)
	{
		int			n = 0;

		for (int i = 0; i < nlinks; i++)
			if (!isnan(links[i * blame->nbins + b]))
				values[n++] = links[i * blame->nbins + b];
		medians[b] = n == 0 ? NAN : (float) l4_quantile(values, n, 0.5);
	}
	pfree(values);
}

/*
 * A ring is as slow as its slowest link: one unit, of the median of its links.
 * But where short time-outs cut the waiting of the other links out of their
 * records they are faster than the slow one: then each is a unit of its own.
 */
static void
group_unit(L4Blame *blame, int stint, const L4FlowGroup *group)
{
	L4Flows    *flows = blame->flows;
	LinkUnit   *unit = add_unit(blame, stint, true);
	int			nbins = blame->nbins;
	int			nlinks = group->nruns * 2;
	float	   *bandwidth = palloc(sizeof(float) * nbins * nlinks);
	float	   *low = palloc(sizeof(float) * nbins * nlinks);
	bool		differ = false;

	for (int r = 0; r < group->nruns; r++)
	{
		L4FlowRun  *run = &flows->runs[group->runs[r]];
		int			n;
		const L4Flow *flow = l4_flows_load(flows, &run->pair, 1, run->first, run->last, &n);

		for (int d = 0; d < 2; d++)
		{
			measure_bins(blame, run, flow, n, d, bandwidth + (2 * r + d) * nbins, low + (2 * r + d) * nbins);
			add_path(unit, flows, &flows->pairs[run->pair], d);
		}
	}
	median_links(blame, bandwidth, nlinks, unit->bandwidth);
	median_links(blame, low, nlinks, unit->low);
	finish_unit(unit);
	for (int i = 0; i < nlinks && !differ; i++)
	{
		int			slower = 0;

		for (int b = 0; b < nbins; b++)
			slower += low[i * nbins + b] < FLAPS * Min(unit->low[b], 1);
		differ = slower >= FEWEST_BINS;
	}
	if (differ)
		blame->nunits--;
	for (int i = 0; i < nlinks && differ; i++)
	{
		unit = add_unit(blame, stint, true);
		unit->single = true;
		memcpy(unit->bandwidth, bandwidth + i * nbins, sizeof(float) * nbins);
		memcpy(unit->low, low + i * nbins, sizeof(float) * nbins);
		add_path(unit, flows, &flows->pairs[flows->runs[group->runs[i / 2]].pair], i % 2);
		finish_unit(unit);
	}
	pfree(bandwidth);
	pfree(low);
}

/* Which units of a job and kind are slow when; their bandwidths become ratios to the usual one. */
static void
find_slow_units(L4Blame *blame, int first, bool dp)
{
	double	   *values = palloc(sizeof(double) * Max((blame->nunits - first) * blame->nbins, 1));
	int			n = 0;
	double		usual;

	for (int u = first; u < blame->nunits; u++)
		for (int b = 0; blame->units[u].dp == dp && b < blame->nbins; b++)
			if (!isnan(blame->units[u].bandwidth[b]))
				values[n++] = blame->units[u].bandwidth[b];
	usual = l4_quantile(values, n, USUAL);
	for (int u = first; u < blame->nunits; u++)
	{
		LinkUnit   *unit = &blame->units[u];

		for (int b = 0; unit->dp == dp && b < blame->nbins; b++)
		{
			unit->bandwidth[b] /= usual;
			unit->slow[b] = unit->low[b] < FLAPS || (unit->bandwidth[b] < SLOW && !unit->single);
			if (unit->low[b] < unit->bandwidth[b])
				unit->bandwidth[b] = unit->low[b];
		}
	}
	pfree(values);
}

/* Measure the links of a stint. */
void
l4_flows_links(L4Blame *blame, int s)
{
	L4Flows    *flows = blame->flows;
	const L4FlowStint *stint = &flows->stints[s];
	int			first = blame->nunits;

	/* of a record that has silences in it no bandwidth is known */
	if (stint->coarse || stint->nsteps == 0)
		return;
	for (int r = 0; r < stint->nruns; r++)
		if (flows->runs[stint->runs[r]].kind == L4_FLOW_PP)
			pipeline_units(blame, s, &flows->runs[stint->runs[r]]);
	for (int g = 0; g < stint->ngroups; g++)
		if (flows->groups[stint->groups[g]].kind == L4_FLOW_DP)
			group_unit(blame, s, &flows->groups[stint->groups[g]]);
	find_slow_units(blame, first, false);
	find_slow_units(blame, first, true);
}

/* Weight of slow units (A) and of all (B) that touch each candidate in a bin, and how many are slow. */
static void
weigh(const L4Blame *blame, int bin, const bool *gone, double *a, double *b, int *nslow)
{
	memset(a, 0, sizeof(double) * blame->ncandidates);
	memset(b, 0, sizeof(double) * blame->ncandidates);
	memset(nslow, 0, sizeof(int) * blame->ncandidates);
	for (int u = 0; u < blame->nunits; u++)
	{
		const LinkUnit *unit = &blame->units[u];

		if (isnan(unit->bandwidth[bin]) || gone[u])
			continue;
		for (int p = 0; p < unit->npath; p++)
		{
			b[unit->path[p]] += unit->weight;
			if (unit->slow[bin])
			{
				a[unit->path[p]] += unit->weight;
				nslow[unit->path[p]]++;
			}
		}
	}
}

static bool
qualifies(const L4Blame *blame, int c, const double *a, const double *b, const int *nslow)
{
	if (b[c] <= 0 || a[c] / b[c] < EXPLAINS)
		return false;
	return c < blame->flows->naddresses || nslow[c] >= SWITCH_UNITS;
}

/* Blame candidates for the slow units of a bin, one after the other. */
static void
blame_bin(L4Blame *blame, int bin)
{
	double	   *a = palloc(sizeof(double) * blame->ncandidates);
	double	   *b = palloc(sizeof(double) * blame->ncandidates);
	int		   *nslow = palloc(sizeof(int) * blame->ncandidates);
	bool	   *gone = palloc0(Max(blame->nunits, 1));

	for (;;)
	{
		double		most = 0;
		int			best = -1;
		double		slowness = 0;
		int			n = 0;

		weigh(blame, bin, gone, a, b, nslow);
		for (int c = 0; c < blame->ncandidates; c++)
			if (qualifies(blame, c, a, b, nslow) && a[c] * a[c] / b[c] > most)
			{
				most = a[c] * a[c] / b[c];
				best = c;
			}
		if (best < 0)
			break;
		for (int u = 0; u < blame->nunits; u++)
		{
			LinkUnit   *unit = &blame->units[u];

			if (gone[u] || !unit->slow[bin] || !has_link(unit, best))
				continue;
			gone[u] = true;
			slowness += 1 - unit->bandwidth[bin];
			n++;
		}
		blame->blamed[best * blame->nbins + bin] = true;
		blame->slowness[best] = Max(blame->slowness[best], slowness / n);
	}
	for (int u = 0; u < blame->nunits; u++)
		blame->units[u].alone[bin] = blame->units[u].slow[bin] && blame->units[u].bandwidth[bin] < ALONE && !gone[u];
	pfree(a);
	pfree(b);
	pfree(nslow);
	pfree(gone);
}

static bool
slow_within(const LinkUnit *unit, int from, int last)
{
	for (int b = from; b <= last; b++)
		if (unit->slow[b])
			return true;
	return false;
}

/* The next stretch of marked bins behind *last that is long enough; one that is not marked may lie between. */
static bool
next_stretch(const L4Blame *blame, const bool *marked, int *from, int *last)
{
	for (int b = *last + 1; b < blame->nbins; b = *last + 1)
	{
		int			count = 0;

		*from = *last = b;
		for (; b < blame->nbins && b - *last <= 2; b++)
			if (marked[b])
			{
				*from = count++ == 0 ? b : *from;
				*last = b;
			}
		if (count >= FEWEST_BINS)
			return true;
	}
	return false;
}

/* Do the same links go through two candidates, as far as they were slow? */
static bool
same_links(const L4Blame *blame, int c, int other, int from, int last)
{
	int			links = 0;

	for (int u = 0; u < blame->nunits; u++)
	{
		bool		through = has_link(&blame->units[u], c);
		bool		also = has_link(&blame->units[u], other);

		if (through != also && slow_within(&blame->units[u], from, last))
			return false;
		links += through - also;
	}
	return links == 0;
}

/* Bins in which a candidate is blamed, one after the other, become an issue. Of a NIC with those that cannot be told from it. */
static void
report_candidate(L4Blame *blame, int c)
{
	L4Flows    *flows = blame->flows;
	bool		nic = c < flows->naddresses;
	int			from;
	int			last = -1;

	while (next_stretch(blame, blame->blamed + c * blame->nbins, &from, &last))
	{
		int			stint = -2;
		int			nslow = 0;
		int			n = 0;
		StringInfoData subject;

		initStringInfo(&subject);
		appendStringInfoString(&subject, nic ? flows->addresses[c].text : flows->switches[c - flows->naddresses]);
		for (int other = 0; nic && other < flows->naddresses; other++)
			if (other != c && same_links(blame, c, other, from, last))
				appendStringInfo(&subject, " %s", flows->addresses[other].text);
		for (int u = 0; u < blame->nunits; u++)
		{
			LinkUnit   *unit = &blame->units[u];

			if (!has_link(unit, c))
				continue;
			n++;
			if (!slow_within(unit, from, last))
				continue;
			nslow++;
			stint = stint == -2 || stint == unit->stint ? unit->stint : -1;
		}
		l4_flows_issue(flows, stint, nic ? L4_FLOW_SLOW_GROUP : L4_FLOW_SLOW_SWITCH, subject.data,
					   flows->first + from * blame->width, flows->first + (last + 1) * blame->width, blame->slowness[c],
					   psprintf("%d of %d links through it have %.0f %% less bandwidth than usual", nslow, n, 100 * blame->slowness[c]));
	}
}

/* A link that is slow by itself: one of its two ends. */
static void
report_alone(L4Blame *blame, const LinkUnit *unit)
{
	L4Flows    *flows = blame->flows;
	int			from;
	int			last = -1;

	while (next_stretch(blame, unit->alone, &from, &last))
	{
		double		slowness = 0;

		for (int b = from; b <= last; b++)
			if (unit->alone[b])
				slowness = Max(slowness, 1 - unit->bandwidth[b]);
		l4_flows_issue(flows, unit->stint, L4_FLOW_SLOW_GROUP,
					   psprintf("%s %s", flows->addresses[unit->ends[0]].text, flows->addresses[unit->ends[1]].text),
					   flows->first + from * blame->width, flows->first + (last + 1) * blame->width, slowness,
					   psprintf("the link from the one to the other has %.0f %% less bandwidth than usual", 100 * slowness));
	}
}

L4Blame *
l4_flows_blame_begin(L4Flows *flows)
{
	L4Blame    *blame = palloc0(sizeof(L4Blame));

	blame->flows = flows;
	blame->width = Max(LEAST_BIN, (flows->last - flows->first) / MOST_BINS);
	for (int s = 0; s < flows->nstints; s++)
		blame->width = Max(blame->width, (int64) (BIN_PERIODS * flows->stints[s].period));
	blame->nbins = (int) ((flows->last - flows->first) / blame->width) + 1;
	blame->ncandidates = flows->naddresses + flows->nswitches;
	return blame;
}

/* Blame for the slow links of all jobs. */
void
l4_flows_blame(L4Blame *blame)
{
	if (blame->nunits == 0)
		return;
	blame->slowness = palloc0(sizeof(double) * blame->ncandidates);
	blame->blamed = palloc0((Size) blame->ncandidates * blame->nbins);
	for (int b = 0; b < blame->nbins; b++)
	{
		CHECK_FOR_INTERRUPTS();
		blame_bin(blame, b);
	}
	for (int c = 0; c < blame->ncandidates; c++)
		report_candidate(blame, c);
	for (int u = 0; u < blame->nunits; u++)
		if (blame->units[u].single)
			report_alone(blame, &blame->units[u]);
}
