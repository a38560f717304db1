/*
 * terminal.h
 *		What a terminal would show of a raw line, and progress bars on it.
 */
#ifndef L4_TERMINAL_H
#define L4_TERMINAL_H

#include "lib/stringinfo.h"

/* What carriage returns wiped out of a line. Pointers as in the text that is left; NULL none. */
typedef struct L4Wiped
{
	const char *first;			/* what stood in front of the first carriage return */
	int			first_len;
	const char *bar;			/* the last progress bar that was painted over */
	int			bar_len;
} L4Wiped;

/* Take off escapes and what was painted over; plain holds the text where it had escapes. */
extern void l4_terminal_show(StringInfo plain, const char **p, int *len, L4Wiped *wiped);

/* Bytes of the progress bar that the text begins with, 0 none. */
extern int	l4_bar_length(const char *p, int len);

/* Seconds that a bar says have passed since its loop began, -1 when it does not. */
extern int	l4_bar_elapsed(const char *bar, int len);

#endif							/* L4_TERMINAL_H */
