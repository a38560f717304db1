/*
 * regextree.h
 *		Reads a pattern into a tree of nodes.
 */
#ifndef L4_REGEXTREE_H
#define L4_REGEXTREE_H

#include "pcre/regexnode.h"

/* What a pattern looks like, in the current memory context; NULL when it cannot be read. */
extern L4Node *l4_regex_tree(const char *pattern, size_t len, bool *caseless);

#endif							/* L4_REGEXTREE_H */
