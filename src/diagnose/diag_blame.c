/*
 * diag_blame.c: blame that flows through a graph of complaints.
 *
 * Adding edges one by one and searching for a way back costs edges × edges at worst; the caller bounds the edges of a node.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/shmem.h"

#include "diagnose/diagnose.h"

/* Edges that were taken, as linked lists: head[node] is its latest edge, next[edge] the one before. */
typedef struct Graph
{
	int			nnodes;
	const int  *to;
	int		   *head;
	int		   *next;
	int		   *mark;			/* search in which a node was last seen */
	int		   *stack;
	int			search;
} Graph;

/* Is there a way from one node to another? */
static bool
reaches(Graph *g, int from, int goal)
{
	int			top = 0;

	CHECK_FOR_INTERRUPTS();
	g->search++;
	g->mark[from] = g->search;
	g->stack[top++] = from;
	while (top > 0)
	{
		int			node = g->stack[--top];

		if (node == goal)
			return true;
		for (int edge = g->head[node]; edge >= 0; edge = g->next[edge])
		{
			int			target = g->to[edge];

			if (g->mark[target] != g->search)
			{
				g->mark[target] = g->search;
				g->stack[top++] = target;
			}
		}
	}
	return false;
}

/* Passes blame on from nodes whose incoming edges are all done, until none is left: the graph has no cycles. */
static void
flow(Graph *g, int *incoming, double *blame)
{
	int			top = 0;

	for (int node = 0; node < g->nnodes; node++)
		if (incoming[node] == 0)
			g->stack[top++] = node;
	while (top > 0)
	{
		int			node = g->stack[--top];
		int			out = 0;
		double		part;

		for (int edge = g->head[node]; edge >= 0; edge = g->next[edge])
			out++;
		if (out == 0)
			continue;
		part = blame[node] / out;
		blame[node] = 0;
		for (int edge = g->head[node]; edge >= 0; edge = g->next[edge])
		{
			blame[g->to[edge]] += part;
			if (--incoming[g->to[edge]] == 0)
				g->stack[top++] = g->to[edge];
		}
	}
}

void
l4_blame_flow(int nnodes, int nedges, const int *from, const int *to,
			  const double *weight, double *blame)
{
	Graph		g;
	int		   *incoming;

	memcpy(blame, weight, mul_size(sizeof(double), nnodes));
	if (nedges == 0)
		return;
	g.nnodes = nnodes;
	g.to = to;
	g.head = palloc(mul_size(sizeof(int), nnodes));
	memset(g.head, -1, mul_size(sizeof(int), nnodes));
	g.next = palloc(mul_size(sizeof(int), nedges));
	g.mark = palloc0(mul_size(sizeof(int), nnodes));
	g.stack = palloc(mul_size(sizeof(int), nnodes));
	g.search = 0;
	incoming = palloc0(mul_size(sizeof(int), nnodes));
	for (int edge = 0; edge < nedges; edge++)
	{
		if (reaches(&g, to[edge], from[edge]))
			continue;
		g.next[edge] = g.head[from[edge]];
		g.head[from[edge]] = edge;
		incoming[to[edge]]++;
	}
	flow(&g, incoming, blame);
}
