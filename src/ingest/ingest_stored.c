/*
 * ingest_stored.c
 *		Reads what is stored of a stream.
 *
 * Short streams of a job that follow each other share packs: such a pack is
 * read once and each of its values is opened once for all of them.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "ingest/write_set.h"
#include "l4_compat.h"

static const char stream_sql[] =
"SELECT s.job_id, s.node, s.source, s.next_chunk_no, s.tail_lines, s.pack_id, s.member FROM l4._stream s WHERE s.stream_id = $1";
static const Oid stream_types[] = {INT4OID};

/* $2: number of the chunk, $3: it has fewer lines */
static const char pack_sql[] =
"SELECT c.body, m.scan_state, m.pack_state, m.events, m.slots, g.durations, g.iterations, m.stages, g.activity, g.sequences, g.part "
"FROM l4._pack m "
"CROSS JOIN LATERAL (SELECT x.* FROM l4._pack x WHERE x.pack_id = m.pack_id ORDER BY x.part DESC LIMIT 1) g "
"LEFT JOIN l4._pack_chunk c ON c.pack_id = m.pack_id AND c.chunk_no = $2 AND c.lines < $3 "
"WHERE m.pack_id = $1 AND m.part = 0";
static const Oid pack_types[] = {INT4OID, INT4OID, INT4OID};

#define GROWTH_BYTES 8192		/* a row of what grows with time is full when it has these: it would be written again with the next lines */

/* What grows with time. */
static const bool grows[] = {false, false, true, true, false, true, true};

void
l4_stored_init(L4StoredReader *reader, bool read_only)
{
	memset(reader, 0, sizeof(*reader));
	l4_query_prepare(&reader->stream, stream_sql, lengthof(stream_types), stream_types);
	reader->stream.read_only = read_only;
	l4_query_prepare(&reader->pack, pack_sql, lengthof(pack_types), pack_types);
	reader->pack.read_only = read_only;
	reader->cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 shared pack", ALLOCSET_DEFAULT_SIZES);
}

static void
read_pack(L4StoredReader *reader, const L4Stored *stored)
{
	bool		shared = stored->member != L4_NO_INT;

	if (reader->row != NULL)
		SPI_freetuptable(reader->row);
	reader->row = NULL;
	reader->shared_id = 0;
	MemoryContextReset(reader->cxt);
	memset(reader->opened, 0, sizeof(reader->opened));
	l4_query_put_int(&reader->pack, stored->pack_id);
	/* all members of a shared pack have their lines in chunk 0; number -1 is what was open */
	l4_query_put_int(&reader->pack, shared ? 0 : stored->next_chunk_no > 0 ? stored->next_chunk_no - 1 : -2);
	l4_query_put_int(&reader->pack, shared ? PG_INT32_MAX : L4_CHUNK_LINES);
	if (l4_query_run(&reader->pack) != 1)
		elog(ERROR, "pack %d is gone", stored->pack_id);
	reader->row = SPI_tuptable;
	if (shared)
		reader->shared_id = stored->pack_id;
}

bool
l4_stored_read(L4StoredReader *reader, int32 stream_id, L4Stored *stored)
{
	HeapTuple	row;
	TupleDesc	desc;

	l4_query_put_int(&reader->stream, stream_id);
	if (l4_query_run(&reader->stream) != 1)
		return false;
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	stored->job_id = SPI_getvalue(row, desc, 1);
	stored->node = SPI_getvalue(row, desc, 2);
	stored->source = SPI_getvalue(row, desc, 3);
	stored->next_chunk_no = l4_query_get_int(4, 0);
	stored->tail_lines = l4_query_get_int(5, 0);
	stored->pack_id = l4_query_get_int(6, 0);
	stored->member = l4_query_get_int(7, L4_NO_INT);
	SPI_freetuptable(SPI_tuptable);
	if (stored->pack_id != 0 && (stored->member == L4_NO_INT || stored->pack_id != reader->shared_id))
		read_pack(reader, stored);
	return true;
}

bytea *
l4_stored_value(L4StoredReader *reader, const L4Stored *stored, L4StoredValue which)
{
	Datum		value;
	bool		isnull;

	if (stored->pack_id == 0)
		return NULL;
	value = SPI_getbinval(reader->row->vals[0], reader->row->tupdesc, which + 1, &isnull);
	if (isnull)
		return NULL;
	if (stored->member == L4_NO_INT)
		return DatumGetByteaPCopy(value);
	if (reader->opened[which].bytes == NULL)
	{
		bytea	   *group = DatumGetByteaPP(value);

		reader->opened[which] = l4_group_open(group, reader->cxt);
		if ((Pointer) group != DatumGetPointer(value))
			pfree(group);
	}
	return l4_group_member(&reader->opened[which], stored->member);
}

/* Of a pack of the stream's own: its last part, and how many bytes that has of what grows. */
static int
last_part(L4StoredReader *reader, Size *bytes)
{
	HeapTuple	row = reader->row->vals[0];
	TupleDesc	desc = reader->row->tupdesc;
	bool		isnull;

	StaticAssertStmt(lengthof(grows) == L4_NSECTIONS, "all sections");
	for (int i = 0; i < L4_NSECTIONS; i++)
	{
		Datum		value = SPI_getbinval(row, desc, L4_STORED_SECTIONS + i + 1, &isnull);

		/* without fetching what is out of the row */
		if (grows[i] && !isnull)
			*bytes += toast_raw_datum_size(value) - VARHDRSZ;
	}
	return DatumGetInt32(SPI_getbinval(row, desc, L4_STORED_VALUES + 1, &isnull));
}

int
l4_stored_sections(L4StoredReader *reader, const L4Stored *stored, L4Sections *sections)
{
	Size		growth = 0;
	int			part = 0;

	/* a shared pack has one part, and its members leave it with all that they have */
	if (stored->pack_id != 0 && stored->member == L4_NO_INT)
		part = last_part(reader, &growth);
	for (int i = 0; i < L4_NSECTIONS; i++)
		if (!grows[i] || growth < GROWTH_BYTES)
			*l4_section(sections, i) = l4_stored_value(reader, stored, L4_STORED_SECTIONS + i);
	return part + (growth >= GROWTH_BYTES);
}
