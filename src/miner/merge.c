/*
 * merge.c
 *		Joins templates of different delimiters: the same text when printed, or
 *		one that the other one's text fits as a pattern.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "miner/miner_int.h"

/* How many templates with the same start one template is compared with. */
#define MAX_CANDIDATES	256

/* May this mark of a pattern stand for these bytes of another? */
static bool
may_stand_for(char mark, const char *bytes, int len)
{
	if (mark == L4_OPEN_MARK || len == 0)
		return !l4_is_telling(bytes, len);
	for (int i = 0; i < len; i++)
		if (L4_IS_MARK(bytes[i]))
			return true;
	return false;
}

/*
 * Where the pattern's marks are in a text: n of them, -1 if it does not fit. A
 * mark takes as little as it can, and no blank unless it may. Each gives way to
 * the next one, so this takes no more steps than the product of both lengths,
 * and both are bounded.
 */
int
l4_align(const char *pat, int plen, const char *text, int tlen, L4Found *found, bool blanks)
{
	int			p = 0;
	int			t = 0;
	int			n = 0;
	int			back_p = -1;
	int			back_n = 0;

	while (t < tlen || p < plen)
	{
		if (p < plen && L4_IS_MARK(pat[p]))
		{
			back_p = ++p;
			back_n = n;
			found[n].from = found[n].to = t;
			n++;
		}
		else if (p < plen && t < tlen && pat[p] == text[t])
		{
			if (pat[p] == L4_USER_MARK)
			{
				found[n].from = t;
				found[n++].to = t + 2;
			}
			p++;
			t++;
		}
		else if (back_p >= 0 && found[back_n].to < tlen &&
				 (blanks || text[found[back_n].to] != ' '))
		{
			n = back_n + 1;
			p = back_p;
			t = ++found[back_n].to;
		}
		else
			return -1;
	}
	return n;
}

/*
 * Does text fit the pattern, in which a mark stands for bytes that are no
 * blank? A mark that masks made stands only for what has a mark too, or for
 * nothing: a word in its place says something else.
 */
static bool
pattern_fits(const char *pat, int plen, const char *text, int tlen)
{
	L4Found    *found = palloc((plen + 1) * sizeof(L4Found));
	L4Found    *next = found;
	bool		fits = l4_align(pat, plen, text, tlen, found, false) >= 0;

	for (int p = 0; p < plen && fits; p++)
	{
		if (pat[p] == L4_USER_MARK)
		{
			next++;
			p++;
		}
		else if (L4_IS_MARK(pat[p]))
		{
			fits = may_stand_for(pat[p], text + next->from, next->to - next->from);
			next++;
		}
	}
	pfree(found);
	return fits;
}

/* Length of the first word of a text. */
static int
first_word(const char *text, int len)
{
	int			n = 0;

	while (n < len && text[n] != ' ')
		n++;
	return n;
}

static int
count_bytes(const char *text, int len, char c)
{
	int			n = 0;

	for (int i = 0; i < len; i++)
		n += text[i] == c;
	return n;
}

/* How many words of a text have letters and no mark. */
static int
constant_words(const char *text, int len)
{
	int			n = 0;

	for (int i = 0; i < len;)
	{
		bool		letter = false;
		bool		mark = false;

		for (; i < len && text[i] != ' '; i++)
		{
			mark |= L4_IS_MARK(text[i]);
			letter |= ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z') || (uint8) text[i] >= 0x80;
		}
		n += letter && !mark;
		i++;
	}
	return n;
}

/* Text with all marks alike, as it is printed. Changes the text. */
static void
level_marks(char *text, int len)
{
	for (int i = 0; i < len; i++)
		if (text[i] == L4_OPEN_MARK)
			text[i] = L4_MARK;
}

/* Join the event of a template with the one that prints the same text; it becomes the text's template. */
static void
merge_same(L4Model *m, int32 template, const char *pattern, int len, int tag)
{
	char	   *text = memcpy(palloc(len + 1), pattern, len);
	int32	   *same;
	bool		found;

	level_marks(text, len);
	same = l4_map_put(m->printed, l4_hash2(l4_hash_bytes(text, len), tag), &found);
	if (found && m->templates[*same].event != 0)
	{
		int			olen;
		char	   *other = l4_model_pattern(m, *same, &olen, CurrentMemoryContext);

		level_marks(other, olen);
		if (olen == len && memcmp(other, text, len) == 0)
			l4_event_merge(m, m->templates[template].event, m->templates[*same].event, template);
		pfree(other);
	}
	*same = template;
	pfree(text);
}

