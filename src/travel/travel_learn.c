/*
 * travel_learn.c
 *		What an import makes of the events and the roll-up of another server:
 *		events are learnt as ingest learns them, and the job is counted as
 *		ingest counts it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/clip.h"
#include "ingest/batch.h"
#include "ingest/ingest_scan.h"
#include "ingest/ingest_shape.h"
#include "l4_compat.h"
#include "lines/lineformat.h"
#include "miner/parser.h"

/* An argument that is an array, as its elements. */
typedef struct Elements
{
	int			n;
	Datum	   *values;
	bool	   *nulls;
} Elements;

static Elements
array_argument(FunctionCallInfo fcinfo, int arg, Oid type, int n)
{
	ArrayType  *array;
	Elements	elements;
	int16		len;
	bool		byval;
	char		align;

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument %d must not be NULL", arg + 1)));
	array = PG_GETARG_ARRAYTYPE_P(arg);
	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(array, type, len, byval, align, &elements.values, &elements.nulls, &elements.n);
	if (n >= 0 && elements.n != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("all arrays must have the same length")));
	return elements;
}

static char *
element_text(const Elements *elements, int i)
{
	return elements->nulls[i] ? NULL : text_to_cstring(DatumGetTextPP(elements->values[i]));
}

/* The parser of the workflow, for looking at messages. */
static L4Parser *
stored_parser(void)
{
	L4Query		query;
	bool		isnull;
	L4Parser   *parser;

	l4_query_prepare(&query, "SELECT m.parser FROM l4._model m", 0, NULL);
	if (l4_query_run(&query) != 1)
		elog(ERROR, "there is no parser");
	parser = l4_parser_decode(PG_DETOAST_DATUM(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)),
							  CurrentMemoryContext);
	SPI_freetuptable(SPI_tuptable);
	l4_parser_need_shapes(parser);
	return parser;
}

/* A shape that a scan might have found: the message that made an event elsewhere. */
static L4Local *
make_local(L4Parser *parser, L4Shape *shape, const char *level, char *message, char *record, int rule, bool is_stack,
		   const char *coarse)
{
	L4Local    *local = (L4Local *) palloc0(sizeof(L4Local));

	local->tag = level == NULL ? L4_LEVEL_NONE : l4_level_of(level, strlen(level));
	local->iteration_rule = rule;
	local->is_stack = is_stack;
	local->msg = message;
	local->msg_len = l4_clip(message, strlen(message), L4_MAX_SCAN_MSG);
	local->coarse = coarse;
	local->text = record;
	local->text_len = strlen(record);
	local->ts = L4_NO_TS;
	if (coarse == NULL)
	{
		l4_parser_scan(parser, local->msg, local->msg_len, shape);
		local->nparams = l4_params_of_shape(parser, local->msg, local->msg_len, shape, &local->params, CurrentMemoryContext);
	}
	return local;
}

/*
 * l4._learn_events(levels, messages, records, iteration rules, is a stack,
 * templates of coarse ones): the events of messages, which are learnt in this
 * order where they are not known; those under which values of the messages are
 * kept (see l4_parser_words)
 */
L4_FUNCTION(l4_learn_events)
{
	Elements	messages = array_argument(fcinfo, 1, TEXTOID, -1);
	int			n = messages.n;
	Elements	levels = array_argument(fcinfo, 0, TEXTOID, n);
	Elements	records = array_argument(fcinfo, 2, TEXTOID, n);
	Elements	rules = array_argument(fcinfo, 3, INT4OID, n);
	Elements	stacks = array_argument(fcinfo, 4, BOOLOID, n);
	Elements	coarse = array_argument(fcinfo, 5, TEXTOID, n);
	int32	   *ids = (int32 *) palloc(sizeof(int32) * Max(n, 1));
	L4ScanResult *scanned = (L4ScanResult *) palloc0(sizeof(L4ScanResult));
	L4BatchPiece piece = {.scanned = scanned};
	L4Batch		batch = {.npieces = 1, .pieces = &piece, .batch_cxt = CurrentMemoryContext};
	L4Parser   *parser;
	L4Shape		shape;

	SPI_connect();
	parser = stored_parser();
	l4_shape_init(&shape, CurrentMemoryContext);
	scanned->settled.locals = (L4Local **) palloc(sizeof(L4Local *) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		char	   *message = element_text(&messages, i);
		char	   *record = element_text(&records, i);

		CHECK_FOR_INTERRUPTS();
		if (message == NULL || rules.nulls[i] || stacks.nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("an event without a message, a rule or a kind")));
		scanned->settled.locals[scanned->settled.nlocals++] =
			make_local(parser, &shape, element_text(&levels, i), message, record == NULL ? message : record,
					   DatumGetInt32(rules.values[i]), DatumGetBool(stacks.values[i]), element_text(&coarse, i));
	}
	if (n > 0)
		l4_batch_learn(&batch);
	for (int i = 0; i < n; i++)
	{
		const L4Local *local = scanned->settled.locals[i];

		ids[i] = local->words_of > 0 ? local->words_of : local->event_id;
	}
	/* what was made in between goes with it */
	SPI_finish();
	return l4_int4_array(ids, n);
}

