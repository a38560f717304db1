/*
 * ingest_piece.h
 *		A piece: the lines of one stream that a batch reads.
 */
#ifndef L4_INGEST_PIECE_H
#define L4_INGEST_PIECE_H

#include "utils/array.h"

/* What C needs of an l4._ingest_piece */
typedef struct L4Piece
{
	int32		number;			/* in the batch, from 1 */
	int32		stream_id;
	bool		late;			/* lines that fill a gap */
	bool		has_null;		/* the source is NULL in some rows */
	int64		from_line;
	int64		to_line;
} L4Piece;

extern L4Piece *l4_pieces(ArrayType *array, int *n);

#endif							/* L4_INGEST_PIECE_H */
