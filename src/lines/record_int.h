/*
 * record_int.h
 *		State of a record reader; for record.c, record_join.c, record_state.c.
 */
#ifndef L4_RECORD_INT_H
#define L4_RECORD_INT_H

#include "common/hashfn.h"

#include "lines/line_int.h"
#include "lines/record.h"

/* Places for open records. Half of them may be open, the rest are for those settled by one line. */
#define L4_RECORD_MAX_OPEN 64

/* Writers that are remembered at a time. */
#define L4_RECORD_MAX_SUBS 8192

/* Lines of others in the midst of a record before it is given up. */
#define L4_RECORD_FOREIGN 50

/* What an open record waits for. */
typedef enum L4OpenState
{
	OPEN_FREE,
	OPEN_SETTLED,				/* handed out, free with the next line */
	OPEN_STACK,					/* frames below its message: any other line of the writer ends it */
	OPEN_TRACEBACK,				/* the exception */
	OPEN_GROUP,					/* the exception of a group */
	OPEN_CHAIN,					/* the traceback that "During handling of …" announces */
	OPEN_TERMINATE,				/* what() */
	OPEN_GLOG,					/* the signal */
	OPEN_RULE,					/* the title of a banner */
	OPEN_USAGE,					/* error: */
	OPEN_RUST,					/* the reason of a panic */
	OPEN_CUT					/* the rest of the line */
} L4OpenState;

/* What may follow a settled record. */
typedef enum L4Continuation
{
	CONT_NONE,
	CONT_EXCEPTION,				/* more text of the exception, or a banner */
	CONT_REPORT,				/* a banner up to its last rule */
	CONT_FAULT,					/* threads and their frames */
	CONT_GROUP,					/* the members of an exception group */
	CONT_WARNING,				/* the source line of a Python warning */
	CONT_RUST,
	CONT_GO
} L4Continuation;

/* The line that is fed. */
typedef struct L4FedLine
{
	int64		no;
	uint64		key;			/* of its writer: rank and launcher prefix */
	L4LineKind	kind;
	const L4Line *line;
	L4RecordPlace *place;
} L4FedLine;

/* What an open record makes of a line: bits. */
typedef enum L4Feed
{
	FEED_PASS = 0,				/* it is another's */
	FEED_TAKE = 1,				/* it belongs to the record */
	FEED_END = 2,				/* the record's message is final */
	FEED_TAKE_END = FEED_TAKE | FEED_END
} L4Feed;

typedef struct OpenRecord
{
	L4Record	rec;			/* rec.msg = msg, rec.text = excerpt */
	L4OpenState state;
	uint64		key;
	uint64		part_key;		/* of a line that was cut */
	bool		logged;			/* each of its lines has a logger's prefix */
	int			indent;			/* of the traceback's first line */
	int64		started;		/* the reader's lines then */
	int			bytes;
	int			foreign;		/* lines of others since */
	char		rule;			/* character of a banner's rules */
	bool		fresh;			/* its stack: lines may join it from the next one on */
	bool		opens;			/* its message, or its last frame, announces more */
	L4Continuation cont;		/* of a stack */
	StringInfoData text;		/* its lines, of long ones the beginnings */
	char		msg[L4_RECORD_MSG];
	char		excerpt[L4_RECORD_TEXT];	/* of the text, made when the record is settled */
} OpenRecord;

/* A settled record that lines may join. */
typedef struct L4Tail
{
	int64		record_no;		/* 0 none */
	int64		line_no;
	int64		seen;			/* the reader's lines when it got its last line */
	int			joined;
	int			foreign;
	uint8		level;
	uint8		cont;			/* L4Continuation */
	bool		logged;
	bool		blank;			/* its last line is empty */
	bool		opens;			/* its last line announces more: ends with a colon or open bracket */
	uint8		rule;
} L4Tail;

/* One writer of the stream. */
typedef struct L4Sub
{
	uint64		key;			/* 0 for the one without rank and launcher prefix */
	char		status;			/* of its place in the hash table */
	L4Tail		last;			/* the last record */
	L4Tail		special;		/* the last one with a stack, report or error */
} L4Sub;

struct L4RecordReader
{
	MemoryContext cxt;
	int64		lines;			/* fed so far */
	uint64		rank_key;		/* of the last rank that a line came with; 0 none */
	int64		records;		/* started so far */
	int			logged;			/* recent plain records with and without a logger's prefix */
	int			bare;
	int			nopen;
	OpenRecord *open[L4_RECORD_MAX_OPEN];
	L4Record	plain;
	char		excerpt[L4_RECORD_TEXT];	/* of a long plain record */
	const L4Record *ready[L4_RECORD_MAX_OPEN + 1];
	int			nready;
	int			next_ready;
	L4Sub		unlabelled;		/* the writer of lines without launcher prefix */
	struct l4_subs_hash *subs;	/* the others, by key; NULL while there are none */
};

/* Key of the writer of a line with such a launcher prefix */
static inline uint64
l4_writer_key(const L4RecordReader *r, uint64 label)
{
	return r->rank_key == 0 ? label : hash_combine64(r->rank_key, label) | 1;
}

/* record_state.c; the pointer is valid until the next call */
extern L4Sub *l4_record_sub(L4RecordReader *r, uint64 key);

/* record.c */
extern void l4_record_add_text(OpenRecord *o, const L4Line *line);

/* record_join.c */
extern L4Feed l4_record_feed_open(OpenRecord *o, const L4FedLine *fed);
extern bool l4_record_join_panic(L4RecordReader *r, const L4FedLine *fed);
extern bool l4_record_join_settled(L4RecordReader *r, L4Sub *sub, const L4FedLine *fed);
extern void l4_record_set_message(OpenRecord *o, const L4Line *line);

#endif							/* L4_RECORD_INT_H */
