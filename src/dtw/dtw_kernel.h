/*
 * dtw_kernel.h
 *		One anti-diagonal of the warping matrix, and the walk over all of them.
 *
 * The cells of an anti-diagonal do not depend on each other, so the compiler
 * turns its loop into vector instructions; row by row it could not. This file
 * is included once for each type of cell, with these macros set:
 *
 *	CELL		type of a distance
 *	ELEMENT		type of a sequence element in the loops
 *	SOURCE		type of a sequence element as it is given
 *	COST(x, y)	cost of a step, a CELL
 *	INFINITE	a CELL above every distance
 *	LANES		cells of two vectors of 16 bytes
 *	NAME(x)		makes the names of this instance
 *
 * Cells are indexed by i, the position in a; b is reversed, so that both
 * sequences are read forwards. A cell reads its three predecessors from the
 * two diagonals before; what lies outside the matrix or the band is INFINITE,
 * written as one sentinel at each end of a diagonal. Loops run over whole
 * groups of LANES cells: what they compute past the end of a diagonal is
 * overwritten by the sentinel or never read, and every array has PADDING
 * elements more than it needs.
 */

static inline void
NAME(diagonal) (CELL *restrict cur, const CELL *restrict before,
				const CELL *restrict before2, const ELEMENT *restrict a,
				const ELEMENT *restrict b, int64 count)
{
	count = (count + LANES - 1) & ~(int64) (LANES - 1);
	for (int64 i = 0; i < count; i++)
	{
		CELL		least = before[i] < before[i + 1] ? before[i] : before[i + 1];

		least = before2[i] < least ? before2[i] : least;
		cur[i + 1] = least + COST(a[i], b[i]);
	}
}

/* Cells of the matrix: (i, j) is allowed when i - j <= below and j - i <= above. a has n elements, reversed_b m. */
static CELL
NAME(walk) (const ELEMENT *a, int64 n, const ELEMENT *reversed_b, int64 m, int64 below, int64 above)
{
	int64		size = n + 2 + PADDING;
	CELL	   *diagonals = palloc(3 * size * sizeof(CELL));
	CELL	   *cur = diagonals;
	CELL	   *before = cur + size;
	CELL	   *before2 = before + size;
	CELL		result;

	for (int64 i = 0; i < 3 * size; i++)
		diagonals[i] = INFINITE;
	before2[0] = 0;

	/* entry i + 1 of a diagonal is cell (i, d - i) */
	for (int64 d = 0; d < n + m - 1; d++)
	{
		int64		lo = Max(0, d - m + 1);
		int64		hi = Min(Min(n - 1, d), (d + below) / 2);
		CELL	   *spare = before2;

		if (d > above)
			lo = Max(lo, (d - above + 1) / 2);
		NAME(diagonal) (cur + lo, before + lo, before2 + lo, a + lo, reversed_b + (m - 1 - d + lo), hi - lo + 1);
		cur[lo] = cur[hi + 2] = INFINITE;
		before2 = before;
		before = cur;
		cur = spare;
		CHECK_FOR_INTERRUPTS();
	}
	result = before[n];
	pfree(diagonals);
	return result;
}

/* The distance of two sequences, none of them empty and a not the longer one; least goes off each element. */
static double
NAME(distance) (const SOURCE *a, int n, const SOURCE *b, int m, SOURCE least, int band)
{
	ELEMENT    *copy = palloc0(((Size) n + m + 2 * PADDING) * sizeof(ELEMENT));
	ELEMENT    *reversed = copy + n + PADDING;
	int64		below;
	int64		above;
	CELL		result;

	band_limits(n, m, band, &below, &above);
	for (int i = 0; i < n; i++)
		copy[i] = (ELEMENT) (a[i] - least);
	for (int j = 0; j < m; j++)
		reversed[m - 1 - j] = (ELEMENT) (b[j] - least);
	result = NAME(walk) (copy, n, reversed, m, below, above);
	pfree(copy);
	return result;
}

#undef CELL
#undef ELEMENT
#undef SOURCE
#undef COST
#undef INFINITE
#undef LANES
#undef NAME
