/*
 * structured.c
 *		Lines that are data: a JSON object, or logfmt.
 *
 * Only the top level is taken apart; what a member nests is copied as it is.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "lines/line_int.h"

/* Members looked at; the rest of a wider object is left away. */
#define L4_MAX_MEMBERS 64

/* Nesting of arrays and objects that is still believed to be JSON. */
#define L4_MAX_NESTING 64

/* What a member is for: an L4Field, or one of these. */
enum
{
	ROLE_REST = L4_NFIELDS,
	ROLE_ERROR,					/* text of an exception, many lines */
	ROLE_DROP					/* metadata of collectors */
};

typedef struct KeyValue
{
	const char *key;
	int			key_len;
	const char *val;			/* of a string: without the quotes */
	int			val_len;
	bool		string;
	bool		escaped;		/* the string has backslashes */
	int			role;
	int			prefer;			/* the lower, the better when several members play a role */
} KeyValue;

/* Names of keys by what they are for. Within a role the earlier name wins. */
static const struct
{
	int			role;
	const char *names;
}			key_names[] = {
	{L4_FIELD_MESSAGE, "message msg MESSAGE log short_message @message event text body line textPayload"},
	{L4_FIELD_LEVEL, "level levelname severity lvl log_level loglevel log.level severity_text @level levelno PRIORITY"},
	{L4_FIELD_TS, "timestamp @timestamp ts time asctime datetime date t __REALTIME_TIMESTAMP created"},
	{L4_FIELD_RANK, "rank global_rank RANK process_index"},
	{L4_FIELD_HOST, "host hostname node node_name _HOSTNAME pod pod_name host.name"},
	{L4_FIELD_PID, "pid process _PID"},
	{L4_FIELD_COMPONENT, "logger name logger_name component module caller SYSLOG_IDENTIFIER"},
	{L4_FIELD_STREAM, "stream"},
	{ROLE_ERROR, "exc_info exception exc_text traceback stack_trace stacktrace error.stack_trace"},
	{ROLE_DROP, "kubernetes docker @version tag _p container_id container_name lineno pathname filename funcName "
	"func_name thread threadName processName msecs relativeCreated logtag taskName"},
};

/* The names by length and first byte; made when first asked for. */
#define NAME_PLACES 128

typedef struct KeyName
{
	const char *name;
	int			len;
	int			role;
	int			prefer;
	struct KeyName *next;		/* of the same place */
} KeyName;

static KeyName *name_places[NAME_PLACES];

static inline KeyName **
name_place(const char *key, int len)
{
	return &name_places[(unsigned) (*key * 5 + len) % NAME_PLACES];
}

static void
prepare_names(void)
{
	for (int i = 0; i < lengthof(key_names); i++)
		for (const char *name = key_names[i].names; *name; name += strspn(name, " "))
		{
			KeyName    *new = MemoryContextAlloc(TopMemoryContext, sizeof(KeyName));
			KeyName   **place;

			new->name = name;
			new->len = strcspn(name, " ");
			new->role = key_names[i].role;
			new->prefer = name - key_names[i].names;
			place = name_place(name, new->len);
			new->next = *place;
			*place = new;
			name += new->len;
		}
}

static inline const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && l4_ascii_blank(*p))
		p++;
	return p;
}

/* End of a JSON string whose first byte behind the quote is p: the closing quote, NULL when there is none. */
static const char *
string_end(const char *p, const char *end, bool *escaped)
{
	const char *quote = memchr(p, '"', end - p);

	/* a quote is looked for anew only behind one that was escaped: a string of escapes is read once */
	while (quote != NULL)
	{
		const char *back = memchr(p, '\\', quote - p);

		CHECK_FOR_INTERRUPTS();
		if (back == NULL)
			return quote;
		*escaped = true;
		p = back + 2;
		if (p > quote)
			quote = memchr(p, '"', end - p);
	}
	return NULL;
}

