/*
 * multimatch.c
 *		Many regular expressions over many lines, each line read once.
 *
 * Each pattern has a window, a part of which one text occurs in every line that
 * it matches (regexwindow.c). An automaton (lazydfa.c) looks for those of all
 * patterns at once. Patterns that have theirs in the line are candidates, and so
 * are those without one. PCRE2 runs the candidates and nothing else.
 *
 * Two things make candidates fewer. Patterns that were often run in vain form
 * a group, of which another automaton has the whole patterns: it tells which of
 * them may match the line. And what was found out about a line is noted for all
 * lines that differ from it in digits only (base/foldmemo.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/foldmemo.h"
#include "pcre/lazydfa.h"
#include "pcre/multimatch.h"
#include "pcre/regextree.h"

/* The group is chosen after this many lines, and again whenever their number has doubled. */
#define FIRST_REVIEW 64

/* A pattern run in vain so often since the last review may join the group. */
#define OFTEN 8

/* Those who join must have been run in vain on one line of so many. */
#define WORTH_LINES 16

/* From so many candidates of the group on, asking the automaton is faster than running them. */
#define WORTH_ASKING 2

/* Lines are looked up in the memo from this one on: fewer would not pay for making it. */
#define MEMO_FROM 1024

/* Lines that are kept, a power of two, and how many look-ups cost as much as a note on one. */
#define MEMO_LINES 4096
#define MEMO_COST 8

/* Candidates in a note: with more, a note is of no use. */
#define NOTE_MAX 16

/* What is known of all lines that differ in their digits only. */
typedef struct LineNote
{
	int			n;				/* candidates; -1: each line is to be scanned itself */
	int32		candidates[NOTE_MAX];	/* as the complement of its number one that matches all these lines */
} LineNote;

typedef struct ManyPattern
{
	char	   *text;
	int			len;
	L4Regex    *compiled;		/* NULL until first run */
	bool		tells_digits;	/* else it matches all lines that differ in digits only, or none */
	bool		unfit;			/* for the group */
	int64		in_vain;		/* runs without a match since the last review */
} ManyPattern;

struct L4MultiMatch
{
	MemoryContext cxt;
	int			n;
	ManyPattern *patterns;
	L4Nfa	   *windows;		/* of all patterns that have one */
	L4Dfa	   *windows_in[2];	/* a line, all lines that differ from it in digits only; NULL not yet */
	L4FoldMemo *memo;			/* of LineNote; NULL: too few lines so far */
	MemoryContext group_cxt;
	L4Dfa	   *group;			/* NULL: none */
	uint64		line_no;
	uint64		last_review;
	uint64		next_review;

	int			words;			/* of the sets below */
	uint64	   *always;			/* patterns without a window */
	uint64	   *members;		/* of the group */

	/* the line at hand */
	const char *line;
	int			len;
	uint64	   *candidates;
	uint64	   *certain;		/* candidates that are known to match */
	bool		found;			/* these two are not empty */
	uint64	   *answer;			/* for one question at a time */
	int			word;			/* where next() stands */
	uint64		rest;			/* its bits not yet returned */
};

/* ---- building ---- */

/* Add a pattern to an automaton: its window, or all of it. False when it has none, or is not fit. */
static bool
add_pattern(L4MultiMatch *mm, L4Nfa *nfa, int i, bool window)
{
	ManyPattern *pattern = &mm->patterns[i];
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 pattern tree", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4RegexNode *tree = l4_regex_tree(pattern->text, pattern->len, &pattern->tells_digits);
	bool		added;

	CHECK_FOR_INTERRUPTS();
	if (tree != NULL && window)
		tree = l4_regex_window(tree);
	added = tree != NULL && l4_nfa_add(nfa, tree, i);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return added;
}

