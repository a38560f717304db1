/*
 * multimatch.c
 *		Many regular expressions over many lines, each line read once.
 *
 * Of every pattern we know literals of which one must occur (literal.c). They
 * are looked for all at once (gramscan.c); where one occurs, its patterns
 * become candidates. Only candidates are run, and those patterns of which no
 * literal is known.
 *
 * Some patterns are candidates on many lines and match none of them. Mostly
 * such a line lacks other literals that they need: a print of it
 * (lineprint.c) tells that for many literals at once. Where others are rarer
 * in the lines seen, those are scanned for instead of the first guess. What is
 * left has common words only, or none. What running those patterns costs is
 * measured, and where that is more than one pass over the line, they go into
 * a group that an automaton (lazydfa.c) can look at together: it tells which
 * of them may match, and only those are run. It is asked on lines where so
 * many of the group are left that this is faster. What is scanned for and
 * whether a pattern is in the group changes how long a line takes and nothing
 * else.
 */
#include "postgres.h"

#include "common/hashfn.h"
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

/* Lines are looked up in the memo from so many on: fewer would not pay for making it. */
#define MEMO_FROM 1024

/* Candidates of a folded line that lack a literal in the line itself: with more it is better scanned as it is. */
#define UNLIKE_MAX 2

/* ---- building ---- */

static void
copy_needed(Needed *needed, const L4LiteralSet *set)
{
	needed->n = set->n;
	needed->items = palloc(sizeof(L4Literal) * Max(set->n, 1));
	memcpy(needed->items, set->items, sizeof(L4Literal) * set->n);
	needed->marks = palloc(sizeof(L4Marks) * Max(set->n, 1));
	for (int i = 0; i < set->n; i++)
		needed->marks[i] = l4_lineprint_marks(set->items[i].text, set->items[i].len);
}

/* Read the literals of pattern i, whose text is in place. */
static void
add_pattern(L4MultiMatch *mm, int i, L4Required *required)
{
	Pattern    *pattern = &mm->patterns[i];

	l4_required_literals(pattern->text, pattern->len, required);
	pattern->caseless = required->caseless;
	pattern->tells_digits = required->tells_digits;
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
	mm->certain = palloc0(sizeof(uint64) * Max(mm->words, 1));
	mm->answer = palloc(sizeof(uint64) * Max(mm->words, 1));
	mm->word = mm->words;
	mm->group_max = n;
	mm->next_review = FIRST_REVIEW;
	mm->samples = palloc(sizeof(Sample) * SAMPLES);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mm->patterns[i].text = pnstrdup(patterns[i], lens[i]);
		mm->patterns[i].len = lens[i];
		add_pattern(mm, i, required);
	}
	pfree(required);
	mm->folded_scan.folded = true;
	l4_multimatch_make_scan(mm, &mm->scan);
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
	PatternScan *scan = mm->folded ? &mm->folded_scan : &mm->scan;
	LiteralUse *use = &scan->uses[number];

	if (use->line_no == mm->line_no)
		return;
	use->line_no = mm->line_no;
	mm->found = true;
	for (int i = use->first; i < use->first + use->n; i++)
		set_bit(mm->candidates, scan->linked[i]);
}

bool
l4_has_one(const Needed *needed, bool caseless, bool folded, const L4LinePrint *print,
		   const char *text, int len)
{
	for (int i = 0; i < needed->n; i++)
	{
		L4Literal	literal;

		if (print != NULL && !l4_lineprint_may_have(print, &needed->marks[i]))
			continue;
		if (caseless)
			return true;
		if (!folded && l4_literal_in(&needed->items[i], text, len))
			return true;
		if (!folded)
			continue;
		literal = needed->items[i];
		l4_fold_literal(&literal);
		if (l4_literal_in(&literal, text, len))
			return true;
	}
	return false;
}

