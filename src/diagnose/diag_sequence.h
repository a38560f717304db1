/*
 * diag_sequence.h: iterations whose events are unlike those of the iterations before. Pure: knows no Datum.
 */
#ifndef L4_DIAG_SEQUENCE_H
#define L4_DIAG_SEQUENCE_H

#include "packed/packed.h"

/* Iterations that each one is compared with, and deviations that count. */
#define L4_DEVIATION_WINDOW	10
#define L4_DEVIATION_SIGMA	3.0
#define L4_DEVIATION_MIN_SD	0.5

typedef struct L4Deviations L4Deviations;

/* Merged events, ascending, count as their survivors. */
extern L4Deviations *l4_deviations_create(MemoryContext cxt, const int32 *merged, const int32 *survivors, int nmerged);

/* Add packed sequences; those of one stream come together. */
extern void l4_deviations_add(L4Deviations *all, bytea *packed, int stream);

/* stream, epoch, iteration, distance, sigma: the iterations that deviate */
extern L4Pack *l4_deviations_result(L4Deviations *all);

#endif							/* L4_DIAG_SEQUENCE_H */
