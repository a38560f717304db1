/*
 * model.c
 *		The model of algorithm l4: what makes and joins its parts.
 */
#include "postgres.h"

#include "base/grow.h"
#include "miner/miner_int.h"

/* Slots are allocated so many at a time. */
#define SLAB_SLOTS		1024

void
l4_model_init(L4Model *m, const uint32 *cls, int distinct, int32 max_templates, MemoryContext cxt)
{
	static const char *const fixed[] = {"\377unknown", "", "\001", "\377telling", "\377open", "\377value0"};

	memset(m, 0, sizeof(*m));
	m->cxt = cxt;
	m->cls = cls;
	m->distinct = distinct;
	m->max_templates = max_templates;
	m->budget = &m->own;
	m->scratch = MemoryContextAllocZero(cxt, sizeof(L4Scratch));
	m->string_map = l4_map_create(cxt, 64, NULL);
	m->group_map = l4_map_create(cxt, 64, NULL);
	m->child_map = l4_map_create(cxt, 16, NULL);
	m->exact = l4_map_create(cxt, 64, NULL);
	m->seen = l4_map_create(cxt, 64, NULL);
	m->unfit = l4_map_create(cxt, 64, NULL);
	m->printed = l4_map_create(cxt, 64, NULL);
	m->chains = l4_map_create(cxt, 64, NULL);
	m->nevents = 1;
	m->merges_ready = true;
	/* the strings that have fixed numbers */
	for (int i = 0; i < lengthof(fixed); i++)
		(void) l4_string_class(m, l4_string_intern(m, fixed[i], strlen(fixed[i]), false));
	m->strings[L4_STR_TELLING].flags |= S_TELLING;
	/* printed as a mark, but no slot of a shape is ever this one */
	m->strings[L4_STR_OPEN] = m->strings[L4_STR_MARK];
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

bool
l4_event_is_forgotten(const L4Model *m, int32 event)
{
	return m->events[l4_model_resolve(m, event)].template == L4_FORGOTTEN;
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
			if (l4_string(m, cols[i])->flags & S_TELLING)
				return false;
			n++;
		}
		else if (pattern[i] == L4_STR_MARK)
		{
			if (!(l4_string(m, cols[i])->flags & S_VALUE))
				return false;
			n++;
		}
		else if (pattern[i] != cols[i])
			return false;
	}
	*nvars = n;
	return true;
}

/* A copy of slots that lives as long as the model. */
L4Str *
l4_cols_copy(L4Model *m, const L4Str *cols, int ncols)
{
	L4Str	   *copy;

	if (m->slab_left < ncols)
	{
		m->slab_left = Max(ncols, SLAB_SLOTS);
		m->slab = MemoryContextAllocHuge(m->cxt, m->slab_left * sizeof(L4Str));
	}
	copy = m->slab;
	m->slab += ncols;
	m->slab_left -= ncols;
	return memcpy(copy, cols, ncols * sizeof(L4Str));
}

/* A new group, without nodes; -1 if there is one with its tag and delimiters, or with the same hash. */
int32
l4_group_new(L4Model *m, int tag, int ncols, const L4Str *delims)
{
	uint64		hash = 0;
	bool		found;
	int32	   *known;
	L4Group    *g;

	for (int c = 0; c < ncols; c++)
		hash = l4_hash2(hash, l4_hash_bytes(m->strings[delims[c]].bytes, m->strings[delims[c]].len));
	known = l4_map_put(m->group_map, l4_hash2(hash, tag), &found);
	if (found)
		return -1;
	L4_GROW(m->groups, m->ngroups, m->groups_size, m->cxt);
	*known = m->ngroups + 1;
	g = &m->groups[m->ngroups];
	g->tag = tag;
	g->ncols = ncols;
	g->delims = l4_cols_copy(m, delims, ncols);
	g->root = 0;
	return m->ngroups++;
}

