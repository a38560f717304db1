/*
 * timestamps.c
 *		Time stamps of log lines, read by steps compiled from a template.
 */
#include "postgres.h"

#include "pgtime.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "base/ascii.h"
#include "lines/rules.h"

/* Steps of a template at most; the longest sensible one has about twenty. */
#define L4_TS_STEPS 40

typedef enum TsKind
{
	TS_TEMPLATE,
	TS_ISO,
	TS_EPOCH,
	TS_OFFSET					/* since boot: no point in time */
} TsKind;

typedef enum TsOp
{
	/* numbers: their places in TsFields.number */
	TS_YEAR,
	TS_MONTH,
	TS_DAY,
	TS_HOUR,
	TS_MINUTE,
	TS_SECOND,
	/* others */
	TS_MONTH_NAME,
	TS_WORD,					/* name of a day of the week: read over */
	TS_FRACTION,				/* of a second, whatever its number of digits */
	TS_AMPM,
	TS_ZONE,
	TS_ZONE_MINUTE,				/* read with the hours */
	TS_BLANK,
	TS_CHAR
} TsOp;

#define TS_NUMBERS (TS_SECOND + 1)

typedef struct TsStep
{
	TsOp		op;
	int			arg;			/* digits of a number; the character */
	int			rest;			/* digits of the numbers that follow without a gap */
} TsStep;

struct L4TsFormat
{
	TsKind		kind;
	int			nsteps;
	TsStep		steps[L4_TS_STEPS];
};

/* What is read so far; zone in seconds east. */
typedef struct TsFields
{
	int			number[TS_NUMBERS];
	int			usec;
	int			zone;
	bool		has_year;
	bool		has_hour;
	bool		has_zone;
	bool		pm;
	bool		ampm;
} TsFields;

typedef struct TsWord
{
	const char *word;
	TsOp		op;
	int			digits;
} TsWord;

/* In any case; longer words first where one begins another. */
static const TsWord ts_words[] = {
	{"YYYY", TS_YEAR, 4}, {"YY", TS_YEAR, 2},
	{"MONTH", TS_MONTH_NAME}, {"MON", TS_MONTH_NAME},
	{"MM", TS_MONTH, 2}, {"MI", TS_MINUTE, 2}, {"MS", TS_FRACTION},
	{"DAY", TS_WORD}, {"DY", TS_WORD}, {"DD", TS_DAY, 2},
	{"HH24", TS_HOUR, 2}, {"HH12", TS_HOUR, 2}, {"HH", TS_HOUR, 2},
	{"SS", TS_SECOND, 2}, {"US", TS_FRACTION}, {"NS", TS_FRACTION},
	{"FF1", TS_FRACTION}, {"FF2", TS_FRACTION}, {"FF3", TS_FRACTION},
	{"FF4", TS_FRACTION}, {"FF5", TS_FRACTION}, {"FF6", TS_FRACTION},
	{"AM", TS_AMPM}, {"PM", TS_AMPM},
	{"TZH", TS_ZONE}, {"TZM", TS_ZONE_MINUTE}, {"TZ", TS_ZONE}, {"OF", TS_ZONE},
};

static const char *const month_names = "janfebmaraprmayjunjulaugsepoctnovdec";

static void
add_step(L4TsFormat *f, TsOp op, int arg, const char *format, int len)
{
	if (f->nsteps == L4_TS_STEPS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time stamp format \"%.*s\" is too long", Min(len, 100), format),
				 errdetail("It may have at most %d fields and separators.", L4_TS_STEPS)));
	f->steps[f->nsteps].op = op;
	f->steps[f->nsteps].arg = arg;
	f->steps[f->nsteps].rest = 0;
	f->nsteps++;
}

/* Compile one field or separator of the template, return its length. */
static int
compile_field(L4TsFormat *f, const char *p, int left, const char *format, int len)
{
	for (int i = 0; i < lengthof(ts_words); i++)
	{
		int			n = strlen(ts_words[i].word);

		if (n <= left && pg_strncasecmp(p, ts_words[i].word, n) == 0)
		{
			add_step(f, ts_words[i].op, ts_words[i].digits, format, len);
			return n;
		}
	}
	if (*p == '"')
	{
		int			i = 1;

		while (i < left && p[i] != '"')
			add_step(f, TS_CHAR, (unsigned char) p[i++], format, len);
		return Min(i + 1, left);
	}
	if (l4_ascii_letter(*p))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time stamp format \"%.*s\" is not understood at \"%.*s\"",
						Min(len, 100), format, Min(left, 20), p),
				 errhint("Use fields of to_timestamp() such as YYYY, Mon, MM, DD, HH24, MI, SS, MS, US and TZ, "
						 "or one of ISO8601, EPOCH, SECONDS_SINCE_BOOT, MICROSECONDS_SINCE_BOOT.")));
	add_step(f, *p == ' ' ? TS_BLANK : TS_CHAR, (unsigned char) *p, format, len);
	return 1;
}

