/*
 * parser_options.h
 *		Options of a parser, from jsonb and to jsonb.
 */
#ifndef L4_PARSER_OPTIONS_H
#define L4_PARSER_OPTIONS_H

#include "utils/jsonb.h"

#include "drain/drain.h"

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
	int			distinct;		/* algorithm l4: distinct_values */
	int			max_templates;	/* algorithm l4 */
	char	   *delimiters;		/* algorithm l4: NULL none */
	L4DrainOptions drain_options;
} L4ParserOptions;

/* masks_only: nothing but "masks" is an option (l4.mask) */
extern void l4_options_read(Jsonb *jb, bool masks_only, L4ParserOptions *options);

#endif							/* L4_PARSER_OPTIONS_H */
