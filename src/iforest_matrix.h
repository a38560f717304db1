/*
 * iforest_matrix.h
 *		The counts of many event vectors as a matrix, for growing trees.
 */
#ifndef L4_IFOREST_MATRIX_H
#define L4_IFOREST_MATRIX_H

#include "iforest.h"

#define L4_MATRIX_RECENT		8192

/*
 * Counts of rows, dense, a row after the other. Cells are as wide as the
 * greatest count needs: 1, 2 or 8 bytes. Columns are events in order of first
 * appearance, which the order of rows fixes.
 */
typedef struct L4Matrix
{
	int			nrows;
	int			ncolumns;
	Size		stride;			/* cells from row to row, a multiple of 16 */
	Size		width;			/* of a cell: uint8, uint16 or int64 */
	char	   *cells;			/* NULL while rows are only looked at */
	int32	   *events;			/* by column */
	uint32	   *table;			/* event id hash to column + 1 */
	uint32		mask;
	struct
	{
		int32		event_id;
		uint32		column;		/* + 1; 0: none */
	}			recent[L4_MATRIX_RECENT];	/* by event id modulo size, a cache */
} L4Matrix;

/*
 * The matrix of some rows, NULL when it would have more than max_cells.
 * which[i] is the row of the training set that becomes row i.
 */
extern L4Matrix *l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n,
								int64 max_cells);
extern void l4_matrix_free(L4Matrix *matrix);

#endif							/* L4_IFOREST_MATRIX_H */
