/*
 * drain_io.c
 *		Drain as bytes: written canonically, and checked on every reading.
 *
 * All numbers are base-128 varints:
 *		last id,
 *		tokens (length and bytes; numbered from 2, since 1 is "<*>", in the
 *		order in which the rest mentions them),
 *		clusters, oldest use first: id, size, tokens,
 *		the tree in preorder: number of children, clusters of the leaf (ids),
 *		then for each child its key and its node.
 * Evicted clusters are not written: that a leaf still lists them has no effect.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "drain/drain_int.h"

/* ---- writing ---- */

/* New numbers of tokens, in the order in which they are first written. */
typedef struct Numbering
{
	uint32	   *number;			/* by token; 0 not yet */
	uint32	   *order;			/* tokens by new number */
	uint32		next;
} Numbering;

static void
note_token(Numbering *numbering, uint32 token)
{
	if (numbering->number[token] != 0)
		return;
	numbering->number[token] = numbering->next;
	numbering->order[numbering->next++] = token;
}

static void
note_nodes(const L4Drain *drain, int32 parent, Numbering *numbering)
{
	for (int32 child = drain->nodes[parent].first_child; child >= 0;
		 child = drain->nodes[child].next_sibling)
	{
		if (parent != 0)
			note_token(numbering, drain->nodes[child].key);
		note_nodes(drain, child, numbering);
	}
}

/* Slot of the next cluster to write after this one, -1 at the end; start with -1. */
static int32
next_slot(const L4Drain *drain, int32 slot)
{
	if (drain->options.max_clusters > 0)
		return slot < 0 ? drain->oldest : drain->slots[slot].newer;
	return slot + 1 < drain->nslots ? slot + 1 : -1;
}

