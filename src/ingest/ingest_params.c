/*
 * ingest_params.c
 *		The variable parts of messages: which they are, what values they take,
 *		and which of them are durations.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"

#include "base/ascii.h"
#include "base/clip.h"
#include "base/grow.h"
#include "ingest/ingest_shape.h"
#include "packed/sections.h"

/* Words for units of time, and how many microseconds one is. */
static const struct
{
	const char *word;
	double		us;
}			time_units[] =
{
	{"ms", 1e3}, {"msec", 1e3}, {"msecs", 1e3}, {"millis", 1e3}, {"milliseconds", 1e3}, {"millisecond", 1e3},
	{"s", 1e6}, {"sec", 1e6}, {"secs", 1e6}, {"second", 1e6}, {"seconds", 1e6},
	{"us", 1}, {"usec", 1}, {"usecs", 1}, {"microseconds", 1},
	{"ns", 1e-3}, {"nanoseconds", 1e-3},
	{"min", 6e7}, {"mins", 6e7}, {"minutes", 6e7}, {"minute", 6e7}, {"h", 3.6e9}, {"hours", 3.6e9}, {"hour", 3.6e9}
};

/* Microseconds of the unit that a word names; 0 when it names none. */
static double
unit_of_word(const char *word, int len)
{
	for (int i = 0; i < (int) lengthof(time_units); i++)
		if ((int) strlen(time_units[i].word) == len && pg_strncasecmp(word, time_units[i].word, len) == 0)
			return time_units[i].us;
	return 0;
}

/* Is what lies between two slots only what separates the elements of a list? */
static bool
is_separator(const char *msg, uint32 from, uint32 to)
{
	bool		comma = false;

	for (uint32 i = from; i < to; i++)
	{
		if (msg[i] == ',' && !comma)
			comma = true;
		else if (msg[i] != ' ')
			return false;
	}
	return to > from;
}

/* Numbers in brackets are one value: [1, 0, 1]. Returns the last slot of the list that starts here. */
static int
list_end(const char *msg, int len, const L4Shape *shape, int first)
{
	const L4Slot *slots = shape->slots;
	int			last = first;

	if (slots[first].off == 0 || (msg[slots[first].off - 1] != '[' && msg[slots[first].off - 1] != '('))
		return first;
	while (last + 1 < shape->nslots && slots[last + 1].mask == slots[first].mask &&
		   is_separator(msg, slots[last].off + slots[last].len, slots[last + 1].off))
		last++;
	if (last > first)
	{
		uint32		end = slots[last].off + slots[last].len;

		if (end >= (uint32) len || (msg[end] != ']' && msg[end] != ')'))
			return first;
	}
	return last;
}

static inline bool
is_name_byte(char c)
{
	return l4_ascii_letter(c) || l4_ascii_digit(c) || c == '-' || c == '_' || c == '.';
}

/*
 * A name whose numbers are variable parts ("node-3", "ip-10-0-3-17") is one
 * value: a letter first, a hyphen, no other kinds of parts. Extends the part
 * to the name, as bytes before its first and behind its last slot.
 */
static void
extend_to_name(const char *msg, int len, const L4Shape *shape, L4Param *param)
{
	const L4Slot *slots = shape->slots;
	int			last = param->last_slot;
	int			from = slots[param->first_slot].off;
	int			to = slots[last].off + slots[last].len;
	bool		hyphen = false;

	while (from > 0 && is_name_byte(msg[from - 1]))
		from--;
	if (from == slots[param->first_slot].off || !l4_ascii_letter(msg[from]) ||
		(param->first_slot > 0 && slots[param->first_slot - 1].off + slots[param->first_slot - 1].len > from))
		return;
	while (to < len && is_name_byte(msg[to]))
		to++;
	while (last + 1 < shape->nslots && slots[last + 1].off < to)
		last++;
	while (to > slots[last].off + slots[last].len && !l4_ascii_letter(msg[to - 1]) && !l4_ascii_digit(msg[to - 1]))
		to--;
	if (slots[last].off + slots[last].len > to)
		return;
	for (int s = param->first_slot; s <= last; s++)
		if (slots[s].mask != L4_MASK_NUMBER && slots[s].mask != L4_MASK_ID && slots[s].mask != L4_MASK_HEX)
			return;
	for (int i = from; i < to; i++)
		hyphen |= msg[i] == '-';
	if (!hyphen)
		return;
	param->lead = slots[param->first_slot].off - from;
	param->last_slot = last;
	param->trail = to - (slots[last].off + slots[last].len);
	param->mask = L4_MASK_ID;
	param->unit_us = 0;
}

