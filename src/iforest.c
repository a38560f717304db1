/*
 * iforest.c
 *		Isolation forest: bytes of a trained forest, scores, explanations.
 *
 * The score of a vector is 2^(-E / c(psi)), where E is the mean over the
 * trees of its path length and c(n) the mean path of an unsuccessful search
 * in a binary search tree of n rows (Liu, Ting and Zhou, 2008). A leaf at
 * depth d that holds n training rows ends a path of d + c(n).
 */
#include "postgres.h"

#include <math.h>

#include "l4_compat.h"
#include "iforest.h"

/* Bytes before the hashed part: version and fingerprint. */
#define HEADER_SIZE		(1 + (int) sizeof(uint64))

/* Scoring follows this many trees at a time, which hides their cache misses. */
#define ABREAST			8

/* Ids lie close together when their range is at most so many times as wide … */
#define MAX_SPREAD		8

/* … and so many ids wider. */
#define MAX_GAPS		1024

#define EULER_GAMMA		0.57721566490153286061

int
l4_iforest_depth_limit(int64 sample)
{
	int			depth = 0;

	while ((INT64CONST(1) << depth) < sample)
		depth++;
	return depth;
}

static double
normal_path(int64 n)
{
	if (n <= 1)
		return 0;
	if (n == 2)
		return 1;
	return 2 * (log((double) (n - 1)) + EULER_GAMMA) - 2.0 * (double) (n - 1) / (double) n;
}

static int
compare_int32(const void *x, const void *y)
{
	int32		a = *(const int32 *) x;
	int32		b = *(const int32 *) y;

	return (a > b) - (a < b);
}

/* The events that splits test, ascending. */
static int32 *
collect_events(const L4ForestSplit *splits, int64 nsplits, int *nevents)
{
	int32	   *events = palloc_extended(Max(nsplits, 1) * sizeof(int32), MCXT_ALLOC_HUGE);
	int64		n = 0;
	int			distinct = 0;

	for (int64 i = 0; i < nsplits; i++)
	{
		if (!splits[i].leaf)
			events[n++] = splits[i].event_id;
	}
	qsort(events, n, sizeof(int32), compare_int32);
	for (int64 i = 0; i < n; i++)
	{
		if (i == 0 || events[i] != events[distinct - 1])
			events[distinct++] = events[i];
	}
	*nevents = distinct;
	return events;
}

static uint64
hash_bytes(const uint8 *p, Size size)
{
	uint64		h = size;

	for (Size i = 0; i < size; i++)
	{
		h = (h ^ p[i]) * UINT64CONST(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static void
store64(uint8 *p, uint64 value)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8) (value >> (8 * i));
}

static uint64
load64(const uint8 *p)
{
	uint64		value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64) p[i] << (8 * i);
	return value;
}

/*
 * Bytes: version; fingerprint of all that follows; trees, sample, seed
 * (zigzag), rows of the training set; the events that are tested, their
 * number and steps as in an event_vector; then each tree in preorder, an
 * inner node as position of its event + 1 and threshold, a leaf as 0 and its
 * rows. All but the first nine bytes are varints.
 */
struct varlena *
l4_iforest_encode(const L4ForestOptions *options, int sample, int64 rows,
				  const L4ForestSplit *splits, int64 nsplits)
{
	int			nevents;
	int32	   *events = collect_events(splits, nsplits, &nevents);
	Size		room = HEADER_SIZE + (5 + (Size) nevents + 2 * (Size) nsplits) * L4_VARINT_MAX;
	struct varlena *result;
	uint8	   *start;
	uint8	   *p;
	Size		size;

	result = palloc_extended(VARHDRSZ + room, MCXT_ALLOC_HUGE);
	start = (uint8 *) VARDATA(result);
	start[0] = L4_IFOREST_VERSION;
	p = start + HEADER_SIZE;
	p = l4_varint_put(p, (uint64) options->trees);
	p = l4_varint_put(p, (uint64) sample);
	p = l4_varint_put(p, l4_zigzag(options->seed));
	p = l4_varint_put(p, (uint64) rows);
	p = l4_varint_put(p, (uint64) nevents);
	for (int i = 0; i < nevents; i++)
		p = l4_varint_put(p, i == 0 ? l4_zigzag(events[0]) :
						  (uint64) ((int64) events[i] - events[i - 1] - 1));
	for (int64 i = 0; i < nsplits; i++)
	{
		if (splits[i].leaf)
			*p++ = 0;
		else
		{
			int32	   *event = bsearch(&splits[i].event_id, events, nevents,
										sizeof(int32), compare_int32);

			p = l4_varint_put(p, (uint64) (event - events) + 1);
		}
		p = l4_varint_put(p, (uint64) splits[i].value);
	}
	size = p - start;
	store64(start + 1, hash_bytes(start + HEADER_SIZE, size - HEADER_SIZE));
	pfree(events);

	/* what was not needed is given back: the value may live long */
	SET_VARSIZE(result, VARHDRSZ + size);
	return repalloc(result, VARHDRSZ + size);
}

