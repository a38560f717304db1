/*
 * job_counts.c
 *		Events of jobs: counts of each over all streams, and its first record.
 *
 * The counts are those of the streams, added up. Of a job of which a batch
 * reads a small part only the nodes that it reads are counted, before and
 * after; else, or where a time that was the first or the last of the job is
 * gone, all are. The first record is the best of those that the scan results of the
 * batch bring and the one that is stored. Comparisons of names are by bytes,
 * so that they are the same wherever they are made.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "base/grow.h"
#include "base/map.h"
#include "base/order.h"
#include "ingest/batch.h"
#include "l4_compat.h"
#include "packed/sections.h"

typedef struct JobEvent
{
	int32		event_id;
	/* counts */
	int64		occurrences;
	int			nodes;
	int			last_node;		/* number of the node that was counted last */
	TimestampTz first_ts;
	TimestampTz last_ts;
	TimestampTz first_before;	/* of the nodes of the batch, before it */
	TimestampTz last_before;
	/* first record that the batch brings; text NULL none */
	TimestampTz ts;
	const char *node;
	const char *source;
	int64		line_no;
	text	   *text;
} JobEvent;

typedef struct Job
{
	MemoryContext cxt;
	char	   *job_id;
	L4Map	   *event_numbers;	/* places in events, from 1 */
	int			nevents;
	int			events_size;
	JobEvent   *events;
	int			node;			/* number of the node that was counted last */
	Datum		nodes;			/* of the batch, where these alone are counted; 0 all of the job */
} Job;

struct L4JobCounts
{
	MemoryContext cxt;
	int			njobs;
	int			jobs_size;
	Job		   *jobs;
};

/* OFFSET: without statistics the planner would look for the streams of each pack */
#define COUNTS "SELECT s.node, l4._member(m.events, s.member), l4._member(m.open_events, s.member) FROM l4._stream s " \
"CROSS JOIN LATERAL (SELECT p.events, p.open_events FROM l4._pack p WHERE p.pack_id = s.pack_id AND p.part = 0 OFFSET 0) m WHERE s.job_id = $1 "
static const char counts_sql[] = COUNTS "ORDER BY s.node";
static const char counts_of_nodes_sql[] = COUNTS "AND s.node = ANY ($2) ORDER BY s.node";

/* Nodes of the batch, of jobs that have several times as many streams */
static const char nodes_sql[] =
"SELECT t.job_id, t.nodes FROM (SELECT s.job_id, array_agg(DISTINCT s.node) AS nodes, count(*) AS streams FROM l4._stream s "
"WHERE s.stream_id = ANY ($1) GROUP BY s.job_id) t "
"WHERE (SELECT count(*) FROM (SELECT FROM l4._stream o WHERE o.job_id = t.job_id LIMIT 8 * t.streams) o) = 8 * t.streams";

static const char stored_sql[] = "SELECT p.events FROM l4._job_pack p WHERE p.job_id = $1";

static const char store_sql[] =
"INSERT INTO l4._job_pack (job_id, events) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT _job_pack_pkey DO UPDATE SET events = excluded.events";

/* Columns of packed events of a job, as l4._job_event shows them */
enum
{
	COL_EVENT, COL_OCCURRENCES, COL_NODES, COL_FIRST_TS, COL_LAST_TS, COL_NODE, COL_SOURCE, COL_LINE, COL_EXAMPLE, COL_TS, NCOLS
};
static const char columns[] = "iiiiissisi";

typedef struct Queries
{
	L4Query		counts;
	L4Query		counts_of_nodes;
	L4Query		stored;
	L4Query		store;
} Queries;

static void
prepare_queries(Queries *queries)
{
	static const Oid types[] = {TEXTOID, BYTEAOID};
	static const Oid nodes_types[] = {TEXTOID, TEXTARRAYOID};

	l4_query_prepare(&queries->counts, counts_sql, 1, types);
	l4_query_prepare(&queries->counts_of_nodes, counts_of_nodes_sql, lengthof(nodes_types), nodes_types);
	l4_query_prepare(&queries->stored, stored_sql, 1, types);
	l4_query_prepare(&queries->store, store_sql, lengthof(types), types);
}

