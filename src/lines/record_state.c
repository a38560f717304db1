/*
 * record_state.c
 *		The writers of a stream, and what a reader carries to its next batch.
 */
#include "postgres.h"

#include "base/order.h"
#include "lines/record_int.h"

/* First byte of a saved state. */
#define L4_RECORD_STATE_VERSION 2

/* No record or stream has more: what is loaded can still be counted on. */
#define MAX_LINES (PG_INT32_MAX / 2)

/* A record that got no line for so long gets none any more. */
#define L4_RECORD_IDLE 1000

static inline bool
is_recent(const L4RecordReader *r, const L4Sub *sub)
{
	return (sub->last.record_no > 0 && r->lines - sub->last.seen <= L4_RECORD_IDLE) ||
		(sub->special.record_no > 0 && r->lines - sub->special.seen <= L4_RECORD_IDLE);
}

#define SH_PREFIX l4_subs
#define SH_ELEMENT_TYPE L4Sub
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(table, key) ((uint32) ((key) ^ ((key) >> 32)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Forget the writers that have been silent; of very many talkative ones all. */
static void
forget_subs(l4_subs_hash *subs, const L4RecordReader *r)
{
	l4_subs_iterator it;
	L4Sub	   *sub;

	l4_subs_start_iterate(subs, &it);
	while ((sub = l4_subs_iterate(subs, &it)) != NULL)
		if (!is_recent(r, sub))
			l4_subs_delete_item(subs, sub);
	if (subs->members >= L4_RECORD_MAX_SUBS)
		l4_subs_reset(subs);
}

L4Sub *
l4_record_sub(L4RecordReader *r, uint64 key)
{
	L4Sub	   *sub;
	bool		found;

	if (key == 0)
		return &r->unlabelled;
	if (r->subs == NULL)
		r->subs = l4_subs_create(r->cxt, 64, NULL);
	sub = l4_subs_lookup(r->subs, key);
	if (sub != NULL && is_recent(r, sub))
		return sub;
	if (sub == NULL && r->subs->members >= L4_RECORD_MAX_SUBS)
		forget_subs(r->subs, r);
	if (sub == NULL)
		sub = l4_subs_insert(r->subs, key, &found);

	/* a silent writer would not have been saved, had a batch ended meanwhile */
	memset(&sub->last, 0, sizeof(L4Tail));
	memset(&sub->special, 0, sizeof(L4Tail));
	return sub;
}

static void
code_tail(L4Codec *codec, const L4RecordReader *r, L4Tail *t)
{
	l4_code_int64(codec, &t->record_no);
	l4_code_int64(codec, &t->line_no);
	l4_code_int64(codec, &t->seen);
	l4_code_int(codec, &t->joined);
	l4_code_int(codec, &t->foreign);
	l4_code_byte(codec, &t->level);
	l4_code_byte(codec, &t->cont);
	l4_code_byte(codec, &t->rule);
	l4_code_bool(codec, &t->logged);
	l4_code_bool(codec, &t->blank);
	l4_code_bool(codec, &t->opens);
	if (t->cont > CONT_GO || t->record_no < 0 || t->seen < 0 || t->seen > r->lines ||
		t->joined < 0 || t->joined > MAX_LINES || t->foreign < 0 || t->foreign > MAX_LINES)
		l4_bytes_corrupted("tail of a record");
}

static void
code_sub(L4Codec *codec, const L4RecordReader *r, L4Sub *sub)
{
	code_tail(codec, r, &sub->last);
	code_tail(codec, r, &sub->special);
}

void
l4_record_code(L4RecordReader *r, L4Codec *codec)
{
	l4_subs_iterator it;
	L4Sub	   *sub;
	uint8		version = L4_RECORD_STATE_VERSION;
	int			n = 0;

	l4_code_byte(codec, &version);
	if (version != L4_RECORD_STATE_VERSION)
		l4_bytes_corrupted("version of the state of records");
	l4_code_uint64(codec, &r->rank_key);
	l4_code_int64(codec, &r->lines);
	l4_code_int64(codec, &r->records);
	l4_code_int(codec, &r->logged);
	l4_code_int(codec, &r->bare);
	if (r->lines < 0 || r->lines > PG_INT64_MAX / 2 || r->records < 0 || r->records > PG_INT64_MAX / 2 ||
		r->logged < 0 || r->logged > MAX_LINES || r->bare < 0 || r->bare > MAX_LINES)
		l4_bytes_corrupted("numbers of records");
	code_sub(codec, r, &r->unlabelled);
	if (r->subs == NULL)
		r->subs = l4_subs_create(r->cxt, 64, NULL);
	l4_subs_start_iterate(r->subs, &it);
	while (!l4_codec_reads(codec) && (sub = l4_subs_iterate(r->subs, &it)) != NULL)
		n += is_recent(r, sub);
	l4_code_count(codec, &n);
	if (n > L4_RECORD_MAX_SUBS)
		l4_bytes_corrupted("writers");
	l4_subs_start_iterate(r->subs, &it);
	for (int i = 0; i < n; i++)
	{
		uint64		key = 0;

		if (!l4_codec_reads(codec))
		{
			do
				sub = l4_subs_iterate(r->subs, &it);
			while (!is_recent(r, sub));
			key = sub->key;
		}
		l4_code_uint64(codec, &key);
		if (l4_codec_reads(codec))
			sub = l4_record_sub(r, key);
		code_sub(codec, r, sub);
	}
}

int64
l4_record_count(const L4RecordReader *r)
{
	return r->records;
}

static int
add_joinable(int64 *line_nos, int n, const L4Sub *sub)
{
	if (sub->last.record_no > 0)
		line_nos[n++] = sub->last.line_no;
	if (sub->special.record_no > 0)
		line_nos[n++] = sub->special.line_no;
	return n;
}

int
l4_record_joinable(const L4RecordReader *r, int64 **line_nos)
{
	uint32		nsubs = r->subs == NULL ? 0 : r->subs->members;
	int64	   *found = palloc(sizeof(int64) * 2 * (nsubs + 1));
	int			n = add_joinable(found, 0, &r->unlabelled);
	int			ndistinct = 0;
	l4_subs_iterator it;
	L4Sub	   *sub;

	if (nsubs > 0)
	{
		l4_subs_start_iterate(r->subs, &it);
		while ((sub = l4_subs_iterate(r->subs, &it)) != NULL)
			if (is_recent(r, sub))
				n = add_joinable(found, n, sub);
	}
	qsort(found, n, sizeof(int64), l4_order_int64);
	for (int i = 0; i < n; i++)
		if (ndistinct == 0 || found[i] != found[ndistinct - 1])
			found[ndistinct++] = found[i];
	*line_nos = found;
	return ndistinct;
}
