/*
 * seen.c
 *		What is made of an argument, kept by a call site as long as the value is
 *		the same: once a query, not once a row.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "base/seen.h"
#include "l4_compat.h"

/* Bytes that tell values in line apart where a checksum of the rest is among them. */
#define FIRST_BYTES	32

typedef struct SeenArgument
{
	MemoryContext cxt;			/* of what follows; NULL none yet */
	void	   *made;
	bool		constant;
	Size		len;			/* 0: NULL */
	Size		key_len;
	char	   *key;			/* of a value that is stored elsewhere the TOAST pointer */
} SeenArgument;

/* A parameter is none: in expressions of PL/pgSQL it changes from call to call. */
static bool
is_constant(const FmgrInfo *site, int argno)
{
	return site->fn_expr != NULL && IsA(site->fn_expr, FuncExpr) &&
		IsA(list_nth(((FuncExpr *) site->fn_expr)->args, argno), Const);
}

void *
l4_seen_argument(FunctionCallInfo fcinfo, int argno, bool summed, L4SeenMake make)
{
	FmgrInfo   *site = fcinfo->flinfo;
	struct varlena *value = PG_ARGISNULL(argno) ? NULL : (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	SeenArgument *seen = site->fn_extra;
	Size		len = 0;
	Size		key_len;

	if (seen == NULL)
		site->fn_extra = seen = MemoryContextAllocZero(site->fn_mcxt, PG_NARGS() * sizeof(SeenArgument));
	seen += argno;
	if (seen->made != NULL && seen->constant)
		return seen->made;
	if (value != NULL)
	{
		/* what is only pointed to in memory may change behind the same pointer */
		if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
			value = detoast_attr(value);
		len = VARSIZE_ANY(value);
	}
	key_len = len;
	if (summed && !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value))
		key_len = Min(len, FIRST_BYTES);
	if (seen->made != NULL && seen->len == len && seen->key_len == key_len &&
		(key_len == 0 || memcmp(seen->key, value, key_len) == 0))
		return seen->made;
	seen->made = NULL;
	if (seen->cxt != NULL)
		MemoryContextDelete(seen->cxt);
	seen->cxt = AllocSetContextCreate(site->fn_mcxt, "l4 seen argument", ALLOCSET_DEFAULT_SIZES);
	seen->constant = is_constant(site, argno);
	seen->len = len;
	seen->key_len = key_len;
	seen->key = MemoryContextAlloc(seen->cxt, Max(key_len, 1));
	if (key_len > 0)
		memcpy(seen->key, value, key_len);
	seen->made = make(value, seen->cxt);
	return seen->made;
}
