/*
 * replay.c
 *		What another model has learnt, learnt here: its rows in the order of its
 *		templates, as if they came behind the rows of this one. Where the other
 *		model holds several rows, or several templates, for one event, so does
 *		this one afterwards.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "miner/miner_int.h"

/* A row of the other model, chained by template. */
typedef struct RowRef
{
	const L4Row *row;
	int32		next;			/* number + 1 */
} RowRef;

typedef struct Replay
{
	const L4Model *from;
	L4Model    *to;
	int32	   *events;			/* of each surviving event of from, the one in to; 0 none yet */
	RowRef	   *refs;
	int32	   *first;			/* of each template: number + 1 of its first row */
	StringInfoData text;		/* of the shape at hand */
} Replay;

static void
chain_rows(Replay *r)
{
	const L4Model *from = r->from;
	int32		n = 0;

	for (int i = 1; i < from->nnodes; i++)
		n += from->nodes[i].nrows;
	r->refs = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, n) * sizeof(RowRef));
	r->first = MemoryContextAllocZero(CurrentMemoryContext, Max(1, from->ntemplates) * sizeof(int32));
	n = 0;
	for (int i = 1; i < from->nnodes; i++)
		for (int j = from->nodes[i].nrows - 1; j >= 0; j--)
		{
			const L4Row *row = &from->nodes[i].rows[j];

			r->refs[n].row = row;
			r->refs[n].next = r->first[row->template];
			r->first[row->template] = ++n;
		}
}

/* An event of to has rows of that of a template of from: events of to that have rows of the same one are one. */
static void
note_event(Replay *r, int32 template, int32 event)
{
	int32		theirs = l4_model_resolve(r->from, r->from->templates[template].event);
	int32		known = r->events[theirs];

	if (event == 0)
		return;
	if (known == 0)
	{
		r->events[theirs] = event;
		return;
	}
	known = l4_model_resolve(r->to, known);
	event = l4_model_resolve(r->to, event);
	/* one that is beyond the bounds here stays apart */
	if (known != event && r->to->events[known].tag == r->to->events[event].tag)
		l4_event_merge(r->to, known, event,
					   r->to->events[template == r->from->events[theirs].template ? event : known].template);
}

/* A template with open slots becomes a row as it is, unless one fits it. */
static int32
replay_open(Replay *r, const L4Group *g, const L4Str *cols)
{
	L4Shape		shape = l4_row_shape(r->from, g, cols, &r->text);
	L4Cut	   *cut = &r->to->scratch->cut;
	int32		known = l4_fitting_template(r->to, g->tag, &shape);

	if (known >= 0)
		return l4_model_resolve(r->to, r->to->templates[known].event);
	if (r->to->budget->vocabulary > 0 && (l4_strangeness(r->to, cut) != L4_NOT_STRANGE || l4_budget_is_used(r->to)))
		return 0;
	l4_cut(r->to, &shape, true, cut);
	if (cut->ncols != g->ncols)
		return 0;
	for (int c = 0; c < g->ncols; c++)
		if (cols[c] == L4_STR_OPEN)
			cut->cols[c] = L4_STR_OPEN;
	return l4_learn_cut(r->to, g->tag, 0);
}

static void
replay_template(Replay *r, int32 template)
{
	const L4Template *t = &r->from->templates[template];
	const L4Group *g = &r->from->groups[r->from->nodes[t->node].group];
	bool		open = r->first[template] == 0;

	if (g->tag & L4_COARSE_TAG)
	{
		L4Shape		shape = l4_row_shape(r->from, g, t->cols, &r->text);

		note_event(r, template, l4_model_learn_coarse(r->to, g->tag & ~L4_COARSE_TAG, shape.text, shape.len));
		return;
	}
	for (int32 i = r->first[template]; i > 0; i = r->refs[i - 1].next)
	{
		L4Shape		shape;

		CHECK_FOR_INTERRUPTS();
		if (r->refs[i - 1].row->key == 0)
			continue;
		shape = l4_row_shape(r->from, g, r->refs[i - 1].row->cols, &r->text);
		note_event(r, template, l4_model_learn(r->to, g->tag, &shape, 0));
	}
	for (int c = 0; c < g->ncols && !open; c++)
		open = t->cols[c] == L4_STR_OPEN;
	if (open)
		note_event(r, template, replay_open(r, g, t->cols));
}

/* Shapes that fitted a template belong to its event here, too. */
static void
replay_seen(Replay *r)
{
	L4MapEntry *entry;
	l4_map_iterator it;

	l4_map_start_iterate(r->from->seen, &it);
	while ((entry = l4_map_iterate(r->from->seen, &it)) != NULL && r->to->seen->members < L4_SEEN_MAX)
	{
		int32		event = r->events[l4_model_resolve(r->from, entry->value)];
		int32	   *known;
		bool		found;

		if (event == 0 || l4_map_get(r->to->exact, entry->key) != 0)
			continue;
		known = l4_map_put(r->to->seen, entry->key, &found);
		if (!found)
			*known = event;
	}
}

/*
 * Learn what another model has learnt. Where it is closed, so is this one
 * then: lines beyond its bounds have no other event than a coarse one.
 */
void
l4_model_replay(L4Model *to, const L4Model *from)
{
	Replay		r = {.from = from, .to = to};

	r.events = MemoryContextAllocZero(CurrentMemoryContext, from->nevents * sizeof(int32));
	initStringInfo(&r.text);
	chain_rows(&r);
	for (int i = 0; i < from->ntemplates; i++)
		if (from->templates[i].event != 0)
			replay_template(&r, i);
	for (int i = 1; i < from->nevents; i++)
		if (from->events[i].merged_into == 0 && r.events[i] != 0)
			l4_event_add(&to->events[l4_model_resolve(to, r.events[i])], from->events[i].occurrences);
	replay_seen(&r);
	if (from->own.vocabulary > 0)
		l4_budget_close(to);
	pfree(r.events);
	pfree(r.refs);
	pfree(r.first);
	pfree(r.text.data);
}
