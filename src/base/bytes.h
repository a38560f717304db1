/*
 * bytes.h
 *		Bytes that are stored: numbers and runs of bytes, written one after
 *		the other and read within bounds.
 */
#ifndef L4_BYTES_H
#define L4_BYTES_H

#include "lib/stringinfo.h"

#include "base/load.h"
#include "base/varint.h"
#include "l4_compat.h"

typedef struct L4ByteReader
{
	const unsigned char *ptr;
	const unsigned char *end;
} L4ByteReader;

/* A bytea that is written: begun with room for its length, which is known in the end. */
static inline void
l4_bytea_begin(StringInfo buf)
{
	initStringInfo(buf);
	appendStringInfoSpaces(buf, VARHDRSZ);
}

static inline bytea *
l4_bytea_end(StringInfo buf)
{
	SET_VARSIZE(buf->data, buf->len);
	return (bytea *) buf->data;
}

static inline L4ByteReader
l4_bytea_reader(const bytea *bytes)
{
	const unsigned char *start = (const unsigned char *) VARDATA_ANY(bytes);

	return (L4ByteReader) {.ptr = start, .end = start + VARSIZE_ANY_EXHDR(bytes)};
}

/* Integers of any size in few bytes. */
static inline void
l4_put_uint(StringInfo buf, uint64 value)
{
	if (buf->maxlen - buf->len <= L4_VARINT_MAX)
		enlargeStringInfo(buf, L4_VARINT_MAX);
	buf->len = (int) ((char *) l4_varint_put((uint8 *) buf->data + buf->len, value) - buf->data);
}

/* Bytes behind their number. */
static inline void
l4_put_bytes(StringInfo buf, const char *bytes, int len)
{
	l4_put_uint(buf, len);
	appendBinaryStringInfo(buf, bytes, len);
}

/* Eight bytes, lowest first, on any machine. */
static inline void
l4_put_fixed64(StringInfo buf, uint64 value)
{
	char		bytes[8];

	l4_store64(bytes, value);
	appendBinaryStringInfo(buf, bytes, sizeof(bytes));
}

/* Small negative numbers are short too: the sign goes to the lowest bit. */
static inline void
l4_put_int(StringInfo buf, int64 value)
{
	l4_put_uint(buf, l4_zigzag(value));
}

/* Errors are ERRCODE_DATA_CORRUPTED: no stored byte is trusted. */
extern uint64 l4_get_long_uint(L4ByteReader *reader);
extern uint64 l4_get_number(L4ByteReader *reader, uint64 max, const char *what);
extern uint64 l4_get_fixed64(L4ByteReader *reader);
extern const char *l4_get_bytes(L4ByteReader *reader, uint64 len);
extern const char *l4_get_run(L4ByteReader *reader, int *len);
extern int	l4_get_count(L4ByteReader *reader);
extern int	l4_get_count_or_none(L4ByteReader *reader);
extern L4_NORETURN void l4_bytes_corrupted(const char *what);

static inline uint64
l4_get_uint(L4ByteReader *reader)
{
	if (reader->ptr < reader->end && *reader->ptr < 0x80)
		return *reader->ptr++;
	return l4_get_long_uint(reader);
}

static inline int64
l4_get_int(L4ByteReader *reader)
{
	return l4_unzigzag(l4_get_uint(reader));
}

#endif							/* L4_BYTES_H */
