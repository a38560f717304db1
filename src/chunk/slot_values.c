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

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "chunk/chunk.h"
#include "chunk/sections.h"
#include "template/scan.h"

PG_FUNCTION_INFO_V1(l4_slot_values);

enum
{
	ARG_SLOTS, ARG_OPEN_SLOTS, ARG_EVENTS, ARG_OPEN_EVENTS, ARG_MERGED, ARG_SURVIVORS, ARG_WORD_EVENTS, ARG_WORD_SLOTS, ARG_WORDS,
	ARG_IDS, ARG_KEYS, ARG_FIRST
};

/* Settled and open */
#define PARTS 2

/* Words of the messages that made events, by event and slot */
typedef struct Words
{
	int			n;
	const int32 *events;
	const int32 *slots;
	Datum	   *texts;
} Words;

/* Rows of one event and slot in a part, or a word that was not counted */
typedef struct Range
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
} Range;

/* Records of an event that have its own words but for those counted */
typedef struct Lines
{
	int32		event;
	int64		records;
	TimestampTz ts;				/* lowest */
	int64		line_no;		/* lowest */
} Lines;

typedef struct Out
{
	const char *text;
	int			len;
	const char *mask;
	int			mask_len;
	int64		occurrences;
	TimestampTz ts;
	int64		line_no;
} Out;

typedef struct Reader
{
	ReturnSetInfo *rsinfo;
	L4Pack	   *slots[PARTS];
	L4Pack	   *events[PARTS];
	const int32 *merged;
	const int32 *survivors;
	int			nmerged;
	Words		words;
	const int32 *ids;			/* NULL any */
	int			nids;
	const int64 *keys;			/* NULL any */
	int			nkeys;
	bool		first;			/* only the value that came first */
	Range	   *ranges;
	int			nranges;
	int			ranges_size;
	Lines	   *lines;
	int			nlines;
	int			lines_size;
	MemoryContext cxt;
} Reader;

static int
compare_int32(const void *a, const void *b)
{
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;

	return x < y ? -1 : x > y;
}

static int
compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

static int32
survivor_of(const Reader *r, int32 event)
{
	const int32 *found = r->nmerged == 0 ? NULL : bsearch(&event, r->merged, r->nmerged, sizeof(int32), compare_int32);

	return found == NULL ? event : r->survivors[found - r->merged];
}

static bool
is_wanted(const Reader *r, int32 event)
{
	return r->ids == NULL || bsearch(&event, r->ids, r->nids, sizeof(int32), compare_int32) != NULL;
}

static TimestampTz
pack_ts(const L4Pack *pack, int col, int row)
{
	return l4_pack_is_null(pack, col, row) ? L4_NO_TS : pack->cols[col].ints[row];
}

static bool
before(TimestampTz a, TimestampTz b)
{
	return a != L4_NO_TS && (b == L4_NO_TS || a < b);
}

/* Records that have the words of an event: more, or less where the number is negative. */
static void
add_lines(Reader *r, int32 event, int64 records, TimestampTz ts, int64 line_no)
{
	Lines	   *lines = NULL;

	for (int i = r->nlines - 1; i >= 0 && lines == NULL; i--)
		if (r->lines[i].event == event)
			lines = &r->lines[i];
	if (lines == NULL)
	{
		if (r->nlines >= r->lines_size)
		{
			r->lines_size = Max(16, r->lines_size * 2);
			r->lines = r->lines == NULL ? MemoryContextAlloc(r->cxt, sizeof(Lines) * r->lines_size)
				: repalloc(r->lines, sizeof(Lines) * r->lines_size);
		}
		lines = &r->lines[r->nlines++];
		lines->event = event;
		lines->records = 0;
		lines->ts = ts;
		lines->line_no = line_no;
	}
	lines->records += records;
	if (records > 0)
	{
		if (before(ts, lines->ts))
			lines->ts = ts;
		lines->line_no = Min(lines->line_no, line_no);
	}
}

