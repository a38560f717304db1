/*
 * parser_params.c
 *		The parameters of a message as the template of its event has them.
 */
#include "postgres.h"


#include "miner/miner_int.h"
#include "miner/parser_int.h"

static inline bool
is_blank(char c)
{
	return (uint8) c <= ' ' || c == 0x7f;
}

/* Start in the message of every byte of the shape's text, and the end. */
static uint32 *
map_to_message(const L4Shape *shape, const char *msg, int len)
{
	uint32	   *map = palloc((shape->len + 1) * sizeof(uint32));
	uint32		raw = 0;
	int			slot = 0;

	for (int i = 0; i < shape->len; i++)
	{
		uint8		c = shape->text[i];

		/* blanks are one in the shape, none at its start */
		if (c != ' ')
			while (raw < len && is_blank(msg[raw]))
				raw++;
		if (c == L4_MARK || c == L4_USER_MARK)
		{
			map[i] = shape->slots[slot].off;
			raw = shape->slots[slot].off + shape->slots[slot].len;
			slot++;
			if (c == L4_USER_MARK && i + 1 < shape->len)
				map[++i] = raw;
			continue;
		}
		map[i] = raw++;
	}
	map[shape->len] = Min(raw, len);
	return map;
}

/* Name of what the shape has between two places of its text: its mask if it is one mark, else a word. */
static const char *
mask_between(L4Parser *parser, const L4Shape *shape, int from, int to)
{
	int			slot = 0;
	int			width;

	if (to <= from)
		return l4_mask_name(L4_MASK_WORD);
	width = shape->text[from] == L4_MARK ? 1 : shape->text[from] == L4_USER_MARK ? 2 : 0;
	if (width != to - from)
		return l4_mask_name(memchr(shape->text + from, ' ', to - from) ? L4_MASK_LIST : L4_MASK_WORD);
	for (int i = 0; i < from; i++)
		slot += shape->text[i] == L4_MARK || shape->text[i] == L4_USER_MARK;
	return l4_parser_mask_name(parser, shape->slots[slot].mask);
}

/* Start in the message of each byte of the line that drain saw, NULL when several masks made it. */
static uint32 *
map_drain_line(L4Parser *parser, const char *msg, int len, int line_len)
{
	uint32	   *map;
	int			at = 0;

	if (parser->before && (parser->after || parser->scanner.builtin))
		return NULL;
	map = palloc((line_len + 1) * sizeof(uint32));
	if (parser->before)
	{
		const L4MaskSpan *spans;
		int			n = l4_masks_spans(parser->before, &spans);
		uint32		raw = 0;

		for (int i = 0; i <= n; i++)
		{
			int			to = i < n ? spans[i].off : line_len;

			while (at < to)
				map[at++] = raw++;
			for (int j = 0; i < n && j < spans[i].len; j++)
				map[at++] = spans[i].src_off;
			if (i < n)
				raw = spans[i].src_off + spans[i].src_len;
		}
		map[line_len] = raw;
	}
	else if (parser->scanner.builtin && !parser->after)
	{
		uint32	   *shape_map = map_to_message(&parser->shape, msg, len);

		for (int i = 0; i < parser->shape.len; i++)
			for (int j = 0; j < (parser->shape.text[i] == L4_MARK ? 3 : 1); j++)
				map[at++] = shape_map[i];
		map[line_len] = shape_map[parser->shape.len];
	}
	else
		return NULL;
	return map;
}

