/*
 * divide.c
 *		Division of records into parts at silences.
 *
 * A training step communicates, computes, communicates again: records lie
 * close within a step and apart between steps, but buckets and micro-batches
 * are silent in between, too. Thresholds are tried where the sorted silences
 * jump; the finest one whose parts are alike wins.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define LEAST_SILENCE	1000	/* microseconds: shorter ones are noise of what starts together */
#define NO_COST			1e9		/* of too few parts, or more than is needed */
#define MOST_COST		0.85		/* parts that are less alike are no steps */
#define FEWEST_PARTS	4
#define MOST_PHASES		8		/* of a job, each with another number of micro-batches */
#define PAUSE			1.5		/* of the usual length: a part that is longer has a pause before it, */
#define MOST_PAUSES		0.4		/* if no more of them do, */
#define PAUSE_BYTES		1.5		/* and it has not more than so many times the usual bytes */
#define PAUSE_COST		0.12		/* of pauses between parts that are sent at once, as a bucket is */
#define UNEVEN			0.25	/* parts that differ more from the next are no steps; requests at random times: 0.5 */
#define FEW_BEATS		0.5		/* of the pipeline's records that come on a part: less are before a bucket, */
#define MOST_BEATS		0.6		/* and so many before a step */
#define WHOLE_FINER		0.4		/* cost that a division into steps may have more than one into several of them */
#define FORWARD			0.25	/* of the time that a step goes backward, at least */
#define PERIOD			0.25	/* quantile of the lengths of parts: what ends so close is of one step, also where most are longer */

#define ST_SORT sort_doubles
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * The value that would be at a place if values were in order. They are partly
 * put in order, without a branch that depends on a value: none could be foreseen.
 */
static double
select_value(double *values, int n, int place)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		double		middle = values[low + (high - low) / 2];
		int			less = low;
		int			same;

		for (int i = low; i <= high; i++)
		{
			double		value = values[i];

			values[i] = values[less];
			values[less] = value;
			less += value < middle;
		}
		if (place < less)
		{
			high = less - 1;
			continue;
		}
		same = less;
		for (int i = less; i <= high; i++)
		{
			double		value = values[i];

			values[i] = values[same];
			values[same] = value;
			same += !(value > middle);
		}
		if (place < same)
			break;
		low = same;
	}
	return values[place];
}

/* Quantile q of values, whose order may change. 0 of none. */
double
l4_quantile(double *values, int n, double q)
{
	return n == 0 ? 0 : select_value(values, n, Min(n - 1, (int) (q * n)));
}

static double
median(double *values, int n)
{
	double		high = n == 0 ? 0 : select_value(values, n, n / 2);
	double		low = n == 0 || n % 2 == 1 ? high : values[0];

	/* none before the place is greater now */
	for (int i = 1; i < n / 2 && n % 2 == 0; i++)
		low = Max(low, values[i]);
	return (low + high) / 2;
}

/* Number the parts that silences longer than the threshold divide, from 0; returns how many. */
int
l4_divide_parts(const L4Records *records, double threshold, int *part)
{
	int64		end = records->n > 0 ? records->end[0] : 0;
	int			n = 0;

	for (int i = 0; i < records->n; i++)
	{
		if (i > 0 && records->start[i] - end > threshold)
			n++;
		part[i] = n;
		end = Max(end, records->end[i]);
	}
	return records->n > 0 ? n + 1 : 0;
}

/* Records that no threshold parts, as they lie too close. */
typedef struct Bursts
{
	int			n;
	int64	   *start;
	int64	   *end;
	double	   *bytes;
	bool	   *at_once;		/* its records start together */
} Bursts;

static void
find_bursts(const L4Records *records, Bursts *bursts)
{
	int			at = -1;

	bursts->start = palloc(sizeof(int64) * Max(records->n, 1));
	bursts->end = palloc(sizeof(int64) * Max(records->n, 1));
	bursts->bytes = palloc(sizeof(double) * Max(records->n, 1));
	bursts->at_once = palloc(Max(records->n, 1));
	for (int i = 0; i < records->n; i++)
	{
		if (at < 0 || records->start[i] - bursts->end[at] > LEAST_SILENCE)
		{
			bursts->start[++at] = records->start[i];
			bursts->end[at] = records->end[i];
			bursts->bytes[at] = 0;
			bursts->at_once[at] = true;
		}
		else
			bursts->at_once[at] &= records->start[i] - records->start[i - 1] <= LEAST_SILENCE;
		bursts->end[at] = Max(bursts->end[at], records->end[i]);
		bursts->bytes[at] += records->bytes[i];
	}
	bursts->n = at + 1;
}

/*
 * Values of parts as ratios to the median of so many that lie together, at
 * least, as micro-batches in a step may become more or less.
 */
