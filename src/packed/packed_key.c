/*
 * packed_key.c
 *		Columns whose values follow from those of another one, as the times of
 *		lines from their numbers: a value for each different one is enough.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "base/order.h"
#include "l4_compat.h"
#include "packed/packed.h"
#include "packed/packed_int.h"

#define WORD_BITS	64

/* Numbers of lines lie close together: a bit each, and the bits that are set before each word. */
static int
places_by_bits(const int64 *keys, int n, int64 lowest, int nwords, int *place)
{
	uint64	   *bits = (uint64 *) palloc0(sizeof(uint64) * nwords);
	int		   *before = (int *) palloc(sizeof(int) * nwords);
	int			ndistinct = 0;

	for (int i = 0; i < n; i++)
	{
		uint64		bit = (uint64) keys[i] - (uint64) lowest;

		bits[bit / WORD_BITS] |= UINT64CONST(1) << bit % WORD_BITS;
	}
	for (int w = 0; w < nwords; w++)
	{
		before[w] = ndistinct;
		ndistinct += pg_popcount64(bits[w]);
	}
	for (int i = 0; i < n; i++)
	{
		uint64		bit = (uint64) keys[i] - (uint64) lowest;
		uint64		lower = (UINT64CONST(1) << bit % WORD_BITS) - 1;

		place[i] = before[bit / WORD_BITS] + pg_popcount64(bits[bit / WORD_BITS] & lower);
	}
	pfree(bits);
	pfree(before);
	return ndistinct;
}

static int
places_by_order(const int64 *keys, int n, int *place)
{
	int64	   *distinct = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int			ndistinct = 0;

	memcpy(distinct, keys, sizeof(int64) * n);
	qsort(distinct, n, sizeof(int64), l4_order_int64);
	for (int i = 0; i < n; i++)
		if (ndistinct == 0 || distinct[i] != distinct[ndistinct - 1])
			distinct[ndistinct++] = distinct[i];
	for (int i = 0; i < n; i++)
		place[i] = (int) ((int64 *) bsearch(&keys[i], distinct, ndistinct, sizeof(int64), l4_order_int64) - distinct);
	pfree(distinct);
	return ndistinct;
}

/* Place of each key among the different ones, ascending, and how many these are. */
int *
l4_key_places(const int64 *keys, int n, int *ndistinct)
{
	int		   *place = (int *) palloc(sizeof(int) * Max(n, 1));
	int64		lowest = n > 0 ? keys[0] : 0;
	int64		highest = lowest;
	uint64		nwords;

	for (int i = 1; i < n; i++)
	{
		lowest = Min(lowest, keys[i]);
		highest = Max(highest, keys[i]);
	}
	nwords = ((uint64) highest - (uint64) lowest) / WORD_BITS + 1;
	*ndistinct = nwords <= (uint64) n * 8 ? places_by_bits(keys, n, lowest, (int) nwords, place) : places_by_order(keys, n, place);
	return place;
}

/* A value for each of the different keys; NULL where rows of one key have different ones. */
int64 *
l4_values_by_key(const int64 *keys, const int64 *values, int n, int *nvalues)
{
	int		   *place = l4_key_places(keys, n, nvalues);
	int64	   *by_key = (int64 *) palloc(sizeof(int64) * Max(*nvalues, 1));
	bool	   *known = (bool *) palloc0(Max(*nvalues, 1));
	bool		follow = true;

	for (int i = 0; i < n && follow; i++)
	{
		follow = !known[place[i]] || by_key[place[i]] == values[i];
		known[place[i]] = true;
		by_key[place[i]] = values[i];
	}
	pfree(place);
	pfree(known);
	return follow ? by_key : NULL;
}
