/*
 * packed_plan.c
 *		Planner support of the functions that unpack lines and iterations: the
 *		conditions of a query on their rows become arguments, so that rows that
 *		it drops need not leave their packed value.
 *
 * The conditions stay where they are. Only those are looked at that every row
 * of the query has met, so what is left out here would have been dropped.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "base/args.h"
#include "l4_compat.h"

/* Arguments of both functions, and columns of their rows: those of lines alone have ids of events, and these last ones. */
#define ARG_IDS		1
#define ARG_FROM	2
#define ARG_COLUMNS	9
#define COL_EVENT	5

/* What bounds a column, and the arguments that take its bounds: the lower one, then the upper one */
typedef struct Bounds
{
	AttrNumber	column;
	int			arg;
	int			nargs;
	Oid			lower[2];
	Oid			upper[2];
	Oid			equal;
} Bounds;

#define TIME_BOUNDS {3, ARG_FROM, 2, {F_TIMESTAMPTZ_GE, F_TIMESTAMPTZ_GT}, {F_TIMESTAMPTZ_LE, F_TIMESTAMPTZ_LT}, F_TIMESTAMPTZ_EQ}
#define ITERATION_BOUNDS(column, arg) {column, arg, 2, {F_INT4GE, F_INT4GT}, {F_INT4LE, F_INT4LT}, F_INT4EQ}

static const Bounds line_bounds[] = {
	TIME_BOUNDS, ITERATION_BOUNDS(7, 6), {6, 8, 1, {InvalidOid}, {InvalidOid}, F_TEXTEQ}
};
static const Bounds iteration_bounds[] = {TIME_BOUNDS, ITERATION_BOUNDS(2, 4)};

/* Conditions that each row of a query meets: not those of outer joins, nor below them. */
static List *
conditions(Node *node, List *found)
{
	Node	   *quals = NULL;

	if (IsA(node, FromExpr))
	{
		ListCell   *lc;

		quals = ((FromExpr *) node)->quals;
		foreach(lc, ((FromExpr *) node)->fromlist)
			found = conditions(lfirst(lc), found);
	}
	else if (IsA(node, JoinExpr) && ((JoinExpr *) node)->jointype == JOIN_INNER)
	{
		quals = ((JoinExpr *) node)->quals;
		found = conditions(((JoinExpr *) node)->rarg, conditions(((JoinExpr *) node)->larg, found));
	}
	/* a list once they were simplified */
	return quals != NULL && IsA(quals, List) ? list_concat(found, (List *) quals) : found;
}

/* Which relation of the query a call is; 0: none, or several that look alike. */
static int
relation_of(PlannerInfo *root, FuncExpr *call)
{
	Relids		around = pull_varnos(root, (Node *) call->args);
	int			found = 0;

	for (int i = 1; i <= list_length(root->parse->rtable); i++)
	{
		RangeTblEntry *rte = rt_fetch(i, root->parse->rtable);
		FuncExpr   *other;

		if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1)
			continue;
		other = (FuncExpr *) linitial_node(RangeTblFunction, rte->functions)->funcexpr;
		if (!IsA(other, FuncExpr) || other->funcid != call->funcid ||
			!bms_equal(pull_varnos(root, (Node *) other->args), around))
			continue;
		if (found != 0)
			return 0;
		found = i;
	}
	return found;
}

static bool
is_column(Node *node, int relation, AttrNumber column)
{
	Var		   *var = (Var *) node;

	return IsA(node, Var) && var->varno == relation && var->varattno == column && var->varlevelsup == 0;
}

/* Is it the same for all rows of the query? */
static bool
is_fixed(PlannerInfo *root, Node *node)
{
	return bms_is_empty(pull_varnos(root, node)) && !contain_volatile_functions(node) && !contain_subplans(node);
}

/* Put the bounds that a condition sets on a column into the call, where none is yet. */
static void
take_bound(PlannerInfo *root, OpExpr *op, int relation, FuncExpr *call, const Bounds *bounds)
{
	bool		swapped = is_column(lsecond(op->args), relation, bounds->column);
	Node	   *value = swapped ? linitial(op->args) : lsecond(op->args);
	bool		lower = op->opfuncid == bounds->lower[0] || op->opfuncid == bounds->lower[1];
	bool		upper = op->opfuncid == bounds->upper[0] || op->opfuncid == bounds->upper[1];

	/* texts are compared as bytes, which another collation may not do */
	if (!(swapped || is_column(linitial(op->args), relation, bounds->column)) || !is_fixed(root, value) ||
		(OidIsValid(op->inputcollid) && op->inputcollid != DEFAULT_COLLATION_OID))
		return;
	for (int i = 0; i < bounds->nargs; i++)
		if (op->opfuncid == bounds->equal || ((i == 0) != swapped ? lower : upper))
		{
			ListCell   *cell = list_nth_cell(call->args, bounds->arg + i);

			if (IsA(lfirst(cell), Const) && ((Const *) lfirst(cell))->constisnull)
				lfirst(cell) = copyObject(value);
		}
}

