/*
 * regexchar.h
 *		Reads single characters of a pattern: what regextree.c and regexchar.c share.
 */
#ifndef L4_REGEXCHAR_H
#define L4_REGEXCHAR_H

#include "pcre/regextree.h"

typedef struct L4RegexFlags
{
	bool		caseless;
	bool		extended;		/* (?x) */
	bool		multiline;		/* (?m) */
} L4RegexFlags;

typedef struct L4RegexReader
{
	const unsigned char *at;
	const unsigned char *end;
	bool		failed;
	bool		quoted;			/* between \Q and \E */
	L4RegexFlags flags;
	bool		tells_digits;	/* it may matter which digits a line has */
} L4RegexReader;

static inline bool
l4_regex_more(const L4RegexReader *r)
{
	return r->at < r->end && !r->failed;
}

static inline bool
l4_regex_next_is(const L4RegexReader *r, const char *text)
{
	size_t		len = strlen(text);

	return r->end - r->at >= len && memcmp(r->at, text, len) == 0;
}

extern L4RegexNode *l4_regex_node(L4RegexNodeKind kind);
extern L4RegexNode *l4_regex_assert(L4Assert assertion);
extern void l4_regex_add(L4RegexNode *parent, L4RegexNode *child);
extern void l4_regex_fill(L4RegexNode *set); /* any character */

/* Each is called behind the first byte of what it reads. */
extern L4RegexNode *l4_regex_byte(L4RegexReader *r, unsigned char c);
extern L4RegexNode *l4_regex_run(L4RegexReader *r);
extern L4RegexNode *l4_regex_escape(L4RegexReader *r);
extern L4RegexNode *l4_regex_class(L4RegexReader *r);
extern void l4_regex_skip_past(L4RegexReader *r, unsigned char closing);

#endif							/* L4_REGEXCHAR_H */
