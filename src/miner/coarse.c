/*
 * coarse.c
 *		Bounds of algorithm l4. Lines without end that share no words with
 *		others would each become a template. A teacher (the messages of a job,
 *		its errors, or all messages) has a limited sum to spend on such shapes;
 *		then its budget is closed: shapes that are strange to what the model
 *		knew at that time get a coarse template, by their first word or by
 *		their length. So does every shape that fits no template, once the
 *		teacher has made as many as it may.
 *
 * What is strange to a closed budget, and which coarse template it gets,
 * follows from the shape and from what was known when the budget closed, not
 * from what was learnt since. So the answer is the same whenever, and by
 * whichever process, the shape is looked up. Budgets of different teachers do
 * not touch each other: a job that prints noise closes for itself alone.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "miner/miner_int.h"

/* Slots of a shape from which on it counts as strange whatever its words: no two of such dumps are alike. */
#define WIDE_SLOTS		64

/* A strange shape costs one, and one more for each of these bytes. */
#define COST_BYTES		64

/* Shares of max_templates. What may be spent on strange shapes: one for each other shape, a share, and so much in any case. */
#define STRANGE_LEAST	16
static const struct
{
	int			strange;
	int			templates;
}			shares[] = {
	[L4_ALL_MESSAGES] = {4, 1}, [L4_JOB_MESSAGES] = {32, 16}, [L4_JOB_ERRORS] = {64, 32}
};

/*
 * So many templates a job may add, of errors and of others each, to a model
 * that is full. What it adds goes with the number of jobs, as all that is
 * stored does; all together so many times what fills the model.
 */
#define JOB_LEAST		64
#define ADDED_TIMES		4

/* Coarse templates by first word, of all tags. */
#define MAX_BY_WORD		128

/* Shapes of more words have one coarse template. */
#define MAX_BY_LENGTH	6

/* Is a slot a word that the model knew when the budget closed, or knows now if it is open? */
static bool
is_known(const L4Model *m, L4Str s)
{
	uint32		limit = m->budget->vocabulary > 0 ? m->budget->vocabulary : m->nstrings;

	return s != L4_STR_UNKNOWN && s != L4_STR_VALUE && s < limit;
}

/* How strange is a cut shape to the budget's teacher? */
L4Strange
l4_strangeness(const L4Model *m, const L4Cut *cut)
{
	int			words = 0;
	int			unknown = 0;

	for (int c = 0; c < cut->ncols; c++)
	{
		if (cut->cols[c] == L4_STR_EMPTY || cut->cols[c] == L4_STR_MARK)
			continue;
		words++;
		unknown += !is_known(m, cut->cols[c]);
	}
	if (unknown * 2 > words)
		return L4_STRANGE_WORDS;
	return words == 0 || cut->ncols > WIDE_SLOTS ? L4_STRANGE_FORM : L4_NOT_STRANGE;
}

/* May its teacher make no more templates? */
bool
l4_budget_is_used(const L4Model *m)
{
	const L4Budget *b = m->budget;
	bool		full = m->live >= m->max_templates;

	if (b->teacher == L4_ALL_MESSAGES)
		return full;
	if (full)
		return b->templates >= JOB_LEAST || m->live / (ADDED_TIMES + 1) >= m->max_templates;
	return b->templates >= Max(m->max_templates / shares[b->teacher].templates, JOB_LEAST);
}

/* What is unknown now stays unknown. */
void
l4_budget_close(L4Model *m)
{
	if (m->budget->vocabulary == 0)
		m->budget->vocabulary = m->own.vocabulary = m->nstrings;
}

/* Note a shape that became a row, and made so many templates: the budget may be closed now. */
void
l4_budget_spend(L4Model *m, const L4Shape *shape, bool strange, int32 templates)
{
	L4Budget   *b = m->budget;

	b->templates += templates;
	if (strange)
		b->strange += 1 + shape->len / COST_BYTES;
	else
		b->ordinary++;
	if (b->strange > b->ordinary + m->max_templates / shares[b->teacher].strange + STRANGE_LEAST || l4_budget_is_used(m))
		l4_budget_close(m);
}

