/*
 * packed_read.c
 *		Packed rows: the reader's side. Stored bytes are not trusted.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/compress.h"
#include "l4_compat.h"
#include "packed/packed.h"

/* n integers as they were put, most of them in a byte each; bytes that hold none are an error. */
static void
get_ints(L4ByteReader *reader, int64 *values, int n)
{
	uint64		before = 0;
	int			i = 0;

	while (i < n)
	{
		if ((i & 0xffff) < 8)
			CHECK_FOR_INTERRUPTS();
		if (n - i >= 8 && reader->end - reader->ptr >= 8 &&
			(l4_load64(reader->ptr) & UINT64CONST(0x8080808080808080)) == 0)
			for (int k = 0; k < 8; k++)
			{
				before += (uint64) l4_unzigzag(*reader->ptr++);
				values[i++] = (int64) before;
			}
		else
		{
			before += (uint64) l4_get_int(reader);
			values[i++] = (int64) before;
		}
	}
}

static void
get_floats(L4ByteReader *reader, float8 *values, int n)
{
	int64	   *whole = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int			places = *l4_get_bytes(reader, 1);
	float8		shift = 1;

	if (places < 0 || places > L4_MAX_PLACES)
		l4_bytes_corrupted("decimal places");
	for (int i = 0; i < places; i++)
		shift *= 10;
	get_ints(reader, whole, n);
	if (places == L4_MAX_PLACES)
		memcpy(values, whole, sizeof(float8) * n);
	else
		for (int i = 0; i < n; i++)
			values[i] = (float8) whole[i] / shift;
	pfree(whole);
}

/* Distinct texts stay where they are. */
static void
get_texts(L4ByteReader *reader, L4PackCol *col)
{
	for (int i = 0; i < col->nentries; i++)
	{
		col->entry[i] = unconstify(char *, l4_get_run(reader, &col->entry_len[i]));
		if (!pg_verifymbstr(col->entry[i], col->entry_len[i], true))
			l4_bytes_corrupted("entry");
	}
}

static void
get_arrays(L4ByteReader *reader, L4PackCol *col, MemoryContext cxt)
{
	for (int i = 0; i < col->nentries; i++)
	{
		int			len = l4_get_count(reader);
		int32	   *values = MemoryContextAlloc(cxt, sizeof(int32) * Max(len, 1));

		for (int k = 0; k < len; k++)
		{
			int64		value = l4_get_int(reader);

			if (value < PG_INT32_MIN || value > PG_INT32_MAX)
				l4_bytes_corrupted("element");
			values[k] = (int32) value;
		}
		col->entry[i] = (char *) values;
		col->entry_len[i] = len;
	}
}

static void
get_entries(L4ByteReader *reader, L4PackCol *col, MemoryContext cxt)
{
	col->nentries = l4_get_count(reader);
	col->entry = MemoryContextAlloc(cxt, sizeof(char *) * Max(col->nentries, 1));
	col->entry_len = MemoryContextAlloc(cxt, sizeof(int) * Max(col->nentries, 1));
	if (col->type == L4_PACK_TEXT)
		get_texts(reader, col);
	else
		get_arrays(reader, col, cxt);
}

/* Spread the values over the rows that are not NULL, from the end. */
static void
spread(L4PackCol *col, int nrows, int nvalues)
{
	int			from = nvalues - 1;

	if (col->nulls == NULL)
		return;
	for (int row = nrows - 1; row >= 0; row--)
	{
		bool		isnull = col->nulls[row];

		if (col->type == L4_PACK_FLOAT)
			col->floats[row] = isnull ? 0 : col->floats[from];
		else
			col->ints[row] = isnull ? 0 : col->ints[from];
		from -= !isnull;
	}
}

/* Which rows are NULL; the number of the others. */
static int
get_nulls(L4ByteReader *reader, L4PackCol *col, int nrows, MemoryContext cxt)
{
	int64	   *flags = (int64 *) palloc(sizeof(int64) * Max(nrows, 1));
	int			nvalues = nrows;

	get_ints(reader, flags, nrows);
	col->nulls = MemoryContextAlloc(cxt, Max(nrows, 1));
	for (int i = 0; i < nrows; i++)
	{
		col->nulls[i] = flags[i] != 0;
		nvalues -= col->nulls[i];
	}
	pfree(flags);
	return nvalues;
}

