/*
 * analysis.h
 *		What the analysis of flows knows: addresses, pairs, runs of pairs,
 *		clusters of runs, groups of data parallel runs, jobs, issues.
 */
#ifndef L4_FLOW_ANALYSIS_H
#define L4_FLOW_ANALYSIS_H

#include "flow/divide.h"
#include "flow/flow.h"
#include "ingest/ingest_query.h"

#define L4_FLOW_CLASSES		24	/* size classes of a run that are kept: those with most bytes */
#define L4_FLOW_SECOND		INT64CONST(1000000)
#define L4_ONE_WAY			0.85	/* byte share of the greater direction of a ring's pair, at least */
#define L4_SAME_STEP		0.45	/* of a period: ends that lie closer are of one step */

/* A record of the exporter that stands for its 5-tuple. */
typedef struct L4Flow
{
	int64		start;
	int64		end;
	double		bytes;
	int32		packets;		/* sampled ones; 0 where all were counted */
	uint32		pair:31;
	uint32		back:1;
} L4Flow;

typedef struct L4FlowAddress
{
	Datum		address;		/* inet */
	const char *text;
	int			machine;		/* of its own where there is no inventory */
	int			leaf;			/* switch, -1 not known */
	int			peers;			/* in regular pairs, */
	bool		sends;			/* where it sends, */
	bool		receives;		/* or receives */
	bool		hub;			/* translated, or a server: no member of a job */
	bool		chosen;			/* the span looks at its pairs, or leaves them out */
} L4FlowAddress;

/* Two addresses that send to each other. */
typedef struct L4FlowLink
{
	int32		pair_id;
	bool		turned;			/* its pair has its NICs the other way round */
} L4FlowLink;

typedef struct L4FlowPair
{
	int			link;			/* the first one; NICs may have several addresses */
	int			nlinks;
	int			a;
	int			b;
	int			nswitches[2];	/* exporters seen there (a to b) and back */
	int		   *switches[2];
	int64		join;			/* records of a route that follow each other so soon are pieces of one */
} L4FlowPair;

/* Records of a pair that are kept in memory. */
typedef struct L4FlowKept
{
	L4Flow	   *flow;			/* NULL none */
	int			n;
	int64		join;			/* of the pair, when they were joined */
} L4FlowKept;

/* Chunks that were asked for: of pairs that follow each other. */
typedef struct L4FlowFetched
{
	int			pair;
	int			npairs;
	int			link;			/* the first one of these pairs */
	struct SPITupleTable *rows;
	uint64		nrows;
	uint64		next;			/* row behind those that were read last */
} L4FlowFetched;

typedef enum L4FlowKind
{
	L4_FLOW_OTHER, L4_FLOW_DP, L4_FLOW_PP, L4_FLOW_EP, L4_FLOW_CP
} L4FlowKind;

typedef struct L4FlowClass
{
	double		size;			/* the least */
	double		top;
	double		bytes;
	int			count;
} L4FlowClass;

typedef struct L4FlowRun
{
	int			pair;
	int64		first;
	int64		last;
	int			n;
	double		bytes;
	int			own;			/* records that start in the span, not around it, */
	double		own_bytes;		/* and their bytes */
	double		one_way;		/* share of the greater direction, of large size classes */
	bool		back;			/* the greater direction */
	double		sized_one_way;	/* the same, for each of these classes by itself */
	double		simultaneous;	/* byte share of records that start with one of the other direction */
	double		main_size;		/* byte share of the largest class */
	int			bursts;
	double		duration;		/* of its records, mean by bytes */
	double		packets;		/* sampled packets a byte, 0 where all were counted */
	bool		regular;
	L4FlowKind	kind;
	int			cluster;		/* -1 none */
	int			group;			/* -1 none */
	int			stint;			/* -1 none */
	int			nclasses;
	int			nlarge;			/* of these classes with a good part of the bytes: the first ones */
	L4FlowClass classes[L4_FLOW_CLASSES];
} L4FlowRun;

typedef struct L4FlowGroup
{
	int			cluster;
	L4FlowKind	kind;			/* of its runs: that of a pipeline where there is no data parallel one */
	int			nruns;
	int		   *runs;
	int			nnics;
	int		   *nics;
	double		period;			/* median duration of its parts; 0 not divided */
	double		cost;			/* of its division: how unlike its parts are */
	int			nends;
	int64	   *ends;			/* of its parts */
	int64	   *busy;			/* time that its records fill of each part */
	double		open;			/* share of the usual bytes of a last part that is not whole; it is not among them */
} L4FlowGroup;

typedef struct L4FlowCluster
{
	int			nruns;
	int		   *runs;
	int			nnics;
	int		   *nics;
	int			nmachines;
	int		   *machines;		/* ascending */
	int64		first;
	int64		last;
	int			first_group;
	int			ngroups;
	double		period;
	int			nends;
	int64	   *ends;
	bool		pipeline;		/* has pipeline pairs */
	bool		coarse;			/* records hide its steps; its period says nothing, */
	bool		together;		/* nor does it here: its members send together, but their steps are not found */
	int64		offset;			/* of its clocks against the job's */
	int			stint;
} L4FlowCluster;

