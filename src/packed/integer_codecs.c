/*
 * integer_codecs.c
 *		Lists of integers in packed rows: written in the shorter of two forms,
 *		and read back.
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

/* As they are, or as differences from the one before: whichever is shorter, and in how many bytes. */
static bool
are_differences(const int64 *values, int n, Size *bytes)
{
	Size		plain = 0;
	Size		differences = 0;
	uint64		before = 0;

	for (int i = 0; i < n; i++)
	{
		plain += uint_size(l4_zigzag(values[i]));
		differences += uint_size(l4_zigzag((int64) ((uint64) values[i] - before)));
		before = (uint64) values[i];
	}
	*bytes = Min(plain, differences);
	return differences < plain;
}

/* Integers in their shorter form. */
void
l4_put_ints(StringInfo buf, const int64 *values, int n)
{
	Size		bytes;
	bool		differences = are_differences(values, n, &bytes);
	uint64		before = 0;
	uint8	   *p;

	if (bytes > MaxAllocSize)
		elog(ERROR, "too many bytes to pack");
	appendStringInfoChar(buf, differences);
	enlargeStringInfo(buf, (int) bytes);
	p = (uint8 *) buf->data + buf->len;
	for (int i = 0; i < n; i++)
	{
		p = l4_varint_put(p, l4_zigzag((int64) ((uint64) values[i] - before)));
		if (differences)
			before = (uint64) values[i];
	}
	buf->len = (int) ((char *) p - buf->data);
}

/* n integers as they were put; bytes that hold none are an error. */
void
l4_get_ints(L4ByteReader *reader, int64 *values, int n)
{
	int			differences = *l4_get_bytes(reader, 1);
	uint64		before = 0;

	if (differences != 0 && differences != 1)
		l4_bytes_corrupted("form");
	for (int i = 0; i < n; i++)
	{
		if ((i & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
		values[i] = (int64) ((uint64) l4_get_int(reader) + before);
		if (differences)
			before = (uint64) values[i];
	}
}
