/*
 * names.c
 *		Names to numbers.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/grow.h"
#include "base/names.h"

void
l4_names_init(L4Names *names, MemoryContext cxt)
{
	*names = (L4Names) {.cxt = cxt, .map = l4_map_create(cxt, 64, NULL)};
}

/* Number of a name, which is made when it is new. */
int
l4_names_number(L4Names *names, const char *name, int len)
{
	for (uint64 hash = hash_bytes_extended((const unsigned char *) name, len, 0);; hash++)
	{
		bool		found;
		int32	   *number = l4_map_put(names->map, hash, &found);

		if (!found)
		{
			L4_GROW(names->names, names->n, names->size, names->cxt);
			names->names[names->n] = MemoryContextAlloc(names->cxt, len + 1);
			memcpy(names->names[names->n], name, len);
			names->names[names->n][len] = '\0';
			*number = names->n;
			return names->n++;
		}
		if (strncmp(names->names[*number], name, len) == 0 && names->names[*number][len] == '\0')
			return *number;
	}
}
