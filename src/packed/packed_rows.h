/*
 * packed_rows.h
 *		Rows of packed values as rows of an SQL function.
 */
#ifndef L4_PACKED_ROWS_H
#define L4_PACKED_ROWS_H

#include "nodes/execnodes.h"

#include "packed/packed.h"

#define L4_ALL_COLUMNS	PG_UINT32_MAX

extern const int32 *l4_sorted_ids(ArrayType *array, int *n);
extern L4Pack *l4_open_rows(ReturnSetInfo *rsinfo, bytea *packed, int colno, const int32 *ids, int nids, int **rows, int *nrows);
extern void l4_put_rows(ReturnSetInfo *rsinfo, L4Pack *pack, const int *rows, int nrows, uint32 asked);

#endif							/* L4_PACKED_ROWS_H */
