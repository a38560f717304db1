/*
 * ingest_learn.c
 *		Learning: the shapes of all scan results of a batch that the parser does
 *		not know, in their order, and the rows about the events that come of it.
 *
 * Scan results come in the order of their streams, shapes in the order of first
 * appearance: so the ids do not depend on who scanned what. A shape counts
 * once here; occurrences are counted elsewhere.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/clip.h"
#include "base/grow.h"
#include "ingest/batch.h"
#include "ingest/ingest_shape.h"
#include "l4_compat.h"
#include "lines/record.h"

/* Bytes of the text before and behind a variable part that rules may look at. */
#define BEFORE_BYTES	48
#define AFTER_BYTES		32

/* What reports an iteration as done is training, where no rule says otherwise. */
static const char event_sql[] =
"INSERT INTO l4._event (event_id, merged_into, level, template, example, example_record, stage, iteration_rule, is_stack, "
"is_coarse) "
"VALUES ($1, $2, $3, $4, $5, $6, (SELECT 'train' FROM l4.iteration_rule r WHERE r.rule_id = $7 AND r.kind = 'done'), $7, $8, $9)";
static const Oid event_types[] = {INT4OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT4OID, BOOLOID, BOOLOID};

/* What l4._stage_of() says of the new events, in one pass. */
static const char stage_sql[] =
"UPDATE l4._event e SET stage = u.stages[u.rule], then_stage = u.then_stages[u.rule] "
"FROM (SELECT n.event_id, s.stages, s.then_stages, l4.pcre_first(n.example, s.ranks, s.signatures) AS rule "
"FROM (SELECT array_agg(r.rank ORDER BY r.rank) AS ranks, array_agg(r.signature ORDER BY r.rank) AS signatures, "
"array_agg(r.stage ORDER BY r.rank) AS stages, array_agg(r.then_stage ORDER BY r.rank) AS then_stages FROM l4._active_stage_rule r) s "
"CROSS JOIN l4._event n WHERE n.event_id > $1 OFFSET 0) u WHERE e.event_id = u.event_id AND u.rule IS NOT NULL";
static const Oid stage_types[] = {INT4OID};

/* An event that has grown or was merged. */
static const char grown_sql[] =
"UPDATE l4._event e SET template = $2, merged_into = $3 WHERE e.event_id = $1 RETURNING e.example";
static const Oid grown_types[] = {INT4OID, TEXTOID, INT4OID};

/* Words that events have lost: what was not counted while they were constant. */
static const char word_sql[] =
"INSERT INTO l4._event_word (event_id, slot, word) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
static const Oid word_types[] = {INT4OID, INT4OID, TEXTOID};

/* What a variable part means: by the first message that has it. */
static const char slot_sql[] =
"INSERT INTO l4._event_slot (event_id, slot, mask, kind) "
"SELECT $1, $2, $3, (SELECT nullif(r.kind, 'none') FROM l4._mention_rule r WHERE (r.masks IS NULL OR $3 = ANY (r.masks)) "
"AND (r.before IS NULL OR $4 ~* r.before) AND (r.after IS NULL OR $5 ~* r.after) ORDER BY r.rule_id LIMIT 1) "
"WHERE NOT EXISTS (SELECT FROM l4._event_slot x WHERE x.event_id = $1 AND x.slot = $2) ON CONFLICT DO NOTHING";
static const Oid slot_types[] = {INT4OID, INT4OID, TEXTOID, TEXTOID, TEXTOID};

typedef struct Learning
{
	L4Parser   *parser;
	L4Budgets	budgets;
	L4Shape		shape;
	int32		above;			/* events up to this one were known */
	int			nnews;
	int			news_size;
	L4Local   **news;			/* shapes that nobody had before */
	char	  **templates;		/* of the known events, as they were */
	int32	   *survivors;
	L4Query		events;
	L4Query		words;
	L4Query		slots;
} Learning;

/* The shapes of a part that the parser does not know; their words are kept in a context. */
static void
learn_part(Learning *learning, L4ResultPart *part, MemoryContext cxt)
{
	L4Parser   *parser = learning->parser;

	for (int i = 0; i < part->nlocals; i++)
	{
		L4Local    *local = part->locals[i];
		int32		before = l4_parser_nevents(parser);
		bool		is_new;

		CHECK_FOR_INTERRUPTS();
		if (local->event_id != 0)
			continue;
		l4_parser_use_budget(parser, learning->budgets.job_id == NULL ? NULL : &learning->budgets.of[local->tag >= L4_LEVEL_ERROR]);
		/* a shape that many streams have is learnt for the first of them */
		l4_parser_scan(parser, local->msg, local->msg_len, &learning->shape);
		local->event_id = local->coarse != NULL ? l4_parser_learn_coarse(parser, local->tag, local->coarse)
			: l4_parser_lookup(parser, local->tag, &learning->shape);
		is_new = local->event_id == 0;
		if (is_new)
			local->event_id = l4_parser_learn(parser, local->tag, local->msg, local->msg_len, 1);
		if (l4_parser_is_coarse(parser, local->event_id))
		{
			local->words_of = L4_COARSE;
			is_new = l4_parser_nevents(parser) > before;
			local->nparams = 0;
		}
		else
			local->nwords = l4_words_of_shape(parser, local->tag, &learning->shape, &local->words_of, &local->words, cxt);
		if (!is_new)
			continue;
		/* one that made an event is that event's own, even if the event was merged at once */
		local->made_event = l4_parser_nevents(parser) > before ? l4_parser_nevents(parser) : 0;
		L4_GROW(learning->news, learning->nnews, learning->news_size, CurrentMemoryContext);
		learning->news[learning->nnews++] = local;
	}
}

