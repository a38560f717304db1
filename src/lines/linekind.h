/*
 * linekind.h
 *		What a line looks like to the one who puts records together.
 */
#ifndef L4_LINEKIND_H
#define L4_LINEKIND_H

#include "lines/lineformat.h"

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

#endif							/* L4_LINEKIND_H */