/* The first literals that a candidate needs are there: are the others? */
static bool
has_needed(L4MultiMatch *mm, Pattern *pattern)
{
	/* where they nearly always are, look only now and then whether that is still so */
	if (pattern->others_common && !mm->folded && pattern->tried % 16 != 0)
		return true;
	if (pattern->needed[1].n == 0 || (pattern->caseless && mm->odd_letters))
		return true;
	if (!mm->printed && mm->len <= L4_PRINT_LINE_MAX)
	{
		l4_lineprint_make(&mm->print, mm->text, mm->len);
		mm->printed = true;
	}
	pattern->checked++;
	for (int k = 1; k < NEEDED_MAX && pattern->needed[k].n > 0; k++)
		if (!l4_has_one(&pattern->needed[k], pattern->caseless, mm->folded,
						mm->printed ? &mm->print : NULL, mm->text, mm->len))
		{
			pattern->rejected++;
			return false;
		}
	return true;
}

static void
clear_candidates(L4MultiMatch *mm)
{
	if (mm->found)
	{
		memset(mm->candidates, 0, sizeof(uint64) * mm->words);
		memset(mm->certain, 0, sizeof(uint64) * mm->words);
	}
	mm->found = false;
}

/* Of the group's candidates only those stay that may match. */
static void
ask_group(L4MultiMatch *mm)
{
	memset(mm->answer, 0, sizeof(uint64) * mm->words);
	if (l4_dfa_run(mm->group, mm->text, mm->len, mm->answer))
		for (int w = 0; w < mm->words; w++)
			mm->candidates[w] &= mm->answer[w] | ~mm->group_members[w];
	else
		l4_multimatch_dissolve(mm);
}

/* Of the candidates only those stay that may match, as far as that is cheaper to tell than to run them. */
static void
sift_candidates(L4MultiMatch *mm)
{
	double		group_ns = 0;

	for (int w = 0; w < mm->words; w++)
		for (uint64 bits = mm->candidates[w]; bits != 0; bits &= bits - 1)
		{
			int			i = w * 64 + pg_rightmost_one_pos64(bits);
			Pattern    *pattern = &mm->patterns[i];

			pattern->tried++;
			if (!has_needed(mm, pattern))
			{
				mm->candidates[w] &= ~(bits & -bits);
				continue;
			}
			pattern->in_vain++;
			if (pattern->in_group)
				group_ns += l4_mean_ns(pattern);
		}
	/* what is found out about a folded line is kept, and so worth more */
	if (group_ns > (mm->folded ? 0 : mm->ask_ns))
		ask_group(mm);
}

/* Keep a line now and then, until the next review; not at like distances, since logs repeat. */
static void
sample_line(L4MultiMatch *mm)
{
	uint64		distance = (mm->next_review - mm->last_review) / SAMPLES;

	if (mm->nsamples < SAMPLES)
	{
		Sample	   *sample = &mm->samples[mm->nsamples++];

		sample->len = Min(mm->len, SAMPLE_LEN);
		memcpy(sample->text, mm->line, sample->len);
		l4_lineprint_make(&sample->print, sample->text, sample->len);
	}
	mm->next_sample = mm->line_no + 1 + murmurhash32(mm->line_no) % (2 * distance);
}

/* The candidates of the line at hand, or of its folded form: those of all lines that have it, and perhaps more. */
static void
find_candidates(L4MultiMatch *mm, const char *text, bool folded)
{
	PatternScan *scan = folded ? &mm->folded_scan : &mm->scan;

	mm->text = text;
	mm->folded = folded;
	mm->printed = false;
	clear_candidates(mm);
	if (mm->any_no_literal)
	{
		mm->found = true;
		memcpy(mm->candidates, mm->no_literal, sizeof(uint64) * mm->words);
	}
	l4_gramscan(scan->scan, text, mm->len, found_literal, mm);
	mm->odd_letters = mm->any_caseless && l4_has_odd_letters(text, mm->len);
	if (mm->odd_letters)
	{
		/* which may match without the literals as we know them */
		mm->found = true;
		for (int w = 0; w < mm->words; w++)
			mm->candidates[w] |= mm->caseless[w];
	}
	if (mm->found)
		sift_candidates(mm);
}

/* May the pattern match the line itself, by its literals? */
static bool
is_like(const L4MultiMatch *mm, const Pattern *pattern)
{
	for (int k = 0; k < NEEDED_MAX && pattern->needed[k].n > 0; k++)
		if (!l4_has_one(&pattern->needed[k], pattern->caseless, false, NULL, mm->line, mm->len))
			return false;
	return true;
}

