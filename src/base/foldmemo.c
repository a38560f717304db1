/*
 * foldmemo.c
 *		Remembers values by texts that are alike but for their digits.
 *
 * A text is hashed without its digits, and without the letters a to f of long
 * hexadecimal numbers, so that texts that fit one key mostly have one hash. It
 * need not be so: then the text has an entry of its own.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "base/foldkernel.h"

#define WAYS			8		/* entries of one hash */

/* After so many look-ups with few hits, for what a hit spares, the memo is left alone for a while. */
#define TRIAL			1024
#define FEW(memo)		(TRIAL / 4 / (memo)->cost)
#define PAUSE			(15 * TRIAL)

/* Hits that may be ahead of entries, in entries; and so many misses count as one hit. */
#define BUDGET			4096
#define MISSES_PER_HIT	4

typedef struct FoldPlace
{
	uint32		hash;
	uint16		len;			/* of the key; 0: empty */
	bool		start;			/* it is the start of texts */
	struct FoldEntry *entry;
} FoldPlace;

/* A key, and aligned behind it the value: what a look-up reads is in one place. */
typedef struct FoldEntry
{
	int32		room;			/* for both */
	char		key[FLEXIBLE_ARRAY_MEMBER];
} FoldEntry;

struct L4FoldMemo
{
	MemoryContext cxt;
	uint32		mask;			/* sets - 1 */
	bool		hex;			/* hexadecimal letters may vary in keys */
	uint32		starts;			/* bit i: keys that are starts of i * L4_FOLD_START bytes exist */
	int			longest;		/* of the keys that are whole texts */
	int			cost;
	int			budget;
	int			tried;			/* look-ups of this trial */
	int			found;
	int			pause;			/* look-ups to leave out */
	FoldPlace	places[FLEXIBLE_ARRAY_MEMBER][WAYS];
};

/* Keys shorter than a step have blanks behind them. */
#define KEY_LEN(len)		Max(len, STEP)
#define VALUE_AT(len)		MAXALIGN(offsetof(FoldEntry, key) + KEY_LEN(len))

L4FoldMemo *
l4_foldmemo_create(int places, int cost, bool hex, MemoryContext cxt)
{
	L4FoldMemo *memo = MemoryContextAllocZero(cxt, offsetof(L4FoldMemo, places) + places * sizeof(FoldPlace));

	Assert(places >= WAYS);
	memo->cxt = cxt;
	memo->mask = places / WAYS - 1;
	memo->hex = hex;
	memo->cost = cost;
	memo->budget = BUDGET * cost;
	return memo;
}

void
l4_foldmemo_clear(L4FoldMemo *memo)
{
	for (uint32 i = 0; i <= memo->mask; i++)
		for (int k = 0; k < WAYS; k++)
			memo->places[i][k].len = 0;
	memo->starts = 0;
	memo->longest = 0;
}

#define BLOCK			64		/* bytes hashed at once */

/* The bits of a block that are in runs of L4_FOLD_HEX_RUN, or at its ends in runs of six: those may go on in another. */
static inline uint64
long_runs(uint64 x)
{
	uint64		two = x & x >> 1;
	uint64		four = two & two >> 2;
	uint64		six = four & two >> 4;
	uint64		run = four & four >> 4 & four >> 8;

	StaticAssertStmt(L4_FOLD_HEX_RUN == 12, "runs of twelve are looked for");
	run |= run << 1;
	run |= run << 2;
	run |= (run | run << 4) << 4;
	return run | (six & 1) * 0x3f | (six >> 58) * (UINT64CONST(0x3f) << 58);
}

/*
 * A digit behind a letter that ends a word is mostly a part of a name (GPU7,
 * eth0) that does not vary: the first one of each block goes into the hash.
 */
static inline uint64
hash_name(uint64 hash, const char *text, uint64 digits, uint64 letters)
{
	uint64		names = digits & letters << 1 & ~((digits | letters) >> 1);
	int			at;

	if (names == 0)
		return hash;
	at = pg_rightmost_one_pos64(names);
	return (hash ^ (text[at] << 8 | at)) * SPREAD;
}

static uint64 hash_hidden(const char *text, int len, uint64 seed);

/* Hash of a text of at least a block without its digits; the last block may overlap the one before. */
static pg_attribute_always_inline uint64
hash_blocks(const char *text, int len, uint64 seed, bool hex, bool hide)
{
	FoldHash	hash;
	uint64		names = len;
	bool		hidden = false;

	hash_start(&hash, seed);
	for (int i = 0; i < len; i += BLOCK)
	{
		FoldBits	bits = {0};
		int			skip = Max(i + BLOCK - len, 0);

		for (int at = 0; at < BLOCK; at += STEP)
			hash_step(&hash, text + i - skip, at, hide, hex ? &bits : NULL);
		if (!hex)
			continue;
		hidden |= (long_runs((bits.digits | bits.hex) >> skip) & bits.hex >> skip) != 0;
		names = hash_name(names, text + i, bits.digits >> skip, bits.letters >> skip);
	}
	if (hidden)
		return hash_hidden(text, len, seed);
	return (hash_end(&hash) ^ names) * UINT64CONST(0xD6E8FEB86659FD93);
}

/* The same without the letters a to f, wherever they are: some are in a long hexadecimal number. */
static pg_noinline uint64
hash_hidden(const char *text, int len, uint64 seed)
{
	return hash_blocks(text, len, seed, false, true);
}

