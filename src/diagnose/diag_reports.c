/*
 * diag_reports.c: numbers that nodes report of iterations, in a few bytes each.
 *
 * A report is a number, (turns since the one before << 7 | iterations since then, less one, modulo 64 << 1 | whole), and a value: the
 * difference from the base in parts, zigzag; where the value is not made of whole ones, its eight bytes.
 */
#include "postgres.h"

#include <math.h>


#include "base/varint.h"
#include "diagnose/diagnose.h"

#define WHOLE_MAX 9007199254740992.0	/* up to here a double holds every whole number */

/* Bytes of a block: the first is small, as many iterations have few reports. */
#define FIRST_BLOCK 256
#define LAST_BLOCK 8000

static void
add_block(L4Reports *reports, MemoryContext cxt)
{
	int			size = reports->last == NULL ? FIRST_BLOCK : Min(2 * reports->last->size, LAST_BLOCK);
	L4ReportBlock *block = MemoryContextAlloc(cxt, offsetof(L4ReportBlock, bytes) + size);

	block->next = NULL;
	block->used = 0;
	block->size = size;
	if (reports->last == NULL)
		reports->first = block;
	else
		reports->last->next = block;
	reports->last = block;
}

void
l4_reports_put(L4Reports *reports, MemoryContext cxt, uint32 turn, int place, double value)
{
	double		scaled = value * reports->scale;
	bool		whole = fabs(scaled) < WHOLE_MAX && rint(scaled) / reports->scale == value;
	uint64		since = (uint64) (turn - reports->turn) << L4_REPORTS_BITS | ((place - reports->place - 1) & (L4_REPORTS_MANY - 1));
	uint8	   *p;

	if (reports->last == NULL || reports->last->size - reports->last->used < 2 * L4_VARINT_MAX)
		add_block(reports, cxt);
	p = l4_varint_put(reports->last->bytes + reports->last->used, since << 1 | whole);
	if (whole)
	{
		int64		number = (int64) rint(scaled);

		if (!reports->has_base[place])
		{
			reports->has_base[place] = true;
			reports->base[place] = number;
		}
		p = l4_varint_put(p, l4_zigzag(number - reports->base[place]));
	}
	else
	{
		memcpy(p, &value, sizeof(value));
		p += sizeof(value);
	}
	reports->last->used = p - reports->last->bytes;
	reports->turn = turn;
	reports->place = place;
	reports->n++;
}

void
l4_reports_read(L4ReportReader *reader, const L4Reports *reports)
{
	memset(reader, 0, sizeof(*reader));
	reader->reports = reports;
	reader->block = reports->first;
}

/* False behind the last report. */
bool
l4_reports_next(L4ReportReader *reader)
{
	const uint8 *p;
	const uint8 *end;
	uint64		since = 0;
	uint64		more = 0;

	if (reader->block != NULL && reader->at == reader->block->used)
	{
		reader->block = reader->block->next;
		reader->at = 0;
	}
	if (reader->block == NULL)
		return false;
	end = reader->block->bytes + reader->block->used;
	p = l4_varint_get(reader->block->bytes + reader->at, end, &since);
	reader->turn += (uint32) (since >> (L4_REPORTS_BITS + 1));
	reader->place = (reader->place + 1 + (int) (since >> 1 & (L4_REPORTS_MANY - 1))) & (L4_REPORTS_MANY - 1);
	if (since & 1)
	{
		p = l4_varint_get(p, end, &more);
		reader->value = (double) (reader->reports->base[reader->place] + l4_unzigzag(more)) / reader->reports->scale;
	}
	else
	{
		memcpy(&reader->value, p, sizeof(double));
		p += sizeof(double);
	}
	reader->at = p - reader->block->bytes;
	return true;
}
