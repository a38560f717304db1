/*
 * parser_io.c
 *		Decoding the bytes of a parser, with every number checked.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/grow.h"
#include "l4_compat.h"
#include "miner/miner_int.h"
#include "miner/parser_int.h"

static void
get_cols(L4ByteReader *r, const L4Model *m, L4Str *cols, int ncols)
{
	for (int c = 0; c < ncols; c++)
	{
		cols[c] = l4_get_number(r, m->nstrings - 1, "slot");
		if (cols[c] == L4_STR_UNKNOWN)
			l4_bytes_corrupted("slot");
	}
}

/* A string with the marks of users' masks as they are to be; marks NULL: as they are. */
static const char *
with_marks(const uint8 *marks, const char *bytes, int len)
{
	char	   *copy;

	if (marks == NULL || memchr(bytes, L4_USER_MARK, len) == NULL)
		return bytes;
	copy = memcpy(palloc(len), bytes, len);
	for (int i = 0; i + 1 < len; i++)
		if (copy[i] == L4_USER_MARK)
		{
			i++;
			copy[i] = marks[(uint8) copy[i]];
		}
	return copy;
}

/* The strings stay in the bytes that are read. */
static void
read_strings(L4ByteReader *r, L4Model *m, const uint8 *marks)
{
	int32		n = l4_get_count(r);

	if (n + n / 4 > m->string_map->size)
		l4_map_grow(m->string_map, n + n / 4);
	for (int32 i = 0; i < n; i++)
	{
		int			len;
		const char *bytes = l4_get_run(r, &len);

		if (l4_string_intern(m, with_marks(marks, bytes, len), len, false) != i + L4_STR_FIXED)
			l4_bytes_corrupted("string");
	}
}

static void
read_groups(L4ByteReader *r, L4Model *m)
{
	int32		n = l4_get_count(r);
	L4Str	   *delims = NULL;
	int32		size = 0;

	for (int i = 0; i < n; i++)
	{
		int			tag = l4_get_number(r, PG_INT32_MAX, "tag");
		int			ncols = l4_get_count(r);

		if (ncols < 1)
			l4_bytes_corrupted("number of slots");
		L4_GROW_FROM(delims, ncols - 1, size, ncols, m->cxt);
		get_cols(r, m, delims, ncols);
		if (l4_group_new(m, tag, ncols, delims) != i)
			l4_bytes_corrupted("group");
	}
	if (delims != NULL)
		pfree(delims);
}

static void
read_nodes(L4ByteReader *r, L4Model *m)
{
	int32		n = l4_get_number(r, r->end - r->ptr + 1, "number of nodes");

	for (int i = 1; i < n; i++)
	{
		int32		group = l4_get_number(r, (uint64) m->ngroups - 1, "group of a node");
		int32		parent = (int32) l4_get_number(r, i, "parent of a node") - 1;
		L4Str		value = l4_get_number(r, m->nstrings - 1, "value of a node");
		int32		split;

		if (m->ngroups == 0)
			l4_bytes_corrupted("group of a node");
		split = (int32) l4_get_number(r, m->groups[group].ncols, "split of a node") - 1;
		if (parent >= 0 ? (parent == 0 || m->nodes[parent].group != group || m->nodes[parent].split < 0)
			: m->groups[group].root != 0)
			l4_bytes_corrupted("parent of a node");
		if (l4_node_new(m, group, parent, value) != i)
			l4_bytes_corrupted("number of a node");
		m->nodes[i].split = split;
		if (parent < 0)
			m->groups[group].root = i;
	}
	for (int i = 0; i < m->ngroups; i++)
		if (m->groups[i].root == 0)
			l4_bytes_corrupted("root of a group");
}

