/*
 * ingest_learn.c
 *		The leader's part of learning: the shapes of all scan results that the parser
 *		does not know, in their order.
 *
 * Scan results come in the order of their streams, shapes in the order of first
 * appearance: so the ids do not depend on who scanned what. A shape counts
 * once here; occurrences are counted elsewhere.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "ingest/ingest_learn.h"
#include "l4_compat.h"

/* Bytes of the text before a variable part that rules may look at. */
#define CONTEXT_BYTES 48

static void
learn_part(L4Parser *parser, L4ResultPart *part, L4Shape *shape, L4Codec *learnt, L4ResultPart *news)
{
	for (int i = 0; i < part->nlocals; i++)
	{
		L4Local    *local = part->locals[i];
		int32		before = l4_parser_nevents(parser);
		bool		is_new;

		CHECK_FOR_INTERRUPTS();
		if (local->event_id != 0)
			continue;
		/* a shape that many streams have is learnt for the first of them */
		l4_parser_scan(parser, local->msg, local->msg_len, shape);
		local->event_id = l4_parser_lookup(parser, local->tag, shape);
		is_new = local->event_id == 0;
		if (is_new)
			local->event_id = l4_parser_learn(parser, local->tag, local->msg, local->msg_len, 1);
		if (l4_parser_is_coarse(parser, local->event_id))
		{
			local->words_of = L4_COARSE;
			is_new &= l4_parser_nevents(parser) > before;
			local->nparams = 0;
		}
		else
			local->nwords = l4_words_of_shape(parser, local->tag, shape, &local->words_of, &local->words,
											  CurrentMemoryContext);
		l4_code_learnt(learnt, local);
		if (!is_new)
			continue;
		/* one that made an event is that event's own, even if the event was merged at once */
		local->made_event = l4_parser_nevents(parser) > before ? l4_parser_nevents(parser) : 0;
		news->locals[news->nlocals++] = local;
	}
}

void
l4_learn_results(L4Parser *parser, L4ScanResult **results, int n, StringInfo learnt, L4ResultPart *news)
{
	L4Codec		codec = {.out = learnt};
	L4Shape		shape;

	l4_shape_init(&shape, CurrentMemoryContext);
	for (int i = 0; i < n; i++)
	{
		if (results[i] == NULL)
			continue;
		learn_part(parser, &results[i]->settled, &shape, &codec, news);
		learn_part(parser, &results[i]->open, &shape, &codec, news);
	}
}

/* The shapes that made the events above an id. */
const L4Local **
l4_learn_first(const L4ResultPart *news, int32 above, int32 nevents)
{
	const L4Local **first = (const L4Local **)
		MemoryContextAllocExtended(CurrentMemoryContext, sizeof(L4Local *) * Max(nevents - above, 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int l = 0; l < news->nlocals; l++)
	{
		int32		id = news->locals[l]->made_event;

		if (id > above && id <= nevents)
			first[id - above - 1] = news->locals[l];
	}
	return first;
}

/* Start of the text before a variable part that is shown to rules. */
int
l4_context_start(const char *msg, int off)
{
	return off <= CONTEXT_BYTES ? 0 : pg_mbcliplen(msg, off, off - CONTEXT_BYTES);
}

/* The variable parts of the message of a dictionary entry. */
int
l4_param_ranges(L4Parser *parser, const L4Local *local, L4Shape *shape, L4ParamRange ranges[L4_MAX_PARAMS])
{
	int			n = 0;

	l4_parser_scan(parser, local->msg, local->msg_len, shape);
	for (int k = 0; k < local->nparams && n < L4_MAX_PARAMS; k++)
	{
		const L4Param *param = &local->params[k];
		int64		from;
		int64		to;

		if (param->last_slot >= shape->nslots)
			break;
		from = (int64) shape->slots[param->first_slot].off - param->lead;
		to = (int64) shape->slots[param->last_slot].off + shape->slots[param->last_slot].len + param->trail;
		if (from < 0 || from > to || to > local->msg_len)
			l4_bytes_corrupted("slots");
		ranges[n].pos = param->pos;
		ranges[n].mask_name = param->mask_name;
		ranges[n].off = (uint32) from;
		ranges[n].len = (uint32) (to - from);
		n++;
	}
	return n;
}
