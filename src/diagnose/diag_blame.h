/*
 * diag_blame.h: blame that flows through a graph of complaints. Pure: knows no Datum.
 */
#ifndef L4_DIAG_BLAME_H
#define L4_DIAG_BLAME_H

#include "postgres.h"

/*
 * Nodes are numbered from 0. Edges come in order of time; an edge that would close a cycle is left out. Node i starts with weight[i], keeps the
 * share keep[i] of what it has and passes the rest along its edges in equal parts; a node without edges keeps all.
 */
extern void l4_blame_flow(int nnodes, int nedges, const int *from, const int *to,
						  const double *weight, const double *keep, double *blame);

#endif							/* L4_DIAG_BLAME_H */
