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
#include "l4_compat.h"

/* Vectors with so many slots an event or fewer, and some more, are read with all counts set to zero before. */
#define SPARSE_SLOTS	16
#define SPARSE_MORE		2048

static int32
event_of_slot(const L4Forest *forest, int64 slot)
{
	return (int32) (forest->compact ? forest->events[slot] : forest->first_id + slot);
}

static inline void
set_count(L4Forest *forest, int64 slot, int64 count)
{
	if (forest->short_counts != NULL)
		(void) l4_scatter_one(forest->short_counts, sizeof(uint16), slot, count);
	else
		forest->counts[slot] = count;
}

/* All counts become zero; the work is that of the vector before. */
static void
clear_counts(L4Forest *forest)
{
	if (forest->all_touched && forest->short_counts != NULL)
		memset(forest->short_counts, 0, forest->nslots * sizeof(uint16));
	else if (forest->all_touched)
		memset(forest->counts, 0, forest->nslots * sizeof(int64));
	for (int i = 0; i < forest->ntouched; i++)
		set_count(forest, forest->touched[i], 0);
	forest->all_touched = false;
	forest->ntouched = 0;
}

/*
 * Put the counts of a vector into their slots, in place of the vector before;
 * events that no split tests do not matter.
 */
static void
spread(L4Forest *forest, const struct varlena *vector)
{
	L4EvectorReader reader;
	int			at = 0;

	clear_counts(forest);
	l4_evector_open(&reader, vector);
	if (!forest->compact && forest->nslots <= (int64) reader.n * SPARSE_SLOTS + SPARSE_MORE)
	{
		forest->all_touched = true;
		if (forest->short_counts != NULL)
			(void) l4_evector_scatter(vector, forest->first_id, forest->nslots,
									  forest->short_counts, sizeof(uint16), NULL);
		else
			(void) l4_evector_scatter(vector, forest->first_id, forest->nslots,
									  forest->counts, sizeof(int64), NULL);
		return;
	}
	while (l4_evector_next(&reader))
	{
		int64		slot = reader.event_id - forest->first_id;

		if (forest->compact)
		{
			while (at < forest->nevents && forest->events[at] < reader.event_id)
				at++;
			if (at == forest->nevents || forest->events[at] != reader.event_id)
				continue;
			slot = at;
		}
		if (slot < 0 || slot >= forest->nslots)
			continue;
		set_count(forest, slot, reader.count);
		forest->touched[forest->ntouched++] = (uint32) slot;
	}
}

/*
 * How much longer than normal the paths are, over all trees. Trees that stand
 * abreast are followed together, which hides the waiting for memory. at[] is
 * the node times their number; in each step it is doubled, and the next node is
 * the one at its right where the count exceeds the threshold.
 */
static double
sum_short_paths(const L4Forest *forest)
{
	const uint16 *counts = forest->short_counts;
	Size		size = l4_forest_position(forest, L4_FOREST_ABREAST, 0);
	const uint32 *nodes = forest->short_nodes;
	const double *path = forest->path;
	double		sum = 0;

	for (int64 t = 0; t < forest->trees; t += L4_FOREST_ABREAST)
	{
		Size		at[L4_FOREST_ABREAST];

		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			at[k] = L4_FOREST_ABREAST;
		for (int level = 0; level < forest->levels; level++)
		{
			for (int k = 0; k < L4_FOREST_ABREAST; k++)
			{
				uint32		node = nodes[at[k] + k];
				uint32		room = (node & L4_SHORT_NEVER) - counts[node >> 16];

				/* below zero the upper bits are set */
				at[k] = at[k] * 2 + (room >> 28 & L4_FOREST_ABREAST);
			}
		}
		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			sum += path[at[k] + k - size];
		nodes += size;
		path += size;
	}
	return sum;
}

static double
sum_paths(const L4Forest *forest)
{
	const int64 *counts = forest->counts;
	Size		size = l4_forest_position(forest, L4_FOREST_ABREAST, 0);
	const L4ForestNode *nodes = forest->nodes;
	const double *path = forest->path;
	double		sum = 0;

	for (int64 t = 0; t < forest->trees; t += L4_FOREST_ABREAST)
	{
		Size		at[L4_FOREST_ABREAST];

		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			at[k] = L4_FOREST_ABREAST;
		for (int level = 0; level < forest->levels; level++)
		{
			for (int k = 0; k < L4_FOREST_ABREAST; k++)
			{
				const L4ForestNode *node = &nodes[at[k] + k];

				at[k] = at[k] * 2 + (counts[node->slot] > node->threshold ? L4_FOREST_ABREAST : 0);
			}
		}
		for (int k = 0; k < L4_FOREST_ABREAST; k++)
			sum += path[at[k] + k - size];
		nodes += size;
		path += size;
	}
	return sum;
}

double
l4_iforest_score(L4Forest *forest, const struct varlena *vector)
{
	double		sum;			/* of differences from a normal path: less rounding */

	/* a forest of one row knows nothing */
	if (forest->normal == 0)
		return 0.5;
	spread(forest, vector);
	sum = forest->short_nodes != NULL ? sum_short_paths(forest) : sum_paths(forest);
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
get_split(const L4Forest *forest, int64 tree, uint32 node, uint32 *slot, bool *right)
{
	Size		at = l4_forest_position(forest, tree, node);

	if (forest->short_nodes != NULL)
	{
		uint32		threshold = forest->short_nodes[at] & L4_SHORT_NEVER;

		*slot = forest->short_nodes[at] >> 16;
		*right = forest->short_counts[*slot] > threshold;
		return threshold != L4_SHORT_NEVER;
	}
	*slot = forest->nodes[at].slot;
	*right = forest->counts[*slot] > forest->nodes[at].threshold;
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
l4_iforest_explain(L4Forest *forest, const struct varlena *vector, int *n)
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
		uint32		slot;
		bool		right;

		while (at >> forest->levels == 0 && get_split(forest, t, at, &slot, &right))
		{
			uint32		next = at * 2 + right;

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
