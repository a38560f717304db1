/*
 * features.c
 *		Runs of pairs, and what tells their kind: sizes, directions, times.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define LONG_SILENCES	3		/* the least of so many tells how long a pair is usually silent */
#define RUN_SILENCE		(3 * L4_FLOW_SECOND)	/* at least so long between runs */
#define SIZE_TOLERANCE	0.02
#define SMALL_SHARE		0.02	/* size classes with fewer bytes say nothing about steps */
#define MOST_TOLERANCE	0.5
#define LARGE_CLASS		0.1		/* byte share of a size class whose direction and bandwidth count */
#define SAME_TIME		150		/* microseconds between records that start together */
#define BUSIER			1.5		/* times the bursts of the least busy run of a group */
#define LEAST_BUSY		0.05	/* byte share of the least busy runs */
#define OFTEN			3		/* records of a size that recurs */
#define RECURS			(2 * L4_FLOW_SECOND)
#define WHOLE			0.6		/* byte share of the largest size class: pieces of messages have less */
#define LEAST_PIECE_GAP	4000	/* microseconds between pieces: this is tried first, */
#define MOST_PIECE_GAP	16000	/* and this last */

typedef struct MessageSize
{
	double		bytes;
	int64		start;
} MessageSize;

#define ST_SORT sort_sizes
#define ST_ELEMENT_TYPE MessageSize
#define ST_COMPARE(a, b) (((a)->bytes > (b)->bytes) - ((a)->bytes < (b)->bytes))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

L4_COMPARE(most_bytes, L4FlowClass, L4_DOWN(bytes) L4_UP(size))

/* Sizes that are the same for a run: sampled ones vary by what is drawn. */
static double
tolerance_at(const L4FlowRun *run, double bytes)
{
	if (run->packets <= 0)
		return SIZE_TOLERANCE;
	return Min(MOST_TOLERANCE, Max(SIZE_TOLERANCE, 3 / sqrt(Max(run->packets * bytes, 1))));
}

/* Size classes: those with most bytes are kept. Sets what follows from them. */
static void
measure_sizes(L4FlowRun *run, const L4Flow *flow)
{
	MessageSize	   *sizes = palloc(sizeof(MessageSize) * run->n);
	L4FlowClass *classes = palloc(sizeof(L4FlowClass) * run->n);
	int			n = 0;
	double		often = 0;
	bool		recurs = false;

	for (int i = 0; i < run->n; i++)
		sizes[i] = (MessageSize) {flow[i].bytes, flow[i].start};
	sort_sizes(sizes, run->n);
	for (int i = 0; i < run->n; n++)
	{
		L4FlowClass *c = &classes[n];
		double		tolerance = tolerance_at(run, sizes[i].bytes);
		int64		first = sizes[i].start;
		int64		last = sizes[i].start;

		*c = (L4FlowClass) {.size = sizes[i].bytes};
		for (; i < run->n && sizes[i].bytes <= c->size * (1 + 2 * tolerance); i++)
		{
			c->count++;
			c->bytes += sizes[i].bytes;
			c->top = sizes[i].bytes;
			first = Min(first, sizes[i].start);
			last = Max(last, sizes[i].start);
		}
		if (c->count >= OFTEN)
		{
			often += c->bytes;
			recurs |= last - first >= RECURS;
		}
	}
	qsort(classes, n, sizeof(L4FlowClass), most_bytes);
	run->nclasses = Min(n, L4_FLOW_CLASSES);
	memcpy(run->classes, classes, sizeof(L4FlowClass) * run->nclasses);
	while (run->nlarge < run->nclasses && classes[run->nlarge].bytes >= LARGE_CLASS * run->bytes)
		run->nlarge++;
	run->main_size = classes[0].bytes / run->bytes;
	run->regular = recurs && often >= 0.5 * run->bytes;
	pfree(sizes);
	pfree(classes);
}

L4_COMPARE_NUMBERS(fewer_bursts, L4FlowRun, .bursts)

