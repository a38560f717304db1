/*
 * ingest_unit.c
 *		The bytes of a unit.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "base/varint.h"
#include "chunk/chunk.h"
#include "ingest/ingest_unit.h"
#include "l4_compat.h"

/*
 * Records and lines are written as differences from the one before; a byte of
 * flags says what differs. Most lines are the only one of their record and
 * have its number and time: of those only the number of lines in a row is
 * written.
 */
#define DIFF_LINE_NO	0x01	/* does not follow the one before */
#define DIFF_TS			0x02
#define DIFF_RANK		0x04
#define DIFF_CONTEXT	0x08
#define DIFF_EPOCH		0x10
#define DIFF_ITERATION	0x20
#define DIFF_REC		0x40	/* of a line: does not belong to the record of the one before */

/* Bytes of a record or line at most */
#define MAX_ROW_BYTES	(2 + 8 * L4_VARINT_MAX)

int
l4_clip(const char *text, int len, int max)
{
	return len <= max ? len : pg_mbcliplen(text, len, max);
}

static void
put_bytes(StringInfo buf, const char *bytes, int len)
{
	l4_put_uint(buf, len);
	appendBinaryStringInfo(buf, bytes, len);
}

static void
put_double(StringInfo buf, double value)
{
	appendBinaryStringInfo(buf, (const char *) &value, sizeof(value));
}

static void
put_param(StringInfo buf, const L4Param *param)
{
	l4_put_int(buf, param->pos);
	l4_put_uint(buf, param->mask);
	if (param->mask >= L4_MASK_USER)
		put_bytes(buf, param->mask_name, strlen(param->mask_name));
	l4_put_uint(buf, param->first_slot);
	l4_put_uint(buf, param->last_slot);
	l4_put_uint(buf, param->lead);
	l4_put_uint(buf, param->trail);
	l4_put_uint(buf, param->many);
	l4_put_uint(buf, param->nvalues);
	for (int i = 0; i < param->nvalues; i++)
	{
		const L4Value *value = &param->values[i];

		put_bytes(buf, value->text, value->len);
		l4_put_int(buf, value->occurrences);
		l4_put_int(buf, value->first_ts);
		l4_put_int(buf, value->first_line_no);
	}
	l4_put_uint(buf, param->nblocks);
	for (int i = 0; i < param->nblocks; i++)
	{
		l4_put_int(buf, param->blocks[i].block);
		l4_put_int(buf, param->blocks[i].n);
		l4_put_int(buf, param->blocks[i].sum_us);
		l4_put_int(buf, param->blocks[i].max_us);
	}
}

/* Room for one more record or line; where to write it. */
static inline uint8 *
row_start(StringInfo buf)
{
	if (buf->maxlen - buf->len <= MAX_ROW_BYTES)
		enlargeStringInfo(buf, MAX_ROW_BYTES);
	return (uint8 *) buf->data + buf->len;
}

static inline uint8 *
put_diff(uint8 *p, uint8 *flags, int flag, int64 value, int64 before)
{
	if (value == before)
		return p;
	*flags |= flag;
	return l4_varint_put(p, l4_zigzag((int64) ((uint64) value - (uint64) before)));
}

static void
put_recs(StringInfo buf, const L4UnitPart *part)
{
	L4UnitRec	before = {0};

	l4_put_uint(buf, part->nrecs);
	for (int i = 0; i < part->nrecs; i++)
	{
		const L4UnitRec *rec = &part->recs[i];
		uint8	   *flags = row_start(buf);
		uint8	   *p = flags + 1;

		*flags = 0;
		p = put_diff(p, flags, DIFF_LINE_NO, rec->line_no, before.line_no + 1);
		p = put_diff(p, flags, DIFF_TS, rec->ts, before.ts);
		p = l4_varint_put(p, (uint64) (rec->local + 1));
		p = put_diff(p, flags, DIFF_RANK, rec->rank, before.rank);
		p = put_diff(p, flags, DIFF_CONTEXT, rec->context, before.context);
		p = put_diff(p, flags, DIFF_EPOCH, rec->epoch, before.epoch);
		p = put_diff(p, flags, DIFF_ITERATION, rec->iteration, before.iteration);
		buf->len = (int) ((char *) p - buf->data);
		before = *rec;
	}
}

