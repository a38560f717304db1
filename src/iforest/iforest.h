/*
 * iforest.h
 *		Isolation forest (Liu, Ting and Zhou, 2008) over event vectors.
 */
#ifndef L4_IFOREST_H
#define L4_IFOREST_H

#include "evector/evector.h"

#define L4_IFOREST_VERSION			1

#define L4_IFOREST_MAX_TREES		10000
#define L4_IFOREST_MIN_SAMPLE		2
#define L4_IFOREST_MAX_SAMPLE		65536

/* Most trees times sampled rows: bounds time, memory and size of a forest. */
#define L4_IFOREST_MAX_LEAVES		4194304

/*
 * Distinct vectors kept for training, in bytes with 64 for each. Beyond it
 * those with the smallest hashes stay, whatever the order of rows.
 */
#define L4_IFOREST_MAX_POOL			(64 * 1024 * 1024)

/* Most cells (sampled rows times their events) of the matrix of one tree. */
#define L4_IFOREST_MAX_CELLS		(64 * 1024 * 1024)

typedef struct L4ForestOptions
{
	int64		trees;
	int64		sample_size;
	int64		seed;
} L4ForestOptions;

/* A distinct vector of the training set and how many rows have it. */
typedef struct L4ForestRow
{
	uint64		hash;			/* l4_evector_hash() with the seed */
	int64		rows;
	struct varlena *vector;
} L4ForestRow;

/* Order of training: by hash, then by bytes. Makes row order irrelevant. */
extern int	l4_iforest_compare_rows(const void *a, const void *b);

/* A forest of rows in that order; result in the current context. */
extern struct varlena *l4_iforest_train(const L4ForestOptions *options,
										const L4ForestRow *rows, int nrows);

/*
 * A tree node during training, in preorder: an inner node and then its left
 * and its right subtree, or a leaf.
 */
typedef struct L4ForestSplit
{
	int64		value;			/* threshold (left: <=), or rows in the leaf */
	int32		event_id;
	bool		leaf;
} L4ForestSplit;

/* The bytes of a forest, from splits of all its trees one after the other. */
extern struct varlena *l4_iforest_encode(const L4ForestOptions *options,
										 int sample, int64 rows,
										 const L4ForestSplit *splits, int64 nsplits);

/*
 * A forest ready for scoring. Each tree has a node for every possible path:
 * node 1 is the root, 2n and 2n + 1 are the children of n, so that children
 * need no pointers. Eight trees stand abreast: node n of the first of them, of the
 * second …; their number is rounded up by trees that make no difference.
 *
 * A node is four bytes, threshold and slot, where counts may be limited to 16
 * bits, since no threshold is larger, and slots are few enough.
 */
#define L4_FOREST_ABREAST	8
#define L4_SHORT_SLOTS		65536
#define L4_SHORT_NEVER		0xffff	/* as a threshold: no count is greater */

typedef struct L4ForestNode
{
	int64		threshold;		/* left: <=; PG_INT64_MAX below leaves */
	uint32		slot;			/* of the event that is tested */
} L4ForestNode;

typedef struct L4Forest
{
	int64		trees;
	int64		sample;			/* rows a tree was grown from */
	int64		seed;
	int64		rows;			/* of the training set */
	int			nevents;
	int32	   *events;			/* that some split tests, ascending */
	int64		nnodes;
	int			levels;			/* of inner nodes: the length of a path */
	uint32	   *short_nodes;	/* slot * 65536 + threshold; NULL: nodes instead */
	L4ForestNode *nodes;
	double	   *path;			/* by end of a path: depth + c(rows) - normal */
	double	   *expected;		/* by tree and node: mean path still to go; see explain */
	double		normal;			/* c(sample): the path of an unsuspicious row */

	/*
	 * Slots: where the ids lie close together, each id of the range has one,
	 * from first_id on. Else (compact) only the tested events have, in order.
	 */
	bool		compact;
	int64		first_id;
	int64		nslots;

	/* the vector scored last */
	uint16	   *short_counts;	/* by slot, with short_nodes */
	int64	   *counts;			/* else */
} L4Forest;

/* Where a node of a tree stands; the end of a path stands where its number less that of the first end would. */
static inline Size
l4_forest_position(const L4Forest *forest, int64 tree, uint32 node)
{
	Size		group = (Size) (tree / L4_FOREST_ABREAST) << forest->levels;

	return (group + node) * L4_FOREST_ABREAST + tree % L4_FOREST_ABREAST;
}

/* Nodes of all trees, and ends of paths. */
static inline Size
l4_forest_size(const L4Forest *forest)
{
	return l4_forest_position(forest, (forest->trees + L4_FOREST_ABREAST - 1) / L4_FOREST_ABREAST * L4_FOREST_ABREAST, 0);
}

/*
 * Checks every byte; where these are no forest at all the error has this code.
 * The forest is built in the current context.
 */
extern L4Forest *l4_iforest_decode(const struct varlena *bytes, int sqlstate);

extern double l4_iforest_score(const L4Forest *forest, const struct varlena *vector);

/* log2 of the score of a row that gives away nothing. */
extern double l4_iforest_base(const L4Forest *forest);

typedef struct L4Contribution
{
	int32		event_id;
	double		value;
} L4Contribution;

/* Events that the row's paths test, the greatest contribution first. */
extern L4Contribution *l4_iforest_explain(const L4Forest *forest,
										  const struct varlena *vector, int *n);

/* Deepest level of trees that are grown from this many rows. */
extern int	l4_iforest_depth_limit(int64 sample);

#endif							/* L4_IFOREST_H */
