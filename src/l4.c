/*
 * l4.c
 *		Module magic, load hook and version of the l4 extension.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/args.h"
#include "l4_compat.h"

L4_MODULE_MAGIC;

/*
 * Version of the loaded library, the one that the control file named when it
 * was built: a difference from pg_extension.extversion means that the
 * library was replaced and ALTER EXTENSION l4 UPDATE is due.
 */
L4_FUNCTION(l4_version)
{
	PG_RETURN_TEXT_P(cstring_to_text(L4_VERSION));
}
