/*
 * evector_sql.c
 *		SQL side of event_vector: input and output, operators, casts.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "base/args.h"
#include "base/ascii.h"
#include "base/grow.h"
#include "evector/evector.h"
#include "l4_compat.h"

/* A growing list of counts while a value is read. */
typedef struct CountList
{
	L4EventCount *items;
	int64		n;
	int			size;
} CountList;

static void
add_count(CountList *list, int32 event_id, int64 count)
{
	if (list->n == list->size)
		l4_evector_check_size(list->n + 1);
	L4_GROW_FROM(list->items, list->n, list->size, 16, CurrentMemoryContext);
	CHECK_FOR_INTERRUPTS();
	list->items[list->n].event_id = event_id;
	list->items[list->n++].count = count;
}

/* Space as in JSON, whatever the locale says. */
static const char *
skip_space(const char *p)
{
	for (; *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'; p++)
		CHECK_FOR_INTERRUPTS();
	return p;
}

/* Digits with an optional minus, no more: the position after them, or NULL when there are none. An event id or a count. */
static const char *
parse_integer(const char *p, bool is_id, int64 *value)
{
	char	   *end;

	if (!l4_ascii_digit(p[*p == '-']))
		return NULL;
	errno = 0;
	*value = strtoll(p, &end, 10);
	if (errno != 0 || (is_id && *value != (int32) *value))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of an event_vector is out of range for type %s",
						is_id ? "event id" : "count", is_id ? "integer" : "bigint")));
	return end;
}

static void
bad_text(const char *text, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%s\"", "event_vector", text),
			 errdetail_internal("%s", detail)));
}

/*
 * Reads {3:1, 17:42}: event ids and counts in any order; a count of 0 is the
 * same as none.
 */
L4_FUNCTION(l4_event_vector_in)
{
	char	   *text = PG_GETARG_CSTRING(0);
	const char *p = skip_space(text);
	CountList	list = {0};

	if (*p++ != '{')
		bad_text(text, "An event_vector starts with \"{\".");
	p = skip_space(p);
	while (*p != '}')
	{
		int64		event_id = 0;
		int64		count = 0;

		if (list.n > 0 && *p++ != ',')
			bad_text(text, "Expected \",\" or \"}\" after a count.");
		p = parse_integer(skip_space(p), true, &event_id);
		if (p == NULL)
			bad_text(text, "Expected an event id.");
		p = skip_space(p);
		if (*p++ != ':')
			bad_text(text, "Expected \":\" after an event id.");
		p = parse_integer(skip_space(p), false, &count);
		if (p == NULL)
			bad_text(text, "Expected a count after \":\".");
		add_count(&list, (int32) event_id, count);
		p = skip_space(p);
	}
	if (*skip_space(p + 1) != '\0')
		bad_text(text, "There is text after the closing \"}\".");
	PG_RETURN_POINTER(l4_evector_from_counts(list.items, list.n));
}

/* {id:count, …} with what stands around the ids and between the pairs. */
static char *
vector_text(const struct varlena *vector, const char *quote, const char *between)
{
	L4EvectorReader reader;
	StringInfoData out;

	l4_evector_open(&reader, vector);
	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	while (l4_evector_next(&reader))
	{
		appendStringInfo(&out, "%s%s%d%s:" INT64_FORMAT, out.len > 1 ? between : "", quote,
						 (int32) reader.event_id, quote, reader.count);
		CHECK_FOR_INTERRUPTS();
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

L4_FUNCTION(l4_event_vector_out)
{
	PG_RETURN_CSTRING(vector_text(L4_GETARG_EVECTOR(0), "", ", "));
}

static void
bad_binary(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid binary representation of type %s", "event_vector"),
			 errdetail_internal("%s", detail)));
}

/* The wire carries version, number of events, then id and count of each. */
L4_FUNCTION(l4_event_vector_recv)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int64		n;
	int64		last = PG_INT64_MIN;
	L4EventCount *counts;

	if (pq_getmsgbyte(buf) != L4_EVECTOR_VERSION)
		bad_binary("The version is unknown.");
	n = pq_getmsgint(buf, 4);
	if (n > (buf->len - buf->cursor) / 12)
		bad_binary("There are fewer events than announced.");
	l4_evector_check_size(n);
	counts = palloc(Max(n, 1) * sizeof(L4EventCount));
	for (int64 i = 0; i < n; i++)
	{
		counts[i].event_id = (int32) pq_getmsgint(buf, 4);
		counts[i].count = pq_getmsgint64(buf);
		if (counts[i].event_id <= last)
			bad_binary("Event ids must ascend.");
		if (counts[i].count <= 0)
			bad_binary("Counts must be positive.");
		last = counts[i].event_id;
	}
	PG_RETURN_POINTER(l4_evector_encode(counts, (int32) n));
}

