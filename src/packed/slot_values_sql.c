/*
 * slot_values_sql.c
 *		SQL side of the values of variable parts: l4._unpack_values().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/order.h"
#include "l4_compat.h"
#include "packed/packed.h"
#include "packed/sections.h"
#include "packed/slot_values.h"

enum
{
	ARG_SLOTS, ARG_OPEN_SLOTS, ARG_EVENTS, ARG_OPEN_EVENTS, ARG_MERGED, ARG_SURVIVORS, ARG_WORD_EVENTS, ARG_WORD_SLOTS, ARG_WORDS,
	ARG_IDS, ARG_KEYS, ARG_FIRST
};

static void
put_value(void *to, int32 event, int32 slot, const L4SlotOut *value, bool counted)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) to;
	Datum		values[7];
	bool		nulls[7] = {false};
	Datum		mask = PointerGetDatum(cstring_to_text_with_len(value->mask, value->mask_len));
	Datum		text = PointerGetDatum(cstring_to_text_with_len(value->text, value->len));

	values[0] = Int32GetDatum(event);
	values[1] = Int32GetDatum(slot);
	values[2] = mask;
	values[3] = text;
	values[4] = Int64GetDatum(value->occurrences);
	nulls[4] = !counted;
	values[5] = TimestampTzGetDatum(value->ts);
	nulls[5] = value->ts == L4_NO_TS;
	values[6] = Int64GetDatum(value->line_no);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	pfree(DatumGetPointer(mask));
	pfree(DatumGetPointer(text));
}

static L4Pack *
get_pack(FunctionCallInfo fcinfo, int arg, const char *types, MemoryContext cxt)
{
	L4Pack	   *pack;

	if (PG_ARGISNULL(arg))
		return NULL;
	pack = l4_pack_open_as(PG_GETARG_BYTEA_PP(arg), types, cxt);
	/* only times may be missing */
	for (int c = 0; types[c] != '\0'; c++)
		if (pack->cols[c].nulls != NULL && types[c] == L4_PACK_TEXT)
			l4_bytes_corrupted("columns");
	return pack;
}

const int32 *
l4_get_ids(FunctionCallInfo fcinfo, int arg, const char *name, int *n)
{
	*n = 0;
	return PG_ARGISNULL(arg) ? NULL : l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(arg), name, n);
}

static void
get_keys(FunctionCallInfo fcinfo, L4SlotReader *r)
{
	Datum	   *keys;
	int64	   *copy;

	if (PG_ARGISNULL(ARG_KEYS))
		return;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_KEYS), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &keys, NULL, &r->nkeys);
	copy = (int64 *) palloc(sizeof(int64) * Max(r->nkeys, 1));
	for (int i = 0; i < r->nkeys; i++)
		copy[i] = DatumGetInt64(keys[i]);
	qsort(copy, r->nkeys, sizeof(int64), l4_order_int64);
	r->keys = copy;
}

void
l4_get_own_words(FunctionCallInfo fcinfo, int arg, L4OwnWords *words)
{
	int			nslots;
	int			ntexts = 0;

	words->events = l4_get_ids(fcinfo, arg, "word_events", &words->n);
	words->slots = l4_get_ids(fcinfo, arg + 1, "word_slots", &nslots);
	if (!PG_ARGISNULL(arg + 2))
	{
		(void) l4_check_array(PG_GETARG_ARRAYTYPE_P(arg + 2), "words");
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg + 2), TEXTOID, -1, false, TYPALIGN_INT, &words->texts, NULL, &ntexts);
	}
	l4_check_same_length(words->n, "word_events", nslots, "word_slots");
	l4_check_same_length(words->n, "word_events", ntexts, "words");
	for (int i = 0; i < ntexts; i++)
		words->texts[i] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(words->texts[i]));
}

/*
 * (slots, open slots, events, open events, merged events ascending and their
 * survivors, own words by event and slot, ids, keys, first) -> rows of values,
 * see L4SlotReader; keys in any order.
 */
L4_FUNCTION(l4_slot_values)
{
	L4SlotReader r;
	MemoryContext old;
	int			n;

	l4_init_materialized_srf(fcinfo);
	memset(&r, 0, sizeof(r));
	r.cxt = AllocSetContextCreate(CurrentMemoryContext, "l4 slot values", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(r.cxt);
	r.merged = l4_get_ids(fcinfo, ARG_MERGED, "merged", &r.nmerged);
	r.survivors = l4_get_ids(fcinfo, ARG_SURVIVORS, "survivors", &n);
	l4_check_same_length(r.nmerged, "merged", n, "survivors");
	l4_get_own_words(fcinfo, ARG_WORD_EVENTS, &r.words);
	r.ids = l4_get_ids(fcinfo, ARG_IDS, "ids", &r.nids);
	get_keys(fcinfo, &r);
	r.first = !PG_ARGISNULL(ARG_FIRST) && PG_GETARG_BOOL(ARG_FIRST);
	for (int part = 0; part < L4_SLOT_PARTS; part++)
	{
		r.slots[part] = get_pack(fcinfo, ARG_SLOTS + part, L4_SLOT_TYPES, r.cxt);
		if (r.words.n > 0)
			r.events[part] = get_pack(fcinfo, ARG_EVENTS + part, L4_EVENT_TYPES, r.cxt);
	}
	l4_slot_values_read(&r, put_value, fcinfo->resultinfo);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(r.cxt);
	return (Datum) 0;
}
