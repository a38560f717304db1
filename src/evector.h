/*
 * evector.h
 *		The type event_vector: how often each event occurred, sparse, in order
 *		of event id. docs/internals.md describes the bytes.
 */
#ifndef L4_EVECTOR_H
#define L4_EVECTOR_H

#include "fmgr.h"

#include "varint.h"

/* Most events in one vector; a vector then takes at most 15 MB. */
#define L4_EVECTOR_MAX_EVENTS	1048576

#define L4_EVECTOR_VERSION		1

/* Upper bound of the payload (without varlena header) of n events. */
#define L4_EVECTOR_MAX_BYTES(n)	(1 + 5 + (Size) (n) * 15)

typedef struct L4EventCount
{
	int64		count;			/* > 0 in a finished vector */
	int32		event_id;
} L4EventCount;

/* Walks through the events of a vector in order, checking the bytes. */
typedef struct L4EvectorReader
{
	const uint8 *p;
	const uint8 *end;
	int32		left;			/* events not yet read */
	int32		n;				/* events in the vector */
	int64		event_id;		/* the current event, after a true result */
	int64		count;
	bool		started;
} L4EvectorReader;

/* Raises DATA_CORRUPTED. */
extern void l4_evector_corrupted(const char *detail);

extern void l4_evector_open(L4EvectorReader *reader, const struct varlena *vector);

/* Step to the next event: false at the end. */
static inline bool
l4_evector_next(L4EvectorReader *reader)
{
	uint64		delta;
	uint64		count;
	const uint8 *p;

	if (reader->left == 0)
		return false;
	p = l4_varint_get(reader->p, reader->end, &delta);
	if (p == NULL || delta > UINT64CONST(0xffffffff))
	{
		l4_evector_corrupted("An event id is malformed.");
		return false;
	}
	p = l4_varint_get(p, reader->end, &count);
	if (p == NULL || count >= (uint64) PG_INT64_MAX)
	{
		l4_evector_corrupted("A count is malformed.");
		return false;
	}
	if (reader->started)
		reader->event_id += (int64) delta + 1;
	else
		reader->event_id = l4_unzigzag(delta);
	if (reader->event_id > PG_INT32_MAX)
	{
		l4_evector_corrupted("An event id is out of range.");
		return false;
	}
	reader->started = true;
	reader->count = (int64) count + 1;
	reader->p = p;
	if (--reader->left == 0 && p != reader->end)
	{
		l4_evector_corrupted("There are bytes after the last event.");
		return false;
	}
	return true;
}

/*
 * The same for many events at a time, several times as fast: fills ids and
 * counts with the next events and returns how many, 0 at the end.
 */
#define L4_EVECTOR_BLOCK	64

extern int	l4_evector_next_block(L4EvectorReader *reader, int32 *ids, int64 *counts);

/* Writes a vector; events are appended in ascending order of id. */
typedef struct L4EvectorWriter
{
	struct varlena *vector;
	uint8	   *p;
	int64		last_id;
	int32		n;
	int32		expected;
} L4EvectorWriter;

/* expected is an upper bound of the number of events to come. */
extern void l4_evector_begin(L4EvectorWriter *writer, int32 expected);
extern void l4_evector_append(L4EvectorWriter *writer, int32 event_id, int64 count);
extern struct varlena *l4_evector_finish(L4EvectorWriter *writer);

/*
 * The canonical vector of these counts: sorts them (in place) where needed
 * and leaves out zeros. Errors: a negative count, an event twice, too many.
 */
extern struct varlena *l4_evector_from_counts(L4EventCount *counts, int64 n);

/* All events of a vector as a palloc'd array. */
extern L4EventCount *l4_evector_to_counts(const struct varlena *vector, int32 *n);

/* a + b for counts, with the error that every sum raises. */
extern int64 l4_evector_add_counts(int32 event_id, int64 a, int64 b);
extern void l4_evector_check_count(int32 event_id, int64 count);
extern void l4_evector_check_size(int64 n);

extern struct varlena *l4_evector_sum(const struct varlena *a, const struct varlena *b);
extern int	l4_evector_compare(const struct varlena *a, const struct varlena *b);
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