static bool
word_is(const char *format, int len, const char *word)
{
	return len == (int) strlen(word) && memcmp(format, word, len) == 0;
}

L4TsFormat *
l4_ts_compile(const char *format, int len, MemoryContext cxt)
{
	L4TsFormat *f = MemoryContextAllocZero(cxt, sizeof(L4TsFormat));

	if (word_is(format, len, "ISO8601"))
		f->kind = TS_ISO;
	else if (word_is(format, len, "EPOCH"))
		f->kind = TS_EPOCH;
	else if (word_is(format, len, "SECONDS_SINCE_BOOT") ||
			 word_is(format, len, "MICROSECONDS_SINCE_BOOT"))
		f->kind = TS_OFFSET;
	else
	{
		int			rest = 0;

		f->kind = TS_TEMPLATE;
		for (int i = 0; i < len;)
			i += compile_field(f, format + i, len - i, format, len);

		/* numbers without a gap share their digits: tell each how many the ones behind it need */
		for (int i = f->nsteps - 1; i >= 0; i--)
		{
			bool		number = f->steps[i].op < TS_NUMBERS;

			f->steps[i].rest = number ? rest : 0;
			rest = number ? rest + f->steps[i].arg : 0;
		}
	}
	return f;
}

/* Read a number of at most max digits; -1 when there is none. */
static inline int
read_number(const char **p, const char *end, int max)
{
	const char *s = *p;
	int			value = 0;

	while (s < end && max-- > 0 && l4_ascii_digit(*s))
		value = value * 10 + (*s++ - '0');
	if (s == *p)
		return -1;
	*p = s;
	return value;
}

/*
 * Read a number in front of others that need rest digits and follow without
 * a gap. Some writers drop the leading zero of the first one ("626" for
 * June 26): when digits are missing, this number has fewer.
 */
static int
read_shared_number(const char **p, const char *end, int width, int rest)
{
	int			run = 0;

	while (*p + run < end && run < width + rest && l4_ascii_digit((*p)[run]))
		run++;
	return read_number(p, end, Max(run - rest, 1));
}

static int
read_fraction(const char **p, const char *end)
{
	const char *s = *p;
	int			value = 0;
	int			digits = 0;

	for (; s < end && l4_ascii_digit(*s); s++)
	{
		if (digits < 6)
		{
			value = value * 10 + (*s - '0');
			digits++;
		}
	}
	if (s == *p)
		return -1;
	for (; digits < 6; digits++)
		value *= 10;
	*p = s;
	return value;
}

static int
read_month_name(const char **p, const char *end)
{
	char		low[3];

	if (end - *p < 3)
		return -1;
	for (int i = 0; i < 3; i++)
	{
		if (!l4_ascii_letter((*p)[i]))
			return -1;
		low[i] = (*p)[i] | 0x20;
	}
	for (int m = 0; m < 12; m++)
	{
		if (memcmp(month_names + 3 * m, low, 3) == 0)
		{
			while (*p < end && l4_ascii_letter(**p))
				(*p)++;
			return m + 1;
		}
	}
	return -1;
}

/* Z, UTC, GMT, +01, +0100, +01:00; another name is read over and means the session's zone. */
static bool
read_zone(const char **p, const char *end, TsFields *f)
{
	const char *s = *p;
	int			sign,
				hours,
				minutes = 0;

	if (s < end && (*s == '+' || *s == '-'))
	{
		sign = *s++ == '-' ? -1 : 1;
		hours = read_number(&s, end, 2);
		if (hours < 0 || hours > 15)
			return false;
		if (s < end && *s == ':')
			s++;
		if (s < end && l4_ascii_digit(*s))
			minutes = read_number(&s, end, 2);
		f->zone = sign * (hours * 3600 + minutes * 60);
		f->has_zone = true;
	}
	else if (s < end && l4_ascii_letter(*s))
	{
		while (s < end && l4_ascii_letter(*s))
			s++;
		if ((s - *p == 1 && (**p == 'Z' || **p == 'z')) ||
			(s - *p == 3 && (memcmp(*p, "UTC", 3) == 0 || memcmp(*p, "GMT", 3) == 0)))
		{
			f->zone = 0;
			f->has_zone = true;
		}
	}
	else
		return false;
	*p = s;
	return true;
}

