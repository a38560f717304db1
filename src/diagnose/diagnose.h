/*
 * diagnose.h: what a diagnosis has in C. Pure: knows no Datum.
 */
#ifndef L4_DIAGNOSE_H
#define L4_DIAGNOSE_H

#include "packed/packed.h"

/* ---- diag_blame.c: blame that flows through a graph of complaints ---- */

/*
 * Nodes are numbered from 0. Edges come in order of time; an edge that would close a cycle is left out. Node i starts with weight[i] and passes
 * what it has along its edges in equal parts; a node without edges keeps it.
 */
extern void l4_blame_flow(int nnodes, int nedges, const int *from, const int *to,
						  const double *weight, double *blame);

/* ---- diag_counter.c: iterations counted from the records of one event ---- */

/* Lines at which a number is known, ascending, and the numbers */
typedef struct L4KnownNumbers
{
	int			n;
	const int64 *lines;
	const int32 *numbers;
} L4KnownNumbers;

typedef struct L4CounterRule
{
	int32		step;			/* by which the number grows, 1 and more */
	int32		low;			/* the first number of an epoch */
	int32		high;			/* the last one at most; PG_INT32_MAX: not known */
	bool		begins_anew;	/* does the number fall back to low with each epoch */
} L4CounterRule;

/*
 * Packed iterations (epoch, iteration, time of the report, duration in milliseconds) of a stream in which n records, at these lines and times
 * (L4_NO_TS: not known), report one iteration each, or several ranks the same one. The first numbers are known; later ones follow by the rule.
 * epochs: the first line of each epoch that is known.
 */
extern L4Pack *l4_count_records(MemoryContext cxt, int n, const int64 *lines, const int64 *times,
								const L4KnownNumbers *known, const L4KnownNumbers *epochs, const L4CounterRule *rule);

/*
 * ---- diag_frames.c, diag_frame_owner.c: the frames of stacks in a text, and whose code they are in ----
 *
 * Read are tracebacks of Python (its own, faulthandler's, rich's boxes), stacks of Java, and of C++ as torch, glog, backtrace_symbols, gdb and
 * sanitizers print them. What stands before a frame in its line (a launcher's prefix, a box) is passed over.
 */

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

/* ---- diag_iter.c: iterations of all nodes of a job, put together ---- */

typedef struct L4Iterations L4Iterations;

#define L4_ITERATIONS_NODES (1 << 26)	/* nodes are numbered below that */

/* late: keep who reports when, for l4_iterations_late; else how long iterations take, for the other two. */
extern L4Iterations *l4_iterations_create(MemoryContext cxt, bool late);

/*
 * Add packed iterations of a node (numbers from 0); what belongs to a node comes together. clock: by how many microseconds its times are too
 * late. since: leave out what was reported earlier than this, or has no time; PG_INT64_MIN for all.
 */
extern void l4_iterations_add(L4Iterations *all, bytea *packed, int node, int64 clock, int64 since);

/* epoch, iteration, nodes, done_ts, duration_ms: the last report, the median duration */
extern L4Pack *l4_iterations_table(L4Iterations *all);

/* node, train_ts, progress_ts, iterations, last_iteration, last_epoch */
extern L4Pack *l4_iterations_nodes(L4Iterations *all);

/*
 * node, ms, before_ms, spread_ms: how much later than the median node a node reports iterations: on average from the place-th of all on, less
 * the median of the ones before; that median; and the median deviation from it. Neither the first iteration counts, nor those with fewer nodes.
 */
extern L4Pack *l4_iterations_late(L4Iterations *all, int place, double min_nodes);

/* ---- diag_periodic.c: what comes every so many iterations ---- */

/*
 * Iterations, ascending and different, each with a number of nodes. result[i]: iteration i is one of three that are equally far apart, by three
 * at least, and the first of the three has at most twice, at least half the nodes of each of the two others.
 */
extern void l4_periodic(int n, const int32 *iterations, const int32 *nodes, bool *result);

/* ---- diag_sequence.c: iterations whose events are unlike those of the iterations before ---- */

/* Iterations that each one is compared with, and deviations that count. */
#define L4_DEVIATION_WINDOW	10
#define L4_DEVIATION_SIGMA	3.0
#define L4_DEVIATION_MIN_SD	0.5

typedef struct L4Deviations L4Deviations;

/* Merged events, ascending, count as their survivors. */
extern L4Deviations *l4_deviations_create(MemoryContext cxt, const int32 *merged, const int32 *survivors, int nmerged);

/* Add packed sequences; those of one stream come together. */
extern void l4_deviations_add(L4Deviations *all, bytea *packed, int stream);

/* stream, epoch, iteration, distance, sigma: the iterations that deviate */
extern L4Pack *l4_deviations_result(L4Deviations *all);

#endif							/* L4_DIAGNOSE_H */
