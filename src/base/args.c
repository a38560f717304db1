/*
 * args.c
 *		Arguments and results of the library's functions.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "base/args.h"

int
l4_check_array(ArrayType *array, const char *name)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array \"%s\" must have one dimension, not %d",
						name, ARR_NDIM(array))));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array \"%s\" must not contain nulls", name)));
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

/* Length of an array of a type. */
static int
check_array(ArrayType *array, Oid type, const char *name)
{
	if (ARR_ELEMTYPE(array) != type)
		elog(ERROR, "array \"%s\" has elements of type %u, expected %u",
			 name, ARR_ELEMTYPE(array), type);
	return l4_check_array(array, name);
}

const int32 *
l4_check_int4_array(ArrayType *array, const char *name, int *n)
{
	*n = check_array(array, INT4OID, name);
	return (const int32 *) ARR_DATA_PTR(array);
}

const int64 *
l4_check_int8_array(ArrayType *array, const char *name, int *n)
{
	*n = check_array(array, INT8OID, name);
	return (const int64 *) ARR_DATA_PTR(array);
}

const float8 *
l4_check_float8_array(ArrayType *array, const char *name, int *n)
{
	const float8 *values;

	*n = check_array(array, FLOAT8OID, name);
	values = (const float8 *) ARR_DATA_PTR(array);
	for (int i = 0; i < *n; i++)
	{
		if (!isfinite(values[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("array \"%s\" must contain finite numbers only", name),
					 errdetail("Element %d is %s.", i + 1,
							   isnan(values[i]) ? "NaN" : "infinite")));
	}
	return values;
}

void
l4_check_same_length(int n, const char *name, int other, const char *other_name)
{
	if (n != other)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same length"),
				 errdetail("%d %s, %d %s.", n, name, other, other_name)));
}

Datum
l4_array(Datum *elements, int n, Oid type)
{
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(construct_array(elements, n, type, len, byval, align));
}

Datum
l4_int4_array(const int32 *values, int n)
{
	Datum	   *elements = (Datum *) palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		elements[i] = Int32GetDatum(values[i]);
	return l4_array(elements, n, INT4OID);
}

Datum
l4_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

MemoryContext
l4_aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext cxt;

	if (!AggCheckCallContext(fcinfo, &cxt))
		elog(ERROR, "support function called outside an aggregate");
	return cxt;
}

void
l4_check_range(int64 value, const char *name, int64 min, int64 max)
{
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be between %lld and %lld, not %lld", name,
						(long long) min, (long long) max, (long long) value)));
}

static void
wrong_type(const L4Option *option, const char *function)
{
	static const char *const types[] = {
		[L4_OPTION_INT] = "an integer", [L4_OPTION_FLOAT] = "a number", [L4_OPTION_BOOL] = "true or false", [L4_OPTION_TEXT] = "a string"
	};

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" of %s must be %s",
					option->name, function, types[option->type])));
}

#define TWO_TO_63	9223372036854775808.0

/* A limit as people write it; limits of bigint do not fit a double. */
static const char *
limit_text(double limit, bool integer)
{
	if (integer && limit <= -TWO_TO_63)
		return "-9223372036854775808";
	if (integer && limit >= TWO_TO_63)
		return "9223372036854775807";
	return psprintf("%.15g", limit);
}

/* An integer or a float, in its range. */
static void
take_number(const L4Option *option, JsonbValue *v, const char *function)
{
	bool		integer = option->type == L4_OPTION_INT;
	char	   *text;
	double		number;
	int64		whole = 0;

	if (v->type != jbvNumeric)
		wrong_type(option, function);
	text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(v->val.numeric)));
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
												NumericGetDatum(v->val.numeric)));
	errno = 0;
	if (integer)
	{
		if (strspn(text, "-0123456789") != strlen(text))
			wrong_type(option, function);
		whole = strtoll(text, NULL, 10);
	}
	if (number < option->min || number > option->max || errno == ERANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" of %s must be between %s and %s, not %s",
						option->name, function, limit_text(option->min, integer),
						limit_text(option->max, integer), text)));
	if (integer)
		*(int64 *) option->value = whole;
	else
		*(double *) option->value = number;
	pfree(text);
}

static void
take_option(const L4Option *option, JsonbValue *v, const char *function)
{
	switch (option->type)
	{
		case L4_OPTION_INT:
		case L4_OPTION_FLOAT:
			take_number(option, v, function);
			break;
		case L4_OPTION_BOOL:
			if (v->type != jbvBool)
				wrong_type(option, function);
			*(bool *) option->value = v->val.boolean;
			break;
		case L4_OPTION_TEXT:
			if (v->type != jbvString)
				wrong_type(option, function);
			*(char **) option->value = pnstrdup(v->val.string.val, v->val.string.len);
			break;
		case L4_OPTION_JSONB:
			*(Jsonb **) option->value = JsonbValueToJsonb(v);
			break;
	}
}

void
l4_check_options(Jsonb *options, const L4Option *known, int nknown,
				 const char *function)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	v;

	if (!JB_ROOT_IS_OBJECT(options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of %s must be a JSON object", function)));

	it = JsonbIteratorInit(&options->root);
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		const L4Option *option = NULL;
		char	   *key;

		if (token != WJB_KEY)
			continue;
		key = pnstrdup(v.val.string.val, v.val.string.len);
		for (int i = 0; i < nknown && option == NULL; i++)
		{
			if (strcmp(known[i].name, key) == 0)
				option = &known[i];
		}
		if (option == NULL)
		{
			StringInfoData names;

			initStringInfo(&names);
			for (int i = 0; i < nknown; i++)
				appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", known[i].name);
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown option \"%s\" of %s", key, function),
					 errhint("The options are: %s.", names.data)));
		}
		(void) JsonbIteratorNext(&it, &v, true);	/* a key is followed by its value */
		take_option(option, &v, function);
		pfree(key);
	}
}
