/*
 * diag_frames.c: the frames of stacks in a text.
 *
 * A line is read once, by the first form that it has. Stacks are told apart by their heads and by numbers that begin anew. The one where the
 * exception came from goes first: the thread that failed; what a "Caused by" of Java heads, the last one before the others; of Python's what is
 * nested in the message of another one, else the first, as those that it led to are printed after it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/ascii.h"
#include "base/grow.h"
#include "base/order.h"
#include "diagnose/diagnose.h"

/* More frames than any record keeps. */
#define MAX_FRAMES 10000

typedef struct Reader
{
	L4Frame    *frames;			/* stack is the order of its stack until they are numbered */
	int			n;
	int			room;
	int			order;			/* of the stack that is read: the least one goes first */
	int			first;
	int			last;
	int			filled;			/* its frames */
	bool		outer_first;	/* it is printed with the outermost frame first */
	bool		chained;		/* what comes next was raised while the one before was handled */
	bool		java;
} Reader;

/* Does a word stand at this place of a line? */
static bool
is_at(L4Text line, int at, const char *word)
{
	int			len = strlen(word);

	return at >= 0 && at + len <= line.len && memcmp(line.data + at, word, len) == 0;
}

/* Where a word stands in a line, from a place on, or -1. */
static int
find(L4Text line, int from, const char *word)
{
	int			len = strlen(word);

	while (from >= 0 && from + len <= line.len)
	{
		const char *at = memchr(line.data + from, word[0], line.len - len + 1 - from);

		if (at == NULL)
			return -1;
		if (is_at(line, at - line.data, word))
			return at - line.data;
		from = at - line.data + 1;
	}
	return -1;
}

static L4Text
part(L4Text line, int from, int to)
{
	L4Text		result = {line.data + from, Max(to - from, 0)};

	while (result.len > 0 && l4_ascii_blank(result.data[0]))
	{
		result.data++;
		result.len--;
	}
	while (result.len > 0 && l4_ascii_blank(result.data[result.len - 1]))
		result.len--;
	return result;
}

/* Digits from *at on, behind which it goes; 0 for none. */
static int
number(L4Text line, int *at)
{
	int			result = 0;

	while (*at < line.len && l4_ascii_digit(line.data[*at]))
	{
		result = Min(result, 99999999) * 10 + line.data[*at] - '0';
		(*at)++;
	}
	return result;
}

/* Does what a line says begin here: at its start, or behind a prefix? */
static bool
begins_at(L4Text line, int at)
{
	int			i = at;

	while (i > 0 && l4_ascii_blank(line.data[i - 1]))
		i--;
	return i == 0 || at - i > 1 || strchr("]:|>\t", line.data[i - 1]) != NULL;
}

static void
begin_stack(Reader *r, bool earlier, bool outer_first)
{
	if (r->filled > 0)
		r->order = earlier ? --r->first : ++r->last;
	r->filled = 0;
	r->outer_first = outer_first;
	r->java = false;
}

static void
add(Reader *r, L4Text file, int line, L4Text function)
{
	L4Frame    *f;

	if (r->n >= MAX_FRAMES)
		return;
	L4_GROW(r->frames, r->n, r->room, CurrentMemoryContext);
	f = &r->frames[r->n++];
	memset(f, 0, sizeof(*f));
	f->stack = r->order;
	f->place = ++r->filled;
	if (r->outer_first)
		f->place = -f->place;
	f->file = file;
	f->line = line;
	f->function = function;
	l4_frame_owner(f, r->java);
}

/* Lines that begin a stack. */
static void
read_head(Reader *r, L4Text line)
{
	int			at;

	if (find(line, 0, "During handling of the above exc") >= 0 || find(line, 0, "The above exception was the dir") >= 0)
		r->chained = true;
	else if (find(line, 0, "Traceback (most recent call last)") >= 0)
	{
		begin_stack(r, !r->chained, true);
		r->chained = false;
	}
	else if (find(line, 0, "(most recent call first)") >= 0)
		begin_stack(r, find(line, 0, "Current thread") >= 0, false);
	else if (find(line, 0, "stack trace: ***") >= 0 || find(line, 0, "*** Aborted at") >= 0)
		begin_stack(r, false, false);
	else if ((at = find(line, 0, "Caused by: ")) >= 0 && begins_at(line, at))
		begin_stack(r, true, false);
	else if ((at = find(line, 0, "Suppressed: ")) >= 0 && begins_at(line, at))
		begin_stack(r, false, false);
}

/* File "train.py", line 5, in main; faulthandler has no comma before "in", a syntax error no function. */
static bool
read_python(Reader *r, L4Text line)
{
	int			file = find(line, 0, "File \"");
	int			end = file < 0 ? -1 : find(line, file + 6, "\", line ");
	int			at = end + 8;
	int			line_no;
	L4Text		function = {NULL, 0};

	if (end < 0 || at >= line.len || !l4_ascii_digit(line.data[at]))
		return false;
	line_no = number(line, &at);
	if (is_at(line, at, ", in "))
		function = part(line, at + 5, line.len);
	else if (is_at(line, at, " in "))
		function = part(line, at + 4, line.len);
	if (r->java)
		begin_stack(r, false, true);
	add(r, part(line, file + 6, end), line_no, function);
	return true;
}

