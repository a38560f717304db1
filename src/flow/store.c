/*
 * store.c
 *		What the analysis found becomes rows: all of it anew.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "base/grow.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_flow_analyze);

static const char *const kinds[] = {"other", "dp", "pp", "ep", "cp"};
static const char *const issue_kinds[] = {"slow_step", "slow_rank", "slow_group", "slow_switch", "stopped"};

static const char job_sql[] =
"INSERT INTO l4.flow_job (flow_job, first_ts, last_ts, runs, nics, machines, period_ms, dp, pp, status, coverage) "
"SELECT a, b, c, d, e, f, g, h, i, j, k::jsonb FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS u(a, b, c, d, e, f, g, h, i, j, k)";
static const Oid job_types[] = {TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, FLOAT8OID, INT4OID, INT4OID, TEXTOID, TEXTOID};
static const char step_sql[] =
"INSERT INTO l4._flow_step (flow_job, run, step, started, ended, dp_ms, cover, reason) "
"SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)";
static const Oid step_types[] = {TEXTOID, INT4OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, FLOAT8OID, TEXTOID};
static const char member_sql[] =
"INSERT INTO l4._flow_member (flow_job, run, address, dp_group, first_ts, last_ts, first_step, pp_ms) "
"SELECT a, b, c, d, e, f, g, h::float4[] FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS u(a, b, c, d, e, f, g, h)";
static const Oid member_types[] = {TEXTOID, INT4OID, INETOID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, TEXTOID};
static const char pair_sql[] =
"INSERT INTO l4._flow_edge (flow_job, a, b, kind, records, bytes, sizes, evidence) "
"SELECT a, b, c, d, e, f, g::float8[], h::jsonb FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS u(a, b, c, d, e, f, g, h)";
static const Oid pair_types[] = {TEXTOID, INETOID, INETOID, TEXTOID, INT8OID, FLOAT8OID, TEXTOID, TEXTOID};
static const char issue_sql[] =
"INSERT INTO l4.flow_issue (flow_job, rank, kind, subject, first_ts, last_ts, score, reasons, evidence) "
"SELECT a, b, c, d, e, f, g, ARRAY[h], i::jsonb FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) AS u(a, b, c, d, e, f, g, h, i)";
static const Oid issue_types[] = {TEXTOID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, TEXTOID, TEXTOID};

static void
put_text(L4Rows *rows, const char *value)
{
	l4_rows_put(rows, value == NULL ? (Datum) 0 : CStringGetTextDatum(value), value == NULL);
}

static void
put_float(L4Rows *rows, double value)
{
	l4_rows_put(rows, Float8GetDatum(value), false);
}

/* The first that holds. */
static const char *
job_status(const L4Flows *flows, const L4FlowJob *job)
{
	bool		sampled = false;
	bool		coarse = false;

	for (int t = 0; t < job->nstints; t++)
	{
		sampled |= flows->stints[job->stints[t]].sampled;
		coarse |= flows->stints[job->stints[t]].coarse;
	}
	return sampled ? "SAMPLED" : coarse ? "COARSE" : job->gaps ? "PARTIAL" : job->nsteps < 5 ? "UNSETTLED" : "OK";
}

/* NICs of the largest data parallel group, without those that are no members, such as a storage. */
static int
largest_group(const L4Flows *flows, const L4FlowJob *job)
{
	int			largest = 0;

	for (int t = 0; t < job->nstints; t++)
	{
		const L4FlowStint *stint = &flows->stints[job->stints[t]];

		for (int c = 0; c < stint->nclusters; c++)
		{
			const L4FlowCluster *cluster = &flows->clusters[stint->clusters[c]];

			for (int g = cluster->first_group; g < cluster->first_group + cluster->ngroups; g++)
			{
				int			n = 0;

				for (int k = 0; k < flows->groups[g].nnics; k++)
					n += bsearch(&flows->groups[g].nics[k], stint->nics, stint->nnics, sizeof(int), l4_order_int32) != NULL;
				largest = Max(largest, n);
			}
		}
	}
	return largest;
}

