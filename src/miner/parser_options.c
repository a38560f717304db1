/*
 * parser_options.c
 *		Options of a parser: reading and checking them.
 */
#include "postgres.h"

#include "base/args.h"
#include "miner/parser_int.h"
#include "scan/scan.h"

#define MAX_DRAIN_MASKS		1000
#define MAX_DELIMITERS		100

#define MASKS_EXPECTED		"an array of objects with a name and a pattern, and the word \"builtin\""
#define TEXTS_EXPECTED		"an array of texts that are not empty"

static void
not_as_expected(const char *option, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" of a parser must be %s", option, expected)));
}

/* The elements of a list, n of them, most at most. */
static JsonbValue **
list_elements(Jsonb *list, const char *option, const char *expected, int most, int *n)
{
	JsonbValue **elements;

	if (!JB_ROOT_IS_ARRAY(list) || JB_ROOT_IS_SCALAR(list))
		not_as_expected(option, expected);
	*n = JB_ROOT_COUNT(list);
	if (*n > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("option \"%s\" of a parser has %d elements", option, *n),
				 errdetail("It takes up to %d.", most)));
	elements = palloc(sizeof(JsonbValue *) * Max(1, *n));
	for (int i = 0; i < *n; i++)
		elements[i] = getIthJsonbValueFromContainer(&list->root, i);
	return elements;
}

/* A text that is not empty. */
static char *
text_value(const JsonbValue *v, const char *option, const char *expected)
{
	if (v == NULL || v->type != jbvString || v->val.string.len == 0)
		not_as_expected(option, expected);
	return pnstrdup(v->val.string.val, v->val.string.len);
}

/* {"name": "IP", "pattern": "..."} */
static void
read_mask(const JsonbValue *v, L4MaskOption *mask)
{
	JsonbContainer *object = v->type == jbvBinary ? v->val.binary.data : NULL;

	if (object == NULL || !JsonContainerIsObject(object) || JsonContainerSize(object) != 2)
		not_as_expected("masks", MASKS_EXPECTED);
	mask->name = text_value(getKeyJsonValueFromContainer(object, "name", 4, NULL), "masks", MASKS_EXPECTED);
	mask->pattern = text_value(getKeyJsonValueFromContainer(object, "pattern", 7, NULL), "masks", MASKS_EXPECTED);
	if (strlen(mask->name) >= NAMEDATALEN || strpbrk(mask->name, "<> \t\r\n"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid name of a mask: \"%s\"", mask->name),
				 errdetail("A name has 1 to %d bytes and no blank, \"<\" or \">\".", NAMEDATALEN - 1)));
}

static void
read_masks(Jsonb *list, L4ParserOptions *o)
{
	JsonbValue **elements = list_elements(list, "masks", MASKS_EXPECTED,
										  o->drain ? MAX_DRAIN_MASKS : L4_MAX_USER_MASKS, &o->nmasks);
	bool		builtin = false;

	o->has_masks = true;
	o->masks = palloc0(sizeof(L4MaskOption) * (o->nmasks + 1));
	for (int i = 0; i < o->nmasks; i++)
	{
		if (elements[i]->type != jbvString)
		{
			read_mask(elements[i], &o->masks[i]);
			continue;
		}
		if (strcmp(text_value(elements[i], "masks", MASKS_EXPECTED), "builtin") != 0)
			not_as_expected("masks", MASKS_EXPECTED);
		if (builtin)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"builtin\" may stand once among the masks")));
		builtin = true;
	}
}

static void
read_extra_delimiters(Jsonb *list, L4DrainOptions *d)
{
	JsonbValue **elements = list_elements(list, "extra_delimiters", TEXTS_EXPECTED, MAX_DELIMITERS, &d->ndelimiters);

	const char **delimiters = palloc(sizeof(char *) * Max(1, d->ndelimiters));

	for (int i = 0; i < d->ndelimiters; i++)
		delimiters[i] = text_value(elements[i], "extra_delimiters", TEXTS_EXPECTED);
	d->delimiters = delimiters;
}

static void
check_delimiters(const char *delimiters)
{
	for (const uint8 *p = (const uint8 *) delimiters; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || (*p >= '0' && *p <= '9') || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z'))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid delimiters: \"%s\"", delimiters),
					 errdetail("Delimiters are ASCII punctuation characters.")));
}

/* Which algorithm: read first, since it says what the other options may be. */
static bool
is_drain(Jsonb *jb)
{
	static const char *const expected = "\"l4\" or \"drain\"";
	JsonbValue *v = JB_ROOT_IS_OBJECT(jb) ? getKeyJsonValueFromContainer(&jb->root, "algorithm", 9, NULL) : NULL;
	const char *name = v == NULL ? "l4" : text_value(v, "algorithm", expected);

	if (strcmp(name, "l4") != 0 && strcmp(name, "drain") != 0)
		not_as_expected("algorithm", expected);
	return strcmp(name, "drain") == 0;
}

void
l4_options_read(Jsonb *jb, bool masks_only, L4ParserOptions *o)
{
	L4DrainOptions *d = &o->drain_options;
	Jsonb	   *masks = NULL;
	Jsonb	   *extra_delimiters = NULL;
	char	   *algorithm;
	const L4Option ours[] = {
		{"masks", L4_OPTION_JSONB, 0, 0, &masks},
		{"algorithm", L4_OPTION_TEXT, 0, 0, &algorithm},
		{"distinct_values", L4_OPTION_INT, L4_MIN_DISTINCT, L4_MAX_DISTINCT, &o->distinct},
		{"max_templates", L4_OPTION_INT, 1, L4_MOST_TEMPLATES, &o->max_templates},
		{"delimiters", L4_OPTION_TEXT, 0, 0, &o->delimiters}
	};
	const L4Option drains[] = {
		{"masks", L4_OPTION_JSONB, 0, 0, &masks},
		{"algorithm", L4_OPTION_TEXT, 0, 0, &algorithm},
		{"depth", L4_OPTION_INT, L4_DRAIN_MIN_DEPTH, L4_DRAIN_MAX_DEPTH, &d->depth},
		{"sim_th", L4_OPTION_FLOAT, 0, 1, &d->sim_th},
		{"max_children", L4_OPTION_INT, L4_DRAIN_MIN_CHILDREN, PG_INT32_MAX, &d->max_children},
		{"max_clusters", L4_OPTION_INT, 1, PG_INT32_MAX, &d->max_clusters},
		{"extra_delimiters", L4_OPTION_JSONB, 0, 0, &extra_delimiters},
		{"parametrize_numeric_tokens", L4_OPTION_BOOL, 0, 0, &d->parametrize_numeric_tokens}
	};

	memset(o, 0, sizeof(*o));
	o->distinct = L4_DEFAULT_DISTINCT;
	o->max_templates = L4_DEFAULT_TEMPLATES;
	l4_drain_default_options(d);
	if (jb != NULL)
	{
		o->drain = !masks_only && is_drain(jb);
		if (o->drain)
			l4_check_options(jb, drains, lengthof(drains), "a parser of algorithm drain");
		else
			l4_check_options(jb, ours, masks_only ? 1 : lengthof(ours), masks_only ? "mask" : "a parser of algorithm l4");
	}
	if (masks != NULL)
		read_masks(masks, o);
	if (extra_delimiters != NULL)
		read_extra_delimiters(extra_delimiters, d);
	if (o->delimiters != NULL)
		check_delimiters(o->delimiters);
}
