/*
 * pcre_sql.c
 *		SQL side of regular expressions: the type pcre, match and captures.
 *
 * A pcre value is stored as its source text; compiled forms live in the
 * backend's cache only, since they depend on the library's version.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "base/args.h"
#include "base/json.h"
#include "l4_compat.h"
#include "pcre/pcre.h"

/* Compile once to see whether it compiles; the error shows where not. */
static void
check_pattern(const char *pattern, size_t len)
{
	l4_regex_free(l4_regex_compile(pattern, len, 0, CurrentMemoryContext));
}

L4_FUNCTION(l4_pcre_in)
{
	char	   *pattern = PG_GETARG_CSTRING(0);
	size_t		len = strlen(pattern);

	check_pattern(pattern, len);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(pattern, len));
}

L4_FUNCTION(l4_pcre_recv)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			len;
	char	   *pattern = pq_getmsgtext(buf, buf->len - buf->cursor, &len);

	check_pattern(pattern, len);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(pattern, len));
}

L4_FUNCTION(l4_pcre_from_text)
{
	text	   *pattern = PG_GETARG_TEXT_PP(0);

	check_pattern(VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern));
	PG_RETURN_TEXT_P(pattern);
}

/* Why a text is no valid pattern; NULL when it is one. */
L4_FUNCTION(l4_pcre_error)
{
	text	   *pattern = PG_GETARG_TEXT_PP(0);
	char	   *reason;
	size_t		offset;
	L4Regex    *re;

	re = l4_regex_try_compile(VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern),
							  0, CurrentMemoryContext, &reason, &offset);
	if (re != NULL)
	{
		l4_regex_free(re);
		PG_RETURN_NULL();
	}
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("at character %d: %s",
											  pg_mbstrlen_with_len(VARDATA_ANY(pattern), offset) + 1,
											  reason)));
}

/* Match arguments 0 (line) and 1 (pattern); the result is that of l4_regex_exec. */
static int
match_args(FunctionCallInfo fcinfo, L4Regex **re, text **line)
{
	text	   *pattern = PG_GETARG_TEXT_PP(1);

	*line = PG_GETARG_TEXT_PP(0);
	*re = l4_regex_cached(VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern));
	PG_FREE_IF_COPY(pattern, 1);
	return l4_regex_exec(*re, VARDATA_ANY(*line), VARSIZE_ANY_EXHDR(*line), 0);
}

/* pcre_match(line, pattern [, strict]) and the operator =~ */
L4_FUNCTION(l4_pcre_match)
{
	bool		strict = PG_NARGS() > 2 && PG_GETARG_BOOL(2);
	text	   *line;
	L4Regex    *re;
	int			rc = match_args(fcinfo, &re, &line);

	if (rc < 0 && strict)
	{
		size_t		len;
		const char *source = l4_regex_source(re, &len);

		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("match limit exceeded by pattern \"%s\"",
						l4_regex_display(source, len)),
				 errdetail("A match may backtrack %d times from one position; the line has %d bytes.",
						   L4_PCRE_MATCH_LIMIT, (int) VARSIZE_ANY_EXHDR(line)),
				 errhint("Avoid nested quantifiers, or make them possessive: \"(?:a+)++\" instead of \"(a+)+\".")));
	}
	PG_FREE_IF_COPY(line, 0);
	if (rc < 0)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(rc > 0);
}

/*
 * The value of one group. NULL also where a match on bytes (database encodings
 * other than UTF8) cut a character, which jsonb could not hold.
 */
static void
push_group(JsonbParseState **state, const char *line, const size_t *pair)
{
	JsonbValue	v;

	if (pair[0] == L4_REGEX_UNSET ||
		!pg_verify_mbstr(GetDatabaseEncoding(), line + pair[0], pair[1] - pair[0], true))
		v.type = jbvNull;
	else
	{
		v.type = jbvString;
		v.val.string.val = (char *) line + pair[0];
		v.val.string.len = pair[1] - pair[0];
	}
	pushJsonbValue(state, WJB_VALUE, &v);
}

/*
 * The groups of the first match: "0" is the whole match, a named group has
 * its name as key, another its number. NULL without a match and at a limit.
 */
L4_FUNCTION(l4_pcre_captures)
{
	text	   *line;
	L4Regex    *re;
	int			rc = match_args(fcinfo, &re, &line);
	const size_t *pairs;
	const char *bytes = VARDATA_ANY(line);
	JsonbParseState *state = NULL;

	if (rc <= 0)
	{
		PG_FREE_IF_COPY(line, 0);
		PG_RETURN_NULL();
	}
	pairs = l4_regex_ovector(re);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);

	/* unset groups first: of equal keys the last one stays, so a set one of the same name wins */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i <= l4_regex_ngroups(re); i++)
		{
			const char *name = l4_regex_group_name(re, i);

			if ((pairs[2 * i] != L4_REGEX_UNSET) != (pass == 1))
				continue;
			l4_json_string(&state, WJB_KEY, name != NULL ? name : psprintf("%d", i));
			push_group(&state, bytes, pairs + 2 * i);
		}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}