/*
 * Write down the candidates of the folded line: as the complement of its number
 * what matches all lines that have it, and not what matches none. False if
 * they are many, or patterns that ask for other digits: the note is that the
 * line itself must be scanned.
 */
static bool
note_candidates(L4MultiMatch *mm)
{
	int32		numbers[L4_NOTE_MAX];
	int			n = 0;
	int			unlike = 0;

	for (int w = 0; mm->found && w < mm->words; w++)
		for (uint64 bits = mm->candidates[w]; bits != 0; bits &= bits - 1)
		{
			int			i = w * 64 + pg_rightmost_one_pos64(bits);
			int			rc = 0;

			unlike += !is_like(mm, &mm->patterns[i]);
			if (!mm->patterns[i].tells_digits && n < L4_NOTE_MAX)
			{
				rc = l4_regex_exec(l4_multimatch_regex(mm, i), mm->line, mm->len, 0);
				if (rc == 0)
				{
					mm->candidates[w] &= ~(bits & -bits);
					continue;
				}
				if (rc > 0)
					set_bit(mm->certain, i);
			}
			if (n == L4_NOTE_MAX || unlike > UNLIKE_MAX)
			{
				l4_linememo_tell(mm->memo, NULL, L4_NOTE_NOTHING);
				return false;
			}
			numbers[n++] = rc > 0 ? ~i : i;
		}
	l4_linememo_tell(mm->memo, numbers, n);
	return true;
}

/* The candidates, from the note on lines with other digits; false if there is none of use. */
static bool
recall_candidates(L4MultiMatch *mm)
{
	const L4LineNote *note;

	if (mm->memo == NULL)
		mm->memo = l4_linememo_create(mm->cxt);
	if (!l4_linememo_is_worth(mm->memo, mm->len))
		return false;
	note = l4_linememo_find(mm->memo, mm->line, mm->len);
	if (note == NULL)
	{
		if (mm->folded_scan.cxt == NULL)
			l4_multimatch_make_scan(mm, &mm->folded_scan);
		find_candidates(mm, l4_linememo_folded(mm->memo), true);
		return note_candidates(mm);
	}
	if (note->n == L4_NOTE_NOTHING)
		return false;
	clear_candidates(mm);
	mm->ask_ns = 0;
	for (int i = 0; i < note->n; i++)
	{
		int			number = note->numbers[i];

		mm->found = true;
		if (number < 0)
			set_bit(mm->certain, ~number);
		else
			mm->patterns[number].in_vain++;
		set_bit(mm->candidates, number < 0 ? ~number : number);
	}
	return true;
}

void
l4_multimatch_scan(L4MultiMatch *mm, const char *line, int len)
{
	mm->saving_ns += Max(mm->vain_ns - mm->ask_ns, 0);
	mm->vain_ns = 0;
	mm->line_no++;
	if (mm->line_no >= mm->next_review)
		l4_multimatch_review(mm);
	mm->line = line;
	mm->len = len;
	mm->ask_ns = AUTOMATON_NS * len;
	if (mm->line_no >= mm->next_sample)
		sample_line(mm);
	if (mm->line_no < MEMO_FROM || !recall_candidates(mm))
		find_candidates(mm, line, false);
	mm->word = mm->found ? -1 : mm->words;
	mm->rest = 0;
}

/* Run a candidate; the result is that of l4_regex_exec. */
static int
run(L4MultiMatch *mm, int i)
{
	Pattern    *pattern = &mm->patterns[i];
	bool		timed = (pattern->timed < TIMED_RUNS && pattern->compiled != NULL);
	instr_time	start;
	int			rc;

	if (timed)
		INSTR_TIME_SET_CURRENT(start);
	rc = l4_regex_exec(l4_multimatch_regex(mm, i), mm->line, mm->len, 0);
	if (timed)
	{
		instr_time	end;

		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		pattern->ns += INSTR_TIME_GET_DOUBLE(end) * 1e9;
		pattern->timed++;
	}
	if (rc != 0)
		pattern->in_vain--;
	else if (!pattern->in_group)
		mm->vain_ns += l4_mean_ns(pattern);
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
		rc = has_bit(mm->certain, pattern) ? 1 : run(mm, pattern);
		if (rc == 0)
			continue;
		*gave_up = (rc < 0);
		return pattern;
	}
}