/* l4._words_unlike(parser, message, other): slots and words of a message where the other one has something else */
L4_FUNCTION(l4_words_unlike)
{
	L4Parser   *parser = l4_parser_cached(fcinfo);
	char	   *message = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char	   *other = text_to_cstring(PG_GETARG_TEXT_PP(2));
	L4Word	   *words;
	char	   *shape;
	int32	   *slots;
	Datum	   *texts;
	Datum		values[2];
	bool		nulls[2] = {false};
	int			n;

	l4_parser_need_shapes(parser);
	n = l4_parser_words_unlike(parser, message, l4_clip(message, strlen(message), L4_MAX_SCAN_MSG),
							   other, l4_clip(other, strlen(other), L4_MAX_SCAN_MSG), &shape, &words);
	slots = (int32 *) palloc(sizeof(int32) * Max(n, 1));
	texts = (Datum *) palloc(sizeof(Datum) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		const char *word = shape + words[i].off;

		slots[i] = words[i].slot * L4_MAX_PARAMS;
		texts[i] = PointerGetDatum(cstring_to_text_with_len(word, l4_clip(word, words[i].len, L4_MAX_VALUE_LEN)));
	}
	values[0] = l4_int4_array(slots, n);
	values[1] = l4_array(texts, n, TEXTOID);
	return l4_row(fcinfo, values, nulls);
}

/*
 * l4._count_job(job, events, nodes, sources, lines, times, texts): counts of a
 * job from its streams, and its first records from those stored and these
 */
L4_FUNCTION(l4_count_job)
{
	char	   *job_id = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	Elements	events = array_argument(fcinfo, 1, INT4OID, -1);
	int			n = events.n;
	Elements	nodes = array_argument(fcinfo, 2, TEXTOID, n);
	Elements	sources = array_argument(fcinfo, 3, TEXTOID, n);
	Elements	lines = array_argument(fcinfo, 4, INT8OID, n);
	Elements	times = array_argument(fcinfo, 5, TIMESTAMPTZOID, n);
	Elements	texts = array_argument(fcinfo, 6, TEXTOID, n);
	L4JobCounts *counts;
	L4Packed	packed;

	if (job_id == NULL)
		PG_RETURN_VOID();
	memset(&packed, 0, sizeof(packed));
	SPI_connect();
	counts = l4_job_counts_create(CurrentMemoryContext);
	l4_job_counts_stream(counts, job_id, "", "", &packed);
	packed.nexamples = 1;
	for (int i = 0; i < n; i++)
	{
		text	   *record = texts.nulls[i] ? NULL : DatumGetTextPP(texts.values[i]);
		L4Example	example;

		CHECK_FOR_INTERRUPTS();
		if (record == NULL || events.nulls[i] || nodes.nulls[i] || sources.nulls[i] || lines.nulls[i])
			continue;
		example.event_id = DatumGetInt32(events.values[i]);
		example.line_no = DatumGetInt64(lines.values[i]);
		example.ts = times.nulls[i] ? L4_NO_TS : DatumGetTimestampTz(times.values[i]);
		example.text = VARDATA_ANY(record);
		example.len = VARSIZE_ANY_EXHDR(record);
		packed.examples = &example;
		l4_job_counts_stream(counts, job_id, element_text(&nodes, i), element_text(&sources, i), &packed);
	}
	l4_job_counts_store(counts);
	SPI_finish();
	PG_RETURN_VOID();
}
