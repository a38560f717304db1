/*
 * scan_result.c
 *		The bytes of a scan result.
 *
 * Records and lines are written as differences from the one before; a byte of
 * flags says what differs. Most lines are the only one of their record and
 * have its number and time: of those only the number of lines in a row is
 * written. Iterations mostly have the metrics of the one before, whose names
 * are then not written again.
 */
#include "postgres.h"

#include "base/compress.h"
#include "ingest/scan_result_int.h"
#include "l4_compat.h"

/* Flags of a record or line: what differs from the one before */
#define DIFF_LINE_NO	0x01	/* does not follow the one before */
#define DIFF_TS			0x02
#define DIFF_RANK		0x04
#define DIFF_CONTEXT	0x08
#define DIFF_EPOCH		0x10
#define DIFF_ITERATION	0x20
#define DIFF_REC		0x40	/* of a line: does not belong to the record of the one before */

/* In front of the rows of a scan result */
#define ROWS_PLAIN		0
#define ROWS_COMPRESSED 1

#define COMPRESSED_BYTES 16384	/* of rows, from which on they are compressed */

/* Bytes of a record or line at most */
#define MAX_ROW_BYTES	(2 + 8 * L4_VARINT_MAX)

/* Room for one more record or line; where to write it. */
static inline uint8 *
row_start(StringInfo buf)
{
	if (buf->maxlen - buf->len <= MAX_ROW_BYTES)
		enlargeStringInfo(buf, MAX_ROW_BYTES);
	return (uint8 *) buf->data + buf->len;
}

static inline uint8 *
put_diff(uint8 *p, uint8 *flags, int flag, int64 value, int64 before)
{
	if (value == before)
		return p;
	*flags |= flag;
	return l4_varint_put(p, l4_zigzag((int64) ((uint64) value - (uint64) before)));
}

/* The value that differs by what follows, where the flag is set, else the one before. */
static inline int64
get_diff(L4ByteReader *reader, int flags, int flag, int64 before)
{
	return (flags & flag) ? (int64) ((uint64) before + (uint64) l4_get_int(reader)) : before;
}

static void
put_recs(StringInfo buf, const L4ResultPart *part)
{
	L4ResultRecord	before = {0};

	l4_put_uint(buf, part->nrecs);
	for (int i = 0; i < part->nrecs; i++)
	{
		const L4ResultRecord *rec = &part->recs[i];
		uint8	   *flags = row_start(buf);
		uint8	   *p = flags + 1;

		*flags = 0;
		p = put_diff(p, flags, DIFF_LINE_NO, rec->line_no, before.line_no + 1);
		p = put_diff(p, flags, DIFF_TS, rec->ts, before.ts);
		p = l4_varint_put(p, (uint64) (rec->local + 1));
		p = put_diff(p, flags, DIFF_RANK, rec->rank, before.rank);
		p = put_diff(p, flags, DIFF_CONTEXT, rec->context, before.context);
		p = put_diff(p, flags, DIFF_EPOCH, rec->epoch, before.epoch);
		p = put_diff(p, flags, DIFF_ITERATION, rec->iteration, before.iteration);
		buf->len = (int) ((char *) p - buf->data);
		before = *rec;
	}
}

static void
get_recs(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	L4ResultRecord	before = {0};

	part->nrecs = l4_get_count(reader);
	part->recs = MemoryContextAllocHuge(cxt, sizeof(L4ResultRecord) * (Size) Max(part->nrecs, 1));
	for (int i = 0; i < part->nrecs; i++)
	{
		int			flags = *(const uint8 *) l4_get_bytes(reader, 1);

		before.line_no = get_diff(reader, flags, DIFF_LINE_NO, before.line_no + 1);
		before.ts = get_diff(reader, flags, DIFF_TS, before.ts);
		before.local = (int32) l4_get_uint(reader) - 1;
		if (before.local < -1 || before.local >= part->nlocals)
			l4_bytes_corrupted("shape");
		before.rank = (int32) get_diff(reader, flags, DIFF_RANK, before.rank);
		before.context = (int32) get_diff(reader, flags, DIFF_CONTEXT, before.context);
		before.epoch = (int32) get_diff(reader, flags, DIFF_EPOCH, before.epoch);
		before.iteration = (int32) get_diff(reader, flags, DIFF_ITERATION, before.iteration);
		part->recs[i] = before;
	}
}

