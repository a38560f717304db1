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

#include "base/grow.h"
#include "pcre/pcre.h"
#include "scan/mask.h"

typedef struct Mask
{
	char	   *name;
	char	   *text;			/* "<NAME>" */
	int			text_len;
	L4Regex    *ascii;			/* for lines of ASCII */
	L4Regex    *unicode;		/* for other lines; the same object unless Python's classes are asked for */
} Mask;

/* What was replaced in a text, by position, without overlap. */
typedef struct SpanList
{
	L4MaskSpan *spans;
	int			count;
	int			size;
} SpanList;

struct L4Masks
{
	MemoryContext cxt;
	int			count;
	Mask	   *masks;
	bool		noticed;		/* the notice about a limit was given */
	int			current;		/* which of the following is the last text, the other one is being built */
	StringInfoData buf[2];
	SpanList	list[2];
};

static void
compile_context(void *arg)
{
	errcontext("mask \"%s\"", (const char *) arg);
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
	}
	error_context_stack = callback.previous;
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
add_span(L4Masks *masks, SpanList *list, const L4MaskSpan *span)
{
	L4_GROW(list->spans, list->count, list->size, masks->cxt);
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

/* One mask over the last text. 1: the other text is the result; 0: no match; -1: gave up at a limit. */
static int
apply_one(L4Masks *masks, int index, L4Regex *re, const char *text, int len)
{
	const Mask *mask = &masks->masks[index];
	const size_t *pair = l4_regex_ovector(re);
	const SpanList *before = &masks->list[masks->current];
	SpanList   *after = &masks->list[!masks->current];
	StringInfo	out = &masks->buf[!masks->current];
	int			next = 0;
	int			copied = 0;
	int			rc = l4_regex_exec(re, text, len, 0);

	if (rc <= 0)
		return rc;
	resetStringInfo(out);
	after->count = 0;
	while (rc > 0)
	{
		int			from = Max((int) pair[0], copied);	/* \K may go back */
		int			to = Max((int) pair[1], from);
		L4MaskSpan	span;

		appendBinaryStringInfo(out, text + copied, from - copied);
		keep_spans(masks, before, &next, from, out->len - from, after);
		map_to_source(before, &next, from, to, &span.src_off, &span.src_len);
		span.off = out->len;
		span.len = mask->text_len;
		span.mask = index;
		add_span(masks, after, &span);
		appendBinaryStringInfo(out, mask->text, mask->text_len);
		copied = to;
		rc = (from == to) ? l4_regex_exec_nonempty(re, text, len, to)
			: l4_regex_exec(re, text, len, to);
	}
	if (rc < 0)
		return rc;
	keep_spans(masks, before, &next, PG_INT32_MAX, out->len - copied, after);
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
	char		all = 0;

	for (int i = 0; i < len; i++)
		all |= s[i];
	return (all & 0x80) == 0;
}

const char *
l4_masks_apply(L4Masks *masks, const char *line, int len, int *masked_len)
{
	bool		ascii = is_ascii(line, len);
	const char *text = line;

	masks->list[masks->current].count = 0;
	for (int i = 0; i < masks->count; i++)
	{
		Mask	   *mask = &masks->masks[i];
		int			rc;

		rc = apply_one(masks, i, ascii ? mask->ascii : mask->unicode, text, len);
		if (rc < 0)
			note_limit(masks, mask);
		if (rc <= 0)
			continue;
		masks->current = !masks->current;
		text = masks->buf[masks->current].data;
		len = masks->buf[masks->current].len;
	}
	*masked_len = len;
	return text;
}

int
l4_masks_spans(L4Masks *masks, const L4MaskSpan **spans)
{
	*spans = masks->list[masks->current].spans;
	return masks->list[masks->current].count;
}
