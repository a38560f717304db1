/*
 * linebuf.c
 *		Bytes that grow: what is left of a line once it is unescaped.
 */
#include "postgres.h"

#include "base/linebuf.h"

void
l4_buf_init(L4Buf *buf, MemoryContext cxt)
{
	buf->data = NULL;
	buf->len = 0;
	buf->size = 0;
	buf->cxt = cxt;
}

void
l4_buf_reserve(L4Buf *buf, int size)
{
	if (buf->data == NULL)
	{
		buf->size = Max(size, 1024);
		buf->data = MemoryContextAllocHuge(buf->cxt, buf->size);
	}
	else if (size > buf->size)
	{
		buf->size = size + size / 2;
		buf->data = repalloc_huge(buf->data, buf->size);
	}
}

void
l4_buf_add(L4Buf *buf, const char *data, int len)
{
	l4_buf_reserve(buf, buf->len + len + 1);
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}
