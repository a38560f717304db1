/*
 * ingest_store.c
 *		Storing what units hold: each is packed onto what is stored of its
 *		stream, a row or two at a time, then the counts of the jobs follow.
 */
#include "postgres.h"

#include "access/detoast.h"
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

#define GROWTH_BYTES 131072		/* a row of what grows with time is full when it has these */

PG_FUNCTION_INFO_V1(l4_ingest_store);
PG_FUNCTION_INFO_V1(l4_range_count);

/* What is stored of a stream. */
typedef struct Stored
{
	char	   *job_id;
	char	   *node;
	char	   *source;
	bytea	   *carry;
	int			next_chunk_no;
	bool		has_tail;
	bool		has_summary;
	bytea	   *chunk;			/* the last one, when it has room */
	int			growth_part;	/* where more of what grows goes */
	L4Sections	sections;
} Stored;

typedef struct Store
{
	L4Query		read;
	L4Query		chunk;
	L4Query		no_tail;
	L4Query		new_summary;
	L4Query		summary;
	L4Query		growth;
	L4Query		stream;
	L4Stages	stages;
	L4RollUp   *rollup;
	MemoryContext unit_cxt;
	int64		lines;
} Store;

static const char read_sql[] =
"SELECT s.job_id, s.node, s.source, s.pack_carry, s.next_chunk_no, s.tail_lines > 0, m.stream_id IS NOT NULL, c.body, "
"g.part, g.durations, g.iterations, g.activity, g.sequences, m.events, m.slots, m.stages "
"FROM l4._stream s "
"LEFT JOIN l4._chunk c ON c.stream_id = s.stream_id AND c.chunk_no = s.next_chunk_no - 1 AND c.lines < $2 "
"LEFT JOIN l4._summary m ON m.stream_id = s.stream_id AND m.part = 0 "
"LEFT JOIN LATERAL (SELECT x.* FROM l4._summary x WHERE x.stream_id = s.stream_id ORDER BY x.part DESC LIMIT 1) g ON true "
"WHERE s.stream_id = $1";
static const Oid read_types[] = {INT4OID, INT4OID};

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

static const char node_rank_sql[] =
"UPDATE l4.job_node n SET rank = r.rank "
"FROM (SELECT s.job_id, s.node, min(s.rank) AS rank FROM l4._stream s WHERE s.stream_id = ANY ($1) GROUP BY 1, 2) r "
"WHERE n.job_id = r.job_id AND n.node = r.node AND n.rank IS NULL AND r.rank IS NOT NULL";
static const Oid node_rank_types[] = {INT4ARRAYOID};

void
l4_query_prepare(L4Query *query, const char *sql, int nargs, const Oid *types)
{
	Assert(nargs <= L4_QUERY_MAX_ARGS);
	query->nargs = nargs;
	query->n = 0;
	query->plan = SPI_prepare(sql, nargs, unconstify(Oid *, types));
	if (query->plan == NULL)
		elog(ERROR, "cannot prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
}

/* Run with the values that were put; rows are in SPI_tuptable. */
uint64
l4_query_run(L4Query *query)
{
	int			result;

	if (query->n != query->nargs)
		elog(ERROR, "query has %d values, not %d", query->n, query->nargs);
	query->n = 0;
	result = SPI_execute_plan(query->plan, query->values, query->nulls, false, 0);
	if (result < 0)
		elog(ERROR, "cannot store: %s", SPI_result_code_string(result));
	return SPI_processed;
}

void
l4_query_put(L4Query *query, Datum value, bool isnull)
{
	Assert(query->n < query->nargs);
	query->values[query->n] = isnull ? (Datum) 0 : value;
	query->nulls[query->n++] = isnull ? 'n' : ' ';
}

void
l4_query_put_bytes(L4Query *query, bytea *value)
{
	l4_query_put(query, PointerGetDatum(value), value == NULL);
}

void
l4_query_put_ts(L4Query *query, TimestampTz ts)
{
	l4_query_put(query, TimestampTzGetDatum(ts), ts == L4_NO_TS);
}

void
l4_query_put_int(L4Query *query, int32 value)
{
	l4_query_put(query, Int32GetDatum(value), value == L4_NO_INT);
}

/* Number of a stage's name, -1 for NULL. */
static int
name_number(L4Stages *stages, const char *name)
{
	if (name == NULL)
		return -1;
	for (int i = 0; i < stages->nnames; i++)
		if (strcmp(stages->names[i], name) == 0)
			return i;
	stages->names[stages->nnames] = pstrdup(name);
	return stages->nnames++;
}

/* The events that mark stages, by id. */
static void
read_stages(L4Stages *stages)
{
	L4Query		query;
	int			n;

	l4_query_prepare(&query, "SELECT e.event_id, e.stage, e.then_stage FROM l4._event e WHERE e.stage IS NOT NULL ORDER BY e.event_id", 0, NULL);
	n = (int) l4_query_run(&query);
	stages->marks = (L4StageMark *) palloc(sizeof(L4StageMark) * Max(n, 1));
	stages->names = (char **) palloc(sizeof(char *) * Max(2 * n, 1));
	stages->nmarks = n;
	stages->nnames = 0;
	for (int i = 0; i < n; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;

		stages->marks[i].event_id = DatumGetInt32(SPI_getbinval(row, desc, 1, &isnull));
		stages->marks[i].stage = name_number(stages, SPI_getvalue(row, desc, 2));
		stages->marks[i].then = name_number(stages, SPI_getvalue(row, desc, 3));
	}
	SPI_freetuptable(SPI_tuptable);
}

/* A bytea column of the row that was read, in memory of its own; NULL where it is NULL. */
static bytea *
get_bytes(int col)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	return isnull ? NULL : DatumGetByteaPCopy(value);
}

