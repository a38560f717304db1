/*
 * rules.h
 *		The rules about lines, compiled: how a prefix looks, what reports an
 *		iteration. Made from the jsonb that l4._ruleset() returns.
 */
#ifndef L4_RULES_H
#define L4_RULES_H

#include "datatype/timestamp.h"
#include "utils/jsonb.h"
#include "utils/palloc.h"

#include "pcre/pcre.h"

/*
 * ---- timestamps.c ----
 * Time stamps of log lines: a template of to_timestamp() compiled to a
 * few steps, since to_timestamp() itself costs microseconds a line.
 */

typedef struct L4TsFormat L4TsFormat;

/* What the last time stamp was, so that the next one costs a comparison; one for each stream. Day and hour are -1 at first. */
typedef struct L4TsCache
{
	int			day;			/* Julian day of the last local date */
	int			hour;			/* and its hour */
	int64		base;			/* microseconds of that local hour, UTC */
	TimestampTz reference;		/* gives the year where the text has none */
} L4TsCache;

/* Compile a ts_format; raises ERRCODE_INVALID_PARAMETER_VALUE for one that is not understood. */
extern L4TsFormat *l4_ts_compile(const char *format, int len, MemoryContext cxt);

/*
 * Read a time stamp. False when the text does not fit the format or names no
 * point in time (seconds since boot).
 */
extern bool l4_ts_parse(const L4TsFormat *format, L4TsCache *cache,
						const char *text, int len, TimestampTz *ts);

/* ---- rules.c ---- */

/* More rules of one kind than this are refused. */
#define L4_MAX_RULES 4096

/* What the named groups of a line format are for. */
typedef enum L4Field
{
	L4_FIELD_TS,
	L4_FIELD_LEVEL,
	L4_FIELD_RANK,
	L4_FIELD_HOST,
	L4_FIELD_PID,
	L4_FIELD_TID,
	L4_FIELD_DEVICE,
	L4_FIELD_STREAM,
	L4_FIELD_LOCAL_RANK,		/* counts on each node anew */
	L4_FIELD_COMPONENT,
	L4_FIELD_PART,				/* P: the line goes on in the next one of its writer */
	L4_FIELD_MESSAGE
} L4Field;

#define L4_NFIELDS (L4_FIELD_MESSAGE + 1)

/* What a line says in a field; text is NULL when it says nothing. */
typedef struct L4Span
{
	const char *text;
	int			len;
} L4Span;

typedef struct L4Format
{
	int			id;				/* line_format.rule_id */
	L4Regex    *re;
	int16		group[L4_NFIELDS];	/* number of the group, 0 when the format has none */
	bool		launcher;		/* says who wrote (rank, host, pid, stream) and has no level: what follows has a prefix of its own */
	L4TsFormat *ts;				/* NULL when the format has no time stamp */
	char	   *prefix_pattern; /* the pattern without the .*)$ at its end, NULL when it ends in another way */
	L4Regex    *prefix;			/* compiled when it is first asked for; groups have the same numbers */
	bool		to_the_end;		/* the message ends with the line, however long that is */
	bool		digits_alike;	/* the pattern does not tell one digit from another */
} L4Format;

/* Groups of an iteration rule at most. */
#define L4_MAX_ITER_GROUPS 30

typedef struct L4IterRule
{
	int			id;				/* iteration_rule.rule_id */
	bool		done;			/* reports an iteration as finished, else names the one in flight */
	L4Regex    *re;
	int			ngroups;
	uint8	   *role;			/* of each group, by number; see iterrule.c */
	const char **name;			/* name of each group, by number */
} L4IterRule;

typedef struct L4Rules
{
	uint64		hash;			/* of the jsonb */
	int			nformats;		/* in order of priority */
	L4Format   *formats;
	int		   *by_byte[256];	/* numbers of the formats that may match a line with this first byte, in order; -1 ends */
	int			niters;			/* in order of priority */
	L4IterRule *iters;
	struct L4FoldMemo *memo;
	MemoryContext cxt;
	int			pins;
} L4Rules;

/*
 * The compiled form of a ruleset, valid until holder is reset or deleted. A
 * backend compiles each version of the rules once. Raises
 * ERRCODE_INVALID_PARAMETER_VALUE where the jsonb is no ruleset,
 * ERRCODE_INVALID_REGULAR_EXPRESSION for a bad pattern.
 */
extern L4Rules *l4_rules_get(Jsonb *ruleset, MemoryContext holder);

#endif							/* L4_RULES_H */
