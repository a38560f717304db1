/*
 * scan_result_int.h
 *		What the writer and the reader of a scan result's bytes share.
 */
#ifndef L4_SCAN_RESULT_INT_H
#define L4_SCAN_RESULT_INT_H

#include "ingest/scan_result.h"

/* Flags of a record or line: what differs from the one before */
#define DIFF_LINE_NO	0x01	/* does not follow the one before */
#define DIFF_TS			0x02
#define DIFF_RANK		0x04
#define DIFF_CONTEXT	0x08
#define DIFF_EPOCH		0x10
#define DIFF_ITERATION	0x20
#define DIFF_REC		0x40	/* of a line: does not belong to the record of the one before */

/* In front of the rows of a scan result */
#define ROWS_PLAIN		0
#define ROWS_COMPRESSED 1

/* Shapes that the parser does not know. */
static inline int
l4_unknown_shapes(const L4ResultPart *part)
{
	int			n = 0;

	for (int i = 0; i < part->nlocals; i++)
		n += part->locals[i]->event_id == 0;
	return n;
}

#endif							/* L4_SCAN_RESULT_INT_H */
