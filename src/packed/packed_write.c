/*
 * packed_write.c
 *		Packed rows: the writer's side.
 *
 * Layout: version, rows, columns; for each column its type, for floats its
 * name, the length of its data, and the data: the rows that are NULL, its
 * entries and its numbers. See docs/internals.md.
 */
#include "postgres.h"

#include <math.h>

#include "base/compress.h"
#include "l4_compat.h"
#include "packed/packed.h"

#define MIN_COMPRESSED	64		/* bytes that may be worth it */
#define WHOLE_MAX		9007199254740992.0	/* up to here a float8 holds every whole number */

/* Integers, each as the difference from the one before. */
static void
put_ints(StringInfo buf, const int64 *values, int n)
{
	uint64		before = 0;
	uint8	   *p;

	if (n > MaxAllocSize / L4_VARINT_MAX)
		elog(ERROR, "too many integers to pack");
	enlargeStringInfo(buf, n * L4_VARINT_MAX);
	p = (uint8 *) buf->data + buf->len;
	for (int i = 0; i < n; i++)
	{
		p = l4_varint_put(p, l4_zigzag((int64) ((uint64) values[i] - before)));
		before = (uint64) values[i];
	}
	buf->len = (int) ((char *) p - buf->data);
}

/* Are the values whole numbers, this many decimal places shifted? These are then in whole[]. */
static bool
are_whole(const float8 *values, int n, float8 shift, int64 *whole)
{
	for (int i = 0; i < n; i++)
	{
		float8		shifted = rint(values[i] * shift);

		/* both are exact, and one rounding follows; there is no whole number -0 */
		if (!(fabs(shifted) < WHOLE_MAX) || shifted / shift != values[i] || (shifted == 0 && signbit(values[i])))
			return false;
		whole[i] = (int64) shifted;
	}
	return true;
}

/* Whole numbers where all are decimals of few places; else the bits. */
static void
put_floats(StringInfo buf, const float8 *values, int n)
{
	int64	   *whole = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int			places = 0;
	float8		shift = 1;

	while (places < L4_MAX_PLACES && !are_whole(values, n, shift, whole))
	{
		places++;
		shift *= 10;
	}
	appendStringInfoChar(buf, (char) places);
	if (places == L4_MAX_PLACES)
		memcpy(whole, values, sizeof(int64) * n);
	put_ints(buf, whole, n);
	pfree(whole);
}

static void
put_texts(StringInfo buf, const L4PackCol *col)
{
	for (int i = 0; i < col->nentries; i++)
		l4_put_bytes(buf, col->entry[i], col->entry_len[i]);
}

static void
put_arrays(StringInfo buf, const L4PackCol *col)
{
	for (int i = 0; i < col->nentries; i++)
	{
		l4_put_uint(buf, col->entry_len[i]);
		for (int k = 0; k < col->entry_len[i]; k++)
			l4_put_int(buf, ((int32 *) col->entry[i])[k]);
	}
}

static void
put_nulls(StringInfo buf, const bool *nulls, int n)
{
	int64	   *flags = (int64 *) palloc(sizeof(int64) * Max(n, 1));

	for (int i = 0; i < n; i++)
		flags[i] = nulls[i];
	put_ints(buf, flags, n);
	pfree(flags);
}

/* Leave out the values of rows that are NULL. */
static int
without_nulls(L4PackCol *col)
{
	int			n = 0;

	for (int i = 0; i < col->nvalues; i++)
	{
		if (col->nulls[i])
			continue;
		col->ints[n] = col->ints[i];
		if (col->floats != NULL)
			col->floats[n] = col->floats[i];
		n++;
	}
	return n;
}

static void
put_values(StringInfo buf, L4PackCol *col)
{
	int			n = col->nvalues;

	if (col->nulls != NULL)
	{
		put_nulls(buf, col->nulls, n);
		n = without_nulls(col);
	}
	if (col->type == L4_PACK_TEXT || col->type == L4_PACK_INTS)
	{
		l4_put_uint(buf, col->nentries);
		if (col->type == L4_PACK_TEXT)
			put_texts(buf, col);
		else
			put_arrays(buf, col);
	}
	if (col->type == L4_PACK_FLOAT)
		put_floats(buf, col->floats, n);
	else
		put_ints(buf, col->ints, n);
}

/* The bytes of a pack, which is used up. */
bytea *
l4_pack_encode(L4Pack *pack)
{
	StringInfoData out;
	StringInfoData data;

	l4_bytea_begin(&out);
	initStringInfo(&data);
	appendStringInfoChar(&out, L4_PACK_VERSION);
	l4_put_uint(&out, pack->nrows);
	l4_put_uint(&out, pack->ncols);
	for (int c = 0; c < pack->ncols; c++)
	{
		L4PackCol  *col = &pack->cols[c];

		if (col->nvalues != pack->nrows)
			elog(ERROR, "packed column %d has %d rows, not %d", c, col->nvalues, pack->nrows);
		appendStringInfoChar(&out, (char) (col->type | (col->nulls != NULL ? L4_COL_HAS_NULLS : 0)));
		if (col->type == L4_PACK_FLOAT)
		{
			l4_put_uint(&out, strlen(col->name));
			appendStringInfoString(&out, col->name);
		}
		resetStringInfo(&data);
		put_values(&data, col);
		l4_put_bytes(&out, data.data, data.len);
	}
	pfree(data.data);
	return l4_bytea_end(&out);
}

/*
 * Like TOAST does, but where the pack is made, which may be a worker: what
 * is stored then goes through the leader as it is.
 */
bytea *
l4_pack_compress(bytea *packed)
{
	int			len = VARSIZE_ANY_EXHDR(packed) - 1;
	StringInfoData out;

	if (len < MIN_COMPRESSED || *VARDATA_ANY(packed) != L4_PACK_VERSION)
		return packed;
	l4_bytea_begin(&out);
	appendStringInfoChar(&out, L4_PACK_COMPRESSED);
	/* a tenth less at least: readers have to undo it */
	if (!l4_compress(&out, VARDATA_ANY(packed) + 1, len, L4_COMPRESS_STORED) || out.len - VARHDRSZ > len - len / 10)
	{
		pfree(out.data);
		return packed;
	}
	return l4_bytea_end(&out);
}
