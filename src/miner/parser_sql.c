/*
 * parser_sql.c
 *		SQL side of the parser: type, match, what is in it.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/seen.h"
#include "l4_compat.h"
#include "miner/parser_int.h"

static void *
make_parser(struct varlena *value, MemoryContext cxt)
{
	return l4_parser_decode(detoast_attr(value), cxt);
}

L4Parser *
l4_parser_cached(FunctionCallInfo fcinfo)
{
	return l4_seen_argument(fcinfo, 0, true, make_parser);
}

/* Decode, check, and encode again: only the canonical form is ever stored. */
static struct varlena *
canonical(const char *bytes, Size len, int sqlstate)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 parser", ALLOCSET_DEFAULT_SIZES);
	struct varlena *result = l4_parser_encode(l4_parser_read(bytes, len, sqlstate, cxt));

	MemoryContextDelete(cxt);
	return result;
}

/* Text form: l4:hex digits of the bytes. */
L4_FUNCTION(l4_parser_in)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Size		len = strlen(text);
	char	   *bytes;

	if (strncmp(text, "l4:", 3) != 0 || len % 2 != 1 ||
		strspn(text + 3, "0123456789abcdef") != len - 3)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type parser"),
				 errdetail("A parser is written as l4: and an even number of the digits 0-9 and a-f.")));
	bytes = palloc(len / 2);
	hex_decode(text + 3, len - 3, bytes);
	PG_RETURN_POINTER(canonical(bytes, (len - 3) / 2, ERRCODE_INVALID_TEXT_REPRESENTATION));
}

L4_FUNCTION(l4_parser_out)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	Size		len = VARSIZE_ANY_EXHDR(value);
	char	   *text;

	if (len > (MaxAllocSize - 4) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("parser is too large for its text form"),
				 errhint("Use the binary form: COPY ... WITH (FORMAT binary).")));
	text = palloc(len * 2 + 4);
	memcpy(text, "l4:", 3);
	hex_encode(VARDATA_ANY(value), len, text + 3);
	text[len * 2 + 3] = '\0';
	PG_RETURN_CSTRING(text);
}

L4_FUNCTION(l4_parser_recv)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	Size		len = buf->len - buf->cursor;

	PG_RETURN_POINTER(canonical(pq_getmsgbytes(buf, len), len, ERRCODE_INVALID_BINARY_REPRESENTATION));
}

L4_FUNCTION(l4_parser_match_sql)
{
	L4Parser   *parser = l4_parser_cached(fcinfo);
	text	   *message = PG_GETARG_TEXT_PP(1);
	int32		event = l4_parser_match(parser, VARDATA_ANY(message), VARSIZE_ANY_EXHDR(message));

	if (event == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(event);
}

L4_FUNCTION(l4_parser_parameters_sql)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Parser   *parser = l4_parser_cached(fcinfo);
	text	   *message = PG_GETARG_TEXT_PP(1);
	const char *msg = VARDATA_ANY(message);
	int			len = VARSIZE_ANY_EXHDR(message);
	int32		event = l4_parser_match(parser, msg, len);
	L4Parameter *params;
	int			n;

	l4_init_materialized_srf(fcinfo);
	n = event == 0 ? 0 : l4_parser_parameters(parser, event, msg, len, &params);
	for (int i = 0; i < n; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = CStringGetTextDatum(params[i].mask);
		values[2] = PointerGetDatum(cstring_to_text_with_len(params[i].value, params[i].len));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* The events that survive, as rows. */
L4_FUNCTION(l4_parser_templates)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Parser   *parser = l4_parser_cached(fcinfo);
	int32		n = l4_parser_nevents(parser);

	l4_init_materialized_srf(fcinfo);
	for (int32 id = 1; id <= n; id++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};
		char	   *template;

		CHECK_FOR_INTERRUPTS();
		if (l4_parser_resolve(parser, id) != id || (template = l4_parser_template(parser, id, CurrentMemoryContext)) == NULL)
			continue;
		values[0] = Int32GetDatum(id);
		values[1] = CStringGetTextDatum(template);
		values[2] = Int64GetDatum(l4_parser_occurrences(parser, id));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(template);
	}
	return (Datum) 0;
}

/* The masks of options, as a parser that has learnt nothing. */
static void *
make_masks(struct varlena *value, MemoryContext cxt)
{
	Jsonb	   *options = value == NULL ? NULL : (Jsonb *) detoast_attr(value);
	L4ParserOptions checked;
	L4Parser   *parser;

	l4_options_read(options, true, &checked);
	parser = l4_parser_create(options, cxt);
	parser->scanner.max_text = PG_INT32_MAX;
	return parser;
}

L4_FUNCTION(l4_mask)
{
	L4Parser   *parser;
	text	   *line;
	char	   *out;
	int			len;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	line = PG_GETARG_TEXT_PP(0);
	parser = l4_seen_argument(fcinfo, 1, false, make_masks);
	l4_parser_scan(parser, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line), &parser->shape);
	out = l4_parser_print(parser, parser->shape.text, parser->shape.len, &len);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out, len));
}

/* An empty parser. */
L4_FUNCTION(l4_parser_new)
{
	Jsonb	   *options = PG_ARGISNULL(0) ? NULL : PG_GETARG_JSONB_P(0);

	PG_RETURN_POINTER(l4_parser_encode(l4_parser_create(options, CurrentMemoryContext)));
}

/* Options of a parser, NULL where it was given none. */
L4_FUNCTION(l4_parser_options)
{
	Jsonb	   *options = l4_parser_read_options(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)));

	if (options == NULL)
		PG_RETURN_NULL();
	PG_RETURN_JSONB_P(options);
}

/* What a parser has learnt, under other masks. */
L4_FUNCTION(l4_parser_masked)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 parser", ALLOCSET_DEFAULT_SIZES);
	struct varlena *result;

	result = l4_parser_encode(l4_parser_read_masked(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)), PG_GETARG_JSONB_P(1), cxt));
	MemoryContextDelete(cxt);
	PG_RETURN_POINTER(result);
}

/* (parser, events) -> the parser without the templates of other events */
L4_FUNCTION(l4_parser_keep_sql)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 parser", ALLOCSET_DEFAULT_SIZES);
	int			n;
	const int32 *events = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "events", &n);
	struct varlena *result = l4_parser_encode(l4_parser_keep(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)), events, n, cxt));

	MemoryContextDelete(cxt);
	PG_RETURN_POINTER(result);
}

/* Learn messages[i] with tags[i], seen counts[i] times, in order. Tests alone declare it: nothing is checked. */
L4_FUNCTION(l4_parser_learn_sql)
{
	L4Parser   *parser = l4_parser_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)), CurrentMemoryContext);
	Datum	   *tags;
	Datum	   *messages;
	Datum	   *counts;
	int			n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT4OID, 4, true, TYPALIGN_INT, &tags, NULL, &n);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, -1, false, TYPALIGN_INT, &messages, NULL, &n);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &counts, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		text	   *message = DatumGetTextPP(messages[i]);

		CHECK_FOR_INTERRUPTS();
		l4_parser_learn(parser, DatumGetInt32(tags[i]), VARDATA_ANY(message), VARSIZE_ANY_EXHDR(message),
						DatumGetInt64(counts[i]));
	}
	PG_RETURN_POINTER(l4_parser_encode(parser));
}
