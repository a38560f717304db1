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

#include "flow/analysis.h"
#include "l4_compat.h"

#define LARGE_CLASS		0.10	/* byte share of a size class that is counted */
#define MAX_CLASSES		9
#define LEAST_SILENCE	1000	/* microseconds: shorter ones are noise of what starts together */
#define FINER			0.03	/* cost that a finer division may have more */
#define NO_COST			1e9		/* of too few parts, or more than is needed */
#define FEWEST_PARTS	4
#define NEAR_PARTS		12		/* at least so many lie together */
#define PERIOD			0.25	/* quantile of the lengths of parts: what ends so close is of one step, also where most are longer */

#define ST_SORT sort_doubles
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The value that would be at a place if values were in order. They are partly put in order. */
static double
select_value(double *values, int n, int place)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		double		middle = values[low + (high - low) / 2];
		int			i = low;
		int			j = high;

		while (i <= j)
		{
			while (values[i] < middle)
				i++;
			while (values[j] > middle)
				j--;
			if (i <= j)
			{
				double		value = values[i];

				values[i++] = values[j];
				values[j--] = value;
			}
		}
		if (place <= j)
			high = j;
		else if (place >= i)
			low = i;
		else
			break;
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

/* Large size classes, as least and greatest size. */
static int
large_classes(const L4Records *records, double (*classes)[2])
{
	double	   *sizes = palloc(sizeof(double) * records->n);
	double		total = 0;
	int			n = 0;

	memcpy(sizes, records->bytes, sizeof(double) * records->n);
	sort_doubles(sizes, records->n);
	for (int i = 0; i < records->n; i++)
		total += sizes[i];
	for (int i = 0; i < records->n && n < MAX_CLASSES;)
	{
		double		least = sizes[i];
		double		sum = 0;

		while (i < records->n && sizes[i] <= least * (1 + 2 * records->tolerance))
			sum += sizes[i++];
		if (sum >= LARGE_CLASS * total)
		{
			classes[n][0] = least;
			classes[n++][1] = sizes[i - 1];
		}
	}
	pfree(sizes);
	return n;
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

/* Share of parts with about the usual number of records of each class, and byte share of parts with about the usual bytes. */
static double
alikeness(const L4Records *records, const int *part, int nparts, const double *bytes, const uint8 *class_of, int nclasses)
{
	double	   *values = palloc(sizeof(double) * nparts);
	int		   *counts = palloc0(sizeof(int) * nparts * (nclasses + 1));
	double		same = 0;
	double		total = 0;
	double		usual;
	double		near = 0;

	for (int i = 0; i < records->n; i++)
		counts[class_of[i] * nparts + part[i]]++;
	for (int c = 0; c < nclasses; c++)
	{
		int			alike = 0;

		for (int p = 0; p < nparts; p++)
			values[p] = counts[c * nparts + p];
		usual = l4_quantile(values, nparts, 0.5);
		for (int p = 0; p < nparts; p++)
			alike += fabs(counts[c * nparts + p] - usual) <= 0.1 * usual;
		same += (double) alike / nparts / nclasses;
	}
	memcpy(values, bytes, sizeof(double) * nparts);
	usual = median(values, nparts);
	for (int p = 0; p < nparts; p++)
	{
		total += bytes[p];
		if (fabs(bytes[p] - usual) <= 0.1 * usual)
			near += bytes[p];
	}
	pfree(values);
	pfree(counts);
	return (nclasses == 0 ? near / total : (same + near / total) / 2);
}

/*
 * Lengths of parts as ratios to the median of a few that lie together, as
 * micro-batches in a step may become more or less; returns their sum.
 */
static double
compare_near(const double *lengths, int n, double *ratios)
{
	double		values[2 * NEAR_PARTS];
	double		sum = 0;

	for (int from = 0, to; from < n; from = to)
	{
		double		usual;

		to = n - from < 2 * NEAR_PARTS ? n : from + NEAR_PARTS;
		memcpy(values, lengths + from, sizeof(double) * (to - from));
		usual = median(values, to - from);
		for (int i = from; i < to; i++)
			sum += ratios[i] = usual > 0 ? lengths[i] / usual : 1;
	}
	return sum;
}

/* Median difference of the lengths of two parts that follow each other, of their sum. */
static double
unevenness(const L4Records *records, double threshold)
{
	int		   *part = palloc(sizeof(int) * records->n);
	int			nparts = l4_divide_parts(records, threshold, part);
	int64	   *ends = palloc(sizeof(int64) * nparts);
	double	   *differences = palloc(sizeof(double) * nparts);
	double		result;

	for (int i = 0; i < records->n; i++)
		ends[part[i]] = i == 0 || part[i] != part[i - 1] ? records->end[i] : Max(ends[part[i]], records->end[i]);
	for (int p = 2; p < nparts; p++)
		differences[p - 2] = fabs((double) (ends[p] - 2 * ends[p - 1] + ends[p - 2])) / Max(ends[p] - ends[p - 2], 1);
	result = median(differences, nparts - 2);
	pfree(part);
	pfree(ends);
	pfree(differences);
	return result;
}

/*
 * What a threshold costs: parts of a period that varies, or that are unlike.
 * A cost above the limit is not needed, nor found out.
 */
static void
try_threshold(const L4Records *records, L4Division *division, double limit, const uint8 *class_of, int nclasses)
{
	int		   *part = palloc(sizeof(int) * records->n);
	int			nparts = l4_divide_parts(records, division->threshold, part);
	double	   *bytes = palloc0(sizeof(double) * nparts);
	int64	   *ends = palloc0(sizeof(int64) * nparts);
	double	   *lengths = palloc(sizeof(double) * nparts);
	double	   *ratios = palloc(sizeof(double) * nparts);
	double		sum = 0;

	division->nparts = nparts;
	division->cost = NO_COST;
	division->period = 0;
	for (int i = 0; i < records->n; i++)
	{
		ends[part[i]] = bytes[part[i]] == 0 ? records->end[i] : Max(ends[part[i]], records->end[i]);
		bytes[part[i]] += records->bytes[i];
	}
	for (int p = 1; p < nparts; p++)
		lengths[p - 1] = (double) (ends[p] - ends[p - 1]);
	if (nparts >= 2)
	{
		sum = compare_near(lengths, nparts - 1, ratios);
		division->period = l4_quantile(lengths, nparts - 1, PERIOD);
	}
	if (nparts >= FEWEST_PARTS && division->period > 0)
	{
		double		cost = 0.7 * Max(0, fabs(sum / (nparts - 1) - 1) - 0.1);

		if (cost <= limit)
			cost += 0.5 * Min(l4_quantile(ratios, nparts - 1, 0.85) - l4_quantile(ratios, nparts - 1, 0.15), 0.6);
		if (cost <= limit)
			division->cost = cost + 1.5 * (1 - alikeness(records, part, nparts, bytes, class_of, nclasses));
	}
	pfree(part);
	pfree(bytes);
	pfree(ends);
	pfree(lengths);
	pfree(ratios);
}

typedef struct Jump
{
	double		ratio;
	double		threshold;
} Jump;

static int
greater_jump(const void *a, const void *b)
{
	const Jump *x = a;
	const Jump *y = b;

	if (x->ratio != y->ratio)
		return x->ratio > y->ratio ? -1 : 1;
	return (x->threshold > y->threshold) - (x->threshold < y->threshold);
}

/* Thresholds where the sorted silences jump, ascending; the first is below all. */
static int
find_thresholds(const L4Records *records, L4Division *divisions)
{
	double	   *silences = palloc(sizeof(double) * Max(records->n, 1));
	Jump	   *jumps = palloc(sizeof(Jump) * Max(records->n, 1));
	double		thresholds[L4_DIVISIONS];
	int64		end = records->n > 0 ? records->end[0] : 0;
	int			n = 0;
	int			njumps = 0;
	int			found = 0;

	for (int i = 1; i < records->n; i++)
	{
		if (records->start[i] - end > LEAST_SILENCE)
			silences[n++] = (double) (records->start[i] - end);
		end = Max(end, records->end[i]);
	}
	sort_doubles(silences, n);
	for (int i = 1; i < n; i++)
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
 * one whose cost is near the least, -1 when there are too few parts for any.
 */
int
l4_divide(const L4Records *records, L4Division *divisions, int *best)
{
	double		classes[MAX_CLASSES][2];
	int			nclasses = large_classes(records, classes);
	int			n = find_thresholds(records, divisions);
	double		least = NO_COST;
	uint8	   *class_of = palloc(Max(records->n, 1));

	/* behind the last class: of none */
	for (int i = 0; i < records->n; i++)
		for (class_of[i] = 0; class_of[i] < nclasses; class_of[i]++)
			if (records->bytes[i] >= classes[class_of[i]][0] && records->bytes[i] <= classes[class_of[i]][1])
				break;
	*best = -1;
	/* few parts first: they tell soon which costs are needed */
	for (int i = n - 1; i >= 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		try_threshold(records, &divisions[i], least + FINER, class_of, nclasses);
		least = Min(least, divisions[i].cost);
	}
	for (int i = n - 1; i >= 0; i--)
		if (least < NO_COST && divisions[i].cost <= least + FINER)
			*best = i;
	if (*best >= 0)
		divisions[*best].uneven = unevenness(records, divisions[*best].threshold);
	pfree(class_of);
	return n;
}