static Datum
clipped(const char *text, int len, int max)
{
	return PointerGetDatum(cstring_to_text_with_len(text, l4_clip(text, len, max)));
}

static Datum
excerpt(const char *text, int len)
{
	char		bytes[L4_RECORD_TEXT];

	len = l4_record_excerpt(text, len, bytes);
	return PointerGetDatum(cstring_to_text_with_len(bytes, len));
}

/* A variable part of a message and what stands around it. */
static void
put_slot(Learning *learning, int32 event_id, int slot, const char *mask, const char *msg, int msg_len, int from, int to)
{
	L4Query    *rows = &learning->slots;
	int			start = from <= BEFORE_BYTES ? 0 : pg_mbcliplen(msg, from, from - BEFORE_BYTES);

	l4_query_put_int(rows, event_id);
	l4_query_put_int(rows, slot);
	l4_query_put_text(rows, mask);
	l4_query_put(rows, PointerGetDatum(cstring_to_text_with_len(msg + start, from - start)), false);
	l4_query_put(rows, clipped(msg + to, msg_len - to, AFTER_BYTES), false);
	l4_query_run(rows);
}

/* The words of the message that made an event, in places that are variable by now. */
static void
put_words(Learning *learning, int32 event_id, const char *msg, int len)
{
	L4Word	   *words;
	int			n = l4_parser_own_words(learning->parser, event_id, msg, len, &words);

	for (int k = 0; k < n; k++)
	{
		int			from = words[k].off;
		int			slot = words[k].slot * L4_MAX_PARAMS;

		l4_query_put_int(&learning->words, event_id);
		l4_query_put_int(&learning->words, slot);
		l4_query_put(&learning->words, clipped(msg + from, words[k].len, L4_MAX_VALUE_LEN), false);
		l4_query_run(&learning->words);
		put_slot(learning, l4_parser_resolve(learning->parser, event_id), slot, "word", msg, len, from, from + words[k].len);
	}
}

/* The variable parts of the message of a shape. */
static void
put_slots(Learning *learning, const L4Local *local)
{
	const L4Shape *shape = &learning->shape;

	l4_parser_scan(learning->parser, local->msg, local->msg_len, &learning->shape);
	for (int k = 0; k < local->nparams && k < L4_MAX_PARAMS; k++)
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
		put_slot(learning, local->event_id, param->pos, param->mask_name, local->msg, local->msg_len, (int) from, (int) to);
	}
}

static void
put_survivor(L4Query *rows, int32 event_id, int32 survivor)
{
	l4_query_put_int(rows, survivor == event_id ? L4_NO_INT : survivor);
}

/* A new event and its first record; local NULL: its shape is in no scan result. Of a forgotten one there is nothing. */
static void
put_event(Learning *learning, int32 id, const L4Local *local)
{
	L4Query    *rows = &learning->events;
	const char *level = l4_level_name(l4_parser_tag(learning->parser, id));
	char	   *template_text = l4_parser_template(learning->parser, id, CurrentMemoryContext);
	Datum		template_datum;
	Datum		example;

	if (template_text == NULL)
		return;
	template_datum = CStringGetTextDatum(template_text);
	example = local == NULL ? template_datum : excerpt(local->msg, local->msg_len);
	l4_query_put_int(rows, id);
	put_survivor(rows, id, l4_parser_resolve(learning->parser, id));
	l4_query_put_text(rows, level);
	l4_query_put(rows, template_datum, false);
	l4_query_put(rows, example, false);
	l4_query_put(rows, local == NULL ? template_datum : excerpt(local->text, local->text_len), false);
	l4_query_put_int(rows, local == NULL || local->iteration_rule == 0 ? L4_NO_INT : local->iteration_rule);
	l4_query_put_bool(rows, local != NULL && local->is_stack);
	l4_query_put_bool(rows, l4_parser_is_coarse(learning->parser, id));
	l4_query_run(rows);
	put_words(learning, id, VARDATA_ANY(DatumGetPointer(example)), VARSIZE_ANY_EXHDR(DatumGetPointer(example)));
}

