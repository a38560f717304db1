/*
 * diag_sql.c: SQL side of what diagnosis does in C.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/args.h"
#include "diagnose/diagnose.h"
#include "l4_compat.h"

/* l4._blame(accusers int[], accused int[], weights float8[]) -> float8[] */
L4_FUNCTION(l4_blame)
{
	int			nfrom;
	int			nto;
	int			nnodes;
	const int32 *from = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(0), "accusers", &nfrom);
	const int32 *to = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "accused", &nto);
	const float8 *weight = l4_check_float8_array(PG_GETARG_ARRAYTYPE_P(2), "weights", &nnodes);
	int		   *edges;
	double	   *blame;
	Datum	   *result;

	l4_check_same_length(nfrom, "accusers", nto, "accused");
	edges = palloc(add_size(mul_size(mul_size(sizeof(int), 2), nfrom), 1));
	for (int i = 0; i < nfrom; i++)
	{
		if (from[i] < 1 || from[i] > nnodes || to[i] < 1 || to[i] > nnodes || from[i] == to[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("node numbers must be between 1 and %d, and nobody accuses itself", nnodes)));
		edges[i] = from[i] - 1;
		edges[nfrom + i] = to[i] - 1;
	}
	blame = palloc(add_size(mul_size(sizeof(double), nnodes), 1));
	l4_blame_flow(nnodes, nfrom, edges, edges + nfrom, weight, blame);
	result = palloc(add_size(mul_size(sizeof(Datum), nnodes), 1));
	for (int i = 0; i < nnodes; i++)
		result[i] = Float8GetDatum(blame[i]);
	PG_RETURN_DATUM(l4_array(result, nnodes, FLOAT8OID));
}

/* l4._periodic(iterations int[], nodes int[]) -> int[] */
L4_FUNCTION(l4_periodic_iterations)
{
	int			n;
	int			nnodes;
	const int32 *iterations = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(0), "iterations", &n);
	const int32 *nodes = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "nodes", &nnodes);
	bool	   *periodic;
	int32	   *result;
	int			nresult = 0;

	l4_check_same_length(n, "iterations", nnodes, "nodes");
	for (int i = 1; i < n; i++)
		if (iterations[i] <= iterations[i - 1])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("iterations must be ascending")));
	periodic = palloc(add_size(mul_size(sizeof(bool), n), 1));
	l4_periodic(n, iterations, nodes, periodic);
	result = palloc(add_size(mul_size(sizeof(int32), n), 1));
	for (int i = 0; i < n; i++)
		if (periodic[i])
			result[nresult++] = iterations[i];
	return l4_int4_array(result, nresult);
}

static void
set_text(Datum *value, bool *isnull, L4Text text)
{
	*isnull = text.len == 0;
	if (!*isnull)
		*value = PointerGetDatum(cstring_to_text_with_len(text.data, text.len));
}

/* l4._stack_frames(record text) -> setof (stack, place, owner, package, file, line, function) */
L4_FUNCTION(l4_stack_frames)
{
	static const char *const owners[] = {NULL, "user", "library", "stdlib"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	text	   *record = PG_GETARG_TEXT_PP(0);
	L4Frame    *frames;
	int			n;

	l4_init_materialized_srf(fcinfo);
	frames = l4_frames(VARDATA_ANY(record), VARSIZE_ANY_EXHDR(record), &n);
	for (int i = 0; i < n; i++)
	{
		const L4Frame *f = &frames[i];
		Datum		values[7] = {Int32GetDatum(f->stack), Int32GetDatum(f->place)};
		bool		nulls[7] = {false};

		nulls[2] = owners[f->owner] == NULL;
		if (!nulls[2])
			values[2] = CStringGetTextDatum(owners[f->owner]);
		set_text(&values[3], &nulls[3], f->package);
		set_text(&values[4], &nulls[4], f->file);
		values[5] = Int32GetDatum(f->line);
		nulls[5] = f->line == 0;
		set_text(&values[6], &nulls[6], f->function);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