L4_FUNCTION(l4_event_vector_send)
{
	L4EvectorReader reader;
	StringInfoData buf;

	l4_evector_open(&reader, L4_GETARG_EVECTOR(0));
	pq_begintypsend(&buf);
	pq_sendbyte(&buf, L4_EVECTOR_VERSION);
	pq_sendint32(&buf, reader.n);
	while (l4_evector_next(&reader))
	{
		pq_sendint32(&buf, (uint32) (int32) reader.event_id);
		pq_sendint64(&buf, reader.count);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

L4_FUNCTION(l4_event_vector_from_arrays)
{
	int			nids;
	int			ncounts;
	const int32 *ids = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(0), "event_ids", &nids);
	const int64 *values = l4_check_int8_array(PG_GETARG_ARRAYTYPE_P(1), "counts", &ncounts);
	L4EventCount *counts;

	l4_check_same_length(nids, "event_ids", ncounts, "counts");
	l4_evector_check_size(nids);
	counts = palloc(Max(nids, 1) * sizeof(L4EventCount));
	for (int i = 0; i < nids; i++)
	{
		counts[i].event_id = ids[i];
		counts[i].count = values[i];
	}
	PG_RETURN_POINTER(l4_evector_from_counts(counts, nids));
}

static void
bad_json(const char *detail, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot cast jsonb to type event_vector"),
			 errdetail(detail, value),
			 errhint("Write event ids as keys and counts as integers: {\"17\": 42}.")));
}

L4_FUNCTION(l4_event_vector_from_jsonb)
{
	Jsonb	   *json = PG_GETARG_JSONB_P(0);
	JsonbIterator *it = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	v;
	CountList	list = {0};

	if (!JB_ROOT_IS_OBJECT(json))
		bad_json("The value is not an object.%s", "");
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		int64		event_id = 0;
		int64		count = 0;
		const char *end;
		char	   *text;

		if (token != WJB_KEY)
			continue;
		text = pnstrdup(v.val.string.val, v.val.string.len);
		end = parse_integer(text, true, &event_id);
		if (end == NULL || *end != '\0')
			bad_json("Key \"%s\" is not an event id.", text);
		pfree(text);

		(void) JsonbIteratorNext(&it, &v, true);
		if (v.type != jbvNumeric)
			bad_json("A count is not a number.%s", "");
		text = DatumGetCString(DirectFunctionCall1(numeric_out,
												   NumericGetDatum(v.val.numeric)));
		end = parse_integer(text, false, &count);
		if (end == NULL || *end != '\0')
			bad_json("Count %s is not an integer.", text);
		pfree(text);
		add_count(&list, (int32) event_id, count);
	}
	PG_RETURN_POINTER(l4_evector_from_counts(list.items, list.n));
}

L4_FUNCTION(l4_event_vector_to_jsonb)
{
	/* through the text: building jsonb by hand differs between servers */
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(vector_text(L4_GETARG_EVECTOR(0), "\"", ","))));
}

#define EACH_COLUMNS	2

L4_FUNCTION(l4_event_vector_each)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4EvectorReader reader;

	l4_init_materialized_srf(fcinfo);
	Assert(rsinfo->setDesc->natts == EACH_COLUMNS);
	l4_evector_open(&reader, L4_GETARG_EVECTOR(0));
	while (l4_evector_next(&reader))
	{
		Datum		values[EACH_COLUMNS];
		bool		nulls[EACH_COLUMNS] = {false};

		values[0] = Int32GetDatum((int32) reader.event_id);
		values[1] = Int64GetDatum(reader.count);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	return (Datum) 0;
}

L4_FUNCTION(l4_event_vector_get)
{
	PG_RETURN_INT64(l4_evector_get(L4_GETARG_EVECTOR(0), PG_GETARG_INT32(1)));
}

L4_FUNCTION(l4_event_vector_add)
{
	PG_RETURN_POINTER(l4_evector_sum(L4_GETARG_EVECTOR(0), L4_GETARG_EVECTOR(1)));
}

static Datum
distance_of_arguments(FunctionCallInfo fcinfo, L4Distance kind)
{
	return Float8GetDatum(l4_evector_distance(L4_GETARG_EVECTOR(0),
											  L4_GETARG_EVECTOR(1), kind));
}

L4_FUNCTION(l4_event_vector_l1_distance)
{
	return distance_of_arguments(fcinfo, L4_DISTANCE_L1);
}

L4_FUNCTION(l4_event_vector_l2_distance)
{
	return distance_of_arguments(fcinfo, L4_DISTANCE_L2);
}

L4_FUNCTION(l4_event_vector_cosine_distance)
{
	return distance_of_arguments(fcinfo, L4_DISTANCE_COSINE);
}