bool
l4_iforest_fingerprint(const struct varlena *bytes, uint64 *fingerprint)
{
	if (VARSIZE_ANY_EXHDR(bytes) < HEADER_SIZE)
		return false;
	*fingerprint = load64((const uint8 *) VARDATA_ANY(bytes) + 1);
	return true;
}

/* Reads the varints of a forest one after the other; NULL once that failed. */
typedef struct Cursor
{
	const uint8 *p;
	const uint8 *end;
} Cursor;

static bool
take(Cursor *cursor, uint64 min, uint64 max, uint64 *value)
{
	if (cursor->p != NULL)
		cursor->p = l4_varint_get(cursor->p, cursor->end, value);
	return cursor->p != NULL && *value >= min && *value <= max;
}

/* Header and events: false where they are malformed. */
static bool
decode_events(L4Forest *forest, Cursor *cursor)
{
	uint64		trees;
	uint64		sample;
	uint64		seed;
	uint64		rows;
	uint64		nevents;
	int64		event_id = 0;

	if (!take(cursor, 1, L4_IFOREST_MAX_TREES, &trees) ||
		!take(cursor, 1, L4_IFOREST_MAX_SAMPLE, &sample) ||
		!take(cursor, 0, PG_UINT64_MAX, &seed) ||
		!take(cursor, sample, PG_INT64_MAX, &rows) ||
		!take(cursor, 0, (uint64) (cursor->end - cursor->p), &nevents))
		return false;
	if (trees * sample > L4_IFOREST_MAX_LEAVES)
		return false;
	forest->trees = (int64) trees;
	forest->sample = (int64) sample;
	forest->seed = l4_unzigzag(seed);
	forest->rows = (int64) rows;
	forest->nevents = (int) nevents;
	forest->events = palloc(Max(nevents, 1) * sizeof(int32));
	for (uint64 i = 0; i < nevents; i++)
	{
		uint64		step;

		if (!take(cursor, 0, PG_UINT32_MAX, &step))
			return false;
		event_id = i == 0 ? l4_unzigzag(step) : event_id + (int64) step + 1;
		if (event_id > PG_INT32_MAX)
			return false;
		forest->events[i] = (int32) event_id;
	}
	return true;
}

/*
 * One tree into nodes from *used on: false where it is malformed. Every node
 * takes two bytes, so nodes cannot outgrow the array that the caller made.
 */
static bool
decode_tree(L4Forest *forest, Cursor *cursor, int tree, uint32 *used)
{
	struct
	{
		uint32		node;
		int			depth;
	}			stack[64];
	int			waiting = 1;
	int			limit = l4_iforest_depth_limit(forest->sample);
	int64		rows_left = forest->sample;

	forest->roots[tree] = stack[0].node = (*used)++;
	stack[0].depth = 0;
	while (waiting > 0)
	{
		uint32		at = stack[--waiting].node;
		int			depth = stack[waiting].depth;
		L4ForestNode *node = &forest->nodes[at];
		uint64		event;
		uint64		value;

		if (!take(cursor, 0, (uint64) forest->nevents, &event))
			return false;
		if (event == 0)
		{
			if (!take(cursor, 1, (uint64) rows_left, &value))
				return false;
			rows_left -= (int64) value;
			node->threshold = PG_INT64_MAX;
			node->slot = 0;
			node->left = at;
			forest->path[at] = depth + normal_path((int64) value);
			forest->expected[at] = (double) value;	/* rows, for now */
			forest->depth[tree] = Max(forest->depth[tree], depth);
			continue;
		}
		if (depth >= limit || !take(cursor, 0, PG_INT64_MAX - 1, &value) ||
			(int64) *used + 2 > forest->nnodes)
			return false;
		node->threshold = (int64) value;
		node->slot = (uint32) event - 1;
		node->left = *used;
		*used += 2;

		/* the left subtree comes first in the bytes */
		stack[waiting].node = node->left + 1;
		stack[waiting++].depth = depth + 1;
		stack[waiting].node = node->left;
		stack[waiting++].depth = depth + 1;
	}
	return rows_left == 0;
}

/*
 * For each node, the mean path from there to a leaf over the training rows
 * that came by. Children come after their parents.
 */
