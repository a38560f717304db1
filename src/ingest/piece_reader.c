/*
 * piece_reader.c
 *		Reads the lines of a piece and scans them, in the leader or in a worker.
 *
 * The lines go from the executor straight to the scan, row by row: they are
 * never collected.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "ingest/batch.h"
#include "ingest/ingest_scan.h"
#include "ingest/write_set.h"
#include "l4_compat.h"
#include "lines/lineformat.h"

/* The statement that reads lines: ($1 job, $2 node, $3 source, $4 first line, $5 last line) -> line_no, ts, rank, line */
#define READ_PARAMS 5
/* or, where a row has several lines, first line_no, ts, rank, lines, last line_no */
#define LINES_COLUMNS 5
static Oid	read_types[READ_PARAMS] = {TEXTOID, TEXTOID, TEXTOID, INT8OID, INT8OID};

/* Takes the rows of a piece: a line each, or several and the number of the last one. */
typedef struct LineReceiver
{
	DestReceiver pub;
	L4Scan	   *scan;
	MemoryContext row_cxt;
	MemoryContext line_cxt;
	int64		from_line;
	int64		to_line;
	bool		any;
} LineReceiver;

struct L4PieceReader
{
	L4ReadStatement read;
	SPIPlanPtr	plans[2];		/* of the two statements, NULL not prepared yet */
	ParamListInfo params;
	L4Scan	   *scan;
	L4Packing	packing;
	LineReceiver receiver;
	MemoryContext piece_cxt;
};

static bool
give_line(LineReceiver *receiver, int64 line_no, TimestampTz ts, int32 rank, const char *line, int len)
{
	MemoryContext old = MemoryContextSwitchTo(receiver->line_cxt);
	bool		more = l4_scan_line(receiver->scan, line_no, ts, rank, line, len);

	receiver->any = true;
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->line_cxt);
	return more;
}

/* Of a row with several lines those that the piece asks for. */
static bool
give_lines(LineReceiver *receiver, int64 line_no, int64 last_line_no, TimestampTz ts, int32 rank, const text *lines)
{
	const char *p = VARDATA_ANY(lines);
	const char *end = p + VARSIZE_ANY_EXHDR(lines);
	bool		more = true;

	last_line_no = Min(last_line_no, receiver->to_line);
	for (; more && line_no <= last_line_no; line_no++)
	{
		const char *newline = memchr(p, '\n', end - p);

		if (newline == NULL)
			newline = end;
		if (line_no >= receiver->from_line)
			more = give_line(receiver, line_no, ts, rank, p, newline - p);
		p = Min(newline + 1, end);
	}
	return more;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	LineReceiver *receiver = (LineReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_cxt);
	TimestampTz ts = L4_NO_TS;
	int32		rank = L4_NO_INT;
	text	   *line = NULL;
	int64		line_no;
	bool		more;

	slot_getallattrs(slot);
	line_no = DatumGetInt64(slot->tts_values[0]);
	if (!slot->tts_isnull[1])
		ts = Max(DatumGetTimestampTz(slot->tts_values[1]), L4_NO_TS + 1);	/* minus infinity is a wrong time, not none */
	if (!slot->tts_isnull[2] && DatumGetInt32(slot->tts_values[2]) >= 0 && DatumGetInt32(slot->tts_values[2]) <= L4_MAX_RANK)
		rank = DatumGetInt32(slot->tts_values[2]);
	if (!slot->tts_isnull[3])
		line = DatumGetTextPP(slot->tts_values[3]);
	if (slot->tts_tupleDescriptor->natts == LINES_COLUMNS && line != NULL)
		more = give_lines(receiver, line_no, DatumGetInt64(slot->tts_values[4]), ts, rank, line);
	else
		more = give_line(receiver, line_no, ts, rank, line == NULL ? NULL : VARDATA_ANY(line),
						 line == NULL ? 0 : VARSIZE_ANY_EXHDR(line));
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_cxt);
	return more;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	static const Oid types[] = {INT8OID, TIMESTAMPTZOID, INT4OID, TEXTOID, INT8OID};
	bool		good = desc->natts == LINES_COLUMNS || desc->natts == LINES_COLUMNS - 1;

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

/* Prefer plans that begin at once: lines come in the order of the index, and reading stops when the piece is complete. */
static SPIPlanPtr
prepare(const char *query, int options)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(query, READ_PARAMS, read_types,
										  CURSOR_OPT_GENERIC_PLAN | CURSOR_OPT_FAST_PLAN | options);

	if (plan == NULL)
		elog(ERROR, "cannot prepare \"%s\": %s", query, SPI_result_code_string(SPI_result));
	return plan;
}

/*
 * What the statement reads is the user's: a temporary table, a policy or a
 * foreign partition may forbid workers. The planner knows, unless the caller
 * knows better. A plan that itself gathers from workers says so below.
 */
bool
l4_read_workers_may(const L4ReadStatement *read)
{
	SPIPlanPtr	plan;
	CachedPlan *cached;
	bool		result = false;

	if (read->by_workers)
		return true;
	plan = prepare(read->plain, CURSOR_OPT_PARALLEL_OK);
	cached = SPI_plan_get_cached_plan(plan);

	if (cached != NULL)
	{
		PlannedStmt *stmt = cached->stmt_list == NIL ? NULL : linitial_node(PlannedStmt, cached->stmt_list);

		if (stmt != NULL && stmt->commandType == CMD_SELECT)
		{
			Plan	   *top = stmt->planTree;

			if (IsA(top, Gather) || IsA(top, GatherMerge))
				top = outerPlan(top);
			result = top->parallel_safe;
		}
		ReleaseCachedPlan(cached, NULL);
	}
	SPI_freeplan(plan);
	return result;
}

