/*
 * literal_set.c
 *		Small sets of strings, for reading literals out of a pattern.
 */
#include "postgres.h"

#include "pcre/literal_set.h"

/* The weight of a string of four letters or so. */
#define NOT_COMMON 16

void
l4_strings_any(L4Strings *s)
{
	s->any = true;
	s->n = 0;
}

void
l4_strings_empty(L4Strings *s)
{
	s->any = false;
	s->n = 1;
	s->items[0].len = 0;
}

static bool
contains(const L4Strings *s, const L4Literal *item)
{
	for (int i = 0; i < s->n; i++)
		if (s->items[i].len == item->len &&
			memcmp(s->items[i].text, item->text, item->len) == 0)
			return true;
	return false;
}

bool
l4_strings_same(const L4Strings *a, const L4Strings *b)
{
	if (a->any != b->any || a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!contains(b, &a->items[i]))
			return false;
	return true;
}

/* a := a or b; not known when it gets larger than max. */
void
l4_strings_unite(L4Strings *a, const L4Strings *b, int max)
{
	if (a->any || b->any)
	{
		l4_strings_any(a);
		return;
	}
	for (int i = 0; i < b->n; i++)
	{
		if (contains(a, &b->items[i]))
			continue;
		if (a->n == max)
		{
			l4_strings_any(a);
			return;
		}
		a->items[a->n++] = b->items[i];
	}
}

/* Of each string the beginning alone, which occurs wherever the string does. */
static void
shorten(L4Strings *s, int len)
{
	int			n = 0;

	for (int i = 0; i < s->n; i++)
	{
		L4Literal	item = s->items[i];
		int			all = s->n;

		item.len = Min(item.len, len);
		s->n = n;
		if (!contains(s, &item))
			s->items[n++] = item;
		s->n = all;
	}
	s->n = n;
}

/* a := what occurs where one of a or one of b does: too many are made fewer by making them shorter. */
void
l4_strings_require_either(L4Strings *a, const L4Strings *b)
{
	static const int lens[] = {L4_LITERAL_LEN, 16, 12, 8, 6};
	L4Strings	first;

	l4_strings_copy(&first, a);
	for (int i = 0; i < lengthof(lens); i++)
	{
		L4Strings	second;

		l4_strings_copy(&second, b);
		l4_strings_copy(a, &first);
		shorten(a, lens[i]);
		shorten(&second, lens[i]);
		l4_strings_unite(a, &second, L4_LITERAL_SET);
		if (!a->any || first.any || b->any)
			return;
	}
}

/* a := a followed by b; false, and a as it was, when that is too many or too long. */
bool
l4_strings_append(L4Strings *a, const L4Strings *b)
{
	L4Strings	product;

	if (a->any || b->any || a->n * b->n > L4_EXACT_MAX)
		return false;
	product.any = false;
	product.n = 0;
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < b->n; j++)
		{
			L4Literal  *item = &product.items[product.n];

			if (a->items[i].len + b->items[j].len > L4_LITERAL_LEN)
				return false;
			memcpy(item->text, a->items[i].text, a->items[i].len);
			memcpy(item->text + a->items[i].len, b->items[j].text, b->items[j].len);
			item->len = a->items[i].len + b->items[j].len;
			if (!contains(&product, item))
				product.n++;
		}
	l4_strings_copy(a, &product);
	return true;
}

int
l4_literal_weight(const unsigned char *text, int len)
{
	static uint8 weights[256];
	int			weight = 0;

	if (weights[0] == 0)
		for (int c = 255; c >= 0; c--)
		{
			if (c == ' ')
				weights[c] = 2;
			else if (c != '\0' && strchr(":,.=-_/[]()\"'", c) != NULL)
				weights[c] = 3;
			else if (c != '\0' && strchr("etainorsl0123456789", c) != NULL)
				weights[c] = 4;
			else
				weights[c] = (c >= 'a' && c <= 'z') ? 5 : 6;
		}
	for (int i = 0; i < len; i++)
		weight += weights[text[i]];
	return weight;
}

/* How good a set is to look for: the commonest of its strings decides. */
int
l4_strings_score(const L4Strings *s)
{
	int			least = PG_INT32_MAX;

	if (s->any || s->n == 0)
		return 0;
	for (int i = 0; i < s->n; i++)
	{
		/* a single byte is everywhere */
		int			weight = s->items[i].len < 2 ? 0 :
			l4_literal_weight(s->items[i].text, s->items[i].len);

		least = Min(least, weight);
	}
	/* many are worse than few, but those that are not common are better than none */
	return Max(least < NOT_COMMON ? 0 : 1, least - s->n / 3);
}

void
l4_part_require_nothing(L4Part *out)
{
	l4_strings_any(&out->required);
	for (int i = 0; i < L4_LITERAL_ALSO; i++)
		l4_strings_any(&out->also[i]);
}

/* One of these occurs as well: keep it if it is among the best. */
void
l4_part_require(L4Part *out, const L4Strings *candidate)
{
	int			score = l4_strings_score(candidate);
	L4Strings  *worse = NULL;

	if (score == 0)
		return;
	if (l4_strings_same(&out->required, candidate))
		return;
	for (int i = 0; i < L4_LITERAL_ALSO; i++)
		if (l4_strings_same(&out->also[i], candidate))
			return;
	for (int i = L4_LITERAL_ALSO - 1; i >= -1; i--)
	{
		L4Strings  *place = i < 0 ? &out->required : &out->also[i];

		if (l4_strings_score(place) >= score)
			break;
		if (worse != NULL)
			l4_strings_copy(worse, place);
		worse = place;
	}
	if (worse != NULL)
		l4_strings_copy(worse, candidate);
}

void
l4_part_require_all(L4Part *out, const L4Part *part)
{
	l4_part_require(out, &part->required);
	for (int i = 0; i < L4_LITERAL_ALSO; i++)
		l4_part_require(out, &part->also[i]);
}

bool
l4_literal_in(const L4Literal *literal, const char *text, int len)
{
	const char *end = text + len - literal->len + 1;

	while (text < end)
	{
		text = memchr(text, literal->text[0], end - text);
		if (text == NULL)
			return false;
		if (memcmp(text, literal->text, literal->len) == 0)
			return true;
		text++;
	}
	return false;
}

bool
l4_any_literal_in(const L4Literal *literals, int n, const char *text, int len)
{
	for (int i = 0; i < n; i++)
		if (l4_literal_in(&literals[i], text, len))
			return true;
	return false;
}

/* Does the line have U+017F or U+212A, which match S and K without case? */
bool
l4_has_odd_letters(const char *line, int len)
{
	const char *end = line + len;

	for (const char *p = memchr(line, 0xC5, len); p != NULL; p = memchr(p, 0xC5, end - p))
		if (++p < end && (unsigned char) *p == 0xBF)
			return true;
	for (const char *p = memchr(line, 0xE2, len); p != NULL; p = memchr(p, 0xE2, end - p))
		if (++p + 1 < end && (unsigned char) p[0] == 0x84 && (unsigned char) p[1] == 0xAA)
			return true;
	return false;
}
