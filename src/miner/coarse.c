/*
 * coarse.c
 *		Bounds of algorithm l4. Lines without end that share no words with
 *		others would each become a template. The model spends a limited sum on
 *		such shapes; then it closes: its vocabulary stays as it is, and shapes
 *		strange to it get a coarse template, by their first word or by their
 *		length. A full model gives one to every shape that fits no template.
 *
 * What is strange to a closed model, and which coarse template it gets,
 * follows from the shape and from what was known when the model closed, not
 * from what was learnt since. So the answer is the same whenever, and by
 * whichever process, the shape is looked up.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "miner/miner_int.h"

/* Slots of a shape from which on it counts as strange whatever its words: no two of such dumps are alike. */
#define WIDE_SLOTS		64

/* A strange shape costs one, and one more for each of these bytes. */
#define COST_BYTES		64

/* What may be spent on strange shapes: one for each other shape, a share of max_templates, and so much in any case. */
#define STRANGE_SHARE	4
#define STRANGE_LEAST	16

/* Coarse templates by first word, of all tags. */
#define MAX_BY_WORD		128

/* Shapes of more words have one coarse template. */
#define MAX_BY_LENGTH	6

/* Is a slot a word that the model knew when it closed, or knows now if it is open? */
static bool
is_known(const L4Model *m, L4Str s)
{
	uint32		limit = m->vocabulary > 0 ? m->vocabulary : m->nstrings;

	return s != L4_STR_UNKNOWN && s != L4_STR_VALUE && s < limit;
}

/* Is a cut shape strange: wide, without any word, or are most of its words unknown? */
bool
l4_is_strange(const L4Model *m, const L4Cut *cut)
{
	int			words = 0;
	int			unknown = 0;

	if (cut->ncols > WIDE_SLOTS)
		return true;
	for (int c = 0; c < cut->ncols; c++)
	{
		if (cut->cols[c] == L4_STR_EMPTY || cut->cols[c] == L4_STR_MARK)
			continue;
		words++;
		unknown += !is_known(m, cut->cols[c]);
	}
	return words == 0 || unknown * 2 > words;
}

/* Note a shape that became a row: the model may be closed now, or full. */
void
l4_model_spend(L4Model *m, const L4Shape *shape, bool strange)
{
	if (strange)
		m->spent_strange += 1 + shape->len / COST_BYTES;
	else
		m->ordinary++;
	if (m->vocabulary == 0 &&
		(m->spent_strange > m->ordinary + m->max_templates / STRANGE_SHARE + STRANGE_LEAST || l4_model_is_full(m)))
		m->vocabulary = m->nstrings;
}

/* It stays so: nothing is learnt any more that could join templates. */
bool
l4_model_is_full(const L4Model *m)
{
	return m->live >= m->max_templates;
}

/* A coarse shape's text: the first word and the delimiter after it, if the model knows them, and a mark. */
static bool
text_by_word(const L4Model *m, const L4Shape *shape, const L4Cut *cut, StringInfo text)
{
	if (cut->ncols < 2 || cut->from[1] > 64 || !is_known(m, cut->cols[0]) || !is_known(m, cut->delims[0]) ||
		(l4_string(m, cut->cols[0])->flags & (S_LETTER | S_MARK)) != S_LETTER)
		return false;
	appendBinaryStringInfo(text, shape->text, cut->from[1]);
	appendStringInfoChar(text, L4_OPEN_MARK);
	return true;
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
 * The coarse event of a shape that is cut in m->scratch->cut; 0 if there is
 * none yet and none is to be made. Which one it is cannot change: once there
 * are as many by first word as there may be, no other word gets one.
 */
int32
l4_coarse_event(L4Model *m, int tag, const L4Shape *shape, bool make)
{
	StringInfoData text;
	int32		event = 0;

	initStringInfo(&text);
	if (text_by_word(m, shape, &m->scratch->cut, &text))
	{
		bool		room = m->coarse_words < MAX_BY_WORD;

		event = event_of_text(m, tag, &text, false);
		if (event == 0 && room && make)
		{
			event = event_of_text(m, tag, &text, true);
			m->coarse_words++;
		}
		if (event != 0 || room)
		{
			pfree(text.data);
			return event;
		}
		resetStringInfo(&text);
	}
	text_by_length(shape, &text);
	event = event_of_text(m, tag, &text, make);
	pfree(text.data);
	return event;
}

/* The coarse event of a text that another model has, made where there is none; beyond the bound one by length. */
int32
l4_model_learn_coarse(L4Model *m, int tag, const char *bytes, int len)
{
	L4Shape		shape = {.text = unconstify(char *, bytes), .len = len};
	StringInfoData text;
	int32		event;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, bytes, len);
	event = event_of_text(m, tag, &text, false);
	if (event == 0 && len > 0 && bytes[0] != L4_OPEN_MARK)
	{
		if (m->coarse_words < MAX_BY_WORD)
			m->coarse_words++;
		else
		{
			resetStringInfo(&text);
			text_by_length(&shape, &text);
		}
	}
	if (event == 0)
		event = event_of_text(m, tag, &text, true);
	pfree(text.data);
	return event;
}