static void
compare_near(const double *values, int n, int near, double *ratios)
{
	double	   *some = palloc(sizeof(double) * 2 * near);

	for (int from = 0, to; from < n; from = to)
	{
		double		usual;

		to = n - from < 2 * near ? n : from + near;
		memcpy(some, values + from, sizeof(double) * (to - from));
		usual = median(some, to - from);
		for (int i = from; i < to; i++)
			ratios[i] = usual > 0 ? values[i] / usual : 1;
	}
	pfree(some);
}

/* Byte share of parts with about the bytes that are usual near them. */
static double
alikeness(const double *bytes, int nparts)
{
	double	   *ratios = palloc(sizeof(double) * nparts);
	double		total = 0;
	double		near = 0;

	/* what is served is alike within a request */
	compare_near(bytes, nparts, Max(L4_NEAR_PARTS, nparts / MOST_PHASES), ratios);
	for (int p = 0; p < nparts; p++)
	{
		total += bytes[p];
		if (fabs(ratios[p] - 1) <= 0.1)
			near += bytes[p];
	}
	pfree(ratios);
	return near / total;
}

/* Median difference of two values that follow each other, of their sum. */
static double
unevenness(const double *values, int n)
{
	double	   *differences = palloc(sizeof(double) * n);
	double		result;

	for (int i = 1; i < n; i++)
		differences[i - 1] = fabs(values[i] - values[i - 1]) / (values[i] + values[i - 1]);
	result = median(differences, n - 1);
	pfree(differences);
	return result;
}

/*
 * Are most parts sent at once, with much less of the pipeline before them than
 * before others? They may be buckets. Or does it send as much before all but
 * the first? Then all are steps, some with an evaluation before them.
 */
static void
look_before_parts(const L4Records *records, const Bursts *bursts, const int *part, int nparts, bool *at_once, bool *whole)
{
	int			few = 0;
	int			most = 0;
	int			beat = 0;

	for (int i = 0; i < bursts->n; i++)
	{
		int			first = beat;
		double		share;

		if (i + 1 < bursts->n && part[i + 1] == part[i])
			continue;
		while (beat < records->nbeats && records->beats[beat] <= bursts->end[i])
			beat++;
		share = (double) nparts * (beat - first) / Max(records->nbeats, 1);
		few += bursts->at_once[i] && (i == 0 || part[i - 1] != part[i]) && share <= FEW_BEATS;
		most += part[i] > 0 && share >= MOST_BEATS;
	}
	*at_once = 2 * few > nparts;
	*whole = most == nparts - 1;
}

/* What lengths of parts cost, as ratios to the usual one; of a cost above the limit a part. */
static double
length_cost(const double *ratios, int n, double limit)
{
	double		sum = 0;
	double		cost;
	double	   *values;

	for (int i = 0; i < n; i++)
		sum += ratios[i];
	cost = 0.7 * Max(0, fabs(sum / n - 1) - 0.1);
	if (cost > limit)
		return cost;
	values = palloc(sizeof(double) * n);
	memcpy(values, ratios, sizeof(double) * n);
	cost += 0.5 * Min(l4_quantile(values, n, 0.85) - l4_quantile(values, n, 0.15), 0.6);
	pfree(values);
	return cost;
}

/*
 * Number the parts that have no pause, as of an evaluation, a checkpoint or
 * of what the trained model generates, before them or behind: others may have
 * less in them or a little more, and are -1. Returns how many are left, 0
 * where that does not look like pauses. Where bytes take the time it is none.
 * Before the buckets of a step, which come backward, there is the forward
 * pass: parts with pauses that are shorter are not sent at_once as these are.
 */
static int
leave_out_pauses(int nparts, const double *bytes, const double *ratios, int *number, bool micro, bool *at_once)
{
	double	   *values = palloc(sizeof(double) * nparts);
	bool	   *pause = palloc0(nparts + 1);	/* before each part, and behind the last */
	double		usual;
	int			pauses = 0;
	int			kept = 0;
	double		sum = 0;

	memcpy(values, bytes, sizeof(double) * nparts);
	usual = l4_quantile(values, nparts, 0.5);
	for (int p = 1; p < nparts; p++)
	{
		pause[p] = ratios[p - 1] > PAUSE && bytes[p] <= PAUSE_BYTES * usual;
		pauses += pause[p];
		sum += pause[p] ? ratios[p - 1] - 1 : 0;
	}
	*at_once &= micro || sum >= FORWARD * nparts;
	pause[0] = pause[nparts] = true;
	for (int p = 0; p < nparts; p++)
		number[p] = pause[p] || pause[p + 1] ? -1 : kept++;
	pfree(values);
	pfree(pause);
	return pauses == 0 || pauses > MOST_PAUSES * nparts || kept < FEWEST_PARTS ? 0 : kept;
}

/*
 * What a threshold costs: parts of a period that varies, or that are unlike.
 * A cost is not needed, nor found out, that is too far above the least so far.
 */
