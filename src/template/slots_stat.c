/*
 * slots_stat.c
 *		Statistics of algorithm l4: which rows of a node are one template.
 *
 * Top-down, rows are split by the column with the fewest different values
 * until all columns that vary count as variable. Bottom-up, clusters that
 * differ in one column are merged when that column counts as variable. Both
 * see at most L4_NODE_ROWS rows, so a miss costs a bounded number of steps.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "template/slots_int.h"

/* What is known of a column's values in a set of rows. */
typedef struct Column
{
	int			values;			/* different ones */
	int			plain;			/* of them plain words */
	bool		empty;
	bool		mark;
	bool		open;
	bool		telling;
	int			qualified;		/* names with dots inside */
	int			numbered;		/* with a digit, all of one stem */
	uint64		stem;			/* of the first */
} Column;

static inline uint8
flags_of(const L4Model *m, L4Str s)
{
	return m->strings[s].flags;
}

/* Start an empty set of strings. */
static void
set_clear(L4Scratch *x)
{
	if (++x->stamp == 0)
	{
		memset(x->set_stamp, 0, sizeof(x->set_stamp));
		x->stamp = 1;
	}
}

/* The number kept for a key of the set, made if it is new. */
static int *
set_entry(L4Scratch *x, uint64 key, bool *found)
{
	uint32		i = (uint32) ((key * UINT64CONST(0x9E3779B97F4A7C15)) >> 54);

	while (x->set_stamp[i] == x->stamp)
	{
		if (x->set_key[i] == key)
		{
			*found = true;
			return &x->set_value[i];
		}
		i = (i + 1) & (lengthof(x->set_key) - 1);
	}
	*found = false;
	x->set_stamp[i] = x->stamp;
	x->set_key[i] = key;
	return &x->set_value[i];
}

static void
column_value(const L4Model *m, Column *col, L4Str s)
{
	uint8		flags = flags_of(m, s);
	bool		found;

	(void) set_entry(m->scratch, s, &found);
	if (found)
		return;
	col->values++;
	col->plain += (flags & S_PLAIN) != 0;
	col->empty |= s == L4_STR_EMPTY;
	col->mark |= s == L4_STR_MARK;
	col->open |= s == L4_STR_OPEN;
	col->qualified += (flags & S_DOTTED) != 0;
	if (m->strings[s].stem != 0)
	{
		if (col->values == 1)
			col->stem = m->strings[s].stem;
		col->numbered += col->stem == m->strings[s].stem;
	}
	col->telling |= (flags & S_TELLING) != 0;
}

/*
 * Does a column with these values count as variable? words constant words
 * remain beside it, before is the constant slot before it.
 */
static bool
is_variable(const L4Model *m, const L4Group *g, int c, const Column *col, int words, L4Str before)
{
	int			need = col->plain * 2 > col->values ? m->distinct : Max(2, m->distinct * 4 / 5);
	bool		key = c > 0 && (flags_of(m, g->delims[c - 1]) & S_KEY);

	if (col->telling)
		return false;
	/* eth0 and eth1: one name and a number */
	if (col->numbered == col->values)
		return true;
	if (col->qualified == col->values)
		need = Min(need, Max(2, m->distinct * 3 / 10));
	if (key)
	{
		need = Min(need, Max(2, m->distinct * 2 / 5));
		if (words >= 5)
			need = Min(need, Max(2, m->distinct / 5));
	}
	else if (col->empty)
		need = Max(need, 8);
	if (before != L4_STR_UNKNOWN && (flags_of(m, before) & S_WHO))
		need = 2;
	return col->values >= need;
}

static inline bool
is_word(const L4Model *m, L4Str s)
{
	return (flags_of(m, s) & (S_LETTER | S_MARK)) == S_LETTER;
}

/* Enough of a template must stay constant. */
static bool
enough(int words, int nvariable)
{
	return words >= 1 && words >= nvariable;
}

/* A new cluster of the rows order[0 .. n): equal columns stay, the others are marks. */
static void
new_cluster(L4Model *m, const L4Node *node, int ncols, const int *order, int n)
{
	L4Scratch  *x = m->scratch;
	L4Cluster  *cl = &x->clusters[x->nclusters];

	cl->cols = x->cluster_cols + (Size) x->nclusters * ncols;
	x->nclusters++;
	cl->dead = false;
	memcpy(cl->cols, node->rows[order[0]].cols, ncols * sizeof(L4Str));
	cl->first = cl->last = order[0];
	x->next_row[order[0]] = -1;
	for (int i = 1; i < n; i++)
	{
		const L4Str *cols = node->rows[order[i]].cols;

		for (int c = 0; c < ncols; c++)
			if (cols[c] != cl->cols[c])
				cl->cols[c] = L4_STR_OPEN;
		x->next_row[cl->last] = order[i];
		x->next_row[order[i]] = -1;
		cl->last = order[i];
	}
}

