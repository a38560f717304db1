/*
 * scan_state.c
 *		Where a stream is in its iterations, for each rank that writes on it,
 *		and what else lasts from one piece of a stream to the next.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"

#include "base/codec.h"
#include "ingest/ingest_scan.h"
#include "packed/packed.h"

/* Bars count whole seconds, and lines take a while: a line that comes so much later than its bar says is not late. */
#define L4_BAR_SLACK 2

/* Ranks that write to one stream are at most so many reports apart: who reports the first one again later began anew. */
#define L4_RANKS_APART 10

static void
state_init(L4ScanState *scan_state)
{
	memset(scan_state, 0, sizeof(*scan_state));
	scan_state->last_ts = L4_NO_TS;
	scan_state->stored_epoch = -1;
	scan_state->stored_iteration = L4_NO_INT;
	scan_state->max_in_flight = L4_NO_INT;
	scan_state->last_rank = L4_NO_INT;
	l4_prefix_init(&scan_state->head);
	initStringInfo(&scan_state->record_state);
}

static void
code_rank(L4Codec *codec, L4RankState *rank)
{
	l4_code_int(codec, &rank->rank);
	l4_code_int(codec, &rank->epoch);
	l4_code_int(codec, &rank->current);
	l4_code_int(codec, &rank->done);
	l4_code_int64(codec, &rank->done_ts);
	l4_code_bool(codec, &rank->numbered);
	l4_code_bool(codec, &rank->named);
	l4_code_int(codec, &rank->total);
	l4_code_int(codec, &rank->reports);
	l4_code_int(codec, &rank->others);
	l4_code_bool(codec, &rank->counted);
	l4_code_int(codec, &rank->elapsed);
	l4_code_int64(codec, &rank->elapsed_ts);
	l4_code_int64(codec, &rank->own_ts);
}

/* What is stored of the state in front of what the reader of records has to store. */
static void
code_state(L4Codec *codec, L4ScanState *scan_state)
{
	l4_code_int64(codec, &scan_state->last_ts);
	l4_code_int(codec, &scan_state->stored_epoch);
	l4_code_int(codec, &scan_state->stored_iteration);
	l4_code_int(codec, &scan_state->first_epoch);
	l4_code_int(codec, &scan_state->first_iteration);
	l4_code_int(codec, &scan_state->kept);
	l4_code_int(codec, &scan_state->max_in_flight);
	l4_code_int(codec, &scan_state->last_rank);
	l4_code_count(codec, &scan_state->nranks);
	if (scan_state->nranks > L4_MAX_RANKS)
		l4_bytes_corrupted("ranks");
	for (int i = 0; i < scan_state->nranks; i++)
		code_rank(codec, &scan_state->ranks[i]);
	l4_prefix_code(&scan_state->head, codec);
}

void
l4_scan_state_write(L4ScanState *scan_state, StringInfo buf)
{
	L4Codec		codec = {.out = buf};

	code_state(&codec, scan_state);
	l4_put_bytes(buf, scan_state->record_state.data, scan_state->record_state.len);
}

void
l4_scan_state_read(L4ScanState *scan_state, const char *bytes, int len)
{
	L4ByteReader reader = {.ptr = (const unsigned char *) bytes, .end = (const unsigned char *) bytes + len};
	L4Codec		codec = {.in = &reader};
	int			n = 0;

	state_init(scan_state);
	if (len == 0)
		return;
	code_state(&codec, scan_state);
	l4_code_bytes(&codec, &bytes, &n);
	appendBinaryStringInfo(&scan_state->record_state, bytes, n);
}

/* State of a rank; ranks beyond the limit share the last one. */
L4RankState *
l4_scan_state_rank(L4ScanState *scan_state, int32 rank)
{
	L4RankState *state;

	for (int i = 0; i < scan_state->nranks; i++)
		if (scan_state->ranks[i].rank == rank)
		{
			/* writers take turns in runs: keep the present one in front */
			if (i > 4)
			{
				L4RankState swap = scan_state->ranks[0];

				scan_state->ranks[0] = scan_state->ranks[i];
				scan_state->ranks[i] = swap;
				i = 0;
			}
			return &scan_state->ranks[i];
		}
	if (scan_state->nranks >= L4_MAX_RANKS)
		return &scan_state->ranks[L4_MAX_RANKS - 1];
	state = &scan_state->ranks[scan_state->nranks++];
	state->rank = rank;
	state->epoch = 0;
	state->current = L4_NO_INT;
	state->done = L4_NO_INT;
	state->done_ts = L4_NO_TS;
	state->numbered = false;
	state->named = false;
	state->total = 0;
	state->reports = 0;
	state->others = 0;
	state->counted = false;
	state->elapsed = -1;
	state->elapsed_ts = L4_NO_TS;
	state->own_ts = L4_NO_TS;
	return state;
}

/*
 * When a bar was painted: a log gets its line only when something ends it,
 * after a hang long afterwards. The bar's own seconds since the one before
 * tell, where the line came later than they say.
 */
static TimestampTz
bar_time(L4RankState *state, int elapsed, TimestampTz ts)
{
	TimestampTz painted = ts;

	if (state->elapsed >= 0 && elapsed >= state->elapsed && state->elapsed_ts != L4_NO_TS && ts != L4_NO_TS)
	{
		if (pg_add_s64_overflow(state->elapsed_ts, (elapsed - state->elapsed + L4_BAR_SLACK) * USECS_PER_SEC, &painted))
			painted = ts;
		painted = Min(painted, ts);
	}
	state->elapsed = elapsed;
	state->elapsed_ts = painted;
	return painted;
}

