/*
 * diag_counter.h: iterations counted from the records of one event. Pure: knows no Datum.
 */
#ifndef L4_DIAG_COUNTER_H
#define L4_DIAG_COUNTER_H

#include "packed/packed.h"

/* Lines at which a number is known, ascending, and the numbers */
typedef struct L4KnownNumbers
{
	int			n;
	const int64 *lines;
	const int32 *numbers;
} L4KnownNumbers;

typedef struct L4CounterRule
{
	int32		step;			/* by which the number grows, 1 and more */
	int32		low;			/* the first number of an epoch */
	int32		high;			/* the last one at most; PG_INT32_MAX: not known */
	bool		begins_anew;	/* does the number fall back to low with each epoch */
} L4CounterRule;

/*
 * Packed iterations (epoch, iteration, time of the report, duration in milliseconds) of a stream in which n records, at these lines and times
 * (L4_NO_TS: not known), report one iteration each, or several ranks the same one. The first numbers are known; later ones follow by the rule.
 * epochs: the first line of each epoch that is known.
 */
extern L4Pack *l4_count_records(MemoryContext cxt, int n, const int64 *lines, const int64 *times,
								const L4KnownNumbers *known, const L4KnownNumbers *epochs, const L4CounterRule *rule);

#endif							/* L4_DIAG_COUNTER_H */
