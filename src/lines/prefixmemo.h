/*
 * prefixmemo.h
 *		Remembers which format the start of a line has, so that nearly no line
 *		needs a regular expression.
 */
#ifndef L4_PREFIXMEMO_H
#define L4_PREFIXMEMO_H

#include "base/foldmemo.h"
#include "lines/rules.h"

#define L4_PREFIX_MEMO_PLACES	2048
#define L4_PREFIX_MEMO_COST		16	/* look-ups that an entry is worth: it runs expressions on part of the line */

/* Where the fields of a prefix are: offsets in the line, end 0 when absent. */
typedef struct L4Fields
{
	uint16		start[L4_NFIELDS];
	uint16		end[L4_NFIELDS];
	uint8		level;			/* what the field level says */
} L4Fields;

/* What is known of a line. */
typedef struct L4KnownPrefix
{
	int			format;			/* the first that matches, -1 none */
	L4Fields	fields;
} L4KnownPrefix;

/* Fields of the last match of re, which has the groups of the format. */
extern void l4_memo_fields(const L4Format *format, L4Regex *re, const char *p, L4Fields *fields);

/*
 * Remember what all formats together made of a line: the number of the first
 * that matches, which has just been run on it, or -1.
 */
extern void l4_memo_learn(L4FoldMemo *memo, L4Rules *rules, const char *p, int len, int format);

#endif							/* L4_PREFIXMEMO_H */
