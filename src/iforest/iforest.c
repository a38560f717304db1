/*
 * iforest.c
 *		Isolation forest: bytes of a trained forest, and what they become for
 *		scoring.
 *
 * A leaf at depth d that holds n training rows ends a path of d + c(n), where
 * c(n) is the mean path of an unsuccessful search in a binary search tree of n
 * rows (Liu, Ting and Zhou, 2008).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "base/bytes.h"
#include "base/map.h"
#include "base/order.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

/* Bytes before the hashed part: version and fingerprint. */
#define HEADER_SIZE		(1 + (int) sizeof(uint64))

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

/* The events that splits test, ascending; positions receives where each stands, from 1. */
static int32 *
collect_events(const L4ForestSplit *splits, int64 nsplits, L4Map *positions)
{
	int32	   *ids = palloc_extended(Max(nsplits, 1) * sizeof(int32), MCXT_ALLOC_HUGE);
	int			n = 0;

	for (int64 i = 0; i < nsplits; i++)
	{
		bool		found = true;

		if (!splits[i].leaf)
			(void) l4_map_put(positions, (uint32) splits[i].event_id, &found);
		if (!found)
			ids[n++] = splits[i].event_id;
	}
	qsort(ids, n, sizeof(int32), l4_order_int32);
	for (int i = 0; i < n; i++)
		*l4_map_put(positions, (uint32) ids[i], NULL) = i + 1;
	return ids;
}

