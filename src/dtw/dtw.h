/*
 * dtw.h
 *		Dynamic time warping of two sequences.
 */
#ifndef L4_DTW_H
#define L4_DTW_H

/* Longest sequence. */
#define L4_DTW_MAX_LENGTH	1000000

/* Largest matrix (one byte a cell) that a warping path is traced in. */
#define L4_DTW_MAX_CELLS	(64 * 1024 * 1024)

/* No band. */
#define L4_DTW_NO_BAND		(-1)

/* Errors when a sequence is longer than L4_DTW_MAX_LENGTH. */
extern void l4_dtw_check_lengths(int n, int m);

/*
 * Distance: the least sum of step costs over all warping paths, where a step
 * costs 0 or 1 (equal or not), or |a - b|. band is the Sakoe-Chiba band, see
 * docs/algorithms.md. Both sequences empty: 0; one of them: infinity.
 */
extern double l4_dtw_int(const int32 *a, int n, const int32 *b, int m, int band);
extern double l4_dtw_float(const double *a, int n, const double *b, int m, int band);

typedef struct L4DtwStep
{
	int			i;				/* positions from 0 */
	int			j;
	int			cost;			/* of this step */
} L4DtwStep;

/*
 * A cheapest warping path of the 0/1 distance, from the first pair to the
 * last. Where several are cheapest, reading from the end, a step in both is
 * preferred to one in a alone, and that to one in b alone.
 */
extern L4DtwStep *l4_dtw_path(const int32 *a, int n, const int32 *b, int m,
							  int band, int *nsteps);

#endif							/* L4_DTW_H */