/* Is the line the next record's first one, as the record says it? */
static inline bool
is_plain(const L4UnitPart *part, const L4UnitLine *line, int32 rec_before)
{
	return line->rec == rec_before + 1 && line->line_no == part->recs[line->rec].line_no &&
		line->ts == part->recs[line->rec].ts;
}

static void
put_lines(StringInfo buf, const L4UnitPart *part)
{
	L4UnitLine	before = {0};
	int			i = 0;

	before.rec = -1;
	l4_put_uint(buf, part->nlines);
	while (i < part->nlines)
	{
		int			start = i;
		uint8	   *flags;
		uint8	   *p = row_start(buf);

		while (i < part->nlines && is_plain(part, &part->lines[i], before.rec))
			before = part->lines[i++];
		p = l4_varint_put(p, i - start);
		if (i < part->nlines)
		{
			const L4UnitLine *line = &part->lines[i++];

			flags = p++;
			*flags = 0;
			p = put_diff(p, flags, DIFF_LINE_NO, line->line_no, before.line_no + 1);
			p = put_diff(p, flags, DIFF_TS, line->ts, before.ts);
			p = put_diff(p, flags, DIFF_REC, line->rec, before.rec);
			before = *line;
		}
		buf->len = (int) ((char *) p - buf->data);
	}
}

void
l4_put_learnt(StringInfo buf, const L4Local *local)
{
	l4_put_int(buf, local->event_id);
	l4_put_int(buf, local->words_of);
	l4_put_uint(buf, local->nwords);
	for (int i = 0; i < local->nwords; i++)
	{
		l4_put_int(buf, local->words[i].pos);
		put_bytes(buf, local->words[i].text, local->words[i].len);
	}
}

static void
put_shapes(StringInfo buf, const L4UnitPart *part)
{
	l4_put_uint(buf, part->nlocals);
	for (int i = 0; i < part->nlocals; i++)
	{
		const L4Local *local = part->locals[i];

		l4_put_uint(buf, local->hash);
		l4_put_uint(buf, local->tag);
		l4_put_learnt(buf, local);
		l4_put_uint(buf, local->made_event);
		l4_put_int(buf, local->iteration_rule);
		l4_put_uint(buf, local->is_stack);
		l4_put_int(buf, local->occurrences);
		put_bytes(buf, local->msg, local->msg_len);
		put_bytes(buf, local->text, local->text_len);
		l4_put_int(buf, local->ts);
		l4_put_int(buf, local->line_no);
		l4_put_int(buf, local->first_line_no);
		l4_put_uint(buf, local->nparams);
		for (int k = 0; k < local->nparams; k++)
			put_param(buf, &local->params[k]);
	}
}

static void
put_iterations(StringInfo buf, const L4UnitPart *part)
{
	l4_put_uint(buf, part->niters);
	for (int i = 0; i < part->niters; i++)
	{
		const L4IterEntry *iter = &part->iters[i];

		l4_put_int(buf, iter->epoch);
		l4_put_int(buf, iter->iteration);
		l4_put_int(buf, iter->ts);
		put_double(buf, iter->duration_ms);
		l4_put_uint(buf, iter->nmetrics);
		for (int k = 0; k < iter->nmetrics; k++)
		{
			put_bytes(buf, iter->metrics[k].name, strlen(iter->metrics[k].name));
			put_double(buf, iter->metrics[k].value);
		}
	}
}

static void
put_rows(StringInfo buf, const L4UnitPart *part)
{
	put_recs(buf, part);
	put_lines(buf, part);
	put_iterations(buf, part);
}

