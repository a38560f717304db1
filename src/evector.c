/*
 * evector.c
 *		Event vectors: bytes, sums, order and distances.
 *
 * A vector is a version byte, the number of events, and for each event, in
 * ascending order of id, the step from the id before (the first id itself,
 * zigzag) and the count less one, all as varints. Order, uniqueness and
 * positive counts hold by construction, and each vector has one encoding:
 * equality is equality of bytes.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "port/pg_bswap.h"

#include "l4_compat.h"
#include "evector.h"

void
l4_evector_corrupted(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored event_vector is corrupted"),
			 errdetail_internal("%s", detail)));
}

void
l4_evector_open(L4EvectorReader *reader, const struct varlena *vector)
{
	uint64		n = 0;

	reader->p = (const uint8 *) VARDATA_ANY(vector);
	reader->end = reader->p + VARSIZE_ANY_EXHDR(vector);
	if (reader->p == reader->end || *reader->p != L4_EVECTOR_VERSION)
		l4_evector_corrupted("The version is unknown.");
	reader->p = l4_varint_get(reader->p + 1, reader->end, &n);

	/* each event takes two bytes at least */
	if (reader->p == NULL || n > L4_EVECTOR_MAX_EVENTS ||
		n > (uint64) (reader->end - reader->p) / 2)
		l4_evector_corrupted("The number of events is wrong.");
	if (n == 0 && reader->p != reader->end)
		l4_evector_corrupted("There are bytes after the last event.");
	reader->n = reader->left = (int32) n;
	reader->event_id = 0;
	reader->count = 0;
	reader->started = false;
}

/* Eight bytes, least significant first. */
static inline uint64
load64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = pg_bswap64(v);
#endif
	return v;
}

/* Of events that take two bytes each, the steps of the first two. */
#define TWO_STEPS(bytes)	(((bytes) & 0x7f) + ((bytes) >> 16 & 0x7f))

/*
 * Four events at once when each takes two bytes: no top bit among the eight.
 * The first event of a vector is left to l4_evector_next: its id is a value,
 * not a step.
 */
int
l4_evector_next_block(L4EvectorReader *reader, int32 *restrict ids,
					  int64 *restrict counts)
{
	int			n = 0;

	while (n <= L4_EVECTOR_BLOCK - 4 && reader->left > 0)
	{
		/* copies: writing to the arrays could change the reader, for all C knows */
		const uint8 *p = reader->p;
		int			fours = Min((L4_EVECTOR_BLOCK - n) / 4, (reader->left - 1) / 4);
		int64		id = reader->event_id;
		int			before = n;

		fours = (int) Min(fours, (reader->end - p) / 8);
		for (int i = 0; reader->started && i < fours; i++)
		{
			uint64		bytes = load64(p);

			if ((bytes & UINT64CONST(0x8080808080808080)) != 0)
				break;
			ids[n] = (int32) (id + (int64) (bytes & 0x7f) + 1);
			ids[n + 1] = (int32) (id + (int64) TWO_STEPS(bytes) + 2);
			ids[n + 2] = (int32) (id + (int64) (TWO_STEPS(bytes) + (bytes >> 32 & 0x7f)) + 3);
			id += (int64) (TWO_STEPS(bytes) + TWO_STEPS(bytes >> 32)) + 4;
			ids[n + 3] = (int32) id;
			counts[n] = (int64) (bytes >> 8 & 0x7f) + 1;
			counts[n + 1] = (int64) (bytes >> 24 & 0x7f) + 1;
			counts[n + 2] = (int64) (bytes >> 40 & 0x7f) + 1;
			counts[n + 3] = (int64) (bytes >> 56) + 1;
			p += 8;
			n += 4;
		}
		if (id > PG_INT32_MAX)
			l4_evector_corrupted("An event id is out of range.");
		reader->event_id = id;
		reader->p = p;
		reader->left -= n - before;
		if (n == before)
		{
			(void) l4_evector_next(reader);
			ids[n] = (int32) reader->event_id;
			counts[n++] = reader->count;
		}
	}
	return n;
}

void
l4_evector_check_size(int64 n)
{
	if (n > L4_EVECTOR_MAX_EVENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("event_vector cannot have more than %d events",
						L4_EVECTOR_MAX_EVENTS)));
}

