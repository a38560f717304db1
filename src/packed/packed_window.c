/*
 * packed_window.c
 *		Packed lines and iterations between two times, and their numbers by
 *		time: what dashboards ask for. A condition on rows that a function
 *		returned would see every row of a job.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "l4_compat.h"
#include "packed/packed.h"
#include "packed/packed_rows.h"

/* Columns of packed lines and iterations that are asked for here */
#define LINE_TS			2
#define LINE_EVENT		4
#define LINE_STAGE		5
#define LINE_ITERATION	6
#define ITER_EPOCH		0
#define ITER_NUMBER		1
#define ITER_ENDED		2
#define ITER_MS			3

/* Times, or numbers */
typedef struct Window
{
	int64		from;			/* on or after it */
	int64		to;				/* and on or before it */
	bool		bounded;		/* what has no time is outside */
} Window;

static Window
get_window(FunctionCallInfo fcinfo, int argno)
{
	Window		window;

	window.bounded = !PG_ARGISNULL(argno) || !PG_ARGISNULL(argno + 1);
	window.from = PG_ARGISNULL(argno) ? DT_NOBEGIN : PG_GETARG_TIMESTAMPTZ(argno);
	window.to = PG_ARGISNULL(argno + 1) ? DT_NOEND : PG_GETARG_TIMESTAMPTZ(argno + 1);
	return window;
}

static Window
get_numbers(FunctionCallInfo fcinfo, int argno)
{
	Window		window;

	window.bounded = !PG_ARGISNULL(argno) || !PG_ARGISNULL(argno + 1);
	window.from = PG_ARGISNULL(argno) ? PG_INT64_MIN : PG_GETARG_INT32(argno);
	window.to = PG_ARGISNULL(argno + 1) ? PG_INT64_MAX : PG_GETARG_INT32(argno + 1);
	return window;
}

static inline bool
in_window(const Window *window, bool known, int64 value)
{
	return known ? value >= window->from && value <= window->to : !window->bounded;
}

/* Those of the rows whose value of a column is in the window; returns their number. */
static int
keep_rows(L4Pack *pack, int colno, const Window *window, int *rows, int nrows)
{
	int			kept = 0;

	if (!window->bounded || nrows == 0)
		return nrows;
	l4_pack_need(pack, colno);
	for (int i = 0; i < nrows; i++)
		if (in_window(window, !l4_pack_is_null(pack, colno, rows[i]), pack->cols[colno].ints[rows[i]]))
			rows[kept++] = rows[i];
	return kept;
}

/* The number that stands for a text in a column, if any does */
static Window
number_of_text(L4Pack *pack, int colno, const text *value)
{
	L4PackCol  *col = &pack->cols[colno];
	int			len = VARSIZE_ANY_EXHDR(value);
	Window		window = {.from = -1,.to = -1,.bounded = true};

	l4_pack_need(pack, colno);
	for (int i = 0; i < col->nentries; i++)
		if (col->entry_len[i] == len && memcmp(col->entry[i], VARDATA_ANY(value), len) == 0)
			window.from = window.to = i;
	return window;
}

/* The same for what is summed, without the last time. */
static inline bool
is_summed(const Window *window, bool known, TimestampTz ts)
{
	return in_window(window, known, ts) && (!known || ts < window->to);
}

/*
 * l4._lines_between(packed, ids, from_ts, to_ts, first_ts, last_ts,
 * from_iteration, to_iteration, of_stage, columns): the packed lines of some
 * events (NULL = of all) from a time and an iteration on and up to another one
 * (NULL = open), of a stage (NULL = of any). With the first and the last time
 * of all of them they need not be unpacked where none is wanted; columns
 * without their bit are NULL.
 */
L4_FUNCTION(l4_lines_between)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Window		window = get_window(fcinfo, 2);
	Window		iterations = get_numbers(fcinfo, 6);
	const int32 *ids = NULL;
	int			nids = 0;
	L4Pack	   *pack;
	int		   *rows;
	int			nrows;

	l4_init_materialized_srf(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(9) || (!PG_ARGISNULL(4) && PG_GETARG_TIMESTAMPTZ(4) > window.to) ||
		(!PG_ARGISNULL(5) && PG_GETARG_TIMESTAMPTZ(5) < window.from))
		return (Datum) 0;
	if (!PG_ARGISNULL(1))
		ids = l4_sorted_ids(PG_GETARG_ARRAYTYPE_P(1), &nids);
	pack = l4_open_rows(rsinfo, PG_GETARG_BYTEA_PP(0), LINE_EVENT + 1, ids, nids, &rows, &nrows);
	nrows = keep_rows(pack, LINE_TS, &window, rows, nrows);
	nrows = keep_rows(pack, LINE_ITERATION, &iterations, rows, nrows);
	if (!PG_ARGISNULL(8) && nrows > 0)
	{
		Window		stage = number_of_text(pack, LINE_STAGE, PG_GETARG_TEXT_PP(8));

		nrows = keep_rows(pack, LINE_STAGE, &stage, rows, nrows);
	}
	l4_put_rows(rsinfo, pack, rows, nrows, (uint32) PG_GETARG_INT32(9));
	return (Datum) 0;
}

