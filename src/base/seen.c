/*
 * seen.c
 *		What is made of an argument, kept by a call site as long as the value is
 *		the same: once a query, not once a row.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "base/seen.h"
#include "l4_compat.h"

/* Bytes that tell values in line apart where a checksum of the rest is among them. */
#define FIRST_BYTES	32

typedef struct SeenArgument
{
	MemoryContext cxt;			/* of what follows; NULL none yet */
	void	   *made;
	Size		len;
	Size		key_len;
	char	   *key;			/* of a value that is stored elsewhere the TOAST pointer */
} SeenArgument;

void *
l4_seen_argument(FunctionCallInfo fcinfo, int argno, bool summed, L4SeenMake make)
{
	FmgrInfo   *site = fcinfo->flinfo;
	struct varlena *value = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	SeenArgument *seen = site->fn_extra;
	Size		key_len;

	if (seen == NULL)
		site->fn_extra = seen = MemoryContextAllocZero(site->fn_mcxt, PG_NARGS() * sizeof(SeenArgument));
	seen += argno;
	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		value = detoast_attr(value);
	key_len = VARSIZE_ANY(value);
	if (summed && !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value))
		key_len = Min(key_len, FIRST_BYTES);
	if (seen->made != NULL && seen->len == VARSIZE_ANY(value) && seen->key_len == key_len &&
		memcmp(seen->key, value, key_len) == 0)
		return seen->made;
	seen->made = NULL;
	if (seen->cxt != NULL)
		MemoryContextDelete(seen->cxt);
	seen->cxt = AllocSetContextCreate(site->fn_mcxt, "l4 seen argument", ALLOCSET_DEFAULT_SIZES);
	seen->len = VARSIZE_ANY(value);
	seen->key_len = key_len;
	seen->key = memcpy(MemoryContextAlloc(seen->cxt, key_len), value, key_len);
	seen->made = make(value, seen->cxt);
	return seen->made;
}
