/*
 * packed_sql.c
 *		SQL side of packed rows: l4._unpack().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/args.h"
#include "base/json.h"
#include "base/order.h"
#include "base/seen.h"
#include "l4_compat.h"
#include "packed/group.h"
#include "packed/packed.h"
#include "packed/packed_rows.h"

/* Metrics are the columns behind epoch, iteration, time and duration. */
#define FIRST_METRIC	4

/* Can a packed column be read as an SQL type? */
static bool
type_fits(char type, Oid sqltype)
{
	switch (type)
	{
		case L4_PACK_INT:
			return sqltype == INT4OID || sqltype == INT8OID || sqltype == TIMESTAMPTZOID || sqltype == BOOLOID;
		case L4_PACK_FLOAT:
			return sqltype == FLOAT8OID;
		case L4_PACK_TEXT:
			return sqltype == TEXTOID;
		case L4_PACK_INTS:
			return sqltype == INT4ARRAYOID;
	}
	return false;
}

static Datum
column_value(L4Pack *pack, int c, int row, Oid sqltype)
{
	L4PackCol  *col = &pack->cols[c];
	int			k;

	switch (sqltype)
	{
		case INT4OID:
			return Int32GetDatum((int32) col->ints[row]);
		case BOOLOID:
			return BoolGetDatum(col->ints[row] != 0);
		case FLOAT8OID:
			return Float8GetDatum(col->floats[row]);
		case TEXTOID:
			k = (int) col->ints[row];
			return PointerGetDatum(cstring_to_text_with_len(col->entry[k], col->entry_len[k]));
		case INT4ARRAYOID:
			k = (int) col->ints[row];
			return l4_int4_array((int32 *) col->entry[k], col->entry_len[k]);
		default:
			return Int64GetDatum(col->ints[row]);
	}
}

/* The numbers from column "first" on as one object: {"name": number, …}; those that are NULL are left away. */
static Datum
rest_as_jsonb(L4Pack *pack, int first, int row, bool *isnull)
{
	JsonbParseState *state = NULL;

	*isnull = true;
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int c = first; c < pack->ncols; c++)
	{
		L4PackCol  *col = &pack->cols[c];

		if (col->type != L4_PACK_FLOAT || l4_pack_is_null(pack, c, row))
			continue;
		*isnull = false;
		l4_json_number(&state, col->name, col->floats[row]);
	}
	return PointerGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

static void
check_columns(L4Pack *pack, TupleDesc desc)
{
	for (int c = 0; c < desc->natts; c++)
	{
		Oid			sqltype = TupleDescAttr(desc, c)->atttypid;

		if (c >= pack->ncols || !type_fits(pack->cols[c].type, sqltype))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("packed rows have no column %d of type %s", c + 1, format_type_be(sqltype)),
					 c < pack->ncols ? errdetail("Column %d has type \"%c\".", c + 1, pack->cols[c].type) : 0));
	}
}

/* Ids in ascending order, as most callers have them already. */
const int32 *
l4_sorted_ids(ArrayType *array, int *n)
{
	const int32 *ids = l4_check_int4_array(array, "ids", n);

	for (int i = 1; i < *n; i++)
		if (ids[i - 1] > ids[i])
		{
			int32	   *copy = (int32 *) palloc(sizeof(int32) * *n);

			memcpy(copy, ids, sizeof(int32) * *n);
			qsort(copy, *n, sizeof(int32), l4_order_int32);
			return copy;
		}
	return ids;
}

/* The integers of a column that rows are chosen by; columns are numbered from 1. */
static const int64 *
key_column(L4Pack *pack, int number)
{
	if (number > pack->ncols || pack->cols[number - 1].type != L4_PACK_INT)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("packed rows have no column %d of type %s", number, "integer")));
	l4_pack_need(pack, number - 1);
	return pack->cols[number - 1].ints;
}

/*
 * A packed value that has the columns of the result, and the numbers of those
 * of its rows that have one of these ids in a column; ids NULL: of all rows.
 */
L4Pack *
l4_open_rows(ReturnSetInfo *rsinfo, bytea *packed, int colno, const int32 *ids, int nids, int **rows, int *nrows)
{
	L4Pack	   *pack = l4_pack_open(packed, CurrentMemoryContext);
	const int64 *id;
	bool		keep = true;

	check_columns(pack, rsinfo->setDesc);
	id = ids != NULL && pack->nrows > 0 ? key_column(pack, colno) : NULL;
	*rows = (int *) palloc(sizeof(int) * Max(pack->nrows, 1));
	*nrows = 0;
	for (int row = 0; row < pack->nrows; row++)
	{
		/* rows of one id mostly follow each other */
		if (id != NULL && (row == 0 || id[row] != id[row - 1]))
		{
			int32		key = (int32) id[row];

			keep = bsearch(&key, ids, nids, sizeof(int32), l4_order_int32) != NULL;
		}
		if (keep)
			(*rows)[(*nrows)++] = row;
	}
	return pack;
}

/* Is a column asked for? A bit each; of many columns all are. */
static bool
is_asked(uint32 asked, int c)
{
	return c >= 32 || (asked >> c & 1) != 0;
}

