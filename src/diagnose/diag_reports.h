/*
 * diag_reports.h: numbers that nodes report of iterations, in a few bytes each. Pure: knows no Datum.
 *
 * Those of 64 iterations are kept together, in the order in which they come: node by node. Of each the iteration and the node are what is
 * different from the one before, and the number what it differs by from the first one of its iteration.
 */
#ifndef L4_DIAG_REPORTS_H
#define L4_DIAG_REPORTS_H

/* Iterations whose reports are kept together */
#define L4_REPORTS_BITS	6
#define L4_REPORTS_MANY	(1 << L4_REPORTS_BITS)

typedef struct L4ReportBlock
{
	struct L4ReportBlock *next;
	int			used;
	int			size;
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];
} L4ReportBlock;

/* All zero but for the scale, that many parts of one are kept: none yet */
typedef struct L4Reports
{
	double		scale;
	int			n;
	uint32		turn;
	int			place;
	L4ReportBlock *first;
	L4ReportBlock *last;
	bool		has_base[L4_REPORTS_MANY];
	int64		base[L4_REPORTS_MANY];
} L4Reports;

/* Reports that are read, one by one; set by l4_reports_read. turn, place and value are those of the last one. */
typedef struct L4ReportReader
{
	const L4Reports *reports;
	const L4ReportBlock *block;
	int			at;
	uint32		turn;
	int			place;
	double		value;
} L4ReportReader;

/* place: of the iteration among the 64. turn: of the node, which never descends. */
extern void l4_reports_put(L4Reports *reports, MemoryContext cxt, uint32 turn, int place, double value);

extern void l4_reports_read(L4ReportReader *reader, const L4Reports *reports);
extern bool l4_reports_next(L4ReportReader *reader);

#endif							/* L4_DIAG_REPORTS_H */
