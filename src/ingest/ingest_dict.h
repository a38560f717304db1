/*
 * ingest_dict.h
 *		The dictionary of a scan result: an entry for each shape of its part, made by
 *		the first record that has it.
 */
#ifndef L4_INGEST_DICT_H
#define L4_INGEST_DICT_H

#include "ingest/ingest_shape.h"
#include "lines/record.h"

typedef struct L4Dict
{
	L4ScanShared *shared;
	MemoryContext cxt;			/* of the entries */
	struct l4_map_hash *numbers;	/* of entries in the part, from 1, by shape and level */
	Size		memory;			/* bytes of all entries, also those of dictionaries before */
} L4Dict;

/* An empty one; memory goes on. */
extern void l4_dict_begin(L4Dict *dict, L4ScanShared *shared, MemoryContext cxt);

/* The entry of the shape of a record's message, added to the part when it is new; the array of the part grows in a context. */
extern L4Local *l4_dict_entry(L4Dict *dict, L4ResultPart *part, const L4Record *record, const char *msg, int msg_len,
							  const L4Shape *shape, TimestampTz ts, MemoryContext array_cxt);

#endif							/* L4_INGEST_DICT_H */
