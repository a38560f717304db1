/*
 * reader.c
 *		Bytes of a value of ours, read within bounds.
 */
#include "postgres.h"

#include "base/reader.h"

void
l4_read_failed(const L4Reader *reader, const char *what)
{
	ereport(ERROR,
			(errcode(reader->sqlstate),
			 errmsg("invalid parser value"),
			 errdetail("Wrong %s at byte %ld.", what, (long) (reader->ptr - reader->start))));
}

/* A number from 0 to max. */
uint64
l4_read_number(L4Reader *reader, uint64 max, const char *what)
{
	uint64		value;
	const uint8 *ptr = l4_varint_get(reader->ptr, reader->end, &value);

	if (ptr == NULL || value > max)
		l4_read_failed(reader, what);
	reader->ptr = ptr;
	return value;
}

/* How many things follow: each takes a byte at least. */
int32
l4_read_count(L4Reader *reader, const char *what)
{
	return l4_read_number(reader, Min(reader->end - reader->ptr, PG_INT32_MAX / 64), what);
}

/* Eight bytes, lowest first, on any machine. */
uint64
l4_read_fixed64(L4Reader *reader, const char *what)
{
	uint64		value = 0;

	if (reader->end - reader->ptr < 8)
		l4_read_failed(reader, what);
	for (int i = 0; i < 8; i++)
		value |= (uint64) reader->ptr[i] << (8 * i);
	reader->ptr += 8;
	return value;
}

/* Bytes behind their number. */
const char *
l4_read_bytes(L4Reader *reader, int *len, const char *what)
{
	const char *bytes;

	*len = l4_read_count(reader, what);
	if (*len > reader->end - reader->ptr)
		l4_read_failed(reader, what);
	bytes = (const char *) reader->ptr;
	reader->ptr += *len;
	return bytes;
}
