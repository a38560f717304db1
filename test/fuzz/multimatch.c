/*
 * multimatch.c
 *		Many patterns in one pass against PCRE2 one by one: random patterns on random lines.
 */
#include "fuzz.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "pcre/multimatch.h"
#include "pcre/pcre.h"

#define PATTERN_SIZE	1000
#define PATTERNS		200
#define LINE_SIZE		1500
#define LINES			100

static const char *const letters[] = {"a", "b", "c", "d", "e", "k", "s", "K", "x", "1", "7", "\\.", "-", " ", "_", "ab",
	"error", "GPU", "lost", "disk", ":", "E", "Xid 79", "code ", "\xc3\xa9", "\xc5\xbf", "\xe2\x84\xaa", "rank=", "00"};
static const char *const classes[] = {"[abc]", "[^a]", "[a-f]", "[^\\s:]", "\\d", "\\w", "\\s", "\\W", "\\D", "\\S", ".",
	"[[:alpha:]]", "[k-s]", "[^k]", "[\\d-]", "[a\\-z]", "[]a]", "\\h", "\\N", "[\\w.]", "\\x41", "\\p{L}", "[A-Z]",
"[-a]", "[\\]x]", "\\R", "\\v", "[3-7]", "[^5]", "\\V", "\\H", "\\X"};
static const char *const places[] = {"\\b", "\\B", "^", "$", "\\A", "\\z", "\\Z", "\\K", "(?m:^)", "(?m:$)", "\\G"};
static const char *const groups[] = {"(", "(?:", "(?:", "(?i:", "(?>", "(?s:", "(?x: ", "(?|", "(?-i:", "(?^:", "(?=",
"(?!", "(?<=", "(?<!", "(?<n>", "(?'m'", "(?P<o>"};
static const char *const settings[] = {"(?i)", "(?#c)", "\\Qa.b\\E", "\\Q\\E", "(?-i)", "(?m)", "(?x)", "\\Q", "\\E",
"(?1)", "\\1", "\\g{-1}", "(?R)", "(?+1)", "\\k<n>", "(*ACCEPT)", "(?C1)", "(?(1)a|b)"};
static const char *const repeats[] = {"*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{0,400}", "*?", "+?", "??", "++",
"*+", "{3,40}", "{0}", "{1}", "{,3}", "{ 2 }"};

static char pattern[PATTERN_SIZE];
static int	pattern_len;

static void
add(const char *text)
{
	int			len = strlen(text);

	if (pattern_len + len <= PATTERN_SIZE)
		memcpy(pattern + pattern_len, text, len);
	pattern_len = pattern_len + len <= PATTERN_SIZE ? pattern_len + len : pattern_len;
}

static void add_alternatives(int depth);

static void
add_item(int depth)
{
	uint32		kind = fuzz_random(100);

	if (kind < 50 || depth <= 0)
		add(FUZZ_PICK(letters));
	else if (kind < 66)
		add(FUZZ_PICK(classes));
	else if (kind < 74)
		add(FUZZ_PICK(places));
	else if (kind < 92)
	{
		add(FUZZ_PICK(groups));
		add_alternatives(depth - 1);
		add(")");
	}
	else if (kind < 96)
		add(FUZZ_PICK(settings));
	else
	{
		char		byte[2] = {1 + fuzz_random(255), 0};

		add(byte);
	}
	if (fuzz_random(10) < 3)
		add(FUZZ_PICK(repeats));
}

static void
add_alternatives(int depth)
{
	int			n = fuzz_random(5) < 3 ? 1 : 1 + fuzz_random(3);

	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			add("|");
		for (int items = 1 + fuzz_random(4); items > 0; items--)
			add_item(depth);
	}
}

/* A line with other digits each time. */
static int
make_line(char *line, const char *from, int len)
{
	memcpy(line, from, len);
	for (int i = 0; i < len; i++)
		if (line[i] >= '0' && line[i] <= '9' && fuzz_random(2))
			line[i] = '0' + fuzz_random(10);
	return len;
}

/* The patterns that are said to match a line, or to have given up, must be those of which PCRE2 says so. */
static void
check_line(L4MultiMatch *mm, L4Regex **one, int n, const char *line, int len)
{
	bool		matched[PATTERNS] = {false};
	bool		stopped[PATTERNS] = {false};
	bool		gave_up;
	int			p;
	int			before = -1;

	fuzz_calls++;
	l4_multimatch_scan(mm, line, len);
	while ((p = l4_multimatch_next(mm, &gave_up)) >= 0)
	{
		if (p <= before || p >= n)
			fuzz_wrong("pattern %d after %d", p, before);
		before = p;
		(gave_up ? stopped : matched)[p] = true;
		/* nobody has to ask for all */
		if (fuzz_random(200) == 0)
			return;
	}
	for (p = 0; p < n; p++)
	{
		int			rc;
		size_t		pattern_bytes;
		const char *source = l4_regex_source(one[p], &pattern_bytes);

		if (fuzz_random(10) != 0)
			continue;
		rc = l4_regex_exec(one[p], line, len, 0);
		if (rc < 0 ? matched[p] : (rc > 0) != matched[p] || stopped[p])
			fuzz_wrong("alone %d, with others %s: pattern <%.*s>, line <%.*s>", rc,
					   matched[p] ? "found" : stopped[p] ? "given up" : "not found",
					   (int) pattern_bytes, source, len, line);
	}
}

void
fuzz_multimatch(void)
{
	L4Regex    *one[PATTERNS];
	const char *patterns[PATTERNS];
	int			lens[PATTERNS];
	char	   *lines[LINES];
	int			line_lens[LINES];
	char		line[LINE_SIZE];
	int			n = 0;
	L4MultiMatch *mm;

	for (int i = 1 + fuzz_random(fuzz_random(5) ? 60 : PATTERNS); i > 0; i--)
	{
		char	   *reason;
		size_t		offset;

		pattern_len = 0;
		if (fuzz_random(5) == 0)
			add("(?i)");
		add_alternatives(3);
		if (!pg_verifymbstr(pattern, pattern_len, true))
			continue;
		one[n] = l4_regex_try_compile(pattern, pattern_len, 0, CurrentMemoryContext, &reason, &offset);
		if (one[n] == NULL)
			continue;
		patterns[n] = memcpy(palloc(pattern_len), pattern, pattern_len);
		lens[n++] = pattern_len;
	}
	mm = l4_multimatch_build(n, patterns, lens, CurrentMemoryContext);
	for (int i = 0; i < LINES; i++)
	{
		line_lens[i] = fuzz_line(line, LINE_SIZE);
		lines[i] = memcpy(palloc(line_lens[i]), line, line_lens[i]);
	}
	for (int i = 0; i < 500; i++)
	{
		int			which = fuzz_random(LINES);
		char	   *exact = palloc(line_lens[which]);

		check_line(mm, one, n, exact, make_line(exact, lines[which], line_lens[which]));
		pfree(exact);
	}
	l4_multimatch_free(mm);
}
