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
#include "pcre/shortscan.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1
#include <immintrin.h>
#endif

#define PLACES 2048				/* a power of two */

/* After so many lines it is looked whether half of them were known; if not, so many are left out. */
#define TRIAL 1024
#define PAUSE (16 * TRIAL)

#define STEP 32					/* bytes folded at once */

struct L4LineMemo
{
	MemoryContext cxt;			/* of numbers and lines */
	L4LineNote	notes[PLACES][2];
	int			tried;			/* lines of this trial */
	int			known;
	int			pause;			/* lines to leave out */
	bool		avx2;			/* this machine has it */

	/* the line at hand */
	uint64		hash;
	int			len;
	char		folded[L4_MEMO_LINE_MAX + STEP];
};

L4LineMemo *
l4_linememo_create(MemoryContext parent)
{
	L4LineMemo *memo = MemoryContextAllocZero(parent, sizeof(L4LineMemo));

	memo->avx2 = l4_short_available();
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

/* A hash that is good enough for a table whose lines are compared. */
static inline uint64
mix(uint64 hash, uint64 bytes)
{
	hash = (hash ^ bytes) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

#ifdef HAVE_AVX2

/* Fold the line, zeros behind it, and hash it: the halves of eight bytes, told apart by where they stand, multiplied and added up. */
__attribute__((target("avx2")))
static void
fold_avx2(L4LineMemo *memo, const char *line, int len)
{
	const __m256i zero = _mm256_set1_epi8('0');
	const __m256i nine = _mm256_set1_epi8(9);
	const __m256i step = _mm256_set1_epi64x(INT64CONST(0x9E3779B185EBCA87));
	__m256i		key = step;
	__m256i		sum = _mm256_setzero_si256();
	uint64		sums[4];

	for (int i = 0; i < len; i += STEP)
	{
		char		rest[STEP] = {0};
		__m256i		bytes;
		__m256i		from_0;

		if (i + STEP > len)
			memcpy(rest, line + i, len - i);
		bytes = _mm256_loadu_si256((const __m256i *) (i + STEP > len ? rest : line + i));
		from_0 = _mm256_sub_epi8(bytes, zero);
		bytes = _mm256_blendv_epi8(bytes, zero, _mm256_cmpeq_epi8(_mm256_min_epu8(from_0, nine), from_0));
		_mm256_storeu_si256((__m256i *) (memo->folded + i), bytes);
		bytes = _mm256_xor_si256(bytes, key);
		key = _mm256_add_epi64(key, step);
		sum = _mm256_add_epi64(sum, _mm256_mul_epu32(bytes, _mm256_srli_epi64(bytes, 32)));
	}
	_mm256_storeu_si256((__m256i *) sums, sum);
	memo->hash = len;
	for (int k = 0; k < 4; k++)
		memo->hash = mix(memo->hash, sums[k]);
}

#endif

/* The same on any machine. */
static void
fold_plain(L4LineMemo *memo, const char *line, int len)
{
	memo->hash = len;
	memset(memo->folded + len / STEP * STEP, 0, STEP);
	for (int i = 0; i < len; i++)
		memo->folded[i] = l4_fold_digit(line[i]);
	for (int i = 0; i < len; i += 8)
	{
		uint64		bytes;

		memcpy(&bytes, memo->folded + i, 8);
		memo->hash = mix(memo->hash, bytes);
	}
}

static void
fold_line(L4LineMemo *memo, const char *line, int len)
{
	memo->len = len;
#ifdef HAVE_AVX2
	if (memo->avx2)
	{
		fold_avx2(memo, line, len);
		return;
	}
#endif
	fold_plain(memo, line, len);
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

const char *
l4_linememo_folded(const L4LineMemo *memo)
{
	return memo->folded;
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
