/*
 * load.c
 *		What the analysis starts from: the inventory, the pairs, and the
 *		records of pairs as the exporters that stand for them saw them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define CUT_AFTER	L4_FLOW_SECOND	/* a record as long as this may have been cut by an active time-out */
#define CUT_GAP		1000			/* microseconds to the next part of it */
#define BATCH		256				/* pairs that are asked for at once, where one follows the other */

static const char load_sql[] =
"SELECT o.n::int, c.body FROM pg_catalog.unnest($1) WITH ORDINALITY o(pair_id, n) CROSS JOIN LATERAL ("
"SELECT y.* FROM l4._flow_chunk y WHERE y.pair_id = o.pair_id AND y.last_ts >= $2 AND y.first_ts <= $3) c "
"ORDER BY o.n, c.first_ts, c.chunk_id";
static const Oid load_types[] = {INT4ARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID};

/* Pairs that have enough records for a run in the chunks that reach into the span, $1 to $2: those with one of $3, or all others. */
#define LINKS "WITH chosen AS MATERIALIZED (SELECT u.address FROM pg_catalog.unnest($3) u(address)), " \
"e AS MATERIALIZED (SELECT c.pair_id FROM l4._flow_chunk c WHERE c.last_ts >= $1 AND c.first_ts <= $2 GROUP BY c.pair_id " \
"HAVING sum(c.records) >= 3), " \
"l AS MATERIALIZED (SELECT k.pair_id, k.a, k.b FROM e JOIN l4._flow_link k ON k.pair_id = e.pair_id " \
"WHERE (k.a IN (SELECT chosen.address FROM chosen) OR k.b IN (SELECT chosen.address FROM chosen)) = $4), " \
"a AS MATERIALIZED (SELECT x.address, (row_number() OVER (ORDER BY x.address))::int - 1 AS number " \
"FROM (SELECT l.a AS address FROM l UNION SELECT l.b FROM l) x) "
#define SWITCHES "w AS MATERIALIZED (SELECT s.name, (row_number() OVER (ORDER BY s.name))::int - 1 AS number " \
"FROM (SELECT x.name COLLATE \"C\" AS name FROM l4._flow_exporter x " \
"UNION SELECT e.switch FROM l4.flow_endpoint e WHERE e.switch IS NOT NULL) s) "

static const char address_sql[] = LINKS ", " SWITCHES
"SELECT a.address, host(a.address), dense_rank() OVER (ORDER BY e.machine, CASE WHEN e.machine IS NULL THEN a.address END)::int - 1, "
"w.number, a.address IN (SELECT chosen.address FROM chosen) "
"FROM a LEFT JOIN l4.flow_endpoint e ON e.address = a.address LEFT JOIN w ON w.name = e.switch ORDER BY a.address";
static const char pair_sql[] = LINKS
/* of a NIC that has several addresses, as of IPv4 and of IPv6, the least one stands for it */
", n AS MATERIALIZED (SELECT a.address, CASE WHEN e.nic IS NULL THEN a.number ELSE min(a.number) OVER (PARTITION BY e.machine, e.nic) END AS number "
"FROM a LEFT JOIN l4.flow_endpoint e ON e.address = a.address) "
"SELECT l.pair_id, LEAST(x.number, y.number), GREATEST(x.number, y.number), (x.number > y.number)::int "
"FROM l JOIN n x ON x.address = l.a JOIN n y ON y.address = l.b ORDER BY 2, 3, 1";

static uint64
select_rows(const L4Flows *flows, const char *sql)
{
	Oid			types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID, INETARRAYOID, BOOLOID};
	Datum		values[] = {TimestampTzGetDatum(flows->from), TimestampTzGetDatum(flows->to), flows->nics, BoolGetDatum(flows->only)};

	if (SPI_execute_with_args(sql, lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" is no query", sql);
	return SPI_processed;
}

