/*
 * regexwindow.h
 *		What must be somewhere in a line for a pattern to match.
 */
#ifndef L4_REGEXWINDOW_H
#define L4_REGEXWINDOW_H

#include "pcre/regextree.h"

/*
 * The rarest part of a tree of which one text is in every text that the tree
 * matches: a few characters in a row, or some such, one for each alternative.
 * NULL: all of them are common, or none is known. The tree is used up.
 */
extern L4RegexNode *l4_regex_window(L4RegexNode *tree);

#endif							/* L4_REGEXWINDOW_H */
