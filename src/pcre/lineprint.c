/*
 * lineprint.c
 *		Which short pieces does a line have?
 *
 * Each three bytes in a row set one mark by hash. A literal is looked up by
 * some of its own; where a mark is missing the literal is not there.
 */
#include "postgres.h"

#include "pcre/gram.h"
#include "pcre/linememo.h"
#include "pcre/lineprint.h"

#define PIECE 3

/* This mark is in all prints, for literals that are too short to have one. */
#define ALWAYS 0

static inline uint16
hash_piece(uint32 piece)
{
	return (piece * 0x9E3779B1U) >> (32 - L4_PRINT_BITS);
}

void
l4_lineprint_make(L4LinePrint *print, const char *line, int len)
{
	const unsigned char *p = (const unsigned char *) line;
	const unsigned char *end = p + len;

	memset(print, 0, sizeof(L4LinePrint));
	print->marks[ALWAYS] = true;
	for (; end - p >= 4; p++)
		print->marks[hash_piece(read_gram(p, PIECE))] = true;
	if (end - p == PIECE)
		print->marks[hash_piece(read_short_gram(p, PIECE))] = true;
}

static bool
has_digit(const unsigned char *piece)
{
	for (int i = 0; i < PIECE; i++)
		if (l4_fold_digit(piece[i]) == '0')
			return true;
	return false;
}

/* Pieces from the beginning to the end, at like distances, but for those with digits: these may be folded in the line. */
L4Marks
l4_lineprint_marks(const unsigned char *text, int len)
{
	L4Marks		marks;

	for (int k = 0; k < L4_PRINT_MARKS; k++)
	{
		const unsigned char *piece = text + (len - PIECE) * k / (L4_PRINT_MARKS - 1);

		marks.places[k] = len < PIECE || has_digit(piece) ? ALWAYS
			: hash_piece(read_short_gram(piece, PIECE));
	}
	return marks;
}
