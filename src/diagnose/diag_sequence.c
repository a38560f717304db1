/*
 * diag_sequence.c: iterations whose events are unlike those of the iterations before.
 *
 * Iterations repeat, on one node and over the nodes. Each distinct sequence is kept once for the whole job and the distance of two of them is
 * computed once, so that the cost of warping grows with the distinct sequences; an iteration costs a few comparisons of numbers.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/grow.h"
#include "base/map.h"
#include "base/order.h"
#include "diagnose/diagnose.h"
#include "dtw/dtw.h"

/* Known sequences and distances are forgotten between two streams when they hold more than this. */
#define MAX_EVENTS		8388608
#define MAX_DISTANCES	4194304

typedef struct Sequence
{
	int32		length;
	int32	   *events;
} Sequence;

/* An iteration of the stream that is read */
typedef struct Row
{
	int64		rank;			/* PG_INT64_MIN: none */
	int32		epoch;
	int32		iteration;
	int32		sequence;
	int32		place;			/* as read */
} Row;

struct L4Deviations
{
	MemoryContext cxt;
	MemoryContext known;		/* sequences and distances */
	int32	   *merged;
	int32	   *survivors;
	int			nmerged;
	Sequence   *sequences;
	int			nsequences;
	int			sequences_size;
	L4Map	   *numbers;		/* of sequences, by hash; of the next one where it is another one's */
	int64		nevents;
	double	   *distances;
	int			ndistances;
	int			distances_size;
	L4Map	   *pairs;			/* two sequences to place in distances + 1 */
	int			stream;
	Row		   *rows;
	int			nrows;
	int			rows_size;
	L4Pack	   *result;
};

static void
forget_known(L4Deviations *all)
{
	MemoryContextReset(all->known);
	all->sequences = NULL;
	all->sequences_size = 0;
	all->nsequences = 0;
	all->numbers = l4_map_create(all->known, 256, NULL);
	all->nevents = 0;
	all->distances = NULL;
	all->distances_size = 0;
	all->ndistances = 0;
	all->pairs = l4_map_create(all->known, 1024, NULL);
}

L4Deviations *
l4_deviations_create(MemoryContext cxt, const int32 *merged, const int32 *survivors, int nmerged)
{
	L4Deviations *all = MemoryContextAllocZero(cxt, sizeof(L4Deviations));

	all->cxt = cxt;
	all->nmerged = nmerged;
	all->merged = MemoryContextAlloc(cxt, sizeof(int32) * Max(nmerged, 1));
	all->survivors = MemoryContextAlloc(cxt, sizeof(int32) * Max(nmerged, 1));
	if (nmerged > 0)
	{
		memcpy(all->merged, merged, sizeof(int32) * nmerged);
		memcpy(all->survivors, survivors, sizeof(int32) * nmerged);
	}
	all->known = AllocSetContextCreate(cxt, "l4 known sequences", ALLOCSET_DEFAULT_SIZES);
	forget_known(all);
	all->result = l4_pack_create("iiiff", cxt);
	return all;
}

/* Number of a sequence, a new one where it is not known. */
static int32
intern_sequence(L4Deviations *all, int32 *events, int32 n)
{
	Size		bytes = n * sizeof(int32);

	for (uint64 hash = hash_bytes_extended((const unsigned char *) events, bytes, 0);; hash++)
	{
		bool		found;
		int32	   *number = l4_map_put(all->numbers, hash, &found);
		Sequence   *sequence;

		if (!found)
		{
			L4_GROW(all->sequences, all->nsequences, all->sequences_size, all->known);
			sequence = &all->sequences[all->nsequences];
			sequence->length = n;
			sequence->events = memcpy(MemoryContextAlloc(all->known, Max(bytes, 1)), events, bytes);
			all->nevents += n;
			*number = all->nsequences++;
			return *number;
		}
		sequence = &all->sequences[*number];
		if (sequence->length == n && memcmp(sequence->events, events, bytes) == 0)
			return *number;
	}
}

/* The same for events as they were when the lines were read. */
static int32
intern_surviving(L4Deviations *all, int32 *events, int32 n)
{
	int32	   *now;
	int32		number;

	if (all->nmerged == 0)
		return intern_sequence(all, events, n);
	now = palloc(sizeof(int32) * Max(n, 1));
	for (int32 i = 0; i < n; i++)
	{
		const int32 *found = bsearch(&events[i], all->merged, all->nmerged, sizeof(int32), l4_order_int32);

		now[i] = found == NULL ? events[i] : all->survivors[found - all->merged];
	}
	number = intern_sequence(all, now, n);
	pfree(now);
	return number;
}

