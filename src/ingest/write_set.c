/*
 * write_set.c
 *		Packs a scan result onto what is stored of its stream, and the bytes of what
 *		comes of it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

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

static int64
get_int(int col, int64 otherwise)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	if (isnull)
		return otherwise;
	return SPI_gettypeid(SPI_tuptable->tupdesc, col) == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
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
		packed->open_chunk->first_line_no = get_int(END_CHUNK + 1, 0);
		packed->open_chunk->last_line_no = get_int(END_CHUNK + 2, 0);
		packed->open_chunk->first_ts = get_int(END_CHUNK + 3, L4_NO_TS);
		packed->open_chunk->last_ts = get_int(END_CHUNK + 4, L4_NO_TS);
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

bool
l4_packing_open(L4Packing *packing, int32 stream_id)
{
	return l4_stored_read(&packing->reader, stream_id, &packing->stored);
}

bytea *
l4_packing_scan_state(L4Packing *packing)
{
	return l4_stored_value(&packing->reader, &packing->stored, L4_STORED_SCAN_STATE);
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
	set->head.packed = true;
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
put_string(StringInfo buf, const char *string)
{
	l4_put_bytes(buf, string, strlen(string));
}

/* NULL and no bytes are not the same. */
static void
put_bytes(StringInfo buf, const bytea *bytes)
{
	l4_put_uint(buf, bytes == NULL ? 0 : VARSIZE_ANY_EXHDR(bytes) + 1);
	if (bytes != NULL)
		appendBinaryStringInfo(buf, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

static void
put_chunk(StringInfo buf, const L4Chunk *chunk)
{
	l4_put_uint(buf, chunk->lines);
	l4_put_int(buf, chunk->first_line_no);
	l4_put_int(buf, chunk->last_line_no);
	l4_put_int(buf, chunk->first_ts);
	l4_put_int(buf, chunk->last_ts);
	put_bytes(buf, chunk->body);
}

static void
put_sections(StringInfo buf, L4Sections *sections)
{
	for (int i = 0; i < L4_NSECTIONS; i++)
		put_bytes(buf, *l4_section(sections, i));
}

static void
put_packed(StringInfo buf, L4Packed *packed)
{
	l4_put_uint(buf, packed->nchunks);
	for (int i = 0; i < packed->nchunks; i++)
		put_chunk(buf, &packed->chunks[i]);
	l4_put_uint(buf, packed->open_chunk != NULL);
	if (packed->open_chunk != NULL)
		put_chunk(buf, packed->open_chunk);
	put_sections(buf, &packed->settled);
	put_sections(buf, &packed->open);
	put_bytes(buf, packed->pack_state);
	l4_put_uint(buf, packed->nexamples);
	for (int i = 0; i < packed->nexamples; i++)
	{
		const L4Example *example = &packed->examples[i];

		l4_put_int(buf, example->event_id);
		l4_put_int(buf, example->line_no);
		l4_put_int(buf, example->ts);
		l4_put_bytes(buf, example->text, example->len);
	}
	l4_put_int(buf, packed->first_ts);
	l4_put_int(buf, packed->last_ts);
	l4_put_int(buf, packed->last_event_id);
}

bytea *
l4_write_set_encode(const L4WriteSet *set)
{
	StringInfoData buf;
	bytea	   *result;

	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	l4_result_put_head(&buf, &set->head);
	put_string(&buf, set->job_id);
	put_string(&buf, set->node);
	put_string(&buf, set->source);
	l4_put_uint(&buf, set->chunk_no);
	l4_put_uint(&buf, set->pack_id);
	l4_put_uint(&buf, set->has_tail);
	l4_put_uint(&buf, set->has_own);
	l4_put_uint(&buf, set->is_short);
	l4_put_uint(&buf, set->growth_part);
	put_string(&buf, set->seen);
	put_string(&buf, set->tail);
	put_packed(&buf, set->packed);
	result = (bytea *) buf.data;
	SET_VARSIZE(result, buf.len);
	return result;
}

static char *
get_string(L4ByteReader *reader)
{
	uint64		len = l4_get_uint(reader);

	return pnstrdup(l4_get_bytes(reader, len), len);
}

static bytea *
get_bytea(L4ByteReader *reader)
{
	uint64		len = l4_get_uint(reader);

	if (len == 0)
		return NULL;
	return (bytea *) cstring_to_text_with_len(l4_get_bytes(reader, len - 1), (int) (len - 1));	/* same layout */
}

static void
get_chunk(L4ByteReader *reader, L4Chunk *chunk)
{
	chunk->lines = (int) l4_get_uint(reader);
	chunk->first_line_no = l4_get_int(reader);
	chunk->last_line_no = l4_get_int(reader);
	chunk->first_ts = l4_get_int(reader);
	chunk->last_ts = l4_get_int(reader);
	chunk->body = get_bytea(reader);
}

static void
get_sections(L4ByteReader *reader, L4Sections *sections)
{
	for (int i = 0; i < L4_NSECTIONS; i++)
		*l4_section(sections, i) = get_bytea(reader);
}

static L4Packed *
get_packed(L4ByteReader *reader)
{
	L4Packed   *packed = palloc(sizeof(L4Packed));

	packed->nchunks = l4_get_count(reader);
	packed->chunks = palloc(sizeof(L4Chunk) * Max(packed->nchunks, 1));
	for (int i = 0; i < packed->nchunks; i++)
		get_chunk(reader, &packed->chunks[i]);
	packed->open_chunk = NULL;
	if (l4_get_uint(reader) != 0)
	{
		packed->open_chunk = palloc(sizeof(L4Chunk));
		get_chunk(reader, packed->open_chunk);
	}
	get_sections(reader, &packed->settled);
	get_sections(reader, &packed->open);
	packed->pack_state = get_bytea(reader);
	packed->nexamples = l4_get_count(reader);
	packed->examples = palloc(sizeof(L4Example) * Max(packed->nexamples, 1));
	for (int i = 0; i < packed->nexamples; i++)
	{
		L4Example  *example = &packed->examples[i];

		example->event_id = (int32) l4_get_int(reader);
		example->line_no = l4_get_int(reader);
		example->ts = l4_get_int(reader);
		example->len = (int) l4_get_uint(reader);
		example->text = l4_get_bytes(reader, example->len);
	}
	packed->first_ts = l4_get_int(reader);
	packed->last_ts = l4_get_int(reader);
	packed->last_event_id = (int32) l4_get_int(reader);
	return packed;
}

/* Texts of examples point into the bytes. */
L4WriteSet *
l4_write_set_decode(bytea *bytes)
{
	L4WriteSet   *set = palloc0(sizeof(L4WriteSet));
	L4ByteReader reader = {(const unsigned char *) VARDATA_ANY(bytes), (const unsigned char *) VARDATA_ANY(bytes) + VARSIZE_ANY_EXHDR(bytes)};

	l4_result_get_head(&reader, &set->head, CurrentMemoryContext);
	set->job_id = get_string(&reader);
	set->node = get_string(&reader);
	set->source = get_string(&reader);
	set->chunk_no = (int) l4_get_uint(&reader);
	set->pack_id = (int32) l4_get_uint(&reader);
	set->has_tail = l4_get_uint(&reader) != 0;
	set->has_own = l4_get_uint(&reader) != 0;
	set->is_short = l4_get_uint(&reader) != 0;
	set->growth_part = (int) l4_get_uint(&reader);
	set->seen = get_string(&reader);
	set->tail = get_string(&reader);
	set->packed = get_packed(&reader);
	return set;
}
