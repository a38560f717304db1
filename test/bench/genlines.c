/*
 * genlines.c
 *		Writes lines in the form of COPY for test/bench/parser.sql.
 *
 *	genlines LINES test/bench/parser_lines.txt		lines of its templates, drawn at random
 *	cat FILE ... | genlines LINES					lines of the input, again and again in their order: in all
 *													but the first round every run of four or more digits is
 *													replaced by as many other ones
 *
 * The same arguments give the same lines.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES	65536
#define RUN			4
#define NAMES		128		/* a power of two; few of them are most frequent */

typedef struct List
{
	char	  **items;
	long		n;
} List;

typedef struct Section
{
	List		prefixes;
	List		messages;
} Section;

static uint64_t state = 88172645463325252u;

static unsigned
draw(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned) ((state >> 11) % below);
}

static void
append(List *list, const char *text)
{
	if ((list->n & (list->n - 1)) == 0)
		list->items = realloc(list->items, sizeof(char *) * (list->n > 0 ? 2 * list->n : 1));
	if (list->items == NULL || (list->items[list->n++] = strdup(text)) == NULL)
		exit(1);
}

static void
put(char c)
{
	if (c == '\\' || c == '\t')
		putchar('\\');
	putchar(c == '\t' ? 't' : c);
}

/* One of the names: one or two syllables. */
static void
put_name(void)
{
	static const char *const syllables[] = {"ba", "cor", "den", "fil", "gra", "hol", "jin", "ka", "lum", "mor", "nex",
	"ob", "pra", "quo", "ros", "sta", "tri", "ul", "ver", "wen", "xi", "yor", "zen"};
	unsigned	name = draw(NAMES >> draw(7));

	do
	{
		fputs(syllables[name % 23], stdout);
		name /= 23;
	} while (name > 0);
}

static void
put_hex(int n)
{
	while (n-- > 0)
		putchar("0123456789abcdef"[draw(16)]);
}

static void
put_value(char kind)
{
	switch (kind)
	{
		case 'n':
			printf("%u", draw(draw(3) ? 100 : 1000));
			break;
		case 'N':
			printf("%u", 1000 + draw(draw(2) ? 100000 : 100000000));
			break;
		case 'f':
			printf("%.*f", draw(2) ? 2 : 4, draw(10000000) / (draw(2) ? 10000.0 : 100000.0));
			break;
		case 'e':
			printf("%.5E", draw(1000000) / 100000000.0);
			break;
		case 'l':
			printf("%u", draw(8));
			break;
		case 'x':
			put_hex(8);
			break;
		case 'X':
			put_hex(16);
			break;
		case 'u':
			for (int i = 0; i < 5; i++)
			{
				put_hex(i == 0 ? 8 : i < 4 ? 4 : 12);
				if (i < 4)
					putchar('-');
			}
			break;
		case 'i':
			printf("10.%u.%u.%u", draw(256), draw(256), draw(256));
			break;
		case 'p':
			printf("%u", 1024 + draw(64000));
			break;
		case 'h':
			printf("%s%03u", draw(2) ? "gpu-node-" : "cn", draw(1000));
			break;
		case 't':
			printf("%02u:%02u:%02u", draw(24), draw(60), draw(60));
			break;
		case 'T':
			printf("2026-%02u-%02u ", 1 + draw(12), 1 + draw(28));
			put_value('t');
			break;
		case 's':
			printf("Nov %2u ", 1 + draw(28));
			put_value('t');
			break;
		case 'w':
			put_name();
			break;
		case 'F':
			fputs("/mnt/", stdout);
			put_name();
			printf("/run-%u/", draw(500));
			put_name();
			printf("_%07u.pt", draw(10000000));
			break;
		default:
			printf("{%c}", kind);
	}
}

static void
put_template(const char *c)
{
	for (; *c; c++)
		if (c[0] == '{' && c[1] && c[2] == '}')
		{
			put_value(c[1]);
			c += 2;
		}
		else
			put(*c);
}

/* Templates by section; the first prefix behind messages opens the next section. */
static int
from_templates(long lines, const char *path)
{
	static char buffer[LINE_BYTES];
	static Section sections[100];
	int			n = 0;
	FILE	   *file = fopen(path, "r");

	if (file == NULL)
		return 1;
	while (fgets(buffer, sizeof(buffer), file))
	{
		buffer[strcspn(buffer, "\n")] = '\0';
		if (buffer[0] != '=' && buffer[0] != '-')
			continue;
		if (n == 0 || (buffer[0] == '=' && sections[n - 1].messages.n > 0))
			n++;
		append(buffer[0] == '=' ? &sections[n - 1].prefixes : &sections[n - 1].messages, buffer + 2);
	}
	for (long i = 0; i < lines && n > 0; i++)
	{
		const Section *s = &sections[draw(n)];

		/* a quarter of the messages of a section makes most of its lines */
		put_template(s->prefixes.items[draw(s->prefixes.n)]);
		putchar(' ');
		put_template(s->messages.items[draw(draw(4) ? (s->messages.n + 3) / 4 : s->messages.n)]);
		putchar('\n');
	}
	return n > 0 ? 0 : 1;
}

/* Replace the runs of digits of a line in place; lengths of numbers stay. */
static void
redraw(char *line)
{
	while (*line)
	{
		int			n = strspn(line, "0123456789");

		for (int i = 0; n >= RUN && i < n; i++)
			line[i] = '0' + (i == 0 && line[0] != '0' ? 1 + draw(9) : draw(10));
		line += n > 0 ? n : 1;
	}
}

static int
from_input(long lines)
{
	static char buffer[LINE_BYTES];
	List		input = {NULL, 0};

	while (fgets(buffer, sizeof(buffer), stdin))
	{
		buffer[strcspn(buffer, "\r\n")] = '\0';
		append(&input, buffer);
	}
	for (long i = 0; i < lines && input.n > 0; i++)
	{
		char	   *line = input.items[i % input.n];

		if (i >= input.n)
			redraw(line);
		while (*line)
			put(*line++);
		putchar('\n');
	}
	return input.n > 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	long		lines = argc > 1 ? atol(argv[1]) : 0;

	return argc > 2 ? from_templates(lines, argv[2]) : from_input(lines);
}
