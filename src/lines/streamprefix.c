/*
 * streamprefix.c
 *		Prefixes that no format describes.
 *
 * Launchers and collectors are many, and each has its own label. What they
 * have in common: nearly each line of the stream begins with it, it names
 * somebody (so it holds a number, or the node's own name), and what follows
 * are lines of all kinds. A label with the node's name is known at once.
 * Others are learnt from the first lines of the stream, one after the other:
 * what a line's prefix is depends on the lines before it, not on where batches
 * end, and is carried from one piece of the stream to the next.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/ascii.h"
#include "lines/lineformat.h"
#include "lines/streamprefix.h"

/* A prefix has begun so many lines, and so many different words came behind it. */
#define L4_PREFIX_SEEN	4
#define L4_PREFIX_KINDS	3

/* So many lines, and one in so many, may have none: what the launcher itself says. */
#define L4_PREFIX_OTHERS	8

void
l4_prefix_init(L4StreamPrefix *known)
{
	known->name = NULL;
	known->name_len = 0;
	known->learning = true;
	known->lines = known->strangers = known->writers = known->ncounts = known->nprefixes = 0;
}

static void
code_number(L4Codec *codec, int *n, int max)
{
	l4_code_uint(codec, n);
	if (*n < 0 || *n > max)
		l4_bytes_corrupted("starts of lines");
}

static void
code_start(L4Codec *codec, L4PrefixCount *c)
{
	int			kinds = c->kinds;

	l4_code_uint64(codec, &c->hash);
	l4_code_byte(codec, &c->lines);
	code_number(codec, &kinds, L4_PREFIX_KINDS);
	c->kinds = (uint8) kinds;
	for (int k = 0; k < kinds; k++)
	{
		int			next = c->next[k];

		code_number(codec, &next, PG_UINT16_MAX);
		c->next[k] = (uint16) next;
	}
}

void
l4_prefix_code(L4StreamPrefix *known, L4Codec *codec)
{
	if (l4_codec_reads(codec))
		l4_prefix_init(known);
	code_number(codec, &known->nprefixes, L4_PREFIX_MAX);
	for (int i = 0; i < known->nprefixes; i++)
	{
		L4Prefix   *prefix = &known->prefixes[i];
		const char *text = prefix->text;
		int			len = prefix->len;

		l4_code_bytes(codec, &text, &len);
		if (len == 0 || len > L4_PREFIX_TEXT)
			l4_bytes_corrupted("prefix");
		prefix->len = (uint8) len;
		memmove(prefix->text, text, len);
	}
	l4_code_bool(codec, &known->learning);
	if (!known->learning)
		return;
	code_number(codec, &known->lines, L4_PREFIX_LINES - 1);
	code_number(codec, &known->strangers, known->lines);
	code_number(codec, &known->writers, known->lines);
	/* each line adds as many as it has words: so those to come have room */
	code_number(codec, &known->ncounts, known->lines * L4_PREFIX_WORDS);
	for (int i = 0; i < known->ncounts; i++)
		code_start(codec, &known->counts[i]);
}

int
l4_prefix_words(const char *p, int len, int *ends)
{
	int			n = 0;
	int			i = 0;

	while (n < L4_PREFIX_WORDS && i < Min(len, L4_PREFIX_TEXT))
	{
		while (i < len && !l4_ascii_blank(p[i]))
			i++;
		if (i == len || ++i > L4_PREFIX_TEXT)
			break;
		ends[n++] = i;
		while (i < len && l4_ascii_blank(p[i]))
			i++;
	}
	return n;
}

/* Does a text have the word, as a word of its own, in any case? */
static const char *
find_word(const char *p, int len, const char *word, int word_len)
{
	for (int i = 0; i + word_len <= len; i++)
		if (pg_strncasecmp(p + i, word, word_len) == 0 &&
			(i == 0 || !l4_ascii_word(p[i - 1])) &&
			(i + word_len == len || !l4_ascii_word(p[i + word_len])))
			return p + i;
	return NULL;
}

/* Words that count: what they begin is a report, not a prefix. */
static bool
counts_something(const char *p, int len)
{
	static const char *const counters[] = {"epoch", "step", "iter", "batch", "round", "update"};

	for (int i = 0; i < len; i++)
		for (int k = 0; k < lengthof(counters); k++)
			if (i + (int) strlen(counters[k]) <= len && pg_strncasecmp(p + i, counters[k], strlen(counters[k])) == 0)
				return true;
	return false;
}

