/*
 * integer_codecs.c
 *		Lists of integers in packed rows: written in the shortest of several
 *		forms, and read back.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "l4_compat.h"
#include "packed/packed_int.h"

/* Bytes of an unsigned integer as l4_put_uint writes it. */
static inline int
uint_size(uint64 value)
{
	return (pg_leftmost_one_pos64(value | 1) * 9 + 73) >> 6;
}

/* Times are often whole seconds or milliseconds: how many decimal zeros all values end in, 0 where that is not worth a byte. */
static int
common_zeros(const int64 *values, int n, int64 *scale)
{
	int			zeros = L4_MAX_ZEROS;
	bool		any = false;

	*scale = 1;
	for (int i = 0; i < zeros; i++)
		*scale *= 10;
	for (int i = 0; i < n; i++)
	{
		any |= values[i] != 0;
		for (; values[i] % *scale != 0; zeros--)
			*scale /= 10;
		if (zeros < L4_MIN_ZEROS)
			return 0;
	}
	return any ? zeros : 0;
}

/* Plain or as differences, one by one or as runs: whichever is shortest. */
static int
best_form(const int64 *values, int n, Size *bytes)
{
	Size		size[L4_FORM_COUNT] = {0};
	uint64		plain_run = 0;
	uint64		diff_run = 0;
	int			plain_start = 0;
	int			diff_start = 0;
	uint64		before = 0;
	int			best = 0;

	for (int i = 0; i < n; i++)
	{
		uint64		plain = l4_zigzag(values[i]);
		uint64		diff = l4_zigzag((int64) ((uint64) values[i] - before));

		before = (uint64) values[i];
		size[0] += uint_size(plain);
		size[L4_FORM_DIFFERENCES] += uint_size(diff);
		if (i == 0 || plain != plain_run)
		{
			size[L4_FORM_RUNS] += uint_size(plain) + (i > 0 ? uint_size(i - plain_start) : 0);
			plain_run = plain;
			plain_start = i;
		}
		if (i == 0 || diff != diff_run)
		{
			size[L4_FORM_DIFFERENCES | L4_FORM_RUNS] += uint_size(diff) + (i > 0 ? uint_size(i - diff_start) : 0);
			diff_run = diff;
			diff_start = i;
		}
	}
	if (n > 0)
	{
		size[L4_FORM_RUNS] += uint_size(n - plain_start);
		size[L4_FORM_DIFFERENCES | L4_FORM_RUNS] += uint_size(n - diff_start);
	}
	for (int f = 1; f < L4_FORM_COUNT; f++)
		if (size[f] < size[best])
			best = f;
	*bytes = size[best];
	return best;
}

static void
put_form(StringInfo buf, const int64 *values, int n, int form, Size bytes)
{
	uint64		before = 0;
	uint8	   *p;

	if (bytes > MaxAllocSize)
		elog(ERROR, "too many bytes to pack");
	enlargeStringInfo(buf, (int) bytes + L4_VARINT_MAX);
	p = (uint8 *) buf->data + buf->len;
	for (int i = 0; i < n;)
	{
		uint64		base = (form & L4_FORM_DIFFERENCES) ? before : 0;
		uint64		value = (uint64) values[i] - base;
		int			run = 1;

		before = (uint64) values[i];
		p = l4_varint_put(p, l4_zigzag((int64) value));
		if (form & L4_FORM_RUNS)
		{
			while (i + run < n &&
				   (uint64) values[i + run] - ((form & L4_FORM_DIFFERENCES) ? before : 0) == value)
			{
				before = (uint64) values[i + run];
				run++;
			}
			p = l4_varint_put(p, run);
		}
		i += run;
	}
	buf->len = (int) ((char *) p - buf->data);
}

/* Integers in their shortest form. */
void
l4_put_ints(StringInfo buf, const int64 *values, int n)
{
	int64		scale;
	int			zeros = common_zeros(values, n, &scale);
	int64	   *scaled = NULL;
	Size		bytes;
	int			form;

	if (zeros > 0)
	{
		scaled = (int64 *) palloc(sizeof(int64) * Max(n, 1));
		for (int i = 0; i < n; i++)
			scaled[i] = values[i] / scale;
	}
	form = best_form(scaled != NULL ? scaled : values, n, &bytes);
	appendStringInfoChar(buf, (char) (form | (zeros > 0 ? L4_FORM_SCALED : 0)));
	if (zeros > 0)
		appendStringInfoChar(buf, (char) zeros);
	put_form(buf, scaled != NULL ? scaled : values, n, form, bytes);
	if (scaled != NULL)
		pfree(scaled);
}

/* n integers as they were put; bytes that hold none are an error. */
void
l4_get_ints(L4ByteReader *reader, int64 *values, int n)
{
	int			form = *l4_get_bytes(reader, 1);
	bool		differences = (form & L4_FORM_DIFFERENCES) != 0;
	uint64		scale = 1;
	uint64		before = 0;

	if (form < 0 || form >= L4_FORM_SCALED + L4_FORM_COUNT)
		l4_bytes_corrupted("form");
	if (form & L4_FORM_SCALED)
	{
		int			zeros = *l4_get_bytes(reader, 1);

		if (zeros < L4_MIN_ZEROS || zeros > L4_MAX_ZEROS)
			l4_bytes_corrupted("form");
		for (; zeros > 0; zeros--)
			scale *= 10;
	}
	for (int i = 0; i < n;)
	{
		uint64		value = (uint64) l4_get_int(reader) * scale;
		uint64		run = (form & L4_FORM_RUNS) ? l4_get_uint(reader) : 1;

		if ((i & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
		if (run == 0 || run > (uint64) (n - i))
			l4_bytes_corrupted("run");
		for (; run > 0; run--)
		{
			before = differences ? before + value : value;
			values[i++] = (int64) before;
		}
	}
}
