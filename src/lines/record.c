/*
 * record.c
 *		Which lines belong together.
 *
 * A record is open while its message is still to come (a traceback ends with
 * it) and settled when it is known; settled records may still get lines
 * (frames below an error, the banner below an exception). Each writer, told
 * apart by its rank and launcher prefix, has records of its own; lines with a
 * logger's prefix in the midst of a traceback without one are somebody else's
 * and stay out of it.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "base/ascii.h"
#include "lines/record_int.h"

L4RecordReader *
l4_record_reader_create(MemoryContext cxt)
{
	L4RecordReader *r = MemoryContextAllocZero(cxt, sizeof(L4RecordReader));

	r->cxt = cxt;
	return r;
}

/* What stands for the middle of a long text, and the bytes of the text before it. */
#define TEXT_GAP "\n[...]\n"
#define TEXT_GAP_LEN ((int) sizeof(TEXT_GAP) - 1)
#define TEXT_HEAD (L4_RECORD_TEXT / 2 - TEXT_GAP_LEN)

/* Where the beginning ends: with a line, where one ends in its second half. */
static int
head_end(const char *text, int len)
{
	int			end = pg_mbcliplen(text, len, TEXT_HEAD);

	for (int i = end; i > TEXT_HEAD / 2; i--)
		if (text[i] == '\n')
			return i;
	return end;
}

/* Where the end begins, at from or behind: with a line, where one begins in its first half. */
static int
tail_start(const char *text, int len, int from)
{
	const char *newline = memchr(text + from - 1, '\n', (len - from) / 2);

	if (newline != NULL)
		return newline - text + 1;
	if (GetDatabaseEncoding() == PG_UTF8)
		while (from < len && ((unsigned char) text[from] & 0xc0) == 0x80)
			from++;
	else if (pg_database_encoding_max_length() > 1)
	{
		int			at = pg_mbcliplen(text, len, from);

		from = at < from ? at + pg_mblen(text + at) : at;
	}
	return from;
}

int
l4_record_excerpt(const char *text, int len, char out[L4_RECORD_TEXT])
{
	int			head;
	int			from;

	if (len <= L4_RECORD_TEXT)
	{
		memcpy(out, text, len);
		return len;
	}
	head = head_end(text, len);
	from = tail_start(text, len, len - (L4_RECORD_TEXT - head - TEXT_GAP_LEN));
	memcpy(out, text, head);
	memcpy(out + head, TEXT_GAP, TEXT_GAP_LEN);
	memcpy(out + head + TEXT_GAP_LEN, text + from, len - from);
	return head + TEXT_GAP_LEN + len - from;
}

/* Does a line below a frame tell values of its code, behind a line drawn down from each name? They would crowd out frames. */
static bool
draws_values(const L4Line *line)
{
	return line->indent > 0 && (l4_starts_with(line->msg, line->msg_len, "\xe2\x94\x82") ||
								l4_starts_with(line->msg, line->msg_len, "\xe2\x94\x94"));
}

/* Add a line to the text of an open record; where the text gets long, as much of it as an excerpt has room for behind the gap. */
void
l4_record_add_text(OpenRecord *o, const L4Line *line)
{
	int			len = line->text_len;

	if (o->text.len > 0 && o->text.len + 1 + (int64) len > L4_RECORD_TEXT)
		len = pg_mbcliplen(line->text, len, L4_RECORD_TEXT / 2);
	o->bytes += line->text_len;
	o->rec.lines++;
	if (draws_values(line))
		return;
	if (o->text.len > 0)
		appendStringInfoChar(&o->text, '\n');
	appendBinaryStringInfo(&o->text, line->text, len);
}

/* From now on lines may join a settled record. */
static void
start_tail(L4Tail *tail, const L4Record *rec, int64 lines, bool logged, L4Continuation cont)
{
	memset(tail, 0, sizeof(L4Tail));
	tail->record_no = rec->record_no;
	tail->line_no = rec->line_no;
	tail->seen = lines;
	tail->logged = logged;
	tail->level = rec->level;
	tail->cont = cont;
}

