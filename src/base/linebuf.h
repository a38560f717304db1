/*
 * linebuf.h
 *		Bytes that grow.
 */
#ifndef L4_LINEBUF_H
#define L4_LINEBUF_H

#include "utils/palloc.h"

/* A growing buffer that is used again for each line. */
typedef struct L4Buf
{
	char	   *data;
	int			len;
	int			size;
	MemoryContext cxt;
} L4Buf;

extern void l4_buf_init(L4Buf *buf, MemoryContext cxt);
extern void l4_buf_add(L4Buf *buf, const char *data, int len);
extern void l4_buf_reserve(L4Buf *buf, int size);

#endif							/* L4_LINEBUF_H */