static void
count_shapes(L4UnitHead *head, const L4UnitPart *part)
{
	for (int i = 0; i < part->nlocals; i++)
		head->unknown += part->locals[i]->event_id == 0;
}

void
l4_unit_count(L4Unit *unit)
{
	L4UnitHead *head = &unit->head;

	head->unknown = 0;
	count_shapes(head, &unit->settled);
	count_shapes(head, &unit->open);
	head->lines = unit->settled.nlines;
	head->open_lines = unit->open.nlines;
}

void
l4_unit_put_head(StringInfo buf, const L4UnitHead *head)
{
	l4_put_uint(buf, head->packed);
	l4_put_uint(buf, head->full);
	l4_put_uint(buf, head->unknown);
	l4_put_uint(buf, head->lines);
	l4_put_uint(buf, head->open_lines);
	l4_put_uint(buf, head->unparsed);
	l4_put_int(buf, head->next_line_no);
	l4_put_int(buf, head->last_done);
	l4_put_int(buf, head->max_in_flight);
	l4_put_uint(buf, head->nranks);
	for (int i = 0; i < head->nranks; i++)
		l4_put_int(buf, head->ranks[i]);
	put_bytes(buf, head->carry, head->carry_len);
}

bytea *
l4_unit_encode(L4Unit *unit)
{
	StringInfoData buf;
	bytea	   *result;

	l4_unit_count(unit);
	initStringInfo(&buf);
	enlargeStringInfo(&buf, 1024 + 8 * Min(unit->head.lines, 1000000));
	appendStringInfoSpaces(&buf, VARHDRSZ);
	l4_unit_put_head(&buf, &unit->head);
	put_shapes(&buf, &unit->settled);
	put_shapes(&buf, &unit->open);
	put_rows(&buf, &unit->settled);
	put_rows(&buf, &unit->open);
	result = (bytea *) buf.data;
	SET_VARSIZE(result, buf.len);
	return result;
}

static char *
get_text(L4ByteReader *reader, int *len, MemoryContext cxt)
{
	uint64		n = l4_get_uint(reader);
	const char *bytes = l4_get_bytes(reader, n);
	char	   *copy = MemoryContextAlloc(cxt, n + 1);

	memcpy(copy, bytes, n);
	copy[n] = '\0';
	*len = (int) n;
	return copy;
}

/* A text that becomes one of SQL. */
static char *
get_valid_text(L4ByteReader *reader, int *len, MemoryContext cxt)
{
	char	   *text = get_text(reader, len, cxt);

	if (!pg_verifymbstr(text, *len, true))
		l4_pack_corrupted("text");
	return text;
}

static double
get_double(L4ByteReader *reader)
{
	double		value;

	memcpy(&value, l4_get_bytes(reader, sizeof(value)), sizeof(value));
	return value;
}

static void
get_param(L4ByteReader *reader, L4Param *param, MemoryContext cxt)
{
	int			len;

	param->pos = (int) l4_get_int(reader);
	param->mask = (int) l4_get_uint(reader);
	param->mask_name = param->mask >= L4_MASK_USER ? get_valid_text(reader, &len, cxt) : l4_mask_name(param->mask);
	param->first_slot = (int) l4_get_uint(reader);
	param->last_slot = (int) l4_get_uint(reader);
	if (param->first_slot < 0 || param->first_slot > param->last_slot)
		l4_pack_corrupted("slots");
	param->lead = (int) l4_get_uint(reader);
	param->trail = (int) l4_get_uint(reader);
	param->many = l4_get_uint(reader) != 0;
	param->nvalues = param->values_size = l4_get_count(reader);
	param->values = MemoryContextAllocZero(cxt, sizeof(L4Value) * Max(param->nvalues, 1));
	for (int i = 0; i < param->nvalues; i++)
	{
		L4Value    *value = &param->values[i];

		value->text = get_valid_text(reader, &value->len, cxt);
		value->occurrences = l4_get_int(reader);
		value->first_ts = l4_get_int(reader);
		value->first_line_no = l4_get_int(reader);
	}
	param->nblocks = param->blocks_size = l4_get_count(reader);
	param->blocks = MemoryContextAllocZero(cxt, sizeof(L4Block) * Max(param->nblocks, 1));
	for (int i = 0; i < param->nblocks; i++)
	{
		param->blocks[i].block = (int32) l4_get_int(reader);
		param->blocks[i].n = l4_get_int(reader);
		param->blocks[i].sum_us = l4_get_int(reader);
		param->blocks[i].max_us = l4_get_int(reader);
	}
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
		local->words[i].text = get_valid_text(reader, &local->words[i].len, cxt);
	}
}

