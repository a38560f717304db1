/*
 * multimatch_sql.c
 *		SQL side of matching many patterns: pcre_first, pcre_all, pcre_scan and
 *		the bulk form.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/seen.h"
#include "l4_compat.h"
#include "pcre/multimatch.h"

PG_FUNCTION_INFO_V1(l4_pcre_first);
PG_FUNCTION_INFO_V1(l4_pcre_all);
PG_FUNCTION_INFO_V1(l4_pcre_scan);
PG_FUNCTION_INFO_V1(l4_pcre_multimatch);

/*
 * The prepared patterns of one call site. The arrays are compared with those
 * of the row before unless the planner knows that they cannot change.
 */
typedef struct CallState
{
	MemoryContext cxt;			/* everything below; NULL before the first row */
	bool		stable;			/* the arrays are the same for the whole query */
	ArrayType  *ids_raw;		/* copies to compare with */
	ArrayType  *patterns_raw;
	int32	   *ids;
	L4MultiMatch *mm;
	bool		noticed;
} CallState;

static L4MultiMatch *
build(ArrayType *array, int n, MemoryContext cxt)
{
	Datum	   *elements;
	const char **patterns = palloc(sizeof(char *) * Max(n, 1));
	int		   *lens = palloc(sizeof(int) * Max(n, 1));

	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &elements, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		text	   *pattern = DatumGetTextPP(elements[i]);

		patterns[i] = VARDATA_ANY(pattern);
		lens[i] = VARSIZE_ANY_EXHDR(pattern);
	}
	return l4_multimatch_build(n, patterns, lens, cxt);
}

/* The prepared form of arguments 1 (ids) and 2 (patterns). */
static CallState *
get_state(FunctionCallInfo fcinfo)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	CallState  *state = (CallState *) flinfo->fn_extra;
	ArrayType  *ids;
	ArrayType  *patterns;
	int			n;
	int			npatterns;
	MemoryContext old;

	if (state == NULL)
	{
		state = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CallState));
		state->stable = get_fn_expr_arg_stable(flinfo, 1) && get_fn_expr_arg_stable(flinfo, 2);
		flinfo->fn_extra = state;
	}
	if (state->cxt != NULL && state->stable)
		return state;
	ids = PG_GETARG_ARRAYTYPE_P(1);
	patterns = PG_GETARG_ARRAYTYPE_P(2);
	if (state->cxt != NULL)
	{
		bool		same = l4_same_value(ids, state->ids_raw) &&
			l4_same_value(patterns, state->patterns_raw);

		PG_FREE_IF_COPY(ids, 1);
		PG_FREE_IF_COPY(patterns, 2);
		if (same)
			return state;
		MemoryContextDelete(state->cxt);
		state->cxt = NULL;
		ids = PG_GETARG_ARRAYTYPE_P(1);
		patterns = PG_GETARG_ARRAYTYPE_P(2);
	}
	n = l4_check_array(ids, "ids");
	npatterns = l4_check_array(patterns, "patterns");
	if (n != npatterns)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("different numbers of ids and patterns: %d and %d", n, npatterns)));
	state->cxt = AllocSetContextCreate(flinfo->fn_mcxt, "l4 patterns", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(state->cxt);
	state->ids_raw = l4_keep_value(ids, state->cxt);
	state->patterns_raw = l4_keep_value(patterns, state->cxt);
	state->ids = (int32 *) ARR_DATA_PTR(state->ids_raw);
	state->mm = build(state->patterns_raw, n, state->cxt);
	MemoryContextSwitchTo(old);
	return state;
}

/* A match that gave up is told once a query, where the result has no place for it. */
static void
note_limit(CallState *state, int pattern)
{
	size_t		len;
	const char *source = l4_regex_source(l4_multimatch_regex(state->mm, pattern), &len);

	if (state->noticed)
		return;
	state->noticed = true;
	ereport(NOTICE,
			(errmsg("pattern %d gave up on a line: \"%s\"", state->ids[pattern],
					l4_regex_display(source, len)),
			 errdetail("It counts as not matching; it may backtrack %d times from one position.",
					   L4_PCRE_MATCH_LIMIT),
			 errhint("l4.pcre_scan shows all patterns and lines where this happens.")));
}

