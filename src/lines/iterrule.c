/*
 * iterrule.c
 *		Iteration number and metrics of a line.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/ascii.h"
#include "lines/iterrule.h"
#include "lines/line_int.h"

#define MAX_DURATION_MS 1e11	/* three years */

/* What a group is for, by its name; a second group for the same thing is called iter_2, time_s_2 … */
typedef enum IterRole
{
	ROLE_IGNORE,				/* no name, or text only */
	ROLE_ITER,
	ROLE_TOTAL,
	ROLE_EPOCH,
	ROLE_TIME_MS,
	ROLE_TIME_S,
	ROLE_RATE,					/* in the unit that rate_unit captures */
	ROLE_RATE_UNIT,
	ROLE_PER_S,					/* iterations a second */
	ROLE_METRIC
} IterRole;

static const struct
{
	const char *name;
	IterRole	role;
}			role_names[] = {
	{"iter", ROLE_ITER}, {"total", ROLE_TOTAL}, {"epoch", ROLE_EPOCH}, {"time_ms", ROLE_TIME_MS},
	{"time_s", ROLE_TIME_S}, {"rate", ROLE_RATE}, {"rate_unit", ROLE_RATE_UNIT}, {"per_s", ROLE_PER_S},
	{"elapsed", ROLE_IGNORE}, {"eta", ROLE_IGNORE},
};

void
l4_iter_rule_groups(L4IterRule *rule, MemoryContext cxt)
{
	int			n = l4_regex_ngroups(rule->re);

	if (n > L4_MAX_ITER_GROUPS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("iteration rule %d has too many groups: %d", rule->id, n),
				 errdetail("The limit is %d.", L4_MAX_ITER_GROUPS)));
	if (l4_regex_group(rule->re, "iter") < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("iteration rule %d has no group \"iter\"", rule->id)));
	rule->ngroups = n;
	rule->role = MemoryContextAllocZero(cxt, n + 1);
	rule->name = MemoryContextAllocZero(cxt, (n + 1) * sizeof(char *));
	for (int g = 1; g <= n; g++)
	{
		rule->name[g] = l4_regex_group_name(rule->re, g);
		rule->role[g] = rule->name[g] == NULL ? ROLE_IGNORE : ROLE_METRIC;
		for (int i = 0; rule->name[g] != NULL && i < lengthof(role_names); i++)
		{
			int			len = strlen(role_names[i].name);

			if (strncmp(rule->name[g], role_names[i].name, len) == 0 &&
				(rule->name[g][len] == '\0' || strcmp(rule->name[g] + len, "_2") == 0))
				rule->role[g] = role_names[i].role;
		}
	}
}

/* Read a number, with commas between its digits or not, nan, inf, true or false. */
static bool
number_value(const char *p, int len, double *value)
{
	char		copy[64];
	char	   *end;
	int			n = 0;

	/* strtod reads blanks, hexadecimal digits and nan(…) as well */
	if (len == 0 || len >= (int) sizeof(copy) || l4_ascii_blank(*p) || memchr(p, 'x', len) != NULL ||
		memchr(p, 'X', len) != NULL || memchr(p, '(', len) != NULL)
		return false;
	for (int i = 0; i < len; i++)
		if (p[i] != ',' || n == 0 || !l4_ascii_digit(copy[n - 1]))
			copy[n++] = p[i];
	copy[n] = '\0';
	*value = strtod(copy, &end);
	if (end == copy)
	{
		*value = pg_strcasecmp(copy, "true") == 0;
		return *value == 1 || pg_strcasecmp(copy, "false") == 0;
	}
	return *end == '\0';
}

/* Value of what a group captured; false when it has none. */
static bool
group_value(IterRole role, const char *p, int len, double *value)
{
	if (role == ROLE_RATE_UNIT)
	{
		/* seconds per iteration, or the other way round */
		*value = len > 0 && (p[0] == 's' || p[0] == 'S') && len > 1 && p[1] == '/' ? 1 : 0;
		return true;
	}
	if (role == ROLE_ITER && len == 0)
	{
		*value = L4_ITER_NEXT;
		return true;
	}
	return number_value(p, len, value);
}

