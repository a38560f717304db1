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

/* A record that got no line for so long gets none any more. */
#define L4_RECORD_IDLE 1000

static inline bool
is_recent(const L4RecordReader *r, const L4Sub *sub)
{
	return (sub->last.record_no > 0 && r->lines - sub->last.seen <= L4_RECORD_IDLE) ||
		(sub->special.record_no > 0 && r->lines - sub->special.seen <= L4_RECORD_IDLE);
}

static L4Sub *
find_sub(L4Sub *subs, int size, uint64 key)
{
	uint32		i = (uint32) (key ^ (key >> 32)) & (size - 1);

	while (subs[i].key != 0 && subs[i].key != key)
		i = (i + 1) & (size - 1);
	return &subs[i];
}

/* Make room for one more writer: a larger table, or one without those that have been silent. */
static void
grow_subs(L4RecordReader *r)
{
	int			size = Min(Max(64, r->subs_size * 2), L4_RECORD_MAX_SUBS);
	L4Sub	   *subs = MemoryContextAllocZero(r->cxt, sizeof(L4Sub) * size);
	int			used = 0;

	for (int i = 0; i < r->subs_size; i++)
	{
		/* of very many talkative writers the table forgets some */
		if (r->subs[i].key != 0 && used < size / 4 * 3 && (size > r->subs_size || is_recent(r, &r->subs[i])))
		{
			*find_sub(subs, size, r->subs[i].key) = r->subs[i];
			used++;
		}
	}
	if (used >= size / 4 * 3)
	{
		memset(subs, 0, sizeof(L4Sub) * size);
		used = 0;
	}
	if (r->subs != NULL)
		pfree(r->subs);
	r->subs = subs;
	r->subs_size = size;
	r->subs_used = used;
}

L4Sub *
l4_record_sub(L4RecordReader *r, uint64 key)
{
	L4Sub	   *sub;

	if (key == 0)
		return &r->unlabelled;
	if (r->subs_used >= r->subs_size / 4 * 3)
		grow_subs(r);
	sub = find_sub(r->subs, r->subs_size, key);
	if (sub->key == 0)
	{
		sub->key = key;
		r->subs_used++;
	}
	else if (!is_recent(r, sub))
	{
		/* would not have been saved, had a batch ended meanwhile */
		memset(&sub->last, 0, sizeof(sub->last));
		memset(&sub->special, 0, sizeof(sub->special));
	}
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
	pq_sendint8(buf, (t->headed ? 1 : 0) | (t->blank ? 2 : 0) | (t->opens ? 4 : 0));
	pq_sendint8(buf, (uint8) t->rule);
}

static void
load_tail(StringInfo buf, L4Tail *t)
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
	t->headed = (flags & 1) != 0;
	t->blank = (flags & 2) != 0;
	t->opens = (flags & 4) != 0;
	t->rule = (char) pq_getmsgint(buf, 1);
	if (t->cont > CONT_GO || t->record_no < 0 || t->joined < 0 || t->foreign < 0)
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
	int			n = 0;

	for (int i = 0; i < r->subs_size; i++)
		if (r->subs[i].key != 0 && is_recent(r, &r->subs[i]))
			n++;
	pq_sendint8(buf, L4_RECORD_STATE_VERSION);
	pq_sendint64(buf, r->lines);
	pq_sendint64(buf, r->records);
	pq_sendint32(buf, r->headed);
	pq_sendint32(buf, r->bare);
	pq_sendint32(buf, n);
	save_sub(buf, &r->unlabelled);
	for (int i = 0; i < r->subs_size; i++)
		if (r->subs[i].key != 0 && is_recent(r, &r->subs[i]))
			save_sub(buf, &r->subs[i]);
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
	int64	   *found = palloc(sizeof(int64) * 2 * (r->subs_used + 1));
	int			n = add_joinable(found, 0, &r->unlabelled);
	int			ndistinct = 0;

	for (int i = 0; i < r->subs_size; i++)
		if (r->subs[i].key != 0 && is_recent(r, &r->subs[i]))
			n = add_joinable(found, n, &r->subs[i]);
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
	r->headed = pq_getmsgint(buf, 4);
	r->bare = pq_getmsgint(buf, 4);
	n = pq_getmsgint(buf, 4);
	if (r->lines < 0 || r->records < 0 || r->headed < 0 || r->bare < 0 || n < 0 || n > L4_RECORD_MAX_SUBS)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored state of a log stream is damaged")));
	for (int i = -1; i < n; i++)
	{
		L4Sub		sub;

		sub.key = (uint64) pq_getmsgint64(buf);
		load_tail(buf, &sub.last);
		load_tail(buf, &sub.special);
		*l4_record_sub(r, i < 0 ? 0 : sub.key) = sub;
	}
}
