/*
 * evector.h
 *		The type event_vector: how often each event occurred, sparse, in order
 *		of event id. docs/internals.md describes the bytes.
 */
#ifndef L4_EVECTOR_H
#define L4_EVECTOR_H

#include "fmgr.h"

#include "base/varint.h"

/* Most events in one vector; a vector then takes at most 15 MB. */
#define L4_EVECTOR_MAX_EVENTS	1048576

#define L4_EVECTOR_VERSION		1

/* Upper bound of the payload (without varlena header) of n events. */
#define L4_EVECTOR_MAX_BYTES(n)	(1 + 5 + (Size) (n) * 15)

typedef struct L4EventCount
{
	int32		event_id;
	int64		count;			/* > 0 in a finished vector */
} L4EventCount;

/* Walks through the events of a vector in order, checking the bytes. */
typedef struct L4EvectorReader
{
	const uint8 *p;
	const uint8 *end;
	int32		left;			/* events not yet read */
	int32		n;				/* events in the vector */
	int32		run;			/* of these, events of consecutive ids to come */
	int64		event_id;		/* the current event, after a true result */
	int64		count;
	bool		started;
} L4EvectorReader;

/* Both raise DATA_CORRUPTED where the bytes are no vector. */
extern void l4_evector_open(L4EvectorReader *reader, const struct varlena *vector);

extern bool l4_evector_next_checked(L4EvectorReader *reader);

/* Step to the next event: false at the end. */
static inline bool
l4_evector_next(L4EvectorReader *reader)
{
	/* within a run, where the count takes one byte: most events of vectors that have many */
	if (reader->run > 0 && reader->left > 1 && reader->p < reader->end && *reader->p < 0x80)
	{
		reader->count = (int64) *reader->p++ + 1;
		reader->event_id++;
		reader->run--;
		reader->left--;
		return true;
	}
	return l4_evector_next_checked(reader);
}

/* The vector of events in ascending order of id, all counts positive. */
extern struct varlena *l4_evector_encode(const L4EventCount *counts, int32 n);

/*
 * The canonical vector of these counts: sorts them (in place) where needed
 * and leaves out zeros. Errors: a negative count, an event twice, too many.
 */
extern struct varlena *l4_evector_from_counts(L4EventCount *counts, int64 n);

/* a + b for counts, with the error that every sum raises. */
extern int64 l4_evector_add_counts(int32 event_id, int64 a, int64 b);
extern void l4_evector_check_count(int32 event_id, int64 count);
extern void l4_evector_check_size(int64 n);

extern struct varlena *l4_evector_sum(const struct varlena *a, const struct varlena *b);
extern int64 l4_evector_get(const struct varlena *vector, int32 event_id);

typedef enum L4Distance
{
	L4_DISTANCE_L1,
	L4_DISTANCE_L2,
	L4_DISTANCE_COSINE
} L4Distance;

extern double l4_evector_distance(const struct varlena *a, const struct varlena *b,
								  L4Distance kind);

/* Same bytes on every platform, so a hash of them is as well. */
extern uint64 l4_evector_hash(const struct varlena *vector, uint64 seed);

#define L4_GETARG_EVECTOR(n)	((struct varlena *) PG_GETARG_VARLENA_PP(n))

#endif							/* L4_EVECTOR_H */
