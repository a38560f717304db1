/*
 * multimatch_sql.c
 *		SQL side of matching many patterns: pcre_first, pcre_all, pcre_scan and
 *		the bulk form.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/seen.h"
#include "l4_compat.h"
#include "pcre/multimatch.h"

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

/* The arrays of ids and patterns of a call, prepared. */
typedef struct CallState
{
	const int32 *ids;
	L4MultiMatch *mm;
	int			n;
	bool		noticed;		/* that a match gave up */
} CallState;

static void *
make_ids(struct varlena *value, MemoryContext cxt)
{
	ArrayType  *ids = (ArrayType *) detoast_attr(value);

	l4_check_array(ids, "ids");
	return l4_keep_value(ids, cxt);
}

static void *
make_state(struct varlena *value, MemoryContext cxt)
{
	CallState  *state = MemoryContextAllocZero(cxt, sizeof(CallState));
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ArrayType  *patterns = (ArrayType *) detoast_attr(value);

	state->n = l4_check_array(patterns, "patterns");
	state->mm = build(patterns, state->n, cxt);
	MemoryContextSwitchTo(old);
	return state;
}

/* The prepared form of arguments 1 (ids) and 2 (patterns). */
static CallState *
get_state(FunctionCallInfo fcinfo)
{
	ArrayType  *ids = l4_seen_argument(fcinfo, 1, false, make_ids);
	CallState  *state = l4_seen_argument(fcinfo, 2, false, make_state);
	int			n = ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids));

	if (n != state->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("different numbers of ids and patterns: %d and %d", n, state->n)));
	state->ids = (const int32 *) ARR_DATA_PTR(ids);
	return state;
}

/* A match that gave up is told once a set of patterns, where the result has no place for it. */
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

/* The next pattern that matches, -1 when there is none. */
static int
next_match(CallState *state)
{
	int			pattern;
	bool		gave_up;

	while ((pattern = l4_multimatch_next(state->mm, &gave_up)) >= 0 && gave_up)
		note_limit(state, pattern);
	return pattern;
}

/* pcre_first(line, ids, patterns): id of the first pattern that matches */
L4_FUNCTION(l4_pcre_first)
{
	CallState  *state = get_state(fcinfo);
	text	   *line = PG_GETARG_TEXT_PP(0);
	int			pattern;

	l4_multimatch_scan(state->mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
	pattern = next_match(state);
	PG_FREE_IF_COPY(line, 0);
	if (pattern < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(state->ids[pattern]);
}

/* pcre_all(line, ids, patterns): ids of all patterns that match */
L4_FUNCTION(l4_pcre_all)
{
	CallState  *state = get_state(fcinfo);
	text	   *line = PG_GETARG_TEXT_PP(0);
	ArrayBuildState *found = NULL;
	int			pattern;

	l4_multimatch_scan(state->mm, VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line));
	while ((pattern = next_match(state)) >= 0)
		found = accumArrayResult(found, Int32GetDatum(state->ids[pattern]), false, INT4OID,
								 CurrentMemoryContext);
	PG_FREE_IF_COPY(line, 0);
	if (found == NULL)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT4OID));
	PG_RETURN_DATUM(makeArrayResult(found, CurrentMemoryContext));
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
L4_FUNCTION(l4_pcre_scan)
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

/* The sets that were used last, of the whole session: rules and the library of faults seldom change from job to job. */
typedef struct KeptSet
{
	MemoryContext cxt;
	ArrayType  *patterns;		/* copy to compare with */
	L4MultiMatch *mm;
	uint64		used;			/* when last; 0 = goes first: what it takes is many times its patterns */
	bool		busy;			/* left over from an error: what it has is not trusted */
} KeptSet;

#define MAX_KEPT 8
#define MAX_LASTING_BYTES (64 * 1024)

/* Larger sets are built for each call. */
#define MAX_KEPT_BYTES (4 * 1024 * 1024)

/* The set of these patterns; NULL = one that is not kept. */
static KeptSet *
kept_set(ArrayType *patterns, int n)
{
	static KeptSet kept[MAX_KEPT];
	static uint64 uses;
	uint64		used = VARSIZE(patterns) > MAX_LASTING_BYTES ? 0 : ++uses;
	KeptSet    *set = kept;
	MemoryContext old;

	if (VARSIZE(patterns) > MAX_KEPT_BYTES)
		return NULL;
	for (int i = 0; i < MAX_KEPT; i++)
	{
		if (kept[i].mm != NULL && !kept[i].busy && l4_same_value(patterns, kept[i].patterns))
		{
			kept[i].used = used;
			return &kept[i];
		}
		if (kept[i].used < set->used)
			set = &kept[i];
	}
	set->mm = NULL;
	set->used = used;
	if (set->cxt == NULL)
		set->cxt = AllocSetContextCreate(TopMemoryContext, "l4 kept patterns", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(set->cxt);
	old = MemoryContextSwitchTo(set->cxt);
	set->patterns = l4_keep_value(patterns, set->cxt);
	set->mm = build(set->patterns, n, set->cxt);
	set->busy = false;
	MemoryContextSwitchTo(old);
	return set;
}

/* _pcre_multimatch(patterns, lines): every pattern on every line, by their subscripts */
L4_FUNCTION(l4_pcre_multimatch)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *patterns = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType  *lines = PG_GETARG_ARRAYTYPE_P(1);
	int			n = l4_check_array(patterns, "patterns");
	KeptSet    *set;
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
	set = kept_set(patterns, n);
	if (set != NULL)
		set->busy = true;
	mm = set != NULL ? set->mm : build(patterns, n, CurrentMemoryContext);
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
	if (set != NULL)
		set->busy = false;
	else
		l4_multimatch_free(mm);
	return (Datum) 0;
}
