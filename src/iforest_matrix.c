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
	matrix->recent[(uint32) event_id % L4_MATRIX_RECENT].event_id = event_id;
	matrix->recent[(uint32) event_id % L4_MATRIX_RECENT].column = *entry;
	return *entry - 1;
}

static inline uint32
get_column(L4Matrix *matrix, int32 event_id)
{
	uint32		i = (uint32) event_id % L4_MATRIX_RECENT;

	if (matrix->recent[i].event_id == event_id && matrix->recent[i].column != 0)
		return matrix->recent[i].column - 1;
	return find_column(matrix, event_id);
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

/*
 * Some events: false when they need a larger or a wider matrix than may be.
 * The columns of all are looked up before any is stored, so that the misses
 * of one do not wait for those of another.
 */
static bool
store_events(L4Matrix *matrix, int row, const int32 *restrict ids,
			 const int64 *restrict counts, int n, int64 max_cells)
{
	uint32		columns[L4_EVECTOR_BLOCK];
	uint64		all = 0;
	uint32		last = 0;
	Size		cell;

	for (int i = 0; i < n; i++)
	{
		columns[i] = get_column(matrix, ids[i]);
		last = Max(last, columns[i]);
		all |= (uint64) counts[i];
	}
	if (width_of(all) > matrix->width)
	{
		matrix->width = width_of(all);
		if (matrix->cells != NULL)
			return false;
	}
	if (matrix->cells == NULL)
		return true;
	if (last >= matrix->stride && !set_stride(matrix, row + 1, max_cells))
		return false;
	cell = row * matrix->stride;
	if (matrix->width == sizeof(uint8))
	{
		for (int i = 0; i < n; i++)
			((uint8 *) matrix->cells)[cell + columns[i]] = (uint8) counts[i];
	}
	else if (matrix->width == sizeof(uint16))
	{
		for (int i = 0; i < n; i++)
			((uint16 *) matrix->cells)[cell + columns[i]] = (uint16) counts[i];
	}
	else
	{
		for (int i = 0; i < n; i++)
			((int64 *) matrix->cells)[cell + columns[i]] = counts[i];
	}
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
		if (n > 0 && store_run(matrix, row, first, bytes, n))
			continue;
		for (int done = 0; done < n; done += L4_EVECTOR_BLOCK)
		{
			int			some = Min(n - done, L4_EVECTOR_BLOCK);

			for (int i = 0; i < some; i++)
			{
				ids[i] = first + done + i;
				counts[i] = (int64) bytes[done + i] + 1;
			}
			if (!store_events(matrix, row, ids, counts, some, max_cells))
				return false;
		}
		if (n > 0)
			continue;
		n = l4_evector_next_block(&reader, ids, counts);
		if (n > 0 && !store_events(matrix, row, ids, counts, n, max_cells))
			return false;
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
