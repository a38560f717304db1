/*
 * drain.c
 *		Drain: log templates by a parse tree of fixed depth (He et al., "Drain:
 *		An Online Log Parsing Approach with Fixed Depth Tree", ICWS 2017).
 *
 * Result for result what Drain3 (logpai, version of February 2025) computes:
 * ids, sizes, templates, and which cluster goes when max_clusters is reached.
 * Where Drain3 looks odd (a number branches as "<*>" only when its node is
 * made, a full node keeps its last place for "<*>", evicted clusters leave the
 * tree's nodes behind), so do we.
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "base/grow.h"
#include "drain/drain_int.h"

/* Interrupt check once in so many clusters compared. */
#define CHECK_EVERY 1024

void
l4_drain_default_options(L4DrainOptions *options)
{
	memset(options, 0, sizeof(L4DrainOptions));
	options->depth = 4;
	options->sim_th = 0.4;
	options->max_children = 100;
	options->parametrize_numeric_tokens = true;
}

L4Drain *
l4_drain_create(const L4DrainOptions *options, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 drain", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Drain    *drain = palloc0(sizeof(L4Drain));
	char	  **delimiters;

	Assert(options->depth >= L4_DRAIN_MIN_DEPTH);
	Assert(options->max_children >= L4_DRAIN_MIN_CHILDREN);
	drain->cxt = cxt;
	drain->options = *options;
	delimiters = palloc(sizeof(char *) * Max(options->ndelimiters, 1));
	for (int i = 0; i < options->ndelimiters; i++)
		delimiters[i] = pstrdup(options->delimiters[i]);
	drain->options.delimiters = (const char *const *) delimiters;
	initStringInfo(&drain->replaced[0]);
	initStringInfo(&drain->replaced[1]);
	l4_drain_text_init(drain);
	l4_drain_store_init(drain);
	MemoryContextSwitchTo(old);
	return drain;
}

/* Split the line and look its tokens up, into drain->line_tokens. */
static int
read_line(L4Drain *drain, const char *line, int len, const char **text)
{
	const L4DrainToken *ranges;
	int			n = l4_drain_tokenize(drain, line, len, text, &ranges);

	for (int i = 0; i < n; i++)
	{
		L4_GROW(drain->line_tokens, i, drain->line_size, drain->cxt);
		drain->line_tokens[i] = l4_drain_token_find(drain, *text + ranges[i].off, ranges[i].len);
	}
	return n;
}

/* Fewest equal tokens of n that reach the threshold, by the division that Drain3 makes. */
static int
tokens_needed(double sim_th, int n)
{
	int			k = (int) (sim_th * n);

	while (k > 0 && (double) (k - 1) / n >= sim_th)
		k--;
	while ((double) k / n < sim_th)
		k++;
	return k;
}

/*
 * The best cluster among those listed: most equal tokens, then most
 * parameters, then the first. With all, parameters count as equal. Its slot,
 * or -1 when none has the tokens that are needed.
 */
static int32
best_of(const L4Drain *drain, const DrainNode *leaf, int n, int need, bool all)
{
	const uint32 *line = drain->line_tokens;
	int			best_equal = need - 1;
	int			best_params = PG_INT32_MAX;
	int32		best = -1;

	for (int32 c = 0; c < leaf->nclusters; c++)
	{
		const DrainSlot *slot = &drain->slots[leaf->slots[c]];
		const uint32 *tokens = slot->cluster.tokens;
		int			equal = 0;
		int			params = 0;

		if (c % CHECK_EVERY == CHECK_EVERY - 1)
			CHECK_FOR_INTERRUPTS();
		if (slot->cluster.id != leaf->ids[c])
			continue;			/* evicted */
		for (int i = 0; i < n; i++)
		{
			params += (tokens[i] == TOKEN_PARAM);
			equal += (tokens[i] == line[i] && tokens[i] != TOKEN_PARAM);
		}
		if (all)
			equal += params;
		if (equal > best_equal || (equal == best_equal && params > best_params))
		{
			best_equal = equal;
			best_params = params;
			best = leaf->slots[c];
		}
	}
	return best;
}

/* The leaf that the line's first tokens lead to, -1 when there is none. */
static int32
find_leaf(const L4Drain *drain, int n)
{
	int32		node = l4_drain_node_child(drain, 0, n);
	int			levels = Min(drain->options.depth - 2, n) - 1;	/* below the token count */

	for (int i = 0; i < levels && node >= 0; i++)
	{
		int32		parent = node;

		node = -1;
		if (drain->line_tokens[i] != TOKEN_UNKNOWN)
			node = l4_drain_node_child(drain, parent, drain->line_tokens[i]);
		if (node < 0)
			node = l4_drain_node_child(drain, parent, TOKEN_PARAM);
	}
	return node;
}

/* Slot of the cluster that the tree finds for a line of n tokens, -1 none. */
static int32
tree_search(const L4Drain *drain, int n, double sim_th, bool all)
{
	int32		leaf = find_leaf(drain, n);
	const DrainNode *node;

	if (leaf < 0)
		return -1;
	node = &drain->nodes[leaf];
	if (n > 0)
		return best_of(drain, node, n, tokens_needed(sim_th, n), all);

	/* the empty line has one cluster at most */
	if (node->nclusters == 0 || drain->slots[node->slots[0]].cluster.id != node->ids[0])
		return -1;
	return node->slots[0];
}

