/*
 * drain_store.c
 *		What Drain keeps: interned tokens, tree nodes, clusters in order of use.
 *
 * Everything is addressed by number, so that comparing a line with a template
 * compares integers and the whole can be written out as it stands.
 */
#include "postgres.h"

#include "base/grow.h"
#include "drain/drain_int.h"
#include "scan/scan.h"

void
l4_drain_store_init(L4Drain *drain)
{
	drain->ntokens = TOKEN_PARAM;	/* numbers before the first interned one */
	drain->token_map = l4_map_create(drain->cxt, 64, NULL);
	drain->node_map = l4_map_create(drain->cxt, 64, NULL);
	drain->id_map = l4_map_create(drain->cxt, 64, NULL);
	drain->oldest = drain->newest = -1;
	/* number 1 is "<*>" and never goes */
	l4_drain_token_intern(drain, "<*>", 3);
	l4_drain_node_add(drain, -1, 0);
}

/* ---- tokens ---- */

static uint32
find_hashed(const L4Drain *drain, uint64 hash, const char *text, int len)
{
	uint32		number = l4_map_get(drain->token_map, hash);

	while (number != 0)
	{
		const DrainToken *token = &drain->tokens[number];

		if (token->len == len && memcmp(token->text, text, len) == 0)
			return number;
		number = token->next;
	}
	return TOKEN_UNKNOWN;
}

uint32
l4_drain_token_find(const L4Drain *drain, const char *text, int len)
{
	return find_hashed(drain, l4_hash_bytes(text, len), text, len);
}

/* The token's number, with one reference more. */
uint32
l4_drain_token_intern(L4Drain *drain, const char *text, int len)
{
	uint64		hash = l4_hash_bytes(text, len);
	uint32		number = find_hashed(drain, hash, text, len);

	if (number == TOKEN_UNKNOWN)
	{
		int32	   *newest = l4_map_put(drain->token_map, hash, NULL);
		DrainToken *token;

		if (drain->free_token != 0)
		{
			number = drain->free_token;
			drain->free_token = drain->tokens[number].next;
		}
		else
		{
			L4_GROW(drain->tokens, drain->ntokens, drain->tokens_size, drain->cxt);
			number = drain->ntokens++;
		}
		token = &drain->tokens[number];
		token->text = MemoryContextAlloc(drain->cxt, len + 1);
		memcpy(token->text, text, len);
		token->text[len] = '\0';
		token->len = len;
		token->hash = hash;
		token->refs = 0;
		token->next = *newest;
		*newest = number;
	}
	drain->tokens[number].refs++;
	return number;
}

/* Take a token out of the chain of its hash. */
static void
unchain_token(L4Drain *drain, uint32 number)
{
	const DrainToken *token = &drain->tokens[number];
	uint32		before = l4_map_get(drain->token_map, token->hash);

	if (before != number)
	{
		while (drain->tokens[before].next != number)
			before = drain->tokens[before].next;
		drain->tokens[before].next = token->next;
	}
	else if (token->next != 0)
		*l4_map_put(drain->token_map, token->hash, NULL) = token->next;
	else
		l4_map_delete(drain->token_map, token->hash);
}

void
l4_drain_token_unref(L4Drain *drain, uint32 number)
{
	DrainToken *token = &drain->tokens[number];

	if (number == TOKEN_PARAM || --token->refs > 0)
		return;
	unchain_token(drain, number);
	pfree(token->text);
	token->text = NULL;
	token->next = drain->free_token;
	drain->free_token = number;
}

/* ---- nodes ---- */

static inline uint64
node_key(int32 parent, uint32 key)
{
	return (uint64) parent << 32 | key;
}

int32
l4_drain_node_child(const L4Drain *drain, int32 parent, uint32 key)
{
	int32		child = l4_map_get(drain->node_map, node_key(parent, key));

	/* number 0 is the root, which is nobody's child */
	return child == 0 ? -1 : child;
}

