/*
 * store.c
 *		What the analysis of a span found becomes rows: those of the span
 *		before are replaced. SQL joins the spans.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/json.h"

#include "base/args.h"
#include "base/order.h"
#include "flow/analysis.h"
#include "l4_compat.h"

#define SPAN_NUMBER		(15 * L4_FLOW_SECOND)	/* numbers of spans: four a minute, of which one is for each size */
#define FEW_STEPS		5		/* of a job that is found as before, at least */
#define SURE_COST		0.5		/* of a division that is of steps; those of layers and micro-batches may be less sure */

static const char *const kinds[] = {"other", "dp", "pp", "ep", "cp"};
static const char *const issue_kinds[] = {"slow_step", "slow_rank", "slow_group", "slow_switch"};

static const char stint_sql[] =
"INSERT INTO l4._flow_stint (span, stint, first_ts, last_ts, period_ms, usual_ms, steps, nics, sizes, weights, dp, pp, hubs, sampled, coarse, gaps, bytes, stopped, silent) "
"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
static const Oid stint_types[] = {INT8OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, FLOAT8OID, INT4OID, INETARRAYOID, FLOAT8ARRAYOID,
	FLOAT8ARRAYOID, INT4OID, INT4OID, INT4OID, BOOLOID, BOOLOID, BOOLOID, FLOAT8OID, FLOAT8OID, TEXTOID};
static const char step_sql[] =
"INSERT INTO l4._flow_stint_step (span, stint, n, started, ended, dp_ms, cover, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
static const Oid step_types[] = {INT8OID, INT4OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, FLOAT8OID, TEXTOID};
static const char nic_sql[] =
"INSERT INTO l4._flow_stint_nic (span, stint, address, dp_group, pp_ms) VALUES ($1, $2, $3, $4, $5)";
static const Oid nic_types[] = {INT8OID, INT4OID, INETOID, INT4OID, FLOAT4ARRAYOID};
static const char pair_sql[] =
"INSERT INTO l4._flow_stint_pair (span, stint, a, b, kind, records, bytes, sizes, evidence) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)";
static const Oid pair_types[] = {INT8OID, INT4OID, INETOID, INETOID, TEXTOID, INT8OID, FLOAT8OID, FLOAT8ARRAYOID, TEXTOID};
static const char issue_sql[] =
"INSERT INTO l4._flow_stint_issue (span, stint, kind, subject, first_ts, last_ts, score, reason, evidence) "
"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)";
static const Oid issue_types[] = {INT8OID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, TEXTOID, TEXTOID};

typedef struct SpanRows
{
	L4Flows    *flows;
	int64		span;
	int		   *number;			/* of each stint among the rows, -1 it lies around the span */
	int		   *first;			/* first step that ends in the span, */
	int		   *behind;			/* and the one behind the last */
	double	   *bytes;			/* of its pairs whose kind is known */
} SpanRows;

/* A row begins with the span and the stint; none (-1) of issues of several jobs. */
static void
begin_row(const SpanRows *rows, L4Query *query, int stint)
{
	l4_query_put_bigint(query, rows->span);
	l4_query_put(query, Int32GetDatum(stint < 0 ? -1 : rows->number[stint]), stint < 0);
}

static void
put_float(L4Query *query, double value)
{
	l4_query_put(query, Float8GetDatum(value), false);
}

static void
put_array(L4Query *query, Datum *values, int n, Oid type)
{
	l4_query_put(query, l4_array(values, n, type), false);
}

/* NICs of the largest data parallel group, without those that are no members, such as a storage. */
static int
largest_group(const L4Flows *flows, const L4FlowStint *stint)
{
	int			largest = 0;

	for (int g = 0; g < stint->ngroups; g++)
	{
		const L4FlowGroup *group = &flows->groups[stint->groups[g]];
		int			n = 0;

		for (int k = 0; k < group->nnics; k++)
			n += bsearch(&group->nics[k], stint->nics, stint->nnics, sizeof(int), l4_order_int32) != NULL;
		largest = Max(largest, group->kind == L4_FLOW_DP ? n : 1);
	}
	return largest;
}

