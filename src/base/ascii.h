/*
 * ascii.h
 *		Kinds of ASCII characters, whatever the locale, and comparisons of bytes
 *		with ASCII words. No byte of a multibyte character is an ASCII character.
 */
#ifndef L4_ASCII_H
#define L4_ASCII_H

static inline bool
l4_ascii_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
l4_ascii_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool
l4_ascii_letter(char c)
{
	return (c >= 'a' && c <= 'z') || l4_ascii_upper(c);
}

/* What \\w is to a pattern. */
static inline bool
l4_ascii_word(char c)
{
	return l4_ascii_letter(c) || l4_ascii_digit(c) || c == '_';
}

/* White space, and the zero that JSON may hold. */
static inline bool
l4_ascii_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

static inline bool
l4_starts_with(const char *p, int len, const char *word)
{
	int			n = strlen(word);

	return len >= n && memcmp(p, word, n) == 0;
}

static inline bool
l4_ends_with(const char *p, int len, const char *word)
{
	int			n = strlen(word);

	return len >= n && memcmp(p + len - n, word, n) == 0;
}

static inline bool
l4_contains(const char *p, int len, const char *word)
{
	int			n = strlen(word);

	for (int i = 0; i + n <= len; i++)
		if (p[i] == word[0] && memcmp(p + i, word, n) == 0)
			return true;
	return false;
}

/* Is a word, its letters in any case, in a list of words in lower case with a blank around each? */
static inline bool
l4_ascii_listed(const char *p, int len, const char *list)
{
	char		word[16] = " ";

	if (len < 1 || len > (int) sizeof(word) - 3)
		return false;
	for (int i = 0; i < len; i++)
	{
		word[i + 1] = p[i] | 0x20;
		if (word[i + 1] == ' ')
			return false;
	}
	word[len + 1] = ' ';
	return strstr(list, word) != NULL;
}

#endif							/* L4_ASCII_H */
