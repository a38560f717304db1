/*
 * write_set.h
 *		A write set: a scan result that was packed onto what is stored of its stream,
 *		ready to be written.
 *
 * Packing reads but does not write, so it can be done where the scan result was
 * made, in a worker. Its bytes begin like those of a scan result, with a head that
 * knows all shapes.
 */
#ifndef L4_WRITE_SET_H
#define L4_WRITE_SET_H

#include "ingest/ingest_pack.h"
#include "ingest/ingest_query.h"
#include "packed/group.h"

/* ---- ingest_stored.c: what is stored of a stream, to be read on ---- */

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
	L4OpenGroup opened[L4_STORED_VALUES];
} L4StoredReader;

extern void l4_stored_init(L4StoredReader *reader, bool read_only);

/* False when the stream is gone. Until the next one is read, its values can be asked for: NULL where there is none. */
extern bool l4_stored_read(L4StoredReader *reader, int32 stream_id, L4Stored *stored);
extern bytea *l4_stored_value(L4StoredReader *reader, const L4Stored *stored, L4StoredValue which);

/* The sections that a scan result goes onto, and the part of the pack where what grows of them is written. */
extern int	l4_stored_sections(L4StoredReader *reader, const L4Stored *stored, L4Sections *sections);

/* ---- write_set.c ---- */

#define L4_SHORT_LINES	2048	/* a stream with no more lines may share a pack */
#define L4_SHORT_BYTES	49152	/* of what is packed of it */

typedef struct L4WriteSet
{
	L4ResultHead	head;
	char	   *job_id;
	char	   *node;
	char	   *source;
	int			chunk_no;		/* of the first chunk */
	int32		pack_id;		/* where the stream is stored; 0 nowhere yet */
	bool		has_tail;		/* what is stored has open lines */
	bool		has_own;		/* it is stored in a pack of its own */
	bool		is_short;		/* may share a pack; then nothing is compressed yet */
	int			growth_part;	/* where more of what grows goes */
	char	   *seen;			/* numbers of the settled lines, a multirange as text */
	char	   *tail;			/* of the open ones */
	L4Packed   *packed;
} L4WriteSet;

/* Lines of what is short: one chunk, and what is open. */
static inline int
l4_write_set_lines(const L4WriteSet *set)
{
	const L4Packed *packed = set->packed;

	return (packed->nchunks > 0 ? packed->chunks[0].lines : 0) + (packed->open_chunk != NULL ? packed->open_chunk->lines : 0);
}

/* Packs scan results of many streams. */
typedef struct L4Packing
{
	L4StoredReader reader;
	L4Stored	stored;			/* of the stream that is packed */
	L4Query		read_end;
	L4Stages	stages;
} L4Packing;

extern void l4_packing_init(L4Packing *packing, bool read_only);

/* A scan result onto a stream that was read into stored, all in the current context; the result must know all its events. */
extern L4WriteSet *l4_packing_pack(L4Packing *packing, int32 stream_id, bool late, L4ScanResult *scanned);

extern void l4_write_set_compress(L4WriteSet *set);
extern bytea *l4_write_set_encode(L4WriteSet *set);
extern L4WriteSet *l4_write_set_decode(bytea *bytes);

#endif							/* L4_WRITE_SET_H */
