/*
 * batch.c
 *		A call of l4.ingest(), batch by batch: which pieces come next, the locks
 *		of their jobs, and what waits after them.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/order.h"
#include "ingest/batch.h"

#define LOCK_CLASS		27700	/* of the advisory locks, one a job */
#define FIRST_PART		16		/* the first batch is a sixteenth, the second an eighth */
#define MOST_PART		1024
#define BATCH_MEMORY	(64 * 1024 * 1024)	/* what a batch should keep at most until it is stored */
#define FEW_LINES		65536	/* so many of streams that were read before are read at once */
#define SHORT_PIECE		1024	/* a short piece counts as more lines than it has, up to these */
#define MAX_PIECE		1000000	/* lines of a stream that is alone in its job */
#define MAX_STEP		(INT64CONST(1) << 50)

/* Where a stream is, and whether another call has read lines of a piece. */
static const char place_sql[] =
"SELECT " L4_PLACE_COLUMNS ", s.seen && int8range($2, $3, '[]') FROM l4._stream s WHERE s.stream_id = $1";
static const Oid place_types[] = {INT4OID, INT8OID, INT8OID};

void
l4_batch_job_removed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a job was removed while its logs were read"),
			 errhint("Call l4.ingest() again: it goes on with what there is.")));
}

/* Job by job, in turn: heaps have the largest on top. */
static int
compare_waiting(const pairingheap_node *a, const pairingheap_node *b, void *arg)
{
	const L4Waiting *x = pairingheap_const_container(L4Waiting, node, a);
	const L4Waiting *y = pairingheap_const_container(L4Waiting, node, b);

	if (x->job != y->job)
		return x->job < y->job ? 1 : -1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? 1 : -1;
	if (x->place != y->place)
		return x->place < y->place ? 1 : -1;
	return x->from_line < y->from_line ? 1 : x->from_line > y->from_line ? -1 : 0;
}

