/*
 * timestamps.h
 *		Time stamps of log lines: a template of to_timestamp() compiled to a
 *		few steps, since to_timestamp() itself costs microseconds a line.
 */
#ifndef L4_TIMESTAMPS_H
#define L4_TIMESTAMPS_H

#include "datatype/timestamp.h"
#include "utils/palloc.h"

typedef struct L4TsFormat L4TsFormat;

/* What the last time stamp was, so that the next one costs a comparison; one for each stream. */
typedef struct L4TsCache
{
	int			day;			/* Julian day of the last local date */
	int			hour;			/* and its hour */
	int64		base;			/* microseconds of that local hour, UTC */
	TimestampTz reference;		/* gives the year where the text has none */
} L4TsCache;

/* Compile a ts_format; raises ERRCODE_INVALID_PARAMETER_VALUE for one that is not understood. */
extern L4TsFormat *l4_ts_compile(const char *format, int len, MemoryContext cxt);

/*
 * Read a time stamp. False when the text does not fit the format or names no
 * point in time (seconds since boot).
 */
extern bool l4_ts_parse(const L4TsFormat *format, L4TsCache *cache,
						const char *text, int len, TimestampTz *ts);

extern void l4_ts_cache_init(L4TsCache *cache, TimestampTz reference);

#endif							/* L4_TIMESTAMPS_H */
