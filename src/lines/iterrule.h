/*
 * iterrule.h
 *		Iteration number and metrics of a line, by the iteration rules; and the
 *		short cut that reads them from the slots of a shape, without regex.
 */
#ifndef L4_ITERRULE_H
#define L4_ITERRULE_H

#include "lines/lineformat.h"
#include "lines/rules.h"
#include "scan/scan.h"

typedef struct L4Metric
{
	const char *name;			/* owned by the rules */
	double		value;			/* may be nan or inf */
} L4Metric;

#define L4_ITER_NEXT	(-2)

typedef struct L4Iteration
{
	int			rule_id;		/* iteration_rule.rule_id */
	bool		done;			/* the line reports it as finished, else only names it */
	int64		iter;			/* L4_ITER_NEXT: the line has no number, it reports one more */
	int64		total;			/* -1 not known */
	int64		epoch;			/* -1 not known */
	double		duration_ms;	/* of one iteration, nan when not known */
	bool		counted;		/* a report without a number, which a bar gave it */
	int			elapsed_s;		/* seconds since the loop began, as a progress bar says; -1 not known */
	int			nmetrics;
	L4Metric	metrics[L4_MAX_ITER_GROUPS];
} L4Iteration;

/* How a shape's slots give what a rule captures. Plain data without pointers. */
typedef struct L4IterMap
{
	int16		rule;			/* index in rules->iters + 1; 0: no rule matches this shape; -1: run the rules on each line */
	int16		nslots;			/* slots that the shape has */
	struct
	{
		int16		slot;		/* number of the slot, L4_GROUP_ABSENT or L4_GROUP_CONSTANT */
		int16		skip;		/* bytes of the slot in front of what the group captures; -n: it is the last n bytes before drop */
		int16		drop;		/* bytes behind it */
		double		value;		/* of a constant */
	}			group[L4_MAX_ITER_GROUPS + 1];
} L4IterMap;

#define L4_GROUP_ABSENT		(-1)
#define L4_GROUP_CONSTANT	(-2)

/* What the groups of a rule are for; called when it is compiled. */
extern void l4_iter_rule_groups(L4IterRule *rule, MemoryContext cxt);

/* Run the rules, the first that matches counts. False when none does. */
extern bool l4_iter_match(L4Rules *rules, const char *msg, int len, L4Iteration *out);

/* The same for the first line of a shape; map then serves later lines of it. */
extern bool l4_iter_learn(L4Rules *rules, const char *msg, int len,
						  const L4Slot *slots, int nslots, L4IterMap *map, L4Iteration *out);

/* Later lines. Gives what l4_iter_match gives. */
extern bool l4_iter_apply(L4Rules *rules, const L4IterMap *map, const char *msg, int len,
						  const L4Slot *slots, int nslots, L4Iteration *out);

/* What the bar of a line reports, allocated; NULL when it is nothing. */
extern L4Iteration *l4_iter_of_bar(L4Rules *rules, const L4Line *line, MemoryContext cxt);

/* The report came with this bar: the bar numbers it. */
extern void l4_iter_number(L4Iteration *report, const L4Iteration *bar);

#endif							/* L4_ITERRULE_H */
