/*
 * ingest_parse.c
 *		One line through formats, records and parser, learning nothing: what
 *		l4.parse() calls.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/clip.h"
#include "ingest/ingest_scan.h"
#include "l4_compat.h"
#include "lines/lineformat.h"
#include "lines/record.h"
#include "miner/parser.h"

static Datum
text_or_null(const char *text, int len, bool *isnull)
{
	*isnull = text == NULL;
	return text == NULL ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(text, len));
}

/* (parser, ruleset, line) -> (ts, level, rank, host, component, message, event_id) */
L4_FUNCTION(l4_ingest_parse)
{
	L4Parser   *parser = PG_ARGISNULL(0) ? NULL : l4_parser_cached(fcinfo);
	L4Rules    *rules;
	L4LineReader *lines;
	L4RecordReader *records = l4_record_reader_create(CurrentMemoryContext);
	const L4Record *record;
	L4RecordPlace place;
	L4Line		line;
	L4Shape		shape;
	text	   *raw;
	Datum		values[7];
	bool		nulls[7] = {false};
	int32		event_id = 0;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	rules = l4_rules_get(PG_GETARG_JSONB_P(1), CurrentMemoryContext);
	raw = PG_GETARG_TEXT_PP(2);
	lines = l4_line_reader_create(rules, NULL, CurrentMemoryContext);
	l4_line_peel(lines, VARDATA_ANY(raw), VARSIZE_ANY_EXHDR(raw), &line);
	l4_record_feed(records, 1, -1, &line, &place);
	record = l4_record_next(records);
	if (record == NULL)
	{
		l4_record_finish(records);
		record = l4_record_next(records);
	}
	if (record == NULL)
		elog(ERROR, "a line makes no record");
	if (parser != NULL)
	{
		l4_parser_need_shapes(parser);
		l4_shape_init(&shape, CurrentMemoryContext);
		l4_parser_scan(parser, record->msg, l4_clip(record->msg, record->msg_len, L4_MAX_SCAN_MSG), &shape);
		event_id = l4_parser_match_shape(parser, record->level, &shape);
	}
	values[0] = TimestampTzGetDatum(line.ts);
	nulls[0] = !line.has_ts;
	values[1] = text_or_null(l4_level_name(record->level),
							 record->level == L4_LEVEL_NONE ? 0 : strlen(l4_level_name(record->level)), &nulls[1]);
	values[2] = Int32GetDatum(line.rank);
	nulls[2] = line.rank < 0;
	values[3] = text_or_null(line.host, line.host_len, &nulls[3]);
	values[4] = text_or_null(line.component, line.component_len, &nulls[4]);
	values[5] = PointerGetDatum(cstring_to_text_with_len(record->msg, record->msg_len));
	values[6] = Int32GetDatum(event_id);
	nulls[6] = event_id == 0;
	return l4_row(fcinfo, values, nulls);
}
