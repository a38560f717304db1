/*
 * linekind.c
 *		What a line looks like to the one who puts records together.
 *
 * These texts are printed by runtimes (Python, C++, Java, Rust, Go), not by
 * trainers: they are a fixed set, unlike the line formats, which are rows.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "lines/linekind.h"

#define STARTS(word) (len >= (int) sizeof(word) - 1 && memcmp(p, word, sizeof(word) - 1) == 0)

static bool
ends_with(const char *p, int len, const char *word)
{
	int			n = strlen(word);

	return len >= n && memcmp(p + len - n, word, n) == 0;
}

static bool
contains(const char *p, int len, const char *word)
{
	int			n = strlen(word);

	for (int i = 0; i + n <= len; i++)
		if (p[i] == word[0] && memcmp(p + i, word, n) == 0)
			return true;
	return false;
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

/* A line that begins with a sign of box drawing, U+2500 to U+257F. */
static L4LineKind
kind_of_box(const char *p, int len)
{
	if (STARTS("\xe2\x95\xad") && contains(p, Min(len, 1024), " Traceback (most recent call last) "))
		return L4_LINE_TRACEBACK;
	return STARTS("\xe2\x94\x82") || STARTS("\xe2\x95\xb0") ? L4_LINE_BOX : L4_LINE_TEXT;
}

static L4LineKind
kind_of_file(const char *p, int len)
{
	int			i = len;

	/* File "x", line 3, in f: a frame; without a function it shows a syntax error */
	if (!contains(p, Min(len, 1024), "\", line "))
		return L4_LINE_TEXT;
	while (i > 0 && l4_ascii_digit(p[i - 1]))
		i--;
	return i < len && ends_with(p, i, "\", line ") ? L4_LINE_SYNTAX : L4_LINE_FILE;
}

static L4LineKind
kind_of_star(const char *p, int len)
{
	if (is_rule(p, len))
		return L4_LINE_RULE;
	if (STARTS("*** Aborted at "))
		return L4_LINE_GLOG_ABORT;
	if (STARTS("*** SIG"))
		return L4_LINE_GLOG_SIGNAL;
	if (STARTS("*** Check failure stack trace"))
		return L4_LINE_C_FRAME;
	return L4_LINE_TEXT;
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
	return (i + 1 < len && p[i] == '0' && p[i + 1] == 'x') || contains(p + i, Min(len - i, 400), " at ") ||
		contains(p + i, Min(len - i, 400), " (");
}

static bool
is_java_frame(const L4Line *line)
{
	const char *p = line->msg;
	int			len = line->msg_len;

	if (line->indent == 0)
		return false;
	if (STARTS("... "))
		return len > 5 && l4_ascii_digit(p[4]) && ends_with(p, len, " more");
	return STARTS("at ") && p[len - 1] == ')' && contains(p, Min(len, 1024), "(");
}

static L4LineKind
kind_of_lower(const L4Line *line)
{
	const char *p = line->msg;
	int			len = line->msg_len;

	switch (*p)
	{
		case 'a':
			return is_java_frame(line) ? L4_LINE_JAVA_FRAME : L4_LINE_TEXT;
		case 'c':
			return STARTS("created by ") ? L4_LINE_GO_FRAME : L4_LINE_TEXT;
		case 'e':
			return STARTS("exit status ") && len < 16 ? L4_LINE_GO_FRAME : L4_LINE_TEXT;
		case 'f':
			if (STARTS("frame #"))
				return L4_LINE_C_FRAME;
			return STARTS("fatal error: ") ? L4_LINE_GO_PANIC : L4_LINE_TEXT;
		case 'g':
			return STARTS("goroutine ") && p[len - 1] == ':' ? L4_LINE_GO_FRAME : L4_LINE_TEXT;
		case 'n':
			return STARTS("note: run with `RUST_BACKTRACE") || STARTS("note: Some details are omitted") ?
				L4_LINE_RUST_NOTE : L4_LINE_TEXT;
		case 'p':
			return STARTS("panic: ") ? L4_LINE_GO_PANIC : L4_LINE_TEXT;
		case 's':
			return STARTS("stack backtrace:") ? L4_LINE_RUST_NOTE : L4_LINE_TEXT;
		case 't':
			if (STARTS("terminate called ") || STARTS("terminating with ") || STARTS("terminating due to "))
				return L4_LINE_TERMINATE;
			return STARTS("thread '") && contains(p, Min(len, 200), "' panicked at") ? L4_LINE_RUST_PANIC : L4_LINE_TEXT;
		case 'u':
			return STARTS("usage: ") ? L4_LINE_USAGE : L4_LINE_TEXT;
		case 'w':
			return STARTS("what():") ? L4_LINE_WHAT : L4_LINE_TEXT;
	}
	return L4_LINE_TEXT;
}

