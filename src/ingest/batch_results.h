/*
 * batch_results.h
 *		The scan results of a batch, from when they were read until they are stored.
 *
 * Some ten megabytes that several statements look at: they stay in one
 * place of the process, where SQL would copy them from step to step.
 */
#ifndef L4_BATCH_RESULTS_H
#define L4_BATCH_RESULTS_H

/* A scan result of the batch, NULL where a piece has no lines. */
extern bytea *l4_batch_result(int number);
extern int	l4_batch_results_count(void);
extern void l4_batch_results_release(void);

#endif							/* L4_BATCH_RESULTS_H */