/* Tokens that the cluster's template leaves open, and those that masks touched. */
static int
drain_parameters(L4Parser *parser, int32 event_id, const char *msg, int len, L4Parameter **out)
{
	const L4DrainCluster *cluster = l4_drain_cluster(parser->drain, event_id);
	int			line_len;
	const char *line = l4_parser_drain_line(parser, msg, len, &line_len);
	uint32	   *map = line == msg ? NULL : map_drain_line(parser, msg, len, line_len);
	const L4DrainToken *tokens;
	const char *text;
	int			n = l4_drain_tokenize(parser->drain, line, line_len, &text, &tokens);
	int			nout = 0;

	*out = palloc(sizeof(L4Parameter) * Max(1, n));
	if (cluster == NULL || cluster->ntokens != n)
		return 0;
	for (int i = 0; i < n; i++)
	{
		L4Parameter *param = &(*out)[nout];
		int			tlen;
		const char *t = l4_drain_token(parser->drain, cluster, i, &tlen);
		bool		open = t == NULL;

		if (!open && (line == msg || memchr(t, '<', tlen) == NULL || memchr(t, '>', tlen) == NULL))
			continue;
		param->mask = l4_mask_name(L4_MASK_WORD);
		/* a token that is one mask is named after it */
		if (!open && t[0] == '<' && memchr(t + 1, '<', tlen - 1) == NULL && memchr(t, '>', tlen) == t + tlen - 1)
			param->mask = pnstrdup(t + 1, tlen - 2);
		if (map && text == line)
		{
			uint32		from = map[tokens[i].off];

			param->value = msg + from;
			param->len = map[tokens[i].off + tokens[i].len] - from;
			while (param->len > 0 && (uint8) param->value[param->len - 1] <= ' ')
				param->len--;
		}
		else
		{
			param->value = pnstrdup(text + tokens[i].off, tokens[i].len);
			param->len = tokens[i].len;
		}
		nout++;
	}
	return nout;
}

/* Where the marks of an event's template are in a message, which is scanned into the parser's shape; -1: it does not fit. */
static int
align_message(L4Parser *parser, int32 event_id, const char *msg, int len, char **pattern, int *plen, L4Found **found)
{
	L4Model    *m = &parser->model;
	L4Shape    *shape = &parser->shape;
	int			n;

	l4_parser_scan(parser, msg, len, shape);
	*pattern = l4_model_pattern(m, m->events[l4_model_resolve(m, event_id)].template, plen, CurrentMemoryContext);
	*found = palloc((*plen + 1) * sizeof(L4Found));
	n = l4_align(*pattern, *plen, shape->text, shape->len, *found, false);
	return n >= 0 ? n : l4_align(*pattern, *plen, shape->text, shape->len, *found, true);
}

int
l4_parser_parameters(L4Parser *parser, int32 event_id, const char *msg, int len, L4Parameter **out)
{
	L4Shape    *shape = &parser->shape;
	char	   *pattern;
	int			plen;
	L4Found    *found;
	uint32	   *map;
	int			n;

	if (parser->drain)
		return drain_parameters(parser, event_id, msg, len, out);
	n = align_message(parser, event_id, msg, len, &pattern, &plen, &found);
	*out = palloc(Max(1, n) * sizeof(L4Parameter));
	map = map_to_message(shape, msg, len);
	for (int i = 0; i < n; i++)
	{
		L4Parameter *param = &(*out)[i];
		uint32		to = map[found[i].to];

		param->value = msg + map[found[i].from];
		/* blanks behind the value were left out of the shape */
		while (to > map[found[i].from] && found[i].to > found[i].from && (uint8) msg[to - 1] <= ' ' &&
			   shape->text[found[i].to - 1] != ' ')
			to--;
		param->len = to - map[found[i].from];
		param->mask = mask_between(parser, shape, found[i].from, found[i].to);
	}
	return Max(n, 0);
}

void
l4_parser_slots(L4Parser *parser, const L4Shape *shape, int *slots)
{
	l4_columns(&parser->model, shape, slots);
}

/* Has a part of a shape's text a mark: is it, or holds it, what a mask found? */
static bool
has_mark(const L4Shape *shape, int from, int len)
{
	for (int i = from; i < from + len; i++)
		if (shape->text[i] == L4_MARK || shape->text[i] == L4_USER_MARK)
			return true;
	return false;
}

