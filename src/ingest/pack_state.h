/*
 * pack_state.h
 *		What the packing of a stream carries from one scan result to the next.
 */
#ifndef L4_PACK_STATE_H
#define L4_PACK_STATE_H

#include "ingest/ingest_pack.h"

/* No rank has this number. */
#define L4_RANK_UNKNOWN PG_INT32_MAX

/* A rank of the stream: its stage, and its iteration that is going on. */
typedef struct L4PackRank
{
	int32		rank;
	int			stage;			/* -1 none */
	int32		epoch;
	int32		iteration;
	TimestampTz first_ts;
	TimestampTz last_ts;
	int			nevents;
	int			events_size;
	int32	   *events;
} L4PackRank;

/* A record that lines to come may join. */
typedef struct L4Joinable
{
	int64		line_no;
	int32		event_id;
	int			stage;
	int32		rank;
	int32		context;
	int32		epoch;
	int32		iteration;
} L4Joinable;

typedef struct L4PackState
{
	MemoryContext cxt;
	int			nranks;
	int			ranks_size;
	L4PackRank *ranks;
	int32		span_rank;		/* the rank whose stages make spans; L4_RANK_UNKNOWN at first */
	int			njoinable;
	L4Joinable *joinable;		/* by line */
	int			nstages;
	char	  **stage_names;
	int		   *stage_of_name;	/* number of each name of L4Stages */
} L4PackState;

extern L4PackState *l4_pack_state_read(bytea *stored, const L4Stages *stages, MemoryContext cxt);
extern bytea *l4_pack_state_write(L4PackState *pack_state, MemoryContext cxt);
extern L4PackRank *l4_pack_state_rank(L4PackState *pack_state, int32 rank);
extern void l4_pack_state_event(L4PackState *pack_state, L4PackRank *rank, int32 event_id);
extern int	l4_pack_state_stage(L4PackState *pack_state, const char *name, int len);
extern const L4Joinable *l4_pack_state_joinable(const L4PackState *pack_state, int64 line_no);

#endif							/* L4_PACK_STATE_H */