/* Head of a column: what it is, and where its values lie. */
static void
open_column(L4ByteReader *reader, L4PackCol *col)
{
	int			type = *(const unsigned char *) l4_get_bytes(reader, 1);
	int			len;

	col->type = (char) (type & ~L4_COL_HAS_NULLS);
	col->has_nulls = (type & L4_COL_HAS_NULLS) != 0;
	if (col->type != L4_PACK_INT && col->type != L4_PACK_FLOAT && col->type != L4_PACK_TEXT && col->type != L4_PACK_INTS)
		l4_bytes_corrupted("type");
	if (col->type == L4_PACK_FLOAT)
	{
		const char *name = l4_get_run(reader, &len);

		if (len >= sizeof(col->name))
			l4_bytes_corrupted("name");
		memcpy(col->name, name, len);
	}
	col->data.ptr = (const unsigned char *) l4_get_run(reader, &len);
	col->data.end = col->data.ptr + len;
}

void
l4_pack_need(L4Pack *pack, int colno)
{
	L4PackCol  *col = &pack->cols[colno];
	L4ByteReader data = col->data;
	int			nvalues = pack->nrows;

	if (data.ptr == NULL)
		return;
	col->data.ptr = NULL;
	col->nvalues = col->size = pack->nrows;
	if (col->has_nulls)
		nvalues = get_nulls(&data, col, pack->nrows, pack->cxt);
	if (col->type == L4_PACK_TEXT || col->type == L4_PACK_INTS)
		get_entries(&data, col, pack->cxt);
	if (col->type == L4_PACK_FLOAT)
	{
		col->floats = MemoryContextAlloc(pack->cxt, sizeof(float8) * Max(pack->nrows, 1));
		get_floats(&data, col->floats, nvalues);
	}
	else
	{
		col->ints = MemoryContextAlloc(pack->cxt, sizeof(int64) * Max(pack->nrows, 1));
		get_ints(&data, col->ints, nvalues);
	}
	if (col->type != L4_PACK_INT && col->type != L4_PACK_FLOAT)
		for (int i = 0; i < nvalues; i++)
			if (col->ints[i] < 0 || col->ints[i] >= col->nentries)
				l4_bytes_corrupted("entry number");
	if (data.ptr != data.end)
		l4_bytes_corrupted("column length");
	spread(col, pack->nrows, nvalues);
}

/* The bytes behind the version. */
static void
begin_read(bytea *packed, L4ByteReader *reader, MemoryContext cxt)
{
	int			version;
	int			len;

	*reader = l4_bytea_reader(packed);
	version = *l4_get_bytes(reader, 1);
	if (version == L4_PACK_VERSION)
		return;
	if (version != L4_PACK_COMPRESSED)
		l4_bytes_corrupted("version");
	reader->ptr = (const unsigned char *) l4_decompress((const char *) reader->ptr, (int) (reader->end - reader->ptr), &len, cxt);
	reader->end = reader->ptr + len;
}

L4Pack *
l4_pack_open(bytea *packed, MemoryContext cxt)
{
	L4Pack	   *pack = MemoryContextAllocZero(cxt, sizeof(L4Pack));
	L4ByteReader reader;
	uint64		nrows;
	uint64		ncols;

	begin_read(packed, &reader, cxt);
	nrows = l4_get_uint(&reader);
	ncols = l4_get_uint(&reader);
	/* each value has a byte or more: so no bytes ask for much memory */
	if (nrows > L4_PACK_MAX_ROWS || ncols > L4_PACK_MAX_COLS || nrows * ncols > (uint64) (reader.end - reader.ptr))
		l4_bytes_corrupted("size");
	pack->cxt = cxt;
	pack->nrows = (int) nrows;
	pack->cols_size = (int) ncols;
	pack->cols = MemoryContextAllocZero(cxt, sizeof(L4PackCol) * Max(ncols, 1));
	while (pack->ncols < pack->cols_size)
		open_column(&reader, &pack->cols[pack->ncols++]);
	if (reader.ptr != reader.end)
		l4_bytes_corrupted("length");
	return pack;
}

/* With a letter for each of its first columns, which are of these types and needed; a blank is for any other one. */
L4Pack *
l4_pack_open_as(bytea *packed, const char *types, MemoryContext cxt)
{
	L4Pack	   *pack = l4_pack_open(packed, cxt);

	for (int c = 0; types[c] != '\0'; c++)
	{
		if (types[c] == ' ')
			continue;
		if (c >= pack->ncols || pack->cols[c].type != types[c])
			l4_bytes_corrupted("columns");
		l4_pack_need(pack, c);
	}
	return pack;
}

L4Pack *
l4_pack_decode(bytea *packed, MemoryContext cxt)
{
	L4Pack	   *pack = l4_pack_open(packed, cxt);

	for (int i = 0; i < pack->ncols; i++)
		l4_pack_need(pack, i);
	return pack;
}
