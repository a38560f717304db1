/*
 * ingest_rollup.c
 *		Events of jobs: counts of each over all streams, and its first record.
 *
 * The counts are added up anew from those of the streams, so nothing can
 * drift; the first record is the best of those that the units of the batch
 * bring and the one that is stored. Comparisons of names are by bytes, so
 * that they are the same wherever they are made.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "ingest/ingest_store.h"
#include "l4_compat.h"

typedef struct JobEvent
{
	int32		event_id;
	char		status;
	/* counts */
	int64		occurrences;
	int			nodes;
	int			last_node;		/* number of the node that was counted last */
	TimestampTz first_ts;
	TimestampTz last_ts;
	/* first record that the batch brings; text NULL none */
	TimestampTz ts;
	const char *node;
	const char *source;
	int64		line_no;
	text	   *text;
} JobEvent;

#define SH_PREFIX jobevent
#define SH_ELEMENT_TYPE JobEvent
#define SH_KEY_TYPE int32
#define SH_KEY event_id
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) (key))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Job
{
	char	   *job_id;
	bool		may_lose;		/* records were open: their events may be gone */
	jobevent_hash *events;
} Job;

struct L4RollUp
{
	MemoryContext cxt;
	int			njobs;
	int			jobs_size;
	Job		   *jobs;
};

static const char counts_sql[] =
"SELECT s.node, m.events, m.open_events "
"FROM l4._stream s JOIN l4._summary m ON m.stream_id = s.stream_id AND m.part = 0 WHERE s.job_id = $1 ORDER BY s.node";

/* of the same record the later text is the longer one */
static const char with_record_sql[] =
"INSERT INTO l4._job_event AS j (job_id, event_id, occurrences, nodes, first_ts, last_ts, first_node, first_source, first_line_no, example, example_ts) "
"SELECT $1, x.* FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS x "
"ON CONFLICT ON CONSTRAINT _job_event_pkey DO UPDATE "
"SET occurrences = excluded.occurrences, nodes = excluded.nodes, first_ts = excluded.first_ts, last_ts = excluded.last_ts, "
"(first_node, first_source, first_line_no, example, example_ts) = "
"(SELECT r.node, r.source, r.line_no, r.example, r.ts "
"FROM (VALUES (1, excluded.first_node, excluded.first_source, excluded.first_line_no, excluded.example, excluded.example_ts), "
"(2, j.first_node, j.first_source, j.first_line_no, j.example, j.example_ts)) AS r(n, node, source, line_no, example, ts) "
"ORDER BY r.ts, r.node COLLATE \"C\", r.source COLLATE \"C\", r.line_no, r.n LIMIT 1)";
static const Oid with_record_types[] = {TEXTOID, INT4ARRAYOID, INT8ARRAYOID, INT4ARRAYOID, TIMESTAMPTZARRAYOID, TIMESTAMPTZARRAYOID,
TEXTARRAYOID, TEXTARRAYOID, INT8ARRAYOID, TEXTARRAYOID, TIMESTAMPTZARRAYOID};

static const char counts_only_sql[] =
"UPDATE l4._job_event j SET occurrences = x.occurrences, nodes = x.nodes, first_ts = x.first_ts, last_ts = x.last_ts "
"FROM unnest($2, $3, $4, $5, $6) AS x(event_id, occurrences, nodes, first_ts, last_ts) "
"WHERE j.job_id = $1 AND j.event_id = x.event_id "
"AND (j.occurrences, j.nodes, j.first_ts, j.last_ts) IS DISTINCT FROM (x.occurrences, x.nodes, x.first_ts, x.last_ts)";

static const char gone_sql[] = "DELETE FROM l4._job_event j WHERE j.job_id = $1 AND j.event_id <> ALL ($2)";

L4RollUp *
l4_rollup_create(MemoryContext cxt)
{
	L4RollUp   *rollup = MemoryContextAllocZero(cxt, sizeof(L4RollUp));

	rollup->cxt = cxt;
	return rollup;
}

/* Streams come job by job: look at the latest ones first. */
static Job *
find_job(L4RollUp *rollup, const char *job_id)
{
	Job		   *job;

	for (int i = rollup->njobs - 1; i >= 0; i--)
		if (strcmp(rollup->jobs[i].job_id, job_id) == 0)
			return &rollup->jobs[i];
	if (rollup->njobs >= rollup->jobs_size)
	{
		rollup->jobs_size = Max(16, rollup->jobs_size * 2);
		rollup->jobs = rollup->jobs == NULL ? MemoryContextAlloc(rollup->cxt, sizeof(Job) * rollup->jobs_size)
			: repalloc(rollup->jobs, sizeof(Job) * rollup->jobs_size);
	}
	job = &rollup->jobs[rollup->njobs++];
	job->job_id = MemoryContextStrdup(rollup->cxt, job_id);
	job->may_lose = false;
	job->events = jobevent_create(rollup->cxt, 256, NULL);
	return job;
}

