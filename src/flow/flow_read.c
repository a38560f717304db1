/*
 * flow_read.c
 *		Reading flow records: each row once, appended to the open chunk of its
 *		pair; open chunks are merged into the table when they fill the memory,
 *		and at the end.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/grow.h"
#include "base/names.h"
#include "flow/flow.h"
#include "flow/flow_ip.h"
#include "ingest/ingest_query.h"
#include "l4_compat.h"

#define CONTROL_BYTES	16384	/* less is control traffic */
#define CONTROL_PACKET	200		/* bytes a packet: less are acknowledgements */
#define SAMPLED_PACKETS	3		/* fewer say nothing */
#define BATCH			64		/* records that are put at a time */

typedef struct FlowAddress
{
	L4FlowIp	ip;
	int32		machine;		/* -1 not in the inventory */
} FlowAddress;

/* What tells routes apart, compared as bytes: there is no padding. */
typedef struct FlowTuple
{
	L4FlowIp	src;
	L4FlowIp	dst;
	uint16		port_src;
	uint16		port_dst;
	uint8		proto;
	uint8		unused;			/* 0 */
	int32		exporter;
	int32		rate;
} FlowTuple;

/* A route of an open chunk. */
typedef struct FlowRoute
{
	FlowTuple	tuple;
	int32		pair;
	int32		route;			/* of the chunk */
	L4FlowChunk *chunk;			/* of the pair */
} FlowRoute;

/* A record that is not in its chunk yet. */
typedef struct FlowPending
{
	FlowTuple	tuple;
	L4FlowRecord record;
	uint64		hash;			/* of the tuple */
	int			number;			/* of the route, from 1, 0 it had none when the batch began */
} FlowPending;

/* What a row is counted as. */
enum
{
	ROWS_READ, ROWS_DUPLICATE, ROWS_CONTROL, ROWS_LATE, ROWS_IMPOSSIBLE, ROWS_UNKNOWN, NCOUNTS
};

typedef struct FlowReader
{
	DestReceiver pub;
	MemoryContext cxt;			/* of the call */
	MemoryContext open_cxt;		/* of open chunks */
	MemoryContext row_cxt;
	bool		inventory;
	int64		known_to;		/* rows that end up to here were read before */
	int64		first;			/* covered by the rows that were kept */
	int64		last;
	int64		counts[NCOUNTS];
	int			naddresses;
	int			addresses_size;
	FlowAddress *addresses;
	L4Map	   *address_map;
	L4Names		exporters;
	int			exporters_stored;
	int			npairs;
	int			pairs_size;
	L4FlowOpen *pairs;
	L4Map	   *pair_map;
	int			nroutes;
	int			routes_size;
	FlowRoute  *routes;			/* in open_cxt */
	L4Map	   *route_map;		/* by the hash of the tuple, or the next one where it is another's */
	int			npending;
	FlowPending pending[BATCH];
	int			last_pair_id;
	int64		slice;			/* of the record before */
	L4Map	   *slices;			/* that records start in */
	L4Query		new_pair;
	L4Query		new_exporter;
	L4Query		change;
} FlowReader;

static const char new_pair_sql[] = "INSERT INTO l4._flow_link (pair_id, a, b) VALUES ($1, $2, $3)";
static const Oid new_pair_types[] = {INT4OID, INETOID, INETOID};
static const char new_exporter_sql[] = "INSERT INTO l4._flow_exporter (exporter_id, name) VALUES ($1, $2)";
static const Oid new_exporter_types[] = {INT4OID, TEXTOID};
static const char change_sql[] = "SELECT l4._flow_changed($1)";
static const Oid change_types[] = {INT8ARRAYOID};

/* While the statement that reads runs, others need a connection of their own: the end of each frees what it has. */
static void
run_between(L4Query *query)
{
	SPI_connect();
	l4_query_run(query);
	SPI_finish();
}

/* Number of an address, which is made when it is new. */
static int
address_number(FlowReader *r, L4FlowIp ip)
{
	uint64		low;
	uint64		high;
	uint64		hash;

	memcpy(&high, ip.bytes, 8);
	memcpy(&low, ip.bytes + 8, 8);
	for (hash = l4_flow_mix(high ^ l4_flow_mix(low + ip.family));; hash++)
	{
		bool		found;
		int32	   *number = l4_map_put(r->address_map, hash, &found);

		if (!found)
		{
			L4_GROW(r->addresses, r->naddresses, r->addresses_size, r->cxt);
			*number = r->naddresses;
			r->addresses[r->naddresses++] = (FlowAddress) {ip, -1};
			return *number;
		}
		if (l4_flow_order_ips(&r->addresses[*number].ip, &ip) == 0)
			return *number;
	}
}

