/*
 * map.h
 *		64-bit keys to numbers, of which 0 stands for none. Keys are hashes or
 *		pairs of numbers; whoever uses hashes says what becomes of two alike.
 */
#ifndef L4_MAP_H
#define L4_MAP_H

typedef struct L4MapEntry
{
	uint64		key;
	int32		value;
	char		status;
} L4MapEntry;

#define SH_PREFIX l4_map
#define SH_ELEMENT_TYPE L4MapEntry
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(tb, key) ((uint32) (((key) * UINT64CONST(0x9E3779B97F4A7C15)) >> 32))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef l4_map_hash L4Map;

/* Value of a key, 0 when it is not there. */
static inline int32
l4_map_get(L4Map *map, uint64 key)
{
	const L4MapEntry *entry = l4_map_lookup(map, key);

	return entry ? entry->value : 0;
}

/* The value of a key, made (0) when it is new. Valid until the next put. */
static inline int32 *
l4_map_put(L4Map *map, uint64 key, bool *found)
{
	bool		known;
	L4MapEntry *entry = l4_map_insert(map, key, &known);

	if (!known)
		entry->value = 0;
	if (found)
		*found = known;
	return &entry->value;
}

#endif							/* L4_MAP_H */