L4MultiMatch *
l4_multimatch_build(int n, const char *const *patterns, const int *lens, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 multimatch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4MultiMatch *mm = palloc0(sizeof(L4MultiMatch));

	mm->cxt = cxt;
	mm->n = n;
	mm->patterns = palloc0(sizeof(ManyPattern) * Max(n, 1));
	mm->words = Max(L4_PATTERNSET_WORDS(n), 1);
	mm->always = palloc0(sizeof(uint64) * mm->words);
	mm->members = palloc0(sizeof(uint64) * mm->words);
	mm->candidates = palloc0(sizeof(uint64) * mm->words);
	mm->certain = palloc0(sizeof(uint64) * mm->words);
	mm->answer = palloc(sizeof(uint64) * mm->words);
	mm->word = mm->words;
	mm->next_review = FIRST_REVIEW;
	mm->windows = l4_nfa_create();
	mm->group_cxt = AllocSetContextCreate(cxt, "l4 group of patterns", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < n; i++)
	{
		mm->patterns[i].text = pnstrdup(patterns[i], lens[i]);
		mm->patterns[i].len = lens[i];
		if (!add_pattern(mm, mm->windows, i, true))
			l4_patternset_add(mm->always, i);
	}
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
	ManyPattern *pattern = &mm->patterns[i];

	if (pattern->compiled == NULL)
		pattern->compiled = l4_regex_compile(pattern->text, pattern->len, 0, mm->cxt);
	return pattern->compiled;
}

/* ---- the group ---- */

static void
free_group(L4MultiMatch *mm)
{
	mm->group = NULL;
	MemoryContextReset(mm->group_cxt);
	memset(mm->members, 0, sizeof(uint64) * mm->words);
}

/* Make an automaton of these patterns, as far as they are fit. */
static void
make_group(L4MultiMatch *mm, const int32 *patterns, int n)
{
	MemoryContext old;
	L4Nfa	   *nfa;

	free_group(mm);
	old = MemoryContextSwitchTo(mm->group_cxt);
	nfa = l4_nfa_create();
	for (int i = 0; i < n; i++)
	{
		mm->patterns[patterns[i]].unfit = !add_pattern(mm, nfa, patterns[i], false);
		if (!mm->patterns[patterns[i]].unfit)
			l4_patternset_add(mm->members, patterns[i]);
	}
	if (nfa->nstarts > 0)
		mm->group = l4_dfa_create(nfa, true, mm->group_cxt);
	MemoryContextSwitchTo(old);
	/* notes on lines may have fewer candidates now */
	if (mm->memo != NULL)
		l4_foldmemo_clear(mm->memo);
}

/* Let patterns that were often run in vain join the group. */
static void
review_group(L4MultiMatch *mm)
{
	int32	   *joining = palloc(sizeof(int32) * Max(mm->n, 1));
	int			n = 0;
	uint64		saved = 0;		/* runs in vain, if they had been in the group */

	for (int i = 0; i < mm->n; i++)
	{
		ManyPattern *pattern = &mm->patterns[i];
		bool		member = l4_patternset_has(mm->members, i);

		if (member || (!pattern->unfit && pattern->in_vain >= OFTEN))
			joining[n++] = i;
		if (!member && !pattern->unfit && pattern->in_vain >= OFTEN)
			saved += pattern->in_vain;
		pattern->in_vain = 0;
	}
	if (saved * WORTH_LINES > mm->line_no - mm->last_review)
		make_group(mm, joining, n);
	pfree(joining);
	mm->last_review = mm->line_no;
	mm->next_review = mm->line_no * 2;
}

/* Of the group's candidates only those stay that may match. */
static void
ask_group(L4MultiMatch *mm)
{
	memset(mm->answer, 0, sizeof(uint64) * mm->words);
	if (l4_dfa_run(mm->group, mm->line, mm->len, false, mm->answer))
		for (int w = 0; w < mm->words; w++)
			mm->candidates[w] &= mm->answer[w] | ~mm->members[w];
	else
	{
		/* these patterns and lines make too many states: without every other one a smaller group may form later */
		bool		leaves = true;

		for (int i = 0; i < mm->n; i++)
			if (l4_patternset_has(mm->members, i))
			{
				mm->patterns[i].unfit = leaves;
				leaves = !leaves;
			}
		free_group(mm);
	}
}

/* ---- candidates of a line ---- */

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

