/*
 * iforest_matrix.h
 *		The counts of many event vectors as a matrix, for growing trees.
 */
#ifndef L4_IFOREST_MATRIX_H
#define L4_IFOREST_MATRIX_H

#include "iforest/iforest.h"

/*
 * Counts of rows, dense, a row after the other. Cells are as wide as the
 * greatest count needs: 1, 2 or 8 bytes. The order of columns does not depend
 * on the order in which rows were read from a table.
 */
typedef struct L4Matrix
{
	MemoryContext context;		/* of all that follows */
	int			ncolumns;
	Size		stride;			/* cells from row to row, a multiple of 16 */
	Size		width;			/* of a cell: uint8, uint16 or int64 */
	char	   *cells;
	uint32	   *columns;		/* those that some row has a count in */
	int32	   *events;			/* by column */
} L4Matrix;

/*
 * The matrix of some rows in a context of its own, NULL when it would have
 * more than max_cells. which[i] is the row of the training set that becomes
 * row i.
 */
extern L4Matrix *l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n,
								int64 max_cells);

#endif							/* L4_IFOREST_MATRIX_H */
