/*
 * redraw.c
 *		Repeats lines with other numbers in them, for test/bench/parser.sql.
 *
 *	cat FILE ... | redraw LINES [RUN]
 *
 * Writes LINES lines: those of the input again and again, in their order. In
 * all but the first round every run of RUN or more digits (default 4) is
 * replaced by as many other ones. The same input gives the same output. What
 * COPY takes for an escape is written as one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 65536

static uint64_t state = 88172645463325252u;

static unsigned
draw(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned) ((state >> 11) % below);
}

static int
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Replace the runs of digits of a line in place. */
static void
redraw(char *line, int run)
{
	while (*line)
	{
		int			n = 0;

		while (is_digit(line[n]))
			n++;
		/* the first digit stays none but zero: lengths of numbers are kept */
		for (int i = 0; n >= run && i < n; i++)
			line[i] = '0' + (i == 0 && line[0] != '0' ? 1 + draw(9) : draw(10));
		line += n > 0 ? n : 1;
	}
}

int
main(int argc, char **argv)
{
	long		lines = argc > 1 ? atol(argv[1]) : 0;
	int			run = argc > 2 ? atoi(argv[2]) : 4;
	static char buffer[LINE_MAX_BYTES];
	char	  **known = NULL;
	long		n = 0;

	while (fgets(buffer, sizeof(buffer), stdin))
	{
		buffer[strcspn(buffer, "\r\n")] = '\0';
		if ((n & (n - 1)) == 0)
			known = realloc(known, sizeof(char *) * (n > 0 ? 2 * n : 1));
		if (known == NULL || (known[n++] = strdup(buffer)) == NULL)
			return 1;
	}
	for (long i = 0; i < lines && n > 0; i++)
	{
		if (i >= n)
			redraw(known[i % n], run);
		for (const char *c = known[i % n]; *c; c++)
		{
			if (*c == '\\' || *c == '\t')
				putchar('\\');
			putchar(*c == '\t' ? 't' : *c);
		}
		putchar('\n');
	}
	return n > 0 ? 0 : 1;
}
