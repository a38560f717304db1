/*
 * travel_rows.c
 *		The rows of an export, written and read.
 *
 * A row: "l4export", a byte for the format, 8 bytes of checksum of all that
 * follows; then the checksum of the row before (0 in the first one), the number
 * of the row, 1 in the last one and else 0, and a zstd frame. So rows that are
 * missing, come twice or belong to another export are told apart whatever order
 * they come in. The frames make one run of entries, each behind its length.
 * Stored values are a byte and a zstd frame, or not compressed. They travel
 * open: what they have in common, with each other and with texts, counts once.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/codec.h"
#include "base/compress.h"
#include "base/order.h"
#include "scan/scan.h"
#include "travel/travel_rows.h"

#define MAGIC			"l4export"
#define MAGIC_BYTES		8
#define FRONT_BYTES		(MAGIC_BYTES + 1 + 8)	/* up to the end of the checksum */

static L4_NORETURN void damaged(const char *detail);

static void
damaged(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the export is damaged"),
			 errdetail_internal("%s", detail),
			 errhint("Export again, and pass all its rows.")));
	abort();					/* not reached: for compilers that do not know ereport */
}

enum
{
	BODY_NULL,
	BODY_AS_STORED,
	BODY_OPENED					/* a byte, and what was compressed behind it */
};

static void
write_body(L4Codec *codec, bytea *body)
{
	int32		form = body == NULL ? BODY_NULL : BODY_AS_STORED;
	const char *bytes = body == NULL ? NULL : VARDATA_ANY(body);
	int			len = body == NULL ? 0 : VARSIZE_ANY_EXHDR(body);

	if (len > 1 && l4_is_compressed(bytes + 1, len - 1))
	{
		form = BODY_OPENED;
		l4_code_uint(codec, &form);
		appendStringInfoChar(codec->out, *bytes);
		bytes = l4_decompress(bytes + 1, len - 1, &len, codec->cxt);
	}
	else
		l4_code_uint(codec, &form);
	if (form != BODY_NULL)
		l4_code_bytes(codec, &bytes, &len);
}

static bytea *
read_body(L4Codec *codec)
{
	StringInfoData out;
	int32		form;
	const char *bytes = NULL;
	int			len = 0;

	l4_code_uint(codec, &form);
	if (form == BODY_NULL)
		return NULL;
	if (form != BODY_AS_STORED && form != BODY_OPENED)
		l4_bytes_corrupted("form of a value");
	l4_bytea_begin(&out);
	if (form == BODY_OPENED)
		appendStringInfoChar(&out, *l4_get_bytes(codec->in, 1));
	l4_code_bytes(codec, &bytes, &len);
	if (form == BODY_AS_STORED)
		appendBinaryStringInfo(&out, bytes, len);
	else if (!l4_compress(&out, bytes, len, L4_COMPRESS_STORED))
		l4_bytes_corrupted("size");
	return l4_bytea_end(&out);
}

static void
code_entry(L4Codec *codec, L4ExportEntry *entry)
{
	int32		kind = entry->kind;

	l4_code_uint(codec, &kind);
	entry->kind = (char) kind;
	l4_code_bytes(codec, &entry->head, &entry->head_len);
	L4_CODE_ARRAY(codec, entry->bodies, entry->nbodies);
	for (int i = 0; i < entry->nbodies; i++)
	{
		if (l4_codec_reads(codec))
			entry->bodies[i] = read_body(codec);
		else
			write_body(codec, entry->bodies[i]);
	}
}

void
l4_export_entry(L4ExportWriter *writer, const L4ExportEntry *entry)
{
	L4ExportEntry copy = *entry;
	StringInfoData buf;
	L4Codec		codec = {.out = &buf, .cxt = CurrentMemoryContext};

	initStringInfo(&buf);
	code_entry(&codec, &copy);
	l4_put_bytes(&writer->plain, buf.data, buf.len);
	pfree(buf.data);
}

bytea *
l4_export_row(L4ExportWriter *writer, bool last)
{
	StringInfoData out;
	int			len = writer->plain.len;
	char	   *front;

	if (len > L4_EXPORT_BLOCK_BYTES)
	{
		len = L4_EXPORT_BLOCK_BYTES;
		last = false;
	}
	else if (!last)
		return NULL;
	l4_bytea_begin(&out);
	appendBinaryStringInfo(&out, MAGIC, MAGIC_BYTES);
	appendStringInfoChar(&out, L4_EXPORT_FORMAT);
	l4_put_fixed64(&out, 0);
	l4_put_fixed64(&out, writer->chain);
	l4_put_uint(&out, ++writer->number);
	appendStringInfoChar(&out, last);
	if (!l4_compress(&out, writer->plain.data, len, L4_COMPRESS_SENT))
		elog(ERROR, "%d bytes of an export cannot be compressed", len);
	memmove(writer->plain.data, writer->plain.data + len, writer->plain.len - len);
	writer->plain.len -= len;
	front = out.data + VARHDRSZ + FRONT_BYTES;
	writer->chain = l4_hash_bytes(front, out.len - VARHDRSZ - FRONT_BYTES);
	l4_store64(front - 8, writer->chain);
	return l4_bytea_end(&out);
}

