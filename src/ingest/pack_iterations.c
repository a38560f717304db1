/*
 * pack_iterations.c
 *		Iterations of a scan result as packed rows: epoch, number, time,
 *		duration, and a column for each metric.
 */
#include "postgres.h"

#include <math.h>

#include "ingest/ingest_pack.h"

/* Which of the metrics a column of the pack has, -1 none; metrics get a column each, by name. */
static void
place_metrics(L4Pack *pack, const L4IterEntry *iter, int metric_of[L4_PACK_MAX_COLS])
{
	memset(metric_of, -1, sizeof(int) * L4_PACK_MAX_COLS);
	for (int k = iter->nmetrics - 1; k >= 0; k--)
	{
		int			c = 4;

		while (c < pack->ncols && strncmp(pack->cols[c].name, iter->metrics[k].name, sizeof(pack->cols[c].name) - 1) != 0)
			c++;
		if (c < pack->ncols)
			metric_of[c] = k;
	}
}

static void
add_metric_columns(L4Pack *pack, const L4IterEntry *iter)
{
	for (int k = 0; k < iter->nmetrics; k++)
	{
		int			c = 4;

		while (c < pack->ncols && strncmp(pack->cols[c].name, iter->metrics[k].name, sizeof(pack->cols[c].name) - 1) != 0)
			c++;
		if (c == pack->ncols && c < L4_PACK_MAX_COLS)
			l4_pack_add_col(pack, L4_PACK_FLOAT, iter->metrics[k].name);
	}
}

void
l4_pack_iterations(L4Pack *pack, const L4ResultPart *part)
{
	int			metric_of[L4_PACK_MAX_COLS];

	for (int i = 0; i < part->niters; i++)
	{
		const L4IterEntry *iter = &part->iters[i];

		if (i == 0 || !l4_same_metrics(iter, &part->iters[i - 1]))
		{
			add_metric_columns(pack, iter);
			place_metrics(pack, iter, metric_of);
		}
		l4_pack_int(pack, 0, iter->epoch);
		l4_pack_int(pack, 1, iter->iteration);
		l4_pack_ts(pack, 2, iter->ts);
		if (isnan(iter->duration_ms))
			l4_pack_null(pack, 3);
		else
			l4_pack_float(pack, 3, iter->duration_ms);
		for (int c = 4; c < pack->ncols; c++)
		{
			if (metric_of[c] >= 0)
				l4_pack_float(pack, c, iter->metrics[metric_of[c]].value);
			else
				l4_pack_null(pack, c);
		}
	}
}