/* A new node, last among its siblings. The reference to its token is the caller's affair. */
int32
l4_drain_node_add(L4Drain *drain, int32 parent, uint32 key)
{
	DrainNode  *node;
	int32		number;

	L4_GROW(drain->nodes, drain->nnodes, drain->nodes_size, drain->cxt);
	number = drain->nnodes++;
	node = &drain->nodes[number];
	memset(node, 0, sizeof(DrainNode));
	node->key = key;
	node->first_child = node->last_child = node->next_sibling = -1;
	if (parent < 0)
		return number;			/* the root is nobody's child */
	*l4_map_put(drain->node_map, node_key(parent, key), NULL) = number;
	if (drain->nodes[parent].first_child < 0)
		drain->nodes[parent].first_child = number;
	else
		drain->nodes[drain->nodes[parent].last_child].next_sibling = number;
	drain->nodes[parent].last_child = number;
	drain->nodes[parent].nchildren++;
	return number;
}

/* Hang a cluster on a leaf, taking the evicted ones off it when there are any. */
void
l4_drain_leaf_add(L4Drain *drain, int32 leaf, int32 slot)
{
	DrainNode  *node = &drain->nodes[leaf];
	int32		slots_size;

	if (drain->options.max_clusters > 0)
	{
		int32		kept = 0;

		for (int32 i = 0; i < node->nclusters; i++)
			if (drain->slots[node->slots[i]].cluster.id == node->ids[i])
			{
				node->ids[kept] = node->ids[i];
				node->slots[kept++] = node->slots[i];
			}
		node->nclusters = kept;
	}
	slots_size = node->size;
	L4_GROW_FROM(node->ids, node->nclusters, node->size, 4, drain->cxt);
	L4_GROW_FROM(node->slots, node->nclusters, slots_size, 4, drain->cxt);
	node->ids[node->nclusters] = drain->slots[slot].cluster.id;
	node->slots[node->nclusters++] = slot;
}

/* ---- clusters ---- */

int32
l4_drain_slot_of(const L4Drain *drain, int32 id)
{
	if (id < 1 || id > drain->last_id)
		return -1;
	return drain->options.max_clusters == 0 ? id - 1 : l4_map_get(drain->id_map, id) - 1;
}

/* Take a slot out of the order of use. */
static void
unlink_slot(L4Drain *drain, int32 slot)
{
	DrainSlot  *s = &drain->slots[slot];

	if (s->older >= 0)
		drain->slots[s->older].newer = s->newer;
	else
		drain->oldest = s->newer;
	if (s->newer >= 0)
		drain->slots[s->newer].older = s->older;
	else
		drain->newest = s->older;
}

static void
link_newest(L4Drain *drain, int32 slot)
{
	DrainSlot  *s = &drain->slots[slot];

	s->older = drain->newest;
	s->newer = -1;
	if (drain->newest >= 0)
		drain->slots[drain->newest].newer = slot;
	else
		drain->oldest = slot;
	drain->newest = slot;
}

void
l4_drain_slot_touch(L4Drain *drain, int32 slot)
{
	if (drain->options.max_clusters == 0 || drain->newest == slot)
		return;
	unlink_slot(drain, slot);
	link_newest(drain, slot);
}

/* Free the least recently used cluster; its slot is used next. */
static int32
evict(L4Drain *drain)
{
	int32		slot = drain->oldest;
	DrainSlot  *s = &drain->slots[slot];

	unlink_slot(drain, slot);
	l4_map_delete(drain->id_map, s->cluster.id);
	for (int32 i = 0; i < s->cluster.ntokens; i++)
		l4_drain_token_unref(drain, s->cluster.tokens[i]);
	pfree(s->cluster.tokens);
	return slot;
}

/* A slot for a new cluster, tokens still to be filled in; evicts one when full. */
int32
l4_drain_slot_new(L4Drain *drain, int32 id, int32 ntokens)
{
	int32		slot;
	DrainSlot  *s;

	if (drain->options.max_clusters > 0 && drain->nslots >= drain->options.max_clusters)
		slot = evict(drain);
	else
	{
		L4_GROW(drain->slots, drain->nslots, drain->slots_size, drain->cxt);
		slot = drain->nslots++;
	}
	s = &drain->slots[slot];
	s->cluster.tokens = MemoryContextAllocHuge(drain->cxt, sizeof(uint32) * (Size) Max(ntokens, 1));
	s->cluster.id = id;
	s->cluster.ntokens = ntokens;
	s->cluster.size = 1;
	if (drain->options.max_clusters == 0)
		return slot;
	*l4_map_put(drain->id_map, id, NULL) = slot + 1;
	link_newest(drain, slot);
	return slot;
}
