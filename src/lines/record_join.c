/*
 * record_join.c
 *		Which line goes on with which record.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "base/ascii.h"
#include "lines/record_int.h"

/* Make the line the message of an open record. */
void
l4_record_set_message(OpenRecord *o, const L4Line *line)
{
	o->rec.msg_len = pg_mbcliplen(line->msg, line->msg_len, L4_RECORD_MSG);
	memcpy(o->msg, line->msg, o->rec.msg_len);
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

/* The line is the record's message, and its last line but for those that may join a settled record. */
static L4Feed
take_message(OpenRecord *o, const L4FedLine *fed, int level)
{
	l4_record_set_message(o, fed->line);
	o->rec.level = Max(o->rec.level, level);
	return FEED_TAKE_END;
}

/* In a traceback: frames, then the exception. Collectors that trim lines leave its code where its frames are. */
static L4Feed
feed_traceback(OpenRecord *o, const L4FedLine *fed)
{
	const L4Line *line = fed->line;
	bool		code = o->opens && !line->logged;

	o->opens = fed->kind == L4_LINE_FILE && line->indent <= o->indent;
	switch (fed->kind)
	{
		case L4_LINE_BLANK:
		case L4_LINE_CARET:
		case L4_LINE_FILE:
		case L4_LINE_SYNTAX:
		case L4_LINE_BOX:
			return FEED_TAKE;
		case L4_LINE_TRACEBACK:
		case L4_LINE_GROUP_HEAD:
			return FEED_PASS;	/* another one: this one waits */
		default:
			break;
	}
	if (line->indent >= o->indent + 2)
		return FEED_TAKE;
	if (fed->kind == L4_LINE_CHAIN)
		return FEED_END;
	if (l4_line_is_exception(line->msg, line->msg_len))
		return take_message(o, fed, L4_LEVEL_NONE);
	if (code)
		return FEED_TAKE;
	return ++o->foreign > L4_RECORD_FOREIGN ? FEED_END : FEED_PASS;
}

/* In an exception group: everything behind bars; the group's own exception is the message. */
static L4Feed
feed_group(OpenRecord *o, const L4FedLine *fed)
{
	const L4Line *line = fed->line;

	if (fed->kind != L4_LINE_GROUP && fed->kind != L4_LINE_BLANK)
		return FEED_END;
	if (line->msg_len <= 2 || line->msg[0] != '|' || line->msg[1] != ' ' || line->msg[2] == ' ' ||
		!l4_line_is_exception(line->msg + 2, line->msg_len - 2))
		return FEED_TAKE;
	/* without the bar */
	l4_record_set_message(o, line);
	o->rec.msg_len -= 2;
	memmove(o->msg, o->msg + 2, o->rec.msg_len);
	return FEED_TAKE_END;
}

/* Behind a chain's announcement: the next traceback. */
static L4Feed
feed_chain(OpenRecord *o, const L4FedLine *fed)
{
	if (fed->kind == L4_LINE_BLANK)
		return FEED_TAKE;
	if (fed->kind != L4_LINE_TRACEBACK && fed->kind != L4_LINE_GROUP_HEAD)
		return FEED_END;
	o->state = fed->kind == L4_LINE_TRACEBACK ? OPEN_TRACEBACK : OPEN_GROUP;
	o->indent = fed->line->indent;
	return FEED_TAKE;
}

/* The title under a rule makes it a report. */
static L4Feed
feed_banner(OpenRecord *o, const L4FedLine *fed)
{
	const L4Line *line = fed->line;

	if (line->logged != o->logged || fed->kind != L4_LINE_TEXT || !l4_ends_with(line->msg, line->msg_len, "FAILED"))
		return FEED_END;
	o->rec.kind = L4_RECORD_REPORT;
	return take_message(o, fed, L4_LEVEL_ERROR);
}

/* Usage text goes on indented and ends with "prog: error: …". */
static L4Feed
feed_usage(OpenRecord *o, const L4FedLine *fed)
{
	const L4Line *line = fed->line;

	if (fed->kind == L4_LINE_BLANK || (line->indent > 0 && !line->logged))
		return FEED_TAKE;
	for (int i = 0; i < line->msg_len && line->msg[i] != ' '; i++)
		if (l4_starts_with(line->msg + i, line->msg_len - i, ": error: "))
			return take_message(o, fed, L4_LEVEL_ERROR);
	return FEED_END;
}

/* The place of a panic is on the first line, the reason on the second: one message. */
static L4Feed
feed_panic(OpenRecord *o, const L4FedLine *fed)
{
	const L4Line *line = fed->line;

	if (fed->kind != L4_LINE_TEXT || o->rec.msg_len + 1 + line->msg_len > L4_RECORD_MSG)
		return FEED_END;
	o->msg[o->rec.msg_len++] = ' ';
	memcpy(o->msg + o->rec.msg_len, line->msg, line->msg_len);
	o->rec.msg_len += line->msg_len;
	return FEED_TAKE_END;
}

/* Offer the line to one open record. */
L4Feed
l4_record_feed_open(OpenRecord *o, const L4FedLine *fed)
{
	switch (o->state)
	{
		case OPEN_TRACEBACK:
			return feed_traceback(o, fed);
		case OPEN_GROUP:
			return feed_group(o, fed);
		case OPEN_CHAIN:
			return feed_chain(o, fed);
		case OPEN_TERMINATE:
			return fed->kind == L4_LINE_BLANK ? FEED_TAKE :
				fed->kind == L4_LINE_WHAT ? take_message(o, fed, L4_LEVEL_NONE) : FEED_END;
		case OPEN_GLOG:
			return fed->kind == L4_LINE_C_FRAME ? FEED_TAKE :
				fed->kind == L4_LINE_GLOG_SIGNAL ? take_message(o, fed, L4_LEVEL_NONE) : FEED_END;
		case OPEN_RULE:
			return feed_banner(o, fed);
		case OPEN_USAGE:
			return feed_usage(o, fed);
		case OPEN_RUST:
			return feed_panic(o, fed);
		default:
			return FEED_END;
	}
}

/* Join a settled record, or one that waits for its frames. */
static bool
join(L4RecordReader *r, L4Tail *tail, const L4FedLine *fed)
{
	for (int i = 0; r->nopen > 0 && fed->kind != L4_LINE_BLANK && i < L4_RECORD_MAX_OPEN; i++)
		if (r->open[i] != NULL && r->open[i]->state == OPEN_STACK && r->open[i]->rec.record_no == tail->record_no)
			l4_record_add_text(r->open[i], fed->line);
	tail->seen = r->lines;
	tail->joined++;
	tail->blank = fed->kind == L4_LINE_BLANK;
	if (!tail->blank)
		tail->opens = fed->line->msg[fed->line->msg_len - 1] == ':';
	*fed->place = (L4RecordPlace) {tail->record_no, tail->line_no, false};
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
is_rust_frame(const char *text, int len)
{
	int			i = 0;
	int			digits = 0;

	while (i < len && text[i] == ' ')
		i++;
	if (i > 0 && len - i > 3 && memcmp(text + i, "at ", 3) == 0)
		return true;
	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		digits++;
	return i > digits && digits > 0 && i + 1 < len && text[i] == ':' && text[i + 1] == ' ';
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
join_special(L4RecordReader *r, L4Tail *t, const L4FedLine *fed)
{
	const L4Line *line = fed->line;
	L4LineKind	kind = fed->kind;
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
				return join(r, t, fed);
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
			takes = line->logged == t->logged && line->indent == 2 && t->joined == 0;
			break;
		case CONT_RUST:
			takes = kind == L4_LINE_RUST_NOTE || (!line->logged && is_rust_frame(line->text, line->text_len));
			break;
		case CONT_GO:
			takes = continues_go(line, kind);
			break;
		case CONT_NONE:
			return false;
	}
	if (takes)
		return join(r, t, fed);

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

/* Does a panic of the same rank take a frame that looks labelled? */
bool
l4_record_join_panic(L4RecordReader *r, const L4FedLine *fed)
{
	L4Sub	   *bare;

	if (fed->line->key == 0 || !is_rust_frame(fed->line->text, fed->line->text_len))
		return false;
	bare = l4_record_sub(r, l4_writer_key(r, 0));
	return bare->special.cont == CONT_RUST && join(r, &bare->special, fed);
}

/* Does a settled record of this writer take the line? */
bool
l4_record_join_settled(L4RecordReader *r, L4Sub *sub, const L4FedLine *fed)
{
	const L4Line *line = fed->line;
	L4LineKind	kind = fed->kind;
	L4Tail	   *last = &sub->last;
	L4Tail	   *special = &sub->special;
	bool		near = special->record_no > 0 && r->lines - special->seen <= L4_RECORD_MAX_LINES;

	if (last->record_no == 0 && special->record_no == 0)
		return false;
	if (kind == L4_LINE_BLANK)
	{
		if (special->record_no > last->record_no)
			last = special;
		else if (special->record_no == last->record_no)
			special->blank = true;
		return join(r, last, fed);
	}
	if (special->cont != CONT_NONE && near && join_special(r, special, fed))
		return true;
	switch (kind)
	{
		case L4_LINE_C_FRAME:
		case L4_LINE_RAISED:
		case L4_LINE_JAVA_FRAME:
		case L4_LINE_RUST_NOTE:
			if (!near)
				*special = *last;
			return join(r, special, fed);
		case L4_LINE_CAUSED:
		case L4_LINE_HINT:
		case L4_LINE_WHAT:
			return near && join(r, special, fed);
		case L4_LINE_TEXT:
			return is_free_text(last, line) && join(r, last, fed);
		default:
			return false;
	}
}