void
l4_evector_check_count(int32 event_id, int64 count)
{
	if (count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count of event %d must not be negative: %lld",
						event_id, (long long) count)));
}

int64
l4_evector_add_counts(int32 event_id, int64 a, int64 b)
{
	int64		sum;

	if (pg_add_s64_overflow(a, b, &sum))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("count of event %d is out of range for type bigint",
						event_id)));
	return sum;
}

/*
 * The number of events is known only at the end, and comes first: events are
 * written after room for the longest number and moved up by what it spares.
 */
void
l4_evector_begin(L4EvectorWriter *writer, int32 expected)
{
	writer->vector = palloc(VARHDRSZ + L4_EVECTOR_MAX_BYTES(expected));
	writer->p = (uint8 *) VARDATA(writer->vector) + 1 + 5;
	writer->last_id = 0;
	writer->n = 0;
	writer->expected = expected;
}

void
l4_evector_append(L4EvectorWriter *writer, int32 event_id, int64 count)
{
	Assert(count > 0 && writer->n < writer->expected);
	Assert(writer->n == 0 || event_id > writer->last_id);
	writer->p = l4_varint_put(writer->p, writer->n == 0 ? l4_zigzag(event_id) :
							  (uint64) (event_id - writer->last_id - 1));
	writer->p = l4_varint_put(writer->p, (uint64) count - 1);
	writer->last_id = event_id;
	writer->n++;
}

struct varlena *
l4_evector_finish(L4EvectorWriter *writer)
{
	uint8	   *start = (uint8 *) VARDATA(writer->vector);
	uint8	   *events = start + 1 + 5;
	Size		size = writer->p - events;
	uint8	   *p;

	start[0] = L4_EVECTOR_VERSION;
	p = l4_varint_put(start + 1, writer->n);
	memmove(p, events, size);
	SET_VARSIZE(writer->vector, VARHDRSZ + (p - start) + size);
	return writer->vector;
}

static int
compare_event_ids(const void *a, const void *b)
{
	int32		x = ((const L4EventCount *) a)->event_id;
	int32		y = ((const L4EventCount *) b)->event_id;

	return (x > y) - (x < y);
}

struct varlena *
l4_evector_from_counts(L4EventCount *counts, int64 n)
{
	L4EvectorWriter writer;
	bool		sorted = true;

	for (int64 i = 0; i < n; i++)
	{
		l4_evector_check_count(counts[i].event_id, counts[i].count);
		if (i > 0 && counts[i].event_id <= counts[i - 1].event_id)
			sorted = false;
	}
	if (!sorted)
		qsort(counts, n, sizeof(L4EventCount), compare_event_ids);
	l4_evector_check_size(n);
	l4_evector_begin(&writer, (int32) n);
	for (int64 i = 0; i < n; i++)
	{
		if (i > 0 && counts[i].event_id == counts[i - 1].event_id)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("event %d occurs twice in an event_vector",
							counts[i].event_id)));
		if (counts[i].count > 0)
			l4_evector_append(&writer, counts[i].event_id, counts[i].count);
	}
	return l4_evector_finish(&writer);
}

L4EventCount *
l4_evector_to_counts(const struct varlena *vector, int32 *n)
{
	L4EvectorReader reader;
	L4EventCount *counts;
	int32		i = 0;

	l4_evector_open(&reader, vector);
	counts = palloc(Max(reader.n, 1) * sizeof(L4EventCount));
	while (l4_evector_next(&reader))
	{
		counts[i].event_id = (int32) reader.event_id;
		counts[i++].count = reader.count;
	}
	*n = i;
	return counts;
}