/* The least busy run; those with few bytes in all do not count. */
const L4FlowRun *
l4_flows_least_busy(const L4Flows *flows, const int *runs, int nruns)
{
	int		   *order = palloc(sizeof(int) * nruns);
	double		total = 0;
	double		sum = 0;
	const L4FlowRun *least = NULL;

	memcpy(order, runs, sizeof(int) * nruns);
	qsort_arg(order, nruns, sizeof(int), fewer_bursts, flows->runs);
	for (int i = 0; i < nruns; i++)
		total += flows->runs[runs[i]].bytes;
	for (int i = 0; i < nruns && sum < LEAST_BUSY * total; i++)
	{
		least = &flows->runs[order[i]];
		sum += least->bytes;
	}
	pfree(order);
	return least;
}

/*
 * Does a size say nothing about the steps of these runs? Its class has few
 * bytes, or only the busier runs have it: they carry other traffic, too.
 */
bool
l4_flows_small(const L4Flows *flows, const int *runs, int nruns, int least_bursts, double bytes)
{
	double		total = 0;
	double		same = 0;

	for (int i = 0; i < nruns; i++)
	{
		const L4FlowRun *run = &flows->runs[runs[i]];

		if (run->bursts > BUSIER * least_bursts)
			continue;
		total += run->bytes;
		for (int c = 0; c < run->nclasses; c++)
			if (bytes >= run->classes[c].size * (1 - SIZE_TOLERANCE) && bytes <= run->classes[c].top * (1 + SIZE_TOLERANCE))
				same += run->classes[c].bytes;
	}
	return same < SMALL_SHARE * total;
}

/* Does a run send what the one before it of its pair did? It may recur in minutes. */
bool
l4_flows_again(const L4Flows *flows, int run)
{
	const L4FlowRun *this = &flows->runs[run];

	return run > 0 && run < flows->nruns && this[-1].pair == this->pair
		&& fabs(this[-1].classes[0].size / this->classes[0].size - 1) <= SIZE_TOLERANCE;
}

/* Byte share of records that start with one of the other direction. */
static double
simultaneous_share(const L4FlowRun *run, const L4Flow *flow)
{
	double		bytes = 0;
	int64		before[2] = {DT_NOBEGIN, DT_NOBEGIN};	/* last start of each direction */
	int		   *next = palloc(sizeof(int) * run->n);	/* next record of the other direction */
	int			last[2] = {-1, -1};

	for (int i = run->n - 1; i >= 0; i--)
	{
		next[i] = last[!flow[i].back];
		last[flow[i].back] = i;
	}
	for (int i = 0; i < run->n; i++)
	{
		int64		near = Max(SAME_TIME, (flow[i].end - flow[i].start) / 4);
		int64		other = before[!flow[i].back];

		if ((other != DT_NOBEGIN && flow[i].start - other <= near) || (next[i] >= 0 && flow[next[i]].start - flow[i].start <= near))
			bytes += flow[i].bytes;
		before[flow[i].back] = flow[i].start;
	}
	pfree(next);
	return bytes / run->bytes;
}

/* Large size class in which a record lies, or their number. */
int
l4_flows_large_class(const L4FlowRun *run, double bytes)
{
	int			c = 0;

	while (c < run->nlarge && (bytes < run->classes[c].size || bytes > run->classes[c].top))
		c++;
	return c;
}

/*
 * Share of the greater direction: of all the bytes of large size classes, and
 * of those of each class. What varies in size comes beside it, as of experts.
 */
static void
measure_directions(L4FlowRun *run, const L4Flow *flow)
{
	double		bytes[L4_FLOW_CLASSES + 1][2] = {0};
	double		sum[2] = {0};
	double		sized = 0;

	for (int i = 0; i < run->n; i++)
		bytes[l4_flows_large_class(run, flow[i].bytes)][flow[i].back] += flow[i].bytes;
	for (int c = 0; c < Max(run->nlarge, 1); c++)
	{
		sum[0] += bytes[c][0];
		sum[1] += bytes[c][1];
		sized += Max(bytes[c][0], bytes[c][1]);
	}
	run->back = sum[1] > sum[0];
	run->one_way = Max(sum[0], sum[1]) / (sum[0] + sum[1]);
	run->sized_one_way = sized / (sum[0] + sum[1]);
}