static void
compute_expected(L4Forest *forest, int64 used)
{
	double	   *rows = palloc_extended(used * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *expected = forest->expected;

	for (int64 i = used - 1; i >= 0; i--)
	{
		uint32		left = forest->nodes[i].left;

		if (left == i)
		{
			rows[i] = expected[i];
			expected[i] = normal_path((int64) rows[i]);
			continue;
		}
		rows[i] = rows[left] + rows[left + 1];
		expected[i] = 1 + (rows[left] * expected[left] +
						   rows[left + 1] * expected[left + 1]) / rows[i];
	}
	pfree(rows);
}

/* Give each event its slot, and each node that of its event. */
static void
make_slots(L4Forest *forest)
{
	int			n = forest->nevents;
	int64		span = n == 0 ? 0 : (int64) forest->events[n - 1] - forest->events[0] + 1;

	forest->first_id = n == 0 ? 0 : forest->events[0];
	forest->compact = span > (int64) n * MAX_SPREAD + MAX_GAPS;
	forest->nslots = forest->compact ? n : span;
	forest->counts = palloc0((forest->nslots + 1) * sizeof(int64));
	forest->touched = palloc((forest->nslots + 1) * sizeof(L4SlotRange));
	if (forest->compact)
		return;
	for (int64 i = 0; i < forest->nnodes; i++)
	{
		L4ForestNode *node = &forest->nodes[i];

		if (node->left != i)
			node->slot = (uint32) (forest->events[node->slot] - forest->first_id);
	}
}

static int32
event_of_slot(const L4Forest *forest, int64 slot)
{
	return (int32) (forest->compact ? forest->events[slot] : forest->first_id + slot);
}

L4Forest *
l4_iforest_decode(const struct varlena *bytes, const char **detail)
{
	const uint8 *start = (const uint8 *) VARDATA_ANY(bytes);
	Size		size = VARSIZE_ANY_EXHDR(bytes);
	L4Forest   *forest = palloc0(sizeof(L4Forest));
	Cursor		cursor;
	uint32		used = 0;

	*detail = "The version is unknown.";
	if (size < HEADER_SIZE || start[0] != L4_IFOREST_VERSION)
		return NULL;
	cursor.p = start + HEADER_SIZE;
	cursor.end = start + size;
	*detail = "The fingerprint does not fit the bytes.";
	if (load64(start + 1) != hash_bytes(cursor.p, size - HEADER_SIZE))
		return NULL;
	*detail = "The header is malformed.";
	if (!decode_events(forest, &cursor))
		return NULL;

	forest->nnodes = (cursor.end - cursor.p) / 2 + 2;
	forest->nodes = palloc_extended(forest->nnodes * sizeof(L4ForestNode), MCXT_ALLOC_HUGE);
	forest->path = palloc_extended(forest->nnodes * sizeof(double), MCXT_ALLOC_HUGE);
	forest->expected = palloc_extended(forest->nnodes * sizeof(double), MCXT_ALLOC_HUGE);
	forest->roots = palloc(forest->trees * sizeof(uint32));
	forest->depth = palloc0(forest->trees);
	*detail = "A tree is malformed.";
	for (int t = 0; t < forest->trees; t++)
	{
		if (used >= forest->nnodes || !decode_tree(forest, &cursor, t, &used))
			return NULL;
	}
	*detail = "There are bytes after the last tree.";
	if (cursor.p != cursor.end)
		return NULL;
	forest->nnodes = used;
	forest->normal = normal_path(forest->sample);
	compute_expected(forest, used);
	make_slots(forest);
	*detail = NULL;
	return forest;
}

static inline void
touch(L4Forest *forest, int64 slot, int64 count)
{
	forest->counts[slot] = count;
	forest->touched[forest->ntouched].first = (uint32) slot;
	forest->touched[forest->ntouched++].n = 1;
}

/* Consecutive events with short counts, as l4_evector_next_run gives them. */
static void
touch_run(L4Forest *forest, int32 first, const uint8 *restrict bytes, int n)
{
	int64		slot = first - forest->first_id;
	int64	   *restrict counts;

	/* what lies outside the range is not tested */
	if (slot < 0)
	{
		bytes -= slot;
		n += (int) slot;
		slot = 0;
	}
	n = (int) Min(n, forest->nslots - slot);
	if (n <= 0)
		return;
	counts = forest->counts + slot;
	for (int i = 0; i < n; i++)
		counts[i] = (int64) bytes[i] + 1;
	forest->touched[forest->ntouched].first = (uint32) slot;
	forest->touched[forest->ntouched++].n = (uint32) n;
}

/*
 * Put the counts of a vector into their slots, in place of the vector before;
 * events that no split tests do not matter.
 */
static void
spread(L4Forest *forest, const struct varlena *vector)
{
	L4EvectorReader reader;
	int			at = 0;
	int			n;

	for (int i = 0; i < forest->ntouched; i++)
	{
		if (forest->touched[i].n == 1)
			forest->counts[forest->touched[i].first] = 0;
		else
			memset(forest->counts + forest->touched[i].first, 0,
				   forest->touched[i].n * sizeof(int64));
	}
	forest->ntouched = 0;
	l4_evector_open(&reader, vector);
	do
	{
		int32		ids[L4_EVECTOR_BLOCK];
		int64		counts[L4_EVECTOR_BLOCK];
		int32		first;
		const uint8 *bytes;

		n = 0;
		if (!forest->compact && (n = l4_evector_next_run(&reader, &first, &bytes)) > 0)
		{
			touch_run(forest, first, bytes, n);
			continue;
		}
		n = l4_evector_next_block(&reader, ids, counts);
		for (int i = 0; i < n; i++)
		{
			int64		slot = ids[i] - forest->first_id;

			if (forest->compact)
			{
				while (at < forest->nevents && forest->events[at] < ids[i])
					at++;
				if (at < forest->nevents && forest->events[at] == ids[i])
					touch(forest, at, counts[i]);
			}
			else if (slot >= 0 && slot < forest->nslots)
				touch(forest, slot, counts[i]);
		}
	} while (n > 0);
}

double
l4_iforest_score(L4Forest *forest, const struct varlena *vector)
{
	const L4ForestNode *nodes = forest->nodes;
	const int64 *counts = forest->counts;
	double		sum = 0;		/* of differences from a normal path: less rounding */

	spread(forest, vector);
	for (int64 t = 0; t < forest->trees; t += ABREAST)
	{
		int			width = (int) Min(ABREAST, forest->trees - t);
		int			depth = 0;
		uint32		at[ABREAST] = {0};

		for (int k = 0; k < width; k++)
		{
			at[k] = forest->roots[t + k];
			depth = Max(depth, forest->depth[t + k]);
		}

		/* who has reached a leaf stays there */
		for (int d = 0; d < depth; d++)
		{
			for (int k = 0; k < ABREAST; k++)
			{
				const L4ForestNode *node = &nodes[at[k]];

				at[k] = node->left + (counts[node->slot] > node->threshold);
			}
		}
		for (int k = 0; k < width; k++)
			sum += forest->path[at[k]] - forest->normal;
	}

	/* a forest of one row knows nothing */
	if (forest->normal == 0)
		return 0.5;
	return exp2(-(1 + sum / (double) forest->trees / forest->normal));
}

double
l4_iforest_base(const L4Forest *forest)
{
	double		sum = 0;

	if (forest->normal == 0)
		return -1;
	for (int64 t = 0; t < forest->trees; t++)
		sum += forest->expected[forest->roots[t]] - forest->normal;
	return -(1 + sum / (double) forest->trees / forest->normal);
}

static int
compare_contributions(const void *x, const void *y)
{
	const L4Contribution *a = x;
	const L4Contribution *b = y;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->event_id > b->event_id) - (a->event_id < b->event_id);
}

