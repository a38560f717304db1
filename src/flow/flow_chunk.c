/*
 * flow_chunk.c
 *		Packed flow records of one pair of addresses.
 *
 * A chunk is the routes that it uses, then its records, each as differences
 * from the one before (see docs/internals.md). The same bytes serve while
 * rows are read, in the order in which they come, and in the table, by time.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compress.h"
#include "base/grow.h"
#include "flow/flow.h"
#include "l4_compat.h"

#define FORM_PLAIN	1
#define FORM_ZSTD	2

/* The 5-tuple within its pair. Two with one key count as one. */
uint64
l4_flow_route_key(const L4FlowRoute *route)
{
	return l4_flow_mix(((uint64) route->port_src << 32) | ((uint64) route->port_dst << 16) | ((uint64) route->proto << 1) | route->back);
}

uint64
l4_flow_route_id(const L4FlowRoute *route)
{
	return l4_flow_mix(route->key ^ l4_flow_mix(((uint64) (uint32) route->exporter << 32) | (uint32) route->rate));
}

void
l4_flow_chunk_init(L4FlowChunk *chunk, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);

	memset(chunk, 0, sizeof(*chunk));
	initStringInfo(&chunk->records);
	MemoryContextSwitchTo(old);
}

/* Number of a route that the chunk does not have yet. */
int
l4_flow_chunk_route(L4FlowChunk *chunk, const L4FlowRoute *route, MemoryContext cxt)
{
	L4FlowRoute *added;

	L4_GROW_FROM(chunk->routes, chunk->nroutes, chunk->routes_size, 4, cxt);
	added = &chunk->routes[chunk->nroutes];
	*added = *route;
	added->last = 0;
	return chunk->nroutes++;
}

void
l4_flow_chunk_put(L4FlowChunk *chunk, const L4FlowRecord *record)
{
	L4FlowRoute *route = &chunk->routes[record->route];
	StringInfo	buf = &chunk->records;

	if (chunk->n++ == 0)
		chunk->first = chunk->last = record->start;
	chunk->first = Min(chunk->first, record->start);
	chunk->last = Max(chunk->last, record->start);
	l4_put_uint(buf, record->route);
	l4_put_int(buf, record->start - chunk->before);
	l4_put_uint(buf, record->end - record->start);
	l4_put_int(buf, record->bytes - route->last);
	if (route->rate > 1)
		l4_put_uint(buf, record->packets);
	chunk->before = record->start;
	route->last = record->bytes;
}

bytea *
l4_flow_chunk_pack(const L4FlowChunk *chunk)
{
	StringInfoData plain;
	StringInfoData out;

	initStringInfo(&plain);
	l4_put_uint(&plain, chunk->n);
	l4_put_uint(&plain, chunk->nroutes);
	for (int i = 0; i < chunk->nroutes; i++)
	{
		const L4FlowRoute *route = &chunk->routes[i];

		l4_put_uint(&plain, ((uint64) route->proto << 1) | route->back);
		l4_put_uint(&plain, route->port_src);
		l4_put_uint(&plain, route->port_dst);
		l4_put_uint(&plain, route->exporter);
		l4_put_uint(&plain, route->rate);
	}
	appendBinaryStringInfo(&plain, chunk->records.data, chunk->records.len);
	l4_bytea_begin(&out);
	appendStringInfoCharMacro(&out, FORM_ZSTD);
	if (!l4_compress(&out, plain.data, plain.len, L4_COMPRESS_STORED) || out.len >= plain.len)
	{
		out.len = VARHDRSZ;
		appendStringInfoCharMacro(&out, FORM_PLAIN);
		appendBinaryStringInfo(&out, plain.data, plain.len);
	}
	pfree(plain.data);
	return l4_bytea_end(&out);
}

void
l4_flow_records_init(L4FlowRecords *records, MemoryContext cxt)
{
	memset(records, 0, sizeof(*records));
	records->cxt = cxt;
	records->known = l4_map_create(cxt, 64, NULL);
}

/* Number of a route among those of the pair. */
static int
add_route(L4FlowRecords *records, const L4FlowRoute *route)
{
	bool		found;
	int32	   *number = l4_map_put(records->known, l4_flow_route_id(route), &found);

	if (!found)
	{
		L4_GROW_FROM(records->routes, records->nroutes, records->routes_size, 8, records->cxt);
		records->routes[records->nroutes] = *route;
		*number = records->nroutes++;
	}
	return *number;
}

static int32
get_int32(L4ByteReader *reader, uint64 max)
{
	uint64		value = l4_get_uint(reader);

	if (value > max)
		l4_bytes_corrupted("route");
	return (int32) value;
}