static void
store_stint(const SpanRows *rows, L4Query *query, int s)
{
	const L4Flows *flows = rows->flows;
	const L4FlowStint *stint = &flows->stints[s];
	int			n = Max(stint->nnics, Max(stint->nsizes, 1));
	Datum	   *values = palloc(sizeof(Datum) * n);
	int			pp = 0;
	bool		gaps = stint->nsteps == 0;

	begin_row(rows, query, s);
	l4_query_put_ts(query, stint->first);
	l4_query_put_ts(query, stint->last);
	put_float(query, stint->period / 1000);
	put_float(query, (stint->usual > 0 ? stint->usual : stint->period) / 1000);
	l4_query_put_int(query, rows->behind[s] - rows->first[s]);
	for (int i = 0; i < stint->nnics; i++)
		values[i] = flows->addresses[stint->nics[i]].address;
	put_array(query, values, stint->nnics, INETOID);
	for (int i = 0; i < stint->nsizes; i++)
		values[i] = Float8GetDatum(stint->sizes[i].size);
	put_array(query, values, stint->nsizes, FLOAT8OID);
	for (int i = 0; i < stint->nsizes; i++)
		values[i] = Float8GetDatum(stint->sizes[i].bytes);
	put_array(query, values, stint->nsizes, FLOAT8OID);
	for (int c = 0; c < stint->nclusters; c++)
	{
		const L4FlowCluster *cluster = &flows->clusters[stint->clusters[c]];
		const L4FlowGroup *group = &flows->groups[cluster->first_group];

		pp = Max(pp, cluster->ngroups > 0 && group->kind == L4_FLOW_PP ? group->nnics : cluster->ngroups);
	}
	for (int i = rows->first[s]; i < rows->behind[s]; i++)
		gaps |= stint->cover[i] < 0.5;
	l4_query_put_int(query, largest_group(flows, stint));
	l4_query_put_int(query, pp);
	l4_query_put_int(query, flows->hubs);
	l4_query_put_bool(query, stint->sampled);
	l4_query_put_bool(query, stint->coarse);
	l4_query_put_bool(query, gaps);
	put_float(query, rows->bytes[s]);
	l4_query_put(query, Float8GetDatum(stint->stopped), stint->stopped == 0 || stint->last >= flows->end);
	l4_query_put_text(query, stint->silent);
	l4_query_run(query);
	pfree(values);
}

static void
store_steps(const SpanRows *rows, L4Query *query, int s)
{
	const L4FlowStint *stint = &rows->flows->stints[s];

	for (int i = rows->first[s]; i < rows->behind[s]; i++)
	{
		begin_row(rows, query, s);
		l4_query_put_int(query, i - rows->first[s]);
		l4_query_put_ts(query, i == 0 ? stint->first : stint->ends[i - 1]);
		l4_query_put_ts(query, stint->ends[i]);
		put_float(query, stint->dp_ms[i]);
		put_float(query, stint->cover[i]);
		l4_query_put_text(query, i == 0 ? "its start is not on the network" :
						  stint->reason[i] != NULL ? stint->reason[i] :
						  stint->slow[i] > 0 ? psprintf("%.0f %% longer than usual", 100 * stint->slow[i]) : NULL);
		l4_query_run(query);
	}
}

static void
store_nics(const SpanRows *rows, L4Query *query, int s)
{
	const L4Flows *flows = rows->flows;
	const L4FlowStint *stint = &flows->stints[s];
	int			n = rows->behind[s] - rows->first[s];
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < stint->nnics; i++)
	{
		begin_row(rows, query, s);
		l4_query_put(query, flows->addresses[stint->nics[i]].address, false);
		l4_query_put_int(query, l4_flows_group_of(flows, stint, stint->nics[i]) + 1);
		for (int k = 0; k < n; k++)
			values[k] = Float4GetDatum(rintf(stint->nic_pp_ms[i][rows->first[s] + k] * 1000) / 1000);
		put_array(query, values, n, FLOAT4OID);
		l4_query_run(query);
	}
	pfree(values);
}

/* Runs of a pair in one stint become a row: with the kind that has most bytes. */
static void
store_pair(const SpanRows *rows, L4Query *query, int from, int to, int stint)
{
	const L4Flows *flows = rows->flows;
	const L4FlowPair *pair = &flows->pairs[flows->runs[from].pair];
	const L4FlowRun *main = NULL;
	double		bytes[5] = {0};
	double		own_bytes = 0;
	int64		records = 0;
	int64		own = 0;
	L4FlowKind	kind = L4_FLOW_OTHER;
	Datum		sizes[L4_FLOW_CLASSES];

	for (int i = from; i < to; i++)
	{
		const L4FlowRun *run = &flows->runs[i];

		if (run->stint != stint)
			continue;
		bytes[run->kind] += run->bytes;
		records += run->n;
		own += run->own;
		own_bytes += run->own_bytes;
		if (main == NULL || run->bytes > main->bytes)
			main = run;
	}
	if (own == 0 || rows->number[stint] < 0)
		return;
	for (int k = 0; k < lengthof(bytes); k++)
		kind = bytes[k] > bytes[kind] ? k : kind;
	rows->bytes[stint] += kind == L4_FLOW_OTHER ? 0 : own_bytes;
	begin_row(rows, query, stint);
	l4_query_put(query, flows->addresses[pair->a].address, false);
	l4_query_put(query, flows->addresses[pair->b].address, false);
	l4_query_put_text(query, kinds[kind]);
	l4_query_put_bigint(query, own);
	put_float(query, own_bytes);
	for (int c = 0; c < main->nclasses; c++)
		sizes[c] = Float8GetDatum(main->classes[c].size);
	put_array(query, sizes, main->nclasses, FLOAT8OID);
	l4_query_put_text(query, psprintf("{\"one_way\": %.3f, \"simultaneous\": %.3f, \"main_size\": %.3f, \"records_a_step\": %.1f}",
									  main->one_way, main->simultaneous, main->main_size,
									  (double) records / Max(flows->stints[stint].nsteps, 1)));
	l4_query_run(query);
}

