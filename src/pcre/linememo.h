/*
 * linememo.h
 *		What was found out about lines that differ in their digits only.
 */
#ifndef L4_LINEMEMO_H
#define L4_LINEMEMO_H

/* Longer lines are not kept. */
#define L4_MEMO_LINE_MAX 512

/* Numbers in a note; with more, or when they would not help, it says L4_NOTE_NOTHING. */
#define L4_NOTE_MAX 16
#define L4_NOTE_NOTHING (-1)

typedef struct L4LineMemo L4LineMemo;

typedef struct L4LineNote
{
	uint64		hash;
	int			len;			/* of the line; 0: no note */
	int			n;				/* numbers in it, or L4_NOTE_NOTHING */
	int			room;			/* bytes */
	int32	   *numbers;		/* and behind them the folded line */
} L4LineNote;

/* What digits stand for in folded text. */
static inline unsigned char
l4_fold_digit(unsigned char c)
{
	return c >= '0' && c <= '9' ? '0' : c;
}

extern L4LineMemo *l4_linememo_create(MemoryContext parent);
extern void l4_linememo_clear(L4LineMemo *memo);

/* Are so many lines alike that it is worth looking this one up? To be asked once a line. */
extern bool l4_linememo_is_worth(L4LineMemo *memo, int len);

/* The note on the line, NULL if there is none: then it may be told. */
extern const L4LineNote *l4_linememo_find(L4LineMemo *memo, const char *line, int len);
extern void l4_linememo_tell(L4LineMemo *memo, const int32 *numbers, int n);

#endif							/* L4_LINEMEMO_H */
