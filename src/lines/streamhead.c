/*
 * streamhead.c
 *		Heads that no format describes.
 *
 * Launchers and collectors are many, and each has its own label. What they
 * have in common: nearly each line of the stream begins with it, it names
 * somebody (so it holds a number, or the node's own name), and what follows
 * are lines of all kinds. A label with the node's name is known at once.
 * Others are learnt from the first lines of the stream, one after the other:
 * what a line's head is depends on the lines before it, not on where batches
 * end, and is carried from one piece of the stream to the next.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/ascii.h"
#include "lines/lineformat.h"
#include "lines/streamhead.h"

/* A head has begun so many lines, and so many different words came behind it. */
#define L4_HEAD_SEEN	4
#define L4_HEAD_KINDS	3

/* So many lines, and one in so many, may have none: what the launcher itself says. */
#define L4_HEAD_OTHERS	8

void
l4_head_init(L4StreamHead *head)
{
	head->name = NULL;
	head->name_len = 0;
	head->learning = true;
	head->lines = head->strangers = head->writers = head->ncounts = head->nheads = 0;
}

void
l4_head_write(const L4StreamHead *head, StringInfo buf)
{
	l4_put_uint(buf, head->nheads);
	for (int i = 0; i < head->nheads; i++)
		l4_put_bytes(buf, head->heads[i].text, head->heads[i].len);
	l4_put_uint(buf, head->learning);
	if (!head->learning)
		return;
	l4_put_uint(buf, head->lines);
	l4_put_uint(buf, head->strangers);
	l4_put_uint(buf, head->writers);
	l4_put_uint(buf, head->ncounts);
	for (int i = 0; i < head->ncounts; i++)
	{
		const L4HeadCount *c = &head->counts[i];

		l4_put_uint(buf, c->hash);
		l4_put_uint(buf, c->lines);
		l4_put_uint(buf, c->kinds);
		for (int k = 0; k < c->kinds; k++)
			l4_put_uint(buf, c->next[k]);
	}
}

static int
get_number(L4ByteReader *reader, int max)
{
	uint64		n = l4_get_uint(reader);

	if (n > (uint64) max)
		l4_bytes_corrupted("starts of lines");
	return (int) n;
}

void
l4_head_read(L4StreamHead *head, L4ByteReader *reader)
{
	uint64		n = l4_get_uint(reader);

	l4_head_init(head);
	if (n > L4_HEAD_MAX)
		l4_bytes_corrupted("heads");
	head->nheads = (int) n;
	for (int i = 0; i < head->nheads; i++)
	{
		n = l4_get_uint(reader);
		if (n == 0 || n > L4_HEAD_TEXT)
			l4_bytes_corrupted("head");
		head->heads[i].len = (uint8) n;
		memcpy(head->heads[i].text, l4_get_bytes(reader, n), n);
	}
	head->learning = l4_get_uint(reader) != 0;
	if (!head->learning)
		return;
	head->lines = get_number(reader, L4_HEAD_LINES - 1);
	head->strangers = get_number(reader, head->lines);
	head->writers = get_number(reader, head->lines);
	/* each line adds as many as it has words: so those to come have room */
	head->ncounts = get_number(reader, head->lines * L4_HEAD_WORDS);
	for (int i = 0; i < head->ncounts; i++)
	{
		L4HeadCount *c = &head->counts[i];

		c->hash = l4_get_uint(reader);
		c->lines = (uint8) l4_get_uint(reader);
		c->kinds = (uint8) get_number(reader, L4_HEAD_KINDS);
		for (int k = 0; k < c->kinds; k++)
			c->next[k] = (uint16) l4_get_uint(reader);
	}
}

