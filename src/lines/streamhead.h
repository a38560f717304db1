/*
 * streamhead.h
 *		Heads that no format describes: what a launcher or collector puts in
 *		front of each line of a stream to say where it comes from.
 */
#ifndef L4_STREAMHEAD_H
#define L4_STREAMHEAD_H

#include "lib/stringinfo.h"

#include "base/bytes.h"

#define L4_HEAD_LINES	64		/* lines of a stream that heads are learnt from */
#define L4_HEAD_WORDS	3		/* words that a head may have */
#define L4_HEAD_TEXT	80		/* bytes that it may have */
#define L4_HEAD_MAX		32		/* heads of a stream: as many as writers */

/* A start that lines have in common. */
typedef struct L4HeadCount
{
	uint64		hash;
	uint8		lines;
	uint8		kinds;			/* different words that followed, as many as L4_HEAD_KINDS */
	uint16		next[3];		/* their hashes */
} L4HeadCount;

typedef struct L4Head
{
	uint8		len;
	char		text[L4_HEAD_TEXT];	/* with the blank that ends it */
} L4Head;

/* What is known of a stream's heads. */
typedef struct L4StreamHead
{
	const char *name;			/* of the stream's node; not stored */
	int			name_len;
	bool		learning;
	int			lines;			/* learnt from */
	int			strangers;		/* of them, those that began like none before */
	int			writers;		/* first words that came again */
	int			ncounts;
	L4HeadCount counts[L4_HEAD_LINES * L4_HEAD_WORDS];
	int			nheads;
	L4Head		heads[L4_HEAD_MAX];
} L4StreamHead;

extern void l4_head_init(L4StreamHead *head);
extern void l4_head_write(const L4StreamHead *head, StringInfo buf);
extern void l4_head_read(L4StreamHead *head, L4ByteReader *reader);

/* Where the first words of a line end, behind one blank each. Returns how many there are. */
extern int	l4_head_words(const char *p, int len, int *ends);

/* Can a line's words up to number k, from 0, be a head? */
extern bool l4_head_candidate(const char *p, const int *ends, int k);

/* Learn from a line without known header; formatted: a known header begins behind the word. */
extern void l4_head_learn(L4StreamHead *head, const char *p, int len, int nwords, const int *ends, const bool *formatted);

/* A line that needs no head, or has one that is known. */
extern void l4_head_pass(L4StreamHead *head, bool stranger);

/* Bytes of the head that a line has, 0 none; the rank that it names, -1 none. */
extern int	l4_head_length(const L4StreamHead *head, const char *p, int len, bool learnt_only, int *rank);

#endif							/* L4_STREAMHEAD_H */
