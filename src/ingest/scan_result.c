/*
 * scan_result.c
 *		The bytes of a scan result. Lines and records are as in memory: they go
 *		from one process of a server to another and are read at once.
 */
#include "postgres.h"

#include "base/codec.h"
#include "ingest/scan_result.h"

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
code_param(L4Codec *codec, L4Param *param)
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
	code_counts(codec, param);
}

static void
code_local(L4Codec *codec, L4Local *local)
{
	const char *text = local->text;

	l4_code_uint64(codec, &local->hash);
	l4_code_uint(codec, &local->tag);
	l4_code_int(codec, &local->event_id);
	l4_code_int(codec, &local->words_of);
	L4_CODE_ARRAY(codec, local->words, local->nwords);
	for (int i = 0; i < local->nwords; i++)
	{
		l4_code_int(codec, &local->words[i].pos);
		l4_code_text(codec, &local->words[i].text, &local->words[i].len);
	}
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
		code_param(codec, &local->params[k]);
}

/* The dictionary of a part. */
static void
code_shapes(L4Codec *codec, L4ResultPart *part)
{
	L4_CODE_ARRAY(codec, part->locals, part->nlocals);
	for (int i = 0; i < part->nlocals; i++)
	{
		if (l4_codec_reads(codec))
		{
			part->locals[i] = MemoryContextAllocZero(codec->cxt, sizeof(L4Local));
			part->locals[i]->number = i;
		}
		code_local(codec, part->locals[i]);
	}
}

static void
code_flaws(L4Codec *codec, L4Flaws *flaws)
{
	l4_code_int64(codec, &flaws->repeated);
	l4_code_int64(codec, &flaws->no_line);
	l4_code_int64(codec, &flaws->bad_time);
}

void
l4_code_result_head(L4Codec *codec, L4ResultHead *head)
{
	l4_code_bool(codec, &head->full);
	l4_code_uint(codec, &head->unknown);
	l4_code_uint(codec, &head->lines);
	l4_code_uint(codec, &head->open_lines);
	l4_code_int64(codec, &head->unparsed);
	code_flaws(codec, &head->flaws);
	code_flaws(codec, &head->open_flaws);
	l4_code_int64(codec, &head->next_line_no);
	l4_code_int64(codec, &head->timed_line_no);
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

/* An array of fixed size elements without pointers. */
static void *
code_array(L4Codec *codec, void *array, int *n, Size size)
{
	int			bytes;

	if (!l4_codec_reads(codec))
	{
		l4_put_uint(codec->out, *n);
		appendBinaryStringInfo(codec->out, array, (int) (*n * size));
		return array;
	}
	*n = l4_get_count(codec->in);
	if ((Size) *n > (Size) (codec->in->end - codec->in->ptr) / size)
		l4_bytes_corrupted("count");
	bytes = (int) (*n * size);
	array = MemoryContextAllocHuge(codec->cxt, Max(bytes, 1));
	return memcpy(array, l4_get_bytes(codec->in, bytes), bytes);
}

/* Numbers of shapes and records index arrays. */
static void
check_numbers(const L4ResultPart *part)
{
	for (int i = 0; i < part->nrecs; i++)
		if (part->recs[i].local < -1 || part->recs[i].local >= part->nlocals)
			l4_bytes_corrupted("shape");
	for (int i = 0; i < part->nlines; i++)
		if (part->lines[i].rec < 0 || part->lines[i].rec >= part->nrecs)
			l4_bytes_corrupted("record");
}

static void
code_iterations(L4Codec *codec, L4ResultPart *part)
{
	L4_CODE_ARRAY(codec, part->iters, part->niters);
	for (int i = 0; i < part->niters; i++)
	{
		L4IterEntry *iter = &part->iters[i];

		l4_code_int(codec, &iter->epoch);
		l4_code_int(codec, &iter->iteration);
		l4_code_int64(codec, &iter->ts);
		l4_code_double(codec, &iter->duration_ms);
		L4_CODE_ARRAY(codec, iter->metrics, iter->nmetrics);
		for (int k = 0; k < iter->nmetrics; k++)
		{
			l4_code_string(codec, (char **) &iter->metrics[k].name);
			l4_code_double(codec, &iter->metrics[k].value);
		}
	}
}

static void
code_part(L4Codec *codec, L4ResultPart *part)
{
	code_shapes(codec, part);
	part->recs = code_array(codec, part->recs, &part->nrecs, sizeof(L4ResultRecord));
	part->lines = code_array(codec, part->lines, &part->nlines, sizeof(L4ResultLine));
	if (l4_codec_reads(codec))
		check_numbers(part);
	code_iterations(codec, part);
}

/* Shapes that the parser does not know. */
static int
unknown_shapes(const L4ResultPart *part)
{
	int			n = 0;

	for (int i = 0; i < part->nlocals; i++)
		n += part->locals[i]->event_id == 0;
	return n;
}

void
l4_result_count(L4ScanResult *scanned)
{
	L4ResultHead *head = &scanned->head;

	head->unknown = unknown_shapes(&scanned->settled) + unknown_shapes(&scanned->open);
	head->lines = scanned->settled.nlines;
	head->open_lines = scanned->open.nlines;
}

bytea *
l4_result_encode(L4ScanResult *scanned)
{
	StringInfoData buf;
	L4Codec		codec = {.out = &buf};

	l4_result_count(scanned);
	l4_bytea_begin(&buf);
	l4_code_result_head(&codec, &scanned->head);
	code_part(&codec, &scanned->settled);
	code_part(&codec, &scanned->open);
	return l4_bytea_end(&buf);
}

L4ScanResult *
l4_result_decode(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader = l4_bytea_reader(bytes);
	L4Codec		codec = {.in = &reader, .cxt = cxt};
	L4ScanResult *scanned = MemoryContextAllocZero(cxt, sizeof(L4ScanResult));

	l4_code_result_head(&codec, &scanned->head);
	code_part(&codec, &scanned->settled);
	code_part(&codec, &scanned->open);
	return scanned;
}