/* A coarse shape's text: the first word and the delimiter after it, if the model knows them, and a mark; else none. */
static void
text_by_word(const L4Model *m, const L4Shape *shape, const L4Cut *cut, StringInfo text)
{
	if (cut->ncols < 2 || cut->from[1] > 64 || !is_known(m, cut->cols[0]) || !is_known(m, cut->delims[0]) ||
		(l4_string(m, cut->cols[0])->flags & (S_LETTER | S_MARK)) != S_LETTER)
		return;
	appendBinaryStringInfo(text, shape->text, cut->from[1]);
	appendStringInfoChar(text, L4_OPEN_MARK);
}

/* A mark for each word of a short shape, one for all of a long one. */
static void
text_by_length(const L4Shape *shape, StringInfo text)
{
	int			blanks = 0;

	for (int i = 0; i < shape->len; i++)
		blanks += shape->text[i] == ' ';
	appendStringInfoChar(text, L4_OPEN_MARK);
	for (int i = 0; i < blanks && blanks < MAX_BY_LENGTH; i++)
	{
		appendStringInfoChar(text, ' ');
		appendStringInfoChar(text, L4_OPEN_MARK);
	}
}

/* The event of a coarse text; make it when asked to, else 0 where there is none. */
static int32
event_of_text(L4Model *m, int tag, const StringInfoData *text, bool make)
{
	L4Shape		shape = {.text = text->data, .len = text->len, .hash = l4_hash_bytes(text->data, text->len)};
	int			coarse_tag = tag | L4_COARSE_TAG;
	uint64		key = l4_model_key(coarse_tag, &shape);
	int32		event = l4_map_get(m->exact, key);
	L4Cut	   *cut = &m->scratch->cut;
	int32		group;
	int32		node;
	int32		template;

	if (event != 0 || !make)
		return event;
	l4_cut(m, &shape, true, cut);
	group = l4_group_of(m, coarse_tag, cut, true);
	if (group < 0)
		return 0;
	node = m->groups[group].root;
	template = l4_template_new(m, node, cut->ncols, cut->cols, 0);
	event = m->templates[template].event;
	l4_row_add(m, node, template, key, cut->cols, cut->ncols);
	*l4_map_put(m->exact, key, NULL) = event;
	return event;
}

/*
 * The coarse event of a text by word, or where it is empty or there are too
 * many by word, of one by the length of the shape; 0 if there is none yet and
 * none is to be made. Which one it is cannot change: once there are as many by
 * first word as there may be, no other word gets one. The text is used up.
 */
static int32
coarse_event(L4Model *m, int tag, StringInfo text, const L4Shape *shape, bool make)
{
	int32		event = 0;
	bool		room = m->coarse_words < MAX_BY_WORD;
	int32		before = m->nevents;

	if (text->len > 0 && text->data[0] != L4_OPEN_MARK)
	{
		event = event_of_text(m, tag, text, make && room);
		m->coarse_words += m->nevents > before;
		if (event == 0 && !room)
			resetStringInfo(text);
	}
	if (text->len == 0)
		text_by_length(shape, text);
	if (text->data[0] == L4_OPEN_MARK)
		event = event_of_text(m, tag, text, make);
	pfree(text->data);
	return event;
}

/* Of a shape that is cut in m->scratch->cut. */
int32
l4_coarse_event(L4Model *m, int tag, const L4Shape *shape, bool make)
{
	StringInfoData text;

	initStringInfo(&text);
	text_by_word(m, shape, &m->scratch->cut, &text);
	return coarse_event(m, tag, &text, shape, make);
}

/* Of a text that another model has, made where there is none. */
int32
l4_model_learn_coarse(L4Model *m, int tag, const char *bytes, int len)
{
	L4Shape		shape = {.text = unconstify(char *, bytes), .len = len};
	StringInfoData text;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, bytes, len);
	return coarse_event(m, tag, &text, &shape, true);
}