struct varlena *
l4_evector_sum(const struct varlena *a, const struct varlena *b)
{
	L4EvectorReader x;
	L4EvectorReader y;
	L4EvectorWriter writer;
	bool		more_x;
	bool		more_y;

	l4_evector_open(&x, a);
	l4_evector_open(&y, b);
	l4_evector_begin(&writer, x.n + y.n);
	more_x = l4_evector_next(&x);
	more_y = l4_evector_next(&y);
	while (more_x || more_y)
	{
		if (more_x && more_y && x.event_id == y.event_id)
		{
			l4_evector_append(&writer, (int32) x.event_id,
							  l4_evector_add_counts((int32) x.event_id, x.count, y.count));
			more_x = l4_evector_next(&x);
			more_y = l4_evector_next(&y);
		}
		else if (more_x && (!more_y || x.event_id < y.event_id))
		{
			l4_evector_append(&writer, (int32) x.event_id, x.count);
			more_x = l4_evector_next(&x);
		}
		else
		{
			l4_evector_append(&writer, (int32) y.event_id, y.count);
			more_y = l4_evector_next(&y);
		}
	}
	l4_evector_check_size(writer.n);
	return l4_evector_finish(&writer);
}

/*
 * Order for sorting and grouping: like a list of (event, count) pairs, the
 * shorter first where one is the beginning of the other.
 */
int
l4_evector_compare(const struct varlena *a, const struct varlena *b)
{
	L4EvectorReader x;
	L4EvectorReader y;

	l4_evector_open(&x, a);
	l4_evector_open(&y, b);
	for (;;)
	{
		bool		more_x = l4_evector_next(&x);
		bool		more_y = l4_evector_next(&y);

		if (!more_x || !more_y)
			return (int) more_x - (int) more_y;
		if (x.event_id != y.event_id)
			return x.event_id < y.event_id ? -1 : 1;
		if (x.count != y.count)
			return x.count < y.count ? -1 : 1;
	}
}

int64
l4_evector_get(const struct varlena *vector, int32 event_id)
{
	L4EvectorReader reader;
	int64		count = 0;

	l4_evector_open(&reader, vector);
	while (l4_evector_next(&reader) && reader.event_id <= event_id)
	{
		if (reader.event_id == event_id)
			count = reader.count;
	}
	return count;
}

/*
 * Distance of two vectors. The cosine distance of an empty vector, which has
 * no direction, is 1 (nothing in common), or 0 from another empty one.
 */
double
l4_evector_distance(const struct varlena *a, const struct varlena *b,
					L4Distance kind)
{
	L4EvectorReader x;
	L4EvectorReader y;
	bool		more_x;
	bool		more_y;
	double		sum = 0;		/* of differences, or of products */
	double		norm_x = 0;
	double		norm_y = 0;

	l4_evector_open(&x, a);
	l4_evector_open(&y, b);
	more_x = l4_evector_next(&x);
	more_y = l4_evector_next(&y);
	while (more_x || more_y)
	{
		bool		take_x = more_x && (!more_y || x.event_id <= y.event_id);
		bool		take_y = more_y && (!more_x || y.event_id <= x.event_id);
		int64		p = take_x ? x.count : 0;
		int64		q = take_y ? y.count : 0;

		/* counts are not negative, so the difference cannot overflow */
		if (kind == L4_DISTANCE_L1)
			sum += fabs((double) (p - q));
		else if (kind == L4_DISTANCE_L2)
			sum += (double) (p - q) * (double) (p - q);
		else
		{
			sum += (double) p * (double) q;
			norm_x += (double) p * (double) p;
			norm_y += (double) q * (double) q;
		}
		if (take_x)
			more_x = l4_evector_next(&x);
		if (take_y)
			more_y = l4_evector_next(&y);
	}
	if (kind == L4_DISTANCE_L1)
		return sum;
	if (kind == L4_DISTANCE_L2)
		return sqrt(sum);
	if (norm_x == 0 || norm_y == 0)
		return norm_x == norm_y ? 0 : 1;

	/* rounding must not leave the range */
	return 1 - Min(1, sum / (sqrt(norm_x) * sqrt(norm_y)));
}

uint64
l4_evector_hash(const struct varlena *vector, uint64 seed)
{
	const uint8 *p = (const uint8 *) VARDATA_ANY(vector);
	Size		left = VARSIZE_ANY_EXHDR(vector);
	uint64		h = seed ^ ((uint64) left * UINT64CONST(0x9e3779b97f4a7c15));
	uint64		tail = 0;

	for (; left >= 8; left -= 8, p += 8)
	{
		h ^= load64(p);
		h *= UINT64CONST(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	for (Size i = 0; i < left; i++)
		tail |= (uint64) p[i] << (8 * i);
	h ^= tail;
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}