/* Is the line the next record's first one, as the record says it? */
static inline bool
is_plain(const L4ResultPart *part, const L4ResultLine *line, int32 rec_before)
{
	return line->rec == rec_before + 1 && line->line_no == part->recs[line->rec].line_no &&
		line->ts == part->recs[line->rec].ts;
}

static void
put_lines(StringInfo buf, const L4ResultPart *part)
{
	L4ResultLine	before = {0};
	int			i = 0;

	before.rec = -1;
	l4_put_uint(buf, part->nlines);
	while (i < part->nlines)
	{
		int			start = i;
		uint8	   *flags;
		uint8	   *p = row_start(buf);

		while (i < part->nlines && is_plain(part, &part->lines[i], before.rec))
			before = part->lines[i++];
		p = l4_varint_put(p, i - start);
		if (i < part->nlines)
		{
			const L4ResultLine *line = &part->lines[i++];

			flags = p++;
			*flags = 0;
			p = put_diff(p, flags, DIFF_LINE_NO, line->line_no, before.line_no + 1);
			p = put_diff(p, flags, DIFF_TS, line->ts, before.ts);
			p = put_diff(p, flags, DIFF_REC, line->rec, before.rec);
			before = *line;
		}
		buf->len = (int) ((char *) p - buf->data);
	}
}

static void
get_lines(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	L4ResultLine	before = {0};
	int			i = 0;
	uint64		nlines = l4_get_uint(reader);

	/* first lines of records take no byte */
	if (nlines > (uint64) part->nrecs + (uint64) (reader->end - reader->ptr))
		l4_bytes_corrupted("count");
	before.rec = -1;
	part->nlines = (int) nlines;
	part->lines = MemoryContextAllocHuge(cxt, sizeof(L4ResultLine) * (Size) Max(part->nlines, 1));
	while (i < part->nlines)
	{
		uint64		n = l4_get_uint(reader);

		if (n > (uint64) (part->nlines - i) || n >= (uint64) (part->nrecs - before.rec))
			l4_bytes_corrupted("lines");
		for (; n > 0; n--)
		{
			const L4ResultRecord *rec = &part->recs[++before.rec];

			before.line_no = rec->line_no;
			before.ts = rec->ts;
			part->lines[i++] = before;
		}
		if (i < part->nlines)
		{
			int			flags = *(const uint8 *) l4_get_bytes(reader, 1);

			before.line_no = get_diff(reader, flags, DIFF_LINE_NO, before.line_no + 1);
			before.ts = get_diff(reader, flags, DIFF_TS, before.ts);
			before.rec = (int32) get_diff(reader, flags, DIFF_REC, before.rec);
			if (before.rec < 0 || before.rec >= part->nrecs)
				l4_bytes_corrupted("record");
			part->lines[i++] = before;
		}
	}
}

/* A difference to the value before. */
static void
code_step(L4Codec *codec, int64 *value, int64 before)
{
	int64		step = (int64) ((uint64) *value - (uint64) before);

	l4_code_int64(codec, &step);
	*value = (int64) ((uint64) before + (uint64) step);
}

static void
code_step_int(L4Codec *codec, int32 *value, int32 before)
{
	int64		wide = *value;

	code_step(codec, &wide, before);
	*value = (int32) wide;
}

/* Iterations mostly have the metrics of the one before: their names are not written again. */
static void
code_metrics(L4Codec *codec, L4IterEntry *iter, const L4IterEntry *before)
{
	int			names;
	bool		same;

	if (l4_codec_reads(codec))
	{
		names = l4_get_count_or_none(codec->in);
		same = names < 0;
		iter->nmetrics = same ? before->nmetrics : names;
		iter->metrics = MemoryContextAllocZero(codec->cxt, sizeof(L4Metric) * Max(iter->nmetrics, 1));
	}
	else
	{
		same = l4_same_metrics(iter, before);
		l4_put_uint(codec->out, same ? 0 : iter->nmetrics + 1);
	}
	for (int k = 0; k < iter->nmetrics; k++)
	{
		if (same)
			iter->metrics[k].name = before->metrics[k].name;
		else
			l4_code_string(codec, (char **) &iter->metrics[k].name);
		l4_code_double(codec, &iter->metrics[k].value);
	}
}