static void
store_pairs(const SpanRows *rows, L4Query *query)
{
	const L4Flows *flows = rows->flows;

	for (int r = 0, end; r < flows->nruns; r = end)
	{
		CHECK_FOR_INTERRUPTS();
		for (end = r + 1; end < flows->nruns && flows->runs[end].pair == flows->runs[r].pair; end++)
			;
		for (int i = r; i < end; i++)
		{
			bool		first = flows->runs[i].stint >= 0;

			for (int k = r; k < i && first; k++)
				first = flows->runs[k].stint != flows->runs[i].stint;
			if (first)
				store_pair(rows, query, i, end, flows->runs[i].stint);
		}
	}
}

static void
store_issues(const SpanRows *rows, L4Query *query)
{
	const L4Flows *flows = rows->flows;

	for (int i = 0; i < flows->nissues; i++)
	{
		const L4FlowIssue *issue = &flows->issues[i];
		int			stint = issue->stint;
		int64		first = issue->kind == L4_FLOW_SLOW_STEP ? issue->last : issue->first;
		const char *subject = issue->subject;
		StringInfoData evidence;

		/* what lies around the span is found again in the one before or behind it */
		if ((stint >= 0 && rows->number[stint] < 0) || first >= flows->end || issue->last < flows->begin)
			continue;
		if (issue->kind == L4_FLOW_SLOW_STEP)
			subject = psprintf("%d", l4_step_of(&flows->stints[stint], issue->last) - rows->first[stint]);
		initStringInfo(&evidence);
		appendStringInfoChar(&evidence, '{');
		if (issue->cause >= 0)
		{
			const L4FlowIssue *cause = &flows->issues[issue->cause];

			appendStringInfo(&evidence, "\"cause\": \"%s\", \"subject\": ", issue_kinds[cause->kind]);
			escape_json(&evidence, cause->subject);
		}
		appendStringInfoChar(&evidence, '}');
		begin_row(rows, query, stint);
		l4_query_put_text(query, issue_kinds[issue->kind]);
		l4_query_put_text(query, subject);
		l4_query_put_ts(query, issue->first);
		l4_query_put_ts(query, issue->last);
		put_float(query, issue->score);
		l4_query_put_text(query, issue->reason);
		l4_query_put_text(query, evidence.data);
		l4_query_run(query);
	}
}

/* Which stints lie in the span, at least in part, and which of their steps end in it. */
static void
choose_stints(SpanRows *rows)
{
	const L4Flows *flows = rows->flows;
	int			n = 0;

	rows->number = palloc(sizeof(int) * Max(flows->nstints, 1));
	rows->first = palloc0(sizeof(int) * Max(flows->nstints, 1));
	rows->behind = palloc0(sizeof(int) * Max(flows->nstints, 1));
	rows->bytes = palloc0(sizeof(double) * Max(flows->nstints, 1));
	for (int s = 0; s < flows->nstints; s++)
	{
		const L4FlowStint *stint = &flows->stints[s];

		rows->number[s] = stint->nnics == 0 || stint->last < flows->begin || stint->first >= flows->end ? -1 : n++;
		rows->first[s] = l4_step_of(stint, flows->begin);
		rows->behind[s] = l4_step_of(stint, flows->end);
	}
}

/*
 * Are the steps of a stint found? In a short span they are as they were
 * before; a long one may see too few, and divide at layers or micro-batches,
 * which are less alike. What records hide no longer one would see.
 */
static bool
is_sure(const L4Flows *flows, const L4FlowStint *stint)
{
	if (stint->coarse)
		return !flows->only;
	return stint->nsteps >= FEW_STEPS && (flows->only || flows->groups[stint->groups[0]].cost <= SURE_COST);
}

/*
 * Addresses that send as jobs do in the span, but that it does not find in a
 * job of what it looks at alone.
 */
