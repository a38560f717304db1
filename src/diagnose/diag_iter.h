/*
 * diag_iter.h: iterations of all nodes of a job, put together. Pure: knows no Datum.
 */
#ifndef L4_DIAG_ITER_H
#define L4_DIAG_ITER_H

#include "packed/packed.h"

typedef struct L4Iterations L4Iterations;

#define L4_ITERATIONS_NODES (1 << 26)	/* nodes are numbered below that */

/* late: keep who reports when, for l4_iterations_late; else how long iterations take, for the other two. */
extern L4Iterations *l4_iterations_create(MemoryContext cxt, bool late);

/*
 * Add packed iterations of a node (numbers from 0); what belongs to a node comes together. clock: by how many microseconds its times are too
 * late. since: leave out what was reported earlier than this, or has no time; PG_INT64_MIN for all.
 */
extern void l4_iterations_add(L4Iterations *all, bytea *packed, int node, int64 clock, int64 since);

/* epoch, iteration, nodes, done_ts, duration_ms: the last report, the median duration */
extern L4Pack *l4_iterations_table(L4Iterations *all);

/* node, train_ts, progress_ts, iterations, last_iteration, last_epoch */
extern L4Pack *l4_iterations_nodes(L4Iterations *all);

/*
 * node, ms, before_ms, spread_ms: how much later than the median node a node reports iterations: on average from the place-th of all on, less
 * the median of the ones before; that median; and the median deviation from it. Neither the first iteration counts, nor those with fewer nodes.
 */
extern L4Pack *l4_iterations_late(L4Iterations *all, int place, double min_nodes);

#endif							/* L4_DIAG_ITER_H */
