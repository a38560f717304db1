/*
 * record_join.c
 *		Which line goes on with which record.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "lines/record_int.h"

/* Make the line the message of an open record. */
void
l4_record_set_message(OpenRecord *o, int64 line_no, const L4Line *line)
{
	o->rec.msg_len = line->msg_len > L4_RECORD_MSG ? pg_mbcliplen(line->msg, line->msg_len, L4_RECORD_MSG) : line->msg_len;
	memcpy(o->msg, line->msg, o->rec.msg_len);
	o->rec.message_line_no = line_no;
	if (line->has_ts)
	{
		o->rec.has_ts = true;
		o->rec.ts = line->ts;
	}
	if (line->rank >= 0)
		o->rec.rank = line->rank;
	o->rec.level = Max(o->rec.level, line->level);
	if (line->format_id != 0)
		o->rec.format_id = line->format_id;
}

/* In a traceback: frames, then the exception. True when the line belongs to it. */
static bool
feed_traceback(OpenRecord *o, int64 line_no, const L4Line *line, L4LineKind kind, bool *done)
{
	if (kind == L4_LINE_BLANK || kind == L4_LINE_CARET || kind == L4_LINE_FILE || kind == L4_LINE_SYNTAX ||
		kind == L4_LINE_BOX)
		return true;
	if (kind == L4_LINE_TRACEBACK || kind == L4_LINE_GROUP_HEAD)
		return false;			/* another one: this one waits */
	if (line->indent >= o->indent + 2)
		return true;
	if (kind == L4_LINE_CHAIN)
	{
		*done = true;
		return false;
	}
	if (l4_line_is_exception(line->msg, line->msg_len))
	{
		l4_record_set_message(o, line_no, line);
		*done = true;
		return true;
	}
	*done = ++o->foreign > L4_RECORD_FOREIGN;
	return false;
}

/* In an exception group: everything behind bars; the group's own exception is the message. */
static bool
feed_group(OpenRecord *o, int64 line_no, const L4Line *line, L4LineKind kind, bool *done)
{
	if (kind != L4_LINE_GROUP && kind != L4_LINE_BLANK)
	{
		*done = true;
		return false;
	}
	if (line->msg_len > 2 && line->msg[0] == '|' && line->msg[1] == ' ' && line->msg[2] != ' ' &&
		l4_line_is_exception(line->msg + 2, line->msg_len - 2))
	{
		/* without the bar */
		l4_record_set_message(o, line_no, line);
		o->rec.msg_len -= 2;
		memmove(o->msg, o->msg + 2, o->rec.msg_len);
		*done = true;
	}
	return true;
}

/* The title under a rule makes it a report. */
static bool
feed_banner(OpenRecord *o, int64 line_no, const L4Line *line, L4LineKind kind, bool *done)
{
	int			len = line->msg_len;

	*done = true;
	if (line->logged != o->logged || kind != L4_LINE_TEXT || len < 6 ||
		memcmp(line->msg + len - 6, "FAILED", 6) != 0)
		return false;
	l4_record_set_message(o, line_no, line);
	o->rec.kind = L4_RECORD_REPORT;
	o->rec.level = Max(o->rec.level, L4_LEVEL_ERROR);
	return true;
}

/* Usage text goes on indented and ends with "prog: error: …". */
static bool
feed_usage(OpenRecord *o, int64 line_no, const L4Line *line, L4LineKind kind, bool *done)
{
	if (kind == L4_LINE_BLANK || (line->indent > 0 && !line->logged))
		return true;
	*done = true;
	for (int i = 0; i + 9 <= line->msg_len && line->msg[i] != ' '; i++)
	{
		if (memcmp(line->msg + i, ": error: ", 9) == 0)
		{
			l4_record_set_message(o, line_no, line);
			o->rec.level = Max(o->rec.level, L4_LEVEL_ERROR);
			return true;
		}
	}
	return false;
}

