/*
 * miner.c
 *		Algorithm l4: matching and learning of shapes.
 *
 * A shape that was seen before costs one hash probe. One that was not is cut
 * into slots and compared with the templates of its node; only when none fits
 * it becomes a row of the node, and the node is clustered anew.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "miner/miner_int.h"

/* Remember which event a shape belongs to that is no row; bounded. */
static void
remember(L4Model *m, uint64 key, int32 event)
{
	if (m->seen->members >= L4_SEEN_MAX)
		l4_map_reset(m->seen);
	*l4_map_put(m->seen, key, NULL) = event;
}

/*
 * The template of the tree below node that fits with the fewest variables, the
 * oldest of several; -1 none. An inner node has at most two children to look into.
 */
static int32
best_template(L4Model *m, int32 node, const L4Str *cols, int ncols, int *best_vars)
{
	const L4GroupNode *n = &m->nodes[node];
	int32		best = -1;

	if (n->split >= 0)
	{
		int32		exact = l4_map_get(m->child_map, l4_child_key(node, cols[n->split]));
		int32		open = l4_map_get(m->child_map, l4_child_key(node, L4_STR_OPEN));

		check_stack_depth();
		if (exact != 0)
			best = best_template(m, exact, cols, ncols, best_vars);
		if (open != 0)
		{
			int32		other = best_template(m, open, cols, ncols, best_vars);

			if (other >= 0)
				best = other;
		}
		return best;
	}
	for (int i = 0; i < n->ntemplates; i++)
	{
		int			nvars;

		if (l4_fits(m, m->templates[n->templates[i]].cols, cols, ncols, &nvars) && nvars < *best_vars)
		{
			best = n->templates[i];
			*best_vars = nvars;
		}
	}
	return best;
}

/* The template that fits a shape best, -1 none; leaves the shape cut in m->scratch->cut. */
int32
l4_fitting_template(L4Model *m, int tag, const L4Shape *shape)
{
	L4Cut	   *cut = &m->scratch->cut;
	int32		group;
	int			nvars = PG_INT32_MAX;

	l4_cut(m, shape, false, cut);
	group = l4_group_of(m, tag, cut, false);
	if (group < 0)
		return -1;
	return best_template(m, m->groups[group].root, cut->cols, cut->ncols, &nvars);
}

/* The event whose template fits a shape that is not known, 0 none. */
static int32
fitting_event(L4Model *m, int tag, const L4Shape *shape)
{
	int32		template = l4_fitting_template(m, tag, shape);
	int32		event;

	if (template < 0)
		return 0;
	event = l4_model_resolve(m, m->templates[template].event);
	remember(m, l4_model_key(tag, shape), event);
	return event;
}

/* How strange is a shape to a closed budget? Leaves it cut. */
static L4Strange
strange_to_closed(L4Model *m, const L4Shape *shape)
{
	if (m->budget->vocabulary == 0)
		return L4_NOT_STRANGE;
	l4_cut(m, shape, false, &m->scratch->cut);
	return l4_strangeness(m, &m->scratch->cut);
}

static int32
known_event(L4Model *m, int tag, const L4Shape *shape)
{
	uint64		key = l4_model_key(tag, shape);
	int32		event = l4_map_get(m->exact, key);

	if (event == 0)
		event = l4_map_get(m->seen, key);
	return event == 0 ? 0 : l4_model_resolve(m, event);
}

/*
 * Event of a shape whose answer is final: it was learnt, or none like it is
 * learnt any more; 0 unknown. Words that a job's budget did not know when it
 * closed make a shape coarse, even where another job has taught it since: so
 * the answer does not depend on when that was. Who asks for no job gets what
 * any job has learnt.
 */
