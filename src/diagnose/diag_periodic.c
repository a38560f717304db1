/*
 * diag_periodic.c: what comes every so many iterations.
 *
 * Each iteration is looked at by itself until a period is found: where much comes again that is soon, so that the time grows with the square
 * of the number of those that do not come again, not with that of all pairs.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "diagnose/diagnose.h"

#define MIN_PERIOD 3

typedef struct Series
{
	int			n;
	const int32 *iterations;
	const int32 *nodes;
} Series;

static bool
alike(const Series *s, int a, int b)
{
	return (int64) Max(s->nodes[a], s->nodes[b]) <= 2 * (int64) Min(s->nodes[a], s->nodes[b]);
}

/*
 * Is there one at this distance from the iteration i? Goes on from where the last one was looked for, as distances grow: at is its place,
 * step the direction. Returns the place, or -1.
 */
static int
find_at(const Series *s, int64 iteration, int *at, int step)
{
	while (*at >= 0 && *at < s->n && (step > 0 ? s->iterations[*at] < iteration : s->iterations[*at] > iteration))
		*at += step;
	return *at >= 0 && *at < s->n && s->iterations[*at] == iteration ? *at : -1;
}

/* Followed by two, at distances of one and two periods; or, backwards, the last of three */
static bool
is_end(const Series *s, int i, int step)
{
	int			far = i;

	for (int near = i + step; near >= 0 && near < s->n; near += step)
	{
		int64		period = (int64) s->iterations[near] - s->iterations[i];
		int			other;

		if (period > -MIN_PERIOD && period < MIN_PERIOD)
			continue;
		other = find_at(s, s->iterations[near] + period, &far, step);
		if (far < 0 || far >= s->n)
			break;
		if (other >= 0 && alike(s, i, other) && (step > 0 ? alike(s, i, near) : alike(s, other, near)))
			return true;
	}
	return false;
}

/* Between two others */
static bool
is_middle(const Series *s, int i)
{
	int			after = i;

	for (int first = i - 1; first >= 0; first--)
	{
		int64		period = (int64) s->iterations[i] - s->iterations[first];
		int			third;

		if (period < MIN_PERIOD)
			continue;
		third = find_at(s, s->iterations[i] + period, &after, 1);
		if (after >= s->n)
			break;
		if (third >= 0 && alike(s, first, i) && alike(s, first, third))
			return true;
	}
	return false;
}

void
l4_periodic(int n, const int32 *iterations, const int32 *nodes, bool *result)
{
	Series		s = {n, iterations, nodes};

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result[i] = is_end(&s, i, 1) || is_end(&s, i, -1) || is_middle(&s, i);
	}
}