/* Put a template into the chains of its keys. Chains are in order of number. */
static void
chain_template(L4Model *m, int32 template)
{
	L4Template *t = &m->templates[template];

	for (int k = 0; k < L4_CHAINS; k++)
	{
		int32	   *newest = l4_map_put(m->chains, t->keys[k], NULL);

		t->next[k] = *newest;
		*newest = template + 1;
	}
}

/* Keys of a text: tag, number of blanks, and its first or its second word. */
static void
make_keys(const char *text, int len, int tag, uint32 *keys)
{
	int			first = first_word(text, len);
	int			second = first < len ? first_word(text + first + 1, len - first - 1) : 0;
	uint64		shape = l4_hash2(count_bytes(text, len, ' '), tag);

	keys[0] = l4_hash2(shape, l4_hash_bytes(text, first));
	keys[1] = ~(uint32) l4_hash2(shape, l4_hash_bytes(text + first, second + (first < len)));
}

/*
 * In which chains may a pattern take in texts that fit it? It needs constant
 * words: two when both start alike, three and a mark in its first word when
 * only the second word is the same.
 */
static uint8
may_take(const char *pattern, int len)
{
	int			first = first_word(pattern, len);
	int			words = constant_words(pattern, len);
	bool		open = false;

	for (int i = 0; i < first; i++)
		open |= L4_IS_MARK(pattern[i]);
	return (words >= 2 ? 1 : 0) | (words >= 3 && open ? 2 : 0);
}

/* Compare a template with the others of a chain. */
static void
merge_chain(L4Model *m, int32 template, int chain, const char *text, int len)
{
	int			seen = 0;
	int32		next;

	for (int32 other = l4_map_get(m->chains, m->templates[template].keys[chain]) - 1;
		 other >= 0 && seen < MAX_CANDIDATES; other = next - 1)
	{
		int32		event = l4_model_resolve(m, m->templates[template].event);
		int32		oevent;
		int			olen;
		char	   *otext;

		next = m->templates[other].next[chain];
		if (other == template || m->templates[other].event == 0)
			continue;
		oevent = l4_model_resolve(m, m->templates[other].event);
		if (oevent == event)
			continue;
		seen++;
		if (!((m->templates[template].takes | m->templates[other].takes) & (1 << chain)))
			continue;
		otext = l4_model_pattern(m, other, &olen, CurrentMemoryContext);
		if ((m->templates[template].takes & (1 << chain)) && pattern_fits(text, len, otext, olen))
			l4_event_merge(m, event, oevent, template);
		else if ((m->templates[other].takes & (1 << chain)) && pattern_fits(otext, olen, text, len))
			l4_event_merge(m, event, oevent, m->events[oevent].template);
		pfree(otext);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Fill what joining looks into: decoding leaves it out, since matching needs none of it. */
void
l4_merge_prepare(L4Model *m)
{
	m->merges_ready = true;
	for (int32 i = 0; i < m->ntemplates; i++)
	{
		const L4Template *t = &m->templates[i];
		int			len;
		char	   *text;

		if (t->event == 0)
			continue;
		chain_template(m, i);
		text = l4_model_pattern(m, i, &len, CurrentMemoryContext);
		m->templates[i].takes = may_take(text, len);
		level_marks(text, len);
		*l4_map_put(m->printed, l4_hash2(l4_hash_bytes(text, len), m->events[t->event].tag), NULL) = i;
		pfree(text);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Look whether a template that is new or changed joins others, or they it.
 */
void
l4_merge_template(L4Model *m, int32 template)
{
	int			tag = m->events[l4_model_resolve(m, m->templates[template].event)].tag;
	int			len;
	char	   *text;

	text = l4_model_pattern(m, template, &len, CurrentMemoryContext);
	if (m->templates[template].next[0] < 0)
	{
		make_keys(text, len, tag, m->templates[template].keys);
		chain_template(m, template);
	}
	m->templates[template].takes = may_take(text, len);
	merge_same(m, template, text, len, tag);
	for (int chain = 0; chain < L4_CHAINS; chain++)
		merge_chain(m, template, chain, text, len);
	pfree(text);
}
