/*
 * codec.h
 *		One walk over a structure that either writes its bytes or reads them:
 *		so the two cannot differ.
 *
 * Numbers are those of bytes.h. What is read is not trusted: counts are
 * bounded by the bytes that are left, texts are verified, and whoever walks
 * checks the rest. Arrays that are read begin as zeros.
 */
#ifndef L4_CODEC_H
#define L4_CODEC_H

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "base/bytes.h"

typedef struct L4Codec
{
	StringInfo	out;			/* NULL: reads */
	L4ByteReader *in;
	MemoryContext cxt;			/* of what is read */
} L4Codec;

static inline bool
l4_codec_reads(const L4Codec *codec)
{
	return codec->out == NULL;
}

/* A number; uint64 and those that are not negative are shorter without a sign. */
#define L4_CODE_NUMBER(name, type, stored) \
static inline void \
name(L4Codec *codec, type *value) \
{ \
	if (l4_codec_reads(codec)) \
		*value = (type) l4_get_##stored(codec->in); \
	else \
		l4_put_##stored(codec->out, *value); \
}
L4_CODE_NUMBER(l4_code_uint64, uint64, uint)
L4_CODE_NUMBER(l4_code_uint, int32, uint)
L4_CODE_NUMBER(l4_code_bool, bool, uint)
L4_CODE_NUMBER(l4_code_int64, int64, int)
L4_CODE_NUMBER(l4_code_int, int32, int)

static inline void
l4_code_byte(L4Codec *codec, uint8 *value)
{
	if (l4_codec_reads(codec))
		*value = *(const uint8 *) l4_get_bytes(codec->in, 1);
	else
		appendStringInfoCharMacro(codec->out, (char) *value);
}

static inline void
l4_code_double(L4Codec *codec, double *value)
{
	if (l4_codec_reads(codec))
		memcpy(value, l4_get_bytes(codec->in, sizeof(*value)), sizeof(*value));
	else
		appendBinaryStringInfo(codec->out, (const char *) value, sizeof(*value));
}

/* Bytes behind their number: what is read stays where it is. */
static inline void
l4_code_bytes(L4Codec *codec, const char **bytes, int *len)
{
	if (l4_codec_reads(codec))
		*bytes = l4_get_run(codec->in, len);
	else
		l4_put_bytes(codec->out, *bytes, *len);
}

/* Bytes that are a text, without a zero behind it. */
static inline void
l4_code_text(L4Codec *codec, const char **text, int *len)
{
	l4_code_bytes(codec, text, len);
	if (l4_codec_reads(codec) && !pg_verifymbstr(*text, *len, true))
		l4_bytes_corrupted("text");
}

/* A text that ends with a zero: a copy is read. */
static inline void
l4_code_string(L4Codec *codec, char **string)
{
	const char *text = *string;
	int			len = l4_codec_reads(codec) ? 0 : strlen(text);

	l4_code_text(codec, &text, &len);
	if (l4_codec_reads(codec))
	{
		*string = MemoryContextAlloc(codec->cxt, len + 1);
		memcpy(*string, text, len);
		(*string)[len] = '\0';
	}
}

/* NULL and no bytes are not the same: one more than the length is written. */
static inline void
l4_code_bytea(L4Codec *codec, bytea **value)
{
	if (l4_codec_reads(codec))
	{
		int			len = l4_get_count_or_none(codec->in);

		*value = NULL;
		if (len < 0)
			return;
		*value = MemoryContextAlloc(codec->cxt, VARHDRSZ + len);
		SET_VARSIZE(*value, VARHDRSZ + len);
		memcpy(VARDATA(*value), l4_get_bytes(codec->in, len), len);
	}
	else
	{
		l4_put_uint(codec->out, *value == NULL ? 0 : VARSIZE_ANY_EXHDR(*value) + 1);
		if (*value != NULL)
			appendBinaryStringInfo(codec->out, VARDATA_ANY(*value), VARSIZE_ANY_EXHDR(*value));
	}
}

/* How many things follow, each of a byte at least. */
static inline void
l4_code_count(L4Codec *codec, int *n)
{
	if (l4_codec_reads(codec))
		*n = l4_get_count(codec->in);
	else
		l4_put_uint(codec->out, *n);
}

/* The count of an array, whose elements follow; reading makes room for them. */
#define L4_CODE_ARRAY(codec, array, n) \
	do { \
		l4_code_count(codec, &(n)); \
		if (l4_codec_reads(codec)) \
			(array) = (n) == 0 ? NULL : MemoryContextAllocZero((codec)->cxt, sizeof(*(array)) * (Size) (n)); \
	} while (0)

#endif							/* L4_CODEC_H */
