/*
 * load.h
 *		Eight bytes as a number, the least significant first on every machine.
 */
#ifndef L4_LOAD_H
#define L4_LOAD_H

#include "port/pg_bswap.h"

static inline uint64
l4_load64(const void *bytes)
{
	uint64		v;

	memcpy(&v, bytes, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = pg_bswap64(v);
#endif
	return v;
}

static inline void
l4_store64(void *bytes, uint64 v)
{
#ifdef WORDS_BIGENDIAN
	v = pg_bswap64(v);
#endif
	memcpy(bytes, &v, sizeof(v));
}

#endif							/* L4_LOAD_H */
