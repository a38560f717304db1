/*
 * batch_scan.c
 *		Scans the pieces of a batch: in parallel workers, where they may read the
 *		relation and there is enough to read, else in this process.
 *
 * Workers take the pieces one by one, the longest first, so that all end
 * together. They send what they make of each through a queue of their own.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "ingest/batch.h"
#include "l4_compat.h"

#define QUEUE_BYTES		(256 * 1024)
#define WORKER_LINES	8192	/* a worker is worth it for so many lines */
#define SHORT_LINES		1024	/* a piece is as much work as so many, however short */

/* What is in the shared memory of a parallel scan. */
enum
{
	KEY_SCAN = 1, KEY_READ, KEY_READ_NULL, KEY_PARSER, KEY_RULES, KEY_QUEUES, KEY_QUERY
};

typedef struct SharedScan
{
	pg_atomic_uint32 next;		/* piece to be taken */
	uint32		npieces;
	L4Piece		pieces[FLEXIBLE_ARRAY_MEMBER];
} SharedScan;

/* What the leader and its workers scan with, and what the leader waits for. */
typedef struct BatchScan
{
	L4Batch    *batch;
	struct varlena *parser;
	Jsonb	   *ruleset;
	SharedScan *shared;
	int			nqueues;
	shm_mq_handle **queues;		/* NULL: the worker has ended */
} BatchScan;

PGDLLEXPORT void l4_scan_worker(dsm_segment *seg, shm_toc *toc);

/* Lines of a piece, as far as numbers tell. */
static int64
piece_lines(const L4Piece *piece)
{
	return Max(piece->to_line - piece->from_line, SHORT_LINES);
}

/* Longest first; those of equal length as they are, so that streams that share a pack follow each other. */
static int
compare_pieces(const void *a, const void *b)
{
	const L4Piece *x = a;
	const L4Piece *y = b;
	int64		x_lines = piece_lines(x);
	int64		y_lines = piece_lines(y);

	if (x_lines != y_lines)
		return x_lines > y_lines ? -1 : 1;
	return x->number - y->number;
}

static void
keep_result(L4Batch *batch, int number, const void *bytes, Size len)
{
	batch->pieces[number].result = (bytea *) memcpy(MemoryContextAllocHuge(batch->batch_cxt, len), bytes, len);
}

/* The next piece that nobody has taken; NULL when there is none. */
static const L4Piece *
take_piece(SharedScan *shared)
{
	uint32		i = pg_atomic_fetch_add_u32(&shared->next, 1);

	return i < shared->npieces ? &shared->pieces[i] : NULL;
}

/* Main function of a worker. */
void
l4_scan_worker(dsm_segment *seg, shm_toc *toc)
{
	SharedScan *shared = shm_toc_lookup(toc, KEY_SCAN, false);
	L4ReadStatement read = {shm_toc_lookup(toc, KEY_READ, false), shm_toc_lookup(toc, KEY_READ_NULL, false)};
	shm_mq	   *queue = (shm_mq *) ((char *) shm_toc_lookup(toc, KEY_QUEUES, false) + ParallelWorkerNumber * QUEUE_BYTES);
	shm_mq_handle *handle;
	L4ScanShared *scan_with;
	L4PieceReader *reader;
	const L4Piece *piece;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	shm_mq_set_sender(queue, MyProc);
	handle = shm_mq_attach(queue, seg, NULL);
	SPI_connect();
	scan_with = l4_scan_shared(NULL, shm_toc_lookup(toc, KEY_PARSER, false), shm_toc_lookup(toc, KEY_RULES, false),
							   CurrentMemoryContext);
	reader = l4_piece_reader_create(&read, scan_with, CurrentMemoryContext);
	while ((piece = take_piece(shared)) != NULL)
	{
		bytea	   *result = l4_piece_read(reader, piece);
		shm_mq_iovec message[2];

		CHECK_FOR_INTERRUPTS();
		message[0].data = (const char *) &piece->number;
		message[0].len = sizeof(piece->number);
		message[1].data = (const char *) result;
		message[1].len = result == NULL ? 0 : VARSIZE_ANY(result);
		/* the leader has given up where it does not listen any more */
		if (l4_shm_mq_sendv(handle, message, result == NULL ? 1 : 2) != SHM_MQ_SUCCESS)
			break;
	}
	SPI_finish();
	shm_mq_detach(handle);
}

