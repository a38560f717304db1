/*
 * lineformat.c
 *		Takes the prefix off a raw line.
 *
 * Prefixes nest: a collector's envelope around a launcher's prefix around what
 * the logger wrote. The formats are tried in order of priority on what is left
 * until one gives a level, which only a logger does, or none matches. The
 * outcome depends on the line and the rules, not on the lines before it; only
 * where no format matches do the prefixes of the stream count (streamprefix.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "base/ascii.h"
#include "lines/line_int.h"
#include "lines/lineformat.h"
#include "lines/streamprefix.h"

/* A prefix is looked for in so many bytes of a line. */
#define L4_PREFIX_SPAN 1024

/* A launcher's label is not longer than this. */
#define L4_LABEL_MAX 80

struct L4LineReader
{
	L4Rules    *rules;
	L4TsCache	ts_cache;
	L4TsFormat *iso;
	L4TsFormat *epoch;
	StringInfoData plain;			/* the line without escape sequences */
	StringInfoData nested[L4_MAX_PEEL];	/* what structured lines unescape to, by depth */
	StringInfoData condensed;
	const char *text;			/* what the structured wrapper of the line holds, or the line without its colours */
	int			text_len;
	L4StreamPrefix *known;		/* what is known of the stream's own prefixes, NULL for a line without stream */
	bool		learn;			/* the line has not been learnt from */
};

L4LineReader *
l4_line_reader_create(L4Rules *rules, L4StreamPrefix *known, MemoryContext cxt)
{
	L4LineReader *reader = MemoryContextAllocZero(cxt, sizeof(L4LineReader));
	MemoryContext old;

	reader->rules = rules;
	reader->known = known;
	reader->iso = l4_ts_compile("ISO8601", 7, cxt);
	reader->epoch = l4_ts_compile("EPOCH", 5, cxt);
	reader->ts_cache = (L4TsCache) {.day = -1, .hour = -1, .reference = GetCurrentTransactionStartTimestamp()};
	old = MemoryContextSwitchTo(cxt);
	initStringInfo(&reader->plain);
	initStringInfo(&reader->condensed);
	for (int i = 0; i < L4_MAX_PEEL; i++)
		initStringInfo(&reader->nested[i]);
	MemoryContextSwitchTo(old);
	return reader;
}

void
l4_line_reader_reference(L4LineReader *reader, TimestampTz reference)
{
	reader->ts_cache.reference = reference;
}

static int
part_number(const char *p, int len, int max_digits)
{
	int			v = 0;

	if (len == 0 || len > max_digits)
		return -1;
	for (int i = 0; i < len; i++)
	{
		if (!l4_ascii_digit(p[i]))
			return -1;
		v = v * 10 + (p[i] - '0');
	}
	return v;
}

static void
add_to_key(L4Line *out, const char *p, int len)
{
	out->key = hash_combine64(out->key, hash_bytes_extended((const unsigned char *) p, len, 0)) | 1;
}

/* How much of the line the formats see: its first line, at most L4_PREFIX_SPAN bytes, whole characters. */
static int
prefix_span(const char *p, int len)
{
	int			n = Min(len, L4_PREFIX_SPAN);
	const char *nl = memchr(p, '\n', n);

	if (nl != NULL)
		return nl - p;
	if (n < len)
		n = pg_mbcliplen(p, len, n);
	return n;
}

/* The formats that a line has had so far. */
typedef struct UsedFormats
{
	bool		named;			/* prefixes that no format describes: one with the node's name, */
	bool		learnt;			/* and one that was learnt */
	int			n;
	int			number[L4_MAX_PEEL];
} UsedFormats;

static inline bool
is_used(const UsedFormats *used, int number)
{
	for (int i = 0; i < used->n; i++)
		if (used->number[i] == number)
			return true;
	return false;
}

/* The first format that matches and is not in used; -1 none. */
static int
search_format(L4Rules *rules, const char *p, int len, const UsedFormats *used)
{
	const int  *list = rules->by_byte[len > 0 ? (unsigned char) *p : 0];

	for (; *list >= 0; list++)
		if ((used == NULL || !is_used(used, *list)) && l4_regex_exec(rules->formats[*list].re, p, len, 0) > 0)
			return *list;
	return -1;
}

