/*
 * ingest_scan.c
 *		One pass over a piece of a stream.
 *
 * Records are counted in the order of their first lines: those that end while
 * an older one is open (a traceback whose exception line is still to come,
 * among lines of other ranks) wait. So the result does not depend on where
 * pieces are cut, and what is open at the end is told apart from what is settled.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clip.h"
#include "base/grow.h"
#include "ingest/ingest_scan.h"
#include "lines/lineformat.h"
#include "lines/record.h"
#include "packed/packed.h"

/* What a record's first line knew, kept until the record is counted. */
typedef struct RecordStart
{
	int64		line_no;
	TimestampTz ts;
	TimestampTz own_ts;			/* in its header, L4_NO_TS none */
	int32		rank;			/* the relation's */
	int32		rec;			/* number in the settled part, -1 none */
	int32		open_rec;		/* number in the open part, -1 none */
	L4Iteration *bar;			/* what the bar in front of the message reports, NULL none */
} RecordStart;

struct L4Scan
{
	L4ScanShared *shared;
	MemoryContext cxt;			/* of the arrays, which are used again for the next piece */
	MemoryContext piece_cxt;	/* of all else */
	L4LineReader *lines;
	L4RecordReader *records;
	L4ScanState *state;
	L4Shape		shape;
	L4ResultPart	settled;
	L4ResultPart	open;
	L4ResultPart *part;			/* the one that is filled */
	L4Dict		dict;			/* of that part */
	int64		last_line_no;	/* soft end of the piece */
	bool		settle_all;		/* nothing follows: what is open is settled too */
	int64		end_line_no;	/* where an ended piece stops; 0 goes on */
	int64		previous;		/* last line fed */
	int64		timed_line_no;	/* last one with a time; -1 none */
	int64		unparsed;
	bool		any;
	bool		full;
	bool		flawed;			/* some line has flaws */
	/* records by number, from first_record on */
	RecordStart *starts;
	int			nstarts;
	int			starts_size;
	int64		first_record;
	/* records that began in an earlier piece and got lines in this one */
	RecordStart *inherited;
	int			ninherited;
	int			inherited_size;
	/* lines with the number of their record, until the end */
	int64	   *line_record;
	L4Record   *waiting;		/* for an older one; msg and text are copies */
	int			nwaiting;
	int			waiting_size;
	/* Line from which on some record or other has been open all the time, 0 none is; state of the record reader then. */
	int64		open_from;
	StringInfoData state_before;
	int			njoinable_before;
	int64	   *joinable_before;	/* records that lines may join from there on */
	L4StreamPrefix head_before;
	L4StreamPrefix head_of_line;	/* before the line that is fed */
};

L4Scan *
l4_scan_create(L4ScanShared *shared, MemoryContext cxt)
{
	L4Scan	   *scan = MemoryContextAllocZero(cxt, sizeof(L4Scan));

	scan->shared = shared;
	scan->cxt = cxt;
	scan->piece_cxt = AllocSetContextCreate(cxt, "l4 piece", ALLOCSET_DEFAULT_SIZES);
	l4_shape_init(&scan->shape, cxt);
	return scan;
}

/* Forget what a part holds, but for the room of its arrays. */
static void
empty_part(L4ResultPart *part)
{
	L4ResultPart	kept = *part;

	memset(part, 0, sizeof(*part));
	part->lines = kept.lines;
	part->lines_size = kept.lines_size;
	part->recs = kept.recs;
	part->recs_size = kept.recs_size;
	part->locals = kept.locals;
	part->locals_size = kept.locals_size;
	part->iters = kept.iters;
	part->iters_size = kept.iters_size;
}

/*
 * The next piece: of a node's stream of a job whose budgets have these vocabularies. It goes on from a state, up to a
 * line, or beyond it to complete records.
 */
