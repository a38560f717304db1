/*
 * literal_set.c
 *		Small sets of strings, for reading literals out of a pattern.
 */
#include "postgres.h"

#include "literal_set.h"

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
	*a = product;
	return true;
}

int
l4_literal_weight(const unsigned char *text, int len)
{
	int			weight = 0;

	for (int i = 0; i < len; i++)
	{
		unsigned char c = text[i];

		if (c == ' ')
			weight += 2;
		else if (c != '\0' && strchr(":,.=-_/[]()\"'", c) != NULL)
			weight += 3;
		else if (c != '\0' && strchr("etainorsl0123456789", c) != NULL)
			weight += 4;
		else if (c >= 'a' && c <= 'z')
			weight += 5;
		else
			weight += 6;
	}
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
	return Max(0, least - s->n / 4);
}

void
l4_strings_keep_better(L4Strings *best, const L4Strings *candidate)
{
	if (l4_strings_score(candidate) > l4_strings_score(best))
		*best = *candidate;
}
