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
 *	NAME(x)		makes the names of this instance
 *
 * Cells are indexed by i, the position in a; b is reversed, so that both
 * sequences are read forwards. A cell reads its three predecessors from the
 * two diagonals before; what lies outside the matrix or the band is INFINITE,
 * written as one sentinel at each end of a diagonal.
 */

static pg_attribute_always_inline void
NAME(diagonal) (CELL *restrict cur, const CELL *restrict before,
				const CELL *restrict before2, const ELEMENT *restrict a,
				const ELEMENT *restrict b, int count)
{
	for (int i = 0; i < count; i++)
	{
		CELL		least = before[i] < before[i + 1] ? before[i] : before[i + 1];

		least = before2[i] < least ? before2[i] : least;
		cur[i + 1] = least + COST(a[i], b[i]);
	}
}

static void
NAME(diagonal_plain) (CELL *cur, const CELL *before, const CELL *before2,
					  const ELEMENT *a, const ELEMENT *b, int count)
{
	NAME(diagonal) (cur, before, before2, a, b, count);
}

#ifdef L4_DTW_AVX2
__attribute__((target("avx2")))
static void
NAME(diagonal_avx2) (CELL *cur, const CELL *before, const CELL *before2,
					 const ELEMENT *a, const ELEMENT *b, int count)
{
	NAME(diagonal) (cur, before, before2, a, b, count);
}
#endif

/*
 * a has n elements, reversed_b m. A cell (i, j) is allowed when i - j <= below
 * and j - i <= above.
 */
static CELL
NAME(walk) (const ELEMENT *a, int n, const ELEMENT *reversed_b, int m,
			int64 below, int64 above)
{
	CELL	   *buffer = palloc(3 * ((Size) n + 2) * sizeof(CELL));
	CELL	   *cur = buffer;
	CELL	   *before = cur + n + 2;
	CELL	   *before2 = before + n + 2;
	CELL		result;
	void		(*diagonal) (CELL *, const CELL *, const CELL *,
							 const ELEMENT *, const ELEMENT *, int);

	diagonal = NAME(diagonal_plain);
#ifdef L4_DTW_AVX2
	if (__builtin_cpu_supports("avx2"))
		diagonal = NAME(diagonal_avx2);
#endif

	for (Size i = 0; i < 3 * ((Size) n + 2); i++)
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
		if (lo <= hi)
			diagonal(cur + lo, before + lo, before2 + lo, a + lo,
					 reversed_b + (m - 1 - d + lo), (int) (hi - lo + 1));
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

#undef CELL
#undef ELEMENT
#undef COST
#undef INFINITE
#undef NAME