void
l4_scan_begin(L4Scan *scan, const char *node, const uint32 *vocabulary, const char *scan_state, int state_len,
			  int64 last_line_no, bool settle_all)
{
	MemoryContext old;

	MemoryContextReset(scan->piece_cxt);
	empty_part(&scan->settled);
	empty_part(&scan->open);
	scan->part = &scan->settled;
	memcpy(scan->shared->vocabulary, vocabulary, sizeof(scan->shared->vocabulary));
	scan->dict.memory = 0;
	scan->last_line_no = last_line_no;
	scan->settle_all = settle_all;
	scan->end_line_no = scan->previous = scan->unparsed = 0;
	scan->any = scan->full = scan->flawed = false;
	scan->timed_line_no = -1;
	scan->open_from = 0;
	scan->head_before.learning = false;
	scan->nstarts = scan->ninherited = scan->nwaiting = 0;
	scan->joinable_before = NULL;

	old = MemoryContextSwitchTo(scan->piece_cxt);
	scan->records = l4_record_reader_create(scan->piece_cxt);
	scan->state = palloc(sizeof(L4ScanState));
	l4_scan_state_read(scan->state, scan_state, state_len);
	scan->state->head.name = pstrdup(node);
	scan->state->head.name_len = strlen(node);
	scan->lines = l4_line_reader_create(scan->shared->rules, &scan->state->head, scan->piece_cxt);
	initStringInfo(&scan->state_before);
	if (scan->state->record_state.len > 0)
	{
		L4ByteReader in = {(const unsigned char *) scan->state->record_state.data,
		(const unsigned char *) scan->state->record_state.data + scan->state->record_state.len};

		l4_record_code(scan->records, &(L4Codec) {.in = &in});
	}
	scan->first_record = l4_record_count(scan->records) + 1;
	l4_dict_begin(&scan->dict, scan->shared, scan->piece_cxt);
	MemoryContextSwitchTo(old);
}

static void
keep_iteration(L4Scan *scan, const L4Iteration *found, const L4ResultRecord *rec, TimestampTz ts, double duration_ms)
{
	L4ResultPart *part = scan->part;
	L4IterEntry *entry;

	L4_GROW(part->iters, part->niters, part->iters_size, scan->cxt);
	entry = &part->iters[part->niters++];
	entry->epoch = rec->epoch;
	entry->iteration = rec->iteration;
	entry->ts = ts;
	entry->duration_ms = duration_ms;
	entry->nmetrics = found->nmetrics;
	entry->metrics = MemoryContextAlloc(scan->piece_cxt, sizeof(L4Metric) * Max(found->nmetrics, 1));
	memcpy(entry->metrics, found->metrics, sizeof(L4Metric) * found->nmetrics);
}

/* The iteration of a record, by the rules where its shape is read by one, else the one in flight. */
static void
place_in_iterations(L4Scan *scan, L4Local *local, const RecordStart *start, const char *msg, int len, L4ResultRecord *rec)
{
	const L4Iteration *bar = start != NULL ? start->bar : NULL;
	TimestampTz own_ts = start != NULL ? start->own_ts : L4_NO_TS;
	L4RankState *state = l4_scan_state_rank(scan->state, rec->context);
	L4Iteration found;
	double		duration_ms;
	bool		reports = local->map != NULL &&
		l4_iter_apply(scan->shared->rules, local->map, msg, len, scan->shape.slots, scan->shape.nslots, &found);

	if (bar != NULL && reports && found.iter == L4_ITER_NEXT)
		l4_iter_number(&found, bar);
	else if (bar != NULL && l4_scan_state_iteration(scan->state, state, bar, rec->ts, own_ts, rec, &duration_ms))
		keep_iteration(scan, bar, rec, state->done_ts, duration_ms);
	rec->epoch = state->epoch;
	rec->iteration = state->current;
	if (!reports)
		return;
	local->iteration_rule = found.rule_id;
	if (l4_scan_state_iteration(scan->state, state, &found, rec->ts, own_ts, rec, &duration_ms))
		keep_iteration(scan, &found, rec, state->done_ts, duration_ms);
}