/* The table whose first column is joined with the event of a line, by a condition; 0: it is no such. */
static int
joined_events(PlannerInfo *root, const OpExpr *op, int relation)
{
	for (int i = 0; i < 2 && op->opfuncid == F_INT4EQ; i++)
	{
		Var		   *var = list_nth(op->args, 1 - i);

		if (is_column(list_nth(op->args, i), relation, COL_EVENT) && IsA(var, Var) && var->varattno == 1 &&
			var->varlevelsup == 0 && rt_fetch(var->varno, root->parse->rtable)->rtekind == RTE_RELATION)
			return var->varno;
	}
	return 0;
}

/* ARRAY(SELECT first column FROM the table WHERE what the query says of it alone); NULL: it says nothing */
static Node *
wanted_events(PlannerInfo *root, List *conditions, int relation)
{
	Query	   *query = makeNode(Query);
	RangeTblEntry *rte = copyObject(rt_fetch(relation, root->parse->rtable));
	RangeTblRef *ref = makeNode(RangeTblRef);
	SubLink    *sublink = makeNode(SubLink);
	List	   *own = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		Relids		about = pull_varnos(root, lfirst(lc));

		if (bms_membership(about) == BMS_SINGLETON && bms_is_member(relation, about) &&
			!contain_volatile_functions(lfirst(lc)) && !contain_subplans(lfirst(lc)))
			own = lappend(own, copyObject(lfirst(lc)));
	}
	if (own == NIL || rte->securityQuals != NIL || rte->tablesample != NULL)
		return NULL;
	ChangeVarNodes((Node *) own, relation, 1, 0);
	L4_RTE_WITHOUT_RIGHTS(query, rte);
	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), (Node *) make_ands_explicit(own));
	query->targetList = list_make1(makeTargetEntry((Expr *) makeVar(1, 1, INT4OID, -1, InvalidOid, 0), 1, "event_id", false));
	sublink->subLinkType = ARRAY_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	root->parse->hasSubLinks = true;
	return (Node *) sublink;
}

typedef struct Asked
{
	int			relation;
	int			level;			/* of the query that is looked at, below that of the relation */
	uint32		columns;		/* a bit each */
} Asked;

/* The columns of a relation that are named anywhere in a query. */
static bool
ask_columns(Node *node, void *context)
{
	Asked	   *asked = context;
	Var		   *var = (Var *) node;
	bool		stop;

	if (node == NULL)
		return false;
	if (IsA(node, Var) && var->varno == asked->relation && var->varlevelsup == asked->level)
		asked->columns |= var->varattno > 0 && var->varattno <= 32 ? (uint32) 1 << (var->varattno - 1) : PG_UINT32_MAX;
	if (!IsA(node, Query))
		return expression_tree_walker(node, ask_columns, context);
	asked->level++;
	stop = query_tree_walker((Query *) node, ask_columns, context, QTW_IGNORE_JOINALIASES);
	asked->level--;
	return stop;
}

/* Support of l4._lines_between() and l4._iterations_between() */
L4_FUNCTION(l4_window_support)
{
	SupportRequestSimplify *request = (SupportRequestSimplify *) PG_GETARG_POINTER(0);
	FuncExpr   *call;
	List	   *all;
	ListCell   *lc;
	const Bounds *bounds;
	int			nbounds;
	bool		of_lines;
	int			relation;

	if (!IsA(request, SupportRequestSimplify) || request->root == NULL)
		PG_RETURN_POINTER(NULL);
	relation = relation_of(request->root, request->fcall);
	if (relation == 0)
		PG_RETURN_POINTER(NULL);
	call = copyObject(request->fcall);
	of_lines = list_length(call->args) > ARG_COLUMNS;
	bounds = of_lines ? line_bounds : iteration_bounds;
	nbounds = of_lines ? lengthof(line_bounds) : lengthof(iteration_bounds);
	all = conditions((Node *) request->root->parse->jointree, NIL);
	foreach(lc, all)
	{
		OpExpr	   *op = lfirst(lc);
		Const	   *ids = list_nth(call->args, ARG_IDS);
		int			events;

		if (!IsA(op, OpExpr) || list_length(op->args) != 2)
			continue;
		set_opfuncid(op);
		for (int i = 0; i < nbounds; i++)
			take_bound(request->root, op, relation, call, &bounds[i]);
		if (!IsA(ids, Const) || !ids->constisnull || ids->consttype != INT4ARRAYOID)
			continue;
		events = joined_events(request->root, op, relation);
		if (events != 0)
		{
			Node	   *wanted = wanted_events(request->root, all, events);

			if (wanted != NULL)
				lfirst(list_nth_cell(call->args, ARG_IDS)) = wanted;
		}
	}
	if (of_lines)
	{
		Asked		asked = {.relation = relation};

		query_tree_walker(request->root->parse, ask_columns, &asked, QTW_IGNORE_JOINALIASES);
		ask_columns((Node *) request->root->append_rel_list, &asked);
		lfirst(list_nth_cell(call->args, ARG_COLUMNS)) = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
																   Int32GetDatum((int32) asked.columns), false, true);
	}
	PG_RETURN_POINTER(call);
}
