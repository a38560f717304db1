/*
 * ingest_shape.c
 *		What is worked out once for all messages of a shape, remembered for all
 *		streams that a query reads.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ingest/ingest_shape.h"
#include "l4_compat.h"

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
	L4ShapeInfo *info;
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
	info = shapetab_insert(shared->shapes, l4_shape_key(shape, tag), &known);
	if (known)
		return info;
	info->event_id = l4_parser_lookup(shared->parser, tag, shape);
	info->words_of = info->nwords = 0;
	info->words = NULL;
	if (info->event_id != 0)
		info->nwords = l4_words_of_shape(shared->parser, tag, shape, &info->words_of, &info->words, shared->shapes_cxt);
	info->iteration_rule = 0;
	if (l4_iter_learn(shared->rules, msg, len, shape->slots, shape->nslots, &info->map, &found))
		info->iteration_rule = found.rule_id;
	return info;
}