/* What the number in a variable part counts, by the word after it or a unit in brackets before it. */
static double
unit_of_slot(const char *msg, int len, const L4Slot *slot)
{
	int			from = slot->off + slot->len;
	int			to;
	double		us;

	if (slot->mask != L4_MASK_NUMBER && slot->mask != L4_MASK_DURATION)
		return 0;
	for (uint32 i = slot->off; slot->mask == L4_MASK_DURATION && i < slot->off + slot->len; i++)
		if (l4_ascii_letter(msg[i]))
			return -1;
	if (from < len && msg[from] == ' ')
		from++;
	for (to = from; to < len && l4_ascii_letter(msg[to]); to++)
		;
	if (to > from && (to == len || !(l4_ascii_digit(msg[to]) || msg[to] == '_' || msg[to] == '/' || msg[to] == '-')))
	{
		us = unit_of_word(msg + from, to - from);
		if (us > 0)
			return us;
	}
	if (slot->mask == L4_MASK_DURATION)
		return -1;
	/* "elapsed (ms): 12", "time_ms=12" */
	to = slot->off;
	while (to > 0 && (msg[to - 1] == ' ' || msg[to - 1] == ':' || msg[to - 1] == '=' || msg[to - 1] == '"'))
		to--;
	if (to > 0 && (msg[to - 1] == ')' || msg[to - 1] == ']'))
		to--;
	for (from = to; from > 0 && l4_ascii_letter(msg[from - 1]); from--)
		;
	if (from > 0 && from < to && (msg[from - 1] == '(' || msg[from - 1] == '[' || msg[from - 1] == '_'))
		return unit_of_word(msg + from, to - from);
	return 0;
}

/*
 * The variable parts of a shape, from a message that has it. The place of a
 * part is the slot it lies in, by the delimiters before it: it stays the same
 * when a template grows, since what becomes variable lies between delimiters.
 */
int
l4_params_of_shape(L4Parser *parser, const char *msg, int len, const L4Shape *shape, L4Param **params, MemoryContext cxt)
{
	int			n = 0;
	L4Param    *list = MemoryContextAllocZero(cxt, sizeof(L4Param) * Max(Min(shape->nslots, L4_MAX_PARAMS), 1));
	int		   *slots = palloc(sizeof(int) * Max(shape->nslots, 1));

	l4_parser_slots(parser, shape, slots);
	for (int s = 0; s < shape->nslots && n < L4_MAX_PARAMS; s++)
	{
		L4Param    *param = &list[n++];

		param->first_slot = s;
		s = list_end(msg, len, shape, s);
		param->last_slot = s;
		param->mask = param->first_slot == s ? shape->slots[s].mask : L4_MASK_LIST;
		param->unit_us = param->first_slot == s ? unit_of_slot(msg, len, &shape->slots[s]) : 0;
		if (param->first_slot == s && param->unit_us == 0)
			extend_to_name(msg, len, shape, param);
		s = param->last_slot;
		param->mask_name = l4_parser_mask_name(parser, param->mask);
		/* several parts without a delimiter between them: the first is the place, the rest follow it */
		param->pos = slots[param->first_slot] * L4_MAX_PARAMS;
		if (n > 1 && param->pos <= list[n - 2].pos)
			param->pos = list[n - 2].pos + 1;
	}
	pfree(slots);
	*params = list;
	return n;
}

/* The words of a shape in places that statistics made variable, and the event that has the others. */
int
l4_words_of_shape(L4Parser *parser, int tag, const L4Shape *shape, int32 *words_of, L4OpenWord **words, MemoryContext cxt)
{
	L4Word	   *found;
	int			n;

	*words = NULL;
	*words_of = l4_parser_words(parser, tag, shape, &found, &n);
	if (n == 0)
		return 0;
	*words = MemoryContextAlloc(cxt, sizeof(L4OpenWord) * n);
	for (int i = 0; i < n; i++)
	{
		L4OpenWord *word = &(*words)[i];
		char	   *copy;

		word->pos = found[i].slot * L4_MAX_PARAMS;
		word->len = l4_clip(shape->text + found[i].off, found[i].len, L4_MAX_VALUE_LEN);
		word->text = copy = MemoryContextAlloc(cxt, word->len + 1);
		memcpy(copy, shape->text + found[i].off, word->len);
		copy[word->len] = '\0';
	}
	pfree(found);
	return n;
}

