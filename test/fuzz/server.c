/*
 * server.c
 *		What the code under test calls of the server, made of malloc: each
 *		chunk is one that the address sanitizer watches.
 *
 * What is not here is not called: the program is linked with symbols missing.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "fuzz.h"

/* The chunks of a context are in a ring; the context's own entry begins it. */
typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *prev;
	struct Context *context;
	Size		size;
} Chunk;

typedef struct Context
{
	struct Context *parent;
	struct Context *child;
	struct Context *sibling;
	Chunk		chunks;
	MemoryContextCallback *callbacks;
} Context;

static Context top = {.chunks = {&top.chunks, &top.chunks}};

MemoryContext CurrentMemoryContext = (MemoryContext) &top;
MemoryContext TopMemoryContext = (MemoryContext) &top;
MemoryContext CacheMemoryContext = (MemoryContext) &top;
sigjmp_buf *PG_exception_stack = NULL;
ErrorContextCallback *error_context_stack = NULL;
volatile sig_atomic_t InterruptPending = false;

int			fuzz_sqlstate;

static void *
allocate(Context *context, Size size, int flags)
{
	Chunk	   *chunk;

	if (size > ((flags & MCXT_ALLOC_HUGE) ? MaxAllocHugeSize : MaxAllocSize))
		fuzz_wrong("asked for %zu bytes of memory", size);
	chunk = malloc(sizeof(Chunk) + size);
	if (chunk == NULL)
		fuzz_wrong("no memory for %zu bytes", size);
	memset(chunk + 1, (flags & MCXT_ALLOC_ZERO) ? 0 : 0x7F, size);
	chunk->context = context;
	chunk->size = size;
	chunk->next = context->chunks.next;
	chunk->prev = &context->chunks;
	chunk->next->prev = chunk;
	chunk->prev->next = chunk;
	return chunk + 1;
}

static void *
reallocate(void *pointer, Size size, int flags)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;
	void	   *copy = allocate(chunk->context, size, flags);

	memcpy(copy, pointer, Min(size, chunk->size));
	pfree(pointer);
	return copy;
}

void *
palloc(Size size)
{
	return allocate((Context *) CurrentMemoryContext, size, 0);
}

