/*
 * ingest_worker.c
 *		Reads and scans a share of the pieces of a batch. A statement has
 *		several shares, one after the other in the leader and its workers.
 *
 * The lines go from the executor straight to the scan, row by row: they are
 * never collected. What is large (the parser, the rules, what streams carry)
 * is read here by the snapshot of the statement, not passed in its plan, and
 * is kept in the process for its next share.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "ingest/write_set.h"
#include "ingest/ingest_piece.h"
#include "ingest/ingest_scan.h"
#include "l4_compat.h"
#include "lines/lineformat.h"

PG_FUNCTION_INFO_V1(l4_ingest_worker);
PG_FUNCTION_INFO_V1(l4_ingest_workers_may);

/* Bytes by which a stored parser is known again: its TOAST pointer, or its head, which has a checksum */
#define PARSER_KEY_BYTES 32

/* The statement that reads lines: ($1 job, $2 node, $3 source, $4 first line, $5 last line) -> line_no, ts, rank, line */
#define READ_PARAMS 5
static Oid read_types[READ_PARAMS] = {TEXTOID, TEXTOID, TEXTOID, INT8OID, INT8OID};

/* Decoded parser and rules, kept in the process from one share to the next. */
static L4ScanShared *shared_scan = NULL;
static char shared_key[PARSER_KEY_BYTES];
static int64 shared_rules;

enum
{
	ARG_READ, ARG_READ_NULL, ARG_RULES, ARG_PIECES
};

/* Takes the rows of a piece. */
typedef struct LineReceiver
{
	DestReceiver pub;
	L4Scan	   *scan;
	MemoryContext line_cxt;		/* for one row */
	bool		any;
} LineReceiver;

static bool
receive_line(TupleTableSlot *slot, DestReceiver *self)
{
	LineReceiver *receiver = (LineReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->line_cxt);
	TimestampTz ts = L4_NO_TS;
	int32		rank = L4_NO_INT;
	text	   *line = NULL;
	bool		more;

	slot_getallattrs(slot);
	if (!slot->tts_isnull[1])
		ts = DatumGetTimestampTz(slot->tts_values[1]);
	if (!slot->tts_isnull[2] && DatumGetInt32(slot->tts_values[2]) >= 0 && DatumGetInt32(slot->tts_values[2]) <= L4_MAX_RANK)
		rank = DatumGetInt32(slot->tts_values[2]);
	if (!slot->tts_isnull[3])
		line = DatumGetTextPP(slot->tts_values[3]);
	receiver->any = true;
	more = l4_scan_line(receiver->scan, DatumGetInt64(slot->tts_values[0]), ts, rank,
						line == NULL ? "" : VARDATA_ANY(line), line == NULL ? 0 : VARSIZE_ANY_EXHDR(line));
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->line_cxt);
	return more;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	static const Oid types[] = {INT8OID, TIMESTAMPTZOID, INT4OID, TEXTOID};
	bool		good = desc->natts == lengthof(types);

	for (int i = 0; good && i < desc->natts; i++)
		good = TupleDescAttr(desc, i)->atttypid == types[i];
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the statement that reads lines must return the columns bigint, timestamptz, integer and text")));
}

static void
receive_nothing(DestReceiver *self)
{
}

static SPIPlanPtr
prepare(const char *query, int nargs, Oid *types)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(query, nargs, types, CURSOR_OPT_GENERIC_PLAN);

	if (plan == NULL)
		elog(ERROR, "cannot prepare \"%s\": %s", query, SPI_result_code_string(SPI_result));
	return plan;
}

/* The only value of a statement with one row of one column; not detoasted, gone with the SPI connection. */
static Datum
only_value(const char *query)
{
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (SPI_execute(query, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" is no query", query);
	if (SPI_processed == 1)
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (isnull)
		elog(ERROR, "no row of \"%s\"", query);
	return value;
}

static void
replace_shared(L4ScanShared *shared)
{
	shared->replaced = true;
	if (shared->users == 0)
		MemoryContextDelete(shared->cxt);
}

/* A call that scans has ended, or failed. */
static void
release_shared(void *arg)
{
	L4ScanShared *shared = (L4ScanShared *) arg;

	shared->users--;
	if (shared->replaced)
		replace_shared(shared);
}

/*
 * Keep what a call scans with until its context goes: the statement that
 * reads lines may get here again, with other rules or a parser that has
 * learnt.
 */
static L4ScanShared *
hold_shared(L4ScanShared *shared, MemoryContext cxt)
{
	MemoryContextCallback *callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));

	callback->func = release_shared;
	callback->arg = shared;
	shared->users++;
	MemoryContextRegisterResetCallback(cxt, callback);
	return shared;
}

