/*
 * budget.h
 *		What a job may teach the parser, see coarse.c.
 */
#ifndef L4_BUDGET_H
#define L4_BUDGET_H

/* Who teaches the model, and so how much: see coarse.c. */
typedef enum L4Teacher
{
	L4_ALL_MESSAGES,			/* one for all messages */
	L4_JOB_MESSAGES,			/* a job, less its errors */
	L4_JOB_ERRORS				/* its messages of level ERROR and above */
} L4Teacher;

/* What a teacher has made of the model so far. */
typedef struct L4Budget
{
	L4Teacher	teacher;
	int32		templates;		/* made, less those that were merged away */
	int32		ordinary;		/* rows that were not strange */
	int32		strange;		/* spent on strange ones */
	uint32		vocabulary;		/* strings that were known when it closed; 0: it is open */
} L4Budget;

#endif							/* L4_BUDGET_H */
