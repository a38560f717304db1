/*
 * compress.c
 *		Compressed bytes, by zstd.
 */
#include "postgres.h"

#include <zstd.h>

#include "base/bytes.h"
#include "base/compress.h"
#include "l4_compat.h"

/* What zstd works with, once a backend: to make it takes longer than to compress a short pack. */
static ZSTD_CCtx *compressor = NULL;
static ZSTD_DCtx *decompressor = NULL;

static L4_NORETURN void no_memory(void);

static void
no_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory"),
			 errdetail("zstd could not get what it needs.")));
	abort();					/* not reached: for compilers that do not know ereport */
}

static bool
may_become(uint64 plain, uint64 len)
{
	return plain <= Max((uint64) L4_COMPRESS_FREE, len * L4_COMPRESS_MAX_RATIO);
}

/* Append the bytes compressed; false, and nothing is appended, where they would become too few to be read again. */
bool
l4_compress(StringInfo out, const char *bytes, int len, int level)
{
	size_t		room = ZSTD_compressBound(len);
	size_t		result;

	if (compressor == NULL && (compressor = ZSTD_createCCtx()) == NULL)
		no_memory();
	if (len > L4_COMPRESS_MAX_BYTES)
		return false;
	enlargeStringInfo(out, (int) room);
	result = ZSTD_compressCCtx(compressor, out->data + out->len, room, bytes, len, level);
	if (ZSTD_isError(result))
		no_memory();
	if (!may_become(len, result))
		return false;
	out->len += (int) result;
	return true;
}

/* Are these the bytes of one compressed piece? */
bool
l4_is_compressed(const char *bytes, int len)
{
	unsigned long long plain = ZSTD_getFrameContentSize(bytes, len);

	return plain <= L4_COMPRESS_MAX_BYTES && may_become(plain, len) && ZSTD_findFrameCompressedSize(bytes, len) == (size_t) len;
}

/* What was compressed, in memory of the context. */
char *
l4_decompress(const char *bytes, int len, int *plain_len, MemoryContext cxt)
{
	unsigned long long plain = ZSTD_getFrameContentSize(bytes, len);
	char	   *out;

	if (plain == ZSTD_CONTENTSIZE_ERROR || plain == ZSTD_CONTENTSIZE_UNKNOWN)
		l4_bytes_corrupted("compressed bytes");
	if (plain > L4_COMPRESS_MAX_BYTES || !may_become(plain, len))
		l4_bytes_corrupted("size");
	if (decompressor == NULL && (decompressor = ZSTD_createDCtx()) == NULL)
		no_memory();
	out = MemoryContextAlloc(cxt, Max(plain, 1));
	if (ZSTD_decompressDCtx(decompressor, out, plain, bytes, len) != plain)
		l4_bytes_corrupted("compressed bytes");
	*plain_len = (int) plain;
	return out;
}
