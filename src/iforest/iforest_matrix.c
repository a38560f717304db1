/*
 * iforest_matrix.c
 *		The counts of many event vectors as a matrix.
 *
 * Where the ids lie close together, each id of their range has a column, and
 * vectors are spread over rows as they are read. Else events get columns by a
 * hash table, in order of first appearance.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/bigmem.h"
#include "evector/evector_scatter.h"
#include "iforest/iforest_matrix.h"
#include "l4_compat.h"

/*
 * Rows are looked at before room for a matrix is made: so many, spread over
 * all of them where columns are ids.
 */
#define PREVIEW_ROWS	32

/* A column for each id where that makes so many cells an event at most, and some more. */
#define CELLS_PER_EVENT 8
#define MORE_CELLS		(8 * 1024 * 1024)

/* Entry of the table for an event: its column + 1, or 0 where it belongs. */
static uint32 *
matrix_entry(L4Matrix *matrix, int32 event_id)
{
	uint32		h = (uint32) event_id * 0x9e3779b1;

	for (h ^= h >> 15;; h++)
	{
		uint32	   *entry = &matrix->table[h & matrix->mask];

		if (*entry == 0 || matrix->events[*entry - 1] == event_id)
			return entry;
	}
}

static void
alloc_cells(L4Matrix *matrix)
{
	matrix->cells = l4_alloc_big(CurrentMemoryContext, matrix->nrows * matrix->stride * matrix->width,
								 &matrix->allocated);
}

static char *
row_cells(const L4Matrix *matrix, int row)
{
	return matrix->cells + row * matrix->stride * matrix->width;
}

void
l4_matrix_free(L4Matrix *matrix)
{
	if (matrix->cells != NULL)
		pfree(matrix->allocated);
	pfree(matrix->events);
	if (matrix->columns != NULL)
		pfree(matrix->columns);
	if (matrix->table != NULL)
		pfree(matrix->table);
	pfree(matrix);
}

/* The stride is no power of two, which would put a column into few sets of the processor's cache. */
static Size
stride_of(Size columns)
{
	Size		stride = (columns + 15) / 16 * 16;

	return (stride & (stride - 1)) == 0 ? stride + 16 : stride;
}

/* The width that a count needs; counts may be or-ed together before. */
static Size
width_of(uint64 count)
{
	if (count <= PG_UINT8_MAX)
		return sizeof(uint8);
	return count <= PG_UINT16_MAX ? sizeof(uint16) : sizeof(int64);
}

/* ---- a column for each id ---- */

/* The ids of a matrix, and how wide its cells must be. */
typedef struct Range
{
	int64		first;
	int64		last;
	Size		width;
} Range;

/* Make the range large enough for a vector. Where it has to grow it grows by an eighth, so that this is not needed often. */
static void
include_vector(Range *range, const struct varlena *vector)
{
	L4EvectorReader reader;
	uint64		all = 0;
	int64		slack = Max(range->last - range->first, 0) / 8;

	l4_evector_open(&reader, vector);
	while (l4_evector_next(&reader))
	{
		if (reader.event_id < range->first)
			range->first = Max(reader.event_id - slack, PG_INT32_MIN);
		if (reader.event_id > range->last)
			range->last = Min(reader.event_id + slack, PG_INT32_MAX);
		all |= (uint64) reader.count;
	}
	range->width = Max(range->width, width_of(all));
}

/* Fill one row: false when some event or count does not fit. */
static bool
fill_range_row(L4Matrix *matrix, int row, const struct varlena *vector, int64 first, int64 n, uint8 *used)
{
	void	   *cells = row_cells(matrix, row);

	/* just before it is written, so that it is in the cache by then */
	memset(cells, 0, matrix->stride * matrix->width);
	if (matrix->width == sizeof(uint8))
		return l4_evector_scatter(vector, first, n, cells, sizeof(uint8), used);
	if (matrix->width == sizeof(uint16))
		return l4_evector_scatter(vector, first, n, cells, sizeof(uint16), used);
	return l4_evector_scatter(vector, first, n, cells, sizeof(int64), used);
}

/* The matrix of a range; NULL when a row does not fit, for which the range is then made larger. */
static L4Matrix *
try_range(Range *range, const L4ForestRow *rows, const uint32 *which, int n)
{
	L4Matrix   *matrix = palloc0(sizeof(L4Matrix));
	int64		nids = range->last - range->first + 1;
	uint8	   *used = palloc0(nids);

	matrix->nrows = n;
	matrix->width = range->width;
	matrix->stride = stride_of(nids);
	matrix->events = palloc(nids * sizeof(int32));
	matrix->columns = palloc(nids * sizeof(uint32));
	alloc_cells(matrix);
	for (int r = 0; r < n; r++)
	{
		const struct varlena *vector = rows[which[r]].vector;

		if (!fill_range_row(matrix, r, vector, range->first, nids, used))
		{
			include_vector(range, vector);
			l4_matrix_free(matrix);
			pfree(used);
			return NULL;
		}
		CHECK_FOR_INTERRUPTS();
	}
	for (int64 i = 0; i < nids; i++)
	{
		matrix->events[i] = (int32) (range->first + i);
		if (used[i])
			matrix->columns[matrix->ncolumns++] = (uint32) i;
	}
	pfree(used);
	return matrix;
}

