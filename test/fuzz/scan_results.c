/*
 * scan_results.c
 *		What a batch hands from process to process and a stream from piece to piece: scan results, scan
 *		states with those of the record reader, pack states. Damaged, they are read or refused.
 */
#include "fuzz.h"

#include "ingest/ingest_pack.h"
#include "ingest/ingest_scan.h"
#include "ingest/scan_result.h"
#include "lines/record.h"

#define LINE_SIZE	600

static const char *const raw_lines[] = {"Traceback (most recent call last):", "  File \"a.py\", line 5, in f", "    x = y",
	"ValueError: 5", "Exception in thread \"main\" java.lang.Error: x", "\tat a.b.C(D.java:5)", "", "step 5",
"*** SIGSEGV (@0x0) received ***", "    @     0x7f00 main", "Caused by: x", "During handling of the above exception:"};

static L4Local *
make_local(int number)
{
	L4Local    *local = palloc0(sizeof(L4Local));

	local->number = number;
	local->hash = fuzz_random(PG_INT32_MAX);
	local->event_id = fuzz_random(2) ? fuzz_random(100) : 0;
	local->msg = local->text = pstrdup("step 5");
	local->msg_len = local->text_len = 6;
	local->ts = fuzz_random(2) ? L4_NO_TS : 1000000;
	local->nparams = fuzz_random(3);
	local->params = palloc0(local->nparams * sizeof(L4Param));
	for (int i = 0; i < local->nparams; i++)
	{
		L4Param    *param = &local->params[i];

		param->nvalues = fuzz_random(3);
		param->values = palloc0(param->nvalues * sizeof(L4Value));
		for (int k = 0; k < param->nvalues; k++)
		{
			param->values[k].text = pstrdup("5");
			param->values[k].len = 1;
			param->values[k].occurrences = 1;
		}
		param->nblocks = fuzz_random(3);
		param->blocks = palloc0(param->nblocks * sizeof(L4Block));
	}
	local->nwords = fuzz_random(2);
	local->words = palloc0(sizeof(L4OpenWord));
	local->words->text = local->msg;
	local->words->len = 3;
	return local;
}

static void
make_part(L4ResultPart *part)
{
	static const L4Metric metric = {"loss", 2.5};

	part->nlocals = 1 + fuzz_random(4);
	part->locals = palloc(part->nlocals * sizeof(L4Local *));
	for (int i = 0; i < part->nlocals; i++)
		part->locals[i] = make_local(i);
	part->nrecs = part->nlines = 1 + fuzz_random(fuzz_random(20) ? 20 : 4000);
	part->recs = palloc0(part->nrecs * sizeof(L4ResultRecord));
	part->lines = palloc0(part->nlines * sizeof(L4ResultLine));
	for (int i = 0; i < part->nrecs; i++)
	{
		part->recs[i].line_no = part->lines[i].line_no = 5 * i + fuzz_random(5);
		part->recs[i].ts = part->lines[i].ts = 1000000 * (int64) i;
		part->recs[i].local = fuzz_random(part->nlocals);
		part->recs[i].rank = fuzz_random(3) ? L4_NO_INT : (int32) fuzz_random(8);
		part->recs[i].iteration = i / 5;
		part->lines[i].rec = fuzz_random(5) ? i : i / 2;
	}
	part->niters = fuzz_random(4);
	part->iters = palloc0(part->niters * sizeof(L4IterEntry));
	for (int i = 0; i < part->niters; i++)
	{
		part->iters[i].iteration = i;
		part->iters[i].nmetrics = fuzz_random(2);
		part->iters[i].metrics = memcpy(palloc(sizeof(L4Metric)), &metric, sizeof(L4Metric));
	}
}

static void
fuzz_scan_result(void)
{
	L4ScanResult *scanned = palloc0(sizeof(L4ScanResult));
	int32		ranks[] = {0, 5};
	int64		joinable[] = {3, 8, 100};
	bytea	   *bytes;

	make_part(&scanned->settled);
	make_part(&scanned->open);
	scanned->head.nranks = fuzz_random(3);
	scanned->head.ranks = ranks;
	scanned->head.njoinable = fuzz_random(4);
	scanned->head.joinable = joinable;
	scanned->head.state = "state";
	scanned->head.state_len = 5;
	bytes = l4_result_encode(scanned);
	l4_result_decode(bytes, CurrentMemoryContext);
	for (int i = 0; i < 80; i++)
	{
		bytea	   *damaged = (bytea *) fuzz_damage_varlena((struct varlena *) bytes);
		L4ResultHead head;

		FUZZ_TRY();
		l4_result_head(damaged, &head, CurrentMemoryContext);
		FUZZ_END();
		FUZZ_TRY();
		scanned = l4_result_decode(damaged, CurrentMemoryContext);
		l4_result_encode(scanned);
		FUZZ_END();
	}
}

