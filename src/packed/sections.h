/*
 * sections.h
 *		The columns of what is packed of a stream beside its lines.
 */
#ifndef L4_SECTIONS_H
#define L4_SECTIONS_H

/* Columns of packed counts of events */
enum
{
	L4_EVENT_ID, L4_EVENT_OCCURRENCES, L4_EVENT_FIRST_TS, L4_EVENT_LAST_TS, L4_EVENT_FIRST_LINE, L4_EVENT_LAST_LINE, L4_EVENT_COLS
};
#define L4_EVENT_TYPES "iiiiii"

/* Columns of packed values of variable parts */
enum
{
	L4_SLOT_EVENT, L4_SLOT_PLACE, L4_SLOT_LINE, L4_SLOT_MASK, L4_SLOT_VALUE, L4_SLOT_COUNT, L4_SLOT_TS, L4_SLOT_COLS
};
#define L4_SLOT_TYPES "iiissii"

/* Values that are not counted have the number 0, the first of them less the number of all records of the slot. */
static inline int64
l4_slot_records(int64 count)
{
	return count < 0 ? -count : count;
}

/* A place that no variable part has: values are the numbers of events that have the words of some records, see stream_counts.c */
#define L4_SLOT_WORDS_OF	(-1)

#define L4_MAX_VALUES		32	/* different values kept of a variable part */
#define L4_MAX_MEASURES		8	/* where there are more than can be kept, and all are fractions or durations */

/* A value that is measured, a fraction or a duration, names nothing that could be looked for. */
static inline bool
l4_is_measure(const char *mask, int mask_len, const char *text, int len)
{
	if (mask_len == 8 && memcmp(mask, "duration", 8) == 0)
		return true;
	if (memchr(text, '.', len) == NULL)
		return false;
	for (int i = 0; i < len; i++)
		if (text[i] == '\0' || strchr("+-.0123456789eE", text[i]) == NULL)
			return false;
	return true;
}

#endif							/* L4_SECTIONS_H */
