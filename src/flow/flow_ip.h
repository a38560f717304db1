/*
 * flow_ip.h
 *		Addresses of flow records, of one length.
 */
#ifndef L4_FLOW_IP_H
#define L4_FLOW_IP_H

#include <sys/socket.h>

#include "utils/inet.h"

typedef struct L4FlowIp
{
	uint8		family;
	uint8		bytes[16];
} L4FlowIp;

static inline L4FlowIp
l4_flow_ip_of(Datum datum)
{
	inet	   *address = (inet *) PG_DETOAST_DATUM_PACKED(datum);
	L4FlowIp	ip = {.family = ip_family(address)};

	memcpy(ip.bytes, ip_addr(address), ip_addrsize(address));
	return ip;
}

static inline int
l4_flow_order_ips(const L4FlowIp *a, const L4FlowIp *b)
{
	return a->family != b->family ? (int) a->family - (int) b->family : memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline Datum
l4_flow_inet_of(const L4FlowIp *ip)
{
	inet	   *result = palloc0(sizeof(inet));

	ip_family(result) = ip->family;
	ip_bits(result) = ip_maxbits(result);
	memcpy(ip_addr(result), ip->bytes, ip_addrsize(result));
	SET_INET_VARSIZE(result);
	return InetPGetDatum(result);
}

#endif							/* L4_FLOW_IP_H */