/* The front of a row, and its checksum. */
static void
read_row(L4ExportRow *row, bytea *bytes)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	int			format;
	uint64		number;

	if (reader.end - reader.ptr < FRONT_BYTES || memcmp(reader.ptr, MAGIC, MAGIC_BYTES) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("this is no export of l4"),
				 errhint("Pass the rows of l4.export_job() or l4.export_model() as they are.")));
	reader.ptr += MAGIC_BYTES;
	format = *reader.ptr++;
	if (format != L4_EXPORT_FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the export has format %d, and this server reads format %d", format, L4_EXPORT_FORMAT),
				 errhint("Use the same version of l4 on both servers.")));
	row->checksum = l4_get_fixed64(&reader);
	if (row->checksum != l4_hash_bytes((const char *) reader.ptr, reader.end - reader.ptr))
		damaged("The checksum of a row does not match its bytes.");
	row->chain = l4_get_fixed64(&reader);
	number = l4_get_uint(&reader);
	row->number = (int) Min(number, PG_INT32_MAX);
	row->last = *l4_get_bytes(&reader, 1) != 0;
	row->block = reader;
}

void
l4_import_begin(L4ExportReader *reader, bytea **rows, int nrows)
{
	reader->nrows = nrows;
	reader->rows = (L4ExportRow *) palloc(sizeof(L4ExportRow) * Max(nrows, 1));
	reader->next = reader->at = 0;
	reader->cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 import", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&reader->plain);
	if (nrows == 0)
		damaged("It has no rows.");
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_row(&reader->rows[i], rows[i]);
	}
	qsort(reader->rows, nrows, sizeof(L4ExportRow), l4_order_int32);
	for (int i = 0; i < nrows; i++)
	{
		if (reader->rows[i].number != i + 1)
			damaged(psprintf("Row %d is missing, or another one comes twice.", i + 1));
		if (reader->rows[i].chain != (i == 0 ? 0 : reader->rows[i - 1].checksum))
			damaged(psprintf("Row %d belongs to another export.", i + 1));
		if (reader->rows[i].last != (i == nrows - 1))
			damaged(i == nrows - 1 ? "Its last rows are missing." : "It goes on behind its last row.");
	}
}

/* Have so many bytes behind at; false: there are not that many. */
static bool
have_bytes(L4ExportReader *reader, uint64 bytes)
{
	while (reader->plain.len - reader->at < bytes && reader->next < reader->nrows)
	{
		L4ByteReader *block = &reader->rows[reader->next++].block;
		int			len;
		char	   *plain;

		CHECK_FOR_INTERRUPTS();
		memmove(reader->plain.data, reader->plain.data + reader->at, reader->plain.len - reader->at);
		reader->plain.len -= reader->at;
		reader->at = 0;
		plain = l4_decompress((const char *) block->ptr, (int) (block->end - block->ptr), &len, reader->cxt);
		if (len > L4_EXPORT_BLOCK_BYTES)
			damaged("A row is too long.");
		appendBinaryStringInfo(&reader->plain, plain, len);
		MemoryContextReset(reader->cxt);
	}
	return reader->plain.len - reader->at >= bytes;
}

/* Bodies, in the context, last; the head only until the next entry is read. */
bool
l4_import_entry(L4ExportReader *reader, L4ExportEntry *entry, MemoryContext cxt)
{
	L4ByteReader bytes;
	L4Codec		codec = {.in = &bytes, .cxt = cxt};
	uint64		len;

	have_bytes(reader, L4_VARINT_MAX);
	if (reader->at == reader->plain.len)
		return false;
	bytes.ptr = (const unsigned char *) reader->plain.data + reader->at;
	bytes.end = (const unsigned char *) reader->plain.data + reader->plain.len;
	len = l4_get_uint(&bytes);
	reader->at = (int) ((const char *) bytes.ptr - reader->plain.data);
	if (!have_bytes(reader, len))
		damaged("Its last entry is cut off.");
	bytes.ptr = (const unsigned char *) reader->plain.data + reader->at;
	bytes.end = bytes.ptr + len;
	reader->at += (int) len;
	code_entry(&codec, entry);
	if (bytes.ptr != bytes.end)
		damaged("An entry has bytes left over.");
	return true;
}
