/*
 * pcre.h
 *		Regular expressions of users (PCRE2), compiled once and run with limits.
 */
#ifndef L4_PCRE_H
#define L4_PCRE_H

#include "utils/palloc.h"

/* Longest pattern in bytes: PCRE2 compiles to 64 kB at most, so longer ones hardly ever compile. */
#define L4_PCRE_MAX_PATTERN 32768

/* Backtracking steps from one start position before a match gives up: 0.1 to 1 ms. */
#define L4_PCRE_MATCH_LIMIT 100000

/* Nesting of the interpreter, used only where the JIT is not available. */
#define L4_PCRE_DEPTH_LIMIT 20000

/* Memory of one match of the interpreter, in kB. */
#define L4_PCRE_HEAP_LIMIT 20480

/* Options of l4_regex_compile */
#define L4_REGEX_UCP		1	/* \d, \w, \s and \b know Unicode (UTF-8 databases only) */

typedef struct L4Regex L4Regex;

/*
 * Compile into a context of its own below cxt. The first raises
 * ERRCODE_INVALID_REGULAR_EXPRESSION with the position; the second returns
 * NULL and the reason (library text) with its byte offset instead. Machine
 * code is made when a pattern has run for a while: of many most never do.
 */
extern L4Regex *l4_regex_compile(const char *pattern, size_t len, int options, MemoryContext cxt);
extern L4Regex *l4_regex_try_compile(const char *pattern, size_t len, int options,
									 MemoryContext cxt, char **reason, size_t *offset);
extern void l4_regex_free(L4Regex *re);

/*
 * Search subject from byte offset start: number of ovector pairs when it
 * matches, 0 when it does not, -1 when a limit was hit. The second does not
 * accept an empty match at start itself, which is what a loop over all
 * matches needs after an empty one.
 */
extern int	l4_regex_exec(L4Regex *re, const char *subject, size_t len, size_t start);
extern int	l4_regex_exec_nonempty(L4Regex *re, const char *subject, size_t len, size_t start);

/*
 * What is certain of all subjects that start with these bytes: number of
 * pairs when each matches (and the match was found without a look at the end
 * of the bytes), 0 when none does, -1 when it depends on what follows.
 */
extern int	l4_regex_exec_prefix(L4Regex *re, const char *subject, size_t len);

/* Byte offset pairs of the last match; a group that took no part is L4_REGEX_UNSET in both. */
#define L4_REGEX_UNSET (~(size_t) 0)
extern const size_t *l4_regex_ovector(L4Regex *re);

extern int	l4_regex_ngroups(L4Regex *re);	/* capture groups, the whole match not counted */
extern int	l4_regex_group(L4Regex *re, const char *name);	/* number or -1 */
extern const char *l4_regex_group_name(L4Regex *re, int group); /* NULL when it has none */

/* Can a match start at a byte c? True when not known, and where an empty match is possible. */
extern bool l4_regex_may_start(L4Regex *re, unsigned char c);
extern const char *l4_regex_source(L4Regex *re, size_t *len);
extern size_t l4_regex_memory(L4Regex *re); /* bytes, with the machine code, which is made now */

/* The pattern for an error message: quoted elsewhere, cut at a character when long. */
extern char *l4_regex_display(const char *pattern, size_t len);

/* Compiled pattern of this text from the backend's cache; valid until the next call. */
extern L4Regex *l4_regex_cached(const char *pattern, size_t len);

#endif							/* L4_PCRE_H */
