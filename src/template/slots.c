/*
 * slots.c
 *		Algorithm l4: the model, matching and learning of shapes.
 *
 * A shape that was seen before costs one hash probe. One that was not is cut
 * into slots and compared with the templates of its node; only when none fits
 * it becomes a row of the node, and the node is clustered anew.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "template/slots_int.h"

void
l4_model_init(L4Model *m, const uint32 *cls, int distinct, MemoryContext cxt)
{
	memset(m, 0, sizeof(*m));
	m->cxt = cxt;
	m->cls = cls;
	m->distinct = distinct;
	m->scratch = MemoryContextAllocZero(cxt, sizeof(L4Scratch));
	l4_map_init(&m->string_map, 64, cxt);
	l4_map_init(&m->group_map, 64, cxt);
	l4_map_init(&m->child_map, 16, cxt);
	l4_map_init(&m->exact, 64, cxt);
	l4_map_init(&m->seen, 64, cxt);
	l4_map_init(&m->unfit, 64, cxt);
	l4_map_init(&m->printed, 64, cxt);
	l4_map_init(&m->chains, 64, cxt);
	m->nevents = 1;
	m->joins_ready = true;
	/* the strings that have fixed numbers */
	l4_string_intern(m, "\377unknown", 8);
	l4_string_intern(m, "", 0);
	l4_string_intern(m, "\001", 1);
	l4_string_intern(m, "\377telling", 8);
	m->strings[L4_STR_TELLING].flags |= S_TELLING;
	/* printed as a mark, but no slot of a shape is ever this one */
	l4_string_intern(m, "\377open", 5);
	m->strings[L4_STR_OPEN] = m->strings[L4_STR_MARK];
	l4_string_intern(m, "\377value0", 7);
}

uint64
l4_model_key(int tag, const L4Shape *shape)
{
	return l4_hash2(shape->hash, tag);
}

/* The event that survives of this one. */
int32
l4_model_resolve(const L4Model *m, int32 event)
{
	while (m->events[event].merged_into != 0)
		event = m->events[event].merged_into;
	return event;
}

/* Event of a shape that was learnt; 0 unknown. */
int32
l4_model_lookup(L4Model *m, int tag, const L4Shape *shape)
{
	uint64		key = l4_model_key(tag, shape);
	int32		event = l4_map_get(&m->exact, key);

	if (event == 0)
		event = l4_map_get(&m->seen, key);
	return event == 0 ? 0 : l4_model_resolve(m, event);
}

/* Remember which event a shape belongs to that is no row; bounded. */
static void
remember(L4Model *m, uint64 key, int32 event)
{
	if (m->seen.used >= L4_SEEN_MAX)
		l4_map_clear(&m->seen);
	*l4_map_put(&m->seen, key, NULL) = event;
}

/*
 * Does the pattern fit these slots? Counts its variables. What tells that
 * something is wrong (nan) is never taken for a value.
 */
bool
l4_fits(const L4Model *m, const L4Str *pattern, const L4Str *cols, int ncols, int *nvars)
{
	int			n = 0;

	for (int i = 0; i < ncols; i++)
	{
		if (pattern[i] == L4_STR_OPEN)
		{
			if (m->strings[cols[i]].flags & S_TELLING)
				return false;
			n++;
		}
		else if (pattern[i] == L4_STR_MARK)
		{
			if (!(m->strings[cols[i]].flags & S_VALUE))
				return false;
			n++;
		}
		else if (pattern[i] != cols[i])
			return false;
	}
	*nvars = n;
	return true;
}

static inline uint64
child_key(int32 node, L4Str value)
{
	return l4_hash2(node, value);
}

/*
 * The template of the tree below node that fits with the fewest variables, the
 * oldest of several; -1 none. An inner node has at most two children to look into.
 */