/* In rich's boxes: /code/train.py:5 in main */
static bool
read_boxed(Reader *r, L4Text line)
{
	int			end = r->outer_first ? find(line, 0, ".py:") : -1;
	int			file = end;
	int			at = end + 4;
	int			function;
	int			line_no;

	if (end < 0)
		return false;
	line_no = number(line, &at);
	if (line_no == 0 || !is_at(line, at, " in "))
		return false;
	while (file > 0 && !l4_ascii_blank(line.data[file - 1]))
		file--;
	function = at += 4;
	while (at < line.len && (l4_ascii_word(line.data[at]) || strchr("<>.", line.data[at])))
		at++;
	add(r, part(line, file, end + 3), line_no, part(line, function, at));
	return true;
}

/* at java.base/java.lang.Thread.run(Thread.java:829); JavaScript has a blank: at Loader.open (/app/loader.js:12:7) */
static bool
read_java(Reader *r, L4Text line)
{
	int			at = find(line, 0, "at ");
	int			name = at + 3;
	int			open = name;
	int			file;
	bool		dotted = false;
	int			line_no = 0;

	if (at < 0 || !begins_at(line, at))
		return false;
	if (is_at(line, name, "async "))
		open = name += 6;
	for (; open < line.len && (l4_ascii_word(line.data[open]) || strchr(".$<>/-@", line.data[open])); open++)
	{
		dotted = dotted || line.data[open] == '.';
		if (line.data[open] == '/')
			name = open + 1;	/* a module */
	}
	if (is_at(line, open, " ("))
	{
		file = open + 2;
		if ((at = find(line, file, ")")) < 0 || !l4_ascii_digit(line.data[at - 1]))
			return false;
		/* line and column stand behind the last two colons */
		for (int colons = 0; at > file && colons < 2;)
			colons += line.data[--at] == ':';
		open = at + 1;
		line_no = number(line, &open);
		if (!r->java)
			begin_stack(r, false, false);
		r->java = true;
		add(r, part(line, file, at), line_no, part(line, name, file - 2));
		return true;
	}
	if (!dotted || open >= line.len || line.data[open] != '(' || find(line, open, ")") < 0)
		return false;
	file = at = open + 1;
	while (line.data[at] != ')' && line.data[at] != ':')
		at++;
	if (!r->java)
		begin_stack(r, false, false);
	r->java = true;
	open = at + 1;
	if (line.data[at] == ':')
		line_no = number(line, &open);
	/* neither "Native Method" nor "Unknown Source" is a file */
	add(r, part(line, file, memchr(line.data + file, ' ', at - file) ? file : at), line_no, part(line, name, file - 1));
	return true;
}

/* A name without the type before it and the arguments behind it. */
static L4Text
function_name(L4Text line, int from, int to)
{
	L4Text		text = part(line, from, to);
	int			start = 0;
	int			depth = 0;
	int			i = 0;

	if (text.len == 0 || text.data[0] == '?' || is_at(text, 0, "0x") || is_at(text, 0, "<unknown") || is_at(text, 0, "(unknown"))
		return part(text, 0, 0);
	for (; i < text.len; i++)
	{
		char		c = text.data[i];

		if (c == '(' && is_at(text, i, "(anonymous namespace)"))
			i += 20;
		else if (c == '<')
			depth++;
		else if (c == '>' && depth > 0)
			depth--;
		else if (depth == 0 && (c == '(' || is_at(text, i, " (") || is_at(text, i, "+0x") || is_at(text, i, " + 0x")))
			break;
		else if (depth == 0 && c == ' ')
			start = i + 1;
	}
	return part(text, start, i);
}

/* frame #3: c10::f(int) + 0x51 (0x7f1 in /lib/libc10.so);  #3 0x7f1 in f (a=1) at f.cc:12;  #3 0x7f1 in f(int) /src/f.cc:12:5 */
static bool
read_numbered(Reader *r, L4Text line)
{
	int			at = find(line, 0, "#");
	bool		torch = is_at(line, at - 6, "frame #");
	int			name;
	int			file;
	int			end = line.len;
	int			colon;
	bool		is_first;

	if (at < 0 || at + 1 >= line.len || !l4_ascii_digit(line.data[at + 1]) || !begins_at(line, torch ? at - 6 : at))
		return false;
	at++;
	is_first = number(line, &at) == 0;
	if (torch ? !is_at(line, at, ": ") : at >= line.len || !l4_ascii_blank(line.data[at]))
		return false;
	if (is_first || r->outer_first || r->java)
		begin_stack(r, false, false);
	name = torch ? at + 2 : find(line, at, " in ") >= 0 ? find(line, at, " in ") + 4 : at;
	if ((file = find(line, name, torch ? " in " : " at ")) >= 0 || (!torch && (file = find(line, name, " from ")) >= 0))
		file = find(line, file + 1, " ");
	else if ((file = find(line, name, " /")) < 0)
		file = find(line, name, "(/");
	if (file < 0)
		file = line.len;
	else
		file++;
	while (end > file && (l4_ascii_blank(line.data[end - 1]) || line.data[end - 1] == ')'))
		end--;
	at = colon = find(line, file, ":");
	if (colon >= 0)
		at++;
	add(r, part(line, file, colon >= 0 ? colon : find(line, file, "+0x") >= 0 ? find(line, file, "+0x") : end),
		colon >= 0 ? number(line, &at) : 0, function_name(line, name, Min(file, line.len)));
	return true;
}

