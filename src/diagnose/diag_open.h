/*
 * diag_open.h: a packed value whose first columns are of known types.
 */
#ifndef L4_DIAG_OPEN_H
#define L4_DIAG_OPEN_H

#include "packed/packed.h"

/* types: a letter (L4_PACK_INT and so on) for each of the first columns, which are decoded. what: for the error where they differ. */
static inline L4Pack *
l4_diag_open(bytea *packed, const char *types, const char *what)
{
	L4Pack	   *pack = l4_pack_open(packed, CurrentMemoryContext);

	for (int c = 0; types[c] != '\0'; c++)
	{
		if (c >= pack->ncols || pack->cols[c].type != types[c])
			l4_bytes_corrupted(what);
		l4_pack_need(pack, c);
	}
	return pack;
}

#endif							/* L4_DIAG_OPEN_H */
