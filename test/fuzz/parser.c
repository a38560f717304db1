/*
 * parser.c
 *		Parser values with damaged bytes, their checksum mended: the templates of the miner, and drain's.
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "drain/drain.h"
#include "miner/parser.h"
#include "miner/parser_int.h"

#define LINE_SIZE	600

static void
mend_checksum(struct varlena *value)
{
	char	   *bytes = VARDATA(value);
	int			len = VARSIZE(value) - VARHDRSZ;
	uint64		hash;

	if (len < L4_PARSER_HEADER)
		return;
	hash = l4_hash_bytes(bytes + L4_PARSER_HEADER, len - L4_PARSER_HEADER);
	for (int i = 0; i < 8; i++)
		bytes[L4_PARSER_HEADER - 8 + i] = (char) (hash >> (8 * i));
}

/* All that can be asked of a parser, of a line. */
static void
use_parser(L4Parser *parser, const char *line, int len)
{
	int32		event = l4_parser_match(parser, line, len);
	L4Parameter *parameters;
	L4Word	   *words;
	int			nwords;
	L4Shape		shape;

	l4_parser_learn(parser, fuzz_random(2), line, len, 1 + fuzz_random(1000));
	if (event > 0)
		l4_parser_parameters(parser, event, line, len, &parameters);
	l4_shape_init(&shape, CurrentMemoryContext);
	l4_parser_scan(parser, line, len, &shape);
	l4_parser_slots(parser, &shape, palloc((shape.nslots + 1) * sizeof(int)));
	l4_parser_words(parser, 0, &shape, &words, &nwords);
	for (int32 id = 1; id <= l4_parser_nevents(parser); id++)
		if (l4_parser_resolve(parser, id) == id)
		{
			l4_parser_template(parser, id, CurrentMemoryContext);
			l4_parser_own_words(parser, id, line, len, &words);
		}
	l4_parser_encode(parser);
}

/* A state of parser_train: a damaged frame, and parts whose bytes are damaged behind a right checksum. */
static void
fuzz_train(L4Parser *parser)
{
	L4Train		train = {.cxt = CurrentMemoryContext, .parser = parser};
	struct varlena *state = l4_train_write(&train);
	struct varlena *value = l4_parser_encode(parser);
	struct varlena *result;

	for (int i = 0; i < 20; i++)
	{
		L4Train		read = {.cxt = CurrentMemoryContext};
		struct varlena *part = fuzz_damage_varlena(value);
		L4TrainPart parts[] = {{VARDATA(value), VARSIZE(value) - VARHDRSZ}, {VARDATA(part), VARSIZE(part) - VARHDRSZ}};
		L4Train		written = {.cxt = CurrentMemoryContext, .parts = parts, .nparts = 2};

		mend_checksum(part);
		FUZZ_TRY();
		l4_train_read(&read, fuzz_random(2) ? fuzz_damage_varlena(state) : l4_train_write(&written));
		result = l4_train_result(&read);
		if (result != NULL)
			l4_parser_decode(result, CurrentMemoryContext);
		FUZZ_END();
	}
}

static void
fuzz_miner(void)
{
	L4Parser   *parser = l4_parser_create(NULL, CurrentMemoryContext);
	struct varlena *value;
	char		line[LINE_SIZE];

	for (int i = fuzz_random(60); i >= 0; i--)
	{
		int			len = fuzz_line(line, LINE_SIZE);
		char	   *exact = memcpy(palloc(len), line, len);

		FUZZ_TRY();
		/* many of one kind, so that slots open */
		for (int k = fuzz_random(2) * 12; k >= 0; k--)
		{
			if (len > 3)
				exact[len - 2] = 'a' + k;
			l4_parser_learn(parser, 0, exact, len, 1);
		}
		FUZZ_END();
	}
	value = l4_parser_encode(parser);
	fuzz_train(parser);
	for (int i = 0; i < 60; i++)
	{
		struct varlena *damaged = fuzz_damage_varlena(value);
		int			len = fuzz_line(line, LINE_SIZE);

		mend_checksum(damaged);
		FUZZ_TRY();
		parser = l4_parser_decode(damaged, CurrentMemoryContext);
		for (int k = 0; k < 3; k++)
			use_parser(parser, line, len);
		FUZZ_END();
	}
}

static void
fuzz_drain(void)
{
	L4DrainOptions options;
	L4Drain    *drain;
	char		line[LINE_SIZE];
	StringInfoData bytes;

	l4_drain_default_options(&options);
	options.max_clusters = fuzz_random(3) * 5;
	drain = l4_drain_create(&options, CurrentMemoryContext);
	for (int i = fuzz_random(60); i >= 0; i--)
		l4_drain_learn(drain, line, fuzz_line(line, LINE_SIZE));
	initStringInfo(&bytes);
	l4_drain_serialize(drain, &bytes);
	for (int i = 0; i < 60; i++)
	{
		L4ByteReader reader;
		int			len;

		reader.ptr = (const uint8 *) fuzz_damage(bytes.data, bytes.len, &len);
		reader.end = reader.ptr + len;
		len = fuzz_line(line, LINE_SIZE);
		FUZZ_TRY();
		drain = l4_drain_deserialize(&reader, &options, CurrentMemoryContext);
		l4_drain_match(drain, line, len);
		l4_drain_learn(drain, line, len);
		for (int32 id = 1; id <= Min(l4_drain_last_id(drain), 1000); id++)
		{
			const L4DrainCluster *cluster = l4_drain_cluster(drain, id);

			if (cluster != NULL)
				l4_drain_template(drain, cluster, &len);
		}
		FUZZ_END();
	}
}

void
fuzz_parser(void)
{
	fuzz_miner();
	fuzz_drain();
}
