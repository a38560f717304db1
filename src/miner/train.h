/*
 * train.h
 *		State of parser_train: what was learnt here, and what others have learnt
 *		apart, as bytes until the end. Pure: knows no SQL.
 */
#ifndef L4_TRAIN_H
#define L4_TRAIN_H

#include "miner/parser.h"

/* A part: the bytes of a parser without the varlena header. */
typedef struct L4TrainPart
{
	const char *bytes;
	int			len;
} L4TrainPart;

typedef struct L4Train
{
	MemoryContext cxt;
	L4Parser   *parser;			/* NULL: nothing was learnt here */
	L4TrainPart *parts;
	int32		nparts;
	int32		parts_size;
} L4Train;

/* The parts of stored bytes are added; they are checked when they are put together. */
extern void l4_train_read(L4Train *train, const struct varlena *stored);
extern struct varlena *l4_train_write(const L4Train *train);

/* All parts as one parser. The answer depends on the parts alone, not on the order in which they came. */
extern struct varlena *l4_train_result(const L4Train *train);

#endif							/* L4_TRAIN_H */