/*
 * The format of a line and where its fields are. A launcher's prefix is not
 * taken twice: "0: 1: x" has one label.
 */
static int
find_format(L4Rules *rules, const char *p, int len, const UsedFormats *used, L4Fields *fields)
{
	const L4KnownPrefix *known = l4_foldmemo_find(rules->memo, p, len);
	int			number;

	if (known != NULL && known->format < 0)
		return -1;
	if (known != NULL && !is_used(used, known->format))
	{
		*fields = known->fields;
		return known->format;
	}
	number = search_format(rules, p, len, NULL);
	if (number >= 0 && is_used(used, number))
		number = search_format(rules, p, len, used);
	else
		l4_memo_learn(rules->memo, rules, p, len, number);
	if (number >= 0)
		l4_memo_fields(&rules->formats[number], rules->formats[number].re, p, fields);
	return number;
}

/*
 * Who wrote the line, and from where. What a launcher or a collector says of
 * that tells writers apart.
 */
static void
use_writer(const L4Span *field, bool launcher, L4Line *out)
{
	int			rank;

	if (field[L4_FIELD_RANK].text != NULL &&
		(rank = part_number(field[L4_FIELD_RANK].text, field[L4_FIELD_RANK].len, 8)) >= 0)
		out->rank = rank;
	if (field[L4_FIELD_HOST].text != NULL)
	{
		out->host = field[L4_FIELD_HOST].text;
		out->host_len = field[L4_FIELD_HOST].len;
	}
	if (field[L4_FIELD_PID].text != NULL)
		out->pid = part_number(field[L4_FIELD_PID].text, field[L4_FIELD_PID].len, 9);
	if (field[L4_FIELD_COMPONENT].text != NULL)
	{
		out->component = field[L4_FIELD_COMPONENT].text;
		out->component_len = field[L4_FIELD_COMPONENT].len;
	}
	for (int f = L4_FIELD_RANK; f <= L4_FIELD_COMPONENT && launcher; f++)
		if (field[f].text != NULL)
			add_to_key(out, field[f].text, field[f].len);
}

/* Take over what the format captured and go on behind it; true when it gave a level. */
static bool
use_format(L4LineReader *reader, const L4Format *format, const L4Fields *fields,
		   const char **p, int *len, L4Line *out)
{
	L4Span		field[L4_NFIELDS];
	int			start = fields->start[L4_FIELD_MESSAGE];
	bool		has_level;
	TimestampTz ts;

	for (int f = 0; f < L4_NFIELDS; f++)
	{
		field[f].text = fields->end[f] > fields->start[f] ? *p + fields->start[f] : NULL;
		field[f].len = fields->end[f] - fields->start[f];
	}
	has_level = field[L4_FIELD_LEVEL].text != NULL;
	if (format->ts != NULL && field[L4_FIELD_TS].text != NULL &&
		l4_ts_parse(format->ts, &reader->ts_cache, field[L4_FIELD_TS].text, field[L4_FIELD_TS].len, &ts))
	{
		out->ts = ts;
		out->has_ts = true;
		out->logged |= !format->launcher;
	}
	out->logged |= has_level;
	if (has_level && fields->level != L4_LEVEL_NONE)
		out->level = fields->level;
	use_writer(field, format->launcher && !has_level, out);
	if (field[L4_FIELD_PART].text != NULL)
	{
		out->cut = *field[L4_FIELD_PART].text == 'P';
		out->part = *p + start;
		out->part_len = *len - start;
		out->part_key = out->key;
	}
	out->format_id = format->id;
	*len = (format->to_the_end ? *len : fields->end[L4_FIELD_MESSAGE]) - start;
	*p += start;
	return has_level;
}

/*
 * Learn from a line that no format matches, or from one where a format passes
 * over words in front of the time.
 */
