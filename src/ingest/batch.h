/*
 * batch.h
 *		A call of l4.ingest(): the streams that wait, and the batch at hand.
 */
#ifndef L4_BATCH_H
#define L4_BATCH_H

#include "lib/pairingheap.h"
#include "utils/jsonb.h"

#include "base/map.h"
#include "ingest/ingest_query.h"
#include "ingest/ingest_shape.h"
#include "ingest/scan_result.h"
#include "ingest/write_set.h"
#include "l4_compat.h"
#include "miner/budget.h"

/* ---- piece_reader.c: reads the lines of a piece and scans them, in the leader or in a worker ---- */

/* The lines of one stream that a batch reads. */
typedef struct L4Piece
{
	int			number;			/* in the batch, from 0 */
	int32		stream_id;
	bool		late;			/* lines that fill a gap */
	bool		has_null;		/* the source is NULL in some rows */
	int64		from_line;
	int64		to_line;
	uint32		vocabulary[2];	/* of the budgets of its job, see ingest_budget.c */
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

/*
 * ---- ingest_budget.c ----
 * What each job may still teach the parser: two budgets, of its errors and of its other messages.
 */

typedef struct L4Budgets
{
	int			generation;		/* of the parser */
	L4Query		read;
	L4Query		write;
	const char *job_id;			/* whose are at hand; NULL none */
	L4Budget	before[2];		/* as they are stored */
	L4Budget	of[2];			/* of its messages, of its errors */
} L4Budgets;

extern void l4_budgets_prepare(L4Budgets *budgets, int generation);
extern void l4_budgets_of(L4Budgets *budgets, const char *job_id);
extern void l4_budgets_keep(L4Budgets *budgets);

/* ---- batch.c, batch_scan.c, ingest_learn.c, ingest_store.c ---- */

/* Lines of a stream that wait: those beyond what was read, or late ones that fill a gap. */
typedef struct L4Waiting
{
	pairingheap_node node;
	int			job;			/* number of the job: jobs are read one after the other */
	int			turn;			/* how often the stream was read in this call */
	L4Flaws		open_flaws;		/* of the lines that were open then */
	int			place;			/* in the list */
	int32		stream_id;
	bool		late;
	bool		has_null;		/* the source is NULL in some rows */
	int64		from_line;		/* where reading goes on */
	int64		to_line;
	int64		step;			/* numbers of a piece */
	int64		lines;			/* that the stream has so far */
} L4Waiting;

/* Where a stream is. */
typedef struct L4StreamPlace
{
	int64		next_line_no;	/* -1: nothing was read yet */
	int64		step;
	int64		lines;
	int			units;
	int64		end;			/* beyond all lines that were read; -1: none */
	int			open_lines;		/* to be read again */
} L4StreamPlace;

/* Its columns of l4._stream s, and the first row of SPI_tuptable that has them. */
#define L4_PLACE_COLUMNS "s.next_line_no, s.step, s.lines, s.units, greatest(upper(s.seen), upper(s.tail), s.next_line_no), s.tail_lines"
extern void l4_stream_place(L4StreamPlace *place);

/* A piece of the batch, where its stream is before and after it, and what reading made of it. */
typedef struct L4BatchPiece
{
	L4Piece		piece;
	L4Waiting  *waiting;
	L4StreamPlace before;
	L4StreamPlace after;		/* once it is stored */
	bytea	   *result;			/* a scan result or a write set; NULL: the piece has no lines */
	L4ScanResult *scanned;		/* the scan result, where shapes were unknown; NULL: all is in the write set */
} L4BatchPiece;

typedef struct L4Batch
{
	int32		ingest_id;
	MemoryContext cxt;			/* of the call */
	L4ReadStatement read;
	char	   *gaps_sql;
	int			batch_lines;
	int			part;			/* the first batches are a part of that */
	pairingheap *waiting;
	int			nplaces;
	int			njobs;
	int			jobs_size;
	char	  **jobs;			/* their names, by number */
	int		   *pending;		/* what waits of each job */
	double		total;			/* lines to read, by their numbers */
	bool		known;			/* all streams were read before */
	bool		removed;		/* a job was: the rest of the batch is stored, and the call ends with an error */
	int			number;			/* of the batch */
	L4Map	   *chosen;			/* the last batch that has a piece of a stream */
	/* what was read so far */
	int64		lines;
	L4Flaws		flaws;
	int32	   *streams;
	int			nstreams;
	int			streams_size;
	L4ScanShared *scan_with;	/* parser and rules, where this process scans; NULL not yet */
	/* the batch at hand */
	MemoryContext batch_cxt;
	int			npieces;
	L4BatchPiece *pieces;
	int			nlocked;
	int		   *locked;			/* numbers of its jobs */
	bool		learnt;			/* its scan results had unknown shapes */
	int			generation;		/* of the parser that they were scanned with */
} L4Batch;

extern L4Batch *l4_batch_create(MemoryContext cxt);

/* Lines wait; calls come in the order in which streams are read, all of a job together; known: the stream was read before. */
extern void l4_batch_wait(L4Batch *batch, const char *job_id, bool known, const L4Waiting *lines);

/*
 * The two halves of a batch. Choose, lock, scan, check, learn: false when
 * nothing waits. Store: false when other sessions have read the same streams
 * between the two; then what was read is dropped. SPI must be connected.
 */
extern bool l4_batch_read(L4Batch *batch);
extern bool l4_batch_store(L4Batch *batch);

L4_NORETURN extern void l4_batch_job_removed(void);

/* batch_scan.c: the results of the pieces, by workers where that is allowed and worth it */
extern void l4_batch_scan(L4Batch *batch);

/* ingest_learn.c: the unknown shapes of the scan results */
extern void l4_batch_learn(L4Batch *batch);

/* A piece was stored: what was read by it. */
extern void l4_batch_account(L4Batch *batch, L4BatchPiece *piece, const L4ResultHead *head);

/* ingest_store.c */
extern void l4_batch_store_results(L4Batch *batch);

/* ---- job_counts.c: events of the jobs of a batch ---- */

typedef struct L4JobCounts L4JobCounts;

extern L4JobCounts *l4_job_counts_create(MemoryContext cxt);
extern void l4_job_counts_begin(L4JobCounts *job_counts, Datum streams);
extern void l4_job_counts_stream(L4JobCounts *job_counts, const char *job_id, const char *node, const char *source,
							 const L4Packed *packed);
extern void l4_job_counts_store(L4JobCounts *job_counts);

#endif							/* L4_BATCH_H */
