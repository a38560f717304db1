/*
 * parser_write.c
 *		Encoding a parser into bytes, see parser_int.h.
 */
#include "postgres.h"

#include "base/order.h"
#include "miner/parser_int.h"

static void
put_cols(StringInfo out, const L4Str *cols, int ncols)
{
	for (int c = 0; c < ncols; c++)
		l4_put_uint(out, cols[c]);
}

L4_COMPARE(compare_keys, L4MapEntry, L4_UP(key))

/*
 * Remembered hashes and their events, in order of hash, the lowest ones: the
 * same content is the same bytes, and what stays does not depend on when it came.
 */
static void
write_seen(StringInfo out, L4Map *map, int most)
{
	L4MapEntry *entries = palloc(Max(1, map->members) * sizeof(L4MapEntry));
	L4MapEntry *entry;
	l4_map_iterator it;
	int			n = 0;

	l4_map_start_iterate(map, &it);
	while ((entry = l4_map_iterate(map, &it)) != NULL)
		entries[n++] = *entry;
	qsort(entries, n, sizeof(L4MapEntry), compare_keys);
	n = Min(n, most);
	l4_put_uint(out, n);
	for (int i = 0; i < n; i++)
	{
		l4_put_fixed64(out, entries[i].key);
		l4_put_uint(out, entries[i].value);
	}
	pfree(entries);
}

static void
write_model(StringInfo out, const L4Model *m)
{
	l4_put_uint(out, m->own.ordinary);
	l4_put_uint(out, m->own.strange);
	l4_put_uint(out, m->own.vocabulary);
	l4_put_uint(out, m->coarse_words);
	l4_put_uint(out, m->nstrings - L4_STR_FIXED);
	for (uint32 i = L4_STR_FIXED; i < m->nstrings; i++)
		l4_put_bytes(out, m->strings[i].bytes, m->strings[i].len);
	l4_put_uint(out, m->ngroups);
	for (int i = 0; i < m->ngroups; i++)
	{
		l4_put_uint(out, m->groups[i].tag);
		l4_put_uint(out, m->groups[i].ncols);
		put_cols(out, m->groups[i].delims, m->groups[i].ncols);
	}
	l4_put_uint(out, m->nnodes);
	for (int i = 1; i < m->nnodes; i++)
	{
		const L4GroupNode *n = &m->nodes[i];

		l4_put_uint(out, n->group);
		l4_put_uint(out, n->parent + 1);
		l4_put_uint(out, n->value);
		l4_put_uint(out, n->split + 1);
	}
	l4_put_uint(out, m->nevents);
	for (int i = 1; i < m->nevents; i++)
	{
		const L4Event *e = &m->events[i];

		/* nothing more of one that was forgotten */
		l4_put_uint(out, e->merged_into == 0 ? e->template + 1 : 0);
		l4_put_uint(out, e->merged_into);
		if (e->merged_into == 0 && e->template == L4_FORGOTTEN)
			continue;
		l4_put_uint(out, e->tag);
		l4_put_uint(out, e->occurrences);
	}
	l4_put_uint(out, m->ntemplates);
	for (int i = 0; i < m->ntemplates; i++)
	{
		const L4Template *t = &m->templates[i];

		l4_put_uint(out, t->event);
		if (t->event == 0)
			continue;
		l4_put_uint(out, t->node);
		for (int k = 0; k < L4_CHAINS; k++)
			l4_put_uint(out, t->keys[k]);
		put_cols(out, t->cols, m->groups[m->nodes[t->node].group].ncols);
	}
	for (int i = 1; i < m->nnodes; i++)
	{
		const L4GroupNode *n = &m->nodes[i];
		int			ncols = m->groups[n->group].ncols;

		l4_put_uint(out, n->nrows);
		for (int j = 0; j < n->nrows; j++)
		{
			const L4Row *row = &n->rows[j];
			const L4Str *cols = m->templates[row->template].cols;
			bool		same = memcmp(cols, row->cols, ncols * sizeof(L4Str)) == 0;

			l4_put_uint(out, row->template);
			l4_put_uint(out, (row->key != 0 ? ROW_SHAPE : 0) | (same ? ROW_AS_TEMPLATE : 0));
			if (!same)
				put_cols(out, row->cols, ncols);
		}
	}
	write_seen(out, m->seen, L4_SEEN_STORED);
}

struct varlena *
l4_parser_encode(L4Parser *parser)
{
	StringInfoData out;

	initStringInfo(&out);
	appendBinaryStringInfo(&out, "\0\0\0\0", VARHDRSZ);
	appendStringInfoChar(&out, L4_PARSER_VERSION);
	appendStringInfoChar(&out, parser->o.drain);
	appendBinaryStringInfo(&out, "\0\0", 2);
	l4_put_fixed64(&out, 0);
	l4_put_uint(&out, parser->options ? strlen(parser->options) : 0);
	if (parser->options)
		appendStringInfoString(&out, parser->options);
	if (parser->drain)
	{
		write_seen(&out, parser->learnt, L4_SEEN_MAX);
		l4_drain_serialize(parser->drain, &out);
	}
	else
		write_model(&out, &parser->model);
	l4_store64(out.data + VARHDRSZ + 4,
			   l4_hash_bytes(out.data + VARHDRSZ + L4_PARSER_HEADER, out.len - VARHDRSZ - L4_PARSER_HEADER));
	SET_VARSIZE(out.data, out.len);
	return (struct varlena *) out.data;
}