int
l4_head_words(const char *p, int len, int *ends)
{
	int			n = 0;
	int			i = 0;

	while (n < L4_HEAD_WORDS && i < Min(len, L4_HEAD_TEXT))
	{
		while (i < len && !l4_ascii_blank(p[i]))
			i++;
		if (i == len || ++i > L4_HEAD_TEXT)
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

/* Words that count: what they begin is a report, not a head. */
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

/* A date with its year or a time of day: they change, and belong to the header. Names have numbers with dashes too. */
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

/* Can these words tell who wrote? They have a number, which does not stand alone, the last is no level, and they do not count. */
bool
l4_head_candidate(const char *p, const int *ends, int k)
{
	int			len = ends[k];
	int			last_word = k == 0 ? 0 : ends[k - 1];
	bool		digit = false;
	bool		other = false;

	for (int i = 0; i < len; i++)
	{
		digit |= l4_ascii_digit(p[i]);
		other |= !l4_ascii_digit(p[i]) && !l4_ascii_blank(p[i]);
	}
	if (!digit || !other || counts_something(p, len) || has_time(p, len))
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

static L4HeadCount *
find_count(L4StreamHead *head, uint64 hash)
{
	for (int i = 0; i < head->ncounts; i++)
		if (head->counts[i].hash == hash)
			return &head->counts[i];
	return NULL;
}

static void
add_kind(L4HeadCount *count, uint16 next)
{
	for (int i = 0; i < count->kinds; i++)
		if (count->next[i] == next)
			return;
	if (count->kinds < L4_HEAD_KINDS)
		count->next[count->kinds++] = next;
}

static bool
starts_with_head(const L4Head *head, const char *p, int len)
{
	/* a line that is nothing but the head may have lost its last blank */
	return (len >= head->len && memcmp(p, head->text, head->len) == 0) ||
		(len == head->len - 1 && memcmp(p, head->text, len) == 0);
}

static void
end_line(L4StreamHead *head)
{
	int			others = head->strangers - head->writers;

	if (++head->lines >= L4_HEAD_LINES || others > 2 * L4_HEAD_OTHERS)
	{
		head->learning = false;
		head->ncounts = 0;
	}
}

void
l4_head_pass(L4StreamHead *head, bool stranger)
{
	head->strangers += stranger;
	end_line(head);
}

void
l4_head_learn(L4StreamHead *head, const char *p, int len, int nwords, const int *ends, const bool *formatted)
{
	bool		familiar = false;
	int			others = head->strangers - head->writers;

	for (int k = 0; k < nwords; k++)
	{
		int			n = ends[k];
		uint64		hash;
		L4HeadCount *count;

		if (!l4_head_candidate(p, ends, k))
			continue;
		hash = hash_bytes_extended((const unsigned char *) p, n, 0);
		count = find_count(head, hash);
		if (count == NULL)
		{
			count = &head->counts[head->ncounts++];
			memset(count, 0, sizeof(*count));
			count->hash = hash;
		}
		count->lines++;
		if (count->lines == 2 && !familiar)
			head->writers++;
		familiar |= count->lines > 1;
		if (formatted[k])
			count->kinds = L4_HEAD_KINDS;
		else
			add_kind(count, word_hash(p + n, len - n));
		if (count->lines >= L4_HEAD_SEEN && count->kinds >= L4_HEAD_KINDS && head->nheads < L4_HEAD_MAX &&
			others <= L4_HEAD_OTHERS + head->lines / L4_HEAD_OTHERS)
		{
			L4Head	   *h = &head->heads[head->nheads];
			bool		known = false;

			for (int i = 0; i < head->nheads; i++)
				known |= starts_with_head(&head->heads[i], p, len);
			if (!known)
			{
				h->len = (uint8) n;
				memcpy(h->text, p, n);
				head->nheads++;
			}
		}
	}
	head->strangers += !familiar;
	end_line(head);
}

/* The rank that a head names: after the word, or the number that stands alone at its end. */
static int
head_rank(const char *p, int len)
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
	return digits > 0 ? rank : -1;
}

/* Is the word only punctuation, or a number with punctuation behind it? */
static bool
ends_label(const char *p, int len)
{
	int			i = 0;

	while (i < len && l4_ascii_digit(p[i]))
		i++;
	if (i == len || len > L4_HEAD_TEXT)
		return false;
	for (; i < len; i++)
		if (l4_ascii_word(p[i]) || strchr("/.(<[{\"'`@#=+*~", p[i]) != NULL)
			return false;
	return true;
}

/* A label with the node's own name: "name: ", "[name] ", "name | ", "pod/name> ", "name 3: ". */
static int
named_head(const L4StreamHead *head, const char *p, int len)
{
	int			ends[L4_HEAD_WORDS];
	int			n = l4_head_words(p, len, ends);
	const char *dot = memchr(head->name, '.', head->name_len);
	int			first;

	if (n == 0)
		return 0;
	first = ends[0] - 1;
	if (find_word(p, first, head->name, head->name_len) == NULL &&
		(dot == NULL || dot - head->name < 3 || find_word(p, first, head->name, dot - head->name) == NULL))
		return 0;
	if (n > 1 && ends_label(p + ends[0], ends[1] - 1 - ends[0]))
		return ends[1];
	return strchr(":]|>)", p[first - 1]) != NULL ? ends[0] : 0;
}

int
l4_head_length(const L4StreamHead *head, const char *p, int len, bool learnt_only, int *rank)
{
	int			n = 0;

	*rank = -1;
	for (int i = 0; i < head->nheads && n == 0; i++)
		if (starts_with_head(&head->heads[i], p, len))
			n = Min(head->heads[i].len, len);
	if (n == 0 && !learnt_only && head->name_len >= 3)
		n = named_head(head, p, len);
	if (n > 0)
		*rank = head_rank(p, n);
	return n;
}
