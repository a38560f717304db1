/*
 * diag_frames.h: the frames of stacks in a text, and whose code they are in. Pure: knows no Datum.
 *
 * Read are tracebacks of Python (its own, faulthandler's, rich's boxes), stacks of Java, and of C++ as torch, glog, backtrace_symbols, gdb and
 * sanitizers print them. What stands before a frame in its line (a launcher's prefix, a box) is passed over.
 */
#ifndef L4_DIAG_FRAMES_H
#define L4_DIAG_FRAMES_H

#include "postgres.h"

typedef enum L4FrameOwner
{
	L4_FRAME_UNKNOWN,
	L4_FRAME_USER,				/* neither installed nor part of the language */
	L4_FRAME_LIBRARY,			/* installed: package tells which */
	L4_FRAME_STDLIB				/* language, its library, the system's C library */
} L4FrameOwner;

typedef struct L4Text
{
	const char *data;			/* into the text that was read; NULL: not told */
	int			len;
} L4Text;

typedef struct L4Frame
{
	int			stack;			/* from 1; the first one is where the exception came from */
	int			place;			/* in its stack, 1 = innermost */
	L4FrameOwner owner;
	L4Text		package;
	L4Text		file;
	L4Text		function;
	int			line;			/* 0: not told */
} L4Frame;

/* Frames by stack and place, in the current context; *n is their number. */
extern L4Frame *l4_frames(const char *text, int len, int *n);

/* Sets owner and package of a frame by its file, else by its function. */
extern void l4_frame_owner(L4Frame *frame, bool java);

#endif							/* L4_DIAG_FRAMES_H */
