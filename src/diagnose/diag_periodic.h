/*
 * diag_periodic.h: what comes every so many iterations. Pure: knows no Datum.
 */
#ifndef L4_DIAG_PERIODIC_H
#define L4_DIAG_PERIODIC_H

#include "postgres.h"

/*
 * Iterations, ascending and different, each with a number of nodes. result[i]: iteration i is one of three that are equally far apart, by three
 * at least, and the first of the three has at most twice, at least half the nodes of each of the two others.
 */
extern void l4_periodic(int n, const int32 *iterations, const int32 *nodes, bool *result);

#endif							/* L4_DIAG_PERIODIC_H */
