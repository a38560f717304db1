/*
 * slot_values.c
 *		Values of the variable parts of events in a stream, put together of
 *		what is packed: of several events that are one by now, of what is
 *		settled and what is open, and with the words that were not counted.
 *
 * A word was not counted while the template of its event was not open in its
 * place. Then all records had the word of the message that made the event: so
 * that word has the records of the event less those whose words were counted.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/grow.h"
#include "base/order.h"
#include "l4_compat.h"
#include "packed/packed.h"
#include "packed/sections.h"
#include "packed/slot_values.h"
#include "scan/scan.h"

/* Rows of one event and slot in a part, or a word that was not counted */
struct L4SlotRange
{
	int32		event;			/* the surviving one */
	int32		slot;
	int			part;
	int			from;
	int			to;				/* from = to: a word */
	int			word;
	int64		records;
	TimestampTz ts;
	int64		line_no;
};

/* Records of an event that have its own words but for those counted */
struct L4SlotLines
{
	int32		event;
	int64		records;
	TimestampTz ts;				/* lowest */
	int64		line_no;		/* lowest */
};

static int32
survivor_of(const L4SlotReader *r, int32 event)
{
	const int32 *found = r->nmerged == 0 ? NULL : bsearch(&event, r->merged, r->nmerged, sizeof(int32), l4_order_int32);

	return found == NULL ? event : r->survivors[found - r->merged];
}

static bool
is_wanted(const L4SlotReader *r, int32 event)
{
	return r->ids == NULL || bsearch(&event, r->ids, r->nids, sizeof(int32), l4_order_int32) != NULL;
}

/* Records that have the words of an event: more, or less where the number is negative. */
static void
add_lines(L4SlotReader *r, int32 event, int64 records, TimestampTz ts, int64 line_no)
{
	L4SlotLines *lines = NULL;

	for (int i = r->nlines - 1; i >= 0 && lines == NULL; i--)
		if (r->lines[i].event == event)
			lines = &r->lines[i];
	if (lines == NULL)
	{
		L4_GROW_FROM(r->lines, r->nlines, r->lines_size, 16, r->cxt);
		lines = &r->lines[r->nlines++];
		lines->event = event;
		lines->records = 0;
		lines->ts = ts;
		lines->line_no = line_no;
	}
	lines->records += records;
	if (records > 0)
	{
		lines->ts = l4_earlier(lines->ts, ts);
		lines->line_no = Min(lines->line_no, line_no);
	}
}

static L4SlotRange *
add_range(L4SlotReader *r, int32 event, int32 slot)
{
	L4SlotRange *range;

	L4_GROW(r->ranges, r->nranges, r->ranges_size, r->cxt);
	range = &r->ranges[r->nranges++];
	memset(range, 0, sizeof(*range));
	range->event = event;
	range->slot = slot;
	return range;
}

/* The words of an event in front of those of the next one; NULL where it has none. */
static const int32 *
words_of(const L4SlotReader *r, int32 event)
{
	const int32 *word = r->words.n == 0 ? NULL : bsearch(&event, r->words.events, r->words.n, sizeof(int32), l4_order_int32);

	while (word != NULL && word > r->words.events && word[-1] == event)
		word--;
	return word;
}

/* Records of the events that have own words. */
static void
read_events(L4SlotReader *r, int part)
{
	L4Pack	   *pack = r->events[part];

	for (int row = 0; row < pack->nrows; row++)
	{
		int32		event = (int32) pack->cols[L4_EVENT_ID].ints[row];

		CHECK_FOR_INTERRUPTS();
		if (is_wanted(r, event) && words_of(r, event) != NULL)
			add_lines(r, event, pack->cols[L4_EVENT_OCCURRENCES].ints[row], l4_pack_get_ts(pack, L4_EVENT_FIRST_TS, row),
					  pack->cols[L4_EVENT_FIRST_LINE].ints[row]);
	}
}

void
l4_slot_value(const L4Pack *pack, int row, L4SlotOut *out)
{
	const L4PackCol *value = &pack->cols[L4_SLOT_VALUE];
	const L4PackCol *mask = &pack->cols[L4_SLOT_MASK];

	out->text = value->entry[value->ints[row]];
	out->len = value->entry_len[value->ints[row]];
	out->mask = mask->entry[mask->ints[row]];
	out->mask_len = mask->entry_len[mask->ints[row]];
	out->occurrences = pack->cols[L4_SLOT_COUNT].ints[row];
	out->ts = l4_pack_get_ts(pack, L4_SLOT_TS, row);
	out->line_no = pack->cols[L4_SLOT_LINE].ints[row];
}

