/*
 * drain.h
 *		Drain: log templates by a parse tree of fixed depth, result for result
 *		as Drain3 computes them.
 */
#ifndef L4_DRAIN_H
#define L4_DRAIN_H

#include "utils/palloc.h"

#include "base/bytes.h"

#define L4_DRAIN_MIN_DEPTH 3
#define L4_DRAIN_MAX_DEPTH 1000
#define L4_DRAIN_MIN_CHILDREN 2 /* Drain3 fails on a lookup with less */

typedef struct L4DrainOptions
{
	int64		depth;			/* levels of the tree, root and clusters included; L4_DRAIN_MIN_DEPTH.. */
	double		sim_th;			/* share of equal tokens that a cluster needs, 0..1 */
	int64		max_children;	/* of an inner node; L4_DRAIN_MIN_CHILDREN.. */
	int64		max_clusters;	/* least recently used out beyond; 0 = no limit */
	bool		parametrize_numeric_tokens; /* tokens with a digit branch as "<*>" */
	int			ndelimiters;
	const char *const *delimiters;	/* each is replaced by a blank, in this order; none is empty */
} L4DrainOptions;

typedef struct L4Drain L4Drain;

typedef struct L4DrainCluster
{
	int32		id;				/* 1, 2, 3 … in order of creation; 0 = free slot */
	int32		ntokens;
	int64		size;			/* lines learnt */
	uint32	   *tokens;
} L4DrainCluster;

/* A token of a line: byte range in what l4_drain_tokenize returned. */
typedef struct L4DrainToken
{
	int			off;
	int			len;
} L4DrainToken;

extern void l4_drain_default_options(L4DrainOptions *options);
extern L4Drain *l4_drain_create(const L4DrainOptions *options, MemoryContext parent);

/* Learn one (masked) line; returns its cluster's id. */
extern int32 l4_drain_learn(L4Drain *drain, const char *line, int len);

/*
 * Learn the template of another tree's cluster, met size times: it joins the
 * cluster that fits it in every token, else what learning it as a line gives.
 */
extern int32 l4_drain_learn_cluster(L4Drain *drain, const char *line, int len, int64 size);

/*
 * The cluster whose template fits the line in every token, 0 when none does.
 * Changes nothing. Searches along the tree, then among all clusters of as many
 * tokens, as Drain3's match() does with "fallback".
 */
extern int32 l4_drain_match(L4Drain *drain, const char *line, int len);

extern int32 l4_drain_last_id(const L4Drain *drain);

extern const L4DrainCluster *l4_drain_cluster(const L4Drain *drain, int32 id);	/* NULL: evicted or never made */

/* Template text: tokens joined by one blank, palloc'd in the current context. */
extern char *l4_drain_template(const L4Drain *drain, const L4DrainCluster *cluster, int *len);

/* A token of a template; NULL: a variable. */
extern const char *l4_drain_token(const L4Drain *drain, const L4DrainCluster *cluster, int i, int *len);

/*
 * Split a line as learn and match do. Tokens are byte ranges of *text: the
 * line itself unless a delimiter is longer than one byte. Valid until the
 * next call of learn, match or tokenize.
 */
extern int	l4_drain_tokenize(L4Drain *drain, const char *line, int len,
							  const char **text, const L4DrainToken **tokens);

/* Bytes on disk (see docs/internals.md), without the options; all that the reader has are Drain's. */
extern void l4_drain_serialize(const L4Drain *drain, StringInfo out);
extern L4Drain *l4_drain_deserialize(L4ByteReader *in, const L4DrainOptions *options, MemoryContext parent);

#endif							/* L4_DRAIN_H */
