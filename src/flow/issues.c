/*
 * issues.c
 *		Slow steps and stops, and the order of all issues.
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define STOP_SILENCE	(3 * L4_FLOW_SECOND)	/* of a job while others send, and so many periods: */
#define STOP_PERIODS	3
#define INSIDE_LEAST	0.05	/* of the usual records of a step: less or more is between steps */
#define INSIDE_MOST		0.95
#define ALL_RECORDS		0.8		/* of the pipeline: the first lie before the parameters are there */
#define SILENT_FIRST	0.05	/* of a period: earlier than others by this */
#define EQUALLY_FAR		0.03	/* shares of a part's bytes */

/* Add an issue; job -1 for several. Subject and reason live as long as the analysis. */
L4FlowIssue *
l4_flows_issue(L4Flows *flows, int job, L4FlowIssueKind kind, const char *subject, int64 first, int64 last,
			   double score, const char *reason)
{
	L4FlowIssue *issue;

	L4_GROW_FROM(flows->issues, flows->nissues, flows->issues_size, 16, flows->cxt);
	issue = &flows->issues[flows->nissues++];
	*issue = (L4FlowIssue) {.job = job, .kind = kind, .subject = subject, .first = first, .last = last, .score = score,
	.reason = reason, .cause = -1};
	return issue;
}

static void
slow_steps(L4Flows *flows, int j)
{
	L4FlowJob  *job = &flows->jobs[j];

	for (int t = 0; t < job->nstints; t++)
	{
		L4FlowStint *stint = &flows->stints[job->stints[t]];

		for (int s = 1; s < stint->nsteps; s++)
		{
			double		slow = job->slow[stint->before + s];

			if (slow > 0)
				l4_flows_issue(flows, j, L4_FLOW_SLOW_STEP, psprintf("%d", stint->before + s), stint->ends[s - 1], stint->ends[s], slow,
							   psprintf("%.1f ms, where %.1f ms are usual", stint->duration[s] / 1000, job->usual / 1000));
		}
	}
}

/* Does a log say that the job which has these addresses still runs? */
static bool
runs_by_status(L4Flows *flows, int j)
{
	if (SPI_execute(psprintf("SELECT 1 FROM l4.flow_job_match m JOIN l4.job j ON j.job_id = m.job_id "
							 "WHERE m.flow_job = %s AND j.status = 'running' LIMIT 1", quote_literal_cstr(flows->jobs[j].name)), true, 1) < 0)
		elog(ERROR, "cannot look for the job of flows");
	return SPI_processed > 0;
}

/* Share of a usual step's records behind the last step of a stint. */
static double
last_share(const L4FlowStint *stint)
{
	double	   *records = palloc(sizeof(double) * Max(stint->nsteps, 1));
	double		usual;

	for (int s = 0; s < stint->nsteps; s++)
		records[s] = stint->records[s];
	usual = l4_quantile(records, stint->nsteps, 0.5);
	pfree(records);
	return usual > 0 ? stint->records[stint->nsteps] / usual : 0;
}

/*
 * Did all groups come equally far in the last step, with the pipeline done?
 * So ends a job that gathers parameters under the next step: there was none.
 */
static bool
ends_together(const L4Flows *flows, const L4FlowStint *stint)
{
	double	   *records = palloc(sizeof(double) * Max(stint->nsteps, 1));
	double	   *open;
	int			n = 0;
	double		least;
	double		most;

	for (int s = 0; s < stint->nsteps; s++)
		records[s] = stint->pp_records[s];
	if (stint->pp_records[stint->nsteps] < ALL_RECORDS * l4_quantile(records, stint->nsteps, 0.5))
		return false;
	open = palloc(sizeof(double) * flows->ngroups);
	for (int i = 0; i < stint->nclusters; i++)
	{
		const L4FlowCluster *cluster = &flows->clusters[stint->clusters[i]];

		for (int g = cluster->first_group; g < cluster->first_group + cluster->ngroups; g++)
			open[n++] = flows->groups[g].open;
	}
	/* a few have lost records */
	least = l4_quantile(open, n, 0.2);
	most = l4_quantile(open, n, 0.8);
	pfree(open);
	pfree(records);
	return least > 0 && most - least < EQUALLY_FAR;
}

/*
 * The NICs of the machine that sent nothing more while others still did, as
 * addresses; empty where none was first. A rank that waits for one that is
 * stuck has sent its part before.
 */
