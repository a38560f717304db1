/*
 * parser_cache.h
 *		Parsers that come as arguments of SQL functions.
 */
#ifndef L4_PARSER_CACHE_H
#define L4_PARSER_CACHE_H

#include "fmgr.h"

#include "miner/parser.h"

/* The parser of an argument, which is not NULL; valid as long as the call site. Takes fn_extra. */
extern L4Parser *l4_parser_cached(FunctionCallInfo fcinfo, int argno);

#endif							/* L4_PARSER_CACHE_H */