static int32
best_template(L4Model *m, int32 node, const L4Str *cols, int ncols, int *best_vars)
{
	const L4Node *n = &m->nodes[node];
	int32		best = -1;

	if (n->split >= 0)
	{
		int32		exact = l4_map_get(&m->child_map, child_key(node, cols[n->split]));
		int32		open = l4_map_get(&m->child_map, child_key(node, L4_STR_OPEN));

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

/* The group of a cut shape, -1 if there is none; make it when asked to. */
static int32
find_group(L4Model *m, int tag, const L4Cut *cut, bool make)
{
	uint64		key = l4_hash2(cut->hash, tag);
	int32		id = l4_map_get(&m->group_map, key) - 1;
	L4Group    *g;

	/* the number of slots guards against a collision of hashes */
	if (id >= 0)
		return m->groups[id].ncols == cut->ncols && m->groups[id].tag == tag ? id : -1;
	if (!make)
		return -1;
	m->groups = l4_grow(m->groups, &m->groups_size, m->ngroups + 1, sizeof(L4Group), m->cxt);
	id = m->ngroups++;
	*l4_map_put(&m->group_map, key, NULL) = id + 1;
	g = &m->groups[id];
	g->tag = tag;
	g->ncols = cut->ncols;
	g->delims = MemoryContextAlloc(m->cxt, cut->ncols * sizeof(L4Str));
	memcpy(g->delims, cut->delims, cut->ncols * sizeof(L4Str));
	g->root = l4_node_new(m, id, -1, L4_STR_UNKNOWN);
	return id;
}

int32
l4_node_new(L4Model *m, int32 group, int32 parent, L4Str value)
{
	L4Node	   *n;

	m->nodes = l4_grow(m->nodes, &m->nodes_size, m->nnodes + 1, sizeof(L4Node), m->cxt);
	/* number 0 means "no child": it is never used */
	if (m->nnodes == 0)
		memset(&m->nodes[m->nnodes++], 0, sizeof(L4Node));
	m->nodes = l4_grow(m->nodes, &m->nodes_size, m->nnodes + 1, sizeof(L4Node), m->cxt);
	n = &m->nodes[m->nnodes];
	memset(n, 0, sizeof(*n));
	n->group = group;
	n->parent = parent;
	n->value = value;
	n->split = -1;
	if (parent >= 0)
		*l4_map_put(&m->child_map, child_key(parent, value), NULL) = m->nnodes;
	return m->nnodes++;
}

/* The template that fits a shape best, -1 none; leaves the shape cut in m->scratch->cut. */
int32
l4_fitting_template(L4Model *m, int tag, const L4Shape *shape)
{
	L4Cut	   *cut = &m->scratch->cut;
	int32		group;
	int			nvars = PG_INT32_MAX;

	l4_cut(m, shape, false, cut);
	group = find_group(m, tag, cut, false);
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

/* Event of a shape, learning nothing. */
int32
l4_model_match(L4Model *m, int tag, const L4Shape *shape)
{
	int32		event = l4_model_lookup(m, tag, shape);
	uint64		key = l4_model_key(tag, shape);

	if (event != 0 || l4_map_get(&m->unfit, key) != 0)
		return event;
	event = fitting_event(m, tag, shape);
	if (event == 0)
	{
		if (m->unfit.used >= L4_SEEN_MAX)
			l4_map_clear(&m->unfit);
		*l4_map_put(&m->unfit, key, NULL) = 1;
	}
	return event;
}

/* A new template of a node; event 0 makes a new event for it. */
int32
l4_template_new(L4Model *m, int32 node, int ncols, const L4Str *cols, int32 event)
{
	L4Template *t;
	L4Node	   *n = &m->nodes[node];
	int32		id;

	m->templates = l4_grow(m->templates, &m->templates_size, m->ntemplates + 1, sizeof(L4Template), m->cxt);
	id = m->ntemplates++;
	t = &m->templates[id];
	t->node = node;
	for (int k = 0; k < L4_CHAINS; k++)
		t->next[k] = -1;
	t->cols = MemoryContextAlloc(m->cxt, ncols * sizeof(L4Str));
	memcpy(t->cols, cols, ncols * sizeof(L4Str));
	n->templates = l4_grow(n->templates, &n->templates_size, n->ntemplates + 1, sizeof(int32), m->cxt);
	n->templates[n->ntemplates++] = id;
	if (event == 0)
	{
		m->events = l4_grow(m->events, &m->events_size, m->nevents + 1, sizeof(L4Event), m->cxt);
		event = m->nevents++;
		memset(&m->events[event], 0, sizeof(L4Event));
		m->events[event].tag = m->groups[n->group].tag;
		m->events[event].template = id;
	}
	t->event = event;
	return id;
}

/* Occurrences that a caller claims may be any number: the sum stays the largest there is. */
static void
add_occurrences(L4Event *event, int64 occurrences)
{
	event->occurrences = event->occurrences > PG_INT64_MAX - occurrences ? PG_INT64_MAX : event->occurrences + occurrences;
}

/*
 * Two events are one: the older id survives and prints what the caller says.
 */
void
l4_event_merge(L4Model *m, int32 a, int32 b, int32 prints)
{
	a = l4_model_resolve(m, a);
	b = l4_model_resolve(m, b);
	if (a > b)
	{
		int32		older = b;

		b = a;
		a = older;
	}
	m->events[a].template = prints;
	if (a == b)
		return;
	m->events[b].merged_into = a;
	add_occurrences(&m->events[a], m->events[b].occurrences);
	m->events[b].occurrences = 0;
}

void
l4_row_add(L4Model *m, int32 node, int32 template, uint64 key, const L4Str *cols, int ncols)
{
	L4Node	   *n = &m->nodes[node];
	L4Row	   *row;

	n->rows = l4_grow(n->rows, &n->rows_size, n->nrows + 1, sizeof(L4Row), m->cxt);
	row = &n->rows[n->nrows++];
	row->template = template;
	row->key = key;
	row->cols = MemoryContextAlloc(m->cxt, ncols * sizeof(L4Str));
	memcpy(row->cols, cols, ncols * sizeof(L4Str));
}

/* The leaf that a new row belongs to, made if its value has no child yet. */
static int32
leaf_for(L4Model *m, int32 node, const L4Str *cols)
{
	while (m->nodes[node].split >= 0)
	{
		L4Str		value = cols[m->nodes[node].split];
		int32		child = l4_map_get(&m->child_map, child_key(node, value));

		if (child == 0)
			child = l4_node_new(m, m->nodes[node].group, node, value);
		node = child;
	}
	return node;
}

/* Learn a shape; returns its event. */
int32
l4_model_learn(L4Model *m, int tag, const L4Shape *shape, int64 occurrences)
{
	uint64		key = l4_model_key(tag, shape);
	int32		event = l4_model_lookup(m, tag, shape);
	L4Cut	   *cut = &m->scratch->cut;
	int32		group;
	int32		node;
	int32		template;

	if (event == 0)
		event = fitting_event(m, tag, shape);
	if (event == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (m->unfit.used > 0)
			l4_map_clear(&m->unfit);
		if (!m->joins_ready)
			l4_join_prepare(m);
		l4_cut(m, shape, true, cut);
		group = find_group(m, tag, cut, true);
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
		*l4_map_put(&m->exact, key, NULL) = event;
		l4_recluster(m, node);
		event = l4_model_resolve(m, event);
	}
	add_occurrences(&m->events[event], occurrences);
	return event;
}