/* One step of a template. False: the text does not fit. */
static bool
run_step(const TsStep *step, const char **p, const char *end, TsFields *f)
{
	int			v = 0;

	if (step->op == TS_DAY)
		while (*p < end && **p == ' ')
			(*p)++;
	if (step->op < TS_NUMBERS)
	{
		v = read_shared_number(p, end, step->arg, step->rest);
		f->number[step->op] = v + (step->op == TS_YEAR && step->arg == 2 ? 2000 : 0);
		f->has_year |= step->op == TS_YEAR;
		f->has_hour |= step->op == TS_HOUR;
		return v >= 0;
	}
	switch (step->op)
	{
		case TS_MONTH_NAME:
			f->number[TS_MONTH] = v = read_month_name(p, end);
			break;
		case TS_WORD:
			while (*p < end && l4_ascii_letter(**p))
				(*p)++;
			break;
		case TS_FRACTION:
			f->usec = v = read_fraction(p, end);
			break;
		case TS_AMPM:
			if (end - *p < 2 || ((*p)[1] | 0x20) != 'm')
				return false;
			f->pm = (**p | 0x20) == 'p';
			f->ampm = true;
			*p += 2;
			break;
		case TS_ZONE:
			return read_zone(p, end, f);
		case TS_BLANK:
			if (*p == end || **p != ' ')
				return false;
			while (*p < end && **p == ' ')
				(*p)++;
			break;
		case TS_CHAR:
			if (*p == end || (**p != step->arg && !((**p == '.' || **p == ',') &&
													(step->arg == '.' || step->arg == ','))))
				return false;
			(*p)++;
			break;
		default:
			break;
	}
	return v >= 0;
}

/* Date and time of ISO 8601 and its usual liberties: blank or _ for T, / for -, comma, no seconds, no zone. */
static bool
parse_iso(const char *p, const char *end, TsFields *f)
{
	int		   *n = f->number;

	n[TS_YEAR] = read_number(&p, end, 4);
	if (p < end && (*p == '-' || *p == '/'))
		p++;
	n[TS_MONTH] = read_number(&p, end, 2);
	if (p < end && (*p == '-' || *p == '/'))
		p++;
	n[TS_DAY] = read_number(&p, end, 2);
	f->has_year = true;
	if (n[TS_YEAR] < 1000 || p == end || (*p != 'T' && *p != 't' && *p != ' ' && *p != '_' && *p != '-'))
		return false;
	p++;
	n[TS_HOUR] = read_number(&p, end, 2);
	f->has_hour = true;
	if (n[TS_HOUR] < 0)
		return false;
	if (p < end && *p == ':')
		p++;
	n[TS_MINUTE] = read_number(&p, end, 2);
	if (n[TS_MINUTE] < 0)
		return false;
	if (p < end && *p == ':')
		p++;
	if (p < end && l4_ascii_digit(*p))
		n[TS_SECOND] = read_number(&p, end, 2);
	if (p + 1 < end && (*p == '.' || *p == ',') && l4_ascii_digit(p[1]))
	{
		p++;
		f->usec = read_fraction(&p, end);
	}
	while (p < end && *p == ' ')
		p++;
	if (p < end)
		(void) read_zone(&p, end, f);
	return true;
}

/* Seconds since 1970, or milli-, micro-, nanoseconds: the size tells which. */
static bool
parse_epoch(const char *p, const char *end, TimestampTz *ts)
{
	uint64		value = 0;		/* holds any 19 digits */
	int64		usec = 0;
	const char *s = p;

	while (p < end && p - s < 19 && l4_ascii_digit(*p))
		value = value * 10 + (*p++ - '0');
	if (p - s < 9 || (p < end && l4_ascii_digit(*p)))
		return false;
	if (p - s <= 10)
	{
		if (p + 1 < end && (*p == '.' || *p == ',') && l4_ascii_digit(p[1]))
		{
			p++;
			usec = read_fraction(&p, end);
		}
		value = value * USECS_PER_SEC + usec;
	}
	else if (p - s <= 13)
		value *= 1000;
	else if (p - s > 16)
		value /= 1000;
	*ts = (int64) value - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	return true;
}