/* Count a record: its turn has come. */
static void
count_record(L4Scan *scan, const L4Record *record)
{
	L4ResultPart *part = scan->part;
	RecordStart *start = NULL;
	L4ResultRecord  *rec;
	L4Local    *local;
	const char *msg = record->msg;
	int			len = l4_clip(record->msg, record->msg_len, L4_MAX_SCAN_MSG);

	if (record->record_no >= scan->first_record && record->record_no - scan->first_record < scan->nstarts)
		start = &scan->starts[record->record_no - scan->first_record];
	L4_GROW(part->recs, part->nrecs, part->recs_size, scan->cxt);
	rec = &part->recs[part->nrecs];
	rec->line_no = record->line_no;
	rec->rank = record->rank >= 0 ? record->rank : start != NULL ? start->rank : L4_NO_INT;
	if (rec->rank != L4_NO_INT)
		scan->state->last_rank = rec->rank;
	rec->context = scan->state->last_rank;
	rec->ts = start != NULL ? start->ts : record->has_ts ? record->ts : scan->state->last_ts;
	l4_parser_scan(scan->shared->parser, msg, len, &scan->shape);
	local = l4_dict_entry(&scan->dict, part, record, msg, len, &scan->shape, rec->ts, scan->cxt);
	place_in_iterations(scan, local, start, msg, len, rec);
	local->occurrences++;
	scan->dict.memory += l4_params_count(local, msg, &scan->shape, rec->ts, rec->line_no, rec->iteration, scan->piece_cxt);
	rec->local = local->number;
	if (part == &scan->settled)
		scan->unparsed += record->format_id == 0;
	if (start != NULL)
		*(part == &scan->open ? &start->open_rec : &start->rec) = part->nrecs;
	part->nrecs++;
}

/* Keep a record until the older one that is open has ended. */
static void
wait_for_older(L4Scan *scan, const L4Record *record)
{
	L4Record   *waiting;
	char	   *copy;
	int			msg_len = Min(record->msg_len, L4_RECORD_MSG);
	int			text_len = Min(record->text_len, L4_RECORD_TEXT);
	int			at;

	L4_GROW(scan->waiting, scan->nwaiting, scan->waiting_size, scan->cxt);
	for (at = scan->nwaiting; at > 0 && scan->waiting[at - 1].record_no > record->record_no; at--)
		scan->waiting[at] = scan->waiting[at - 1];
	scan->nwaiting++;
	waiting = &scan->waiting[at];
	*waiting = *record;
	copy = MemoryContextAlloc(scan->piece_cxt, msg_len + text_len + 1);
	memcpy(copy, record->msg, msg_len);
	memcpy(copy + msg_len, record->text, text_len);
	waiting->msg = copy;
	waiting->msg_len = msg_len;
	waiting->text = copy + msg_len;
	waiting->text_len = text_len;
}

/* Count the records that wait for nothing any more. */
static void
count_waiting(L4Scan *scan, int64 oldest)
{
	int			n = 0;

	while (n < scan->nwaiting && (oldest == 0 || scan->waiting[n].line_no < oldest))
	{
		count_record(scan, &scan->waiting[n]);
		pfree(unconstify(char *, scan->waiting[n].msg));
		n++;
	}
	if (n > 0)
	{
		scan->nwaiting -= n;
		memmove(scan->waiting, scan->waiting + n, sizeof(L4Record) * scan->nwaiting);
	}
}

static void
take_records(L4Scan *scan, bool force)
{
	const L4Record *record;
	int64		oldest = force ? 0 : scan->open_from;

	while ((record = l4_record_next(scan->records)) != NULL)
	{
		if (oldest == 0 && scan->nwaiting == 0)
			count_record(scan, record);
		else
			wait_for_older(scan, record);
	}
	if (scan->nwaiting > 0)
		count_waiting(scan, oldest);
}

