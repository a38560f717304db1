/*
 * forget.c
 *		A model without the templates of events that nobody needs any more. What
 *		stays is copied: strings, groups and nodes that nothing uses are left
 *		behind. Ids of events stay as they are; none is given again.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "miner/miner_int.h"

typedef struct Copy
{
	const L4Model *from;
	L4Model    *to;
	const bool *keep;			/* of each event, whether its survivor is kept */
	int32	   *groups;			/* the number of each in to; 0 of a node: it is left behind */
	int32	   *nodes;
	int32	   *templates;
} Copy;

static L4Str *
copy_cols(const Copy *c, const L4Str *cols, int ncols)
{
	L4Str	   *copy = palloc(ncols * sizeof(L4Str));

	for (int i = 0; i < ncols; i++)
		copy[i] = cols[i] < L4_STR_FIXED ? cols[i]
			: l4_string_intern(c->to, c->from->strings[cols[i]].bytes, c->from->strings[cols[i]].len, true);
	return copy;
}

static bool
is_kept(const Copy *c, int32 template)
{
	return c->from->templates[template].event != 0 && c->keep[c->from->templates[template].event];
}

/* The nodes of templates that are kept and those above them, parents first, as in the model. */
static void
copy_nodes(Copy *c)
{
	for (int i = 0; i < c->from->ntemplates; i++)
		for (int32 n = c->from->templates[i].node; is_kept(c, i) && n > 0 && c->nodes[n] == 0; n = c->from->nodes[n].parent)
			c->nodes[n] = 1;
	for (int i = 1; i < c->from->nnodes; i++)
	{
		const L4GroupNode *n = &c->from->nodes[i];
		const L4Group *g = &c->from->groups[n->group];
		L4Str	   *value;

		CHECK_FOR_INTERRUPTS();
		if (c->nodes[i] == 0)
			continue;
		if (n->parent < 0)
			c->groups[n->group] = l4_group_new(c->to, g->tag, g->ncols, copy_cols(c, g->delims, g->ncols));
		value = copy_cols(c, &n->value, 1);
		c->nodes[i] = l4_node_new(c->to, c->groups[n->group], n->parent < 0 ? -1 : c->nodes[n->parent], *value);
		c->to->nodes[c->nodes[i]].split = n->split;
		if (n->parent < 0)
			c->to->groups[c->groups[n->group]].root = c->nodes[i];
	}
}

static void
copy_templates(Copy *c)
{
	for (int i = 0; i < c->from->ntemplates; i++)
	{
		const L4Template *t = &c->from->templates[i];
		const L4Group *g = &c->from->groups[c->from->nodes[t->node].group];

		CHECK_FOR_INTERRUPTS();
		if (!is_kept(c, i))
			continue;
		c->templates[i] = l4_template_new(c->to, c->nodes[t->node], g->ncols, copy_cols(c, t->cols, g->ncols), t->event);
		memcpy(c->to->templates[c->templates[i]].keys, t->keys, sizeof(t->keys));
		c->to->coarse_words += (g->tag & L4_COARSE_TAG) && (l4_string(c->from, t->cols[0])->flags & S_LETTER);
	}
}

static void
copy_rows(Copy *c)
{
	for (int i = 1; i < c->from->nnodes; i++)
	{
		const L4GroupNode *n = &c->from->nodes[i];
		int			ncols = c->from->groups[n->group].ncols;

		CHECK_FOR_INTERRUPTS();
		for (int r = 0; r < n->nrows; r++)
			if (is_kept(c, n->rows[r].template))
				l4_row_add(c->to, c->nodes[i], c->templates[n->rows[r].template], n->rows[r].key,
						   copy_cols(c, n->rows[r].cols, ncols), ncols);
	}
}

/* Events that are not kept are forgotten: they have no template, but their numbers stay theirs. */
static void
copy_events(Copy *c)
{
	L4Model    *to = c->to;

	to->nevents = to->events_size = c->from->nevents;
	to->events = MemoryContextAllocExtended(to->cxt, to->nevents * sizeof(L4Event), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 1; i < to->nevents; i++)
	{
		if (c->keep[i])
			to->events[i] = c->from->events[i];
		to->events[i].template = c->keep[i] && to->events[i].merged_into == 0
			? c->templates[to->events[i].template] : L4_FORGOTTEN;
	}
}

/*
 * Copy into an empty model what belongs to events of which keep says so. A
 * merged event goes with its survivor, whose flag counts. The copy is open
 * again: it has a fresh sum to spend on strange shapes.
 */
void
l4_model_copy_kept(const L4Model *from, L4Model *to, bool *keep)
{
	Copy		c = {.from = from, .to = to, .keep = keep};
	L4MapEntry *entry;
	l4_map_iterator it;

	for (int i = 1; i < from->nevents; i++)
		keep[i] = keep[l4_model_resolve(from, i)];
	c.groups = palloc0(Max(1, from->ngroups) * sizeof(int32));
	c.nodes = palloc0(Max(1, from->nnodes) * sizeof(int32));
	c.templates = palloc0(Max(1, from->ntemplates) * sizeof(int32));
	to->merges_ready = false;
	copy_nodes(&c);
	copy_templates(&c);
	copy_rows(&c);
	copy_events(&c);
	l4_map_start_iterate(from->seen, &it);
	while ((entry = l4_map_iterate(from->seen, &it)) != NULL)
		if (keep[entry->value])
			*l4_map_put(to->seen, entry->key, NULL) = entry->value;
}
