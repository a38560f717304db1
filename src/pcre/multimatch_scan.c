/*
 * multimatch_scan.c
 *		Which literals are scanned for, and which patterns have which.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
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

/* Which patterns have which literal? */
static void
link_patterns(L4MultiMatch *mm)
{
	if (mm->nlinks > 0)
		qsort(mm->links, mm->nlinks, sizeof(Link), compare_links);
	mm->uses = palloc0(sizeof(LiteralUse) * Max(mm->nuses, 1));
	mm->linked = palloc(sizeof(int) * Max(mm->nlinks, 1));
	for (int i = 0; i < mm->nlinks; i++)
	{
		LiteralUse *use = &mm->uses[mm->links[i].literal];

		if (use->n++ == 0)
			use->first = i;
		mm->linked[i] = mm->links[i].pattern;
	}
	if (mm->links != NULL)
		pfree(mm->links);
	mm->links = NULL;
}

/* Look for the first set of literals of each pattern. */
void
l4_multimatch_make_scan(L4MultiMatch *mm)
{
	MemoryContext old;
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
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
	link_patterns(mm);
	MemoryContextSwitchTo(old);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	mm->scan_ns = INSTR_TIME_GET_DOUBLE(end) * 1e9;
}
