/*
 * scan_result_shapes.c
 *		The bytes of a scan result's head and dictionaries.
 */
#include "postgres.h"

#include "base/codec.h"
#include "ingest/scan_result_int.h"
#include "l4_compat.h"

static void
code_value(L4Codec *codec, L4Value *value)
{
	const char *text = value->text;

	l4_code_text(codec, &text, &value->len);
	value->text = unconstify(char *, text);
	l4_code_int64(codec, &value->occurrences);
	l4_code_int64(codec, &value->first_ts);
	l4_code_int64(codec, &value->first_line_no);
}

static void
code_block(L4Codec *codec, L4Block *block)
{
	l4_code_int(codec, &block->block);
	l4_code_int64(codec, &block->n);
	l4_code_int64(codec, &block->sum_us);
	l4_code_int64(codec, &block->max_us);
}

/* What was counted is most of a dictionary: who learns passes over it. */
static void
pass_counts(L4Codec *codec)
{
	L4Value		value = {0};
	L4Block		block = {0};

	for (int i = l4_get_count(codec->in); i > 0; i--)
		code_value(codec, &value);
	for (int i = l4_get_count(codec->in); i > 0; i--)
		code_block(codec, &block);
}

static void
code_counts(L4Codec *codec, L4Param *param)
{
	L4_CODE_ARRAY(codec, param->values, param->nvalues);
	for (int i = 0; i < param->nvalues; i++)
		code_value(codec, &param->values[i]);
	L4_CODE_ARRAY(codec, param->blocks, param->nblocks);
	for (int i = 0; i < param->nblocks; i++)
		code_block(codec, &param->blocks[i]);
}

static void
code_param(L4Codec *codec, L4Param *param, bool counts)
{
	l4_code_int(codec, &param->pos);
	l4_code_uint(codec, &param->mask);
	if (param->mask >= L4_MASK_USER)
	{
		char	   *name = unconstify(char *, param->mask_name);

		l4_code_string(codec, &name);
		param->mask_name = name;
	}
	else if (l4_codec_reads(codec))
		param->mask_name = l4_mask_name(param->mask);
	l4_code_uint(codec, &param->first_slot);
	l4_code_uint(codec, &param->last_slot);
	if (param->first_slot < 0 || param->first_slot > param->last_slot)
		l4_bytes_corrupted("slots");
	l4_code_uint(codec, &param->lead);
	l4_code_uint(codec, &param->trail);
	l4_code_bool(codec, &param->many);
	if (counts)
		code_counts(codec, param);
	else
		pass_counts(codec);
}

void
l4_code_learnt(L4Codec *codec, L4Local *local)
{
	l4_code_int(codec, &local->event_id);
	l4_code_int(codec, &local->words_of);
	L4_CODE_ARRAY(codec, local->words, local->nwords);
	for (int i = 0; i < local->nwords; i++)
	{
		l4_code_int(codec, &local->words[i].pos);
		l4_code_text(codec, &local->words[i].text, &local->words[i].len);
	}
}

static void
code_local(L4Codec *codec, L4Local *local, bool counts)
{
	const char *text = local->text;

	l4_code_uint64(codec, &local->hash);
	l4_code_uint(codec, &local->tag);
	l4_code_learnt(codec, local);
	l4_code_uint(codec, &local->made_event);
	l4_code_int(codec, &local->iteration_rule);
	l4_code_bool(codec, &local->is_stack);
	l4_code_int64(codec, &local->occurrences);
	l4_code_text(codec, &local->msg, &local->msg_len);
	l4_code_text(codec, &text, &local->text_len);
	local->text = unconstify(char *, text);
	l4_code_int64(codec, &local->ts);
	l4_code_int64(codec, &local->line_no);
	l4_code_int64(codec, &local->first_line_no);
	L4_CODE_ARRAY(codec, local->params, local->nparams);
	for (int k = 0; k < local->nparams; k++)
		code_param(codec, &local->params[k], counts);
}

/* The dictionary of a part; counts: with what was counted, else it is passed over. */
void
l4_code_shapes(L4Codec *codec, L4ResultPart *part, bool counts)
{
	L4_CODE_ARRAY(codec, part->locals, part->nlocals);
	for (int i = 0; i < part->nlocals; i++)
	{
		if (l4_codec_reads(codec))
		{
			part->locals[i] = MemoryContextAllocZero(codec->cxt, sizeof(L4Local));
			part->locals[i]->number = i;
		}
		code_local(codec, part->locals[i], counts);
	}
}

static void
resolve_shapes(L4Codec *codec, L4ResultPart *part)
{
	for (int i = 0; i < part->nlocals; i++)
		if (part->locals[i]->event_id == 0)
		{
			l4_code_learnt(codec, part->locals[i]);
			if (part->locals[i]->words_of == L4_COARSE)
				part->locals[i]->nparams = 0;
		}
}

void
l4_result_resolve(L4ScanResult *scanned, L4ByteReader *learnt, MemoryContext cxt)
{
	L4Codec		codec = {.in = learnt, .cxt = cxt};

	resolve_shapes(&codec, &scanned->settled);
	resolve_shapes(&codec, &scanned->open);
}

void
l4_code_result_head(L4Codec *codec, L4ResultHead *head)
{
	l4_code_bool(codec, &head->packed);
	l4_code_bool(codec, &head->full);
	l4_code_uint(codec, &head->unknown);
	l4_code_uint(codec, &head->lines);
	l4_code_uint(codec, &head->open_lines);
	l4_code_int64(codec, &head->unparsed);
	l4_code_int64(codec, &head->next_line_no);
	l4_code_int(codec, &head->last_done);
	l4_code_int(codec, &head->max_in_flight);
	L4_CODE_ARRAY(codec, head->ranks, head->nranks);
	for (int i = 0; i < head->nranks; i++)
		l4_code_int(codec, &head->ranks[i]);
	L4_CODE_ARRAY(codec, head->joinable, head->njoinable);
	for (int i = 0; i < head->njoinable; i++)
		l4_code_int64(codec, &head->joinable[i]);
	l4_code_bytes(codec, &head->state, &head->state_len);
}

/* The front alone. */
void
l4_result_head(bytea *bytes, L4ResultHead *head, MemoryContext cxt)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	L4Codec		codec = {.in = &reader, .cxt = cxt};

	l4_code_result_head(&codec, head);
}
