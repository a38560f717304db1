/*
 * evector.c
 *		Event vectors: bytes, sums, order and distances.
 *
 * A vector is a version byte, the number of events, and runs of events. A run
 * is one event, or four and more whose ids follow each other. It starts with
 * the gap to the run before, twice, plus 1 when there are several events, then
 * their number less 4; of the first run it is the id itself, zigzag. The
 * counts of the events follow, each less one. All numbers are varints. Events
 * of a job have small ids that are close together, so most of them take one or
 * two bytes. Order, uniqueness and positive counts hold by construction. Each
 * vector has one encoding, as whoever makes bytes does so by
 * l4_evector_encode(): vectors are compared and hashed as bytes.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"

#include "base/order.h"
#include "evector/evector.h"
#include "l4_compat.h"

/* Fewer consecutive events than that are runs of one each. */
#define SHORTEST_RUN	4

static void
corrupted(const char *detail)
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
		corrupted("The version is unknown.");
	reader->p = l4_varint_get(reader->p + 1, reader->end, &n);

	/* each event takes a byte at least */
	if (reader->p == NULL || n > L4_EVECTOR_MAX_EVENTS ||
		n > (uint64) (reader->end - reader->p))
		corrupted("The number of events is wrong.");
	if (n == 0 && reader->p != reader->end)
		corrupted("There are bytes after the last event.");
	reader->n = reader->left = (int32) n;
	reader->run = 0;
	reader->event_id = 0;
	reader->count = 0;
	reader->started = false;
}

/* Read the start of a run: event_id becomes the id before its first. */
static void
start_run(L4EvectorReader *reader)
{
	const uint8 *p;
	uint64		start;
	uint64		length = 0;
	int64		first;

	p = l4_varint_get(reader->p, reader->end, &start);
	if (p != NULL && (start & 1) != 0)
	{
		p = l4_varint_get(p, reader->end, &length);
		if (length > L4_EVECTOR_MAX_EVENTS)
			p = NULL;
		length += SHORTEST_RUN - 1;
	}
	if (p == NULL || (start >> 1) > UINT64CONST(0xffffffff) ||
		length >= (uint64) reader->left)
	{
		corrupted("A run of events is malformed.");
		return;
	}
	if (reader->started)
		first = reader->event_id + 1 + (int64) (start >> 1);
	else
		first = l4_unzigzag(start >> 1);
	if (first + (int64) length > PG_INT32_MAX)
		corrupted("An event id is out of range.");
	reader->event_id = first - 1;
	reader->run = (int32) length + 1;
	reader->p = p;
	reader->started = true;
}

bool
l4_evector_next_checked(L4EvectorReader *reader)
{
	uint64		count;
	const uint8 *p;

	if (reader->left == 0)
		return false;
	if (reader->run == 0)
		start_run(reader);
	p = l4_varint_get(reader->p, reader->end, &count);
	if (p == NULL || count >= (uint64) PG_INT64_MAX)
	{
		corrupted("A count is malformed.");
		return false;
	}
	reader->event_id++;
	reader->run--;
	reader->count = (int64) count + 1;
	reader->p = p;
	if (--reader->left == 0 && p != reader->end)
		corrupted("There are bytes after the last event.");
	return true;
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

struct varlena *
l4_evector_encode(const L4EventCount *counts, int32 n)
{
	struct varlena *vector = palloc(VARHDRSZ + L4_EVECTOR_MAX_BYTES(n));
	uint8	   *start = (uint8 *) VARDATA(vector);
	uint8	   *p = start;
	int32		i = 0;

	*p++ = L4_EVECTOR_VERSION;
	p = l4_varint_put(p, (uint64) n);
	while (i < n)
	{
		uint64		gap;
		int32		length = 1;

		while (i + length < n &&
			   (int64) counts[i + length].event_id == (int64) counts[i].event_id + length)
			length++;
		if (i == 0)
			gap = l4_zigzag(counts[0].event_id);
		else
			gap = (uint64) ((int64) counts[i].event_id - counts[i - 1].event_id - 1);
		if (length < SHORTEST_RUN)
		{
			p = l4_varint_put(p, gap << 1);
			length = 1;
		}
		else
		{
			p = l4_varint_put(p, gap << 1 | 1);
			p = l4_varint_put(p, (uint64) length - SHORTEST_RUN);
		}
		for (int32 k = 0; k < length; k++, i++)
		{
			Assert(counts[i].count > 0);
			p = l4_varint_put(p, (uint64) counts[i].count - 1);
		}
	}
	SET_VARSIZE(vector, VARHDRSZ + (p - start));
	return vector;
}

struct varlena *
l4_evector_from_counts(L4EventCount *counts, int64 n)
{
	bool		sorted = true;
	int64		kept = 0;

	l4_evector_check_size(n);
	for (int64 i = 0; i < n; i++)
	{
		l4_evector_check_count(counts[i].event_id, counts[i].count);
		if (i > 0 && counts[i].event_id <= counts[i - 1].event_id)
			sorted = false;
	}
	if (!sorted)
		qsort(counts, n, sizeof(L4EventCount), l4_order_int32);
	for (int64 i = 0; i < n; i++)
	{
		if (i > 0 && counts[i].event_id == counts[i - 1].event_id)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("event %d occurs twice in an event_vector",
							counts[i].event_id)));
	}
	for (int64 i = 0; i < n; i++)
	{
		if (counts[i].count > 0)
			counts[kept++] = counts[i];
	}
	return l4_evector_encode(counts, (int32) kept);
}

