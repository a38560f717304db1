/*
 * ingest_budget.c
 *		What each job may still teach the parser. The row of the parser is the
 *		lock: who learns reads and writes budgets.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "ingest/batch.h"

/* A budget of an older generation belongs to a parser that was thinned out since. */
static const char read_sql[] =
"SELECT b.of_errors::int, b.templates, b.ordinary, b.strange, b.vocabulary FROM l4._job_budget b WHERE b.job_id = $1 AND b.generation = $2";
static const Oid read_types[] = {TEXTOID, INT4OID};

static const char write_sql[] =
"INSERT INTO l4._job_budget (job_id, of_errors, generation, templates, ordinary, strange, vocabulary) "
"VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT ON CONSTRAINT _job_budget_pkey DO UPDATE SET generation = excluded.generation, "
"templates = excluded.templates, ordinary = excluded.ordinary, strange = excluded.strange, vocabulary = excluded.vocabulary";
static const Oid write_types[] = {TEXTOID, BOOLOID, INT4OID, INT4OID, INT4OID, INT4OID, INT4OID};

void
l4_budgets_prepare(L4Budgets *budgets, int generation)
{
	memset(budgets, 0, sizeof(*budgets));
	budgets->generation = generation;
	l4_query_prepare(&budgets->read, read_sql, lengthof(read_types), read_types);
	l4_query_prepare(&budgets->write, write_sql, lengthof(write_types), write_types);
}

/* The budgets of a job are at hand. */
void
l4_budgets_of(L4Budgets *budgets, const char *job_id)
{
	uint64		n;

	budgets->job_id = job_id;
	memset(budgets->of, 0, sizeof(budgets->of));
	budgets->of[0].teacher = L4_JOB_MESSAGES;
	budgets->of[1].teacher = L4_JOB_ERRORS;
	l4_query_put_text(&budgets->read, job_id);
	l4_query_put_int(&budgets->read, budgets->generation);
	n = l4_query_run(&budgets->read);
	for (uint64 i = 0; i < n; i++)
	{
		int			values[5];
		L4Budget   *budget;

		for (int k = 0; k < lengthof(values); k++)
		{
			bool		isnull;

			values[k] = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, k + 1, &isnull));
		}
		budget = &budgets->of[values[0]];
		budget->templates = values[1];
		budget->ordinary = values[2];
		budget->strange = values[3];
		budget->vocabulary = values[4];
	}
	SPI_freetuptable(SPI_tuptable);
	memcpy(budgets->before, budgets->of, sizeof(budgets->of));
}

/* Keep what the job at hand has spent; it is at hand no longer. */
void
l4_budgets_keep(L4Budgets *budgets)
{
	for (int k = 0; k < lengthof(budgets->of); k++)
	{
		const L4Budget *budget = &budgets->of[k];

		if (budgets->job_id == NULL || memcmp(budget, &budgets->before[k], sizeof(L4Budget)) == 0)
			continue;
		l4_query_put_text(&budgets->write, budgets->job_id);
		l4_query_put_bool(&budgets->write, k == 1);
		l4_query_put_int(&budgets->write, budgets->generation);
		l4_query_put_int(&budgets->write, budget->templates);
		l4_query_put_int(&budgets->write, budget->ordinary);
		l4_query_put_int(&budgets->write, budget->strange);
		l4_query_put_int(&budgets->write, budget->vocabulary);
		l4_query_run(&budgets->write);
	}
	budgets->job_id = NULL;
}
