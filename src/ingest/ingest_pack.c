/*
 * ingest_pack.c
 *		From a scan result to packed rows: lines into chunks, records into counts,
 *		stages, sequences and activity.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/grow.h"
#include "base/order.h"
#include "ingest/ingest_pack.h"

/* What is known of a record of the scan result, by its number. */
typedef struct RecInfo
{
	int32		event_id;
	int			stage;			/* -1 none */
} RecInfo;

typedef struct Packer
{
	L4PackInput *in;
	L4Packed   *out;
	MemoryContext cxt;
	L4PackState *state;
	L4StreamCounts	   *counts;
	/* packs that are written; reset for the open part */
	L4Pack	   *durations;
	L4Pack	   *iterations;
	L4Pack	   *stages;
	L4Pack	   *activity;
	L4Pack	   *sequences;
	/* the chunk being filled */
	L4Pack	   *chunk;
	L4Chunk		head;
	int			chunks_size;
	/* last span and last second, not written yet */
	int			span_stage;		/* -1 none */
	TimestampTz span_first;
	TimestampTz span_last;
	int64		span_first_line;
	int64		span_last_line;
	int64		second;
	int64		second_lines;
} Packer;

enum
{
	CH_LINE, CH_BACK, CH_TS, CH_RANK, CH_EVENT, CH_STAGE, CH_ITERATION
};

/* A pack with columns of these types: what was stored, or an empty one. */
static L4Pack *
open_pack(bytea *before, MemoryContext cxt, const char *types)
{
	L4Pack	   *pack;

	if (before != NULL)
	{
		pack = l4_pack_reopen(before, cxt);
		for (int i = 0; types[i] != '\0'; i++)
			if (i >= pack->ncols || pack->cols[i].type != types[i])
				l4_bytes_corrupted("columns");
		return pack;
	}
	return l4_pack_create(types, cxt);
}

static void
put_optional(L4Pack *pack, int col, int32 value)
{
	if (value == L4_NO_INT)
		l4_pack_null(pack, col);
	else
		l4_pack_int(pack, col, value);
}

static void
open_sections(Packer *p, const L4Sections *before)
{
	p->counts = l4_stream_counts_create(before->events, before->slots, p->cxt);
	p->durations = open_pack(before->durations, p->cxt, "iiiii");
	p->iterations = open_pack(before->iterations, p->cxt, "iiif");
	p->stages = open_pack(before->stages, p->cxt, "siiii");
	p->activity = open_pack(before->activity, p->cxt, "ii");
	p->sequences = open_pack(before->sequences, p->cxt, "iiia");
	p->span_stage = -1;
	p->second = PG_INT64_MIN;
	p->second_lines = 0;
}

static bytea *
encode_or_null(L4Pack *pack)
{
	return pack->nrows == 0 ? NULL : l4_pack_encode(pack);
}

/* The last span of the stored ones is taken back, to be extended. */
static void
reopen_span(Packer *p)
{
	L4PackCol  *cols = p->stages->cols;
	int			row = p->stages->nrows - 1;

	if (row < 0)
		return;
	p->span_stage = l4_pack_state_stage(p->state, cols[0].entry[cols[0].ints[row]], cols[0].entry_len[cols[0].ints[row]]);
	p->span_first = l4_pack_get_ts(p->stages, 1, row);
	p->span_last = l4_pack_get_ts(p->stages, 2, row);
	p->span_first_line = cols[3].ints[row];
	p->span_last_line = cols[4].ints[row];
	for (int c = 0; c < p->stages->ncols; c++)
		cols[c].nvalues--;
	p->stages->nrows--;
}

static void
end_span(Packer *p)
{
	const char *name;

	if (p->span_stage < 0 || p->stages->nrows >= L4_MAX_SPANS)
		return;
	name = p->state->stage_names[p->span_stage];
	l4_pack_text(p->stages, 0, name, strlen(name));
	l4_pack_ts(p->stages, 1, p->span_first);
	l4_pack_ts(p->stages, 2, p->span_last);
	l4_pack_int(p->stages, 3, p->span_first_line);
	l4_pack_int(p->stages, 4, p->span_last_line);
}

static void
add_to_span(Packer *p, const L4ResultLine *line, int stage)
{
	if (stage != p->span_stage)
	{
		end_span(p);
		p->span_stage = stage;
		p->span_first = line->ts;
		p->span_last = line->ts;
		p->span_first_line = line->line_no;
	}
	p->span_last = Max(p->span_last, line->ts);
	p->span_last_line = line->line_no;
}