static Range *
add_range(Reader *r, int32 event, int32 slot)
{
	Range	   *range;

	if (r->nranges >= r->ranges_size)
	{
		r->ranges_size = Max(64, r->ranges_size * 2);
		r->ranges = r->ranges == NULL ? MemoryContextAlloc(r->cxt, sizeof(Range) * r->ranges_size)
			: repalloc(r->ranges, sizeof(Range) * r->ranges_size);
	}
	range = &r->ranges[r->nranges++];
	memset(range, 0, sizeof(*range));
	range->event = event;
	range->slot = slot;
	return range;
}

/* The words of an event in front of those of the next one; NULL where it has none. */
static const int32 *
words_of(const Reader *r, int32 event)
{
	const int32 *word = r->words.n == 0 ? NULL : bsearch(&event, r->words.events, r->words.n, sizeof(int32), compare_int32);

	while (word != NULL && word > r->words.events && word[-1] == event)
		word--;
	return word;
}

/* Records of the events that have own words. */
static void
read_events(Reader *r, int part)
{
	L4Pack	   *pack = r->events[part];

	for (int row = 0; row < pack->nrows; row++)
	{
		int32		event = (int32) pack->cols[L4_EVENT_ID].ints[row];

		if (is_wanted(r, event) && words_of(r, event) != NULL)
			add_lines(r, event, pack->cols[L4_EVENT_OCCURRENCES].ints[row], pack_ts(pack, L4_EVENT_FIRST_TS, row),
					  pack->cols[L4_EVENT_FIRST_LINE].ints[row]);
	}
}

/* Records of an event that have the words of another one. */
static void
move_lines(Reader *r, int part, int32 event, int row)
{
	L4Pack	   *pack = r->slots[part];
	const L4PackCol *value = &pack->cols[L4_SLOT_VALUE];
	int64		records = pack->cols[L4_SLOT_COUNT].ints[row];
	char		number[12];
	int			len = Min(value->entry_len[value->ints[row]], (int) sizeof(number) - 1);
	int32		other;

	memcpy(number, value->entry[value->ints[row]], len);
	number[len] = '\0';
	other = (int32) strtol(number, NULL, 10);
	if (words_of(r, event) != NULL)
		add_lines(r, event, -records, pack_ts(pack, L4_SLOT_TS, row), pack->cols[L4_SLOT_LINE].ints[row]);
	if (words_of(r, other) != NULL)
		add_lines(r, other, records, pack_ts(pack, L4_SLOT_TS, row), pack->cols[L4_SLOT_LINE].ints[row]);
}