static void
learn_prefix(L4LineReader *reader, const char *p, int len, const L4Fields *fields)
{
	int			ends[L4_PREFIX_WORDS];
	bool		formatted[L4_PREFIX_WORDS];
	int			n;

	if (reader->known == NULL || !reader->known->learning || !reader->learn)
		return;
	n = l4_prefix_words(p, len, ends);
	for (int i = 0; i < n; i++)
	{
		int			number;

		if (fields != NULL && ends[i] > fields->start[L4_FIELD_TS])
			n = i;
		else if (fields != NULL)
			formatted[i] = true;
		else
		{
			/* a bare time proves nothing */
			number = l4_prefix_candidate(p, ends, i) ? search_format(reader->rules, p + ends[i], len - ends[i], NULL) : -1;
			formatted[i] = number >= 0 && (reader->rules->formats[number].ts != NULL || reader->rules->formats[number].group[L4_FIELD_LEVEL] > 0);
		}
	}
	if (n == 0)
		return;
	l4_prefix_learn(reader->known, p, len, n, ends, formatted);
	reader->learn = false;
}

/*
 * Peel a prefix that no format describes but the stream's lines have. One that was learnt goes before any format; behind the node's name
 * there may be one to be learnt.
 */
static bool
peel_stream_prefix(L4LineReader *reader, int span, bool learnt, const char **p, int *len, UsedFormats *used, L4Line *out)
{
	int			rank;
	int			n;

	if (reader->known == NULL || used->learnt || (used->named && !learnt) || span == 0)
		return false;
	n = l4_prefix_length(reader->known, *p, span, learnt, &rank);
	if (n == 0)
		return false;
	*(learnt ? &used->learnt : &used->named) = true;
	if (learnt && reader->learn && reader->known->learning)
		l4_prefix_pass(reader->known, false);
	reader->learn &= !learnt;
	if (rank >= 0)
		out->rank = rank;
	add_to_key(out, *p, n);
	out->format_id = L4_FORMAT_PREFIX;
	*p += n;
	*len -= n;
	return true;
}

/* Take over what a structured line says; its message is what is left. */
static void
use_structured(L4LineReader *reader, const L4Structured *s, int id, const char **p, int *len, L4Line *out)
{
	const L4Span *when = &s->field[L4_FIELD_TS];
	const L4Span *level = &s->field[L4_FIELD_LEVEL];
	TimestampTz ts;

	if (when->text != NULL &&
		(l4_ts_parse(reader->iso, &reader->ts_cache, when->text, when->len, &ts) ||
		 l4_ts_parse(reader->epoch, &reader->ts_cache, when->text, when->len, &ts)))
	{
		out->ts = ts;
		out->has_ts = true;
	}
	if (level->text != NULL)
	{
		out->level = l4_level_of(level->text, level->len);
		out->logged = !s->wrapper;
	}
	use_writer(s->field, s->wrapper, out);
	out->format_id = id;
	out->part = NULL;
	*p = s->field[L4_FIELD_MESSAGE].text;
	*len = s->field[L4_FIELD_MESSAGE].len;
}

