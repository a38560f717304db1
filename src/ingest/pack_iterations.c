/*
 * pack_iterations.c
 *		Iterations of a scan result as packed rows: epoch, number, time,
 *		duration, and a column for each metric.
 */
#include "postgres.h"

#include <math.h>

#include "ingest/ingest_pack.h"

#define FIRST_METRIC 4

/* The column of a metric, a new one where it has none yet; -1: there are too many. */
static int
metric_column(L4Pack *pack, const char *name)
{
	for (int c = FIRST_METRIC; c < pack->ncols; c++)
		if (strncmp(pack->cols[c].name, name, sizeof(pack->cols[c].name) - 1) == 0)
			return c;
	return pack->ncols < L4_PACK_MAX_COLS ? l4_pack_add_col(pack, L4_PACK_FLOAT, name) : -1;
}

void
l4_pack_iterations(L4Pack *pack, const L4ResultPart *part)
{
	for (int i = 0; i < part->niters; i++)
	{
		const L4IterEntry *iter = &part->iters[i];
		const L4Metric *of_column[L4_PACK_MAX_COLS] = {NULL};

		for (int k = 0; k < iter->nmetrics; k++)
		{
			int			c = metric_column(pack, iter->metrics[k].name);

			/* of two of one name the first */
			if (c >= 0 && of_column[c] == NULL)
				of_column[c] = &iter->metrics[k];
		}
		l4_pack_int(pack, 0, iter->epoch);
		l4_pack_int(pack, 1, iter->iteration);
		l4_pack_ts(pack, 2, iter->ts);
		if (isnan(iter->duration_ms))
			l4_pack_null(pack, 3);
		else
			l4_pack_float(pack, 3, iter->duration_ms);
		for (int c = FIRST_METRIC; c < pack->ncols; c++)
		{
			if (of_column[c] != NULL)
				l4_pack_float(pack, c, of_column[c]->value);
			else
				l4_pack_null(pack, c);
		}
	}
}
