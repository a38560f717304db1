/*
 * issues.c
 *		Slow steps and stops, and what explains what.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define STOP_SILENCE	(3 * L4_FLOW_SECOND)	/* of a job while others send, and so many periods: */
#define STOP_PERIODS	3
#define MOST_SILENCE	(100 * L4_FLOW_SECOND)	/* but no more */
#define INSIDE_LEAST	0.05	/* of the usual records of a step: less or more is between steps */
#define INSIDE_MOST		0.95
#define CUT				0.7		/* of the usual bytes of a group: more may be a step that lost records */
#define ALL_RECORDS		0.8		/* of the pipeline: the first lie before the parameters are there */
#define SILENT_FIRST	0.05	/* of a period: earlier than others by this */
#define EQUALLY_FAR		0.03	/* shares of a part's bytes */

/* Add an issue; stint -1 for several. Subject and reason live as long as the analysis. */
L4FlowIssue *
l4_flows_issue(L4Flows *flows, int stint, L4FlowIssueKind kind, const char *subject, int64 first, int64 last,
			   double score, const char *reason)
{
	L4FlowIssue *issue;

	L4_GROW_FROM(flows->issues, flows->nissues, flows->issues_size, 16, flows->cxt);
	issue = &flows->issues[flows->nissues++];
	*issue = (L4FlowIssue) {.stint = stint, .kind = kind, .subject = subject, .first = first, .last = last, .score = score,
	.reason = reason, .cause = -1};
	return issue;
}

static void
slow_steps(L4Flows *flows, int s)
{
	const L4FlowStint *stint = &flows->stints[s];

	for (int i = 1; i < stint->nsteps; i++)
		if (stint->slow[i] > 0)
			l4_flows_issue(flows, s, L4_FLOW_SLOW_STEP, "", stint->ends[i - 1], stint->ends[i], stint->slow[i],
						   psprintf("%.1f ms, where %.1f ms are usual", stint->duration[i] / 1000, stint->usual / 1000));
}

/*
 * Share of a usual step's records behind the last step of a stint; where there
 * are none, as its other groups came to the end, of the bytes of the group
 * that is left in it: then *inside is set.
 */
static double
last_share(const L4Flows *flows, const L4FlowStint *stint, bool *inside)
{
	double	   *records = palloc(sizeof(double) * Max(stint->nsteps, 1));
	double		usual;
	double		share;

	for (int s = 0; s < stint->nsteps; s++)
		records[s] = stint->records[s];
	usual = l4_quantile(records, stint->nsteps, 0.5);
	share = usual > 0 ? stint->records[stint->nsteps] / usual : 0;
	*inside = false;
	for (int g = 0; g < stint->ngroups && share < INSIDE_LEAST; g++)
	{
		const L4FlowGroup *group = &flows->groups[stint->groups[g]];

		if (group->open > 0 && group->open < CUT && group->nends > 0
			&& l4_step_of(stint, group->ends[group->nends - 1] - flows->clusters[group->cluster].offset) == stint->nsteps - 2)
		{
			share = group->open;
			*inside = true;
		}
	}
	pfree(records);
	return share;
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
	open = palloc(sizeof(double) * Max(stint->ngroups, 1));
	for (int g = 0; g < stint->ngroups; g++)
		open[n++] = flows->groups[stint->groups[g]].open;
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
		const L4Flow *flow;

		if (run->stint != stint - flows->stints || run->last < from || run->first > stint->last)
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

/* Did a stint end inside a step while others went on? */
static void
find_stop(L4Flows *flows, L4FlowStint *last)
{
	double		share;
	bool		inside;

	if (flows->last - last->last <= Max(STOP_SILENCE, Min(STOP_PERIODS * last->period, MOST_SILENCE)))
		return;
	share = last_share(flows, last, &inside);
	if (share < INSIDE_LEAST || share > INSIDE_MOST || ends_together(flows, last) || l4_flows_ends_evaluating(last))
		return;
	last->stopped = share;
	last->silent = first_silent(flows, last);
	/* the last step did not end */
	last->nsteps -= inside;
}

/* What explains what: slow links explain slow steps and slow ranks, these explain slow steps. */
static bool
explains(const L4FlowIssue *cause, const L4FlowIssue *issue)
{
	if (cause->kind <= issue->kind || issue->kind > L4_FLOW_SLOW_GROUP)
		return false;
	if (cause->stint >= 0 && cause->stint != issue->stint)
		return false;
	return Min(cause->last, issue->last) > Max(cause->first, issue->first);
}

static void
find_causes(L4Flows *flows)
{
	for (int i = 0; i < flows->nissues; i++)
		for (int c = 0; c < flows->nissues; c++)
			if (explains(&flows->issues[c], &flows->issues[i])
				&& (flows->issues[i].cause < 0 || flows->issues[c].kind > flows->issues[flows->issues[i].cause].kind))
				flows->issues[i].cause = c;
}

void
l4_flows_issues(L4Flows *flows)
{
	for (int s = 0; s < flows->nstints; s++)
	{
		find_stop(flows, &flows->stints[s]);
		slow_steps(flows, s);
	}
	find_causes(flows);
}
