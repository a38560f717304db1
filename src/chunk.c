/*
 * chunk.c
 *		Packed rows: integers of variable length, and the writer's side.
 *
 * Layout: version, rows, columns; for each column its type, its name, the
 * rows that are NULL (as runs), the length of its data and the data. See
 * docs/internals.md.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/shortest_dec.h"
#include "port/pg_bitutils.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "chunk.h"
#include "chunk_int.h"
#include "l4_compat.h"

/* Hash table of the distinct entries of a column. */
typedef struct EntryKey
{
	const char *data;
	int			len;			/* bytes */
} EntryKey;

typedef struct Entry
{
	EntryKey	key;
	int			number;
} Entry;

void
l4_put_uint(StringInfo buf, uint64 value)
{
	char		bytes[10];
	int			n = 0;

	while (value >= 0x80)
	{
		bytes[n++] = (char) (value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (char) value;
	appendBinaryStringInfo(buf, bytes, n);
}

/* Small negative numbers are short too: the sign goes to the lowest bit. */
void
l4_put_int(StringInfo buf, int64 value)
{
	l4_put_uint(buf, ((uint64) value << 1) ^ (uint64) (value >> 63));
}

static uint32
entry_hash(const void *key, Size keysize)
{
	const EntryKey *k = (const EntryKey *) key;

	return hash_bytes((const unsigned char *) k->data, k->len);
}

static int
entry_match(const void *key1, const void *key2, Size keysize)
{
	const EntryKey *a = (const EntryKey *) key1;
	const EntryKey *b = (const EntryKey *) key2;

	return a->len != b->len || memcmp(a->data, b->data, a->len) != 0;
}

L4Pack *
l4_pack_create(MemoryContext cxt)
{
	L4Pack	   *pack = MemoryContextAllocZero(cxt, sizeof(L4Pack));

	pack->cxt = cxt;
	pack->cols = MemoryContextAllocZero(cxt, sizeof(L4PackCol) * L4_PACK_MAX_COLS);
	return pack;
}

/* Columns may be added while there are rows: they are NULL in those. */
int
l4_pack_add_col(L4Pack *pack, char type, const char *name)
{
	L4PackCol  *col;

	if (pack->ncols >= L4_PACK_MAX_COLS)
		elog(ERROR, "too many packed columns");
	col = &pack->cols[pack->ncols];
	col->type = type;
	strlcpy(col->name, name, sizeof(col->name));
	for (int i = 0; i < pack->nrows; i++)
	{
		pack->ncols++;
		l4_pack_null(pack, pack->ncols - 1);
		pack->ncols--;
	}
	return pack->ncols++;
}

/* Make room for one more row of a column, and count rows by the first column. */
static L4PackCol *
next_row(L4Pack *pack, int colno, bool isnull)
{
	L4PackCol  *col = &pack->cols[colno];

	if (col->nvalues >= col->size)
	{
		int			size = Max(64, col->size * 2);

		if (size > L4_PACK_MAX_ROWS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many rows to pack"),
					 errdetail("At most %d rows can be packed into one value.", L4_PACK_MAX_ROWS)));
		if (col->size == 0)
			col->ints = MemoryContextAllocZero(pack->cxt, sizeof(int64) * size);
		else
			col->ints = repalloc(col->ints, sizeof(int64) * size);
		if (col->type == L4_PACK_FLOAT)
			col->floats = col->size == 0 ? MemoryContextAllocZero(pack->cxt, sizeof(float8) * size)
				: repalloc(col->floats, sizeof(float8) * size);
		if (col->nulls != NULL)
			col->nulls = repalloc(col->nulls, sizeof(bool) * size);
		col->size = size;
	}
	if (isnull && col->nulls == NULL)
		col->nulls = MemoryContextAllocZero(pack->cxt, sizeof(bool) * col->size);
	if (col->nulls != NULL)
		col->nulls[col->nvalues] = isnull;
	if (colno == 0)
		pack->nrows++;
	return col;
}

void
l4_pack_null(L4Pack *pack, int colno)
{
	L4PackCol  *col = next_row(pack, colno, true);

	if (col->type == L4_PACK_FLOAT)
		col->floats[col->nvalues] = 0;
	col->ints[col->nvalues++] = 0;
}

void
l4_pack_int(L4Pack *pack, int colno, int64 value)
{
	L4PackCol  *col = next_row(pack, colno, false);

	col->ints[col->nvalues++] = value;
}

void
l4_pack_float(L4Pack *pack, int colno, float8 value)
{
	L4PackCol  *col = next_row(pack, colno, false);

	col->floats[col->nvalues++] = value;
}

/* Number of an entry, a new one where it is not known yet. */
static int
entry_number(L4Pack *pack, L4PackCol *col, const char *data, int bytes, int len)
{
	EntryKey	key = {data, bytes};
	Entry	   *entry;
	bool		found;

	if (col->entry_hash == NULL)
	{
		HASHCTL		ctl;

		memset(&ctl, 0, sizeof(ctl));
		ctl.keysize = sizeof(EntryKey);
		ctl.entrysize = sizeof(Entry);
		ctl.hash = entry_hash;
		ctl.match = entry_match;
		ctl.hcxt = pack->cxt;
		col->entry_hash = hash_create("l4 packed entries", 64, &ctl,
									  HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	}
	entry = (Entry *) hash_search((HTAB *) col->entry_hash, &key, HASH_ENTER, &found);
	if (found)
		return entry->number;
	entry->number = col->nentries;
	if (col->nentries >= col->entries_size)
	{
		int			size = Max(16, col->entries_size * 2);

		col->entry = col->entry == NULL ? MemoryContextAlloc(pack->cxt, sizeof(char *) * size)
			: repalloc(col->entry, sizeof(char *) * size);
		col->entry_len = col->entry_len == NULL ? MemoryContextAlloc(pack->cxt, sizeof(int) * size)
			: repalloc(col->entry_len, sizeof(int) * size);
		col->entries_size = size;
	}
	col->entry[col->nentries] = MemoryContextAlloc(pack->cxt, Max(bytes, 1));
	memcpy(col->entry[col->nentries], data, bytes);
	entry->key.data = col->entry[col->nentries];
	col->entry_len[col->nentries] = len;
	return col->nentries++;
}

void
l4_pack_text(L4Pack *pack, int colno, const char *value, int len)
{
	L4PackCol  *col = next_row(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, value, len, len);
	col->nvalues++;
}

/* A text or array that the column has already, by the number of its entry. */
void
l4_pack_same_entry(L4Pack *pack, int colno, int entry)
{
	L4PackCol  *col = next_row(pack, colno, false);

	Assert(entry >= 0 && entry < col->nentries);
	col->ints[col->nvalues++] = entry;
}

void
l4_pack_ints(L4Pack *pack, int colno, const int32 *values, int n)
{
	L4PackCol  *col = next_row(pack, colno, false);

	col->ints[col->nvalues] = entry_number(pack, col, (const char *) values, n * sizeof(int32), n);
	col->nvalues++;
}

/* Bytes of an unsigned integer as l4_put_uint writes it. */
static inline int
uint_size(uint64 value)
{
	return value == 0 ? 1 : pg_leftmost_one_pos64(value) / 7 + 1;
}

static inline uint64
zigzag(uint64 value)
{
	return (value << 1) ^ (uint64) ((int64) value >> 63);
}

static void
put_form(StringInfo buf, const int64 *values, int n, int form)
{
	uint64		before = 0;

	for (int i = 0; i < n;)
	{
		uint64		base = (form & L4_FORM_DIFFERENCES) ? before : 0;
		uint64		value = (uint64) values[i] - base;
		int			run = 1;

		before = (uint64) values[i];
		l4_put_uint(buf, zigzag(value));
		if (form & L4_FORM_RUNS)
		{
			while (i + run < n &&
				   (uint64) values[i + run] - ((form & L4_FORM_DIFFERENCES) ? before : 0) == value)
			{
				before = (uint64) values[i + run];
				run++;
			}
			l4_put_uint(buf, run);
		}
		i += run;
	}
}

/* Plain or as differences, one by one or as runs: whichever is shortest. */
static void
put_ints(StringInfo buf, const int64 *values, int n)
{
	Size		size[L4_FORM_COUNT] = {0};
	int			best = 0;
	uint64		run_value[2] = {0};
	int			run[2] = {0};
	uint64		before = 0;

	for (int i = 0; i <= n; i++)
	{
		uint64		value[2] = {0};

		if (i < n)
		{
			value[0] = zigzag((uint64) values[i]);
			value[1] = zigzag((uint64) values[i] - before);
			before = (uint64) values[i];
		}
		for (int d = 0; d < 2; d++)
		{
			if (i < n)
				size[d] += uint_size(value[d]);
			if (run[d] > 0 && (i == n || value[d] != run_value[d]))
			{
				size[d | L4_FORM_RUNS] += uint_size(run_value[d]) + uint_size(run[d]);
				run[d] = 0;
			}
			run_value[d] = value[d];
			run[d]++;
		}
	}
	for (int f = 1; f < L4_FORM_COUNT; f++)
		if (size[f] < size[best])
			best = f;
	appendStringInfoChar(buf, (char) best);
	enlargeStringInfo(buf, (int) size[best] + 16);
	put_form(buf, values, n, best);
}

static int
compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/*
 * The distinct values in ascending order, or 0 when there are too many for a
 * dictionary to pay. Open addressing in a table that is never more than half
 * full.
 */
static int
distinct_ints(const int64 *values, int n, int64 *distinct)
{
	static const int table_size = 2 * L4_MAX_DICTIONARY;
	int64	   *table = (int64 *) palloc(sizeof(int64) * table_size);
	bool	   *used = (bool *) palloc0(table_size);
	int			ndistinct = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		at = murmurhash32((uint32) values[i] ^ (uint32) ((uint64) values[i] >> 32)) % table_size;

		while (used[at] && table[at] != values[i])
			at = (at + 1) % table_size;
		if (used[at])
			continue;
		if (ndistinct >= L4_MAX_DICTIONARY || ndistinct > n / 4)
		{
			ndistinct = 0;
			break;
		}
		used[at] = true;
		table[at] = values[i];
		distinct[ndistinct++] = values[i];
	}
	pfree(table);
	pfree(used);
	qsort(distinct, ndistinct, sizeof(int64), compare_int64);
	return ndistinct;
}

/*
 * Integers, by dictionary where there are few different ones of them: event
 * ids then take one byte however large they are.
 */
static void
put_int_column(StringInfo buf, const int64 *values, int n)
{
	StringInfoData plain;
	int64		distinct[L4_MAX_DICTIONARY];
	int			ndistinct = 0;

	initStringInfo(&plain);
	put_ints(&plain, values, n);
	if (n >= 16 && plain.len > n)
		ndistinct = distinct_ints(values, n, distinct);
	if (ndistinct > 0)
	{
		StringInfoData coded;

		initStringInfo(&coded);
		l4_put_uint(&coded, ndistinct);
		put_ints(&coded, distinct, ndistinct);
		/* codes are not negative: leave the bit of the sign away */
		for (int i = 0; i < n && coded.len < plain.len; i++)
			l4_put_uint(&coded, (int64 *) bsearch(&values[i], distinct, ndistinct, sizeof(int64), compare_int64) - distinct);
		if (coded.len < plain.len)
		{
			pfree(plain.data);
			plain = coded;
		}
		else
		{
			pfree(coded.data);
			ndistinct = 0;
		}
	}
	appendStringInfoChar(buf, ndistinct > 0 ? L4_CODED_YES : L4_CODED_NO);
	appendBinaryStringInfo(buf, plain.data, plain.len);
	pfree(plain.data);
}

/* value = mantissa * 10^exponent, exactly: the shortest decimal that reads back as value. */
static void
split_float(float8 value, int64 *mantissa, int64 *exponent)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];
	char	   *p = text;
	bool		negative;
	bool		point = false;

	*mantissa = 0;
	*exponent = 0;
	if (isnan(value) || isinf(value))
	{
		*exponent = isnan(value) ? L4_EXPONENT_NAN : value > 0 ? L4_EXPONENT_INF : L4_EXPONENT_NEG_INF;
		return;
	}
	double_to_shortest_decimal_buf(value, text);
	negative = (*p == '-');
	if (negative)
		p++;
	for (; *p != '\0' && *p != 'e'; p++)
	{
		if (*p == '.')
		{
			point = true;
			continue;
		}
		if (*mantissa >= INT64CONST(100000000000000000))
		{
			/* beyond 18 digits only zeros follow */
			*exponent += point ? 0 : 1;
			continue;
		}
		*mantissa = *mantissa * 10 + (*p - '0');
		if (point)
			(*exponent)--;
	}
	if (*p == 'e')
		*exponent += atoi(p + 1);
	if (negative)
		*mantissa = -*mantissa;
	if (*mantissa == 0)
		*exponent = signbit(value) ? L4_EXPONENT_NEG_ZERO : 0;
}

