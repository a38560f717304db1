/*
 * ingest_sql.c
 *		What the procedure l4.ingest() calls.
 *
 * The procedure commits, so what a call knows lives in the memory of its
 * portal. The functions here find it by the number of the call.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"

#include "base/args.h"
#include "base/grow.h"
#include "ingest/batch.h"

/* Calls that are running in this session: one may read logs while another does. */
static L4Batch **calls = NULL;
static int	ncalls = 0;
static int	calls_size = 0;

static void
forget_call(void *arg)
{
	for (int i = 0; i < ncalls; i++)
		if (calls[i] == arg)
			calls[i] = calls[--ncalls];
}

static L4Batch *
find_call(int32 ingest_id)
{
	for (int i = ncalls - 1; i >= 0; i--)
		if (calls[i]->ingest_id == ingest_id)
			return calls[i];
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no call %d of l4.ingest() is running in this session", ingest_id)));
}

/*
 * (call, batch_lines, statement that reads lines, the same where sources are
 * NULL, statement that finds gaps, workers may read whatever the planner says)
 */
L4_FUNCTION(l4_ingest_begin)
{
	MemoryContext cxt = AllocSetContextCreate(PortalContext != NULL ? PortalContext : TopTransactionContext,
											  "l4 ingest", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Batch    *batch = l4_batch_create(cxt);
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	batch->ingest_id = PG_GETARG_INT32(0);
	batch->batch_lines = PG_GETARG_INT32(1);
	batch->read.plain = text_to_cstring(PG_GETARG_TEXT_PP(2));
	batch->read.with_null = text_to_cstring(PG_GETARG_TEXT_PP(3));
	batch->gaps_sql = text_to_cstring(PG_GETARG_TEXT_PP(4));
	batch->read.by_workers = PG_GETARG_BOOL(5);
	L4_GROW_FROM(calls, ncalls, calls_size, 4, TopMemoryContext);
	calls[ncalls++] = batch;
	callback->func = forget_call;
	callback->arg = batch;
	MemoryContextRegisterResetCallback(cxt, callback);
	MemoryContextSwitchTo(old);
	PG_RETURN_VOID();
}

/*
 * (call, job, stream, late, first and last line, source is NULL in some rows,
 * whether the stream was read before, its step and lines): these lines wait
 */
L4_FUNCTION(l4_ingest_wait)
{
	L4Waiting	lines = {.stream_id = PG_GETARG_INT32(2), .late = PG_GETARG_BOOL(3), .from_line = PG_GETARG_INT64(4),
	.to_line = PG_GETARG_INT64(5), .has_null = PG_GETARG_BOOL(6), .step = PG_GETARG_INT64(8), .lines = PG_GETARG_INT64(9)};

	l4_batch_wait(find_call(PG_GETARG_INT32(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)), PG_GETARG_BOOL(7), &lines);
	PG_RETURN_VOID();
}

/* (call) -> something was learnt, NULL: nothing waits */
L4_FUNCTION(l4_ingest_read)
{
	L4Batch    *batch = find_call(PG_GETARG_INT32(0));
	bool		any;

	SPI_connect();
	any = l4_batch_read(batch);
	SPI_finish();
	if (!any)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(batch->learnt);
}

/* (call) -> the jobs that got lines, NULL: what was read is dropped */
L4_FUNCTION(l4_ingest_store)
{
	L4Batch    *batch = find_call(PG_GETARG_INT32(0));
	Datum	   *names;
	bool		stored;

	SPI_connect();
	stored = l4_batch_store(batch);
	SPI_finish();
	if (!stored)
		PG_RETURN_NULL();
	names = (Datum *) palloc(sizeof(Datum) * Max(batch->nlocked, 1));
	for (int i = 0; i < batch->nlocked; i++)
		names[i] = CStringGetTextDatum(batch->jobs[batch->locked[i]]);
	PG_RETURN_DATUM(l4_array(names, batch->nlocked, TEXTOID));
}

/* (call) -> what it has read: lines, streams, and rows that were not taken as they are */
L4_FUNCTION(l4_ingest_sum)
{
	L4Batch    *batch = find_call(PG_GETARG_INT32(0));
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = Int64GetDatum(batch->lines);
	values[1] = l4_int4_array(batch->streams, batch->nstreams);
	values[2] = Int64GetDatum(batch->flaws.repeated);
	values[3] = Int64GetDatum(batch->flaws.no_line);
	values[4] = Int64GetDatum(batch->flaws.bad_time);
	return l4_row(fcinfo, values, nulls);
}

/* May the procedure that asks commit: not in a transaction block, not below a function. */
L4_FUNCTION(l4_can_commit)
{
	PG_RETURN_BOOL(!IsTransactionBlock() && SPI_inside_nonatomic_context());
}

/* Number of ranges of a multirange. */
L4_FUNCTION(l4_range_count)
{
	PG_RETURN_INT32(PG_GETARG_MULTIRANGE_P(0)->rangeCount);
}
