/*
 * dtw_kernel.h
 *		One anti-diagonal of the warping matrix, and the walk over all of them.
 *
 * The cells of an anti-diagonal do not depend on each other, so the compiler
 * turns its loop into vector instructions; row by row it could not. This file
 * is included once for each type of cell, with these macros set:
 *
 *	CELL		type of a distance
 *	ELEMENT		type of a sequence element
 *	COST(x, y)	cost of a step, a CELL
 *	INFINITE	a CELL above every distance
 *	LANES		cells in the widest vector
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

static pg_attribute_always_inline void
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

/*
 * a has n elements, reversed_b m. A cell (i, j) is allowed when i - j <= below
 * and j - i <= above.
 */
static pg_attribute_always_inline CELL
NAME(walk_inline) (const ELEMENT *a, int n, const ELEMENT *reversed_b, int m,
				   int64 below, int64 above)
{
	Size		size = (Size) n + 2 + PADDING;
	CELL	   *buffer = palloc(3 * size * sizeof(CELL));
	CELL	   *cur = buffer;
	CELL	   *before = cur + size;
	CELL	   *before2 = before + size;
	CELL		result;

	for (Size i = 0; i < 3 * size; i++)
		buffer[i] = INFINITE;
	before2[0] = 0;				/* the step into the first cell */

	/* entry i + 1 of a diagonal is cell (i, d - i) */
	for (int64 d = 0; d <= (int64) n + m - 2; d++)
	{
		int64		lo = Max(0, d - m + 1);
		int64		hi = Min(n - 1, d);
		CELL	   *spare;

		if (d > above)
			lo = Max(lo, (d - above + 1) / 2);
		hi = Min(hi, (d + below) / 2);
		NAME(diagonal) (cur + lo, before + lo, before2 + lo, a + lo,
						reversed_b + (m - 1 - d + lo), hi - lo + 1);
		cur[lo] = INFINITE;
		cur[hi + 2] = INFINITE;

		spare = before2;
		before2 = before;
		before = cur;
		cur = spare;
		CHECK_FOR_INTERRUPTS();
	}
	result = before[n];
	pfree(buffer);
	return result;
}

static CELL
NAME(walk_plain) (const ELEMENT *a, int n, const ELEMENT *reversed_b, int m,
				  int64 below, int64 above)
{
	return NAME(walk_inline) (a, n, reversed_b, m, below, above);
}

#ifdef L4_DTW_AVX2
__attribute__((target("avx2")))
static CELL
NAME(walk_avx2) (const ELEMENT *a, int n, const ELEMENT *reversed_b, int m,
				 int64 below, int64 above)
{
	return NAME(walk_inline) (a, n, reversed_b, m, below, above);
}
#endif

static CELL
NAME(walk) (const ELEMENT *a, int n, const ELEMENT *reversed_b, int m,
			int64 below, int64 above)
{
#ifdef L4_DTW_AVX2
	if (__builtin_cpu_supports("avx2"))
		return NAME(walk_avx2) (a, n, reversed_b, m, below, above);
#endif
	return NAME(walk_plain) (a, n, reversed_b, m, below, above);
}

#undef CELL
#undef ELEMENT
#undef COST
#undef INFINITE
#undef LANES
#undef NAME
