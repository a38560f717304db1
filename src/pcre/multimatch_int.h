/*
 * multimatch_int.h
 *		What the parts of multimatch share: patterns, the scan for their
 *		literals, and the line at hand.
 */
#ifndef L4_MULTIMATCH_INT_H
#define L4_MULTIMATCH_INT_H

#include "pcre/gramscan.h"
#include "pcre/lazydfa.h"
#include "pcre/linememo.h"
#include "pcre/lineprint.h"
#include "pcre/literal.h"
#include "pcre/multimatch.h"

/* One of these literals occurs in every line that the pattern matches. */
typedef struct Needed
{
	int			n;
	L4Literal  *items;
	L4Marks    *marks;			/* of each item in a print */
} Needed;

#define NEEDED_MAX (1 + L4_LITERAL_ALSO)

typedef struct Pattern
{
	char	   *text;
	int			len;
	L4Regex    *compiled;		/* NULL until first run */
	Needed		needed[NEEDED_MAX]; /* the first one is scanned for; n is 0 behind the last */
	bool		caseless;		/* the literals are */
	bool		tells_digits;	/* else it matches all lines of a folded text, or none */
	bool		in_group;
	bool		unfit;			/* for the group */
	int			timed;			/* runs of which ns is the sum */
	double		ns;
	int64		tried;			/* how often the first one's literals occurred since the last review */
	int64		in_vain;		/* and the others' as well, as far as they were looked for, but the pattern did not match */
	int64		checked;		/* how often the others were looked for */
	int64		rejected;		/* and not there */
	bool		others_common;	/* nearly always they are */
} Pattern;

/* A literal and a pattern that has it. */
typedef struct Link
{
	int			literal;
	int			pattern;
} Link;

/* The patterns of a literal. */
typedef struct LiteralUse
{
	int			first;			/* in mm->linked */
	int			n;
	uint64		line_no;		/* where it was found last */
} LiteralUse;

/* Which patterns have one of the literals scanned for: in a line, or in a folded one (linememo.h). */
typedef struct PatternScan
{
	MemoryContext cxt;			/* of all this; NULL: not made */
	bool		folded;
	L4GramScan *scan;
	Link	   *links;			/* by literal */
	int			nlinks;
	int			links_size;
	LiteralUse *uses;			/* by literal */
	int			nuses;
	int		   *linked;			/* patterns */
	double		ns;				/* what making it took */
} PatternScan;

/* The beginnings of some lines, kept to see how common literals are. */
#define SAMPLES 64
#define SAMPLE_LEN 512

typedef struct Sample
{
	int			len;
	char		text[SAMPLE_LEN];
	L4LinePrint print;
} Sample;

struct L4MultiMatch
{
	MemoryContext cxt;
	int			n;
	Pattern    *patterns;
	PatternScan scan;
	PatternScan folded_scan;	/* made when first needed */
	L4LineMemo *memo;			/* candidates of folded lines; NULL: too few lines so far */

	L4Dfa	   *group;			/* NULL: none */
	int			group_max;		/* patterns it may have */
	uint64		line_no;
	uint64		next_review;
	uint64		last_review;
	double		saving_ns;		/* what an automaton would have saved since then */
	Sample	   *samples;		/* of lines since then */
	int			nsamples;
	uint64		next_sample;

	int			words;			/* of the bitmaps below */
	uint64	   *group_members;
	uint64	   *no_literal;		/* patterns without a literal */
	uint64	   *caseless;		/* patterns for which K and S have other spellings */
	bool		any_no_literal;
	bool		any_caseless;

	/* the line at hand */
	const char *line;
	int			len;
	const char *text;			/* what candidates are found in: the line, or its folded form */
	bool		folded;
	uint64	   *candidates;
	uint64	   *certain;		/* candidates that are known to match */
	uint64	   *answer;			/* of the automaton */
	bool		found;			/* candidates has a bit */
	bool		odd_letters;	/* literals without case may be spelled otherwise */
	bool		printed;
	L4LinePrint print;
	double		ask_ns;			/* what asking the automaton takes */
	double		vain_ns;		/* what patterns outside of the group took that did not match */
	int			word;			/* where next() stands */
	uint64		rest;			/* its bits not yet returned */
};

/* A literal as it is in folded text. */
static inline void
l4_fold_literal(L4Literal *literal)
{
	for (int i = 0; i < literal->len; i++)
		literal->text[i] = l4_fold_digit(literal->text[i]);
}

static inline void
set_bit(uint64 *bits, int i)
{
	bits[i >> 6] |= UINT64CONST(1) << (i & 63);
}

static inline bool
has_bit(const uint64 *bits, int i)
{
	return (bits[i >> 6] >> (i & 63)) & 1;
}

/* What a run of the pattern takes, in nanoseconds; 0 when not known. */
static inline double
l4_mean_ns(const Pattern *pattern)
{
	return pattern->ns / Max(pattern->timed, 1);
}

/* Does one of these literals occur in the text? Without case the answer may be yes where it is no. The print may be NULL. */
extern bool l4_has_one(const Needed *needed, bool caseless, bool folded, const L4LinePrint *print,
					   const char *text, int len);

/* multimatch_scan.c: look for the first set of literals of each pattern */
extern void l4_multimatch_make_scan(L4MultiMatch *mm, PatternScan *scan);
extern void l4_multimatch_free_scan(PatternScan *scan);

/* multimatch_group.c: choose the group anew; do without it, since it had too many states */
extern void l4_multimatch_review(L4MultiMatch *mm);
extern void l4_multimatch_dissolve(L4MultiMatch *mm);

#endif							/* L4_MULTIMATCH_INT_H */