/* End of a value that is no string: a number, a word, or brackets that close. */
static const char *
value_end(const char *p, const char *end)
{
	const char *start = p;
	int			depth = 0;
	bool		escaped = false;

	for (; p < end; p++)
	{
		CHECK_FOR_INTERRUPTS();
		if (*p == '"')
		{
			p = string_end(p + 1, end, &escaped);
			if (p == NULL || depth == 0)
				return NULL;
		}
		else if (*p == '{' || *p == '[')
		{
			if (++depth > L4_MAX_NESTING || (depth == 1 && p > start))
				return NULL;
		}
		else if ((*p == '}' || *p == ']') && depth > 0)
		{
			if (--depth == 0)
				return p + 1;
		}
		else if (depth == 0)
		{
			if (*p == ',' || *p == '}' || l4_ascii_blank(*p))
				break;
			if (!l4_ascii_digit(*p) && !l4_ascii_letter(*p) && *p != '-' && *p != '+' && *p != '.')
				return NULL;
		}
	}
	return depth == 0 && p > start ? p : NULL;
}

/* A time stamp has a date, or nine digits of seconds; "time" is also what a step took. */
static bool
may_be_ts(const char *p, int len)
{
	int			digits = 0;

	for (int i = 0; i < len && p[i] != '.' && digits < 8; i++)
		digits += l4_ascii_digit(p[i]);
	return digits >= 8;
}

static void
find_role(KeyValue *m)
{
	static bool prepared = false;

	if (!prepared)
		prepare_names();
	prepared = true;
	m->role = ROLE_REST;
	for (const KeyName *k = *name_place(m->key, m->key_len); k != NULL; k = k->next)
		if (k->len == m->key_len && memcmp(k->name, m->key, k->len) == 0 &&
			(k->role != L4_FIELD_TS || may_be_ts(m->val, m->val_len)))
		{
			m->role = k->role;
			m->prefer = k->prefer;
		}
}

/* Split the object into members; -1 when the line is not one JSON object. */
static int
json_members(const char *p, const char *end, KeyValue *members)
{
	int			n = 0;

	p = skip_blanks(p + 1, end);
	if (p < end && *p == '}')
		return skip_blanks(p + 1, end) == end ? 0 : -1;
	while (p < end)
	{
		KeyValue		m;
		bool		key_escaped = false;

		CHECK_FOR_INTERRUPTS();
		memset(&m, 0, sizeof(m));
		if (*p != '"')
			return -1;
		m.key = ++p;
		if ((p = string_end(p, end, &key_escaped)) == NULL)
			return -1;
		m.key_len = p - m.key;
		p = skip_blanks(p + 1, end);
		if (p == end || *p != ':')
			return -1;
		p = skip_blanks(p + 1, end);
		m.string = p < end && *p == '"';
		m.val = m.string ? p + 1 : p;
		p = m.string ? string_end(p + 1, end, &m.escaped) : value_end(p, end);
		if (p == NULL)
			return -1;
		m.val_len = p - m.val;
		if (m.string)
			p++;
		if (m.key_len > 0 && n < L4_MAX_MEMBERS)
		{
			find_role(&m);
			members[n++] = m;
		}
		p = skip_blanks(p, end);
		if (p < end && *p == '}')
			return skip_blanks(p + 1, end) == end ? n : -1;
		if (p == end || *p != ',')
			return -1;
		p = skip_blanks(p + 1, end);
	}
	return -1;
}

/* Four hexadecimal digits, -1 when there are none. */
static int
hex_value(const char *p, const char *end)
{
	char		digits[5] = "";

	if (end - p < 4)
		return -1;
	memcpy(digits, p, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int) strtol(digits, NULL, 16) : -1;
}

