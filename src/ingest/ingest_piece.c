/*
 * ingest_piece.c
 *		Pieces, as SQL passes them in.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "ingest/ingest_piece.h"
#include "l4_compat.h"

static Datum
attribute(HeapTupleHeader row, const char *name)
{
	bool		isnull;
	Datum		value = GetAttributeByName(row, name, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s of a piece must not be NULL", name)));
	return value;
}

/* The elements of an array of l4._ingest_piece. */
L4Piece *
l4_pieces(ArrayType *array, int *n)
{
	int16		len;
	bool		byval;
	char		align;
	Datum	   *rows;
	bool	   *nulls;
	L4Piece    *pieces;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &rows, &nulls, n);
	pieces = (L4Piece *) palloc(sizeof(L4Piece) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		HeapTupleHeader row;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("a piece must not be NULL")));
		row = DatumGetHeapTupleHeader(rows[i]);
		pieces[i].number = DatumGetInt32(attribute(row, "number"));
		pieces[i].stream_id = DatumGetInt32(attribute(row, "stream_id"));
		pieces[i].late = DatumGetBool(attribute(row, "late"));
		pieces[i].has_null = DatumGetBool(attribute(row, "has_null"));
		pieces[i].from_line = DatumGetInt64(attribute(row, "from_line"));
		pieces[i].to_line = DatumGetInt64(attribute(row, "to_line"));
	}
	return pieces;
}
