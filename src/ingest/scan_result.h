/*
 * scan_result.h
 *		A scan result: what the scan of a piece of a stream hands to the leader.
 *
 * Its bytes go from one process of a server to another: they are not stored
 * and have no version.
 */
#ifndef L4_SCAN_RESULT_H
#define L4_SCAN_RESULT_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "base/codec.h"
#include "lines/iterrule.h"
#include "packed/packed.h"

/* times of lines are from 1990 up to 2200, both in microseconds from 2000 */
#define L4_FIRST_TS			(-INT64CONST(3653) * USECS_PER_DAY)
#define L4_END_TS			(INT64CONST(73049) * USECS_PER_DAY)
#define L4_NO_INT			PG_INT32_MIN
#define L4_COARSE			(-1)

/* A clock that was never set, or one gone wild, tells no time: the line keeps that of the line before. */
static inline bool
l4_plausible_ts(TimestampTz ts)
{
	return ts >= L4_FIRST_TS && ts < L4_END_TS;
}

#define L4_MAX_PARAMS		64	/* variable parts looked at in a shape */
#define L4_MAX_VALUE_LEN	128 /* bytes kept of a value */

/* A record: its first line, its shape, and where the stream was. */
typedef struct L4ResultRecord
{
	int64		line_no;
	TimestampTz ts;				/* L4_NO_TS none */
	int32		local;			/* number in the dictionary; -1 began in an earlier piece */
	int32		rank;			/* L4_NO_INT none */
	int32		context;		/* the rank whose stage and iteration it shares: its own, else the one that wrote last */
	int32		epoch;
	int32		iteration;		/* L4_NO_INT none */
} L4ResultRecord;

typedef struct L4ResultLine
{
	int64		line_no;
	TimestampTz ts;
	int32		rec;			/* number of its record */
	uint32		flaws;			/* of its rows: L4_FLAW_NULL, L4_FLAW_TIME, and L4_FLAW_REPEAT for each other row of the number */
} L4ResultLine;

#define L4_FLAW_NULL		1
#define L4_FLAW_TIME		2
#define L4_FLAW_REPEAT		4

/* Rows that were not taken as they are; told at the end of a call. */
typedef struct L4Flaws
{
	int64		repeated;		/* left out: another row has the number */
	int64		no_line;		/* NULL, taken as an empty line */
	int64		bad_time;		/* out of range, taken as none */
} L4Flaws;

typedef struct L4Value
{
	int64		first_line_no;	/* lowest */
	uint64		hash;
	char	   *text;
	int			len;
	const char *mask;			/* name of its kind; only in counts of a stream */
	int64		occurrences;
	TimestampTz first_ts;		/* lowest */
} L4Value;

/* Durations of one block of ten iterations */
typedef struct L4Block
{
	int32		block;
	int64		n;
	int64		sum_us;
} L4Block;

/* A variable part of a shape: some of its slots in a row */
typedef struct L4Param
{
	int			first_slot;
	int			last_slot;
	int			lead;			/* bytes before the first and behind the last slot that belong to it */
	int			trail;
	int			pos;			/* place among the delimiters */
	int			mask;
	const char *mask_name;
	double		unit_us;		/* what its number counts, in microseconds; 0 no duration, -1 the unit is in the value */
	bool		many;
	int			nvalues;
	int			values_size;
	L4Value    *values;
	int			nblocks;
	int			blocks_size;
	L4Block    *blocks;
} L4Param;

/* A word of a shape in a place that statistics made variable */
typedef struct L4OpenWord
{
	int			pos;			/* place among the delimiters */
	int			len;
	const char *text;
} L4OpenWord;

typedef struct L4Local
{
	uint64		hash;
	int			tag;
	int32		event_id;		/* 0 not known to the parser yet */
	int32		words_of;		/* the event whose own words the shape has but for those that follow; see
								 * l4_parser_words. L4_COARSE: the event is coarse, and no values are counted */
	int			nwords;
	L4OpenWord *words;
	int32		made_event;		/* of shapes just learnt: the event that this one made, 0 none */
	int			iteration_rule; /* 0 none */
	bool		is_stack;
	int64		occurrences;
	const char *msg;			/* only where the parser has to learn it */
	int			msg_len;
	const char *coarse;			/* the template, where another server has a coarse one for it; else NULL */
	char	   *text;			/* earliest record */
	int			text_len;
	TimestampTz ts;				/* its time, L4_NO_TS none */
	int64		line_no;		/* its first line */
	int64		first_line_no;	/* the lowest of all records */
	int			nparams;
	L4Param    *params;
	const L4IterMap *map;		/* scan only */
	int			number;			/* own */
} L4Local;

typedef struct L4IterEntry
{
	int32		epoch;
	int32		iteration;
	TimestampTz ts;
	double		duration_ms;	/* nan none */
	int			nmetrics;
	L4Metric   *metrics;
} L4IterEntry;

/* Part of a scan result: the settled records, or those open when the input ended. */
typedef struct L4ResultPart
{
	int			nlines;
	int			lines_size;
	L4ResultLine *lines;
	int			nrecs;
	int			recs_size;
	L4ResultRecord  *recs;
	int			nlocals;
	int			locals_size;
	L4Local   **locals;
	int			niters;
	int			iters_size;
	L4IterEntry *iters;
} L4ResultPart;

/* The front of a scan result: what can be read without decoding the parts. */
typedef struct L4ResultHead
{
	bool		full;			/* ended early: the dictionary was full */
	int			unknown;		/* shapes that the parser does not know; 0: the result was packed at once, see write_set.h */
	int			lines;			/* settled */
	int			open_lines;
	int64		unparsed;
	L4Flaws		flaws;			/* of settled lines */
	L4Flaws		open_flaws;
	int64		next_line_no;	/* where reading goes on */
	int64		timed_line_no;	/* last line with a time; -1 none */
	int32		last_done;		/* L4_NO_INT none */
	int32		max_in_flight;	/* L4_NO_INT none */
	int			nranks;			/* ranks seen so far */
	int32	   *ranks;
	int			njoinable;		/* first lines of records that lines of later pieces may join, ascending */
	int64	   *joinable;
	const char *state;			/* state for the next piece */
	int			state_len;
} L4ResultHead;

typedef struct L4ScanResult
{
	L4ResultHead	head;
	L4ResultPart	settled;
	L4ResultPart	open;
} L4ScanResult;

/* Put into the head what it says about the parts; encoding does so, too. */
extern void l4_result_count(L4ScanResult *scanned);
extern bytea *l4_result_encode(L4ScanResult *scanned);

/* Texts of what was decoded, and the state, stay where they are in the bytes. */
extern void l4_result_head(bytea *bytes, L4ResultHead *head, MemoryContext cxt);
extern L4ScanResult *l4_result_decode(bytea *bytes, MemoryContext cxt);

/* The head alone, in front of what others write. */
extern void l4_code_result_head(L4Codec *codec, L4ResultHead *head);

#endif							/* L4_SCAN_RESULT_H */
