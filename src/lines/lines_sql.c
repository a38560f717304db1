/*
 * lines_sql.c
 *		SQL side of line formats and iteration rules: what l4.parse() and the
 *		tests call. Ingest uses the C functions.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/json.h"
#include "l4_compat.h"
#include "lines/iterrule.h"
#include "lines/lineformat.h"

static Datum
text_datum(const char *p, int len)
{
	return PointerGetDatum(cstring_to_text_with_len(p, len));
}

/* _peel(ruleset jsonb, line text, reference timestamptz) */
L4_FUNCTION(l4_peel)
{
	text	   *line;
	L4LineReader *reader;
	L4Line		out;
	Datum		values[9];
	bool		nulls[9] = {false};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	line = PG_GETARG_TEXT_PP(1);
	reader = l4_line_reader_create(l4_rules_get(PG_GETARG_JSONB_P(0), CurrentMemoryContext), NULL, CurrentMemoryContext);
	if (!PG_ARGISNULL(2))
		l4_line_reader_reference(reader, PG_GETARG_TIMESTAMPTZ(2));
	l4_line_peel(reader, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line), &out);
	nulls[0] = !out.has_ts;
	values[0] = TimestampTzGetDatum(out.ts);
	nulls[1] = out.level == L4_LEVEL_NONE;
	values[1] = nulls[1] ? (Datum) 0 : CStringGetTextDatum(l4_level_name(out.level));
	nulls[2] = out.rank < 0;
	values[2] = Int32GetDatum(out.rank);
	nulls[3] = out.host == NULL;
	values[3] = nulls[3] ? (Datum) 0 : text_datum(out.host, out.host_len);
	nulls[4] = out.component == NULL;
	values[4] = nulls[4] ? (Datum) 0 : text_datum(out.component, out.component_len);
	nulls[5] = out.pid < 0;
	values[5] = Int64GetDatum(out.pid);
	values[6] = text_datum(out.msg, out.msg_len);
	nulls[7] = out.format_id <= 0;
	values[7] = Int32GetDatum(out.format_id);
	values[8] = BoolGetDatum(out.logged);
	return l4_row(fcinfo, values, nulls);
}

static Jsonb *
metrics_to_jsonb(const L4Iteration *it)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < it->nmetrics; i++)
		l4_json_number(&state, it->metrics[i].name, it->metrics[i].value);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* _iteration(ruleset jsonb, message text) */
L4_FUNCTION(l4_iteration)
{
	Jsonb	   *ruleset = PG_GETARG_JSONB_P(0);
	text	   *msg = PG_GETARG_TEXT_PP(1);
	L4Rules    *rules = l4_rules_get(ruleset, CurrentMemoryContext);
	L4Iteration it;
	Datum		values[7];
	bool		nulls[7] = {false};

	if (!l4_iter_match(rules, VARDATA_ANY(msg), VARSIZE_ANY_EXHDR(msg), &it))
		PG_RETURN_NULL();
	values[0] = Int32GetDatum(it.rule_id);
	values[1] = CStringGetTextDatum(it.done ? "done" : "in_flight");
	values[2] = Int64GetDatum(it.iter);
	nulls[2] = it.iter < 0;
	nulls[3] = it.total < 0;
	values[3] = Int64GetDatum(it.total);
	nulls[4] = it.epoch < 0;
	values[4] = Int64GetDatum(it.epoch);
	nulls[5] = isnan(it.duration_ms);
	values[5] = Float8GetDatum(it.duration_ms);
	values[6] = JsonbPGetDatum(metrics_to_jsonb(&it));
	return l4_row(fcinfo, values, nulls);
}

/* _check_ts_format(text): true, or the error that says what is wrong */
L4_FUNCTION(l4_check_ts_format)
{
	text	   *format = PG_GETARG_TEXT_PP(0);

	(void) l4_ts_compile(VARDATA_ANY(format), VARSIZE_ANY_EXHDR(format), CurrentMemoryContext);
	PG_RETURN_BOOL(true);
}
