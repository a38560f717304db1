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
#include "ingest/ingest_stored.h"

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
	L4Stored	stored;			/* of the stream that was opened */
	L4Query		read_end;
	L4Stages	stages;
} L4Packing;

extern void l4_packing_init(L4Packing *packing, bool read_only);

/* A stream, all in the current context: false when it is gone; what its reader carries over; a scan result onto it, which must know all its events. */
extern bool l4_packing_open(L4Packing *packing, int32 stream_id);
extern bytea *l4_packing_scan_state(L4Packing *packing);
extern L4WriteSet *l4_packing_pack(L4Packing *packing, int32 stream_id, bool late, L4ScanResult *scanned);

extern void l4_write_set_compress(L4WriteSet *set);
extern bytea *l4_write_set_encode(L4WriteSet *set);
extern L4WriteSet *l4_write_set_decode(bytea *bytes);

#endif							/* L4_WRITE_SET_H */
