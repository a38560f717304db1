/*
 * pcre.c
 *		Regular expressions of users (PCRE2), compiled once and run with limits.
 *
 * A pattern comes from a row and may be hostile. So every match has a match
 * limit (and, where the JIT is missing, depth and heap limits), \C is refused
 * because it can split a character, and a search in a long subject is cut
 * into windows of start positions with an interrupt check between them: the
 * match limit counts backtracking from one start position only, and a match
 * itself cannot be interrupted.
 *
 * Memory of a pattern comes from a context of its own; what the JIT allocates
 * outside of palloc is freed by that context's reset callback.
 */
#include "postgres.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pcre/pcre.h"

/* Subjects from this length on (bytes) are searched window by window. */
#define L4_WINDOW_FROM 16384

/* Start positions times subject length of one window: about a third of a second at worst. */
#define L4_WINDOW_WORK (((uint64) 1) << 28)
#define L4_WINDOW_MIN 64

/* The JIT's machine stack (bytes), one a backend; needing more counts as a limit. */
#define L4_JIT_STACK_MIN (32 * 1024)
#define L4_JIT_STACK_MAX (1024 * 1024)

/*
 * To make machine code takes as long as the interpreter takes for this many
 * bytes of subjects. It runs up to so many steps, far below all limits: what
 * needs more is left to the machine code, so that limits are hit alike.
 */
#define L4_INTERPRET_BYTES 4096
#define L4_INTERPRET_STEPS 1000

struct L4Regex
{
	MemoryContext cxt;
	pcre2_code *code;
	pcre2_match_data *match;
	bool		jit;
	bool		jit_tried;
	size_t		interpreted;	/* bytes of subjects so far */
	bool		anchored;		/* one start position: no windows, and \G means what it says */
	bool		any_start;		/* nothing is known about the first byte, or there may be none */
	uint32		compile_options;
	int			ngroups;
	const char **names;			/* by group number, NULL where a group has none */
	char	   *source;
	size_t		source_len;
	uint8		first[32];		/* bitmap of bytes that can start a match */
	MemoryContextCallback callback;
};

/* Limits and the JIT stack are the same for all patterns of a backend. */
static pcre2_match_context *match_limits = NULL;
static pcre2_match_context *window_limits = NULL;	/* the same, with an offset limit set at will */
static pcre2_match_context *interpret_limits = NULL;
static pcre2_jit_stack *jit_stack = NULL;

static void *
pcre_malloc(PCRE2_SIZE size, void *data)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) data, size,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
pcre_free(void *ptr, void *data)
{
	if (ptr != NULL)
		pfree(ptr);
}

static void
out_of_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory"),
			 errdetail("Failed while compiling a regular expression.")));
}

/* Make the backend's match context: limits and, where it works, a stack for the JIT. */
static void
init_limits(void)
{
	pcre2_general_context *general;
	pcre2_match_context *limits;

	if (match_limits != NULL)
		return;
	general = pcre2_general_context_create(pcre_malloc, pcre_free, TopMemoryContext);
	if (general == NULL)
		out_of_memory();
	limits = pcre2_match_context_create(general);
	if (limits == NULL)
		out_of_memory();
	pcre2_set_match_limit(limits, L4_PCRE_MATCH_LIMIT);
	pcre2_set_depth_limit(limits, L4_PCRE_DEPTH_LIMIT);
	pcre2_set_heap_limit(limits, L4_PCRE_HEAP_LIMIT);
	jit_stack = pcre2_jit_stack_create(L4_JIT_STACK_MIN, L4_JIT_STACK_MAX, general);
	if (jit_stack != NULL)
		pcre2_jit_stack_assign(limits, NULL, jit_stack);
	window_limits = pcre2_match_context_copy(limits);
	interpret_limits = pcre2_match_context_copy(limits);
	if (window_limits == NULL || interpret_limits == NULL)
		out_of_memory();
	pcre2_set_match_limit(interpret_limits, L4_INTERPRET_STEPS);
	pcre2_general_context_free(general);
	match_limits = limits;
}