void *
palloc0(Size size)
{
	return allocate((Context *) CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
}

void *
palloc_extended(Size size, int flags)
{
	return allocate((Context *) CurrentMemoryContext, size, flags);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return allocate((Context *) context, size, 0);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return allocate((Context *) context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocZeroAligned(MemoryContext context, Size size)
{
	return allocate((Context *) context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return allocate((Context *) context, size, flags);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return allocate((Context *) context, size, MCXT_ALLOC_HUGE);
}

void *
repalloc(void *pointer, Size size)
{
	return reallocate(pointer, size, 0);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return reallocate(pointer, size, MCXT_ALLOC_HUGE);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	chunk->prev->next = chunk->next;
	chunk->next->prev = chunk->prev;
	free(chunk);
}

char *
pnstrdup(const char *text, Size len)
{
	Size		n = strnlen(text, len);
	char	   *copy = palloc(n + 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

char *
pstrdup(const char *text)
{
	return pnstrdup(text, strlen(text));
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min_size, Size init_size, Size max_size)
{
	Context    *context = calloc(1, sizeof(Context));

	context->chunks.next = context->chunks.prev = &context->chunks;
	context->parent = (Context *) parent;
	context->sibling = context->parent->child;
	context->parent->child = context;
	return (MemoryContext) context;
}

void
MemoryContextReset(MemoryContext memory)
{
	Context    *context = (Context *) memory;

	while (context->child != NULL)
		MemoryContextDelete((MemoryContext) context->child);
	while (context->callbacks != NULL)
	{
		MemoryContextCallback *callback = context->callbacks;

		context->callbacks = callback->next;
		callback->func(callback->arg);
	}
	while (context->chunks.next != &context->chunks)
		pfree(context->chunks.next + 1);
}

static Context **
link_of(Context *context)
{
	Context   **link = &context->parent->child;

	while (*link != context)
		link = &(*link)->sibling;
	return link;
}

void
MemoryContextDelete(MemoryContext memory)
{
	Context    *context = (Context *) memory;

	MemoryContextReset(memory);
	*link_of(context) = context->sibling;
	free(context);
}

void
MemoryContextSetParent(MemoryContext memory, MemoryContext parent)
{
	Context    *context = (Context *) memory;

	*link_of(context) = context->sibling;
	context->parent = (Context *) parent;
	context->sibling = context->parent->child;
	context->parent->child = context;
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *callback)
{
	callback->next = ((Context *) context)->callbacks;
	((Context *) context)->callbacks = callback;
}

Size
MemoryContextMemAllocated(MemoryContext context, bool recurse)
{
	return 0;
}

/* An error that names no SQLSTATE, or one of the server's own, is a bug. */
bool
errstart(int elevel, const char *domain)
{
	if (elevel < ERROR)
		return false;
	fuzz_sqlstate = ERRCODE_INTERNAL_ERROR;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
errfinish(const char *file, int line, const char *function)
{
	if (fuzz_sqlstate == ERRCODE_INTERNAL_ERROR || PG_exception_stack == NULL)
		fuzz_wrong("error %d at %s:%d (%s)", fuzz_sqlstate, file, line, function);
	siglongjmp(*PG_exception_stack, 1);
}

int
errcode(int sqlstate)
{
	fuzz_sqlstate = sqlstate;
	return 0;
}

/* Messages are not formatted. */
#define MESSAGE(name) \
int \
name(const char *format, ...) \
{ \
	return 0; \
}

MESSAGE(errmsg)
MESSAGE(errmsg_internal)
MESSAGE(errdetail)
MESSAGE(errdetail_internal)
MESSAGE(errhint)

/* There is no jsonb here: the options of a parser are always damaged. */
Datum
DirectFunctionCall1Coll(PGFunction function, Oid collation, Datum argument)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED)));
	return (Datum) 0;
}

/* As in the server: numbers of a message, highest byte first. */
static uint64
get_message_number(StringInfo message, int bytes)
{
	uint64		number = 0;

	if (bytes > message->len - message->cursor)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION)));
	for (int i = 0; i < bytes; i++)
		number = number << 8 | (uint8) message->data[message->cursor++];
	return number;
}

unsigned int
pq_getmsgint(StringInfo message, int bytes)
{
	return (unsigned int) get_message_number(message, bytes);
}

int64
pq_getmsgint64(StringInfo message)
{
	return (int64) get_message_number(message, 8);
}

void
ProcessInterrupts(void)
{
}

void
check_stack_depth(void)
{
}

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

int
pg_database_encoding_max_length(void)
{
	return 4;
}

int
pg_mblen(const char *text)
{
	return pg_utf_mblen((const unsigned char *) text);
}

int
pg_mbstrlen_with_len(const char *text, int len)
{
	int			n = 0;

	for (int i = 0; i < len; i += pg_mblen(text + i))
		n++;
	return n;
}

int
pg_mbcliplen(const char *text, int len, int limit)
{
	int			clipped = 0;

	while (clipped < len && clipped + pg_mblen(text + clipped) <= Min(len, limit))
		clipped += pg_mblen(text + clipped);
	return clipped;
}

bool
pg_verifymbstr(const char *text, int len, bool no_error)
{
	return pg_encoding_verifymbstr(PG_UTF8, text, len) == len && memchr(text, '\0', len) == NULL;
}

bool
pg_verify_mbstr(int encoding, const char *text, int len, bool no_error)
{
	return pg_verifymbstr(text, len, no_error);
}

struct varlena *
pg_detoast_datum(struct varlena *value)
{
	return value;
}
