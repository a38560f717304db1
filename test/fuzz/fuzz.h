/*
 * fuzz.h
 *		What the harnesses share: random numbers, damaged bytes, caught errors.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "postgres.h"

#include <setjmp.h>

/* Random numbers of the round: each round starts from its own seed. */
extern void fuzz_seed(uint64 seed);
extern uint32 fuzz_random(uint32 below);

#define FUZZ_PICK(array)	((array)[fuzz_random(lengthof(array))])

/* Calls of the code under test, and those of them that raised an error. */
extern uint64 fuzz_calls;
extern uint64 fuzz_refused;

/* Where an error of the code under test continues; its SQLSTATE. */
extern int	fuzz_sqlstate;

#define FUZZ_TRY() \
	do { \
		sigjmp_buf	buf_; \
		PG_exception_stack = &buf_; \
		fuzz_calls++; \
		if (sigsetjmp(buf_, 0) == 0) \
		{

#define FUZZ_END() \
		} \
		else \
			fuzz_refused++; \
		PG_exception_stack = NULL; \
	} while (0)

/* Stop: the code under test gave a wrong answer. */
extern void fuzz_wrong(const char *format, ...) pg_attribute_printf(1, 2) pg_attribute_noreturn();

/* A copy of the bytes with some of them changed, in a chunk of exactly its length. */
extern char *fuzz_damage(const char *bytes, int len, int *damaged_len);
extern struct varlena *fuzz_damage_varlena(const struct varlena *value);

/* A line of a log, or what looks like one. */
extern int	fuzz_line(char *line, int size);

/* The harnesses: one round each. */
extern void fuzz_foldmemo(void);
extern void fuzz_multimatch(void);
extern void fuzz_chunks(void);
extern void fuzz_flow_chunks(void);
extern void fuzz_parser(void);
extern void fuzz_scan_results(void);
extern void fuzz_values(void);

#endif							/* FUZZ_H */
