/*
 * parser.c
 *		The parser value: masks of the user around the scanner, and the
 *		algorithm that its options name.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "base/grow.h"
#include "base/order.h"
#include "miner/miner_int.h"
#include "miner/parser_int.h"

/* Compile masks[from .. to) of the options. */
static L4Masks *
compile_masks(const L4ParserOptions *o, int from, int to, MemoryContext cxt)
{
	const char **names;
	const char **patterns;

	if (from >= to)
		return NULL;
	names = palloc(sizeof(char *) * (to - from));
	patterns = palloc(sizeof(char *) * (to - from));
	for (int i = from; i < to; i++)
	{
		names[i - from] = o->masks[i].name;
		patterns[i - from] = o->masks[i].pattern;
	}
	return l4_masks_create(to - from, names, patterns, o->drain, cxt);
}

L4Parser *
l4_parser_create(Jsonb *options, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Parser   *parser = palloc0(sizeof(L4Parser));
	bool		builtin;
	int			at;

	parser->cxt = cxt;
	l4_options_read(options, false, &parser->o);
	if (options)
		parser->options = JsonbToCString(NULL, &options->root, VARSIZE(options));
	for (at = 0; at < parser->o.nmasks && parser->o.masks[at].name; at++)
		 /* to where the built-in masks stand */ ;
	builtin = !parser->o.has_masks || at < parser->o.nmasks;
	parser->before = compile_masks(&parser->o, 0, at, cxt);
	parser->after = compile_masks(&parser->o, at + 1, parser->o.nmasks, cxt);
	l4_scanner_init(&parser->scanner, builtin, parser->o.delimiters);
	l4_shape_init(&parser->shape, cxt);
	initStringInfo(&parser->text);
	if (parser->o.drain)
	{
		parser->learnt = l4_map_create(cxt, 64, NULL);
		parser->drain = l4_drain_create(&parser->o.drain_options, cxt);
	}
	else
		l4_model_init(&parser->model, parser->scanner.cls, parser->o.distinct, parser->o.max_templates, cxt);
	MemoryContextSwitchTo(old);
	return parser;
}

static int
nmasks_before(const L4Parser *parser)
{
	return parser->before ? l4_masks_count(parser->before) : 0;
}

static const char *
user_mask(const L4Parser *parser, int i)
{
	int			nbefore = nmasks_before(parser);

	return i < nbefore ? l4_masks_name(parser->before, i) : l4_masks_name(parser->after, i - nbefore);
}

const char *
l4_parser_mask_name(const L4Parser *parser, int mask)
{
	return mask >= L4_MASK_USER ? user_mask(parser, mask - L4_MASK_USER) : l4_mask_name(mask);
}

static void
add_range(L4Parser *parser, int *n, uint32 off, uint32 len, int mask)
{
	L4_GROW(parser->ranges, *n, parser->ranges_size, parser->cxt);
	parser->ranges[*n].off = off;
	parser->ranges[*n].len = len;
	parser->ranges[*n].user_mask = mask;
	(*n)++;
}

/*
 * What the masks after the built-in ones find and these left: added to the n
 * ranges known. The slots of out are where the built-in masks were.
 */
static int
ranges_after(L4Parser *parser, const char *msg, int len, const L4Shape *out, int n)
{
	const L4MaskSpan *spans;
	int			masked_len;
	int			nspans;
	int			s = 0;
	int			found = n;

	l4_masks_apply(parser->after, msg, len, &masked_len);
	nspans = l4_masks_spans(parser->after, &spans);
	for (int i = 0; i < nspans; i++)
	{
		while (s < out->nslots && out->slots[s].off + out->slots[s].len <= spans[i].src_off)
			s++;
		if (s < out->nslots && out->slots[s].off < spans[i].src_off + spans[i].src_len)
			continue;
		if (spans[i].src_len > 0)
			add_range(parser, &found, spans[i].src_off, spans[i].src_len,
					  nmasks_before(parser) + spans[i].mask);
	}
	if (found > n)
		qsort(parser->ranges, found, sizeof(L4Range), l4_order_int32);
	return found;
}

/* A memo is worth its memory only where many messages are scanned. */
#define SCANS_BEFORE_MEMO 256

/*
 * The shape of a message under the built-in masks alone: in *scratch, or in the
 * memo, where it stays until the next scan.
 */
static inline const L4Shape *
scan_builtin(L4Parser *parser, const char *msg, int len, L4Shape *scratch)
{
	if (parser->memo == NULL && ++parser->scans >= SCANS_BEFORE_MEMO)
		parser->memo = l4_scanmemo_create(parser->cxt);
	if (parser->memo != NULL && l4_scanmemo_find(parser->memo, msg, len, &parser->known))
		return &parser->known;
	l4_scan(&parser->scanner, msg, len, NULL, 0, scratch);
	if (parser->memo != NULL)
		l4_scanmemo_learn(parser->memo, &parser->scanner, msg, len, scratch);
	return scratch;
}