/* Known events whose template or survivor is another one now. */
static void
update_grown(Learning *learning)
{
	L4Query		query;

	l4_query_prepare(&query, grown_sql, lengthof(grown_types), grown_types);
	for (int32 id = 1; id <= learning->above; id++)
	{
		char	   *now = l4_parser_template(learning->parser, id, CurrentMemoryContext);
		int32		survivor = l4_parser_resolve(learning->parser, id);

		CHECK_FOR_INTERRUPTS();
		if (now == NULL)
			continue;
		if (survivor != learning->survivors[id] || strcmp(now, learning->templates[id]) != 0)
		{
			l4_query_put_int(&query, id);
			l4_query_put_text(&query, now);
			l4_query_put_int(&query, survivor == id ? L4_NO_INT : survivor);
			if (l4_query_run(&query) == 1)
			{
				char	   *example = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);

				put_words(learning, id, example, strlen(example));
			}
			SPI_freetuptable(SPI_tuptable);
		}
		pfree(now);
	}
}

/* Rows about what is new: words of events before variable parts of shapes, each in order of ids, as the first one counts. */
static void
write_events(Learning *learning)
{
	int32		nevents = l4_parser_nevents(learning->parser);
	L4Query		stages;
	const L4Local **first = (const L4Local **)
		MemoryContextAllocExtended(CurrentMemoryContext, sizeof(L4Local *) * (Size) (nevents - learning->above + 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	l4_query_prepare(&learning->events, event_sql, lengthof(event_types), event_types);
	l4_query_prepare(&learning->words, word_sql, lengthof(word_types), word_types);
	l4_query_prepare(&learning->slots, slot_sql, lengthof(slot_types), slot_types);
	for (int i = 0; i < learning->nnews; i++)
		if (learning->news[i]->made_event > learning->above)
			first[learning->news[i]->made_event - learning->above] = learning->news[i];
	update_grown(learning);
	for (int32 id = learning->above + 1; id <= nevents; id++)
	{
		CHECK_FOR_INTERRUPTS();
		put_event(learning, id, first[id - learning->above]);
	}
	for (int i = 0; i < learning->nnews; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_slots(learning, learning->news[i]);
	}
	l4_query_prepare(&stages, stage_sql, lengthof(stage_types), stage_types);
	l4_query_put_int(&stages, learning->above);
	l4_query_run(&stages);
}

/* The parser, locked: the one row of _model is the lock, and who learns sees what others learnt. Returns its type. */
static Oid
begin_learning(Learning *learning)
{
	L4Query		query;
	bool		isnull;
	Datum		stored;
	Oid			type;

	memset(learning, 0, sizeof(*learning));
	l4_query_prepare(&query, "SELECT m.parser, m.generation FROM l4._model m FOR NO KEY UPDATE", 0, NULL);
	if (l4_query_run(&query) != 1)
		elog(ERROR, "there is no parser");
	stored = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	type = SPI_gettypeid(SPI_tuptable->tupdesc, 1);
	l4_budgets_prepare(&learning->budgets, l4_query_get_int(2, 0));
	learning->parser = l4_parser_decode(PG_DETOAST_DATUM(stored), CurrentMemoryContext);
	l4_parser_need_shapes(learning->parser);
	l4_shape_init(&learning->shape, CurrentMemoryContext);
	learning->above = l4_parser_nevents(learning->parser);
	learning->templates = palloc_extended(sizeof(char *) * (Size) (learning->above + 1), MCXT_ALLOC_HUGE);
	learning->survivors = palloc_extended(sizeof(int32) * (Size) (learning->above + 1), MCXT_ALLOC_HUGE);
	for (int32 id = 1; id <= learning->above; id++)
	{
		learning->templates[id] = l4_parser_template(learning->parser, id, CurrentMemoryContext);
		learning->survivors[id] = l4_parser_resolve(learning->parser, id);
	}
	return type;
}

void
l4_batch_learn(L4Batch *batch)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 learning", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Learning	learning;
	L4Query		query;
	Oid			type = begin_learning(&learning);
	int			job = -1;

	for (int i = 0; i < batch->npieces; i++)
	{
		L4ScanResult *scanned = batch->pieces[i].scanned;

		if (scanned == NULL)
			continue;
		/* what an import brings was within the budgets of the server that learnt it */
		if (batch->pieces[i].waiting != NULL && job != batch->pieces[i].waiting->job)
		{
			l4_budgets_keep(&learning.budgets);
			job = batch->pieces[i].waiting->job;
			l4_budgets_of(&learning.budgets, batch->jobs[job]);
		}
		learn_part(&learning, &scanned->settled, batch->batch_cxt);
		learn_part(&learning, &scanned->open, batch->batch_cxt);
	}
	l4_budgets_keep(&learning.budgets);
	l4_parser_use_budget(learning.parser, NULL);
	l4_query_prepare(&query, "UPDATE l4._model SET parser = $1", 1, &type);
	l4_query_put(&query, PointerGetDatum(l4_parser_encode(learning.parser)), false);
	l4_query_run(&query);
	write_events(&learning);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
