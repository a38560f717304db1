/*
 * level.c
 *		Levels of log lines: words and numbers of loggers, and what the start
 *		of a message without prefix tells.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "lines/lineformat.h"

/* Words of loggers, in lower case, between blanks. */
static const struct
{
	int			level;
	const char *words;
}			level_words[] = {
	{L4_LEVEL_INFO, " i n info inf note notice information event success version sched "},
	{L4_LEVEL_WARNING, " w warning warn wrn "},
	{L4_LEVEL_ERROR, " e error err exception "},
	{L4_LEVEL_DEBUG, " d v t debug dbg trace trc fine verbose debug1 debug2 debug3 debug4 debug5 "},
	{L4_LEVEL_CRITICAL, " x f c critical crit fatal ftl panic alert emerg emrg emergency abort severe "},
};

/* Longest word above. */
#define L4_LEVEL_WORD 11

/* Python's numbers (10 to 50), or syslog's severities (0 to 7). */
static int
level_of_number(const char *word, int len)
{
	int			v = 0;

	if (len > 2)
		return L4_LEVEL_NONE;
	for (int i = 0; i < len; i++)
	{
		if (!l4_ascii_digit(word[i]))
			return L4_LEVEL_NONE;
		v = v * 10 + (word[i] - '0');
	}
	if (v <= 2)
		return L4_LEVEL_CRITICAL;
	if (v <= 7)
		return v == 3 ? L4_LEVEL_ERROR : v == 4 ? L4_LEVEL_WARNING : v == 7 ? L4_LEVEL_DEBUG : L4_LEVEL_INFO;
	if (v < 10)
		return L4_LEVEL_NONE;
	return Min(v / 10, L4_LEVEL_CRITICAL);
}

int
l4_level_of(const char *word, int len)
{

	while (len > 0 && (word[len - 1] == ' ' || word[len - 1] == '\t'))
		len--;
	while (len > 0 && *word == ' ')
	{
		word++;
		len--;
	}
	if (len == 0 || len > L4_LEVEL_WORD)
		return L4_LEVEL_NONE;
	if (l4_ascii_digit(*word))
		return level_of_number(word, len);
	for (int i = 0; i < lengthof(level_words); i++)
		if (l4_ascii_listed(word, len, level_words[i].words))
			return level_words[i].level;
	return L4_LEVEL_NONE;
}