/* The shape of a message under the parser's masks, where scan_builtin leaves it. */
static const L4Shape *
scan_message(L4Parser *parser, const char *msg, int len, L4Shape *scratch)
{
	int			n = 0;
	int			known;

	if (parser->before == NULL && parser->after == NULL)
		return scan_builtin(parser, msg, len, scratch);
	if (parser->before)
	{
		const L4MaskSpan *spans;
		int			masked_len;
		int			nspans;

		l4_masks_apply(parser->before, msg, len, &masked_len);
		nspans = l4_masks_spans(parser->before, &spans);
		for (int i = 0; i < nspans; i++)
			if (spans[i].src_len > 0)
				add_range(parser, &n, spans[i].src_off, spans[i].src_len, spans[i].mask);
	}
	l4_scan(&parser->scanner, msg, len, parser->ranges, n, scratch);
	if (parser->after == NULL)
		return scratch;
	known = n;
	n = ranges_after(parser, msg, len, scratch, n);
	if (n > known)
		l4_scan(&parser->scanner, msg, len, parser->ranges, n, scratch);
	return scratch;
}

/* The same in a shape of the caller's own. */
void
l4_parser_scan(L4Parser *parser, const char *msg, int len, L4Shape *out)
{
	const L4Shape *shape = scan_message(parser, msg, len, out);

	if (shape != out)
		l4_shape_copy(out, shape);
}

/* Text with marks as it is shown: <*> and <NAME>; palloc'd, terminated. */
char *
l4_parser_print(const L4Parser *parser, const char *text, int len, int *out_len)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < len; i++)
	{
		if (i % L4_SCAN_STRIDE == 0)
			CHECK_FOR_INTERRUPTS();
		if (L4_IS_MARK(text[i]))
			appendBinaryStringInfo(&out, "<*>", 3);
		else if (text[i] == L4_USER_MARK && i + 1 < len)
		{
			int			mask = (uint8) text[++i] - L4_USER_MARK_BASE;

			if (mask < 0 || mask >= nmasks_before(parser) + (parser->after ? l4_masks_count(parser->after) : 0))
				mask = -1;
			appendStringInfo(&out, "<%s>", mask < 0 ? "*" : user_mask(parser, mask));
		}
		else
			appendStringInfoCharMacro(&out, text[i]);
	}
	CHECK_FOR_INTERRUPTS();
	/* a stored value may hold any bytes: what is shown must be text */
	if (!pg_verifymbstr(out.data, out.len, true))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a template of the parser is not valid in the database's encoding")));
	*out_len = out.len;
	return out.data;
}

void
l4_parser_need_shapes(const L4Parser *parser)
{
	if (parser->drain)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parser must be of algorithm \"l4\", not \"drain\"")));
}

/* The line that algorithm drain learns. */
const char *
l4_parser_drain_line(L4Parser *parser, const char *msg, int len, int *out_len)
{
	const char *line = msg;

	*out_len = len;
	if (parser->before)
		line = l4_masks_apply(parser->before, line, len, out_len);
	if (parser->scanner.builtin)
	{
		const L4Shape *shape = scan_builtin(parser, line, *out_len, &parser->shape);

		if (shape != &parser->shape)
			l4_shape_copy(&parser->shape, shape);
		resetStringInfo(&parser->text);
		for (int i = 0; i < parser->shape.len; i++)
		{
			if (parser->shape.text[i] == L4_MARK)
				appendBinaryStringInfo(&parser->text, "<*>", 3);
			else
				appendStringInfoCharMacro(&parser->text, parser->shape.text[i]);
		}
		line = parser->text.data;
		*out_len = parser->text.len;
	}
	if (parser->after)
		line = l4_masks_apply(parser->after, line, *out_len, out_len);
	return line;
}

void
l4_parser_use_budget(L4Parser *parser, L4Budget *budget)
{
	parser->model.budget = budget != NULL ? budget : &parser->model.own;
}

int32
l4_parser_lookup(L4Parser *parser, int tag, const L4Shape *shape)
{
	return l4_model_lookup(&parser->model, tag, shape);
}

int32
l4_parser_match_shape(L4Parser *parser, int tag, const L4Shape *shape)
{
	return l4_model_match(&parser->model, tag, shape);
}

int32
l4_parser_match(L4Parser *parser, const char *msg, int len)
{
	if (parser->drain)
	{
		int			n;
		const char *line = l4_parser_drain_line(parser, msg, len, &n);
		int32		id = l4_map_get(parser->learnt, l4_hash_bytes(line, n));

		/*
		 * A line that was learnt has the cluster that learning gave: the tree
		 * may have grown since so that a search ends elsewhere.
		 */
		if (id != 0 && l4_drain_cluster(parser->drain, id) != NULL)
			return id;
		return l4_drain_match(parser->drain, line, n);
	}
	return l4_model_match(&parser->model, 0, scan_message(parser, msg, len, &parser->shape));
}

