/*
 * multimatch_scan.c
 *		Which literals are scanned for, and which patterns have which.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pcre/multimatch_int.h"

static void
add_link(L4MultiMatch *mm, int literal, int pattern)
{
	if (mm->nlinks == mm->links_size)
	{
		mm->links_size = Max(256, mm->links_size * 2);
		if (mm->links == NULL)
			mm->links = palloc(sizeof(Link) * mm->links_size);
		else
			mm->links = repalloc_huge(mm->links, sizeof(Link) * (Size) mm->links_size);
	}
	mm->links[mm->nlinks].literal = literal;
	mm->links[mm->nlinks].pattern = pattern;
	mm->nlinks++;
	mm->nuses = Max(mm->nuses, literal + 1);
}

static int
compare_links(const void *a, const void *b)
{
	const Link *x = (const Link *) a;
	const Link *y = (const Link *) b;

	if (x->literal != y->literal)
		return x->literal > y->literal ? 1 : -1;
	return (x->pattern > y->pattern) - (x->pattern < y->pattern);
}

/* Which patterns have which literal, now that the group is what it is. */
void
l4_multimatch_assign(L4MultiMatch *mm)
{
	int			n = 0;

	memset(mm->uses, 0, sizeof(LiteralUse) * mm->nuses);
	for (int from = 0, to; from < mm->nlinks; from = to)
	{
		int			literal = mm->links[from].literal;
		LiteralUse *use = &mm->uses[literal];

		for (to = from; to < mm->nlinks && mm->links[to].literal == literal; to++)
		{
			const Pattern *pattern = &mm->patterns[mm->links[to].pattern];

			use->n_group += pattern->in_group;
			use->group_ns += pattern->in_group ? l4_mean_ns(pattern) : 0;
		}
		use->first = n;
		for (int i = from; i < to; i++)
			if (!mm->patterns[mm->links[i].pattern].in_group)
				mm->linked[n++] = mm->links[i].pattern;
		use->n = n - use->first;
		for (int i = from; i < to; i++)
			if (mm->patterns[mm->links[i].pattern].in_group)
				mm->linked[n++] = mm->links[i].pattern;
	}
	mm->no_literal_ns = 0;
	memset(mm->group_members, 0, sizeof(uint64) * mm->words);
	for (int i = 0; i < mm->n; i++)
		if (mm->patterns[i].in_group)
		{
			set_bit(mm->group_members, i);
			if (has_bit(mm->no_literal, i))
				mm->no_literal_ns += l4_mean_ns(&mm->patterns[i]);
		}
}

/* Look for the first set of literals of each pattern. */
void
l4_multimatch_make_scan(L4MultiMatch *mm)
{
	MemoryContext old;

	if (mm->scan_cxt != NULL)
		MemoryContextDelete(mm->scan_cxt);
	mm->scan_cxt = AllocSetContextCreate(mm->cxt, "l4 literals", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(mm->scan_cxt);
	mm->scan = l4_gramscan_create();
	mm->links = NULL;
	mm->nlinks = mm->links_size = mm->nuses = 0;
	for (int i = 0; i < mm->n; i++)
	{
		const Pattern *pattern = &mm->patterns[i];

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < pattern->needed[0].n; k++)
			add_link(mm, l4_gramscan_add(mm->scan, &pattern->needed[0].items[k], pattern->caseless), i);
	}
	l4_gramscan_prepare(mm->scan);
	if (mm->nlinks > 0)
		qsort(mm->links, mm->nlinks, sizeof(Link), compare_links);
	mm->uses = palloc(sizeof(LiteralUse) * Max(mm->nuses, 1));
	mm->linked = palloc(sizeof(int) * Max(mm->nlinks, 1));
	MemoryContextSwitchTo(old);
	l4_multimatch_assign(mm);
}
