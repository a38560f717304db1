/*
 * ingest_pack_sql.c
 *		SQL side of packing: a unit and what is stored of its stream in, rows
 *		to store out.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "ingest_pack.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_ingest_pack);

/* Arguments */
enum
{
	IN_UNIT, IN_LATE, IN_CARRY, IN_CHUNK, IN_EVENTS, IN_SLOTS, IN_DURATIONS, IN_ITERATIONS,
	IN_STAGES, IN_ACTIVITY, IN_SEQUENCES, IN_MARK_EVENTS, IN_MARK_STAGES, IN_MARK_THENS
};

/* Results */
enum
{
	OUT_CHUNKS_LINES, OUT_CHUNKS_FIRST, OUT_CHUNKS_LAST, OUT_CHUNKS_FIRST_TS, OUT_CHUNKS_LAST_TS, OUT_CHUNKS_BODY,
	OUT_OPEN_LINES, OUT_OPEN_FIRST, OUT_OPEN_LAST, OUT_OPEN_FIRST_TS, OUT_OPEN_LAST_TS, OUT_OPEN_BODY,
	OUT_SETTLED, OUT_OPEN = OUT_SETTLED + 7,
	OUT_CARRY = OUT_OPEN + 7, OUT_FIRST_TS, OUT_LAST_TS, OUT_LAST_EVENT,
	OUT_EX_EVENT, OUT_EX_LINE, OUT_EX_TS, OUT_EX_TEXT, OUT_SEEN, OUT_TAIL, OUT_COLS
};

/* Number of a name, -1 for NULL. */
static int
name_number(L4Stages *stages, Datum name, bool isnull)
{
	char	   *string;

	if (isnull)
		return -1;
	string = TextDatumGetCString(name);
	for (int i = 0; i < stages->nnames; i++)
		if (strcmp(stages->names[i], string) == 0)
			return i;
	stages->names[stages->nnames] = string;
	return stages->nnames++;
}

static int
compare_marks(const void *a, const void *b)
{
	int32		x = ((const L4StageMark *) a)->event_id;
	int32		y = ((const L4StageMark *) b)->event_id;

	return x < y ? -1 : x > y;
}

static void
read_marks(FunctionCallInfo fcinfo, L4Stages *stages)
{
	Datum	   *events;
	Datum	   *names;
	Datum	   *thens;
	bool	   *name_null;
	bool	   *then_null;
	int			n[3];

	memset(stages, 0, sizeof(*stages));
	if (PG_ARGISNULL(IN_MARK_EVENTS) || PG_ARGISNULL(IN_MARK_STAGES) || PG_ARGISNULL(IN_MARK_THENS))
		return;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(IN_MARK_EVENTS), INT4OID, sizeof(int32), true, TYPALIGN_INT,
					  &events, NULL, &n[0]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(IN_MARK_STAGES), TEXTOID, -1, false, TYPALIGN_INT, &names, &name_null, &n[1]);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(IN_MARK_THENS), TEXTOID, -1, false, TYPALIGN_INT, &thens, &then_null, &n[2]);
	if (n[0] != n[1] || n[0] != n[2])
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("stage marks must have as many events as stages"),
				 errdetail("There are %d events, %d stages and %d following stages.", n[0], n[1], n[2])));
	stages->marks = (L4StageMark *) palloc(sizeof(L4StageMark) * Max(n[0], 1));
	stages->names = (char **) palloc(sizeof(char *) * Max(2 * n[0], 1));
	for (int i = 0; i < n[0]; i++)
	{
		L4StageMark *mark = &stages->marks[stages->nmarks];

		mark->event_id = DatumGetInt32(events[i]);
		mark->stage = name_number(stages, names[i], name_null[i]);
		mark->then = name_number(stages, thens[i], then_null[i]);
		stages->nmarks += mark->stage >= 0;
	}
	qsort(stages->marks, stages->nmarks, sizeof(L4StageMark), compare_marks);
}

