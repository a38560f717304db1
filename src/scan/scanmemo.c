/*
 * scanmemo.c
 *		Remembers what scans made of messages.
 *
 * The scanner asks what class a byte has, not which digit it is; so two
 * messages of one length that differ in digits only, and in none that stays in
 * the template, have the same shape and the same slots. The few places where
 * the scanner does look at a digit itself must be equal. In words of
 * hexadecimal digits that stand alone, letters from a to f may differ as well.
 */
#include "postgres.h"

#include "scan/scan.h"
#include "scan/scan_int.h"

#define MEMO_PLACES		8192
#define MEMO_COST		2		/* look-ups that an entry is worth */
#define MEMO_MIN_LEN	16		/* a shorter message is scanned as fast */

/* What is remembered: behind it the slots, the numbers of those in which letters vary, and the text of the shape. */
typedef struct KnownScan
{
	uint64		hash;			/* of the shape */
	int32		text_len;
	int16		nslots;
	int16		nhex;
	L4Slot		slots[FLEXIBLE_ARRAY_MEMBER];
} KnownScan;

static inline int16 *
hex_slots(KnownScan *known)
{
	return (int16 *) (known->slots + known->nslots);
}

static inline char *
text_of(KnownScan *known)
{
	return (char *) (hex_slots(known) + known->nslots);
}

L4FoldMemo *
l4_scanmemo_create(MemoryContext cxt)
{
	return l4_foldmemo_create(MEMO_PLACES, MEMO_COST, true, cxt);
}

static inline bool
is_hex_letter(uint8 c)
{
	return c >= 'a' && c <= 'f';
}

/* Digits and letters: only letters would be a word, only digits a number. */
static bool
is_mixed(const char *p, int len)
{
	bool		digit = false;
	bool		letter = false;

	for (int i = 0; i < len && !(digit && letter); i++)
	{
		digit |= IS_DIGIT(p[i]);
		letter |= is_hex_letter(p[i]);
	}
	return digit && letter;
}

bool
l4_scanmemo_find(L4FoldMemo *memo, const char *msg, int len, L4Shape *out)
{
	KnownScan  *known = len < MEMO_MIN_LEN ? NULL : l4_foldmemo_find(memo, msg, len);

	if (known == NULL)
		return false;
	for (int i = 0; i < known->nhex; i++)
	{
		const L4Slot *slot = &known->slots[hex_slots(known)[i]];

		if (!is_mixed(msg + slot->off, slot->len))
			return false;
	}
	out->text = text_of(known);
	out->len = known->text_len;
	out->hash = known->hash;
	out->slots = known->slots;
	out->nslots = known->nslots;
	return true;
}

static inline bool
is_bound(const L4Scanner *scanner, const char *msg, int len, int at)
{
	return at < 0 || at >= len || (scanner->cls[(uint8) msg[at]] & (C_BLANK | C_HARD)) != 0;
}

/* Does a name of letters and a dash stand before at, as in req-? Nothing is looked for in such. */
static bool
is_after_name(const L4Scanner *scanner, const char *msg, int at)
{
	int			i = at - 1;

	if (i < 1 || msg[i] != '-' || !IS_ALPHA(msg[i - 1]))
		return false;
	while (i > 0 && IS_ALPHA(msg[i - 1]))
		i--;
	return is_bound(scanner, msg, at, i - 1);
}

/*
 * A word of hexadecimal digits in which letters may be digits and the other way
 * round: it stands alone or behind a name, so that no other recogniser looks at it.
 */
static bool
is_free_hex(const L4Scanner *scanner, const char *msg, int len, const L4Slot *slot)
{
	if (slot->mask != L4_MASK_UUID &&
		(slot->mask != L4_MASK_HEX || slot->len < L4_FOLD_HEX_RUN || slot->len >= L4_WINDOW))
		return false;
	return is_bound(scanner, msg, len, slot->off + slot->len) &&
		(is_bound(scanner, msg, len, slot->off - 1) || is_after_name(scanner, msg, slot->off)) &&
		is_mixed(msg + slot->off, slot->len);
}

/* The same in the path of a file or of a request, which may hold anything. */
static void
free_hex_of_path(char *key, const L4Scanner *scanner, const char *msg, int len, const L4Slot *slot)
{
	int			end = slot->off + slot->len;
	int			from = slot->off;

	if (slot->mask != L4_MASK_PATH || msg[from] != '/' || !is_bound(scanner, msg, len, from - 1) ||
		!is_bound(scanner, msg, len, end))
		return;
	for (int i = from; i <= end; i++)
	{
		if (i < end && (IS_DIGIT(msg[i]) || is_hex_letter(msg[i]) || msg[i] == '-'))
			continue;
		for (int k = from; i - from >= L4_FOLD_HEX_RUN && k < i; k++)
			if (msg[k] != '-')
				key[k] = L4_FOLD_HEX;
		from = i + 1;
	}
}

/* A digit that the scanner reads: that of 0x, and of a family in brackets (ipv6). */
static inline bool
is_read(const char *p, int len, int i)
{
	return (i + 1 < len && (p[i + 1] | 0x20) == 'x') || (i > 0 && (p[i - 1] | 0x20) == 'v');
}

/* Say in the key which bytes of the message may be other ones: between slots none. */
static void
find_varying(KnownScan *known, char *key, const L4Scanner *scanner, const char *msg, int len)
{
	for (int s = 0; s < known->nslots; s++)
	{
		const L4Slot *slot = &known->slots[s];
		bool		hex = is_free_hex(scanner, msg, len, slot);

		if (hex)
			hex_slots(known)[known->nhex++] = s;
		for (int i = slot->off; i < slot->off + slot->len; i++)
		{
			if (IS_DIGIT(msg[i]) && !is_read(msg, len, i))
				key[i] = hex ? L4_FOLD_HEX : L4_FOLD_DIGIT;
			else if (hex && is_hex_letter(msg[i]))
				key[i] = L4_FOLD_HEX;
		}
		free_hex_of_path(key, scanner, msg, len, slot);
	}
}

void
l4_scanmemo_learn(L4FoldMemo *memo, const L4Scanner *scanner, const char *msg, int len, const L4Shape *shape)
{
	KnownScan  *known;
	char	   *key;

	if (len < MEMO_MIN_LEN || !l4_foldmemo_wants(memo))
		return;
	known = l4_foldmemo_add(memo, msg, len, false,
							offsetof(KnownScan, slots) + shape->nslots * (sizeof(L4Slot) + sizeof(int16)) + shape->len, &key);
	if (known == NULL)
		return;
	known->hash = shape->hash;
	known->text_len = shape->len;
	known->nslots = shape->nslots;
	known->nhex = 0;
	memcpy(known->slots, shape->slots, shape->nslots * sizeof(L4Slot));
	memcpy(text_of(known), shape->text, shape->len);
	find_varying(known, key, scanner, msg, len);
}