static void
put_row(ReturnSetInfo *rsinfo, L4Pack *pack, int row, uint32 asked)
{
	TupleDesc	desc = rsinfo->setDesc;
	Datum		values[L4_PACK_MAX_COLS];
	bool		nulls[L4_PACK_MAX_COLS];

	for (int c = 0; c < desc->natts; c++)
	{
		Oid			sqltype = TupleDescAttr(desc, c)->atttypid;

		nulls[c] = !is_asked(asked, c) || l4_pack_is_null(pack, c, row);
		if (!nulls[c])
			values[c] = column_value(pack, c, row, sqltype);
	}
	tuplestore_putvalues(rsinfo->setResult, desc, values, nulls);
}

/* Add rows of a packed value to the result. Columns that nobody asks for are not decoded, and NULL. */
void
l4_put_rows(ReturnSetInfo *rsinfo, L4Pack *pack, const int *rows, int nrows, uint32 asked)
{
	MemoryContext rowcxt = AllocSetContextCreate(CurrentMemoryContext, "l4 unpacked row", ALLOCSET_SMALL_SIZES);
	MemoryContext old;

	for (int c = 0; c < rsinfo->setDesc->natts && nrows > 0; c++)
		if (is_asked(asked, c))
			l4_pack_need(pack, c);
	old = MemoryContextSwitchTo(rowcxt);
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_row(rsinfo, pack, rows[i], asked);
		MemoryContextReset(rowcxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(rowcxt);
}

/*
 * Rows of packed values, as the caller's column definition list names them:
 * the first so many columns. With a third argument, the rows whose first
 * column is one of these ids.
 */
L4_FUNCTION(l4_unpack)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const int32 *ids = NULL;
	int			nids = 0;

	l4_init_materialized_srf(fcinfo);
	if (PG_NARGS() > 2)
	{
		if (PG_ARGISNULL(2))
			return (Datum) 0;
		ids = l4_sorted_ids(PG_GETARG_ARRAYTYPE_P(2), &nids);
	}
	for (int i = 0; i < Min(PG_NARGS(), 2); i++)
		if (!PG_ARGISNULL(i))
		{
			int		   *rows;
			int			nrows;
			L4Pack	   *pack = l4_open_rows(rsinfo, PG_GETARG_BYTEA_PP(i), 1, ids, nids, &rows, &nrows);

			l4_put_rows(rsinfo, pack, rows, nrows, L4_ALL_COLUMNS);
		}
	return (Datum) 0;
}

static void *
make_pack(struct varlena *value, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	L4Pack	   *pack = l4_pack_decode((bytea *) PG_DETOAST_DATUM_COPY(PointerGetDatum(value)), cxt);

	MemoryContextSwitchTo(old);
	return pack;
}

/* l4._iteration_metrics(packed, open, place): metrics of the place-th row, of both values from 1 on; only for rows that are shown */
L4_FUNCTION(l4_iteration_metrics)
{
	int64		row = PG_ARGISNULL(2) || PG_GETARG_INT64(2) < 1 ? -1 : PG_GETARG_INT64(2) - 1;

	for (int i = 0; i < 2 && row >= 0; i++)
	{
		L4Pack	   *pack = PG_ARGISNULL(i) ? NULL : l4_seen_argument(fcinfo, i, false, make_pack);
		bool		isnull;
		Datum		metrics;

		if (pack == NULL)
			continue;
		if (row >= pack->nrows)
		{
			row -= pack->nrows;
			continue;
		}
		metrics = rest_as_jsonb(pack, FIRST_METRIC, (int) row, &isnull);
		if (isnull)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(metrics);
	}
	PG_RETURN_NULL();
}

/* A shared value, and the member of it that was read last: members of one value follow each other. */
typedef struct OpenGroup
{
	MemoryContext member_cxt;
	L4OpenGroup group;
	int			number;			/* of the member, -1 none */
	bytea	   *member;
} SeenGroup;

static void *
make_group(struct varlena *value, MemoryContext cxt)
{
	SeenGroup  *group = MemoryContextAllocZero(cxt, sizeof(SeenGroup));

	group->member_cxt = AllocSetContextCreate(cxt, "l4 member", ALLOCSET_SMALL_SIZES);
	group->group = l4_group_open((bytea *) pg_detoast_datum_packed(value), cxt);
	group->number = -1;
	return group;
}

/* l4._member(packed, member): what a value of a pack holds of a stream */
L4_FUNCTION(l4_member)
{
	SeenGroup  *group;
	MemoryContext old;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	group = l4_seen_argument(fcinfo, 0, false, make_group);
	if (group->number != PG_GETARG_INT32(1))
	{
		group->number = -1;
		MemoryContextReset(group->member_cxt);
		old = MemoryContextSwitchTo(group->member_cxt);
		group->member = l4_group_member(&group->group, PG_GETARG_INT32(1));
		MemoryContextSwitchTo(old);
		group->number = PG_GETARG_INT32(1);
	}
	if (group->member == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(group->member);
}
