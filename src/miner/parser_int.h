/*
 * parser_int.h
 *		The parser value inside, its options, and its training.
 */
#ifndef L4_PARSER_INT_H
#define L4_PARSER_INT_H

#include "utils/jsonb.h"

#include "drain/drain.h"
#include "miner/miner.h"
#include "miner/parser.h"
#include "scan/mask.h"
#include "scan/scan.h"

/* ---- parser_options.c: options of a parser, from jsonb and to jsonb ---- */

#define L4_MIN_DISTINCT		2
#define L4_MAX_DISTINCT		1000
#define L4_DEFAULT_DISTINCT	10
#define L4_MOST_TEMPLATES	10000000
#define L4_DEFAULT_TEMPLATES	20000

/* One mask of the user; name NULL stands for all built-in ones at this place. */
typedef struct L4MaskOption
{
	char	   *name;
	char	   *pattern;
} L4MaskOption;

typedef struct L4ParserOptions
{
	bool		drain;			/* algorithm */
	bool		has_masks;		/* masks was given; if not, the built-in ones apply */
	int			nmasks;
	L4MaskOption *masks;
	int64		distinct;		/* algorithm l4: distinct_values */
	int64		max_templates;	/* algorithm l4 */
	char	   *delimiters;		/* algorithm l4: NULL none */
	L4DrainOptions drain_options;
} L4ParserOptions;

/* masks_only: nothing but "masks" is an option (l4.mask) */
extern void l4_options_read(Jsonb *jb, bool masks_only, L4ParserOptions *options);

/* ---- parser.c, parser_io.c, parser_write.c ---- */

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
extern const char *l4_parser_drain_line(L4Parser *parser, const char *msg, int len, int *out_len);
extern char *l4_parser_print(const L4Parser *parser, const char *text, int len, int *out_len);

/* parser_io.c */
extern L4Parser *l4_parser_read(const char *bytes, Size len, int sqlstate, MemoryContext cxt);
extern Jsonb *l4_parser_read_options(struct varlena *stored);
extern L4Parser *l4_parser_keep(struct varlena *stored, const int32 *events, int n, MemoryContext cxt);
extern L4Parser *l4_parser_read_masked(struct varlena *stored, Jsonb *options, MemoryContext cxt);

/*
 * ---- train.c ----
 * State of parser_train: what was learnt here, and what others have learnt
 * apart, as bytes until the end. Pure: knows no SQL.
 */

/* A part: the bytes of a parser without the varlena header. */
typedef struct L4TrainPart
{
	const char *bytes;
	int			len;
} L4TrainPart;

typedef struct L4Train
{
	MemoryContext cxt;
	L4Parser   *parser;			/* NULL: nothing was learnt here */
	L4TrainPart *parts;
	int32		nparts;
	int32		parts_size;
} L4Train;

/* The parts of stored bytes are added; they are checked when they are put together. */
extern void l4_train_read(L4Train *train, const struct varlena *stored);
extern struct varlena *l4_train_write(const L4Train *train);

/* All parts as one parser. The answer depends on the parts alone, not on the order in which they came. */
extern struct varlena *l4_train_result(const L4Train *train);

#endif							/* L4_PARSER_INT_H */
