/*
 * cluster_stat.c
 *		Statistics of algorithm l4: which rows of a node are one template. Reads
 *		the model, changes nothing but the scratch.
 *
 * Top-down, rows are split by the column with the fewest different values
 * until all columns that vary count as variable. Bottom-up, clusters that
 * differ in one column are merged when that column counts as variable. Both
 * see at most L4_NODE_ROWS rows, so a miss costs a bounded number of steps.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "miner/miner_int.h"

/* What is known of a column's values in a set of rows. */
typedef struct Column
{
	int			values;			/* different ones */
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
	return l4_string(m, s)->flags;
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
	col->empty |= s == L4_STR_EMPTY;
	col->mark |= s == L4_STR_MARK;
	col->open |= s == L4_STR_OPEN;
	col->qualified += (flags & S_DOTTED) != 0;
	if (l4_string(m, s)->stem != 0)
	{
		if (col->values == 1)
			col->stem = l4_string(m, s)->stem;
		col->numbered += col->stem == l4_string(m, s)->stem;
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
	int			need = m->distinct;
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
new_cluster(L4Model *m, const L4GroupNode *node, int ncols, const int *order, int n)
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
group_by(L4Scratch *x, const L4GroupNode *node, int c, int *order, int n, int *start)
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
top_down(L4Model *m, const L4GroupNode *node, const L4Group *g, int *order, int n)
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
	/* rows of a damaged parser may be all the same */
	if (nvarying == 0 || (one && enough(words, nvarying)))
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
	for (int k = 0; k < g->ncols; k++)
		words += k != c && is_word(m, cl->cols[k]);
	/* without a word left the template would take in whatever has its delimiters */
	if (words > 0 && (col.open || (col.mark && (col.values >= 3 || col.empty))))
		return true;
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
			again |= merge_column(m, g, c);
	}
}

/* Which rows of a leaf are one template: clusters in m->scratch, those not dead. */
void
l4_cluster_rows(L4Model *m, const L4GroupNode *node)
{
	L4Scratch  *x = m->scratch;
	const L4Group *g = &m->groups[node->group];
	Size		need = (Size) (L4_NODE_ROWS + 1) * g->ncols;

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
}

/* How many values the rows of a leaf have in column c. */
int
l4_column_values(L4Model *m, const L4GroupNode *node, int c)
{
	Column		col = {0};

	set_clear(m->scratch);
	for (int i = 0; i < node->nrows; i++)
		column_value(m, &col, node->rows[i].cols[c]);
	return col.values;
}
