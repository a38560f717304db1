/*
 * lineprint.h
 *		Which short pieces does a line have? A set of marks that says "surely
 *		not" of most literals that it does not have.
 */
#ifndef L4_LINEPRINT_H
#define L4_LINEPRINT_H

#define L4_PRINT_BITS 11

/* A longer line has most pieces, and a print tells nothing. */
#define L4_PRINT_LINE_MAX 2048

/* How many marks of a literal are looked up. */
#define L4_PRINT_MARKS 4

typedef struct L4LinePrint
{
	bool		marks[1 << L4_PRINT_BITS];	/* not bits, which would have to be read before they are written */
} L4LinePrint;

typedef struct L4Marks
{
	uint16		places[L4_PRINT_MARKS];
} L4Marks;

/* The same for letters of both cases. */
extern void l4_lineprint_make(L4LinePrint *print, const char *line, int len);
extern L4Marks l4_lineprint_marks(const unsigned char *text, int len);

/* May a literal with these marks be in the line? */
static inline bool
l4_lineprint_may_have(const L4LinePrint *print, const L4Marks *marks)
{
	for (int k = 0; k < L4_PRINT_MARKS; k++)
		if (!print->marks[marks->places[k]])
			return false;
	return true;
}

#endif							/* L4_LINEPRINT_H */