static void
measure_run(L4Flows *flows, int pair, const L4Flow *flow, int n)
{
	L4FlowRun  *run;
	double		packets = 0;

	L4_GROW(flows->runs, flows->nruns, flows->runs_size, flows->cxt);
	run = &flows->runs[flows->nruns++];
	memset(run, 0, sizeof(*run));
	run->pair = pair;
	run->n = n;
	run->cluster = run->group = run->stint = -1;
	run->first = flow[0].start;
	run->last = flow[0].end;
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || flow[i].start > run->last)
			run->bursts++;
		run->last = Max(run->last, flow[i].end);
		run->bytes += flow[i].bytes;
		if (flow[i].start >= flows->begin && flow[i].start < flows->end)
		{
			run->own++;
			run->own_bytes += flow[i].bytes;
		}
		packets += flow[i].packets;
		run->duration += (flow[i].end - flow[i].start) * flow[i].bytes;
	}
	run->packets = packets / run->bytes;
	run->duration /= run->bytes;
	measure_sizes(run, flow);
	measure_directions(run, flow);
	run->simultaneous = simultaneous_share(run, flow);
}

/* A run ends at a silence that is long, and long for this pair. */
static int64
run_silence(const L4Flow *flow, int n)
{
	double		longest[LONG_SILENCES];
	int			found = 0;
	int64		end = flow[0].end;

	for (int i = 1; i < n; i++)
	{
		double		silence = (double) (flow[i].start - end);
		int			at;

		end = Max(end, flow[i].end);
		if (silence <= 0 || (found == LONG_SILENCES && silence <= longest[found - 1]))
			continue;
		if (found < LONG_SILENCES)
			found++;
		for (at = found - 1; at > 0 && longest[at - 1] < silence; at--)
			longest[at] = longest[at - 1];
		longest[at] = silence;
	}
	return Max(RUN_SILENCE, found < LONG_SILENCES ? 0 : (int64) (4 * longest[LONG_SILENCES - 1]));
}

/* Runs of a pair; returns the byte share of their largest size classes, 0 without any. */
static double
measure_pair(L4Flows *flows, int p)
{
	int			n;
	const L4Flow *flow = l4_flows_load(flows, &p, 1, flows->from, flows->to, &n);
	MemoryContext old = MemoryContextSwitchTo(flows->load_cxt);
	int64		silence = n > 0 ? run_silence(flow, n) : 0;
	int64		end = n > 0 ? flow[0].end : 0;
	int			from = 0;
	double		main = 0;
	double		bytes = 0;

	for (int i = 1; i <= n; i++)
	{
		if (i == n || flow[i].start - end > silence)
		{
			/* what does not recur, as of a scanner, takes no memory */
			if (i - from >= OFTEN)
			{
				measure_run(flows, p, flow + from, i - from);
				bytes += flows->runs[flows->nruns - 1].bytes;
				main += flows->runs[flows->nruns - 1].bytes * flows->runs[flows->nruns - 1].main_size;
			}
			from = i;
		}
		if (i < n)
			end = Max(end, flow[i].end);
	}
	MemoryContextSwitchTo(old);
	return bytes > 0 ? main / bytes : 0;
}

/*
 * Where a token bucket tears messages into pieces of any size, those that
 * follow each other soon are put together again, if that makes them alike.
 */
void
l4_flows_features(L4Flows *flows)
{
	for (int p = 0; p < flows->npairs; p++)
	{
		int			first = flows->nruns;
		double		alike = measure_pair(flows, p);

		if (alike >= WHOLE || flows->nruns == first)
			continue;
		for (int64 gap = LEAST_PIECE_GAP; alike < WHOLE && gap <= MOST_PIECE_GAP; gap *= 4)
		{
			flows->nruns = first;
			flows->pairs[p].join = gap;
			alike = measure_pair(flows, p);
		}
		if (alike >= WHOLE)
			continue;
		flows->nruns = first;
		flows->pairs[p].join = 0;
		(void) measure_pair(flows, p);
	}
}
