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

#include "base/map.h"
#include "pcre/pcre.h"

#define CACHE_PATTERNS 2048
#define CACHE_BYTES (32 * 1024 * 1024)

static MemoryContext cache_cxt = NULL;	/* of the map and the patterns */
static L4Map *numbers = NULL;	/* of patterns + 1, by hash; of the next one where it is another one's; NULL: empty */
static L4Regex *patterns[CACHE_PATTERNS];
static int	npatterns = 0;
static size_t cache_bytes = 0;

/* Empty the cache, or begin it. */
static void
reset_cache(void)
{
	if (cache_cxt == NULL)
		cache_cxt = AllocSetContextCreate(TopMemoryContext, "l4 regex cache",
										  ALLOCSET_DEFAULT_SIZES);
	numbers = NULL;
	npatterns = 0;
	cache_bytes = 0;
	MemoryContextReset(cache_cxt);
	numbers = l4_map_create(cache_cxt, 64, NULL);
}

L4Regex *
l4_regex_cached(const char *pattern, size_t len)
{
	if (numbers == NULL)
		reset_cache();
	for (uint64 hash = hash_bytes_extended((const unsigned char *) pattern, len, 0);; hash++)
	{
		/* 0 is also what a pattern left that does not compile */
		int32	   *number = l4_map_put(numbers, hash, NULL);
		size_t		known_len;
		const char *known;

		if (*number == 0 && (npatterns >= CACHE_PATTERNS || cache_bytes >= CACHE_BYTES))
		{
			reset_cache();
			return l4_regex_cached(pattern, len);
		}
		if (*number == 0)
		{
			patterns[npatterns] = l4_regex_compile(pattern, len, 0, cache_cxt);
			cache_bytes += l4_regex_memory(patterns[npatterns]);
			*number = ++npatterns;
			return patterns[npatterns - 1];
		}
		known = l4_regex_source(patterns[*number - 1], &known_len);
		if (known_len == len && memcmp(known, pattern, len) == 0)
			return patterns[*number - 1];
	}
}
