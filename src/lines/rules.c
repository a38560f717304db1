/*
 * rules.c
 *		The rules about lines: from jsonb to compiled form, cached per backend.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "base/ascii.h"
#include "lines/iterrule.h"
#include "lines/line_int.h"
#include "lines/rules.h"

/* The last ruleset that was compiled; others last as long as the statements that use them. */
static L4Rules *last_rules;

static const char *const field_names[L4_NFIELDS] = {
	"ts", "level", "rank", "host", "pid", "tid", "device", "stream", "local_rank", "component", "part", "message"
};

static void
bad_ruleset(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("value is not a set of rules"),
			 errdetail("%s", detail),
			 errhint("Pass the result of l4._ruleset().")));
}

/* Member of an object as a string; NULL when it is missing or null. */
static char *
get_string(JsonbContainer *object, const char *key)
{
	JsonbValue	buf;
	JsonbValue *v = getKeyJsonValueFromContainer(object, key, strlen(key), &buf);

	if (v == NULL || v->type == jbvNull)
		return NULL;
	if (v->type != jbvString)
		bad_ruleset(psprintf("\"%s\" of a rule is not a string.", key));
	return pnstrdup(v->val.string.val, v->val.string.len);
}

static int
get_id(JsonbContainer *object)
{
	JsonbValue	buf;
	JsonbValue *v = getKeyJsonValueFromContainer(object, "id", 2, &buf);

	if (v == NULL || v->type != jbvNumeric)
		bad_ruleset("A rule has no number \"id\".");
	return DatumGetInt32(DirectFunctionCall1(numeric_int4, NumericGetDatum(v->val.numeric)));
}

static char *
get_signature(JsonbContainer *object)
{
	char	   *signature = get_string(object, "signature");

	if (signature == NULL)
		bad_ruleset("A rule has no string \"signature\".");
	return signature;
}

/*
 * Does the pattern name a digit? Then lines that differ in digits alone may
 * differ in what it makes of them. Quantifiers in braces and 0-9 do not count.
 */
static bool
names_a_digit(const char *p)
{
	for (; *p; p++)
	{
		if (*p == '{' && l4_ascii_digit(p[1]))
			p += strcspn(p, "}") - 1;
		else if (strncmp(p, "0-9", 3) == 0)
			p += 2;
		else if (l4_ascii_digit(*p))
			return true;
	}
	return false;
}

/*
 * The part of a pattern that is about the prefix: "^…(?<message>….*)$" without
 * its ".*)$", where the group holds no other one. NULL for patterns of another form.
 */
static char *
prefix_pattern(const char *pattern, MemoryContext cxt)
{
	const char *message = NULL;
	const char *end;

	for (const char *p = pattern; (p = strstr(p, "(?<message>")) != NULL; p++)
		message = p;
	if (message == NULL || *pattern != '^')
		return NULL;
	end = message + 1 + strcspn(message + 1, "()[|");
	if (strcmp(end, ")$") != 0 || strncmp(end - 2, ".*", 2) != 0)
		return NULL;
	return MemoryContextStrdup(cxt, psprintf("%.*s)", (int) (end - 2 - pattern), pattern));
}

static void
compile_format(L4Format *format, JsonbContainer *object, MemoryContext cxt)
{
	const char *pattern;
	const char *ts_format = get_string(object, "ts_format");

	format->id = get_id(object);
	pattern = get_signature(object);
	format->re = l4_regex_compile(pattern, strlen(pattern), 0, cxt);
	format->prefix_pattern = prefix_pattern(pattern, cxt);
	format->to_the_end = l4_ends_with(pattern, strlen(pattern), ".*)$");
	format->digits_alike = !names_a_digit(pattern);
	for (int i = 0; i < L4_NFIELDS; i++)
		format->group[i] = Max(l4_regex_group(format->re, field_names[i]), 0);
	if (format->group[L4_FIELD_MESSAGE] == 0)
		bad_ruleset(psprintf("Line format %d has no group \"message\".", format->id));
	format->launcher = format->group[L4_FIELD_RANK] != 0 || format->group[L4_FIELD_HOST] != 0 ||
		format->group[L4_FIELD_PID] != 0 || format->group[L4_FIELD_STREAM] != 0 ||
		format->group[L4_FIELD_LOCAL_RANK] != 0;
	if (format->group[L4_FIELD_TS] != 0 && ts_format != NULL)
		format->ts = l4_ts_compile(ts_format, strlen(ts_format), cxt);
}

