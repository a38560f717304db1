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

#include "iforest/iforest.h"

/* Trees that are followed together, which hides the waiting for memory. */
#define ABREAST		8

/* Events that no split tests do not matter. */
static void
spread(const L4Forest *forest, const struct varlena *vector)
{
	l4_evector_spread(vector, forest->events, forest->nevents, forest->counts, false);
}

/* Where the vector goes from a node, without a branch, which nobody could predict: a leaf leads to itself. */
static inline const L4ForestNode *
next_node(const L4Forest *forest, const L4ForestNode *node)
{
	bool		right = forest->counts[node->event] > node->value;

	return node + ((node->right & -(int32) right) | ((node->right != 0) & !right));
}

double
l4_iforest_score(const L4Forest *forest, const struct varlena *vector)
{
	double		sum = 0;		/* of differences from a normal path: less rounding */

	/* a forest of one row knows nothing */
	if (forest->normal == 0)
		return 0.5;
	spread(forest, vector);
	for (int64 t = 0; t < forest->trees; t += ABREAST)
	{
		const L4ForestNode *node[ABREAST];
		int			n = (int) Min(ABREAST, forest->trees - t);

		memcpy(node, forest->roots + t, n * sizeof(L4ForestNode *));
		for (int level = l4_iforest_depth_limit(forest->sample); level > 0; level--)
		{
			for (int k = 0; k < n; k++)
				node[k] = next_node(forest, node[k]);
		}
		for (int k = 0; k < n; k++)
			sum += (double) node[k]->value + forest->expected[node[k] - forest->nodes] - forest->normal;
	}
	return exp2(-(1 + sum / (double) forest->trees / forest->normal));
}

double
l4_iforest_base(const L4Forest *forest)
{
	double		sum = 0;

	if (forest->normal == 0)
		return -1;
	for (int64 t = 0; t < forest->trees; t++)
		sum += forest->expected[forest->roots[t] - forest->nodes] - forest->normal;
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
	double	   *change = palloc0(Max(forest->nevents, 1) * sizeof(double));
	bool	   *tested = palloc0(Max(forest->nevents, 1) * sizeof(bool));
	L4Contribution *result = palloc(Max(forest->nevents, 1) * sizeof(L4Contribution));
	int			found = 0;

	spread(forest, vector);
	for (int64 t = 0; t < forest->trees; t++)
	{
		const L4ForestNode *node = forest->roots[t];

		while (node->right != 0)
		{
			const L4ForestNode *next = next_node(forest, node);

			change[node->event] += 1 + forest->expected[next - forest->nodes] - forest->expected[node - forest->nodes];
			tested[node->event] = true;
			node = next;
		}
	}
	for (int i = 0; i < forest->nevents; i++)
	{
		if (!tested[i])
			continue;
		result[found].event_id = forest->events[i];
		result[found++].value = (0 - change[i]) / (double) forest->trees / forest->normal;
	}
	qsort(result, found, sizeof(L4Contribution), compare_contributions);
	pfree(change);
	pfree(tested);
	*n = found;
	return result;
}