/* Bytes of a column before compression, without fetching it. */
static Size
column_size(int col)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	return isnull ? 0 : toast_raw_datum_size(value) - VARHDRSZ;
}

static void
read_stored(Store *store, int32 stream_id, Stored *stored)
{
	HeapTuple	row;
	TupleDesc	desc;
	bool		isnull;
	Datum		part;

	l4_query_put_int(&store->read, stream_id);
	l4_query_put_int(&store->read, L4_CHUNK_LINES);
	if (l4_query_run(&store->read) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a job was removed while its logs were read"),
				 errhint("Call l4.ingest() again: it goes on with what there is.")));
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	memset(stored, 0, sizeof(*stored));
	stored->job_id = SPI_getvalue(row, desc, 1);
	stored->node = SPI_getvalue(row, desc, 2);
	stored->source = SPI_getvalue(row, desc, 3);
	stored->carry = get_bytes(4);
	stored->next_chunk_no = DatumGetInt32(SPI_getbinval(row, desc, 5, &isnull));
	stored->has_tail = DatumGetBool(SPI_getbinval(row, desc, 6, &isnull));
	stored->has_summary = DatumGetBool(SPI_getbinval(row, desc, 7, &isnull));
	stored->chunk = get_bytes(8);
	part = SPI_getbinval(row, desc, 9, &isnull);
	stored->growth_part = isnull ? 0 : DatumGetInt32(part);
	if (column_size(10) + column_size(11) + column_size(12) + column_size(13) >= GROWTH_BYTES)
		stored->growth_part++;
	else
	{
		stored->sections.durations = get_bytes(10);
		stored->sections.iterations = get_bytes(11);
		stored->sections.activity = get_bytes(12);
		stored->sections.sequences = get_bytes(13);
	}
	stored->sections.events = get_bytes(14);
	stored->sections.slots = get_bytes(15);
	stored->sections.stages = get_bytes(16);
	SPI_freetuptable(SPI_tuptable);
}

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
store_summary(Store *store, int32 stream_id, bool late, const Stored *stored, const L4Packed *packed)
{
	L4Query    *query = stored->has_summary ? &store->summary : &store->new_summary;
	const L4Sections *settled = &packed->settled;

	l4_query_put_int(query, stream_id);
	l4_query_put(query, BoolGetDatum(late), false);
	l4_query_put(query, BoolGetDatum(stored->growth_part == 0), false);
	put_sections(query, settled);
	put_sections(query, &packed->open);
	l4_query_run(query);
	if (stored->growth_part == 0 ||
		(settled->durations == NULL && settled->iterations == NULL && settled->activity == NULL && settled->sequences == NULL))
		return;
	query = &store->growth;
	l4_query_put_int(query, stream_id);
	l4_query_put_int(query, stored->growth_part);
	l4_query_put_bytes(query, settled->durations);
	l4_query_put_bytes(query, settled->iterations);
	l4_query_put_bytes(query, settled->activity);
	l4_query_put_bytes(query, settled->sequences);
	l4_query_run(query);
}