/* pcre_first(line, ids, patterns): id of the first pattern that matches */
Datum
l4_pcre_first(PG_FUNCTION_ARGS)
{
	CallState  *state = get_state(fcinfo);
	text	   *line = PG_GETARG_TEXT_PP(0);
	int			pattern;
	bool		gave_up;

	l4_multimatch_scan(state->mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
	while ((pattern = l4_multimatch_next(state->mm, &gave_up)) >= 0)
	{
		if (!gave_up)
			break;
		note_limit(state, pattern);
	}
	PG_FREE_IF_COPY(line, 0);
	if (pattern < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(state->ids[pattern]);
}

/* pcre_all(line, ids, patterns): ids of all patterns that match */
Datum
l4_pcre_all(PG_FUNCTION_ARGS)
{
	CallState  *state = get_state(fcinfo);
	text	   *line = PG_GETARG_TEXT_PP(0);
	Datum	   *found = NULL;
	int			n = 0;
	int			size = 0;
	int			pattern;
	bool		gave_up;

	l4_multimatch_scan(state->mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
	while ((pattern = l4_multimatch_next(state->mm, &gave_up)) >= 0)
	{
		if (gave_up)
		{
			note_limit(state, pattern);
			continue;
		}
		if (n == size)
		{
			size = Max(8, size * 2);
			found = (found == NULL) ? palloc(sizeof(Datum) * size)
				: repalloc(found, sizeof(Datum) * size);
		}
		found[n++] = Int32GetDatum(state->ids[pattern]);
	}
	PG_FREE_IF_COPY(line, 0);
	if (n == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT4OID));
	PG_RETURN_ARRAYTYPE_P(construct_array(found, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

static void
put_row(ReturnSetInfo *rsinfo, int ncolumns, int32 first, int32 second, bool gave_up)
{
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	values[0] = Int32GetDatum(first);
	values[1] = Int32GetDatum(second);
	values[ncolumns - 1] = BoolGetDatum(true);
	nulls[ncolumns - 1] = gave_up;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* pcre_scan(line, ids, patterns): all patterns that match, and those that gave up */
Datum
l4_pcre_scan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	CallState  *state = get_state(fcinfo);
	text	   *line = PG_GETARG_TEXT_PP(0);
	int			pattern;
	bool		gave_up;

	l4_multimatch_scan(state->mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
	pattern = l4_multimatch_next(state->mm, &gave_up);
	if (pattern < 0 && rsinfo != NULL && IsA(rsinfo, ReturnSetInfo))
	{
		/* most lines: a materialized result without a tuplestore is an empty one */
		rsinfo->returnMode = SFRM_Materialize;
		return (Datum) 0;
	}
	l4_init_materialized_srf(fcinfo);
	for (; pattern >= 0; pattern = l4_multimatch_next(state->mm, &gave_up))
		put_row(rsinfo, 2, state->ids[pattern], 0, gave_up);
	PG_FREE_IF_COPY(line, 0);
	return (Datum) 0;
}

/* The set that was used last, of the whole session: a library of faults seldom changes from job to job. */
static struct
{
	MemoryContext cxt;
	ArrayType  *patterns;		/* copy to compare with */
	L4MultiMatch *mm;
	bool		busy;			/* left over from an error: what it has is not trusted */
}			kept;

/* Larger sets are built for each call. */
#define MAX_KEPT_BYTES (4 * 1024 * 1024)

static L4MultiMatch *
kept_set(ArrayType *patterns, int n)
{
	MemoryContext old;

	if (kept.mm != NULL && !kept.busy && l4_same_value(patterns, kept.patterns))
	{
		kept.busy = true;
		return kept.mm;
	}
	kept.mm = NULL;
	if (kept.cxt != NULL)
		MemoryContextReset(kept.cxt);
	if (VARSIZE(patterns) > MAX_KEPT_BYTES)
		return build(patterns, n, CurrentMemoryContext);
	if (kept.cxt == NULL)
		kept.cxt = AllocSetContextCreate(TopMemoryContext, "l4 kept patterns", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(kept.cxt);
	kept.patterns = l4_keep_value(patterns, kept.cxt);
	kept.mm = build(kept.patterns, n, kept.cxt);
	kept.busy = true;
	MemoryContextSwitchTo(old);
	return kept.mm;
}

/* _pcre_multimatch(patterns, lines): every pattern on every line, by their subscripts */
Datum
l4_pcre_multimatch(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *patterns = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType  *lines = PG_GETARG_ARRAYTYPE_P(1);
	int			n = l4_check_array(patterns, "patterns");
	L4MultiMatch *mm;
	ArrayIterator iterator;
	Datum		value;
	bool		isnull;
	int			line_no = 0;

	l4_init_materialized_srf(fcinfo);
	if (ARR_NDIM(lines) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array \"%s\" must have one dimension, not %d", "lines", ARR_NDIM(lines))));
	mm = kept_set(patterns, n);
	iterator = array_create_iterator(lines, 0, NULL);
	while (array_iterate(iterator, &value, &isnull))
	{
		text	   *line;
		int			pattern;
		bool		gave_up;

		CHECK_FOR_INTERRUPTS();
		line_no++;
		if (isnull)
			continue;
		line = DatumGetTextPP(value);
		l4_multimatch_scan(mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
		while ((pattern = l4_multimatch_next(mm, &gave_up)) >= 0)
			put_row(rsinfo, 3, line_no, pattern + 1, gave_up);
		if ((Pointer) line != DatumGetPointer(value))
			pfree(line);
	}
	if (mm == kept.mm)
		kept.busy = false;
	else
		l4_multimatch_free(mm);
	return (Datum) 0;
}
