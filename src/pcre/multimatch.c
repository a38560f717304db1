/*
 * multimatch.c
 *		Many regular expressions over many lines, each line read once.
 *
 * Of every pattern we know literals of which one must occur (literal.c). They
 * are looked for all at once (gramscan.c); where one occurs, its patterns
 * become candidates. Only candidates are run, and those patterns of which no
 * literal is known.
 *
 * Some patterns are candidates on many lines and match none of them. Where
 * other literals that they need are missing on these lines, those are looked
 * for instead. Else their literals are common words, or they have none. What
 * running them costs is measured, and where that is more than one pass over
 * the line, they go into a group that an automaton (lazydfa.c) can look at
 * together: it tells which of them may match, and only those are run. It is
 * asked on lines where so many of the group are candidates that this is
 * faster. Whether a pattern is in the group changes how long a line takes and
 * nothing else.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "pcre/multimatch_int.h"

/* The group is chosen after so many lines, and again whenever there were as many more as before. */
#define FIRST_REVIEW 64

/* Runs of a pattern that are timed; later ones cost the same on average. */
#define TIMED_RUNS 16

/* What the automaton costs, in nanoseconds a byte. */
#define AUTOMATON_NS 2.0

/* ---- building ---- */

static void
copy_needed(Needed *needed, const L4LiteralSet *set)
{
	needed->n = set->n;
	needed->items = palloc(sizeof(L4Literal) * Max(set->n, 1));
	memcpy(needed->items, set->items, sizeof(L4Literal) * set->n);
}

/* Read the literals of pattern i, whose text is in place. */
static void
add_pattern(L4MultiMatch *mm, int i, L4Required *required)
{
	Pattern    *pattern = &mm->patterns[i];

	l4_required_literals(pattern->text, pattern->len, required);
	pattern->caseless = required->caseless;
	if (required->best.n == 0)
	{
		set_bit(mm->no_literal, i);
		mm->any_no_literal = true;
		return;
	}
	copy_needed(&pattern->needed[0], &required->best);
	for (int k = 0; k < L4_LITERAL_ALSO && required->also[k].n > 0; k++)
		copy_needed(&pattern->needed[1 + k], &required->also[k]);
	if (required->caseless && GetDatabaseEncoding() == PG_UTF8)
	{
		set_bit(mm->caseless, i);
		mm->any_caseless = true;
	}
}

L4MultiMatch *
l4_multimatch_build(int n, const char *const *patterns, const int *lens, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 multimatch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4MultiMatch *mm = palloc0(sizeof(L4MultiMatch));
	L4Required *required = palloc(sizeof(L4Required));

	mm->cxt = cxt;
	mm->n = n;
	mm->patterns = palloc0(sizeof(Pattern) * Max(n, 1));
	mm->words = (n + 63) / 64;
	mm->group_members = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->no_literal = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->caseless = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->candidates = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->word = mm->words;
	mm->group_max = n;
	mm->next_review = FIRST_REVIEW;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mm->patterns[i].text = pnstrdup(patterns[i], lens[i]);
		mm->patterns[i].len = lens[i];
		add_pattern(mm, i, required);
	}
	pfree(required);
	l4_multimatch_make_scan(mm);
	MemoryContextSwitchTo(old);
	return mm;
}

void
l4_multimatch_free(L4MultiMatch *mm)
{
	MemoryContextDelete(mm->cxt);
}

L4Regex *
l4_multimatch_regex(L4MultiMatch *mm, int i)
{
	Pattern    *pattern = &mm->patterns[i];

	if (pattern->compiled == NULL)
		pattern->compiled = l4_regex_compile(pattern->text, pattern->len, false, mm->cxt);
	return pattern->compiled;
}

/* ---- scanning ---- */

/* A literal occurs: its patterns become candidates. */
static void
found_literal(void *arg, int number)
{
	L4MultiMatch *mm = (L4MultiMatch *) arg;
	LiteralUse *use = &mm->uses[number];
	int			n = use->n;

	if (use->line_no == mm->line_no)
		return;
	use->line_no = mm->line_no;
	mm->group_ns += use->group_ns;
	if (use->n_group > 0)
	{
		if (mm->group_ns > mm->ask_ns)
			mm->ask_group = true;
		else
			n += use->n_group;
	}
	mm->found |= (n > 0);
	for (int i = use->first; i < use->first + n; i++)
		set_bit(mm->candidates, mm->linked[i]);
}

