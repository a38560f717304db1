/*
 * regextree.h
 *		Reads a pattern into a tree of nodes.
 */
#ifndef L4_REGEXTREE_H
#define L4_REGEXTREE_H

#include "pcre/regexnode.h"

/*
 * What a pattern looks like, in the current memory context; NULL when it
 * cannot be read. Unless it tells digits, a line in which some are exchanged for
 * others matches as before.
 */
extern L4Node *l4_regex_tree(const char *pattern, size_t len, bool *caseless, bool *tells_digits);

#endif							/* L4_REGEXTREE_H */
