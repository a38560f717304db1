/*
 * ingest_held.h
 *		The units of a batch, from when they were read until they are stored.
 *
 * Some ten megabytes that several statements look at: they stay in one
 * place of the process, where SQL would copy them from step to step.
 */
#ifndef L4_INGEST_HELD_H
#define L4_INGEST_HELD_H

/* A unit of the batch, NULL where a piece has no lines. */
extern bytea *l4_held_unit(int number);
extern int	l4_held_count(void);
extern void l4_held_release(void);

#endif							/* L4_INGEST_HELD_H */
