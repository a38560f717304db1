/*
 * iforest.h
 *		Isolation forest (Liu, Ting and Zhou, 2008) over event vectors.
 */
#ifndef L4_IFOREST_H
#define L4_IFOREST_H

#include "evector/evector.h"

#define L4_IFOREST_VERSION			1

/* Bytes before the hashed part: version and fingerprint. */
#define L4_IFOREST_HEADER			(1 + (int) sizeof(uint64))

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

/* A node of a tree; trees are in preorder: an inner node and then its left and its right subtree, or a leaf. */
typedef struct L4ForestNode
{
	int64		value;			/* threshold (left: <=); of a leaf its rows, and once decoded its depth */
	int32		event;			/* position of the event that is tested; 0 in a leaf */
	int32		right;			/* nodes from here to the right subtree; 0: a leaf */
} L4ForestNode;

/* The bytes of a forest, from the nodes of all its trees one after the other, which test events of ids[]. */
extern struct varlena *l4_iforest_encode(const L4ForestOptions *options, int sample, int64 rows,
										 const int32 *ids, int nids, const L4ForestNode *nodes, int64 nnodes);

extern uint64 l4_iforest_fingerprint(const uint8 *p, Size size);

/* A forest ready for scoring. */
typedef struct L4Forest
{
	int64		trees;
	int64		sample;			/* rows a tree was grown from */
	int64		seed;
	int64		rows;			/* of the training set */
	int			nevents;
	int32	   *events;			/* that some split tests, ascending */
	int64	   *counts;			/* by event: of the vector scored last */
	int64		nnodes;
	L4ForestNode *nodes;
	double	   *expected;		/* by node: mean path still to go over the training rows; see explain */
	L4ForestNode **roots;		/* by tree */
	double		normal;			/* c(sample): the path of an unsuspicious row */
} L4Forest;

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