/* Peel one layer. False when nothing is left to peel. */
static bool
peel_layer(L4LineReader *reader, int depth, const char **p, int *len, UsedFormats *used, L4Line *out)
{
	int			span;
	int			number;
	L4Fields	fields;
	L4Structured s;
	L4Wiped		wiped;

	if (*len > 1 && **p == '{' && ((*p)[1] == '"' || l4_ascii_blank((*p)[1])) &&
		l4_json_line(*p, *len, &reader->nested[depth], &s))
	{
		use_structured(reader, &s, L4_FORMAT_JSON, p, len, out);
		l4_terminal_show(&reader->plain, p, len, &wiped);
		/* several lines in one stay as they are, for lines are counted in texts of records */
		if (s.wrapper && memchr(*p, '\n', *len) == NULL)
		{
			reader->text = *p;
			reader->text_len = *len;
		}
		return s.wrapper;
	}
	span = prefix_span(*p, *len);
	if (reader->known != NULL && reader->known->nprefixes > 0 && peel_stream_prefix(reader, span, true, p, len, used, out))
		return true;
	number = find_format(reader->rules, *p, span, used, &fields);
	if (number < 0 && peel_stream_prefix(reader, span, false, p, len, used, out))
		return true;
	/* what names the host is whole */
	if (number < 0 || (reader->rules->formats[number].ts != NULL && reader->rules->formats[number].group[L4_FIELD_HOST] == 0))
		learn_prefix(reader, *p, span, number < 0 ? NULL : &fields);
	if (number >= 0)
	{
		used->number[used->n++] = number;
		return !use_format(reader, &reader->rules->formats[number], &fields, p, len, out);
	}
	if (*len > 8 && (*p)[*len - 1] != ':' && memchr(*p, '=', Min(*len, 24)) != NULL &&
		l4_logfmt_line(*p, *len, &reader->nested[depth], &s))
	{
		use_structured(reader, &s, L4_FORMAT_KEY_VALUE, p, len, out);
		return false;
	}
	return false;
}

/*
 * "[rank 3] ", "[rank: 3] ", "[Rank 3]: ": what many trainers put in front of the message
 * itself. Capitalised it is part of PyTorch's own messages and stays.
 */
static void
peel_rank(const char **p, int *len, L4Line *out)
{
	const char *s = *p;
	const char *end = s + *len;
	int			rank = 0;

	if (end - s < 7 || *s != '[' || (s[1] | 0x20) != 'r' || (s[2] | 0x20) != 'a' ||
		(s[3] | 0x20) != 'n' || (s[4] | 0x20) != 'k')
		return;
	s += 5;
	if (*s == ' ' || *s == '=' || *s == '_' || *s == '-' || *s == ':')
		s++;
	if (s < end && *s == ' ' && s[-1] == ':')
		s++;
	if (s == end || !l4_ascii_digit(*s))
		return;
	for (; s < end && l4_ascii_digit(*s) && rank < 10000000; s++)
		rank = rank * 10 + (*s - '0');
	if (s == end || *s != ']')
		return;
	s++;
	if (s < end && *s == ':')
		s++;
	if (s < end && !l4_ascii_blank(*s))
		return;
	if (out->rank < 0)
		out->rank = rank;
	if ((*p)[1] == 'R' && (*p)[2] == 'a')
		return;
	*p = s;
	*len = end - s;
}

/*
 * A row of several lines: the message is the first one, and the exception at
 * the end when a traceback is among them.
 */
static void
condense(L4LineReader *reader, const char **p, int *len)
{
	const char *s = *p;
	const char *end = s + *len;
	const char *nl = memchr(s, '\n', *len);
	const char *last = NULL;
	const char *last_end = NULL;
	bool		traceback = false;
	const char *stop;

	if (nl == NULL)
		return;
	for (const char *line = s; line < end; line = stop + 1)
	{
		CHECK_FOR_INTERRUPTS();
		stop = memchr(line, '\n', end - line);
		if (stop == NULL)
			stop = end;
		if (stop - line >= 34 && memcmp(line, "Traceback (most recent call last):", 34) == 0)
			traceback = true;
		else if (traceback && stop > line && l4_exception_name(line, stop - line) > 0)
		{
			last = line;
			last_end = stop;
		}
	}
	if (last == NULL)
	{
		*len = nl - s;
		return;
	}
	resetStringInfo(&reader->condensed);
	if (nl - s < 34 || memcmp(s, "Traceback (most recent call last):", 34) != 0)
	{
		appendBinaryStringInfo(&reader->condensed, s, nl - s);
		while (reader->condensed.len > 0 && l4_ascii_blank(reader->condensed.data[reader->condensed.len - 1]))
			reader->condensed.len--;
		appendBinaryStringInfo(&reader->condensed, ": ", 2);
	}
	appendBinaryStringInfo(&reader->condensed, last, last_end - last);
	*p = reader->condensed.data;
	*len = reader->condensed.len;
}

