/*
 * dtw.c
 *		Dynamic time warping of two sequences (Sakoe and Chiba, 1978).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "dtw/dtw.h"

/* What the loops may read and write past the end. */
#define PADDING			16

/*
 * How far a path may leave the diagonals through the first and through the
 * last pair: with lengths that differ these are two, and the strip between
 * them is always allowed, so that every band has a path.
 */
static void
band_limits(int n, int m, int band, int64 *below, int64 *above)
{
	if (band == L4_DTW_NO_BAND)
		band = PG_INT32_MAX;
	*below = (int64) band + Max(0, n - m);
	*above = (int64) band + Max(0, m - n);
}

/* Sequences up to this length have distances that fit 16 bits. */
#define SHORT_LENGTH	32766

#define CELL		int16
#define ELEMENT		uint16
#define SOURCE		int32
#define COST(x, y)	((int16) ((x) != (y)))
#define INFINITE	PG_INT16_MAX
#define LANES		16
#define NAME(x)		short_##x
#include "dtw/dtw_kernel.h"

#define CELL		int32
#define ELEMENT		int32
#define SOURCE		int32
#define COST(x, y)	((int32) ((x) != (y)))
#define INFINITE	(PG_INT32_MAX / 2)	/* a step more must not overflow */
#define LANES		8
#define NAME(x)		long_##x
#include "dtw/dtw_kernel.h"

#define CELL		double
#define ELEMENT		double
#define SOURCE		double
#define COST(x, y)	fabs((x) - (y))
#define INFINITE	INFINITY
#define LANES		4
#define NAME(x)		float_##x
#include "dtw/dtw_kernel.h"

void
l4_dtw_check_lengths(int n, int m)
{
	if (n > L4_DTW_MAX_LENGTH || m > L4_DTW_MAX_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("sequence of length %d is too long for dynamic time warping",
						Max(n, m)),
				 errdetail("The limit is %d.", L4_DTW_MAX_LENGTH)));
}

/* Make a range of values large enough for a sequence. */
static void
include_values(const int32 *values, int n, int32 *least, int32 *most)
{
	for (int i = 0; i < n; i++)
	{
		*least = Min(*least, values[i]);
		*most = Max(*most, values[i]);
	}
}

/* True when one sequence is empty, and what the distance is then. */
static bool
trivial(int n, int m, double *result)
{
	if (n > 0 && m > 0)
		return false;
	*result = n == m ? 0 : INFINITY;
	return true;
}

double
l4_dtw_int(const int32 *a, int n, const int32 *b, int m, int band)
{
	double		result;
	int32		least = PG_INT32_MAX;
	int32		most = PG_INT32_MIN;

	if (trivial(n, m, &result))
		return result;
	if (n == m && memcmp(a, b, n * sizeof(int32)) == 0)
		return 0;
	if (n > m)
		return l4_dtw_int(b, m, a, n, band);	/* the buffers are as long as a */

	/* event ids of a job mostly lie close together: twice as many fit a vector */
	include_values(a, n, &least, &most);
	include_values(b, m, &least, &most);
	if (m <= SHORT_LENGTH && (int64) most - least <= PG_UINT16_MAX)
		return short_distance(a, n, b, m, least, band);
	return long_distance(a, n, b, m, 0, band);
}

double
l4_dtw_float(const double *a, int n, const double *b, int m, int band)
{
	double		result;

	if (trivial(n, m, &result))
		return result;
	if (n > m)
		return l4_dtw_float(b, m, a, n, band);
	return float_distance(a, n, b, m, 0, band);
}

/* Where a cell's cheapest path comes from. */
enum
{
	FROM_BOTH,					/* (i - 1, j - 1) */
	FROM_A,						/* (i - 1, j) */
	FROM_B						/* (i, j - 1) */
};

/* Fills came_from, row by row. */
static void
trace_matrix(const int32 *a, int n, const int32 *b, int m, int band,
			 uint8 *came_from)
{
	int32	   *above_row = palloc((m + 1) * sizeof(int32));
	int32	   *row = palloc((m + 1) * sizeof(int32));
	int64		below;
	int64		above;

	/* entry j + 1 of a row is cell (i, j); a path may be as long as n + m */
	band_limits(n, m, band, &below, &above);
	for (int j = 0; j <= m; j++)
		above_row[j] = PG_INT32_MAX - 1;
	above_row[0] = 0;
	for (int i = 0; i < n; i++)
	{
		int			lo = (int) Max(0, i - below);
		int			hi = (int) Min(m - 1, i + above);
		int32	   *spare;

		row[lo] = PG_INT32_MAX - 1;
		for (int j = lo; j <= hi; j++)
		{
			int32		least = above_row[j];
			uint8		from = FROM_BOTH;

			if (above_row[j + 1] < least)
			{
				least = above_row[j + 1];
				from = FROM_A;
			}
			if (row[j] < least)
			{
				least = row[j];
				from = FROM_B;
			}
			row[j + 1] = least + (a[i] != b[j]);
			came_from[(Size) i * m + j] = from;
		}
		if (hi + 2 <= m)
			row[hi + 2] = PG_INT32_MAX - 1;
		spare = above_row;
		above_row = row;
		row = spare;
		CHECK_FOR_INTERRUPTS();
	}
	pfree(above_row);
	pfree(row);
}

L4DtwStep *
l4_dtw_path(const int32 *a, int n, const int32 *b, int m, int band, int *nsteps)
{
	uint8	   *came_from;
	L4DtwStep  *steps;
	int			length = 0;
	int			i = n - 1;
	int			j = m - 1;

	*nsteps = 0;
	if (n == 0 || m == 0)
		return NULL;
	if ((int64) n * m > L4_DTW_MAX_CELLS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("sequences of lengths %d and %d are too long for a warping path", n, m),
				 errdetail("The product of the lengths may be %d at most.", L4_DTW_MAX_CELLS),
				 errhint("dtw_distance has no such limit.")));
	came_from = palloc((Size) n * m);
	trace_matrix(a, n, b, m, band, came_from);

	steps = palloc(((Size) n + m - 1) * sizeof(L4DtwStep));
	for (;;)
	{
		L4DtwStep  *step = &steps[length++];
		uint8		from = came_from[(Size) i * m + j];

		step->i = i;
		step->j = j;
		step->cost = a[i] != b[j];
		if (i == 0 && j == 0)
			break;
		if (from != FROM_B)
			i--;
		if (from != FROM_A)
			j--;
	}
	pfree(came_from);

	/* first pair first */
	for (int x = 0, y = length - 1; x < y; x++, y--)
	{
		L4DtwStep	swap = steps[x];

		steps[x] = steps[y];
		steps[y] = swap;
	}
	*nsteps = length;
	return steps;
}
