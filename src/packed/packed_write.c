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

#include "common/shortest_dec.h"

#include "base/compress.h"
#include "l4_compat.h"
#include "packed/packed.h"
#include "packed/packed_int.h"

#define MIN_COMPRESSED	64		/* bytes that may be worth it */

/* value = mantissa * 10^exponent, exactly: the shortest decimal that reads back as value. */
static void
split_float(float8 value, int64 *mantissa, int64 *exponent)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];
	char	   *p = text;
	bool		negative;
	bool		point = false;

	*mantissa = 0;
	*exponent = 0;
	if (isnan(value) || isinf(value))
	{
		*exponent = isnan(value) ? L4_EXPONENT_NAN : value > 0 ? L4_EXPONENT_INF : L4_EXPONENT_NEG_INF;
		return;
	}
	double_to_shortest_decimal_buf(value, text);
	negative = (*p == '-');
	if (negative)
		p++;
	for (; *p != '\0' && *p != 'e'; p++)
	{
		if (*p == '.')
		{
			point = true;
			continue;
		}
		if (*mantissa >= INT64CONST(100000000000000000))
		{
			/* beyond 18 digits only zeros follow */
			*exponent += point ? 0 : 1;
			continue;
		}
		*mantissa = *mantissa * 10 + (*p - '0');
		if (point)
			(*exponent)--;
	}
	if (*p == 'e')
		*exponent += atoi(p + 1);
	if (negative)
		*mantissa = -*mantissa;
	if (*mantissa == 0)
		*exponent = signbit(value) ? L4_EXPONENT_NEG_ZERO : 0;
}

/* Bring the mantissas to one exponent where that is cheap: neighbours then differ little. */
static void
put_floats(StringInfo buf, const float8 *values, int n)
{
	int64	   *mantissa = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int64	   *exponent = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int64		lowest = 0;

	for (int i = 0; i < n; i++)
	{
		split_float(values[i], &mantissa[i], &exponent[i]);
		if (exponent[i] < lowest && exponent[i] >= -9)
			lowest = exponent[i];
	}
	for (int i = 0; i < n; i++)
		while (exponent[i] > lowest && exponent[i] <= 0 && mantissa[i] != 0 &&
			   mantissa[i] < INT64CONST(100000000000000) &&
			   mantissa[i] > -INT64CONST(100000000000000))
		{
			mantissa[i] *= 10;
			exponent[i]--;
		}
	l4_put_ints(buf, exponent, n);
	l4_put_ints(buf, mantissa, n);
	pfree(mantissa);
	pfree(exponent);
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
	l4_put_ints(buf, flags, n);
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
		l4_put_ints(buf, col->ints, n);
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
	if (!l4_compress(&out, VARDATA_ANY(packed) + 1, len) || out.len - VARHDRSZ > len - len / 10)
	{
		pfree(out.data);
		return packed;
	}
	return l4_bytea_end(&out);
}
