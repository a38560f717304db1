/*
 * evector_scatter.h
 *		The counts of an event vector into an array, by event id.
 *
 * Inline, so that each width of cells has loops of its own.
 */
#ifndef L4_EVECTOR_SCATTER_H
#define L4_EVECTOR_SCATTER_H

#include "evector/evector.h"

/* Counts of a run that are stored at a time. */
#define L4_SCATTER_RUN	32

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

/*
 * Store the first n counts of a run, where each takes one byte. Returns how
 * many do; what is stored behind them is overwritten by whoever reads on.
 */
static pg_attribute_always_inline int
l4_scatter_run(void *cells, Size width, int64 slot, const uint8 *restrict bytes, int n)
{
	uint8		all = 0;
	int			taken = 0;

	/* indexes are as wide as addresses: with -fwrapv GCC vectorizes no others */
	for (Size i = 0; i < (Size) n; i++)
	{
		if (width == sizeof(uint8))
			((uint8 *restrict) cells + slot)[i] = (uint8) (bytes[i] + 1);
		else if (width == sizeof(uint16))
			((uint16 *restrict) cells + slot)[i] = (uint16) (bytes[i] + 1);
		else
			((int64 *restrict) cells + slot)[i] = (int64) bytes[i] + 1;
		all |= bytes[i];
	}
	if (all < 0x80)
		return n;
	while (bytes[taken] < 0x80)
		taken++;
	return taken;
}

/* Read a number of one or two bytes; NULL when it is longer. */
static inline const uint8 *
l4_scatter_take(const uint8 *p, uint32 *value)
{
	*value = p[0];
	if (likely(p[0] < 0x80))
		return p + 1;
	*value = (p[0] & 0x7f) | (uint32) p[1] << 7;
	return p[1] > 0 && p[1] < 0x80 ? p + 2 : NULL;
}

/*
 * Go on with the events behind the current one as long as their numbers take
 * one or two bytes, which is nearly always, and as long as they fit. The last
 * event is left to l4_evector_next(), which checks the end.
 */
static pg_attribute_always_inline void
l4_scatter_short(L4EvectorReader *reader, int64 slot, int64 nslots,
				 void *cells, Size width, uint8 *used)
{
	/* copies: storing counts could change the reader, for all C knows */
	const uint8 *p = reader->p;
	const uint8 *end = reader->end;
	int64		first_id = reader->event_id - slot;
	int32		left = reader->left;
	int32		run = reader->run;

	while (left > 1 && end - p >= 4)
	{
		const uint8 *next = p;
		uint32		gap = 0;
		uint32		count;

		if (unlikely(run > 0) && *p < 0x80 && slot + 1 < nslots)
		{
			int			n = (int) Min(Min(run, left - 1), Min(end - p, nslots - 1 - slot));

			n = l4_scatter_run(cells, width, slot + 1, p, Min(n, L4_SCATTER_RUN));
			if (used != NULL)
				memset(used + slot + 1, 1, n);
			slot += n;
			run -= n;
			left -= n;
			p += n;
			continue;
		}
		if (run == 0)
			next = l4_scatter_take(p, &gap);
		if (next == NULL || (gap & 1) != 0 || slot + (gap >> 1) + 1 >= nslots)
			break;
		next = l4_scatter_take(next, &count);
		if (next == NULL || !l4_scatter_one(cells, width, slot + (gap >> 1) + 1, (int64) count + 1))
			break;
		slot += (gap >> 1) + 1;
		if (used != NULL)
			used[slot] = 1;
		run -= run > 0;
		left--;
		p = next;
	}
	reader->p = p;
	reader->event_id = first_id + slot;
	reader->left = left;
	reader->run = run;
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
	while (l4_evector_next(&reader))
	{
		int64		slot = reader.event_id - first_id;

		if (slot < 0 || slot >= nslots)
		{
			all = false;
			continue;
		}
		all &= l4_scatter_one(cells, width, slot, reader.count);
		if (used != NULL)
			used[slot] = 1;
		l4_scatter_short(&reader, slot, nslots, cells, width, used);
	}
	return all;
}

#endif							/* L4_EVECTOR_SCATTER_H */