static void
try_threshold(const L4Records *records, const Bursts *bursts, L4Division *division, double least)
{
	int		   *part = palloc(sizeof(int) * bursts->n);
	double	   *bytes = palloc0(sizeof(double) * bursts->n);
	int64	   *ends = palloc(sizeof(int64) * bursts->n);
	double	   *lengths = palloc(sizeof(double) * bursts->n);
	double	   *ratios = palloc(sizeof(double) * bursts->n);
	int		   *number = palloc(sizeof(int) * bursts->n);
	int			nparts = 0;

	division->cost = NO_COST;
	division->period = 0;
	division->whole = false;
	for (int i = 0; i < bursts->n; i++)
	{
		nparts += i == 0 || bursts->start[i] - bursts->end[i - 1] > division->threshold;
		part[i] = nparts - 1;
		bytes[nparts - 1] += bursts->bytes[i];
		ends[nparts - 1] = bursts->end[i];
	}
	for (int p = 1; p < nparts; p++)
		lengths[p - 1] = (double) (ends[p] - ends[p - 1]);
	if (nparts >= 2)
	{
		compare_near(lengths, nparts - 1, L4_NEAR_PARTS, ratios);
		division->period = l4_quantile(lengths, nparts - 1, PERIOD);
	}
	if (nparts >= FEWEST_PARTS && division->period > 0)
	{
		bool		at_once;
		int			kept;
		int			n = 0;
		double		cost;
		double		without;
		double		limit;

		look_before_parts(records, bursts, part, nparts, &at_once, &division->whole);
		kept = leave_out_pauses(nparts, bytes, ratios, number, records->micro, &at_once);
		limit = least + (division->whole ? WHOLE_FINER : L4_FINER);
		for (int p = 1; p < nparts; p++)
			if (number[p] >= 0)
				lengths[n++] = ratios[p - 1];
		cost = length_cost(ratios, nparts - 1, limit);
		without = kept == 0 ? NO_COST : length_cost(lengths, n, limit) + (at_once ? PAUSE_COST : 0);
		if (Min(cost, without) <= limit
			&& (at_once || kept == 0 ? unevenness(ratios, nparts - 1) : unevenness(lengths, n)) > UNEVEN)
			cost = without = NO_COST;
		if (without < cost)
		{
			cost = without;
			for (int p = 0; p < nparts; p++)
				if (number[p] >= 0)
					bytes[number[p]] = bytes[p];
			nparts = kept;
		}
		if (cost <= limit)
			division->cost = cost + 1.5 * (1 - alikeness(bytes, nparts));
	}
	pfree(part);
	pfree(bytes);
	pfree(ends);
	pfree(lengths);
	pfree(ratios);
	pfree(number);
}

typedef struct Jump
{
	double		ratio;
	double		threshold;
} Jump;

L4_COMPARE(greater_jump, Jump, L4_DOWN(ratio) L4_UP(threshold))

/* Thresholds where the sorted silences jump, ascending; the first is below all. */
static int
find_thresholds(const Bursts *bursts, L4Division *divisions)
{
	double	   *silences = palloc(sizeof(double) * Max(bursts->n, 1));
	Jump	   *jumps = palloc(sizeof(Jump) * Max(bursts->n, 1));
	double		thresholds[L4_DIVISIONS];
	int			njumps = 0;
	int			found = 0;

	for (int i = 1; i < bursts->n; i++)
		silences[i - 1] = (double) (bursts->start[i] - bursts->end[i - 1]);
	sort_doubles(silences, Max(bursts->n - 1, 0));
	for (int i = 1; i < bursts->n - 1; i++)
		if (silences[i] > silences[i - 1])
			jumps[njumps++] = (Jump) {silences[i] / silences[i - 1], sqrt(silences[i] * silences[i - 1])};
	qsort(jumps, njumps, sizeof(Jump), greater_jump);
	thresholds[found++] = LEAST_SILENCE;
	for (int i = 0; i < njumps && found < L4_DIVISIONS; i++)
		thresholds[found++] = jumps[i].threshold;
	sort_doubles(thresholds, found);
	for (int i = 0; i < found; i++)
		divisions[i].threshold = thresholds[i];
	pfree(silences);
	pfree(jumps);
	return found;
}

/*
 * Try all thresholds: at most L4_DIVISIONS, finest first. *best is the finest
 * one whose cost is near the least, -1 when parts of all are too few or unlike.
 */
int
l4_divide(const L4Records *records, L4Division *divisions, int *best)
{
	Bursts		bursts;
	int			n;
	double		least = MOST_COST;

	find_bursts(records, &bursts);
	n = find_thresholds(&bursts, divisions);
	*best = -1;
	/* few parts first: they tell soon which costs are needed */
	for (int i = n - 1; i >= 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		try_threshold(records, &bursts, &divisions[i], least);
		least = Min(least, divisions[i].cost);
	}
	for (int i = n - 1; i >= 0; i--)
		if (divisions[i].cost <= Min(least + (divisions[i].whole ? WHOLE_FINER : L4_FINER), MOST_COST + L4_FINER))
			*best = i;
	pfree(bursts.start);
	pfree(bursts.end);
	pfree(bursts.bytes);
	pfree(bursts.at_once);
	return n;
}
