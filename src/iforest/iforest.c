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

#include "base/bytes.h"
#include "iforest/iforest.h"
#include "l4_compat.h"

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

uint64
l4_iforest_fingerprint(const uint8 *p, Size size)
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

/* Which events some node tests, and how many; positions[] of them counts from 1. */
static int
number_events(const L4ForestNode *nodes, int64 nnodes, int32 *positions, int nids)
{
	int			n = 0;

	for (int64 i = 0; i < nnodes; i++)
	{
		if (nodes[i].right != 0)
			positions[nodes[i].event] = 1;
	}
	for (int i = 0; i < nids; i++)
	{
		if (positions[i] != 0)
			positions[i] = ++n;
	}
	return n;
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
				  const int32 *ids, int nids, const L4ForestNode *nodes, int64 nnodes)
{
	int32	   *positions = palloc0(Max(nids, 1) * sizeof(int32));
	int			nevents = number_events(nodes, nnodes, positions, nids);
	Size		room = L4_IFOREST_HEADER + (5 + (Size) nevents + 2 * (Size) nnodes) * L4_VARINT_MAX;
	struct varlena *result;
	uint8	   *start;
	uint8	   *p;
	Size		size;
	int64		last_id = -1;

	result = palloc_extended(VARHDRSZ + room, MCXT_ALLOC_HUGE);
	start = (uint8 *) VARDATA(result);
	start[0] = L4_IFOREST_VERSION;
	p = start + L4_IFOREST_HEADER;
	p = l4_varint_put(p, (uint64) options->trees);
	p = l4_varint_put(p, (uint64) sample);
	p = l4_varint_put(p, l4_zigzag(options->seed));
	p = l4_varint_put(p, (uint64) rows);
	p = l4_varint_put(p, (uint64) nevents);
	for (int i = 0; i < nids; i++)
	{
		if (positions[i] == 0)
			continue;
		p = l4_varint_put(p, positions[i] == 1 ? l4_zigzag(ids[i]) : (uint64) (ids[i] - last_id - 1));
		last_id = ids[i];
	}
	for (int64 i = 0; i < nnodes; i++)
	{
		p = l4_varint_put(p, nodes[i].right != 0 ? (uint64) positions[nodes[i].event] : 0);
		p = l4_varint_put(p, (uint64) nodes[i].value);
	}
	size = p - start;
	l4_store64(start + 1, l4_iforest_fingerprint(start + L4_IFOREST_HEADER, size - L4_IFOREST_HEADER));
	pfree(positions);

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
	forest->counts = palloc0(Max(forest->nevents, 1) * sizeof(int64));
	for (int i = 0; i < forest->nevents; i++)
	{
		uint64		step = l4_get_number(in, PG_UINT32_MAX, "event");

		event_id = i == 0 ? l4_unzigzag(step) : event_id + (int64) step + 1;
		if (event_id > PG_INT32_MAX)
			l4_bytes_corrupted("event");
		forest->events[i] = (int32) event_id;
	}
}

/* A subtree of levels levels and rows rows at most. Returns how many rows its leaves have. */
static int64
decode_subtree(L4Forest *forest, L4ByteReader *in, int levels, int64 rows)
{
	int64		at = forest->nnodes++;
	L4ForestNode *node = &forest->nodes[at];
	int			event = (int) l4_get_number(in, forest->nevents, "event of a node");
	int64		nleft;
	int64		nright;

	if (event == 0)
	{
		nleft = take(in, 1, rows, "rows of a leaf");
		node->value = l4_iforest_depth_limit(forest->sample) - levels;
		node->event = node->right = 0;
		forest->expected[at] = normal_path(nleft);
		return nleft;
	}
	if (levels == 0)
		l4_bytes_corrupted("depth of a tree");
	/* each subtree has a row at least, so a tree has no more nodes than there is room for */
	if (rows < 2)
		l4_bytes_corrupted("rows of a tree");
	node->event = event - 1;
	node->value = l4_get_number(in, PG_INT64_MAX - 1, "threshold");
	nleft = decode_subtree(forest, in, levels - 1, rows - 1);
	node->right = (int32) (forest->nnodes - at);
	nright = decode_subtree(forest, in, levels - 1, rows - nleft);
	forest->expected[at] = 1 + ((double) nleft * forest->expected[at + 1] +
								(double) nright * forest->expected[at + node->right]) / (double) (nleft + nright);
	return nleft + nright;
}

static void
decode_trees(L4Forest *forest, L4ByteReader *in)
{
	/* a node takes two bytes at least */
	Size		room = Min(forest->trees * (2 * forest->sample - 1), (in->end - in->ptr) / 2 + 1);

	forest->nodes = palloc_extended(room * sizeof(L4ForestNode), MCXT_ALLOC_HUGE);
	forest->expected = palloc_extended(room * sizeof(double), MCXT_ALLOC_HUGE);
	forest->roots = palloc(forest->trees * sizeof(L4ForestNode *));
	for (int t = 0; t < forest->trees; t++)
	{
		forest->roots[t] = &forest->nodes[forest->nnodes];
		if (decode_subtree(forest, in, l4_iforest_depth_limit(forest->sample), forest->sample) != forest->sample)
			l4_bytes_corrupted("rows of a tree");
		CHECK_FOR_INTERRUPTS();
	}
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

	if (size < L4_IFOREST_HEADER || *in.ptr++ != L4_IFOREST_VERSION)
		invalid_forest(sqlstate, "The version is unknown.");
	if (l4_get_fixed64(&in) != l4_iforest_fingerprint(in.ptr, size - L4_IFOREST_HEADER))
		invalid_forest(sqlstate, "The fingerprint does not fit the bytes.");
	decode_events(forest, &in);
	forest->normal = normal_path(forest->sample);
	decode_trees(forest, &in);
	if (in.ptr != in.end)
		l4_bytes_corrupted("end");
	return forest;
}
