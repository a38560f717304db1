/*
 * pcre_cache.c
 *		The backend's cache of compiled patterns, least recently used out first.
 *
 * It outlives a query, so that a loop of small statements does not compile
 * anew each time, and is as large as a fault library, so that a nested loop
 * over all its signatures does not either.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "utils/memutils.h"

#include "pcre/pcre.h"

#define L4_CACHE_PATTERNS 2048
#define L4_CACHE_BYTES (32 * 1024 * 1024)

typedef struct CachedRegex
{
	struct CachedRegex *chain;	/* next of the same hash slot */
	uint32		hash;
	size_t		bytes;
	L4Regex    *re;
	const char *source;			/* of re */
	size_t		source_len;
	dlist_node	lru;
} CachedRegex;

static MemoryContext cache_cxt = NULL;
static CachedRegex *cache_slots[L4_CACHE_PATTERNS];
static dlist_head cache_lru = DLIST_STATIC_INIT(cache_lru); /* most recent first */
static int	cache_count = 0;
static size_t cache_bytes = 0;

static void
evict(void)
{
	CachedRegex *old = dlist_container(CachedRegex, lru, dlist_tail_node(&cache_lru));
	CachedRegex **link = &cache_slots[old->hash % L4_CACHE_PATTERNS];

	while (*link != old)
		link = &(*link)->chain;
	*link = old->chain;
	dlist_delete(&old->lru);
	cache_count--;
	cache_bytes -= old->bytes;
	l4_regex_free(old->re);
	pfree(old);
}

L4Regex *
l4_regex_cached(const char *pattern, size_t len)
{
	CachedRegex *entry;
	L4Regex    *re;
	uint32		hash;

	if (!dlist_is_empty(&cache_lru))
	{
		entry = dlist_head_element(CachedRegex, lru, &cache_lru);
		if (entry->source_len == len && memcmp(entry->source, pattern, len) == 0)
			return entry->re;
	}
	hash = hash_bytes((const unsigned char *) pattern, len);
	for (entry = cache_slots[hash % L4_CACHE_PATTERNS]; entry != NULL; entry = entry->chain)
		if (entry->hash == hash && entry->source_len == len &&
			memcmp(entry->source, pattern, len) == 0)
		{
			dlist_move_head(&cache_lru, &entry->lru);
			return entry->re;
		}

	if (cache_cxt == NULL)
		cache_cxt = AllocSetContextCreate(TopMemoryContext, "l4 regex cache",
										  ALLOCSET_DEFAULT_SIZES);
	re = l4_regex_compile(pattern, len, false, cache_cxt);
	entry = MemoryContextAlloc(cache_cxt, sizeof(CachedRegex));
	entry->re = re;
	entry->source = l4_regex_source(re, &entry->source_len);
	entry->hash = hash;
	entry->bytes = l4_regex_memory(re);
	while (cache_count > 0 && (cache_count >= L4_CACHE_PATTERNS ||
							   cache_bytes + entry->bytes > L4_CACHE_BYTES))
		evict();
	entry->chain = cache_slots[hash % L4_CACHE_PATTERNS];
	cache_slots[hash % L4_CACHE_PATTERNS] = entry;
	dlist_push_head(&cache_lru, &entry->lru);
	cache_count++;
	cache_bytes += entry->bytes;
	return re;
}