static void
read_slots(Reader *r, int part)
{
	L4Pack	   *pack = r->slots[part];
	const int64 *event = pack->cols[L4_SLOT_EVENT].ints;
	const int64 *place = pack->cols[L4_SLOT_PLACE].ints;
	Range	   *range = NULL;
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
counted(const Reader *r, int32 event, int32 slot, int nranges)
{
	int64		records = 0;

	for (int i = 0; i < nranges; i++)
	{
		const Range *range = &r->ranges[i];

		if (range->slot == slot && r->slots[range->part]->cols[L4_SLOT_EVENT].ints[range->from] == event)
			records += range->records;
	}
	return records;
}

/* The words that were not counted. */
static void
add_words(Reader *r)
{
	int			nranges = r->nranges;

	for (int i = 0; i < r->nlines; i++)
	{
		const Lines *lines = &r->lines[i];
		int			w = words_of(r, lines->event) - r->words.events;

		for (; w < r->words.n && r->words.events[w] == lines->event; w++)
		{
			int64		records = lines->records - counted(r, lines->event, r->words.slots[w], nranges);
			Range	   *range;

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

static int
compare_ranges(const void *a, const void *b)
{
	const Range *x = (const Range *) a;
	const Range *y = (const Range *) b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return 0;
}

static void
get_value(const Reader *r, const Range *range, int row, Out *out)
{
	const L4Pack *pack = r->slots[range->part];
	const L4PackCol *value = &pack->cols[L4_SLOT_VALUE];
	const L4PackCol *mask = &pack->cols[L4_SLOT_MASK];

	out->text = value->entry[value->ints[row]];
	out->len = value->entry_len[value->ints[row]];
	out->mask = mask->entry[mask->ints[row]];
	out->mask_len = mask->entry_len[mask->ints[row]];
	out->occurrences = pack->cols[L4_SLOT_COUNT].ints[row];
	out->ts = pack_ts(pack, L4_SLOT_TS, row);
	out->line_no = pack->cols[L4_SLOT_LINE].ints[row];
}

static void
get_word(const Reader *r, const Range *range, Out *out)
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
merge_value(Out *values, int n, const Out *add)
{
	for (int i = 0; i < n; i++)
	{
		Out		   *value = &values[i];

		if (value->len != add->len || memcmp(value->text, add->text, add->len) != 0)
			continue;
		value->occurrences += add->occurrences;
		if (before(add->ts, value->ts))
			value->ts = add->ts;
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
	const Out  *x = (const Out *) a;
	const Out  *y = (const Out *) b;
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

static void
put_value(Reader *r, const Range *range, const Out *value, bool many)
{
	Datum		values[7];
	bool		nulls[7] = {false};
	Datum		mask = PointerGetDatum(cstring_to_text_with_len(value->mask, value->mask_len));
	Datum		text = PointerGetDatum(cstring_to_text_with_len(value->text, value->len));

	values[0] = Int32GetDatum(range->event);
	values[1] = Int32GetDatum(range->slot);
	values[2] = mask;
	values[3] = text;
	values[4] = Int64GetDatum(value->occurrences);
	nulls[4] = many;
	values[5] = TimestampTzGetDatum(value->ts);
	nulls[5] = value->ts == L4_NO_TS;
	values[6] = Int64GetDatum(value->line_no);
	tuplestore_putvalues(r->rsinfo->setResult, r->rsinfo->setDesc, values, nulls);
	pfree(DatumGetPointer(mask));
	pfree(DatumGetPointer(text));
}

/* The values of an event and slot, of n ranges. */
static void
put_slot(Reader *r, const Range *ranges, int n)
{
	int64		key = (int64) ranges->event << 32 | ranges->slot;
	bool		known = r->keys != NULL && bsearch(&key, r->keys, r->nkeys, sizeof(int64), compare_int64) != NULL;
	int			size = 0;
	int			nvalues = 0;
	bool		many = false;
	bool		measured = true;
	int			nkept;
	Out		   *values;

	for (int i = 0; i < n; i++)
		size += Max(ranges[i].to - ranges[i].from, 1);
	values = (Out *) palloc(sizeof(Out) * size);
	for (int i = 0; i < n; i++)
	{
		Out			out;

		if (ranges[i].from == ranges[i].to)
		{
			get_word(r, &ranges[i], &out);
			nvalues = merge_value(values, nvalues, &out);
		}
		for (int row = ranges[i].from; row < ranges[i].to; row++)
		{
			get_value(r, &ranges[i], row, &out);
			many |= out.occurrences <= 0;
			/* the values of one range differ */
			if (i == 0)
				values[nvalues++] = out;
			else
				nvalues = merge_value(values, nvalues, &out);
		}
	}
	if (n > 1)
		qsort(values, nvalues, sizeof(Out), compare_out);
	many |= nvalues > L4_MAX_VALUES;
	nkept = Min(nvalues, L4_MAX_VALUES);
	for (int i = 0; i < nkept && many && measured; i++)
		measured = l4_is_measure(values[i].mask, values[i].mask_len, values[i].text, values[i].len);
	nkept = r->first ? 1 : many && measured ? Min(nkept, L4_MAX_MEASURES) : nkept;
	for (int i = 0; i < nkept; i++)
		if (r->keys == NULL || known || !is_number(values[i].text, values[i].len))
			put_value(r, ranges, &values[i], many);
	pfree(values);
}

static L4Pack *
get_pack(FunctionCallInfo fcinfo, int arg, const char *types, MemoryContext cxt)
{
	L4Pack	   *pack;
	int			ncols = strlen(types);

	if (PG_ARGISNULL(arg))
		return NULL;
	pack = l4_pack_open(PG_GETARG_BYTEA_PP(arg), cxt);
	if (pack->ncols != ncols)
		l4_bytes_corrupted("columns");
	for (int c = 0; c < ncols; c++)
	{
		if (pack->cols[c].type != types[c])
			l4_bytes_corrupted("columns");
		l4_pack_need(pack, c);
		/* only times may be missing */
		if (pack->cols[c].nulls != NULL && types[c] == L4_PACK_TEXT)
			l4_bytes_corrupted("columns");
	}
	return pack;
}

static const int32 *
get_ids(FunctionCallInfo fcinfo, int arg, const char *name, int *n)
{
	*n = 0;
	return PG_ARGISNULL(arg) ? NULL : l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(arg), name, n);
}

static void
get_keys(FunctionCallInfo fcinfo, Reader *r)
{
	Datum	   *keys;
	int64	   *copy;

	if (PG_ARGISNULL(ARG_KEYS))
		return;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_KEYS), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &keys, NULL, &r->nkeys);
	copy = (int64 *) palloc(sizeof(int64) * Max(r->nkeys, 1));
	for (int i = 0; i < r->nkeys; i++)
		copy[i] = DatumGetInt64(keys[i]);
	qsort(copy, r->nkeys, sizeof(int64), compare_int64);
	r->keys = copy;
}

static void
get_words(FunctionCallInfo fcinfo, Words *words)
{
	int			nslots;
	int			ntexts;

	words->events = get_ids(fcinfo, ARG_WORD_EVENTS, "word_events", &words->n);
	words->slots = get_ids(fcinfo, ARG_WORD_SLOTS, "word_slots", &nslots);
	if (words->n == 0)
		return;
	ntexts = 0;
	if (!PG_ARGISNULL(ARG_WORDS))
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_WORDS), TEXTOID, -1, false, TYPALIGN_INT, &words->texts, NULL, &ntexts);
	if (nslots != words->n || ntexts != words->n)
		elog(ERROR, "%d events of words, %d slots, %d words", words->n, nslots, ntexts);
}

/*
 * (slots, open slots, events, open events, merged events ascending and their
 * survivors, own words by event and slot, ids, keys, first) -> rows of values.
 * ids: events as packed, ascending; keys: only values of these slots (event
 * << 32 | slot), and those that are no number; NULL = any.
 */
Datum
l4_slot_values(PG_FUNCTION_ARGS)
{
	Reader		r;
	MemoryContext old;
	int			n;

	l4_init_materialized_srf(fcinfo);
	memset(&r, 0, sizeof(r));
	r.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	r.cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 slot values", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(r.cxt);
	r.merged = get_ids(fcinfo, ARG_MERGED, "merged", &r.nmerged);
	r.survivors = get_ids(fcinfo, ARG_SURVIVORS, "survivors", &n);
	if (n != r.nmerged)
		elog(ERROR, "%d merged events, %d survivors", r.nmerged, n);
	get_words(fcinfo, &r.words);
	r.ids = get_ids(fcinfo, ARG_IDS, "ids", &r.nids);
	get_keys(fcinfo, &r);
	r.first = PG_GETARG_BOOL(ARG_FIRST);
	for (int part = 0; part < PARTS; part++)
	{
		r.slots[part] = get_pack(fcinfo, ARG_SLOTS + part, L4_SLOT_TYPES, r.cxt);
		if (r.words.n > 0)
			r.events[part] = get_pack(fcinfo, ARG_EVENTS + part, L4_EVENT_TYPES, r.cxt);
		if (r.events[part] != NULL)
			read_events(&r, part);
		if (r.slots[part] != NULL)
			read_slots(&r, part);
	}
	add_words(&r);
	if (r.nranges > 1)
		qsort(r.ranges, r.nranges, sizeof(Range), compare_ranges);
	for (int i = 0; i < r.nranges; i = n)
	{
		CHECK_FOR_INTERRUPTS();
		for (n = i + 1; n < r.nranges && compare_ranges(&r.ranges[i], &r.ranges[n]) == 0; n++)
			;
		put_slot(&r, &r.ranges[i], n - i);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(r.cxt);
	return (Datum) 0;
}
