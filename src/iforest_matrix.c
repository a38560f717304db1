/*
 * iforest_matrix.c
 *		The counts of many event vectors as a matrix.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "l4_compat.h"
#include "iforest_matrix.h"

/*
 * Rows are looked at before room for a matrix is made: so many, and on until
 * so many events were seen.
 */
#define PREVIEW_ROWS	32
#define PREVIEW_EVENTS	65536

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

static void *
alloc_cells(const L4Matrix *matrix)
{
	return MemoryContextAllocExtended(CurrentMemoryContext,
									  matrix->nrows * matrix->stride * matrix->width,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
l4_matrix_free(L4Matrix *matrix)
{
	if (matrix->cells != NULL)
		pfree(matrix->cells);
	pfree(matrix->events);
	pfree(matrix->table);
	pfree(matrix);
}

/* The column of an event, a new one at its first appearance. */
static uint32
get_column(L4Matrix *matrix, int32 event_id)
{
	uint32	   *recent = &matrix->recent[(uint32) event_id % L4_MATRIX_RECENT];
	uint32	   *entry;

	if (*recent < matrix->ncolumns && matrix->events[*recent] == event_id)
		return *recent;
	entry = matrix_entry(matrix, event_id);
	if (*entry != 0)
		return *recent = *entry - 1;
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
	return *recent = *entry - 1;
}

/*
 * Room for the columns so far and some more: false when those are too many.
 * done is the number of rows that have cells already. The stride is no power
 * of two, which would put a column into few sets of the processor's cache.
 */
static bool
set_stride(L4Matrix *matrix, int done, int64 max_cells)
{
	Size		old_stride = matrix->stride;
	char	   *old_cells = matrix->cells;

	matrix->stride = ((Size) matrix->ncolumns + matrix->ncolumns / 4) / 16 * 16 + 16;
	if ((matrix->stride & (matrix->stride - 1)) == 0)
		matrix->stride += 16;
	if ((int64) (matrix->stride * matrix->nrows) > max_cells)
		return false;
	matrix->cells = alloc_cells(matrix);
	if (old_cells == NULL)
		return true;
	for (int r = 0; r < done; r++)
		memcpy(matrix->cells + r * matrix->stride * matrix->width,
			   old_cells + r * old_stride * matrix->width, old_stride * matrix->width);
	pfree(old_cells);
	return true;
}

/* The width that a count needs; counts may be or-ed together before. */
static Size
width_of(uint64 count)
{
	if (count <= PG_UINT8_MAX)
		return sizeof(uint8);
	return count <= PG_UINT16_MAX ? sizeof(uint16) : sizeof(int64);
}

static inline void
store_count(L4Matrix *matrix, Size cell, int64 count)
{
	if (matrix->width == sizeof(uint8))
		((uint8 *) matrix->cells)[cell] = (uint8) count;
	else if (matrix->width == sizeof(uint16))
		((uint16 *) matrix->cells)[cell] = (uint16) count;
	else
		((int64 *) matrix->cells)[cell] = count;
}

/*
 * Events first, first + 1 … with counts bytes[0] + 1, bytes[1] + 1 …: false
 * when their columns do not follow each other, or are not there yet.
 */
static bool
store_run(L4Matrix *matrix, int row, int32 first, const uint8 *restrict bytes, int n)
{
	uint32		column = get_column(matrix, first);
	const int32 *restrict events = matrix->events + column;
	Size		cell = row * matrix->stride + column;
	int32		different = 0;

	if (matrix->cells == NULL || column + n > matrix->ncolumns || column + n > matrix->stride)
		return false;
	for (int i = 0; i < n; i++)
		different |= events[i] ^ (first + i);
	if (different != 0)
		return false;
	if (matrix->width == sizeof(uint8))
	{
		uint8	   *restrict cells = (uint8 *) matrix->cells + cell;

		for (int i = 0; i < n; i++)
			cells[i] = (uint8) (bytes[i] + 1);
	}
	else if (matrix->width == sizeof(uint16))
	{
		uint16	   *restrict cells = (uint16 *) matrix->cells + cell;

		for (int i = 0; i < n; i++)
			cells[i] = (uint16) (bytes[i] + 1);
	}
	else
	{
		int64	   *restrict cells = (int64 *) matrix->cells + cell;

		for (int i = 0; i < n; i++)
			cells[i] = (int64) bytes[i] + 1;
	}
	return true;
}

/* One event: false when it needs a wider or a larger matrix than may be. */
static bool
store_event(L4Matrix *matrix, int row, int32 event_id, int64 count, int64 max_cells)
{
	uint32		column = get_column(matrix, event_id);

	if (width_of((uint64) count) > matrix->width)
	{
		matrix->width = width_of((uint64) count);
		if (matrix->cells != NULL)
			return false;
	}
	if (matrix->cells == NULL)
		return true;
	if (column >= matrix->stride && !set_stride(matrix, row + 1, max_cells))
		return false;
	store_count(matrix, row * matrix->stride + column, count);
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
	int			n;

	l4_evector_open(&reader, vector);
	do
	{
		int32		ids[L4_EVECTOR_BLOCK];
		int64		counts[L4_EVECTOR_BLOCK];
		int32		first;
		const uint8 *bytes;

		n = l4_evector_next_run(&reader, &first, &bytes);
		if (n > 0)
		{
			if (store_run(matrix, row, first, bytes, n))
				continue;
			for (int i = 0; i < n; i++)
			{
				if (!store_event(matrix, row, first + i, (int64) bytes[i] + 1, max_cells))
					return false;
			}
			continue;
		}
		n = l4_evector_next_block(&reader, ids, counts);
		for (int i = 0; i < n; i++)
		{
			if (!store_event(matrix, row, ids[i], counts[i], max_cells))
				return false;
		}
	} while (n > 0);
	return true;
}

/* Columns of the first rows, and how wide cells must be for them. */
static void
look_at_rows(L4Matrix *matrix, const L4ForestRow *rows, const uint32 *which, int n)
{
	int64		events = 0;

	for (int i = 0; i < n && (i < PREVIEW_ROWS || events < PREVIEW_EVENTS); i++)
	{
		L4EvectorReader reader;

		l4_evector_open(&reader, rows[which[i]].vector);
		events += reader.n;
		(void) fill_row(matrix, i, rows[which[i]].vector, 0);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Some rows are read twice: they show how large the matrix will be, so that it seldom has
 * to be made anew.
 */
L4Matrix *
l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n, int64 max_cells)
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
		look_at_rows(matrix, rows, which, n);
		width = matrix->width;
		if (set_stride(matrix, 0, max_cells))
		{
			while (done < n && fill_row(matrix, done, rows[which[done]].vector, max_cells))
			{
				done++;
				CHECK_FOR_INTERRUPTS();
			}
			if (done == n)
				return matrix;
		}
		too_narrow = matrix->width > width;
		width = matrix->width;
		l4_matrix_free(matrix);
		if (!too_narrow)
			return NULL;
	}
}