/* Free what palloc does not know of; the context's own memory goes with the context. */
static void
release_regex(void *arg)
{
	L4Regex    *re = (L4Regex *) arg;

	pcre2_code_free(re->code);
	re->code = NULL;
}

/* Group names by number. With duplicate names (?J) each number keeps its own. */
static void
read_names(L4Regex *re)
{
	uint32		count = 0;
	uint32		size = 0;
	uint32		groups = 0;
	PCRE2_SPTR	table = NULL;

	pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMECOUNT, &count);
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMETABLE, &table);
	re->ngroups = groups;
	re->names = MemoryContextAllocZero(re->cxt, sizeof(char *) * (groups + 1));
	for (uint32 i = 0; i < count; i++)
	{
		PCRE2_SPTR	entry = table + (size_t) i * size;
		int			group = (entry[0] << 8) | entry[1];

		if (group <= re->ngroups)
			re->names[group] = (const char *) (entry + 2);
	}
}

/* What PCRE2 found out about the first byte of a match. */
static void
read_first_bytes(L4Regex *re)
{
	uint32		type = 0;
	uint32		unit = 0;
	uint32		empty = 0;
	uint32		options = 0;
	const uint8 *bitmap = NULL;

	pcre2_pattern_info(re->code, PCRE2_INFO_MATCHEMPTY, &empty);
	pcre2_pattern_info(re->code, PCRE2_INFO_FIRSTCODETYPE, &type);
	pcre2_pattern_info(re->code, PCRE2_INFO_FIRSTBITMAP, &bitmap);
	pcre2_pattern_info(re->code, PCRE2_INFO_ALLOPTIONS, &options);
	re->any_start = (empty != 0);
	re->anchored = (options & PCRE2_ANCHORED) != 0;
	if (type == 1)
	{
		/* whether it is caseless is not told: take both cases */
		pcre2_pattern_info(re->code, PCRE2_INFO_FIRSTCODEUNIT, &unit);
		re->first[unit >> 3 & 31] |= 1 << (unit & 7);
		if ((unit >= 'A' && unit <= 'Z') || (unit >= 'a' && unit <= 'z'))
		{
			unit ^= 0x20;
			re->first[unit >> 3] |= 1 << (unit & 7);
		}
		else if (unit >= 0x80)
			re->any_start = true;	/* the other case may start with another byte */
	}
	else if (bitmap != NULL)
		memcpy(re->first, bitmap, sizeof(re->first));
	else
		re->any_start = true;
}

/* Options that follow from ours and from the database encoding. */
static uint32
compile_options(int options)
{
	uint32		flags = PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;

	if (GetDatabaseEncoding() == PG_UTF8)
	{
		flags |= PCRE2_UTF;
		if (options & L4_REGEX_UCP)
			flags |= PCRE2_UCP;
	}
	else
		flags |= PCRE2_NEVER_UTF;	/* "(*UTF)" would take unchecked bytes for characters */
	return flags;
}

