/*
 * literal.h
 *		What text a regular expression cannot match without.
 */
#ifndef L4_LITERAL_H
#define L4_LITERAL_H

/* Literals are at most this long, and a set has at most this many. */
#define L4_LITERAL_LEN 48
#define L4_LITERAL_SET 80

typedef struct L4Literal
{
	int			len;
	unsigned char text[L4_LITERAL_LEN];
} L4Literal;

typedef struct L4LiteralSet
{
	int			n;
	L4Literal	items[L4_LITERAL_SET];
} L4LiteralSet;

typedef struct L4Required
{
	/*
	 * One of these occurs in every line that the pattern matches. Empty: no
	 * literal is known. Caseless: they are in lower case and occur in any, K
	 * and S may stand as U+212A and U+017F.
	 */
	L4LiteralSet best;
	bool		caseless;
	bool		tells_digits;	/* see l4_regex_tree */
} L4Required;

extern void l4_required_literals(const char *pattern, size_t len, L4Required *required);

/* How rare a text is in logs: bits, roughly. */
extern int	l4_literal_weight(const unsigned char *text, int len);

#endif							/* L4_LITERAL_H */
