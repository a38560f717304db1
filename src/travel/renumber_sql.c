/*
 * renumber_sql.c
 *		SQL side of stored values that come from another server: their numbers of
 *		events, and the members of those that streams share.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/args.h"
#include "packed/group.h"
#include "travel/renumber.h"

static L4OpenGroup
open_shared(const bytea *value)
{
	return value == NULL ? (L4OpenGroup) {0} : l4_group_open(value, CurrentMemoryContext);
}

static bytea *
renumber_shared(const L4Renumber *map, L4RenumberKind kind, const bytea *value, const bytea *events)
{
	bytea	   *members[L4_GROUP_MAX];
	L4OpenGroup values = open_shared(value);
	L4OpenGroup counts = open_shared(kind == L4_RENUMBER_SLOTS ? events : NULL);
	int			n = Max(values.n, counts.n);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		members[i] = l4_renumber(map, kind, l4_group_member(&values, i), l4_group_member(&counts, i));
	}
	return n == 0 ? NULL : l4_group_encode(members, n);
}

static void
get_map(FunctionCallInfo fcinfo, L4Renumber *map)
{
	int			n;

	map->ids = l4_get_ids(fcinfo, 4, "ids", &map->n);
	map->to = l4_get_ids(fcinfo, 5, "new_ids", &n);
	l4_check_same_length(map->n, "ids", n, "new_ids");
	l4_get_own_words(fcinfo, 6, &map->words);
}

static L4RenumberKind
get_kind(const text *name)
{
	static const char *const names[] = {"events", "slots", "durations", "sequences", "lines", "pack_state"};
	char	   *wanted = text_to_cstring(name);

	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(names[i], wanted) == 0)
			return (L4RenumberKind) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown kind of stored value \"%s\"", wanted)));
}

/* l4._renumber(kind, value, events, shared, ids, new ids, events, slots and texts of words that change) */
L4_FUNCTION(l4_renumber_sql)
{
	L4RenumberKind kind;
	L4Renumber	map;
	bytea	   *value = PG_ARGISNULL(1) ? NULL : PG_GETARG_BYTEA_PP(1);
	bytea	   *events = PG_ARGISNULL(2) ? NULL : PG_GETARG_BYTEA_PP(2);
	bytea	   *result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || (value == NULL && events == NULL))
		PG_RETURN_NULL();
	kind = get_kind(PG_GETARG_TEXT_PP(0));
	get_map(fcinfo, &map);
	if (PG_GETARG_BOOL(3))
		result = renumber_shared(&map, kind, value, events);
	else
	{
		result = l4_renumber(&map, kind, value, events);
		if (result != NULL && kind != L4_RENUMBER_PACK_STATE)
			result = l4_pack_compress(result);
	}
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(result);
}

/* l4._of_members(value, members): a value that streams share without the others; NULL: all of a value */
L4_FUNCTION(l4_of_members)
{
	bytea	   *members[L4_GROUP_MAX] = {NULL};
	L4OpenGroup opened;
	const int32 *kept;
	int			n;
	bytea	   *result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	opened = l4_group_open(PG_GETARG_BYTEA_PP(0), CurrentMemoryContext);
	kept = l4_check_int4_array(PG_GETARG_ARRAYTYPE_P(1), "members", &n);
	for (int i = 0; i < n; i++)
	{
		if (kept[i] < 0 || kept[i] >= opened.n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the value has no member %d", kept[i])));
		members[kept[i]] = l4_group_member(&opened, kept[i]);
	}
	result = opened.n == 0 ? NULL : l4_group_encode(members, opened.n);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(result);
}
