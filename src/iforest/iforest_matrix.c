/*
 * iforest_matrix.c
 *		The counts of many event vectors as a matrix.
 *
 * Where the ids lie close together, each id of their range has a column, and
 * a vector is spread over its row as it is read. Else events get columns by a
 * hash table, in order of first appearance.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/map.h"
#include "evector/evector_scatter.h"
#include "iforest/iforest_matrix.h"

/* A column for each id where that makes so many cells an event at most, and some more. */
#define CELLS_PER_EVENT 8
#define MORE_CELLS		(16 * 1024 * 1024)

/* Rows that are looked at before room for a matrix is made: those behind them seldom need a larger one. */
#define PREVIEW_ROWS	32

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

static L4Matrix *
create_matrix(int nrows, Size ncolumns, Size width)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "l4 iforest matrix",
												  ALLOCSET_DEFAULT_SIZES);
	L4Matrix   *matrix = MemoryContextAllocZero(context, sizeof(L4Matrix));

	matrix->context = context;
	matrix->stride = stride_of(ncolumns);
	matrix->width = width;
	matrix->cells = MemoryContextAllocHuge(context, nrows * matrix->stride * width);
	matrix->columns = MemoryContextAllocHuge(context, Max(ncolumns, 1) * sizeof(uint32));
	matrix->events = MemoryContextAllocHuge(context, Max(ncolumns, 1) * sizeof(int32));
	return matrix;
}

/* The cells of a row, all zero. They are cleared just before they are written, so that they are in the cache by then. */
static void *
clear_row(const L4Matrix *matrix, int row)
{
	Size		bytes = matrix->stride * matrix->width;

	return memset(matrix->cells + row * bytes, 0, bytes);
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
fill_row(const L4Matrix *matrix, int row, const struct varlena *vector, int64 first, int64 nids, uint8 *used)
{
	void	   *cells = clear_row(matrix, row);

	if (matrix->width == sizeof(uint8))
		return l4_evector_scatter(vector, first, nids, cells, sizeof(uint8), used);
	if (matrix->width == sizeof(uint16))
		return l4_evector_scatter(vector, first, nids, cells, sizeof(uint16), used);
	return l4_evector_scatter(vector, first, nids, cells, sizeof(int64), used);
}

/* The matrix of a range; NULL when a row does not fit, for which the range is then made larger. */
static L4Matrix *
try_range(Range *range, const L4ForestRow *rows, const uint32 *which, int n)
{
	int64		nids = range->last - range->first + 1;
	L4Matrix   *matrix = create_matrix(n, nids, range->width);
	uint8	   *used = MemoryContextAllocZero(matrix->context, nids);

	for (int r = 0; r < n; r++)
	{
		const struct varlena *vector = rows[which[r]].vector;

		if (!fill_row(matrix, r, vector, range->first, nids, used))
		{
			include_vector(range, vector);
			MemoryContextDelete(matrix->context);
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
	return matrix;
}

/* NULL when ids are too far apart. */
static L4Matrix *
make_of_range(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	Range		range = {PG_INT32_MAX, PG_INT32_MIN, sizeof(uint8)};
	int64		events = 0;
	L4Matrix   *matrix = NULL;

	for (int r = 0; r < n; r++)
	{
		L4EvectorReader reader;

		l4_evector_open(&reader, rows[which[r]].vector);
		events += reader.n;
	}
	for (int r = 0; r < Min(n, PREVIEW_ROWS); r++)
		include_vector(&range, rows[which[r]].vector);
	range.first = Min(range.first, range.last);
	while (matrix == NULL)
	{
		int64		cells = (int64) stride_of(range.last - range.first + 1) * n;

		if (cells > Min(max_cells, events * CELLS_PER_EVENT + MORE_CELLS))
			return NULL;
		matrix = try_range(&range, rows, which, n);
	}
	return matrix;
}

/* ---- columns in order of first appearance ---- */

static L4Matrix *
make_of_appearance(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	L4Map	   *columns = l4_map_create(CurrentMemoryContext, 1024, NULL);	/* from 1 */
	l4_map_iterator it;
	L4MapEntry *entry;
	L4EvectorReader reader;
	L4Matrix   *matrix = NULL;
	uint64		all = 0;

	for (int r = 0; r < n && (int64) stride_of(columns->members) * n <= max_cells; r++)
	{
		l4_evector_open(&reader, rows[which[r]].vector);
		while (l4_evector_next(&reader))
		{
			bool		found;
			int32	   *column = l4_map_put(columns, (uint32) reader.event_id, &found);

			if (!found)
				*column = (int32) columns->members;
			all |= (uint64) reader.count;
		}
		CHECK_FOR_INTERRUPTS();
	}
	if ((int64) stride_of(columns->members) * n <= max_cells)
	{
		matrix = create_matrix(n, columns->members, width_of(all));
		l4_map_start_iterate(columns, &it);
		while ((entry = l4_map_iterate(columns, &it)) != NULL)
			matrix->events[entry->value - 1] = (int32) (uint32) entry->key;
		for (; matrix->ncolumns < columns->members; matrix->ncolumns++)
			matrix->columns[matrix->ncolumns] = (uint32) matrix->ncolumns;
		for (int r = 0; r < n; r++)
		{
			void	   *cells = clear_row(matrix, r);

			l4_evector_open(&reader, rows[which[r]].vector);
			while (l4_evector_next(&reader))
				(void) l4_scatter_one(cells, matrix->width,
									  l4_map_get(columns, (uint32) reader.event_id) - 1, reader.count);
			CHECK_FOR_INTERRUPTS();
		}
	}
	l4_map_destroy(columns);
	return matrix;
}

L4Matrix *
l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
{
	L4Matrix   *matrix = make_of_range(rows, which, n, max_cells);

	return matrix != NULL ? matrix : make_of_appearance(rows, which, n, max_cells);
}