/* The group of a cut shape, -1 if there is none; make it when asked to. */
int32
l4_group_of(L4Model *m, int tag, const L4Cut *cut, bool make)
{
	int32		id = l4_map_get(m->group_map, l4_hash2(cut->hash, tag)) - 1;

	/* the number of slots guards against a collision of hashes */
	if (id >= 0)
		return m->groups[id].ncols == cut->ncols && m->groups[id].tag == tag ? id : -1;
	if (!make)
		return -1;
	id = l4_group_new(m, tag, cut->ncols, cut->delims);
	m->groups[id].root = l4_node_new(m, id, -1, L4_STR_UNKNOWN);
	return id;
}

int32
l4_node_new(L4Model *m, int32 group, int32 parent, L4Str value)
{
	L4GroupNode *n;

	L4_GROW(m->nodes, m->nnodes, m->nodes_size, m->cxt);
	/* number 0 means "no child": it is never used */
	if (m->nnodes == 0)
		memset(&m->nodes[m->nnodes++], 0, sizeof(L4GroupNode));
	n = &m->nodes[m->nnodes];
	memset(n, 0, sizeof(*n));
	n->group = group;
	n->parent = parent;
	n->value = value;
	n->split = -1;
	if (parent >= 0)
		*l4_map_put(m->child_map, l4_child_key(parent, value), NULL) = m->nnodes;
	return m->nnodes++;
}

/* The shape that slots and their group's delimiters make, in text; an open slot is a mark. */
L4Shape
l4_row_shape(const L4Model *m, const L4Group *g, const L4Str *cols, StringInfo text)
{
	resetStringInfo(text);
	for (int c = 0; c < g->ncols; c++)
	{
		appendBinaryStringInfo(text, m->strings[cols[c]].bytes, m->strings[cols[c]].len);
		appendBinaryStringInfo(text, m->strings[g->delims[c]].bytes, m->strings[g->delims[c]].len);
	}
	return (L4Shape) {.text = text->data, .len = text->len, .hash = l4_hash_bytes(text->data, text->len)};
}

/* Give a template to a node. */
void
l4_node_attach(L4Model *m, int32 node, int32 template)
{
	L4GroupNode *n = &m->nodes[node];

	L4_GROW_FROM(n->templates, n->ntemplates, n->templates_size, 4, m->cxt);
	n->templates[n->ntemplates++] = template;
	m->templates[template].node = node;
}

/* A new template of a node; event 0 makes a new event for it. */
int32
l4_template_new(L4Model *m, int32 node, int ncols, const L4Str *cols, int32 event)
{
	L4Template *t;
	int32		id;

	L4_GROW(m->templates, m->ntemplates, m->templates_size, m->cxt);
	id = m->ntemplates++;
	t = &m->templates[id];
	for (int k = 0; k < L4_CHAINS; k++)
		t->next[k] = -1;
	t->cols = l4_cols_copy(m, cols, ncols);
	l4_node_attach(m, node, id);
	m->live += (m->groups[m->nodes[node].group].tag & L4_COARSE_TAG) == 0;
	if (event == 0)
	{
		L4_GROW(m->events, m->nevents, m->events_size, m->cxt);
		event = m->nevents++;
		memset(&m->events[event], 0, sizeof(L4Event));
		m->events[event].tag = m->groups[m->nodes[node].group].tag;
		m->events[event].template = id;
	}
	t->event = event;
	return id;
}

/* Occurrences that a caller claims may be any number: the sum stays the largest there is. */
void
l4_event_add(L4Event *event, int64 occurrences)
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
	l4_event_add(&m->events[a], m->events[b].occurrences);
	m->events[b].occurrences = 0;
}

void
l4_row_add(L4Model *m, int32 node, int32 template, uint64 key, const L4Str *cols, int ncols)
{
	L4GroupNode *n = &m->nodes[node];
	L4Row	   *row;

	L4_GROW_FROM(n->rows, n->nrows, n->rows_size, 4, m->cxt);
	row = &n->rows[n->nrows++];
	row->template = template;
	row->key = key;
	row->cols = l4_cols_copy(m, cols, ncols);
}