static void
start_record(RecordStart *start, const L4RecordPlace *place, TimestampTz ts, int32 rank)
{
	*start = (RecordStart) {.line_no = place->record_line_no, .ts = ts, .own_ts = L4_NO_TS, .rank = rank, .rec = -1, .open_rec = -1};
}

/* Number under which a line finds the start of its record again: negative for one of an earlier piece. */
static int64
record_number(L4Scan *scan, const L4RecordPlace *place, TimestampTz ts, int32 rank)
{
	if (place->record_no < scan->first_record)
	{
		int			i = scan->ninherited;

		while (i > 0 && scan->inherited[i - 1].line_no != place->record_line_no)
			i--;
		if (i == 0)
		{
			L4_GROW(scan->inherited, scan->ninherited, scan->inherited_size, scan->cxt);
			start_record(&scan->inherited[scan->ninherited++], place, ts, rank);
			i = scan->ninherited;
		}
		return -i;
	}
	while (place->record_no >= scan->first_record + scan->nstarts)
	{
		L4_GROW(scan->starts, scan->nstarts, scan->starts_size, scan->cxt);
		start_record(&scan->starts[scan->nstarts++], place, ts, rank);
	}
	return place->record_no - scan->first_record;
}

/* Remember the line, and where its record began. */
static void
keep_line(L4Scan *scan, int64 line_no, TimestampTz ts, int32 rank, const L4RecordPlace *place)
{
	L4ResultPart *part = &scan->settled;
	int			size = part->lines_size;
	L4ResultLine *line;

	L4_GROW(part->lines, part->nlines, part->lines_size, scan->cxt);
	if (size != part->lines_size)
	{
		scan->line_record = scan->line_record == NULL
			? MemoryContextAllocHuge(scan->cxt, sizeof(int64) * (Size) part->lines_size)
			: repalloc_huge(scan->line_record, sizeof(int64) * (Size) part->lines_size);
	}
	line = &part->lines[part->nlines];
	line->line_no = line_no;
	line->ts = ts;
	line->rec = -1;
	line->flaws = 0;
	scan->line_record[part->nlines] = record_number(scan, place, ts, rank);
	part->nlines++;
}

static void
flaw_last_line(L4Scan *scan, uint32 flaw)
{
	uint32	   *flaws = &scan->settled.lines[scan->settled.nlines - 1].flaws;

	if (*flaws < PG_UINT32_MAX - L4_FLAW_REPEAT)
		*flaws += flaw;
	scan->flawed = true;
}

/*
 * Take what is complete. While any record is open, what began since waits:
 * reading goes on where the first of them began, when the next lines come, and
 * a record of another writer that ended in between would be counted again.
 * Where all that are open lack frames at most, nothing is read again.
 */
static void
follow_open(L4Scan *scan)
{
	int64		oldest = l4_record_oldest_open(scan->records);
	bool		only_stacks = l4_record_only_stacks(scan->records);
	/* or this line began the first one, as it ended the others */
	bool		opens = !only_stacks && (scan->open_from == 0 || oldest == scan->previous);
	MemoryContext old;

	if (only_stacks || opens)
		scan->open_from = oldest;
	if (opens)
		scan->head_before = scan->head_of_line;
	take_records(scan, false);
	if (opens)
	{
		resetStringInfo(&scan->state_before);
		l4_record_code(scan->records, &(L4Codec) {.out = &scan->state_before});
		if (scan->joinable_before != NULL)
			pfree(scan->joinable_before);
		old = MemoryContextSwitchTo(scan->piece_cxt);
		scan->njoinable_before = l4_record_joinable(scan->records, &scan->joinable_before);
		MemoryContextSwitchTo(old);
	}
}

