/*
 * components.c
 *		Aggregate component_agg: connected components of a graph given by its
 *		edges, by union-find. Names are compared by bytes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "base/args.h"
#include "base/bytes.h"
#include "base/grow.h"
#include "base/names.h"
#include "flow/analysis.h"
#include "l4_compat.h"

typedef struct Components
{
	MemoryContext cxt;
	L4Names		names;
	int			n;
	int			parent_size;
	int		   *parent;
} Components;

static Components *
create_components(MemoryContext cxt)
{
	Components *c = MemoryContextAllocZero(cxt, sizeof(Components));

	c->cxt = cxt;
	l4_names_init(&c->names, cxt);
	return c;
}

/* Number of a member; a new one is a component of its own. */
static int
member_number(Components *c, const char *name, int len)
{
	int			number = l4_names_number(&c->names, name, len);

	if (number == c->n)
	{
		L4_GROW(c->parent, c->n, c->parent_size, c->cxt);
		c->parent[c->n++] = number;
	}
	return number;
}

/* (state, a, b) -> state; an edge with a NULL end is left out */
L4_FUNCTION(l4_component_add)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	Components *c = PG_ARGISNULL(0) ? create_components(cxt) : (Components *) PG_GETARG_POINTER(0);

	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
	{
		text	   *a = PG_GETARG_TEXT_PP(1);
		text	   *b = PG_GETARG_TEXT_PP(2);
		int			x = member_number(c, VARDATA_ANY(a), VARSIZE_ANY_EXHDR(a));
		int			y = member_number(c, VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b));

		l4_sets_join(c->parent, x, y);
	}
	PG_RETURN_POINTER(c);
}

L4_FUNCTION(l4_component_combine)
{
	MemoryContext cxt = l4_aggregate_context(fcinfo);
	Components *c = PG_ARGISNULL(0) ? create_components(cxt) : (Components *) PG_GETARG_POINTER(0);
	Components *other = PG_ARGISNULL(1) ? NULL : (Components *) PG_GETARG_POINTER(1);

	for (int i = 0; other != NULL && i < other->n; i++)
	{
		const char *root = other->names.names[l4_sets_find(other->parent, i)];
		int			x = member_number(c, other->names.names[i], strlen(other->names.names[i]));

		l4_sets_join(c->parent, x, member_number(c, root, strlen(root)));
	}
	PG_RETURN_POINTER(c);
}

/* state -> bytea: number of members, then of each its name and its root's number */
L4_FUNCTION(l4_component_serialize)
{
	Components *c = (Components *) PG_GETARG_POINTER(0);
	StringInfoData buf;

	l4_bytea_begin(&buf);
	l4_put_uint(&buf, c->n);
	for (int i = 0; i < c->n; i++)
	{
		l4_put_bytes(&buf, c->names.names[i], strlen(c->names.names[i]));
		l4_put_uint(&buf, l4_sets_find(c->parent, i));
	}
	PG_RETURN_BYTEA_P(l4_bytea_end(&buf));
}

L4_FUNCTION(l4_component_deserialize)
{
	L4ByteReader reader = l4_bytea_reader(PG_GETARG_BYTEA_PP(0));
	Components *c = create_components(CurrentMemoryContext);
	int			n = l4_get_count(&reader);

	for (int i = 0; i < n; i++)
	{
		int			len = l4_get_count(&reader);
		int			number = member_number(c, l4_get_bytes(&reader, len), len);
		uint64		root = l4_get_uint(&reader);

		if (number != i || root > i)
			l4_bytes_corrupted("component");
		c->parent[i] = (int) root;
	}
	PG_RETURN_POINTER(c);
}

/* state -> jsonb: each member with the least member of its component; {} without edges */
L4_FUNCTION(l4_component_final)
{
	Components *c = PG_ARGISNULL(0) ? NULL : (Components *) PG_GETARG_POINTER(0);
	int			n = c == NULL ? 0 : c->n;
	int		   *least = palloc(sizeof(int) * Max(n, 1));
	JsonbParseState *state = NULL;

	for (int i = 0; i < n; i++)
		least[i] = i;
	for (int i = 0; i < n; i++)
	{
		int			root = l4_sets_find(c->parent, i);

		if (strcmp(c->names.names[i], c->names.names[least[root]]) < 0)
			least[root] = i;
	}
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < n; i++)
	{
		const char *name = c->names.names[least[l4_sets_find(c->parent, i)]];
		JsonbValue	key = {.type = jbvString, .val.string = {.len = strlen(c->names.names[i]), .val = c->names.names[i]}};
		JsonbValue	value = {.type = jbvString, .val.string = {.len = strlen(name), .val = unconstify(char *, name)}};

		CHECK_FOR_INTERRUPTS();
		pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}