/* Hash of a text: a short one has blanks behind it. */
static uint32
hash_text(const char *text, int len, bool hex)
{
	uint64		seed = SPREAD * (2 * len + 1);
	char		block[BLOCK];

	if (len < BLOCK)
	{
		memset(block, ' ', BLOCK);
		memcpy(block, text, len);
		text = block;
	}
	len = Max(len, BLOCK);
	return hash_blocks(text, len, seed, hex, false) >> 32;
}

/* A text shorter than a step, with blanks behind it. */
static inline const char *
padded(char *buffer, const char *text, int len)
{
	memset(buffer, ' ', STEP);
	memcpy(buffer, text, len);
	return buffer;
}

static inline bool
fits(const char *text, int len, const char *key)
{
	char		buffer[STEP];

	if (len < STEP)
		return fits_step(padded(buffer, text, len), key);
	for (int i = 0; i < len - STEP; i += STEP)
		if (!fits_step(text + i, key + i))
			return false;
	return fits_step(text + len - STEP, key + len - STEP);
}

/* Is this text to be looked up? */
static inline bool
in_turn(L4FoldMemo *memo)
{
	if (memo->pause > 0)
	{
		memo->pause--;
		return false;
	}
	if (memo->tried == TRIAL)
	{
		memo->pause = memo->found < FEW(memo) ? PAUSE : 0;
		memo->tried = memo->found = 0;
	}
	memo->tried++;
	return true;
}

/* The value of the entry with this hash that a text of len bytes fits. */
static inline void *
find_entry(L4FoldMemo *memo, uint32 hash, const char *text, int len, bool start)
{
	FoldPlace  *set = memo->places[hash & memo->mask];

	for (int k = 0; k < WAYS; k++)
	{
		FoldEntry  *entry = set[k].entry;

		if (set[k].hash != hash || set[k].len != len || set[k].start != start || !fits(text, len, entry->key))
			continue;
		memo->found++;
		memo->budget = Min(memo->budget + 1, BUDGET * memo->cost);
		if (k > 0)
		{
			/* what is met again moves away from the end, where entries are dropped */
			FoldPlace	met = set[k];

			set[k] = set[k - 1];
			set[k - 1] = met;
		}
		return (char *) entry + VALUE_AT(len);
	}
	return NULL;
}

/* The value of the shortest key that a text starts with: one pass gives the hashes of all starts. */
static void *
find_start(L4FoldMemo *memo, const char *text, int len)
{
	uint32		starts = memo->starts;
	FoldHash	hash;

	hash_start(&hash, SPREAD);
	for (int i = L4_FOLD_START; i <= len && (starts >>= 1) != 0; i += L4_FOLD_START)
	{
		void	   *value;

		hash_start_bytes(&hash, text + i - L4_FOLD_START);
		if ((starts & 1) && (value = find_entry(memo, hash_end(&hash) >> 32, text, i, true)) != NULL)
			return value;
	}
	return NULL;
}

void *
l4_foldmemo_find(L4FoldMemo *memo, const char *text, int len)
{
	void	   *value = NULL;

	if (len <= 0 || !in_turn(memo))
		return NULL;
	if (memo->starts != 0)
		value = find_start(memo, text, len);
	if (value == NULL && len <= memo->longest)
		value = find_entry(memo, hash_text(text, len, memo->hex), text, len, false);
	return value;
}

bool
l4_foldmemo_wants(L4FoldMemo *memo)
{
	if (memo->pause > 0)
		return false;
	if (memo->budget < memo->cost)
	{
		if (memo->tried % MISSES_PER_HIT == 0)
			memo->budget++;
		return false;
	}
	memo->budget -= memo->cost;
	return true;
}

/* The hash by which find_start finds a start. */
static uint32
hash_of_start(const char *text, int len)
{
	FoldHash	hash;

	hash_start(&hash, SPREAD);
	for (int i = 0; i < len; i += L4_FOLD_START)
		hash_start_bytes(&hash, text + i);
	return hash_end(&hash) >> 32;
}

void *
l4_foldmemo_add(L4FoldMemo *memo, const char *text, int len, bool start, Size size, char **key)
{
	Size		need = VALUE_AT(len) + size;
	FoldPlace  *set;
	FoldPlace	last;
	uint32		hash;

	Assert(!start || (len <= L4_FOLD_START_MAX && len % L4_FOLD_START == 0));
	if (len <= 0 || len > L4_FOLD_MAX)
		return NULL;
	for (int i = 0; i < len; i++)
		if (text[i] == L4_FOLD_DIGIT || text[i] == L4_FOLD_HEX)
			return NULL;
	if (start)
		memo->starts |= 1 << (len / L4_FOLD_START);
	else
		memo->longest = Max(memo->longest, len);
	hash = start ? hash_of_start(text, len) : hash_text(text, len, memo->hex);
	set = memo->places[hash & memo->mask];
	last = set[WAYS - 1];
	/* it takes the memory of the entry that is dropped, and comes before those not met again */
	set[WAYS - 1].len = 0;
	if (last.entry == NULL || last.entry->room < need)
	{
		if (last.entry != NULL)
			pfree(last.entry);
		set[WAYS - 1].entry = NULL;
		last.entry = MemoryContextAlloc(memo->cxt, need);
		last.entry->room = need;
	}
	last.hash = hash;
	last.len = len;
	last.start = start;
	memmove(set + WAYS / 2 + 1, set + WAYS / 2, (WAYS / 2 - 1) * sizeof(FoldPlace));
	set[WAYS / 2] = last;
	*key = last.entry->key;
	if (len < STEP)
		padded(*key, text, len);
	else
		memcpy(*key, text, len);
	return (char *) last.entry + VALUE_AT(len);
}