/* From now on lines may join a record of one line. */
static void
start_plain_tail(L4RecordReader *r, L4Sub *sub, const L4Record *rec, bool logged, bool opens, L4Continuation cont)
{
	start_tail(&sub->last, rec, r->lines, logged, cont);
	sub->last.opens = opens;
	if (cont != CONT_NONE || rec->level >= L4_LEVEL_ERROR)
		sub->special = sub->last;
	if (logged)
		r->logged++;
	else
		r->bare++;
	if (r->logged + r->bare >= 512)
	{
		r->logged /= 2;
		r->bare /= 2;
	}
}

/* What a reader carries on begins anew with the first line of an open record: only then lines may join a stack. */
static void
start_stack_tail(L4RecordReader *r, OpenRecord *o)
{
	if (o->state == OPEN_STACK && o->fresh)
		start_plain_tail(r, l4_record_sub(r, o->key), &o->rec, o->logged, o->opens, o->cont);
	o->fresh = false;
}

static void
hand_out(L4RecordReader *r, OpenRecord *o)
{
	start_stack_tail(r, o);
	o->state = OPEN_SETTLED;
	o->rec.text_len = l4_record_excerpt(o->text.data, o->text.len, o->excerpt);
	r->ready[r->nready++] = &o->rec;
	r->nopen--;
}

/*
 * A line of their writer ends all stacks but that of the record that it
 * joined. So does, of any writer (NULL), a record that waits for its message:
 * where none does, the stacks are handed out at the end of the rows.
 */
static void
end_stacks(L4RecordReader *r, const uint64 *key, int64 but)
{
	for (int i = 0; r->nopen > 0 && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL && r->open[i]->state == OPEN_STACK && (key == NULL || r->open[i]->key == *key) &&
			r->open[i]->rec.record_no != but)
			hand_out(r, r->open[i]);
}

/* An open record's message is final: hand it out, unless frames may follow, and let later lines join it as cont says. */
static void
settle(L4RecordReader *r, OpenRecord *o, L4Continuation cont)
{
	L4Sub	   *sub = l4_record_sub(r, o->key);
	L4Record   *rec = &o->rec;

	if (o->state == OPEN_STACK)
	{
		hand_out(r, o);
		return;
	}
	if (o->state == OPEN_CUT)
	{
		while (rec->msg_len > 0 && l4_ascii_blank(o->msg[rec->msg_len - 1]))
			rec->msg_len--;
		if (rec->level == L4_LEVEL_NONE)
			rec->level = l4_level_guess(o->msg, rec->msg_len);
	}
	if (!o->logged)
		rec->level = Max(rec->level, rec->kind == L4_RECORD_FAULT ? L4_LEVEL_CRITICAL :
						 rec->kind == L4_RECORD_PYTHON ? L4_LEVEL_ERROR : L4_LEVEL_NONE);

	/* a record that began after this one stays the last */
	if (sub->last.record_no < rec->record_no)
		start_tail(&sub->last, rec, r->lines, o->logged, CONT_NONE);
	if (rec->kind != L4_RECORD_PLAIN)
	{
		start_tail(&sub->special, rec, r->lines, o->logged, cont);
		sub->special.rule = o->rule;
	}
	if (rec->kind != L4_RECORD_FAULT)
		hand_out(r, o);
	else
	{
		o->state = OPEN_STACK;
		end_stacks(r, &o->key, rec->record_no);
	}
}

/* Let go of the records that were handed out. */
static void
release_settled(L4RecordReader *r)
{
	for (int i = 0; r->nready > 0 && i < L4_RECORD_MAX_OPEN; i++)
	{
		if (r->open[i] != NULL && r->open[i]->state == OPEN_SETTLED)
			r->open[i]->state = OPEN_FREE;
	}
	r->nready = 0;
	r->next_ready = 0;
}

/* Records that waited too long are settled with what they have. */
static void
settle_overdue(L4RecordReader *r)
{
	for (int i = 0; i < L4_RECORD_MAX_OPEN; i++)
	{
		OpenRecord *o = r->open[i];

		if (o != NULL && o->state > OPEN_SETTLED &&
			(r->lines - o->started >= L4_RECORD_MAX_LINES || o->bytes > L4_RECORD_MAX_BYTES))
			settle(r, o, CONT_NONE);
	}
}

