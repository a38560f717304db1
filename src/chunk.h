/*
 * chunk.h
 *		Packed rows: what ingest keeps, column by column, in few bytes.
 *
 * A packed value holds rows of named, typed columns. Each column is stored in
 * the smallest of several forms (plain, differences, runs, dictionary), so
 * that whoever writes does not have to know what the data look like.
 */
#ifndef L4_CHUNK_H
#define L4_CHUNK_H

#include "lib/stringinfo.h"

#include "l4_compat.h"

#define L4_PACK_VERSION		1
#define L4_PACK_MAX_ROWS	(16 * 1024 * 1024)
#define L4_PACK_MAX_COLS	64

/* Types of columns; the letters are stored. */
#define L4_PACK_INT			'i' /* int64, also int32, bool and dates */
#define L4_PACK_FLOAT		'f' /* float8, kept exactly */
#define L4_PACK_TEXT		's'
#define L4_PACK_INTS		'a' /* array of int32 */

typedef struct L4ByteReader
{
	const unsigned char *ptr;
	const unsigned char *end;
} L4ByteReader;

typedef struct L4PackCol
{
	char		type;
	char		name[64];
	/* values that are not NULL, one after the other */
	int64	   *ints;			/* INT: values; TEXT and INTS: number of the entry */
	float8	   *floats;
	int			nvalues;
	int			size;
	/* rows */
	bool	   *nulls;			/* NULL = no row is NULL */
	/* distinct entries of TEXT and INTS */
	int			nentries;
	int			entries_size;
	char	  **entry;			/* bytes of a text, int32 of an array */
	int		   *entry_len;		/* bytes, or number of elements */
	void	   *entry_hash;		/* writer only */
	/* reader only: bytes that are still to be decoded, and how many values they hold */
	L4ByteReader data;
	int			nfilled;
} L4PackCol;

typedef struct L4Pack
{
	int			nrows;
	int			ncols;
	L4PackCol  *cols;
	MemoryContext cxt;
} L4Pack;

/* Write: a value for each column in turn; a row ends when the last one has its value. */
extern L4Pack *l4_pack_create(MemoryContext cxt);
extern int	l4_pack_add_col(L4Pack *pack, char type, const char *name);
extern void l4_pack_null(L4Pack *pack, int col);
extern void l4_pack_int(L4Pack *pack, int col, int64 value);
extern void l4_pack_float(L4Pack *pack, int col, float8 value);
extern void l4_pack_text(L4Pack *pack, int col, const char *value, int len);
extern void l4_pack_same_entry(L4Pack *pack, int col, int entry);
extern void l4_pack_ints(L4Pack *pack, int col, const int32 *values, int n);
extern bytea *l4_pack_encode(L4Pack *pack);

/*
 * Read: everything is checked, ERRCODE_DATA_CORRUPTED. After reading, ints
 * and floats have one element a row (0 where NULL). An opened pack, which
 * keeps pointing into the bytes, has the columns that were said to be needed.
 */
extern L4Pack *l4_pack_open(bytea *packed, MemoryContext cxt);
extern void l4_pack_need(L4Pack *pack, int colno);
extern L4Pack *l4_pack_decode(bytea *packed, MemoryContext cxt);
extern L4Pack *l4_pack_reopen(bytea *packed, MemoryContext cxt);

static inline bool
l4_pack_is_null(const L4Pack *pack, int col, int row)
{
	return pack->cols[col].nulls != NULL && pack->cols[col].nulls[row];
}

/* Integers of any size in few bytes. */
extern void l4_put_uint(StringInfo buf, uint64 value);
extern void l4_put_int(StringInfo buf, int64 value);

extern uint64 l4_get_uint(L4ByteReader *reader);
extern int64 l4_get_int(L4ByteReader *reader);
extern const char *l4_get_bytes(L4ByteReader *reader, uint64 len);
extern L4_NORETURN void l4_pack_corrupted(const char *what);

#endif							/* L4_CHUNK_H */
