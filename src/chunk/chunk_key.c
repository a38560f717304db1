/*
 * chunk_key.c
 *		Columns whose values follow from those of another one, as the times of
 *		lines from their numbers: a value for each different one is enough.
 */
#include "postgres.h"

#include "chunk/chunk.h"
#include "chunk/chunk_int.h"
#include "l4_compat.h"

static int
compare_keys(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* The different values, ascending. */
int64 *
l4_distinct_keys(const int64 *keys, int n, int *ndistinct)
{
	int64	   *distinct = (int64 *) palloc(sizeof(int64) * Max(n, 1));
	int			count = 0;

	memcpy(distinct, keys, sizeof(int64) * n);
	qsort(distinct, n, sizeof(int64), compare_keys);
	for (int i = 0; i < n; i++)
		if (count == 0 || distinct[i] != distinct[count - 1])
			distinct[count++] = distinct[i];
	*ndistinct = count;
	return distinct;
}

/* Place of a key among the different ones, which have it. */
static inline int
key_place(const int64 *distinct, int ndistinct, int64 key)
{
	int			low = 0;
	int			high = ndistinct - 1;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (distinct[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* A value for each of the different keys; NULL where rows of one key have different ones. */
int64 *
l4_values_by_key(const int64 *keys, const int64 *values, int n, int *nvalues)
{
	int64	   *distinct = l4_distinct_keys(keys, n, nvalues);
	int64	   *by_key = (int64 *) palloc(sizeof(int64) * Max(*nvalues, 1));
	bool	   *known = (bool *) palloc0(Max(*nvalues, 1));

	for (int i = 0; i < n; i++)
	{
		int			place = key_place(distinct, *nvalues, keys[i]);

		if (known[place] && by_key[place] != values[i])
			return NULL;
		known[place] = true;
		by_key[place] = values[i];
	}
	return by_key;
}

/* The other way round. */
void
l4_values_of_keys(const int64 *keys, int n, const int64 *distinct, const int64 *by_key, int ndistinct, int64 *values)
{
	for (int i = 0; i < n; i++)
		values[i] = by_key[key_place(distinct, ndistinct, keys[i])];
}