static uint64
fingerprint_of(const uint8 *p, Size size)
{
	uint64		h = size;

	for (Size i = 0; i < size; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		h = (h ^ p[i]) * UINT64CONST(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
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
	L4Map	   *positions = l4_map_create(CurrentMemoryContext, 1024, NULL);
	int32	   *events = collect_events(splits, nsplits, positions);
	int			nevents = (int) positions->members;
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
			p = l4_varint_put(p, (uint64) l4_map_get(positions, (uint32) splits[i].event_id));
		p = l4_varint_put(p, (uint64) splits[i].value);
	}
	size = p - start;
	l4_store64(start + 1, fingerprint_of(start + HEADER_SIZE, size - HEADER_SIZE));
	pfree(events);
	l4_map_destroy(positions);

	/* what was not needed is given back: the value may live long */
	SET_VARSIZE(result, VARHDRSZ + size);
	return repalloc(result, VARHDRSZ + size);
}

static uint64
take(L4ByteReader *in, uint64 min, uint64 max, const char *what)
{
	uint64		value = l4_get_number(in, max, what);

	if (value < min)
		l4_bytes_corrupted(what);
	return value;
}

/* Header and events. */
static void
decode_events(L4Forest *forest, L4ByteReader *in)
{
	int64		event_id = 0;

	forest->trees = take(in, 1, L4_IFOREST_MAX_TREES, "number of trees");
	forest->sample = take(in, 1, L4_IFOREST_MAX_SAMPLE, "rows of a tree");
	if (forest->trees * forest->sample > L4_IFOREST_MAX_LEAVES)
		l4_bytes_corrupted("number of trees");
	forest->seed = l4_get_int(in);
	forest->rows = take(in, forest->sample, PG_INT64_MAX, "rows");
	forest->nevents = l4_get_count(in);
	forest->events = palloc(Max(forest->nevents, 1) * sizeof(int32));
	for (int i = 0; i < forest->nevents; i++)
	{
		uint64		step = l4_get_number(in, PG_UINT32_MAX, "event");

		event_id = i == 0 ? l4_unzigzag(step) : event_id + (int64) step + 1;
		if (event_id > PG_INT32_MAX)
			l4_bytes_corrupted("event");
		forest->events[i] = (int32) event_id;
	}
}

/* The nodes so far in the other form, since a threshold is too large for theirs. */
static void
widen(L4Forest *forest, Size nnodes)
{
	forest->nodes = palloc_extended(nnodes * sizeof(L4ForestNode), MCXT_ALLOC_HUGE);
	for (Size i = 0; i < nnodes; i++)
	{
		uint32		node = forest->short_nodes[i];

		forest->nodes[i].slot = node >> 16;
		forest->nodes[i].threshold = (node & L4_SHORT_NEVER) == L4_SHORT_NEVER ? PG_INT64_MAX : (int64) (node & L4_SHORT_NEVER);
	}
	pfree(forest->short_nodes);
	forest->short_nodes = NULL;
}

/* What a split tests, into inner node number node of a tree. */
static void
put_split(L4Forest *forest, int64 tree, uint32 node, int event, int64 threshold)
{
	Size		at = l4_forest_position(forest, tree, node);
	uint32		slot = (uint32) (forest->compact ? event : forest->events[event] - forest->first_id);

	if (forest->short_nodes != NULL && threshold >= L4_SHORT_NEVER)
		widen(forest, l4_forest_size(forest));
	if (forest->short_nodes != NULL)
		forest->short_nodes[at] = slot << 16 | (uint32) threshold;
	else
	{
		forest->nodes[at].slot = slot;
		forest->nodes[at].threshold = threshold;
	}
}

/* One tree. rows[] receives the training rows of each node that is a leaf, and 0 for others. */
static void
decode_tree(L4Forest *forest, L4ByteReader *in, int tree, int64 *rows)
{
	struct
	{
		uint32		node;
		int			depth;
	}			stack[64];
	int			waiting = 1;
	int64		rows_left = forest->sample;

	memset(rows, 0, ((Size) 2 << forest->levels) * sizeof(int64));
	stack[0].node = 1;
	stack[0].depth = 0;
	while (waiting > 0)
	{
		uint32		node = stack[--waiting].node;
		int			depth = stack[waiting].depth;
		int			event = (int) l4_get_number(in, forest->nevents, "event of a node");

		forest->nnodes++;
		if (event == 0)
		{
			rows[node] = take(in, 1, rows_left, "rows of a leaf");
			rows_left -= rows[node];
			continue;
		}
		if (depth >= forest->levels)
			l4_bytes_corrupted("depth of a tree");
		put_split(forest, tree, node, event - 1, l4_get_number(in, PG_INT64_MAX - 1, "threshold"));

		/* the left subtree comes first in the bytes */
		stack[waiting].node = node * 2 + 1;
		stack[waiting++].depth = depth + 1;
		stack[waiting].node = node * 2;
		stack[waiting++].depth = depth + 1;
	}
	if (rows_left != 0)
		l4_bytes_corrupted("rows of a tree");
}

/*
 * For each node of a tree the mean path from there to a leaf over the training
 * rows that came by, and for each end of a path how much longer than normal
 * the path is. All paths are equally long: where a leaf comes early, they go on to
 * the left. normal[] is c(n) by rows.
 */
static void
measure_paths(L4Forest *forest, int tree, int64 *rows, const double *normal)
{
	uint32		inner = (uint32) 1 << forest->levels;
	double	   *expected = forest->expected + (Size) tree * 2 * inner;

	for (uint32 i = 2 * inner - 1; i > 0; i--)
	{
		uint32		left = 2 * i;

		if (rows[i] > 0)		/* a leaf */
		{
			uint32		end = i;
			int			depth = pg_leftmost_one_pos32(i);

			while (end < inner)
				end *= 2;
			forest->path[l4_forest_position(forest, tree, end - inner)] = depth + normal[rows[i]] - forest->normal;
			expected[i] = normal[rows[i]];
		}
		else if (i < inner && rows[left] > 0)
		{
			rows[i] = rows[left] + rows[left + 1];
			expected[i] = 1 + ((double) rows[left] * expected[left] +
							   (double) rows[left + 1] * expected[left + 1]) / (double) rows[i];
		}
	}
}

/* Room for trees whose paths all go to the left, and are of normal length. */
static void
alloc_trees(L4Forest *forest)
{
	Size		size = l4_forest_size(forest);

	forest->path = palloc_extended(size * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	forest->expected = palloc_extended(((Size) forest->trees * 2 << forest->levels) * sizeof(double), MCXT_ALLOC_HUGE);
	forest->short_nodes = palloc_extended(size * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (Size i = 0; i < size; i++)
		forest->short_nodes[i] = L4_SHORT_NEVER;
	if (forest->nslots > L4_SHORT_SLOTS)
		widen(forest, size);
}

static void
decode_trees(L4Forest *forest, L4ByteReader *in)
{
	int64	   *rows = palloc(((Size) 2 << forest->levels) * sizeof(int64));
	double	   *normal = palloc((forest->sample + 1) * sizeof(double));

	for (int64 n = 0; n <= forest->sample; n++)
		normal[n] = normal_path(n);
	forest->normal = normal[forest->sample];
	for (int t = 0; t < forest->trees; t++)
	{
		decode_tree(forest, in, t, rows);
		measure_paths(forest, t, rows, normal);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(rows);
	pfree(normal);
}

/* Which slot each event has. */
static void
choose_slots(L4Forest *forest)
{
	int			n = forest->nevents;
	int64		span = n == 0 ? 0 : (int64) forest->events[n - 1] - forest->events[0] + 1;

	forest->first_id = n == 0 ? 0 : forest->events[0];
	forest->compact = span > (int64) n * MAX_SPREAD + MAX_GAPS;
	forest->nslots = forest->compact ? n : span;
}

static void
invalid_forest(int sqlstate, const char *detail)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg(sqlstate == ERRCODE_INVALID_TEXT_REPRESENTATION ? "invalid input syntax for type %s" :
					sqlstate == ERRCODE_INVALID_BINARY_REPRESENTATION ? "invalid binary representation of type %s" :
					"stored %s is corrupted", "iforest"),
			 errdetail_internal("%s", detail)));
}

L4Forest *
l4_iforest_decode(const struct varlena *bytes, int sqlstate)
{
	L4ByteReader in = l4_bytea_reader(bytes);
	Size		size = in.end - in.ptr;
	L4Forest   *forest = palloc0(sizeof(L4Forest));

	if (size < HEADER_SIZE || *in.ptr++ != L4_IFOREST_VERSION)
		invalid_forest(sqlstate, "The version is unknown.");
	if (l4_get_fixed64(&in) != fingerprint_of(in.ptr, size - HEADER_SIZE))
		invalid_forest(sqlstate, "The fingerprint does not fit the bytes.");
	decode_events(forest, &in);
	choose_slots(forest);
	forest->levels = l4_iforest_depth_limit(forest->sample);
	alloc_trees(forest);
	decode_trees(forest, &in);
	if (in.ptr != in.end)
		l4_bytes_corrupted("end");
	if (forest->short_nodes != NULL)
		forest->short_counts = palloc0((forest->nslots + 1) * sizeof(uint16));
	else
		forest->counts = palloc0((forest->nslots + 1) * sizeof(int64));
	return forest;
}
