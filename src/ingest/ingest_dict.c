/*
 * ingest_dict.c
 *		The dictionary of a scan result.
 */
#include "postgres.h"


#include "base/grow.h"
#include "base/map.h"
#include "ingest/ingest_scan.h"
#include "packed/packed.h"

void
l4_dict_begin(L4Dict *dict, L4ScanShared *shared, MemoryContext cxt)
{
	dict->shared = shared;
	dict->cxt = cxt;
	dict->numbers = l4_map_create(cxt, 256, NULL);
}

/* The record is the earliest one of its shape so far. */
static void
keep_record(L4Dict *dict, L4Local *local, const L4Record *record, TimestampTz ts)
{
	if (local->text == NULL || local->text_len < record->text_len)
	{
		local->text = MemoryContextAlloc(dict->cxt, record->text_len + 1);
		dict->memory += record->text_len + 1;
	}
	local->text_len = record->text_len;
	memcpy(local->text, record->text, record->text_len);
	local->ts = ts;
	local->line_no = record->line_no;
}

/* What is known of shapes may be forgotten before the piece ends. */
static void
copy_words(L4Dict *dict, L4Local *local, const L4ShapeInfo *info)
{
	if (info->nwords == 0)
		return;
	local->nwords = info->nwords;
	local->words = MemoryContextAlloc(dict->cxt, sizeof(L4OpenWord) * info->nwords);
	for (int i = 0; i < info->nwords; i++)
	{
		char	   *copy = MemoryContextAlloc(dict->cxt, info->words[i].len + 1);

		memcpy(copy, info->words[i].text, info->words[i].len + 1);
		local->words[i] = info->words[i];
		local->words[i].text = copy;
		dict->memory += sizeof(L4OpenWord) + info->words[i].len + 1;
	}
}

static L4Local *
new_entry(L4Dict *dict, const L4Record *record, const char *msg, int msg_len, const L4Shape *shape, TimestampTz ts)
{
	const L4ShapeInfo *info = l4_shape_info(dict->shared, record->level, msg, msg_len, shape);
	L4Local    *local = MemoryContextAllocZero(dict->cxt, sizeof(L4Local));

	local->hash = shape->hash;
	local->tag = record->level;
	local->event_id = info->event_id;
	local->iteration_rule = info->iteration_rule;
	local->is_stack = record->kind == L4_RECORD_STACK;
	local->words_of = info->words_of;
	copy_words(dict, local, info);
	if (info->event_id == 0)
	{
		char	   *copy = MemoryContextAlloc(dict->cxt, msg_len + 1);

		memcpy(copy, msg, msg_len);
		local->msg = copy;
		local->msg_len = msg_len;
	}
	keep_record(dict, local, record, ts);
	local->first_line_no = record->line_no;
	/* not remembered with the shape: what a part is (a number, a hexadecimal one) is not in the shape */
	if (info->words_of != L4_COARSE)
		local->nparams = l4_params_of_shape(dict->shared->parser, msg, msg_len, shape, &local->params, dict->cxt);
	if (info->map.rule != 0)
	{
		L4IterMap  *map = MemoryContextAlloc(dict->cxt, sizeof(L4IterMap));

		*map = info->map;
		local->map = map;
	}
	dict->memory += sizeof(L4Local) + local->msg_len + local->nparams * sizeof(L4Param) + 64;
	return local;
}

L4Local *
l4_dict_entry(L4Dict *dict, L4ResultPart *part, const L4Record *record, const char *msg, int msg_len, const L4Shape *shape,
			  TimestampTz ts, MemoryContext array_cxt)
{
	int32	   *number = l4_map_put(dict->numbers, l4_shape_key(shape, record->level), NULL);
	L4Local    *local;

	if (*number == 0)
	{
		local = new_entry(dict, record, msg, msg_len, shape, ts);
		L4_GROW(part->locals, part->nlocals, part->locals_size, array_cxt);
		local->number = part->nlocals;
		part->locals[part->nlocals++] = local;
		*number = part->nlocals;
		return local;
	}
	local = part->locals[*number - 1];
	/* lines come by number; clocks go back, and the first record is that of the lowest time */
	if (ts != L4_NO_TS && (local->ts == L4_NO_TS || ts < local->ts))
		keep_record(dict, local, record, ts);
	return local;
}