/* A stint: what of a job without an interruption lies in the span. SQL puts them together. */
typedef struct L4FlowStint
{
	int			nclusters;
	int		   *clusters;
	int			nruns;			/* of the clusters */
	int		   *runs;
	int			ngroups;
	int		   *groups;
	int			nnics;
	int		   *nics;			/* ascending */
	int			nmachines;
	int		   *machines;
	int64		first;
	int64		last;
	double		period;
	double		usual;			/* median duration of steps, microseconds */
	int			nsteps;
	int64	   *ends;
	float	   *cover;
	float	   *slow;			/* excess of each step over the median, 0 for usual ones */
	const char **reason;		/* of steps that are unusual, but not slow; else NULL */
	float	   *dp_ms;
	float	   *duration;		/* microseconds; 0 not known */
	int		   *pp_records;		/* of each step, */
	int		   *pp_usual;		/* and what the pairs that are seen in it usually have */
	int		   *records;		/* of each step, and behind the last one */
	float	  **nic_pp_ms;		/* of each NIC, each step; NULL none */
	bool		sampled;
	bool		coarse;
	double		stopped;		/* share of a usual step's records behind the last step; 0 it did not end inside a step */
	const char *silent;			/* addresses that sent nothing more first; then */
	int			nsizes;
	L4FlowClass *sizes;
} L4FlowStint;

typedef enum L4FlowIssueKind
{
	L4_FLOW_SLOW_STEP, L4_FLOW_SLOW_RANK, L4_FLOW_SLOW_GROUP, L4_FLOW_SLOW_SWITCH
} L4FlowIssueKind;

typedef struct L4FlowIssue
{
	int			stint;			/* -1 several */
	L4FlowIssueKind kind;
	const char *subject;		/* of a slow step: the step that ends with it */
	int64		first;
	int64		last;
	double		score;
	const char *reason;
	int			cause;			/* issue that explains it, -1 none */
	int			nic;			/* of a slow rank */
	bool		answers;		/* it receives before it sends */
} L4FlowIssue;

typedef struct L4Blame L4Blame;

typedef struct L4Flows
{
	MemoryContext cxt;
	MemoryContext load_cxt;		/* of what was loaded; whoever loads resets it */
	MemoryContext kept_cxt;		/* of records that are looked at again: */
	L4FlowKept *kept;			/* those of each pair, */
	bool		kept_full;		/* as long as maintenance_work_mem had room */
	L4Query		load;
	L4FlowFetched fetched;
	bool		inventory;
	Datum		nics;			/* inet[]: whose pairs are looked at, */
	bool		only;			/* or, if false, all others */
	int64		from;			/* records that start from here */
	int64		to;				/* to here are looked at; */
	int64		begin;			/* what happens from here */
	int64		end;			/* to before here is stored */
	int64		first;
	int64		last;
	int			naddresses;
	L4FlowAddress *addresses;
	int			nswitches;
	char	  **switches;		/* names, ascending */
	int			nexporters;
	int		   *exporter_switch;	/* switch of each exporter */
	L4FlowLink *links;
	int			npairs;
	L4FlowPair *pairs;
	int			nruns;
	int			runs_size;
	L4FlowRun  *runs;
	int			hubs;
	int			nclusters;
	int			clusters_size;
	L4FlowCluster *clusters;
	int			ngroups;
	int			groups_size;
	L4FlowGroup *groups;
	int			nstints;
	int			stints_size;
	L4FlowStint *stints;
	int			nissues;
	int			issues_size;
	L4FlowIssue *issues;
} L4Flows;

extern L4Flows *l4_flows_open(MemoryContext cxt, int64 begin, int64 end, int64 before, int64 behind, int64 first, int64 known,
							  Datum nics, bool only);
extern void l4_flows_keep(L4Flows *flows);
extern const L4Flow *l4_flows_load(L4Flows *flows, const int *pairs, int npairs, int64 from, int64 to, int *n);
extern void l4_flows_features(L4Flows *flows);
extern int	l4_flows_large_class(const L4FlowRun *run, double bytes);
extern const L4FlowRun *l4_flows_least_busy(const L4Flows *flows, const int *runs, int nruns);
extern bool l4_flows_small(const L4Flows *flows, const int *runs, int nruns, int least_bursts, double bytes);
extern bool l4_flows_again(const L4Flows *flows, int run);
extern void l4_flows_leave_out_spurs(L4Flows *flows);
extern void l4_flows_cluster(L4Flows *flows);
extern L4FlowKind l4_flows_kind(const L4FlowRun *run);
extern void l4_flows_divide(L4Flows *flows);
extern int	l4_flows_merge_ends(L4Flows *flows, const int *groups, const int64 *offset, int ngroups, double period, int64 *ends,
								float *cover);
extern void l4_flows_jobs(L4Flows *flows);
extern void l4_flows_steps(L4Flows *flows, L4FlowStint *stint);
extern bool l4_flows_ends_evaluating(const L4FlowStint *stint);
extern void l4_flows_ranks(L4Flows *flows, L4FlowStint *stint);
extern void l4_flows_join_ranks(L4Flows *flows);
extern void l4_flows_issues(L4Flows *flows);
extern int	l4_step_of(const L4FlowStint *stint, int64 at);

/* The same, behind an earlier step. */
static inline int
l4_step_from(const L4FlowStint *stint, int step, int64 at)
{
	while (step < stint->nsteps && stint->ends[step] < at)
		step++;
	return step;
}

extern int	l4_flows_group_of(const L4Flows *flows, const L4FlowStint *stint, int nic);
extern L4Blame *l4_flows_blame_begin(L4Flows *flows);
extern void l4_flows_links(L4Blame *blame, int s);
extern void l4_flows_blame(L4Blame *blame);
extern L4FlowIssue *l4_flows_issue(L4Flows *flows, int stint, L4FlowIssueKind kind, const char *subject, int64 first, int64 last,
								   double score, const char *reason);

/* Union-find: the least member stands for its set. */
extern int	l4_sets_find(int *parent, int i);
extern void l4_sets_join(int *parent, int i, int j);

/* Sort ascending; each value once. Returns how many are left. */
extern int	l4_sort_unique(int *values, int n);
extern double l4_jaccard(const int *a, int na, const int *b, int nb);
extern double l4_quantile(double *values, int n, double q);

#endif							/* L4_FLOW_ANALYSIS_H */