/* The parser and the rules that are in force, decoded where they are not those of the share before. */
static L4ScanShared *
scan_shared(int64 rules)
{
	struct varlena *parser = (struct varlena *) DatumGetPointer(only_value("SELECT m.parser FROM l4._model m"));
	char		key[PARSER_KEY_BYTES] = {0};
	MemoryContext cxt;
	MemoryContext old;
	L4ScanShared *shared;

	if (!VARATT_IS_EXTERNAL_ONDISK(parser))
		parser = PG_DETOAST_DATUM(PointerGetDatum(parser));
	memcpy(key, parser, Min(VARSIZE_ANY(parser), PARSER_KEY_BYTES));
	if (shared_scan != NULL && shared_rules == rules && memcmp(shared_key, key, PARSER_KEY_BYTES) == 0)
		return shared_scan;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 scan", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);
	shared = (L4ScanShared *) palloc0(sizeof(L4ScanShared));
	shared->cxt = cxt;
	shared->parser = l4_parser_decode(PG_DETOAST_DATUM(PointerGetDatum(parser)), cxt);
	l4_parser_need_shapes(shared->parser);
	MemoryContextSwitchTo(old);
	shared->rules = l4_rules_get(DatumGetJsonbP(only_value("SELECT l4._ruleset()")), cxt);
	/* now that nothing can fail any more it may outlive the statement */
	MemoryContextSetParent(cxt, CacheMemoryContext);
	if (shared_scan != NULL)
		replace_shared(shared_scan);
	memcpy(shared_key, key, PARSER_KEY_BYTES);
	shared_rules = rules;
	shared_scan = shared;
	return shared;
}

/* Give the statement that reads lines the stream's key and the state to the scan; false when the stream is gone. */
static bool
begin_piece(L4Scan *scan, L4Packing *packing, const L4Piece *piece, ParamListInfo params)
{
	bytea	   *scan_state = NULL;

	if (!l4_packing_open(packing, piece->stream_id))
		return false;
	params->params[0].value = CStringGetTextDatum(packing->stored.job_id);
	params->params[1].value = CStringGetTextDatum(packing->stored.node);
	params->params[2].value = CStringGetTextDatum(packing->stored.source);
	params->params[3].value = Int64GetDatum(piece->from_line);
	/* lines beyond the end complete its last records */
	params->params[4].value = Int64GetDatum(piece->late ? piece->to_line
											: Min(piece->to_line, PG_INT64_MAX - L4_RESULT_OVERRUN - 1) + L4_RESULT_OVERRUN + 1);
	if (!piece->late)
		scan_state = l4_packing_scan_state(packing);
	l4_scan_begin(scan, packing->stored.node, scan_state == NULL ? NULL : VARDATA_ANY(scan_state),
				  scan_state == NULL ? 0 : VARSIZE_ANY_EXHDR(scan_state), piece->to_line, piece->late);
	return true;
}

static ParamListInfo
read_params(void)
{
	ParamListInfo params = makeParamList(READ_PARAMS);

	for (int k = 0; k < READ_PARAMS; k++)
	{
		params->params[k].isnull = false;
		params->params[k].pflags = PARAM_FLAG_CONST;
		params->params[k].ptype = read_types[k];
	}
	return params;
}

/* Feed the lines of a piece to the scan. */
static void
read_lines(SPIPlanPtr plan, ParamListInfo params, LineReceiver *receiver)
{
	SPIExecuteOptions options;

	memset(&options, 0, sizeof(options));
	options.params = params;
	options.read_only = true;
	options.must_return_tuples = true;
	options.dest = &receiver->pub;
	receiver->any = false;
	if (SPI_execute_plan_extended(plan, &options) != SPI_OK_SELECT)
		elog(ERROR, "the statement that reads lines is no query");
}