static void
end_second(Packer *p)
{
	if (p->second_lines > 0)
	{
		l4_pack_int(p->activity, 0, p->second);
		l4_pack_int(p->activity, 1, p->second_lines);
	}
	p->second_lines = 0;
}

static void
end_chunk(Packer *p)
{
	L4Packed   *out = p->out;

	if (p->chunk == NULL || p->chunk->nrows == 0)
		return;
	L4_GROW_FROM(out->chunks, out->nchunks, p->chunks_size, 8, p->cxt);
	p->head.lines = p->chunk->nrows;
	p->head.body = l4_pack_encode(p->chunk);
	out->chunks[out->nchunks++] = p->head;
	p->chunk = NULL;
}

static void
widen_chunk(L4Chunk *head, int64 line_no, TimestampTz ts, bool first)
{
	head->first_line_no = first ? line_no : Min(head->first_line_no, line_no);
	head->last_line_no = first ? line_no : Max(head->last_line_no, line_no);
	head->first_ts = l4_earlier(head->first_ts, ts);
	head->last_ts = Max(head->last_ts, ts);
}

static void
start_chunk(Packer *p, bytea *before)
{
	p->chunk = open_pack(before, p->cxt, "iiiiisi");
	memset(&p->head, 0, sizeof(p->head));
	p->head.first_ts = p->head.last_ts = L4_NO_TS;
	for (int row = 0; row < p->chunk->nrows; row++)
		widen_chunk(&p->head, p->chunk->cols[CH_LINE].ints[row], l4_pack_get_ts(p->chunk, CH_TS, row), row == 0);
}

static void
add_line(Packer *p, const L4ResultLine *line, const L4ResultRecord *rec, const RecInfo *info)
{
	L4Pack	   *chunk;
	L4Packed   *out = p->out;

	if (p->chunk != NULL && p->chunk->nrows >= L4_CHUNK_LINES)
		end_chunk(p);
	if (p->chunk == NULL)
		start_chunk(p, NULL);
	chunk = p->chunk;
	widen_chunk(&p->head, line->line_no, line->ts, chunk->nrows == 0);
	l4_pack_int(chunk, CH_LINE, line->line_no);
	l4_pack_int(chunk, CH_BACK, line->line_no - rec->line_no);
	l4_pack_ts(chunk, CH_TS, line->ts);
	put_optional(chunk, CH_RANK, rec->rank);
	l4_pack_int(chunk, CH_EVENT, info->event_id);
	if (info->stage < 0)
		l4_pack_null(chunk, CH_STAGE);
	else
		l4_pack_text(chunk, CH_STAGE, p->state->stage_names[info->stage], strlen(p->state->stage_names[info->stage]));
	put_optional(chunk, CH_ITERATION, rec->iteration);
	out->first_ts = l4_earlier(out->first_ts, line->ts);
	out->last_ts = Max(out->last_ts, line->ts);
}