/* Bring the mantissas to one exponent where that is cheap: neighbours then differ little. */
static void
put_float_column(StringInfo buf, const float8 *values, int n)
{
	int64	   *mantissa = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int64	   *exponent = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int64		lowest = 0;

	for (int i = 0; i < n; i++)
	{
		split_float(values[i], &mantissa[i], &exponent[i]);
		if (exponent[i] < lowest && exponent[i] >= -9)
			lowest = exponent[i];
	}
	for (int i = 0; i < n; i++)
		while (exponent[i] > lowest && exponent[i] <= 0 && mantissa[i] != 0 &&
			   mantissa[i] < INT64CONST(100000000000000) &&
			   mantissa[i] > -INT64CONST(100000000000000))
		{
			mantissa[i] *= 10;
			exponent[i]--;
		}
	put_int_column(buf, exponent, n);
	put_int_column(buf, mantissa, n);
	pfree(mantissa);
	pfree(exponent);
}

static void
put_column(StringInfo buf, L4PackCol *col)
{
	int64	   *ints = (int64 *) palloc(sizeof(int64) * Max(col->nvalues, 1));
	float8	   *floats = (float8 *) palloc(sizeof(float8) * Max(col->nvalues, 1));
	int			n = 0;

	for (int i = 0; i < col->nvalues; i++)
	{
		if (col->nulls != NULL && col->nulls[i])
			continue;
		if (col->type == L4_PACK_FLOAT)
			floats[n++] = col->floats[i];
		else
			ints[n++] = col->ints[i];
	}
	if (col->type == L4_PACK_TEXT || col->type == L4_PACK_INTS)
	{
		l4_put_uint(buf, col->nentries);
		for (int i = 0; i < col->nentries; i++)
		{
			l4_put_uint(buf, col->entry_len[i]);
			if (col->type == L4_PACK_TEXT)
				appendBinaryStringInfo(buf, col->entry[i], col->entry_len[i]);
			else
				for (int k = 0; k < col->entry_len[i]; k++)
					l4_put_int(buf, ((int32 *) col->entry[i])[k]);
		}
	}
	if (col->type == L4_PACK_FLOAT)
		put_float_column(buf, floats, n);
	else
		put_int_column(buf, ints, n);
	pfree(ints);
	pfree(floats);
}

