/*
 * batch_results.c
 *		The scan results of a batch, from when they were read until they are stored.
 *
 * A call that fails leaves them until the next batch of the session is read.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "ingest/batch_results.h"
#include "l4_compat.h"

PG_FUNCTION_INFO_V1(l4_ingest_hold);

/* One allocation holds the pointers to them. */
#define MAX_UNITS	((int) (MaxAllocSize / sizeof(bytea *)))

static MemoryContext held_cxt = NULL;
static int	nheld = 0;
static bytea **held = NULL;

typedef struct ResultReceiver
{
	DestReceiver pub;
	MemoryContext cxt;
	int			nresults;
	bytea	  **results;
} ResultReceiver;

/* A row: number of the piece from 1, its scan result */
static bool
receive_result(TupleTableSlot *slot, DestReceiver *self)
{
	ResultReceiver *receiver = (ResultReceiver *) self;
	int			number;

	slot_getallattrs(slot);
	number = DatumGetInt32(slot->tts_values[0]);
	if (slot->tts_isnull[0] || number < 1 || number > receiver->nresults)
		elog(ERROR, "unit %d is none of %d", number, receiver->nresults);
	if (!slot->tts_isnull[1])
	{
		MemoryContext old = MemoryContextSwitchTo(receiver->cxt);

		receiver->results[number - 1] = DatumGetByteaPCopy(slot->tts_values[1]);
		MemoryContextSwitchTo(old);
	}
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	if (desc->natts != 2 || TupleDescAttr(desc, 0)->atttypid != INT4OID || TupleDescAttr(desc, 1)->atttypid != BYTEAOID)
		elog(ERROR, "rows of units are not a number and its bytes");
}

static void
receive_nothing(DestReceiver *self)
{
}

bytea *
l4_batch_result(int number)
{
	if (number >= nheld)
		elog(ERROR, "unit %d of %d is not there", number + 1, nheld);
	return held[number];
}

int
l4_batch_results_count(void)
{
	return nheld;
}

void
l4_batch_results_release(void)
{
	if (held_cxt != NULL)
		MemoryContextDelete(held_cxt);
	held_cxt = NULL;
	held = NULL;
	nheld = 0;
}

/* (statement, number of scan results): run the statement, whose rows are scan results, and keep them */
Datum
l4_ingest_hold(PG_FUNCTION_ARGS)
{
	ResultReceiver receiver;
	SPIPlanPtr	plan;
	SPIExecuteOptions options;
	int			results = PG_GETARG_INT32(1);

	if (results < 0 || results > MAX_UNITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of units must be between 0 and %d, not %d", MAX_UNITS, results)));
	l4_batch_results_release();
	memset(&receiver, 0, sizeof(receiver));
	receiver.pub.receiveSlot = receive_result;
	receiver.pub.rStartup = receive_startup;
	receiver.pub.rShutdown = receive_nothing;
	receiver.pub.rDestroy = receive_nothing;
	receiver.pub.mydest = DestTuplestore;
	SPI_connect();
	receiver.cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 held units", ALLOCSET_DEFAULT_SIZES);
	receiver.results = (bytea **) MemoryContextAllocZero(receiver.cxt, sizeof(bytea *) * Max(results, 1));
	receiver.nresults = results;
	plan = SPI_prepare_cursor(text_to_cstring(PG_GETARG_TEXT_PP(0)), 0, NULL, CURSOR_OPT_PARALLEL_OK);
	if (plan == NULL)
		elog(ERROR, "cannot prepare the statement that scans: %s", SPI_result_code_string(SPI_result));
	memset(&options, 0, sizeof(options));
	options.read_only = false;
	options.must_return_tuples = true;
	options.dest = &receiver.pub;
	if (SPI_execute_plan_extended(plan, &options) != SPI_OK_SELECT)
		elog(ERROR, "the statement that scans is no query");
	/* the query may have read logs itself, and left scan results of its own */
	l4_batch_results_release();
	MemoryContextSetParent(receiver.cxt, TopMemoryContext);
	held_cxt = receiver.cxt;
	held = receiver.results;
	nheld = results;
	SPI_finish();
	PG_RETURN_VOID();
}