static L4Local *
get_local(L4ByteReader *reader, int number, MemoryContext cxt)
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
	local->msg = get_valid_text(reader, &local->msg_len, cxt);
	local->text = get_valid_text(reader, &local->text_len, cxt);
	local->ts = l4_get_int(reader);
	local->line_no = l4_get_int(reader);
	local->first_line_no = l4_get_int(reader);
	local->nparams = l4_get_count(reader);
	local->params = MemoryContextAllocZero(cxt, sizeof(L4Param) * Max(local->nparams, 1));
	for (int k = 0; k < local->nparams; k++)
		get_param(reader, &local->params[k], cxt);
	return local;
}

static void
resolve_shapes(L4UnitPart *part, L4ByteReader *learnt, MemoryContext cxt)
{
	for (int i = 0; i < part->nlocals; i++)
		if (part->locals[i]->event_id == 0)
			get_learnt(learnt, part->locals[i], cxt);
}

void
l4_unit_resolve(L4Unit *unit, L4ByteReader *learnt, MemoryContext cxt)
{
	resolve_shapes(&unit->settled, learnt, cxt);
	resolve_shapes(&unit->open, learnt, cxt);
}

/* The value that differs by what follows, where the flag is set, else the one before. */
static inline int64
get_diff(L4ByteReader *reader, int flags, int flag, int64 before)
{
	return (flags & flag) ? (int64) ((uint64) before + (uint64) l4_get_int(reader)) : before;
}

static void
get_recs(L4ByteReader *reader, L4UnitPart *part, MemoryContext cxt)
{
	L4UnitRec	before = {0};

	part->nrecs = l4_get_count(reader);
	part->recs = MemoryContextAllocHuge(cxt, sizeof(L4UnitRec) * (Size) Max(part->nrecs, 1));
	for (int i = 0; i < part->nrecs; i++)
	{
		int			flags = *(const uint8 *) l4_get_bytes(reader, 1);

		before.line_no = get_diff(reader, flags, DIFF_LINE_NO, before.line_no + 1);
		before.ts = get_diff(reader, flags, DIFF_TS, before.ts);
		before.local = (int32) l4_get_uint(reader) - 1;
		if (before.local < -1 || before.local >= part->nlocals)
			l4_pack_corrupted("shape");
		before.rank = (int32) get_diff(reader, flags, DIFF_RANK, before.rank);
		before.context = (int32) get_diff(reader, flags, DIFF_CONTEXT, before.context);
		before.epoch = (int32) get_diff(reader, flags, DIFF_EPOCH, before.epoch);
		before.iteration = (int32) get_diff(reader, flags, DIFF_ITERATION, before.iteration);
		part->recs[i] = before;
	}
}

static void
get_lines(L4ByteReader *reader, L4UnitPart *part, MemoryContext cxt)
{
	L4UnitLine	before = {0};
	int			i = 0;
	uint64		nlines = l4_get_uint(reader);

	/* first lines of records take no byte */
	if (nlines > (uint64) part->nrecs + (uint64) (reader->end - reader->ptr))
		l4_pack_corrupted("count");
	before.rec = -1;
	part->nlines = (int) nlines;
	part->lines = MemoryContextAllocHuge(cxt, sizeof(L4UnitLine) * (Size) Max(part->nlines, 1));
	while (i < part->nlines)
	{
		uint64		n = l4_get_uint(reader);

		if (n > (uint64) (part->nlines - i) || n >= (uint64) (part->nrecs - before.rec))
			l4_pack_corrupted("lines");
		for (; n > 0; n--)
		{
			const L4UnitRec *rec = &part->recs[++before.rec];

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
				l4_pack_corrupted("record");
			part->lines[i++] = before;
		}
	}
}