static OpenRecord *
oldest_open(const L4RecordReader *r)
{
	OpenRecord *oldest = NULL;

	for (int i = 0; r->nopen > 0 && i < L4_RECORD_MAX_OPEN; i++)
	{
		OpenRecord *o = r->open[i];

		if (o != NULL && o->state > OPEN_SETTLED &&
			(oldest == NULL || o->rec.record_no < oldest->rec.record_no))
			oldest = o;
	}
	return oldest;
}

/* A free place for an open record. */
static OpenRecord *
new_open(L4RecordReader *r)
{
	while (r->nopen >= L4_RECORD_MAX_OPEN / 2)
		settle(r, oldest_open(r), CONT_NONE);
	for (int i = 0; i < L4_RECORD_MAX_OPEN; i++)
	{
		OpenRecord *o = r->open[i];

		if (o == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(r->cxt);

			r->open[i] = o = palloc0(sizeof(OpenRecord));
			initStringInfo(&o->text);
			MemoryContextSwitchTo(old);
		}
		if (o->state == OPEN_FREE)
			return o;
	}
	elog(ERROR, "no place for an open record, please report a bug");
	return NULL;
}

static OpenRecord *
start_open(L4RecordReader *r, const L4FedLine *fed, const L4Line *line, L4OpenState state, L4RecordKind kind)
{
	OpenRecord *o;

	if (state != OPEN_STACK)
		end_stacks(r, NULL, 0);
	o = new_open(r);

	memset(o, 0, offsetof(OpenRecord, text));
	resetStringInfo(&o->text);
	o->rec.record_no = ++r->records;
	o->rec.line_no = fed->no;
	o->rec.kind = kind;
	o->rec.msg = o->msg;
	o->rec.text = o->excerpt;
	o->rec.rank = -1;
	o->state = state;
	o->key = fed->key;
	o->part_key = line->part_key;
	o->logged = line->logged;
	o->indent = line->indent;
	o->started = r->lines;
	o->rule = line->msg_len > 0 ? *line->msg : '\0';
	l4_record_set_message(o, line);
	l4_record_add_text(o, line);
	r->nopen++;
	*fed->place = (L4RecordPlace) {o->rec.record_no, fed->no, true};
	return o;
}

static L4Record *
start_ready(L4RecordReader *r, const L4FedLine *fed, L4RecordKind kind)
{
	const L4Line *line = fed->line;
	L4Record   *rec = &r->plain;

	rec->record_no = ++r->records;
	rec->line_no = fed->no;
	rec->lines = 1;
	rec->kind = kind;
	rec->msg = line->msg;
	rec->msg_len = line->msg_len;
	rec->text = line->text;
	rec->text_len = line->text_len;
	if (line->text_len > L4_RECORD_TEXT)
	{
		rec->text_len = l4_record_excerpt(line->text, line->text_len, r->excerpt);
		rec->text = r->excerpt;
	}
	rec->has_ts = line->has_ts;
	rec->ts = line->ts;
	rec->level = line->level;
	rec->rank = line->rank;
	rec->format_id = line->format_id;
	r->ready[r->nready++] = rec;
	*fed->place = (L4RecordPlace) {rec->record_no, fed->no, true};
	return rec;
}

/* Does a message announce more? */
static bool
announces(const L4Line *line)
{
	return line->msg_len > 0 && strchr(":,({[", line->msg[line->msg_len - 1]) != NULL;
}

/* A line that is a record by itself, but for the frames that may follow an error, and how others may join it. */
static void
start_plain(L4RecordReader *r, L4Sub *sub, const L4FedLine *fed, L4RecordKind kind, L4Continuation cont)
{
	const L4Line *line = fed->line;

	if (cont != CONT_NONE || line->level >= L4_LEVEL_CRITICAL ||
		(line->level == L4_LEVEL_ERROR && l4_line_names_error(line->msg, line->msg_len)))
	{
		OpenRecord *o = start_open(r, fed, line, OPEN_STACK, kind);

		o->fresh = true;
		o->opens = announces(line);
		o->cont = cont;
	}
	else
		start_plain_tail(r, sub, start_ready(r, fed, kind), line->logged, announces(line), cont);
}

