/*
 * bytes.c
 *		Stored bytes, read within bounds.
 */
#include "postgres.h"

#include "base/bytes.h"

void
l4_bytes_corrupted(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored bytes are corrupted"),
			 errdetail("Wrong part: %s.", what)));
}

uint64
l4_get_long_uint(L4ByteReader *reader)
{
	uint64		value;

	reader->ptr = l4_varint_get(reader->ptr, reader->end, &value);
	if (reader->ptr == NULL)
		l4_bytes_corrupted("number");
	return value;
}

/* A number from 0 to max. */
uint64
l4_get_number(L4ByteReader *reader, uint64 max, const char *what)
{
	uint64		value = l4_get_uint(reader);

	if (value > max)
		l4_bytes_corrupted(what);
	return value;
}

/* Eight bytes, lowest first, on any machine. */
uint64
l4_get_fixed64(L4ByteReader *reader)
{
	return l4_load64(l4_get_bytes(reader, 8));
}

const char *
l4_get_bytes(L4ByteReader *reader, uint64 len)
{
	const char *bytes = (const char *) reader->ptr;

	if (len > (uint64) (reader->end - reader->ptr))
		l4_bytes_corrupted("length");
	reader->ptr += len;
	return bytes;
}

/* Bytes behind their number. */
const char *
l4_get_run(L4ByteReader *reader, int *len)
{
	*len = l4_get_count(reader);
	return l4_get_bytes(reader, *len);
}

/* How many things follow: each takes a byte at least. */
int
l4_get_count(L4ByteReader *reader)
{
	uint64		n = l4_get_uint(reader);

	if (n > (uint64) (reader->end - reader->ptr))
		l4_bytes_corrupted("count");
	return (int) n;
}

/* A count that may be missing: one more is stored, 0 for none, which is -1 here. */
int
l4_get_count_or_none(L4ByteReader *reader)
{
	uint64		n = l4_get_uint(reader);

	if (n > (uint64) (reader->end - reader->ptr) + 1)
		l4_bytes_corrupted("count");
	return (int) n - 1;
}
