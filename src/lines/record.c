/*
 * record.c
 *		Which lines belong together.
 *
 * A record is open while its message is still to come (a traceback ends with
 * it) and settled when it is known; settled records may still get lines
 * (frames below an error, the banner below an exception). Each writer, told
 * apart by the key that launcher prefixes give, has records of its own; lines
 * with a logger's prefix in the midst of a traceback without one are somebody
 * else's and stay out of it.
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

/* Bytes of the text that fit, whole lines where the last one begins in the second half. */
static int
head_len(const char *text, int len, int max)
{
	if (len > max)
	{
		len = pg_mbcliplen(text, len, max);
		for (int i = len; i > max / 2; i--)
			if (text[i] == '\n')
				return i;
	}
	return len;
}

/* Where the last bytes of a text begin, at most so many. */
static int
tail_start(const char *text, int len, int max)
{
	int			from = len - max;

	if (from <= 0)
		return 0;
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
	head = head_len(text, len, TEXT_HEAD);
	from = tail_start(text, len, L4_RECORD_TEXT - head - TEXT_GAP_LEN);
	memcpy(out, text, head);
	memcpy(out + head, TEXT_GAP, TEXT_GAP_LEN);
	memcpy(out + head + TEXT_GAP_LEN, text + from, len - from);
	return head + TEXT_GAP_LEN + len - from;
}

/* Make room for a line at the end of a text: lines in the middle go. */
static void
make_room(OpenRecord *o, int len)
{
	int			tail;
	int			keep;

	if (o->text_head == 0)
	{
		o->text_head = head_len(o->text, o->rec.text_len, TEXT_HEAD);
		tail = o->text_head + (o->text_head < o->rec.text_len && o->text[o->text_head] == '\n');
	}
	else
		tail = o->text_head + TEXT_GAP_LEN;
	/* drop lines from the front of the tail until the rest fits */
	while (tail < o->rec.text_len && o->text_head + TEXT_GAP_LEN + (o->rec.text_len - tail) + 1 + len > L4_RECORD_TEXT)
	{
		const char *newline = memchr(o->text + tail, '\n', o->rec.text_len - tail);

		tail = newline == NULL ? o->rec.text_len : (int) (newline - o->text) + 1;
	}
	keep = o->rec.text_len - tail;
	memmove(o->text + o->text_head + TEXT_GAP_LEN, o->text + tail, keep);
	memcpy(o->text + o->text_head, TEXT_GAP, TEXT_GAP_LEN);
	o->rec.text_len = o->text_head + TEXT_GAP_LEN + keep;
}

