/*
 * group.c
 *		Packed values of several streams as one.
 *
 * Layout: version; compressed: number of members; for each the number of its
 * pieces + 1 (0: NULL) and their lengths; then the first pieces of all members, the second ones, and so on.
 * The pieces of packed rows are their head and each column.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/compress.h"
#include "l4_compat.h"
#include "packed/group.h"
#include "packed/packed.h"

#define MAX_PIECES	(L4_PACK_MAX_COLS + 1)

typedef struct GroupMember
{
	int			npieces;		/* -1: NULL */
	const char *piece[MAX_PIECES];
	int			len[MAX_PIECES];
} GroupMember;

static void
find_pieces(bytea *value, L4MemberKind kind, GroupMember *member)
{
	member->npieces = -1;
	if (value == NULL)
		return;
	if (kind == L4_MEMBER_PACK)
		member->npieces = l4_pack_pieces(l4_pack_plain(value), member->piece, member->len);
	else
	{
		member->npieces = 1;
		member->piece[0] = VARDATA_ANY(value);
		member->len[0] = VARSIZE_ANY_EXHDR(value);
	}
}

/* NULL when all members are. */
bytea *
l4_group_encode(bytea **values, int n, L4MemberKind kind)
{
	GroupMember	   *members = (GroupMember *) palloc(sizeof(GroupMember) * n);
	StringInfoData plain;
	StringInfoData out;
	bool		any = false;

	Assert(n <= L4_GROUP_MAX);
	initStringInfo(&plain);
	l4_put_uint(&plain, n);
	for (int i = 0; i < n; i++)
	{
		find_pieces(values[i], kind, &members[i]);
		any |= values[i] != NULL;
		l4_put_uint(&plain, members[i].npieces + 1);
		for (int p = 0; p < members[i].npieces; p++)
			l4_put_uint(&plain, members[i].len[p]);
	}
	if (!any)
		return NULL;
	for (int p = 0; p < MAX_PIECES; p++)
		for (int i = 0; i < n; i++)
			if (p < members[i].npieces)
				appendBinaryStringInfo(&plain, members[i].piece[p], members[i].len[p]);
	l4_bytea_begin(&out);
	appendStringInfoChar(&out, L4_GROUP_VERSION);
	if (!l4_compress(&out, plain.data, plain.len))
		elog(ERROR, "%d values of %d bytes cannot be shared", n, plain.len);
	pfree(plain.data);
	pfree(members);
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
	int			npieces[L4_GROUP_MAX];
	int			lengths[L4_GROUP_MAX][MAX_PIECES];
	StringInfoData out;

	if (group->bytes == NULL)
		return NULL;
	reader = read_members(group, &n);
	for (int i = 0; i < n; i++)
	{
		npieces[i] = l4_get_count_or_none(&reader);
		if (npieces[i] > MAX_PIECES)
			l4_bytes_corrupted("pieces");
		for (int p = 0; p < npieces[i]; p++)
			lengths[i][p] = l4_get_count(&reader);
	}
	if (member < 0 || member >= n || npieces[member] < 0)
		return NULL;
	l4_bytea_begin(&out);
	for (int p = 0; p < npieces[member]; p++)
		for (int i = 0; i < n; i++)
		{
			const char *piece;

			if (p >= npieces[i])
				continue;
			piece = l4_get_bytes(&reader, lengths[i][p]);
			if (i == member)
				appendBinaryStringInfo(&out, piece, lengths[i][p]);
		}
	return l4_bytea_end(&out);
}
