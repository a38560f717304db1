/*
 * packed.h
 *		Packed rows: what ingest keeps, column by column, in few bytes.
 *
 * A packed value holds rows of typed columns: numbers as differences, texts
 * by a dictionary. What repeats is left to compression.
 */
#ifndef L4_PACKED_H
#define L4_PACKED_H

#include "lib/stringinfo.h"

#include "base/bytes.h"
#include "l4_compat.h"

#define L4_NO_TS			PG_INT64_MIN	/* a time that is not known; NULL when packed */

#define L4_PACK_VERSION		1
#define L4_PACK_COMPRESSED	2	/* a pack of version 1, less its first byte, compressed */
#define L4_PACK_MAX_ROWS	(16 * 1024 * 1024)
#define L4_PACK_MAX_COLS	64

/* Types of columns; the letters are stored. */
#define L4_PACK_INT			'i' /* int64, also int32, bool and dates */
#define L4_PACK_FLOAT		'f' /* float8, kept exactly; these have names */
#define L4_PACK_TEXT		's'
#define L4_PACK_INTS		'a' /* array of int32 */
#define L4_COL_HAS_NULLS	0x80	/* added to the type: some rows are NULL */

/* Floats are stored as whole numbers of fewer decimal places than that, or else as their bits, with that for places. */
#define L4_MAX_PLACES		16

typedef struct L4PackCol
{
	char		type;
	char		name[64];
	/* a value each row, 0 where it is NULL */
	int64	   *ints;			/* INT: values; TEXT and INTS: number of the entry */
	float8	   *floats;
	int			nvalues;
	int			size;
	bool	   *nulls;			/* NULL = no row is NULL */
	/* distinct entries of TEXT and INTS */
	int			nentries;
	int			entries_size;
	char	  **entry;			/* bytes of a text, int32 of an array */
	int		   *entry_len;		/* bytes, or number of elements */
	struct l4_map_hash *numbers;	/* writer only: of entries + 1, by hash, of the next one where it is another entry's */
	/* reader only: bytes that are still to be decoded, and whether they begin with NULLs */
	L4ByteReader data;
	bool		has_nulls;
} L4PackCol;

typedef struct L4Pack
{
	int			nrows;
	int			ncols;
	int			cols_size;
	L4PackCol  *cols;
	MemoryContext cxt;
} L4Pack;

/*
 * Write: a value for each column in turn; a row ends when the last one has
 * its value. Texts are not copied: they must last as long as the pack.
 */
extern L4Pack *l4_pack_create(const char *types, MemoryContext cxt);
extern int	l4_pack_add_col(L4Pack *pack, char type, const char *name);
extern L4PackCol *l4_pack_grow(L4Pack *pack, int col, bool isnull);
extern void l4_pack_float(L4Pack *pack, int col, float8 value);
extern void l4_pack_text(L4Pack *pack, int col, const char *value, int len);
extern void l4_pack_ints(L4Pack *pack, int col, const int32 *values, int n);
extern bytea *l4_pack_encode(L4Pack *pack);

/* The same rows in fewer bytes where that is worth it: for what is stored. */
extern bytea *l4_pack_compress(bytea *packed);

/* Room for one more row of a column; rows are counted by the first column. */
static inline L4PackCol *
l4_pack_next(L4Pack *pack, int colno, bool isnull)
{
	L4PackCol  *col = &pack->cols[colno];

	if (col->nvalues >= col->size || isnull || col->nulls != NULL)
		col = l4_pack_grow(pack, colno, isnull);
	pack->nrows += colno == 0;
	return col;
}

static inline void
l4_pack_int(L4Pack *pack, int colno, int64 value)
{
	L4PackCol  *col = l4_pack_next(pack, colno, false);

	col->ints[col->nvalues++] = value;
}

static inline void
l4_pack_null(L4Pack *pack, int colno)
{
	L4PackCol  *col = l4_pack_next(pack, colno, true);

	if (col->floats != NULL)
		col->floats[col->nvalues] = 0;
	col->ints[col->nvalues++] = 0;
}

static inline void
l4_pack_ts(L4Pack *pack, int colno, int64 ts)
{
	if (ts == L4_NO_TS)
		l4_pack_null(pack, colno);
	else
		l4_pack_int(pack, colno, ts);
}

/*
 * Read: everything is checked, ERRCODE_DATA_CORRUPTED. An opened pack, which
 * keeps pointing into the bytes, has the columns that were said to be needed.
 */
extern L4Pack *l4_pack_open(bytea *packed, MemoryContext cxt);
extern L4Pack *l4_pack_open_as(bytea *packed, const char *types, MemoryContext cxt);
extern void l4_pack_need(L4Pack *pack, int colno);
extern L4Pack *l4_pack_decode(bytea *packed, MemoryContext cxt);
extern L4Pack *l4_pack_reopen(bytea *packed, MemoryContext cxt);

static inline bool
l4_pack_is_null(const L4Pack *pack, int col, int row)
{
	return pack->cols[col].nulls != NULL && pack->cols[col].nulls[row];
}

static inline int64
l4_pack_get_ts(const L4Pack *pack, int col, int row)
{
	return l4_pack_is_null(pack, col, row) ? L4_NO_TS : pack->cols[col].ints[row];
}

/* The earlier of two times, of which any may be unknown. The later one is the greater number. */
static inline int64
l4_earlier(int64 a, int64 b)
{
	return a == L4_NO_TS ? b : b == L4_NO_TS ? a : Min(a, b);
}

#endif							/* L4_PACKED_H */
