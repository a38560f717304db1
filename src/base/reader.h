/*
 * reader.h
 *		Bytes of a value of ours, read within bounds. An error says where they
 *		are wrong, under the SQLSTATE of whoever reads: stored bytes are
 *		corrupted, those that a user typed are invalid.
 */
#ifndef L4_READER_H
#define L4_READER_H

#include "base/bytes.h"

typedef struct L4Reader
{
	const uint8 *start;
	const uint8 *ptr;
	const uint8 *end;
	int			sqlstate;
} L4Reader;

extern L4_NORETURN void l4_read_failed(const L4Reader *reader, const char *what);
extern uint64 l4_read_number(L4Reader *reader, uint64 max, const char *what);
extern int32 l4_read_count(L4Reader *reader, const char *what);
extern uint64 l4_read_fixed64(L4Reader *reader, const char *what);
extern const char *l4_read_bytes(L4Reader *reader, int *len, const char *what);

#endif							/* L4_READER_H */
