/*
 * scan_result.c
 *		The bytes of a scan result: lines and records as they are in memory, as
 *		they go from one process of a server to another and are read at once.
 */
#include "postgres.h"

#include "ingest/scan_result_int.h"
#include "l4_compat.h"

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

/* Iterations mostly have the metrics of the one before: their names are not written again. */
static void
code_metrics(L4Codec *codec, L4IterEntry *iter, const L4IterEntry *before)
{
	int			names;
	bool		same;

	if (l4_codec_reads(codec))
	{
		names = l4_get_count_or_none(codec->in);
		same = names < 0;
		iter->nmetrics = same ? before->nmetrics : names;
		iter->metrics = MemoryContextAllocZero(codec->cxt, sizeof(L4Metric) * Max(iter->nmetrics, 1));
	}
	else
	{
		same = l4_same_metrics(iter, before);
		l4_put_uint(codec->out, same ? 0 : iter->nmetrics + 1);
	}
	for (int k = 0; k < iter->nmetrics; k++)
	{
		if (same)
			iter->metrics[k].name = before->metrics[k].name;
		else
			l4_code_string(codec, (char **) &iter->metrics[k].name);
		l4_code_double(codec, &iter->metrics[k].value);
	}
}

static void
code_iterations(L4Codec *codec, L4ResultPart *part)
{
	static const L4IterEntry none;
	const L4IterEntry *before = &none;

	L4_CODE_ARRAY(codec, part->iters, part->niters);
	for (int i = 0; i < part->niters; i++)
	{
		L4IterEntry *iter = &part->iters[i];

		l4_code_int(codec, &iter->epoch);
		l4_code_int(codec, &iter->iteration);
		l4_code_int64(codec, &iter->ts);
		l4_code_double(codec, &iter->duration_ms);
		code_metrics(codec, iter, before);
		before = iter;
	}
}

static void
code_part(L4Codec *codec, L4ResultPart *part)
{
	l4_code_shapes(codec, part);
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