/* Offer the line to one open record. True when it took the line; done when its message is final. */
bool
l4_record_feed_open(OpenRecord *o, int64 line_no, const L4Line *line, L4LineKind kind,
					bool *done, L4Continuation *cont)
{
	*done = false;
	*cont = CONT_EXCEPTION;
	switch (o->state)
	{
		case OPEN_TRACEBACK:
			return feed_traceback(o, line_no, line, kind, done);
		case OPEN_GROUP:
			*cont = CONT_GROUP;
			return feed_group(o, line_no, line, kind, done);
		case OPEN_CHAIN:
			if (kind == L4_LINE_BLANK)
				return true;
			if (kind == L4_LINE_TRACEBACK || kind == L4_LINE_GROUP_HEAD)
			{
				o->state = kind == L4_LINE_TRACEBACK ? OPEN_TRACEBACK : OPEN_GROUP;
				o->indent = line->indent;
				return true;
			}
			break;
		case OPEN_TERMINATE:
			if (kind == L4_LINE_BLANK)
				return true;
			*done = true;
			if (kind == L4_LINE_WHAT)
			{
				l4_record_set_message(o, line_no, line);
				return true;
			}
			return false;
		case OPEN_GLOG:
			*cont = CONT_NONE;
			if (kind == L4_LINE_C_FRAME)
				return true;
			*done = true;
			if (kind == L4_LINE_GLOG_SIGNAL)
			{
				l4_record_set_message(o, line_no, line);
				return true;
			}
			return false;
		case OPEN_RULE:
			*cont = CONT_REPORT;
			return feed_banner(o, line_no, line, kind, done);
		case OPEN_USAGE:
			*cont = CONT_NONE;
			return feed_usage(o, line_no, line, kind, done);
		case OPEN_RUST:
			*cont = CONT_RUST;
			*done = true;
			if (kind == L4_LINE_TEXT && o->rec.msg_len + 1 + line->msg_len <= L4_RECORD_MSG)
			{
				/* the place is on the first line, the reason on the second: one message */
				o->msg[o->rec.msg_len++] = ' ';
				memcpy(o->msg + o->rec.msg_len, line->msg, line->msg_len);
				o->rec.msg_len += line->msg_len;
				return true;
			}
			return false;
		default:
			break;
	}
	*done = true;
	return false;
}

/* Join a settled record. */
static bool
join(L4RecordReader *r, L4Tail *tail, const L4Line *line, L4LineKind kind, L4RecordPlace *place)
{
	tail->seen = r->lines;
	tail->joined++;
	tail->blank = kind == L4_LINE_BLANK;
	if (kind != L4_LINE_BLANK)
		tail->opens = line->msg[line->msg_len - 1] == ':';
	place->record_no = tail->record_no;
	place->record_line_no = tail->line_no;
	place->first = false;
	return true;
}

/*
 * Did a logger write the line, whereas the record's lines came without its prefix? Where each line of a stream has a time
 * in front and no level, the record's have it as well.
 */
static bool
is_from_logger(const L4Tail *t, const L4Line *line)
{
	return line->logged && !(t->logged && line->level == L4_LEVEL_NONE);
}

/* May text go on that follows an exception's line? */
static bool
continues_exception(L4RecordReader *r, L4Tail *t, const L4Line *line, L4LineKind kind)
{
	if (is_from_logger(t, line) || t->foreign > 0 || t->joined >= 100)
		return false;
	if (kind == L4_LINE_RULE && !t->blank)
	{
		t->cont = CONT_REPORT;
		t->rule = *line->msg;
		return true;
	}
	if (kind != L4_LINE_TEXT || t->blank)
		return false;
	if (line->indent > 0 || t->opens)
		return true;

	/* without indentation nothing but the style of the stream tells: do most records have a prefix? */
	return !line->logged && r->logged > r->bare && l4_level_guess(line->msg, line->msg_len) == L4_LEVEL_NONE;
}

/* "   4: core::panicking::panic_fmt": a launcher's label to the formats, a frame below a panic. */
static bool
is_rust_frame(const char *raw, int len)
{
	int			i = 0;
	int			digits = 0;

	while (i < len && raw[i] == ' ')
		i++;
	if (i > 0 && len - i > 3 && memcmp(raw + i, "at ", 3) == 0)
		return true;
	for (; i < len && raw[i] >= '0' && raw[i] <= '9'; i++)
		digits++;
	return i > digits && digits > 0 && i + 1 < len && raw[i] == ':' && raw[i + 1] == ' ';
}

static bool
continues_go(const L4Line *line, L4LineKind kind)
{
	if (line->logged)
		return false;
	return kind == L4_LINE_GO_FRAME || line->indent > 0 || line->msg[line->msg_len - 1] == ')' ||
		(line->msg_len > 8 && memcmp(line->msg, "[signal ", 8) == 0);
}

