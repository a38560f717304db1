/*
 * train.c
 *		State of parser_train.
 *
 * What is learnt depends on the order of messages. So parts that were learnt
 * apart stay apart until all are there, and are put together in an order of
 * their own: the longest is the parser, the others are replayed into it by
 * length and then by their bytes. Which part came first, and how they were
 * combined on their way, makes no difference.
 *
 * Bytes: 1, then the parts, each behind its length.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/grow.h"
#include "miner/parser_int.h"

#define TRAIN_VERSION	1

static void
add_part(L4Train *train, const char *bytes, int len)
{
	L4_GROW_FROM(train->parts, train->nparts, train->parts_size, 4, train->cxt);
	train->parts[train->nparts].bytes = bytes;
	train->parts[train->nparts++].len = len;
}

void
l4_train_read(L4Train *train, const struct varlena *stored)
{
	const char *bytes = VARDATA_ANY(stored);
	int			len = VARSIZE_ANY_EXHDR(stored);
	L4ByteReader r;
	char	   *copy;

	if (len < 1 || bytes[0] != TRAIN_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid state of parser_train")));
	copy = memcpy(MemoryContextAllocHuge(train->cxt, len), bytes, len);
	r.ptr = (const uint8 *) copy + 1;
	r.end = (const uint8 *) copy + len;
	while (r.ptr < r.end)
	{
		int			part_len;
		const char *part = l4_get_run(&r, &part_len);

		CHECK_FOR_INTERRUPTS();
		add_part(train, part, part_len);
	}
}

struct varlena *
l4_train_write(const L4Train *train)
{
	StringInfoData out;

	l4_bytea_begin(&out);
	appendStringInfoChar(&out, TRAIN_VERSION);
	for (int i = 0; i < train->nparts; i++)
		l4_put_bytes(&out, train->parts[i].bytes, train->parts[i].len);
	if (train->parser != NULL)
	{
		struct varlena *own = l4_parser_encode(train->parser);

		l4_put_bytes(&out, VARDATA(own), VARSIZE(own) - VARHDRSZ);
		pfree(own);
	}
	return l4_bytea_end(&out);
}

/* Longest first, then by bytes: equal ones are the same. */
static int
compare_parts(const void *a, const void *b)
{
	const L4TrainPart *x = a;
	const L4TrainPart *y = b;

	if (x->len != y->len)
		return x->len > y->len ? -1 : 1;
	return memcmp(x->bytes, y->bytes, x->len);
}

static L4Parser *
read_part(const L4TrainPart *part, const L4Parser *first, MemoryContext cxt)
{
	L4Parser   *parser = l4_parser_read(part->bytes, part->len, ERRCODE_DATA_CORRUPTED, cxt);

	if (first != NULL && ((parser->options == NULL) != (first->options == NULL) ||
						  (parser->options != NULL && strcmp(parser->options, first->options) != 0)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of parser_train must be the same in all rows")));
	return parser;
}

struct varlena *
l4_train_result(const L4Train *train)
{
	MemoryContext cxt;
	MemoryContext old;
	L4Train		all = {0};
	L4Parser   *parser;
	struct varlena *result;

	if (train->nparts == 0)
		return train->parser ? l4_parser_encode(train->parser) : NULL;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 parser", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);
	all.cxt = cxt;
	for (int i = 0; i < train->nparts; i++)
		add_part(&all, train->parts[i].bytes, train->parts[i].len);
	if (train->parser != NULL)
	{
		struct varlena *own = l4_parser_encode(train->parser);

		add_part(&all, VARDATA(own), VARSIZE(own) - VARHDRSZ);
	}
	qsort(all.parts, all.nparts, sizeof(L4TrainPart), compare_parts);
	parser = read_part(&all.parts[0], NULL, cxt);
	for (int i = 1; i < all.nparts; i++)
	{
		MemoryContext part = AllocSetContextCreate(cxt, "l4 part of a parser", ALLOCSET_DEFAULT_SIZES);

		MemoryContextSwitchTo(part);
		l4_parser_replay(parser, read_part(&all.parts[i], parser, part));
		MemoryContextSwitchTo(cxt);
		MemoryContextDelete(part);
	}
	MemoryContextSwitchTo(old);
	result = l4_parser_encode(parser);
	MemoryContextDelete(cxt);
	return result;
}
