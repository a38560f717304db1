/*
 * piece_reader.h
 *		Reads the lines of a piece and scans them, in the leader or in a worker.
 */
#ifndef L4_PIECE_READER_H
#define L4_PIECE_READER_H

#include "utils/jsonb.h"

#include "ingest/ingest_shape.h"

/* The lines of one stream that a batch reads. */
typedef struct L4Piece
{
	int			number;			/* in the batch, from 0 */
	int32		stream_id;
	bool		late;			/* lines that fill a gap */
	bool		has_null;		/* the source is NULL in some rows */
	int64		from_line;
	int64		to_line;
	uint32		vocabulary[2];	/* of the budgets of its job, see ingest_budget.h */
} L4Piece;

/* The statement that reads lines, and the same where sources are NULL in some rows. */
typedef struct L4ReadStatement
{
	const char *plain;
	const char *with_null;
	bool		by_workers;		/* whatever the planner says of workers */
} L4ReadStatement;

typedef struct L4PieceReader L4PieceReader;

/* May parallel workers run the statement? */
extern bool l4_read_workers_may(const L4ReadStatement *read);

/*
 * A stored parser and a ruleset, decoded for scanning; those of before where
 * they are the same, else before goes. The memory is below parent.
 */
extern L4ScanShared *l4_scan_shared(L4ScanShared *before, struct varlena *parser, Jsonb *ruleset, MemoryContext parent);

/* A reader, all of it in a context. SPI must be connected. */
extern L4PieceReader *l4_piece_reader_create(const L4ReadStatement *read, L4ScanShared *shared, MemoryContext cxt);

/* The write set of a piece, or its scan result where something must be learnt first; NULL when it has no lines. */
extern bytea *l4_piece_read(L4PieceReader *reader, const L4Piece *piece);

#endif							/* L4_PIECE_READER_H */
