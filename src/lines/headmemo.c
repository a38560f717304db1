/*
 * headmemo.c
 *		Remembers which format the start of a line has.
 *
 * Headers repeat but for their digits. So the first bytes of a line, digits
 * made equal, are looked up in a table; a hit gives the format and where its
 * fields are, and no regular expression runs. This is a memo, not a guess: an
 * entry is made only when it is certain that every line that starts so gets
 * the same answer. That is what partial matching tells: a format that fails
 * (or a header that ends) without looking at the end of the given bytes does
 * so whatever follows. And the formats must not tell digits apart, which is
 * read off their text.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"

#include "lines/headmemo.h"
#include "lines/lineformat.h"

/* Bytes of a line that a key may have, in blocks of eight. */
#define L4_MEMO_BLOCKS 16
#define L4_MEMO_KEY (8 * L4_MEMO_BLOCKS)

/* Entries: a power of two, two to a bucket. */
#define L4_MEMO_ENTRIES 2048

/*
 * To make an entry costs as much as dozens of look-ups. Lines whose starts
 * never repeat must not pay for it again and again: the budget shrinks with
 * each attempt, and grows with hits and, slowly, with misses.
 */
#define L4_MEMO_BUDGET 1024
#define L4_MEMO_HITS_PER_ATTEMPT 16
#define L4_MEMO_MISSES_PER_ATTEMPT 32

typedef struct MemoEntry
{
	uint64		hash;			/* 0: empty */
	uint8		len;			/* of the key */
	bool		whole;			/* the key is a whole line */
	int16		format;
	L4Fields	fields;
	char		key[L4_MEMO_KEY];
} MemoEntry;

struct L4HeaderMemo
{
	uint32		lengths;		/* bit i: keys of i blocks exist */
	int			budget;
	int			hits;
	int			misses;
	MemoEntry	entries[L4_MEMO_ENTRIES];
};

L4HeaderMemo *
l4_memo_create(MemoryContext cxt)
{
	L4HeaderMemo *memo = MemoryContextAllocZero(cxt, sizeof(L4HeaderMemo));

	memo->budget = L4_MEMO_BUDGET;
	return memo;
}

/* Eight bytes with every digit made '0'. */
static inline uint64
equal_digits(uint64 x)
{
	uint64		t = x ^ UINT64CONST(0x3030303030303030);
	uint64		m = (t | ((t & UINT64CONST(0x7F7F7F7F7F7F7F7F)) + UINT64CONST(0x0606060606060606))) &
		UINT64CONST(0xF0F0F0F0F0F0F0F0);
	uint64		digits;

	/* a byte of m is zero exactly where x has a digit */
	m = ((m >> 4) | (m >> 5) | (m >> 6) | (m >> 7)) & UINT64CONST(0x0101010101010101);
	digits = (m ^ UINT64CONST(0x0101010101010101)) * 0xFF;
	return (x & ~digits) | (UINT64CONST(0x3030303030303030) & digits);
}

static inline uint64
mix(uint64 hash, uint64 block)
{
	hash = (hash ^ block) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ (hash >> 29);
}

/* The last, shorter block of a line. */
static inline uint64
last_block(const char *p, int len)
{
	uint64		x = 0;

	memcpy(&x, p, len);
	return equal_digits(x);
}

static inline MemoEntry *
probe(L4HeaderMemo *memo, uint64 hash, const char *key, int len, bool whole)
{
	MemoEntry  *e = &memo->entries[(hash >> 20) & (L4_MEMO_ENTRIES - 2)];

	for (int i = 0; i < 2; i++, e++)
		if (e->hash == hash && e->len == len && e->whole == whole && memcmp(e->key, key, len) == 0)
			return e;
	return NULL;
}

/* Keys of whole lines and of starts of lines never meet. */
static inline uint64
final_hash(uint64 hash, int len, bool whole)
{
	hash = mix(hash, len * 2 + (whole ? 1 : 0));
	return hash == 0 ? 1 : hash;
}

int
l4_memo_find(L4HeaderMemo *memo, const char *p, int len, const L4Fields **fields)
{
	uint64		key[L4_MEMO_BLOCKS];
	uint64		hash = 0;
	int			blocks = Min(len / 8, L4_MEMO_BLOCKS);
	MemoEntry  *e = NULL;

	for (int i = 0; i < blocks && e == NULL; i++)
	{
		uint64		x;

		memcpy(&x, p + 8 * i, 8);
		key[i] = equal_digits(x);
		hash = mix(hash, key[i]);
		if (memo->lengths & (1 << (i + 1)))
			e = probe(memo, final_hash(hash, 8 * (i + 1), false), (const char *) key, 8 * (i + 1), false);
	}
	if (e == NULL && len < L4_MEMO_KEY)
	{
		if (len > 8 * blocks)
		{
			key[blocks] = last_block(p + 8 * blocks, len - 8 * blocks);
			hash = mix(hash, key[blocks]);
		}
		e = probe(memo, final_hash(hash, len, true), (const char *) key, len, true);
	}
	if (e == NULL)
		return L4_MEMO_MISS;
	if (++memo->hits >= L4_MEMO_HITS_PER_ATTEMPT)
	{
		memo->hits = 0;
		memo->budget = Min(memo->budget + 1, L4_MEMO_BUDGET);
	}
	*fields = &e->fields;
	return e->format;
}

