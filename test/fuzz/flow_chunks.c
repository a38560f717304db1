/*
 * flow_chunks.c
 *		Packed flow records: what is written is read as it was, in order; what is damaged is read or refused.
 */
#include "fuzz.h"

#include "flow/flow.h"

#define ROUTES	4

static L4FlowChunk *
make_chunk(int n)
{
	L4FlowChunk *chunk = palloc(sizeof(L4FlowChunk));
	L4FlowRoute route = {0};

	l4_flow_chunk_init(chunk, CurrentMemoryContext);
	for (int i = 0; i < ROUTES; i++)
	{
		route.port_src = (uint16) (50000 + i);
		route.proto = 17;
		route.back = fuzz_random(2);
		route.exporter = (int32) fuzz_random(3);
		route.rate = fuzz_random(2) ? 1 : 64;
		route.key = l4_flow_route_key(&route);
		l4_flow_chunk_route(chunk, &route, CurrentMemoryContext);
	}
	for (int i = 0; i < n; i++)
	{
		L4FlowRecord record = {0};

		record.start = (int64) fuzz_random(1000) * fuzz_random(1000000) + i;
		record.end = record.start + fuzz_random(100000);
		record.bytes = 1 + (int64) fuzz_random(PG_INT32_MAX);
		record.route = (int32) fuzz_random(ROUTES);
		record.packets = (int32) fuzz_random(1000);
		l4_flow_chunk_put(chunk, &record);
	}
	return chunk;
}

void
fuzz_flow_chunks(void)
{
	L4FlowChunk *chunk = make_chunk(1 + fuzz_random(500));
	bytea	   *bytes = l4_flow_chunk_pack(chunk);
	L4FlowRecords records;
	L4FlowRecords again;
	int			known;

	fuzz_calls++;
	l4_flow_records_init(&records, CurrentMemoryContext);
	l4_flow_records_add(&records, chunk);
	l4_flow_records_init(&again, CurrentMemoryContext);
	l4_flow_records_unpack(&again, bytes, false);
	if (records.n != chunk->n || again.n != chunk->n || records.nroutes != again.nroutes
		|| memcmp(records.rec, again.rec, sizeof(L4FlowRecord) * records.n) != 0)
		fuzz_wrong("%d records became %d and %d", chunk->n, records.n, again.n);
	l4_flow_records_sort(&again, 0, 0, NULL);
	for (int i = 1; i < again.n; i++)
		if (again.rec[i].start < again.rec[i - 1].start)
			fuzz_wrong("record %d of %d is not in order", i, again.n);
	/* what is known already goes */
	known = again.n;
	l4_flow_records_unpack(&again, bytes, false);
	l4_flow_records_sort(&again, known, 0, NULL);
	if (again.n != known)
		fuzz_wrong("%d records became %d with those that are known", known, again.n);
	for (int i = 0; i < 40; i++)
	{
		FUZZ_TRY();
		l4_flow_records_init(&again, CurrentMemoryContext);
		l4_flow_records_unpack(&again, (bytea *) fuzz_damage_varlena((struct varlena *) bytes), false);
		l4_flow_records_sort(&again, 0, 0, NULL);
		FUZZ_END();
	}
}