/* Put the values of the groups where they belong. False when there is no whole iteration number. */
static bool
fill_iteration(const L4IterRule *rule, const double *values, const bool *present, L4Iteration *out)
{
	double		rate = 0;
	double		per_iteration = 0;

	out->rule_id = rule->id;
	out->done = rule->done;
	out->iter = -1;
	out->total = -1;
	out->epoch = -1;
	out->duration_ms = NAN;
	out->counted = false;
	out->elapsed_s = -1;
	out->nmetrics = 0;
	for (int g = 1; g <= rule->ngroups; g++)
	{
		double		v = values[g];
		bool		whole = present[g] && v >= 0 && v < 1e15 && v == floor(v);

		if (!present[g])
			continue;
		switch ((IterRole) rule->role[g])
		{
			case ROLE_ITER:
				if (!whole && v != L4_ITER_NEXT)
					return false;
				out->iter = (int64) v;
				break;
			case ROLE_TOTAL:
				out->total = whole ? (int64) v : -1;
				break;
			case ROLE_EPOCH:
				out->epoch = v >= 0 && v < 1e15 ? (int64) v : -1;
				break;
			case ROLE_TIME_MS:
				out->duration_ms = v;
				break;
			case ROLE_TIME_S:
				out->duration_ms = v * 1000;
				break;
			case ROLE_PER_S:
			case ROLE_RATE:
				rate = v;
				break;
			case ROLE_RATE_UNIT:
				per_iteration = v;
				break;
			case ROLE_METRIC:
				out->metrics[out->nmetrics].name = rule->name[g];
				out->metrics[out->nmetrics++].value = v;
				break;
			case ROLE_IGNORE:
				break;
		}
	}
	if (rate > 0)
		out->duration_ms = per_iteration > 0 ? rate * 1000 : 1000 / rate;
	/* what no iteration can take would leave the range of times */
	if (!(out->duration_ms >= 0 && out->duration_ms <= MAX_DURATION_MS))
		out->duration_ms = NAN;
	return out->iter >= 0 || out->iter == L4_ITER_NEXT;
}

/* Does the rule match? Then its groups' values are read. */
static bool
match_rule(L4IterRule *rule, const char *msg, int len, double *values, bool *present, L4Iteration *out)
{
	const size_t *ov;

	if (l4_regex_exec(rule->re, msg, len, 0) <= 0)
		return false;
	ov = l4_regex_ovector(rule->re);
	for (int g = 1; g <= rule->ngroups; g++)
		present[g] = ov[2 * g] != L4_REGEX_UNSET && rule->role[g] != ROLE_IGNORE &&
			group_value(rule->role[g], msg + ov[2 * g], ov[2 * g + 1] - ov[2 * g], &values[g]);
	return fill_iteration(rule, values, present, out);
}

/* An exception may name an iteration, it never reports one as done: "ValueError: loss is nan in batch 2". */
static int
first_match(L4Rules *rules, const char *msg, int len, double *values, bool *present, L4Iteration *out)
{
	for (int i = 0; i < rules->niters; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (match_rule(&rules->iters[i], msg, len, values, present, out) && !(out->done && l4_line_names_error(msg, len)))
			return i;
	}
	return -1;
}

static int
bar_seconds(const char *msg, int len)
{
	return l4_bar_length(msg, len) > 0 ? l4_bar_elapsed(msg, len) : -1;
}

bool
l4_iter_match(L4Rules *rules, const char *msg, int len, L4Iteration *out)
{
	double		values[L4_MAX_ITER_GROUPS + 1];
	bool		present[L4_MAX_ITER_GROUPS + 1];

	if (first_match(rules, msg, len, values, present, out) < 0)
		return false;
	out->elapsed_s = bar_seconds(msg, len);
	return true;
}

static bool
has_digit(const char *p, int len)
{
	for (int i = 0; i < len; i++)
		if (l4_ascii_digit(p[i]))
			return true;
	return false;
}