int32
l4_slot_words_of(const L4SlotOut *value)
{
	char		number[12];
	int			len = Min(value->len, (int) sizeof(number) - 1);

	memcpy(number, value->text, len);
	number[len] = '\0';
	return (int32) strtol(number, NULL, 10);
}

/* Records of an event that have the words of another one. */
static void
move_lines(L4SlotReader *r, int part, int32 event, int row)
{
	L4SlotOut	value;
	int32		other;

	l4_slot_value(r->slots[part], row, &value);
	other = l4_slot_words_of(&value);
	if (words_of(r, event) != NULL)
		add_lines(r, event, -value.occurrences, value.ts, value.line_no);
	if (words_of(r, other) != NULL)
		add_lines(r, other, value.occurrences, value.ts, value.line_no);
}

static void
read_slots(L4SlotReader *r, int part)
{
	L4Pack	   *pack = r->slots[part];
	const int64 *event = pack->cols[L4_SLOT_EVENT].ints;
	const int64 *place = pack->cols[L4_SLOT_PLACE].ints;
	L4SlotRange *range = NULL;
	bool		wanted = false;

	for (int row = 0; row < pack->nrows; row++)
	{
		bool		same_event = row > 0 && event[row] == event[row - 1];

		if (!same_event)
			wanted = is_wanted(r, (int32) event[row]);
		if (!wanted)
			continue;
		if (place[row] == L4_SLOT_WORDS_OF)
		{
			move_lines(r, part, (int32) event[row], row);
			continue;
		}
		if (!same_event || place[row] != place[row - 1])
		{
			range = add_range(r, survivor_of(r, (int32) event[row]), (int32) place[row]);
			range->part = part;
			range->from = row;
		}
		range->to = row + 1;
		range->records += l4_slot_records(pack->cols[L4_SLOT_COUNT].ints[row]);
	}
}

/* Records of an event whose part in a place was counted. */
static int64
counted(const L4SlotReader *r, int32 event, int32 slot, int nranges)
{
	int64		records = 0;

	for (int i = 0; i < nranges; i++)
	{
		const L4SlotRange *range = &r->ranges[i];

		if (range->slot == slot && r->slots[range->part]->cols[L4_SLOT_EVENT].ints[range->from] == event)
			records += range->records;
	}
	return records;
}

/* The words that were not counted. */
static void
add_words(L4SlotReader *r)
{
	int			nranges = r->nranges;

	for (int i = 0; i < r->nlines; i++)
	{
		const L4SlotLines *lines = &r->lines[i];
		int			w = words_of(r, lines->event) - r->words.events;

		for (; w < r->words.n && r->words.events[w] == lines->event; w++)
		{
			int64		records = lines->records - counted(r, lines->event, r->words.slots[w], nranges);
			L4SlotRange *range;

			CHECK_FOR_INTERRUPTS();
			if (records <= 0)
				continue;
			range = add_range(r, survivor_of(r, lines->event), r->words.slots[w]);
			range->word = w;
			range->records = records;
			range->ts = lines->ts;
			range->line_no = lines->line_no;
		}
	}
}

L4_COMPARE(compare_ranges, L4SlotRange, L4_UP(event) L4_UP(slot))

static void
get_word(const L4SlotReader *r, const L4SlotRange *range, L4SlotOut *out)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(r->words.texts[range->word]);

	out->text = VARDATA_ANY(text);
	out->len = VARSIZE_ANY_EXHDR(text);
	out->mask = l4_mask_name(L4_MASK_WORD);
	out->mask_len = strlen(out->mask);
	out->occurrences = range->records;
	out->ts = range->ts;
	out->line_no = range->line_no;
}