/* An open record gets one more line. */
static void
take(OpenRecord *o, const L4FedLine *fed)
{
	l4_record_add_text(o, fed->line);
	*fed->place = (L4RecordPlace) {o->rec.record_no, o->rec.line_no, false};
}

/* Does an open record of this writer take the line? The newest is asked first. */
static bool
join_open(L4RecordReader *r, const L4FedLine *fed)
{
	static const L4Continuation cont[] = {
		[OPEN_TRACEBACK] = CONT_EXCEPTION, [OPEN_CHAIN] = CONT_EXCEPTION, [OPEN_TERMINATE] = CONT_EXCEPTION,
		[OPEN_GROUP] = CONT_GROUP, [OPEN_RULE] = CONT_REPORT, [OPEN_RUST] = CONT_RUST
	};
	const L4Line *line = fed->line;
	int64		below = PG_INT64_MAX;

	for (;;)
	{
		OpenRecord *o = NULL;
		L4Feed		feed;

		for (int i = 0; i < L4_RECORD_MAX_OPEN; i++)
		{
			OpenRecord *c = r->open[i];

			if (c != NULL && c->state > OPEN_STACK && c->key == fed->key && c->rec.record_no < below &&
				(o == NULL || c->rec.record_no > o->rec.record_no))
				o = c;
		}
		if (o == NULL)
			return false;
		below = o->rec.record_no;
		if (line->logged && !o->logged)
		{
			if (++o->foreign > L4_RECORD_FOREIGN)
				settle(r, o, CONT_NONE);
			continue;
		}
		feed = l4_record_feed_open(o, fed);
		if (feed & FEED_TAKE)
		{
			if (fed->kind != L4_LINE_BLANK)
				o->logged = o->logged && line->logged;
			take(o, fed);
		}
		if (feed & FEED_END)
			settle(r, o, cont[o->state]);
		if (feed & FEED_TAKE)
			return true;
	}
}

/* The rest of a line that was cut: the message goes on where it stopped. */
static bool
join_cut(L4RecordReader *r, const L4FedLine *fed)
{
	const L4Line *line = fed->line;
	OpenRecord *o = NULL;
	int			len;

	for (int i = 0; line->part != NULL && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL && r->open[i]->state == OPEN_CUT && r->open[i]->part_key == line->part_key)
			o = r->open[i];
	if (o == NULL)
		return false;
	len = pg_mbcliplen(line->part, line->part_len, Min(line->part_len, L4_RECORD_MSG - o->rec.msg_len));
	memcpy(o->msg + o->rec.msg_len, line->part, len);
	o->rec.msg_len += len;
	take(o, fed);
	if (!line->cut)
		settle(r, o, CONT_NONE);
	return true;
}

/* "file.py:12: UserWarning: …": its source line follows. */
static bool
is_python_warning(const L4Line *line)
{
	return line->level == L4_LEVEL_WARNING && l4_contains(line->msg, Min(line->msg_len, 400), "Warning: ");
}

/* What a line of a kind starts: a record that waits for its message, or one that others may join. */
typedef struct KindStart
{
	L4RecordKind kind;
	L4OpenState open;
	L4Continuation cont;
} KindStart;

static const KindStart starts[L4_LINE_KINDS] = {
	[L4_LINE_TRACEBACK] = {L4_RECORD_PYTHON, OPEN_TRACEBACK},
	[L4_LINE_FILE] = {L4_RECORD_PYTHON, OPEN_TRACEBACK},
	[L4_LINE_SYNTAX] = {L4_RECORD_PYTHON, OPEN_TRACEBACK},
	[L4_LINE_CHAIN] = {L4_RECORD_PYTHON, OPEN_CHAIN},
	[L4_LINE_GROUP_HEAD] = {L4_RECORD_PYTHON, OPEN_GROUP},
	[L4_LINE_TERMINATE] = {L4_RECORD_FAULT, OPEN_TERMINATE},
	[L4_LINE_GLOG_ABORT] = {L4_RECORD_FAULT, OPEN_GLOG},
	[L4_LINE_GLOG_SIGNAL] = {L4_RECORD_FAULT},
	[L4_LINE_RUST_PANIC] = {L4_RECORD_FAULT, OPEN_RUST, CONT_RUST},
	[L4_LINE_FATAL_PYTHON] = {L4_RECORD_FAULT, OPEN_FREE, CONT_FAULT},
	[L4_LINE_THREAD] = {L4_RECORD_FAULT, OPEN_FREE, CONT_FAULT},
	[L4_LINE_USAGE] = {L4_RECORD_REPORT, OPEN_USAGE},
	[L4_LINE_RULE] = {L4_RECORD_PLAIN, OPEN_RULE},
	[L4_LINE_GO_PANIC] = {L4_RECORD_STACK, OPEN_FREE, CONT_GO},
	[L4_LINE_GO_FRAME] = {L4_RECORD_STACK},
	[L4_LINE_C_FRAME] = {L4_RECORD_STACK},
	[L4_LINE_RAISED] = {L4_RECORD_STACK},
	[L4_LINE_JAVA_FRAME] = {L4_RECORD_STACK},
};