/*
 * Find the slot that what was captured, [from, to) of the message, lies in.
 * It must be the whole slot but for a fixed unit or sign around it: with
 * digits there, widths would vary. False when no such rule of thumb holds.
 */
static bool
map_group(const char *msg, const L4Slot *slots, int nslots, size_t from, size_t to, int16 *slot, int16 *skip, int16 *drop)
{
	for (int i = 0; i < nslots && slots[i].off < to; i++)
	{
		size_t		start = slots[i].off;
		size_t		end = start + slots[i].len;

		if (end <= from)
			continue;
		if (from < start || to > end || from - start > 1000 || end - to > 1000)
			return false;
		*slot = i;
		*drop = end - to;
		if (!has_digit(msg + start, from - start) && !has_digit(msg + to, end - to))
			*skip = from - start;
		else if (from > start && !has_digit(msg + from, to - from) && !has_digit(msg + to, end - to))
			*skip = -(int16) (to - from);
		else
			return false;
		return true;
	}
	*slot = L4_GROUP_CONSTANT;
	return true;
}

bool
l4_iter_learn(L4Rules *rules, const char *msg, int len, const L4Slot *slots, int nslots,
			  L4IterMap *map, L4Iteration *out)
{
	double		values[L4_MAX_ITER_GROUPS + 1];
	bool		present[L4_MAX_ITER_GROUPS + 1];
	int			i = first_match(rules, msg, len, values, present, out);
	const size_t *ov;

	memset(map, 0, sizeof(*map));
	map->nslots = nslots;
	if (i < 0)
		return false;
	map->rule = i + 1;
	ov = l4_regex_ovector(rules->iters[i].re);
	for (int g = 1; g <= rules->iters[i].ngroups; g++)
	{
		map->group[g].slot = L4_GROUP_ABSENT;
		if (!present[g])
			continue;
		map->group[g].value = values[g];
		if (!map_group(msg, slots, nslots, ov[2 * g], ov[2 * g + 1],
					   &map->group[g].slot, &map->group[g].skip, &map->group[g].drop))
		{
			map->rule = -1;
			break;
		}
	}
	return true;
}

bool
l4_iter_apply(L4Rules *rules, const L4IterMap *map, const char *msg, int len,
			  const L4Slot *slots, int nslots, L4Iteration *out)
{
	double		values[L4_MAX_ITER_GROUPS + 1];
	bool		present[L4_MAX_ITER_GROUPS + 1];
	const L4IterRule *rule;

	if (map->rule == 0)
		return false;
	if (map->rule < 0 || map->rule > rules->niters || map->nslots != nslots)
		return l4_iter_match(rules, msg, len, out);
	rule = &rules->iters[map->rule - 1];
	for (int g = 1; g <= rule->ngroups; g++)
	{
		int			slot = map->group[g].slot;
		int			from;
		int			to;

		present[g] = slot != L4_GROUP_ABSENT;
		values[g] = map->group[g].value;
		if (slot < 0)
			continue;
		to = slots[slot].off + slots[slot].len - map->group[g].drop;
		from = map->group[g].skip >= 0 ? (int) slots[slot].off + map->group[g].skip : to + map->group[g].skip;
		if (from >= to || from < (int) slots[slot].off || !group_value(rule->role[g], msg + from, to - from, &values[g]))
			return l4_iter_match(rules, msg, len, out);
	}
	if (!fill_iteration(rule, values, present, out))
		return l4_iter_match(rules, msg, len, out);
	out->elapsed_s = bar_seconds(msg, len);
	return true;
}

L4Iteration *
l4_iter_of_bar(L4Rules *rules, const L4Line *line, MemoryContext cxt)
{
	L4Iteration *found = MemoryContextAlloc(cxt, sizeof(L4Iteration));

	return l4_iter_match(rules, line->bar, line->bar_len, found) ? found : NULL;
}

void
l4_iter_number(L4Iteration *report, const L4Iteration *bar)
{
	report->iter = bar->iter;
	report->total = bar->total;
	report->duration_ms = bar->duration_ms;
	report->elapsed_s = bar->elapsed_s;
	report->counted = true;
}
