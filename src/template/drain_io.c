/*
 * drain_io.c
 *		Drain as bytes: written canonically, and checked on every reading.
 *
 * All numbers are base-128 varints unless said otherwise:
 *		version (1), depth, max_children, max_clusters, flags, sim_th (8 bytes),
 *		delimiters, last id,
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
#include "utils/memutils.h"

#include "template/drain_int.h"

#define DRAIN_VERSION 1
#define FLAG_PARAMETRIZE 1

/* ---- writing ---- */

static void
put(StringInfo out, uint64 value)
{
	while (value >= 0x80)
	{
		appendStringInfoCharMacro(out, (char) (value | 0x80));
		value >>= 7;
	}
	appendStringInfoCharMacro(out, (char) value);
}

/* Eight bytes, lowest first, on any machine. */
static void
put_double(StringInfo out, double value)
{
	uint64		bits;

	memcpy(&bits, &value, sizeof(bits));
	for (int i = 0; i < 8; i++)
		appendStringInfoCharMacro(out, (char) (bits >> (8 * i)));
}

static void
put_bytes(StringInfo out, const char *bytes, size_t len)
{
	put(out, len);
	appendBinaryStringInfo(out, bytes, len);
}

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
			note_token(numbering, drain->slots[slot].tokens[i]);
	note_nodes(drain, 0, numbering);
}

static void
put_node(const L4Drain *drain, int32 number, const Numbering *numbering, StringInfo out)
{
	const DrainNode *node = &drain->nodes[number];
	int			alive = 0;

	for (int32 i = 0; i < node->nclusters; i++)
		alive += (drain->slots[node->slots[i]].cluster.id == node->ids[i]);
	put(out, node->nchildren);
	put(out, alive);
	for (int32 i = 0; i < node->nclusters; i++)
		if (drain->slots[node->slots[i]].cluster.id == node->ids[i])
			put(out, node->ids[i]);
	for (int32 child = node->first_child; child >= 0; child = drain->nodes[child].next_sibling)
	{
		uint32		key = drain->nodes[child].key;

		put(out, number == 0 ? key : numbering->number[key]);
		put_node(drain, child, numbering, out);
	}
}

void
l4_drain_serialize(const L4Drain *drain, StringInfo out)
{
	const L4DrainOptions *options = &drain->options;
	Numbering	numbering;

	put(out, DRAIN_VERSION);
	put(out, options->depth);
	put(out, options->max_children);
	put(out, options->max_clusters);
	put(out, options->parametrize_numeric_tokens ? FLAG_PARAMETRIZE : 0);
	put_double(out, options->sim_th);
	put(out, options->ndelimiters);
	for (int i = 0; i < options->ndelimiters; i++)
		put_bytes(out, options->delimiters[i], strlen(options->delimiters[i]));
	put(out, drain->last_id);

	number_tokens(drain, &numbering);
	put(out, numbering.next - 1 - TOKEN_PARAM);
	for (uint32 i = TOKEN_PARAM + 1; i < numbering.next; i++)
		put_bytes(out, drain->tokens[numbering.order[i]].text,
				  drain->tokens[numbering.order[i]].len);

	put(out, drain->nslots);
	for (int32 slot = next_slot(drain, -1); slot >= 0; slot = next_slot(drain, slot))
	{
		const L4DrainCluster *cluster = &drain->slots[slot].cluster;

		put(out, cluster->id);
		put(out, cluster->size);
		put(out, cluster->ntokens);
		for (int i = 0; i < cluster->ntokens; i++)
			put(out, numbering.number[cluster->tokens[i]]);
	}
	put_node(drain, 0, &numbering, out);
	pfree(numbering.number);
	pfree(numbering.order);
}

/* ---- reading ---- */

typedef struct Reader
{
	const char *data;
	size_t		len;
	size_t		at;
	int			sqlstate;
	bool	   *placed;			/* slots met in the tree */
	int32		nplaced;
} Reader;

static void
corrupt(const Reader *in, const char *what)
{
	ereport(ERROR,
			(errcode(in->sqlstate),
			 errmsg("invalid stored templates of algorithm drain"),
			 errdetail("At byte %zu of %zu: %s.", in->at, in->len, what)));
}