static void
feed(L4RecordReader *reader, int lines)
{
	for (int i = 0; i < lines; i++)
	{
		L4Line		line = {0};
		L4RecordPlace place;

		line.text = line.msg = FUZZ_PICK(raw_lines);
		line.text_len = line.msg_len = strlen(line.msg);
		line.rank = -1;
		line.pid = -1;
		line.key = fuzz_random(3);
		l4_record_feed(reader, i + 1, (int32) fuzz_random(3) - 1, &line, &place);
		while (l4_record_next(reader) != NULL)
			 /* all that are settled */ ;
	}
}

static void
fuzz_record_state(StringInfo saved)
{
	L4RecordReader *reader = l4_record_reader_create(CurrentMemoryContext);

	feed(reader, fuzz_random(300));
	initStringInfo(saved);
	l4_record_code(reader, &(L4Codec) {.out = saved});
	for (int i = 0; i < 40; i++)
	{
		L4ByteReader in;
		char	   *damaged;
		int			len;
		int64	   *line_nos;

		damaged = fuzz_damage(saved->data, saved->len, &len);
		in = (L4ByteReader) {(const unsigned char *) damaged, (const unsigned char *) damaged + len};
		FUZZ_TRY();
		reader = l4_record_reader_create(CurrentMemoryContext);
		l4_record_code(reader, &(L4Codec) {.in = &in});
		l4_record_joinable(reader, &line_nos);
		l4_record_oldest_open(reader);
		feed(reader, 50);
		l4_record_finish(reader);
		while (l4_record_next(reader) != NULL)
			 /* the rest */ ;
		FUZZ_END();
	}
}

static void
fuzz_scan_state(StringInfo record_state)
{
	L4ScanState *scan_state = palloc0(sizeof(L4ScanState));
	StringInfoData bytes;
	char		line[LINE_SIZE];
	int			ends[L4_PREFIX_WORDS];
	bool		formatted[L4_PREFIX_WORDS] = {false};

	l4_prefix_init(&scan_state->head);
	for (int i = fuzz_random(80); i > 0; i--)
	{
		int			len = snprintf(line, LINE_SIZE, "node%u: w%u %u", fuzz_random(3), fuzz_random(20), i);

		l4_prefix_learn(&scan_state->head, line, len, l4_prefix_words(line, len, ends), ends, formatted);
	}
	for (int32 rank = fuzz_random(20); rank > 0; rank--)
		l4_scan_state_rank(scan_state, rank);
	scan_state->record_state = *record_state;
	initStringInfo(&bytes);
	l4_scan_state_write(scan_state, &bytes);
	for (int i = 0; i < 80; i++)
	{
		int			len;
		char	   *damaged = fuzz_damage(bytes.data, bytes.len, &len);
		int			rank;

		FUZZ_TRY();
		l4_scan_state_read(scan_state, damaged, len);
		l4_prefix_length(&scan_state->head, line, fuzz_line(line, LINE_SIZE), false, &rank);
		l4_scan_state_rank(scan_state, 1000000);
		FUZZ_END();
	}
}

static void
fuzz_pack_state(void)
{
	char	   *names[] = {"train", "save"};
	L4Stages	stages = {.nnames = 2, .names = names};
	L4PackState *pack_state = l4_pack_state_read(NULL, &stages, CurrentMemoryContext);
	bytea	   *bytes;

	for (int32 rank = fuzz_random(20); rank > 0; rank--)
	{
		L4PackRank *state = l4_pack_state_rank(pack_state, rank);

		for (int i = fuzz_random(60); i > 0; i--)
			l4_pack_state_event(pack_state, state, i);
	}
	pack_state->njoinable = fuzz_random(30);
	pack_state->joinable = palloc0(pack_state->njoinable * sizeof(L4Joinable));
	for (int i = 0; i < pack_state->njoinable; i++)
	{
		pack_state->joinable[i].line_no = 3 * i;
		pack_state->joinable[i].stage = (int) fuzz_random(3) - 1;
	}
	bytes = l4_pack_state_write(pack_state, CurrentMemoryContext);
	for (int i = 0; i < 80; i++)
	{
		bytea	   *damaged = (bytea *) fuzz_damage_varlena((struct varlena *) bytes);

		FUZZ_TRY();
		pack_state = l4_pack_state_read(damaged, &stages, CurrentMemoryContext);
		for (int64 line_no = 0; line_no < 100; line_no++)
			l4_pack_state_joinable(pack_state, line_no);
		l4_pack_state_rank(pack_state, 1000000);
		l4_pack_state_write(pack_state, CurrentMemoryContext);
		FUZZ_END();
	}
}

void
fuzz_scan_results(void)
{
	StringInfoData record_state;

	fuzz_scan_result();
	fuzz_record_state(&record_state);
	fuzz_scan_state(&record_state);
	fuzz_pack_state();
}
