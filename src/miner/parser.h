/*
 * parser.h
 *		The parser value: options, templates and what was learnt, decoded for
 *		use, and its bytes on disk.
 *
 * An event is a template under a tag. Ids start at 1, are given in the order
 * of learning and never reused; an event that was merged into another keeps
 * its id, and every function here answers with the surviving one.
 */
#ifndef L4_PARSER_H
#define L4_PARSER_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "miner/budget.h"
#include "scan/scan.h"

typedef struct L4Parser L4Parser;

/* One parameter of a message as the template of its event names it. */
typedef struct L4Parameter
{
	const char *value;			/* not terminated; mostly bytes of the message */
	int			len;
	const char *mask;			/* name of its kind */
} L4Parameter;

/* A new parser that knows nothing; options NULL means the defaults. */
extern L4Parser *l4_parser_create(Jsonb *options, MemoryContext cxt);

/* Stored bytes (detoasted) to parser and back. Decoding checks everything: ERRCODE_DATA_CORRUPTED. */
extern L4Parser *l4_parser_decode(struct varlena *stored, MemoryContext cxt);
extern struct varlena *l4_parser_encode(L4Parser *parser);

/* An error unless the parser has what the rest of this file speaks of: algorithm drain knows no shapes, slots and words. */
extern void l4_parser_need_shapes(const L4Parser *parser);

/*
 * Shape of a message by the parser's own masks and delimiters. The shape must
 * have been set up by l4_shape_init once; its buffers are reused.
 */
extern void l4_parser_scan(L4Parser *parser, const char *msg, int len, L4Shape *out);

/* Event of a shape that was learnt as it is: one hash probe; 0 = not known. */
extern int32 l4_parser_lookup(L4Parser *parser, int tag, const L4Shape *shape);

/* Whose messages are asked for and learnt from now on; the budget is the caller's and changes as they are learnt. NULL: nobody's. */
extern void l4_parser_use_budget(L4Parser *parser, L4Budget *budget);

/*
 * Event of a shape or message, learning nothing: also templates that fit an
 * unseen shape. 0 = none. Found answers are cached (bounded).
 */
extern int32 l4_parser_match_shape(L4Parser *parser, int tag, const L4Shape *shape);
extern int32 l4_parser_match(L4Parser *parser, const char *msg, int len);

/* Learn a message seen occurrences times; the event's id. May merge older events. */
extern int32 l4_parser_learn(L4Parser *parser, int tag, const char *msg, int len, int64 occurrences);

/* Learn what another parser of the same options has learnt, in the order in which that one learnt it. */
extern void l4_parser_replay(L4Parser *parser, const L4Parser *other);

/* The event of a coarse template as another parser prints it, made where there is none. */
extern int32 l4_parser_learn_coarse(L4Parser *parser, int tag, const char *template_text);

/* Ids are 1 .. l4_parser_nevents(), merged ones included. */
extern int32 l4_parser_nevents(L4Parser *parser);
extern int32 l4_parser_resolve(L4Parser *parser, int32 event_id);	/* the surviving id */
extern int	l4_parser_tag(L4Parser *parser, int32 event_id);
extern bool l4_parser_is_coarse(L4Parser *parser, int32 event_id);	/* of lines beyond the bounds, see coarse.c */
extern int64 l4_parser_occurrences(L4Parser *parser, int32 event_id);
extern char *l4_parser_template(L4Parser *parser, int32 event_id, MemoryContext cxt);

/*
 * The parameters of a message, in order, one for each variable of the
 * template of event_id; event_id comes from l4_parser_match of this message.
 * Returns their number and a palloc'd array.
 */
extern int	l4_parser_parameters(L4Parser *parser, int32 event_id, const char *msg, int len,
								 L4Parameter **out);

/* A word in a place that statistics made variable. Slots of a shape are what is between its delimiters, counted from 0. */
typedef struct L4Word
{
	int			slot;
	uint32		off;
	uint32		len;
} L4Word;

/* In which slot each parameter of a shape is. */
extern void l4_parser_slots(L4Parser *parser, const L4Shape *shape, int *slots);

/*
 * The words of a shape where the template that fits it best is open, as bytes
 * of the shape's text. Returns the event under which that template was learnt:
 * where the template is not open, the shape has the words of that event's own
 * message. 0 when nothing fits.
 */
extern int32 l4_parser_words(L4Parser *parser, int tag, const L4Shape *shape, L4Word **words, int *n);

/* The words of the message that made an event where the event is open by now, as bytes of the message. Returns their number. */
extern int	l4_parser_own_words(L4Parser *parser, int32 event_id, const char *msg, int len, L4Word **words);

/*
 * The words of a message in slots where another message of the same delimiters
 * has something else, as bytes of text, which is the shape's and palloc'd.
 */
extern int	l4_parser_words_unlike(L4Parser *parser, const char *msg, int len, const char *other, int other_len,
								   char **text, L4Word **words);

/* Name of a kind of parameter, L4Mask or a mask of the user. */
extern const char *l4_parser_mask_name(const L4Parser *parser, int mask);

/* The parser that is the first argument of a SQL function, not NULL; valid as long as the call site. Takes fn_extra. */
extern L4Parser *l4_parser_cached(FunctionCallInfo fcinfo);

#endif							/* L4_PARSER_H */