static int
pair_number(FlowReader *r, int a, int b)
{
	bool		found;
	int32	   *number = l4_map_put(r->pair_map, ((uint64) (uint32) a << 32) | (uint32) b, &found);

	if (!found)
	{
		L4_GROW(r->pairs, r->npairs, r->pairs_size, r->cxt);
		*number = r->npairs;
		memset(&r->pairs[r->npairs], 0, sizeof(L4FlowOpen));
		r->npairs++;
	}
	return *number;
}

static int64
slice_of(int64 at)
{
	return at / L4_FLOW_SLICE - (at % L4_FLOW_SLICE < 0);
}

/* A record that starts at a time is new. */
static void
change_slice(FlowReader *r, int64 at)
{
	int64		slice = slice_of(at);

	if (slice != r->slice)
		(void) l4_map_put(r->slices, (uint64) slice, NULL);
	r->slice = slice;
}

/* Of a pair with late records those that may be late are taken as new. */
static void
change_late(FlowReader *r, const L4FlowChunk *chunk)
{
	L4FlowRecords records;

	l4_flow_records_init(&records, CurrentMemoryContext);
	l4_flow_records_add(&records, chunk);
	for (int i = 0; i < records.n; i++)
		if (records.rec[i].end <= r->known_to)
			change_slice(r, records.rec[i].start);
}

/* Merge the open chunks into the table. */
static void
flush_pairs(FlowReader *r)
{
	MemoryContext cxt = AllocSetContextCreate(r->cxt, "l4 late flows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;

	SPI_connect();
	r->counts[ROWS_DUPLICATE] += l4_flow_merge(r->pairs, r->npairs, r->known_to);
	SPI_finish();
	old = MemoryContextSwitchTo(cxt);
	for (int p = 0; p < r->npairs; p++)
	{
		L4FlowOpen *pair = &r->pairs[p];

		if (pair->late > 0)
			change_late(r, pair->chunk);
		MemoryContextReset(cxt);
		r->counts[ROWS_LATE] += pair->late;
		pair->late = 0;
		pair->chunk = NULL;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	MemoryContextReset(r->open_cxt);
	r->routes = NULL;
	r->nroutes = r->routes_size = 0;
	l4_map_reset(r->route_map);
}

/* Slices of time whose records are not those that were analyzed. */
static void
store_slices(FlowReader *r)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(r->slices->members, 1));
	l4_map_iterator i;
	int			n = 0;

	l4_map_start_iterate(r->slices, &i);
	for (L4MapEntry *entry; (entry = l4_map_iterate(r->slices, &i)) != NULL;)
		values[n++] = Int64GetDatum((int64) entry->key);
	l4_query_put(&r->change, l4_array(values, n, INT8OID), false);
	l4_query_run(&r->change);
	pfree(values);
}

enum
{
	COL_SRC, COL_DST, COL_PORT_SRC, COL_PORT_DST, COL_PROTO, COL_PACKETS, COL_BYTES, COL_START, COL_END, COL_EXPORTER, COL_RATE, NCOLS
};
static const Oid column_types[] = {INETOID, INETOID, INT4OID, INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, INT4OID};

