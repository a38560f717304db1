/*
 * node.c
 *		A node of algorithm l4 changes: its rows are clustered anew and its
 *		templates merged, or it is full and gets children.
 */
#include "postgres.h"

#include "miner/miner_int.h"

/* Template b of a node is the same as a: its rows and its event go to a, which fits both. */
static void
merge_templates(L4Model *m, L4GroupNode *node, int ncols, int32 a, int32 b)
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
	m->live--;
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
	L4GroupNode *node = &m->nodes[node_id];
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
	L4GroupNode *node = &m->nodes[node_id];
	int32		own = node->rows[node->nrows - 1].template;

	x->nchanged = 0;
	/* a template of another model may fit those of this one */
	if (node->rows[node->nrows - 1].key == 0)
		note_changed(x, own);
	if (node->nrows > 1)
	{
		l4_cluster_rows(m, node);
		apply_clusters(m, node_id);
	}
	if (m->templates[own].event != 0)
		note_changed(x, own);
	for (int i = 0; i < x->nchanged; i++)
		if (m->templates[x->changed[i]].event != 0)
			l4_merge_template(m, x->changed[i]);
}

/* Move rows and templates of a full leaf into children by the value of column c. */
static void
split_node(L4Model *m, int32 node_id, int c)
{
	L4GroupNode		old = m->nodes[node_id];
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
			int32		child = l4_map_get(m->child_map, l4_child_key(node_id, value));

			if (child == 0)
				child = l4_node_new(m, old.group, node_id, value);
			if (pass == 0)
				l4_node_attach(m, child, template);
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
	L4GroupNode *node = &m->nodes[node_id];
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
		int			values = l4_column_values(m, node, c);

		if (values >= 2 && (best < 0 || values < best_values))
		{
			best = c;
			best_values = values;
		}
	}
	if (best >= 0)
		split_node(m, node_id, best);
}