static void
init_receiver(LineReceiver *receiver, L4Scan *scan, MemoryContext cxt)
{
	memset(receiver, 0, sizeof(*receiver));
	receiver->pub.receiveSlot = receive_line;
	receiver->pub.rStartup = receive_startup;
	receiver->pub.rShutdown = receive_nothing;
	receiver->pub.rDestroy = receive_nothing;
	receiver->pub.mydest = DestTuplestore;
	receiver->scan = scan;
	receiver->line_cxt = AllocSetContextCreate(cxt, "l4 line", ALLOCSET_DEFAULT_SIZES);
}

/* What the leader gets of the piece that was read: packed where nothing has to be learnt before. */
static bytea *
finish_piece(L4Scan *scan, L4Packing *packing, const L4Piece *piece)
{
	L4ScanResult		scanned;

	l4_scan_finish(scan, &scanned);
	if (scanned.head.unknown > 0)
		return l4_result_encode(&scanned);
	return l4_write_set_encode(l4_packing_pack(packing, piece->stream_id, piece->late, &scanned));
}

/* (statement, the same where sources are NULL, version of the rules, pieces) -> (number, scan result); NULL for a piece without lines */
Datum
l4_ingest_worker(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	L4Piece    *pieces;
	int			npieces;
	SPIPlanPtr	reads[2] = {NULL, NULL};
	MemoryContext cxt;
	MemoryContext result_cxt;
	L4Scan	   *scan;
	ParamListInfo params;
	LineReceiver receiver;
	L4Packing	packing;

	l4_init_materialized_srf(fcinfo);
	SPI_connect();
	pieces = l4_pieces(PG_GETARG_ARRAYTYPE_P(ARG_PIECES), &npieces);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 share", ALLOCSET_DEFAULT_SIZES);
	result_cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 unit", ALLOCSET_DEFAULT_SIZES);
	scan = l4_scan_create(hold_shared(scan_shared(PG_GETARG_INT64(ARG_RULES)), cxt), cxt);
	l4_packing_init(&packing, true);
	params = read_params();
	init_receiver(&receiver, scan, cxt);
	for (int i = 0; i < npieces; i++)
	{
		const L4Piece *piece = &pieces[i];
		int			which = piece->has_null ? 1 : 0;
		Datum		values[2];
		bool		nulls[2] = {false, true};
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (reads[which] == NULL)
			reads[which] = prepare(text_to_cstring(PG_GETARG_TEXT_PP(which == 0 ? ARG_READ : ARG_READ_NULL)), READ_PARAMS, read_types);
		values[0] = Int32GetDatum(piece->number);
		old = MemoryContextSwitchTo(result_cxt);
		if (begin_piece(scan, &packing, piece, params))
		{
			read_lines(reads[which], params, &receiver);
			MemoryContextSwitchTo(result_cxt);
			if (receiver.any)
			{
				values[1] = PointerGetDatum(finish_piece(scan, &packing, piece));
				nulls[1] = false;
			}
		}
		MemoryContextSwitchTo(old);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		MemoryContextReset(result_cxt);
	}
	SPI_finish();
	return (Datum) 0;
}

/*
 * May workers run the statement that reads lines? What it reads is the
 * user's: a temporary table, a policy or a foreign partition may forbid it.
 * The planner knows.
 */
Datum
l4_ingest_workers_may(PG_FUNCTION_ARGS)
{
	SPIPlanPtr	plan;
	CachedPlan *cached;
	bool		result = false;

	SPI_connect();
	plan = SPI_prepare_cursor(text_to_cstring(PG_GETARG_TEXT_PP(0)), READ_PARAMS, read_types,
							  CURSOR_OPT_GENERIC_PLAN | CURSOR_OPT_PARALLEL_OK);
	if (plan == NULL)
		elog(ERROR, "cannot prepare the statement that reads lines: %s", SPI_result_code_string(SPI_result));
	cached = SPI_plan_get_cached_plan(plan);
	if (cached != NULL)
	{
		PlannedStmt *stmt = cached->stmt_list == NIL ? NULL : linitial_node(PlannedStmt, cached->stmt_list);

		result = stmt != NULL && stmt->commandType == CMD_SELECT && stmt->planTree->parallel_safe;
		ReleaseCachedPlan(cached, NULL);
	}
	SPI_finish();
	PG_RETURN_BOOL(result);
}