/* A route of which no chunk is open: what its row is counted as, or -1 when it becomes a record. */
static int
add_route(FlowReader *r, const FlowTuple *tuple, uint64 hash)
{
	int			a = address_number(r, tuple->src);
	int			b = address_number(r, tuple->dst);
	int			x = r->addresses[a].machine;
	int			y = r->addresses[b].machine;
	L4FlowRoute route = {.exporter = tuple->exporter, .rate = tuple->rate, .port_src = tuple->port_src,
	.port_dst = tuple->port_dst, .proto = tuple->proto};
	int			number;
	L4FlowOpen *pair;

	if (a == b)
		return ROWS_IMPOSSIBLE;
	if (r->inventory && (x < 0 || y < 0 || x == y))
		return ROWS_UNKNOWN;
	route.back = l4_flow_order_ips(&tuple->src, &tuple->dst) > 0;
	route.key = l4_flow_route_key(&route);
	number = route.back ? pair_number(r, b, a) : pair_number(r, a, b);
	pair = &r->pairs[number];
	if (pair->pair_id == 0)
	{
		pair->pair_id = ++r->last_pair_id;
		l4_query_put_int(&r->new_pair, pair->pair_id);
		l4_query_put(&r->new_pair, l4_flow_inet_of(route.back ? &tuple->dst : &tuple->src), false);
		l4_query_put(&r->new_pair, l4_flow_inet_of(route.back ? &tuple->src : &tuple->dst), false);
		run_between(&r->new_pair);
	}
	if (pair->chunk == NULL)
	{
		pair->chunk = MemoryContextAlloc(r->open_cxt, sizeof(L4FlowChunk));
		l4_flow_chunk_init(pair->chunk, r->open_cxt);
	}
	L4_GROW(r->routes, r->nroutes, r->routes_size, r->open_cxt);
	r->routes[r->nroutes++] = (FlowRoute) {*tuple, number, l4_flow_chunk_route(pair->chunk, &route, r->open_cxt), pair->chunk};
	*l4_map_put(r->route_map, hash, NULL) = r->nroutes;
	return -1;
}

/* Number of the route of a record, from 1, and 0 when it is new. */
static int
find_route(FlowReader *r, FlowPending *pending)
{
	int			number;

	while ((number = l4_map_get(r->route_map, pending->hash)) > 0
		   && memcmp(&r->routes[number - 1].tuple, &pending->tuple, sizeof(FlowTuple)) != 0)
		pending->hash++;
	return number;
}

/* Append a record to the open chunk of its pair. */
static void
put_record(FlowReader *r, FlowPending *pending)
{
	L4FlowRecord *record = &pending->record;
	FlowRoute  *route;

	if (pending->number == 0 && (pending->number = find_route(r, pending)) == 0)
	{
		int			counted = add_route(r, &pending->tuple, pending->hash);

		if (counted >= 0)
		{
			r->counts[counted] += record->end > r->known_to;
			return;
		}
		pending->number = r->nroutes;
	}
	route = &r->routes[pending->number - 1];
	record->route = route->route;
	l4_flow_chunk_put(route->chunk, record);
	if (record->end > r->known_to)
		change_slice(r, record->start);
	else
		r->pairs[route->pair].late++;
}

/*
 * Append records to the open chunks. Of thousands of pairs, little of the next
 * one is in the processor's cache: what records need is asked for ahead.
 */
static void
put_records(FlowReader *r)
{
	for (int i = 0; i < r->npending; i++)
	{
		FlowPending *pending = &r->pending[i];

		if ((pending->number = find_route(r, pending)) > 0)
			__builtin_prefetch(r->routes[pending->number - 1].chunk);
	}
	for (int i = 0; i < r->npending; i++)
		if (r->pending[i].number > 0)
		{
			const FlowRoute *route = &r->routes[r->pending[i].number - 1];

			__builtin_prefetch(&route->chunk->routes[route->route].last);
			__builtin_prefetch(route->chunk->records.data + route->chunk->records.len);
		}
	for (int i = 0; i < r->npending; i++)
		put_record(r, &r->pending[i]);
	r->npending = 0;
	if (MemoryContextMemAllocated(r->open_cxt, false) > (Size) maintenance_work_mem * 1024)
		flush_pairs(r);
}

static void
add_record(FlowReader *r, const FlowTuple *tuple, const L4FlowRecord *record)
{
	FlowPending *pending = &r->pending[r->npending++];
	uint64		word;

	*pending = (FlowPending) {*tuple, *record};
	for (size_t i = 0; i < sizeof(FlowTuple); i += sizeof(word))
	{
		memcpy(&word, (const char *) tuple + i, sizeof(word));
		pending->hash = l4_flow_mix(pending->hash ^ word);
	}
	if (r->npending == BATCH)
		put_records(r);
}

static inline int64
count_of(TupleTableSlot *slot, int column)
{
	return slot->tts_isnull[column] ? 0 : DatumGetInt64(slot->tts_values[column]);
}

static inline int32
number_of(TupleTableSlot *slot, int column)
{
	return slot->tts_isnull[column] ? 0 : Max(DatumGetInt32(slot->tts_values[column]), 0);
}