/* Of the group's candidates only those stay that may match. */
static void
ask_group(L4MultiMatch *mm)
{
	mm->found = true;
	for (int w = 0; w < mm->words; w++)
		mm->candidates[w] &= ~mm->group_members[w];
	if (l4_dfa_run(mm->group, mm->line, mm->len, mm->candidates))
		return;
	for (int w = 0; w < mm->words; w++)
		mm->candidates[w] |= mm->group_members[w];
	l4_multimatch_dissolve(mm);
}

void
l4_multimatch_scan(L4MultiMatch *mm, const char *line, int len)
{
	mm->saving_ns += Max(mm->vain_ns - mm->ask_ns, 0);
	mm->vain_ns = 0;
	mm->line_no++;
	if (mm->line_no >= mm->next_review)
		l4_multimatch_review(mm);
	if (mm->found)
		memset(mm->candidates, 0, sizeof(uint64) * mm->words);
	mm->found = mm->any_no_literal;
	mm->line = line;
	mm->len = len;
	mm->ask_ns = AUTOMATON_NS * len;
	mm->group_ns = mm->no_literal_ns;
	mm->ask_group = (mm->group_ns > mm->ask_ns);
	if (mm->any_no_literal)
		memcpy(mm->candidates, mm->no_literal, sizeof(uint64) * mm->words);
	l4_gramscan(mm->scan, line, len, found_literal, mm);
	if (mm->any_caseless && l4_has_odd_letters(line, len))
	{
		/* which may match without the literals as we know them */
		mm->found = true;
		for (int w = 0; w < mm->words; w++)
			mm->candidates[w] |= mm->caseless[w];
	}
	if (mm->ask_group)
		ask_group(mm);
	mm->word = mm->found ? -1 : mm->words;
	mm->rest = 0;
}

/* Before a candidate's pattern is run, which may take long: is the rest there that it needs? */
static bool
has_needed(const L4MultiMatch *mm, Pattern *pattern)
{
	/* without case the literals are in lower case, and there is just one set */
	for (int k = 1; k < NEEDED_MAX && pattern->needed[k].n > 0; k++)
		if (!l4_any_literal_in(pattern->needed[k].items, pattern->needed[k].n, mm->line, mm->len))
		{
			pattern->needed[k].missing++;
			return false;
		}
	return true;
}

/* Run a candidate; the result is that of l4_regex_exec. */
static int
run(L4MultiMatch *mm, int i)
{
	Pattern    *pattern = &mm->patterns[i];
	bool		timed = (pattern->timed < TIMED_RUNS);
	instr_time	start;
	int			rc = 0;

	if (timed)
		INSTR_TIME_SET_CURRENT(start);
	if (has_needed(mm, pattern))
	{
		timed &= (pattern->compiled != NULL);
		rc = l4_regex_exec(l4_multimatch_regex(mm, i), mm->line, mm->len, 0);
	}
	if (timed)
	{
		instr_time	end;

		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		pattern->ns += INSTR_TIME_GET_DOUBLE(end) * 1e9;
		pattern->timed++;
	}
	if (rc == 0 && !pattern->in_group)
	{
		pattern->in_vain++;
		mm->vain_ns += l4_mean_ns(pattern);
	}
	return rc;
}

int
l4_multimatch_next(L4MultiMatch *mm, bool *gave_up)
{
	for (;;)
	{
		int			pattern;
		int			rc;

		while (mm->rest == 0)
		{
			if (mm->word + 1 >= mm->words)
			{
				mm->word = mm->words;
				return -1;
			}
			mm->word++;
			mm->rest = mm->candidates[mm->word];
		}
		pattern = mm->word * 64 + pg_rightmost_one_pos64(mm->rest);
		mm->rest &= mm->rest - 1;
		rc = run(mm, pattern);
		if (rc == 0)
			continue;
		*gave_up = (rc < 0);
		return pattern;
	}
}
