/*
 * iforest_sql.c
 *		SQL side of the isolation forest: the type, its functions.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/seen.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

/* Errors when bytes that came from outside are no forest. */
static void
check_forest(const struct varlena *bytes, int sqlstate)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "l4 iforest check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	l4_iforest_decode(bytes, sqlstate);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* The text form is that of bytea: \x and hexadecimal digits. */
L4_FUNCTION(l4_iforest_in)
{
	const char *text = PG_GETARG_CSTRING(0);
	struct varlena *bytes;

	if (strncmp(text, "\\x", 2) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s", "iforest"),
				 errdetail("A forest starts with \"\\x\"."),
				 errhint("Forests come from the aggregate iforest_train.")));
	bytes = (struct varlena *) DatumGetPointer(DirectFunctionCall1(byteain,
																   CStringGetDatum(text)));
	check_forest(bytes, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(bytes);
}

/* Not byteaout: that follows the setting bytea_output. */
L4_FUNCTION(l4_iforest_out)
{
	struct varlena *bytes = PG_GETARG_VARLENA_PP(0);
	Size		size = VARSIZE_ANY_EXHDR(bytes);
	char	   *text = palloc(2 + size * 2 + 1);

	text[0] = '\\';
	text[1] = 'x';
	hex_encode(VARDATA_ANY(bytes), size, text + 2);
	text[2 + size * 2] = '\0';
	PG_RETURN_CSTRING(text);
}

L4_FUNCTION(l4_iforest_recv)
{
	struct varlena *bytes = (struct varlena *) DatumGetPointer(DirectFunctionCall1(bytearecv, PG_GETARG_DATUM(0)));

	check_forest(bytes, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(bytes);
}

static void *
make_forest(struct varlena *value, MemoryContext cxt)
{
	MemoryContext old;
	L4Forest   *forest;

	value = pg_detoast_datum_packed(value);
	old = MemoryContextSwitchTo(cxt);
	forest = l4_iforest_decode(value, ERRCODE_DATA_CORRUPTED);
	MemoryContextSwitchTo(old);
	return forest;
}

/* The decoded forest of argument 0: its fingerprint is among the first bytes. */
static L4Forest *
get_forest(FunctionCallInfo fcinfo)
{
	return l4_seen_argument(fcinfo, 0, true, make_forest);
}

L4_FUNCTION(l4_iforest_score_sql)
{
	L4Forest   *forest = get_forest(fcinfo);

	PG_RETURN_FLOAT8(l4_iforest_score(forest, L4_GETARG_EVECTOR(1)));
}

#define EXPLAIN_COLUMNS 2

L4_FUNCTION(l4_iforest_explain_rows)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Forest   *forest = get_forest(fcinfo);
	L4Contribution *contributions;
	int			n;

	l4_init_materialized_srf(fcinfo);
	Assert(rsinfo->setDesc->natts == EXPLAIN_COLUMNS);
	contributions = l4_iforest_explain(forest, L4_GETARG_EVECTOR(1), &n);
	for (int i = 0; i < n; i++)
	{
		Datum		values[EXPLAIN_COLUMNS];
		bool		nulls[EXPLAIN_COLUMNS] = {false};

		values[0] = Int32GetDatum(contributions[i].event_id);
		values[1] = Float8GetDatum(contributions[i].value);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

L4_FUNCTION(l4_iforest_base_sql)
{
	PG_RETURN_FLOAT8(l4_iforest_base(get_forest(fcinfo)));
}

L4_FUNCTION(l4_iforest_info)
{
	L4Forest   *forest = get_forest(fcinfo);
	char	   *json = psprintf("{\"trees\":" INT64_FORMAT ",\"sample_size\":" INT64_FORMAT
								",\"seed\":" INT64_FORMAT ",\"rows\":" INT64_FORMAT
								",\"events\":%d,\"nodes\":" INT64_FORMAT "}",
								forest->trees, forest->sample, forest->seed,
								forest->rows, forest->nevents, forest->nnodes);

	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
}
