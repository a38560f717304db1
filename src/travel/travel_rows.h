/*
 * travel_rows.h
 *		The rows of an export: entries one after the other, cut into rows of at
 *		most a megabyte, each of which tells its place and whether it is whole.
 */
#ifndef L4_TRAVEL_ROWS_H
#define L4_TRAVEL_ROWS_H

#include "base/bytes.h"

#define L4_EXPORT_FORMAT		1
#define L4_EXPORT_BLOCK_BYTES	990000	/* of entries in a row; compressed they are never more than a megabyte */

/* What an export consists of: a letter that says what it is, a jsonb as UTF-8 text, and stored bytes (NULL: none). */
typedef struct L4ExportEntry
{
	char		kind;
	const char *head;
	int			head_len;
	int			nbodies;
	bytea	  **bodies;
} L4ExportEntry;

/* All zero but for plain, which is empty, at first. */
typedef struct L4ExportWriter
{
	StringInfoData plain;		/* entries that are in no row yet */
	uint64		chain;			/* checksum of the row before */
	int			number;
} L4ExportWriter;

/* A row, or NULL: there is not enough for one yet; the last row takes what is left. */
extern void l4_export_entry(L4ExportWriter *writer, const L4ExportEntry *entry);
extern bytea *l4_export_row(L4ExportWriter *writer, bool last);

typedef struct L4ExportRow
{
	int			number;
	bool		last;
	uint64		checksum;
	uint64		chain;
	L4ByteReader block;			/* compressed */
} L4ExportRow;

typedef struct L4ExportReader
{
	int			nrows;
	L4ExportRow *rows;			/* in order */
	int			next;
	StringInfoData plain;		/* of the rows read so far; from at on it was not asked for yet */
	int			at;
	MemoryContext cxt;
} L4ExportReader;

/* All rows of an export, in any order: an error unless they are all, and whole. Entries are read until false. */
extern void l4_import_begin(L4ExportReader *reader, bytea **rows, int nrows);
extern bool l4_import_entry(L4ExportReader *reader, L4ExportEntry *entry, MemoryContext cxt);

#endif							/* L4_TRAVEL_ROWS_H */
