/*
 * line_int.h
 *		What the files that take a line apart share.
 */
#ifndef L4_LINE_INT_H
#define L4_LINE_INT_H

#include "lib/stringinfo.h"

#include "base/foldmemo.h"
#include "lines/lineformat.h"
#include "lines/rules.h"

/* ---- terminal.c: what a terminal would show of a raw line, and progress bars on it ---- */

/* What carriage returns wiped out of a line. Pointers as in the text that is left; NULL none. */
typedef struct L4Wiped
{
	const char *first;			/* what stood in front of the first carriage return */
	int			first_len;
	const char *bar;			/* the last progress bar that was painted over */
	int			bar_len;
} L4Wiped;

/* Take off escapes and what was painted over; plain holds the text where it had escapes. */
extern void l4_terminal_show(StringInfo plain, const char **p, int *len, L4Wiped *wiped);

/* Bytes of the progress bar that the text begins with, 0 none. */
extern int	l4_bar_length(const char *p, int len);

/* Seconds that a bar says have passed since its loop began, -1 when it does not. */
extern int	l4_bar_elapsed(const char *bar, int len);

/* ---- structured.c: lines that are data: a JSON object, or logfmt (key=value with quotes) ---- */

/*
 * What the keys of a structured line say. Texts are in the line or in buf. The
 * message is followed by the members that have no other meaning, as key=value.
 */
typedef struct L4Structured
{
	L4Span		field[L4_NFIELDS];
	bool		wrapper;		/* a log collector's envelope: its message is a raw line */
} L4Structured;

/*
 * Take a line apart if it is one JSON object (or is logfmt). False when it is
 * not. buf holds what had to be unescaped; it is emptied first.
 */
extern bool l4_json_line(const char *line, int len, StringInfo buf, L4Structured *out);
extern bool l4_logfmt_line(const char *line, int len, StringInfo buf, L4Structured *out);

/*
 * ---- prefixmemo.c ----
 * Remembers which format the start of a line has, so that nearly no line
 * needs a regular expression.
 */

#define L4_PREFIX_MEMO_PLACES	2048
#define L4_PREFIX_MEMO_COST		16	/* look-ups that an entry is worth: it runs expressions on part of the line */

/* Where the fields of a prefix are: offsets in the line, end 0 when absent. */
typedef struct L4Fields
{
	uint16		start[L4_NFIELDS];
	uint16		end[L4_NFIELDS];
	uint8		level;			/* what the field level says */
} L4Fields;

/* What is known of a line. */
typedef struct L4KnownPrefix
{
	int			format;			/* the first that matches, -1 none */
	L4Fields	fields;
} L4KnownPrefix;

/* Fields of the last match of re, which has the groups of the format. */
extern void l4_memo_fields(const L4Format *format, L4Regex *re, const char *p, L4Fields *fields);

/*
 * Remember what all formats together made of a line: the number of the first
 * that matches, which has just been run on it, or -1.
 */
extern void l4_memo_learn(L4FoldMemo *memo, L4Rules *rules, const char *p, int len, int format);

/* ---- linekind.c: what a line looks like to the one who puts records together ---- */

typedef enum L4LineKind
{
	L4_LINE_TEXT,
	L4_LINE_BLANK,
	L4_LINE_TRACEBACK,			/* Traceback (most recent call last):, or the top of a box with that title */
	L4_LINE_BOX,				/* in a box as the Python library rich draws around tracebacks, or its bottom */
	L4_LINE_CHAIN,				/* During handling of the above exception … */
	L4_LINE_FILE,				/* File "x.py", line 3, in f */
	L4_LINE_SYNTAX,				/* File "x.py", line 3: of a syntax error */
	L4_LINE_CARET,				/* ^^^^ or ~~~^ */
	L4_LINE_GROUP_HEAD,			/* + Exception Group Traceback (most recent call last): */
	L4_LINE_GROUP,				/* | … or +---- of an exception group */
	L4_LINE_FATAL_PYTHON,		/* Fatal Python error: … */
	L4_LINE_THREAD,				/* Thread 0x… (most recent call first): */
	L4_LINE_MODULES,			/* Extension modules: … */
	L4_LINE_TERMINATE,			/* terminate called … */
	L4_LINE_WHAT,				/* what():  … */
	L4_LINE_GLOG_ABORT,			/* *** Aborted at … */
	L4_LINE_GLOG_SIGNAL,		/* *** SIGSEGV (@0x0) received … */
	L4_LINE_RAISED,				/* Exception raised from … (most recent call first): */
	L4_LINE_C_FRAME,			/* frame #0: …, @ 0x…, #1 0x… */
	L4_LINE_JAVA_FRAME,			/* at a.b.C(D.java:1), ... 12 more */
	L4_LINE_CAUSED,				/* Caused by: … */
	L4_LINE_RUST_PANIC,			/* thread 'main' panicked at … */
	L4_LINE_RUST_NOTE,			/* note: run with …, stack backtrace: */
	L4_LINE_GO_PANIC,			/* panic: …, fatal error: … */
	L4_LINE_GO_FRAME,			/* goroutine 1 [running]:, created by …, exit status 2 */
	L4_LINE_USAGE,				/* usage: prog … */
	L4_LINE_RULE,				/* ====== or ****** */
	L4_LINE_HINT				/* text that CUDA and HIP errors go on with */
} L4LineKind;

#define L4_LINE_KINDS (L4_LINE_HINT + 1)

extern L4LineKind l4_line_kind(const L4Line *line);

/* key : value, key = value, key .... value, "key": value: settings that stand for themselves */
extern bool l4_line_is_setting(const char *msg, int len);

/* Could the line be the exception at the end of a traceback? */
extern bool l4_line_is_exception(const char *msg, int len);

/* An "exception" by name alone; warnings are not. */
extern bool l4_line_names_error(const char *msg, int len);

#endif							/* L4_LINE_INT_H */
