/*
 * ingest_parcel.c
 *		Packs a unit onto what is stored of its stream, and the bytes of what
 *		comes of it.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "ingest/ingest_parcel.h"
#include "l4_compat.h"

#define GROWTH_BYTES 65536		/* a row of what grows with time is full when it has these */

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

static const char read_sql[] =
"SELECT s.job_id, s.node, s.source, s.pack_carry, s.next_chunk_no, s.tail_lines > 0, m.stream_id IS NOT NULL, c.body, "
"g.part, g.durations, g.iterations, g.activity, g.sequences, m.events, m.slots, m.stages "
"FROM l4._stream s "
/* number -1 is what was open */
"LEFT JOIN l4._chunk c ON c.stream_id = s.stream_id AND c.chunk_no = s.next_chunk_no - 1 AND c.chunk_no >= 0 AND c.lines < $2 "
"LEFT JOIN l4._summary m ON m.stream_id = s.stream_id AND m.part = 0 "
"LEFT JOIN LATERAL (SELECT x.* FROM l4._summary x WHERE x.stream_id = s.stream_id ORDER BY x.part DESC LIMIT 1) g ON true "
"WHERE s.stream_id = $1";
static const Oid read_types[] = {INT4OID, INT4OID};

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

/* Bytes of a column before compression, without fetching it. */
static Size
column_size(int col)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, col, &isnull);

	return isnull ? 0 : toast_raw_datum_size(value) - VARHDRSZ;
}

static bool
read_stored(L4Packing *packing, int32 stream_id, Stored *stored)
{
	HeapTuple	row;
	TupleDesc	desc;
	bool		isnull;
	Datum		part;

	l4_query_put_int(&packing->read, stream_id);
	l4_query_put_int(&packing->read, L4_CHUNK_LINES);
	if (l4_query_run(&packing->read) != 1)
		return false;
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
	return true;
}

/* Runs of line numbers as the text of a multirange. */
static char *
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
	return buf.data;
}

void
l4_packing_init(L4Packing *packing, bool read_only)
{
	l4_query_prepare(&packing->read, read_sql, lengthof(read_types), read_types);
	packing->read.read_only = read_only;
	read_stages(&packing->stages, read_only);
}

L4Parcel *
l4_packing_pack(L4Packing *packing, int32 stream_id, bool late, L4Unit *unit)
{
	L4Parcel   *parcel = palloc(sizeof(L4Parcel));
	L4PackInput input;
	Stored		stored;

	if (!read_stored(packing, stream_id, &stored))
		return NULL;
	memset(&input, 0, sizeof(input));
	input.unit = unit;
	input.stages = &packing->stages;
	input.late = late;
	input.carry = stored.carry;
	input.chunk = stored.chunk;
	input.before = stored.sections;
	parcel->packed = l4_pack_unit(&input, CurrentMemoryContext);
	parcel->head = unit->head;
	parcel->head.packed = true;
	parcel->job_id = stored.job_id;
	parcel->node = stored.node;
	parcel->source = stored.source;
	parcel->chunk_no = stored.chunk == NULL ? stored.next_chunk_no : stored.next_chunk_no - 1;
	parcel->has_tail = stored.has_tail;
	parcel->has_summary = stored.has_summary;
	parcel->growth_part = stored.growth_part;
	parcel->seen = line_runs(&unit->settled);
	parcel->tail = line_runs(&unit->open);
	return parcel;
}

static void
put_string(StringInfo buf, const char *string)
{
	int			len = strlen(string);

	l4_put_uint(buf, len);
	appendBinaryStringInfo(buf, string, len);
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
put_sections(StringInfo buf, const L4Sections *sections)
{
	put_bytes(buf, sections->events);
	put_bytes(buf, sections->slots);
	put_bytes(buf, sections->durations);
	put_bytes(buf, sections->iterations);
	put_bytes(buf, sections->stages);
	put_bytes(buf, sections->activity);
	put_bytes(buf, sections->sequences);
}

static void
put_packed(StringInfo buf, const L4Packed *packed)
{
	l4_put_uint(buf, packed->nchunks);
	for (int i = 0; i < packed->nchunks; i++)
		put_chunk(buf, &packed->chunks[i]);
	l4_put_uint(buf, packed->open_chunk != NULL);
	if (packed->open_chunk != NULL)
		put_chunk(buf, packed->open_chunk);
	put_sections(buf, &packed->settled);
	put_sections(buf, &packed->open);
	put_bytes(buf, packed->carry);
	l4_put_uint(buf, packed->nexamples);
	for (int i = 0; i < packed->nexamples; i++)
	{
		const L4Example *example = &packed->examples[i];

		l4_put_int(buf, example->event_id);
		l4_put_int(buf, example->line_no);
		l4_put_int(buf, example->ts);
		l4_put_uint(buf, example->len);
		appendBinaryStringInfo(buf, example->text, example->len);
	}
	l4_put_int(buf, packed->first_ts);
	l4_put_int(buf, packed->last_ts);
	l4_put_int(buf, packed->last_event_id);
}

bytea *
l4_parcel_encode(const L4Parcel *parcel)
{
	StringInfoData buf;
	bytea	   *result;

	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	l4_unit_put_head(&buf, &parcel->head);
	put_string(&buf, parcel->job_id);
	put_string(&buf, parcel->node);
	put_string(&buf, parcel->source);
	l4_put_uint(&buf, parcel->chunk_no);
	l4_put_uint(&buf, parcel->has_tail);
	l4_put_uint(&buf, parcel->has_summary);
	l4_put_uint(&buf, parcel->growth_part);
	put_string(&buf, parcel->seen);
	put_string(&buf, parcel->tail);
	put_packed(&buf, parcel->packed);
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
	sections->events = get_bytea(reader);
	sections->slots = get_bytea(reader);
	sections->durations = get_bytea(reader);
	sections->iterations = get_bytea(reader);
	sections->stages = get_bytea(reader);
	sections->activity = get_bytea(reader);
	sections->sequences = get_bytea(reader);
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
	packed->carry = get_bytea(reader);
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
L4Parcel *
l4_parcel_decode(bytea *bytes)
{
	L4Parcel   *parcel = palloc0(sizeof(L4Parcel));
	L4ByteReader reader = {(const unsigned char *) VARDATA_ANY(bytes), (const unsigned char *) VARDATA_ANY(bytes) + VARSIZE_ANY_EXHDR(bytes)};

	l4_unit_get_head(&reader, &parcel->head, CurrentMemoryContext);
	parcel->job_id = get_string(&reader);
	parcel->node = get_string(&reader);
	parcel->source = get_string(&reader);
	parcel->chunk_no = (int) l4_get_uint(&reader);
	parcel->has_tail = l4_get_uint(&reader) != 0;
	parcel->has_summary = l4_get_uint(&reader) != 0;
	parcel->growth_part = (int) l4_get_uint(&reader);
	parcel->seen = get_string(&reader);
	parcel->tail = get_string(&reader);
	parcel->packed = get_packed(&reader);
	return parcel;
}