static JobEvent *
job_event(Job *job, int32 event_id)
{
	bool		found;
	JobEvent   *event = jobevent_insert(job->events, event_id, &found);

	if (!found)
	{
		event->occurrences = 0;
		event->nodes = 0;
		event->last_node = -1;
		event->first_ts = event->last_ts = event->ts = L4_NO_TS;
		event->text = NULL;
	}
	return event;
}

/* Is a record before the one that is known? Those without a time come last. */
static bool
comes_first(const JobEvent *event, TimestampTz ts, const char *node, const char *source, int64 line_no)
{
	int			order;

	if (event->text == NULL)
		return true;
	if (ts != event->ts)
		return event->ts == L4_NO_TS || (ts != L4_NO_TS && ts < event->ts);
	order = strcmp(node, event->node);
	if (order == 0)
		order = strcmp(source, event->source);
	return order < 0 || (order == 0 && line_no < event->line_no);
}

/* What a stream brings to its job. */
void
l4_rollup_stream(L4RollUp *rollup, const char *job_id, const char *node, const char *source, bool may_lose, const L4Packed *packed)
{
	Job		   *job = find_job(rollup, job_id);
	MemoryContext old = MemoryContextSwitchTo(rollup->cxt);
	char	   *node_copy = NULL;
	char	   *source_copy = NULL;

	job->may_lose |= may_lose;
	for (int i = 0; i < packed->nexamples; i++)
	{
		const L4Example *example = &packed->examples[i];
		JobEvent   *event = job_event(job, example->event_id);

		if (!comes_first(event, example->ts, node, source, example->line_no))
			continue;
		if (node_copy == NULL)
		{
			node_copy = pstrdup(node);
			source_copy = pstrdup(source);
		}
		if (event->text != NULL)
			pfree(event->text);
		event->text = cstring_to_text_with_len(example->text, example->len);
		event->ts = example->ts;
		event->node = node_copy;
		event->source = source_copy;
		event->line_no = example->line_no;
	}
	MemoryContextSwitchTo(old);
}

static TimestampTz
pack_ts(const L4Pack *pack, int col, int row)
{
	return l4_pack_is_null(pack, col, row) ? L4_NO_TS : pack->cols[col].ints[row];
}

static void
add_counts(Job *job, Datum packed, bool isnull, int node)
{
	L4Pack	   *pack;

	if (isnull)
		return;
	pack = l4_pack_open(DatumGetByteaPP(packed), CurrentMemoryContext);
	if (pack->ncols != L4_EVENT_COLS)
		l4_pack_corrupted("events");
	for (int c = 0; c <= L4_EVENT_LAST_TS; c++)
		l4_pack_need(pack, c);
	for (int row = 0; row < pack->nrows; row++)
	{
		JobEvent   *event = job_event(job, (int32) pack->cols[L4_EVENT_ID].ints[row]);
		TimestampTz first_ts = pack_ts(pack, L4_EVENT_FIRST_TS, row);
		TimestampTz last_ts = pack_ts(pack, L4_EVENT_LAST_TS, row);

		event->occurrences += pack->cols[L4_EVENT_OCCURRENCES].ints[row];
		event->nodes += event->last_node != node;
		event->last_node = node;
		if (first_ts != L4_NO_TS && (event->first_ts == L4_NO_TS || first_ts < event->first_ts))
			event->first_ts = first_ts;
		if (last_ts != L4_NO_TS && (event->last_ts == L4_NO_TS || last_ts > event->last_ts))
			event->last_ts = last_ts;
	}
}

