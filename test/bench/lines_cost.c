/*
 * lines_cost.c
 *		What a line costs before the parser sees it: prefix and record. A
 *		module of its own, so that nothing but that is measured:
 *
 *		test/bench/lines_cost.sh
 */
#include "postgres.h"

#include <time.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"

#include "lines/lineformat.h"
#include "lines/record.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(lines_cost);

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* lines_cost(ruleset jsonb, lines text[], loops int, records bool): nanoseconds a line */
Datum
lines_cost(PG_FUNCTION_ARGS)
{
	int			loops = PG_GETARG_INT32(2);
	bool		records = PG_GETARG_BOOL(3);
	L4Rules    *rules = l4_rules_get(PG_GETARG_JSONB_P(0), CurrentMemoryContext);
	L4LineReader *reader = l4_line_reader_create(rules, NULL, CurrentMemoryContext);
	L4RecordReader *r = l4_record_reader_create(CurrentMemoryContext);
	Datum	   *lines;
	int			n;
	int64		line_no = 0;
	double		best = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &lines, NULL, &n);
	for (int loop = 0; loop < loops; loop++)
	{
		double		began = cpu_seconds();

		for (int i = 0; i < n; i++)
		{
			text	   *t = (text *) DatumGetPointer(lines[i]);
			L4Line		line;
			L4RecordPlace place;

			l4_line_peel(reader, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t), &line);
			if (records)
			{
				l4_record_feed(r, ++line_no, &line, &place);
				while (l4_record_next(r) != NULL)
					;
			}
		}
		began = cpu_seconds() - began;
		if (loop == 0 || began < best)
			best = began;
	}
	PG_RETURN_FLOAT8(best / n * 1e9);
}
