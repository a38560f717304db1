/*
 * diag_counter.c: iterations counted from the records of one event.
 *
 * Ingest keeps the first different values of a variable part, with the line of each, and the line and time of every record. A number that grows
 * by a constant step is known from these for all records.
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "storage/shmem.h"

#include "base/order.h"
#include "diagnose/diagnose.h"

/* What a record reports */
typedef struct Report
{
	int32		epoch;
	int32		number;
	bool		again;			/* reported by a record before, of another rank */
} Report;

typedef struct Count
{
	const L4CounterRule *rule;
	bool		any;			/* was a number of this epoch reported */
	int32		epoch;
	int32		number;			/* the last one reported */
	int			copies;			/* records that reported it */
} Count;

/* How many records report one number: the median between the lines at which numbers are known. */
static int
records_a_number(int n, const int64 *lines, const L4KnownNumbers *known)
{
	int		   *counts = palloc0(sizeof(int) * Max(known->n, 1));
	int			ncounts = known->n - 1;
	int			at = 0;
	int			median;

	for (int i = 0; i < n && ncounts > 0 && lines[i] < known->lines[ncounts]; i++)
	{
		CHECK_FOR_INTERRUPTS();
		while (at + 1 < ncounts && lines[i] >= known->lines[at + 1])
			at++;
		if (lines[i] >= known->lines[at])
			counts[at]++;
	}
	if (ncounts > 0)
		qsort(counts, ncounts, sizeof(int), l4_order_int32);
	median = ncounts > 0 ? Max(counts[ncounts / 2], 1) : 1;
	pfree(counts);
	return median;
}

/* The number after the last one; where epochs are not known by their lines, a new one begins behind the highest number. */
static int32
next_number(Count *count, bool epochs_known)
{
	const L4CounterRule *rule = count->rule;
	int64		next = (int64) count->number + rule->step;

	if (!count->any)
		return rule->low;
	if (rule->begins_anew && next > rule->high && !epochs_known)
	{
		count->epoch = Min(count->epoch, PG_INT32_MAX - 1) + 1;
		return rule->low;
	}
	return (int32) Min(next, PG_INT32_MAX);
}

/*
 * A number is known that does not follow from the one before: the job went back, or skipped some. What lies between is counted from behind, down
 * to the record at which the last number was known.
 */
static void
count_back(Report *reports, int from, int to, const L4CounterRule *rule)
{
	int64		number = reports[to].number;

	for (int i = to - 1; i > from; i--)
	{
		CHECK_FOR_INTERRUPTS();
		if (reports[i].again)
			continue;
		number = Max(number - rule->step, 0);
		reports[i].number = (int32) number;
	}
}

/* What each record reports. */
static void
count_up(Report *reports, int n, const int64 *lines, const L4KnownNumbers *known, const L4KnownNumbers *epochs, const L4CounterRule *rule)
{
	Count		count = {.rule = rule};
	int			each = records_a_number(n, lines, known);
	int			at = 0;
	int			epoch = 0;
	int			last_known = -1;
	bool		fell = false;	/* epochs began anew with an attempt: known are those that none had come to */

	for (int i = 0; i < n; i++)
	{
		bool		is_known;
		int32		next;

		CHECK_FOR_INTERRUPTS();
		for (; epoch < epochs->n && epochs->lines[epoch] <= lines[i]; epoch++)
		{
			count.any &= !rule->begins_anew;
			fell |= epochs->numbers[epoch] < count.epoch;
			count.epoch = epochs->numbers[epoch];
		}
		while (at < known->n && known->lines[at] < lines[i])
			at++;
		is_known = at < known->n && known->lines[at] == lines[i];
		reports[i].again = !is_known && count.any && count.copies < each;
		if (reports[i].again)
		{
			count.copies++;
			continue;
		}
		next = next_number(&count, epochs->n > 0 && !fell);
		reports[i].number = is_known ? known->numbers[at] : next;
		reports[i].epoch = count.epoch;
		if (is_known && !rule->begins_anew)
		{
			if (count.any && known->numbers[at] != next)
				count_back(reports, last_known, i, rule);
			last_known = i;
		}
		count.number = reports[i].number;
		count.copies = 1;
		count.any = true;
	}
}

L4Pack *
l4_count_records(MemoryContext cxt, int n, const int64 *lines, const int64 *times, const L4KnownNumbers *known,
				 const L4KnownNumbers *epochs, const L4CounterRule *rule)
{
	L4Pack	   *pack = l4_pack_create("iiif", cxt);
	Report	   *reports = MemoryContextAllocHuge(cxt, mul_size(sizeof(Report), Max(n, 1)));
	int			before = -1;

	count_up(reports, n, lines, known, epochs, rule);
	for (int i = 0; i < n; i++)
	{
		int64		took;

		CHECK_FOR_INTERRUPTS();
		if (reports[i].again)
			continue;
		l4_pack_int(pack, 0, reports[i].epoch);
		l4_pack_int(pack, 1, reports[i].number);
		l4_pack_ts(pack, 2, times[i]);
		if (before >= 0 && reports[i].epoch == reports[before].epoch && reports[i].number > reports[before].number &&
			times[i] != L4_NO_TS && times[before] != L4_NO_TS && !pg_sub_s64_overflow(times[i], times[before], &took) && took >= 0)
			l4_pack_float(pack, 3, (double) took / 1000.0 / ((double) reports[i].number - reports[before].number));
		else
			l4_pack_null(pack, 3);
		before = i;
	}
	pfree(reports);
	return pack;
}
