/*
 * ingest_scan.h
 *		One pass over a piece of a stream: lines in, a unit out.
 *
 * A unit is what the leader needs of the piece: its lines and records with
 * local numbers of shapes, the dictionary of those shapes, values of their
 * variable parts, durations, iterations, and the state with which the next
 * piece goes on. Nothing here depends on other streams.
 */
#ifndef L4_INGEST_SCAN_H
#define L4_INGEST_SCAN_H

#include "datatype/timestamp.h"

#include "ingest/ingest_unit.h"
#include "lines/lineformat.h"
#include "lines/record.h"
#include "template/parser.h"

#define L4_MAX_RANKS		256 /* ranks told apart in a stream */
#define L4_MAX_SCAN_MSG		8192	/* bytes of a message that are looked at */
#define L4_UNIT_MEMORY		(48 * 1024 * 1024)	/* dictionary of a unit: beyond, the unit ends early */
#define L4_UNIT_OVERRUN		2000	/* lines read to complete the records at the end of a piece */

/* Where one rank of the stream is. */
typedef struct L4RankState
{
	int32		rank;
	int32		epoch;
	int32		current;		/* iteration in flight, L4_NO_INT before the first */
	int32		done;			/* last one reported, L4_NO_INT none */
	TimestampTz done_ts;
	bool		numbered;		/* some report gave its number */
	int32		total;			/* of the reports that give numbers, 0 not known */
	bool		counted;		/* reports without numbers came with that total: others are of other bars */
	int32		elapsed;		/* seconds that the last bar gave, -1 none did */
	TimestampTz elapsed_ts;		/* when that was */
} L4RankState;

/* What lasts from one piece of a stream to the next. */
typedef struct L4ScanCarry
{
	TimestampTz last_ts;
	int32		stored_epoch;	/* last iteration that was kept */
	int32		stored_iteration;
	int32		max_in_flight;
	int32		last_rank;		/* L4_NO_INT none yet */
	int			nranks;
	L4RankState ranks[L4_MAX_RANKS];
	StringInfoData record_state;	/* of the record reader; len 0 = none */
} L4ScanCarry;

/* What does not change from piece to piece, made once a query. */
typedef struct L4ScanShared
{
	L4Parser   *parser;
	L4Rules    *rules;
	MemoryContext cxt;
	struct shapetab_hash *shapes;	/* what is known of shapes: streams of a job have the same ones */
	MemoryContext shapes_cxt;
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

typedef struct L4Scan L4Scan;

/* One for many pieces, one after the other: begin, lines, finish. */
extern L4Scan *l4_scan_create(L4ScanShared *shared, MemoryContext cxt);
extern void l4_scan_begin(L4Scan *scan, const char *carry, int carry_len, int64 last_line_no, bool settle_all);
extern bool l4_scan_line(L4Scan *scan, int64 line_no, TimestampTz ts, int32 rank, const char *line, int len);
extern void l4_scan_finish(L4Scan *scan, L4Unit *unit);

/* ingest_params.c */
extern int	l4_params_of_shape(L4Parser *parser, const char *msg, int len, const L4Shape *shape, L4Param **params,
							   MemoryContext cxt);
extern Size l4_params_count(L4Local *local, const char *msg, const L4Shape *shape,
							TimestampTz ts, int64 line_no, int32 iteration, MemoryContext cxt);
extern int	l4_words_of_shape(L4Parser *parser, int tag, const L4Shape *shape, int32 *words_of, L4OpenWord **words,
							  MemoryContext cxt);

static inline uint64
l4_shape_key(const L4Shape *shape, int tag)
{
	return shape->hash * UINT64CONST(0x9e3779b97f4a7c15) + (uint64) tag;
}

/* ingest_shape.c */
extern const L4ShapeInfo *l4_shape_info(L4ScanShared *shared, int tag, const char *msg, int len, const L4Shape *shape);

/* ingest_iter.c */
extern void l4_carry_write(const L4ScanCarry *carry, StringInfo buf);
extern void l4_carry_read(L4ScanCarry *carry, const char *bytes, int len);
extern L4RankState *l4_carry_rank(L4ScanCarry *carry, int32 rank);
extern bool l4_carry_iteration(L4ScanCarry *carry, L4RankState *state, const L4Iteration *found,
							   TimestampTz ts, L4UnitRec *rec, double *duration_ms);

#endif							/* L4_INGEST_SCAN_H */
