/*
 * flow.h
 *		Flow records of pairs of addresses, as they are packed and analyzed.
 *		Times are microseconds since 2000, as in timestamptz.
 */
#ifndef L4_FLOW_H
#define L4_FLOW_H

#include "utils/timestamp.h"

#include "base/bytes.h"
#include "base/map.h"

/* Times at which spans of time begin and end that are analyzed together, and what is seen around them, are multiples of this. */
#define L4_FLOW_SLICE		INT64CONST(10000000)

/*
 * A route: a 5-tuple as one exporter reports it. back: from the greater
 * address of the pair to the lesser.
 */
typedef struct L4FlowRoute
{
	uint64		key;			/* hash of what makes it, but for exporter and rate */
	int32		exporter;
	int32		rate;
	uint16		port_src;
	uint16		port_dst;
	uint8		proto;
	bool		back;
	int64		last;			/* bytes of the record before, while records are written or read */
} L4FlowRoute;

typedef struct L4FlowRecord
{
	int64		start;
	int64		end;
	int64		bytes;			/* multiplied by the sampling rate */
	int32		route;
	int32		packets;		/* sampled ones; 0 where all were counted */
} L4FlowRecord;

/* Records being packed: delta-coded as they come, in any order. */
typedef struct L4FlowChunk
{
	int			n;
	int64		first;			/* least and greatest start */
	int64		last;
	int64		before;			/* start of the record before */
	StringInfoData records;
	int			nroutes;
	int			routes_size;
	L4FlowRoute *routes;
} L4FlowChunk;

/* A pair of addresses of which rows are read. */
typedef struct L4FlowOpen
{
	int32		pair_id;
	bool		stored;			/* has rows in the table */
	int			late;			/* open records that may have been read before */
	L4FlowChunk *chunk;			/* NULL none is open */
} L4FlowOpen;

/* Records of one pair, unpacked. */
typedef struct L4FlowRecords
{
	MemoryContext cxt;
	int			n;
	int			size;
	L4FlowRecord *rec;
	int			nroutes;
	int			routes_size;
	L4FlowRoute *routes;
	L4Map	   *known;			/* routes by key, exporter and rate */
} L4FlowRecords;

static inline uint64
l4_flow_mix(uint64 x)
{
	x = (x ^ (x >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

extern uint64 l4_flow_route_key(const L4FlowRoute *route);
extern uint64 l4_flow_route_id(const L4FlowRoute *route);
extern void l4_flow_chunk_init(L4FlowChunk *chunk, MemoryContext cxt);
extern int	l4_flow_chunk_route(L4FlowChunk *chunk, const L4FlowRoute *route, MemoryContext cxt);
extern void l4_flow_chunk_put(L4FlowChunk *chunk, const L4FlowRecord *record);
extern bytea *l4_flow_chunk_pack(const L4FlowChunk *chunk);
extern void l4_flow_records_init(L4FlowRecords *records, MemoryContext cxt);
extern void l4_flow_records_add(L4FlowRecords *records, const L4FlowChunk *chunk);
extern void l4_flow_records_unpack(L4FlowRecords *records, const bytea *body, bool turned);
extern int	l4_flow_records_sort(L4FlowRecords *records, int known, int64 known_to, int *late);
extern int64 l4_flow_merge(L4FlowOpen *open, int n, int64 known_to);

#endif							/* L4_FLOW_H */