/*
 * Sort order[0 .. n) by the value of column c: values in order of appearance,
 * and the rows of one value too. Writes where each value's rows start, and n
 * at last; returns the number of values.
 */
static int
group_by(L4Scratch *x, const L4Node *node, int c, int *order, int n, int *start)
{
	int			sorted[L4_NODE_ROWS + 1];
	int			number[L4_NODE_ROWS + 1];
	int			at[L4_NODE_ROWS + 1];
	int			nvalues = 0;

	set_clear(x);
	for (int i = 0; i < n; i++)
	{
		bool		found;
		int		   *value = set_entry(x, node->rows[order[i]].cols[c], &found);

		if (!found)
		{
			*value = nvalues;
			start[nvalues++] = 0;
		}
		number[i] = *value;
		start[number[i]]++;
	}
	for (int v = 0, from = 0; v < nvalues; v++)
	{
		at[v] = from;
		from += start[v];
		start[v] = at[v];
	}
	start[nvalues] = n;
	for (int i = 0; i < n; i++)
		sorted[at[number[i]]++] = order[i];
	memcpy(order, sorted, n * sizeof(int));
	return nvalues;
}

/* Cluster the rows order[0 .. n) from the top. */
static void
top_down(L4Model *m, const L4Node *node, const L4Group *g, int *order, int n)
{
	L4Scratch  *x = m->scratch;
	const L4Str *head = node->rows[order[0]].cols;
	Column	   *columns;
	int		   *varying;
	int			nvarying = 0;
	int			words = 0;
	int			fewest = 0;
	bool		one = true;

	check_stack_depth();
	if (n == 1)
	{
		new_cluster(m, node, g->ncols, order, n);
		return;
	}
	columns = palloc(g->ncols * sizeof(Column));
	varying = palloc(g->ncols * sizeof(int));
	for (int c = 0; c < g->ncols; c++)
	{
		Column		col = {0};
		int			i = 1;

		while (i < n && node->rows[order[i]].cols[c] == head[c])
			i++;
		if (i == n)
		{
			words += is_word(m, head[c]);
			continue;
		}
		set_clear(x);
		for (i = 0; i < n; i++)
			column_value(m, &col, node->rows[order[i]].cols[c]);
		columns[nvarying] = col;
		varying[nvarying++] = c;
	}
	for (int v = 0; v < nvarying; v++)
	{
		int			c = varying[v];
		bool		constant_before = c > 0 && !(v > 0 && varying[v - 1] == c - 1);

		if (columns[v].values < columns[fewest].values)
			fewest = v;
		if (!is_variable(m, g, c, &columns[v], words, constant_before ? head[c - 1] : L4_STR_UNKNOWN))
			one = false;
	}
	if (one && enough(words, nvarying))
		new_cluster(m, node, g->ncols, order, n);
	else
	{
		int		   *start = palloc((n + 1) * sizeof(int));
		int			nvalues = group_by(x, node, varying[fewest], order, n, start);

		for (int v = 0; v < nvalues; v++)
			top_down(m, node, g, order + start[v], start[v + 1] - start[v]);
		pfree(start);
	}
	pfree(columns);
	pfree(varying);
}

static uint64
cluster_hash(const L4Cluster *cl, int ncols)
{
	uint64		h = 0;

	for (int c = 0; c < ncols; c++)
		h += l4_hash2(c, cl->cols[c]);
	return h;
}

/* Merge the n clusters chained from first, which differ in column c alone. */
static void
merge_clusters(L4Scratch *x, int first, int c, int ncols)
{
	L4Cluster  *to = &x->clusters[first];

	for (int i = to->next; i >= 0; i = x->clusters[i].next)
	{
		L4Cluster  *cl = &x->clusters[i];

		x->next_row[to->last] = cl->first;
		to->last = cl->last;
		cl->dead = true;
	}
	to->cols[c] = L4_STR_OPEN;
	to->hash = cluster_hash(to, ncols);
}

/* Are the clusters chained from first one template, so that column c varies? */
static bool
column_merges(L4Model *m, const L4Group *g, int first, int c)
{
	L4Scratch  *x = m->scratch;
	const L4Cluster *cl = &x->clusters[first];
	Column		col = {0};
	int			words = 0;

	set_clear(x);
	for (int i = first; i >= 0; i = x->clusters[i].next)
		column_value(m, &col, x->clusters[i].cols[c]);
	if (col.open || (col.mark && (col.values >= 3 || col.empty)))
		return true;
	for (int k = 0; k < g->ncols; k++)
		words += k != c && is_word(m, cl->cols[k]);
	return enough(words, 1) &&
		is_variable(m, g, c, &col, words, c > 0 ? cl->cols[c - 1] : L4_STR_UNKNOWN);
}