bytea *
l4_pack_encode(L4Pack *pack)
{
	StringInfoData out;
	bytea	   *result;

	initStringInfo(&out);
	appendStringInfoSpaces(&out, VARHDRSZ);
	appendStringInfoChar(&out, L4_PACK_VERSION);
	l4_put_uint(&out, pack->nrows);
	l4_put_uint(&out, pack->ncols);
	for (int c = 0; c < pack->ncols; c++)
	{
		L4PackCol  *col = &pack->cols[c];
		StringInfoData data;

		if (col->nvalues != pack->nrows)
			elog(ERROR, "packed column \"%s\" has %d rows, not %d", col->name, col->nvalues, pack->nrows);
		appendStringInfoChar(&out, col->type);
		l4_put_uint(&out, strlen(col->name));
		appendStringInfoString(&out, col->name);
		appendStringInfoChar(&out, col->nulls != NULL);
		if (col->nulls != NULL)
		{
			int64	   *flags = (int64 *) palloc(sizeof(int64) * Max(pack->nrows, 1));

			for (int i = 0; i < pack->nrows; i++)
				flags[i] = col->nulls[i];
			put_ints(&out, flags, pack->nrows);
			pfree(flags);
		}
		initStringInfo(&data);
		put_column(&data, col);
		l4_put_uint(&out, data.len);
		appendBinaryStringInfo(&out, data.data, data.len);
		pfree(data.data);
	}
	result = (bytea *) out.data;
	SET_VARSIZE(result, out.len);
	return result;
}
