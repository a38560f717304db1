/*
 * values.c
 *		Event vectors and isolation forests with damaged bytes.
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "evector/evector.h"
#include "iforest/iforest.h"

#define VECTORS		20

static struct varlena *
make_vector(void)
{
	int			n = fuzz_random(30);
	L4EventCount *counts = palloc0((n + 1) * sizeof(L4EventCount));
	int32		id = 0;

	for (int i = 0; i < n; i++)
	{
		id += 1 + fuzz_random(fuzz_random(4) ? 3 : 100000);
		counts[i].event_id = id;
		counts[i].count = 1 + ((int64) fuzz_random(1000) << fuzz_random(50));
	}
	return l4_evector_from_counts(counts, n);
}

static void
fuzz_vectors(struct varlena **vectors)
{
	for (int i = 0; i < 100; i++)
	{
		struct varlena *a = fuzz_damage_varlena(vectors[i % VECTORS]);
		struct varlena *b = vectors[fuzz_random(VECTORS)];

		FUZZ_TRY();
		l4_evector_get(a, fuzz_random(100));
		FUZZ_END();
		FUZZ_TRY();
		l4_evector_hash(a, 5);
		FUZZ_END();
		FUZZ_TRY();
		l4_evector_sum(a, b);
		FUZZ_END();
	}
}

/* Give a damaged forest the fingerprint of its bytes, so that they are read. */
static void
refit(struct varlena *forest)
{
	uint8	   *bytes = (uint8 *) VARDATA_ANY(forest);
	Size		size = VARSIZE_ANY_EXHDR(forest);

	if (size < L4_IFOREST_HEADER || fuzz_random(8) == 0)
		return;
	bytes[0] = L4_IFOREST_VERSION;
	l4_store64(bytes + 1, l4_iforest_fingerprint(bytes + L4_IFOREST_HEADER, size - L4_IFOREST_HEADER));
}

static void
fuzz_forest(struct varlena **vectors)
{
	L4ForestOptions options = {0};
	L4ForestRow rows[VECTORS] = {{0}};
	struct varlena *forest;

	options.trees = 1 + fuzz_random(10);
	options.sample_size = 2 + fuzz_random(20);
	for (int i = 0; i < VECTORS; i++)
	{
		rows[i].vector = vectors[i];
		rows[i].rows = 1 + fuzz_random(3);
		rows[i].hash = l4_evector_hash(vectors[i], 1);
	}
	pg_qsort(rows, VECTORS, sizeof(L4ForestRow), l4_iforest_compare_rows);
	forest = l4_iforest_train(&options, rows, VECTORS);
	for (int i = 0; i < 100; i++)
	{
		struct varlena *damaged = fuzz_damage_varlena(forest);
		int			n;

		refit(damaged);
		FUZZ_TRY();
		{
			L4Forest   *read = l4_iforest_decode(damaged, ERRCODE_DATA_CORRUPTED);

			l4_iforest_base(read);
			l4_iforest_score(read, vectors[i % VECTORS]);
			l4_iforest_explain(read, vectors[i % VECTORS], &n);
		}
		FUZZ_END();
	}
}

void
fuzz_values(void)
{
	struct varlena *vectors[VECTORS];

	for (int i = 0; i < VECTORS; i++)
		vectors[i] = make_vector();
	fuzz_vectors(vectors);
	fuzz_forest(vectors);
}