static void
read_events(L4ByteReader *r, L4Model *m)
{
	int32		n = l4_get_number(r, r->end - r->ptr + 1, "number of events");

	if (n < 1)
		l4_bytes_corrupted("number of events");
	m->events = MemoryContextAllocExtended(m->cxt, n * sizeof(L4Event), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	m->nevents = m->events_size = n;
	for (int i = 1; i < n; i++)
	{
		L4Event    *e = &m->events[i];

		e->template = (int32) l4_get_number(r, PG_INT32_MAX, "template of an event") - 1;
		e->merged_into = l4_get_number(r, e->template < 0 ? i - 1 : 0, "merged event");
		if (e->template == L4_FORGOTTEN && e->merged_into == 0)
			continue;
		e->tag = l4_get_number(r, PG_INT32_MAX, "tag");
		e->occurrences = l4_get_number(r, PG_INT64_MAX, "number of occurrences");
	}
}

static void
read_templates(L4ByteReader *r, L4Model *m)
{
	int32		n = l4_get_count(r);
	L4Str	   *cols = NULL;
	int32		cols_size = 0;

	m->ntemplates = m->templates_size = n;
	m->templates = MemoryContextAllocExtended(m->cxt, Max(1, n) * sizeof(L4Template), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < n; i++)
	{
		L4Template *t = &m->templates[i];
		L4GroupNode *node;
		int			ncols;

		t->event = l4_get_number(r, m->nevents - 1, "event of a template");
		if (t->event == 0)
			continue;
		if (l4_event_is_forgotten(m, t->event))
			l4_bytes_corrupted("event of a template");
		t->node = l4_get_number(r, m->nnodes > 0 ? m->nnodes - 1 : 0, "node of a template");
		if (t->node == 0 || m->nodes[t->node].split >= 0)
			l4_bytes_corrupted("node of a template");
		node = &m->nodes[t->node];
		ncols = m->groups[node->group].ncols;
		if (node->ntemplates >= L4_NODE_ROWS || m->events[t->event].tag != m->groups[node->group].tag)
			l4_bytes_corrupted("node of a template");
		for (int k = 0; k < L4_CHAINS; k++)
			t->keys[k] = l4_get_number(r, PG_UINT32_MAX, "key of a template");
		L4_GROW_FROM(cols, ncols - 1, cols_size, ncols, m->cxt);
		get_cols(r, m, cols, ncols);
		t->cols = l4_cols_copy(m, cols, ncols);
		l4_node_attach(m, t->node, i);
		m->live += (m->groups[node->group].tag & L4_COARSE_TAG) == 0;
		for (int k = 0; k < L4_CHAINS; k++)
			t->next[k] = -1;
	}
	for (int i = 1; i < m->nevents; i++)
		if (m->events[i].merged_into == 0 && m->events[i].template != L4_FORGOTTEN &&
			(m->events[i].template >= n || m->templates[m->events[i].template].event == 0 ||
			 l4_model_resolve(m, m->templates[m->events[i].template].event) != i))
			l4_bytes_corrupted("template of an event");
}

static void
read_rows(L4ByteReader *r, L4Model *m)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i < m->nnodes; i++)
	{
		L4GroupNode *n = &m->nodes[i];
		const L4Group *g = &m->groups[n->group];
		int			nrows = l4_get_number(r, L4_NODE_ROWS, "number of rows");

		if (nrows > 0 && n->split >= 0)
			l4_bytes_corrupted("number of rows");
		for (int j = 0; j < nrows; j++)
		{
			int32		template = l4_get_number(r, PG_INT32_MAX, "template of a row");
			int			flags = l4_get_number(r, ROW_SHAPE | ROW_AS_TEMPLATE, "flags of a row");
			L4Row	   *row;

			if (template >= m->ntemplates || m->templates[template].event == 0 ||
				m->templates[template].node != i)
				l4_bytes_corrupted("template of a row");
			l4_row_add(m, i, template, 0, m->templates[template].cols, g->ncols);
			row = &n->rows[n->nrows - 1];
			if (!(flags & ROW_AS_TEMPLATE))
				get_cols(r, m, row->cols, g->ncols);
			if (flags & ROW_SHAPE)
			{
				L4Shape		shape = l4_row_shape(m, g, row->cols, &buf);

				row->key = l4_model_key(g->tag, &shape);
				*l4_map_put(m->exact, row->key, NULL) = m->templates[template].event;
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(buf.data);
}

static void
read_seen(L4ByteReader *r, L4Map *map, const L4Model *m)
{
	int32		max_event = m == NULL ? PG_INT32_MAX : m->nevents - 1;

	int			n = l4_get_number(r, L4_SEEN_MAX, "number of shapes");
	uint64		last = 0;

	for (int i = 0; i < n; i++)
	{
		uint64		key = l4_get_fixed64(r);
		int32		event = l4_get_number(r, max_event, "event of a shape");

		if (event == 0 || key <= last || (m != NULL && l4_event_is_forgotten(m, event)))
			l4_bytes_corrupted("event of a shape");
		last = key;
		*l4_map_put(map, key, NULL) = event;
	}
}

static void
read_model(L4ByteReader *r, L4Model *m, const uint8 *marks)
{
	m->merges_ready = false;
	m->own.ordinary = l4_get_number(r, PG_INT32_MAX / 2, "number of rows");
	m->own.strange = l4_get_number(r, PG_INT32_MAX / 2, "cost of strange rows");
	m->own.vocabulary = l4_get_number(r, PG_INT32_MAX, "size of the vocabulary");
	m->coarse_words = l4_get_number(r, PG_INT32_MAX / 2, "number of coarse templates");
	read_strings(r, m, marks);
	read_groups(r, m);
	read_nodes(r, m);
	read_events(r, m);
	read_templates(r, m);
	read_rows(r, m);
	read_seen(r, m->seen, m);
	if (r->ptr != r->end)
		l4_bytes_corrupted("end");
}

/* Options as they were stored, as the text of a jsonb; NULL none. */
static Jsonb *
read_options(L4ByteReader *r)
{
	int			len;
	const char *bytes = l4_get_run(r, &len);
	char	   *text;

	if (len == 0)
		return NULL;
	text = pnstrdup(bytes, len);
	if (strlen(text) != len || !pg_verifymbstr(text, len, true))
		l4_bytes_corrupted("options");
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

static void
invalid_parser(int sqlstate, const char *detail)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("invalid parser value"),
			 errdetail_internal("%s", detail)));
}

