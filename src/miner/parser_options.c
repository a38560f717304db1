/*
 * parser_options.c
 *		Options of a parser: reading and checking them.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/numeric.h"

#include "miner/parser_options.h"
#include "scan/scan.h"

#define MAX_DRAIN_MASKS		1000
#define MAX_DELIMITERS		100

static const char *const l4_only[] = {"distinct_values", "max_templates", "delimiters", NULL};
static const char *const drain_only[] = {
	"depth", "sim_th", "max_children", "max_clusters", "extra_delimiters", "parametrize_numeric_tokens", NULL
};

static bool
listed(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static void
wrong_type(const char *option, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" of a parser must be %s", option, expected)));
}

static void
out_of_range(const char *option, const char *value, const char *range)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" of a parser must be %s, not %s", option, range, value)));
}

static char *
string_value(const JsonbValue *v, const char *option, const char *expected)
{
	if (v->type != jbvString)
		wrong_type(option, expected);
	return pnstrdup(v->val.string.val, v->val.string.len);
}

/* A whole number within bounds; null stands for none where that is allowed. */
static int
int_value(const JsonbValue *v, const char *option, int min, int max)
{
	char	   *text;
	char	   *end;
	long		value;

	if (v->type != jbvNumeric)
		wrong_type(option, "a number");
	text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(v->val.numeric)));
	errno = 0;
	value = strtol(text, &end, 10);
	if (*end || errno || value < min || value > max)
		out_of_range(option, text, psprintf("a whole number from %d to %d", min, max));
	return value;
}

static double
share_value(const JsonbValue *v, const char *option)
{
	double		value;

	if (v->type != jbvNumeric)
		wrong_type(option, "a number");
	value = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(v->val.numeric)));
	if (!(value >= 0 && value <= 1))
		out_of_range(option,
					 DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(v->val.numeric))),
					 "a number from 0 to 1");
	return value;
}

/* The next element of an array, false at its end. Nested containers come whole. */
static bool
next_element(JsonbIterator **it, JsonbValue *v)
{
	return JsonbIteratorNext(it, v, true) == WJB_ELEM;
}

static JsonbIterator *
array_begin(const JsonbValue *v, const char *option, const char *expected)
{
	JsonbIterator *it;
	JsonbValue	head;

	if (v->type != jbvBinary)
		wrong_type(option, expected);
	it = JsonbIteratorInit(v->val.binary.data);
	if (JsonbIteratorNext(&it, &head, true) != WJB_BEGIN_ARRAY)
		wrong_type(option, expected);
	return it;
}

/* {"name": "IP", "pattern": "..."} */
static void
read_mask(const JsonbValue *v, L4MaskOption *mask)
{
	static const char *const expected = "an array of objects with a name and a pattern, and the word \"builtin\"";
	JsonbIterator *it;
	JsonbValue	key;
	JsonbValue	value;

	if (v->type != jbvBinary)
		wrong_type("masks", expected);
	it = JsonbIteratorInit(v->val.binary.data);
	if (JsonbIteratorNext(&it, &key, true) != WJB_BEGIN_OBJECT)
		wrong_type("masks", expected);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		char	   *name = pnstrdup(key.val.string.val, key.val.string.len);

		(void) JsonbIteratorNext(&it, &value, true);
		if (strcmp(name, "name") == 0)
			mask->name = string_value(&value, "masks", expected);
		else if (strcmp(name, "pattern") == 0)
			mask->pattern = string_value(&value, "masks", expected);
		else
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown key \"%s\" in a mask", name),
					 errhint("A mask has a name and a pattern.")));
	}
	if (mask->name == NULL || mask->pattern == NULL)
		wrong_type("masks", expected);
	if (*mask->name == '\0' || strlen(mask->name) >= NAMEDATALEN || strpbrk(mask->name, "<> \t\r\n"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid name of a mask: \"%s\"", mask->name),
				 errdetail("A name has 1 to %d bytes and no blank, \"<\" or \">\".", NAMEDATALEN - 1)));
}

static void
read_masks(const JsonbValue *v, L4ParserOptions *o)
{
	static const char *const expected = "an array of objects with a name and a pattern, and the word \"builtin\"";
	JsonbIterator *it = array_begin(v, "masks", expected);
	JsonbValue	elem;
	bool		builtin = false;

	o->has_masks = true;
	o->masks = palloc0(sizeof(L4MaskOption) * (MAX_DRAIN_MASKS + 1));
	while (next_element(&it, &elem))
	{
		if (o->nmasks >= MAX_DRAIN_MASKS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many masks"),
					 errdetail("A parser takes up to %d.", MAX_DRAIN_MASKS)));
		if (elem.type == jbvString)
		{
			char	   *word = string_value(&elem, "masks", expected);

			if (strcmp(word, "builtin") != 0)
				wrong_type("masks", expected);
			if (builtin)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("\"builtin\" may stand once among the masks")));
			builtin = true;
			o->masks[o->nmasks++].name = NULL;
		}
		else
			read_mask(&elem, &o->masks[o->nmasks++]);
	}
}

