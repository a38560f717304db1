/*
 * ingest_store.c
 *		Storing what units hold, packed onto what is stored of their streams:
 *		a row or two for each, then the counts of the jobs follow.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/timestamp.h"

#include "ingest/ingest_held.h"
#include "ingest/ingest_store.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_ingest_store);
PG_FUNCTION_INFO_V1(l4_range_count);

typedef struct Store
{
	L4Packing	packing;
	L4Rows		chunk;
	L4Rows		no_tail;
	L4Rows		new_summary;
	L4Rows		summary;
	L4Rows		growth;
	L4Rows		stream;
	L4Rows		node_rank;
	L4RollUp   *rollup;
	MemoryContext unit_cxt;
	L4ByteReader learnt;		/* about the shapes that the units do not know, in their order */
	int64		lines;
} Store;

static const char chunk_sql[] =
"INSERT INTO l4._chunk (stream_id, chunk_no, lines, first_line_no, last_line_no, first_ts, last_ts, body) "
"SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) "
"ON CONFLICT ON CONSTRAINT _chunk_pkey DO UPDATE "
"SET lines = excluded.lines, first_line_no = excluded.first_line_no, last_line_no = excluded.last_line_no, "
"first_ts = excluded.first_ts, last_ts = excluded.last_ts, body = excluded.body";
static const Oid chunk_types[] = {INT4OID, INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID};

static const char no_tail_sql[] = "DELETE FROM l4._chunk WHERE stream_id = ANY ($1) AND chunk_no = -1";
static const Oid no_tail_types[] = {INT4OID};

