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
 * A strip: rows first … first + h - 1 of the matrix. above_strip and
 * last_row are the rows before and at the end of it (INFINITE where there is
 * no cell); start is the cost of the step into the first cell of the strip
 * that comes from neither. Diagonals are counted within the strip.
 */
static pg_attribute_always_inline void
NAME(strip) (const ELEMENT *a, int64 first, int64 h, const ELEMENT *reversed_b,
			 int64 m, int64 below, int64 above, CELL start,
			 const CELL *above_strip, CELL *last_row, CELL *buffer)
{
	int64		size = diagonal_bytes(h, sizeof(CELL)) / (int64) sizeof(CELL);
	CELL	   *cur = buffer;
	CELL	   *before = cur + size;
	CELL	   *before2 = before + size;
	int64		d = Max(0, first - below);
	int64		end = Min(h + m - 2, first + 2 * (h - 1) + above);

	for (int64 i = 0; i < 2 * size + h + 2 + PADDING; i++)
		buffer[i] = INFINITE;
	for (int64 j = 0; j < m; j++)
		last_row[j] = INFINITE;
	if (d < m)
		before[0] = above_strip[d];
	before2[0] = d > 0 ? above_strip[d - 1] : start;

	/* entry i + 1 of a diagonal is cell (first + i, d - i), entry 0 the row above */
	for (; d <= end; d++)
	{
		int64		lo = Max(0, d - m + 1);
		int64		hi = Min(h - 1, d);
		CELL	   *spare;

		if (first + d > above)
			lo = Max(lo, (first + d - above + 1) / 2 - first);
		hi = Min(hi, (first + d + below) / 2 - first);
		NAME(diagonal) (cur + lo, before + lo, before2 + lo, a + first + lo,
						reversed_b + (m - 1 - d + lo), hi - lo + 1);
		cur[lo] = lo == 0 && d + 1 < m ? above_strip[d + 1] : INFINITE;
		cur[hi + 2] = INFINITE;
		if (hi == h - 1 && lo <= hi)
			last_row[d - hi] = cur[h];

		spare = before2;
		before2 = before;
		before = cur;
		cur = spare;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * a has n elements, reversed_b m. A cell (i, j) is allowed when i - j <= below
 * and j - i <= above. The matrix is walked in strips whose diagonals fit the
 * first cache of a processor.
 */
static pg_attribute_always_inline CELL
NAME(walk_inline) (const ELEMENT *a, int64 n, const ELEMENT *reversed_b, int64 m,
				   int64 below, int64 above)
{
	int64		height = Min(n, STRIP_BYTES / (int64) sizeof(CELL));
	CELL	   *rows = palloc(2 * m * sizeof(CELL) + 3 * diagonal_bytes(height, sizeof(CELL)));
	CELL	   *above_strip = rows;
	CELL	   *last_row = rows + m;
	CELL		result;

	for (int64 j = 0; j < m; j++)
		above_strip[j] = INFINITE;
	for (int64 first = 0; first < n; first += height)
	{
		CELL	   *spare = above_strip;

		NAME(strip) (a, first, Min(height, n - first), reversed_b, m, below, above,
					 first == 0 ? 0 : INFINITE, above_strip, last_row, rows + 2 * m);
		above_strip = last_row;
		last_row = spare;
	}
	result = above_strip[m - 1];
	pfree(rows);
	return result;
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
	return NAME(walk_inline) (a, n, reversed_b, m, below, above);
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
