/*
 * chunks.c
 *		Packed columns, packs of several streams and compressed bytes: what is written is read as it was;
 *		what is damaged is read or refused.
 */
#include "fuzz.h"

#include "packed/packed.h"
#include "packed/group.h"

#define COLUMNS		6
#define MEMBERS		4

static int64
make_int(void)
{
	static const int64 extremes[] = {0, 1, -1, PG_INT32_MAX, PG_INT32_MIN, PG_INT64_MAX, PG_INT64_MIN};

	switch (fuzz_random(4))
	{
		case 0:
			return FUZZ_PICK(extremes);
		case 1:
			return fuzz_random(3);
		case 2:
			return (int64) fuzz_random(1000) * 1000000;
		default:
			return (int64) ((uint64) fuzz_random(PG_INT32_MAX) << fuzz_random(33));
	}
}

static void
put_value(L4Pack *pack, int colno)
{
	char		text[64];
	int32		ints[4];

	if (fuzz_random(8) == 0)
	{
		l4_pack_null(pack, colno);
		return;
	}
	switch (pack->cols[colno].type)
	{
		case L4_PACK_INT:
			l4_pack_int(pack, colno, make_int());
			break;
		case L4_PACK_FLOAT:
			l4_pack_float(pack, colno, fuzz_random(3) ? make_int() / 1000.0 : strtod("nan", NULL));
			break;
		case L4_PACK_TEXT:
			if (fuzz_random(2))
				l4_pack_text(pack, colno, pstrdup("12.50"), 5);
			else
			{
				int			len = fuzz_line(text, sizeof(text));

				l4_pack_text(pack, colno, memcpy(palloc(len), text, len), len);
			}
			break;
		default:
			for (int i = 0; i < 4; i++)
				ints[i] = (int32) make_int();
			l4_pack_ints(pack, colno, memcpy(palloc(sizeof(ints)), ints, sizeof(ints)), fuzz_random(5));
	}
}

static L4Pack *
make_pack(const char *types)
{
	L4Pack	   *pack = l4_pack_create("", CurrentMemoryContext);
	int			rows = 1 + fuzz_random(fuzz_random(4) ? 50 : 1000);

	for (int c = 0; c < COLUMNS; c++)
		l4_pack_add_col(pack, types[c], types[c] == L4_PACK_FLOAT ? "loss" : "");
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < COLUMNS; c++)
			put_value(pack, c);
	return pack;
}

/* Encode a pack, which uses it up, and compare: the columns that were written are those that are read. */
static bytea *
encode_and_check(L4Pack *pack)
{
	L4Pack		written = *pack;
	L4Pack	   *back;
	bytea	   *bytes;

	written.cols = memcpy(palloc(COLUMNS * sizeof(L4PackCol)), pack->cols, COLUMNS * sizeof(L4PackCol));
	for (int c = 0; c < COLUMNS; c++)
		written.cols[c].ints = memcpy(palloc((pack->nrows + 1) * sizeof(int64)), pack->cols[c].ints,
									  pack->nrows * sizeof(int64));
	fuzz_calls++;
	bytes = l4_pack_encode(pack);
	back = l4_pack_decode(bytes, CurrentMemoryContext);
	if (back->nrows != written.nrows || back->ncols != written.ncols)
		fuzz_wrong("%d rows became %d", written.nrows, back->nrows);
	for (int c = 0; c < written.ncols; c++)
		for (int r = 0; r < written.nrows; r++)
		{
			bool		isnull = l4_pack_is_null(&written, c, r);

			if (l4_pack_is_null(back, c, r) != isnull ||
				(!isnull && written.cols[c].type == L4_PACK_INT && back->cols[c].ints[r] != written.cols[c].ints[r]))
				fuzz_wrong("column %d, row %d: " INT64_FORMAT " became " INT64_FORMAT, c, r,
						   written.cols[c].ints[r], back->cols[c].ints[r]);
		}
	return bytes;
}

static void
read_damaged(bytea *bytes)
{
	L4Pack	   *pack;

	FUZZ_TRY();
	l4_pack_decode(bytes, CurrentMemoryContext);
	FUZZ_END();
	FUZZ_TRY();
	pack = l4_pack_open(bytes, CurrentMemoryContext);
	if (pack->ncols > 0)
		l4_pack_need(pack, fuzz_random(pack->ncols));
	FUZZ_END();
	FUZZ_TRY();
	l4_pack_reopen(bytes, CurrentMemoryContext);
	FUZZ_END();
}

void
fuzz_chunks(void)
{
	static const char all_types[] = {L4_PACK_INT, L4_PACK_INT, L4_PACK_FLOAT, L4_PACK_TEXT, L4_PACK_INTS};
	char		types[COLUMNS];
	bytea	   *members[MEMBERS];
	bytea	   *group;

	for (int c = 0; c < COLUMNS; c++)
		types[c] = FUZZ_PICK(all_types);
	for (int i = 0; i < MEMBERS; i++)
		members[i] = encode_and_check(make_pack(types));
	for (int i = 0; i < 40; i++)
		read_damaged((bytea *) fuzz_damage_varlena((struct varlena *) members[i % MEMBERS]));
	read_damaged((bytea *) fuzz_damage_varlena((struct varlena *) l4_pack_compress(members[0])));

	group = l4_group_encode(members, MEMBERS);
	for (int i = 0; i < 40; i++)
	{
		L4OpenGroup opened;
		bytea	   *damaged = (bytea *) (i % 2 ? fuzz_damage_varlena((struct varlena *) group) : (struct varlena *) group);

		FUZZ_TRY();
		opened = l4_group_open(damaged, CurrentMemoryContext);
		/* what is compressed is mostly refused whole: so damage what comes of it, too */
		if (i % 2 == 0)
			opened.bytes = fuzz_damage(opened.bytes, opened.len, &opened.len);
		l4_group_member(&opened, fuzz_random(MEMBERS + 2));
		FUZZ_END();
	}
}