/* The marks: the same for all rows of a query. */
static L4Stages *
query_stages(FunctionCallInfo fcinfo)
{
	MemoryContext old;

	if (fcinfo->flinfo->fn_extra == NULL)
	{
		old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = palloc(sizeof(L4Stages));
		read_marks(fcinfo, (L4Stages *) fcinfo->flinfo->fn_extra);
		MemoryContextSwitchTo(old);
	}
	return (L4Stages *) fcinfo->flinfo->fn_extra;
}

static bytea *
bytea_or_null(FunctionCallInfo fcinfo, int arg)
{
	return PG_ARGISNULL(arg) ? NULL : PG_GETARG_BYTEA_PP(arg);
}

static Datum
array_of(Datum *values, bool *nulls, int n, Oid type, int len, bool byval, char align)
{
	int			lbound = 1;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(type));
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lbound, type, len, byval, align));
}

static Datum
bigints(Datum *values, bool *nulls, int n)
{
	return array_of(values, nulls, n, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

static Datum
times(Datum *values, bool *nulls, int n)
{
	return array_of(values, nulls, n, TIMESTAMPTZOID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

static void
put_chunks(Datum *out, const L4Packed *packed)
{
	int			n = packed->nchunks;
	Datum	   *values = (Datum *) palloc(sizeof(Datum) * 6 * Max(n, 1));
	bool	   *nulls = (bool *) palloc0(6 * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		const L4Chunk *chunk = &packed->chunks[i];

		values[i] = Int32GetDatum(chunk->lines);
		values[n + i] = Int64GetDatum(chunk->first_line_no);
		values[2 * n + i] = Int64GetDatum(chunk->last_line_no);
		values[3 * n + i] = TimestampTzGetDatum(chunk->first_ts);
		nulls[3 * n + i] = chunk->first_ts == L4_NO_TS;
		values[4 * n + i] = TimestampTzGetDatum(chunk->last_ts);
		nulls[4 * n + i] = chunk->last_ts == L4_NO_TS;
		values[5 * n + i] = PointerGetDatum(chunk->body);
	}
	out[OUT_CHUNKS_LINES] = array_of(values, nulls, n, INT4OID, sizeof(int32), true, TYPALIGN_INT);
	out[OUT_CHUNKS_FIRST] = bigints(values + n, nulls + n, n);
	out[OUT_CHUNKS_LAST] = bigints(values + 2 * n, nulls + 2 * n, n);
	out[OUT_CHUNKS_FIRST_TS] = times(values + 3 * n, nulls + 3 * n, n);
	out[OUT_CHUNKS_LAST_TS] = times(values + 4 * n, nulls + 4 * n, n);
	out[OUT_CHUNKS_BODY] = array_of(values + 5 * n, nulls + 5 * n, n, BYTEAOID, -1, false, TYPALIGN_INT);
}

static void
put_open_chunk(Datum *out, bool *isnull, const L4Chunk *chunk)
{
	if (chunk == NULL)
	{
		for (int i = OUT_OPEN_LINES; i <= OUT_OPEN_BODY; i++)
			isnull[i] = true;
		return;
	}
	out[OUT_OPEN_LINES] = Int32GetDatum(chunk->lines);
	out[OUT_OPEN_FIRST] = Int64GetDatum(chunk->first_line_no);
	out[OUT_OPEN_LAST] = Int64GetDatum(chunk->last_line_no);
	out[OUT_OPEN_FIRST_TS] = TimestampTzGetDatum(chunk->first_ts);
	isnull[OUT_OPEN_FIRST_TS] = chunk->first_ts == L4_NO_TS;
	out[OUT_OPEN_LAST_TS] = TimestampTzGetDatum(chunk->last_ts);
	isnull[OUT_OPEN_LAST_TS] = chunk->last_ts == L4_NO_TS;
	out[OUT_OPEN_BODY] = PointerGetDatum(chunk->body);
}

static void
put_sections(Datum *out, bool *isnull, int at, const L4Sections *sections)
{
	bytea	   *const list[] = {sections->events, sections->slots, sections->durations, sections->iterations,
	sections->stages, sections->activity, sections->sequences};

	for (int i = 0; i < (int) lengthof(list); i++)
	{
		out[at + i] = PointerGetDatum(list[i]);
		isnull[at + i] = list[i] == NULL;
	}
}

static void
put_examples(Datum *out, const L4Packed *packed)
{
	int			n = packed->nexamples;
	Datum	   *values = (Datum *) palloc(sizeof(Datum) * 4 * Max(n, 1));
	bool	   *nulls = (bool *) palloc0(4 * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		const L4Example *example = &packed->examples[i];

		values[i] = Int32GetDatum(example->event_id);
		values[n + i] = Int64GetDatum(example->line_no);
		values[2 * n + i] = TimestampTzGetDatum(example->ts);
		nulls[2 * n + i] = example->ts == L4_NO_TS;
		values[3 * n + i] = PointerGetDatum(cstring_to_text_with_len(example->text, example->len));
	}
	out[OUT_EX_EVENT] = array_of(values, nulls, n, INT4OID, sizeof(int32), true, TYPALIGN_INT);
	out[OUT_EX_LINE] = bigints(values + n, nulls + n, n);
	out[OUT_EX_TS] = times(values + 2 * n, nulls + 2 * n, n);
	out[OUT_EX_TEXT] = array_of(values + 3 * n, nulls + 3 * n, n, TEXTOID, -1, false, TYPALIGN_INT);
}

/* Runs of line numbers: first and last of each, one after the other. */
static Datum
line_runs(const L4UnitPart *part)
{
	Datum	   *values;
	int			n = 0;

	values = (Datum *) palloc_extended(sizeof(Datum) * 2 * Max(part->nlines, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < part->nlines; i++)
	{
		int64		line_no = part->lines[i].line_no;

		if (n == 0 || DatumGetInt64(values[n - 1]) + 1 != line_no)
		{
			values[n++] = Int64GetDatum(line_no);
			n++;
		}
		values[n - 1] = Int64GetDatum(line_no);
	}
	return bigints(values, NULL, n);
}

Datum
l4_ingest_pack(PG_FUNCTION_ARGS)
{
	L4PackInput input;
	L4Packed   *packed;
	TupleDesc	desc;
	Datum		values[OUT_COLS];
	bool		nulls[OUT_COLS] = {false};

	memset(&input, 0, sizeof(input));
	input.unit = l4_unit_decode(PG_GETARG_BYTEA_PP(IN_UNIT), CurrentMemoryContext);
	input.stages = query_stages(fcinfo);
	input.late = PG_GETARG_BOOL(IN_LATE);
	input.carry = bytea_or_null(fcinfo, IN_CARRY);
	input.chunk = bytea_or_null(fcinfo, IN_CHUNK);
	input.before.events = bytea_or_null(fcinfo, IN_EVENTS);
	input.before.slots = bytea_or_null(fcinfo, IN_SLOTS);
	input.before.durations = bytea_or_null(fcinfo, IN_DURATIONS);
	input.before.iterations = bytea_or_null(fcinfo, IN_ITERATIONS);
	input.before.stages = bytea_or_null(fcinfo, IN_STAGES);
	input.before.activity = bytea_or_null(fcinfo, IN_ACTIVITY);
	input.before.sequences = bytea_or_null(fcinfo, IN_SEQUENCES);
	packed = l4_pack_unit(&input, CurrentMemoryContext);

	put_chunks(values, packed);
	put_open_chunk(values, nulls, packed->open_chunk);
	put_sections(values, nulls, OUT_SETTLED, &packed->settled);
	put_sections(values, nulls, OUT_OPEN, &packed->open);
	values[OUT_CARRY] = PointerGetDatum(packed->carry);
	values[OUT_FIRST_TS] = TimestampTzGetDatum(packed->first_ts);
	nulls[OUT_FIRST_TS] = packed->first_ts == L4_NO_TS;
	values[OUT_LAST_TS] = TimestampTzGetDatum(packed->last_ts);
	nulls[OUT_LAST_TS] = packed->last_ts == L4_NO_TS;
	values[OUT_LAST_EVENT] = Int32GetDatum(packed->last_event_id);
	nulls[OUT_LAST_EVENT] = packed->last_event_id == 0;
	put_examples(values, packed);
	values[OUT_SEEN] = line_runs(&input.unit->settled);
	values[OUT_TAIL] = line_runs(&input.unit->open);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
