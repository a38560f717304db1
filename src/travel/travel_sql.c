/*
 * travel_sql.c
 *		SQL side of the rows of an export.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "l4_compat.h"
#include "travel/travel_rows.h"

#define ENTRIES_AT_ONCE 16

/* The elements of an array of bytea; NULL for those that are NULL. */
static bytea **
bytea_elements(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	bytea	  **values;

	deconstruct_array(array, BYTEAOID, -1, false, TYPALIGN_INT, &elements, &nulls, n);
	values = (bytea **) palloc(sizeof(bytea *) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		values[i] = nulls[i] ? NULL : DatumGetByteaPP(elements[i]);
	return values;
}

/*
 * Heads travel as UTF-8, but between databases of SQL_ASCII as the bytes that they are: there a kept text is of no
 * encoding, and nothing else takes such an export in.
 */
static int
head_encoding(void)
{
	return GetDatabaseEncoding() == PG_SQL_ASCII ? PG_SQL_ASCII : PG_UTF8;
}

/* An entry of a row of the statement: kind, head, bodies. */
static void
read_entry(HeapTuple row, TupleDesc desc, L4ExportEntry *entry)
{
	bool		no_bodies;
	char	   *kind = SPI_getvalue(row, desc, 1);
	char	   *head = SPI_getvalue(row, desc, 2);
	Datum		bodies = SPI_getbinval(row, desc, 3, &no_bodies);

	entry->kind = kind == NULL ? ' ' : kind[0];
	entry->head = head == NULL ? "null" : (const char *) pg_server_to_any(head, strlen(head), head_encoding());
	entry->head_len = strlen(entry->head);
	entry->nbodies = 0;
	entry->bodies = NULL;
	if (!no_bodies)
		entry->bodies = bytea_elements(DatumGetArrayTypeP(bodies), &entry->nbodies);
}

static void
put_row(ReturnSetInfo *rsinfo, L4ExportWriter *writer, bool last)
{
	bytea	   *row;

	while ((row = l4_export_row(writer, last)) != NULL)
	{
		Datum		value = PointerGetDatum(row);
		bool		isnull = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
		pfree(row);
		if (last && writer->plain.len == 0)
			return;
	}
}

static void
check_entries(TupleDesc desc)
{
	if (desc->natts != 3 || TupleDescAttr(desc, 0)->atttypid != TEXTOID || TupleDescAttr(desc, 1)->atttypid != JSONBOID ||
		TupleDescAttr(desc, 2)->atttypid != BYTEAARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("entries of an export have the columns kind text, head jsonb, bodies bytea[]")));
}

/* l4._export_rows(statement): the rows that its entries make; the statement runs with the rights of the caller */
L4_FUNCTION(l4_export_rows)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	MemoryContext cxt;
	MemoryContext old;
	L4ExportWriter writer = {.number = 0};
	SPIPlanPtr	plan;
	Portal		portal;

	l4_init_materialized_srf(fcinfo);
	initStringInfo(&writer.plain);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 export", ALLOCSET_DEFAULT_SIZES);
	SPI_connect();
	plan = SPI_prepare(statement, 0, NULL);
	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("entries of an export must come from one query")));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	check_entries(portal->tupDesc);
	for (;;)
	{
		SPI_cursor_fetch(portal, true, ENTRIES_AT_ONCE);
		if (SPI_processed == 0)
			break;
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			L4ExportEntry entry;

			CHECK_FOR_INTERRUPTS();
			old = MemoryContextSwitchTo(cxt);
			read_entry(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, &entry);
			l4_export_entry(&writer, &entry);
			put_row(rsinfo, &writer, false);
			MemoryContextSwitchTo(old);
			MemoryContextReset(cxt);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_finish();
	put_row(rsinfo, &writer, true);
	return (Datum) 0;
}

/* Text of the export in the encoding of the database, as a jsonb. */
static Datum
head_value(const L4ExportEntry *entry)
{
	char	   *text = pnstrdup(entry->head, entry->head_len);

	return DirectFunctionCall1(jsonb_in, CStringGetDatum(pg_any_to_server(text, strlen(text), head_encoding())));
}

static Datum
bodies_value(const L4ExportEntry *entry)
{
	Datum	   *elements = (Datum *) palloc(sizeof(Datum) * Max(entry->nbodies, 1));
	bool	   *nulls = (bool *) palloc(Max(entry->nbodies, 1));
	int			lower = 1;
	int			n = entry->nbodies;

	for (int i = 0; i < n; i++)
	{
		nulls[i] = entry->bodies[i] == NULL;
		elements[i] = PointerGetDatum(entry->bodies[i]);
	}
	if (n == 0)
		return PointerGetDatum(construct_empty_array(BYTEAOID));
	return PointerGetDatum(construct_md_array(elements, nulls, 1, &n, &lower, BYTEAOID, -1, false, TYPALIGN_INT));
}

/* l4._import_entries(rows): the entries of an export, in their order */
L4_FUNCTION(l4_import_entries)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	int			n = l4_check_array(array, "parts");
	bytea	  **rows = bytea_elements(array, &n);
	L4ExportReader reader;
	L4ExportEntry entry;
	MemoryContext cxt;
	MemoryContext old;

	l4_init_materialized_srf(fcinfo);
	l4_import_begin(&reader, rows, n);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 import entry", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);
	while (l4_import_entry(&reader, &entry, cxt))
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		CHECK_FOR_INTERRUPTS();
		if (entry.kind < 'a' || entry.kind > 'z')
			l4_bytes_corrupted("kind of an entry");
		values[0] = PointerGetDatum(cstring_to_text_with_len(&entry.kind, 1));
		values[1] = head_value(&entry);
		values[2] = bodies_value(&entry);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		MemoryContextReset(cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return (Datum) 0;
}