/* A batch of a call whose memory is a context; its statements are set by the caller. */
L4Batch *
l4_batch_create(MemoryContext cxt)
{
	L4Batch    *batch = (L4Batch *) MemoryContextAllocZero(cxt, sizeof(L4Batch));
	MemoryContext old = MemoryContextSwitchTo(cxt);

	batch->cxt = cxt;
	batch->waiting = pairingheap_allocate(compare_waiting, NULL);
	batch->chosen = l4_map_create(cxt, 64, NULL);
	batch->known = true;
	batch->batch_cxt = AllocSetContextCreate(cxt, "l4 batch", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return batch;
}

/* Number of a job: its rows come together. */
static int
job_number(L4Batch *batch, const char *name)
{
	const char *before = batch->njobs == 0 ? NULL : batch->jobs[batch->njobs - 1];

	if (before != NULL && strcmp(before, name) == 0)
		return batch->njobs - 1;
	if (batch->njobs >= batch->jobs_size)
	{
		int			size = batch->jobs_size;

		L4_GROW_FROM(batch->jobs, batch->njobs, size, 16, batch->cxt);
		L4_GROW_FROM(batch->pending, batch->njobs, batch->jobs_size, 16, batch->cxt);
	}
	batch->jobs[batch->njobs] = MemoryContextStrdup(batch->cxt, name);
	batch->pending[batch->njobs] = 0;
	return batch->njobs++;
}

void
l4_batch_wait(L4Batch *batch, const char *job_id, bool known, const L4Waiting *lines)
{
	L4Waiting  *waiting = MemoryContextAlloc(batch->cxt, sizeof(L4Waiting));

	*waiting = *lines;
	waiting->job = job_number(batch, job_id);
	waiting->turn = 0;
	memset(&waiting->open_flaws, 0, sizeof(waiting->open_flaws));
	waiting->place = batch->nplaces++;
	batch->known &= known;
	batch->total += (double) waiting->to_line - waiting->from_line + 1;
	batch->pending[waiting->job]++;
	pairingheap_add(batch->waiting, &waiting->node);
}

void
l4_stream_place(L4StreamPlace *place)
{
	place->next_line_no = l4_query_get_bigint(1, -1);
	place->step = l4_query_get_bigint(2, 1);
	place->lines = l4_query_get_bigint(3, 0);
	place->units = l4_query_get_int(4, 0);
	place->end = l4_query_get_bigint(5, -1);
	place->open_lines = l4_query_get_int(6, 0);
}

/* Where the stream of some lines is now, and whether some of them were read; false when it is gone. */
static bool
read_place(L4Query *query, const L4Waiting *waiting, L4StreamPlace *place, bool *was_read)
{
	l4_query_put_int(query, waiting->stream_id);
	l4_query_put_bigint(query, waiting->from_line);
	l4_query_put_bigint(query, waiting->to_line);
	if (l4_query_run(query) != 1)
		return false;
	l4_stream_place(place);
	*was_read = l4_query_get_int(7, 0) != 0;
	SPI_freetuptable(SPI_tuptable);
	return true;
}

/* The last line of a piece: a stream alone in its job is read on, others take turns. */
static int64
piece_end(const L4Batch *batch, const L4Waiting *waiting, int64 room)
{
	int64		step = batch->pending[waiting->job] == 1 ? Max(waiting->step, Min(room, MAX_PIECE)) : waiting->step;

	return waiting->to_line - waiting->from_line < step ? waiting->to_line : waiting->from_line + step - 1;
}

/*
 * A piece counts as its lines. A short one counts as more: its dictionary and
 * counts, and what is stored of a short stream, are not much smaller than
 * those of a long one.
 */
static int64
piece_weight(const L4Waiting *waiting, int64 lines)
{
	return Max(lines, Min(SHORT_PIECE, 128 + 4 * (Min(lines, SHORT_PIECE) + Min(waiting->lines, SHORT_PIECE))));
}

static void
add_piece(L4Batch *batch, L4Waiting *waiting, int64 to_line, int *size)
{
	L4BatchPiece *piece;

	L4_GROW(batch->pieces, batch->npieces, *size, batch->batch_cxt);
	piece = &batch->pieces[batch->npieces++];
	memset(piece, 0, sizeof(*piece));
	piece->waiting = waiting;
	piece->piece = (L4Piece) {.stream_id = waiting->stream_id, .late = waiting->late, .has_null = waiting->has_null,
	.from_line = waiting->from_line, .to_line = to_line};
}

/*
 * Take the pieces of the next batch from what waits. Streams of a job take
 * turns of one piece each, and no job is begun before those in front of it are
 * read to their ends: so the order in which shapes are learnt does not depend
 * on the size of batches.
 */
static void
choose(L4Batch *batch)
{
	int64		room = Max(batch->batch_lines / batch->part, 1);
	int64		weight = 0;
	int			unfinished = PG_INT32_MAX;
	int			size = 0;
	List	   *same_stream = NIL;
	ListCell   *cell;

	batch->number++;
	while (!pairingheap_is_empty(batch->waiting) && weight < room)
	{
		L4Waiting  *waiting = pairingheap_container(L4Waiting, node, pairingheap_first(batch->waiting));
		int64		to_line;
		int32	   *chosen;

		if (waiting->job > unfinished)
			break;
		CHECK_FOR_INTERRUPTS();
		pairingheap_remove_first(batch->waiting);
		chosen = l4_map_put(batch->chosen, (uint32) waiting->stream_id, NULL);
		if (*chosen == batch->number)
		{
			same_stream = lappend(same_stream, waiting);
			continue;
		}
		*chosen = batch->number;
		to_line = piece_end(batch, waiting, room);
		if (to_line < waiting->to_line || (waiting->late && batch->pending[waiting->job] > 1))
			unfinished = Min(unfinished, waiting->job);
		weight += piece_weight(waiting, to_line - waiting->from_line + 1);
		add_piece(batch, waiting, to_line, &size);
	}
	foreach(cell, same_stream)
		pairingheap_add(batch->waiting, &((L4Waiting *) lfirst(cell))->node);
}

/*
 * Wait until no other session reads logs of the jobs of the batch, to the end
 * of the transaction. Jobs that were removed meanwhile are gone from the list.
 */
static void
lock_jobs(L4Batch *batch)
{
	static const Oid types[] = {TEXTOID};
	int32	   *hashes = palloc(sizeof(int32) * Max(batch->nlocked, 1));
	int			n = 0;
	L4Query		query;

	for (int i = 0; i < batch->nlocked; i++)
		hashes[i] = DatumGetInt32(DirectFunctionCall1Coll(hashtext, DEFAULT_COLLATION_OID,
														  CStringGetTextDatum(batch->jobs[batch->locked[i]])));
	/* by their numbers, so that sessions do not wait for each other in a circle */
	qsort(hashes, batch->nlocked, sizeof(int32), l4_order_int32);
	for (int i = 0; i < batch->nlocked; i++)
		DirectFunctionCall2(pg_advisory_xact_lock_int4, Int32GetDatum(LOCK_CLASS), Int32GetDatum(hashes[i]));
	l4_query_prepare(&query, "SELECT FROM l4.job j WHERE j.job_id = $1 FOR KEY SHARE", 1, types);
	for (int i = 0; i < batch->nlocked; i++)
	{
		l4_query_put_text(&query, batch->jobs[batch->locked[i]]);
		if (l4_query_run(&query) == 1)
			batch->locked[n++] = batch->locked[i];
	}
	batch->nlocked = n;
	pfree(hashes);
}

static void
lock_batch(L4Batch *batch)
{
	batch->locked = MemoryContextAlloc(batch->batch_cxt, sizeof(int) * Max(batch->npieces, 1));
	batch->nlocked = 0;
	/* the heap gave them job by job */
	for (int i = 0; i < batch->npieces; i++)
		if (i == 0 || batch->pieces[i].waiting->job != batch->pieces[i - 1].waiting->job)
			batch->locked[batch->nlocked++] = batch->pieces[i].waiting->job;
	lock_jobs(batch);
}

static void
prepare_place(L4Query *query)
{
	l4_query_prepare(query, place_sql, lengthof(place_types), place_types);
}

/* Put lines back that a batch had taken, as far as they still wait: read: the batch has stored a piece of them. */
static void
wait_again(L4Batch *batch, L4Waiting *waiting, const L4StreamPlace *place, bool read)
{
	waiting->step = place->step;
	waiting->lines = place->lines;
	if (place->next_line_no >= 0)
		waiting->from_line = place->next_line_no;
	waiting->turn += read;
	if (place->next_line_no >= 0 && waiting->to_line < place->end)
		batch->pending[waiting->job]--;
	else
		pairingheap_add(batch->waiting, &waiting->node);
}

/* The gaps between two lines of a stream that have lines now; rows are in SPI_tuptable. */
static uint64
find_gaps(L4Query *query, const L4Waiting *waiting, int64 from_line, int64 to_line)
{
	l4_query_put_int(query, waiting->stream_id);
	l4_query_put_bool(query, waiting->has_null);
	l4_query_put_bigint(query, from_line);
	l4_query_put_bigint(query, to_line);
	return l4_query_run(query);
}

static void
prepare_gaps(const L4Batch *batch, L4Query *query)
{
	static const Oid types[] = {INT4OID, BOOLOID, INT8OID, INT8OID};

	l4_query_prepare(query, batch->gaps_sql, lengthof(types), types);
}

/* Of a gap that a batch has taken lines from, what still has some waits. */
static void
gaps_again(L4Batch *batch, L4Query *query, L4Waiting *waiting)
{
	uint64		n = find_gaps(query, waiting, waiting->from_line, waiting->to_line);

	batch->pending[waiting->job] += (int) n - 1;
	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		L4Waiting  *rest = MemoryContextAlloc(batch->cxt, sizeof(L4Waiting));
		bool		isnull;

		*rest = *waiting;
		rest->from_line = DatumGetInt64(SPI_getbinval(row, desc, 1, &isnull));
		rest->to_line = DatumGetInt64(SPI_getbinval(row, desc, 2, &isnull));
		pairingheap_add(batch->waiting, &rest->node);
	}
	SPI_freetuptable(SPI_tuptable);
	pfree(waiting);
}