static void
number_tokens(const L4Drain *drain, Numbering *numbering)
{
	Size		size = sizeof(uint32) * ((Size) drain->ntokens + 1);

	numbering->number = MemoryContextAllocExtended(CurrentMemoryContext, size,
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	numbering->order = MemoryContextAllocHuge(CurrentMemoryContext, size);
	numbering->next = TOKEN_PARAM;
	note_token(numbering, TOKEN_PARAM);
	for (int32 slot = next_slot(drain, -1); slot >= 0; slot = next_slot(drain, slot))
		for (int i = 0; i < drain->slots[slot].cluster.ntokens; i++)
			note_token(numbering, drain->slots[slot].cluster.tokens[i]);
	note_nodes(drain, 0, numbering);
}

static void
put_node(const L4Drain *drain, int32 number, const Numbering *numbering, StringInfo out)
{
	const DrainNode *node = &drain->nodes[number];
	int			alive = 0;

	for (int32 i = 0; i < node->nclusters; i++)
		alive += (drain->slots[node->slots[i]].cluster.id == node->ids[i]);
	l4_put_uint(out, node->nchildren);
	l4_put_uint(out, alive);
	for (int32 i = 0; i < node->nclusters; i++)
		if (drain->slots[node->slots[i]].cluster.id == node->ids[i])
			l4_put_uint(out, node->ids[i]);
	for (int32 child = node->first_child; child >= 0; child = drain->nodes[child].next_sibling)
	{
		uint32		key = drain->nodes[child].key;

		l4_put_uint(out, number == 0 ? key : numbering->number[key]);
		put_node(drain, child, numbering, out);
	}
}

void
l4_drain_serialize(const L4Drain *drain, StringInfo out)
{
	Numbering	numbering;

	l4_put_uint(out, drain->last_id);

	number_tokens(drain, &numbering);
	l4_put_uint(out, numbering.next - 1 - TOKEN_PARAM);
	for (uint32 i = TOKEN_PARAM + 1; i < numbering.next; i++)
		l4_put_bytes(out, drain->tokens[numbering.order[i]].text,
				  drain->tokens[numbering.order[i]].len);

	l4_put_uint(out, drain->nslots);
	for (int32 slot = next_slot(drain, -1); slot >= 0; slot = next_slot(drain, slot))
	{
		const L4DrainCluster *cluster = &drain->slots[slot].cluster;

		l4_put_uint(out, cluster->id);
		l4_put_uint(out, cluster->size);
		l4_put_uint(out, cluster->ntokens);
		for (int i = 0; i < cluster->ntokens; i++)
			l4_put_uint(out, numbering.number[cluster->tokens[i]]);
	}
	put_node(drain, 0, &numbering, out);
	pfree(numbering.number);
	pfree(numbering.order);
}

/* ---- reading ---- */

/* Slots met in the tree. */
typedef struct Placed
{
	bool	   *slots;
	int32		n;
} Placed;

/* Tokens get the numbers that they were written with, and no reference yet. */
static uint32
get_tokens(L4ByteReader *in, L4Drain *drain)
{
	uint32		count = l4_get_count(in);

	for (uint32 i = 0; i < count; i++)
	{
		int			len;
		const char *bytes = l4_get_run(in, &len);
		uint32		number;

		if (len == 0 || !pg_verifymbstr(bytes, len, true) || memchr(bytes, '\0', len) != NULL ||
			l4_drain_token_find(drain, bytes, len) != TOKEN_UNKNOWN)
			l4_bytes_corrupted("token");
		number = l4_drain_token_intern(drain, bytes, len);	/* may move drain->tokens */
		drain->tokens[number].refs = 0;
	}
	return count + TOKEN_PARAM;
}

static void
get_clusters(L4ByteReader *in, L4Drain *drain, uint32 max_token)
{
	int32		count = l4_get_count(in);

	if (drain->options.max_clusters == 0 ? count != drain->last_id
		: count > drain->options.max_clusters)
		l4_bytes_corrupted("number of clusters");
	for (int32 c = 0; c < count; c++)
	{
		int32		id = l4_get_number(in, drain->last_id, "cluster id");
		int64		size = l4_get_number(in, PG_INT64_MAX, "cluster size");
		int32		n = l4_get_count(in);
		int32		slot;

		CHECK_FOR_INTERRUPTS();
		if (drain->options.max_clusters == 0 ? id != c + 1
			: id == 0 || l4_drain_slot_of(drain, id) >= 0)
			l4_bytes_corrupted("cluster id");
		if (size == 0)
			l4_bytes_corrupted("cluster size");
		slot = l4_drain_slot_new(drain, id, n);
		drain->slots[slot].cluster.size = size;
		for (int32 i = 0; i < n; i++)
		{
			uint32		token = l4_get_number(in, max_token, "token number");

			if (token == TOKEN_UNKNOWN)
				l4_bytes_corrupted("token number");
			drain->slots[slot].cluster.tokens[i] = token;
			drain->tokens[token].refs++;
		}
	}
}

/* The clusters of a leaf below n tokens, ids ascending. */
static void
get_leaf(L4ByteReader *in, L4Drain *drain, int32 node, int32 count, int32 n, Placed *placed)
{
	for (int32 i = 0; i < count; i++)
	{
		int32		id = l4_get_number(in, drain->last_id, "cluster in the tree");
		int32		slot = l4_drain_slot_of(drain, id);

		if (slot < 0 || placed->slots[slot] || drain->slots[slot].cluster.ntokens != n ||
			(i > 0 && id <= drain->nodes[node].ids[i - 1]))
			l4_bytes_corrupted("cluster in the tree");
		placed->slots[slot] = true;
		placed->n++;
		l4_drain_leaf_add(drain, node, slot);
	}
}

/* Level 0 is the root, level 1 is below the number of tokens n. */
static void
get_node(L4ByteReader *in, L4Drain *drain, int32 node, int level, int32 n, uint32 max_token, Placed *placed)
{
	bool		leaf = level > 0 && level >= Min(drain->options.depth - 2, Max(n, 1));
	int32		nchildren = l4_get_count(in);
	int32		nclusters = l4_get_count(in);

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (leaf ? nchildren > 0 : nclusters > 0)
		l4_bytes_corrupted("kind of node");
	if (level > 0 && nchildren > drain->options.max_children)
		l4_bytes_corrupted("number of children");
	get_leaf(in, drain, node, nclusters, n, placed);
	for (int32 i = 0; i < nchildren; i++)
	{
		uint32		key = l4_get_number(in, level == 0 ? PG_INT32_MAX : max_token, "key");

		if ((level > 0 && key == TOKEN_UNKNOWN) || l4_drain_node_child(drain, node, key) >= 0)
			l4_bytes_corrupted("key");
		if (level > 0)
			drain->tokens[key].refs++;
		get_node(in, drain, l4_drain_node_add(drain, node, key), level + 1,
				 level == 0 ? key : n, max_token, placed);
	}

	/* a full node has "<*>" */
	if (level > 0 && nchildren == drain->options.max_children &&
		l4_drain_node_child(drain, node, TOKEN_PARAM) < 0)
		l4_bytes_corrupted("number of children");
}

L4Drain *
l4_drain_deserialize(L4ByteReader *in, const L4DrainOptions *options, MemoryContext parent)
{
	L4Drain    *drain = l4_drain_create(options, parent);
	Placed		placed = {0};
	uint32		max_token;

	drain->last_id = l4_get_number(in, PG_INT32_MAX, "last id");
	max_token = get_tokens(in, drain);
	get_clusters(in, drain, max_token);
	placed.slots = MemoryContextAllocExtended(CurrentMemoryContext, Max(drain->nslots, 1),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	get_node(in, drain, 0, 0, 0, max_token, &placed);
	pfree(placed.slots);
	if (placed.n != drain->nslots)
		l4_bytes_corrupted("number of clusters in the tree");
	for (uint32 i = TOKEN_PARAM + 1; i <= max_token; i++)
		if (drain->tokens[i].refs == 0)
			l4_bytes_corrupted("token");
	if (in->ptr != in->end)
		l4_bytes_corrupted("end");
	return drain;
}
