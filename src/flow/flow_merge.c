/*
 * flow_merge.c
 *		Merging open chunks into the table: a batch of pairs by two statements.
 *
 * A chunk that begins where stored ones end is added to them. Those that it
 * reaches into are taken out, put in order with it and written again, and so
 * is the last one if it is short. One that is full, and begins before it,
 * stays: what comes in order of time rewrites nothing but short chunks.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "flow/flow.h"
#include "ingest/ingest_query.h"
#include "l4_compat.h"

#define CHUNK_RECORDS	2048	/* of a full chunk */
#define SHORT_CHUNK		256		/* one that has fewer is written anew when more come */
#define BATCH			256		/* pairs, or chunks, at a time */

/* Chunks that the open ones of pairs are merged with, and whether they stay where they are. */
static const char take_sql[] =
"WITH c AS MATERIALIZED (SELECT o.n, x.chunk_id, x.body, x.records >= $3 AND x.first_ts <= o.first_ts AS stays "
"FROM unnest($1, $2) WITH ORDINALITY o(pair_id, first_ts, n) CROSS JOIN LATERAL ("
"SELECT y.* FROM l4._flow_chunk y WHERE y.pair_id = o.pair_id AND y.last_ts >= o.first_ts UNION ALL "
"SELECT z.* FROM (SELECT y.* FROM l4._flow_chunk y WHERE y.pair_id = o.pair_id AND y.last_ts < o.first_ts "
"ORDER BY y.last_ts DESC LIMIT 1) z WHERE z.records < $3) x), "
"d AS (DELETE FROM l4._flow_chunk t WHERE t.chunk_id = ANY (ARRAY(SELECT c.chunk_id FROM c WHERE NOT c.stays))) "
"SELECT c.n::int, c.stays, c.body FROM c ORDER BY c.n, c.stays DESC";
static const Oid take_types[] = {INT4ARRAYOID, TIMESTAMPTZARRAYOID, INT4OID};
static const char add_sql[] =
"INSERT INTO l4._flow_chunk (pair_id, records, first_ts, last_ts, body) "
"SELECT x.* FROM unnest($1, $2, $3, $4, $5) x(pair_id, records, first_ts, last_ts, body)";
static const Oid add_types[] = {INT4ARRAYOID, INT4ARRAYOID, TIMESTAMPTZARRAYOID, TIMESTAMPTZARRAYOID, BYTEAARRAYOID};

enum
{
	ADD_PAIR, ADD_RECORDS, ADD_FIRST, ADD_LAST, ADD_BODY, NADDED
};

typedef struct FlowMerge
{
	MemoryContext batch_cxt;	/* what is added */
	MemoryContext pair_cxt;
	L4Query		take;
	L4Query		add;
	int			nadded;
	Datum		added[NADDED][BATCH];
} FlowMerge;

