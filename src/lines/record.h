/*
 * record.h
 *		Which lines belong together: tracebacks, stacks, reports, usage texts.
 *
 * Use: for each line of a stream in order peel it, feed it, take all settled
 * records; at the end of the stream finish and take the rest.
 *
 *		l4_record_feed(reader, line_no, rank, &line, &place);
 *		while ((rec = l4_record_next(reader)) != NULL)
 *			... rec->record_no now has its message: scan it, once ...
 *
 * A plain line settles at once, with its message pointing into the line; of a
 * traceback the message is known when it ends, so its lines wait. place tells
 * for each line which record it joined (a record may still get lines after it
 * is settled: stack frames below an error line). Records are numbered in the
 * order of their first lines.
 */
#ifndef L4_RECORD_H
#define L4_RECORD_H

#include "base/codec.h"
#include "lines/lineformat.h"

/* A record that stays open longer than this is settled with what it has. */
#define L4_RECORD_MAX_LINES 1000
#define L4_RECORD_MAX_BYTES (256 * 1024)

/* Bytes kept of a message and of a record's text. */
#define L4_RECORD_MSG 8192
#define L4_RECORD_TEXT 2048

typedef struct L4RecordReader L4RecordReader;

typedef enum L4RecordKind
{
	L4_RECORD_PLAIN,
	L4_RECORD_PYTHON,			/* traceback; message = exception line */
	L4_RECORD_FAULT,			/* fatal signal, faulthandler or C++ terminate, glog dump */
	L4_RECORD_STACK,			/* stack of Java, Go, Rust or C++ below a message */
	L4_RECORD_REPORT			/* banner, usage text */
} L4RecordKind;

/* Where a line went. */
typedef struct L4RecordPlace
{
	int64		record_no;		/* counts from 1 in each reader */
	int64		record_line_no; /* line number of the record's first line */
	bool		first;			/* the line starts the record */
} L4RecordPlace;

typedef struct L4Record
{
	int64		record_no;
	int64		line_no;		/* first line */
	int			lines;			/* so far */
	L4RecordKind kind;
	const char *msg;
	int			msg_len;
	const char *text;			/* raw lines joined by newlines; of a long one beginning and end, L4_RECORD_TEXT bytes */
	int			text_len;
	bool		has_ts;			/* these are the message line's, else the first line's that has them */
	TimestampTz ts;
	int			level;
	int			rank;
	int			format_id;
} L4Record;

/* Beginning and end of a long text, up to L4_RECORD_TEXT bytes, in whole characters and if possible whole lines. */
extern int	l4_record_excerpt(const char *text, int len, char out[L4_RECORD_TEXT]);

extern L4RecordReader *l4_record_reader_create(MemoryContext cxt);
/* rank: what the line came with beside its text, negative: none, it is of the same as the line before. */
extern void l4_record_feed(L4RecordReader *reader, int64 line_no, int32 rank, const L4Line *line, L4RecordPlace *place);
extern const L4Record *l4_record_next(L4RecordReader *reader);

/* Settle all open records (end of the stream, or of what there is of it). */
extern void l4_record_finish(L4RecordReader *reader);

/* Do those that wait have their messages, and lack frames at most? */
extern bool l4_record_only_stacks(const L4RecordReader *reader);

/*
 * First line of the oldest record that waits, 0 when none does. A batch ends
 * where none does, which takes at most L4_RECORD_MAX_LINES more lines (but for
 * tracebacks that overlap without end: then finish). What the next batch has
 * to know is written and read; lines that join a record of an earlier batch
 * carry its record_no.
 */
extern int64 l4_record_oldest_open(const L4RecordReader *reader);
extern void l4_record_code(L4RecordReader *reader, L4Codec *codec);

/* Records that were started, here and in earlier batches. */
extern int64 l4_record_count(const L4RecordReader *reader);

/* First lines of the records that lines of the next batch may join, ascending; in the current context. */
extern int	l4_record_joinable(const L4RecordReader *reader, int64 **line_nos);

#endif							/* L4_RECORD_H */
