/*
 * main.c
 *		inprocess SECONDS SEED [HARNESS]: rounds of each harness in turn, until the time is over. An error
 *		ends the program, which then prints how to repeat that round alone.
 */
#include "fuzz.h"

#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "utils/memutils.h"

#undef fprintf
#undef printf
#undef vfprintf

static const struct
{
	const char *name;
	void		(*round) (void);
}			harnesses[] = {
	{"foldmemo", fuzz_foldmemo},
	{"multimatch", fuzz_multimatch},
	{"chunks", fuzz_chunks},
	{"flow_chunks", fuzz_flow_chunks},
	{"parser", fuzz_parser},
	{"scan_results", fuzz_scan_results},
	{"values", fuzz_values},
};

uint64		fuzz_calls;
uint64		fuzz_refused;

static uint64 state;
static uint64 round_seed;
static const char *round_name;

void
fuzz_seed(uint64 seed)
{
	state = seed * UINT64CONST(0x9E3779B97F4A7C15) + 1;
	for (int i = 0; i < 5; i++)
		fuzz_random(2);
}

uint32
fuzz_random(uint32 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32) ((state >> 11) % below);
}

/* The sanitizers end the program by abort, as we do. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=1";
}

const char *
__ubsan_default_options(void)
{
	return "print_stacktrace=1:abort_on_error=1";
}

static void
say_round(int signal)
{
	fprintf(stderr, "repeat it by: inprocess 0 " UINT64_FORMAT " %s\n", round_seed, round_name);
	_exit(1);
}

void
fuzz_wrong(const char *format, ...)
{
	va_list		args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static int
damage_once(char *bytes, int len)
{
	static const uint8 extremes[] = {0, 1, 0x7f, 0x80, 0xff};
	static const char *const numbers[] = {"\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f",
		"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x80\x80\x10"};
	int			at = fuzz_random(fuzz_random(2) ? len : Min(len, 60));
	int			n = 1 + fuzz_random(Min(len - at, 16));
	const char *number;

	switch (fuzz_random(8))
	{
		case 0:
			bytes[at] ^= 1 << fuzz_random(8);
			break;
		case 1:
			bytes[at] = (char) FUZZ_PICK(extremes);
			break;
		case 2:
			bytes[at] = (char) fuzz_random(256);
			break;
		case 3:
			number = FUZZ_PICK(numbers);
			memcpy(bytes + at, number, Min(len - at, (int) strlen(number)));
			break;
		case 4:
			memmove(bytes + at, bytes + at + n, len - at - n);
			return len - n;
		case 5:
			/* the same again; there is room for it */
			memmove(bytes + at + n, bytes + at, len - at);
			return len + n;
		case 6:
			memmove(bytes + at, bytes + fuzz_random(len - n + 1), n);
			break;
		default:
			return fuzz_random(4) == 0 ? at : len;
	}
	return len;
}

char *
fuzz_damage(const char *bytes, int len, int *damaged_len)
{
	int			edits = 1 + fuzz_random(4);
	char	   *room = palloc(len + 16 * edits);
	char	   *exact;

	memcpy(room, bytes, len);
	while (edits-- > 0 && len > 0)
		len = damage_once(room, len);
	exact = memcpy(palloc(len), room, len);
	pfree(room);
	*damaged_len = len;
	return exact;
}

struct varlena *
fuzz_damage_varlena(const struct varlena *value)
{
	int			len;
	char	   *bytes = fuzz_damage(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), &len);
	struct varlena *damaged = palloc(VARHDRSZ + len);

	SET_VARSIZE(damaged, VARHDRSZ + len);
	memcpy(VARDATA(damaged), bytes, len);
	pfree(bytes);
	return damaged;
}

int
fuzz_line(char *line, int size)
{
	static const char *const words[] = {"ab", "error", "Error", "c", "d", "x", "GPU", "k", "s", "lost", "1", "9", "7",
		"42", ".", " ", " ", "-", ":", "_", "K", "S", "disk", "DISK", "LOST", "\t", "a", "b", "\xc3\xa9", "\xc5\xbf",
		"\xe2\x84\xaa", "di\xc5\xbf\xe2\x84\xaa", "Xid 79", "code 7", "rank=3", "00", "\n", "\r\n", "0x7fa8", "10.1.2.3:80",
	"/var/log/a.txt", "1.5e-3", "12 ms", "[", "]", "=", "\"", "deadbeef-0123", "2026-03-01 10:00:00"};
	int			n = fuzz_random(fuzz_random(100) == 0 ? 300 : 15);
	int			len = 0;

	while (n-- > 0)
	{
		const char *word = FUZZ_PICK(words);
		int			word_len = strlen(word);

		if (len + word_len > size)
			break;
		memcpy(line + len, word, word_len);
		len += word_len;
	}
	return len;
}

int
main(int argc, char **argv)
{
	time_t		end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "round", ALLOCSET_DEFAULT_SIZES);

	signal(SIGABRT, say_round);
	do
	{
		for (int i = 0; i < lengthof(harnesses); i++)
		{
			if (argc > 3 && strcmp(argv[3], harnesses[i].name) != 0)
				continue;
			round_name = harnesses[i].name;
			round_seed = seed;
			fuzz_seed(seed);
			CurrentMemoryContext = cxt;
			harnesses[i].round();
			MemoryContextReset(cxt);
		}
		seed++;
	} while (time(NULL) < end);
	printf("in process: " UINT64_FORMAT " calls, " UINT64_FORMAT " of them refused, 0 errors\n", fuzz_calls, fuzz_refused);
	return 0;
}
