/*
 * batch.h
 *		A call of l4.ingest(): the streams that wait, and the batch at hand.
 */
#ifndef L4_BATCH_H
#define L4_BATCH_H

#include "lib/pairingheap.h"

#include "base/map.h"
#include "ingest/ingest_query.h"
#include "ingest/piece_reader.h"
#include "ingest/scan_result.h"
#include "l4_compat.h"

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

#endif							/* L4_BATCH_H */