static Datum
not_found(const SpanRows *rows)
{
	const L4Flows *flows = rows->flows;
	bool	   *found = palloc0(Max(flows->naddresses, 1));
	bool	   *sends = palloc0(Max(flows->naddresses, 1));
	Datum	   *values = palloc(sizeof(Datum) * Max(flows->naddresses, 1));
	int			n = 0;

	for (int s = 0; s < flows->nstints; s++)
	{
		const L4FlowStint *stint = &flows->stints[s];
		bool		all = rows->number[s] >= 0 && is_sure(flows, stint);

		for (int i = 0; i < stint->nnics; i++)
			all = all && flows->addresses[stint->nics[i]].chosen == flows->only;
		for (int i = 0; i < stint->nnics; i++)
			found[stint->nics[i]] |= all;
	}
	for (int r = 0; r < flows->nruns; r++)
	{
		const L4FlowRun *run = &flows->runs[r];
		const L4FlowPair *pair = &flows->pairs[run->pair];
		bool		again = l4_flows_again(flows, r);

		/* what is sent again behind a silence may recur in minutes */
		if ((run->regular || again) && run->last >= flows->begin && flows->runs[again ? r - 1 : r].first < flows->end)
			sends[pair->a] = sends[pair->b] = true;
	}
	for (int a = 0; a < flows->naddresses; a++)
		if (flows->addresses[a].chosen == flows->only && sends[a] && !found[a])
			values[n++] = flows->addresses[a].address;
	return l4_array(values, n, INETOID);
}

static void
store_span(SpanRows *rows)
{
	const L4Flows *flows = rows->flows;
	L4Query		stint;
	L4Query		step;
	L4Query		nic;
	L4Query		pair;
	L4Query		issue;

	choose_stints(rows);
	l4_query_prepare(&stint, stint_sql, lengthof(stint_types), stint_types);
	l4_query_prepare(&step, step_sql, lengthof(step_types), step_types);
	l4_query_prepare(&nic, nic_sql, lengthof(nic_types), nic_types);
	l4_query_prepare(&pair, pair_sql, lengthof(pair_types), pair_types);
	l4_query_prepare(&issue, issue_sql, lengthof(issue_types), issue_types);
	store_pairs(rows, &pair);
	for (int s = 0; s < flows->nstints; s++)
	{
		CHECK_FOR_INTERRUPTS();
		if (rows->number[s] < 0)
			continue;
		store_stint(rows, &stint, s);
		store_steps(rows, &step, s);
		store_nics(rows, &nic, s);
	}
	store_issues(rows, &issue);
}

/*
 * (span, begin and end of all flows, its seconds, those seen before and
 * behind, addresses) -> addresses: the flows of a span are analyzed; of it
 * there are no rows. A long span looks at pairs of all but the addresses, the
 * others at theirs only. Returns those of what it looked at that it does not
 * find in a job.
 */
L4_FUNCTION(l4_flow_analyze)
{
	int64		span = PG_GETARG_INT64(0);
	int64		seconds = PG_GETARG_INT32(3);
	int64		before = PG_GETARG_INT32(4);
	int64		behind = PG_GETARG_INT32(5);
	int64		begin;
	MemoryContext old = CurrentMemoryContext;
	MemoryContext cxt;
	SpanRows	rows = {.span = span};
	L4Flows    *flows;
	L4Blame    *blame;
	Datum		result;

	if (span < MIN_TIMESTAMP / SPAN_NUMBER || span >= END_TIMESTAMP / SPAN_NUMBER || seconds <= 0 || seconds > SECS_PER_DAY
		|| before < 0 || before > SECS_PER_DAY || behind < 0 || behind > SECS_PER_DAY)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("there is no span %lld of flows", (long long) span),
				 errdetail("Spans are counted from 2000.")));
	SPI_connect();
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 flows", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(cxt);
	begin = (span >> 2) * 4 * SPAN_NUMBER;
	flows = l4_flows_open(cxt, begin, begin + seconds * L4_FLOW_SECOND, before * L4_FLOW_SECOND, behind * L4_FLOW_SECOND,
						  PG_GETARG_TIMESTAMPTZ(1), PG_GETARG_TIMESTAMPTZ(2), PG_GETARG_DATUM(6), (span & 3) != 0);
	l4_flows_features(flows);
	l4_flows_cluster(flows);
	l4_flows_divide(flows);
	l4_flows_jobs(flows);
	blame = l4_flows_blame_begin(flows);
	for (int s = 0; s < flows->nstints; s++)
	{
		l4_flows_keep(flows);
		l4_flows_steps(flows, &flows->stints[s]);
		l4_flows_ranks(flows, &flows->stints[s]);
		l4_flows_links(blame, s);
	}
	l4_flows_join_ranks(flows);
	l4_flows_blame(blame);
	l4_flows_issues(flows);
	rows.flows = flows;
	store_span(&rows);
	result = not_found(&rows);
	MemoryContextSwitchTo(old);
	result = datumCopy(result, false, -1);
	SPI_finish();
	PG_RETURN_DATUM(result);
}