/* The JIT is optional; a pattern that starts with (*NO_JIT) compiles well and has no code. */
static void
need_jit(L4Regex *re)
{
	size_t		size = 0;

	if (!re->jit_tried)
		re->jit = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0 &&
			pcre2_pattern_info(re->code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
	re->jit_tried = true;
}

/* Compile the source of a pattern into its context; NULL, and error and offset set, when it is invalid. */
static pcre2_code *
compile_source(const L4Regex *re, int *error, PCRE2_SIZE *offset)
{
	pcre2_general_context *general = pcre2_general_context_create(pcre_malloc, pcre_free, re->cxt);
	pcre2_compile_context *compile;
	pcre2_code *code;

	if (general == NULL)
		out_of_memory();
	compile = pcre2_compile_context_create(general);
	if (compile == NULL)
		out_of_memory();
	code = pcre2_compile((PCRE2_SPTR) re->source, re->source_len, re->compile_options,
						 error, offset, compile);
	pcre2_compile_context_free(compile);
	pcre2_general_context_free(general);
	return code;
}

L4Regex *
l4_regex_try_compile(const char *pattern, size_t len, int options, MemoryContext parent,
					 char **reason, size_t *offset)
{
	MemoryContext cxt;
	L4Regex    *re;
	int			error = 0;
	PCRE2_SIZE	error_offset = 0;

	init_limits();
	if (len > L4_PCRE_MAX_PATTERN)
	{
		*reason = psprintf("pattern has %zu bytes, more than %d", len, L4_PCRE_MAX_PATTERN);
		*offset = L4_PCRE_MAX_PATTERN;
		return NULL;
	}
	cxt = AllocSetContextCreate(parent, "l4 regex", ALLOCSET_SMALL_SIZES);
	re = MemoryContextAllocZero(cxt, sizeof(L4Regex));
	re->cxt = cxt;
	re->compile_options = compile_options(options);
	re->source = MemoryContextAlloc(cxt, len + 1);
	memcpy(re->source, pattern, len);
	re->source[len] = '\0';
	re->source_len = len;
	re->code = compile_source(re, &error, &error_offset);
	if (re->code == NULL)
	{
		char		text[256];

		pcre2_get_error_message(error, (PCRE2_UCHAR *) text, sizeof(text));
		MemoryContextDelete(cxt);
		*reason = pstrdup(text);
		*offset = Min(error_offset, len);
		return NULL;
	}
	re->callback.func = release_regex;
	re->callback.arg = re;
	MemoryContextRegisterResetCallback(cxt, &re->callback);
	re->match = pcre2_match_data_create_from_pattern(re->code, NULL);
	if (re->match == NULL)
		out_of_memory();
	read_names(re);
	read_first_bytes(re);
	return re;
}

char *
l4_regex_display(const char *pattern, size_t len)
{
	int			cut = pg_mbcliplen(pattern, Min(len, 1000), 100);

	return psprintf("%.*s%s", cut, pattern, cut < len ? "..." : "");
}

L4Regex *
l4_regex_compile(const char *pattern, size_t len, int options, MemoryContext cxt)
{
	char	   *reason;
	size_t		offset;
	size_t		from;
	L4Regex    *re;

	if (len > L4_PCRE_MAX_PATTERN)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("regular expression is too long"),
				 errdetail("The pattern has %zu bytes, at most %d are allowed.",
						   len, L4_PCRE_MAX_PATTERN)));
	re = l4_regex_try_compile(pattern, len, options, cxt, &reason, &offset);
	if (re != NULL)
		return re;

	/* show up to 20 bytes before the fault, from a character's start on */
	offset = pg_mbcliplen(pattern, len, offset);
	from = offset > 20 ? pg_mbcliplen(pattern, len, offset - 20) : 0;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
			 errmsg("invalid regular expression: \"%s\"", l4_regex_display(pattern, len)),
			 errdetail("At character %d, after \"%.*s\": %s.",
					   pg_mbstrlen_with_len(pattern, offset) + 1,
					   (int) (offset - from), pattern + from, reason)));
	return NULL;				/* keep the compiler quiet */
}

void
l4_regex_free(L4Regex *re)
{
	MemoryContextDelete(re->cxt);
}

static inline int
match(L4Regex *re, pcre2_match_context *limits, const char *subject, size_t len, size_t start, uint32 flags)
{
	if (re->jit)
		return pcre2_jit_match(re->code, (PCRE2_SPTR) subject, len, start, flags, re->match, limits);
	return pcre2_match(re->code, (PCRE2_SPTR) subject, len, start, flags | PCRE2_NO_UTF_CHECK, re->match, limits);
}