/* Local date and hour to UTC by the session's time zone. */
static int64
local_hour(L4TsCache *cache, const int *n, int year, int julian)
{
	if (cache->day != julian || cache->hour != n[TS_HOUR])
	{
		struct pg_tm tm = {.tm_year = year, .tm_mon = n[TS_MONTH], .tm_mday = n[TS_DAY], .tm_hour = n[TS_HOUR]};
		int			zone = DetermineTimeZoneOffset(&tm, session_timezone);

		cache->day = julian;
		cache->hour = n[TS_HOUR];
		cache->base = ((int64) (julian - POSTGRES_EPOCH_JDATE) * SECS_PER_DAY +
					   n[TS_HOUR] * SECS_PER_HOUR + zone) * USECS_PER_SEC;
	}
	return cache->base;
}

static TimestampTz
fields_to_ts(const TsFields *f, L4TsCache *cache, int year)
{
	const int  *n = f->number;
	int			julian = date2j(year, n[TS_MONTH], n[TS_DAY]);
	int64		base;

	if (f->has_zone)
		base = ((int64) (julian - POSTGRES_EPOCH_JDATE) * SECS_PER_DAY +
				n[TS_HOUR] * SECS_PER_HOUR - f->zone) * USECS_PER_SEC;
	else
		base = local_hour(cache, n, year, julian);
	return base + (n[TS_MINUTE] * SECS_PER_MINUTE + n[TS_SECOND]) * USECS_PER_SEC + f->usec;
}

/* Logs are of the past: a date that is further ahead of the reference time is one of the year before. */
#define FUTURE	(31 * USECS_PER_DAY)
#define LEAP_YEARS	8			/* among so many years one has a 29th of February */

/* The last year that does not put a date in the future. */
static TimestampTz
last_year(const TsFields *f, L4TsCache *cache)
{
	int			julian = (int) (cache->reference / USECS_PER_DAY) + POSTGRES_EPOCH_JDATE;
	int			year,
				month,
				day;

	j2date(julian, &year, &month, &day);
	for (int y = year + 1; y >= year - LEAP_YEARS; y--)
	{
		TimestampTz ts;

		if (f->number[TS_DAY] > day_tab[isleap(y)][f->number[TS_MONTH] - 1])
			continue;
		ts = fields_to_ts(f, cache, y);
		if (ts <= cache->reference + FUTURE)
			return ts;
	}
	return 0;
}

bool
l4_ts_parse(const L4TsFormat *format, L4TsCache *cache, const char *text, int len, TimestampTz *ts)
{
	const char *p = text;
	const char *end = text + len;
	TsFields	f = {{0}};
	int		   *n = f.number;

	if (format->kind == TS_OFFSET)
		return false;
	if (format->kind == TS_EPOCH)
		return parse_epoch(p, end, ts);

	n[TS_MONTH] = n[TS_DAY] = 1;
	if (format->kind == TS_ISO && !parse_iso(p, end, &f))
		return false;
	for (int i = 0; i < format->nsteps; i++)
	{
		/* some writers leave the fraction or the zone away */
		if (p == end && f.has_hour)
			break;
		if (!run_step(&format->steps[i], &p, end, &f))
			return false;
	}
	if (f.ampm && n[TS_HOUR] <= 12)
		n[TS_HOUR] = n[TS_HOUR] % 12 + (f.pm ? 12 : 0);
	if (n[TS_MONTH] < 1 || n[TS_MONTH] > 12 || n[TS_DAY] < 1 || n[TS_HOUR] > 23 || n[TS_MINUTE] > 59 ||
		n[TS_SECOND] > 60 || n[TS_DAY] > day_tab[f.has_year ? isleap(n[TS_YEAR]) : 1][n[TS_MONTH] - 1])
		return false;
	if (!f.has_year)
		*ts = last_year(&f, cache);
	else if (n[TS_YEAR] < 1970 || n[TS_YEAR] > 9999)
		return false;
	else
		*ts = fields_to_ts(&f, cache, n[TS_YEAR]);
	return true;
}
