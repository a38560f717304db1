/*
 * ingest_shape.c
 *		What is worked out once for all messages of a shape, remembered for all
 *		streams that a query reads.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ingest/ingest_shape.h"
#include "lines/lineformat.h"

#define SH_PREFIX shapetab
#define SH_ELEMENT_TYPE L4ShapeInfo
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(tb, key) ((uint32) ((key) ^ ((key) >> 32)))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* What is known of the shape of a message; valid until the next call. */
const L4ShapeInfo *
l4_shape_info(L4ScanShared *shared, int tag, const char *msg, int len, const L4Shape *shape)
{
	L4Budget	budget = {.teacher = L4_JOB_MESSAGES, .vocabulary = shared->vocabulary[tag >= L4_LEVEL_ERROR]};
	uint64		key = l4_shape_key(shape, tag) ^ ((uint64) budget.vocabulary << 32);
	L4ShapeInfo *info;
	L4ShapeInfo made;
	L4Iteration found;
	bool		known;

	if (shared->shapes_cxt == NULL)
		shared->shapes_cxt = AllocSetContextCreate(shared->cxt, "l4 shapes", ALLOCSET_DEFAULT_SIZES);
	if (shared->shapes != NULL && shared->shapes->members >= L4_MAX_SHAPES)
	{
		MemoryContextReset(shared->shapes_cxt);
		shared->shapes = NULL;
	}
	if (shared->shapes == NULL)
		shared->shapes = shapetab_create(shared->shapes_cxt, 256, NULL);
	info = shapetab_lookup(shared->shapes, key);
	if (info != NULL)
		return info;
	memset(&made, 0, sizeof(made));
	made.key = key;
	l4_parser_use_budget(shared->parser, &budget);
	made.event_id = l4_parser_lookup(shared->parser, tag, shape);
	l4_parser_use_budget(shared->parser, NULL);
	if (made.event_id != 0 && l4_parser_is_coarse(shared->parser, made.event_id))
		made.words_of = L4_COARSE;
	else if (made.event_id != 0)
		made.nwords = l4_words_of_shape(shared->parser, tag, shape, &made.words_of, &made.words, shared->shapes_cxt);
	if (l4_iter_learn(shared->rules, msg, len, shape->slots, shape->nslots, &made.map, &found))
		made.iteration_rule = found.rule_id;
	/* only now that nothing can fail: it outlives the statement */
	info = shapetab_insert(shared->shapes, made.key, &known);
	made.status = info->status;
	*info = made;
	return info;
}