/*
 * Feed a line; false when no more are wanted. Lines must come in order; a
 * number that comes twice counts once. Past the end of the piece lines are
 * taken only to complete records.
 */
bool
l4_scan_line(L4Scan *scan, int64 line_no, TimestampTz ts, int32 rank, const char *line, int len)
{
	L4Line		peeled;
	L4RecordPlace place;
	uint32		flaws = line == NULL ? L4_FLAW_NULL : 0;

	if (scan->end_line_no != 0)
		return false;
	if (scan->any && line_no == scan->previous)
	{
		flaw_last_line(scan, L4_FLAW_REPEAT);
		return true;
	}
	CHECK_FOR_INTERRUPTS();
	if (scan->any && line_no < scan->previous)
		elog(ERROR, "lines are not in order");
	/* with records open, too, or a chain of them could take all memory */
	if (scan->dict.memory > (scan->open_from == 0 ? 1 : 2) * (int64) L4_RESULT_MEMORY)
		scan->full = true;
	if (scan->full || (line_no > scan->last_line_no &&
					   (scan->open_from == 0 ||
						line_no > scan->last_line_no + L4_RESULT_OVERRUN)))
	{
		scan->end_line_no = line_no;
		return false;
	}
	scan->any = true;
	scan->previous = line_no;
	if (l4_plausible_ts(ts))
		l4_line_reader_reference(scan->lines, ts);
	else if (ts != L4_NO_TS)
		flaws |= L4_FLAW_TIME;
	if (!l4_plausible_ts(ts))
		ts = L4_NO_TS;
	if (scan->state->head.learning)
		scan->head_of_line = scan->state->head;
	else
		scan->head_of_line.learning = false;
	l4_line_peel(scan->lines, line == NULL ? "" : line, len, &peeled);
	if (ts == L4_NO_TS && peeled.has_ts && l4_plausible_ts(peeled.ts))
		ts = peeled.ts;
	if (ts == L4_NO_TS)
		ts = scan->state->last_ts;
	else
		scan->timed_line_no = line_no;
	scan->state->last_ts = ts;
	l4_record_feed(scan->records, line_no, rank, &peeled, &place);
	keep_line(scan, line_no, ts, rank, &place);
	if (flaws != 0)
		flaw_last_line(scan, flaws);
	if (place.first)
	{
		RecordStart *start = &scan->starts[place.record_no - scan->first_record];

		if (peeled.has_ts && l4_plausible_ts(peeled.ts))
			start->own_ts = peeled.ts;
		if (peeled.bar != NULL)
			start->bar = l4_iter_of_bar(scan->shared->rules, &peeled, scan->piece_cxt);
	}
	follow_open(scan);
	return true;
}

/*
 * Number, in part, of the record of a line. A record that is counted in an earlier piece gets an entry here; so does one that is settled,
 * where a line of it comes after an open record of another rank.
 */
static int32
record_of_line(L4Scan *scan, L4ResultPart *part, int i)
{
	int64		no = scan->line_record[i];
	RecordStart *start = no < 0 ? &scan->inherited[-no - 1] : &scan->starts[no];
	int32	   *number = part == &scan->open ? &start->open_rec : &start->rec;

	if (*number >= 0)
		return *number;
	L4_GROW(part->recs, part->nrecs, part->recs_size, scan->cxt);
	part->recs[part->nrecs] = (L4ResultRecord) {.line_no = start->line_no, .ts = start->ts, .local = -1,
	.rank = start->rank, .context = scan->state->last_rank, .iteration = L4_NO_INT};
	*number = part->nrecs;
	return part->nrecs++;
}