static double
get_distance(L4Deviations *all, int32 x, int32 y)
{
	const Sequence *a = &all->sequences[x];
	const Sequence *b = &all->sequences[y];
	int32	   *place;

	if (x == y)
		return 0;
	place = l4_map_put(all->pairs, (uint64) Min(x, y) << 32 | (uint64) Max(x, y), NULL);
	if (*place == 0)
	{
		L4_GROW(all->distances, all->ndistances, all->distances_size, all->known);
		all->distances[all->ndistances++] = l4_dtw_int(a->events, a->length, b->events, b->length, L4_DTW_NO_BAND);
		*place = all->ndistances;
		CHECK_FOR_INTERRUPTS();
	}
	return all->distances[*place - 1];
}

L4_COMPARE(compare_rows, Row, L4_UP(rank) L4_UP(epoch) L4_UP(iteration) L4_UP(place))

static void
put_deviation(L4Deviations *all, const Row *row, double distance, double sigma)
{
	l4_pack_int(all->result, 0, all->stream);
	l4_pack_int(all->result, 1, row->epoch);
	l4_pack_int(all->result, 2, row->iteration);
	l4_pack_float(all->result, 3, distance);
	l4_pack_float(all->result, 4, sigma);
}

/* Iterations of one writer in order: the mean distance to the ten before, against mean and deviation of all such distances before. */
static void
judge(L4Deviations *all, const Row *rows, int n)
{
	double		count = 0;
	double		sum = 0;
	double		squares = 0;

	for (int i = 1; i < n; i++)
	{
		int			first = Max(0, i - L4_DEVIATION_WINDOW);
		double		total = 0;
		double		distance;

		for (int j = first; j < i; j++)
			total += get_distance(all, rows[i].sequence, rows[j].sequence);
		distance = total / (i - first);
		if (count >= L4_DEVIATION_WINDOW)
		{
			double		mean = sum / count;
			double		sd = Max(sqrt(squares / count), L4_DEVIATION_MIN_SD);

			if (distance - mean > L4_DEVIATION_SIGMA * sd)
				put_deviation(all, &rows[i], distance, (distance - mean) / sd);
		}
		/* sums as SQL's stddev_pop() adds them up */
		count++;
		sum += distance;
		if (count > 1)
		{
			double		off = distance * count - sum;

			squares += off * off / (count * (count - 1));
		}
	}
}

static void
finish_stream(L4Deviations *all)
{
	bool		sorted = true;

	for (int i = 1; i < all->nrows && sorted; i++)
		sorted = compare_rows(&all->rows[i - 1], &all->rows[i]) < 0;
	if (!sorted)
		qsort(all->rows, all->nrows, sizeof(Row), compare_rows);
	for (int i = 0; i < all->nrows;)
	{
		int			end = i + 1;

		while (end < all->nrows && all->rows[end].rank == all->rows[i].rank)
			end++;
		judge(all, &all->rows[i], end - i);
		i = end;
	}
	all->nrows = 0;
	if (all->nevents > MAX_EVENTS || all->ndistances > MAX_DISTANCES)
		forget_known(all);
}

void
l4_deviations_add(L4Deviations *all, bytea *packed, int stream)
{
	L4Pack	   *pack = l4_pack_open_as(packed, "iiia", CurrentMemoryContext);
	int32	   *numbers;

	if (stream != all->stream)
		finish_stream(all);
	all->stream = stream;
	numbers = palloc(sizeof(int32) * Max(pack->cols[3].nentries, 1));
	for (int i = 0; i < pack->cols[3].nentries; i++)
		numbers[i] = intern_surviving(all, (int32 *) pack->cols[3].entry[i], pack->cols[3].entry_len[i]);
	for (int i = 0; i < pack->nrows; i++)
	{
		Row		   *row;

		if (l4_pack_is_null(pack, 3, i))
			continue;
		L4_GROW(all->rows, all->nrows, all->rows_size, all->cxt);
		row = &all->rows[all->nrows];
		row->rank = l4_pack_is_null(pack, 0, i) ? PG_INT64_MIN : pack->cols[0].ints[i];
		row->epoch = (int32) pack->cols[1].ints[i];
		row->iteration = (int32) pack->cols[2].ints[i];
		row->sequence = numbers[pack->cols[3].ints[i]];
		row->place = all->nrows++;
	}
	pfree(numbers);
}

L4Pack *
l4_deviations_result(L4Deviations *all)
{
	finish_stream(all);
	return all->result;
}