/* A date with its year or a time of day: they change, and belong to the prefix. Names have numbers with dashes too. */
static bool
has_time(const char *p, int len)
{
	for (int i = 0; i + 8 <= len; i++)
		if (l4_ascii_digit(p[i]) && l4_ascii_digit(p[i + 1]) && strchr("-/:", p[i + 2]) != NULL &&
			l4_ascii_digit(p[i + 3]) && l4_ascii_digit(p[i + 4]) && p[i + 5] == p[i + 2] &&
			l4_ascii_digit(p[i + 6]) && l4_ascii_digit(p[i + 7]) &&
			(p[i + 2] != '-' || (i >= 2 && l4_ascii_digit(p[i - 1]) && l4_ascii_digit(p[i - 2]))))
			return true;
	return false;
}

/* A place in code, as warnings have it: a path, and a number between colons. It says where, not who. */
static bool
has_place(const char *p, int len)
{
	const char *number = memchr(p, '/', len) != NULL ? memchr(p, ':', len) : NULL;
	const char *end = p + len;

	if (number == NULL || ++number == end || !l4_ascii_digit(*number))
		return false;
	while (number < end && l4_ascii_digit(*number))
		number++;
	return number < end && *number == ':';
}

/*
 * Can these words tell who wrote? They have a number, which does not stand alone before a space, the last is no level, and they
 * do not count.
 */
bool
l4_prefix_candidate(const char *p, const int *ends, int k)
{
	int			len = ends[k];
	int			last_word = k == 0 ? 0 : ends[k - 1];
	bool		digit = false;
	bool		other = false;

	for (int i = 0; i < len; i++)
	{
		digit |= l4_ascii_digit(p[i]);
		other |= !l4_ascii_digit(p[i]) && p[i] != ' ';
	}
	if (!digit || !other || counts_something(p, len) || has_time(p, len) || has_place(p, len))
		return false;
	while (last_word < len && !l4_ascii_word(p[last_word]))
		last_word++;
	while (len > last_word && !l4_ascii_word(p[len - 1]))
		len--;
	/* a number may be a level too, but not between brackets */
	return l4_ascii_digit(p[last_word]) || l4_level_of(p + last_word, len - last_word) == L4_LEVEL_NONE;
}

/* Hash of the word at p, all digits alike. */
static uint16
word_hash(const char *p, int len)
{
	uint32		hash = 0;

	for (int i = 0; i < len && !l4_ascii_blank(p[i]); i++)
		hash = hash * 31 + (l4_ascii_digit(p[i]) ? '0' : (unsigned char) p[i]);
	return (uint16) (hash ^ (hash >> 16));
}

static L4PrefixCount *
find_count(L4StreamPrefix *known, uint64 hash)
{
	for (int i = 0; i < known->ncounts; i++)
		if (known->counts[i].hash == hash)
			return &known->counts[i];
	return NULL;
}

static void
add_kind(L4PrefixCount *count, uint16 next)
{
	for (int i = 0; i < count->kinds; i++)
		if (count->next[i] == next)
			return;
	if (count->kinds < L4_PREFIX_KINDS)
		count->next[count->kinds++] = next;
}

static bool
starts_with_prefix(const L4Prefix *prefix, const char *p, int len)
{
	/* a line that is nothing but the prefix may have lost its last blank */
	return (len >= prefix->len && memcmp(p, prefix->text, prefix->len) == 0) ||
		(len == prefix->len - 1 && memcmp(p, prefix->text, len) == 0);
}

static void
end_line(L4StreamPrefix *known)
{
	int			others = known->strangers - known->writers;

	if (++known->lines >= L4_PREFIX_LINES || others > 2 * L4_PREFIX_OTHERS)
	{
		known->learning = false;
		known->ncounts = 0;
	}
}

void
l4_prefix_pass(L4StreamPrefix *known, bool stranger)
{
	known->strangers += stranger;
	end_line(known);
}

