/*
 * change_points.c
 *		Bayesian online change points (Adams and MacKay, 2007): values are
 *		normal with unknown mean and variance until they change; the
 *		distribution of the time since the last change is followed value by
 *		value.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "flow/divide.h"
#include "l4_compat.h"

#define PRUNED	1e-9			/* less probable lengths are forgotten */

/* What is known of the values since a change: a normal-gamma distribution. */
typedef struct SinceChange
{
	int			length;
	double		weight;			/* probability */
	double		mean;
	double		kappa;
	double		alpha;
	double		beta;
} SinceChange;

/* Logarithm of the density of a value: Student's t. */
static double
predictive(const SinceChange *s, double x)
{
	double		df = 2 * s->alpha;
	double		scale = s->beta * (s->kappa + 1) / (s->alpha * s->kappa);
	double		z = (x - s->mean) * (x - s->mean) / scale;

	return lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * M_PI * scale) - (df + 1) / 2 * log1p(z / df);
}

static void
add_value(SinceChange *s, double x)
{
	s->beta += s->kappa * (x - s->mean) * (x - s->mean) / (2 * (s->kappa + 1));
	s->mean = (s->kappa * s->mean + x) / (s->kappa + 1);
	s->kappa += 1;
	s->alpha += 0.5;
	s->length++;
}

/*
 * Probability of each of n values that a change lies just before it, as known
 * lag values later (0 for the first, which begins the series). length is how
 * many values are expected between changes.
 */
void
l4_change_points(const double *value, int n, double length, int lag, double *probability)
{
	SinceChange *since = palloc(sizeof(SinceChange) * (n + 1));
	int			nsince = 1;
	double		mean = 0;
	double		square = 0;
	SinceChange prior;

	for (int i = 0; i < n; i++)
	{
		double		difference = value[i] - mean;

		mean += difference / (i + 1);
		square += difference * (value[i] - mean);
	}
	prior = (SinceChange) {.mean = mean, .kappa = 0.01, .alpha = 1, .beta = Max(square / Max(n, 1) / 100, 1e-12)};
	since[0] = prior;
	since[0].weight = 1;
	for (int i = 0; i < n; i++)
		probability[i] = 0;
	for (int i = 0; i < n; i++)
	{
		double		total = 0;
		double		change = 0;
		double		most = -INFINITY;
		int			kept = 0;

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < nsince; k++)
			most = Max(most, predictive(&since[k], value[i]));
		for (int k = 0; k < nsince; k++)
		{
			since[k].weight *= exp(predictive(&since[k], value[i]) - most);
			total += since[k].weight;
			add_value(&since[k], value[i]);
		}
		/* the change, if any, lies before the next value */
		for (int k = 0; k < nsince; k++)
		{
			change += since[k].weight / total / length;
			since[k].weight *= (1 - 1 / length) / total;
			if (since[k].length == i + 1 - Max(i + 1 - lag, 0) || (i == n - 1 && since[k].length <= lag))
				probability[i + 1 - since[k].length] = since[k].weight / (1 - 1 / length);
			if (since[k].weight >= PRUNED)
				since[kept++] = since[k];
		}
		nsince = kept;
		since[nsince] = prior;
		since[nsince++].weight = change;
	}
	if (n > 0)
		probability[0] = 0;
	pfree(since);
}
