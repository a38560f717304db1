/*
 * foldmemo.h
 *		Remembers values by texts that are alike but for their digits.
 *
 * Logs repeat but for their numbers. A key is a text in which bytes may stand
 * for any digit, or for any digit of a hexadecimal number; a text that fits it
 * finds its value. The whole text is compared: this is a memo, not a guess.
 * The table has a fixed number of places; where texts do not repeat, it is
 * left alone most of the time.
 */
#ifndef L4_FOLDMEMO_H
#define L4_FOLDMEMO_H

#include "base/ascii.h"

/* Longer texts are not kept. */
#define L4_FOLD_MAX		512

/* A key may be the start of texts: a multiple of so many bytes, up to a longest one. */
#define L4_FOLD_START		8
#define L4_FOLD_START_MAX	128

/* What may stand in a key for a byte of the text. */
#define L4_FOLD_DIGIT	'\000'	/* any of 0-9 */
#define L4_FOLD_HEX		'\001'	/* any of 0-9 and a-f */
#define L4_FOLD_HEX_RUN	12

typedef struct L4FoldMemo L4FoldMemo;

/*
 * places: how many texts are kept, a power of two, at least 8. cost: how many
 * look-ups are as expensive as making one entry. hex: keys may hold L4_FOLD_HEX,
 * in runs of L4_FOLD_HEX_RUN or more hexadecimal digits and dashes. All memory
 * is of cxt.
 */
extern L4FoldMemo *l4_foldmemo_create(int places, int cost, bool hex, MemoryContext cxt);
extern void l4_foldmemo_clear(L4FoldMemo *memo);

/* The value of a text: of the shortest key that it starts with, else of the whole. NULL if there is none. */
extern void *l4_foldmemo_find(L4FoldMemo *memo, const char *text, int len);

/* Is an entry worth making for a text that was not found? To be asked once before each. */
extern bool l4_foldmemo_wants(L4FoldMemo *memo);

/*
 * Make an entry for a text, or with start for all texts that start so: returns
 * room for size bytes of value, and where its key is: the text, in which the
 * caller writes what may vary. NULL if the text cannot be a key.
 */
extern void *l4_foldmemo_add(L4FoldMemo *memo, const char *text, int len, bool start, Size size, char **key);

/* Let all digits of a part of a key vary. */
static inline void
l4_fold_digits(char *key, int len)
{
	for (int i = 0; i < len; i++)
		if (l4_ascii_digit(key[i]))
			key[i] = L4_FOLD_DIGIT;
}

#endif							/* L4_FOLDMEMO_H */
