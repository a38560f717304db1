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
	int			nrows;
	int			ncolumns;
	Size		stride;			/* cells from row to row, a multiple of 16 */
	Size		width;			/* of a cell: uint8, uint16 or int64 */
	char	   *cells;			/* NULL while rows are only looked at */
	void	   *allocated;		/* what to free for them */
	uint32	   *columns;		/* those that some row has a count in */
	int32	   *events;			/* by column */
	uint32	   *table;			/* event id hash to column + 1; NULL: columns are ids */
	uint32		mask;
} L4Matrix;

/*
 * The matrix of some rows, NULL when it would have more than max_cells.
 * which[i] is the row of the training set that becomes row i.
 */
extern L4Matrix *l4_matrix_make(const L4ForestRow *rows, const uint32 *which, int n,
								int64 max_cells);
extern void l4_matrix_free(L4Matrix *matrix);

#endif							/* L4_IFOREST_MATRIX_H */
