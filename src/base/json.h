/*
 * json.h
 *		Objects of numbers, as jsonb.
 */
#ifndef L4_JSON_H
#define L4_JSON_H

#include <math.h>

#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

static inline void
l4_json_string(JsonbParseState **state, JsonbIteratorToken token, const char *text)
{
	JsonbValue	v;

	v.type = jbvString;
	v.val.string.val = unconstify(char *, text);
	v.val.string.len = strlen(text);
	pushJsonbValue(state, token, &v);
}

/* "name": number; what jsonb has no number for is a string, as in to_jsonb(float8). */
static inline void
l4_json_number(JsonbParseState **state, const char *name, float8 number)
{
	JsonbValue	v;

	l4_json_string(state, WJB_KEY, name);
	if (!isfinite(number))
	{
		l4_json_string(state, WJB_VALUE, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
		return;
	}
	v.type = jbvNumeric;
	v.val.numeric = DatumGetNumeric(DirectFunctionCall1(float8_numeric, Float8GetDatum(number)));
	pushJsonbValue(state, WJB_VALUE, &v);
}

#endif							/* L4_JSON_H */