int32
l4_parser_words(L4Parser *parser, int tag, const L4Shape *shape, L4Word **words, int *n)
{
	L4Model    *m = &parser->model;
	const L4Cut *cut;
	int32		template = parser->drain ? -1 : l4_fitting_template(m, tag, shape);
	const L4Template *t;

	*n = 0;
	*words = NULL;
	if (template < 0)
		return 0;
	cut = &m->scratch->cut;
	t = &m->templates[template];
	for (int c = 0; c < cut->ncols; c++)
	{
		L4Word	   *word;

		if (t->cols[c] != L4_STR_OPEN || has_mark(shape, cut->from[c], cut->len[c]))
			continue;
		if (*words == NULL)
			*words = palloc(sizeof(L4Word) * (cut->ncols - c));
		word = &(*words)[(*n)++];
		word->slot = c;
		word->off = cut->from[c];
		word->len = cut->len[c];
	}
	return t->event;
}

int
l4_parser_own_words(L4Parser *parser, int32 event_id, const char *msg, int len, L4Word **words)
{
	L4Model    *m = &parser->model;
	L4Cut	   *cut;
	L4Shape    *shape = &parser->shape;
	char	   *pattern;
	int			plen;
	L4Found    *found;
	uint32	   *map;
	int			nfound;
	int			mark = -1;
	int			n = 0;

	*words = NULL;
	if (parser->drain || l4_parser_is_coarse(parser, event_id) || l4_event_is_forgotten(m, event_id))
		return 0;
	cut = &m->scratch->cut;
	nfound = align_message(parser, event_id, msg, len, &pattern, &plen, &found);
	if (memchr(pattern, L4_OPEN_MARK, plen) == NULL)
		return 0;
	l4_cut(m, shape, false, cut);
	*words = palloc(sizeof(L4Word) * cut->ncols);
	map = map_to_message(shape, msg, len);
	for (int p = 0; p < plen && mark + 1 < nfound; p++)
	{
		if (!L4_IS_MARK(pattern[p]) && pattern[p] != L4_USER_MARK)
			continue;
		mark++;
		if (pattern[p] != L4_OPEN_MARK)
		{
			p += pattern[p] == L4_USER_MARK;
			continue;
		}
		for (int c = 0; c < cut->ncols; c++)
		{
			L4Word	   *word = &(*words)[n];

			if (cut->from[c] < found[mark].from || cut->from[c] + cut->len[c] > found[mark].to ||
				has_mark(shape, cut->from[c], cut->len[c]))
				continue;
			word->slot = c;
			word->off = map[cut->from[c]];
			word->len = cut->len[c];
			n++;
		}
	}
	return n;
}

int
l4_parser_words_unlike(L4Parser *parser, const char *msg, int len, const char *other, int other_len, char **text, L4Word **words)
{
	L4Model    *m = &parser->model;
	L4Cut	   *cut = &m->scratch->cut;
	L4Shape    *shape = &parser->shape;
	char	   *other_text;
	L4Word	   *others;
	int			ncols;
	int			n = 0;

	l4_parser_scan(parser, other, other_len, shape);
	l4_cut(m, shape, false, cut);
	ncols = cut->ncols;
	other_text = pnstrdup(shape->text, shape->len);
	others = palloc(sizeof(L4Word) * ncols);
	for (int c = 0; c < ncols; c++)
		others[c] = (L4Word) {.off = cut->from[c], .len = cut->len[c]};
	l4_parser_scan(parser, msg, len, shape);
	l4_cut(m, shape, false, cut);
	*text = pnstrdup(shape->text, shape->len);
	*words = palloc(sizeof(L4Word) * cut->ncols);
	for (int c = 0; c < cut->ncols && cut->ncols == ncols; c++)
	{
		if (has_mark(shape, cut->from[c], cut->len[c]) ||
			(cut->len[c] == others[c].len && memcmp(*text + cut->from[c], other_text + others[c].off, cut->len[c]) == 0))
			continue;
		(*words)[n++] = (L4Word) {.slot = c, .off = cut->from[c], .len = cut->len[c]};
	}
	return n;
}
