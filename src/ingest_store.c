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

#include "ingest_store.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_ingest_store);
PG_FUNCTION_INFO_V1(l4_range_count);

typedef struct Store
{
	L4Packing	packing;
	L4Query		chunk;
	L4Query		no_tail;
	L4Query		new_summary;
	L4Query		summary;
	L4Query		growth;
	L4Query		stream;
	L4RollUp   *rollup;
	MemoryContext unit_cxt;
	int64		lines;
} Store;

static const char chunk_sql[] =
"INSERT INTO l4._chunk (stream_id, chunk_no, lines, first_line_no, last_line_no, first_ts, last_ts, body) "
"VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
"ON CONFLICT ON CONSTRAINT _chunk_pkey DO UPDATE "
"SET lines = excluded.lines, first_line_no = excluded.first_line_no, last_line_no = excluded.last_line_no, "
"first_ts = excluded.first_ts, last_ts = excluded.last_ts, body = excluded.body";
static const Oid chunk_types[] = {INT4OID, INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID};

static const char no_tail_sql[] = "DELETE FROM l4._chunk WHERE stream_id = $1 AND chunk_no = -1";
static const Oid no_tail_types[] = {INT4OID};

/* $2: lines that fill a gap leave alone what is open; $3: what grows with time goes here */
static const char new_summary_sql[] =
"INSERT INTO l4._summary (stream_id, part, events, slots, durations, iterations, stages, activity, sequences, "
"open_events, open_slots, open_durations, open_iterations, open_stages, open_activity, open_sequences) "
"VALUES ($1, 0, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
static const char summary_sql[] =
"UPDATE l4._summary SET events = $4, slots = $5, stages = $8, "
"durations = CASE WHEN $3 THEN $6 ELSE durations END, iterations = CASE WHEN $3 THEN $7 ELSE iterations END, "
"activity = CASE WHEN $3 THEN $9 ELSE activity END, sequences = CASE WHEN $3 THEN $10 ELSE sequences END, "
"open_events = CASE WHEN $2 THEN open_events ELSE $11 END, open_slots = CASE WHEN $2 THEN open_slots ELSE $12 END, "
"open_durations = CASE WHEN $2 THEN open_durations ELSE $13 END, open_iterations = CASE WHEN $2 THEN open_iterations ELSE $14 END, "
"open_stages = CASE WHEN $2 THEN open_stages ELSE $15 END, open_activity = CASE WHEN $2 THEN open_activity ELSE $16 END, "
"open_sequences = CASE WHEN $2 THEN open_sequences ELSE $17 END "
"WHERE stream_id = $1 AND part = 0";
static const Oid summary_types[] = {INT4OID, BOOLOID, BOOLOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID,
BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

static const char growth_sql[] =
"INSERT INTO l4._summary (stream_id, part, durations, iterations, activity, sequences) VALUES ($1, $2, $3, $4, $5, $6) "
"ON CONFLICT ON CONSTRAINT _summary_pkey DO UPDATE "
"SET durations = excluded.durations, iterations = excluded.iterations, activity = excluded.activity, sequences = excluded.sequences";
static const Oid growth_types[] = {INT4OID, INT4OID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID};

static const char stream_sql[] =
"UPDATE l4._stream SET lines = lines + $3, unparsed = unparsed + $4, units = units + 1, next_chunk_no = $5, "
"sparse = sparse OR l4._range_count(seen + $6::int8multirange) > 1000, "
"seen = CASE WHEN sparse OR l4._range_count(seen + $6::int8multirange) > 1000 "
"THEN int8multirange(int8range(lower(seen + $6::int8multirange), upper(seen + $6::int8multirange))) ELSE seen + $6::int8multirange END, "
"tail = CASE WHEN $2 THEN tail ELSE $7::int8multirange END, tail_lines = CASE WHEN $2 THEN tail_lines ELSE $8 END, "
"step = CASE WHEN NOT $2 AND NOT $9 AND $3 < ($10 - coalesce(next_line_no, $10)) / 8 THEN least(step * 4, 1125899906842624) ELSE step END, "
"next_line_no = CASE WHEN $2 THEN next_line_no ELSE $11 END, "
"carry = CASE WHEN $2 THEN carry ELSE $12 END, pack_carry = CASE WHEN $2 THEN pack_carry ELSE $13 END, "
"first_ts = least(first_ts, $14), last_ts = greatest(last_ts, $15), "
"last_event_id = CASE WHEN $2 THEN coalesce(last_event_id, $16) ELSE coalesce($16, last_event_id) END, "
"last_iteration = CASE WHEN $2 THEN last_iteration ELSE $17 END, max_in_flight = greatest(max_in_flight, $18), "
"ranks = ranks + $19::int4multirange, rank = least(rank, $20) "
"WHERE stream_id = $1";
static const Oid stream_types[] = {INT4OID, BOOLOID, INT8OID, INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID, BOOLOID, INT8OID, INT8OID,
BYTEAOID, BYTEAOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, TEXTOID, INT4OID};

/* one stream at a time: of a set of streams in tables that no one has analyzed yet the planner makes a loop in a loop */
static const char node_rank_sql[] =
"UPDATE l4.job_node n SET rank = (SELECT min(s.rank) FROM l4._stream s WHERE s.job_id = n.job_id AND s.node = n.node) "
"FROM l4._stream t WHERE t.stream_id = $1 AND t.rank IS NOT NULL AND n.job_id = t.job_id AND n.node = t.node AND n.rank IS NULL";
static const Oid node_rank_types[] = {INT4OID};

static void
store_chunk(Store *store, int32 stream_id, int chunk_no, const L4Chunk *chunk)
{
	L4Query    *query = &store->chunk;

	l4_query_put_int(query, stream_id);
	l4_query_put_int(query, chunk_no);
	l4_query_put_int(query, chunk->lines);
	l4_query_put(query, Int64GetDatum(chunk->first_line_no), false);
	l4_query_put(query, Int64GetDatum(chunk->last_line_no), false);
	l4_query_put_ts(query, chunk->first_ts);
	l4_query_put_ts(query, chunk->last_ts);
	l4_query_put_bytes(query, chunk->body);
	l4_query_run(query);
}

static void
put_sections(L4Query *query, const L4Sections *sections)
{
	l4_query_put_bytes(query, sections->events);
	l4_query_put_bytes(query, sections->slots);
	l4_query_put_bytes(query, sections->durations);
	l4_query_put_bytes(query, sections->iterations);
	l4_query_put_bytes(query, sections->stages);
	l4_query_put_bytes(query, sections->activity);
	l4_query_put_bytes(query, sections->sequences);
}

static void
store_summary(Store *store, int32 stream_id, bool late, const L4Parcel *parcel)
{
	L4Query    *query = parcel->has_summary ? &store->summary : &store->new_summary;
	const L4Sections *settled = &parcel->packed->settled;

	l4_query_put_int(query, stream_id);
	l4_query_put(query, BoolGetDatum(late), false);
	l4_query_put(query, BoolGetDatum(parcel->growth_part == 0), false);
	put_sections(query, settled);
	put_sections(query, &parcel->packed->open);
	l4_query_run(query);
	if (parcel->growth_part == 0 ||
		(settled->durations == NULL && settled->iterations == NULL && settled->activity == NULL && settled->sequences == NULL))
		return;
	query = &store->growth;
	l4_query_put_int(query, stream_id);
	l4_query_put_int(query, parcel->growth_part);
	l4_query_put_bytes(query, settled->durations);
	l4_query_put_bytes(query, settled->iterations);
	l4_query_put_bytes(query, settled->activity);
	l4_query_put_bytes(query, settled->sequences);
	l4_query_run(query);
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
	L4Query    *query = &store->stream;
	const L4UnitHead *head = &parcel->head;
	const L4Packed *packed = parcel->packed;
	int32		lowest;
	Datum		ranks = rank_runs(head, &lowest);

	l4_query_put_int(query, stream_id);
	l4_query_put(query, BoolGetDatum(late), false);
	l4_query_put(query, Int64GetDatum(head->lines), false);
	l4_query_put(query, Int64GetDatum(head->unparsed), false);
	l4_query_put_int(query, next_chunk_no);
	l4_query_put(query, CStringGetTextDatum(parcel->seen), false);
	l4_query_put(query, CStringGetTextDatum(parcel->tail), false);
	l4_query_put_int(query, head->open_lines);
	l4_query_put(query, BoolGetDatum(head->full), false);
	l4_query_put(query, Int64GetDatum(to_line), false);
	l4_query_put(query, Int64GetDatum(head->next_line_no), false);
	l4_query_put(query, PointerGetDatum(cstring_to_text_with_len(head->carry, head->carry_len)), false);	/* same layout as bytea */
	l4_query_put_bytes(query, packed->carry);
	l4_query_put_ts(query, packed->first_ts);
	l4_query_put_ts(query, packed->last_ts);
	l4_query_put(query, Int32GetDatum(packed->last_event_id), packed->last_event_id == 0);
	l4_query_put_int(query, head->last_done);
	l4_query_put_int(query, head->max_in_flight);
	l4_query_put(query, ranks, false);
	l4_query_put_int(query, lowest);
	l4_query_run(query);
}

/* The parcel of a unit, packed here where a worker has not done it. */
static L4Parcel *
parcel_of_unit(Store *store, int32 stream_id, bool late, bytea *bytes)
{
	L4UnitHead	head;
	L4Parcel   *parcel;

	memset(&head, 0, sizeof(head));
	l4_unit_head(bytes, &head, CurrentMemoryContext);
	if (head.packed)
		return l4_parcel_decode(bytes);
	parcel = l4_packing_pack(&store->packing, stream_id, late, l4_unit_decode(bytes, CurrentMemoryContext));
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
	{
		l4_query_put_int(&store->no_tail, stream_id);
		l4_query_run(&store->no_tail);
	}
	store_summary(store, stream_id, late, parcel);
	store_stream(store, stream_id, late, to_line, chunk_no, parcel);
	l4_rollup_stream(store->rollup, parcel->job_id, parcel->node, parcel->source, parcel->has_tail, packed);
	store->lines += parcel->head.lines + parcel->head.open_lines;
}

static void
prepare(Store *store)
{
	l4_packing_init(&store->packing, false);
	l4_query_prepare(&store->chunk, chunk_sql, lengthof(chunk_types), chunk_types);
	l4_query_prepare(&store->no_tail, no_tail_sql, lengthof(no_tail_types), no_tail_types);
	l4_query_prepare(&store->new_summary, new_summary_sql, lengthof(summary_types), summary_types);
	l4_query_prepare(&store->summary, summary_sql, lengthof(summary_types), summary_types);
	l4_query_prepare(&store->growth, growth_sql, lengthof(growth_types), growth_types);
	l4_query_prepare(&store->stream, stream_sql, lengthof(stream_types), stream_types);
	store->rollup = l4_rollup_create(CurrentMemoryContext);
	store->unit_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 unit", ALLOCSET_DEFAULT_SIZES);
}

/* Nodes of which no rank is known get one from their streams. */
static void
learn_ranks(const Datum *ids, const bool *no_unit, int n)
{
	L4Query		query;

	l4_query_prepare(&query, node_rank_sql, lengthof(node_rank_types), node_rank_types);
	for (int i = 0; i < n; i++)
	{
		if (no_unit[i])
			continue;
		l4_query_put(&query, ids[i], false);
		l4_query_run(&query);
	}
}

/* (streams, late, units, last lines) -> lines */
Datum
l4_ingest_store(PG_FUNCTION_ARGS)
{
	Store		store;
	Datum	   *ids;
	Datum	   *late;
	Datum	   *units;
	Datum	   *to_line;
	bool	   *no_unit;
	int			n[4];
	MemoryContext old;

	memset(&store, 0, sizeof(store));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT4OID, sizeof(int32), true, TYPALIGN_INT, &ids, NULL, &n[0]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), BOOLOID, 1, true, TYPALIGN_CHAR, &late, NULL, &n[1]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), BYTEAOID, -1, false, TYPALIGN_INT, &units, &no_unit, &n[2]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &to_line, NULL, &n[3]);
	if (n[0] != n[1] || n[0] != n[2] || n[0] != n[3])
		elog(ERROR, "%d streams, %d flags, %d units, %d last lines", n[0], n[1], n[2], n[3]);
	prepare(&store);
	for (int i = 0; i < n[0]; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (no_unit[i])
			continue;
		old = MemoryContextSwitchTo(store.unit_cxt);
		store_unit(&store, DatumGetInt32(ids[i]), DatumGetBool(late[i]), DatumGetByteaPP(units[i]), DatumGetInt64(to_line[i]));
		MemoryContextSwitchTo(old);
		MemoryContextReset(store.unit_cxt);
	}
	learn_ranks(ids, no_unit, n[0]);
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