/* NULL when ids are too far apart. */
static L4Matrix *
make_of_range(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	Range		range = {PG_INT32_MAX, PG_INT32_MIN, sizeof(uint8)};
	int64		events = 0;

	for (int r = 0; r < n; r++)
	{
		L4EvectorReader reader;

		l4_evector_open(&reader, rows[which[r]].vector);
		events += reader.n;
	}
	for (int i = 0; i < Min(n, PREVIEW_ROWS); i++)
		include_vector(&range, rows[which[(int64) i * n / Min(n, PREVIEW_ROWS)]].vector);
	range.first = Min(range.first, range.last);
	for (;;)
	{
		L4Matrix   *matrix;
		int64		cells = (int64) stride_of(range.last - range.first + 1) * n;

		if (cells > Min(max_cells, events * CELLS_PER_EVENT + MORE_CELLS))
			return NULL;
		matrix = try_range(&range, rows, which, n);
		if (matrix != NULL)
			return matrix;
	}
}

/* ---- columns in order of first appearance ---- */

/* The column of an event, a new one at its first appearance. */
static uint32
find_column(L4Matrix *matrix, int32 event_id)
{
	uint32	   *entry = matrix_entry(matrix, event_id);

	if (*entry == 0)
	{
		if ((uint32) matrix->ncolumns == matrix->mask / 2)
		{
			uint32		slots = (matrix->mask + 1) * 2;

			matrix->events = repalloc(matrix->events, slots / 2 * sizeof(int32));
			pfree(matrix->table);
			matrix->table = palloc0(slots * sizeof(uint32));
			matrix->mask = slots - 1;
			for (int c = 0; c < matrix->ncolumns; c++)
				*matrix_entry(matrix, matrix->events[c]) = c + 1;
			entry = matrix_entry(matrix, event_id);
		}
		matrix->events[matrix->ncolumns++] = event_id;
		*entry = matrix->ncolumns;
	}
	return *entry - 1;
}

/*
 * Room for the columns so far and some more: false when those are too many.
 * done is the number of rows that have cells already.
 */
static bool
set_stride(L4Matrix *matrix, int done, int64 max_cells)
{
	Size		old_stride = matrix->stride;
	char	   *old_cells = matrix->cells;
	void	   *old_allocated = matrix->allocated;

	matrix->stride = stride_of((Size) matrix->ncolumns + matrix->ncolumns / 4);
	if ((int64) (matrix->stride * matrix->nrows) > max_cells)
		return false;
	alloc_cells(matrix);
	memset(matrix->cells, 0, matrix->nrows * matrix->stride * matrix->width);
	if (old_cells == NULL)
		return true;
	for (int r = 0; r < done; r++)
		memcpy(row_cells(matrix, r), old_cells + r * old_stride * matrix->width, old_stride * matrix->width);
	pfree(old_allocated);
	return true;
}

/*
 * Fill one row: false when it does not fit max_cells, or needs wider cells,
 * which it sets. While there are no cells yet, it only makes columns and sets
 * the width.
 */
static bool
fill_row(L4Matrix *matrix, int row, const struct varlena *vector, int64 max_cells)
{
	L4EvectorReader reader;

	l4_evector_open(&reader, vector);
	while (l4_evector_next(&reader))
	{
		uint32		column = find_column(matrix, (int32) reader.event_id);

		if (width_of((uint64) reader.count) > matrix->width)
		{
			matrix->width = width_of((uint64) reader.count);
			if (matrix->cells != NULL)
				return false;
		}
		if (matrix->cells == NULL)
			continue;
		if (column >= matrix->stride && !set_stride(matrix, row + 1, max_cells))
			return false;
		(void) l4_scatter_one(row_cells(matrix, row), matrix->width, column, reader.count);
	}
	return true;
}

/*
 * The first rows are read twice: they show how large the matrix will be, so
 * that it seldom has to be made anew.
 */
static L4Matrix *
make_of_appearance(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	Size		width = sizeof(uint8);

	for (;;)
	{
		L4Matrix   *matrix = palloc0(sizeof(L4Matrix));
		int			done = 0;
		bool		too_narrow;

		matrix->nrows = n;
		matrix->width = width;
		matrix->mask = 63;
		matrix->events = palloc(32 * sizeof(int32));
		matrix->table = palloc0(64 * sizeof(uint32));
		for (int i = 0; i < Min(n, PREVIEW_ROWS); i++)
			(void) fill_row(matrix, i, rows[which[i]].vector, 0);
		width = matrix->width;
		if (set_stride(matrix, 0, max_cells))
		{
			while (done < n && fill_row(matrix, done, rows[which[done]].vector, max_cells))
			{
				done++;
				CHECK_FOR_INTERRUPTS();
			}
			if (done == n)
			{
				matrix->columns = palloc(matrix->ncolumns * sizeof(uint32));
				for (int c = 0; c < matrix->ncolumns; c++)
					matrix->columns[c] = (uint32) c;
				return matrix;
			}
		}
		too_narrow = matrix->width > width;
		width = matrix->width;
		l4_matrix_free(matrix);
		if (!too_narrow)
			return NULL;
	}
}

L4Matrix *
l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	L4Matrix   *matrix = make_of_range(rows, which, n, max_cells);

	return matrix != NULL ? matrix : make_of_appearance(rows, which, n, max_cells);
}
