/*
 * literalscan.h
 *		Which of many patterns have one of their literals in a line?
 */
#ifndef L4_LITERALSCAN_H
#define L4_LITERALSCAN_H

#include "pcre/literal.h"

typedef struct L4LiteralScan L4LiteralScan;

extern L4LiteralScan *l4_literalscan_create(MemoryContext cxt);

/*
 * Look for a literal of a pattern, which is copied; caseless ones are in
 * lower case. False when there is no room for it.
 */
extern bool l4_literalscan_add(L4LiteralScan *scan, const L4Literal *literal, bool caseless, int pattern);

/*
 * Add the patterns that have a literal in the line to the set; with
 * any_digits also those that have one in a line with other digits. True if
 * there are any. Afterwards no literal may be added.
 */
extern bool l4_literalscan_run(L4LiteralScan *scan, const char *line, int len, bool any_digits,
							   uint64 *found);

#endif							/* L4_LITERALSCAN_H */