struct varlena *
l4_evector_sum(const struct varlena *a, const struct varlena *b)
{
	L4EvectorReader x;
	L4EvectorReader y;
	L4EventCount *counts;
	struct varlena *result;
	int32		n = 0;
	bool		more_x;
	bool		more_y;

	l4_evector_open(&x, a);
	l4_evector_open(&y, b);
	counts = palloc(((Size) x.n + y.n) * sizeof(L4EventCount));
	more_x = l4_evector_next(&x);
	more_y = l4_evector_next(&y);
	while (more_x || more_y)
	{
		bool		take_x = more_x && (!more_y || x.event_id <= y.event_id);
		bool		take_y = more_y && (!more_x || y.event_id <= x.event_id);

		counts[n].event_id = (int32) (take_x ? x.event_id : y.event_id);
		if (take_x && take_y)
			counts[n].count = l4_evector_add_counts(counts[n].event_id, x.count, y.count);
		else
			counts[n].count = take_x ? x.count : y.count;
		n++;
		if (take_x)
			more_x = l4_evector_next(&x);
		if (take_y)
			more_y = l4_evector_next(&y);
	}
	l4_evector_check_size(n);
	result = l4_evector_encode(counts, n);
	pfree(counts);
	return result;
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

static pg_attribute_always_inline void
store_run(void *cells, bool narrow, int at, const uint16 *restrict counts, int n)
{
	/* indexes are as wide as addresses: with -fwrapv GCC vectorizes no others */
	for (Size i = 0; i < (Size) n; i++)
	{
		if (narrow)
			((uint16 *restrict) cells + at)[i] = counts[i];
		else
			((int64 *restrict) cells + at)[i] = counts[i];
	}
}

static pg_attribute_always_inline void
spread(L4EvectorReader *reader, const int32 *ids, int n, void *cells, bool narrow)
{
	int			at = 0;

	while (l4_evector_next(reader) && (at = l4_evector_seek(ids, n, at, reader->event_id)) < n)
	{
		int64		id = reader->event_id + 1;
		uint16		counts[L4_EVECTOR_RUN];
		int			run;
		int			k;

		if (ids[at] == reader->event_id && narrow)
			((uint16 *) cells)[at] = (uint16) reader->count;
		else if (ids[at] == reader->event_id)
			((int64 *) cells)[at] = reader->count;
		run = l4_evector_next_run(reader, counts);
		/* as many at a time as are known without a gap */
		for (int i = 0; i < run; i += k)
		{
			at = l4_evector_seek(ids, n, at, id + i);
			if (at == n)
				return;
			k = (int) Min(ids[at] - (id + i), run);
			if (k > 0)
				continue;
			for (k = Min(run - i, n - at); ids[at + k - 1] != id + i + k - 1;)
				k /= 2;
			store_run(cells, narrow, at, counts + i, k);
		}
	}
}

void
l4_evector_spread(const struct varlena *vector, const int32 *ids, int n, void *cells, bool narrow)
{
	L4EvectorReader reader;

	memset(cells, 0, n * (narrow ? sizeof(uint16) : sizeof(int64)));
	l4_evector_open(&reader, vector);
	if (narrow)
		spread(&reader, ids, n, cells, true);
	else
		spread(&reader, ids, n, cells, false);
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

/* One step of a hash; four of them can run side by side. */
static inline uint64
hash_word(uint64 h, uint64 word)
{
	h = (h ^ word) * UINT64CONST(0xff51afd7ed558ccd);
	return h ^ (h >> 32);
}

uint64
l4_evector_hash(const struct varlena *vector, uint64 seed)
{
	const uint8 *p = (const uint8 *) VARDATA_ANY(vector);
	Size		left = VARSIZE_ANY_EXHDR(vector);
	uint64		h = seed ^ ((uint64) left * UINT64CONST(0x9e3779b97f4a7c15));
	uint64		tail = 0;

	if (left >= 64)
	{
		uint64		lanes[4] = {h, h + 1, h + 2, h + 3};

		for (; left >= 32; left -= 32, p += 32)
		{
			for (int i = 0; i < 4; i++)
				lanes[i] = hash_word(lanes[i], l4_load64(p + 8 * i));
		}
		for (int i = 0; i < 4; i++)
			h = hash_word(h, lanes[i]);
	}
	for (; left >= 8; left -= 8, p += 8)
		h = hash_word(h, l4_load64(p));
	for (Size i = 0; i < left; i++)
		tail |= (uint64) p[i] << (8 * i);
	h ^= tail;
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}
