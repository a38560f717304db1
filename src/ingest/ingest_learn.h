/*
 * ingest_learn.h
 *		The leader's part of learning: the shapes of all scan results that the parser
 *		does not know, in their order.
 */
#ifndef L4_INGEST_LEARN_H
#define L4_INGEST_LEARN_H

#include "ingest/ingest_shape.h"

/* A variable part of a message. */
typedef struct L4ParamRange
{
	int			pos;			/* place among the delimiters */
	const char *mask_name;
	uint32		off;
	uint32		len;
} L4ParamRange;

/*
 * Learn the unknown shapes of scan results; what was learnt of each, in order, is
 * appended to learnt. Those that no scan result before had are collected in news.
 */
extern void l4_learn_results(L4Parser *parser, L4ScanResult **results, int n, StringInfo learnt, L4ResultPart *news);
extern const L4Local **l4_learn_first(const L4ResultPart *news, int32 above, int32 nevents);
extern int	l4_param_ranges(L4Parser *parser, const L4Local *local, L4Shape *shape,
							L4ParamRange ranges[L4_MAX_PARAMS]);
extern int	l4_context_start(const char *msg, int off);

#endif							/* L4_INGEST_LEARN_H */
