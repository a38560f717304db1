/*
 * multimatch_int.h
 *		What the parts of multimatch share: patterns, the scan for their
 *		literals, and the line at hand.
 */
#ifndef L4_MULTIMATCH_INT_H
#define L4_MULTIMATCH_INT_H

#include "pcre/gramscan.h"
#include "pcre/lazydfa.h"
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
	MemoryContext scan_cxt;		/* what follows, up to linked */
	L4GramScan *scan;
	Link	   *links;			/* by literal */
	int			nlinks;
	int			links_size;
	LiteralUse *uses;			/* by literal */
	int			nuses;
	int		   *linked;			/* patterns */
	double		scan_ns;		/* what making all this took */

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
	uint64	   *candidates;
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

/* Does one of these literals occur in the line? Without case the answer may be yes where it is no. The print may be NULL. */
extern bool l4_has_one(const Needed *needed, bool caseless, const L4LinePrint *print,
					   const char *line, int len);

/* multimatch_scan.c: look for the first set of literals of each pattern */
extern void l4_multimatch_make_scan(L4MultiMatch *mm);

/* multimatch_group.c: choose the group anew; do without it, since it had too many states */
extern void l4_multimatch_review(L4MultiMatch *mm);
extern void l4_multimatch_dissolve(L4MultiMatch *mm);

#endif							/* L4_MULTIMATCH_INT_H */
