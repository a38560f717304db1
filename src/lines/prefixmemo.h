/*
 * prefixmemo.h
 *		Remembers which format the start of a line has, so that nearly no line
 *		needs a regular expression.
 */
#ifndef L4_PREFIXMEMO_H
#define L4_PREFIXMEMO_H

#include "base/foldmemo.h"
#include "lines/rules.h"

/* Outcome of a look-up */
#define L4_MEMO_MISS	(-2)
#define L4_MEMO_NONE	(-1)	/* no format matches the line */

/* Where the fields of a prefix are: offsets in the line, end 0 when absent. */
typedef struct L4Fields
{
	uint16		start[L4_NFIELDS];
	uint16		end[L4_NFIELDS];
	uint8		level;			/* what the field level says */
} L4Fields;

extern L4FoldMemo *l4_memo_create(MemoryContext cxt);

/* Number of the format of a line, L4_MEMO_NONE or L4_MEMO_MISS. */
extern int	l4_memo_find(L4FoldMemo *memo, const char *p, int len, const L4Fields **fields);

/* Fields of the last match of re, which has the groups of the format. */
extern void l4_memo_fields(const L4Format *format, L4Regex *re, const char *p, L4Fields *fields);

/*
 * Remember what all formats together made of a line: the number of the first
 * that matches, which has just been run on it, or L4_MEMO_NONE.
 */
extern void l4_memo_learn(L4FoldMemo *memo, L4Rules *rules, const char *p, int len, int format);

#endif							/* L4_PREFIXMEMO_H */
