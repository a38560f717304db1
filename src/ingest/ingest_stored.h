/*
 * ingest_stored.h
 *		What is stored of a stream, to be read on.
 */
#ifndef L4_INGEST_STORED_H
#define L4_INGEST_STORED_H

#include "ingest/ingest_pack.h"
#include "ingest/ingest_query.h"

/* Values of a pack, in the order in which they are read; the sections in that of L4Sections. */
typedef enum L4StoredValue
{
	L4_STORED_CHUNK,			/* the last one, where it has room */
	L4_STORED_SCAN_STATE,
	L4_STORED_PACK_STATE,
	L4_STORED_SECTIONS,
	L4_STORED_VALUES = L4_STORED_SECTIONS + L4_NSECTIONS
} L4StoredValue;

typedef struct L4Stored
{
	char	   *job_id;
	char	   *node;
	char	   *source;
	int			next_chunk_no;
	int			tail_lines;
	int32		pack_id;		/* 0 none */
	int			member;			/* L4_NO_INT in a pack of its own */
} L4Stored;

/* Reads streams one after the other: what streams in a row share is read and opened once. */
typedef struct L4StoredReader
{
	L4Query		stream;
	L4Query		pack;
	SPITupleTable *row;			/* of the pack that was read last */
	int32		shared_id;		/* its number, where it is shared; 0 none */
	MemoryContext cxt;			/* of its opened values */
	char	   *opened[L4_STORED_VALUES];
	int			opened_len[L4_STORED_VALUES];
} L4StoredReader;

extern void l4_stored_init(L4StoredReader *reader, bool read_only);

/* False when the stream is gone. Until the next one is read, its values can be asked for: NULL where there is none. */
extern bool l4_stored_read(L4StoredReader *reader, int32 stream_id, L4Stored *stored);
extern bytea *l4_stored_value(L4StoredReader *reader, const L4Stored *stored, L4StoredValue which);

/* The sections that a scan result goes onto, and the part of the pack where what grows of them is written. */
extern int	l4_stored_sections(L4StoredReader *reader, const L4Stored *stored, L4Sections *sections);

#endif							/* L4_INGEST_STORED_H */