int32
l4_parser_learn(L4Parser *parser, int tag, const char *msg, int len, int64 occurrences)
{
	if (parser->drain)
	{
		int			n;
		const char *line = l4_parser_drain_line(parser, msg, len, &n);
		int32		id = 0;

		/* what drain does depends on every single line */
		for (int64 i = 0; i < occurrences; i++)
		{
			CHECK_FOR_INTERRUPTS();
			id = l4_drain_learn(parser->drain, line, n);
		}
		if (parser->learnt->members >= L4_SEEN_MAX)
			l4_map_reset(parser->learnt);
		*l4_map_put(parser->learnt, l4_hash_bytes(line, n), NULL) = id;
		return id;
	}
	return l4_model_learn(&parser->model, tag, scan_message(parser, msg, len, &parser->shape), occurrences);
}

/* Each cluster of the other tree is a line of this one, as often as it was met; then the lines that have an answer. */
static void
replay_drain(L4Parser *parser, const L4Parser *other)
{
	int32		last = l4_drain_last_id(other->drain);
	int32	   *ids = MemoryContextAllocZero(CurrentMemoryContext, (last + 1) * sizeof(int32));
	L4MapEntry *entry;
	l4_map_iterator it;

	for (int32 id = 1; id <= last; id++)
	{
		const L4DrainCluster *cluster = l4_drain_cluster(other->drain, id);
		char	   *line;
		int			len;

		CHECK_FOR_INTERRUPTS();
		if (cluster == NULL)
			continue;
		line = l4_drain_template(other->drain, cluster, &len);
		ids[id] = l4_drain_learn_cluster(parser->drain, line, len, cluster->size);
		pfree(line);
	}
	l4_map_start_iterate(other->learnt, &it);
	while ((entry = l4_map_iterate(other->learnt, &it)) != NULL && parser->learnt->members < L4_SEEN_MAX)
	{
		int32	   *known;
		bool		found;

		if (entry->value > last || ids[entry->value] == 0)
			continue;
		known = l4_map_put(parser->learnt, entry->key, &found);
		if (!found)
			*known = ids[entry->value];
	}
	pfree(ids);
}

void
l4_parser_replay(L4Parser *parser, const L4Parser *other)
{
	if (parser->drain)
		replay_drain(parser, other);
	else
		l4_model_replay(&parser->model, &other->model);
}

int32
l4_parser_learn_coarse(L4Parser *parser, int tag, const char *template_text)
{
	StringInfoData text;

	l4_parser_need_shapes(parser);
	initStringInfo(&text);
	for (const char *p = template_text; *p != '\0'; p++)
		if (strncmp(p, "<*>", 3) == 0)
		{
			appendStringInfoChar(&text, L4_OPEN_MARK);
			p += 2;
		}
		else
			appendStringInfoChar(&text, *p);
	return l4_model_learn_coarse(&parser->model, tag, text.data, text.len);
}

int32
l4_parser_nevents(L4Parser *parser)
{
	return parser->drain ? l4_drain_last_id(parser->drain) : parser->model.nevents - 1;
}

int32
l4_parser_resolve(L4Parser *parser, int32 event_id)
{
	return parser->drain ? event_id : l4_model_resolve(&parser->model, event_id);
}

int
l4_parser_tag(L4Parser *parser, int32 event_id)
{
	return parser->drain ? 0 : parser->model.events[event_id].tag & ~L4_COARSE_TAG;
}

bool
l4_parser_is_coarse(L4Parser *parser, int32 event_id)
{
	return !parser->drain && (parser->model.events[event_id].tag & L4_COARSE_TAG) != 0;
}

int64
l4_parser_occurrences(L4Parser *parser, int32 event_id)
{
	if (parser->drain)
	{
		const L4DrainCluster *cluster = l4_drain_cluster(parser->drain, event_id);

		return cluster ? cluster->size : 0;
	}
	return parser->model.events[event_id].occurrences;
}

/* Template of an event, NULL for one that was forgotten. */
char *
l4_parser_template(L4Parser *parser, int32 event_id, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	char	   *text = NULL;
	int			len;

	if (parser->drain)
	{
		const L4DrainCluster *cluster = l4_drain_cluster(parser->drain, event_id);

		text = cluster ? l4_drain_template(parser->drain, cluster, &len) : NULL;
	}
	else if (!l4_event_is_forgotten(&parser->model, event_id))
	{
		int32		template = parser->model.events[l4_model_resolve(&parser->model, event_id)].template;
		char	   *pattern = l4_model_pattern(&parser->model, template, &len, cxt);

		text = l4_parser_print(parser, pattern, len, &len);
		pfree(pattern);
	}
	MemoryContextSwitchTo(old);
	return text;
}