/* @ 0x7f1 c10::f() of glog, and /lib/libc10.so(_ZN3c101fEv+0x12) [0x7f1] of backtrace_symbols */
static bool
read_address(Reader *r, L4Text line)
{
	int			at = find(line, 0, "@");
	int			name;
	L4Text		none = {NULL, 0};

	if (at >= 0 && begins_at(line, at) && (name = find(line, at, " 0x")) > 0 && part(line, at + 1, name + 1).len == 0)
	{
		name = find(line, name + 1, " ");
		if (r->outer_first || r->java)
			begin_stack(r, false, false);
		add(r, none, 0, name < 0 ? none : function_name(line, name, line.len));
		return name >= 0;
	}
	at = find(line, 0, "[0x");
	while (at > 0 && l4_ascii_blank(line.data[at - 1]))
		at--;
	if (at <= 0 || line.data[at - 1] != ')')
		return false;
	name = at - 1;
	while (name > 0 && line.data[name - 1] != '(')
		name--;
	at = name - 1;
	while (at > 0 && !l4_ascii_blank(line.data[at - 1]))
		at--;
	if (name == 0 || at >= name - 1 || memchr(line.data + at, '/', name - 1 - at) == NULL)
		return false;
	if (r->outer_first || r->java)
		begin_stack(r, false, false);
	add(r, part(line, at, name - 1), 0, function_name(line, name, find(line, name, ")")));
	return true;
}

/* main.(*net).step(0x18, {0x1, 0x2}) of Go, and below it /app/net.go:49 +0x1b0 */
static bool
read_go(Reader *r, L4Text line, L4Text before)
{
	int			end = find(line, 0, ".go:") + 3;
	int			file = end;
	int			at = end + 1;
	int			name;
	int			open = before.len;

	if (end < 3)
		return false;
	while (file > 0 && !l4_ascii_blank(line.data[file - 1]))
		file--;
	if (!begins_at(line, file) || !l4_ascii_digit(line.data[Min(at, line.len - 1)]))
		return false;
	while (open > 0 && before.data[open - 1] != '(')
		open--;
	for (name = open; name > 0 && !l4_ascii_blank(before.data[name - 1]);)
		name--;
	if (r->outer_first || r->java)
		begin_stack(r, false, false);
	add(r, part(line, file, end), number(line, &at), part(before, name, Max(open - 1, name)));
	return true;
}

L4_COMPARE(compare, L4Frame, L4_UP(stack) L4_UP(place))

/* The name space of Java's classes in which a stack begins is the program's own, but of a foundation's launchers. */
static void
find_program(L4Frame *frames, int n)
{
	for (int i = 0; i < n; i++)
	{
		L4Text		space = frames[i].function;

		if (frames[i].owner != L4_FRAME_LIBRARY || (i + 1 < n && frames[i + 1].stack == frames[i].stack) ||
			!is_at(space, space.len - 5, ".main") || is_at(space, 0, "org.apache."))
			continue;
		space.len -= 5;
		while (space.len > 0 && space.data[space.len - 1] != '.')
			space.len--;
		for (int j = 0; j < n && space.len > 0; j++)
			if (frames[j].owner == L4_FRAME_LIBRARY && frames[j].function.len > space.len &&
				memcmp(frames[j].function.data, space.data, space.len) == 0)
			{
				frames[j].owner = L4_FRAME_USER;
				frames[j].package.len = 0;
			}
	}
}

L4Frame *
l4_frames(const char *text, int len, int *n)
{
	Reader		r = {0};
	int			order = 0;
	int			stack = 0;
	int			place = 0;
	L4Text		before = {text, 0};

	for (int at = 0; at < len;)
	{
		const char *end = memchr(text + at, '\n', len - at);
		L4Text		line = {text + at, end ? end - (text + at) : len - at};

		CHECK_FOR_INTERRUPTS();
		read_head(&r, line);
		if (!read_python(&r, line) && !read_boxed(&r, line) && !read_java(&r, line) && !read_numbered(&r, line) &&
			!read_go(&r, line, before))
			read_address(&r, line);
		before = line;
		at += line.len + 1;
	}
	if (r.n > 0)
		qsort(r.frames, r.n, sizeof(L4Frame), compare);
	for (int i = 0; i < r.n; i++)
	{
		if (i == 0 || r.frames[i].stack != order)
		{
			order = r.frames[i].stack;
			stack++;
			place = 0;
		}
		r.frames[i].stack = stack;
		r.frames[i].place = ++place;
	}
	find_program(r.frames, r.n);
	*n = r.n;
	return r.frames;
}
