/*
 * ingest_sql.c
 *		SQL side of ingest: what scan results hold, and learning.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/args.h"
#include "base/clip.h"
#include "ingest/batch_results.h"
#include "ingest/ingest_learn.h"
#include "ingest/ingest_pack.h"
#include "l4_compat.h"
#include "lines/record.h"

PG_FUNCTION_INFO_V1(l4_ingest_check);
PG_FUNCTION_INFO_V1(l4_ingest_learn);
PG_FUNCTION_INFO_V1(l4_ingest_events);
PG_FUNCTION_INFO_V1(l4_ingest_slots);
PG_FUNCTION_INFO_V1(l4_ingest_words);
PG_FUNCTION_INFO_V1(l4_can_commit);

/* Dictionaries of those of the first scan results that have unknown shapes, in order; NULL for the others. */
static L4ScanResult **
unknown_of_results(int n, int *unknown)
{
	L4ScanResult	  **results = (L4ScanResult **) palloc0(sizeof(L4ScanResult *) * Max(n, 1));

	*unknown = 0;
	for (int i = 0; i < n; i++)
	{
		bytea	   *scanned = l4_batch_result(i);
		L4ResultHead	head;

		if (scanned == NULL)
			continue;
		l4_result_head(scanned, &head, CurrentMemoryContext);
		*unknown += head.unknown;
		if (head.unknown > 0)
			results[i] = l4_result_decode_shapes(scanned, CurrentMemoryContext);
	}
	return results;
}

static Datum
form_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* May the procedure that asks commit: not in a transaction block, not below a function. */
Datum
l4_can_commit(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!IsTransactionBlock() && SPI_inside_nonatomic_context());
}

/* -> (the first scan result that ended early, unknown shapes, which have no lines) */
Datum
l4_ingest_check(PG_FUNCTION_ARGS)
{
	int			n = l4_batch_results_count();
	Datum	   *empty = (Datum *) palloc(sizeof(Datum) * Max(n, 1));
	int			nempty = 0;
	int			full_at = 0;
	int64		unknown = 0;
	Datum		values[3];
	bool		nulls[3] = {false};

	for (int i = 0; i < n && full_at == 0; i++)
	{
		bytea	   *scanned = l4_batch_result(i);
		L4ResultHead	head;

		empty[nempty++] = BoolGetDatum(scanned == NULL);
		if (scanned == NULL)
			continue;
		l4_result_head(scanned, &head, CurrentMemoryContext);
		unknown += head.unknown;
		if (head.full)
			full_at = i + 1;
	}
	values[0] = Int32GetDatum(full_at);
	nulls[0] = full_at == 0;
	values[1] = Int64GetDatum(unknown);
	values[2] = PointerGetDatum(construct_array(empty, nempty, BOOLOID, 1, true, TYPALIGN_CHAR));
	return form_row(fcinfo, values, nulls);
}

/* The parser, argument 0: anybody may come with any. */
static L4Parser *
parser_argument(FunctionCallInfo fcinfo)
{
	L4Parser   *parser = l4_parser_decode((struct varlena *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0)), CurrentMemoryContext);

	l4_parser_need_shapes(parser);
	return parser;
}

/* (parser, number of scan results) -> (parser, learnt, news): the parser knows all shapes; what was learnt of those that were unknown, and what is new */
Datum
l4_ingest_learn(PG_FUNCTION_ARGS)
{
	L4Parser   *parser = parser_argument(fcinfo);
	int			n = PG_GETARG_INT32(1);
	int			unknown;
	L4ScanResult	  **results = unknown_of_results(n, &unknown);
	StringInfoData learnt;
	L4ScanResult		news;
	Datum		values[3];
	bool		nulls[3] = {false};

	memset(&news, 0, sizeof(news));
	news.settled.locals = (L4Local **) palloc(sizeof(L4Local *) * Max(unknown, 1));
	l4_bytea_begin(&learnt);
	l4_learn_results(parser, results, n, &learnt, &news.settled);
	values[0] = PointerGetDatum(l4_parser_encode(parser));
	values[1] = PointerGetDatum(l4_bytea_end(&learnt));
	values[2] = PointerGetDatum(l4_result_encode(&news));
	return form_row(fcinfo, values, nulls);
}

static Datum
excerpt(const char *text, int len)
{
	char		bytes[L4_RECORD_TEXT];

	len = l4_record_excerpt(text, len, bytes);
	return PointerGetDatum(cstring_to_text_with_len(bytes, len));
}