L4JobCounts *
l4_job_counts_create(MemoryContext cxt)
{
	L4JobCounts   *job_counts = MemoryContextAllocZero(cxt, sizeof(L4JobCounts));

	job_counts->cxt = cxt;
	return job_counts;
}

/* Streams come job by job: look at the latest ones first. */
static Job *
find_job(L4JobCounts *job_counts, const char *job_id)
{
	Job		   *job;

	for (int i = job_counts->njobs - 1; i >= 0; i--)
		if (strcmp(job_counts->jobs[i].job_id, job_id) == 0)
			return &job_counts->jobs[i];
	L4_GROW_FROM(job_counts->jobs, job_counts->njobs, job_counts->jobs_size, 16, job_counts->cxt);
	job = &job_counts->jobs[job_counts->njobs++];
	*job = (Job) {.job_id = MemoryContextStrdup(job_counts->cxt, job_id), .cxt = job_counts->cxt,
		.event_numbers = l4_map_create(job_counts->cxt, 256, NULL), .node = -1};
	return job;
}

/* An event, valid until another one is asked for. */
static JobEvent *
job_event(Job *job, int32 event_id)
{
	int32	   *number = l4_map_put(job->event_numbers, event_id, NULL);

	if (*number == 0)
	{
		L4_GROW(job->events, job->nevents, job->events_size, job->cxt);
		job->events[job->nevents++] = (JobEvent) {.event_id = event_id, .last_node = -1, .first_ts = L4_NO_TS,
			.last_ts = L4_NO_TS, .first_before = L4_NO_TS, .last_before = L4_NO_TS, .ts = L4_NO_TS};
		*number = job->nevents;
	}
	return &job->events[*number - 1];
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
l4_job_counts_stream(L4JobCounts *job_counts, const char *job_id, const char *node, const char *source, const L4Packed *packed)
{
	Job		   *job = find_job(job_counts, job_id);
	MemoryContext old = MemoryContextSwitchTo(job_counts->cxt);
	char	   *node_copy = NULL;
	char	   *source_copy = NULL;

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

/* Widen a span of time by another one. */
static void
add_span(TimestampTz *first, TimestampTz *last, TimestampTz other_first, TimestampTz other_last)
{
	*first = l4_earlier(*first, other_first);
	*last = Max(*last, other_last);
}

static void
add_counts(Job *job, Datum packed, bool isnull, bool before)
{
	L4Pack	   *pack;

	if (isnull)
		return;
	pack = l4_pack_open(DatumGetByteaPP(packed), CurrentMemoryContext);
	if (pack->ncols != L4_EVENT_COLS)
		l4_bytes_corrupted("events");
	for (int c = 0; c <= L4_EVENT_LAST_TS; c++)
		l4_pack_need(pack, c);
	for (int row = 0; row < pack->nrows; row++)
	{
		JobEvent   *event = job_event(job, (int32) pack->cols[L4_EVENT_ID].ints[row]);
		TimestampTz first_ts = l4_pack_get_ts(pack, L4_EVENT_FIRST_TS, row);
		TimestampTz last_ts = l4_pack_get_ts(pack, L4_EVENT_LAST_TS, row);
		int			sign = before ? -1 : 1;

		event->occurrences += sign * pack->cols[L4_EVENT_OCCURRENCES].ints[row];
		if (event->last_node != job->node)
			event->nodes += sign;
		event->last_node = job->node;
		if (before)
			add_span(&event->first_before, &event->last_before, first_ts, last_ts);
		else
			add_span(&event->first_ts, &event->last_ts, first_ts, last_ts);
	}
}

/* Counts of the streams of a job, node by node; those of before are taken away. */
static void
count_job(Queries *queries, Job *job, bool before, MemoryContext cxt)
{
	L4Query    *query = job->nodes == (Datum) 0 ? &queries->counts : &queries->counts_of_nodes;
	MemoryContext old;
	char	   *name_before = NULL;
	uint64		n;

	l4_query_put_text(query, job->job_id);
	if (job->nodes != (Datum) 0)
		l4_query_put(query, job->nodes, false);
	n = l4_query_run(query);
	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		char	   *name = SPI_getvalue(row, desc, 1);

		CHECK_FOR_INTERRUPTS();
		if (name_before == NULL || strcmp(name, name_before) != 0)
			job->node++;
		name_before = name;
		old = MemoryContextSwitchTo(cxt);
		for (int col = 2; col <= 3; col++)
		{
			bool		isnull;
			Datum		packed = SPI_getbinval(row, desc, col, &isnull);

			add_counts(job, packed, isnull, before);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	SPI_freetuptable(SPI_tuptable);
}

/* What the nodes of a batch have, before it is stored; of jobs of which it is a small part. */
void
l4_job_counts_begin(L4JobCounts *job_counts, Datum streams)
{
	static const Oid types[] = {INT4ARRAYOID};
	MemoryContext cxt = AllocSetContextCreate(job_counts->cxt, "l4 roll-up", ALLOCSET_DEFAULT_SIZES);
	L4Query		nodes;
	Queries		queries;
	SPITupleTable *found;
	uint64		n;

	prepare_queries(&queries);
	l4_query_prepare(&nodes, nodes_sql, lengthof(types), types);
	l4_query_put(&nodes, streams, false);
	n = l4_query_run(&nodes);
	found = SPI_tuptable;
	for (uint64 i = 0; i < n; i++)
	{
		Job		   *job = find_job(job_counts, SPI_getvalue(found->vals[i], found->tupdesc, 1));
		bool		isnull;
		Datum		names = SPI_getbinval(found->vals[i], found->tupdesc, 2, &isnull);
		MemoryContext old = MemoryContextSwitchTo(job_counts->cxt);

		job->nodes = datumCopy(names, false, -1);
		MemoryContextSwitchTo(old);
		count_job(&queries, job, true, cxt);
	}
	SPI_freetuptable(found);
	MemoryContextDelete(cxt);
}

static char *
pack_text(const L4Pack *pack, int col, int row)
{
	int			entry = (int) pack->cols[col].ints[row];

	return pnstrdup(pack->cols[col].entry[entry], pack->cols[col].entry_len[entry]);
}

/*
 * Counts that are stored, of all nodes before the batch, where those of its
 * nodes were counted. False where a time is gone that no other may have.
 */
static bool
add_stored_counts(Job *job, const L4Pack *pack)
{
	for (int row = 0; row < pack->nrows; row++)
	{
		JobEvent   *event = job_event(job, (int32) pack->cols[COL_EVENT].ints[row]);
		TimestampTz first_ts = l4_pack_get_ts(pack, COL_FIRST_TS, row);
		TimestampTz last_ts = l4_pack_get_ts(pack, COL_LAST_TS, row);

		if (event->first_before != L4_NO_TS &&
			((event->first_before == first_ts && (event->first_ts == L4_NO_TS || event->first_ts > first_ts)) ||
			 (event->last_before == last_ts && (event->last_ts == L4_NO_TS || event->last_ts < last_ts))))
			return false;
		event->occurrences += pack->cols[COL_OCCURRENCES].ints[row];
		event->nodes += (int) pack->cols[COL_NODES].ints[row];
		add_span(&event->first_ts, &event->last_ts, first_ts, last_ts);
	}
	return true;
}

/* Count all, whatever was counted of the nodes of the batch. */
static void
count_anew(Queries *queries, Job *job, MemoryContext cxt)
{
	for (int i = 0; i < job->nevents; i++)
	{
		JobEvent   *event = &job->events[i];

		event->occurrences = 0;
		event->nodes = 0;
		event->last_node = -1;
		event->first_ts = event->last_ts = L4_NO_TS;
	}
	job->nodes = (Datum) 0;
	count_job(queries, job, false, cxt);
}

/* First records that are stored, where the batch did not bring an earlier one. Of the same record the later text is the longer one. */
static void
add_stored(Job *job, const L4Pack *pack)
{
	for (int row = 0; row < pack->nrows; row++)
	{
		int32		number = l4_map_get(job->event_numbers, (int32) pack->cols[COL_EVENT].ints[row]);
		int			entry = (int) pack->cols[COL_EXAMPLE].ints[row];
		JobEvent   *event;
		char	   *node;
		char	   *source;

		/* records were open: the event is gone */
		if (number == 0)
			continue;
		event = &job->events[number - 1];
		node = pack_text(pack, COL_NODE, row);
		source = pack_text(pack, COL_SOURCE, row);
		if (!comes_first(event, l4_pack_get_ts(pack, COL_TS, row), node, source, pack->cols[COL_LINE].ints[row]))
			continue;
		event->text = cstring_to_text_with_len(pack->cols[COL_EXAMPLE].entry[entry], pack->cols[COL_EXAMPLE].entry_len[entry]);
		event->ts = l4_pack_get_ts(pack, COL_TS, row);
		event->node = node;
		event->source = source;
		event->line_no = pack->cols[COL_LINE].ints[row];
	}
}

/* In one order, so that equal input makes equal bytes. Ends the counting of the job. */
static bytea *
pack_events(Job *job)
{
	L4Pack	   *pack = l4_pack_create(columns, CurrentMemoryContext);

	qsort(job->events, job->nevents, sizeof(JobEvent), l4_order_int32);
	for (int i = 0; i < job->nevents; i++)
	{
		const JobEvent *event = &job->events[i];

		if (event->text == NULL || event->occurrences <= 0)
			continue;
		l4_pack_int(pack, COL_EVENT, event->event_id);
		l4_pack_int(pack, COL_OCCURRENCES, event->occurrences);
		l4_pack_int(pack, COL_NODES, event->nodes);
		l4_pack_ts(pack, COL_FIRST_TS, event->first_ts);
		l4_pack_ts(pack, COL_LAST_TS, event->last_ts);
		l4_pack_text(pack, COL_NODE, event->node, strlen(event->node));
		l4_pack_text(pack, COL_SOURCE, event->source, strlen(event->source));
		l4_pack_int(pack, COL_LINE, event->line_no);
		l4_pack_text(pack, COL_EXAMPLE, VARDATA_ANY(event->text), VARSIZE_ANY_EXHDR(event->text));
		l4_pack_ts(pack, COL_TS, event->ts);
	}
	return l4_pack_compress(l4_pack_encode(pack));
}

static void
store_job(Queries *queries, Job *job, MemoryContext cxt)
{
	Datum		job_id = CStringGetTextDatum(job->job_id);
	SPITupleTable *found;

	count_job(queries, job, false, cxt);
	l4_query_put(&queries->stored, job_id, false);
	if (l4_query_run(&queries->stored) > 0)
	{
		bool		isnull;
		bytea	   *stored;
		L4Pack	   *pack;

		found = SPI_tuptable;
		stored = DatumGetByteaPCopy(SPI_getbinval(found->vals[0], found->tupdesc, 1, &isnull));
		SPI_freetuptable(found);
		pack = l4_pack_decode(stored, CurrentMemoryContext);
		for (int c = 0; c < NCOLS; c++)
			if (c >= pack->ncols || pack->cols[c].type != columns[c])
				l4_bytes_corrupted("events of a job");
		if (job->nodes != (Datum) 0 && !add_stored_counts(job, pack))
			count_anew(queries, job, cxt);
		add_stored(job, pack);
	}
	l4_query_put(&queries->store, job_id, false);
	l4_query_put_bytes(&queries->store, pack_events(job));
	l4_query_run(&queries->store);
}

void
l4_job_counts_store(L4JobCounts *job_counts)
{
	MemoryContext cxt = AllocSetContextCreate(job_counts->cxt, "l4 roll-up", ALLOCSET_DEFAULT_SIZES);
	MemoryContext job_cxt = AllocSetContextCreate(job_counts->cxt, "l4 job", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(job_cxt);
	Queries		queries;

	prepare_queries(&queries);
	for (int i = 0; i < job_counts->njobs; i++)
	{
		CHECK_FOR_INTERRUPTS();
		store_job(&queries, &job_counts->jobs[i], cxt);
		MemoryContextReset(job_cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(job_cxt);
	MemoryContextDelete(cxt);
}