void
l4_prefix_learn(L4StreamPrefix *known, const char *p, int len, int nwords, const int *ends, const bool *formatted)
{
	bool		familiar = false;
	int			others = known->strangers - known->writers;

	for (int k = 0; k < nwords; k++)
	{
		int			n = ends[k];
		uint64		hash;
		L4PrefixCount *count;

		if (!l4_prefix_candidate(p, ends, k))
			continue;
		hash = hash_bytes_extended((const unsigned char *) p, n, 0);
		count = find_count(known, hash);
		if (count == NULL)
		{
			count = &known->counts[known->ncounts++];
			memset(count, 0, sizeof(*count));
			count->hash = hash;
		}
		count->lines++;
		if (count->lines == 2 && !familiar)
			known->writers++;
		familiar |= count->lines > 1;
		if (formatted[k])
			count->kinds = L4_PREFIX_KINDS;
		else
			add_kind(count, word_hash(p + n, len - n));
		if (count->lines >= L4_PREFIX_SEEN && count->kinds >= L4_PREFIX_KINDS && known->nprefixes < L4_PREFIX_MAX &&
			others <= L4_PREFIX_OTHERS + known->lines / L4_PREFIX_OTHERS)
		{
			L4Prefix   *new = &known->prefixes[known->nprefixes];
			bool		again = false;

			for (int i = 0; i < known->nprefixes; i++)
				again |= starts_with_prefix(&known->prefixes[i], p, len);
			if (!again)
			{
				new->len = (uint8) n;
				memcpy(new->text, p, n);
				known->nprefixes++;
			}
		}
	}
	known->strangers += !familiar;
	end_line(known);
}

/* The rank that a prefix names: after the word, or the number that stands alone at its end. */
static int
prefix_rank(const char *p, int len)
{
	int			rank = 0;
	int			i = 0;
	int			digits = 0;

	while (i + 4 <= len && pg_strncasecmp(p + i, "rank", 4) != 0)
		i++;
	if (i + 4 <= len)
		i += 4;
	else
	{
		for (i = len; i > 0 && l4_ascii_blank(p[i - 1]);)
			i--;
		while (i > 0 && !l4_ascii_blank(p[i - 1]))
			i--;
	}
	for (; i < len && !l4_ascii_blank(p[i]); i++)
	{
		if (l4_ascii_digit(p[i]) && digits < 8)
		{
			rank = rank * 10 + (p[i] - '0');
			digits++;
		}
		else if (digits > 0)
			break;
		else if (l4_ascii_letter(p[i]))
			return -1;
	}
	for (; i < len && digits > 0; i++)
		if (l4_ascii_word(p[i]))
			return -1;
	/* longer numbers are identifiers */
	return digits > 0 && digits < 7 ? rank : -1;
}

/* Is the word only punctuation, or a number with punctuation behind it? */
static bool
ends_label(const char *p, int len)
{
	int			i = 0;

	while (i < len && l4_ascii_digit(p[i]))
		i++;
	if (i == len || len > L4_PREFIX_TEXT)
		return false;
	for (; i < len; i++)
		if (l4_ascii_word(p[i]) || strchr("/.(<[{\"'`@#=+*~", p[i]) != NULL)
			return false;
	return true;
}

/* A label with the node's own name: "name: ", "[name] ", "name | ", "pod/name> ", "name 3: ", or a tab behind it. */
static int
named_prefix(const L4StreamPrefix *known, const char *p, int len)
{
	int			ends[L4_PREFIX_WORDS];
	int			n = l4_prefix_words(p, len, ends);
	const char *dot = memchr(known->name, '.', known->name_len);
	int			first;

	if (n == 0)
		return 0;
	first = ends[0] - 1;
	if (find_word(p, first, known->name, known->name_len) == NULL &&
		(dot == NULL || dot - known->name < 3 || find_word(p, first, known->name, dot - known->name) == NULL))
		return 0;
	if (n > 1 && ends_label(p + ends[0], ends[1] - 1 - ends[0]))
		return ends[1];
	return p[first] == '\t' || strchr(":]|>)", p[first - 1]) != NULL ? ends[0] : 0;
}

int
l4_prefix_length(const L4StreamPrefix *known, const char *p, int len, bool learnt, int *rank)
{
	int			n = 0;

	*rank = -1;
	for (int i = 0; i < known->nprefixes && learnt && n == 0; i++)
		if (starts_with_prefix(&known->prefixes[i], p, len))
			n = Min(known->prefixes[i].len, len);
	if (!learnt && known->name_len >= 3)
		n = named_prefix(known, p, len);
	if (n > 0)
		*rank = prefix_rank(p, n);
	return n;
}
