/*
 * scan_result_read.c
 *		A scan result from its bytes.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "base/compress.h"
#include "chunk/chunk.h"
#include "ingest/scan_result_int.h"
#include "l4_compat.h"

/* A text: stays where it is in the bytes, without a zero behind it. */
static char *
get_text(L4ByteReader *reader, int *len)
{
	uint64		n = l4_get_uint(reader);
	const char *text = l4_get_bytes(reader, n);

	if (!pg_verifymbstr(text, (int) n, true))
		l4_bytes_corrupted("text");
	*len = (int) n;
	return unconstify(char *, text);
}

static char *
get_name(L4ByteReader *reader, MemoryContext cxt)
{
	int			len;
	const char *text = get_text(reader, &len);
	char	   *name = MemoryContextAlloc(cxt, len + 1);

	memcpy(name, text, len);
	name[len] = '\0';
	return name;
}

static double
get_double(L4ByteReader *reader)
{
	double		value;

	memcpy(&value, l4_get_bytes(reader, sizeof(value)), sizeof(value));
	return value;
}

static void
get_value(L4ByteReader *reader, L4Value *value)
{
	value->text = get_text(reader, &value->len);
	value->occurrences = l4_get_int(reader);
	value->first_ts = l4_get_int(reader);
	value->first_line_no = l4_get_int(reader);
}

static void
get_block(L4ByteReader *reader, L4Block *block)
{
	block->block = (int32) l4_get_int(reader);
	block->n = l4_get_int(reader);
	block->sum_us = l4_get_int(reader);
	block->max_us = l4_get_int(reader);
}

/* What was counted is most of a dictionary: who learns passes over it. */
static void
pass_counts(L4ByteReader *reader)
{
	L4Value		value;
	L4Block		block;

	for (int i = l4_get_count(reader); i > 0; i--)
		get_value(reader, &value);
	for (int i = l4_get_count(reader); i > 0; i--)
		get_block(reader, &block);
}

static void
get_counts(L4ByteReader *reader, L4Param *param, MemoryContext cxt)
{
	param->nvalues = param->values_size = l4_get_count(reader);
	param->values = MemoryContextAllocZero(cxt, sizeof(L4Value) * Max(param->nvalues, 1));
	for (int i = 0; i < param->nvalues; i++)
		get_value(reader, &param->values[i]);
	param->nblocks = param->blocks_size = l4_get_count(reader);
	param->blocks = MemoryContextAlloc(cxt, sizeof(L4Block) * Max(param->nblocks, 1));
	for (int i = 0; i < param->nblocks; i++)
		get_block(reader, &param->blocks[i]);
}

static void
get_param(L4ByteReader *reader, L4Param *param, bool counts, MemoryContext cxt)
{
	param->pos = (int) l4_get_int(reader);
	param->mask = (int) l4_get_uint(reader);
	param->mask_name = param->mask >= L4_MASK_USER ? get_name(reader, cxt) : l4_mask_name(param->mask);
	param->first_slot = (int) l4_get_uint(reader);
	param->last_slot = (int) l4_get_uint(reader);
	if (param->first_slot < 0 || param->first_slot > param->last_slot)
		l4_bytes_corrupted("slots");
	param->lead = (int) l4_get_uint(reader);
	param->trail = (int) l4_get_uint(reader);
	param->many = l4_get_uint(reader) != 0;
	if (counts)
		get_counts(reader, param, cxt);
	else
		pass_counts(reader);
}

static void
get_learnt(L4ByteReader *reader, L4Local *local, MemoryContext cxt)
{
	local->event_id = (int32) l4_get_int(reader);
	local->words_of = (int32) l4_get_int(reader);
	local->nwords = l4_get_count(reader);
	if (local->nwords > 0)
		local->words = MemoryContextAlloc(cxt, sizeof(L4OpenWord) * local->nwords);
	for (int i = 0; i < local->nwords; i++)
	{
		local->words[i].pos = (int) l4_get_int(reader);
		local->words[i].text = get_text(reader, &local->words[i].len);
	}
}

static L4Local *
get_local(L4ByteReader *reader, int number, bool counts, MemoryContext cxt)
{
	L4Local    *local = MemoryContextAllocZero(cxt, sizeof(L4Local));

	local->number = number;
	local->hash = l4_get_uint(reader);
	local->tag = (int) l4_get_uint(reader);
	get_learnt(reader, local, cxt);
	local->made_event = (int32) l4_get_uint(reader);
	local->iteration_rule = (int) l4_get_int(reader);
	local->is_stack = l4_get_uint(reader) != 0;
	local->occurrences = l4_get_int(reader);
	local->msg = get_text(reader, &local->msg_len);
	local->text = get_text(reader, &local->text_len);
	local->ts = l4_get_int(reader);
	local->line_no = l4_get_int(reader);
	local->first_line_no = l4_get_int(reader);
	local->nparams = l4_get_count(reader);
	local->params = MemoryContextAllocZero(cxt, sizeof(L4Param) * Max(local->nparams, 1));
	for (int k = 0; k < local->nparams; k++)
		get_param(reader, &local->params[k], counts, cxt);
	return local;
}