const char *
l4_level_name(int level)
{
	static const char *const names[] = {NULL, "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

	return level >= 0 && level < lengthof(names) ? names[level] : NULL;
}

int
l4_exception_name(const char *msg, int len)
{
	int			n = 0;
	int			end;
	int			last = 0;		/* start of the last part of the dotted name */

	/* identifiers joined by dots; what follows is a colon or nothing */
	if (len == 0 || !(l4_ascii_letter(*msg) || *msg == '_'))
		return 0;
	while (n < len && n < 200 && (l4_ascii_word(msg[n]) || (msg[n] == '.' && n + 1 < len && l4_ascii_word(msg[n + 1]))))
	{
		if (msg[n] == '.')
			last = n + 1;
		n++;
	}

	/* RayTaskError(ValueError): the class that it stands for is in brackets */
	end = n;
	if (n < len && msg[n] == '(')
	{
		while (++end < len && end < n + 200 && (l4_ascii_word(msg[end]) || msg[end] == '.'))
			;
		if (end == len || msg[end++] != ')' || end == len)
			return 0;
	}
	if (end < len && !(msg[end] == ':' && (end + 1 == len || msg[end + 1] == ' ' || msg[end + 1] == '\t')))
		return 0;
	if (!(l4_ends_with(msg, n, "Error") || l4_ends_with(msg, n, "Exception") || l4_ends_with(msg, n, "Warning") ||
		  l4_ends_with(msg, n, "Interrupt") || l4_ends_with(msg, n, "ExceptionGroup") || l4_ends_with(msg, n, "Timeout") ||
		  l4_ends_with(msg, n, "Failure") || l4_ends_with(msg, n, "Fault") ||
		  (n - last == 10 && memcmp(msg + last, "SystemExit", 10) == 0) ||
		  (n - last == 13 && memcmp(msg + last, "StopIteration", 13) == 0)))
		return 0;
	/* "Error: …" and "Timeout: …" are words; a class name of one such word has more in it or a module */
	if (last == 0 && (n == 5 || n == 7 || n == 9) &&
		(l4_starts_with(msg, n, "Error") || l4_starts_with(msg, n, "Timeout") || l4_starts_with(msg, n, "Warning") ||
		 l4_starts_with(msg, n, "Failure") || (n == 5 && l4_starts_with(msg, n, "Fault"))))
		return 0;
	return n;
}

/* Level of a word that stands in front of a message, as the punctuation around it tells. */
static int
level_of_prefix(const char *msg, int len)
{
	int			start = 0;
	int			n;
	bool		upper = true;
	char		after;

	if (len > 0 && (*msg == '[' || *msg == '<' || *msg == '('))
		start = 1;
	for (n = start; n < len && n - start <= L4_LEVEL_WORD && l4_ascii_letter(msg[n]); n++)
		upper = upper && (msg[n] & 0x20) == 0;
	if (n - start < 3 || n - start > L4_LEVEL_WORD)
		return L4_LEVEL_NONE;
	after = n < len ? msg[n] : '\0';
	if (start == 1)
	{
		if (after == ' ')
			while (n < len && (after = msg[n]) == ' ')
				n++;
		if (after != ']' && after != '>' && after != ')')
			return L4_LEVEL_NONE;
	}
	else if (after == ':')
	{
		/* error::Code and INFO:name:text: both are prefixes; C++ names are not */
		if (n + 1 < len && msg[n + 1] == ':')
			return L4_LEVEL_NONE;
	}
	else if (!upper || (after != ' ' && after != '\0' && after != '|' && after != ',' && after != '-'))
		return L4_LEVEL_NONE;
	return l4_level_of(msg + start, n - start);
}

/*
 * Level of a message that came without one: by the word in front ("ERROR: …",
 * "prog: error: …"), by an exception's name, by the few texts that runtimes
 * print when a process dies.
 */
int
l4_level_guess(const char *msg, int len)
{
	int			level;
	int			n;

	if (len < 4)
		return L4_LEVEL_NONE;
	level = level_of_prefix(msg, len);
	if (level != L4_LEVEL_NONE)
		return level;
	n = l4_exception_name(msg, len);
	if (n > 0)
		return l4_ends_with(msg, n, "Warning") ? L4_LEVEL_WARNING : L4_LEVEL_ERROR;
	if (l4_starts_with(msg, len, "Traceback (most recent call last)") || l4_starts_with(msg, len, "Exception in thread "))
		return L4_LEVEL_ERROR;
	if (l4_starts_with(msg, len, "Fatal Python error") || l4_starts_with(msg, len, "terminate called ") ||
		l4_starts_with(msg, len, "Segmentation fault") || l4_starts_with(msg, len, "*** Aborted at ") ||
		l4_starts_with(msg, len, "panic: ") || l4_starts_with(msg, len, "Kernel panic"))
		return L4_LEVEL_CRITICAL;
	if (l4_starts_with(msg, len, "thread '") && l4_contains(msg, Min(len, 112), "' panicked at"))
		return L4_LEVEL_CRITICAL;

	/* "prog: error: …" and "file.py:12: UserWarning: …": a first word that ends with a colon, then the level */
	for (n = 0; n < len && n < 200 && msg[n] != ' '; n++)
		;
	if (n + 1 < len && n > 1 && msg[n] == ' ' && msg[n - 1] == ':')
	{
		int			rest = len - n - 1;
		int			name = l4_exception_name(msg + n + 1, rest);

		if (name > 0 && l4_ends_with(msg + n + 1, name, "Warning"))
			return L4_LEVEL_WARNING;
		for (int i = 0; i < rest && i <= L4_LEVEL_WORD; i++)
		{
			if (msg[n + 1 + i] == ':')
				return i >= 3 ? l4_level_of(msg + n + 1, i) : L4_LEVEL_NONE;
			if (!l4_ascii_letter(msg[n + 1 + i]))
				break;
		}
	}
	return L4_LEVEL_NONE;
}