/* Clusters that are equal but for column c: merge them where the column varies. */
static bool
merge_column(L4Model *m, const L4Group *g, int c)
{
	L4Scratch  *x = m->scratch;
	bool		merged = false;
	bool		any = false;

	/* chain those that agree in the rest */
	set_clear(x);
	for (int i = 0; i < x->nclusters; i++)
	{
		L4Cluster  *cl = &x->clusters[i];
		bool		found;
		int		   *last;

		cl->next = -1;
		cl->leads = false;
		/* what tells how something went stays apart, and does not keep the others from merging */
		if (cl->dead || (flags_of(m, cl->cols[c]) & S_TELLING))
			continue;
		last = set_entry(x, cl->hash - l4_hash2(c, cl->cols[c]), &found);
		if (found)
		{
			x->clusters[*last].next = i;
			any = true;
		}
		cl->leads = !found;
		*last = i;
	}
	for (int i = 0; any && i < x->nclusters; i++)
		if (x->clusters[i].leads && x->clusters[i].next >= 0 && column_merges(m, g, i, c))
		{
			merge_clusters(x, i, c, g->ncols);
			merged = true;
		}
	return merged;
}

static void
bottom_up(L4Model *m, const L4Group *g)
{
	L4Scratch  *x = m->scratch;
	bool		again = true;

	for (int i = 0; i < x->nclusters; i++)
		x->clusters[i].hash = cluster_hash(&x->clusters[i], g->ncols);
	while (again)
	{
		again = false;
		for (int c = 0; c < g->ncols; c++)
		{
			L4Str		value = L4_STR_UNKNOWN;
			bool		varies = false;

			/* a column in which all clusters agree cannot merge any */
			for (int i = 0; i < x->nclusters && !varies; i++)
				if (!x->clusters[i].dead)
				{
					varies = value != L4_STR_UNKNOWN && x->clusters[i].cols[c] != value;
					value = x->clusters[i].cols[c];
				}
			if (varies)
				again |= merge_column(m, g, c);
		}
	}
}

/* Template b of a node is the same as a: its rows and its event go to a, which fits both. */
static void
merge_templates(L4Model *m, L4Node *node, int ncols, int32 a, int32 b)
{
	L4Str	   *to = m->templates[a].cols;
	const L4Str *from = m->templates[b].cols;
	int			w = 0;
	int32		event = l4_model_resolve(m, m->templates[a].event);
	int32		prints = a;

	/* an event that prints a more general template of another node goes on doing so */
	if (event == l4_model_resolve(m, m->templates[b].event) && m->events[event].template != b)
		prints = m->events[event].template;
	for (int c = 0; c < ncols; c++)
		if (to[c] != from[c])
			to[c] = L4_STR_OPEN;
	for (int i = 0; i < node->nrows; i++)
		if (node->rows[i].template == b)
			node->rows[i].template = a;
	for (int i = 0; i < node->ntemplates; i++)
		if (node->templates[i] != b)
			node->templates[w++] = node->templates[i];
	node->ntemplates = w;
	l4_event_merge(m, m->templates[a].event, m->templates[b].event, prints);
	m->templates[b].event = 0;
}

static void
note_changed(L4Scratch *x, int32 template)
{
	for (int i = 0; i < x->nchanged; i++)
		if (x->changed[i] == template)
			return;
	x->changed[x->nchanged++] = template;
}

/*
 * Give the clusters to the templates of their rows, and merge those. Templates
 * that changed are noted in m->scratch->changed.
 */
static void
apply_clusters(L4Model *m, int32 node_id)
{
	L4Scratch  *x = m->scratch;
	L4Node	   *node = &m->nodes[node_id];
	int			ncols = m->groups[node->group].ncols;

	for (int i = 0; i < x->nclusters; i++)
	{
		int32		keep;

		if (x->clusters[i].dead)
			continue;
		for (int r = x->next_row[x->clusters[i].first]; r >= 0; r = x->next_row[r])
		{
			int32		other = node->rows[r].template;

			keep = node->rows[x->clusters[i].first].template;
			if (other == keep)
				continue;
			if (other < keep)
			{
				other = keep;
				keep = node->rows[r].template;
			}
			merge_templates(m, node, ncols, keep, other);
			note_changed(x, keep);
		}
	}
	/* a template that became more general may now fit another */
	for (int i = 0; x->nchanged > 0 && i < node->ntemplates; i++)
		for (int j = 0; j < node->ntemplates; j++)
		{
			int			nvars;

			if (i != j && l4_fits(m, m->templates[node->templates[i]].cols,
								  m->templates[node->templates[j]].cols, ncols, &nvars))
			{
				int32		keep = node->templates[i];

				merge_templates(m, node, ncols, keep, node->templates[j]);
				note_changed(x, keep);
				i = -1;
				break;
			}
		}
}