static void
resolve_shapes(L4ResultPart *part, L4ByteReader *learnt, MemoryContext cxt)
{
	for (int i = 0; i < part->nlocals; i++)
		if (part->locals[i]->event_id == 0)
			get_learnt(learnt, part->locals[i], cxt);
}

void
l4_result_resolve(L4ScanResult *scanned, L4ByteReader *learnt, MemoryContext cxt)
{
	resolve_shapes(&scanned->settled, learnt, cxt);
	resolve_shapes(&scanned->open, learnt, cxt);
}

/* The value that differs by what follows, where the flag is set, else the one before. */
static inline int64
get_diff(L4ByteReader *reader, int flags, int flag, int64 before)
{
	return (flags & flag) ? (int64) ((uint64) before + (uint64) l4_get_int(reader)) : before;
}

static void
get_recs(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	L4ResultRecord	before = {0};

	part->nrecs = l4_get_count(reader);
	part->recs = MemoryContextAllocHuge(cxt, sizeof(L4ResultRecord) * (Size) Max(part->nrecs, 1));
	for (int i = 0; i < part->nrecs; i++)
	{
		int			flags = *(const uint8 *) l4_get_bytes(reader, 1);

		before.line_no = get_diff(reader, flags, DIFF_LINE_NO, before.line_no + 1);
		before.ts = get_diff(reader, flags, DIFF_TS, before.ts);
		before.local = (int32) l4_get_uint(reader) - 1;
		if (before.local < -1 || before.local >= part->nlocals)
			l4_bytes_corrupted("shape");
		before.rank = (int32) get_diff(reader, flags, DIFF_RANK, before.rank);
		before.context = (int32) get_diff(reader, flags, DIFF_CONTEXT, before.context);
		before.epoch = (int32) get_diff(reader, flags, DIFF_EPOCH, before.epoch);
		before.iteration = (int32) get_diff(reader, flags, DIFF_ITERATION, before.iteration);
		part->recs[i] = before;
	}
}

static void
get_lines(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	L4ResultLine	before = {0};
	int			i = 0;
	uint64		nlines = l4_get_uint(reader);

	/* first lines of records take no byte */
	if (nlines > (uint64) part->nrecs + (uint64) (reader->end - reader->ptr))
		l4_bytes_corrupted("count");
	before.rec = -1;
	part->nlines = (int) nlines;
	part->lines = MemoryContextAllocHuge(cxt, sizeof(L4ResultLine) * (Size) Max(part->nlines, 1));
	while (i < part->nlines)
	{
		uint64		n = l4_get_uint(reader);

		if (n > (uint64) (part->nlines - i) || n >= (uint64) (part->nrecs - before.rec))
			l4_bytes_corrupted("lines");
		for (; n > 0; n--)
		{
			const L4ResultRecord *rec = &part->recs[++before.rec];

			before.line_no = rec->line_no;
			before.ts = rec->ts;
			part->lines[i++] = before;
		}
		if (i < part->nlines)
		{
			int			flags = *(const uint8 *) l4_get_bytes(reader, 1);

			before.line_no = get_diff(reader, flags, DIFF_LINE_NO, before.line_no + 1);
			before.ts = get_diff(reader, flags, DIFF_TS, before.ts);
			before.rec = (int32) get_diff(reader, flags, DIFF_REC, before.rec);
			if (before.rec < 0 || before.rec >= part->nrecs)
				l4_bytes_corrupted("record");
			part->lines[i++] = before;
		}
	}
}

static void
get_shapes(L4ByteReader *reader, L4ResultPart *part, bool counts, MemoryContext cxt)
{
	part->nlocals = l4_get_count(reader);
	part->locals = MemoryContextAlloc(cxt, sizeof(L4Local *) * Max(part->nlocals, 1));
	for (int i = 0; i < part->nlocals; i++)
		part->locals[i] = get_local(reader, i, counts, cxt);
}