static void
add_lines(Packer *p, const L4ResultPart *part, const RecInfo *info)
{
	for (int i = 0; i < part->nlines; i++)
	{
		const L4ResultLine *line = &part->lines[i];
		const L4ResultRecord *rec = &part->recs[line->rec];

		if ((i & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
		add_line(p, line, rec, &info[line->rec]);
		if (!p->in->late && (rec->context == p->state->span_rank || rec->context == L4_NO_INT))
			add_to_span(p, line, info[line->rec].stage);
		if (line->ts != L4_NO_TS)
		{
			int64		second = line->ts / USECS_PER_SEC - (line->ts % USECS_PER_SEC < 0);

			if (second * USECS_PER_SEC != p->second)
			{
				end_second(p);
				p->second = second * USECS_PER_SEC;
			}
			p->second_lines++;
		}
	}
	end_second(p);
}

static void
end_sequence(Packer *p, L4PackRank *rank)
{
	if (rank->nevents == 0)
		return;
	put_optional(p->sequences, 0, rank->rank);
	l4_pack_int(p->sequences, 1, rank->epoch);
	l4_pack_int(p->sequences, 2, rank->iteration);
	l4_pack_ints(p->sequences, 3, rank->events, rank->nevents);
	rank->nevents = 0;
}

/* An iteration that is named after it has ended (evaluation, checkpoint) goes on with the one that is open. */
static void
add_to_sequence(Packer *p, L4PackRank *rank, const L4ResultRecord *rec, int32 event_id)
{
	if (rec->iteration == L4_NO_INT)
		return;
	if (rank->nevents > 0 && (rec->epoch != rank->epoch || rec->iteration > rank->iteration))
		end_sequence(p, rank);
	if (rank->nevents == 0)
	{
		rank->epoch = rec->epoch;
		rank->iteration = rec->iteration;
	}
	if (rank->nevents < L4_MAX_SEQUENCE)
		l4_pack_state_event(p->state, rank, event_id);
}

/* Stage of a record, and of what follows it on its rank. */
static int
place_in_stages(Packer *p, L4PackRank *rank, const L4StageMark *mark)
{
	int			stage = rank->stage;

	if (mark != NULL)
	{
		stage = p->state->stage_of_name[mark->stage];
		rank->stage = mark->then >= 0 ? p->state->stage_of_name[mark->then] : stage;
	}
	return stage;
}

/* What a stream says before its first line with a rank is of that rank: its stages go on. */
static void
follow_first_rank(Packer *p, int32 context)
{
	int			stage;

	if (p->state->span_rank != L4_NO_INT || context == L4_NO_INT)
		return;
	stage = l4_pack_state_rank(p->state, L4_NO_INT)->stage;
	l4_pack_state_rank(p->state, context)->stage = stage;
	p->state->span_rank = context;
}

/* Records that may be the first ones of their events: before those of the scan result are counted. */
static void
add_examples(Packer *p, const L4ResultPart *part)
{
	for (int i = 0; i < part->nlocals; i++)
	{
		const L4Local *local = part->locals[i];
		L4Example  *example;

		if (!l4_stream_counts_may_be_first(p->counts, local->event_id, local->ts, local->line_no))
			continue;
		example = &p->out->examples[p->out->nexamples++];
		example->event_id = local->event_id;
		example->line_no = local->line_no;
		example->ts = local->ts;
		example->text = local->text;
		example->len = local->text_len;
	}
}

static void
add_records(Packer *p, const L4ResultPart *part, RecInfo *info)
{
	const L4Stages *stages = p->in->stages;
	const L4StageMark **marks = (const L4StageMark **) palloc(sizeof(void *) * Max(part->nlocals, 1));

	for (int i = 0; i < part->nlocals; i++)
		marks[i] = bsearch(&part->locals[i]->event_id, stages->marks, stages->nmarks, sizeof(L4StageMark), l4_order_int32);
	for (int i = 0; i < part->nrecs; i++)
	{
		const L4ResultRecord *rec = &part->recs[i];
		L4PackRank *rank;
		const L4Local *local;

		if ((i & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
		follow_first_rank(p, rec->context);
		rank = l4_pack_state_rank(p->state, rec->context);
		if (rec->local < 0)
		{
			const L4Joinable *record = l4_pack_state_joinable(p->state, rec->line_no);

			if (record == NULL)
				l4_bytes_corrupted("joinable records");
			info[i].event_id = record->event_id;
			info[i].stage = record->stage;
			part->recs[i].iteration = record->iteration;
			part->recs[i].rank = record->rank;
			part->recs[i].context = record->context;
			continue;
		}
		local = part->locals[rec->local];
		info[i].event_id = local->event_id;
		info[i].stage = p->in->late ? -1 : place_in_stages(p, rank, marks[rec->local]);
		l4_stream_counts_add_event(p->counts, local->event_id, 1, rec->ts, rec->ts, rec->line_no, rec->line_no);
		if (!p->in->late && !local->is_stack)
			add_to_sequence(p, rank, rec, local->event_id);
		p->out->last_event_id = local->event_id;
	}
	pfree(marks);
}

static void
add_values(Packer *p, const L4ResultPart *part)
{
	for (int i = 0; i < part->nlocals; i++)
	{
		const L4Local *local = part->locals[i];

		CHECK_FOR_INTERRUPTS();
		l4_stream_counts_add_shape(p->counts, local);
		for (int k = 0; k < local->nparams; k++)
		{
			const L4Param *param = &local->params[k];

			for (int b = 0; b < param->nblocks; b++)
			{
				l4_pack_int(p->durations, 0, local->event_id);
				l4_pack_int(p->durations, 1, param->pos);
				l4_pack_int(p->durations, 2, param->blocks[b].block);
				l4_pack_int(p->durations, 3, param->blocks[b].n);
				l4_pack_int(p->durations, 4, param->blocks[b].sum_us);
			}
		}
	}
}

/*
 * The records that later lines may join: some of those that were joinable before, some of the settled part. Those that
 * were begun in it are in front, in order of their lines.
 */
static void
keep_joinable(Packer *p, const L4ResultPart *part, const RecInfo *info)
{
	const L4ResultHead *head = &p->in->scanned->head;
	L4Joinable *kept = MemoryContextAlloc(p->cxt, sizeof(L4Joinable) * Max(head->njoinable, 1));
	int			nbegun = part->nrecs;

	while (nbegun > 0 && part->recs[nbegun - 1].local < 0)
		nbegun--;
	for (int i = 0; i < head->njoinable; i++)
	{
		const L4Joinable *before = l4_pack_state_joinable(p->state, head->joinable[i]);
		const L4ResultRecord *rec = before != NULL || nbegun == 0 ? NULL
			: bsearch(&head->joinable[i], part->recs, nbegun, sizeof(L4ResultRecord), l4_order_int64);

		if (before == NULL && rec == NULL)
			l4_bytes_corrupted("joinable records");
		if (before != NULL)
			kept[i] = *before;
		else
			kept[i] = (L4Joinable) {.line_no = rec->line_no, .event_id = info[rec - part->recs].event_id,
			.stage = info[rec - part->recs].stage, .rank = rec->rank, .context = rec->context, .iteration = rec->iteration};
	}
	p->state->joinable = kept;
	p->state->njoinable = head->njoinable;
}

static void
add_part(Packer *p, L4ResultPart *part, bool settled)
{
	RecInfo    *info = (RecInfo *) palloc(sizeof(RecInfo) * Max(part->nrecs, 1));

	if (p->state->span_rank == L4_RANK_UNKNOWN && part->nrecs > 0)
		p->state->span_rank = part->recs[0].context;
	add_examples(p, part);
	add_records(p, part, info);
	add_lines(p, part, info);
	add_values(p, part);
	l4_pack_iterations(p->iterations, part);
	if (settled && !p->in->late)
		keep_joinable(p, part, info);
	pfree(info);
}

static void
close_sections(Packer *p, L4Sections *sections)
{
	end_span(p);
	sections->events = l4_stream_counts_events(p->counts);
	sections->slots = l4_stream_counts_slots(p->counts);
	sections->durations = encode_or_null(p->durations);
	sections->iterations = encode_or_null(p->iterations);
	sections->stages = encode_or_null(p->stages);
	sections->activity = encode_or_null(p->activity);
	sections->sequences = encode_or_null(p->sequences);
}

/* What is open now is shown apart, and made again when more lines come. */
static void
pack_open(Packer *p, L4ResultPart *part)
{
	static const L4Sections none;
	L4Packed   *out = p->out;
	int			nchunks = out->nchunks;

	p->sequences = open_pack(NULL, p->cxt, "iiia");
	if (part->nlines > 0)
	{
		open_sections(p, &none);
		add_part(p, part, false);
		end_chunk(p);
		out->open_chunk = &out->chunks[nchunks];
		out->nchunks = nchunks;
	}
	if (!p->in->late)
		for (int i = 0; i < p->state->nranks; i++)
			end_sequence(p, &p->state->ranks[i]);
	if (part->nlines > 0)
		close_sections(p, &out->open);
	else
		out->open.sequences = encode_or_null(p->sequences);
}

L4Packed *
l4_pack_result(L4PackInput *input, MemoryContext cxt)
{
	Packer		p;
	L4Packed   *out = MemoryContextAllocZero(cxt, sizeof(L4Packed));
	L4ScanResult	   *scanned = input->scanned;

	memset(&p, 0, sizeof(p));
	p.in = input;
	p.out = out;
	p.cxt = cxt;
	out->first_ts = out->last_ts = L4_NO_TS;
	out->examples = MemoryContextAllocHuge(cxt, sizeof(L4Example) *
										   Max(scanned->settled.nlocals + scanned->open.nlocals, 1));
	p.state = l4_pack_state_read(input->late ? NULL : input->pack_state, input->stages, cxt);

	open_sections(&p, &input->before);
	if (!input->late)
		reopen_span(&p);
	if (input->chunk != NULL)
		start_chunk(&p, input->chunk);
	add_part(&p, &scanned->settled, true);
	end_chunk(&p);
	close_sections(&p, &out->settled);
	out->pack_state = l4_pack_state_write(p.state, cxt);

	pack_open(&p, &scanned->open);
	return out;
}
