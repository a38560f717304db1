/*
 * group.c
 *		Packed values of several streams as one.
 *
 * Layout: version; compressed: number of members; the length of each + 1 (0: NULL); their bytes, one after the other.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/bytes.h"
#include "base/compress.h"
#include "l4_compat.h"
#include "packed/group.h"

/* NULL when all members are. */
bytea *
l4_group_encode(bytea **values, int n)
{
	StringInfoData plain;
	StringInfoData out;
	bool		any = false;

	Assert(n <= L4_GROUP_MAX);
	initStringInfo(&plain);
	l4_put_uint(&plain, n);
	for (int i = 0; i < n; i++)
	{
		any |= values[i] != NULL;
		l4_put_uint(&plain, values[i] == NULL ? 0 : VARSIZE_ANY_EXHDR(values[i]) + 1);
	}
	if (!any)
		return NULL;
	for (int i = 0; i < n; i++)
		if (values[i] != NULL)
			appendBinaryStringInfo(&plain, VARDATA_ANY(values[i]), VARSIZE_ANY_EXHDR(values[i]));
	l4_bytea_begin(&out);
	appendStringInfoChar(&out, L4_GROUP_VERSION);
	if (!l4_compress(&out, plain.data, plain.len, L4_COMPRESS_STORED))
		elog(ERROR, "%d values of %d bytes cannot be shared", n, plain.len);
	pfree(plain.data);
	return l4_bytea_end(&out);
}

static L4ByteReader
read_members(const L4OpenGroup *group, int *n)
{
	L4ByteReader reader = {(const unsigned char *) group->bytes, (const unsigned char *) group->bytes + group->len};

	*n = l4_get_count(&reader);
	if (*n > L4_GROUP_MAX)
		l4_bytes_corrupted("members");
	return reader;
}

/* In memory of the context. */
L4OpenGroup
l4_group_open(const bytea *group, MemoryContext cxt)
{
	L4ByteReader reader = l4_bytea_reader(group);
	L4OpenGroup opened;

	if (*l4_get_bytes(&reader, 1) != L4_GROUP_VERSION)
		l4_bytes_corrupted("version");
	opened.bytes = l4_decompress((const char *) reader.ptr, (int) (reader.end - reader.ptr), &opened.len, cxt);
	read_members(&opened, &opened.n);
	return opened;
}

/* A member, as it was put in; NULL where it was NULL or there is no such one. */
bytea *
l4_group_member(const L4OpenGroup *group, int member)
{
	L4ByteReader reader;
	int			n;
	int			lengths[L4_GROUP_MAX];
	StringInfoData out;

	if (group->bytes == NULL)
		return NULL;
	reader = read_members(group, &n);
	for (int i = 0; i < n; i++)
		lengths[i] = l4_get_count_or_none(&reader);
	if (member < 0 || member >= n || lengths[member] < 0)
		return NULL;
	for (int i = 0; i < member; i++)
		l4_get_bytes(&reader, Max(lengths[i], 0));
	l4_bytea_begin(&out);
	appendBinaryStringInfo(&out, l4_get_bytes(&reader, lengths[member]), lengths[member]);
	return l4_bytea_end(&out);
}