static void
read_extra_delimiters(const JsonbValue *v, L4ParserOptions *o)
{
	static const char *const expected = "an array of texts that are not empty";
	JsonbIterator *it = array_begin(v, "extra_delimiters", expected);
	const char **list = palloc(sizeof(char *) * MAX_DELIMITERS);
	JsonbValue	elem;
	int			n = 0;

	while (next_element(&it, &elem))
	{
		char	   *word = string_value(&elem, "extra_delimiters", expected);

		if (*word == '\0')
			wrong_type("extra_delimiters", expected);
		if (n >= MAX_DELIMITERS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many extra delimiters"),
					 errdetail("A parser takes up to %d.", MAX_DELIMITERS)));
		list[n++] = word;
	}
	o->drain_options.delimiters = list;
	o->drain_options.ndelimiters = n;
}

static void
read_delimiters(const JsonbValue *v, L4ParserOptions *o)
{
	o->delimiters = string_value(v, "delimiters", "a text");
	for (const uint8 *p = (const uint8 *) o->delimiters; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || (*p >= '0' && *p <= '9') || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z'))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid delimiters: \"%s\"", o->delimiters),
					 errdetail("Delimiters are ASCII punctuation characters.")));
}

static void
read_option(const char *name, const JsonbValue *v, L4ParserOptions *o)
{
	L4DrainOptions *d = &o->drain_options;

	if (strcmp(name, "distinct_values") == 0)
		o->distinct = int_value(v, name, L4_MIN_DISTINCT, L4_MAX_DISTINCT);
	else if (strcmp(name, "max_templates") == 0)
		o->max_templates = int_value(v, name, 1, L4_MOST_TEMPLATES);
	else if (strcmp(name, "delimiters") == 0)
		read_delimiters(v, o);
	else if (strcmp(name, "depth") == 0)
		d->depth = int_value(v, name, L4_DRAIN_MIN_DEPTH, L4_DRAIN_MAX_DEPTH);
	else if (strcmp(name, "sim_th") == 0)
		d->sim_th = share_value(v, name);
	else if (strcmp(name, "max_children") == 0)
		d->max_children = int_value(v, name, L4_DRAIN_MIN_CHILDREN, PG_INT32_MAX);
	else if (strcmp(name, "max_clusters") == 0)
		d->max_clusters = v->type == jbvNull ? 0 : int_value(v, name, 1, PG_INT32_MAX);
	else if (strcmp(name, "extra_delimiters") == 0)
		read_extra_delimiters(v, o);
	else if (strcmp(name, "parametrize_numeric_tokens") == 0)
	{
		if (v->type != jbvBool)
			wrong_type(name, "true or false");
		d->parametrize_numeric_tokens = v->val.boolean;
	}
	else if (strcmp(name, "masks") == 0)
		read_masks(v, o);
}

/* Which algorithm: read first, since it says what the other options may be. */
static void
read_algorithm(Jsonb *jb, L4ParserOptions *o)
{
	JsonbIterator *it = JsonbIteratorInit(&jb->root);
	JsonbValue	key;
	JsonbValue	value;

	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		char	   *word;

		(void) JsonbIteratorNext(&it, &value, true);
		if (key.val.string.len != 9 || memcmp(key.val.string.val, "algorithm", 9) != 0)
			continue;
		word = string_value(&value, "algorithm", "\"l4\" or \"drain\"");
		if (strcmp(word, "drain") == 0)
			o->drain = true;
		else if (strcmp(word, "l4") != 0)
			wrong_type("algorithm", "\"l4\" or \"drain\"");
	}
}

static void
check_name(const char *name, bool masks_only, bool drain)
{
	bool		ours = listed(name, l4_only);
	bool		drains = listed(name, drain_only);

	if (masks_only)
	{
		if (strcmp(name, "masks") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown option \"%s\" of mask", name),
					 errhint("The option is masks.")));
		return;
	}
	if (!ours && !drains && strcmp(name, "masks") != 0 && strcmp(name, "algorithm") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown option \"%s\" of a parser", name),
				 errhint("Options are algorithm and masks; with algorithm l4 distinct_values, max_templates and delimiters; "
						 "with algorithm drain depth, sim_th, max_children, max_clusters, extra_delimiters "
						 "and parametrize_numeric_tokens.")));
	if (ours && drain)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" does not apply to algorithm drain", name)));
	if (drains && !drain)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" applies to algorithm drain only", name)));
}

void
l4_options_read(Jsonb *jb, bool masks_only, L4ParserOptions *o)
{
	JsonbIterator *it;
	JsonbValue	key;
	JsonbValue	value;

	memset(o, 0, sizeof(*o));
	o->distinct = L4_DEFAULT_DISTINCT;
	o->max_templates = L4_DEFAULT_TEMPLATES;
	l4_drain_default_options(&o->drain_options);
	if (jb == NULL)
		return;
	if (!JB_ROOT_IS_OBJECT(jb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options must be a JSON object")));
	if (!masks_only)
		read_algorithm(jb, o);
	it = JsonbIteratorInit(&jb->root);
	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		char	   *name = pnstrdup(key.val.string.val, key.val.string.len);

		(void) JsonbIteratorNext(&it, &value, true);
		check_name(name, masks_only, o->drain);
		read_option(name, &value, o);
	}
	if (!o->drain && o->nmasks > L4_MAX_USER_MASKS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many masks"),
				 errdetail("Algorithm l4 takes up to %d.", L4_MAX_USER_MASKS)));
}
