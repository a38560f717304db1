/*
 * streamprefix.h
 *		Prefixes that no format describes: what a launcher or collector puts in
 *		front of each line of a stream to say where it comes from.
 */
#ifndef L4_STREAMPREFIX_H
#define L4_STREAMPREFIX_H

#include "base/codec.h"

#define L4_PREFIX_LINES	64		/* lines of a stream that prefixes are learnt from */
#define L4_PREFIX_WORDS	6		/* words that a prefix may have */
#define L4_PREFIX_TEXT	80		/* bytes that it may have */
#define L4_PREFIX_MAX		32		/* prefixes of a stream: as many as writers */

/* A start that lines have in common. */
typedef struct L4PrefixCount
{
	uint64		hash;
	uint8		lines;
	uint8		kinds;			/* different words that followed, as many as L4_PREFIX_KINDS */
	uint16		next[3];		/* their hashes */
} L4PrefixCount;

typedef struct L4Prefix
{
	uint8		len;
	char		text[L4_PREFIX_TEXT];	/* with the blank that ends it */
} L4Prefix;

/* What is known of a stream's prefixes. */
typedef struct L4StreamPrefix
{
	const char *name;			/* of the stream's node; not stored */
	int			name_len;
	bool		learning;
	int			lines;			/* learnt from */
	int			strangers;		/* of them, those that began like none before */
	int			writers;		/* first words that came again */
	int			ncounts;
	L4PrefixCount counts[L4_PREFIX_LINES * L4_PREFIX_WORDS];
	int			nprefixes;
	L4Prefix	prefixes[L4_PREFIX_MAX];
} L4StreamPrefix;

extern void l4_prefix_init(L4StreamPrefix *known);
extern void l4_prefix_code(L4StreamPrefix *known, L4Codec *codec);

/* Where the first words of a line end, behind one blank each. Returns how many there are. */
extern int	l4_prefix_words(const char *p, int len, int *ends);

/* Can a line's words up to number k, from 0, be a prefix? */
extern bool l4_prefix_candidate(const char *p, const int *ends, int k);

/* Learn from a line without known prefix; formatted: a known prefix begins behind the word. */
extern void l4_prefix_learn(L4StreamPrefix *known, const char *p, int len, int nwords, const int *ends, const bool *formatted);

/* A line that needs no prefix, or has one that is known. */
extern void l4_prefix_pass(L4StreamPrefix *known, bool stranger);

/* Bytes of the prefix that a line has, a learnt one or one with the node's name, 0 none; the rank that it names, -1 none. */
extern int	l4_prefix_length(const L4StreamPrefix *known, const char *p, int len, bool learnt, int *rank);

#endif							/* L4_STREAMPREFIX_H */
