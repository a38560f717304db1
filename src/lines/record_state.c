/*
 * record_state.c
 *		The writers of a stream, and what a reader carries to its next batch.
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "base/order.h"
#include "lines/record_int.h"

/* First byte of a saved state. */
#define L4_RECORD_STATE_VERSION 1

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
save_tail(StringInfo buf, const L4Tail *t)
{
	pq_sendint64(buf, t->record_no);
	pq_sendint64(buf, t->line_no);
	pq_sendint64(buf, t->seen);
	pq_sendint32(buf, t->joined);
	pq_sendint32(buf, t->foreign);
	pq_sendint8(buf, t->level);
	pq_sendint8(buf, t->cont);
	pq_sendint8(buf, (t->logged ? 1 : 0) | (t->blank ? 2 : 0) | (t->opens ? 4 : 0));
	pq_sendint8(buf, (uint8) t->rule);
}

static void
load_tail(const L4RecordReader *r, StringInfo buf, L4Tail *t)
{
	int			flags;

	t->record_no = pq_getmsgint64(buf);
	t->line_no = pq_getmsgint64(buf);
	t->seen = pq_getmsgint64(buf);
	t->joined = pq_getmsgint(buf, 4);
	t->foreign = pq_getmsgint(buf, 4);
	t->level = pq_getmsgint(buf, 1);
	t->cont = pq_getmsgint(buf, 1);
	flags = pq_getmsgint(buf, 1);
	t->logged = (flags & 1) != 0;
	t->blank = (flags & 2) != 0;
	t->opens = (flags & 4) != 0;
	t->rule = (char) pq_getmsgint(buf, 1);
	if (t->cont > CONT_GO || t->record_no < 0 || t->seen < 0 || t->seen > r->lines ||
		t->joined < 0 || t->joined > MAX_LINES || t->foreign < 0 || t->foreign > MAX_LINES)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored state of a log stream is damaged")));
}

static void
save_sub(StringInfo buf, const L4Sub *sub)
{
	pq_sendint64(buf, (int64) sub->key);
	save_tail(buf, &sub->last);
	save_tail(buf, &sub->special);
}

void
l4_record_save(const L4RecordReader *r, StringInfo buf)
{
	l4_subs_iterator it;
	L4Sub	   *sub;
	int			count_at;
	uint32		n = 0;

	pq_sendint8(buf, L4_RECORD_STATE_VERSION);
	pq_sendint64(buf, r->lines);
	pq_sendint64(buf, r->records);
	pq_sendint32(buf, r->logged);
	pq_sendint32(buf, r->bare);
	count_at = buf->len;
	pq_sendint32(buf, 0);
	save_sub(buf, &r->unlabelled);
	if (r->subs == NULL)
		return;
	l4_subs_start_iterate(r->subs, &it);
	while ((sub = l4_subs_iterate(r->subs, &it)) != NULL)
	{
		if (!is_recent(r, sub))
			continue;
		save_sub(buf, sub);
		n++;
	}
	n = pg_hton32(n);
	memcpy(buf->data + count_at, &n, sizeof(n));
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

void
l4_record_load(L4RecordReader *r, StringInfo buf)
{
	int			n;

	if (pq_getmsgint(buf, 1) != L4_RECORD_STATE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored state of a log stream has an unknown version")));
	r->lines = pq_getmsgint64(buf);
	r->records = pq_getmsgint64(buf);
	r->logged = pq_getmsgint(buf, 4);
	r->bare = pq_getmsgint(buf, 4);
	n = pq_getmsgint(buf, 4);
	if (r->lines < 0 || r->lines > PG_INT64_MAX / 2 || r->records < 0 || r->records > PG_INT64_MAX / 2 ||
		r->logged < 0 || r->logged > MAX_LINES || r->bare < 0 || r->bare > MAX_LINES || n < 0 || n > L4_RECORD_MAX_SUBS)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored state of a log stream is damaged")));
	for (int i = -1; i < n; i++)
	{
		uint64		key = (uint64) pq_getmsgint64(buf);
		L4Sub	   *sub = l4_record_sub(r, i < 0 ? 0 : key);

		load_tail(r, buf, &sub->last);
		load_tail(r, buf, &sub->special);
	}
}
