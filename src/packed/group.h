/*
 * group.h
 *		Packed values of several streams as one: streams of a small job say
 *		nearly the same, so column by column side by side they take half.
 */
#ifndef L4_GROUP_H
#define L4_GROUP_H

#define L4_GROUP_VERSION	3	/* the first byte; packs have others */
#define L4_GROUP_MAX		64	/* members */

/* What members are: packed rows, laid side by side column by column, or bytes of any kind. */
typedef enum L4MemberKind
{
	L4_MEMBER_PACK,
	L4_MEMBER_BYTES
} L4MemberKind;

extern bytea *l4_group_encode(bytea **members, int n, L4MemberKind kind);
/* What a group holds; all zero: no group. */
typedef struct L4OpenGroup
{
	const char *bytes;
	int			len;
	int			n;				/* members */
} L4OpenGroup;

extern L4OpenGroup l4_group_open(const bytea *group, MemoryContext cxt);
extern bytea *l4_group_member(const L4OpenGroup *group, int member);

#endif							/* L4_GROUP_H */
