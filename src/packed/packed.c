/*
 * packed.c
 *		Packed rows in memory: the rows that are to be packed.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/map.h"
#include "packed/packed.h"

/* With a column for each of the letters. */
L4Pack *
l4_pack_create(const char *types, MemoryContext cxt)
{
	L4Pack	   *pack = MemoryContextAllocZero(cxt, sizeof(L4Pack));

	pack->cxt = cxt;
	pack->cols_size = 8;
	pack->cols = MemoryContextAllocZero(cxt, sizeof(L4PackCol) * pack->cols_size);
	for (; *types != '\0'; types++)
		l4_pack_add_col(pack, *types, "");
	return pack;
}

/* Columns may be added while there are rows: they are NULL in those. */
int
l4_pack_add_col(L4Pack *pack, char type, const char *name)
{
	L4PackCol  *col;

	if (pack->ncols >= L4_PACK_MAX_COLS)
		elog(ERROR, "too many packed columns");
	if (pack->ncols >= pack->cols_size)
	{
		pack->cols_size *= 2;
		pack->cols = repalloc(pack->cols, sizeof(L4PackCol) * pack->cols_size);
		memset(pack->cols + pack->ncols, 0, sizeof(L4PackCol) * (pack->cols_size - pack->ncols));
	}
	col = &pack->cols[pack->ncols];
	col->type = type;
	strlcpy(col->name, name, sizeof(col->name));
	while (col->nvalues < pack->nrows)
	{
		int			nrows = pack->nrows;

		l4_pack_null(pack, pack->ncols);
		pack->nrows = nrows;
	}
	return pack->ncols++;
}

/* Room for one more row where there is none, or where rows are NULL. */
L4PackCol *
l4_pack_grow(L4Pack *pack, int colno, bool isnull)
{
	L4PackCol  *col = &pack->cols[colno];

	if (col->nvalues >= col->size)
	{
		int			size = Max(32, col->size * 2);

		if (size > L4_PACK_MAX_ROWS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many rows to pack"),
					 errdetail("At most %d rows can be packed into one value.", L4_PACK_MAX_ROWS)));
		col->ints = col->ints == NULL ? MemoryContextAlloc(pack->cxt, sizeof(int64) * size)
			: repalloc(col->ints, sizeof(int64) * size);
		if (col->type == L4_PACK_FLOAT)
			col->floats = col->floats == NULL ? MemoryContextAlloc(pack->cxt, sizeof(float8) * size)
				: repalloc(col->floats, sizeof(float8) * size);
		if (col->nulls != NULL)
			col->nulls = repalloc(col->nulls, sizeof(bool) * size);
		col->size = size;
	}
	if (isnull && col->nulls == NULL)
		col->nulls = MemoryContextAllocZero(pack->cxt, sizeof(bool) * col->size);
	if (col->nulls != NULL)
		col->nulls[col->nvalues] = isnull;
	return col;
}

void
l4_pack_float(L4Pack *pack, int colno, float8 value)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues] = 0;
	col->floats[col->nvalues++] = value;
}

/* Where the number of an entry, and one more, is or is to be put; 0: it is new. */
static int32 *
find_entry(L4Pack *pack, L4PackCol *col, const char *data, int len)
{
	Size		bytes = col->type == L4_PACK_INTS ? len * sizeof(int32) : len;
	uint64		hash = hash_bytes((const unsigned char *) data, bytes);
	int32	   *number;

	if (col->numbers == NULL)
		col->numbers = l4_map_create(pack->cxt, 16, NULL);
	for (;; hash++)
	{
		number = l4_map_put(col->numbers, hash, NULL);
		if (*number == 0 ||
			(col->entry_len[*number - 1] == len && memcmp(col->entry[*number - 1], data, bytes) == 0))
			return number;
	}
}

/* Number of an entry, a new one where it is not known yet. */
static int
entry_number(L4Pack *pack, L4PackCol *col, const char *data, int len)
{
	int32	   *number = find_entry(pack, col, data, len);
	int			size = col->entries_size;

	if (*number > 0)
		return *number - 1;
	L4_GROW_FROM(col->entry, col->nentries, size, 16, pack->cxt);
	L4_GROW_FROM(col->entry_len, col->nentries, col->entries_size, 16, pack->cxt);
	col->entry[col->nentries] = unconstify(char *, data);
	if (col->type == L4_PACK_INTS)
		col->entry[col->nentries] = memcpy(MemoryContextAlloc(pack->cxt, Max(len, 1) * sizeof(int32)), data, len * sizeof(int32));
	col->entry_len[col->nentries] = len;
	*number = ++col->nentries;
	return *number - 1;
}

/* The same rows again, for writing more of them. */
L4Pack *
l4_pack_reopen(bytea *packed, MemoryContext cxt)
{
	L4Pack	   *pack = l4_pack_decode(packed, cxt);

	for (int c = 0; c < pack->ncols; c++)
	{
		L4PackCol  *col = &pack->cols[c];

		if (col->type == L4_PACK_FLOAT)
			col->ints = MemoryContextAllocZero(cxt, sizeof(int64) * Max(col->size, 1));
		col->entries_size = col->nentries;
		for (int i = 0; i < col->nentries; i++)
			*find_entry(pack, col, col->entry[i], col->entry_len[i]) = i + 1;
	}
	return pack;
}

void
l4_pack_text(L4Pack *pack, int colno, const char *value, int len)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, value, len);
	col->nvalues++;
}

void
l4_pack_ints(L4Pack *pack, int colno, const int32 *values, int n)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, (const char *) values, n);
	col->nvalues++;
}
