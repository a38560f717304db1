/*
 * pcre_cache.c
 *		The backend's cache of compiled patterns.
 *
 * It outlives a query, so that a loop of small statements does not compile
 * anew each time, and has room for a fault library, so that a nested loop over
 * all its signatures does not either. When it is full, it is emptied.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "pcre/pcre.h"

#define CACHE_PATTERNS 2048
#define CACHE_BYTES (32 * 1024 * 1024)

typedef struct PatternText
{
	const char *text;
	size_t		len;
} PatternText;

typedef struct CachedRegex
{
	PatternText source;			/* of re, once it is compiled */
	L4Regex    *re;
	uint32		hash;
	char		status;
} CachedRegex;

#define SH_PREFIX regexcache
#define SH_ELEMENT_TYPE CachedRegex
#define SH_KEY_TYPE PatternText
#define SH_KEY source
#define SH_HASH_KEY(tb, key) hash_bytes((const unsigned char *) (key).text, (key).len)
#define SH_EQUAL(tb, a, b) ((a).len == (b).len && memcmp((a).text, (b).text, (a).len) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static MemoryContext cache_cxt = NULL;	/* of the table and the patterns */
static regexcache_hash *cache = NULL;	/* NULL: empty */
static size_t cache_bytes = 0;

/* Empty the cache, or begin it. */
static void
reset_cache(void)
{
	if (cache_cxt == NULL)
		cache_cxt = AllocSetContextCreate(TopMemoryContext, "l4 regex cache",
										  ALLOCSET_DEFAULT_SIZES);
	cache = NULL;
	cache_bytes = 0;
	MemoryContextReset(cache_cxt);
	cache = regexcache_create(cache_cxt, 64, NULL);
}

L4Regex *
l4_regex_cached(const char *pattern, size_t len)
{
	PatternText key = {pattern, len};
	CachedRegex *entry = cache == NULL ? NULL : regexcache_lookup(cache, key);
	L4Regex    *re;
	bool		found;

	if (entry != NULL)
		return entry->re;
	if (cache == NULL || cache->members >= CACHE_PATTERNS || cache_bytes >= CACHE_BYTES)
		reset_cache();
	re = l4_regex_compile(pattern, len, 0, cache_cxt);
	key.text = l4_regex_source(re, &key.len);
	entry = regexcache_insert(cache, key, &found);
	entry->re = re;
	cache_bytes += l4_regex_memory(re);
	return re;
}