/* (parser, news, above) -> rows of _event for the events with higher ids */
Datum
l4_ingest_events(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Parser   *parser = parser_argument(fcinfo);
	const L4ScanResult *news = l4_result_decode_shapes(PG_GETARG_BYTEA_PP(1), CurrentMemoryContext);
	int32		nevents = l4_parser_nevents(parser);
	int32		above = Min(Max(PG_GETARG_INT32(2), 0), nevents);
	const L4Local **first;

	l4_init_materialized_srf(fcinfo);
	first = l4_learn_first(&news->settled, above, nevents);
	for (int32 id = above + 1; id <= nevents; id++)
	{
		const L4Local *local = first[id - above - 1];
		int32		survivor = l4_parser_resolve(parser, id);
		const char *level = l4_level_name(l4_parser_tag(parser, id));
		Datum		values[9];
		bool		nulls[9] = {false};
		char	   *text = l4_parser_template(parser, id, CurrentMemoryContext);
		Datum		template_text;

		CHECK_FOR_INTERRUPTS();
		if (text == NULL)
			continue;
		template_text = CStringGetTextDatum(text);
		values[0] = Int32GetDatum(id);
		values[1] = Int32GetDatum(survivor);
		nulls[1] = survivor == id;
		values[2] = level == NULL ? (Datum) 0 : CStringGetTextDatum(level);
		nulls[2] = level == NULL;
		values[3] = template_text;
		values[4] = local == NULL ? template_text : excerpt(local->msg, local->msg_len);
		values[5] = local == NULL ? template_text : excerpt(local->text, local->text_len);
		values[6] = Int32GetDatum(local == NULL ? 0 : local->iteration_rule);
		nulls[6] = local == NULL || local->iteration_rule == 0;
		values[7] = BoolGetDatum(local != NULL && local->is_stack);
		values[8] = BoolGetDatum(l4_parser_is_coarse(parser, id));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* (parser, news) -> variable parts of the shapes that are new: event, slot, mask, text before, text after */
Datum
l4_ingest_slots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Parser   *parser = parser_argument(fcinfo);
	const L4ScanResult *news = l4_result_decode_shapes(PG_GETARG_BYTEA_PP(1), CurrentMemoryContext);
	L4Shape		shape;

	l4_init_materialized_srf(fcinfo);
	l4_shape_init(&shape, CurrentMemoryContext);
	for (int l = 0; l < news->settled.nlocals; l++)
	{
		const L4Local *local = news->settled.locals[l];
		L4ParamRange ranges[L4_MAX_PARAMS];
		int			nranges;

		CHECK_FOR_INTERRUPTS();
		nranges = l4_param_ranges(parser, local, &shape, ranges);
		for (int k = 0; k < nranges; k++)
		{
			Datum		values[5];
			bool		nulls[5] = {false};
			int			from = l4_context_start(local->msg, ranges[k].off);
			int			to = ranges[k].off + ranges[k].len;

			values[0] = Int32GetDatum(local->event_id);
			values[1] = Int32GetDatum(ranges[k].pos);
			values[2] = CStringGetTextDatum(ranges[k].mask_name);
			values[3] = PointerGetDatum(cstring_to_text_with_len(local->msg + from, ranges[k].off - from));
			values[4] = PointerGetDatum(cstring_to_text_with_len(local->msg + to,
																 l4_clip(local->msg + to, local->msg_len - to, 32)));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

/* (parser, events, messages that made them) -> words of the messages where their events are open: event, slot, word, text before, text after */
Datum
l4_ingest_words(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Parser   *parser = parser_argument(fcinfo);
	int			nevents;
	const int32 *events = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "events", &nevents);
	Datum	   *messages;
	int			n;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 words", ALLOCSET_DEFAULT_SIZES);

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, -1, false, TYPALIGN_INT, &messages, NULL, &n);
	if (n != nevents)
		elog(ERROR, "%d events, %d messages", nevents, n);
	for (int i = 0; i < n; i++)
		if (events[i] < 1 || events[i] > l4_parser_nevents(parser))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the parser has no event %d", events[i])));
	l4_init_materialized_srf(fcinfo);
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		text	   *message = DatumGetTextPP(messages[i]);
		const char *msg = VARDATA_ANY(message);
		int			len = VARSIZE_ANY_EXHDR(message);
		L4Word	   *words;
		int			nwords = l4_parser_own_words(parser, events[i], msg, len, &words);

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < nwords; k++)
		{
			Datum		values[5];
			bool		nulls[5] = {false};
			int			from = l4_context_start(msg, words[k].off);
			int			to = words[k].off + words[k].len;

			values[0] = Int32GetDatum(events[i]);
			values[1] = Int32GetDatum(words[k].slot * L4_MAX_PARAMS);
			values[2] = PointerGetDatum(cstring_to_text_with_len(msg + words[k].off,
																 l4_clip(msg + words[k].off, words[k].len, L4_MAX_VALUE_LEN)));
			values[3] = PointerGetDatum(cstring_to_text_with_len(msg + from, words[k].off - from));
			values[4] = PointerGetDatum(cstring_to_text_with_len(msg + to, l4_clip(msg + to, len - to, 32)));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	return (Datum) 0;
}