/* Does the line go on with a stack or report that is settled already? */
static bool
join_special(L4RecordReader *r, L4Tail *t, const char *raw, int raw_len, const L4Line *line,
			 L4LineKind kind, L4RecordPlace *place)
{
	bool		takes = false;

	switch (t->cont)
	{
		case CONT_EXCEPTION:
			takes = continues_exception(r, t, line, kind);
			break;
		case CONT_REPORT:
			takes = !is_from_logger(t, line) && t->joined < L4_RECORD_MAX_LINES && kind != L4_LINE_TRACEBACK;
			if (takes && kind == L4_LINE_RULE && *line->msg == t->rule)
			{
				t->cont = CONT_NONE;
				return join(r, t, line, kind, place);
			}
			break;
		case CONT_FAULT:
			takes = !is_from_logger(t, line) && (kind == L4_LINE_THREAD || kind == L4_LINE_MODULES || kind == L4_LINE_FILE ||
									  kind == L4_LINE_SYNTAX || (kind == L4_LINE_TEXT && line->indent > 0));
			break;
		case CONT_GROUP:
			takes = kind == L4_LINE_GROUP;
			break;
		case CONT_WARNING:
			takes = !line->logged && line->indent == 2 && t->joined == 0;
			break;
		case CONT_RUST:
			takes = kind == L4_LINE_RUST_NOTE || (!line->logged && is_rust_frame(raw, raw_len));
			break;
		case CONT_GO:
			takes = continues_go(line, kind);
			break;
		case CONT_NONE:
			return false;
	}
	if (takes)
		return join(r, t, line, kind, place);

	/* its own lines would have followed by now, but for those of others that came between */
	if (!line->logged || t->cont == CONT_EXCEPTION || t->cont == CONT_WARNING || ++t->foreign > L4_RECORD_FOREIGN)
		t->cont = CONT_NONE;
	return false;
}

/* Indented text below the line of a logger. Settings are events of their own, and so are lines of other programs. */
static bool
is_free_text(const L4Tail *t, const L4Line *line)
{
	if (line->logged || !t->logged || t->blank || line->indent < 2)
		return false;
	if (!(line->indent >= 4 || t->level >= L4_LEVEL_WARNING || t->opens))
		return false;
	if (memchr(line->msg, '|', line->msg_len) != NULL || strchr(">#*-=[{<", *line->msg) != NULL)
		return false;
	return line->level == L4_LEVEL_NONE && !l4_line_is_setting(line->msg, line->msg_len);
}

/* Does a settled record of this writer take the line? */
bool
l4_record_join_settled(L4RecordReader *r, L4Sub *sub, const char *raw, int raw_len,
					   const L4Line *line, L4LineKind kind, L4RecordPlace *place)
{
	L4Tail	   *last = &sub->last;
	L4Tail	   *special = &sub->special;
	bool		near = special->record_no > 0 && r->lines - special->seen <= L4_RECORD_MAX_LINES;

	if (sub != &r->unlabelled && r->unlabelled.special.cont == CONT_RUST && is_rust_frame(raw, raw_len))
		return join(r, &r->unlabelled.special, line, kind, place);
	if (last->record_no == 0 && special->record_no == 0)
		return false;
	if (kind == L4_LINE_BLANK)
	{
		if (special->record_no > last->record_no)
			last = special;
		else if (special->record_no == last->record_no)
			special->blank = true;
		return join(r, last, line, kind, place);
	}
	if (special->cont != CONT_NONE && near && join_special(r, special, raw, raw_len, line, kind, place))
		return true;
	switch (kind)
	{
		case L4_LINE_C_FRAME:
		case L4_LINE_RAISED:
		case L4_LINE_JAVA_FRAME:
		case L4_LINE_RUST_NOTE:
			if (!near)
				*special = *last;
			return join(r, special, line, kind, place);
		case L4_LINE_CAUSED:
		case L4_LINE_HINT:
		case L4_LINE_WHAT:
			return near && join(r, special, line, kind, place);
		case L4_LINE_TEXT:
			return is_free_text(last, line) && join(r, last, line, kind, place);
		default:
			return false;
	}
}