/* The child that a new cluster's token leads to; made when Drain3 makes it. */
static int32
branch(L4Drain *drain, int32 parent, uint32 token)
{
	int32		child = l4_drain_node_child(drain, parent, token);
	int32		param;
	int			count = drain->nodes[parent].nchildren;
	const DrainToken *t = &drain->tokens[token];

	if (child >= 0)
		return child;
	param = l4_drain_node_child(drain, parent, TOKEN_PARAM);
	if (!(drain->options.parametrize_numeric_tokens && l4_drain_has_digit(drain, t->text, t->len)))
	{
		/* the last place of a node is kept for "<*>" */
		if (count + (param < 0) < drain->options.max_children)
		{
			drain->tokens[token].refs++;
			return l4_drain_node_add(drain, parent, token);
		}
	}
	return param >= 0 ? param : l4_drain_node_add(drain, parent, TOKEN_PARAM);
}

/* A new cluster whose template is the line itself. */
static int32
create_cluster(L4Drain *drain, const char *text, int n)
{
	int32		node;
	int32		slot;
	int			levels = Min(drain->options.depth - 2, n) - 1;
	uint32	   *tokens;

	if (drain->last_id == PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many templates for algorithm drain")));
	slot = l4_drain_slot_new(drain, drain->last_id + 1, n);
	drain->last_id++;
	tokens = drain->slots[slot].cluster.tokens;
	for (int i = 0; i < n; i++)
		tokens[i] = l4_drain_token_intern(drain, text + drain->ranges[i].off,
										  drain->ranges[i].len);
	node = l4_drain_node_child(drain, 0, n);
	if (node < 0)
		node = l4_drain_node_add(drain, 0, n);
	for (int i = 0; i < levels; i++)
		node = branch(drain, node, tokens[i]);
	if (n == 0)
		drain->nodes[node].nclusters = 0;	/* the one before was evicted */
	l4_drain_leaf_add(drain, node, slot);
	return drain->last_id;
}

/* Put "<*>" where the line differs from the template. */
static void
generalize(L4Drain *drain, DrainSlot *slot)
{
	for (int i = 0; i < slot->cluster.ntokens; i++)
	{
		if (slot->cluster.tokens[i] == drain->line_tokens[i] || slot->cluster.tokens[i] == TOKEN_PARAM)
			continue;
		l4_drain_token_unref(drain, slot->cluster.tokens[i]);
		slot->cluster.tokens[i] = TOKEN_PARAM;
	}
}

int32
l4_drain_learn(L4Drain *drain, const char *line, int len)
{
	const char *text;
	int			n = read_line(drain, line, len, &text);
	int32		slot = tree_search(drain, n, drain->options.sim_th, false);

	if (slot < 0)
		return create_cluster(drain, text, n);
	generalize(drain, &drain->slots[slot]);
	drain->slots[slot].cluster.size++;
	l4_drain_slot_touch(drain, slot);
	return drain->slots[slot].cluster.id;
}

/* Best cluster below a node, in the order of the tree; *best is its slot. */
static void
full_search(const L4Drain *drain, int32 node, int n, int *best_params, int32 *best)
{
	const DrainNode *tree = &drain->nodes[node];
	int32		found = best_of(drain, tree, n, n, true);

	check_stack_depth();
	if (found >= 0)
	{
		int			params = 0;

		for (int i = 0; i < n; i++)
			params += (drain->slots[found].cluster.tokens[i] == TOKEN_PARAM);
		if (params > *best_params)
		{
			*best_params = params;
			*best = found;
		}
	}
	for (int32 child = tree->first_child; child >= 0; child = drain->nodes[child].next_sibling)
		full_search(drain, child, n, best_params, best);
}

int32
l4_drain_match(L4Drain *drain, const char *line, int len)
{
	const char *text;
	int			n = read_line(drain, line, len, &text);
	int32		slot = tree_search(drain, n, 1.0, true);
	int32		first = l4_drain_node_child(drain, 0, n);

	if (slot < 0 && n > 0 && first >= 0)
	{
		int			params = -1;

		full_search(drain, first, n, &params, &slot);
	}
	return slot < 0 ? 0 : drain->slots[slot].cluster.id;
}

int32
l4_drain_last_id(const L4Drain *drain)
{
	return drain->last_id;
}

const L4DrainCluster *
l4_drain_cluster(const L4Drain *drain, int32 id)
{
	int32		slot = l4_drain_slot_of(drain, id);

	return slot < 0 ? NULL : &drain->slots[slot].cluster;
}

const char *
l4_drain_token(const L4Drain *drain, const L4DrainCluster *cluster, int i, int *len)
{
	const DrainToken *token = &drain->tokens[cluster->tokens[i]];

	*len = token->len;
	return cluster->tokens[i] == TOKEN_PARAM ? NULL : token->text;
}

char *
l4_drain_template(const L4Drain *drain, const L4DrainCluster *cluster, int *len)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < cluster->ntokens; i++)
	{
		const DrainToken *token = &drain->tokens[cluster->tokens[i]];

		if (i > 0)
			appendStringInfoChar(&out, ' ');
		appendBinaryStringInfo(&out, token->text, token->len);
	}
	if (len != NULL)
		*len = out.len;
	return out.data;
}

int32
l4_drain_learn_cluster(L4Drain *drain, const char *line, int len, int64 size)
{
	int32		id = l4_drain_match(drain, line, len);
	L4DrainCluster *cluster;

	if (id == 0)
	{
		id = l4_drain_learn(drain, line, len);
		size--;
	}
	cluster = &drain->slots[l4_drain_slot_of(drain, id)].cluster;
	if (pg_add_s64_overflow(cluster->size, size, &cluster->size))
		cluster->size = PG_INT64_MAX;
	l4_drain_slot_touch(drain, l4_drain_slot_of(drain, id));
	return id;
}
