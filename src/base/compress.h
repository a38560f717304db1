/*
 * compress.h
 *		Compressed bytes, by zstd: packed rows have repeats further apart than
 *		the 4 kB that pglz looks back.
 */
#ifndef L4_COMPRESS_H
#define L4_COMPRESS_H

#include "lib/stringinfo.h"

#define L4_COMPRESS_STORED		3	/* level of what is stored */
#define L4_COMPRESS_SENT		15	/* of what travels: ten times the time */

#define L4_COMPRESS_MAX_BYTES	(512 * 1024 * 1024)	/* before compression */

/* Compressed bytes become at most so many, or so many times as many: stored bytes cannot ask for any amount of memory. */
#define L4_COMPRESS_FREE		(4 * 1024 * 1024)
#define L4_COMPRESS_MAX_RATIO	256

extern bool l4_compress(StringInfo out, const char *bytes, int len, int level);
extern bool l4_is_compressed(const char *bytes, int len);
extern char *l4_decompress(const char *bytes, int len, int *plain_len, MemoryContext cxt);

#endif							/* L4_COMPRESS_H */
