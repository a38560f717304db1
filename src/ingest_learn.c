/*
 * ingest_learn.c
 *		The leader's part of learning: the shapes of all units that the parser
 *		does not know, in their order.
 *
 * Units come in the order of their streams, shapes in the order of first
 * appearance: so the ids do not depend on who scanned what. A shape counts
 * once here; occurrences are counted elsewhere.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "ingest_learn.h"
#include "l4_compat.h"

/* Bytes of the text before a variable part that rules may look at. */
#define CONTEXT_BYTES 48

static void
learn_part(L4Parser *parser, L4UnitPart *part, L4Shape *shape)
{
	for (int i = 0; i < part->nlocals; i++)
	{
		L4Local    *local = part->locals[i];

		CHECK_FOR_INTERRUPTS();
		if (local->event_id != 0)
			continue;
		/* a shape that many streams have is learnt for the first of them */
		l4_parser_scan(parser, local->msg, local->msg_len, shape);
		local->event_id = l4_parser_lookup(parser, local->tag, shape);
		if (local->event_id != 0)
			continue;
		local->learnt = true;
		local->event_id = l4_parser_learn(parser, local->tag, local->msg, local->msg_len, 1);
	}
}

void
l4_learn_units(L4Parser *parser, L4Unit **units, int n)
{
	L4Shape		shape;

	l4_shape_init(&shape, CurrentMemoryContext);
	for (int i = 0; i < n; i++)
	{
		if (units[i] == NULL)
			continue;
		learn_part(parser, &units[i]->settled, &shape);
		learn_part(parser, &units[i]->open, &shape);
	}
}

/* The first shape of each event above an id; NULL where none of the units has one. */
const L4Local **
l4_learn_first(L4Unit **units, int n, int32 above, int32 nevents)
{
	const L4Local **first = (const L4Local **)
		MemoryContextAllocExtended(CurrentMemoryContext, sizeof(L4Local *) * Max(nevents - above, 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int i = 0; i < n; i++)
		for (int k = 0; units[i] != NULL && k < 2; k++)
		{
			const L4UnitPart *part = k == 0 ? &units[i]->settled : &units[i]->open;

			for (int l = 0; l < part->nlocals; l++)
			{
				int32		id = part->locals[l]->event_id;

				if (id > above && id <= nevents && first[id - above - 1] == NULL)
					first[id - above - 1] = part->locals[l];
			}
		}
	return first;
}

/* Start of the text before a variable part that is shown to rules. */
int
l4_context_start(const char *msg, int off)
{
	return off <= CONTEXT_BYTES ? 0 : pg_mbcliplen(msg, off, off - CONTEXT_BYTES);
}

static bool
overlaps_slot(const L4Shape *shape, uint32 off, uint32 len)
{
	for (int s = 0; s < shape->nslots; s++)
		if (shape->slots[s].off < off + len && off < shape->slots[s].off + shape->slots[s].len)
			return true;
	return false;
}

/*
 * The variable parts of the message of a dictionary entry: those of its
 * shape, and words that are constant in it but vary in its event.
 */
int
l4_param_ranges(L4Parser *parser, const L4Local *local, L4Shape *shape,
				L4ParamRange ranges[2 * L4_MAX_PARAMS])
{
	L4Parameter *found;
	int			nfound;
	int			n = 0;
	int			before = -1;

	l4_parser_scan(parser, local->msg, local->msg_len, shape);
	for (int k = 0; k < local->nparams && n < L4_MAX_PARAMS; k++)
	{
		const L4Param *param = &local->params[k];

		if (param->last_slot >= shape->nslots)
			break;
		ranges[n].pos = param->pos;
		ranges[n].mask = param->mask;
		ranges[n].off = shape->slots[param->first_slot].off;
		ranges[n].len = shape->slots[param->last_slot].off + shape->slots[param->last_slot].len - ranges[n].off;
		ranges[n].word = false;
		n++;
	}
	nfound = l4_parser_parameters(parser, l4_parser_resolve(parser, local->event_id), local->msg, local->msg_len, &found);
	for (int i = 0; i < nfound && n < 2 * L4_MAX_PARAMS; i++)
	{
		const char *value = found[i].value;
		uint32		off;
		int			pos;

		/* an empty one, one that is not bytes of the message, or one of the shape's own */
		if (found[i].len == 0 || value < local->msg || value + found[i].len > local->msg + local->msg_len)
			continue;
		off = value - local->msg;
		if (overlaps_slot(shape, off, found[i].len))
			continue;
		pos = l4_param_position(local->msg, shape, off) * L4_MAX_PARAMS;
		for (int k = 0; k < local->nparams; k++)
			pos += local->params[k].pos == pos;
		pos = Max(pos, before + 1);
		before = pos;
		ranges[n].pos = pos;
		ranges[n].mask = L4_MASK_WORD;
		ranges[n].off = off;
		ranges[n].len = found[i].len;
		ranges[n].word = true;
		n++;
	}
	return n;
}