/*
 * Cluster the rows of a leaf. The last row is new; its template is new too.
 */
void
l4_recluster(L4Model *m, int32 node_id)
{
	L4Scratch  *x = m->scratch;
	L4Node	   *node = &m->nodes[node_id];
	const L4Group *g = &m->groups[node->group];
	Size		need = (Size) (L4_NODE_ROWS + 1) * g->ncols;
	int32		own = node->rows[node->nrows - 1].template;

	x->nchanged = 0;
	if (node->nrows > 1)
	{
		if (x->cluster_cols_size < need)
		{
			if (x->cluster_cols)
				pfree(x->cluster_cols);
			x->cluster_cols = MemoryContextAllocHuge(m->cxt, need * sizeof(L4Str));
			x->cluster_cols_size = need;
		}
		x->nclusters = 0;
		for (int i = 0; i < node->nrows; i++)
			x->order[i] = i;
		top_down(m, node, g, x->order, node->nrows);
		bottom_up(m, g);
		apply_clusters(m, node_id);
	}
	if (m->templates[own].event != 0)
		note_changed(x, own);
	for (int i = 0; i < x->nchanged; i++)
		if (m->templates[x->changed[i]].event != 0)
			l4_join(m, x->changed[i]);
}

/* Move rows and templates of a full leaf into children by the value of column c. */
static void
split_node(L4Model *m, int32 node_id, int c)
{
	L4Node		old = m->nodes[node_id];
	int			ncols = m->groups[old.group].ncols;

	m->nodes[node_id].split = c;
	m->nodes[node_id].nrows = m->nodes[node_id].ntemplates = 0;
	m->nodes[node_id].rows_size = m->nodes[node_id].templates_size = 0;
	m->nodes[node_id].rows = NULL;
	m->nodes[node_id].templates = NULL;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < (pass == 0 ? old.ntemplates : old.nrows); i++)
		{
			/* a row goes where its template is, so that they stay together */
			int32		template = pass == 0 ? old.templates[i] : old.rows[i].template;
			L4Str		value = m->templates[template].cols[c];
			int32		child = l4_map_get(&m->child_map, l4_hash2(node_id, value));
			L4Node	   *n;

			if (child == 0)
				child = l4_node_new(m, old.group, node_id, value);
			n = &m->nodes[child];
			if (pass == 0)
			{
				n->templates = l4_grow(n->templates, &n->templates_size, n->ntemplates + 1, sizeof(int32), m->cxt);
				n->templates[n->ntemplates++] = template;
				m->templates[template].node = child;
			}
			else
				l4_row_add(m, child, template, old.rows[i].key, old.rows[i].cols, ncols);
		}
	pfree(old.rows);
	pfree(old.templates);
}

/*
 * Make room in a full leaf: rows of a template that has several are replaced
 * by the template itself. If that frees less than half, the leaf is split by
 * the column with the fewest values, for good.
 */
void
l4_node_compact(L4Model *m, int32 node_id)
{
	L4Node	   *node = &m->nodes[node_id];
	int			ncols = m->groups[node->group].ncols;
	int			w = 0;
	int			best = -1;
	int			best_values = 0;

	for (int i = 0; i < node->nrows; i++)
	{
		L4Row		row = node->rows[i];
		bool		first = true;
		bool		several = false;

		for (int j = 0; j < node->nrows; j++)
			if (j != i && node->rows[j].template == row.template && (j > i || j < w))
			{
				several = true;
				if (j < w)
					first = false;
			}
		if (several || row.key == 0)
		{
			row.key = 0;
			row.cols = m->templates[row.template].cols;
		}
		if (first)
			node->rows[w++] = row;
	}
	node->nrows = w;
	if (w <= L4_NODE_ROWS / 2)
		return;
	for (int c = 0; c < ncols; c++)
	{
		Column		col = {0};

		set_clear(m->scratch);
		for (int i = 0; i < w; i++)
			column_value(m, &col, node->rows[i].cols[c]);
		if (col.values >= 2 && (best < 0 || col.values < best_values))
		{
			best = c;
			best_values = col.values;
		}
	}
	if (best >= 0)
		split_node(m, node_id, best);
}
