/*
 * parser_int.h
 *		The parser value inside: shared by parser.c and parser_io.c.
 */
#ifndef L4_PARSER_INT_H
#define L4_PARSER_INT_H

#include "drain/drain.h"
#include "miner/miner.h"
#include "miner/parser.h"
#include "miner/parser_options.h"
#include "scan/mask.h"
#include "scan/scanmemo.h"

struct L4Parser
{
	MemoryContext cxt;
	char	   *options;		/* as given, the text of a jsonb; NULL none */
	L4ParserOptions o;
	L4Scanner	scanner;
	L4Masks    *before;			/* masks of the user before the built-in ones, NULL none */
	L4Masks    *after;			/* and after them */
	L4Range    *ranges;			/* scratch */
	int			ranges_size;
	L4FoldMemo *memo;			/* of scans without masks of the user, NULL not yet */
	L4Shape		known;			/* a shape in it */
	int			scans;			/* until it is made */
	L4Shape		shape;			/* scratch */
	StringInfoData text;		/* scratch: a masked line */
	L4Model		model;			/* algorithm l4 */
	L4Drain    *drain;			/* algorithm drain, else NULL */
	L4Map	   *learnt;			/* its lines (hashes) -> the cluster that learning gave; L4_SEEN_MAX at most */
};

/*
 * Stored form: varlena header, version, algorithm, two zero bytes, checksum of
 * the rest, options (length and bytes of the jsonb), the algorithm's state.
 */
#define L4_PARSER_VERSION	1
#define L4_PARSER_HEADER	12		/* version .. checksum */

/* Flags of a stored row. */
#define ROW_SHAPE		0x01	/* it is a shape that was learnt, not a template for several */
#define ROW_AS_TEMPLATE 0x02	/* its slots are those of its template */

/* parser.c */
extern L4Parser *l4_parser_create_as(Jsonb *options, MemoryContext cxt, bool with_drain);
extern const char *l4_parser_drain_line(L4Parser *parser, const char *msg, int len, int *out_len);
extern char *l4_parser_print(const L4Parser *parser, const char *text, int len, int *out_len);

/* parser_io.c */
extern L4Parser *l4_parser_read(const char *bytes, Size len, int sqlstate, MemoryContext cxt);
extern Jsonb *l4_parser_read_options(struct varlena *stored);
extern L4Parser *l4_parser_keep(struct varlena *stored, const int32 *events, int n, MemoryContext cxt);
extern L4Parser *l4_parser_read_masked(struct varlena *stored, Jsonb *options, MemoryContext cxt);

#endif							/* L4_PARSER_INT_H */