/* Leave the pieces of the batch from a number on: their lines wait again. */
static void
drop_pieces(L4Batch *batch, int from)
{
	for (int i = from; i < batch->npieces; i++)
		pairingheap_add(batch->waiting, &batch->pieces[i].waiting->node);
	batch->npieces = Min(batch->npieces, from);
}

/* Another session may have read the pieces before they were locked: start where the streams are now. */
static void
look_again(L4Batch *batch)
{
	L4Query		place_query;
	L4Query		gaps_query;
	int			n = 0;

	prepare_place(&place_query);
	prepare_gaps(batch, &gaps_query);
	for (int i = 0; i < batch->npieces; i++)
	{
		L4BatchPiece *piece = &batch->pieces[i];
		L4Waiting  *waiting = piece->waiting;
		L4StreamPlace place;
		bool		was_read;

		if (!read_place(&place_query, waiting, &place, &was_read))
		{
			batch->removed = true;
			continue;
		}
		if (waiting->late ? was_read : place.next_line_no > piece->piece.to_line)
		{
			if (waiting->late)
				gaps_again(batch, &gaps_query, waiting);
			else
				wait_again(batch, waiting, &place, false);
			continue;
		}
		if (!waiting->late)
			piece->piece.from_line = Max(piece->piece.from_line, place.next_line_no);
		piece->piece.number = n;
		piece->before = place;
		batch->pieces[n++] = *piece;
	}
	batch->npieces = n;
}