/* Add the character that \uXXXX at *p (behind the u) stands for, in the encoding of the database. */
static void
add_unicode(StringInfo buf, const char **p, const char *end)
{
	int			c = hex_value(*p, end);
	unsigned char utf8[8];

	if (c < 0)
	{
		appendBinaryStringInfo(buf, "?", 1);
		return;
	}
	*p += 4;
	if (c >= 0xD800 && c < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u')
	{
		int			low = hex_value(*p + 2, end);

		if (low >= 0xDC00 && low < 0xE000)
		{
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
			*p += 6;
		}
	}
	if (c == 0x1B || c == 0x0A || c == 0x09)
		utf8[0] = c;			/* an escape sequence or a line end: dealt with later */
	else if (c < 0x20)
		utf8[0] = ' ';
	else if (c < 0x80)
		utf8[0] = c;
	else if (GetDatabaseEncoding() != PG_UTF8 || (c >= 0xD800 && c < 0xE000))
		utf8[0] = '?';
	else
	{
		unicode_to_utf8(c, utf8);
		appendBinaryStringInfo(buf, (char *) utf8, pg_utf_mblen(utf8));
		return;
	}
	appendBinaryStringInfo(buf, (char *) utf8, 1);
}

/* Add the value of a string, its escapes resolved. */
static void
add_unescaped(StringInfo buf, const char *p, int len)
{
	static const char escapes[] = "nrtbf";
	static const char meanings[] = "\n\r\t  ";
	const char *end = p + len;

	while (p < end)
	{
		const char *back = memchr(p, '\\', end - p);

		if (back == NULL || back + 1 == end)
		{
			appendBinaryStringInfo(buf, p, end - p);
			return;
		}
		appendBinaryStringInfo(buf, p, back - p);
		p = back + 2;
		CHECK_FOR_INTERRUPTS();
		if (back[1] == 'u')
			add_unicode(buf, &p, end);
		else
		{
			const char *known = back[1] ? strchr(escapes, back[1]) : NULL;

			appendBinaryStringInfo(buf, known ? &meanings[known - escapes] : &back[1], 1);
		}
	}
}

static void
add_value(StringInfo buf, const KeyValue *m)
{
	if (m->escaped)
		add_unescaped(buf, m->val, m->val_len);
	else
		appendBinaryStringInfo(buf, m->val, m->val_len);
}

/* The last line of an exception's text that is not indented: the exception itself. */
static void
add_exception(StringInfo buf, const KeyValue *m)
{
	int			start = buf->len;
	int			line = -1;
	int			line_end = 0;

	add_value(buf, m);
	for (int i = start; i < buf->len;)
	{
		int			stop = i;

		CHECK_FOR_INTERRUPTS();
		while (stop < buf->len && buf->data[stop] != '\n')
			stop++;
		if (stop > i && !l4_ascii_blank(buf->data[i]))
		{
			line = i;
			line_end = stop;
		}
		i = stop + 1;
	}
	if (line >= 0)
	{
		memmove(buf->data + start, buf->data + line, line_end - line);
		buf->len = start + line_end - line;
	}
}

/* Put the message together: it, an exception's line, what is left as key=value. */
static void
build_message(const KeyValue *members, int n, const KeyValue *msg, bool rest, StringInfo buf, L4Structured *out)
{
	L4Span	   *text = &out->field[L4_FIELD_MESSAGE];

	if (msg != NULL)
		add_value(buf, msg);
	while (buf->len > 0 && l4_ascii_blank(buf->data[buf->len - 1]))
		buf->len--;
	for (int i = 0; rest && i < n; i++)
	{
		const KeyValue *m = &members[i];

		if (m->role == ROLE_ERROR && m->val_len > 0 && m->string)
		{
			if (buf->len > 0)
				appendBinaryStringInfo(buf, ": ", 2);
			add_exception(buf, m);
		}
		else if ((m->role == ROLE_REST || (m->role == L4_FIELD_MESSAGE && m != msg)) && m->key[0] != '_')
		{
			if (buf->len > 0)
				appendBinaryStringInfo(buf, " ", 1);
			appendBinaryStringInfo(buf, m->key, m->key_len);
			appendBinaryStringInfo(buf, "=", 1);
			add_value(buf, m);
		}
	}
	text->text = buf->data;
	text->len = buf->len;
}

static bool
is_key(const KeyValue *m, const char *key)
{
	return m->key_len == (int) strlen(key) && memcmp(m->key, key, m->key_len) == 0;
}

/* Numbers of levels from 10 to 60 are those of Node.js's loggers, of which 30 is no warning, but under Python's name. */
static void
name_level(const KeyValue *m, L4Span *level)
{
	static const char *const names[] = {"trace", "debug", "info", "warn", "error", "fatal"};

	if (m->val_len != 2 || m->val[0] < '1' || m->val[0] > '6' || m->val[1] != '0' || is_key(m, "levelno"))
		return;
	level->text = names[m->val[0] - '1'];
	level->len = strlen(level->text);
}

/* A collector says when and where from a line is; a logger also at which level, and what it measures. */
static bool
is_collected(const KeyValue *members, int n)
{
	bool		ts = false;

	for (int i = 0; i < n; i++)
	{
		const KeyValue *m = &members[i];

		if (m->role == L4_FIELD_LEVEL || m->role == ROLE_ERROR ||
			(m->role == ROLE_REST && !m->string && (l4_ascii_digit(*m->val) || *m->val == '-')))
			return false;
		ts |= m->role == L4_FIELD_TS;
	}
	return ts;
}

/* From members to fields; of a collector or a logger. */
static void
use_members(KeyValue *members, int n, bool collected, StringInfo buf, L4Structured *out)
{
	const KeyValue *best[L4_NFIELDS] = {NULL};
	const KeyValue *msg;

	for (int i = 0; i < n; i++)
	{
		const KeyValue *m = &members[i];

		if (m->role < L4_NFIELDS && (m->role != L4_FIELD_MESSAGE || m->string) &&
			(best[m->role] == NULL || m->prefer < best[m->role]->prefer))
			best[m->role] = m;
	}
	for (int f = 0; f < L4_NFIELDS; f++)
	{
		if (best[f] == NULL)
			continue;
		out->field[f].text = best[f]->val;
		out->field[f].len = best[f]->val_len;
	}
	if (best[L4_FIELD_LEVEL] != NULL)
		name_level(best[L4_FIELD_LEVEL], &out->field[L4_FIELD_LEVEL]);

	/*
	 * docker's "log", journald's "MESSAGE" and Google Cloud's "textPayload"
	 * hold a raw line; their other members are about the collector. The
	 * severity of a textPayload is that of the stream, an error for all of
	 * stderr: no level.
	 */
	msg = best[L4_FIELD_MESSAGE];
	if (msg != NULL && is_key(msg, "textPayload"))
		out->field[L4_FIELD_LEVEL].text = NULL;
	out->wrapper = msg != NULL && (collected || is_key(msg, "textPayload") || is_key(msg, "log") ||
								   is_key(msg, "MESSAGE") || best[L4_FIELD_STREAM] != NULL);
	build_message(members, n, msg, !out->wrapper, buf, out);
}

bool
l4_json_line(const char *line, int len, StringInfo buf, L4Structured *out)
{
	KeyValue		members[L4_MAX_MEMBERS];
	const char *end = line + len;
	int			n;

	memset(out, 0, sizeof(*out));
	resetStringInfo(buf);
	while (end > line && l4_ascii_blank(end[-1]))
		end--;
	if (end - line < 2 || *line != '{' || end[-1] != '}')
		return false;
	n = json_members(line, end, members);
	if (n <= 0)
		return false;
	use_members(members, n, is_collected(members, n), buf, out);
	return true;
}

/* One key of logfmt; NULL when there is none at p. */
static const char *
logfmt_key_end(const char *p, const char *end)
{
	const char *s = p;

	while (s < end && (l4_ascii_word(*s) || *s == '.' || *s == '-' || *s == '@'))
		s++;
	return s > p && s < end && *s == '=' ? s : NULL;
}

bool
l4_logfmt_line(const char *line, int len, StringInfo buf, L4Structured *out)
{
	KeyValue		members[L4_MAX_MEMBERS];
	const char *p = line;
	const char *end = line + len;
	int			n = 0;
	int			loggers = 0;	/* members that only loggers write */

	memset(out, 0, sizeof(*out));
	resetStringInfo(buf);
	while ((p = skip_blanks(p, end)) < end)
	{
		KeyValue		m;
		const char *stop = logfmt_key_end(p, end);

		CHECK_FOR_INTERRUPTS();
		memset(&m, 0, sizeof(m));
		if (stop == NULL)
			return false;
		m.key = p;
		m.key_len = stop - p;
		p = stop + 1;
		m.string = true;
		if (p < end && *p == '"')
		{
			m.val = ++p;
			p = string_end(p, end, &m.escaped);
			if (p == NULL)
				return false;
			m.val_len = p++ - m.val;
		}
		else
		{
			m.val = p;
			while (p < end && !l4_ascii_blank(*p))
				p++;
			m.val_len = p - m.val;
		}
		find_role(&m);
		if (m.role == L4_FIELD_LEVEL || m.role == L4_FIELD_MESSAGE || m.role == L4_FIELD_TS)
			loggers++;
		else if (n == 0 && m.role == ROLE_REST)
			return false;		/* plain key=value text: all of it is the message */
		if (n < L4_MAX_MEMBERS)
			members[n++] = m;
	}
	if (loggers < 2)
		return false;
	use_members(members, n, false, buf, out);
	return true;
}
