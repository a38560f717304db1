/*
 * foldmemo.c
 *		The memo of texts alike but for their digits against a plain comparison: what it finds must be
 *		the value of a key that the text fits, byte by byte.
 */
#include "fuzz.h"

#include "base/foldmemo.h"

#define TEXT_SIZE	(L4_FOLD_MAX + 20)
#define ENTRIES		200

/* What each value says of its entry. */
typedef struct Value
{
	int			len;
	bool		start;			/* of all texts that start so */
	char		key[TEXT_SIZE];
} Value;

static bool
fits_plainly(const Value *value, const char *text, int len)
{
	if (value->start ? value->len > len : value->len != len)
		return false;
	for (int i = 0; i < value->len; i++)
	{
		bool		digit = text[i] >= '0' && text[i] <= '9';

		if (value->key[i] == L4_FOLD_DIGIT ? !digit
			: value->key[i] == L4_FOLD_HEX ? !digit && !(text[i] >= 'a' && text[i] <= 'f')
			: value->key[i] != text[i])
			return false;
	}
	return true;
}

/* Letters that a key may let vary: those in runs of twelve hexadecimal digits. */
static void
fold_hex(char *key, int len)
{
	for (int i = 0; i < len; i++)
	{
		int			run = 0;

		while (i + run < len && strchr("0123456789abcdef", key[i + run]) != NULL && key[i + run] != '\0')
			run++;
		if (run >= L4_FOLD_HEX_RUN)
			memset(key + i, L4_FOLD_HEX, run);
		i += run;
	}
}

static int
make_text(char *text)
{
	int			len = fuzz_line(text, TEXT_SIZE);

	while (fuzz_random(3) == 0 && len < TEXT_SIZE - 40)
		for (int n = 8 + fuzz_random(30); n > 0; n--)
			text[len++] = "0123456789abcdef-"[fuzz_random(fuzz_random(8) == 0 ? 17 : 16)];
	if (fuzz_random(20) == 0 && len > 0)
		text[fuzz_random(len)] = (char) fuzz_random(256);
	return len;
}

void
fuzz_foldmemo(void)
{
	bool		hex = fuzz_random(2);
	L4FoldMemo *memo = l4_foldmemo_create(8 << fuzz_random(7), 1 + fuzz_random(4), hex, CurrentMemoryContext);
	char		texts[ENTRIES][TEXT_SIZE];
	int			lens[ENTRIES];

	for (int i = 0; i < ENTRIES; i++)
		lens[i] = make_text(texts[i]);
	for (int i = 0; i < 4000; i++)
	{
		int			which = fuzz_random(ENTRIES);
		int			len = lens[which];
		bool		start = fuzz_random(3) == 0;
		char	   *text = memcpy(palloc(len), texts[which], len);
		Value	   *value;
		char	   *key;

		for (int k = 0; k < len; k++)
			if (text[k] >= '0' && text[k] <= '9')
				text[k] = '0' + fuzz_random(10);
		fuzz_calls++;
		value = l4_foldmemo_find(memo, text, len);
		if (value != NULL && !fits_plainly(value, text, len))
			fuzz_wrong("a text found the value of a key that it does not fit: %.*s", len, text);
		if (start)
			len = Min(len, L4_FOLD_START_MAX) / L4_FOLD_START * L4_FOLD_START;
		if (value == NULL && l4_foldmemo_wants(memo) &&
			(value = l4_foldmemo_add(memo, text, len, start, sizeof(Value), &key)) != NULL)
		{
			if (fuzz_random(4) != 0)
				l4_fold_digits(key, len);
			else if (hex)
				fold_hex(key, len);
			value->len = len;
			value->start = start;
			memcpy(value->key, key, len);
		}
		pfree(text);
		if (fuzz_random(2000) == 0)
			l4_foldmemo_clear(memo);
	}
}
