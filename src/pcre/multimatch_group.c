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

/* What happened less often between two reviews is not worth a thought. */
#define OFTEN 8

/* What a candidate takes without being run, in nanoseconds. */
#define TRY_NS 100.0

/* How much more than since the last review is still to come, as a guess. */
#define TO_COME 4

/* What a better group must save, in nanoseconds a line. */
#define WORTH_NS 5.0

/* Time that runs in vain took since the last review, or would have taken without the group. */
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
	memset(mm->group_members, 0, sizeof(uint64) * mm->words);
	for (int i = 0; i < mm->n; i++)
	{
		Pattern    *pattern = &mm->patterns[i];
		L4Node	   *tree;
		bool		caseless;
		bool		tells_digits;

		if (!pattern->in_group)
			continue;
		CHECK_FOR_INTERRUPTS();
		tree = l4_regex_tree(pattern->text, pattern->len, &caseless, &tells_digits);
		if (tree == NULL || !l4_dfa_add(mm->group, tree, i))
		{
			pattern->in_group = false;
			pattern->unfit = true;
		}
		else
		{
			set_bit(mm->group_members, i);
			members++;
		}
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
	/* of its members notes on lines may have fewer now */
	if (mm->memo != NULL)
		l4_linememo_clear(mm->memo);
}

/* The automaton had too many states: do without it, and have a smaller one later. */
void
l4_multimatch_dissolve(L4MultiMatch *mm)
{
	int			members = 0;

	l4_dfa_free(mm->group);
	mm->group = NULL;
	memset(mm->group_members, 0, sizeof(uint64) * mm->words);
	for (int i = 0; i < mm->n; i++)
	{
		members += mm->patterns[i].in_group;
		mm->patterns[i].in_group = false;
	}
	mm->group_max = members / 2;
}

/* In how many of the samples is one of these literals? */
static int
count_samples(const L4MultiMatch *mm, const Needed *needed, bool caseless)
{
	int			count = 0;

	for (int i = 0; i < mm->nsamples; i++)
		count += l4_has_one(needed, caseless, false, &mm->samples[i].print,
							mm->samples[i].text, mm->samples[i].len);
	return count;
}

/* The literals scanned for are the rarest by a guess. If others are clearly rarer in the samples, scan for those. */
static bool
exchange_needed(const L4MultiMatch *mm, Pattern *pattern)
{
	int			rarest = 0;
	int			first = count_samples(mm, &pattern->needed[0], pattern->caseless);
	int			least = first;
	Needed		needed;

	for (int k = 1; k < NEEDED_MAX && pattern->needed[k].n > 0; k++)
	{
		int			count = count_samples(mm, &pattern->needed[k], pattern->caseless);

		if (count < least)
		{
			rarest = k;
			least = count;
		}
	}
	if (least * 2 > first || rarest == 0)
		return false;
	needed = pattern->needed[0];
	pattern->needed[0] = pattern->needed[rarest];
	pattern->needed[rarest] = needed;
	return true;
}

/* Scan for other literals, if that will soon have saved more time than it takes. */
static void
review_needed(L4MultiMatch *mm)
{
	double		ns = 0;
	bool		exchanged = false;

	for (int i = 0; i < mm->n; i++)
		ns += mm->patterns[i].tried * TRY_NS + vain_ns(&mm->patterns[i]);
	if (ns * TO_COME < mm->scan.ns)
		return;
	for (int i = 0; i < mm->n; i++)
		if (mm->patterns[i].tried >= OFTEN && exchange_needed(mm, &mm->patterns[i]))
		{
			exchanged = true;
			mm->patterns[i].in_vain = mm->patterns[i].checked = 0;
			mm->patterns[i].others_common = false;
		}
	if (!exchanged)
		return;
	l4_multimatch_free_scan(&mm->folded_scan);
	l4_multimatch_free_scan(&mm->scan);
	l4_multimatch_make_scan(mm, &mm->scan);
}

/* Which patterns are often run in vain? Let the automaton look at them, those that cost most. */
static void
review_group(L4MultiMatch *mm)
{
	Pattern   **fit = palloc(sizeof(Pattern *) * Max(mm->n, 1));
	int			n = 0;
	bool		joins = false;

	for (int i = 0; i < mm->n; i++)
	{
		Pattern    *pattern = &mm->patterns[i];

		if (!pattern->unfit && (pattern->in_group || pattern->in_vain >= OFTEN))
			fit[n++] = pattern;
	}
	qsort(fit, n, sizeof(Pattern *), compare_vain);
	n = Min(n, mm->group_max);
	for (int i = 0; i < n; i++)
		joins |= !fit[i]->in_group;
	if (joins && mm->saving_ns > WORTH_NS * (mm->line_no - mm->last_review))
	{
		for (int i = 0; i < mm->n; i++)
			mm->patterns[i].in_group = false;
		for (int i = 0; i < n; i++)
			fit[i]->in_group = true;
		make_group(mm);
	}
	pfree(fit);
}

void
l4_multimatch_review(L4MultiMatch *mm)
{
	review_needed(mm);
	review_group(mm);
	for (int i = 0; i < mm->n; i++)
	{
		Pattern    *pattern = &mm->patterns[i];

		if (pattern->checked >= OFTEN)
			pattern->others_common = (pattern->rejected * 8 < pattern->checked);
		pattern->tried = pattern->in_vain = pattern->checked = pattern->rejected = 0;
	}
	mm->nsamples = 0;
	mm->saving_ns = 0;
	mm->last_review = mm->line_no;
	mm->next_review = mm->line_no * 2;
}