/* Run once; translate the outcome. */
static int
run(L4Regex *re, pcre2_match_context *limits, const char *subject, size_t len, size_t start, uint32 flags)
{
	int			rc = PCRE2_ERROR_MATCHLIMIT;
	PCRE2_SIZE *pairs;

	if (!re->jit_tried && re->interpreted + len <= L4_INTERPRET_BYTES)
	{
		re->interpreted += len;
		rc = match(re, interpret_limits, subject, len, start, flags);
	}
	if (rc <= 0 && rc != PCRE2_ERROR_NOMATCH)
	{
		need_jit(re);
		rc = match(re, limits, subject, len, start, flags);
	}
	switch (rc)
	{
		case PCRE2_ERROR_NOMATCH:
			return 0;
		case PCRE2_ERROR_MATCHLIMIT:
		case PCRE2_ERROR_DEPTHLIMIT:
		case PCRE2_ERROR_HEAPLIMIT:
		case PCRE2_ERROR_JIT_STACKLIMIT:
		case PCRE2_ERROR_NOMEMORY:
		case PCRE2_ERROR_RECURSELOOP:
			return -1;
		default:
			break;
	}
	if (rc <= 0)
		elog(ERROR, "PCRE2 match failed with code %d", rc);

	/* \K in a look-around can put the start behind the end (PCRE2 before 10.38) */
	pairs = pcre2_get_ovector_pointer(re->match);
	if (pairs[0] > pairs[1])
		pairs[0] = pairs[1];
	return rc;
}

/* Search a long subject window by window, so that a cancel is heard. */
static int
run_windows(L4Regex *re, const char *subject, size_t len, size_t start, uint32 flags)
{
	size_t		window = Max(L4_WINDOW_WORK / len, L4_WINDOW_MIN);
	size_t		limit;
	int			rc;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		limit = (len - start > window) ? start + window : len;
		/* a window starts and ends at a character */
		if (GetDatabaseEncoding() == PG_UTF8)
			while (limit < len && ((unsigned char) subject[limit] & 0xC0) == 0x80)
				limit++;
		pcre2_set_offset_limit(window_limits, limit);
		rc = run(re, window_limits, subject, len, start, flags);
		if (rc != 0 || limit >= len)
			return rc;
		start = limit;
		flags = 0;				/* they concern the first start position only */
	}
}

static inline int
exec(L4Regex *re, const char *subject, size_t len, size_t start, uint32 flags)
{
	if (start > len)
		return 0;
	if (len >= L4_WINDOW_FROM && !re->anchored)
		return run_windows(re, subject, len, start, flags);
	return run(re, match_limits, subject, len, start, flags);
}

int
l4_regex_exec(L4Regex *re, const char *subject, size_t len, size_t start)
{
	return exec(re, subject, len, start, 0);
}

int
l4_regex_exec_nonempty(L4Regex *re, const char *subject, size_t len, size_t start)
{
	return exec(re, subject, len, start, PCRE2_NOTEMPTY_ATSTART);
}

int
l4_regex_exec_prefix(L4Regex *re, const char *subject, size_t len)
{
	int			rc = pcre2_match(re->code, (PCRE2_SPTR) subject, len, 0,
								 PCRE2_PARTIAL_HARD | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
								 re->match, match_limits);

	return rc == PCRE2_ERROR_NOMATCH ? 0 : rc > 0 ? rc : -1;
}

const size_t *
l4_regex_ovector(L4Regex *re)
{
	return pcre2_get_ovector_pointer(re->match);
}

int
l4_regex_ngroups(L4Regex *re)
{
	return re->ngroups;
}

int
l4_regex_group(L4Regex *re, const char *name)
{
	for (int i = 1; i <= re->ngroups; i++)
		if (re->names[i] != NULL && strcmp(re->names[i], name) == 0)
			return i;
	return -1;
}

const char *
l4_regex_group_name(L4Regex *re, int group)
{
	return (group >= 1 && group <= re->ngroups) ? re->names[group] : NULL;
}

bool
l4_regex_may_start(L4Regex *re, unsigned char c)
{
	return re->any_start || (re->first[c >> 3] & (1 << (c & 7))) != 0;
}

const char *
l4_regex_source(L4Regex *re, size_t *len)
{
	*len = re->source_len;
	return re->source;
}

size_t
l4_regex_memory(L4Regex *re)
{
	size_t		jit = 0;

	need_jit(re);
	pcre2_pattern_info(re->code, PCRE2_INFO_JITSIZE, &jit);
	return MemoryContextMemAllocated(re->cxt, true) + jit;
}