/*
 * At each node of a path the mean path still to go (of the training rows
 * there) is known; a split changes it, and the event that is tested answers
 * for the change. Over a whole path the changes add up to the path's length
 * less the mean length of all paths, so that log2(score) = base + sum of
 * contributions, for every forest and every vector.
 */
L4Contribution *
l4_iforest_explain(L4Forest *forest, const struct varlena *vector, int *n)
{
	double	   *change = palloc0((forest->nslots + 1) * sizeof(double));
	bool	   *tested = palloc0((forest->nslots + 1) * sizeof(bool));
	L4Contribution *result = palloc((forest->nslots + 1) * sizeof(L4Contribution));
	int			found = 0;

	spread(forest, vector);
	for (int64 t = 0; t < forest->trees; t++)
	{
		uint32		at = forest->roots[t];

		while (forest->nodes[at].left != at)
		{
			const L4ForestNode *node = &forest->nodes[at];
			uint32		next = node->left + (forest->counts[node->slot] > node->threshold);

			change[node->slot] += 1 + forest->expected[next] - forest->expected[at];
			tested[node->slot] = true;
			at = next;
		}
	}
	for (int64 i = 0; i < forest->nslots; i++)
	{
		if (!tested[i])
			continue;
		result[found].event_id = event_of_slot(forest, i);
		result[found++].value = (0 - change[i]) / (double) forest->trees / forest->normal;
	}
	qsort(result, found, sizeof(L4Contribution), compare_contributions);
	pfree(change);
	pfree(tested);
	*n = found;
	return result;
}
