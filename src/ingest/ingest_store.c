/*
 * ingest_store.c
 *		Storing what scan results hold, packed onto what is stored of their streams:
 *		a row or two for each, then the counts of the jobs follow.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/grow.h"
#include "ingest/batch.h"
#include "packed/group.h"

/* Short streams of a job that are to share a pack. */
typedef struct SharedPack
{
	MemoryContext cxt;
	int			n;
	int			lines;
	L4Piece		piece[L4_GROUP_MAX];
	L4WriteSet   *set[L4_GROUP_MAX];
} SharedPack;

typedef struct MovedStream
{
	int32		pack_id;		/* where it was */
	char	   *job_id;
} MovedStream;

typedef struct Store
{
	L4Batch    *batch;
	L4Packing	packing;
	L4Query		chunk;
	L4Query		no_tail;
	L4Query		new_pack;
	L4Query		pack;
	L4Query		growth;
	L4Query		stream;
	L4Query		left;
	L4Query		node_rank;
	int			nmoved;
	int			moved_size;
	MovedStream *moved;			/* streams that are in another pack now */
	int			nranked;
	int			ranked_size;
	int32	   *ranked;			/* streams that have ranks */
	L4Query		new_id;
	L4JobCounts   *job_counts;
	MemoryContext cxt;
	MemoryContext result_cxt;
	SharedPack		group;
} Store;

static const char chunk_sql[] =
"INSERT INTO l4._pack_chunk (pack_id, chunk_no, lines, first_line_no, last_line_no, first_ts, last_ts, body) "
"VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
"ON CONFLICT ON CONSTRAINT _pack_chunk_pkey DO UPDATE "
"SET lines = excluded.lines, first_line_no = excluded.first_line_no, last_line_no = excluded.last_line_no, "
"first_ts = excluded.first_ts, last_ts = excluded.last_ts, body = excluded.body";
static const Oid chunk_types[] = {INT4OID, INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID};

static const char no_tail_sql[] = "DELETE FROM l4._pack_chunk WHERE pack_id = $1 AND chunk_no = -1";
static const Oid no_tail_types[] = {INT4OID};

