/*
 * scan_result_write.c
 *		The bytes of a scan result.
 *
 * Records and lines are written as differences from the one before; a byte of
 * flags says what differs. Most lines are the only one of their record and
 * have its number and time: of those only the number of lines in a row is
 * written. Iterations mostly have the metrics of the one before, whose names
 * are then not written again.
 */
#include "postgres.h"

#include "base/compress.h"
#include "base/varint.h"
#include "chunk/chunk.h"
#include "ingest/scan_result_int.h"
#include "l4_compat.h"

#define COMPRESSED_BYTES 16384	/* of rows, from which on they are compressed */

/* Bytes of a record or line at most */
#define MAX_ROW_BYTES	(2 + 8 * L4_VARINT_MAX)

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
		l4_put_bytes(buf, param->mask_name, strlen(param->mask_name));
	l4_put_uint(buf, param->first_slot);
	l4_put_uint(buf, param->last_slot);
	l4_put_uint(buf, param->lead);
	l4_put_uint(buf, param->trail);
	l4_put_uint(buf, param->many);
	l4_put_uint(buf, param->nvalues);
	for (int i = 0; i < param->nvalues; i++)
	{
		const L4Value *value = &param->values[i];

		l4_put_bytes(buf, value->text, value->len);
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
put_recs(StringInfo buf, const L4ResultPart *part)
{
	L4ResultRecord	before = {0};

	l4_put_uint(buf, part->nrecs);
	for (int i = 0; i < part->nrecs; i++)
	{
		const L4ResultRecord *rec = &part->recs[i];
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
is_plain(const L4ResultPart *part, const L4ResultLine *line, int32 rec_before)
{
	return line->rec == rec_before + 1 && line->line_no == part->recs[line->rec].line_no &&
		line->ts == part->recs[line->rec].ts;
}

static void
put_lines(StringInfo buf, const L4ResultPart *part)
{
	L4ResultLine	before = {0};
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
			const L4ResultLine *line = &part->lines[i++];

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
		l4_put_bytes(buf, local->words[i].text, local->words[i].len);
	}
}

static void
put_shapes(StringInfo buf, const L4ResultPart *part)
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
		l4_put_bytes(buf, local->msg, local->msg_len);
		l4_put_bytes(buf, local->text, local->text_len);
		l4_put_int(buf, local->ts);
		l4_put_int(buf, local->line_no);
		l4_put_int(buf, local->first_line_no);
		l4_put_uint(buf, local->nparams);
		for (int k = 0; k < local->nparams; k++)
			put_param(buf, &local->params[k]);
	}
}

static void
put_iterations(StringInfo buf, const L4ResultPart *part)
{
	static const L4IterEntry none;
	const L4IterEntry *before = &none;

	l4_put_uint(buf, part->niters);
	for (int i = 0; i < part->niters; i++)
	{
		const L4IterEntry *iter = &part->iters[i];
		bool		same = l4_same_metrics(iter, before);

		l4_put_int(buf, (int64) iter->epoch - before->epoch);
		l4_put_int(buf, (int64) iter->iteration - before->iteration);
		l4_put_int(buf, (int64) ((uint64) iter->ts - (uint64) before->ts));
		put_double(buf, iter->duration_ms);
		l4_put_uint(buf, same ? 0 : iter->nmetrics + 1);
		for (int k = 0; k < iter->nmetrics; k++)
		{
			if (!same)
				l4_put_bytes(buf, iter->metrics[k].name, strlen(iter->metrics[k].name));
			put_double(buf, iter->metrics[k].value);
		}
		before = iter;
	}
}

static void
put_rows(StringInfo buf, const L4ResultPart *part)
{
	put_recs(buf, part);
	put_lines(buf, part);
	put_iterations(buf, part);
}

void
l4_result_count(L4ScanResult *scanned)
{
	L4ResultHead *head = &scanned->head;

	head->unknown = l4_unknown_shapes(&scanned->settled) + l4_unknown_shapes(&scanned->open);
	head->lines = scanned->settled.nlines;
	head->open_lines = scanned->open.nlines;
}

void
l4_result_put_head(StringInfo buf, const L4ResultHead *head)
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
	l4_put_uint(buf, head->njoinable);
	for (int i = 0; i < head->njoinable; i++)
		l4_put_int(buf, head->joinable[i]);
	l4_put_bytes(buf, head->state, head->state_len);
}

/* The leader keeps the scan results of a whole batch: many rows are compressed, few are not worth the time. */
static void
put_smaller(StringInfo buf, const StringInfo rows)
{
	int			start = buf->len;

	if (rows->len >= COMPRESSED_BYTES && rows->len <= L4_COMPRESS_MAX_BYTES)
	{
		appendStringInfoChar(buf, ROWS_COMPRESSED);
		if (l4_compress(buf, rows->data, rows->len))
			return;
		buf->len = start;
	}
	appendStringInfoChar(buf, ROWS_PLAIN);
	appendBinaryStringInfo(buf, rows->data, rows->len);
}

bytea *
l4_result_encode(L4ScanResult *scanned)
{
	StringInfoData buf;
	StringInfoData rows;
	bytea	   *result;

	l4_result_count(scanned);
	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	l4_result_put_head(&buf, &scanned->head);
	put_shapes(&buf, &scanned->settled);
	put_shapes(&buf, &scanned->open);
	initStringInfo(&rows);
	enlargeStringInfo(&rows, 1024 + 8 * Min(scanned->head.lines, 1000000));
	put_rows(&rows, &scanned->settled);
	put_rows(&rows, &scanned->open);
	put_smaller(&buf, &rows);
	pfree(rows.data);
	result = (bytea *) buf.data;
	SET_VARSIZE(result, buf.len);
	return result;
}