/* Runs of line numbers as the text of a multirange. */
static Datum
line_runs(const L4UnitPart *part)
{
	StringInfoData buf;
	int64		first = 0;
	int64		last = 0;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	for (int i = 0; i <= part->nlines; i++)
	{
		if (i > 0 && i < part->nlines && part->lines[i].line_no == last + 1)
		{
			last++;
			continue;
		}
		if (i > 0)
			appendStringInfo(&buf, "%s[" INT64_FORMAT "," INT64_FORMAT "]", buf.len > 1 ? "," : "", first, last);
		if (i < part->nlines)
			first = last = part->lines[i].line_no;
	}
	appendStringInfoChar(&buf, '}');
	return CStringGetTextDatum(buf.data);
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
store_stream(Store *store, int32 stream_id, bool late, int64 to_line, int next_chunk_no, const L4Unit *unit, const L4Packed *packed)
{
	L4Query    *query = &store->stream;
	const L4UnitHead *head = &unit->head;
	int32		lowest;
	Datum		ranks = rank_runs(head, &lowest);

	l4_query_put_int(query, stream_id);
	l4_query_put(query, BoolGetDatum(late), false);
	l4_query_put(query, Int64GetDatum(head->lines), false);
	l4_query_put(query, Int64GetDatum(head->unparsed), false);
	l4_query_put_int(query, next_chunk_no);
	l4_query_put(query, line_runs(&unit->settled), false);
	l4_query_put(query, line_runs(&unit->open), false);
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

static void
store_unit(Store *store, int32 stream_id, bool late, bytea *bytes, int64 to_line)
{
	L4PackInput input;
	L4Packed   *packed;
	Stored		stored;
	int			chunk_no;

	read_stored(store, stream_id, &stored);
	memset(&input, 0, sizeof(input));
	input.unit = l4_unit_decode(bytes, CurrentMemoryContext);
	input.stages = &store->stages;
	input.late = late;
	input.carry = stored.carry;
	input.chunk = stored.chunk;
	input.before = stored.sections;
	packed = l4_pack_unit(&input, CurrentMemoryContext);

	chunk_no = stored.chunk == NULL ? stored.next_chunk_no : stored.next_chunk_no - 1;
	for (int i = 0; i < packed->nchunks; i++)
		store_chunk(store, stream_id, chunk_no++, &packed->chunks[i]);
	if (!late && packed->open_chunk != NULL)
		store_chunk(store, stream_id, -1, packed->open_chunk);
	else if (!late && stored.has_tail)
	{
		l4_query_put_int(&store->no_tail, stream_id);
		l4_query_run(&store->no_tail);
	}
	store_summary(store, stream_id, late, &stored, packed);
	store_stream(store, stream_id, late, to_line, chunk_no, input.unit, packed);
	l4_rollup_stream(store->rollup, stored.job_id, stored.node, stored.source, stored.has_tail, packed);
	store->lines += input.unit->head.lines + input.unit->head.open_lines;
}

static void
prepare(Store *store)
{
	l4_query_prepare(&store->read, read_sql, lengthof(read_types), read_types);
	l4_query_prepare(&store->chunk, chunk_sql, lengthof(chunk_types), chunk_types);
	l4_query_prepare(&store->no_tail, no_tail_sql, lengthof(no_tail_types), no_tail_types);
	l4_query_prepare(&store->new_summary, new_summary_sql, lengthof(summary_types), summary_types);
	l4_query_prepare(&store->summary, summary_sql, lengthof(summary_types), summary_types);
	l4_query_prepare(&store->growth, growth_sql, lengthof(growth_types), growth_types);
	l4_query_prepare(&store->stream, stream_sql, lengthof(stream_types), stream_types);
	read_stages(&store->stages);
	store->rollup = l4_rollup_create(CurrentMemoryContext);
	store->unit_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 unit", ALLOCSET_DEFAULT_SIZES);
}

static void
learn_ranks(Datum ids)
{
	L4Query		query;

	l4_query_prepare(&query, node_rank_sql, lengthof(node_rank_types), node_rank_types);
	l4_query_put(&query, ids, false);
	l4_query_run(&query);
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
	learn_ranks(PG_GETARG_DATUM(0));
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
