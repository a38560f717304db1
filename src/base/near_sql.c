/*
 * near_sql.c
 *		How far apart two names are, for hints about a name that was mistyped.
 */
#include "postgres.h"

#include "utils/varlena.h"

#include "base/args.h"
#include "base/clip.h"
#include "l4_compat.h"

/* What the server compares at most, in bytes: beyond it names are told apart by their beginnings. */
#define NAME_MAX_BYTES	255

/* _edit_distance(a text, b text) -> int: insertions, deletions and substitutions of characters between two names */
L4_FUNCTION(l4_edit_distance)
{
	text	   *a = PG_GETARG_TEXT_PP(0);
	text	   *b = PG_GETARG_TEXT_PP(1);
	int			alen = l4_clip(VARDATA_ANY(a), VARSIZE_ANY_EXHDR(a), NAME_MAX_BYTES);
	int			blen = l4_clip(VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b), NAME_MAX_BYTES);

	PG_RETURN_INT32(varstr_levenshtein(VARDATA_ANY(a), alen, VARDATA_ANY(b), blen, 1, 1, 1, true));
}
