/*
 * packed_rows.h
 *		Rows of packed values as rows of an SQL function.
 */
#ifndef L4_PACKED_ROWS_H
#define L4_PACKED_ROWS_H

#include "nodes/execnodes.h"

#include "packed/packed.h"

extern void l4_check_columns(L4Pack *pack, TupleDesc desc);
extern const int32 *l4_sorted_ids(ArrayType *array, int *n);
extern int *l4_choose_rows(L4Pack *pack, int colno, const int32 *ids, int nids, int *nrows);
extern void l4_put_row(ReturnSetInfo *rsinfo, L4Pack *pack, int row);

#endif							/* L4_PACKED_ROWS_H */