/* Find the candidates of the line; with any_digits those of all lines that differ from it in digits only. */
static void
find_candidates(L4MultiMatch *mm, bool any_digits)
{
	L4Dfa	  **dfa = &mm->windows_in[any_digits];
	int			asked = 0;

	clear_candidates(mm);
	memcpy(mm->candidates, mm->always, sizeof(uint64) * mm->words);
	if (*dfa == NULL)
		*dfa = l4_dfa_create(mm->windows, any_digits, mm->cxt);
	l4_dfa_run(*dfa, mm->line, mm->len, true, mm->candidates);
	for (int w = 0; w < mm->words; w++)
	{
		mm->found |= mm->candidates[w] != 0;
		asked += pg_popcount64(mm->candidates[w] & mm->members[w]);
	}
	/* an answer that is noted is worth more */
	if (mm->group != NULL && asked >= (any_digits ? 1 : WORTH_ASKING))
		ask_group(mm);
}

static void
put_note(L4MultiMatch *mm, const LineNote *note)
{
	char	   *key;
	LineNote   *kept = l4_foldmemo_add(mm->memo, mm->line, mm->len, false, sizeof(LineNote), &key);

	if (kept == NULL)
		return;
	l4_fold_digits(key, mm->len);
	*kept = *note;
}

/*
 * Note the candidates of all lines that differ from this one in digits only.
 * Those that do not tell digits apart are run now, and those that match no
 * such line are left out. False if the note says to scan each line itself.
 */
static bool
note_candidates(L4MultiMatch *mm)
{
	LineNote	note = {0};

	for (int w = 0; mm->found && w < mm->words; w++)
		for (uint64 bits = mm->candidates[w]; bits != 0; bits &= bits - 1)
		{
			int			i = w * 64 + pg_rightmost_one_pos64(bits);
			int			rc = -1;

			if (!mm->patterns[i].tells_digits && note.n < NOTE_MAX)
				rc = l4_regex_exec(l4_multimatch_regex(mm, i), mm->line, mm->len, 0);
			if (rc == 0)
			{
				l4_patternset_remove(mm->candidates, i);
				continue;
			}
			if (rc > 0)
				l4_patternset_add(mm->certain, i);
			if (note.n == NOTE_MAX)
			{
				note.n = -1;
				put_note(mm, &note);
				return false;
			}
			note.candidates[note.n++] = rc > 0 ? ~i : i;
		}
	put_note(mm, &note);
	return true;
}

/* The candidates by a note on the line, which is made if there is none; false if it is of no use. */
static bool
recall_candidates(L4MultiMatch *mm)
{
	const LineNote *note;

	if (mm->memo == NULL)
		mm->memo = l4_foldmemo_create(MEMO_LINES, MEMO_COST, false, mm->cxt);
	note = l4_foldmemo_find(mm->memo, mm->line, mm->len);
	if (note == NULL && !l4_foldmemo_wants(mm->memo))
		return false;
	if (note == NULL)
	{
		find_candidates(mm, true);
		return note_candidates(mm);
	}
	if (note->n < 0)
		return false;
	clear_candidates(mm);
	mm->found = (note->n > 0);
	for (int i = 0; i < note->n; i++)
	{
		int			number = note->candidates[i];

		if (number < 0)
		{
			number = ~number;
			l4_patternset_add(mm->certain, number);
		}
		l4_patternset_add(mm->candidates, number);
	}
	return true;
}

void
l4_multimatch_scan(L4MultiMatch *mm, const char *line, int len)
{
	mm->line_no++;
	if (mm->line_no >= mm->next_review)
		review_group(mm);
	mm->line = line;
	mm->len = len;
	if (mm->line_no < MEMO_FROM || !recall_candidates(mm))
		find_candidates(mm, false);
	mm->word = mm->found ? -1 : mm->words;
	mm->rest = 0;
}

/* Run a candidate; the result is that of l4_regex_exec. */
static int
run_candidate(L4MultiMatch *mm, int i)
{
	int			rc;

	if (l4_patternset_has(mm->certain, i))
		return 1;
	rc = l4_regex_exec(l4_multimatch_regex(mm, i), mm->line, mm->len, 0);
	if (rc == 0)
		mm->patterns[i].in_vain++;
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
		rc = run_candidate(mm, pattern);
		if (rc == 0)
			continue;
		*gave_up = (rc < 0);
		return pattern;
	}
}
