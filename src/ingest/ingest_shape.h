/*
 * ingest_shape.h
 *		What is known of shapes: worked out once for all messages of a shape,
 *		whatever stream they are in.
 */
#ifndef L4_INGEST_SHAPE_H
#define L4_INGEST_SHAPE_H

#include "datatype/timestamp.h"

#include "ingest/scan_result.h"
#include "lines/iterrule.h"
#include "miner/parser.h"

/* Bytes by which a stored parser is known again: its TOAST pointer, or its head, which has a checksum */
#define L4_PARSER_KEY_BYTES 32

/* What does not change from piece to piece: made once a call, and again where the parser has learnt. */
typedef struct L4ScanShared
{
	L4Parser   *parser;
	L4Rules    *rules;
	MemoryContext cxt;
	struct shapetab_hash *shapes;	/* what is known of shapes: streams of a job have the same ones */
	MemoryContext shapes_cxt;
	char		key[L4_PARSER_KEY_BYTES];
	uint32		vocabulary[2];	/* of the piece at hand: of its messages, and of its errors */
} L4ScanShared;

/* What is worked out once for all messages of a shape. */
typedef struct L4ShapeInfo
{
	uint64		key;			/* shape and level */
	char		status;
	int32		event_id;		/* 0 not known to the parser */
	int			iteration_rule;
	L4IterMap	map;
	int32		words_of;		/* as in L4Local */
	int			nwords;
	L4OpenWord *words;
} L4ShapeInfo;

#define L4_MAX_SHAPES 20000		/* shapes remembered by a query */

static inline uint64
l4_shape_key(const L4Shape *shape, int tag)
{
	return shape->hash * UINT64CONST(0x9e3779b97f4a7c15) + (uint64) tag;
}

/* Valid until the next call. */
extern const L4ShapeInfo *l4_shape_info(L4ScanShared *shared, int tag, const char *msg, int len, const L4Shape *shape);

/* ingest_params.c: variable parts of a shape, and words in places that statistics made variable */
extern int	l4_params_of_shape(L4Parser *parser, const char *msg, int len, const L4Shape *shape, L4Param **params,
							   MemoryContext cxt);
extern Size l4_params_count(L4Local *local, const char *msg, const L4Shape *shape,
							TimestampTz ts, int64 line_no, int32 iteration, MemoryContext cxt);
extern int	l4_words_of_shape(L4Parser *parser, int tag, const L4Shape *shape, int32 *words_of, L4OpenWord **words,
							  MemoryContext cxt);

#endif							/* L4_INGEST_SHAPE_H */
