/*
 * divide.h
 *		Division of records into parts at silences, and change points.
 */
#ifndef L4_FLOW_DIVIDE_H
#define L4_FLOW_DIVIDE_H

#define L4_DIVISIONS	15		/* thresholds that are tried */
#define L4_NEAR_PARTS	12		/* so many parts that lie together tell what is usual */
#define L4_FINER		0.03	/* cost that a finer division may have more */

/* Records in order of their start; times in microseconds. */
typedef struct L4Records
{
	int			n;
	const int64 *start;
	const int64 *end;
	const double *bytes;
	bool		micro;			/* they are of a pipeline: parts may be micro-batches, not buckets */
	int			nbeats;
	const int64 *beats;			/* starts of the pipeline's records of one of the NICs, in order */
} L4Records;

typedef struct L4Division
{
	double		threshold;		/* silences that are longer divide */
	double		cost;			/* of those that may be the best */
	double		period;			/* between the ends of parts, a low quantile */
	bool		whole;			/* the pipeline sends about as much before each part */
} L4Division;

extern int	l4_divide(const L4Records *records, L4Division *divisions, int *best);
extern int	l4_divide_parts(const L4Records *records, double threshold, int *part);
extern void l4_change_points(const double *value, int n, double length, int lag, double *probability);

#endif							/* L4_FLOW_DIVIDE_H */
