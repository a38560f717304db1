/*
 * evector_scatter.h
 *		The counts of an event vector into an array, by event id.
 *
 * Inline, so that each width of cells has loops of its own.
 */
#ifndef L4_EVECTOR_SCATTER_H
#define L4_EVECTOR_SCATTER_H

#include "evector/evector.h"
#include "evector/evector_bytes.h"

/* Store a count as far as the cell goes: false where it does not. */
static pg_attribute_always_inline bool
l4_scatter_one(void *cells, Size width, int64 slot, int64 count)
{
	if (width == sizeof(uint8))
	{
		((uint8 *) cells)[slot] = (uint8) Min(count, PG_UINT8_MAX);
		return count <= PG_UINT8_MAX;
	}
	if (width == sizeof(uint16))
	{
		((uint16 *) cells)[slot] = (uint16) Min(count, PG_UINT16_MAX);
		return count <= PG_UINT16_MAX;
	}
	((int64 *) cells)[slot] = count;
	return true;
}

/* Consecutive events with short counts, as l4_evector_next_run gives them: false when some have no slot. */
static pg_attribute_always_inline bool
l4_scatter_run(void *cells, Size width, uint8 *used, int64 nslots,
			   int64 slot, const uint8 *restrict bytes, int n)
{
	Size		from = (Size) Min(Max(-slot, 0), n);
	Size		upto = (Size) Max(Min(n, nslots - slot), (int64) from);

	/* indexes are as wide as addresses: with -fwrapv GCC vectorizes no others */
	if (used != NULL)
		memset(used + slot + from, 1, upto - from);
	if (width == sizeof(uint8))
	{
		uint8	   *restrict out = (uint8 *) cells + slot;

		for (Size i = from; i < upto; i++)
			out[i] = (uint8) (bytes[i] + 1);
	}
	else if (width == sizeof(uint16))
	{
		uint16	   *restrict out = (uint16 *) cells + slot;

		for (Size i = from; i < upto; i++)
			out[i] = (uint16) (bytes[i] + 1);
	}
	else
	{
		int64	   *restrict out = (int64 *) cells + slot;

		for (Size i = from; i < upto; i++)
			out[i] = (int64) bytes[i] + 1;
	}
	return upto - from == (Size) n;
}

/* The varint of one or two bytes at the low end of a word, which is shifted past it: false when it is longer. */
static inline bool
l4_scatter_take(uint64 *bytes, int *taken, uint32 *value)
{
	uint32		low = *bytes & 0xff;
	uint32		high = *bytes >> 8 & 0xff;

	*value = low;
	*taken += 1;
	*bytes >>= 8;
	if (low < 0x80)
		return true;
	*value = (low & 0x7f) | high << 7;
	*taken += 1;
	*bytes >>= 8;
	return high > 0 && high < 0x80;
}

/*
 * Runs of one event with small numbers, four at a time where all of them take
 * one byte. Stops at any other run, at events without a slot, and before the
 * last event. The positions of four are found by one multiplication: lane k of
 * the product is the sum of lanes 0 to k.
 */
static pg_attribute_always_inline void
l4_scatter_singles(L4EvectorReader *reader, int64 first_id, int64 nslots,
				   void *cells, Size width, uint8 *used)
{
	const uint8 *p = reader->p;
	const uint8 *end = reader->end - 8;
	int32		left = reader->left;
	int64		slot = reader->event_id - first_id; /* of the event before */

	while (left > 4 && p < end && slot >= -1)
	{
		uint64		bytes = l4_load64(p);
		uint32		gap;
		uint32		count;
		int			taken = 0;

		if (L4_ALL_SHORT(bytes) && L4_ALL_SINGLE(bytes))
		{
			uint64		steps = ((bytes >> 1 & UINT64CONST(0x003f003f003f003f)) +
								 UINT64CONST(0x0001000100010001)) * UINT64CONST(0x0001000100010001);

			if (slot + (int64) (steps >> 48) >= nslots)
				break;
			for (int k = 0; k < 4; k++)
			{
				int64		at = slot + (int64) (steps >> 16 * k & 0xffff);

				(void) l4_scatter_one(cells, width, at, (int64) (bytes >> (16 * k + 8) & 0x7f) + 1);
				if (used != NULL)
					used[at] = 1;
			}
			slot += (int64) (steps >> 48);
			p += 8;
			left -= 4;
			continue;
		}
		if (!l4_scatter_take(&bytes, &taken, &gap) || (gap & 1) != 0 ||
			slot + (gap >> 1) + 1 >= nslots ||
			!l4_scatter_take(&bytes, &taken, &count) ||
			!l4_scatter_one(cells, width, slot + (gap >> 1) + 1, (int64) count + 1))
			break;
		slot += (gap >> 1) + 1;
		if (used != NULL)
			used[slot] = 1;
		p += taken;
		left--;
	}
	reader->p = p;
	reader->event_id = slot + first_id;
	reader->left = left;
}

/*
 * cells[id - first_id] = count for all events of a vector whose ids have one
 * of the nslots cells, and used[] = 1 there, if given. A count larger than a
 * cell becomes the largest one. True when all events and counts fit.
 */
static pg_attribute_always_inline bool
l4_evector_scatter(const struct varlena *vector, int64 first_id, int64 nslots,
				   void *cells, Size width, uint8 *used)
{
	L4EvectorReader reader;
	bool		all = true;

	l4_evector_open(&reader, vector);
	while (reader.left > 0)
	{
		int32		first;
		const uint8 *bytes;
		int			n = reader.run < 8 ? 0 : l4_evector_next_run(&reader, &first, &bytes);
		int64		slot;

		if (n > 0)
		{
			all &= l4_scatter_run(cells, width, used, nslots, first - first_id, bytes, n);
			continue;
		}
		if (reader.run == 0 && reader.started)
			l4_scatter_singles(&reader, first_id, nslots, cells, width, used);
		(void) l4_evector_next(&reader);
		slot = reader.event_id - first_id;
		if (slot < 0 || slot >= nslots)
			all = false;
		else
		{
			all &= l4_scatter_one(cells, width, slot, reader.count);
			if (used != NULL)
				used[slot] = 1;
		}
	}
	return all;
}

#endif							/* L4_EVECTOR_SCATTER_H */
