/*
 * linekind.c
 *		What a line looks like to the one who puts records together.
 *
 * These texts are printed by runtimes (Python, C++, Java, Rust, Go), not by
 * trainers: they are a fixed set, unlike the line formats, which are rows.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "lines/line_int.h"

/* What lines of a kind begin with, sorted by the first byte. Some must also have, or end with, another text. */
typedef struct LineStart
{
	const char *start;
	L4LineKind	kind;
	const char *has;			/* within HAS_MAX bytes */
	const char *end;
} LineStart;

#define HAS_MAX 1024

static const LineStart line_starts[] = {
	{"*** Aborted at ", L4_LINE_GLOG_ABORT},
	{"*** SIG", L4_LINE_GLOG_SIGNAL},
	{"*** Check failure stack trace", L4_LINE_C_FRAME},
	{"Caused by: ", L4_LINE_CAUSED},
	{"Compile with `TORCH_USE_CUDA_DSA`", L4_LINE_HINT},
	{"CUDA kernel errors might be ", L4_LINE_HINT},
	{"Current thread 0x", L4_LINE_THREAD},
	{"Device-side assert", L4_LINE_HINT},
	{"During handling of the above exception", L4_LINE_CHAIN},
	{"Exception raised from ", L4_LINE_RAISED},
	{"Extension modules: ", L4_LINE_MODULES},
	{"Fatal Python error: ", L4_LINE_FATAL_PYTHON},
	{"For debugging consider passing CUDA_LAUNCH_BLOCKING", L4_LINE_HINT},
	{"HIP kernel errors might be ", L4_LINE_HINT},
	{"PC: @ ", L4_LINE_C_FRAME},
	{"The above exception was the direct cause of", L4_LINE_CHAIN},
	{"Thread 0x", L4_LINE_THREAD, NULL, "(most recent call first):"},
	{"created by ", L4_LINE_GO_FRAME},
	{"fatal error: ", L4_LINE_GO_PANIC},
	{"frame #", L4_LINE_C_FRAME},
	{"goroutine ", L4_LINE_GO_FRAME, NULL, ":"},
	{"note: Some details are omitted", L4_LINE_RUST_NOTE},
	{"note: run with `RUST_BACKTRACE", L4_LINE_RUST_NOTE},
	{"panic: ", L4_LINE_GO_PANIC},
	{"stack backtrace:", L4_LINE_RUST_NOTE},
	{"terminate called ", L4_LINE_TERMINATE},
	{"terminating due to ", L4_LINE_TERMINATE},
	{"terminating with ", L4_LINE_TERMINATE},
	{"thread '", L4_LINE_RUST_PANIC, "' panicked at"},
	{"usage: ", L4_LINE_USAGE},
	{"what():", L4_LINE_WHAT},
	/* signs of box drawing: a box around a traceback, its sides and its bottom */
	{"\xe2\x95\xad", L4_LINE_TRACEBACK, " Traceback (most recent call last) "},
	{"\xe2\x94\x82", L4_LINE_BOX},
	{"\xe2\x95\xb0", L4_LINE_BOX},
};

static L4LineKind
kind_of_start(const char *p, int len)
{
	static uint8 from[256];		/* by first byte, the end where no start has it; made at the first call */

	if (from[0] == 0)
	{
		memset(from, lengthof(line_starts), sizeof(from));
		for (int i = lengthof(line_starts) - 1; i >= 0; i--)
			from[(unsigned char) line_starts[i].start[0]] = i;
	}
	for (int i = from[(unsigned char) *p]; i < lengthof(line_starts) && line_starts[i].start[0] == *p; i++)
	{
		const LineStart *s = &line_starts[i];

		if (l4_starts_with(p, len, s->start) &&
			(s->has == NULL || l4_contains(p, Min(len, HAS_MAX), s->has)) &&
			(s->end == NULL || l4_ends_with(p, len, s->end)))
			return s->kind;
	}
	return L4_LINE_TEXT;
}

/* A line of one character only, ten or more of it. */
static bool
is_rule(const char *p, int len)
{
	if (len < 10)
		return false;
	for (int i = 1; i < len; i++)
		if (p[i] != p[0])
			return false;
	return true;
}

static bool
is_caret_line(const char *p, int len)
{
	bool		caret = false;

	for (int i = 0; i < len; i++)
	{
		if (p[i] == '^')
			caret = true;
		else if (p[i] != '~' && p[i] != ' ')
			return false;
	}
	return caret || (len > 1 && p[0] == '~');
}

static L4LineKind
kind_of_file(const char *p, int len)
{
	int			i = len;

	/* File "x", line 3, in f: a frame; without a function it shows a syntax error */
	if (!l4_contains(p, Min(len, HAS_MAX), "\", line "))
		return L4_LINE_TEXT;
	while (i > 0 && l4_ascii_digit(p[i - 1]))
		i--;
	return i < len && l4_ends_with(p, i, "\", line ") ? L4_LINE_SYNTAX : L4_LINE_FILE;
}

