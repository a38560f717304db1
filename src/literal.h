/*
 * literal.h
 *		What text a regular expression cannot match without.
 */
#ifndef L4_LITERAL_H
#define L4_LITERAL_H

/* Literals are at most this long, and a set has at most this many. */
#define L4_LITERAL_LEN 48
#define L4_LITERAL_SET 32

typedef struct L4Literal
{
	int			len;
	unsigned char text[L4_LITERAL_LEN];
} L4Literal;

/*
 * One of these occurs in every line that the pattern matches. No literals:
 * nothing is known, the pattern must always be run. Caseless: they are in
 * lower case and occur in any, and K and S may stand as U+212A and U+017F.
 */
typedef struct L4LiteralSet
{
	int			n;
	L4Literal	items[L4_LITERAL_SET];
	bool		caseless;
} L4LiteralSet;

extern void l4_required_literals(const char *pattern, size_t len, L4LiteralSet *set);

/* How seldom a literal is in logs: bits, roughly. */
extern int	l4_literal_weight(const unsigned char *text, int len);

#endif							/* L4_LITERAL_H */