/* Records of a chunk, whose routes the pair knows by these numbers. */
static void
add_records(L4FlowRecords *records, L4ByteReader *reader, int n, L4FlowRoute *routes, int nroutes, const int *numbers)
{
	int64		before = 0;

	for (int i = 0; i < n; i++)
	{
		L4FlowRecord *record;
		uint64		route = l4_get_uint(reader);
		uint64		duration;

		if (route >= nroutes)
			l4_bytes_corrupted("route");
		L4_GROW_FROM(records->rec, records->n, records->size, 1024, records->cxt);
		record = &records->rec[records->n++];
		before = (int64) ((uint64) before + (uint64) l4_get_int(reader));
		duration = l4_get_uint(reader);
		record->start = before;
		record->end = (int64) ((uint64) before + duration);
		routes[route].last = (int64) ((uint64) routes[route].last + (uint64) l4_get_int(reader));
		record->bytes = routes[route].last;
		record->packets = routes[route].rate > 1 ? get_int32(reader, PG_INT32_MAX) : 0;
		record->route = numbers[route];
		if (!IS_VALID_TIMESTAMP(record->start) || !IS_VALID_TIMESTAMP(record->end) || record->end < record->start || record->bytes <= 0)
			l4_bytes_corrupted("flow record");
		if ((i & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	if (reader->ptr != reader->end)
		l4_bytes_corrupted("length");
}

/* Add the records of a chunk that is being packed. */
void
l4_flow_records_add(L4FlowRecords *records, const L4FlowChunk *chunk)
{
	L4ByteReader reader = {(const unsigned char *) chunk->records.data, (const unsigned char *) chunk->records.data + chunk->records.len};
	int		   *numbers = palloc(sizeof(int) * Max(chunk->nroutes, 1));
	L4FlowRoute *routes = palloc(sizeof(L4FlowRoute) * Max(chunk->nroutes, 1));

	for (int i = 0; i < chunk->nroutes; i++)
	{
		numbers[i] = add_route(records, &chunk->routes[i]);
		routes[i] = chunk->routes[i];
		routes[i].last = 0;
	}
	add_records(records, &reader, chunk->n, routes, chunk->nroutes, numbers);
	pfree(numbers);
	pfree(routes);
}

/* Add the records of a stored chunk. ERRCODE_DATA_CORRUPTED for bytes that are none. */
void
l4_flow_records_unpack(L4FlowRecords *records, const bytea *body, bool turned)
{
	L4ByteReader reader = l4_bytea_reader(body);
	char	   *plain = NULL;
	int			n;
	int			nroutes;
	int		   *numbers;
	L4FlowRoute *routes;

	if (reader.ptr >= reader.end || (*reader.ptr != FORM_PLAIN && *reader.ptr != FORM_ZSTD))
		l4_bytes_corrupted("version");
	if (*reader.ptr++ == FORM_ZSTD)
	{
		int			len;

		plain = l4_decompress((const char *) reader.ptr, (int) (reader.end - reader.ptr), &len, CurrentMemoryContext);
		reader.ptr = (const unsigned char *) plain;
		reader.end = reader.ptr + len;
	}
	n = l4_get_count(&reader);
	nroutes = l4_get_count(&reader);
	numbers = palloc(sizeof(int) * Max(nroutes, 1));
	routes = palloc0(sizeof(L4FlowRoute) * Max(nroutes, 1));
	for (int i = 0; i < nroutes; i++)
	{
		L4FlowRoute *route = &routes[i];
		int32		head = get_int32(&reader, 511);

		route->proto = (uint8) (head >> 1);
		route->back = ((head & 1) != 0) != turned;
		route->port_src = (uint16) get_int32(&reader, 65535);
		route->port_dst = (uint16) get_int32(&reader, 65535);
		route->exporter = get_int32(&reader, PG_INT32_MAX);
		route->rate = get_int32(&reader, PG_INT32_MAX);
		route->key = l4_flow_route_key(route);
		numbers[i] = add_route(records, route);
	}
	add_records(records, &reader, n, routes, nroutes, numbers);
	pfree(numbers);
	pfree(routes);
	if (plain != NULL)
		pfree(plain);
}

/* By time, then by what does not depend on the order in which routes were numbered. */
static inline int
by_time(const L4FlowRecord *a, const L4FlowRecord *b, const L4FlowRoute *routes)
{
	uint64		ka;
	uint64		kb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	ka = l4_flow_route_id(&routes[a->route]);
	kb = l4_flow_route_id(&routes[b->route]);
	return (ka > kb) - (ka < kb);
}

#define ST_SORT sort_records
#define ST_ELEMENT_TYPE L4FlowRecord
#define ST_COMPARE_ARG_TYPE const L4FlowRoute
#define ST_COMPARE(a, b, routes) by_time(a, b, routes)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Put records in order. Mostly they are, but for some at the end that lie between others. */
static void
sort_tail(L4FlowRecord *rec, int n, const L4FlowRoute *routes)
{
	int			behind = 1;
	int			low = 0;
	int			least;
	int			high;

	while (behind < n && by_time(&rec[behind - 1], &rec[behind], routes) <= 0)
		behind++;
	if (behind >= n)
		return;
	least = behind;
	for (int i = behind + 1; i < n; i++)
		least = by_time(&rec[i], &rec[least], routes) < 0 ? i : least;
	for (high = behind; low < high;)
	{
		int			middle = (low + high) / 2;

		if (by_time(&rec[middle], &rec[least], routes) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	sort_records(rec + low, n - low, routes);
}

/*
 * Put records in order, each once. The first ones are known, and stay where
 * they are; others that are equal to one of them go, too. Returns how many
 * went that end after known_to; *late is less by those that end before it.
 */
int
l4_flow_records_sort(L4FlowRecords *records, int known, int64 known_to, int *late)
{
	L4FlowRecord *rec = records->rec;
	const L4FlowRoute *routes = records->routes;
	int			kept = known;
	int			twice = 0;

	sort_tail(rec, known, routes);
	sort_tail(rec + known, records->n - known, routes);
	for (int i = known, k = 0; i < records->n; i++)
	{
		while (k < known && by_time(&rec[k], &rec[i], routes) < 0)
			k++;
		if ((k < known && by_time(&rec[k], &rec[i], routes) == 0)
			|| (kept > known && by_time(&rec[kept - 1], &rec[i], routes) == 0))
		{
			if (rec[i].end > known_to)
				twice++;
			else if (late != NULL)
				(*late)--;
			continue;
		}
		rec[kept++] = rec[i];
	}
	records->n = kept;
	return twice;
}