/*
 * Check the header and the checksum, go on behind them. Strings stay in the
 * bytes: cxt gets a copy of these. Is it of algorithm drain?
 */
static bool
read_header(L4ByteReader *r, const char *bytes, Size len, int sqlstate, MemoryContext cxt)
{
	uint8		algorithm;

	bytes = memcpy(MemoryContextAllocHuge(cxt, Max(len, 1)), bytes, len);
	r->ptr = (const uint8 *) bytes;
	r->end = r->ptr + len;
	if (len < L4_PARSER_HEADER)
		invalid_parser(sqlstate, psprintf("Its length is %zu; a parser has at least %d bytes.", len, L4_PARSER_HEADER));
	if (r->ptr[0] != L4_PARSER_VERSION)
		invalid_parser(sqlstate, psprintf("Its version is %d; this library reads version %d.", r->ptr[0], L4_PARSER_VERSION));
	algorithm = r->ptr[1];
	if (algorithm > 1 || r->ptr[2] != 0 || r->ptr[3] != 0)
		invalid_parser(sqlstate, "Its header is wrong.");
	r->ptr += 4;
	if (l4_get_fixed64(r) != l4_hash_bytes(bytes + L4_PARSER_HEADER, len - L4_PARSER_HEADER))
		invalid_parser(sqlstate, "Its checksum does not match its bytes.");
	return algorithm == 1;
}

/* Options of a stored parser, NULL none. */
Jsonb *
l4_parser_read_options(struct varlena *stored)
{
	L4ByteReader r;

	read_header(&r, VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored), ERRCODE_DATA_CORRUPTED, CurrentMemoryContext);
	return read_options(&r);
}

/* The bytes of all marks under other masks: a mask keeps its name, not its number. */
static const uint8 *
new_marks(const L4Parser *parser, Jsonb *before)
{
	uint8	   *marks = palloc(256);
	L4ParserOptions o;
	int			from = 0;

	l4_options_read(before, false, &o);
	for (int i = 0; i < 256; i++)
		marks[i] = i;
	for (int i = 0; i < o.nmasks; i++)
	{
		int			to = 0;

		if (o.masks[i].name == NULL)
			continue;
		for (int k = 0; k < parser->o.nmasks; k++)
		{
			if (parser->o.masks[k].name == NULL)
				continue;
			if (strcmp(parser->o.masks[k].name, o.masks[i].name) == 0)
			{
				marks[L4_USER_MARK_BASE + from] = L4_USER_MARK_BASE + to;
				break;
			}
			to++;
		}
		from++;
	}
	return marks;
}

/*
 * What was learnt, under other masks. All names of the old ones must be among
 * the new ones, since templates hold them. Answers for messages that are no
 * row are forgotten: they hold for the old masks.
 */
L4Parser *
l4_parser_read_masked(struct varlena *stored, Jsonb *options, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4ByteReader r;
	Jsonb	   *before;
	L4Parser   *parser;
	bool		drain = read_header(&r, VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored), ERRCODE_DATA_CORRUPTED, cxt);

	before = read_options(&r);
	parser = l4_parser_create(options, cxt);
	if (parser->o.drain || drain)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("masks of a parser of algorithm drain cannot change")));
	read_model(&r, &parser->model, new_marks(parser, before));
	l4_map_reset(parser->model.seen);
	MemoryContextSwitchTo(old);
	return parser;
}

/* The parser without what it knows of other events than these. */
L4Parser *
l4_parser_keep(struct varlena *stored, const int32 *events, int n, MemoryContext cxt)
{
	L4Parser   *from = l4_parser_decode(stored, cxt);
	L4Parser   *parser = l4_parser_create(l4_parser_read_options(stored), cxt);
	bool	   *keep;

	l4_parser_need_shapes(from);
	keep = palloc0(from->model.nevents);
	for (int i = 0; i < n; i++)
	{
		if (events[i] < 1 || events[i] >= from->model.nevents)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the parser has no event %d", events[i])));
		if (!l4_event_is_forgotten(&from->model, events[i]))
			keep[l4_model_resolve(&from->model, events[i])] = true;
	}
	l4_model_copy_kept(&from->model, &parser->model, keep);
	return parser;
}

/* Decode bytes (without the varlena header). */
L4Parser *
l4_parser_read(const char *bytes, Size len, int sqlstate, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4ByteReader r;
	L4Parser   *parser;
	bool		drain = read_header(&r, bytes, len, sqlstate, cxt);

	parser = l4_parser_create(read_options(&r), cxt);
	if (parser->o.drain != drain)
		l4_bytes_corrupted("algorithm");
	if (parser->o.drain)
	{
		read_seen(&r, parser->learnt, NULL);
		parser->drain = l4_drain_deserialize(&r, &parser->o.drain_options, cxt);
	}
	else
		read_model(&r, &parser->model, NULL);
	MemoryContextSwitchTo(old);
	return parser;
}

L4Parser *
l4_parser_decode(struct varlena *stored, MemoryContext cxt)
{
	return l4_parser_read(VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored), ERRCODE_DATA_CORRUPTED, cxt);
}