/* Counts of all streams of a job, node by node. */
static void
count_job(L4Query *query, Job *job, MemoryContext cxt)
{
	MemoryContext old;
	char	   *before = NULL;
	int			node = -1;
	uint64		n;

	l4_query_put(query, CStringGetTextDatum(job->job_id), false);
	n = l4_query_run(query);
	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		char	   *name = SPI_getvalue(row, desc, 1);

		CHECK_FOR_INTERRUPTS();
		if (before == NULL || strcmp(name, before) != 0)
			node++;
		before = name;
		old = MemoryContextSwitchTo(cxt);
		for (int col = 2; col <= 3; col++)
		{
			bool		isnull;
			Datum		packed = SPI_getbinval(row, desc, col, &isnull);

			add_counts(job, packed, isnull, node);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	SPI_freetuptable(SPI_tuptable);
}

static int
compare_events(const void *a, const void *b)
{
	int32		x = (*(JobEvent *const *) a)->event_id;
	int32		y = (*(JobEvent *const *) b)->event_id;

	return x < y ? -1 : x > y;
}

enum
{
	COL_EVENT, COL_OCCURRENCES, COL_NODES, COL_FIRST_TS, COL_LAST_TS, COL_COUNTS,
	COL_NODE = COL_COUNTS, COL_SOURCE, COL_LINE, COL_EXAMPLE, COL_TS, COL_ALL
};

static const Oid column_types[COL_ALL] = {INT4OID, INT8OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID,
TEXTOID, TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID};

/* Events as parameters of a statement: an array a column. */
static void
put_events(L4Query *query, JobEvent **events, int n, int ncols)
{
	Datum	   *values = (Datum *) palloc(sizeof(Datum) * Max(n, 1) * COL_ALL);
	bool	   *nulls = (bool *) palloc0(Max(n, 1) * COL_ALL);
	int			lbound = 1;

	for (int i = 0; i < n; i++)
	{
		const JobEvent *event = events[i];

		values[COL_EVENT * n + i] = Int32GetDatum(event->event_id);
		values[COL_OCCURRENCES * n + i] = Int64GetDatum(event->occurrences);
		values[COL_NODES * n + i] = Int32GetDatum(event->nodes);
		values[COL_FIRST_TS * n + i] = TimestampTzGetDatum(event->first_ts);
		nulls[COL_FIRST_TS * n + i] = event->first_ts == L4_NO_TS;
		values[COL_LAST_TS * n + i] = TimestampTzGetDatum(event->last_ts);
		nulls[COL_LAST_TS * n + i] = event->last_ts == L4_NO_TS;
		if (ncols == COL_COUNTS)
			continue;
		values[COL_NODE * n + i] = CStringGetTextDatum(event->node);
		values[COL_SOURCE * n + i] = CStringGetTextDatum(event->source);
		values[COL_LINE * n + i] = Int64GetDatum(event->line_no);
		values[COL_EXAMPLE * n + i] = PointerGetDatum(event->text);
		values[COL_TS * n + i] = TimestampTzGetDatum(event->ts);
		nulls[COL_TS * n + i] = event->ts == L4_NO_TS;
	}
	for (int c = 0; c < ncols; c++)
	{
		int16		len;
		bool		byval;
		char		align;

		get_typlenbyvalalign(column_types[c], &len, &byval, &align);
		l4_query_put(query, PointerGetDatum(construct_md_array(values + c * n, nulls + c * n, 1, &n, &lbound,
															   column_types[c], len, byval, align)), false);
	}
}

typedef struct Queries
{
	L4Query		counts;
	L4Query		with_record;
	L4Query		counts_only;
	L4Query		gone;
} Queries;

static void
store_job(Queries *queries, Job *job)
{
	JobEvent  **with_record = (JobEvent **) palloc(sizeof(JobEvent *) * Max(job->events->members, 1));
	JobEvent  **counts_only = (JobEvent **) palloc(sizeof(JobEvent *) * Max(job->events->members, 1));
	Datum		job_id = CStringGetTextDatum(job->job_id);
	int			nwith = 0;
	int			nonly = 0;
	jobevent_iterator it;
	JobEvent   *event;

	jobevent_start_iterate(job->events, &it);
	while ((event = jobevent_iterate(job->events, &it)) != NULL)
	{
		if (event->text != NULL)
			with_record[nwith++] = event;
		else
			counts_only[nonly++] = event;
	}
	/* in one order, so that equal input makes equal tables */
	qsort(with_record, nwith, sizeof(JobEvent *), compare_events);
	if (nwith > 0)
	{
		l4_query_put(&queries->with_record, job_id, false);
		put_events(&queries->with_record, with_record, nwith, COL_ALL);
		l4_query_run(&queries->with_record);
	}
	if (nonly > 0)
	{
		l4_query_put(&queries->counts_only, job_id, false);
		put_events(&queries->counts_only, counts_only, nonly, COL_COUNTS);
		l4_query_run(&queries->counts_only);
	}
	if (job->may_lose)
	{
		Datum	   *ids = (Datum *) palloc(sizeof(Datum) * Max(job->events->members, 1));
		int			n = 0;

		for (int i = 0; i < nwith; i++)
			ids[n++] = Int32GetDatum(with_record[i]->event_id);
		for (int i = 0; i < nonly; i++)
			ids[n++] = Int32GetDatum(counts_only[i]->event_id);
		l4_query_put(&queries->gone, job_id, false);
		l4_query_put(&queries->gone, PointerGetDatum(construct_array(ids, n, INT4OID, sizeof(int32), true, TYPALIGN_INT)), false);
		l4_query_run(&queries->gone);
	}
}

void
l4_rollup_store(L4RollUp *rollup)
{
	static const Oid gone_types[] = {TEXTOID, INT4ARRAYOID};
	MemoryContext cxt = AllocSetContextCreate(rollup->cxt, "l4 roll-up", ALLOCSET_DEFAULT_SIZES);
	MemoryContext job_cxt = AllocSetContextCreate(rollup->cxt, "l4 job", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(job_cxt);
	Queries		queries;

	l4_query_prepare(&queries.counts, counts_sql, 1, gone_types);
	l4_query_prepare(&queries.with_record, with_record_sql, lengthof(with_record_types), with_record_types);
	l4_query_prepare(&queries.counts_only, counts_only_sql, 1 + COL_COUNTS, with_record_types);
	l4_query_prepare(&queries.gone, gone_sql, lengthof(gone_types), gone_types);
	for (int i = 0; i < rollup->njobs; i++)
	{
		CHECK_FOR_INTERRUPTS();
		count_job(&queries.counts, &rollup->jobs[i], cxt);
		store_job(&queries, &rollup->jobs[i]);
		MemoryContextReset(job_cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(job_cxt);
	MemoryContextDelete(cxt);
}