static int
int_of(uint64 row, int column, int otherwise)
{
	bool		isnull;
	Datum		value = l4_query_value(SPI_tuptable, row, column, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

static void
open_addresses(L4Flows *flows)
{
	int			n = (int) select_rows(flows, address_sql);
	bool		isnull;

	flows->naddresses = n;
	flows->addresses = MemoryContextAllocHuge(flows->cxt, sizeof(L4FlowAddress) * Max(n, 1));
	for (int i = 0; i < n; i++)
		flows->addresses[i] = (L4FlowAddress) {
			.address = datumCopy(l4_query_value(SPI_tuptable, i, 1, &isnull), false, -1),
			.text = TextDatumGetCString(l4_query_value(SPI_tuptable, i, 2, &isnull)),
			.machine = int_of(i, 3, 0),
			.leaf = int_of(i, 4, -1),
			.chosen = DatumGetBool(l4_query_value(SPI_tuptable, i, 5, &isnull))
		};
	flows->inventory = select_rows(flows, "SELECT 1 FROM l4.flow_endpoint e LIMIT 1") > 0;
}

static void
open_pairs(L4Flows *flows)
{
	int			n = (int) select_rows(flows, pair_sql);

	flows->links = MemoryContextAllocHuge(flows->cxt, sizeof(L4FlowLink) * Max(n, 1));
	flows->pairs = MemoryContextAllocHuge(flows->cxt, sizeof(L4FlowPair) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		int			a = int_of(i, 2, 0);
		int			b = int_of(i, 3, 0);

		flows->links[i] = (L4FlowLink) {int_of(i, 1, 0), int_of(i, 4, 0) != 0};
		if (flows->npairs == 0 || flows->pairs[flows->npairs - 1].a != a || flows->pairs[flows->npairs - 1].b != b)
			flows->pairs[flows->npairs++] = (L4FlowPair) {.link = i, .a = a, .b = b};
		flows->pairs[flows->npairs - 1].nlinks++;
	}
}

static void
open_switches(L4Flows *flows)
{
	bool		isnull;

	flows->nswitches = (int) select_rows(flows, "WITH " SWITCHES "SELECT w.name FROM w ORDER BY w.number");
	flows->switches = palloc(sizeof(char *) * Max(flows->nswitches, 1));
	for (int i = 0; i < flows->nswitches; i++)
		flows->switches[i] = TextDatumGetCString(l4_query_value(SPI_tuptable, i, 1, &isnull));
	flows->nexporters = (int) select_rows(flows, "WITH " SWITCHES "SELECT w.number FROM l4._flow_exporter x JOIN w ON w.name = x.name "
										  "ORDER BY x.exporter_id");
	flows->exporter_switch = palloc(sizeof(int) * Max(flows->nexporters, 1));
	for (int i = 0; i < flows->nexporters; i++)
		flows->exporter_switch[i] = int_of(i, 1, 0);
}

/*
 * Flows of a span, seen with some time before and behind it. known is the end of
 * all flows; the last span is open: it has all that came since. Looks at the
 * pairs of some addresses only, or at all but those. The context is the
 * current one and lives as long as the analysis; SPI is connected.
 */
L4Flows *
l4_flows_open(MemoryContext cxt, int64 begin, int64 end, int64 before, int64 behind, int64 first, int64 known, Datum nics, bool only)
{
	L4Flows    *flows = palloc0(sizeof(L4Flows));

	flows->cxt = cxt;
	flows->load_cxt = AllocSetContextCreate(cxt, "l4 flows of pairs", ALLOCSET_DEFAULT_SIZES);
	flows->kept_cxt = AllocSetContextCreate(cxt, "l4 kept flows", ALLOCSET_DEFAULT_SIZES);
	flows->nics = nics;
	flows->only = only;
	flows->begin = begin;
	flows->from = begin - before;
	flows->to = end + behind - 1;
	flows->end = known <= flows->to ? DT_NOEND : end;
	flows->first = Max(first, flows->from);
	flows->last = Min(known, flows->to);
	l4_query_prepare(&flows->load, load_sql, lengthof(load_types), load_types);
	flows->load.read_only = true;
	open_addresses(flows);
	open_pairs(flows);
	open_switches(flows);
	flows->kept = MemoryContextAllocExtended(cxt, sizeof(L4FlowKept) * Max(flows->npairs, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return flows;
}

typedef struct RouteCount
{
	uint64		key;
	int			route;
	int			count;
	int			of_exporter;	/* records of the exporter in the pair */
	int			exporter;		/* by name */
} RouteCount;

/* Routes of a 5-tuple together, the one that stands for it first. */
L4_COMPARE(order_routes, RouteCount, L4_UP(key) L4_DOWN(count) L4_DOWN(of_exporter) L4_UP(exporter))

/* Which routes stand for their 5-tuples: those with most records. Exporters seen become the pair's switches. */
static bool *
standing_routes(L4Flows *flows, L4FlowPair *pair, const L4FlowRecords *records)
{
	int			n = records->nroutes;
	RouteCount *counts = palloc0(sizeof(RouteCount) * Max(n, 1));
	int		   *of_exporter = palloc0(sizeof(int) * Max(flows->nswitches, 1));
	bool	   *stands = palloc0(Max(n, 1));

	/* a chunk may reach out of the span */
	for (int i = 0; i < records->n; i++)
		counts[records->rec[i].route].count += records->rec[i].start >= flows->from && records->rec[i].start <= flows->to;
	for (int d = 0; d < 2; d++)
	{
		if (pair->switches[d] == NULL)
			pair->switches[d] = MemoryContextAlloc(flows->cxt, sizeof(int) * Max(n, 1));
	}
	for (int i = 0; i < n; i++)
	{
		const L4FlowRoute *route = &records->routes[i];

		if (route->exporter >= flows->nexporters)
			l4_bytes_corrupted("exporter");
		counts[i].key = route->key;
		counts[i].route = i;
		counts[i].exporter = flows->exporter_switch[route->exporter];
		of_exporter[counts[i].exporter] += counts[i].count;
	}
	for (int i = 0; i < n; i++)
		counts[i].of_exporter = of_exporter[counts[i].exporter];
	qsort(counts, n, sizeof(RouteCount), order_routes);
	pair->nswitches[0] = pair->nswitches[1] = 0;
	for (int i = 0; i < n; i++)
	{
		int			d = records->routes[counts[i].route].back;
		bool		known = counts[i].count == 0 || flows->switches[counts[i].exporter][0] == '\0';	/* not said which */

		stands[counts[i].route] = i == 0 || counts[i].key != counts[i - 1].key;
		for (int s = 0; s < pair->nswitches[d] && !known; s++)
			known = pair->switches[d][s] == counts[i].exporter;
		if (!known)
			pair->switches[d][pair->nswitches[d]++] = counts[i].exporter;
	}
	pfree(counts);
	pfree(of_exporter);
	return stands;
}

/* Ask for the chunks of a pair; of those behind it, too, if the pairs before were asked for last. */
static void
fetch_chunks(L4Flows *flows, int p)
{
	L4FlowFetched *fetched = &flows->fetched;
	const L4FlowPair *last;
	Datum	   *pair_ids;
	int			n;

	if (p >= fetched->pair && p < fetched->pair + fetched->npairs)
		return;
	fetched->npairs = p == fetched->pair + fetched->npairs ? Min(BATCH, flows->npairs - p) : 1;
	fetched->pair = p;
	fetched->link = flows->pairs[p].link;
	last = &flows->pairs[p + fetched->npairs - 1];
	n = last->link + last->nlinks - fetched->link;
	pair_ids = palloc(sizeof(Datum) * n);
	for (int i = 0; i < n; i++)
		pair_ids[i] = Int32GetDatum(flows->links[fetched->link + i].pair_id);
	SPI_freetuptable(fetched->rows);
	l4_query_put(&flows->load, l4_array(pair_ids, n, INT4OID), false);
	l4_query_put_ts(&flows->load, flows->from);
	l4_query_put_ts(&flows->load, flows->to);
	fetched->nrows = l4_query_run(&flows->load);
	fetched->rows = SPI_tuptable;
	fetched->next = 0;
}

/* All records of a pair in the chunks that reach into the span. */
static void
load_records(L4Flows *flows, int p, L4FlowRecords *records)
{
	L4FlowFetched *fetched = &flows->fetched;
	int			first;
	int			last;

	fetch_chunks(flows, p);
	first = flows->pairs[p].link - fetched->link + 1;
	last = first + flows->pairs[p].nlinks - 1;
	l4_flow_records_init(records, CurrentMemoryContext);
	SPI_tuptable = fetched->rows;
	/* the same pair again, or one behind it */
	while (fetched->next > 0 && int_of(fetched->next - 1, 1, 0) >= first)
		fetched->next--;
	for (int n; fetched->next < fetched->nrows && (n = int_of(fetched->next, 1, 0)) <= last; fetched->next++)
	{
		bool		isnull;

		if (n >= first)
			l4_flow_records_unpack(records, DatumGetByteaPP(l4_query_value(fetched->rows, fetched->next, 2, &isnull)),
								   flows->links[fetched->link + n - 1].turned);
	}
}

/* Records of a pair that the analysis looks at, cut ones joined, in the current context. */
static L4Flow *
load_pair(L4Flows *flows, int p, int *n)
{
	L4FlowPair *pair = &flows->pairs[p];
	L4FlowRecords records;
	bool	   *stands;
	int		   *before;			/* last record of each route */
	L4Flow	   *out;

	load_records(flows, p, &records);
	(void) l4_flow_records_sort(&records, 0, PG_INT64_MAX, NULL);
	stands = standing_routes(flows, pair, &records);
	before = palloc(sizeof(int) * Max(records.nroutes, 1));
	memset(before, -1, sizeof(int) * records.nroutes);
	out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(L4Flow) * Max((Size) records.n, 1));
	*n = 0;
	for (int i = 0; i < records.n; i++)
	{
		const L4FlowRecord *record = &records.rec[i];
		L4Flow	   *flow;
		int			b = before[record->route];

		if (!stands[record->route] || record->start < flows->from || record->start > flows->to)
			continue;
		if (b >= 0 && (pair->join > 0 || out[b].end - out[b].start >= CUT_AFTER)
			&& record->start - out[b].end <= Max(CUT_GAP, pair->join))
		{
			out[b].end = Max(out[b].end, record->end);
			out[b].bytes += (double) record->bytes;
			out[b].packets += record->packets;
			continue;
		}
		before[record->route] = *n;
		flow = &out[(*n)++];
		flow->start = record->start;
		flow->end = record->end;
		flow->bytes = (double) record->bytes;
		flow->pair = p;
		flow->packets = record->packets;
		flow->back = records.routes[record->route].back;
	}
	pfree(records.rec);
	return out;
}

/* What was kept of other records goes, if there was no room for all. */
void
l4_flows_keep(L4Flows *flows)
{
	if (!flows->kept_full)
		return;
	MemoryContextReset(flows->kept_cxt);
	memset(flows->kept, 0, sizeof(L4FlowKept) * flows->npairs);
	flows->kept_full = false;
}

/* The first record that starts at a time or behind it. */
static int
first_from(const L4Flow *flow, int n, int64 at)
{
	int			low = 0;

	while (low < n)
	{
		int			middle = (low + n) / 2;

		if (flow[middle].start < at)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Records of a pair that start within a time: kept ones, or in load_cxt if there is no room for them. */
static L4Flow *
pair_flows(L4Flows *flows, int p, int64 from, int64 to, int *n)
{
	L4FlowKept *kept = &flows->kept[p];
	L4Flow	   *all = kept->flow;
	int			nall = kept->n;
	int			first;

	if (all == NULL || kept->join != flows->pairs[p].join)
	{
		all = load_pair(flows, p, &nall);
		flows->kept_full |= MemoryContextMemAllocated(flows->kept_cxt, false) + sizeof(L4Flow) * nall > (Size) maintenance_work_mem * 1024;
		if (!flows->kept_full)
		{
			*kept = (L4FlowKept) {MemoryContextAllocHuge(flows->kept_cxt, sizeof(L4Flow) * Max(nall, 1)), nall, flows->pairs[p].join};
			all = memcpy(kept->flow, all, sizeof(L4Flow) * nall);
		}
	}
	first = first_from(all, nall, from);
	*n = first_from(all, nall, to + 1) - first;
	return all + first;
}

static inline int
order_flows(const L4Flow *x, const L4Flow *y)
{
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->pair != y->pair)
		return (int) x->pair - (int) y->pair;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

#define ST_SORT sort_flows
#define ST_ELEMENT_TYPE L4Flow
#define ST_COMPARE(a, b) order_flows(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Records of pairs that start within a time, in order. They live as long as load_cxt, which is reset first. */
const L4Flow *
l4_flows_load(L4Flows *flows, const int *pairs, int npairs, int64 from, int64 to, int *n)
{
	MemoryContext old;
	L4Flow	   *out = NULL;
	int			size = 0;

	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(flows->load_cxt);
	old = MemoryContextSwitchTo(flows->load_cxt);
	if (npairs == 1)
		out = pair_flows(flows, pairs[0], from, to, n);
	else
	{
		*n = 0;
		for (int i = 0; i < npairs; i++)
		{
			int			more;
			const L4Flow *flow = pair_flows(flows, pairs[i], from, to, &more);

			L4_GROW_FROM(out, *n + more, size, *n + more + 1, flows->load_cxt);
			memcpy(out + *n, flow, sizeof(L4Flow) * more);
			*n += more;
		}
		sort_flows(out, *n);
	}
	MemoryContextSwitchTo(old);
	return out;
}
