/*
 * gramscan.h
 *		Where do any of thousands of literals occur in a line?
 */
#ifndef L4_GRAMSCAN_H
#define L4_GRAMSCAN_H

#include "pcre/literal.h"
#include "pcre/shortscan.h"

typedef struct L4GramScan L4GramScan;

/* Everything is allocated in the context that is current. */
extern L4GramScan *l4_gramscan_create(void);

/* Number of a literal, from 0 on: equal ones share it. In lower case when caseless. */
extern int	l4_gramscan_add(L4GramScan *gs, const L4Literal *item, bool caseless);
extern void l4_gramscan_prepare(L4GramScan *gs);

/* The callback is told the numbers of the literals that occur, once or more. */
extern void l4_gramscan(L4GramScan *gs, const char *line, int len, L4LiteralHit hit, void *arg);

#endif							/* L4_GRAMSCAN_H */