/* Take what workers have sent without waiting. Returns how many still work; any: something came. */
static int
receive_results(BatchScan *scan, bool *any)
{
	int			working = 0;

	*any = false;
	for (int i = 0; i < scan->nqueues; i++)
	{
		shm_mq_result got = SHM_MQ_SUCCESS;
		Size		len;
		void	   *data;
		int			number;

		while (scan->queues[i] != NULL && (got = shm_mq_receive(scan->queues[i], &len, &data, true)) == SHM_MQ_SUCCESS)
		{
			*any = true;
			memcpy(&number, data, sizeof(number));
			if (len > sizeof(number))
				keep_result(scan->batch, number, (const char *) data + sizeof(number), len - sizeof(number));
		}
		if (got == SHM_MQ_DETACHED)
		{
			shm_mq_detach(scan->queues[i]);
			scan->queues[i] = NULL;
		}
		working += scan->queues[i] != NULL;
	}
	return working;
}

/* Scan in this process what nobody has taken. */
static void
scan_here(BatchScan *scan)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 scan here", ALLOCSET_DEFAULT_SIZES);
	L4Batch    *batch = scan->batch;
	L4PieceReader *reader;
	const L4Piece *piece;
	bool		any;

	batch->scan_with = l4_scan_shared(batch->scan_with, scan->parser, scan->ruleset, batch->cxt);
	reader = l4_piece_reader_create(&batch->read, batch->scan_with, cxt);
	while ((piece = take_piece(scan->shared)) != NULL)
	{
		bytea	   *result = l4_piece_read(reader, piece);

		CHECK_FOR_INTERRUPTS();
		if (result != NULL)
			keep_result(batch, piece->number, result, VARSIZE_ANY(result));
		receive_results(scan, &any);
	}
	MemoryContextDelete(cxt);
}

static void
put_shared(ParallelContext *pcxt, int key, const void *bytes, Size len)
{
	shm_toc_insert(pcxt->toc, key, memcpy(shm_toc_allocate(pcxt->toc, len), bytes, len));
}

static void
estimate(ParallelContext *pcxt, Size bytes)
{
	shm_toc_estimate_chunk(&pcxt->estimator, bytes);
	shm_toc_estimate_keys(&pcxt->estimator, 1);
}

static Size
shared_size(uint32 npieces)
{
	return offsetof(SharedScan, pieces) + sizeof(L4Piece) * (Size) npieces;
}

/* Put into shared memory what workers need, and start them. */
static void
launch(BatchScan *scan, ParallelContext *pcxt, const char *query)
{
	const L4ReadStatement *read = &scan->batch->read;
	Size		size = shared_size(scan->shared->npieces);
	SharedScan *shared;
	char	   *queues;

	estimate(pcxt, size);
	estimate(pcxt, strlen(read->plain) + 1);
	estimate(pcxt, strlen(read->with_null) + 1);
	estimate(pcxt, VARSIZE(scan->parser));
	estimate(pcxt, VARSIZE(scan->ruleset));
	estimate(pcxt, strlen(query) + 1);
	estimate(pcxt, mul_size(QUEUE_BYTES, pcxt->nworkers));
	InitializeParallelDSM(pcxt);
	put_shared(pcxt, KEY_READ, read->plain, strlen(read->plain) + 1);
	put_shared(pcxt, KEY_READ_NULL, read->with_null, strlen(read->with_null) + 1);
	put_shared(pcxt, KEY_PARSER, scan->parser, VARSIZE(scan->parser));
	put_shared(pcxt, KEY_RULES, scan->ruleset, VARSIZE(scan->ruleset));
	put_shared(pcxt, KEY_QUERY, query, strlen(query) + 1);
	shared = shm_toc_allocate(pcxt->toc, size);
	memcpy(shared, scan->shared, size);
	pg_atomic_init_u32(&shared->next, 0);
	shm_toc_insert(pcxt->toc, KEY_SCAN, shared);
	scan->shared = shared;
	queues = shm_toc_allocate(pcxt->toc, mul_size(QUEUE_BYTES, pcxt->nworkers));
	shm_toc_insert(pcxt->toc, KEY_QUEUES, queues);
	for (int i = 0; i < pcxt->nworkers; i++)
		shm_mq_set_receiver(shm_mq_create(queues + i * QUEUE_BYTES, QUEUE_BYTES), MyProc);
	LaunchParallelWorkers(pcxt);
	scan->nqueues = pcxt->nworkers_launched;
	scan->queues = (shm_mq_handle **) palloc0(sizeof(shm_mq_handle *) * Max(scan->nqueues, 1));
	for (int i = 0; i < scan->nqueues; i++)
		scan->queues[i] = shm_mq_attach((shm_mq *) (queues + i * QUEUE_BYTES), pcxt->seg, pcxt->worker[i].bgwhandle);
}

