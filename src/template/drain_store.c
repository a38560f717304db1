/*
 * drain_store.c
 *		What Drain keeps: interned tokens, tree nodes, clusters in order of use.
 *
 * Everything is addressed by number, so that comparing a line with a template
 * compares integers and the whole can be written out as it stands.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "template/drain_int.h"

#define FIRST_SIZE 64			/* of each growing array; tables are twice as large, a power of two */

/* Grow an array to at least twice its size. */
static void *
grow(void *array, int32 *size, size_t entry)
{
	if (*size > PG_INT32_MAX / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many templates for algorithm drain")));
	*size *= 2;
	return repalloc_huge(array, entry * (Size) *size);
}

/* Mix two numbers into a hash. */
static inline uint32
mix(uint32 a, uint32 b)
{
	uint64		h = ((uint64) a << 32 | b) * UINT64CONST(0x9E3779B97F4A7C15);

	return (uint32) (h >> 32) ^ (uint32) h;
}

uint32
l4_drain_token_hash(const char *text, int len)
{
	uint64		h = (uint64) len * UINT64CONST(0x9E3779B97F4A7C15);
	uint64		word;

	while (len >= 8)
	{
		memcpy(&word, text, 8);
		h = (h ^ word) * UINT64CONST(0xD6E8FEB86659FD93);
		h ^= h >> 32;
		text += 8;
		len -= 8;
	}
	if (len > 0)
	{
		word = 0;
		memcpy(&word, text, len);
		h = (h ^ word) * UINT64CONST(0xD6E8FEB86659FD93);
		h ^= h >> 32;
	}
	h *= UINT64CONST(0x9E3779B97F4A7C15);
	return (uint32) (h >> 32);
}

void
l4_drain_store_init(L4Drain *drain)
{
	drain->token_size = FIRST_SIZE;
	drain->ranges = palloc(sizeof(L4DrainToken) * FIRST_SIZE);
	drain->line_tokens = palloc(sizeof(uint32) * FIRST_SIZE);

	drain->tokens_size = FIRST_SIZE;
	drain->tokens = palloc0(sizeof(DrainToken) * FIRST_SIZE);
	drain->ntokens = TOKEN_PARAM;	/* numbers before the first interned one */
	drain->token_mask = FIRST_SIZE * 2 - 1;
	drain->token_table = palloc0(sizeof(uint32) * FIRST_SIZE * 2);

	drain->nodes_size = FIRST_SIZE;
	drain->nodes = palloc(sizeof(DrainNode) * FIRST_SIZE);
	drain->node_mask = FIRST_SIZE * 2 - 1;
	drain->node_table = palloc(sizeof(int32) * FIRST_SIZE * 2);
	memset(drain->node_table, 0xFF, sizeof(int32) * FIRST_SIZE * 2);

	drain->slots_size = FIRST_SIZE;
	drain->slots = palloc(sizeof(DrainSlot) * FIRST_SIZE);
	drain->oldest = drain->newest = -1;
	drain->id_mask = FIRST_SIZE * 2 - 1;
	drain->id_table = palloc(sizeof(int32) * FIRST_SIZE * 2);
	memset(drain->id_table, 0xFF, sizeof(int32) * FIRST_SIZE * 2);

	/* number 1 is "<*>" and never goes */
	l4_drain_token_intern(drain, "<*>", 3);
	drain->nnodes = 0;
	l4_drain_node_add(drain, -1, 0);
}

/* ---- tokens ---- */

uint32
l4_drain_token_find(const L4Drain *drain, const char *text, int len)
{
	uint32		hash = l4_drain_token_hash(text, len);
	uint32		i = hash & drain->token_mask;
	uint32		number;

	while ((number = drain->token_table[i]) != 0)
	{
		const DrainToken *token = &drain->tokens[number];

		if (token->hash == hash && token->len == len && memcmp(token->text, text, len) == 0)
			return number;
		i = (i + 1) & drain->token_mask;
	}
	return TOKEN_UNKNOWN;
}

static void
place_token(L4Drain *drain, uint32 number)
{
	uint32		i = drain->tokens[number].hash & drain->token_mask;

	while (drain->token_table[i] != 0)
		i = (i + 1) & drain->token_mask;
	drain->token_table[i] = number;
}

/* Double the table when it is half full. */
static void
grow_token_table(L4Drain *drain)
{
	uint32		size;

	if (drain->token_live * 2 <= drain->token_mask)
		return;
	size = (drain->token_mask + 1) * 2;
	pfree(drain->token_table);
	drain->token_table = MemoryContextAllocExtended(drain->cxt, sizeof(uint32) * (Size) size,
													MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	drain->token_mask = size - 1;
	for (uint32 n = 1; n < drain->ntokens; n++)
		if (drain->tokens[n].text != NULL)
			place_token(drain, n);
}

/* The token's number, with one reference more. */
uint32
l4_drain_token_intern(L4Drain *drain, const char *text, int len)
{
	uint32		number = l4_drain_token_find(drain, text, len);
	DrainToken *token;

	if (number == TOKEN_UNKNOWN)
	{
		grow_token_table(drain);
		if (drain->free_token != 0)
		{
			number = drain->free_token;
			drain->free_token = drain->tokens[number].hash;
		}
		else
		{
			if (drain->ntokens == drain->tokens_size)
				drain->tokens = grow(drain->tokens, (int32 *) &drain->tokens_size,
									 sizeof(DrainToken));
			number = drain->ntokens++;
		}
		token = &drain->tokens[number];
		token->text = MemoryContextAlloc(drain->cxt, len + 1);
		memcpy(token->text, text, len);
		token->text[len] = '\0';
		token->len = len;
		token->hash = l4_drain_token_hash(text, len);
		token->refs = 0;
		drain->token_live++;
		place_token(drain, number);
	}
	drain->tokens[number].refs++;
	return number;
}

/* Take number out of the table: move back those behind it that would not be found any more. */
static void
unplace_token(L4Drain *drain, uint32 number)
{
	uint32		hole = drain->tokens[number].hash & drain->token_mask;
	uint32		i;

	while (drain->token_table[hole] != number)
		hole = (hole + 1) & drain->token_mask;
	for (i = (hole + 1) & drain->token_mask; drain->token_table[i] != 0;
		 i = (i + 1) & drain->token_mask)
	{
		uint32		home = drain->tokens[drain->token_table[i]].hash & drain->token_mask;

		if (((i - home) & drain->token_mask) >= ((i - hole) & drain->token_mask))
		{
			drain->token_table[hole] = drain->token_table[i];
			hole = i;
		}
	}
	drain->token_table[hole] = 0;
}

void
l4_drain_token_unref(L4Drain *drain, uint32 number)
{
	DrainToken *token = &drain->tokens[number];

	if (number == TOKEN_PARAM || --token->refs > 0)
		return;
	unplace_token(drain, number);
	pfree(token->text);
	token->text = NULL;
	token->hash = drain->free_token;
	drain->free_token = number;
	drain->token_live--;
}

/* ---- nodes ---- */

int32
l4_drain_node_child(const L4Drain *drain, int32 parent, uint32 key)
{
	uint32		i = mix(parent, key) & drain->node_mask;
	int32		node;

	while ((node = drain->node_table[i]) != -1)
	{
		if (drain->nodes[node].parent == parent && drain->nodes[node].key == key)
			return node;
		i = (i + 1) & drain->node_mask;
	}
	return -1;
}

static void
place_node(L4Drain *drain, int32 node)
{
	uint32		i = mix(drain->nodes[node].parent, drain->nodes[node].key) & drain->node_mask;

	while (drain->node_table[i] != -1)
		i = (i + 1) & drain->node_mask;
	drain->node_table[i] = node;
}

/* A new node, last among its siblings. The reference to its token is the caller's affair. */
int32
l4_drain_node_add(L4Drain *drain, int32 parent, uint32 key)
{
	DrainNode  *node;
	int32		number;

	if (drain->nnodes == drain->nodes_size)
		drain->nodes = grow(drain->nodes, &drain->nodes_size, sizeof(DrainNode));
	if ((uint32) drain->nnodes * 2 > drain->node_mask)
	{
		Size		size = ((Size) drain->node_mask + 1) * 2;

		drain->node_table = repalloc_huge(drain->node_table, sizeof(int32) * size);
		memset(drain->node_table, 0xFF, sizeof(int32) * size);
		drain->node_mask = size - 1;
		for (int32 n = 1; n < drain->nnodes; n++)
			place_node(drain, n);
	}
	number = drain->nnodes++;
	node = &drain->nodes[number];
	memset(node, 0, sizeof(DrainNode));
	node->parent = parent;
	node->key = key;
	node->first_child = node->last_child = node->next_sibling = -1;
	if (parent < 0)
		return number;			/* the root is nobody's child */
	place_node(drain, number);
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
	if (node->nclusters == node->size)
	{
		if (node->size == 0)
		{
			node->size = 4;
			node->ids = MemoryContextAlloc(drain->cxt, sizeof(int32) * node->size);
			node->slots = MemoryContextAlloc(drain->cxt, sizeof(int32) * node->size);
		}
		else
		{
			node->ids = grow(node->ids, &node->size, sizeof(int32));
			node->slots = repalloc_huge(node->slots, sizeof(int32) * (Size) node->size);
		}
	}
	drain->slots[slot].leaf = leaf;
	node->version++;
	node->ids[node->nclusters] = drain->slots[slot].cluster.id;
	node->slots[node->nclusters++] = slot;
}

/* ---- clusters ---- */

int32
l4_drain_slot_of(const L4Drain *drain, int32 id)
{
	uint32		i;
	int32		slot;

	if (id < 1 || id > drain->last_id)
		return -1;
	if (drain->options.max_clusters == 0)
		return id - 1;
	i = mix(0, id) & drain->id_mask;
	while ((slot = drain->id_table[i]) != -1)
	{
		if (drain->slots[slot].cluster.id == id)
			return slot;
		i = (i + 1) & drain->id_mask;
	}
	return -1;
}

static void
place_id(L4Drain *drain, int32 slot)
{
	uint32		i = mix(0, drain->slots[slot].cluster.id) & drain->id_mask;

	while (drain->id_table[i] != -1)
		i = (i + 1) & drain->id_mask;
	drain->id_table[i] = slot;
}

static void
unplace_id(L4Drain *drain, int32 slot)
{
	uint32		hole = mix(0, drain->slots[slot].cluster.id) & drain->id_mask;
	uint32		i;

	while (drain->id_table[hole] != slot)
		hole = (hole + 1) & drain->id_mask;
	for (i = (hole + 1) & drain->id_mask; drain->id_table[i] != -1; i = (i + 1) & drain->id_mask)
	{
		uint32		home = mix(0, drain->slots[drain->id_table[i]].cluster.id) & drain->id_mask;

		if (((i - home) & drain->id_mask) >= ((i - hole) & drain->id_mask))
		{
			drain->id_table[hole] = drain->id_table[i];
			hole = i;
		}
	}
	drain->id_table[hole] = -1;
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
	unplace_id(drain, slot);
	drain->nodes[s->leaf].version++;
	for (int32 i = 0; i < s->cluster.ntokens; i++)
		l4_drain_token_unref(drain, s->tokens[i]);
	pfree(s->tokens);
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
		if (drain->nslots == drain->slots_size)
			drain->slots = grow(drain->slots, &drain->slots_size, sizeof(DrainSlot));
		slot = drain->nslots++;
	}
	s = &drain->slots[slot];
	s->tokens = MemoryContextAllocHuge(drain->cxt, sizeof(uint32) * (Size) Max(ntokens, 1));
	s->cluster.id = id;
	s->cluster.ntokens = ntokens;
	s->cluster.size = 1;
	s->cluster.tokens = s->tokens;
	if (drain->options.max_clusters == 0)
		return slot;
	if ((uint32) drain->nslots * 2 > drain->id_mask)
	{
		Size		size = ((Size) drain->id_mask + 1) * 2;

		drain->id_table = repalloc_huge(drain->id_table, sizeof(int32) * size);
		memset(drain->id_table, 0xFF, sizeof(int32) * size);
		drain->id_mask = size - 1;
		for (int32 n = 0; n < drain->nslots; n++)
			if (n != slot)
				place_id(drain, n);
	}
	place_id(drain, slot);
	link_newest(drain, slot);
	return slot;
}