L4ScanShared *
l4_scan_shared(L4ScanShared *before, struct varlena *parser, Jsonb *ruleset, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4ScanShared *shared = (L4ScanShared *) palloc0(sizeof(L4ScanShared));

	shared->cxt = cxt;
	shared->rules = l4_rules_get(ruleset, cxt);
	if (!VARATT_IS_EXTERNAL_ONDISK(parser))
		parser = PG_DETOAST_DATUM(PointerGetDatum(parser));
	memcpy(shared->key, parser, Min(VARSIZE_ANY(parser), L4_PARSER_KEY_BYTES));
	if (before != NULL && before->rules == shared->rules && memcmp(before->key, shared->key, L4_PARSER_KEY_BYTES) == 0)
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(cxt);
		return before;
	}
	shared->parser = l4_parser_decode(PG_DETOAST_DATUM(PointerGetDatum(parser)), cxt);
	l4_parser_need_shapes(shared->parser);
	MemoryContextSwitchTo(old);
	if (before != NULL)
		MemoryContextDelete(before->cxt);
	return shared;
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

static void
init_receiver(LineReceiver *receiver, L4Scan *scan, MemoryContext cxt)
{
	receiver->pub.receiveSlot = receive_row;
	receiver->pub.rStartup = receive_startup;
	receiver->pub.rShutdown = receive_nothing;
	receiver->pub.rDestroy = receive_nothing;
	receiver->pub.mydest = DestTuplestore;
	receiver->scan = scan;
	receiver->row_cxt = AllocSetContextCreate(cxt, "l4 row", ALLOCSET_DEFAULT_SIZES);
	receiver->line_cxt = AllocSetContextCreate(cxt, "l4 line", ALLOCSET_DEFAULT_SIZES);
}

L4PieceReader *
l4_piece_reader_create(const L4ReadStatement *read, L4ScanShared *shared, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4PieceReader *reader = (L4PieceReader *) palloc0(sizeof(L4PieceReader));

	reader->read = *read;
	reader->scan = l4_scan_create(shared, cxt);
	l4_packing_init(&reader->packing, true);
	reader->params = read_params();
	reader->piece_cxt = AllocSetContextCreate(cxt, "l4 piece rows", ALLOCSET_DEFAULT_SIZES);
	init_receiver(&reader->receiver, reader->scan, cxt);
	MemoryContextSwitchTo(old);
	return reader;
}

/* Give the statement the stream's key, and the scan its state; false when the stream is gone. */
static bool
begin_piece(L4PieceReader *reader, const L4Piece *piece)
{
	ParamExternData *params = reader->params->params;
	const L4Stored *stored = &reader->packing.stored;
	bytea	   *state = NULL;

	if (!l4_stored_read(&reader->packing.reader, piece->stream_id, &reader->packing.stored))
		return false;
	params[0].value = CStringGetTextDatum(stored->job_id);
	params[1].value = CStringGetTextDatum(stored->node);
	params[2].value = CStringGetTextDatum(stored->source);
	params[3].value = Int64GetDatum(piece->from_line);
	/* lines beyond the end complete its last records */
	params[4].value = Int64GetDatum(piece->late ? piece->to_line
									: Min(piece->to_line, PG_INT64_MAX - L4_RESULT_OVERRUN - 1) + L4_RESULT_OVERRUN + 1);
	reader->receiver.from_line = piece->from_line;
	reader->receiver.to_line = DatumGetInt64(params[4].value);
	if (!piece->late)
		state = l4_stored_value(&reader->packing.reader, stored, L4_STORED_SCAN_STATE);
	l4_scan_begin(reader->scan, stored->node, piece->vocabulary, state == NULL ? NULL : VARDATA_ANY(state),
				  state == NULL ? 0 : VARSIZE_ANY_EXHDR(state), piece->to_line, piece->late);
	return true;
}

/* Feed the lines of a piece to the scan. */
static void
read_lines(L4PieceReader *reader, bool with_null)
{
	SPIPlanPtr *plan = &reader->plans[with_null ? 1 : 0];
	SPIExecuteOptions options;

	if (*plan == NULL)
		*plan = prepare(with_null ? reader->read.with_null : reader->read.plain, 0);
	memset(&options, 0, sizeof(options));
	options.params = reader->params;
	options.read_only = true;
	options.must_return_tuples = true;
	options.dest = &reader->receiver.pub;
	reader->receiver.any = false;
	if (SPI_execute_plan_extended(*plan, &options) != SPI_OK_SELECT)
		elog(ERROR, "the statement that reads lines is no query");
}

bytea *
l4_piece_read(L4PieceReader *reader, const L4Piece *piece)
{
	MemoryContext old = MemoryContextSwitchTo(reader->piece_cxt);
	L4ScanResult scanned;
	bytea	   *bytes = NULL;

	MemoryContextReset(reader->piece_cxt);
	if (begin_piece(reader, piece))
	{
		read_lines(reader, piece->has_null);
		MemoryContextSwitchTo(reader->piece_cxt);
		if (reader->receiver.any)
		{
			l4_scan_finish(reader->scan, &scanned);
			if (scanned.head.unknown > 0)
				bytes = l4_result_encode(&scanned);
			else
				bytes = l4_write_set_encode(l4_packing_pack(&reader->packing, piece->stream_id, piece->late, &scanned));
		}
	}
	MemoryContextSwitchTo(old);
	return bytes;
}
