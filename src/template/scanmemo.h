/*
 * scanmemo.h
 *		Remembers what scans made of messages, so that a message which differs
 *		from an earlier one in digits only is not scanned again.
 */
#ifndef L4_SCANMEMO_H
#define L4_SCANMEMO_H

#include "template/scan.h"

typedef struct L4ScanMemo L4ScanMemo;

extern L4ScanMemo *l4_scanmemo_create(MemoryContext cxt);

/* Fill out as the scan would; false when the message is like none that is remembered. */
extern bool l4_scanmemo_find(L4ScanMemo *memo, const char *msg, int len, L4Shape *out);

/* Remember what l4_scan made of a message that was not found. */
extern void l4_scanmemo_learn(L4ScanMemo *memo, const L4Scanner *scanner, const char *msg, int len, const L4Shape *shape);

#endif							/* L4_SCANMEMO_H */
