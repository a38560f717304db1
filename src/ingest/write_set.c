/*
 * write_set.c
 *		Packs a scan result onto what is stored of its stream, and the bytes of what
 *		comes of it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "ingest/write_set.h"
#include "l4_compat.h"

/* What lines that fill a gap leave alone: the state at the end of the stream, and what is open there. */
static const char read_end_sql[] =
"SELECT l4._member(m.scan_state, s.member), l4._member(m.open_events, s.member), l4._member(m.open_slots, s.member), "
"l4._member(m.open_durations, s.member), l4._member(m.open_iterations, s.member), l4._member(m.open_stages, s.member), "
"l4._member(m.open_activity, s.member), l4._member(m.open_sequences, s.member), "
"l4._member(c.body, s.member), c.first_line_no, c.last_line_no, c.first_ts, c.last_ts "
"FROM l4._stream s LEFT JOIN l4._pack m ON m.pack_id = s.pack_id AND m.part = 0 "
"LEFT JOIN l4._pack_chunk c ON c.pack_id = s.pack_id AND c.chunk_no = -1 "
"WHERE s.stream_id = $1";
static const Oid read_end_types[] = {INT4OID};
#define END_SECTIONS 2
#define END_CHUNK (END_SECTIONS + L4_NSECTIONS)

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
read_stages(L4Stages *stages, bool read_only)
{
	L4Query		query;
	int			n;

	l4_query_prepare(&query, "SELECT e.event_id, e.stage, e.then_stage FROM l4._event e WHERE e.stage IS NOT NULL ORDER BY e.event_id", 0, NULL);
	query.read_only = read_only;
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

/* Lines that fill a gap: what is at the end of the stream stays as it is. */
static void
keep_end(L4Packing *packing, int32 stream_id, bytea *pack_state, L4WriteSet *set)
{
	L4Packed   *packed = set->packed;
	bytea	   *scan_state;

	l4_query_put_int(&packing->read_end, stream_id);
	if (l4_query_run(&packing->read_end) != 1)
		elog(ERROR, "stream %d is gone", stream_id);
	scan_state = get_bytes(1);
	set->head.state = scan_state == NULL ? NULL : VARDATA_ANY(scan_state);
	set->head.state_len = scan_state == NULL ? 0 : VARSIZE_ANY_EXHDR(scan_state);
	packed->pack_state = pack_state;
	for (int i = 0; i < L4_NSECTIONS; i++)
		*l4_section(&packed->open, i) = get_bytes(END_SECTIONS + i);
	packed->open_chunk = NULL;
	if (packing->stored.tail_lines > 0)
	{
		packed->open_chunk = (L4Chunk *) palloc(sizeof(L4Chunk));
		packed->open_chunk->lines = packing->stored.tail_lines;
		packed->open_chunk->body = get_bytes(END_CHUNK);
		packed->open_chunk->first_line_no = l4_query_get_bigint(END_CHUNK + 1, 0);
		packed->open_chunk->last_line_no = l4_query_get_bigint(END_CHUNK + 2, 0);
		packed->open_chunk->first_ts = l4_query_get_bigint(END_CHUNK + 3, L4_NO_TS);
		packed->open_chunk->last_ts = l4_query_get_bigint(END_CHUNK + 4, L4_NO_TS);
		if (packed->open_chunk->body == NULL)
			l4_bytes_corrupted("open lines");
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Runs of line numbers as the text of a multirange. */
static char *
line_runs(const L4ResultPart *part)
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
	return buf.data;
}

void
l4_packing_init(L4Packing *packing, bool read_only)
{
	l4_stored_init(&packing->reader, read_only);
	l4_query_prepare(&packing->read_end, read_end_sql, lengthof(read_end_types), read_end_types);
	packing->read_end.read_only = read_only;
	read_stages(&packing->stages, read_only);
}

/* Are a stream's lines and all that is packed of it few enough to share a pack? */
static bool
is_short(L4WriteSet *set)
{
	L4Packed   *packed = set->packed;
	Size		bytes = 0;

	if (set->chunk_no > 0 || packed->nchunks > 1 || set->growth_part > 0 || l4_write_set_lines(set) > L4_SHORT_LINES)
		return false;
	for (int i = 0; i < L4_NSECTIONS; i++)
	{
		bytea	   *settled = *l4_section(&packed->settled, i);
		bytea	   *open = *l4_section(&packed->open, i);

		bytes += settled == NULL ? 0 : VARSIZE_ANY_EXHDR(settled);
		bytes += open == NULL ? 0 : VARSIZE_ANY_EXHDR(open);
	}
	return bytes <= L4_SHORT_BYTES;
}

static bytea *
compress_or_null(bytea *packed)
{
	return packed == NULL ? NULL : l4_pack_compress(packed);
}

static void
compress_sections(L4Sections *sections)
{
	for (int i = 0; i < L4_NSECTIONS; i++)
		*l4_section(sections, i) = compress_or_null(*l4_section(sections, i));
}

void
l4_write_set_compress(L4WriteSet *set)
{
	L4Packed   *packed = set->packed;

	compress_sections(&packed->settled);
	compress_sections(&packed->open);
	for (int i = 0; i < packed->nchunks; i++)
		packed->chunks[i].body = compress_or_null(packed->chunks[i].body);
	if (packed->open_chunk != NULL)
		packed->open_chunk->body = compress_or_null(packed->open_chunk->body);
}

L4WriteSet *
l4_packing_pack(L4Packing *packing, int32 stream_id, bool late, L4ScanResult *scanned)
{
	L4WriteSet   *set = palloc(sizeof(L4WriteSet));
	const L4Stored *stored = &packing->stored;
	L4PackInput input;

	memset(&input, 0, sizeof(input));
	input.scanned = scanned;
	input.stages = &packing->stages;
	input.late = late;
	input.pack_state = l4_stored_value(&packing->reader, stored, L4_STORED_PACK_STATE);
	input.chunk = l4_stored_value(&packing->reader, stored, L4_STORED_CHUNK);
	set->growth_part = l4_stored_sections(&packing->reader, stored, &input.before);
	set->packed = l4_pack_result(&input, CurrentMemoryContext);
	set->head = scanned->head;
	set->job_id = stored->job_id;
	set->node = stored->node;
	set->source = stored->source;
	set->chunk_no = input.chunk == NULL ? stored->next_chunk_no : stored->next_chunk_no - 1;
	set->pack_id = stored->pack_id;
	set->has_tail = stored->tail_lines > 0;
	set->has_own = stored->pack_id != 0 && stored->member == L4_NO_INT;
	set->seen = line_runs(&scanned->settled);
	set->tail = line_runs(&scanned->open);
	if (late)
		keep_end(packing, stream_id, input.pack_state, set);
	set->is_short = is_short(set);
	if (!set->is_short)
		l4_write_set_compress(set);
	return set;
}

static void
code_chunk(L4Codec *codec, L4Chunk *chunk)
{
	l4_code_uint(codec, &chunk->lines);
	l4_code_int64(codec, &chunk->first_line_no);
	l4_code_int64(codec, &chunk->last_line_no);
	l4_code_int64(codec, &chunk->first_ts);
	l4_code_int64(codec, &chunk->last_ts);
	l4_code_bytea(codec, &chunk->body);
}

static void
code_sections(L4Codec *codec, L4Sections *sections)
{
	for (int i = 0; i < L4_NSECTIONS; i++)
		l4_code_bytea(codec, l4_section(sections, i));
}

static void
code_packed(L4Codec *codec, L4Packed *packed)
{
	int			nopen = packed->open_chunk != NULL;

	L4_CODE_ARRAY(codec, packed->chunks, packed->nchunks);
	for (int i = 0; i < packed->nchunks; i++)
		code_chunk(codec, &packed->chunks[i]);
	L4_CODE_ARRAY(codec, packed->open_chunk, nopen);
	if (nopen > 0)
		code_chunk(codec, packed->open_chunk);
	code_sections(codec, &packed->settled);
	code_sections(codec, &packed->open);
	l4_code_bytea(codec, &packed->pack_state);
	L4_CODE_ARRAY(codec, packed->examples, packed->nexamples);
	for (int i = 0; i < packed->nexamples; i++)
	{
		L4Example  *example = &packed->examples[i];

		l4_code_int(codec, &example->event_id);
		l4_code_int64(codec, &example->line_no);
		l4_code_int64(codec, &example->ts);
		l4_code_bytes(codec, &example->text, &example->len);
	}
	l4_code_int64(codec, &packed->first_ts);
	l4_code_int64(codec, &packed->last_ts);
	l4_code_int(codec, &packed->last_event_id);
}

static void
code_write_set(L4Codec *codec, L4WriteSet *set)
{
	l4_code_result_head(codec, &set->head);
	l4_code_string(codec, &set->job_id);
	l4_code_string(codec, &set->node);
	l4_code_string(codec, &set->source);
	l4_code_uint(codec, &set->chunk_no);
	l4_code_uint(codec, &set->pack_id);
	l4_code_bool(codec, &set->has_tail);
	l4_code_bool(codec, &set->has_own);
	l4_code_bool(codec, &set->is_short);
	l4_code_uint(codec, &set->growth_part);
	l4_code_string(codec, &set->seen);
	l4_code_string(codec, &set->tail);
	code_packed(codec, set->packed);
}

bytea *
l4_write_set_encode(L4WriteSet *set)
{
	StringInfoData buf;
	L4Codec		codec = {.out = &buf};

	l4_bytea_begin(&buf);
	code_write_set(&codec, set);
	return l4_bytea_end(&buf);
}

/* Texts of examples point into the bytes. */
L4WriteSet *
l4_write_set_decode(bytea *bytes)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	L4Codec		codec = {.in = &reader, .cxt = CurrentMemoryContext};
	L4WriteSet *set = palloc0(sizeof(L4WriteSet));

	set->packed = palloc0(sizeof(L4Packed));
	code_write_set(&codec, set);
	return set;
}