/* A result that ended early goes on before those after it are learnt: they are read again. */
static void
check_results(L4Batch *batch)
{
	for (int i = 0; i < batch->npieces; i++)
	{
		L4BatchPiece *piece = &batch->pieces[i];
		L4ResultHead head;

		if (piece->result == NULL)
			continue;
		l4_result_head(piece->result, &head, CurrentMemoryContext);
		if (head.full)
			drop_pieces(batch, i + 1);
		if (head.unknown > 0)
			piece->scanned = l4_result_decode(piece->result, batch->batch_cxt);
		batch->learnt |= head.unknown > 0;
	}
}

/* How much there is to read, for who asks; and how much of it the first batches take. */
static void
begin_reading(L4Batch *batch)
{
	static const Oid types[] = {INT4OID, INT8OID};
	L4Query		query;

	/* where little can be new there is little to be learnt first */
	batch->part = batch->known && batch->total <= FEW_LINES ? 1 : FIRST_PART;
	l4_query_prepare(&query, "UPDATE l4._ingest i SET total = $2 WHERE i.ingest_id = $1", lengthof(types), types);
	l4_query_put_int(&query, batch->ingest_id);
	l4_query_put_bigint(&query, batch->total < (double) PG_INT64_MAX ? (int64) batch->total : PG_INT64_MAX);
	l4_query_run(&query);
}

/*
 * The next batch takes a smaller part of the lines where this one kept much:
 * what scanning found new is kept until it was learnt, and lines that are all
 * different keep more than their text.
 */
static int
next_part(const L4Batch *batch)
{
	Size		kept = MemoryContextMemAllocated(batch->batch_cxt, true);

	return Max(batch->part == FIRST_PART ? FIRST_PART / 2 : 1, (int) Min(kept / (BATCH_MEMORY / batch->part), MOST_PART));
}

bool
l4_batch_read(L4Batch *batch)
{
	L4Query		masks;

	if (batch->removed)
		l4_batch_job_removed();
	drop_pieces(batch, 0);
	MemoryContextReset(batch->batch_cxt);
	batch->pieces = NULL;
	batch->learnt = false;
	if (batch->part == 0)
		begin_reading(batch);
	if (pairingheap_is_empty(batch->waiting))
		return false;
	choose(batch);
	lock_batch(batch);
	look_again(batch);
	if (batch->npieces > 0)
	{
		l4_query_prepare(&masks, "SELECT l4._model_masks()", 0, NULL);
		l4_query_run(&masks);
		l4_batch_scan(batch);
		check_results(batch);
		if (batch->learnt)
			l4_batch_learn(batch);
	}
	batch->part = next_part(batch);
	return true;
}

/* A piece without lines: the numbers have a gap, and reading goes on behind it. */
static void
pass_gap(L4Batch *batch, L4Query *gaps, L4Query *pass, const L4BatchPiece *piece)
{
	const L4Waiting *waiting = piece->waiting;
	int64		next_line_no = piece->piece.to_line + 1;

	if (next_line_no <= waiting->to_line)
	{
		if (find_gaps(gaps, waiting, next_line_no, waiting->to_line) > 0)
			next_line_no = l4_query_get_bigint(1, next_line_no);
		SPI_freetuptable(SPI_tuptable);
	}
	l4_query_put_int(pass, waiting->stream_id);
	l4_query_put_bigint(pass, next_line_no);
	l4_query_put_bigint(pass, MAX_STEP);
	l4_query_run(pass);
}

