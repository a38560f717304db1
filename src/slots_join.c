/*
 * slots_join.c
 *		Joins templates of different delimiters: the same text when printed, or
 *		one that the other one's text fits as a pattern.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "slots_int.h"

/* How many templates with the same start one template is compared with. */
#define MAX_CANDIDATES	256

/*
 * Does text fit the pattern, in which a mark stands for any bytes but blanks?
 * Greedy with one step back per mark of the same word: no more than the
 * product of both lengths, and both are bounded.
 */
static bool
pattern_fits(const char *pat, int plen, const char *text, int tlen)
{
	int			p = 0;
	int			t = 0;
	int			back_p = -1;
	int			back_t = 0;

	while (t < tlen || p < plen)
	{
		if (p < plen && pat[p] == L4_MARK)
		{
			back_p = ++p;
			back_t = t;
			continue;
		}
		if (p < plen && t < tlen && pat[p] == text[t])
		{
			/* a blank ends what the mark before it may take */
			if (pat[p] == ' ')
				back_p = -1;
			p++;
			t++;
			continue;
		}
		if (back_p >= 0 && back_t < tlen && text[back_t] != ' ')
		{
			p = back_p;
			t = ++back_t;
			continue;
		}
		return false;
	}
	return true;
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
			mark |= text[i] == L4_MARK;
			letter |= ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z') || (uint8) text[i] >= 0x80;
		}
		n += letter && !mark;
		i++;
	}
	return n;
}

/* Does a word of the text say that something is no number? */
static bool
tells(const char *text, int len)
{
	for (int i = 0; i + 3 <= len; i++)
		if ((i == 0 || strchr(" =:-([,", text[i - 1])) &&
			(pg_strncasecmp(text + i, "nan", 3) == 0 || pg_strncasecmp(text + i, "inf", 3) == 0) &&
			(i + 3 == len || strchr(" ,;)]|", text[i + 3])))
			return true;
	return false;
}

static bool
same_text(L4Model *m, int32 template, const char *text, int len)
{
	int			olen;
	char	   *other = l4_model_pattern(m, template, &olen, CurrentMemoryContext);
	bool		same = olen == len && memcmp(other, text, len) == 0;

	pfree(other);
	return same;
}

/* Put a template into the chain of its first_key. Chains are in order of number. */
void
l4_chain_template(L4Model *m, int32 template)
{
	int32	   *newest = l4_map_put(&m->first, m->templates[template].first_key, NULL);

	m->templates[template].first_next = *newest;
	*newest = template + 1;
}

/*
 * Look whether a template that is new or changed joins others, or they it.
 */
void
l4_join(L4Model *m, int32 template)
{
	int32		event = l4_model_resolve(m, m->templates[template].event);
	int			tag = m->events[event].tag;
	int			len;
	char	   *text;
	int			words;
	int32	   *same;
	int32		other;
	int			seen = 0;
	bool		found;
	L4Template *t;

	text = l4_model_pattern(m, template, &len, CurrentMemoryContext);
	words = constant_words(text, len);
	t = &m->templates[template];
	if (t->first_next < 0)
	{
		t->first_key = l4_hash2(l4_hash2(l4_hash_bytes(text, first_word(text, len)), tag),
								count_bytes(text, len, ' '));
		l4_chain_template(m, template);
	}
	same = l4_map_put(&m->printed, l4_hash2(l4_hash_bytes(text, len), tag), &found);
	if (found && m->templates[*same].event != 0 && same_text(m, *same, text, len))
		l4_event_merge(m, event, m->templates[*same].event, template);
	*same = template;
	for (other = l4_map_get(&m->first, t->first_key) - 1; other >= 0 && seen < MAX_CANDIDATES;
		 other = m->templates[other].first_next - 1)
	{
		int			olen;
		char	   *otext;
		int32		oevent;

		if (other == template || m->templates[other].event == 0)
			continue;
		oevent = l4_model_resolve(m, m->templates[other].event);
		event = l4_model_resolve(m, event);
		if (oevent == event)
			continue;
		seen++;
		otext = l4_model_pattern(m, other, &olen, CurrentMemoryContext);
		if (words >= 2 && pattern_fits(text, len, otext, olen) && tells(text, len) == tells(otext, olen))
			l4_event_merge(m, event, oevent, template);
		else if (constant_words(otext, olen) >= 2 && pattern_fits(otext, olen, text, len) &&
				 tells(text, len) == tells(otext, olen))
		{
			l4_event_merge(m, event, oevent, m->events[oevent].template);
			pfree(otext);
			break;
		}
		pfree(otext);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(text);
}
