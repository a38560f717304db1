/*
 * scanmemo.h
 *		Remembers what scans made of messages, so that most messages need not be
 *		scanned: see scanmemo.c.
 */
#ifndef L4_SCANMEMO_H
#define L4_SCANMEMO_H

#include "base/foldmemo.h"
#include "scan/scan.h"

extern L4FoldMemo *l4_scanmemo_create(MemoryContext cxt);

/*
 * What a scan of the message would give; false if that is not known. The shape
 * points into the memo until the next l4_scanmemo_learn.
 */
extern bool l4_scanmemo_find(L4FoldMemo *memo, const char *msg, int len, L4Shape *out);

/* Remember what a scan gave of the message that was just not found. */
extern void l4_scanmemo_learn(L4FoldMemo *memo, const L4Scanner *scanner, const char *msg, int len, const L4Shape *shape);

#endif							/* L4_SCANMEMO_H */