/* Have others forgotten templates since the lines were scanned? If not, nobody does until they are stored. */
static bool
keep_templates(L4Batch *batch)
{
	static const Oid types[] = {INT4OID};
	L4Query		query;

	l4_query_prepare(&query, "SELECT FROM l4._model m WHERE m.generation = $1 FOR KEY SHARE", 1, types);
	l4_query_put_int(&query, batch->generation);
	return l4_query_run(&query) == 1;
}

/* Have others read the same streams between the two halves? Then what was read is dropped. */
static bool
still_same(L4Batch *batch, L4Query *place_query)
{
	for (int i = 0; i < batch->npieces; i++)
	{
		const L4BatchPiece *piece = &batch->pieces[i];
		L4StreamPlace place;
		bool		was_read;

		if (!read_place(place_query, piece->waiting, &place, &was_read) || place.units != piece->before.units ||
			place.next_line_no != piece->before.next_line_no)
			return false;
	}
	return true;
}

static void
add_flaws(L4Flaws *sum, const L4Flaws *flaws, int sign)
{
	sum->repeated += sign * flaws->repeated;
	sum->no_line += sign * flaws->no_line;
	sum->bad_time += sign * flaws->bad_time;
}

/* Lines that were open before the piece were read again, and count once. */
void
l4_batch_account(L4Batch *batch, L4BatchPiece *piece, const L4ResultHead *head)
{
	L4Waiting  *waiting = piece->waiting;

	batch->lines += head->lines;
	add_flaws(&batch->flaws, &head->flaws, 1);
	if (!waiting->late)
	{
		batch->lines += head->open_lines - piece->before.open_lines;
		add_flaws(&batch->flaws, &head->open_flaws, 1);
		add_flaws(&batch->flaws, &waiting->open_flaws, -1);
		waiting->open_flaws = head->open_flaws;
	}
	if (waiting->turn == 0)
	{
		L4_GROW(batch->streams, batch->nstreams, batch->streams_size, batch->cxt);
		batch->streams[batch->nstreams++] = waiting->stream_id;
	}
}

static void
store_pieces(L4Batch *batch, L4Query *gaps)
{
	static const Oid pass_types[] = {INT4OID, INT8OID, INT8OID};
	static const Oid count_types[] = {INT4OID, INT8OID};
	L4Query		query;

	l4_batch_store_results(batch);
	l4_query_prepare(&query, "UPDATE l4._stream s SET step = least(s.step * 4, $3), next_line_no = $2 WHERE s.stream_id = $1",
					 lengthof(pass_types), pass_types);
	for (int i = 0; i < batch->npieces; i++)
		if (batch->pieces[i].result == NULL && !batch->pieces[i].waiting->late)
			pass_gap(batch, gaps, &query, &batch->pieces[i]);
	l4_query_prepare(&query, "UPDATE l4._ingest g SET lines = $2, updated_at = clock_timestamp() WHERE g.ingest_id = $1",
					 lengthof(count_types), count_types);
	l4_query_put_int(&query, batch->ingest_id);
	l4_query_put_bigint(&query, batch->lines);
	l4_query_run(&query);
}

/* What is left of the streams of the batch waits behind the others of their job; of gaps, where they are. */
static void
put_back(L4Batch *batch, L4Query *place_query, L4Query *gaps, bool stored)
{
	for (int i = 0; i < batch->npieces; i++)
	{
		L4BatchPiece *piece = &batch->pieces[i];
		L4Waiting  *waiting = piece->waiting;
		bool		was_read;

		if (waiting->late)
			gaps_again(batch, gaps, waiting);
		else if ((stored && piece->result != NULL) || read_place(place_query, waiting, &piece->after, &was_read))
			wait_again(batch, waiting, &piece->after, stored);
		else
			batch->removed = true;
	}
	batch->npieces = 0;
}

bool
l4_batch_store(L4Batch *batch)
{
	L4Query		place_query;
	L4Query		gaps_query;
	bool		stored;

	prepare_place(&place_query);
	prepare_gaps(batch, &gaps_query);
	if (batch->learnt)
		lock_jobs(batch);
	stored = batch->npieces > 0 && keep_templates(batch) && (!batch->learnt || still_same(batch, &place_query));
	if (stored)
		store_pieces(batch, &gaps_query);
	put_back(batch, &place_query, &gaps_query, stored);
	return stored;
}