static void
code_iterations(L4Codec *codec, L4ResultPart *part)
{
	static const L4IterEntry none;
	const L4IterEntry *before = &none;

	L4_CODE_ARRAY(codec, part->iters, part->niters);
	for (int i = 0; i < part->niters; i++)
	{
		L4IterEntry *iter = &part->iters[i];

		code_step_int(codec, &iter->epoch, before->epoch);
		code_step_int(codec, &iter->iteration, before->iteration);
		code_step(codec, &iter->ts, before->ts);
		l4_code_double(codec, &iter->duration_ms);
		code_metrics(codec, iter, before);
		before = iter;
	}
}

static void
code_rows(L4Codec *codec, L4ResultPart *part)
{
	if (l4_codec_reads(codec))
	{
		get_recs(codec->in, part, codec->cxt);
		get_lines(codec->in, part, codec->cxt);
	}
	else
	{
		put_recs(codec->out, part);
		put_lines(codec->out, part);
	}
	code_iterations(codec, part);
}

/* Shapes that the parser does not know. */
static int
unknown_shapes(const L4ResultPart *part)
{
	int			n = 0;

	for (int i = 0; i < part->nlocals; i++)
		n += part->locals[i]->event_id == 0;
	return n;
}

void
l4_result_count(L4ScanResult *scanned)
{
	L4ResultHead *head = &scanned->head;

	head->unknown = unknown_shapes(&scanned->settled) + unknown_shapes(&scanned->open);
	head->lines = scanned->settled.nlines;
	head->open_lines = scanned->open.nlines;
}

/* The leader keeps the scan results of a whole batch: many rows are compressed, few are not worth the time. */
static void
put_smaller(StringInfo buf, const StringInfo rows)
{
	int			start = buf->len;

	if (rows->len >= COMPRESSED_BYTES && rows->len <= L4_COMPRESS_MAX_BYTES)
	{
		appendStringInfoChar(buf, ROWS_COMPRESSED);
		if (l4_compress(buf, rows->data, rows->len))
			return;
		buf->len = start;
	}
	appendStringInfoChar(buf, ROWS_PLAIN);
	appendBinaryStringInfo(buf, rows->data, rows->len);
}

bytea *
l4_result_encode(L4ScanResult *scanned)
{
	StringInfoData buf;
	StringInfoData rows;
	L4Codec		codec = {.out = &buf};
	L4Codec		row_codec = {.out = &rows};

	l4_result_count(scanned);
	l4_bytea_begin(&buf);
	l4_code_result_head(&codec, &scanned->head);
	l4_code_shapes(&codec, &scanned->settled, true);
	l4_code_shapes(&codec, &scanned->open, true);
	initStringInfo(&rows);
	enlargeStringInfo(&rows, 1024 + 8 * Min(scanned->head.lines, 1000000));
	code_rows(&row_codec, &scanned->settled);
	code_rows(&row_codec, &scanned->open);
	put_smaller(&buf, &rows);
	pfree(rows.data);
	return l4_bytea_end(&buf);
}

static L4ScanResult *
decode(L4Codec *codec, bool counts)
{
	L4ScanResult *scanned = MemoryContextAllocZero(codec->cxt, sizeof(L4ScanResult));

	l4_code_result_head(codec, &scanned->head);
	l4_code_shapes(codec, &scanned->settled, counts);
	l4_code_shapes(codec, &scanned->open, counts);
	if (scanned->head.unknown != unknown_shapes(&scanned->settled) + unknown_shapes(&scanned->open))
		l4_bytes_corrupted("unknown shapes");
	return scanned;
}

/* The reader goes on in the rows, compressed or not. */
static void
open_rows(L4ByteReader *reader, MemoryContext cxt)
{
	int			form = *(const uint8 *) l4_get_bytes(reader, 1);
	char	   *plain;
	int			len;

	if (form == ROWS_PLAIN)
		return;
	if (form != ROWS_COMPRESSED)
		l4_bytes_corrupted("rows");
	plain = l4_decompress((const char *) reader->ptr, (int) (reader->end - reader->ptr), &len, cxt);
	reader->ptr = (const unsigned char *) plain;
	reader->end = reader->ptr + len;
}

L4ScanResult *
l4_result_decode(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	L4Codec		codec = {.in = &reader, .cxt = cxt};
	L4ScanResult *scanned = decode(&codec, true);

	open_rows(&reader, cxt);
	code_rows(&codec, &scanned->settled);
	code_rows(&codec, &scanned->open);
	return scanned;
}

L4ScanResult *
l4_result_decode_shapes(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	L4Codec		codec = {.in = &reader, .cxt = cxt};

	return decode(&codec, false);
}