static void
get_iterations(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	static const L4IterEntry none;
	const L4IterEntry *before = &none;

	part->niters = l4_get_count(reader);
	part->iters = MemoryContextAllocZero(cxt, sizeof(L4IterEntry) * Max(part->niters, 1));
	for (int i = 0; i < part->niters; i++)
	{
		L4IterEntry *iter = &part->iters[i];
		int			names;

		iter->epoch = (int32) ((uint64) before->epoch + (uint64) l4_get_int(reader));
		iter->iteration = (int32) ((uint64) before->iteration + (uint64) l4_get_int(reader));
		iter->ts = (int64) ((uint64) before->ts + (uint64) l4_get_int(reader));
		iter->duration_ms = get_double(reader);
		names = l4_get_count_or_none(reader);
		iter->nmetrics = names < 0 ? before->nmetrics : names;
		iter->metrics = MemoryContextAlloc(cxt, sizeof(L4Metric) * Max(iter->nmetrics, 1));
		for (int k = 0; k < iter->nmetrics; k++)
		{
			iter->metrics[k].name = names < 0 ? before->metrics[k].name : get_name(reader, cxt);
			iter->metrics[k].value = get_double(reader);
		}
		before = iter;
	}
}

static void
get_rows(L4ByteReader *reader, L4ResultPart *part, MemoryContext cxt)
{
	get_recs(reader, part, cxt);
	get_lines(reader, part, cxt);
	get_iterations(reader, part, cxt);
}

void
l4_result_get_head(L4ByteReader *reader, L4ResultHead *head, MemoryContext cxt)
{
	head->packed = l4_get_uint(reader) != 0;
	head->full = l4_get_uint(reader) != 0;
	head->unknown = (int) l4_get_uint(reader);
	head->lines = (int) l4_get_uint(reader);
	head->open_lines = (int) l4_get_uint(reader);
	head->unparsed = (int64) l4_get_uint(reader);
	head->next_line_no = l4_get_int(reader);
	head->last_done = (int32) l4_get_int(reader);
	head->max_in_flight = (int32) l4_get_int(reader);
	head->nranks = l4_get_count(reader);
	head->ranks = MemoryContextAlloc(cxt, sizeof(int32) * Max(head->nranks, 1));
	for (int i = 0; i < head->nranks; i++)
		head->ranks[i] = (int32) l4_get_int(reader);
	head->njoinable = l4_get_count(reader);
	head->joinable = MemoryContextAlloc(cxt, sizeof(int64) * Max(head->njoinable, 1));
	for (int i = 0; i < head->njoinable; i++)
		head->joinable[i] = l4_get_int(reader);
	head->state_len = l4_get_count(reader);
	head->state = l4_get_bytes(reader, head->state_len);
}

/* The front alone. */
void
l4_result_head(bytea *bytes, L4ResultHead *head, MemoryContext cxt)
{
	L4ByteReader reader = {(const unsigned char *) VARDATA_ANY(bytes), (const unsigned char *) VARDATA_ANY(bytes) + VARSIZE_ANY_EXHDR(bytes)};

	l4_result_get_head(&reader, head, cxt);
}

static L4ScanResult *
decode(bytea *bytes, L4ByteReader *reader, bool counts, MemoryContext cxt)
{
	L4ScanResult	   *scanned = MemoryContextAllocZero(cxt, sizeof(L4ScanResult));

	reader->ptr = (const unsigned char *) VARDATA_ANY(bytes);
	reader->end = reader->ptr + VARSIZE_ANY_EXHDR(bytes);
	l4_result_get_head(reader, &scanned->head, cxt);
	get_shapes(reader, &scanned->settled, counts, cxt);
	get_shapes(reader, &scanned->open, counts, cxt);
	if (scanned->head.unknown != l4_unknown_shapes(&scanned->settled) + l4_unknown_shapes(&scanned->open))
		l4_bytes_corrupted("unknown shapes");
	return scanned;
}

/* The reader goes on in the rows, compressed or not. */
static void
open_rows(L4ByteReader *reader, MemoryContext cxt)
{
	int			form = *(const uint8 *) l4_get_bytes(reader, 1);
	char	   *plain;
	int			len;

	if (form == ROWS_PLAIN)
		return;
	if (form != ROWS_COMPRESSED)
		l4_bytes_corrupted("rows");
	plain = l4_decompress((const char *) reader->ptr, (int) (reader->end - reader->ptr), &len, cxt);
	reader->ptr = (const unsigned char *) plain;
	reader->end = reader->ptr + len;
}

L4ScanResult *
l4_result_decode(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader;
	L4ScanResult	   *scanned = decode(bytes, &reader, true, cxt);

	open_rows(&reader, cxt);
	get_rows(&reader, &scanned->settled, cxt);
	get_rows(&reader, &scanned->open, cxt);
	return scanned;
}

L4ScanResult *
l4_result_decode_shapes(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader;

	return decode(bytes, &reader, false, cxt);
}