/* A row: what it is counted as, or -1 when it becomes a record, if its addresses are such of a pair. */
static int
take_row(FlowReader *r, TupleTableSlot *slot)
{
	FlowTuple	tuple = {.rate = Max(number_of(slot, COL_RATE), 1)};
	int64		packets = count_of(slot, COL_PACKETS);
	L4FlowRecord record = {.packets = (int32) Min(packets, PG_INT32_MAX)};
	int64		bytes = count_of(slot, COL_BYTES);

	if (slot->tts_isnull[COL_SRC] || slot->tts_isnull[COL_DST] || slot->tts_isnull[COL_START] || bytes <= 0 || packets < 0)
		return ROWS_IMPOSSIBLE;
	record.start = DatumGetTimestampTz(slot->tts_values[COL_START]);
	record.end = DatumGetTimestampTz(slot->tts_values[COL_END]);
	if (record.end < record.start || TIMESTAMP_NOT_FINITE(record.start) || bytes > PG_INT64_MAX / 1024 / tuple.rate)
		return ROWS_IMPOSSIBLE;
	record.bytes = bytes * tuple.rate;
	r->last = Max(r->last, record.end);
	r->first = Min(r->first, record.start);
	if (record.bytes < CONTROL_BYTES || (packets > 0 && bytes / packets < CONTROL_PACKET) || (tuple.rate > 1 && packets < SAMPLED_PACKETS))
		return ROWS_CONTROL;
	tuple.src = l4_flow_ip_of(slot->tts_values[COL_SRC]);
	tuple.dst = l4_flow_ip_of(slot->tts_values[COL_DST]);
	tuple.port_src = (uint16) number_of(slot, COL_PORT_SRC);
	tuple.port_dst = (uint16) number_of(slot, COL_PORT_DST);
	tuple.proto = (uint8) number_of(slot, COL_PROTO);
	if (slot->tts_isnull[COL_EXPORTER])
		tuple.exporter = l4_names_number(&r->exporters, "", 0);
	else
	{
		text	   *name = DatumGetTextPP(slot->tts_values[COL_EXPORTER]);

		tuple.exporter = l4_names_number(&r->exporters, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	}
	add_record(r, &tuple, &record);
	return -1;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	FlowReader *r = (FlowReader *) self;
	MemoryContext old = MemoryContextSwitchTo(r->row_cxt);
	int			counted;

	slot_getallattrs(slot);
	counted = take_row(r, slot);
	/* what was read before is counted but once */
	if (DatumGetTimestampTz(slot->tts_values[COL_END]) > r->known_to)
	{
		r->counts[ROWS_READ]++;
		if (counted >= 0)
			r->counts[counted]++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_cxt);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	bool		good = desc->natts == NCOLS;

	for (int i = 0; good && i < NCOLS; i++)
		good = TupleDescAttr(desc, i)->atttypid == column_types[i];
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the statement that reads flows must return the columns of a flow table")));
}

static void
receive_nothing(DestReceiver *self)
{
}

static uint64
select_rows(const char *sql)
{
	if (SPI_execute(sql, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" is no query", sql);
	return SPI_processed;
}

/* Pairs may be a million where the network is scanned: their rows are not held all at once. */
static void
read_pairs(FlowReader *r)
{
	Portal		portal = SPI_cursor_open_with_args(NULL, "SELECT k.a, k.b, k.pair_id FROM l4._flow_link k", 0, NULL, NULL, NULL, false, 0);
	bool		isnull;

	while (SPI_cursor_fetch(portal, true, 10000), SPI_processed > 0)
	{
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			int			a = address_number(r, l4_flow_ip_of(l4_query_value(SPI_tuptable, i, 1, &isnull)));
			int			b = address_number(r, l4_flow_ip_of(l4_query_value(SPI_tuptable, i, 2, &isnull)));
			int			number = pair_number(r, a, b);	/* may move the pairs */
			L4FlowOpen *pair = &r->pairs[number];

			pair->pair_id = DatumGetInt32(l4_query_value(SPI_tuptable, i, 3, &isnull));
			pair->stored = true;
			r->last_pair_id = Max(r->last_pair_id, pair->pair_id);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
}

/* What is known: the inventory, exporters and pairs. */
static void
read_known(FlowReader *r)
{
	bool		isnull;
	uint64		n = select_rows("SELECT e.address, dense_rank() OVER (ORDER BY e.machine)::int FROM l4.flow_endpoint e");

	r->inventory = n > 0;
	for (uint64 i = 0; i < n; i++)
	{
		int			address = address_number(r, l4_flow_ip_of(l4_query_value(SPI_tuptable, i, 1, &isnull)));

		r->addresses[address].machine = DatumGetInt32(l4_query_value(SPI_tuptable, i, 2, &isnull));
	}
	n = select_rows("SELECT x.name FROM l4._flow_exporter x ORDER BY x.exporter_id");
	for (uint64 i = 0; i < n; i++)
	{
		char	   *name = TextDatumGetCString(l4_query_value(SPI_tuptable, i, 1, &isnull));

		(void) l4_names_number(&r->exporters, name, strlen(name));
	}
	r->exporters_stored = r->exporters.n;
	read_pairs(r);
}

static FlowReader *
reader_create(int64 known_to)
{
	FlowReader *r = palloc0(sizeof(FlowReader));

	r->pub.receiveSlot = receive_row;
	r->pub.rStartup = receive_startup;
	r->pub.rShutdown = receive_nothing;
	r->pub.rDestroy = receive_nothing;
	r->pub.mydest = DestTuplestore;
	r->cxt = CurrentMemoryContext;
	r->open_cxt = AllocSetContextCreate(r->cxt, "l4 open flows", ALLOCSET_DEFAULT_SIZES);
	r->row_cxt = AllocSetContextCreate(r->cxt, "l4 flow row", ALLOCSET_DEFAULT_SIZES);
	r->known_to = known_to;
	r->first = DT_NOEND;
	r->last = DT_NOBEGIN;
	r->address_map = l4_map_create(r->cxt, 1024, NULL);
	l4_names_init(&r->exporters, r->cxt);
	r->pair_map = l4_map_create(r->cxt, 1024, NULL);
	r->route_map = l4_map_create(r->cxt, 1024, NULL);
	r->slices = l4_map_create(r->cxt, 64, NULL);
	r->slice = PG_INT64_MIN;
	l4_query_prepare(&r->new_pair, new_pair_sql, lengthof(new_pair_types), new_pair_types);
	l4_query_prepare(&r->new_exporter, new_exporter_sql, lengthof(new_exporter_types), new_exporter_types);
	l4_query_prepare(&r->change, change_sql, lengthof(change_types), change_types);
	read_known(r);
	return r;
}

/*
 * (statement, end of what was read before) -> (counts, first time, last time,
 * rows packed). The statement returns the columns of a flow table; a NULL end
 * may not be among them. Times are NULL when no row was kept.
 */
L4_FUNCTION(l4_flow_read)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	FlowReader *r;
	SPIExecuteOptions options = {0};
	SPIPlanPtr	plan;
	Datum		values[NCOUNTS + 2];
	bool		nulls[NCOUNTS + 2] = {false};

	SPI_connect();
	r = reader_create(PG_GETARG_TIMESTAMPTZ(1));
	plan = SPI_prepare(query, 0, NULL);
	if (plan == NULL)
		elog(ERROR, "cannot prepare the statement that reads flows: %s", SPI_result_code_string(SPI_result));
	options.must_return_tuples = true;
	options.dest = &r->pub;
	if (SPI_execute_plan_extended(plan, &options) != SPI_OK_SELECT)
		elog(ERROR, "the statement that reads flows is no query");
	put_records(r);
	flush_pairs(r);
	store_slices(r);
	for (int i = r->exporters_stored; i < r->exporters.n; i++)
	{
		l4_query_put_int(&r->new_exporter, i);
		l4_query_put_text(&r->new_exporter, r->exporters.names[i]);
		l4_query_run(&r->new_exporter);
	}
	r->counts[ROWS_READ] += r->counts[ROWS_LATE];
	for (int i = 0; i < NCOUNTS; i++)
		values[i] = Int64GetDatum(r->counts[i]);
	values[NCOUNTS] = TimestampTzGetDatum(r->first);
	values[NCOUNTS + 1] = TimestampTzGetDatum(r->last);
	nulls[NCOUNTS] = nulls[NCOUNTS + 1] = r->first > r->last;
	SPI_finish();
	PG_RETURN_DATUM(l4_row(fcinfo, values, nulls));
}