static void
store_job(L4Flows *flows, L4Rows *rows, const L4FlowJob *job)
{
	const L4FlowStint *first = &flows->stints[job->stints[0]];
	const L4FlowStint *last = &flows->stints[job->stints[job->nstints - 1]];
	int		   *nics = palloc(sizeof(int) * Max(flows->naddresses, 1) * job->nstints);
	int			n = 0;
	int			nnics;

	for (int t = 0; t < job->nstints; t++)
		for (int i = 0; i < flows->stints[job->stints[t]].nnics; i++)
			nics[n++] = flows->stints[job->stints[t]].nics[i];
	nnics = n = l4_sort_unique(nics, n);
	put_text(rows, job->name);
	l4_rows_put_ts(rows, first->first);
	l4_rows_put_ts(rows, last->last);
	l4_rows_put_int(rows, job->nstints);
	l4_rows_put_int(rows, nnics);
	for (int i = 0; i < n; i++)
		nics[i] = flows->addresses[nics[i]].machine;
	if (flows->inventory)
		l4_rows_put_int(rows, l4_sort_unique(nics, n));
	else
		l4_rows_put(rows, (Datum) 0, true);
	put_float(rows, job->usual > 0 ? job->usual / 1000 : job->period / 1000);
	l4_rows_put_int(rows, largest_group(flows, job));
	l4_rows_put_int(rows, job->pp);
	put_text(rows, job_status(flows, job));
	put_text(rows, psprintf("{\"steps\": %d, \"inventory\": %s, \"hubs\": %d}", job->nsteps, flows->inventory ? "true" : "false", flows->hubs));
	pfree(nics);
}

static void
store_steps(L4Flows *flows, L4Rows *rows, const L4FlowJob *job)
{
	for (int t = 0; t < job->nstints; t++)
	{
		const L4FlowStint *stint = &flows->stints[job->stints[t]];

		for (int s = 0; s < stint->nsteps; s++)
		{
			int			step = stint->before + s;

			put_text(rows, job->name);
			l4_rows_put_int(rows, t + 1);
			l4_rows_put_int(rows, step);
			l4_rows_put_ts(rows, s == 0 ? stint->first : stint->ends[s - 1]);
			l4_rows_put_ts(rows, stint->ends[s]);
			put_float(rows, stint->dp_ms[s]);
			put_float(rows, stint->cover[s]);
			put_text(rows, s == 0 ? "its start is not on the network" :
					 job->evaluation[step] ? "more pipeline records than usual: evaluation" :
					 job->slow[step] > 0 ? psprintf("%.0f %% longer than usual", 100 * job->slow[step]) : NULL);
		}
	}
}

static void
store_members(L4Flows *flows, L4Rows *rows, const L4FlowJob *job)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int t = 0; t < job->nstints; t++)
	{
		const L4FlowStint *stint = &flows->stints[job->stints[t]];

		for (int i = 0; i < stint->nnics; i++)
		{
			put_text(rows, job->name);
			l4_rows_put_int(rows, t + 1);
			l4_rows_put(rows, flows->addresses[stint->nics[i]].address, false);
			l4_rows_put_int(rows, l4_flows_group_of(flows, stint, stint->nics[i]) + 1);
			l4_rows_put_ts(rows, stint->first);
			l4_rows_put_ts(rows, stint->last);
			l4_rows_put_int(rows, stint->before);
			resetStringInfo(&list);
			appendStringInfoChar(&list, '{');
			for (int s = 0; stint->nic_pp_ms != NULL && s < stint->nsteps; s++)
				appendStringInfo(&list, "%s%.3f", s == 0 ? "" : ",", stint->nic_pp_ms[i][s]);
			appendStringInfoChar(&list, '}');
			put_text(rows, list.data);
		}
	}
	pfree(list.data);
}

/* Runs of one pair in one job become a row: with the kind that has most bytes. */
static void
store_pairs(L4Flows *flows, L4Rows *rows)
{
	for (int r = 0; r < flows->nruns;)
	{
		int			pair = flows->runs[r].pair;
		int			end = r;

		while (end < flows->nruns && flows->runs[end].pair == pair)
			end++;
		for (int j = 0; j < flows->njobs; j++)
		{
			double		bytes[5] = {0};
			double		total = 0;
			int64		records = 0;
			L4FlowKind	kind = L4_FLOW_OTHER;
			L4FlowRun  *main = NULL;
			StringInfoData sizes;

			for (int i = r; i < end; i++)
			{
				L4FlowRun  *run = &flows->runs[i];

				if (run->job != j)
					continue;
				bytes[run->kind] += run->bytes;
				total += run->bytes;
				records += run->n;
				if (main == NULL || run->bytes > main->bytes)
					main = run;
			}
			if (main == NULL)
				continue;
			for (int k = 0; k < lengthof(bytes); k++)
				kind = bytes[k] > bytes[kind] ? k : kind;
			put_text(rows, flows->jobs[j].name);
			l4_rows_put(rows, flows->addresses[flows->pairs[pair].a].address, false);
			l4_rows_put(rows, flows->addresses[flows->pairs[pair].b].address, false);
			put_text(rows, kinds[kind]);
			l4_rows_put_bigint(rows, records);
			put_float(rows, total);
			initStringInfo(&sizes);
			for (int c = 0; c < main->nclasses; c++)
				appendStringInfo(&sizes, "%c%.0f", c == 0 ? '{' : ',', main->classes[c].size);
			appendStringInfoChar(&sizes, '}');
			put_text(rows, sizes.data);
			put_text(rows, psprintf("{\"one_way\": %.3f, \"simultaneous\": %.3f, \"main_size\": %.3f, \"records_a_step\": %.1f}",
									main->one_way, main->simultaneous, main->main_size,
									(double) records / Max(flows->jobs[j].nsteps, 1)));
		}
		r = end;
	}
}

