/*
 * drain_int.h
 *		The inside of Drain, shared by the drain_*.c files only.
 */
#ifndef L4_DRAIN_INT_H
#define L4_DRAIN_INT_H

#include "base/map.h"
#include "drain/drain.h"

/* Token numbers that are always the same. */
#define TOKEN_UNKNOWN 0			/* in a line: no cluster and no node has it */
#define TOKEN_PARAM 1			/* "<*>" */

typedef struct DrainToken
{
	char	   *text;			/* NULL: free */
	uint32		len;
	uint32		next;			/* the next one of this hash, or the next free number; 0 none */
	uint64		hash;
	int64		refs;			/* positions in clusters, and nodes */
} DrainToken;

/*
 * A node of the tree. Node 0 is the root, whose children are keyed by the
 * number of tokens; the others' are keyed by token number. Clusters hang on
 * leaves only, in order of creation, which is the order of their ids.
 */
typedef struct DrainNode
{
	uint32		key;
	int32		nchildren;
	int32		first_child;	/* in order of creation; -1 none */
	int32		last_child;
	int32		next_sibling;
	int32		nclusters;
	int32		size;			/* allocated entries of ids and slots */
	int32	   *ids;			/* an id whose slot holds another one was evicted */
	int32	   *slots;
} DrainNode;

/* One cluster with its place in the order of use (oldest first). */
typedef struct DrainSlot
{
	L4DrainCluster cluster;
	int32		older;
	int32		newer;
} DrainSlot;

struct L4Drain
{
	MemoryContext cxt;
	L4DrainOptions options;
	bool		utf8;
	bool		long_delimiters;
	uint8		byte_class[256];
	StringInfoData replaced[2]; /* the line while long delimiters are replaced */

	/* the line at hand */
	L4DrainToken *ranges;
	int			ranges_size;
	uint32	   *line_tokens;
	int			line_size;

	/* interned tokens */
	DrainToken *tokens;
	int32		ntokens;		/* numbers given out, free ones included */
	int32		tokens_size;
	uint32		free_token;		/* first free number, 0 none */
	L4Map	   *token_map;		/* hash -> the newest token of it */

	/* nodes */
	DrainNode  *nodes;
	int32		nnodes;
	int32		nodes_size;
	L4Map	   *node_map;		/* (parent, key) -> node */

	/* clusters */
	DrainSlot  *slots;
	int32		nslots;			/* slots in use: clusters are never freed, only replaced */
	int32		slots_size;
	int32		oldest;			/* ends of the order of use, -1 none */
	int32		newest;
	int32		last_id;
	L4Map	   *id_map;			/* id -> slot + 1, only with max_clusters; else slot = id - 1 */
};

/* drain_text.c */
extern void l4_drain_text_init(L4Drain *drain);
extern bool l4_drain_has_digit(const L4Drain *drain, const char *token, int len);

/* drain_store.c: tokens, nodes, clusters */
extern void l4_drain_store_init(L4Drain *drain);
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
