/*
 * miner_int.h
 *		What the files of algorithm l4 share. Each uses those below it:
 *		replay.c (what another model learnt), miner.c (match, learn), coarse.c
 *		(bounds), node.c (a node's rows become templates), merge.c (templates
 *		that are one event), cluster_stat.c (statistics), model.c (parts of the
 *		model), intern.c (strings, cutting).
 */
#ifndef L4_MINER_INT_H
#define L4_MINER_INT_H

#include "lib/stringinfo.h"

#include "miner/miner.h"

/* Flags of a string. */
#define S_LETTER	0x01		/* has a letter: a word */
#define S_MARK		0x04		/* has a mark */
#define S_KEY		0x08		/* delimiter after which a value stands: ends in = or :, or opens a quote or a bracket */
#define S_WHO		0x10		/* user, username, logname, host, hostname */
#define S_DOTTED	0x40		/* a qualified name: letters, a dot or / or a :: and letters */
#define S_VALUE		0x80		/* has a digit or a mark */
#define S_TELLING	0x20		/* nan, FAILED: tells how something went; never hidden in a variable */

/* A shape cut into slots, each with the delimiter after it. Reused. */
typedef struct L4Cut
{
	int			ncols;
	int			size;
	L4Str	   *cols;
	L4Str	   *delims;
	int32	   *from;			/* where the slots are in the shape's text */
	int32	   *len;
	uint64		hash;			/* of the delimiters */
} L4Cut;

/* A set of rows that are one template, while a node is clustered. */
typedef struct L4Cluster
{
	L4Str	   *cols;
	uint64		hash;			/* sum over columns, see cluster_stat.c */
	int			first;			/* its rows, chained by next_row */
	int			last;
	bool		dead;
	int			next;			/* the next that differs in the column looked at alone, -1 none */
	bool		leads;			/* such a chain */
} L4Cluster;

typedef enum L4Strange
{
	L4_NOT_STRANGE,
	L4_STRANGE_WORDS,			/* most of its words are unknown */
	L4_STRANGE_FORM				/* it is wide, or has no word */
} L4Strange;

/* What one mark of a printed pattern stands for: bytes of a text. */
typedef struct L4Found
{
	int			from;
	int			to;
} L4Found;

typedef struct L4Scratch
{
	L4Cut		cut;
	uint32		stamp;
	uint64		set_key[1024];	/* a small set */
	int			set_value[1024];
	uint32		set_stamp[1024];
	int			next_row[L4_NODE_ROWS + 1];
	int			order[L4_NODE_ROWS + 1];
	L4Cluster	clusters[L4_NODE_ROWS + 1];
	int			nclusters;
	int			nchanged;
	int32		changed[L4_NODE_ROWS + 1];	/* templates that a miss made or made more general */
	L4Str	   *cluster_cols;	/* (L4_NODE_ROWS + 1) * ncols */
	Size		cluster_cols_size;
} L4Scratch;

/* intern.c */
extern bool l4_is_telling(const char *s, int len);
extern L4Str l4_string_intern(L4Model *m, const char *bytes, int len, bool copy);
extern const L4String *l4_string_class(const L4Model *m, L4Str s);
extern void l4_cut(L4Model *m, const L4Shape *shape, bool intern, L4Cut *cut);
extern void l4_columns(const L4Model *m, const L4Shape *shape, int *columns);

/* A string with its flags and stem. */
static inline const L4String *
l4_string(const L4Model *m, L4Str s)
{
	return likely(m->strings[s].classed) ? &m->strings[s] : l4_string_class(m, s);
}

static inline uint64
l4_mix64(uint64 a)
{
	a ^= a >> 32;
	a *= UINT64CONST(0xD6E8FEB86659FD93);
	a ^= a >> 32;
	a *= UINT64CONST(0xD6E8FEB86659FD93);
	return a ^ (a >> 32);
}

static inline uint64
l4_hash2(uint64 a, uint64 b)
{
	return l4_mix64(a * UINT64CONST(0x9E3779B97F4A7C15) + b + 1);
}

static inline uint64
l4_child_key(int32 node, L4Str value)
{
	return l4_hash2(node, value);
}

/* model.c */
extern bool l4_fits(const L4Model *m, const L4Str *pattern, const L4Str *cols, int ncols, int *nvars);
extern L4Str *l4_cols_copy(L4Model *m, const L4Str *cols, int ncols);
extern int32 l4_group_new(L4Model *m, int tag, int ncols, const L4Str *delims);
extern int32 l4_group_of(L4Model *m, int tag, const L4Cut *cut, bool make);
extern int32 l4_node_new(L4Model *m, int32 group, int32 parent, L4Str value);
extern void l4_node_attach(L4Model *m, int32 node, int32 template);
extern int32 l4_template_new(L4Model *m, int32 node, int ncols, const L4Str *cols, int32 event);
extern void l4_event_add(L4Event *event, int64 occurrences);
extern void l4_event_merge(L4Model *m, int32 a, int32 b, int32 prints);
extern void l4_row_add(L4Model *m, int32 node, int32 template, uint64 key, const L4Str *cols, int ncols);
extern L4Shape l4_row_shape(const L4Model *m, const L4Group *g, const L4Str *cols, StringInfo text);

/* cluster_stat.c */
extern void l4_cluster_rows(L4Model *m, const L4GroupNode *node);
extern int	l4_column_values(L4Model *m, const L4GroupNode *node, int c);

/* merge.c */
extern int	l4_align(const char *pat, int plen, const char *text, int tlen, L4Found *found, bool blanks);
extern void l4_merge_template(L4Model *m, int32 template);
extern void l4_merge_prepare(L4Model *m);

/* node.c */
extern void l4_recluster(L4Model *m, int32 node);
extern void l4_node_compact(L4Model *m, int32 node);

/* coarse.c */
extern L4Strange l4_strangeness(const L4Model *m, const L4Cut *cut);
extern void l4_budget_spend(L4Model *m, const L4Shape *shape, bool strange, int32 templates);
extern bool l4_budget_is_used(const L4Model *m);
extern void l4_budget_close(L4Model *m);
extern int32 l4_coarse_event(L4Model *m, int tag, const L4Shape *shape, bool make);

/* miner.c */
extern int32 l4_fitting_template(L4Model *m, int tag, const L4Shape *shape);
extern int32 l4_learn_cut(L4Model *m, int tag, uint64 key);

#endif							/* L4_MINER_INT_H */