/* Scan with workers. */
static void
scan_parallel(BatchScan *scan, int nworkers)
{
	ParallelContext *pcxt;
	bool		any;

	EnterParallelMode();
	pcxt = CreateParallelContext("$libdir/l4", "l4_scan_worker", nworkers);
	scan->parser = PG_DETOAST_DATUM(PointerGetDatum(scan->parser));
	launch(scan, pcxt, debug_query_string == NULL ? "" : debug_query_string);
	ereport(DEBUG1, (errmsg_internal("%d workers scan %u pieces", scan->nqueues, scan->shared->npieces)));
	/* while this process scans nobody empties the queues: two workers do more without its help, one does not */
	if (scan->nqueues < 2)
		scan_here(scan);
	while (receive_results(scan, &any) > 0)
	{
		if (!any)
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
		CHECK_FOR_INTERRUPTS();
	}
	/* raises what went wrong in a worker */
	WaitForParallelWorkersToFinish(pcxt);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/* How many workers are worth it, and allowed. */
static int
count_workers(L4Batch *batch)
{
	int64		lines = 0;
	int			nworkers;

	for (int i = 0; i < batch->npieces && lines < INT64CONST(1) << 40; i++)
		lines += piece_lines(&batch->pieces[i].piece);
	nworkers = (int) Min(Min(lines / WORKER_LINES, batch->npieces), max_parallel_workers_per_gather);
	if (batch->npieces < 2 || nworkers < 1 || IsInParallelMode() || !l4_read_workers_may(&batch->read))
		return 0;
	return nworkers;
}

/* What is final for a piece depends on the budgets of its job, as of the parser that it is scanned with. */
static void
put_vocabularies(L4Batch *batch)
{
	L4Budgets	budgets;

	l4_budgets_prepare(&budgets, batch->generation);
	budgets.read.read_only = true;
	for (int i = 0; i < batch->npieces; i++)
	{
		L4BatchPiece *piece = &batch->pieces[i];

		if (i == 0 || piece->waiting->job != piece[-1].waiting->job)
			l4_budgets_of(&budgets, batch->jobs[piece->waiting->job]);
		for (int k = 0; k < lengthof(budgets.of); k++)
			piece->piece.vocabulary[k] = budgets.of[k].vocabulary;
	}
}

void
l4_batch_scan(L4Batch *batch)
{
	BatchScan	scan = {.batch = batch};
	L4Query		query;
	bool		isnull;
	int			nworkers;

	/* all of it is read as of now: other sessions may have read these streams before they were locked */
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	l4_query_prepare(&query, "SELECT m.parser, l4._ruleset(), m.generation FROM l4._model m", 0, NULL);
	query.read_only = true;
	if (l4_query_run(&query) != 1)
		elog(ERROR, "there is no parser");
	scan.parser = (struct varlena *) DatumGetPointer(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	scan.ruleset = DatumGetJsonbP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	batch->generation = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull));
	scan.shared = (SharedScan *) palloc(shared_size(batch->npieces));
	pg_atomic_init_u32(&scan.shared->next, 0);
	scan.shared->npieces = batch->npieces;
	put_vocabularies(batch);
	for (int i = 0; i < batch->npieces; i++)
		scan.shared->pieces[i] = batch->pieces[i].piece;
	qsort(scan.shared->pieces, batch->npieces, sizeof(L4Piece), compare_pieces);
	nworkers = count_workers(batch);
	if (nworkers > 0)
		scan_parallel(&scan, nworkers);
	else
		scan_here(&scan);
	PopActiveSnapshot();
}
