/*
 * mask.c
 *		Masks that users write: named PCRE2 patterns, applied one after another.
 *
 * The semantics are those of Python's re.sub, which Drain3 uses: each mask
 * sees what the ones before it left, matches do not overlap, and an empty
 * match counts unless it begins where an empty match before it began.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "pcre/literal.h"
#include "pcre/pcre.h"
#include "scan/mask.h"

/* Up to so many literals are looked for before a mask's pattern is run. */
#define LITERALS_MAX 4

typedef struct Mask
{
	char	   *name;
	char	   *text;			/* "<NAME>" */
	int			text_len;
	L4Regex    *ascii;			/* for lines of ASCII */
	L4Regex    *unicode;		/* for other lines; the same object unless Python's classes are asked for */
	int			nliterals;		/* one of these is in every line that matches; 0: not known */
	L4Literal	literals[LITERALS_MAX];
} Mask;

typedef struct SpanList
{
	L4MaskSpan *spans;
	int			count;
	int			size;
} SpanList;

/* A match of one pass: bytes of the text that the pass read. */
typedef struct Match
{
	int			from;
	int			to;
} Match;

/* A mask that matched something in the last line. */
typedef struct Pass
{
	int			mask;
	int			first;			/* of its matches */
	int			end;
} Pass;

struct L4Masks
{
	MemoryContext cxt;
	int			count;
	Mask	   *masks;
	bool		noticed;		/* the notice about a limit was given */
	StringInfoData buf[2];		/* current text and the one being built */

	/* what was replaced, pass by pass; spans are made of it only when asked for */
	Pass	   *passes;
	int			npasses;
	Match	   *matches;
	int			nmatches;
	int			matches_size;
	SpanList	list[2];
};

static void
compile_context(void *arg)
{
	errcontext("mask \"%s\"", (const char *) arg);
}

/* Literals that spare most lines the pattern, where it has such. */
static void
find_literals(Mask *mask, const char *pattern)
{
	L4Required *required = palloc(sizeof(L4Required));
	const L4LiteralSet *best = &required->best;

	l4_required_literals(pattern, strlen(pattern), required);
	if (best->n <= LITERALS_MAX && !required->caseless)
	{
		mask->nliterals = best->n;
		memcpy(mask->literals, best->items, sizeof(L4Literal) * best->n);
	}
	pfree(required);
}

L4Masks *
l4_masks_create(int n, const char *const *names, const char *const *patterns,
				bool python, MemoryContext parent)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "l4 masks", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Masks    *masks = palloc0(sizeof(L4Masks));
	ErrorContextCallback callback;

	masks->cxt = cxt;
	masks->count = n;
	masks->masks = palloc0(sizeof(Mask) * Max(n, 1));
	callback.callback = compile_context;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	for (int i = 0; i < n; i++)
	{
		Mask	   *mask = &masks->masks[i];

		callback.arg = unconstify(char *, names[i]);
		mask->name = pstrdup(names[i]);
		mask->text = psprintf("<%s>", names[i]);
		mask->text_len = strlen(mask->text);
		mask->ascii = l4_regex_compile(patterns[i], strlen(patterns[i]), 0, cxt);
		mask->unicode = mask->ascii;
		if (python && GetDatabaseEncoding() == PG_UTF8)
			mask->unicode = l4_regex_compile(patterns[i], strlen(patterns[i]),
											 L4_REGEX_UCP, cxt);
		find_literals(mask, patterns[i]);
	}
	error_context_stack = callback.previous;
	masks->passes = palloc(sizeof(Pass) * Max(n, 1));
	masks->matches_size = 64;
	masks->matches = palloc(sizeof(Match) * masks->matches_size);
	initStringInfo(&masks->buf[0]);
	initStringInfo(&masks->buf[1]);
	MemoryContextSwitchTo(old);
	return masks;
}

int
l4_masks_count(const L4Masks *masks)
{
	return masks->count;
}

const char *
l4_masks_name(const L4Masks *masks, int i)
{
	return masks->masks[i].name;
}

static void
add_match(L4Masks *masks, int from, int to)
{
	if (masks->nmatches == masks->matches_size)
	{
		masks->matches_size *= 2;
		masks->matches = repalloc_huge(masks->matches,
									   sizeof(Match) * (Size) masks->matches_size);
	}
	masks->matches[masks->nmatches].from = from;
	masks->matches[masks->nmatches++].to = to;
}

/* One mask over one text. 1: out holds the result; 0: no match; -1: gave up at a limit. */
static int
apply_one(L4Masks *masks, int index, L4Regex *re, const char *text, int len, StringInfo out)
{
	const Mask *mask = &masks->masks[index];
	Pass	   *pass = &masks->passes[masks->npasses];
	const size_t *pair = l4_regex_ovector(re);
	int			copied = 0;
	int			rc = l4_regex_exec(re, text, len, 0);

	if (rc <= 0)
		return rc;
	pass->mask = index;
	pass->first = masks->nmatches;
	resetStringInfo(out);
	while (rc > 0)
	{
		int			from = Max((int) pair[0], copied);	/* \K may go back */
		int			to = Max((int) pair[1], from);

		enlargeStringInfo(out, from - copied + mask->text_len);
		memcpy(out->data + out->len, text + copied, from - copied);
		out->len += from - copied;
		memcpy(out->data + out->len, mask->text, mask->text_len);
		out->len += mask->text_len;
		add_match(masks, from, to);
		copied = to;
		rc = (from == to) ? l4_regex_exec_nonempty(re, text, len, to)
			: l4_regex_exec(re, text, len, to);
	}
	if (rc < 0)
	{
		masks->nmatches = pass->first;
		return rc;
	}
	pass->end = masks->nmatches;
	masks->npasses++;
	appendBinaryStringInfo(out, text + copied, len - copied);
	return 1;
}