/* Whole characters of the first n bytes. */
static inline int
whole_characters(const char *p, int n)
{
	return GetDatabaseEncoding() == PG_UTF8 ? pg_mbcliplen(p, n, n) : n;
}

/*
 * From how many bytes on is it certain what all formats make of a line that
 * starts with them? 0 when L4_MEMO_KEY bytes are not enough. What is certain
 * of some bytes is certain of more, so each format goes on where the one
 * before it came to.
 */
static int
certain_length(L4Rules *rules, const char *p, int len, int format)
{
	int			n = 8;

	for (const int *list = rules->by_byte[(unsigned char) *p]; *list >= 0; list++)
	{
		const L4Format *f = &rules->formats[*list];
		bool		found = *list == format;

		if (!f->digits_alike || (found && f->header == NULL))
			return 0;
		for (;; n += 8)
		{
			if (n > Min(len, L4_MEMO_KEY))
				return 0;
			if (found ? l4_regex_exec_prefix(f->header, p, whole_characters(p, n)) > 0 :
				l4_regex_exec_prefix(f->re, p, whole_characters(p, n)) == 0)
				break;
		}
		if (found)
			break;
	}
	return n <= len ? n : 0;
}

/* A whole line is known to its end; only digits could tell lines of one key apart. */
static bool
digits_do_not_matter(L4Rules *rules, const char *p, int len, int format)
{
	const int  *list = len > 0 ? rules->by_byte[(unsigned char) *p] : rules->by_byte[0];

	for (; *list >= 0; list++)
	{
		if (!rules->formats[*list].digits_alike)
			return false;
		if (*list == format)
			break;
	}
	return true;
}

void
l4_memo_fields(const L4Format *format, L4Regex *re, const char *p, L4Fields *fields)
{
	const size_t *ov = l4_regex_ovector(re);

	memset(fields, 0, sizeof(*fields));
	for (int i = 0; i < L4_NFIELDS; i++)
	{
		int			g = format->group[i];

		if (g > 0 && ov[2 * g] != L4_REGEX_UNSET)
		{
			fields->start[i] = ov[2 * g];
			fields->end[i] = ov[2 * g + 1];
		}
	}
	if (fields->end[L4_FIELD_LEVEL] > 0)
		fields->level = l4_level_of(p + fields->start[L4_FIELD_LEVEL],
									fields->end[L4_FIELD_LEVEL] - fields->start[L4_FIELD_LEVEL]);
}

static void
add_entry(L4HeaderMemo *memo, const char *p, int len, bool whole, int format, const L4Format *f, L4Regex *matched)
{
	uint64		key[L4_MEMO_BLOCKS];
	uint64		hash = 0;
	int			blocks = len / 8;
	MemoEntry  *e;

	for (int i = 0; i < blocks; i++)
	{
		memcpy(&key[i], p + 8 * i, 8);
		key[i] = equal_digits(key[i]);
		hash = mix(hash, key[i]);
	}
	if (len > 8 * blocks)
	{
		key[blocks] = last_block(p + 8 * blocks, len - 8 * blocks);
		hash = mix(hash, key[blocks]);
	}
	hash = final_hash(hash, len, whole);
	e = &memo->entries[(hash >> 20) & (L4_MEMO_ENTRIES - 2)];
	if (e->hash != 0)
	{
		/* the newer one goes first */
		e[1] = e[0];
	}
	e->hash = hash;
	e->len = len;
	e->whole = whole;
	e->format = format;
	memcpy(e->key, key, len);
	if (matched != NULL)
		l4_memo_fields(f, matched, p, &e->fields);
	if (!whole)
		memo->lengths |= 1 << (len / 8);
}

void
l4_memo_learn(L4HeaderMemo *memo, L4Rules *rules, const char *p, int len, int format)
{
	const L4Format *f = format >= 0 ? &rules->formats[format] : NULL;
	int			n;

	if (++memo->misses >= L4_MEMO_MISSES_PER_ATTEMPT)
	{
		memo->misses = 0;
		memo->budget = Min(memo->budget + 1, L4_MEMO_BUDGET);
	}
	if (memo->budget <= 0 || len == 0)
		return;
	memo->budget--;
	n = certain_length(rules, p, len, format);
	if (n > 0)
	{
		add_entry(memo, p, n, false, format, f, f != NULL ? f->header : NULL);
		return;
	}

	/* the fields of a whole line are those of the match that the caller has just made */
	if (len < L4_MEMO_KEY && digits_do_not_matter(rules, p, len, format))
		add_entry(memo, p, len, true, format, f, f != NULL ? f->re : NULL);
}