/* Lines that fill a gap (late) leave alone what is open; what grows with time may go to another row. */
#define SUMMARY_ROWS "unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) " \
"AS u(stream_id, late, grows, events, slots, durations, iterations, stages, activity, sequences, " \
"open_events, open_slots, open_durations, open_iterations, open_stages, open_activity, open_sequences)"
static const char new_summary_sql[] =
"INSERT INTO l4._summary (stream_id, part, events, slots, durations, iterations, stages, activity, sequences, "
"open_events, open_slots, open_durations, open_iterations, open_stages, open_activity, open_sequences) "
"SELECT u.stream_id, 0, u.events, u.slots, u.durations, u.iterations, u.stages, u.activity, u.sequences, "
"u.open_events, u.open_slots, u.open_durations, u.open_iterations, u.open_stages, u.open_activity, u.open_sequences FROM " SUMMARY_ROWS;
static const char summary_sql[] =
"UPDATE l4._summary m SET events = u.events, slots = u.slots, stages = u.stages, "
"durations = CASE WHEN u.grows THEN u.durations ELSE m.durations END, iterations = CASE WHEN u.grows THEN u.iterations ELSE m.iterations END, "
"activity = CASE WHEN u.grows THEN u.activity ELSE m.activity END, sequences = CASE WHEN u.grows THEN u.sequences ELSE m.sequences END, "
"open_events = CASE WHEN u.late THEN m.open_events ELSE u.open_events END, "
"open_slots = CASE WHEN u.late THEN m.open_slots ELSE u.open_slots END, "
"open_durations = CASE WHEN u.late THEN m.open_durations ELSE u.open_durations END, "
"open_iterations = CASE WHEN u.late THEN m.open_iterations ELSE u.open_iterations END, "
"open_stages = CASE WHEN u.late THEN m.open_stages ELSE u.open_stages END, "
"open_activity = CASE WHEN u.late THEN m.open_activity ELSE u.open_activity END, "
"open_sequences = CASE WHEN u.late THEN m.open_sequences ELSE u.open_sequences END "
"FROM " SUMMARY_ROWS " WHERE m.stream_id = u.stream_id AND m.part = 0";
static const Oid summary_types[] = {INT4OID, BOOLOID, BOOLOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID,
BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

static const char growth_sql[] =
"INSERT INTO l4._summary (stream_id, part, durations, iterations, activity, sequences) SELECT * FROM unnest($1, $2, $3, $4, $5, $6) "
"ON CONFLICT ON CONSTRAINT _summary_pkey DO UPDATE "
"SET durations = excluded.durations, iterations = excluded.iterations, activity = excluded.activity, sequences = excluded.sequences";
static const Oid growth_types[] = {INT4OID, INT4OID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

static const char stream_sql[] =
"UPDATE l4._stream s SET lines = s.lines + u.lines, unparsed = s.unparsed + u.unparsed, units = s.units + 1, next_chunk_no = u.next_chunk_no, "
"sparse = s.sparse OR l4._range_count(s.seen + u.seen) > 1000, "
"seen = CASE WHEN s.sparse OR l4._range_count(s.seen + u.seen) > 1000 "
"THEN int8multirange(int8range(lower(s.seen + u.seen), upper(s.seen + u.seen))) ELSE s.seen + u.seen END, "
"tail = CASE WHEN u.late THEN s.tail ELSE u.tail END, tail_lines = CASE WHEN u.late THEN s.tail_lines ELSE u.tail_lines END, "
"step = CASE WHEN NOT u.late AND NOT u.is_full AND u.lines < (u.to_line - coalesce(s.next_line_no, u.to_line)) / 8 "
"THEN least(s.step * 4, 1125899906842624) ELSE s.step END, "
"next_line_no = CASE WHEN u.late THEN s.next_line_no ELSE u.next_line_no END, "
"carry = CASE WHEN u.late THEN s.carry ELSE u.carry END, pack_carry = CASE WHEN u.late THEN s.pack_carry ELSE u.pack_carry END, "
"first_ts = least(s.first_ts, u.first_ts), last_ts = greatest(s.last_ts, u.last_ts), "
"last_event_id = CASE WHEN u.late THEN coalesce(s.last_event_id, u.last_event_id) ELSE coalesce(u.last_event_id, s.last_event_id) END, "
"last_iteration = CASE WHEN u.late THEN s.last_iteration ELSE u.last_iteration END, max_in_flight = greatest(s.max_in_flight, u.max_in_flight), "
"ranks = s.ranks + u.ranks, rank = least(s.rank, u.rank) "
"FROM (SELECT t.stream_id, t.late, t.lines, t.unparsed, t.next_chunk_no, t.seen::int8multirange, t.tail::int8multirange, t.tail_lines, t.is_full, "
"t.to_line, t.next_line_no, t.carry, t.pack_carry, t.first_ts, t.last_ts, t.last_event_id, t.last_iteration, t.max_in_flight, "
"t.ranks::int4multirange, t.rank "
"FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) "
"AS t(stream_id, late, lines, unparsed, next_chunk_no, seen, tail, tail_lines, is_full, to_line, next_line_no, carry, pack_carry, "
"first_ts, last_ts, last_event_id, last_iteration, max_in_flight, ranks, rank) OFFSET 0) u "
"WHERE s.stream_id = u.stream_id";
static const Oid stream_types[] = {INT4OID, BOOLOID, INT8OID, INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID, BOOLOID, INT8OID, INT8OID,
BYTEAOID, BYTEAOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, TEXTOID, INT4OID};

static const char node_rank_sql[] =
"UPDATE l4.job_node n SET rank = (SELECT min(s.rank) FROM l4._stream s WHERE s.job_id = n.job_id AND s.node = n.node) "
"FROM unnest($1) AS u(stream_id) JOIN l4._stream t ON t.stream_id = u.stream_id "
"WHERE n.job_id = t.job_id AND n.node = t.node AND n.rank IS NULL";
static const Oid node_rank_types[] = {INT4OID};

static void
store_chunk(Store *store, int32 stream_id, int chunk_no, const L4Chunk *chunk)
{
	L4Rows	   *rows = &store->chunk;

	l4_rows_put_int(rows, stream_id);
	l4_rows_put_int(rows, chunk_no);
	l4_rows_put_int(rows, chunk->lines);
	l4_rows_put_bigint(rows, chunk->first_line_no);
	l4_rows_put_bigint(rows, chunk->last_line_no);
	l4_rows_put_ts(rows, chunk->first_ts);
	l4_rows_put_ts(rows, chunk->last_ts);
	l4_rows_put_bytes(rows, chunk->body);
}

static void
put_sections(L4Rows *rows, const L4Sections *sections)
{
	l4_rows_put_bytes(rows, sections->events);
	l4_rows_put_bytes(rows, sections->slots);
	l4_rows_put_bytes(rows, sections->durations);
	l4_rows_put_bytes(rows, sections->iterations);
	l4_rows_put_bytes(rows, sections->stages);
	l4_rows_put_bytes(rows, sections->activity);
	l4_rows_put_bytes(rows, sections->sequences);
}

static void
store_summary(Store *store, int32 stream_id, bool late, const L4Parcel *parcel)
{
	L4Rows	   *rows = parcel->has_summary ? &store->summary : &store->new_summary;
	const L4Sections *settled = &parcel->packed->settled;

	l4_rows_put_int(rows, stream_id);
	l4_rows_put_bool(rows, late);
	l4_rows_put_bool(rows, parcel->growth_part == 0);
	put_sections(rows, settled);
	put_sections(rows, &parcel->packed->open);
	if (parcel->growth_part == 0 ||
		(settled->durations == NULL && settled->iterations == NULL && settled->activity == NULL && settled->sequences == NULL))
		return;
	rows = &store->growth;
	l4_rows_put_int(rows, stream_id);
	l4_rows_put_int(rows, parcel->growth_part);
	l4_rows_put_bytes(rows, settled->durations);
	l4_rows_put_bytes(rows, settled->iterations);
	l4_rows_put_bytes(rows, settled->activity);
	l4_rows_put_bytes(rows, settled->sequences);
}

static Datum
rank_runs(const L4UnitHead *head, int32 *lowest)
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

static void
store_stream(Store *store, int32 stream_id, bool late, int64 to_line, int next_chunk_no, const L4Parcel *parcel)
{
	L4Rows	   *rows = &store->stream;
	const L4UnitHead *head = &parcel->head;
	const L4Packed *packed = parcel->packed;
	int32		lowest;
	Datum		ranks = rank_runs(head, &lowest);

	l4_rows_put_int(rows, stream_id);
	l4_rows_put_bool(rows, late);
	l4_rows_put_bigint(rows, head->lines);
	l4_rows_put_bigint(rows, head->unparsed);
	l4_rows_put_int(rows, next_chunk_no);
	l4_rows_put(rows, CStringGetTextDatum(parcel->seen), false);
	l4_rows_put(rows, CStringGetTextDatum(parcel->tail), false);
	l4_rows_put_int(rows, head->open_lines);
	l4_rows_put_bool(rows, head->full);
	l4_rows_put_bigint(rows, to_line);
	l4_rows_put_bigint(rows, head->next_line_no);
	l4_rows_put(rows, PointerGetDatum(cstring_to_text_with_len(head->carry, head->carry_len)), false);	/* same layout as bytea */
	l4_rows_put_bytes(rows, packed->carry);
	l4_rows_put_ts(rows, packed->first_ts);
	l4_rows_put_ts(rows, packed->last_ts);
	l4_rows_put(rows, Int32GetDatum(packed->last_event_id), packed->last_event_id == 0);
	l4_rows_put_int(rows, head->last_done);
	l4_rows_put_int(rows, head->max_in_flight);
	l4_rows_put(rows, ranks, false);
	l4_rows_put_int(rows, lowest);
	if (lowest != L4_NO_INT)
		l4_rows_put_int(&store->node_rank, stream_id);
}

/* The parcel of a unit, packed here where a worker has not done it. */
static L4Parcel *
parcel_of_unit(Store *store, int32 stream_id, bool late, bytea *bytes)
{
	L4UnitHead	head;
	L4Unit	   *unit;
	L4Parcel   *parcel;

	memset(&head, 0, sizeof(head));
	l4_unit_head(bytes, &head, CurrentMemoryContext);
	if (head.packed)
		return l4_parcel_decode(bytes);
	unit = l4_unit_decode(bytes, CurrentMemoryContext);
	l4_unit_resolve(unit, &store->learnt, CurrentMemoryContext);
	parcel = l4_packing_pack(&store->packing, stream_id, late, unit);
	if (parcel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a job was removed while its logs were read"),
				 errhint("Call l4.ingest() again: it goes on with what there is.")));
	return parcel;
}

static void
store_unit(Store *store, int32 stream_id, bool late, bytea *bytes, int64 to_line)
{
	const L4Parcel *parcel = parcel_of_unit(store, stream_id, late, bytes);
	const L4Packed *packed = parcel->packed;
	int			chunk_no = parcel->chunk_no;

	for (int i = 0; i < packed->nchunks; i++)
		store_chunk(store, stream_id, chunk_no++, &packed->chunks[i]);
	if (!late && packed->open_chunk != NULL)
		store_chunk(store, stream_id, -1, packed->open_chunk);
	else if (!late && parcel->has_tail)
		l4_rows_put_int(&store->no_tail, stream_id);
	store_summary(store, stream_id, late, parcel);
	store_stream(store, stream_id, late, to_line, chunk_no, parcel);
	l4_rollup_stream(store->rollup, parcel->job_id, parcel->node, parcel->source, parcel->has_tail, packed);
	store->lines += parcel->head.lines + parcel->head.open_lines;
}

static void
prepare(Store *store)
{
	l4_packing_init(&store->packing, false);
	l4_rows_prepare(&store->chunk, chunk_sql, lengthof(chunk_types), chunk_types);
	l4_rows_prepare(&store->no_tail, no_tail_sql, lengthof(no_tail_types), no_tail_types);
	l4_rows_prepare(&store->new_summary, new_summary_sql, lengthof(summary_types), summary_types);
	l4_rows_prepare(&store->summary, summary_sql, lengthof(summary_types), summary_types);
	l4_rows_prepare(&store->growth, growth_sql, lengthof(growth_types), growth_types);
	l4_rows_prepare(&store->stream, stream_sql, lengthof(stream_types), stream_types);
	l4_rows_prepare(&store->node_rank, node_rank_sql, lengthof(node_rank_types), node_rank_types);
	store->rollup = l4_rollup_create(CurrentMemoryContext);
	store->unit_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 unit", ALLOCSET_DEFAULT_SIZES);
}

static void
flush(Store *store)
{
	l4_rows_flush(&store->chunk);
	l4_rows_flush(&store->no_tail);
	l4_rows_flush(&store->new_summary);
	l4_rows_flush(&store->summary);
	l4_rows_flush(&store->growth);
	l4_rows_flush(&store->stream);
	/* what the streams say now */
	l4_rows_flush(&store->node_rank);
}

/* (streams, late, last lines, what was learnt of unknown shapes) -> lines of the units that are kept */
Datum
l4_ingest_store(PG_FUNCTION_ARGS)
{
	Store		store;
	Datum	   *ids;
	Datum	   *late;
	Datum	   *to_line;
	bytea	   *learnt;
	int			n[3];
	MemoryContext old;

	memset(&store, 0, sizeof(store));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT4OID, sizeof(int32), true, TYPALIGN_INT, &ids, NULL, &n[0]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), BOOLOID, 1, true, TYPALIGN_CHAR, &late, NULL, &n[1]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &to_line, NULL, &n[2]);
	if (n[0] != n[1] || n[0] != n[2])
		elog(ERROR, "%d streams, %d flags, %d last lines", n[0], n[1], n[2]);
	learnt = PG_GETARG_BYTEA_PP(3);
	store.learnt.ptr = (const unsigned char *) VARDATA_ANY(learnt);
	store.learnt.end = store.learnt.ptr + VARSIZE_ANY_EXHDR(learnt);
	prepare(&store);
	for (int i = 0; i < n[0]; i++)
	{
		bytea	   *unit = l4_held_unit(i);

		CHECK_FOR_INTERRUPTS();
		if (unit == NULL)
			continue;
		old = MemoryContextSwitchTo(store.unit_cxt);
		store_unit(&store, DatumGetInt32(ids[i]), DatumGetBool(late[i]), unit, DatumGetInt64(to_line[i]));
		MemoryContextSwitchTo(old);
		MemoryContextReset(store.unit_cxt);
	}
	l4_held_release();
	flush(&store);
	l4_rollup_store(store.rollup);
	SPI_finish();
	PG_RETURN_INT64(store.lines);
}

/* Number of ranges of a multirange. */
Datum
l4_range_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(PG_GETARG_MULTIRANGE_P(0)->rangeCount);
}
