/*
 * ingest_parcel.h
 *		A parcel: a unit that was packed onto what is stored of its stream,
 *		ready to be written.
 *
 * Packing reads but does not write, so it can be done where the unit was
 * made, in a worker. Between processes a parcel has the form of a unit whose
 * head says "packed".
 */
#ifndef L4_INGEST_PARCEL_H
#define L4_INGEST_PARCEL_H

#include "ingest/ingest_pack.h"
#include "ingest/ingest_stored.h"

#define L4_SHORT_LINES	2048	/* a stream with no more lines may share a pack */
#define L4_SHORT_BYTES	49152	/* of what is packed of it */

typedef struct L4Parcel
{
	L4UnitHead	head;
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
} L4Parcel;

/* Lines of what is short: one chunk, and what is open. */
static inline int
l4_parcel_lines(const L4Parcel *parcel)
{
	const L4Packed *packed = parcel->packed;

	return (packed->nchunks > 0 ? packed->chunks[0].lines : 0) + (packed->open_chunk != NULL ? packed->open_chunk->lines : 0);
}

/* Packs units of many streams. */
typedef struct L4Packing
{
	L4StoredReader reader;
	L4Stored	stored;			/* of the stream that was opened */
	L4Query		read_end;
	L4Stages	stages;
} L4Packing;

extern void l4_packing_init(L4Packing *packing, bool read_only);

/* A stream, all in the current context: false when it is gone; what its reader carries over; a unit onto it, which must know all its events. */
extern bool l4_packing_open(L4Packing *packing, int32 stream_id);
extern bytea *l4_packing_carry(L4Packing *packing);
extern L4Parcel *l4_packing_pack(L4Packing *packing, int32 stream_id, bool late, L4Unit *unit);

extern void l4_parcel_compress(L4Parcel *parcel);
extern bytea *l4_parcel_encode(const L4Parcel *parcel);
extern L4Parcel *l4_parcel_decode(bytea *bytes);

#endif							/* L4_INGEST_PARCEL_H */
