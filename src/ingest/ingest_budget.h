/*
 * ingest_budget.h
 *		What each job may still teach the parser: two budgets, of its errors and of its other messages.
 */
#ifndef L4_INGEST_BUDGET_H
#define L4_INGEST_BUDGET_H

#include "ingest/ingest_query.h"
#include "miner/budget.h"

typedef struct L4Budgets
{
	int			generation;		/* of the parser */
	L4Query		read;
	L4Query		write;
	const char *job_id;			/* whose are at hand; NULL none */
	L4Budget	before[2];		/* as they are stored */
	L4Budget	of[2];
} L4Budgets;

extern void l4_budgets_prepare(L4Budgets *budgets, int generation);
extern void l4_budgets_of(L4Budgets *budgets, const char *job_id);
extern L4Budget *l4_budget_of_level(L4Budgets *budgets, int level);
extern void l4_budgets_keep(L4Budgets *budgets);

#endif							/* L4_INGEST_BUDGET_H */
