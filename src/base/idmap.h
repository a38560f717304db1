/*
 * idmap.h
 *		Hash table from an int4, such as an event id, to a number.
 */
#ifndef L4_IDMAP_H
#define L4_IDMAP_H

#include "common/hashfn.h"

typedef struct L4IdEntry
{
	int32		id;
	uint32		value;
	char		status;
} L4IdEntry;

#define SH_PREFIX l4_idmap
#define SH_ELEMENT_TYPE L4IdEntry
#define SH_KEY_TYPE int32
#define SH_KEY id
#define SH_HASH_KEY(table, key) murmurhash32((uint32) (key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#endif							/* L4_IDMAP_H */