static void
note_limit(L4Masks *masks, Mask *mask)
{
	if (masks->noticed)
		return;
	masks->noticed = true;
	ereport(NOTICE,
			(errmsg("mask \"%s\" gave up on a line", mask->name),
			 errdetail("The line was left unmasked by it; it may backtrack %d times from one position.",
					   L4_PCRE_MATCH_LIMIT),
			 errhint("Avoid nested quantifiers in the mask's pattern.")));
}

static bool
is_ascii(const char *s, int len)
{
	uint64		all = 0;
	int			i = 0;

	for (; i + 8 <= len; i += 8)
	{
		uint64		word;

		memcpy(&word, s + i, 8);
		all |= word;
	}
	for (; i < len; i++)
		all |= (uint64) (unsigned char) s[i];
	return (all & UINT64CONST(0x8080808080808080)) == 0;
}

const char *
l4_masks_apply(L4Masks *masks, const char *line, int len, int *masked_len)
{
	bool		ascii = is_ascii(line, len);
	const char *text = line;
	int			cur = 0;

	masks->npasses = masks->nmatches = 0;
	for (int i = 0; i < masks->count; i++)
	{
		Mask	   *mask = &masks->masks[i];
		int			rc;

		if (mask->nliterals > 0 &&
			!l4_any_literal_in(mask->literals, mask->nliterals, text, len))
			continue;
		rc = apply_one(masks, i, ascii ? mask->ascii : mask->unicode, text, len,
					   &masks->buf[!cur]);
		if (rc < 0)
			note_limit(masks, mask);
		if (rc <= 0)
			continue;
		cur = !cur;
		text = masks->buf[cur].data;
		len = masks->buf[cur].len;
	}
	*masked_len = len;
	return text;
}

static void
add_span(L4Masks *masks, SpanList *list, const L4MaskSpan *span)
{
	if (list->count == list->size)
	{
		int			size = Max(16, list->size * 2);

		if (list->spans == NULL)
			list->spans = MemoryContextAlloc(masks->cxt, sizeof(L4MaskSpan) * size);
		else
			list->spans = repalloc_huge(list->spans, sizeof(L4MaskSpan) * (Size) size);
		list->size = size;
	}
	list->spans[list->count++] = *span;
}

/*
 * Keep the spans of the text before that end at or before upto, moved by
 * shift; *next is the first one not yet looked at.
 */
static void
keep_spans(L4Masks *masks, const SpanList *before, int *next, int upto, int shift,
		   SpanList *after)
{
	while (*next < before->count && before->spans[*next].off + before->spans[*next].len <= upto)
	{
		L4MaskSpan	span = before->spans[(*next)++];

		span.off += shift;
		add_span(masks, after, &span);
	}
}

/*
 * What bytes from..to of the text before were in the line. A span that the
 * match cuts into belongs to it as a whole.
 */
static void
map_to_source(const SpanList *before, int *next, int from, int to, int *src_off, int *src_len)
{
	int			start;
	int			end;
	int			i = *next;
	int			span_end = 0;	/* of the last span in front, here and in the line */
	int			src_end = 0;

	if (i > 0)
	{
		const L4MaskSpan *last = &before->spans[i - 1];

		span_end = last->off + last->len;
		src_end = last->src_off + last->src_len;
	}
	start = src_end + Max(0, from - span_end);
	end = src_end + Max(0, to - span_end);
	for (; i < before->count && before->spans[i].off < to; i++)
	{
		const L4MaskSpan *span = &before->spans[i];

		if (span->off <= from)
			start = span->src_off;
		end = span->src_off + span->src_len + Max(0, to - (span->off + span->len));
	}
	*next = i;
	*src_off = start;
	*src_len = end - start;
}

int
l4_masks_spans(L4Masks *masks, const L4MaskSpan **spans)
{
	int			cur = 0;

	masks->list[0].count = 0;
	for (int p = 0; p < masks->npasses; p++)
	{
		const Pass *pass = &masks->passes[p];
		const SpanList *before = &masks->list[cur];
		SpanList   *after = &masks->list[!cur];
		int			next = 0;
		int			shift = 0;	/* how much longer the text got so far */

		after->count = 0;
		for (int m = pass->first; m < pass->end; m++)
		{
			const Match *match = &masks->matches[m];
			L4MaskSpan	span;

			keep_spans(masks, before, &next, match->from, shift, after);
			map_to_source(before, &next, match->from, match->to, &span.src_off, &span.src_len);
			span.off = match->from + shift;
			span.len = masks->masks[pass->mask].text_len;
			span.mask = pass->mask;
			add_span(masks, after, &span);
			shift += span.len - (match->to - match->from);
		}
		keep_spans(masks, before, &next, PG_INT32_MAX, shift, after);
		cur = !cur;
	}
	*spans = masks->list[cur].spans;
	return masks->list[cur].count;
}
