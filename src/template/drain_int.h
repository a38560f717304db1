/*
 * drain_int.h
 *		The inside of Drain, shared by the drain_*.c files only.
 */
#ifndef L4_DRAIN_INT_H
#define L4_DRAIN_INT_H

#include "template/drain.h"

/* Token numbers that are always the same. */
#define TOKEN_UNKNOWN 0			/* in a line: no cluster and no node has it */
#define TOKEN_PARAM 1			/* "<*>" */

typedef struct DrainToken
{
	char	   *text;			/* NULL: free, hash is the next free number */
	uint32		len;
	uint32		hash;
	int64		refs;			/* positions in clusters, and nodes */
} DrainToken;

/*
 * A node of the tree. Node 0 is the root, whose children are keyed by the
 * number of tokens; the others' are keyed by token number. Clusters hang on
 * leaves only, in order of creation, which is the order of their ids.
 */
typedef struct DrainNode
{
	int32		parent;
	uint32		key;
	int32		nchildren;
	int32		first_child;	/* in order of creation; -1 none */
	int32		last_child;
	int32		next_sibling;
	int32		nclusters;
	int32		size;			/* allocated entries of ids and slots */
	int32	   *ids;			/* an id whose slot holds another one was evicted */
	int32	   *slots;
	uint32		version;		/* of a leaf: changes with its clusters and their templates */
} DrainNode;

/* One cluster with its place in the order of use (oldest first). */
typedef struct DrainSlot
{
	L4DrainCluster cluster;
	uint32	   *tokens;			/* what cluster.tokens shows */
	int32		leaf;
	int32		older;
	int32		newer;
} DrainSlot;

/*
 * A line learnt before and the cluster that it went to. The same line goes
 * there again as long as its way through the tree is the same (no node was
 * added) and so are the clusters of its leaf.
 */
typedef struct DrainMemo
{
	uint32		hash;
	int32		len;			/* 0: none */
	int32		slot;
	int32		leaf;			/* the slot may belong to another one by now */
	int32		nnodes;
	uint32		version;
	char	   *text;			/* L4_DRAIN_MEMO_LEN bytes */
} DrainMemo;

/* Lines remembered, a power of two, and their greatest length. */
#define L4_DRAIN_MEMOS 1024
#define L4_DRAIN_MEMO_LEN 512

struct L4Drain
{
	MemoryContext cxt;
	L4DrainOptions options;
	bool		utf8;
	bool		long_delimiters;
	uint8		byte_class[256];
	StringInfoData replaced[2]; /* the line while long delimiters are replaced */

	DrainMemo  *memos;			/* NULL until the first line is learnt */

	/* the line at hand */
	L4DrainToken *ranges;
	uint32	   *line_tokens;
	int			token_size;

	/* interned tokens: entries by number, and an open-addressing table of numbers */
	DrainToken *tokens;
	uint32		ntokens;		/* numbers given out, free ones included */
	uint32		tokens_size;
	uint32		free_token;		/* first free number, 0 none */
	uint32	   *token_table;
	uint32		token_mask;		/* table size - 1 */
	uint32		token_live;

	/* nodes, and a table of node numbers by (parent, key) */
	DrainNode  *nodes;
	int32		nnodes;
	int32		nodes_size;
	int32	   *node_table;		/* -1 empty */
	uint32		node_mask;

	/* clusters */
	DrainSlot  *slots;
	int32		nslots;			/* slots in use: clusters are never freed, only replaced */
	int32		slots_size;
	int32		oldest;			/* ends of the order of use, -1 none */
	int32		newest;
	int32		last_id;
	int32	   *id_table;		/* slot by id, only with max_clusters; else slot = id - 1 */
	uint32		id_mask;
};

/* drain_text.c */
extern void l4_drain_text_init(L4Drain *drain);
extern bool l4_drain_has_digit(const L4Drain *drain, const char *token, int len);

/* drain_store.c: tokens, nodes, clusters */
extern void l4_drain_store_init(L4Drain *drain);
extern uint32 l4_drain_token_hash(const char *text, int len);
extern uint32 l4_drain_token_find(const L4Drain *drain, const char *text, int len);
extern uint32 l4_drain_token_intern(L4Drain *drain, const char *text, int len);
extern void l4_drain_token_unref(L4Drain *drain, uint32 token);
extern int32 l4_drain_node_child(const L4Drain *drain, int32 parent, uint32 key);
extern int32 l4_drain_node_add(L4Drain *drain, int32 parent, uint32 key);
extern void l4_drain_leaf_add(L4Drain *drain, int32 leaf, int32 slot);
extern int32 l4_drain_slot_new(L4Drain *drain, int32 id, int32 ntokens);
extern int32 l4_drain_slot_of(const L4Drain *drain, int32 id);
extern void l4_drain_slot_touch(L4Drain *drain, int32 slot);

#endif							/* L4_DRAIN_INT_H */