/*
 * A report out of another total than that of the training: evaluation paints
 * bars of its own. The training's total is the one under which reports came
 * that only a training loop writes. Until then a greater one begins anew, and
 * so does a lesser one that is reported more often than the greater one was.
 */
static bool
of_other_loop(L4ScanState *scan_state, L4RankState *state, const L4Iteration *found)
{
	int32		total = (int32) Min(found->total, PG_INT32_MAX);

	if (found->iter == L4_ITER_NEXT)
		state->counted |= state->total > 0;
	else if (found->done && total > 0 && total != state->total)
	{
		if (state->counted || (total < state->total && !found->counted && ++state->others <= state->reports))
			return true;
		if (state->total > 0)
		{
			state->done = L4_NO_INT;
			scan_state->stored_epoch = -1;
			scan_state->stored_iteration = L4_NO_INT;
		}
		state->total = total;
		state->reports = state->others = 0;
	}
	if (found->done && total > 0)
	{
		state->reports = state->others > 0 ? 1 : Min(state->reports, PG_INT32_MAX - 1) + 1;
		state->others = 0;
	}
	state->counted |= found->counted && total > 0;
	return false;
}

/*
 * A report that gives an earlier time than the one before, or the same or (cut
 * off) none and no later iteration or epoch: a launcher shows the end of a log
 * again when a process failed.
 */
static bool
comes_again(const L4RankState *state, const L4Iteration *found, TimestampTz own_ts)
{
	if (!found->done || state->own_ts == L4_NO_TS)
		return false;
	if (own_ts == L4_NO_TS || own_ts == state->own_ts)
		return found->iter != L4_ITER_NEXT && found->iter <= state->done && found->epoch <= state->epoch;
	return own_ts < state->own_ts;
}

/*
 * A bar shows its own count, from one anew each epoch, and then once more with
 * the epoch and the number since the start in front of it: a lesser number
 * without an epoch, right behind one with it, says nothing. A second one does.
 */
static bool
is_bare_count(L4RankState *state, const L4Iteration *found)
{
	bool		after_named = state->named;

	if (found->done)
		state->named = found->epoch >= 0;
	return found->done && found->epoch < 0 && found->iter != L4_ITER_NEXT && after_named && found->iter < state->done;
}

static bool
is_later(int32 epoch, int32 iter, int32 than_epoch, int32 than_iter)
{
	return epoch > than_epoch || (epoch == than_epoch && iter > than_iter);
}

/*
 * A line that names an iteration: the record belongs to it, and the rank goes
 * on from there. A number that is lower than one already done starts a new
 * epoch, but only where a line reports it as done: evaluation and checkpoints
 * name the iteration that has just ended. True when the iteration is to be
 * kept: the first report of it in the stream, or in it since it began anew.
 * Reports without numbers are counted, unless others give numbers: then they
 * belong to what is going on.
 */
bool
l4_scan_state_iteration(L4ScanState *scan_state, L4RankState *state, const L4Iteration *found,
				   TimestampTz ts, TimestampTz own_ts, L4ResultRecord *rec, double *duration_ms)
{
	bool		next = found->iter == L4_ITER_NEXT;
	bool		other = is_bare_count(state, found) || comes_again(state, found, own_ts) ||
		of_other_loop(scan_state, state, found);
	int32		before = state->done;
	int32		iter = (int32) Min(Max(found->iter, 0), PG_INT32_MAX - 1);
	TimestampTz before_ts = state->done_ts;

	if (other || (next && state->numbered))
		return false;
	if (found->done && found->elapsed_s >= 0)
		ts = bar_time(state, found->elapsed_s, ts);
	if (next)
		iter = before == L4_NO_INT ? 1 : Min(before, PG_INT32_MAX - 2) + 1;
	state->numbered |= !next && found->done;

	if (iter > scan_state->max_in_flight || scan_state->max_in_flight == L4_NO_INT)
		scan_state->max_in_flight = iter;
	rec->iteration = iter;
	if (!found->done)
	{
		if (state->done == L4_NO_INT || iter > state->done)
			state->current = iter;
		rec->epoch = state->epoch;
		return false;
	}
	if (found->epoch >= 0)
	{
		int32		epoch = (int32) Min(found->epoch, PG_INT32_MAX);

		if (epoch != state->epoch && !next)
			before = L4_NO_INT;
		state->epoch = epoch;
	}
	else if (before != L4_NO_INT && iter < before)
	{
		state->epoch = Min(state->epoch, PG_INT32_MAX - 1) + 1;
		before = L4_NO_INT;
	}
	rec->epoch = state->epoch;
	state->done = iter;
	state->done_ts = ts;
	if (own_ts != L4_NO_TS)
		state->own_ts = own_ts;
	state->current = iter + 1;
	*duration_ms = found->duration_ms;
	if (isnan(*duration_ms) && before != L4_NO_INT && iter > before && ts != L4_NO_TS &&
		before_ts != L4_NO_TS && ts >= before_ts)
		*duration_ms = (double) (ts - before_ts) / 1000.0 / (iter - before);
	if (!is_later(state->epoch, iter, scan_state->stored_epoch, scan_state->stored_iteration))
	{
		if (scan_state->kept < L4_RANKS_APART ||
			is_later(state->epoch, iter, scan_state->first_epoch, scan_state->first_iteration))
			return false;
		scan_state->kept = 0;
	}
	if (scan_state->stored_epoch < 0)
	{
		scan_state->first_epoch = state->epoch;
		scan_state->first_iteration = iter;
	}
	scan_state->kept = Min(scan_state->kept, L4_RANKS_APART - 1) + 1;
	scan_state->stored_epoch = state->epoch;
	scan_state->stored_iteration = iter;
	return true;
}
