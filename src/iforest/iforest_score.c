/*
 * iforest_score.c
 *		Isolation forest: scores and explanations.
 *
 * The score of a vector is 2^(-E / c(psi)), where E is the mean over the
 * trees of its path length and c(psi) the mean path of an unsuccessful search
 * in a binary search tree of as many rows as a tree was grown from (Liu, Ting
 * and Zhou, 2008).
 */
#include "postgres.h"

#include <math.h>

#include "evector/evector_scatter.h"
#include "iforest/iforest.h"

static int32
event_of_slot(const L4Forest *forest, int64 slot)
{
	return (int32) (forest->compact ? forest->events[slot] : forest->first_id + slot);
}

/* The counts of a vector by the position of its event among those that are tested. */
static pg_attribute_always_inline void
spread_compact(const L4Forest *forest, const struct varlena *vector, void *cells, Size width)
{
	L4EvectorReader reader;
	int			at = 0;

	l4_evector_open(&reader, vector);
	while (l4_evector_next(&reader))
	{
		while (at < forest->nevents && forest->events[at] < reader.event_id)
			at++;
		if (at < forest->nevents && forest->events[at] == reader.event_id)
			(void) l4_scatter_one(cells, width, at, reader.count);
	}
}

static pg_attribute_always_inline void
spread_width(const L4Forest *forest, const struct varlena *vector, void *cells, Size width)
{
	memset(cells, 0, forest->nslots * width);
	if (forest->compact)
		spread_compact(forest, vector, cells, width);
	else
		(void) l4_evector_scatter(vector, forest->first_id, forest->nslots, cells, width, NULL);
}

/*
 * Put the counts of a vector into their slots, in place of the vector before;
 * events that no split tests do not matter.
 */
static void
spread(const L4Forest *forest, const struct varlena *vector)
{
	if (forest->short_counts != NULL)
		spread_width(forest, vector, forest->short_counts, sizeof(uint16));
	else
		spread_width(forest, vector, forest->counts, sizeof(int64));
}

/* L4_FOREST_ABREAST where the path goes to the right at a node, else 0. */
static pg_attribute_always_inline Size
step_right(const L4Forest *forest, Size node, bool narrow)
{
	if (narrow)
	{
		uint32		n = forest->short_nodes[node];

		/* below zero the upper bits are set */
		return ((n & L4_SHORT_NEVER) - forest->short_counts[n >> 16]) >> 28 & L4_FOREST_ABREAST;
	}
	return forest->counts[forest->nodes[node].slot] > forest->nodes[node].threshold ? L4_FOREST_ABREAST : 0;
}

/*
 * How much longer than normal the paths are, over all trees. Trees that stand
 * abreast are followed together, which hides the waiting for memory. at[] is
 * the node times their number; in each step it is doubled, and the next node
 * is the one at its right where the count exceeds the threshold.
 */
static pg_attribute_always_inline double
sum_paths(const L4Forest *forest, bool narrow)
{
	Size		size = l4_forest_position(forest, L4_FOREST_ABREAST, 0);
	Size		first = 0;		/* node of these trees */
	double		sum = 0;

	for (int64 t = 0; t < forest->trees; t += L4_FOREST_ABREAST)
	{
		Size		at[L4_FOREST_ABREAST];

		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			at[k] = L4_FOREST_ABREAST;
		for (int level = 0; level < forest->levels; level++)
		{
			for (int k = 0; k < L4_FOREST_ABREAST; k++)
				at[k] = at[k] * 2 + step_right(forest, first + at[k] + k, narrow);
		}
		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			sum += forest->path[first + at[k] + k - size];
		first += size;
	}
	return sum;
}

double
l4_iforest_score(const L4Forest *forest, const struct varlena *vector)
{
	double		sum;			/* of differences from a normal path: less rounding */

	/* a forest of one row knows nothing */
	if (forest->normal == 0)
		return 0.5;
	spread(forest, vector);
	sum = forest->short_nodes != NULL ? sum_paths(forest, true) : sum_paths(forest, false);
	return exp2(-(1 + sum / (double) forest->trees / forest->normal));
}

double
l4_iforest_base(const L4Forest *forest)
{
	double		sum = 0;

	if (forest->normal == 0)
		return -1;
	for (int64 t = 0; t < forest->trees; t++)
		sum += forest->expected[((Size) t * 2 << forest->levels) + 1] - forest->normal;
	return -(1 + sum / (double) forest->trees / forest->normal);
}

static int
compare_contributions(const void *x, const void *y)
{
	const L4Contribution *a = x;
	const L4Contribution *b = y;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->event_id > b->event_id) - (a->event_id < b->event_id);
}

/* What an inner node of a tree tests: false where it is no split, since a leaf came before. */
static bool
get_split(const L4Forest *forest, Size at, uint32 *slot)
{
	if (forest->short_nodes != NULL)
	{
		*slot = forest->short_nodes[at] >> 16;
		return (forest->short_nodes[at] & L4_SHORT_NEVER) != L4_SHORT_NEVER;
	}
	*slot = forest->nodes[at].slot;
	return forest->nodes[at].threshold != PG_INT64_MAX;
}

/*
 * At each node of a path the mean path still to go (of the training rows
 * there) is known; a split changes it, and the event that is tested answers
 * for the change. Over a whole path the changes add up to the path's length
 * less the mean length of all paths, so that log2(score) = base + sum of
 * contributions, for every forest and every vector.
 */
L4Contribution *
l4_iforest_explain(const L4Forest *forest, const struct varlena *vector, int *n)
{
	double	   *change = palloc0((forest->nslots + 1) * sizeof(double));
	bool	   *tested = palloc0((forest->nslots + 1) * sizeof(bool));
	L4Contribution *result = palloc((forest->nslots + 1) * sizeof(L4Contribution));
	int			found = 0;

	spread(forest, vector);
	for (int64 t = 0; t < forest->trees; t++)
	{
		const double *expected = forest->expected + ((Size) t * 2 << forest->levels);
		uint32		at = 1;
		Size		position;
		uint32		slot;

		while (at >> forest->levels == 0 &&
			   get_split(forest, position = l4_forest_position(forest, t, at), &slot))
		{
			uint32		next = at * 2 + (step_right(forest, position, forest->short_nodes != NULL) > 0);

			change[slot] += 1 + expected[next] - expected[at];
			tested[slot] = true;
			at = next;
		}
	}
	for (int64 i = 0; i < forest->nslots; i++)
	{
		if (!tested[i])
			continue;
		result[found].event_id = event_of_slot(forest, i);
		result[found++].value = (0 - change[i]) / (double) forest->trees / forest->normal;
	}
	qsort(result, found, sizeof(L4Contribution), compare_contributions);
	pfree(change);
	pfree(tested);
	*n = found;
	return result;
}