/* Write the chunks that were put in order. */
static void
add_chunks(FlowMerge *merge)
{
	MemoryContext old = MemoryContextSwitchTo(merge->batch_cxt);

	if (merge->nadded > 0)
	{
		for (int i = 0; i < NADDED; i++)
			l4_query_put(&merge->add, l4_array(merge->added[i], merge->nadded, get_element_type(add_types[i])), false);
		l4_query_run(&merge->add);
		merge->nadded = 0;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(merge->batch_cxt);
}

/* Records in order, from one on, become chunks. */
static void
write_chunks(FlowMerge *merge, int32 pair_id, const L4FlowRecords *records, int from)
{
	int		   *number = palloc(sizeof(int) * Max(records->nroutes, 1));

	for (int at = from; at < records->n; at += CHUNK_RECORDS)
	{
		L4FlowChunk chunk;
		MemoryContext old;

		l4_flow_chunk_init(&chunk, CurrentMemoryContext);
		memset(number, -1, sizeof(int) * records->nroutes);
		for (int i = at; i < Min(at + CHUNK_RECORDS, records->n); i++)
		{
			L4FlowRecord record = records->rec[i];

			if (number[record.route] < 0)
				number[record.route] = l4_flow_chunk_route(&chunk, &records->routes[record.route], CurrentMemoryContext);
			record.route = number[record.route];
			l4_flow_chunk_put(&chunk, &record);
		}
		if (merge->nadded == BATCH)
			add_chunks(merge);
		merge->added[ADD_PAIR][merge->nadded] = Int32GetDatum(pair_id);
		merge->added[ADD_RECORDS][merge->nadded] = Int32GetDatum(chunk.n);
		merge->added[ADD_FIRST][merge->nadded] = TimestampTzGetDatum(chunk.first);
		merge->added[ADD_LAST][merge->nadded] = TimestampTzGetDatum(chunk.last);
		old = MemoryContextSwitchTo(merge->batch_cxt);
		merge->added[ADD_BODY][merge->nadded++] = PointerGetDatum(l4_flow_chunk_pack(&chunk));
		MemoryContextSwitchTo(old);
	}
}

/* Merge a pair with its stored chunks: rows from *row on, those that stay first. Returns how many records were there twice. */
static int
merge_pair(FlowMerge *merge, L4FlowOpen *open, int n, const SPITupleTable *rows, uint64 nrows, uint64 *row, int64 known_to)
{
	MemoryContext old = MemoryContextSwitchTo(merge->pair_cxt);
	L4FlowRecords records;
	int			known = 0;
	int			twice;
	bool		isnull;

	l4_flow_records_init(&records, CurrentMemoryContext);
	for (; *row < nrows && DatumGetInt32(l4_query_value(rows, *row, 1, &isnull)) == n; (*row)++)
	{
		l4_flow_records_unpack(&records, DatumGetByteaPP(l4_query_value(rows, *row, 3, &isnull)), false);
		if (DatumGetBool(l4_query_value(rows, *row, 2, &isnull)))
			known = records.n;
	}
	l4_flow_records_add(&records, open->chunk);
	twice = l4_flow_records_sort(&records, known, known_to, &open->late);
	write_chunks(merge, open->pair_id, &records, known);
	open->stored = true;
	MemoryContextSwitchTo(old);
	MemoryContextReset(merge->pair_cxt);
	return twice;
}

/* Merge the open chunks of a batch of pairs. */
static int64
merge_batch(FlowMerge *merge, L4FlowOpen **open, int n, int64 known_to)
{
	Datum		pair_ids[BATCH];
	Datum		firsts[BATCH];
	int			nstored = 0;
	SPITupleTable *rows = NULL;
	uint64		nrows = 0;
	uint64		row = 0;
	int64		twice = 0;

	for (int i = 0; i < n; i++)
	{
		/* of a pair that is new there is nothing */
		pair_ids[i] = Int32GetDatum(open[i]->stored ? open[i]->pair_id : 0);
		firsts[i] = TimestampTzGetDatum(open[i]->chunk->first);
		nstored += open[i]->stored;
	}
	if (nstored > 0)
	{
		l4_query_put(&merge->take, l4_array(pair_ids, n, INT4OID), false);
		l4_query_put(&merge->take, l4_array(firsts, n, TIMESTAMPTZOID), false);
		l4_query_put_int(&merge->take, SHORT_CHUNK);
		nrows = l4_query_run(&merge->take);
		rows = SPI_tuptable;
	}
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		twice += merge_pair(merge, open[i], i + 1, rows, nrows, &row, known_to);
	}
	add_chunks(merge);
	SPI_freetuptable(rows);
	return twice;
}

/*
 * Merge what is open of pairs into the table. Returns how many records were
 * there twice, of those that end after known_to; the late ones of a pair
 * become those that are new. SPI is connected.
 */
int64
l4_flow_merge(L4FlowOpen *open, int n, int64 known_to)
{
	FlowMerge  *merge = palloc(sizeof(FlowMerge));
	L4FlowOpen *batch[BATCH];
	int			nbatch = 0;
	int64		twice = 0;

	merge->batch_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 flow chunks", ALLOCSET_DEFAULT_SIZES);
	merge->pair_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 flow merge", ALLOCSET_DEFAULT_SIZES);
	merge->nadded = 0;
	l4_query_prepare(&merge->take, take_sql, lengthof(take_types), take_types);
	l4_query_prepare(&merge->add, add_sql, lengthof(add_types), add_types);
	for (int p = 0; p < n; p++)
	{
		if (open[p].chunk != NULL)
			batch[nbatch++] = &open[p];
		if (nbatch == BATCH || (p == n - 1 && nbatch > 0))
		{
			twice += merge_batch(merge, batch, nbatch, known_to);
			nbatch = 0;
		}
	}
	return twice;
}
