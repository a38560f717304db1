/*
 * evector_bytes.h
 *		Several bytes of an event vector at a time.
 */
#ifndef L4_EVECTOR_BYTES_H
#define L4_EVECTOR_BYTES_H

#include "port/pg_bswap.h"

/* Eight bytes, least significant first. */
static inline uint64
l4_load64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = pg_bswap64(v);
#endif
	return v;
}

/* No byte of these has its top bit: each is a varint of its own. */
#define L4_ALL_SHORT(bytes)		(((bytes) & UINT64CONST(0x8080808080808080)) == 0)

/* Of four runs of one event with a count below 128: no flag "several events". */
#define L4_ALL_SINGLE(bytes)	(((bytes) & UINT64CONST(0x0001000100010001)) == 0)

#endif							/* L4_EVECTOR_BYTES_H */