static void
store_issues(L4Flows *flows)
{
	L4Rows		rows;

	l4_rows_prepare(&rows, issue_sql, lengthof(issue_types), issue_types);
	for (int i = 0; i < flows->nissues; i++)
	{
		L4FlowIssue *issue = &flows->issues[i];
		StringInfoData evidence;

		initStringInfo(&evidence);
		appendStringInfoChar(&evidence, '{');
		if (issue->cause >= 0)
		{
			const L4FlowIssue *cause = &flows->issues[issue->cause];

			appendStringInfo(&evidence, "\"cause\": \"%s\", \"subject\": ", issue_kinds[cause->kind]);
			escape_json(&evidence, cause->subject);
		}
		appendStringInfoChar(&evidence, '}');
		put_text(&rows, issue->job < 0 ? NULL : flows->jobs[issue->job].name);
		l4_rows_put_int(&rows, issue->rank);
		put_text(&rows, issue_kinds[issue->kind]);
		put_text(&rows, issue->subject);
		l4_rows_put_ts(&rows, issue->first);
		l4_rows_put_ts(&rows, issue->last);
		put_float(&rows, issue->score);
		put_text(&rows, issue->reason);
		put_text(&rows, evidence.data);
	}
	l4_rows_flush(&rows);
}

static void
store_jobs(L4Flows *flows)
{
	L4Rows		rows;

	static const char *const tables[] = {"flow_job", "_flow_step", "_flow_member", "_flow_edge", "flow_issue"};

	for (int i = 0; i < lengthof(tables); i++)
		if (SPI_execute(psprintf("DELETE FROM l4.%s", tables[i]), false, 0) < 0)
			elog(ERROR, "cannot delete what was found before");
	l4_rows_prepare(&rows, job_sql, lengthof(job_types), job_types);
	for (int j = 0; j < flows->njobs; j++)
		store_job(flows, &rows, &flows->jobs[j]);
	l4_rows_flush(&rows);
	l4_rows_prepare(&rows, step_sql, lengthof(step_types), step_types);
	for (int j = 0; j < flows->njobs; j++)
		store_steps(flows, &rows, &flows->jobs[j]);
	l4_rows_flush(&rows);
	l4_rows_prepare(&rows, member_sql, lengthof(member_types), member_types);
	for (int j = 0; j < flows->njobs; j++)
		store_members(flows, &rows, &flows->jobs[j]);
	l4_rows_flush(&rows);
	l4_rows_prepare(&rows, pair_sql, lengthof(pair_types), pair_types);
	store_pairs(flows, &rows);
	l4_rows_flush(&rows);
}

/* seconds -> void: what was read of the last seconds (0 all) is analyzed, and what was found before is replaced */
Datum
l4_flow_analyze(PG_FUNCTION_ARGS)
{
	double		keep = PG_GETARG_FLOAT8(0);
	MemoryContext cxt;
	L4Flows    *flows;

	SPI_connect();
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 flows", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(cxt);
	flows = l4_flows_open(cxt);
	if (keep > 0 && !TIMESTAMP_NOT_FINITE(flows->last))
		flows->from = flows->last - (int64) (Min(keep, 1e9) * L4_FLOW_SECOND);
	flows->first = Max(flows->first, flows->from);
	l4_flows_features(flows);
	l4_flows_cluster(flows);
	l4_flows_divide(flows);
	l4_flows_jobs(flows);
	l4_flows_steps(flows);
	l4_flows_ranks(flows);
	store_jobs(flows);
	l4_flows_blame(flows);
	l4_flows_issues(flows);
	store_issues(flows);
	SPI_finish();
	PG_RETURN_VOID();
}