/* Add a line to the text of an open record: of a long one the beginning stays, and its last lines, which say what it is about. */
static void
add_text(OpenRecord *o, const char *raw, int len)
{
	bool		joined = o->rec.text_len > 0;

	o->bytes += len;
	o->rec.lines++;
	if (o->rec.text_len + joined + len > L4_RECORD_TEXT)
	{
		len = pg_mbcliplen(raw, len, L4_RECORD_TEXT / 2);
		if (o->rec.text_len + joined + len > L4_RECORD_TEXT)
		{
			make_room(o, len);
			joined = o->rec.text_len > o->text_head + TEXT_GAP_LEN;
		}
	}
	if (joined)
		o->text[o->rec.text_len++] = '\n';
	memcpy(o->text + o->rec.text_len, raw, len);
	o->rec.text_len += len;
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

/* An open record's message is final: hand it out, and let later lines join it as cont says. */
static void
settle(L4RecordReader *r, OpenRecord *o, L4Continuation cont)
{
	L4Sub	   *sub = l4_record_sub(r, o->key);

	if (o->state == OPEN_CUT)
	{
		while (o->rec.msg_len > 0 && l4_ascii_blank(o->msg[o->rec.msg_len - 1]))
			o->rec.msg_len--;
		if (o->rec.level == L4_LEVEL_NONE)
			o->rec.level = l4_level_guess(o->msg, o->rec.msg_len);
	}
	o->state = OPEN_SETTLED;
	if (!o->logged)
		o->rec.level = Max(o->rec.level, o->rec.kind == L4_RECORD_FAULT ? L4_LEVEL_CRITICAL :
						   o->rec.kind == L4_RECORD_PYTHON ? L4_LEVEL_ERROR : L4_LEVEL_NONE);
	r->ready[r->nready++] = &o->rec;
	r->nopen--;

	/* a record that began after this one stays the last */
	if (sub->last.record_no < o->rec.record_no)
		start_tail(&sub->last, &o->rec, r->lines, o->logged, CONT_NONE);
	if (o->rec.kind != L4_RECORD_PLAIN)
	{
		start_tail(&sub->special, &o->rec, r->lines, o->logged, cont);
		sub->special.rule = o->rule;
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

static void
place_in(L4RecordPlace *place, int64 record_no, int64 line_no, bool first)
{
	place->record_no = record_no;
	place->record_line_no = line_no;
	place->first = first;
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
	if (r->nopen >= L4_RECORD_MAX_OPEN / 2)
		settle(r, oldest_open(r), CONT_NONE);
	for (int i = 0; i < L4_RECORD_MAX_OPEN; i++)
	{
		OpenRecord *o = r->open[i];

		if (o == NULL)
		{
			r->open[i] = o = MemoryContextAllocZero(r->cxt, sizeof(OpenRecord));
			o->msg = MemoryContextAlloc(r->cxt, L4_RECORD_MSG);
			o->text = MemoryContextAlloc(r->cxt, L4_RECORD_TEXT);
		}
		if (o->state == OPEN_FREE)
			return o;
	}
	elog(ERROR, "no place for an open record, please report a bug");
	return NULL;
}

static void
start_open(L4RecordReader *r, int64 line_no, const char *raw, int raw_len, const L4Line *line,
		   L4OpenState state, L4RecordKind kind, L4RecordPlace *place)
{
	OpenRecord *o = new_open(r);

	memset(&o->rec, 0, sizeof(o->rec));
	o->rec.record_no = ++r->records;
	o->rec.line_no = line_no;
	o->rec.kind = kind;
	o->rec.msg = o->msg;
	o->rec.text = o->text;
	o->rec.rank = -1;
	o->state = state;
	o->key = line->key;
	o->part_key = line->part_key;
	o->logged = line->logged;
	o->indent = line->indent;
	o->started = r->lines;
	o->bytes = 0;
	o->foreign = 0;
	o->text_head = 0;
	o->rule = line->msg_len > 0 ? *line->msg : '\0';
	l4_record_set_message(o, line_no, line);
	add_text(o, raw, raw_len);
	r->nopen++;
	place_in(place, o->rec.record_no, line_no, true);
}

/* A line that is a record by itself, and how others may join it. */
static void
start_plain(L4RecordReader *r, L4Sub *sub, int64 line_no, const char *raw, int raw_len,
			const L4Line *line, L4RecordKind kind, L4Continuation cont, L4RecordPlace *place)
{
	L4Record   *rec = &r->plain;
	L4Tail	   *last = &sub->last;
	char		end = line->msg_len > 0 ? line->msg[line->msg_len - 1] : '\0';

	rec->record_no = ++r->records;
	rec->line_no = line_no;
	rec->message_line_no = line_no;
	rec->lines = 1;
	rec->kind = kind;
	rec->msg = line->msg;
	rec->msg_len = line->msg_len;
	rec->text = raw;
	rec->text_len = raw_len;
	if (raw_len > L4_RECORD_TEXT)
	{
		rec->text_len = l4_record_excerpt(raw, raw_len, r->excerpt);
		rec->text = r->excerpt;
	}
	rec->has_ts = line->has_ts;
	rec->ts = line->ts;
	rec->level = line->level;
	rec->rank = line->rank;
	rec->format_id = line->format_id;
	r->ready[r->nready++] = rec;

	start_tail(last, rec, r->lines, line->logged, cont);
	last->opens = end == ':' || end == ',' || end == '(' || end == '{' || end == '[';
	if (cont != CONT_NONE || line->level >= L4_LEVEL_ERROR)
		sub->special = *last;
	if (line->logged)
		r->logged++;
	else
		r->bare++;
	if (r->logged + r->bare >= 512)
	{
		r->logged /= 2;
		r->bare /= 2;
	}
	place_in(place, rec->record_no, line_no, true);
}

/* Does an open record of this writer take the line? The newest is asked first. */
static bool
join_open(L4RecordReader *r, int64 line_no, const char *raw, int raw_len, const L4Line *line,
		  L4LineKind kind, L4RecordPlace *place)
{
	int64		below = PG_INT64_MAX;

	for (;;)
	{
		OpenRecord *o = NULL;
		bool		done;
		bool		took;
		L4Continuation cont;

		for (int i = 0; i < L4_RECORD_MAX_OPEN; i++)
		{
			OpenRecord *c = r->open[i];

			if (c != NULL && c->state > OPEN_SETTLED && c->key == line->key && c->rec.record_no < below &&
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
		took = l4_record_feed_open(o, line_no, line, kind, &done, &cont);
		if (took)
		{
			if (kind != L4_LINE_BLANK)
				o->logged = o->logged && line->logged;
			add_text(o, raw, raw_len);
			place_in(place, o->rec.record_no, o->rec.line_no, false);
		}
		if (done)
			settle(r, o, cont);
		if (took)
			return true;
	}
}

/* The rest of a line that was cut: the message goes on where it stopped. */
static bool
join_cut(L4RecordReader *r, const char *raw, int raw_len, const L4Line *line, L4RecordPlace *place)
{
	OpenRecord *o = NULL;
	int			len;

	for (int i = 0; line->part != NULL && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL && r->open[i]->state == OPEN_CUT && r->open[i]->part_key == line->part_key)
			o = r->open[i];
	if (o == NULL)
		return false;
	len = Min(line->part_len, L4_RECORD_MSG - o->rec.msg_len);
	if (len < line->part_len)
		len = pg_mbcliplen(line->part, line->part_len, len);
	memcpy(o->msg + o->rec.msg_len, line->part, len);
	o->rec.msg_len += len;
	add_text(o, raw, raw_len);
	place_in(place, o->rec.record_no, o->rec.line_no, false);
	if (!line->cut)
		settle(r, o, CONT_NONE);
	return true;
}

/* A line that was cut, up to the end of its first part. */
static void
start_cut(L4RecordReader *r, int64 line_no, const char *raw, int raw_len, const L4Line *line, L4RecordPlace *place)
{
	L4Line		whole = *line;

	/* the blanks at its end are in the midst of the line */
	whole.msg_len = line->part + line->part_len - line->msg;
	start_open(r, line_no, raw, raw_len, &whole, OPEN_CUT, L4_RECORD_PLAIN, place);
}

/* "file.py:12: UserWarning: …": its source line follows. */
static bool
is_python_warning(const L4Line *line)
{
	return !line->logged && line->level == L4_LEVEL_WARNING &&
		l4_contains(line->msg, Min(line->msg_len, 400), "Warning: ");
}

/* The line starts a record. */
static void
start_record(L4RecordReader *r, L4Sub *sub, int64 line_no, const char *raw, int raw_len, const L4Line *line,
			 L4LineKind kind, L4RecordPlace *place)
{
	L4RecordKind rk = L4_RECORD_PLAIN;
	L4Continuation cont = CONT_NONE;
	L4OpenState open = OPEN_FREE;

	switch (kind)
	{
		case L4_LINE_TRACEBACK:
		case L4_LINE_FILE:
		case L4_LINE_SYNTAX:
			open = OPEN_TRACEBACK;
			rk = L4_RECORD_PYTHON;
			break;
		case L4_LINE_CHAIN:
			open = OPEN_CHAIN;
			rk = L4_RECORD_PYTHON;
			break;
		case L4_LINE_GROUP_HEAD:
			open = OPEN_GROUP;
			rk = L4_RECORD_PYTHON;
			break;
		case L4_LINE_TERMINATE:
			open = OPEN_TERMINATE;
			rk = L4_RECORD_FAULT;
			break;
		case L4_LINE_GLOG_ABORT:
			open = OPEN_GLOG;
			rk = L4_RECORD_FAULT;
			break;
		case L4_LINE_USAGE:
			open = line->logged ? OPEN_FREE : OPEN_USAGE;
			rk = L4_RECORD_REPORT;
			break;
		case L4_LINE_RULE:
			open = OPEN_RULE;
			break;
		case L4_LINE_RUST_PANIC:
			rk = L4_RECORD_FAULT;
			cont = CONT_RUST;
			if (line->msg[line->msg_len - 1] == ':')
				open = OPEN_RUST;
			break;
		case L4_LINE_FATAL_PYTHON:
		case L4_LINE_THREAD:
			rk = L4_RECORD_FAULT;
			cont = CONT_FAULT;
			break;
		case L4_LINE_GO_PANIC:
			rk = L4_RECORD_STACK;
			cont = CONT_GO;
			break;
		case L4_LINE_C_FRAME:
		case L4_LINE_RAISED:
		case L4_LINE_JAVA_FRAME:
		case L4_LINE_GO_FRAME:
			rk = L4_RECORD_STACK;
			break;
		case L4_LINE_GLOG_SIGNAL:
			rk = L4_RECORD_FAULT;
			break;
		default:
			if (line->level >= L4_LEVEL_WARNING && !line->logged)
				cont = l4_line_names_error(line->msg, line->msg_len) ? CONT_EXCEPTION :
					is_python_warning(line) ? CONT_WARNING : CONT_NONE;
	}
	if (kind == L4_LINE_TEXT && line->cut && line->part != NULL && line->msg >= line->part &&
		line->msg + line->msg_len <= line->part + line->part_len)
		start_cut(r, line_no, raw, raw_len, line, place);
	else if (open != OPEN_FREE)
		start_open(r, line_no, raw, raw_len, line, open, rk, place);
	else
		start_plain(r, sub, line_no, raw, raw_len, line, rk, cont, place);
}

void
l4_record_feed(L4RecordReader *r, int64 line_no, const char *raw, int raw_len, const L4Line *line,
			   L4RecordPlace *place)
{
	L4Sub	   *sub;
	L4LineKind	kind = l4_line_kind(line);

	r->lines++;
	release_settled(r);
	if (r->nopen > 0)
	{
		settle_overdue(r);
		if (r->nopen > 0 && (join_cut(r, raw, raw_len, line, place) ||
							 join_open(r, line_no, raw, raw_len, line, kind, place)))
			return;
	}
	sub = l4_record_sub(r, line->key);
	if (l4_record_join_settled(r, sub, raw, raw_len, line, kind, place))
		return;
	start_record(r, sub, line_no, raw, raw_len, line, kind, place);
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

int64
l4_record_oldest_open(const L4RecordReader *r)
{
	OpenRecord *o = oldest_open(r);

	return o != NULL ? o->rec.line_no : 0;
}