/* Lines from the first one that is open go to the other part; the array stays that of the first. */
static void
split_lines(L4Scan *scan, L4ScanResult *scanned, int64 oldest)
{
	const L4ResultPart *all = &scan->settled;
	int			nsettled = all->nlines;

	if (oldest != 0)
		while (nsettled > 0 && all->lines[nsettled - 1].line_no >= oldest)
			nsettled--;
	for (int i = 0; i < all->nlines; i++)
		all->lines[i].rec = record_of_line(scan, i < nsettled ? &scan->settled : &scan->open, i);
	scanned->settled = scan->settled;
	scanned->settled.nlines = nsettled;
	scanned->open = scan->open;
	scanned->open.lines = all->lines + nsettled;
	scanned->open.nlines = all->nlines - nsettled;
}

/* What was wrong with the rows of a part. */
static L4Flaws
count_flaws(const L4ResultPart *part)
{
	L4Flaws		sum = {0};

	for (int i = 0; i < part->nlines; i++)
	{
		uint32		flaws = part->lines[i].flaws;

		sum.repeated += flaws / L4_FLAW_REPEAT;
		sum.no_line += (flaws & L4_FLAW_NULL) != 0;
		sum.bad_time += (flaws & L4_FLAW_TIME) != 0;
	}
	return sum;
}

/* What the state is now; oldest: the first line that is open. */
static void
finish_state(L4Scan *scan, L4ResultHead *head, int64 oldest)
{
	StringInfoData scan_state;

	resetStringInfo(&scan->state->record_state);
	if (oldest == 0)
	{
		l4_record_code(scan->records, &(L4Codec) {.out = &scan->state->record_state});
		head->njoinable = l4_record_joinable(scan->records, &head->joinable);
	}
	else
	{
		head->njoinable = scan->njoinable_before;
		head->joinable = scan->joinable_before;
		appendBinaryStringInfo(&scan->state->record_state, scan->state_before.data, scan->state_before.len);
		if (scan->head_before.learning)
			scan->state->head = scan->head_before;
	}
	initStringInfo(&scan_state);
	l4_scan_state_write(scan->state, &scan_state);
	head->state = scan_state.data;
	head->state_len = scan_state.len;
	head->last_done = scan->state->stored_iteration;
	head->max_in_flight = scan->state->max_in_flight;
	head->ranks = palloc(sizeof(int32) * Max(scan->state->nranks, 1));
	for (int i = 0; i < scan->state->nranks; i++)
		if (scan->state->ranks[i].rank != L4_NO_INT)
			head->ranks[head->nranks++] = scan->state->ranks[i].rank;
}

/* The scan result of the piece; lives until the next piece begins. */
void
l4_scan_finish(L4Scan *scan, L4ScanResult *scanned)
{
	MemoryContext old = MemoryContextSwitchTo(scan->piece_cxt);
	int64		oldest;

	/* frames that are still to be written are none of it */
	if (scan->end_line_no != 0 || scan->settle_all || l4_record_only_stacks(scan->records))
	{
		l4_record_finish(scan->records);
		take_records(scan, true);
		scan->open_from = 0;
	}
	take_records(scan, false);
	oldest = scan->open_from;
	memset(scanned, 0, sizeof(*scanned));
	finish_state(scan, &scanned->head, oldest);
	scanned->head.full = scan->full;
	scanned->head.unparsed = scan->unparsed;
	scanned->head.timed_line_no = scan->timed_line_no;
	if (oldest != 0)
	{
		/* from here on it is a trial: these records will be read again when the next lines come */
		scan->part = &scan->open;
		l4_dict_begin(&scan->dict, scan->shared, scan->piece_cxt);
		l4_record_finish(scan->records);
		take_records(scan, true);
	}
	scanned->head.next_line_no = oldest != 0 ? oldest : scan->end_line_no != 0 ? scan->end_line_no : scan->previous + 1;
	split_lines(scan, scanned, oldest);
	if (scan->flawed)
	{
		scanned->head.flaws = count_flaws(&scanned->settled);
		scanned->head.open_flaws = count_flaws(&scanned->open);
	}
	l4_result_count(scanned);
	MemoryContextSwitchTo(old);
}
