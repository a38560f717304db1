/*
 * structured.h
 *		Lines that are data: a JSON object, or logfmt (key=value with quotes).
 */
#ifndef L4_STRUCTURED_H
#define L4_STRUCTURED_H

#include "base/linebuf.h"

/* A part of a structured line; text is NULL when the line has none. */
typedef struct L4Part
{
	const char *text;
	int			len;
} L4Part;

/* What the keys of a structured line say. Texts are in the line or in buf. */
typedef struct L4Structured
{
	L4Part		msg;			/* the message, then the remaining members as key=value */
	L4Part		level;
	L4Part		ts;
	L4Part		rank;
	L4Part		host;
	L4Part		pid;
	L4Part		component;
	L4Part		stream;
	bool		wrapper;		/* a log collector's envelope: its message is a raw line */
} L4Structured;

/*
 * Take a line apart if it is one JSON object (or is logfmt). False when it is
 * not. buf holds what had to be unescaped; it is emptied first.
 */
extern bool l4_json_line(const char *line, int len, L4Buf *buf, L4Structured *out);
extern bool l4_logfmt_line(const char *line, int len, L4Buf *buf, L4Structured *out);

#endif							/* L4_STRUCTURED_H */