static void
compile_iteration(L4IterRule *rule, JsonbContainer *object, MemoryContext cxt)
{
	const char *pattern;
	const char *kind = get_string(object, "kind");

	rule->id = get_id(object);
	pattern = get_signature(object);
	rule->re = l4_regex_compile(pattern, strlen(pattern), 0, cxt);
	if (kind == NULL || (strcmp(kind, "done") != 0 && strcmp(kind, "in_flight") != 0))
		bad_ruleset(psprintf("Iteration rule %d has no \"kind\" done or in_flight.", rule->id));
	rule->done = strcmp(kind, "done") == 0;
	l4_iter_rule_groups(rule, cxt);
}

/* Call compile for each object of the array that the ruleset has under key; returns their number. */
static int
compile_array(Jsonb *ruleset, const char *key, L4Rules *rules, bool formats)
{
	JsonbValue	buf;
	JsonbValue *v = getKeyJsonValueFromContainer(&ruleset->root, key, strlen(key), &buf);
	int			n;

	if (v == NULL)
		return 0;
	if (v->type != jbvBinary || !JsonContainerIsArray(v->val.binary.data))
		bad_ruleset(psprintf("\"%s\" is not an array.", key));
	n = JsonContainerSize(v->val.binary.data);
	if (n > L4_MAX_RULES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rules of one kind: %d", n),
				 errdetail("The limit is %d.", L4_MAX_RULES)));
	if (formats)
		rules->formats = MemoryContextAllocZero(rules->cxt, sizeof(L4Format) * Max(n, 1));
	else
		rules->iters = MemoryContextAllocZero(rules->cxt, sizeof(L4IterRule) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		JsonbValue *e = getIthJsonbValueFromContainer(v->val.binary.data, i);

		CHECK_FOR_INTERRUPTS();
		if (e->type != jbvBinary || !JsonContainerIsObject(e->val.binary.data))
			bad_ruleset(psprintf("Element %d of \"%s\" is not an object.", i + 1, key));
		if (formats)
			compile_format(&rules->formats[i], e->val.binary.data, rules->cxt);
		else
			compile_iteration(&rules->iters[i], e->val.binary.data, rules->cxt);
	}
	return n;
}

/* Which formats can match a line, by its first byte: most lines then try a few of many. */
static void
index_formats(L4Rules *rules)
{
	for (int c = 0; c < 256; c++)
	{
		int			n = 0;

		rules->by_byte[c] = MemoryContextAlloc(rules->cxt, sizeof(int) * (rules->nformats + 1));
		for (int i = 0; i < rules->nformats; i++)
		{
			if (l4_regex_may_start(rules->formats[i].re, (unsigned char) c))
				rules->by_byte[c][n++] = i;
		}
		rules->by_byte[c][n] = -1;
	}
}

static L4Rules *
compile_rules(Jsonb *ruleset, uint64 hash, MemoryContext cxt)
{
	L4Rules    *rules;
	MemoryContext own = AllocSetContextCreate(cxt, "l4 rules", ALLOCSET_DEFAULT_SIZES);

	if (!JB_ROOT_IS_OBJECT(ruleset))
		bad_ruleset("It is not an object.");
	rules = MemoryContextAllocZero(own, sizeof(L4Rules));
	rules->cxt = own;
	rules->hash = hash;
	rules->nformats = compile_array(ruleset, "formats", rules, true);
	rules->niters = compile_array(ruleset, "iterations", rules, false);
	index_formats(rules);
	rules->memo = l4_foldmemo_create(L4_PREFIX_MEMO_PLACES, L4_PREFIX_MEMO_COST, false, own);
	return rules;
}

static void
unpin_rules(void *arg)
{
	((L4Rules *) arg)->pins--;
}

static void
pin_rules(L4Rules *rules, MemoryContext holder)
{
	MemoryContextCallback *callback = MemoryContextAlloc(holder, sizeof(MemoryContextCallback));

	callback->func = unpin_rules;
	callback->arg = rules;
	MemoryContextRegisterResetCallback(holder, callback);
	rules->pins++;
}

L4Rules *
l4_rules_get(Jsonb *ruleset, MemoryContext holder)
{
	uint64		hash = hash_bytes_extended((unsigned char *) VARDATA(ruleset), VARSIZE(ruleset) - VARHDRSZ, 0);

	if (last_rules == NULL || last_rules->hash != hash)
	{
		MemoryContext start = AllocSetContextCreate(CurrentMemoryContext, "l4 rules loading", ALLOCSET_SMALL_SIZES);
		L4Rules    *rules = compile_rules(ruleset, hash, start);

		/* a failure leaves everything in a context that dies with the statement */
		if (last_rules != NULL && last_rules->pins > 0)
			MemoryContextSetParent(rules->cxt, holder);
		else
		{
			MemoryContextSetParent(rules->cxt, CacheMemoryContext);
			if (last_rules != NULL)
				MemoryContextDelete(last_rules->cxt);
			last_rules = rules;
		}
		MemoryContextDelete(start);
		if (rules != last_rules)
			return rules;
	}
	pin_rules(last_rules, holder);
	return last_rules;
}