static void
get_shapes(L4ByteReader *reader, L4UnitPart *part, MemoryContext cxt)
{
	part->nlocals = l4_get_count(reader);
	part->locals = MemoryContextAlloc(cxt, sizeof(L4Local *) * Max(part->nlocals, 1));
	for (int i = 0; i < part->nlocals; i++)
		part->locals[i] = get_local(reader, i, cxt);
}

static void
get_iterations(L4ByteReader *reader, L4UnitPart *part, MemoryContext cxt)
{
	part->niters = l4_get_count(reader);
	part->iters = MemoryContextAllocZero(cxt, sizeof(L4IterEntry) * Max(part->niters, 1));
	for (int i = 0; i < part->niters; i++)
	{
		L4IterEntry *iter = &part->iters[i];
		int			len;

		iter->epoch = (int32) l4_get_int(reader);
		iter->iteration = (int32) l4_get_int(reader);
		iter->ts = l4_get_int(reader);
		iter->duration_ms = get_double(reader);
		iter->nmetrics = l4_get_count(reader);
		iter->metrics = MemoryContextAlloc(cxt, sizeof(L4Metric) * Max(iter->nmetrics, 1));
		for (int k = 0; k < iter->nmetrics; k++)
		{
			iter->metrics[k].name = get_valid_text(reader, &len, cxt);
			iter->metrics[k].value = get_double(reader);
		}
	}
}

static void
get_rows(L4ByteReader *reader, L4UnitPart *part, MemoryContext cxt)
{
	get_recs(reader, part, cxt);
	get_lines(reader, part, cxt);
	get_iterations(reader, part, cxt);
}

void
l4_unit_get_head(L4ByteReader *reader, L4UnitHead *head, MemoryContext cxt)
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
	head->carry = get_text(reader, &head->carry_len, cxt);
}

/* The front alone. */
void
l4_unit_head(bytea *bytes, L4UnitHead *head, MemoryContext cxt)
{
	L4ByteReader reader = {(const unsigned char *) VARDATA_ANY(bytes), (const unsigned char *) VARDATA_ANY(bytes) + VARSIZE_ANY_EXHDR(bytes)};

	l4_unit_get_head(&reader, head, cxt);
}

static L4Unit *
decode(bytea *bytes, L4ByteReader *reader, MemoryContext cxt)
{
	L4Unit	   *unit = MemoryContextAllocZero(cxt, sizeof(L4Unit));
	int			unknown;

	reader->ptr = (const unsigned char *) VARDATA_ANY(bytes);
	reader->end = reader->ptr + VARSIZE_ANY_EXHDR(bytes);
	l4_unit_get_head(reader, &unit->head, cxt);
	get_shapes(reader, &unit->settled, cxt);
	get_shapes(reader, &unit->open, cxt);
	unknown = unit->head.unknown;
	unit->head.unknown = 0;
	count_shapes(&unit->head, &unit->settled);
	count_shapes(&unit->head, &unit->open);
	if (unit->head.unknown != unknown)
		l4_pack_corrupted("unknown shapes");
	return unit;
}

L4Unit *
l4_unit_decode(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader;
	L4Unit	   *unit = decode(bytes, &reader, cxt);

	get_rows(&reader, &unit->settled, cxt);
	get_rows(&reader, &unit->open, cxt);
	return unit;
}

L4Unit *
l4_unit_decode_shapes(bytea *bytes, MemoryContext cxt)
{
	L4ByteReader reader;

	return decode(bytes, &reader, cxt);
}