/* When an iteration began: the time of its report less its duration, where that is known; false: not known. */
static bool
iteration_started(L4Pack *pack, int row, TimestampTz *started)
{
	float8		us = rint(pack->cols[ITER_MS].floats[row] / 1000.0 * USECS_PER_SEC);

	*started = pack->cols[ITER_ENDED].ints[row];
	if (l4_pack_is_null(pack, ITER_ENDED, row) || !IS_VALID_TIMESTAMP(*started))
		return false;
	if (!l4_pack_is_null(pack, ITER_MS, row) && fabs(us) < (float8) END_TIMESTAMP / 2)
		*started -= (int64) us;
	return IS_VALID_TIMESTAMP(*started);
}

/*
 * l4._iterations_between(packed, open, from_ts, to_ts, from_iteration,
 * to_iteration): epoch, iteration, started, duration_ms, place of those packed
 * iterations that started from a time on and up to another one, from a number
 * on and up to another one (NULL = open). Places count the rows of both values
 * from 1 on.
 */
L4_FUNCTION(l4_iterations_between)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Window		window = get_window(fcinfo, 2);
	Window		numbers = get_numbers(fcinfo, 4);
	int64		place = 0;

	l4_init_materialized_srf(fcinfo);
	for (int i = 0; i < 2; i++)
	{
		L4Pack	   *pack = PG_ARGISNULL(i) ? NULL : l4_pack_open_as(PG_GETARG_BYTEA_PP(i), "iiif", CurrentMemoryContext);

		for (int row = 0; pack != NULL && row < pack->nrows; row++)
		{
			Datum		values[5];
			bool		nulls[5] = {0};
			TimestampTz started;

			CHECK_FOR_INTERRUPTS();
			place++;
			nulls[1] = l4_pack_is_null(pack, ITER_NUMBER, row);
			if (!in_window(&numbers, !nulls[1], pack->cols[ITER_NUMBER].ints[row]))
				continue;
			nulls[2] = !iteration_started(pack, row, &started);
			if (!in_window(&window, !nulls[2], started))
				continue;
			values[0] = Int32GetDatum((int32) pack->cols[ITER_EPOCH].ints[row]);
			nulls[0] = l4_pack_is_null(pack, ITER_EPOCH, row);
			values[1] = Int32GetDatum((int32) pack->cols[ITER_NUMBER].ints[row]);
			values[2] = TimestampTzGetDatum(started);
			values[3] = Float8GetDatum(pack->cols[ITER_MS].floats[row]);
			nulls[3] = l4_pack_is_null(pack, ITER_MS, row);
			values[4] = Int64GetDatum(place);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

/* What is summed: by time, and lines also by event */
typedef struct SumKey
{
	TimestampTz begin;			/* L4_NO_TS: lines without a time */
	int64		event_id;
} SumKey;

typedef struct Sum
{
	SumKey		key;
	int64		n;
	float8		total;
	float8		highest;
} Sum;

#define RECENT_SUMS		64		/* a power of two */
#define MAX_WIDTH_DAYS	36525
#define MAX_WIDTH		(MAX_WIDTH_DAYS * USECS_PER_DAY)

typedef struct Sums
{
	int64		width;			/* in microseconds */
	TimestampTz begin;			/* of the span of the time before */
	HTAB	   *table;
	Sum		   *recent[RECENT_SUMS];	/* by event: lines of a moment follow each other */
} Sums;

static void
begin_sums(Sums *sums, int64 width)
{
	HASHCTL		ctl = {.keysize = sizeof(SumKey), .entrysize = sizeof(Sum), .hcxt = CurrentMemoryContext};

	if (width <= 0 || width > MAX_WIDTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width must be positive and at most %d days", MAX_WIDTH_DAYS)));
	memset(sums, 0, sizeof(*sums));
	sums->width = width;
	sums->table = hash_create("l4 sums by time", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The sum of a time and an event. Spans are counted from 2000-01-01 UTC. */
static Sum *
sum_of(Sums *sums, bool known, TimestampTz ts, int64 event_id)
{
	Sum		  **recent = &sums->recent[event_id & (RECENT_SUMS - 1)];
	SumKey		key = {.begin = L4_NO_TS,.event_id = event_id};
	bool		found;

	if (known && IS_VALID_TIMESTAMP(ts))
	{
		if ((uint64) ts - (uint64) sums->begin >= (uint64) sums->width)
		{
			int64		rest = ts % sums->width;

			sums->begin = ts - (rest < 0 ? rest + sums->width : rest);
		}
		key.begin = sums->begin;
	}
	if (*recent == NULL || (*recent)->key.begin != key.begin || (*recent)->key.event_id != event_id)
	{
		*recent = (Sum *) hash_search(sums->table, &key, HASH_ENTER, &found);
		if (!found)
		{
			(*recent)->n = 0;
			(*recent)->total = 0;
			(*recent)->highest = -get_float8_infinity();
		}
	}
	return *recent;
}

/* Rows of begin and, of lines, event and number; of iterations number, total and highest. */
static void
put_sums(ReturnSetInfo *rsinfo, Sums *sums, bool lines)
{
	HASH_SEQ_STATUS scan;
	Sum		   *sum;

	hash_seq_init(&scan, sums->table);
	while ((sum = (Sum *) hash_seq_search(&scan)) != NULL)
	{
		Datum		values[4] = {TimestampTzGetDatum(sum->key.begin)};
		bool		nulls[4] = {sum->key.begin == L4_NO_TS};
		int			c = 1;

		if (lines)
			values[c++] = Int32GetDatum((int32) sum->key.event_id);
		values[c++] = Int64GetDatum(sum->n);
		if (!lines)
		{
			values[c++] = Float8GetDatum(sum->total);
			values[c++] = Float8GetDatum(sum->highest);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/*
 * l4._line_counts(packed, width_us, from_ts, to_ts): begin, event_id and lines
 * of the packed lines between two times (NULL = open).
 */
L4_FUNCTION(l4_line_counts)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Window		window = get_window(fcinfo, 2);
	L4Pack	   *pack;
	Sums		sums;

	l4_init_materialized_srf(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	begin_sums(&sums, PG_GETARG_INT64(1));
	pack = l4_pack_open_as(PG_GETARG_BYTEA_PP(0), "  i i", CurrentMemoryContext);
	for (int row = 0; row < pack->nrows; row++)
	{
		bool		known = !l4_pack_is_null(pack, LINE_TS, row);
		TimestampTz ts = pack->cols[LINE_TS].ints[row];

		CHECK_FOR_INTERRUPTS();
		if (is_summed(&window, known, ts))
			sum_of(&sums, known, ts, pack->cols[LINE_EVENT].ints[row])->n++;
	}
	put_sums(rsinfo, &sums, true);
	return (Datum) 0;
}

/*
 * l4._iteration_times(packed, open, width_us, from_ts, to_ts): begin,
 * iterations, total_ms and highest_ms of the packed iterations with a duration
 * that started between two times (NULL = open).
 */
L4_FUNCTION(l4_iteration_times)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Window		window = get_window(fcinfo, 3);
	Sums		sums;

	l4_init_materialized_srf(fcinfo);
	if (PG_ARGISNULL(2))
		return (Datum) 0;
	begin_sums(&sums, PG_GETARG_INT64(2));
	for (int i = 0; i < 2; i++)
	{
		L4Pack	   *pack = PG_ARGISNULL(i) ? NULL : l4_pack_open_as(PG_GETARG_BYTEA_PP(i), "  if", CurrentMemoryContext);

		for (int row = 0; pack != NULL && row < pack->nrows; row++)
		{
			float8		ms = pack->cols[ITER_MS].floats[row];
			TimestampTz started;
			Sum		   *sum;

			CHECK_FOR_INTERRUPTS();
			if (l4_pack_is_null(pack, ITER_MS, row) || !iteration_started(pack, row, &started) ||
				!is_summed(&window, true, started))
				continue;
			sum = sum_of(&sums, true, started, 0);
			sum->n++;
			sum->total += ms;
			sum->highest = Max(sum->highest, ms);
		}
	}
	put_sums(rsinfo, &sums, false);
	return (Datum) 0;
}
