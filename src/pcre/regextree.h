/*
 * regextree.h
 *		A regular expression as a tree, as far as it can be understood.
 *
 * The tree matches whatever the expression matches, and perhaps more: what
 * the reader does not know stands for any text. So what no text of the tree
 * can do without, no text of the expression can; and a text that the tree
 * does not match, the expression does not match.
 */
#ifndef L4_REGEXTREE_H
#define L4_REGEXTREE_H

typedef enum L4RegexNodeKind
{
	L4_NODE_NOTHING,			/* no text: an assertion that is taken for true */
	L4_NODE_ASSERT,				/* no text: an assertion that is looked at */
	L4_NODE_LOOK,				/* no text, but the child's text is in the subject */
	L4_NODE_SET,				/* one character */
	L4_NODE_SEQUENCE,
	L4_NODE_ALTERNATIVES,
	L4_NODE_REPEAT,
	L4_NODE_ANY					/* any text, also none */
} L4RegexNodeKind;

typedef enum L4Assert
{
	L4_AT_START,				/* of the subject */
	L4_AT_LINE_START,			/* or behind what may be a newline */
	L4_AT_END,
	L4_AT_LINE_END,
	L4_AT_WORD_EDGE,
	L4_NOT_WORD_EDGE
} L4Assert;

#define L4_REPEAT_INF (-1)

typedef struct L4ByteSet
{
	uint64		bits[4];
} L4ByteSet;

typedef struct L4RegexNode
{
	L4RegexNodeKind	kind;
	L4Assert	assertion;
	struct L4RegexNode *first;		/* children */
	struct L4RegexNode *last;
	struct L4RegexNode *next;		/* sibling */
	int			least;			/* of a repeat */
	int			most;			/* L4_REPEAT_INF: no limit */

	/*
	 * A set: its bytes, and with wide all characters beyond ASCII as well,
	 * of one byte or more. Listed: it is only what the pattern writes out, in
	 * any database. With caseless both cases are in the set, and it is wide
	 * where K or S are, since U+212A and U+017F match these.
	 */
	L4ByteSet	bytes;
	bool		wide;
	bool		listed;
	bool		plain;			/* one byte that stands for itself, maybe in either case */
	unsigned char byte;
} L4RegexNode;

static inline bool
l4_byte_set_has(const L4ByteSet *set, unsigned char c)
{
	return (set->bits[c >> 6] >> (c & 63)) & 1;
}

/* Only newline-like bytes end or begin a line, under any convention that PCRE2 knows. */
static inline bool
l4_may_be_newline(unsigned char c)
{
	return (c >= '\n' && c <= '\r') || c == '\0' || c >= 0x80;
}

/*
 * What a pattern looks like, in the current memory context; NULL when it
 * cannot be read. Unless it tells digits, it matches a line with other digits
 * in place of some if and only if it matches the line.
 */
extern L4RegexNode *l4_regex_tree(const char *pattern, size_t len, bool *tells_digits);

/* ---- regexchar.c: reads single characters of a pattern: what regextree.c and regexchar.c share ---- */

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
extern void l4_regex_plain(L4RegexReader *r, L4RegexNode *sequence);

/* Each is called behind the first byte of what it reads. */
extern L4RegexNode *l4_regex_byte(L4RegexReader *r, unsigned char c);
extern L4RegexNode *l4_regex_run(L4RegexReader *r);
extern L4RegexNode *l4_regex_escape(L4RegexReader *r);
extern L4RegexNode *l4_regex_class(L4RegexReader *r);
extern void l4_regex_skip_past(L4RegexReader *r, unsigned char closing);

/* ---- regexwindow.c: what must be somewhere in a line for a pattern to match ---- */

/*
 * The rarest part of a tree of which one text is in every text that the tree
 * matches: a few characters in a row, or some such, one for each alternative.
 * NULL: all of them are common, or none is known. The tree is used up.
 */
extern L4RegexNode *l4_regex_window(L4RegexNode *tree);

#endif							/* L4_REGEXTREE_H */
