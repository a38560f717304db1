/*
 * linememo.c
 *		What was found out about lines that differ in their digits only.
 *
 * Logs consist of a few hundred texts with other numbers in them. Lines are
 * folded: all digits become '0'. A table has notes on the folded lines seen,
 * two with the same place in it at a time: the one that was met again, and the
 * last one. Where most lines are new, as those with random names are, looking
 * them up does not pay; then it is left for a while.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "pcre/linememo.h"

#define PLACES 2048				/* a power of two */

/* After so many lines it is looked whether half of them were known; if not, so many are left out. */
#define TRIAL 1024
#define PAUSE (16 * TRIAL)

/* Eight bytes of this value. */
#define EIGHT(c) (UINT64CONST(0x0101010101010101) * (c))

struct L4LineMemo
{
	MemoryContext cxt;			/* of numbers and lines */
	L4LineNote	notes[PLACES][2];
	int			tried;			/* lines of this trial */
	int			known;
	int			pause;			/* lines to leave out */

	/* the line at hand */
	uint64		hash;
	int			len;
	char		folded[L4_MEMO_LINE_MAX + sizeof(uint64)];
};

L4LineMemo *
l4_linememo_create(MemoryContext parent)
{
	L4LineMemo *memo = MemoryContextAllocZero(parent, sizeof(L4LineMemo));

	memo->cxt = AllocSetContextCreate(parent, "l4 known lines", ALLOCSET_DEFAULT_SIZES);
	return memo;
}

void
l4_linememo_clear(L4LineMemo *memo)
{
	MemoryContextReset(memo->cxt);
	memset(memo->notes, 0, sizeof(memo->notes));
}

bool
l4_linememo_is_worth(L4LineMemo *memo, int len)
{
	if (len > L4_MEMO_LINE_MAX || len == 0)
		return false;
	if (memo->pause > 0)
	{
		memo->pause--;
		return false;
	}
	if (memo->tried == TRIAL)
	{
		memo->pause = memo->known < TRIAL / 2 ? PAUSE : 0;
		memo->tried = memo->known = 0;
	}
	memo->tried++;
	return true;
}

/* ---- folding ---- */

/* Each digit of eight bytes becomes '0'. */
static inline uint64
fold_eight(uint64 bytes)
{
	uint64		low = bytes & EIGHT(0x7F);
	uint64		from_0 = low + EIGHT(0x80 - '0');	/* 0x80 in a byte: it is '0' or more */
	uint64		above_9 = low + EIGHT(0x7F - '9');
	uint64		digits = from_0 & ~above_9 & ~bytes & EIGHT(0x80);

	return bytes & ~((digits >> 7) * 0x0F);
}

/* Fold the eight bytes at this place of the line and add them to the hash. */
static inline uint64
fold_word(L4LineMemo *memo, int at, uint64 bytes, uint64 hash)
{
	bytes = fold_eight(bytes);
	memcpy(memo->folded + at, &bytes, sizeof(uint64));
	hash = (hash ^ bytes) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

/* Fold the line and hash what comes of it; the hash may be weak, since folded lines are compared. */
static void
fold_line(L4LineMemo *memo, const char *line, int len)
{
	uint64		hash = len;
	uint64		bytes;
	int			at;

	for (at = 0; at + (int) sizeof(uint64) <= len; at += sizeof(uint64))
	{
		memcpy(&bytes, line + at, sizeof(uint64));
		hash = fold_word(memo, at, bytes, hash);
	}
	bytes = 0;
	memcpy(&bytes, line + at, len - at);
	memo->hash = fold_word(memo, at, bytes, hash);
	memo->len = len;
}

/* ---- notes ---- */

static inline L4LineNote *
place(L4LineMemo *memo)
{
	return memo->notes[memo->hash >> 32 & (PLACES - 1)];
}

const L4LineNote *
l4_linememo_find(L4LineMemo *memo, const char *line, int len)
{
	L4LineNote *notes;

	fold_line(memo, line, len);
	notes = place(memo);
	for (int k = 0; k < 2; k++)
		if (notes[k].hash == memo->hash && notes[k].len == len &&
			memcmp(notes[k].numbers + Max(notes[k].n, 0), memo->folded, len) == 0)
		{
			memo->known++;
			if (k > 0)
			{
				L4LineNote	note = notes[k];

				notes[k] = notes[0];
				notes[0] = note;
			}
			return &notes[0];
		}
	return NULL;
}

void
l4_linememo_tell(L4LineMemo *memo, const int32 *numbers, int n)
{
	L4LineNote *note = &place(memo)[1];
	int			size = sizeof(int32) * Max(n, 0) + memo->len;

	if (note->room < size)
	{
		if (note->numbers != NULL)
			pfree(note->numbers);
		memset(note, 0, sizeof(L4LineNote));
		note->numbers = MemoryContextAlloc(memo->cxt, size);
		note->room = size;
	}
	note->hash = memo->hash;
	note->len = memo->len;
	note->n = n;
	if (n > 0)
		memcpy(note->numbers, numbers, sizeof(int32) * n);
	memcpy(note->numbers + Max(n, 0), memo->folded, memo->len);
}
