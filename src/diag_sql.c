/*
 * diag_sql.c: SQL side of what diagnosis does in C.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/shmem.h"
#include "utils/array.h"

#include "diag_blame.h"

PG_FUNCTION_INFO_V1(l4_blame);

/* Elements of a one-dimensional array of a fixed-width type without NULLs. */
static void *
array_elements(ArrayType *array, Oid type, int *n)
{
	if (ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != type || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array must have one dimension and no nulls")));
	*n = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
	return ARR_DATA_PTR(array);
}

/* l4._blame(accusers int[], accused int[], weights float8[], keeps float8[]) -> float8[] */
Datum
l4_blame(PG_FUNCTION_ARGS)
{
	int			nfrom;
	int			nto;
	int			nnodes;
	int			nkeeps;
	const int32 *from = array_elements(PG_GETARG_ARRAYTYPE_P(0), INT4OID, &nfrom);
	const int32 *to = array_elements(PG_GETARG_ARRAYTYPE_P(1), INT4OID, &nto);
	const float8 *weight = array_elements(PG_GETARG_ARRAYTYPE_P(2), FLOAT8OID, &nnodes);
	const float8 *keep = array_elements(PG_GETARG_ARRAYTYPE_P(3), FLOAT8OID, &nkeeps);
	int		   *edges;
	double	   *blame;
	Datum	   *result;

	if (nfrom != nto || nnodes != nkeeps)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same length"),
				 errdetail("%d accusers and %d accused, %d weights and %d shares.", nfrom, nto, nnodes, nkeeps)));
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
	l4_blame_flow(nnodes, nfrom, edges, edges + nfrom, weight, keep, blame);
	result = palloc(add_size(mul_size(sizeof(Datum), nnodes), 1));
	for (int i = 0; i < nnodes; i++)
		result[i] = Float8GetDatum(blame[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(result, nnodes, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
