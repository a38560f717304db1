/*
 * slot_values.h
 *		Values of the variable parts of events in a stream, put together of
 *		what is packed.
 */
#ifndef L4_SLOT_VALUES_H
#define L4_SLOT_VALUES_H

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "packed/packed.h"

/* Settled and open */
#define L4_SLOT_PARTS 2

/* Words of the messages that made events, by event and slot */
typedef struct L4OwnWords
{
	int			n;
	const int32 *events;
	const int32 *slots;
	Datum	   *texts;
} L4OwnWords;

/* A value of a variable part */
typedef struct L4SlotOut
{
	const char *text;
	int			len;
	const char *mask;
	int			mask_len;
	int64		occurrences;
	TimestampTz ts;				/* lowest; L4_NO_TS where no record has one */
	int64		line_no;		/* lowest */
} L4SlotOut;

/* Takes a value of a surviving event's slot; counted: occurrences are known. */
typedef void (*L4SlotTake) (void *to, int32 event, int32 slot, const L4SlotOut *value, bool counted);

typedef struct L4SlotRange L4SlotRange;
typedef struct L4SlotLines L4SlotLines;

/* What is asked for is set by the caller, all else is zero at first. */
typedef struct L4SlotReader
{
	L4Pack	   *slots[L4_SLOT_PARTS];	/* L4_SLOT_TYPES; NULL none */
	L4Pack	   *events[L4_SLOT_PARTS];	/* L4_EVENT_TYPES; NULL none */
	const int32 *merged;		/* events, ascending, and those that they were merged into */
	const int32 *survivors;
	int			nmerged;
	L4OwnWords	words;
	const int32 *ids;			/* events as packed, ascending; NULL any */
	int			nids;
	const int64 *keys;			/* slots (event << 32 | slot), ascending, whose values are wanted, beside all that are no number; NULL any */
	int			nkeys;
	bool		first;			/* only the value that came first */
	MemoryContext cxt;
	L4SlotRange *ranges;
	int			nranges;
	int			ranges_size;
	L4SlotLines *lines;
	int			nlines;
	int			lines_size;
} L4SlotReader;

/* Arguments of a function: ids (NULL: none), and own words in three of them. */
extern const int32 *l4_get_ids(FunctionCallInfo fcinfo, int arg, const char *name, int *n);
extern void l4_get_own_words(FunctionCallInfo fcinfo, int arg, L4OwnWords *words);

/* A row of packed values; where it is of L4_SLOT_WORDS_OF, the event whose words records have. */
extern void l4_slot_value(const L4Pack *pack, int row, L4SlotOut *out);
extern int32 l4_slot_words_of(const L4SlotOut *value);

/* All values, of each slot together, in the order in which they came. */
extern void l4_slot_values_read(L4SlotReader *r, L4SlotTake take, void *to);

#endif							/* L4_SLOT_VALUES_H */
