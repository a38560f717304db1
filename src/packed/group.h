/*
 * group.h
 *		Packed values of several streams as one: streams of a small job say
 *		nearly the same, so compressed together they take half.
 */
#ifndef L4_GROUP_H
#define L4_GROUP_H

#define L4_GROUP_VERSION	4	/* the first byte; packs have others */
#define L4_GROUP_MAX		64	/* members */

extern bytea *l4_group_encode(bytea **members, int n);

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
