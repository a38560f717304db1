/*
 * evector.h
 *		The type event_vector: how often each event occurred, sparse, in order
 *		of event id. docs/internals.md describes the bytes.
 */
#ifndef L4_EVECTOR_H
#define L4_EVECTOR_H

#include "fmgr.h"

#include "base/load.h"
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
	const uint8 *p = reader->p;
	bool		alone = reader->run == 0;

	/* of a run, or not far from the event before, with a count of one or two bytes: most events */
	if (reader->left > 1 && reader->end - p > 2 &&
		(!alone || (reader->started && (*p & 0x81) == 0 && reader->event_id < PG_INT32_MAX - 0x80)))
	{
		int64		step = alone ? (*p++ >> 1) + 1 : 1;
		int			two = *p >> 7;	/* no branch: either is as likely where counts are near 128 */

		if ((two & (p[1] == 0 || p[1] >= 0x80)) == 0)
		{
			reader->count = ((*p & 0x7f) | (p[1] << 7 & -two)) + 1;
			reader->p = p + 1 + two;
			reader->event_id += step;
			reader->run -= !alone;
			reader->left--;
			return true;
		}
	}
	return l4_evector_next_checked(reader);
}

/* Most counts that l4_evector_next_run() reads. */
#define L4_EVECTOR_RUN	64

/*
 * Read counts of events behind the current one that are of its run, of one or two bytes each. Returns how many; what
 * is left of the run is for l4_evector_next(), which checks more.
 */
static inline int32
l4_evector_next_run(L4EvectorReader *reader, uint16 *counts)
{
	const uint8 *p = reader->p;
	int32		most = Min(Min(reader->run, reader->left - 1), L4_EVECTOR_RUN);
	int32		n = 0;

	while (n < most && reader->end - p >= 8)
	{
		int			two = *p >> 7;

		if (most - n >= 8 && (l4_load64(p) & UINT64CONST(0x8080808080808080)) == 0)
		{
			for (int i = 0; i < 8; i++)
				counts[n + i] = p[i] + 1;
			n += 8;
			p += 8;
			continue;
		}
		if ((two & (p[1] == 0 || p[1] >= 0x80)) != 0)
			break;
		counts[n++] = ((*p & 0x7f) | (p[1] << 7 & -two)) + 1;
		p += 1 + two;
	}
	reader->p = p;
	reader->event_id += n;
	reader->run -= n;
	reader->left -= n;
	return n;
}

/* The first of n ascending ids, from position at on, that is this one or greater: n where none is. */
static inline int
l4_evector_seek(const int32 *ids, int n, int at, int64 id)
{
	int			last;

	if (at >= n || ids[at] >= id)
		return at;

	/* it stands no later than it does where none is missing, and before that by no more than are missing */
	last = (int) Min(at + (id - ids[at]), n - 1);
	if (ids[last] <= id)
		return last + (ids[last] < id);
	at = (int) Max(at + 1, last - (ids[last] - id));
	while (at < last)
	{
		int			middle = at + (last - at) / 2;

		if (ids[middle] < id)
			at = middle + 1;
		else
			last = middle;
	}
	return at;
}

/* cells[i] = count of ids[i], which ascend; cells are uint16, where all those counts fit, or int64. */
extern void l4_evector_spread(const struct varlena *vector, const int32 *ids, int n, void *cells, bool narrow);

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