/* $2: with what grows with time; it may go to another row. */
static const char new_pack_sql[] =
"INSERT INTO l4._pack (pack_id, part, events, slots, durations, iterations, stages, activity, sequences, "
"open_events, open_slots, open_durations, open_iterations, open_stages, open_activity, open_sequences, scan_state, pack_state) "
"VALUES ($1, 0, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
static const char pack_sql[] =
"UPDATE l4._pack m SET events = $3, slots = $4, stages = $7, "
"durations = CASE WHEN $2 THEN $5 ELSE m.durations END, iterations = CASE WHEN $2 THEN $6 ELSE m.iterations END, "
"activity = CASE WHEN $2 THEN $8 ELSE m.activity END, sequences = CASE WHEN $2 THEN $9 ELSE m.sequences END, "
"open_events = $10, open_slots = $11, open_durations = $12, open_iterations = $13, "
"open_stages = $14, open_activity = $15, open_sequences = $16, scan_state = $17, pack_state = $18 "
"WHERE m.pack_id = $1 AND m.part = 0";
static const Oid pack_types[] = {INT4OID, BOOLOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID,
BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

static const char growth_sql[] =
"INSERT INTO l4._pack (pack_id, part, durations, iterations, activity, sequences) VALUES ($1, $2, $3, $4, $5, $6) "
"ON CONFLICT ON CONSTRAINT _pack_pkey DO UPDATE "
"SET durations = excluded.durations, iterations = excluded.iterations, activity = excluded.activity, sequences = excluded.sequences";
static const Oid growth_types[] = {INT4OID, INT4OID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

/* A pack that streams have left goes with the last one: members that are left behind are not worth writing them anew. */
static const char left_sql[] =
"WITH gone AS (SELECT $1 AS pack_id WHERE NOT EXISTS (SELECT FROM l4._stream s WHERE s.job_id = $2 AND s.pack_id = $1)), "
"chunks AS (DELETE FROM l4._pack_chunk c USING gone WHERE c.pack_id = gone.pack_id) "
"DELETE FROM l4._pack p USING gone WHERE p.pack_id = gone.pack_id";
static const Oid left_types[] = {INT4OID, TEXTOID};

static const char stream_sql[] =
"UPDATE l4._stream s SET lines = s.lines + u.lines, unparsed = s.unparsed + u.unparsed, units = s.units + 1, next_chunk_no = u.next_chunk_no, "
"sparse = s.sparse OR l4._range_count(s.seen + u.seen) > 1000, "
"seen = CASE WHEN s.sparse OR l4._range_count(s.seen + u.seen) > 1000 "
"THEN int8multirange(int8range(lower(s.seen + u.seen), upper(s.seen + u.seen))) ELSE s.seen + u.seen END, "
"tail = CASE WHEN u.late THEN s.tail ELSE u.tail END, tail_lines = CASE WHEN u.late THEN s.tail_lines ELSE u.tail_lines END, "
"step = CASE WHEN NOT u.late AND NOT u.is_full AND u.lines < (u.to_line - coalesce(s.next_line_no, u.to_line)) / 8 "
"THEN least(s.step * 4, 1125899906842624) ELSE s.step END, "
"next_line_no = CASE WHEN u.late THEN s.next_line_no ELSE u.next_line_no END, "
"pack_id = u.pack_id, member = u.member, "
"first_ts = least(s.first_ts, u.first_ts), last_ts = greatest(s.last_ts, u.last_ts), "
"last_event_id = CASE WHEN u.late THEN coalesce(s.last_event_id, u.last_event_id) ELSE coalesce(u.last_event_id, s.last_event_id) END, "
"last_iteration = CASE WHEN u.late THEN s.last_iteration ELSE u.last_iteration END, max_in_flight = greatest(s.max_in_flight, u.max_in_flight), "
"timed_line_no = greatest(s.timed_line_no, u.timed_line_no), "
"ranks = s.ranks + u.ranks, rank = least(s.rank, u.rank) "
"FROM (SELECT t.stream_id, t.late, t.lines, t.unparsed, t.next_chunk_no, t.seen::int8multirange, t.tail::int8multirange, t.tail_lines, t.is_full, "
"t.to_line, t.next_line_no, t.pack_id, t.member, t.first_ts, t.last_ts, t.last_event_id, t.last_iteration, t.max_in_flight, "
"t.timed_line_no, t.ranks::int4multirange, t.rank "
"FROM (VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)) "
"AS t(stream_id, late, lines, unparsed, next_chunk_no, seen, tail, tail_lines, is_full, to_line, next_line_no, pack_id, member, "
"first_ts, last_ts, last_event_id, last_iteration, max_in_flight, timed_line_no, ranks, rank) OFFSET 0) u "
"WHERE s.stream_id = u.stream_id RETURNING " L4_PLACE_COLUMNS;
static const Oid stream_types[] = {INT4OID, BOOLOID, INT8OID, INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID, BOOLOID, INT8OID, INT8OID,
INT4OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, INT8OID, TEXTOID, INT4OID};

static const char node_rank_sql[] =
"UPDATE l4.job_node n SET rank = (SELECT min(s.rank) FROM l4._stream s WHERE s.job_id = n.job_id AND s.node = n.node) "
"FROM l4._stream t WHERE t.stream_id = $1 AND n.job_id = t.job_id AND n.node = t.node AND n.rank IS NULL";
static const Oid node_rank_types[] = {INT4OID};

static void
store_chunk(Store *store, int32 pack_id, int chunk_no, const L4Chunk *chunk)
{
	L4Query    *rows = &store->chunk;

	l4_query_put_int(rows, pack_id);
	l4_query_put_int(rows, chunk_no);
	l4_query_put_int(rows, chunk->lines);
	l4_query_put_bigint(rows, chunk->first_line_no);
	l4_query_put_bigint(rows, chunk->last_line_no);
	l4_query_put_ts(rows, chunk->first_ts);
	l4_query_put_ts(rows, chunk->last_ts);
	l4_query_put_bytes(rows, chunk->body);
	l4_query_run(rows);
}

static void
store_pack(L4Query *rows, int32 pack_id, bool grows, L4Sections *settled, L4Sections *open, const bytea *scan_state, const bytea *pack_state)
{
	l4_query_put_int(rows, pack_id);
	l4_query_put_bool(rows, grows);
	for (int i = 0; i < L4_NSECTIONS; i++)
		l4_query_put_bytes(rows, *l4_section(settled, i));
	for (int i = 0; i < L4_NSECTIONS; i++)
		l4_query_put_bytes(rows, *l4_section(open, i));
	l4_query_put_bytes(rows, scan_state);
	l4_query_put_bytes(rows, pack_state);
	l4_query_run(rows);
}

static bytea *
scan_state(const L4WriteSet *set)
{
	if (set->head.state_len == 0)
		return NULL;
	return (bytea *) cstring_to_text_with_len(set->head.state, set->head.state_len);	/* same layout */
}

static Datum
rank_runs(const L4ResultHead *head, int32 *lowest)
{
	StringInfoData buf;

	*lowest = L4_NO_INT;
	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	for (int i = 0; i < head->nranks; i++)
	{
		appendStringInfo(&buf, "%s[%d,%d]", i > 0 ? "," : "", head->ranks[i], head->ranks[i]);
		if (i == 0 || head->ranks[i] < *lowest)
			*lowest = head->ranks[i];
	}
	appendStringInfoChar(&buf, '}');
	return CStringGetTextDatum(buf.data);
}

/* Where the stream is read on, and where what is stored of it is from now on; member: L4_NO_INT in a pack of its own. */
static void
store_stream(Store *store, const L4Piece *piece, int32 pack_id, int member, const L4WriteSet *set)
{
	L4Query    *rows = &store->stream;
	const L4ResultHead *head = &set->head;
	const L4Packed *packed = set->packed;
	int32		lowest;
	Datum		ranks = rank_runs(head, &lowest);

	l4_query_put_int(rows, piece->stream_id);
	l4_query_put_bool(rows, piece->late);
	l4_query_put_bigint(rows, head->lines);
	l4_query_put_bigint(rows, head->unparsed);
	l4_query_put_int(rows, set->chunk_no + packed->nchunks);
	l4_query_put_text(rows, set->seen);
	l4_query_put_text(rows, set->tail);
	l4_query_put_int(rows, head->open_lines);
	l4_query_put_bool(rows, head->full);
	l4_query_put_bigint(rows, piece->to_line);
	l4_query_put_bigint(rows, head->next_line_no);
	l4_query_put_int(rows, pack_id);
	l4_query_put_int(rows, member);
	l4_query_put_ts(rows, packed->first_ts);
	l4_query_put_ts(rows, packed->last_ts);
	l4_query_put(rows, Int32GetDatum(packed->last_event_id), packed->last_event_id == 0);
	l4_query_put_int(rows, head->last_done);
	l4_query_put_int(rows, head->max_in_flight);
	l4_query_put(rows, Int64GetDatum(head->timed_line_no), head->timed_line_no < 0);
	l4_query_put(rows, ranks, false);
	l4_query_put_int(rows, lowest);
	if (l4_query_run(rows) != 1)
		elog(ERROR, "stream %d is gone", piece->stream_id);
	l4_stream_place(&store->batch->pieces[piece->number].after);
	SPI_freetuptable(SPI_tuptable);
	if (lowest != L4_NO_INT)
	{
		L4_GROW(store->ranked, store->nranked, store->ranked_size, store->cxt);
		store->ranked[store->nranked++] = piece->stream_id;
	}
	/* streams that share a pack follow each other */
	if (set->pack_id != 0 && set->pack_id != pack_id &&
		(store->nmoved == 0 || store->moved[store->nmoved - 1].pack_id != set->pack_id))
	{
		L4_GROW(store->moved, store->nmoved, store->moved_size, store->cxt);
		store->moved[store->nmoved].pack_id = set->pack_id;
		store->moved[store->nmoved++].job_id = MemoryContextStrdup(store->cxt, set->job_id);
	}
	l4_job_counts_stream(store->job_counts, set->job_id, set->node, set->source, packed);
	l4_batch_account(store->batch, &store->batch->pieces[piece->number], head);
}

/* The write set of a piece, packed here where a worker has not done it. */
static L4WriteSet *
write_set_of(Store *store, const L4BatchPiece *piece)
{
	if (piece->scanned == NULL)
		return l4_write_set_decode(piece->result);
	if (!l4_stored_read(&store->packing.reader, piece->piece.stream_id, &store->packing.stored))
		l4_batch_job_removed();
	return l4_packing_pack(&store->packing, piece->piece.stream_id, piece->piece.late, piece->scanned);
}

/* A stream by itself. What it had in a pack of its own is replaced. */
static void
store_alone(Store *store, const L4Piece *piece, const L4WriteSet *set)
{
	int32		stream_id = piece->stream_id;
	L4Packed   *packed = set->packed;
	L4Sections *settled = &packed->settled;
	L4Query    *rows = &store->growth;

	for (int i = 0; i < packed->nchunks; i++)
		store_chunk(store, stream_id, set->chunk_no + i, &packed->chunks[i]);
	if (packed->open_chunk != NULL)
		store_chunk(store, stream_id, -1, packed->open_chunk);
	else if (set->has_tail && set->has_own)
	{
		l4_query_put_int(&store->no_tail, stream_id);
		l4_query_run(&store->no_tail);
	}
	store_pack(set->has_own ? &store->pack : &store->new_pack, stream_id, set->growth_part == 0, settled, &packed->open,
			   scan_state(set), packed->pack_state);
	store_stream(store, piece, stream_id, L4_NO_INT, set);
	if (set->growth_part == 0 ||
		(settled->durations == NULL && settled->iterations == NULL && settled->activity == NULL && settled->sequences == NULL))
		return;
	l4_query_put_int(rows, stream_id);
	l4_query_put_int(rows, set->growth_part);
	l4_query_put_bytes(rows, settled->durations);
	l4_query_put_bytes(rows, settled->iterations);
	l4_query_put_bytes(rows, settled->activity);
	l4_query_put_bytes(rows, settled->sequences);
	l4_query_run(rows);
}

/* The same section of all members. */
static void
group_sections(const SharedPack *group, bool open, L4Sections *sections)
{
	bytea	   *values[L4_GROUP_MAX];

	for (int i = 0; i < L4_NSECTIONS; i++)
	{
		for (int m = 0; m < group->n; m++)
			values[m] = *l4_section(open ? &group->set[m]->packed->open : &group->set[m]->packed->settled, i);
		*l4_section(sections, i) = l4_group_encode(values, group->n);
	}
}

/* The settled or the open lines of all members; bounds are those of all. */
static void
store_group_chunk(Store *store, const SharedPack *group, int32 pack_id, bool open)
{
	bytea	   *values[L4_GROUP_MAX];
	L4Chunk		all = {.lines = 0, .first_ts = L4_NO_TS, .last_ts = L4_NO_TS};

	for (int m = 0; m < group->n; m++)
	{
		const L4Packed *packed = group->set[m]->packed;
		const L4Chunk *chunk = open ? packed->open_chunk : packed->nchunks > 0 ? packed->chunks : NULL;

		values[m] = chunk == NULL ? NULL : chunk->body;
		if (chunk == NULL)
			continue;
		all.first_line_no = all.lines == 0 ? chunk->first_line_no : Min(all.first_line_no, chunk->first_line_no);
		all.last_line_no = all.lines == 0 ? chunk->last_line_no : Max(all.last_line_no, chunk->last_line_no);
		all.lines += chunk->lines;
		all.first_ts = l4_earlier(all.first_ts, chunk->first_ts);
		all.last_ts = Max(all.last_ts, chunk->last_ts);
	}
	if (all.lines == 0)
		return;
	all.body = l4_group_encode(values, group->n);
	store_chunk(store, pack_id, open ? -1 : 0, &all);
}

static int32
new_pack_id(Store *store)
{
	bool		isnull;

	l4_query_run(&store->new_id);
	return DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

/* Write the streams that were gathered: always to a new pack. */
static void
store_group(Store *store)
{
	SharedPack *group = &store->group;
	MemoryContext old = MemoryContextSwitchTo(group->cxt);
	bytea	   *scan_states[L4_GROUP_MAX];
	bytea	   *pack_states[L4_GROUP_MAX];
	L4Sections	settled;
	L4Sections	open;
	int32		pack_id;

	if (group->n == 1)
	{
		l4_write_set_compress(group->set[0]);
		store_alone(store, &group->piece[0], group->set[0]);
	}
	else if (group->n > 1)
	{
		pack_id = new_pack_id(store);
		group_sections(group, false, &settled);
		group_sections(group, true, &open);
		store_group_chunk(store, group, pack_id, false);
		store_group_chunk(store, group, pack_id, true);
		for (int m = 0; m < group->n; m++)
		{
			scan_states[m] = scan_state(group->set[m]);
			pack_states[m] = group->set[m]->packed->pack_state;
			store_stream(store, &group->piece[m], pack_id, m, group->set[m]);
		}
		store_pack(&store->new_pack, pack_id, true, &settled, &open, l4_group_encode(scan_states, group->n),
				   l4_group_encode(pack_states, group->n));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(group->cxt);
	group->n = group->lines = 0;
}

static MemoryContext
new_result_context(MemoryContext parent)
{
	return AllocSetContextCreate(parent, "l4 unit", ALLOCSET_DEFAULT_SIZES);
}

/* Gather a short stream; its memory goes to the group. */
static void
add_to_group(Store *store, const L4Piece *piece, L4WriteSet *set)
{
	SharedPack *group = &store->group;
	int			lines = l4_write_set_lines(set);

	if (group->n > 0 && (group->n == L4_GROUP_MAX || group->lines + lines > L4_CHUNK_LINES ||
						 strcmp(group->set[0]->job_id, set->job_id) != 0))
		store_group(store);
	group->piece[group->n] = *piece;
	group->set[group->n++] = set;
	group->lines += lines;
	MemoryContextSetParent(store->result_cxt, group->cxt);
	store->result_cxt = new_result_context(store->cxt);
}

static void
prepare(Store *store)
{
	l4_packing_init(&store->packing, false);
	l4_query_prepare(&store->chunk, chunk_sql, lengthof(chunk_types), chunk_types);
	l4_query_prepare(&store->no_tail, no_tail_sql, lengthof(no_tail_types), no_tail_types);
	l4_query_prepare(&store->new_pack, new_pack_sql, lengthof(pack_types), pack_types);
	l4_query_prepare(&store->pack, pack_sql, lengthof(pack_types), pack_types);
	l4_query_prepare(&store->growth, growth_sql, lengthof(growth_types), growth_types);
	l4_query_prepare(&store->stream, stream_sql, lengthof(stream_types), stream_types);
	l4_query_prepare(&store->left, left_sql, lengthof(left_types), left_types);
	l4_query_prepare(&store->node_rank, node_rank_sql, lengthof(node_rank_types), node_rank_types);
	store->job_counts = l4_job_counts_create(CurrentMemoryContext);
	l4_query_prepare(&store->new_id, "SELECT nextval('l4._stream_stream_id_seq')::int", 0, NULL);
	store->group.cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 group", ALLOCSET_DEFAULT_SIZES);
	store->cxt = CurrentMemoryContext;
	store->result_cxt = new_result_context(store->cxt);
}

/* What depends on where all streams of the batch are now. */
static void
finish(Store *store)
{
	for (int i = 0; i < store->nmoved; i++)
	{
		l4_query_put_int(&store->left, store->moved[i].pack_id);
		l4_query_put_text(&store->left, store->moved[i].job_id);
		l4_query_run(&store->left);
	}
	for (int i = 0; i < store->nranked; i++)
	{
		l4_query_put_int(&store->node_rank, store->ranked[i]);
		l4_query_run(&store->node_rank);
	}
	l4_job_counts_store(store->job_counts);
}

/* The streams of the pieces as an array of their ids. */
static Datum
stream_ids(const L4Batch *batch)
{
	int32	   *ids = (int32 *) palloc(sizeof(int32) * Max(batch->npieces, 1));

	for (int i = 0; i < batch->npieces; i++)
		ids[i] = batch->pieces[i].piece.stream_id;
	return l4_int4_array(ids, batch->npieces);
}

void
l4_batch_store_results(L4Batch *batch)
{
	Store		store;

	memset(&store, 0, sizeof(store));
	store.batch = batch;
	prepare(&store);
	l4_job_counts_begin(store.job_counts, stream_ids(batch));
	for (int i = 0; i < batch->npieces; i++)
	{
		const L4Piece *piece = &batch->pieces[i].piece;
		L4WriteSet *set;
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (batch->pieces[i].result == NULL)
			continue;
		old = MemoryContextSwitchTo(store.result_cxt);
		set = write_set_of(&store, &batch->pieces[i]);
		if (set->is_short)
			add_to_group(&store, piece, set);
		else
			store_alone(&store, piece, set);
		MemoryContextSwitchTo(old);
		if (!set->is_short)
			MemoryContextReset(store.result_cxt);
	}
	store_group(&store);
	finish(&store);
}
