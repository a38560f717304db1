/*
 * literal.h
 *		What text a regular expression cannot match without.
 */
#ifndef L4_LITERAL_H
#define L4_LITERAL_H

/* Sets of which one must occur that are kept besides the best. */
#define L4_LITERAL_ALSO 3

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

/*
 * One item of each set occurs in every line that the pattern matches. Best
 * empty: nothing is known, the pattern must always be run. Caseless: they are
 * in lower case and occur in any, K and S may stand as U+212A and U+017F.
 */
typedef struct L4Required
{
	bool		caseless;
	bool		tells_digits;	/* see l4_regex_tree */
	L4LiteralSet best;
	L4LiteralSet also[L4_LITERAL_ALSO]; /* empty ones last */
} L4Required;

struct L4Node;

extern void l4_tree_literals(const struct L4Node *tree, bool caseless, L4Required *required);

/* The same from the pattern's text. */
extern void l4_required_literals(const char *pattern, size_t len, L4Required *required);

extern bool l4_any_literal_in(const L4Literal *literals, int n, const char *text, int len);
extern bool l4_literal_in(const L4Literal *literal, const char *text, int len);
extern bool l4_has_odd_letters(const char *line, int len);

/* How seldom a literal is in logs: bits, roughly. */
extern int	l4_literal_weight(const unsigned char *text, int len);

#endif							/* L4_LITERAL_H */
