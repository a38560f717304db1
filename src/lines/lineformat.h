/*
 * lineformat.h
 *		Takes the prefix off a raw line: time stamp, level, rank, host, process,
 *		component; what remains is the message.
 *
 * Any bytes are a line: encoding damage, megabytes, nothing at all. What no
 * rule knows is a message without prefix.
 */
#ifndef L4_LINEFORMAT_H
#define L4_LINEFORMAT_H

#include "datatype/timestamp.h"

#include "lines/rules.h"

/* Levels are the tags of events. */
#define L4_LEVEL_NONE		0
#define L4_LEVEL_DEBUG		1
#define L4_LEVEL_INFO		2
#define L4_LEVEL_WARNING	3
#define L4_LEVEL_ERROR		4
#define L4_LEVEL_CRITICAL	5

/* Launcher prefixes, collectors' wrappers and the prefix itself: at most so many nested. */
#define L4_MAX_PEEL 6

/* Ranks have at most eight digits; greater numbers are none. */
#define L4_MAX_RANK 99999999

/* format_id of lines that are data */
#define L4_FORMAT_JSON		(-1)
#define L4_FORMAT_KEY_VALUE	(-2)
/* and of those with a prefix that no format describes, only the stream has */
#define L4_FORMAT_PREFIX		(-3)

struct L4StreamPrefix;
typedef struct L4LineReader L4LineReader;

/*
 * A line, taken apart. Pointers are into the raw line or the reader's buffers
 * and valid until the next l4_line_peel; pointers of absent parts are NULL.
 */
typedef struct L4Line
{
	const char *text;			/* the whole line without its colours, of one that a collector wrapped in JSON what it wrapped */
	int			text_len;
	const char *msg;			/* no prefix, no ANSI escapes, no blanks at its ends */
	int			msg_len;
	int			indent;			/* blanks in front of the message, a tab counts 4 */
	bool		has_ts;
	TimestampTz ts;
	int			level;			/* L4_LEVEL_… */
	int			rank;			/* -1 none */
	int64		pid;			/* -1 none */
	const char *host;
	int			host_len;
	const char *component;
	int			component_len;
	int			format_id;		/* rule_id of the innermost format, 0 none, or L4_FORMAT_… */
	bool		logged;			/* has the prefix of a logger, not only those of launchers */
	const char *bar;			/* the progress bar in front of the message, painted over or not */
	int			bar_len;
	uint64		key;			/* who wrote it, as far as launcher prefixes tell; 0 they do not */
	const char *part;			/* what follows a prefix that says whether the line is whole; NULL none does */
	int			part_len;
	uint64		part_key;		/* key up to there */
	bool		cut;			/* the rest of the line is in the next one of part_key */
} L4Line;

/*
 * A reader for one stream at a time, whose prefixes are learnt on the way (known; NULL: a line without a stream);
 * reference, at first now, gives the year to time stamps without one.
 */
extern L4LineReader *l4_line_reader_create(L4Rules *rules, struct L4StreamPrefix *known, MemoryContext cxt);
extern void l4_line_reader_reference(L4LineReader *reader, TimestampTz reference);

/* The result depends on the rules, the reference, the prefixes of the stream and this line alone. */
extern void l4_line_peel(L4LineReader *reader, const char *line, int len, L4Line *out);

/* Level of a word or number ("WARN", "E", "error", "30"), L4_LEVEL_NONE when it is none. */
extern int	l4_level_of(const char *word, int len);
extern const char *l4_level_name(int level);	/* NULL for L4_LEVEL_NONE */

/* Level of a message without prefix, by how it starts. */
extern int	l4_level_guess(const char *msg, int len);

/* Length of the exception's name that the message starts with ("torch.OutOfMemoryError"), 0 none. */
extern int	l4_exception_name(const char *msg, int len);

#endif							/* L4_LINEFORMAT_H */