static L4LineKind
kind_of_upper(const char *p, int len)
{
	switch (*p)
	{
		case 'C':
			if (STARTS("Caused by: "))
				return L4_LINE_CAUSED;
			if (STARTS("Current thread 0x"))
				return L4_LINE_THREAD;
			return STARTS("CUDA kernel errors might be ") || STARTS("Compile with `TORCH_USE_CUDA_DSA`") ?
				L4_LINE_HINT : L4_LINE_TEXT;
		case 'D':
			if (STARTS("During handling of the above exception"))
				return L4_LINE_CHAIN;
			return STARTS("Device-side assert") ? L4_LINE_HINT : L4_LINE_TEXT;
		case 'E':
			if (STARTS("Exception raised from "))
				return L4_LINE_RAISED;
			return STARTS("Extension modules: ") ? L4_LINE_MODULES : L4_LINE_TEXT;
		case 'F':
			if (STARTS("File \""))
				return kind_of_file(p, len);
			if (STARTS("Fatal Python error: "))
				return L4_LINE_FATAL_PYTHON;
			return STARTS("For debugging consider passing CUDA_LAUNCH_BLOCKING") ? L4_LINE_HINT : L4_LINE_TEXT;
		case 'H':
			return STARTS("HIP kernel errors might be ") ? L4_LINE_HINT : L4_LINE_TEXT;
		case 'P':
			return STARTS("PC: @ ") ? L4_LINE_C_FRAME : L4_LINE_TEXT;
		case 'T':
			if (STARTS("The above exception was the direct cause of"))
				return L4_LINE_CHAIN;
			return STARTS("Thread 0x") && ends_with(p, len, "(most recent call first):") ? L4_LINE_THREAD : L4_LINE_TEXT;
	}
	return L4_LINE_TEXT;
}

L4LineKind
l4_line_kind(const L4Line *line)
{
	const char *p = line->msg;
	int			len = line->msg_len;

	if (len == 0)
		return L4_LINE_BLANK;
	if (p[len - 1] == ':' && ends_with(p, len, "Traceback (most recent call last):"))
	{
		if (*p == '+' || *p == '|')
			return ends_with(p, len, "Exception Group Traceback (most recent call last):") && *p == '+' ?
				L4_LINE_GROUP_HEAD : L4_LINE_GROUP;
		return L4_LINE_TRACEBACK;
	}
	if (l4_ascii_upper(*p))
		return kind_of_upper(p, len);
	switch (*p)
	{
		case '*':
			return kind_of_star(p, len);
		case '=':
			return is_rule(p, len) ? L4_LINE_RULE : L4_LINE_TEXT;
		case '^':
		case '~':
			return is_caret_line(p, len) ? L4_LINE_CARET : L4_LINE_TEXT;
		case '|':
			return line->indent > 0 ? L4_LINE_GROUP : L4_LINE_TEXT;
		case '+':
			return line->indent > 0 && (STARTS("+-") || STARTS("+ -")) ? L4_LINE_GROUP : L4_LINE_TEXT;
		case '@':
			return line->indent > 0 && contains(p, Min(len, 40), "0x") ? L4_LINE_C_FRAME : L4_LINE_TEXT;
		case '#':
			return is_numbered_frame(p, len) ? L4_LINE_C_FRAME : L4_LINE_TEXT;
		case '.':
			return is_java_frame(line) ? L4_LINE_JAVA_FRAME : L4_LINE_TEXT;
		case '\xe2':
			return kind_of_box(p, len);
		case '>':
			/* the frame in which the library loguru caught the exception */
			return STARTS("> File \"") ? kind_of_file(p + 2, len - 2) : L4_LINE_TEXT;
	}
	return kind_of_lower(line);
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

	return n > 0 && !ends_with(msg, n, "Warning");
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