/* Microseconds that a value stands for; false when it is no number. */
static bool
duration_of(const char *text, int len, double unit_us, int64 *us)
{
	double		number = 0;
	double		scale = 1;
	int			i = 0;
	int			digits = 0;

	while (i < len && !l4_ascii_digit(text[i]))
		i++;
	for (; i < len && l4_ascii_digit(text[i]); i++, digits++)
		number = number * 10 + (text[i] - '0');
	if (i < len && text[i] == '.')
		for (i++; i < len && l4_ascii_digit(text[i]); i++)
		{
			scale /= 10;
			number += (text[i] - '0') * scale;
		}
	if (digits == 0)
		return false;
	if (unit_us < 0)
	{
		int			from;

		while (i < len && text[i] == ' ')
			i++;
		for (from = i; i < len && l4_ascii_letter(text[i]); i++)
			;
		unit_us = unit_of_word(text + from, i - from);
	}
	number = rint(number * unit_us);
	if (unit_us == 0 || !(number < 9e15))
		return false;
	*us = (int64) number;
	return true;
}

/* Add a duration to its block; blocks come mostly in order. */
static Size
count_duration(L4Param *param, int32 block, int64 us, MemoryContext cxt)
{
	L4Block    *found = NULL;
	Size		grown = 0;

	for (int i = param->nblocks - 1; i >= 0 && i >= param->nblocks - 8; i--)
		if (param->blocks[i].block == block)
		{
			found = &param->blocks[i];
			break;
		}
	if (found == NULL)
	{
		int			size = param->blocks_size;

		L4_GROW_FROM(param->blocks, param->nblocks, param->blocks_size, 4, cxt);
		grown = sizeof(L4Block) * (param->blocks_size - size);
		found = &param->blocks[param->nblocks++];
		found->block = block;
		found->n = found->sum_us = 0;
	}
	found->n++;
	found->sum_us += us;
	return grown;
}

/* Count a value; the 33rd different one ends the counting. */
static Size
count_value(L4Param *param, const char *text, int len, TimestampTz ts, int64 line_no, MemoryContext cxt)
{
	uint64		hash;
	L4Value    *value;
	Size		grown;
	int			size;

	len = l4_clip(text, len, L4_MAX_VALUE_LEN);
	hash = hash_bytes_extended((const unsigned char *) text, len, 0);
	for (int i = 0; i < param->nvalues; i++)
	{
		value = &param->values[i];
		if (value->hash == hash)
		{
			value->occurrences++;
			value->first_ts = l4_earlier(value->first_ts, ts);
			return 0;
		}
	}
	if (param->nvalues >= L4_MAX_VALUES)
	{
		param->many = true;
		return 0;
	}
	size = param->values_size;
	L4_GROW_FROM(param->values, param->nvalues, param->values_size, 2, cxt);
	grown = sizeof(L4Value) * (param->values_size - size);
	value = &param->values[param->nvalues++];
	value->hash = hash;
	value->text = MemoryContextAlloc(cxt, len + 1);
	memcpy(value->text, text, len);
	value->text[len] = '\0';
	value->len = len;
	value->occurrences = 1;
	value->first_ts = ts;
	value->first_line_no = line_no;
	return grown + len + 1;
}

/* Count the variable parts of a message; returns the bytes that were taken. */
Size
l4_params_count(L4Local *local, const char *msg, const L4Shape *shape,
				TimestampTz ts, int64 line_no, int32 iteration, MemoryContext cxt)
{
	Size		grown = 0;

	for (int k = 0; k < local->nparams; k++)
	{
		L4Param    *param = &local->params[k];
		const L4Slot *first;
		const L4Slot *last;
		int64		us;

		if (param->many && param->unit_us == 0)
			continue;
		if (param->last_slot >= shape->nslots)
			break;
		first = &shape->slots[param->first_slot];
		last = &shape->slots[param->last_slot];
		if (!param->many)
			grown += count_value(param, msg + first->off - param->lead,
								 last->off + last->len + param->trail - first->off + param->lead, ts, line_no, cxt);
		if (param->unit_us != 0 && duration_of(msg + first->off, first->len, param->unit_us, &us))
			grown += count_duration(param, iteration == L4_NO_INT ? -1 : iteration / 10, us, cxt);
	}
	return grown;
}
