/*
 * multimatch_group.c
 *		Which patterns an automaton looks at together, and which literals of
 *		the others are scanned for: chosen by what the lines so far cost.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pcre/multimatch_int.h"
#include "pcre/regextree.h"

/* A pattern that was run in vain so often between two reviews may join the group. */
#define RUNS_IN_VAIN 8

/* How often a pattern may change the literals that are scanned for. */
#define EXCHANGES_MAX 3

/* What a better group must save, in nanoseconds a line. */
#define WORTH_NS 5.0

/* Time that went into runs in vain since the last review. */
static double
vain_ns(const Pattern *pattern)
{
	return pattern->in_vain * l4_mean_ns(pattern);
}

static int
compare_vain(const void *a, const void *b)
{
	double		x = vain_ns(*(Pattern *const *) a);
	double		y = vain_ns(*(Pattern *const *) b);

	return (x < y) - (x > y);
}

/* Put all patterns that are marked for the group into a new automaton. */
static void
make_group(L4MultiMatch *mm)
{
	MemoryContext cxt = AllocSetContextCreate(mm->cxt, "l4 pattern tree", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	int			members = 0;

	if (mm->group != NULL)
		l4_dfa_free(mm->group);
	mm->group = l4_dfa_create(mm->cxt);
	for (int i = 0; i < mm->n; i++)
	{
		Pattern    *pattern = &mm->patterns[i];
		L4Node	   *tree;
		bool		caseless;

		if (!pattern->in_group)
			continue;
		CHECK_FOR_INTERRUPTS();
		tree = l4_regex_tree(pattern->text, pattern->len, &caseless);
		if (tree == NULL || !l4_dfa_add(mm->group, tree, i))
		{
			pattern->in_group = false;
			pattern->unfit = true;
		}
		else
			members++;
		MemoryContextReset(cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	if (members > 0)
		l4_dfa_prepare(mm->group);
	else
	{
		l4_dfa_free(mm->group);
		mm->group = NULL;
	}
}

/* The automaton had too many states: do without it, and have a smaller one later. */
void
l4_multimatch_dissolve(L4MultiMatch *mm)
{
	int			members = 0;

	l4_dfa_free(mm->group);
	mm->group = NULL;
	for (int i = 0; i < mm->n; i++)
	{
		members += mm->patterns[i].in_group;
		mm->patterns[i].in_group = false;
	}
	mm->group_max = members / 2;
	l4_multimatch_assign(mm);
}

/*
 * The literals scanned for are the rarest by a guess. Where most lines that
 * have them lack others, scan for those. False when there are none.
 */
static bool
exchange_needed(Pattern *pattern)
{
	int			rarest = 1;
	Needed		first;

	for (int k = 2; k < NEEDED_MAX; k++)
		if (pattern->needed[k].missing > pattern->needed[rarest].missing)
			rarest = k;
	if (pattern->exchanged >= EXCHANGES_MAX ||
		pattern->needed[rarest].missing * 4 < pattern->in_vain * 3)
		return false;
	first = pattern->needed[0];
	pattern->needed[0] = pattern->needed[rarest];
	pattern->needed[rarest] = first;
	pattern->exchanged++;
	return true;
}

/* Which patterns are often run in vain? Scan for other literals of them, or let the automaton look at them. */
void
l4_multimatch_review(L4MultiMatch *mm)
{
	Pattern   **joining = palloc(sizeof(Pattern *) * Max(mm->n, 1));
	int			n = 0;
	int			members = 0;
	bool		exchanged = false;

	for (int i = 0; i < mm->n; i++)
	{
		Pattern    *pattern = &mm->patterns[i];

		members += pattern->in_group;
		if (pattern->in_vain < RUNS_IN_VAIN || pattern->in_group)
			continue;
		if (exchange_needed(pattern))
			exchanged = true;
		else if (!pattern->unfit)
			joining[n++] = pattern;
	}
	qsort(joining, n, sizeof(Pattern *), compare_vain);
	n = Max(Min(n, mm->group_max - members), 0);
	if (mm->saving_ns <= WORTH_NS * (mm->line_no - mm->last_review))
		n = 0;
	for (int i = 0; i < n; i++)
		joining[i]->in_group = true;
	pfree(joining);
	for (int i = 0; i < mm->n; i++)
	{
		mm->patterns[i].in_vain = 0;
		for (int k = 0; k < NEEDED_MAX; k++)
			mm->patterns[i].needed[k].missing = 0;
	}
	if (n > 0)
		make_group(mm);
	if (exchanged)
		l4_multimatch_make_scan(mm);
	else if (n > 0)
		l4_multimatch_assign(mm);
	mm->saving_ns = 0;
	mm->last_review = mm->line_no;
	mm->next_review = mm->line_no * 2;
}