/* Frames by number: "frame #0: …", "#1 0x… in f" (gdb, sanitizers), "#2  f (…) at x.c:1". */
static bool
is_numbered_frame(const char *p, int len)
{
	int			i = 1;

	while (i < len && l4_ascii_digit(p[i]))
		i++;
	if (i == 1 || i + 1 >= len || p[i] != ' ')
		return false;
	while (i < len && p[i] == ' ')
		i++;
	return (i + 1 < len && p[i] == '0' && p[i + 1] == 'x') || l4_contains(p + i, Min(len - i, 400), " at ") ||
		l4_contains(p + i, Min(len - i, 400), " (");
}

static bool
is_java_frame(const L4Line *line)
{
	const char *p = line->msg;
	int			len = line->msg_len;

	if (line->indent == 0)
		return false;
	if (l4_starts_with(p, len, "... "))
		return len > 5 && l4_ascii_digit(p[4]) && l4_ends_with(p, len, " more");
	return l4_starts_with(p, len, "at ") && p[len - 1] == ')' && memchr(p, '(', Min(len, HAS_MAX)) != NULL;
}

L4LineKind
l4_line_kind(const L4Line *line)
{
	static const char traceback[] = "Traceback (most recent call last):";
	const char *p = line->msg;
	int			len = line->msg_len;

	if (len == 0)
		return L4_LINE_BLANK;
	if (p[len - 1] == ':' && l4_ends_with(p, len, traceback))
	{
		if (*p != '+' && *p != '|')
			return L4_LINE_TRACEBACK;
		return *p == '+' && l4_ends_with(p, len - (sizeof(traceback) - 1), "Exception Group ") ?
			L4_LINE_GROUP_HEAD : L4_LINE_GROUP;
	}
	switch (*p)
	{
		case '=':
			return is_rule(p, len) ? L4_LINE_RULE : L4_LINE_TEXT;
		case '^':
		case '~':
			return is_caret_line(p, len) ? L4_LINE_CARET : L4_LINE_TEXT;
		case '|':
			return line->indent > 0 ? L4_LINE_GROUP : L4_LINE_TEXT;
		case '+':
			return line->indent > 0 && (l4_starts_with(p, len, "+-") || l4_starts_with(p, len, "+ -")) ?
				L4_LINE_GROUP : L4_LINE_TEXT;
		case '@':
			return line->indent > 0 && l4_contains(p, Min(len, 40), "0x") ? L4_LINE_C_FRAME : L4_LINE_TEXT;
		case '#':
			return is_numbered_frame(p, len) ? L4_LINE_C_FRAME : L4_LINE_TEXT;
		case '.':
		case 'a':
			return is_java_frame(line) ? L4_LINE_JAVA_FRAME : L4_LINE_TEXT;
		case '>':
			/* the frame in which the library loguru caught the exception */
			return l4_starts_with(p, len, "> File \"") ? kind_of_file(p + 2, len - 2) : L4_LINE_TEXT;
		case 'F':
			if (l4_starts_with(p, len, "File \""))
				return kind_of_file(p, len);
			break;
		case 'e':
			if (l4_starts_with(p, len, "exit status "))
				return len < 16 ? L4_LINE_GO_FRAME : L4_LINE_TEXT;
			break;
		case '*':
			if (is_rule(p, len))
				return L4_LINE_RULE;
			break;
	}
	return kind_of_start(p, len);
}

bool
l4_line_is_setting(const char *msg, int len)
{
	int			i = 0;
	int			words = 1;
	int			dots = 0;

	if (len > 0 && (*msg == '"' || *msg == '\'' || *msg == '-'))
		i++;
	for (; i < len && i < 80; i++)
	{
		char		c = msg[i];

		if (c == ':' || c == '=')
			return i > 0 && (c == '=' || i + 1 >= len || msg[i + 1] == ' ' || msg[i + 1] == '\t');
		if (c == '.')
		{
			if (++dots >= 3)
				return true;
			continue;
		}
		dots = 0;
		if (c == ' ')
		{
			if (i > 0 && msg[i - 1] != ' ' && ++words > 6)
				return false;
		}
		else if (!l4_ascii_word(c) && strchr("-/[]()\"'<>*#", c) == NULL)
			return false;
	}
	return false;
}

bool
l4_line_names_error(const char *msg, int len)
{
	int			n = l4_exception_name(msg, len);

	return n > 0 && !l4_ends_with(msg, n, "Warning");
}

bool
l4_line_is_exception(const char *msg, int len)
{
	int			n = 0;
	bool		dotted = false;
	bool		mixed = false;

	if (l4_exception_name(msg, len) > 0)
		return true;

	/* other classes: dotted, or in camel case, not the words that loggers write */
	while (n < len && (l4_ascii_word(msg[n]) || (msg[n] == '.' && n > 0 && n + 1 < len && l4_ascii_word(msg[n + 1]))))
	{
		dotted |= msg[n] == '.';
		mixed |= n > 0 && msg[n] >= 'a' && msg[n] <= 'z';
		n++;
	}
	if (n < 3 || l4_ascii_digit(*msg) || (n < len && msg[n] != ':'))
		return false;
	if (n < len && n + 1 < len && msg[n + 1] != ' ')
		return false;
	return (dotted || (l4_ascii_upper(*msg) && mixed)) && l4_level_of(msg, n) == L4_LEVEL_NONE;
}