int32
l4_model_lookup(L4Model *m, int tag, const L4Shape *shape)
{
	bool		for_all = m->budget->teacher == L4_ALL_MESSAGES;
	int32		event;

	if (!for_all && strange_to_closed(m, shape) == L4_STRANGE_WORDS)
		return l4_coarse_event(m, tag, shape, false);
	event = known_event(m, tag, shape);
	if (event == 0 && for_all && strange_to_closed(m, shape) != L4_NOT_STRANGE)
		event = l4_coarse_event(m, tag, shape, false);
	return event;
}

/* Event of a shape, learning nothing. */
int32
l4_model_match(L4Model *m, int tag, const L4Shape *shape)
{
	int32		event = l4_model_lookup(m, tag, shape);
	uint64		key = l4_model_key(tag, shape);
	bool		taught_by_jobs = m->own.ordinary == 0 && m->own.strange == 0;

	if (event != 0 || l4_map_get(m->unfit, key) != 0)
		return event;
	event = fitting_event(m, tag, shape);
	if (event == 0 && (l4_budget_is_used(m) || (taught_by_jobs && m->own.vocabulary > 0)))
		event = l4_coarse_event(m, tag, shape, false);
	if (event == 0)
	{
		if (m->unfit->members >= L4_SEEN_MAX)
			l4_map_reset(m->unfit);
		*l4_map_put(m->unfit, key, NULL) = 1;
	}
	return event;
}

/* The leaf that a new row belongs to, made if its value has no child yet. */
static int32
leaf_for(L4Model *m, int32 node, const L4Str *cols)
{
	while (m->nodes[node].split >= 0)
	{
		L4Str		value = cols[m->nodes[node].split];
		int32		child = l4_map_get(m->child_map, l4_child_key(node, value));

		if (child == 0)
			child = l4_node_new(m, m->nodes[node].group, node, value);
		node = child;
	}
	return node;
}

/* A shape that no template fits becomes a row, with an event that others may join. */
static int32
learn_row(L4Model *m, int tag, const L4Shape *shape)
{
	L4Cut	   *cut = &m->scratch->cut;
	uint64		key = l4_model_key(tag, shape);
	int32		live = m->live;
	bool		strange;
	int32		group;
	int32		node;
	int32		template;
	int32		event;

	CHECK_FOR_INTERRUPTS();
	if (m->unfit->members > 0)
		l4_map_reset(m->unfit);
	if (!m->merges_ready)
		l4_merge_prepare(m);
	l4_cut(m, shape, false, cut);
	strange = l4_strangeness(m, cut) != L4_NOT_STRANGE;
	l4_cut(m, shape, true, cut);
	group = l4_group_of(m, tag, cut, true);
	if (group < 0)
		return 0;
	node = leaf_for(m, m->groups[group].root, cut->cols);
	if (m->nodes[node].nrows >= L4_NODE_ROWS)
	{
		l4_node_compact(m, node);
		node = leaf_for(m, node, cut->cols);
	}
	template = l4_template_new(m, node, cut->ncols, cut->cols, 0);
	event = m->templates[template].event;
	l4_row_add(m, node, template, key, cut->cols, cut->ncols);
	*l4_map_put(m->exact, key, NULL) = event;
	l4_recluster(m, node);
	l4_budget_spend(m, shape, strange, m->live - live);
	return l4_model_resolve(m, event);
}

/* Learn a shape; returns its event. */
int32
l4_model_learn(L4Model *m, int tag, const L4Shape *shape, int64 occurrences)
{
	int32		event = l4_model_lookup(m, tag, shape);

	if (event == 0 && strange_to_closed(m, shape) != L4_NOT_STRANGE)
		event = l4_coarse_event(m, tag, shape, true);
	if (event == 0)
		event = fitting_event(m, tag, shape);
	if (event == 0 && l4_budget_is_used(m))
	{
		l4_budget_close(m);
		event = l4_coarse_event(m, tag, shape, true);
	}
	if (event == 0)
		event = learn_row(m, tag, shape);
	l4_event_add(&m->events[event], occurrences);
	return event;
}