static const char *
first_silent(L4Flows *flows, const L4FlowStint *stint)
{
	int64		from = stint->nsteps > 1 ? stint->ends[stint->nsteps - 2] : stint->first;
	int64	   *last = palloc(sizeof(int64) * Max(flows->naddresses, 1));
	int			first = stint->nics[0];
	int64		next = DT_NOEND;
	StringInfoData subject;

	for (int i = 0; i < flows->naddresses; i++)
		last[i] = from;
	for (int r = 0; r < flows->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[r];
		int			n;
		L4Flow	   *flow;

		if (run->job != stint->job || run->last < from || run->first > stint->last)
			continue;
		flow = l4_flows_load(flows, &run->pair, 1, from, stint->last, &n);
		for (int i = 0; i < n; i++)
		{
			int			sender = flow[i].back ? flows->pairs[run->pair].b : flows->pairs[run->pair].a;

			last[sender] = Max(last[sender], flow[i].start);
		}
	}
	for (int i = 1; i < stint->nnics; i++)
		first = last[stint->nics[i]] < last[first] ? stint->nics[i] : first;
	for (int i = 0; i < stint->nnics; i++)
		if (flows->addresses[stint->nics[i]].machine != flows->addresses[first].machine)
			next = Min(next, last[stint->nics[i]]);
	initStringInfo(&subject);
	for (int i = 0; i < stint->nnics && next != DT_NOEND && next - last[first] >= SILENT_FIRST * stint->period; i++)
		if (flows->addresses[stint->nics[i]].machine == flows->addresses[first].machine && last[stint->nics[i]] < next)
			appendStringInfo(&subject, "%s%s", subject.len > 0 ? " " : "", flows->addresses[stint->nics[i]].text);
	pfree(last);
	return subject.data;
}

/* A job stopped where it was started again later, or ended inside a step while others went on. */
static void
stops(L4Flows *flows, int j)
{
	L4FlowJob  *job = &flows->jobs[j];
	L4FlowStint *last = &flows->stints[job->stints[job->nstints - 1]];
	double		share;

	for (int t = 1; t < job->nstints; t++)
	{
		int64		from = flows->stints[job->stints[t - 1]].last;
		int64		to = flows->stints[job->stints[t]].first;

		l4_flows_issue(flows, j, L4_FLOW_STOPPED, "", from, to, (double) (to - from) / L4_FLOW_SECOND,
					   psprintf("no flows for %.1f s, then started again", (double) (to - from) / L4_FLOW_SECOND));
	}
	if (flows->last - last->last <= Max(STOP_SILENCE, STOP_PERIODS * last->period))
		return;
	share = last_share(last);
	last->hung = share >= INSIDE_LEAST && share <= INSIDE_MOST && !ends_together(flows, last);
	if (last->hung || runs_by_status(flows, j))
		l4_flows_issue(flows, j, L4_FLOW_STOPPED, last->hung ? first_silent(flows, last) : "", last->last, flows->last, (double) (flows->last - last->last) / L4_FLOW_SECOND,
					   last->hung ? psprintf("flows end inside step %d, after %.0f %% of its records", job->nsteps, 100 * share)
					   : "flows end, but the job is said to run");
}

/* What explains what: slow links explain slow steps and slow ranks, these explain slow steps. */
static bool
explains(const L4FlowIssue *cause, const L4FlowIssue *issue)
{
	if (cause->kind <= issue->kind || cause->kind == L4_FLOW_STOPPED || issue->kind > L4_FLOW_SLOW_GROUP)
		return false;
	if (cause->job >= 0 && cause->job != issue->job)
		return false;
	return Min(cause->last, issue->last) > Max(cause->first, issue->first);
}

static int
order_issues(const void *a, const void *b, void *arg)
{
	const L4FlowIssue *issues = arg;
	const L4FlowIssue *x = &issues[*(const int *) a];
	const L4FlowIssue *y = &issues[*(const int *) b];

	if (x->job != y->job)
		return x->job - y->job;
	if ((x->cause < 0) != (y->cause < 0))
		return x->cause < 0 ? -1 : 1;
	if (x->kind != y->kind)
		return y->kind - x->kind;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return strcmp(x->subject, y->subject);
}

static void
rank_issues(L4Flows *flows)
{
	int		   *order = palloc(sizeof(int) * Max(flows->nissues, 1));

	for (int i = 0; i < flows->nissues; i++)
	{
		order[i] = i;
		for (int c = 0; c < flows->nissues; c++)
			if (explains(&flows->issues[c], &flows->issues[i])
				&& (flows->issues[i].cause < 0 || flows->issues[c].kind > flows->issues[flows->issues[i].cause].kind))
				flows->issues[i].cause = c;
	}
	qsort_arg(order, flows->nissues, sizeof(int), order_issues, flows->issues);
	for (int i = 0; i < flows->nissues; i++)
	{
		bool		first = i == 0 || flows->issues[order[i]].job != flows->issues[order[i - 1]].job;

		flows->issues[order[i]].rank = first ? 1 : flows->issues[order[i - 1]].rank + 1;
	}
	pfree(order);
}

void
l4_flows_issues(L4Flows *flows)
{
	for (int j = 0; j < flows->njobs; j++)
	{
		slow_steps(flows, j);
		stops(flows, j);
	}
	rank_issues(flows);
}