static void
clear_line(L4Line *out)
{
	memset(out, 0, sizeof(*out));
	out->rank = -1;
	out->pid = -1;
}

/* A double bar between a label and what was labelled belongs to neither: "[host] [rank=3] || message". */
static void
skip_double_bar(const char **p, int *len)
{
	if (*len < 2 || (*p)[0] != '|' || (*p)[1] != '|' || (*len > 2 && (*p)[2] != ' '))
		return;
	*p += Min(*len, 3);
	*len -= Min(*len, 3);
}

static void
peel_layers(L4LineReader *reader, const char **p, int *len, L4Line *out)
{
	UsedFormats used;

	used.n = 0;
	used.named = used.learnt = false;
	for (int depth = 0; depth < L4_MAX_PEEL && *len > 0; depth++)
	{
		if (!peel_layer(reader, depth, p, len, &used, out))
			break;
		skip_double_bar(p, len);
	}
}

/* What a launcher printed in front of a bar is true of what came over the bar as well. */
static void
peel_label(L4LineReader *reader, const L4Wiped *wiped, L4Line *out)
{
	const char *p = wiped->first;
	int			len = wiped->first_len;

	if (len == 0 || len > L4_LABEL_MAX || memchr(p, '{', len) != NULL)
		return;
	peel_layers(reader, &p, &len, out);
	while (len > 0 && l4_ascii_blank(*p))
	{
		p++;
		len--;
	}
	if (len > 0)
		clear_line(out);
}

/* A bar that nothing ended stands in front of what was printed next: that is the message, with a prefix of its own. */
static void
peel_bar(L4LineReader *reader, const char **p, int *len, L4Line *out)
{
	int			bar;

	while ((bar = l4_bar_length(*p, *len)) > 0 && bar < *len)
	{
		out->bar = *p;
		out->bar_len = bar;
		*p += bar;
		*len -= bar;
		if (!out->logged)
			peel_layers(reader, p, len, out);
	}
}

void
l4_line_peel(L4LineReader *reader, const char *line, int line_len, L4Line *out)
{
	const char *p = line;
	int			len = line_len;
	L4Wiped		wiped;

	clear_line(out);
	reader->text = line;
	reader->text_len = line_len;
	l4_terminal_show(&reader->plain, &p, &len, &wiped);
	/* what is wrapped in JSON comes into the same buffer */
	if (p != line && len > 0 && *p != '{' && memchr(line, '\r', line_len) == NULL)
	{
		reader->text = p;
		reader->text_len = len;
	}
	reader->learn = false;
	if (wiped.first_len > 0)
		peel_label(reader, &wiped, out);
	reader->learn = len > 0;
	peel_layers(reader, &p, &len, out);
	if (reader->known != NULL && reader->known->learning && reader->learn)
		l4_prefix_pass(reader->known, true);
	reader->learn = false;
	out->bar = wiped.bar;
	out->bar_len = wiped.bar_len;
	peel_bar(reader, &p, &len, out);
	if (len > 0 && *p == '[')
		peel_rank(&p, &len, out);
	while (len > 0 && l4_ascii_blank(*p) && *p != '\n')
	{
		out->indent += *p == '\t' ? 4 : 1;
		p++;
		len--;
	}
	if (len > 0 && *p == '[')
		peel_rank(&p, &len, out);
	while (len > 0 && l4_ascii_blank(*p))
	{
		p++;
		len--;
	}
	while (len > 0 && l4_ascii_blank(p[len - 1]))
		len--;
	condense(reader, &p, &len);
	if (out->level == L4_LEVEL_NONE)
		out->level = l4_level_guess(p, len);
	out->msg = p;
	out->msg_len = len;
	out->text = reader->text;
	out->text_len = reader->text_len;
	if (out->part != NULL)
	{
		/* what is painted over is shown bar by bar; the blanks at the end of a part are in the midst of a line */
		if (memchr(line, '\r', line_len) != NULL)
			out->part = NULL;
		else if (out->part >= line && out->part <= line + line_len)
			out->part_len = line + line_len - out->part;
	}
}
