/*
 * structured.h
 *		Lines that are data: a JSON object, or logfmt (key=value with quotes).
 */
#ifndef L4_STRUCTURED_H
#define L4_STRUCTURED_H

#include "lib/stringinfo.h"

#include "lines/rules.h"

/*
 * What the keys of a structured line say. Texts are in the line or in buf. The
 * message is followed by the members that have no other meaning, as key=value.
 */
typedef struct L4Structured
{
	L4Span		field[L4_NFIELDS];
	bool		wrapper;		/* a log collector's envelope: its message is a raw line */
} L4Structured;

/*
 * Take a line apart if it is one JSON object (or is logfmt). False when it is
 * not. buf holds what had to be unescaped; it is emptied first.
 */
extern bool l4_json_line(const char *line, int len, StringInfo buf, L4Structured *out);
extern bool l4_logfmt_line(const char *line, int len, StringInfo buf, L4Structured *out);

#endif							/* L4_STRUCTURED_H */