/* The line starts a record. */
static void
start_record(L4RecordReader *r, L4Sub *sub, const L4FedLine *fed)
{
	const L4Line *line = fed->line;
	KindStart	start = starts[fed->kind];

	if (fed->kind == L4_LINE_TEXT && line->cut && line->part != NULL && line->msg >= line->part &&
		line->msg + line->msg_len <= line->part + line->part_len)
	{
		L4Line		whole = *line;

		/* the blanks at its end are in the midst of the line */
		whole.msg_len = line->part + line->part_len - line->msg;
		start_open(r, fed, &whole, OPEN_CUT, L4_RECORD_PLAIN);
		return;
	}
	/* a panic that says its reason on its own line, usage text that a logger wrote */
	if ((fed->kind == L4_LINE_RUST_PANIC && line->msg[line->msg_len - 1] != ':') ||
		(fed->kind == L4_LINE_USAGE && line->logged))
		start.open = OPEN_FREE;
	if (start.kind == L4_RECORD_PLAIN && line->level >= L4_LEVEL_WARNING)
		start.cont = !line->logged && l4_line_names_error(line->msg, line->msg_len) ? CONT_EXCEPTION :
			is_python_warning(line) ? CONT_WARNING : CONT_NONE;
	if (start.open != OPEN_FREE)
		start_open(r, fed, line, start.open, start.kind);
	else
		start_plain(r, sub, fed, start.kind, start.cont);
}

void
l4_record_feed(L4RecordReader *r, int64 line_no, int32 rank, const L4Line *line, L4RecordPlace *place)
{
	L4FedLine	fed = {line_no, 0, l4_line_kind(line), line, place};
	L4Sub	   *sub;
	bool		joined;

	/* a collector may tell it from the first line of a traceback alone */
	if (rank >= 0)
		r->rank_key = hash_bytes_uint32_extended((uint32) rank, 0) | 1;
	fed.key = l4_writer_key(r, line->key);
	for (int i = 0; r->nopen > 0 && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL)
			start_stack_tail(r, r->open[i]);
	r->lines++;
	release_settled(r);
	if (r->nopen > 0)
	{
		settle_overdue(r);
		if (r->nopen > 0 && (join_cut(r, &fed) || join_open(r, &fed)))
			return;
	}
	if (l4_record_join_panic(r, &fed))
		return;
	sub = l4_record_sub(r, fed.key);
	joined = l4_record_join_settled(r, sub, &fed);
	end_stacks(r, &fed.key, joined ? place->record_no : 0);
	if (!joined)
		start_record(r, sub, &fed);
}

const L4Record *
l4_record_next(L4RecordReader *r)
{
	return r->next_ready < r->nready ? r->ready[r->next_ready++] : NULL;
}

void
l4_record_finish(L4RecordReader *r)
{
	OpenRecord *o;

	while ((o = oldest_open(r)) != NULL)
		settle(r, o, CONT_NONE);
}

bool
l4_record_only_stacks(const L4RecordReader *r)
{
	for (int i = 0; r->nopen > 0 && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL && r->open[i]->state > OPEN_STACK)
			return false;
	return true;
}

int64
l4_record_oldest_open(const L4RecordReader *r)
{
	OpenRecord *o = oldest_open(r);

	return o != NULL ? o->rec.line_no : 0;
}
