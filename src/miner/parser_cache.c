/*
 * parser_cache.c
 *		Parsers that come as arguments of SQL functions: decoded once a call
 *		site for as long as the value is the same, not once a row.
 *
 * A value that is stored elsewhere is known by its TOAST pointer; one in line
 * by its first bytes, which hold a checksum of the rest; a compressed one by
 * all of its (few) bytes.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "l4_compat.h"
#include "miner/parser_cache.h"

/* Bytes that tell values in line apart: header, version, options, checksum. */
#define KEY_BYTES	32

/* A decoded value that a call site keeps. */
typedef struct ParserCache
{
	MemoryContext cxt;			/* of the parser, NULL none yet */
	L4Parser   *parser;
	Size		len;
	Size		key_len;
	char	   *key;
} ParserCache;

L4Parser *
l4_parser_cached(FunctionCallInfo fcinfo, int argno)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	ParserCache *cache = fcinfo->flinfo->fn_extra;
	Size		len = VARSIZE_ANY(value);
	Size		key_len = len;

	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
	{
		value = detoast_attr(value);
		len = key_len = VARSIZE_ANY(value);
	}
	if (!VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value))
		key_len = Min(len, KEY_BYTES);
	if (cache == NULL)
		fcinfo->flinfo->fn_extra = cache = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(ParserCache));
	if (cache->parser && cache->len == len && cache->key_len == key_len &&
		memcmp(cache->key, value, key_len) == 0)
		return cache->parser;
	cache->parser = NULL;
	if (cache->cxt)
		MemoryContextDelete(cache->cxt);
	cache->cxt = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "l4 parser", ALLOCSET_DEFAULT_SIZES);
	cache->key = memcpy(MemoryContextAlloc(cache->cxt, key_len), value, key_len);
	cache->len = len;
	cache->key_len = key_len;
	cache->parser = l4_parser_decode(detoast_attr(value), cache->cxt);
	return cache->parser;
}