/* Add a value to those of a slot; returns their number. */
static int
merge_value(L4SlotOut *values, int n, const L4SlotOut *add)
{
	for (int i = 0; i < n; i++)
	{
		L4SlotOut  *value = &values[i];

		if (value->len != add->len || memcmp(value->text, add->text, add->len) != 0)
			continue;
		value->occurrences += add->occurrences;
		value->ts = l4_earlier(value->ts, add->ts);
		value->line_no = Min(value->line_no, add->line_no);
		if (strncmp(add->mask, value->mask, Min(add->mask_len, value->mask_len)) < 0)
		{
			value->mask = add->mask;
			value->mask_len = add->mask_len;
		}
		return n;
	}
	values[n] = *add;
	return n + 1;
}

static int
compare_out(const void *a, const void *b)
{
	const L4SlotOut  *x = (const L4SlotOut *) a;
	const L4SlotOut  *y = (const L4SlotOut *) b;
	int			order;

	if (x->line_no != y->line_no)
		return x->line_no < y->line_no ? -1 : 1;
	order = memcmp(x->text, y->text, Min(x->len, y->len));
	return order != 0 ? order : x->len - y->len;
}

/* Digits with at most one point: no name of anything. */
static bool
is_number(const char *text, int len)
{
	int			points = 0;

	for (int i = 0; i < len; i++)
	{
		points += text[i] == '.';
		if (text[i] != '.' && (text[i] < '0' || text[i] > '9'))
			return false;
	}
	return points <= 1;
}

/* The values of an event and slot that are kept. */
static void
take_kept(L4SlotReader *r, const L4SlotRange *range, const L4SlotOut *values, int nvalues, bool many, L4SlotTake take, void *to)
{
	int64		key = (int64) range->event << 32 | range->slot;
	bool		known = r->keys == NULL || bsearch(&key, r->keys, r->nkeys, sizeof(int64), l4_order_int64) != NULL;
	bool		measured = true;
	int			nkept = Min(nvalues, L4_MAX_VALUES);

	many |= nvalues > L4_MAX_VALUES;
	for (int i = 0; i < nkept && many && measured; i++)
		measured = l4_is_measure(values[i].mask, values[i].mask_len, values[i].text, values[i].len);
	nkept = r->first ? 1 : many && measured ? Min(nkept, L4_MAX_MEASURES) : nkept;
	for (int i = 0; i < nkept; i++)
		if (known || !is_number(values[i].text, values[i].len))
			take(to, range->event, range->slot, &values[i], !many);
}

/* The values of an event and slot, of n ranges. */
static void
take_slot(L4SlotReader *r, const L4SlotRange *ranges, int n, L4SlotTake take, void *to)
{
	int			size = 0;
	int			nvalues = 0;
	bool		many = false;
	L4SlotOut  *values;

	for (int i = 0; i < n; i++)
		size += Max(ranges[i].to - ranges[i].from, 1);
	values = (L4SlotOut *) palloc(sizeof(L4SlotOut) * size);
	for (int i = 0; i < n; i++)
	{
		L4SlotOut	out;

		if (ranges[i].from == ranges[i].to)
		{
			get_word(r, &ranges[i], &out);
			nvalues = merge_value(values, nvalues, &out);
		}
		for (int row = ranges[i].from; row < ranges[i].to; row++)
		{
			CHECK_FOR_INTERRUPTS();
			l4_slot_value(r->slots[ranges[i].part], row, &out);
			many |= out.occurrences <= 0;
			/* the values of one range differ */
			if (i == 0)
				values[nvalues++] = out;
			else
				nvalues = merge_value(values, nvalues, &out);
		}
	}
	if (n > 1)
		qsort(values, nvalues, sizeof(L4SlotOut), compare_out);
	take_kept(r, ranges, values, nvalues, many, take, to);
	pfree(values);
}

void
l4_slot_values_read(L4SlotReader *r, L4SlotTake take, void *to)
{
	int			n;

	for (int part = 0; part < L4_SLOT_PARTS; part++)
	{
		if (r->events[part] != NULL)
			read_events(r, part);
		if (r->slots[part] != NULL)
			read_slots(r, part);
	}
	add_words(r);
	if (r->nranges > 1)
		qsort(r->ranges, r->nranges, sizeof(L4SlotRange), compare_ranges);
	for (int i = 0; i < r->nranges; i = n)
	{
		CHECK_FOR_INTERRUPTS();
		for (n = i + 1; n < r->nranges && compare_ranges(&r->ranges[i], &r->ranges[n]) == 0; n++)
			;
		take_slot(r, &r->ranges[i], n - i, take, to);
	}
}
