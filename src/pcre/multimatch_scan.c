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
add_link(PatternScan *scan, int literal, int pattern)
{
	if (scan->nlinks == scan->links_size)
	{
		scan->links_size = Max(256, scan->links_size * 2);
		if (scan->links == NULL)
			scan->links = palloc(sizeof(Link) * scan->links_size);
		else
			scan->links = repalloc_huge(scan->links, sizeof(Link) * (Size) scan->links_size);
	}
	scan->links[scan->nlinks].literal = literal;
	scan->links[scan->nlinks].pattern = pattern;
	scan->nlinks++;
	scan->nuses = Max(scan->nuses, literal + 1);
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
link_patterns(PatternScan *scan)
{
	if (scan->nlinks > 0)
		qsort(scan->links, scan->nlinks, sizeof(Link), compare_links);
	scan->uses = palloc0(sizeof(LiteralUse) * Max(scan->nuses, 1));
	scan->linked = palloc(sizeof(int) * Max(scan->nlinks, 1));
	for (int i = 0; i < scan->nlinks; i++)
	{
		LiteralUse *use = &scan->uses[scan->links[i].literal];

		if (use->n++ == 0)
			use->first = i;
		scan->linked[i] = scan->links[i].pattern;
	}
	if (scan->links != NULL)
		pfree(scan->links);
	scan->links = NULL;
}

/* Look for the first set of literals of each pattern. */
void
l4_multimatch_make_scan(L4MultiMatch *mm, PatternScan *scan)
{
	MemoryContext old;
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	scan->cxt = AllocSetContextCreate(mm->cxt, "l4 literals", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->cxt);
	scan->scan = l4_gramscan_create();
	scan->links = NULL;
	scan->nlinks = scan->links_size = scan->nuses = 0;
	for (int i = 0; i < mm->n; i++)
	{
		const Pattern *pattern = &mm->patterns[i];

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < pattern->needed[0].n; k++)
		{
			L4Literal	literal = pattern->needed[0].items[k];

			if (scan->folded)
				l4_fold_literal(&literal);
			add_link(scan, l4_gramscan_add(scan->scan, &literal, pattern->caseless), i);
		}
	}
	l4_gramscan_prepare(scan->scan);
	link_patterns(scan);
	MemoryContextSwitchTo(old);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	scan->ns = INSTR_TIME_GET_DOUBLE(end) * 1e9;
}

void
l4_multimatch_free_scan(PatternScan *scan)
{
	if (scan->cxt != NULL)
		MemoryContextDelete(scan->cxt);
	scan->cxt = NULL;
}