/* A number from 0 to max. */
static uint64
get(Reader *in, uint64 max, const char *what)
{
	uint64		value = 0;

	for (int shift = 0;; shift += 7)
	{
		unsigned char c;

		if (in->at >= in->len || shift > 56)
			corrupt(in, what);
		c = in->data[in->at++];
		value |= (uint64) (c & 0x7F) << shift;
		if (c < 0x80)
			break;
	}
	if (value > max)
		corrupt(in, what);
	return value;
}

/* How many things follow: each takes a byte at least. */
static uint64
get_count(Reader *in, uint64 max, const char *what)
{
	return get(in, Min(max, in->len - in->at), what);
}

static double
get_double(Reader *in, const char *what)
{
	uint64		bits = 0;
	double		value;

	if (in->len - in->at < 8)
		corrupt(in, what);
	for (int i = 0; i < 8; i++)
		bits |= (uint64) (unsigned char) in->data[in->at++] << (8 * i);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static const char *
get_bytes(Reader *in, size_t *len, const char *what)
{
	const char *bytes;

	*len = get_count(in, PG_INT32_MAX, what);
	if (*len > in->len - in->at)
		corrupt(in, what);
	bytes = in->data + in->at;
	if (*len == 0 || memchr(bytes, '\0', *len) != NULL ||
		!pg_verify_mbstr(GetDatabaseEncoding(), bytes, *len, true))
		corrupt(in, what);
	in->at += *len;
	return bytes;
}

static L4Drain *
get_options(Reader *in, MemoryContext parent)
{
	L4DrainOptions options;
	char	  **delimiters;

	l4_drain_default_options(&options);
	if (get(in, PG_INT32_MAX, "version expected") != DRAIN_VERSION)
		corrupt(in, "unknown version");
	options.depth = get(in, L4_DRAIN_MAX_DEPTH, "depth out of range");
	options.max_children = get(in, PG_INT32_MAX, "max_children out of range");
	options.max_clusters = get(in, PG_INT32_MAX, "max_clusters out of range");
	options.parametrize_numeric_tokens =
		(get(in, FLAG_PARAMETRIZE, "unknown flags") == FLAG_PARAMETRIZE);
	if (options.depth < L4_DRAIN_MIN_DEPTH || options.max_children < L4_DRAIN_MIN_CHILDREN)
		corrupt(in, "depth or max_children out of range");
	options.sim_th = get_double(in, "sim_th expected");
	if (!(options.sim_th >= 0 && options.sim_th <= 1))
		corrupt(in, "sim_th out of range");
	options.ndelimiters = get_count(in, PG_INT16_MAX, "delimiters expected");
	delimiters = palloc(sizeof(char *) * Max(options.ndelimiters, 1));
	for (int i = 0; i < options.ndelimiters; i++)
	{
		size_t		len;
		const char *bytes = get_bytes(in, &len, "bad delimiter");

		delimiters[i] = pnstrdup(bytes, len);
	}
	options.delimiters = (const char *const *) delimiters;
	return l4_drain_create(&options, parent);
}

/* Tokens get the numbers that they were written with, and no reference yet. */
static uint32
get_tokens(Reader *in, L4Drain *drain)
{
	uint32		count = get_count(in, PG_INT32_MAX, "tokens expected");

	for (uint32 i = 0; i < count; i++)
	{
		size_t		len;
		const char *bytes = get_bytes(in, &len, "bad token");
		uint32		number;

		if (l4_drain_token_find(drain, bytes, len) != TOKEN_UNKNOWN)
			corrupt(in, "token listed twice");
		number = l4_drain_token_intern(drain, bytes, len);	/* may move drain->tokens */
		drain->tokens[number].refs = 0;
	}
	return count + TOKEN_PARAM;
}

static void
get_clusters(Reader *in, L4Drain *drain, uint32 max_token)
{
	int32		count = get_count(in, drain->last_id, "clusters expected");

	if (drain->options.max_clusters == 0 ? count != drain->last_id
		: count > drain->options.max_clusters)
		corrupt(in, "wrong number of clusters");
	for (int32 c = 0; c < count; c++)
	{
		int32		id = get(in, drain->last_id, "bad cluster id");
		int64		size = get(in, PG_INT64_MAX, "bad cluster size");
		int32		n = get_count(in, PG_INT32_MAX, "bad number of tokens");
		int32		slot;

		CHECK_FOR_INTERRUPTS();
		if (drain->options.max_clusters == 0 ? id != c + 1
			: id == 0 || l4_drain_slot_of(drain, id) >= 0)
			corrupt(in, "bad cluster id");
		if (size == 0)
			corrupt(in, "bad cluster size");
		slot = l4_drain_slot_new(drain, id, n);
		drain->slots[slot].cluster.size = size;
		for (int32 i = 0; i < n; i++)
		{
			uint32		token = get(in, max_token, "bad token number");

			if (token == TOKEN_UNKNOWN)
				corrupt(in, "bad token number");
			drain->slots[slot].tokens[i] = token;
			drain->tokens[token].refs++;
		}
	}
}

/* The clusters of a leaf below n tokens, ids ascending. */
static void
get_leaf(Reader *in, L4Drain *drain, int32 node, int32 count, int32 n)
{
	for (int32 i = 0; i < count; i++)
	{
		int32		id = get(in, drain->last_id, "bad cluster id in the tree");
		int32		slot = l4_drain_slot_of(drain, id);

		if (slot < 0 || in->placed[slot] || drain->slots[slot].cluster.ntokens != n ||
			(i > 0 && id <= drain->nodes[node].ids[i - 1]))
			corrupt(in, "bad cluster id in the tree");
		in->placed[slot] = true;
		in->nplaced++;
		l4_drain_leaf_add(drain, node, slot);
	}
}

/* Level 0 is the root, level 1 is below the number of tokens n. */
static void
get_node(Reader *in, L4Drain *drain, int32 node, int level, int32 n, uint32 max_token)
{
	bool		leaf = level > 0 && level >= Min(drain->options.depth - 2, Max(n, 1));
	int32		nchildren = get_count(in, PG_INT32_MAX, "children expected");
	int32		nclusters = get_count(in, PG_INT32_MAX, "clusters expected");

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (leaf ? nchildren > 0 : nclusters > 0)
		corrupt(in, "node of the wrong kind");
	if (level > 0 && nchildren > drain->options.max_children)
		corrupt(in, "too many children");
	get_leaf(in, drain, node, nclusters, n);
	for (int32 i = 0; i < nchildren; i++)
	{
		uint32		key = get(in, level == 0 ? PG_INT32_MAX : max_token, "bad key");

		if ((level > 0 && key == TOKEN_UNKNOWN) || l4_drain_node_child(drain, node, key) >= 0)
			corrupt(in, "bad key");
		if (level > 0)
			drain->tokens[key].refs++;
		get_node(in, drain, l4_drain_node_add(drain, node, key), level + 1,
				 level == 0 ? key : n, max_token);
	}

	/* a full node has "<*>" */
	if (level > 0 && nchildren == drain->options.max_children &&
		l4_drain_node_child(drain, node, TOKEN_PARAM) < 0)
		corrupt(in, "too many children");
}

L4Drain *
l4_drain_deserialize(const char *data, size_t len, int sqlstate, MemoryContext parent)
{
	Reader		in = {data, len, 0, sqlstate};
	L4Drain    *drain = get_options(&in, parent);
	uint32		max_token;

	drain->last_id = get(&in, PG_INT32_MAX, "last id expected");
	max_token = get_tokens(&in, drain);
	get_clusters(&in, drain, max_token);
	in.placed = MemoryContextAllocExtended(CurrentMemoryContext, Max(drain->nslots, 1),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	get_node(&in, drain, 0, 0, 0, max_token);
	pfree(in.placed);
	if (in.nplaced != drain->nslots)
		corrupt(&in, "clusters missing in the tree");
	for (uint32 i = TOKEN_PARAM + 1; i <= max_token; i++)
		if (drain->tokens[i].refs == 0)
			corrupt(&in, "token that nothing refers to");
	if (in.at != len)
		corrupt(&in, "bytes after the end");
	return drain;
}
