/*
 * packed.c
 *		Packed rows in memory: the rows that are to be packed.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "l4_compat.h"
#include "packed/packed.h"

L4Pack *
l4_pack_create(MemoryContext cxt)
{
	L4Pack	   *pack = MemoryContextAllocZero(cxt, sizeof(L4Pack));

	pack->cxt = cxt;
	pack->cols_size = 8;
	pack->cols = MemoryContextAllocZero(cxt, sizeof(L4PackCol) * pack->cols_size);
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

/* Room for so many entries, a power of two, and their table anew. */
static void
grow_entries(L4Pack *pack, L4PackCol *col, int size)
{
	if (col->entry == NULL)
	{
		col->entry = MemoryContextAlloc(pack->cxt, sizeof(char *) * size);
		col->entry_len = MemoryContextAlloc(pack->cxt, sizeof(int) * size);
	}
	else
	{
		col->entry = repalloc(col->entry, sizeof(char *) * size);
		col->entry_len = repalloc(col->entry_len, sizeof(int) * size);
	}
	col->entry_hash = col->entry_hash == NULL ? MemoryContextAlloc(pack->cxt, sizeof(uint32) * size)
		: repalloc(col->entry_hash, sizeof(uint32) * size);
	if (col->table != NULL)
		pfree(col->table);
	col->entries_size = size;
	col->table = MemoryContextAllocZero(pack->cxt, sizeof(int) * size * 2);
	for (int i = 0; i < col->nentries; i++)
	{
		uint32		at = col->entry_hash[i] & (size * 2 - 1);

		while (col->table[at] != 0)
			at = (at + 1) & (size * 2 - 1);
		col->table[at] = i + 1;
	}
}

static uint32
hash_entry(const char *data, int bytes)
{
	return hash_bytes((const unsigned char *) data, bytes);
}

/* A column that was decoded is written on. */
void
l4_pack_go_on(L4Pack *pack, int colno)
{
	L4PackCol  *col = &pack->cols[colno];
	int			size = 16;

	if (col->type == L4_PACK_FLOAT)
		col->ints = MemoryContextAllocZero(pack->cxt, sizeof(int64) * Max(col->size, 1));
	if (col->nentries == 0)
		return;
	while (size < col->nentries)
		size *= 2;
	col->entry_hash = MemoryContextAlloc(pack->cxt, sizeof(uint32) * size);
	for (int i = 0; i < col->nentries; i++)
		col->entry_hash[i] = hash_entry(col->entry[i], col->entry_len[i] * (col->type == L4_PACK_INTS ? sizeof(int32) : 1));
	grow_entries(pack, col, size);
}

/* Number of an entry, a new one where it is not known yet. */
static int
entry_number(L4Pack *pack, L4PackCol *col, const char *data, int bytes, int len)
{
	uint32		hash = hash_entry(data, bytes);
	uint32		at;

	if (col->nentries >= col->entries_size)
		grow_entries(pack, col, Max(16, col->entries_size * 2));
	for (at = hash & (col->entries_size * 2 - 1); col->table[at] != 0; at = (at + 1) & (col->entries_size * 2 - 1))
	{
		int			i = col->table[at] - 1;

		if (col->entry_hash[i] == hash && col->entry_len[i] == len && memcmp(col->entry[i], data, bytes) == 0)
			return i;
	}
	col->entry[col->nentries] = unconstify(char *, data);
	if (col->type == L4_PACK_INTS)
	{
		col->entry[col->nentries] = MemoryContextAlloc(pack->cxt, Max(bytes, 1));
		memcpy(col->entry[col->nentries], data, bytes);
	}
	col->entry_len[col->nentries] = len;
	col->entry_hash[col->nentries] = hash;
	col->table[at] = ++col->nentries;
	return col->nentries - 1;
}

void
l4_pack_text(L4Pack *pack, int colno, const char *value, int len)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, value, len, len);
	col->nvalues++;
}

/* A text or array that the column has already, by the number of its entry. */
void
l4_pack_same_entry(L4Pack *pack, int colno, int entry)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	Assert(entry >= 0 && entry < col->nentries);
	col->ints[col->nvalues++] = entry;
}

void
l4_pack_ints(L4Pack *pack, int colno, const int32 *values, int n)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, (const char *) values, n * sizeof(int32), n);
	col->nvalues++;
}
