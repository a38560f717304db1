/*
 * miner.h
 *		Algorithm l4: learns templates from shapes. Pure: knows no SQL.
 *
 * A shape is cut at delimiters into slots. Shapes of the same tag and the same
 * delimiters form a group and may become one template; a tree below a group
 * keeps the rows (distinct shapes) that are compared with each other few.
 */
#ifndef L4_MINER_H
#define L4_MINER_H

#include "base/map.h"
#include "miner/budget.h"
#include "scan/scan.h"

#define L4_NODE_ROWS	256		/* rows of one node at most: bounds the work of a miss */
#define L4_SEEN_MAX		65536	/* remembered shapes that are no row */
#define L4_SEEN_STORED	4096	/* of them stored with the parser */
#define L4_COARSE_TAG	0x40000000	/* added to the tag of a coarse template; tags are below */

typedef uint32 L4Str;			/* number of an interned string */
#define L4_STR_UNKNOWN	0
#define L4_STR_EMPTY	1
#define L4_STR_MARK		2		/* a slot that a mask made a variable */
#define L4_STR_TELLING	3		/* nan and the like, not interned */
#define L4_STR_OPEN		4		/* a slot that varies by statistics: fits anything */
#define L4_STR_VALUE	5		/* not interned, with a digit or a mark in it */
#define L4_STR_FIXED	6		/* the first that is no fixed one */

typedef struct L4String
{
	const char *bytes;			/* not terminated */
	int			len;
	bool		classed;		/* flags and stem are filled: when they are first asked for */
	uint8		flags;			/* see miner_int.h */
	uint64		stem;			/* of a name with digits: hash of the rest; else 0 */
} L4String;

#define L4_CHAINS	2

/* The slots of a row or of a template: ncols of the group. */
typedef struct L4Template
{
	int32		event;			/* as given at first: resolve it */
	int32		node;
	uint32		keys[L4_CHAINS];	/* by its first or second word when it was made: finds whom it may join */
	int32		next[L4_CHAINS];	/* number + 1 of the next older one of the key; -1: not chained yet */
	uint8		takes;			/* bit k: by its text it may take in others of chain k */
	L4Str	   *cols;
} L4Template;

typedef struct L4Row
{
	int32		template;		/* number of its template */
	uint64		key;			/* of its shape and tag, 0 when it is a template that stands for several */
	L4Str	   *cols;
} L4Row;

/* A leaf keeps rows and templates; an inner node sends a row to the child of its value in column split. */
typedef struct L4GroupNode
{
	int32		group;
	int32		parent;			/* -1 for the root of a group */
	L4Str		value;			/* of the parent's split column */
	int32		split;			/* -1: a leaf */
	int32		nrows;
	int32		rows_size;
	L4Row	   *rows;
	int32		ntemplates;
	int32		templates_size;
	int32	   *templates;
} L4GroupNode;

typedef struct L4Group
{
	int32		tag;
	int32		ncols;
	L4Str	   *delims;			/* the one after each slot; the last is empty */
	int32		root;
} L4Group;

#define L4_FORGOTTEN	(-1)

typedef struct L4Event
{
	int32		merged_into;	/* 0: survives */
	int32		tag;
	int32		template;		/* the one that it prints; L4_FORGOTTEN */
	int64		occurrences;
} L4Event;

typedef struct L4Model
{
	MemoryContext cxt;
	const uint32 *cls;			/* class bits of bytes: the scanner's */
	int			distinct;		/* the precision knob */
	int32		max_templates;

	int32		live;			/* templates that were not merged away, coarse ones not counted */
	L4Budget	own;			/* of all messages; for jobs, only the vocabulary when one of them closed last */
	L4Budget   *budget;			/* of whose messages are asked for and learnt: own, or a job's */
	int32		coarse_words;	/* coarse templates by first word */

	L4String   *strings;
	uint32		nstrings;
	uint32		strings_size;
	L4Map	   *string_map;		/* hash of bytes -> string */

	L4Group    *groups;
	int32		ngroups;
	int32		groups_size;
	L4Map	   *group_map;

	L4GroupNode *nodes;
	int32		nnodes;
	int32		nodes_size;
	L4Map	   *child_map;		/* (node, value) -> node */

	L4Template *templates;		/* event 0: was merged away */
	int32		ntemplates;
	int32		templates_size;

	L4Event    *events;			/* [0] is not used */
	int32		nevents;
	int32		events_size;

	L4Map	   *exact;			/* shape and tag -> event, all rows */
	L4Map	   *seen;			/* the same for shapes that fitted a template */
	L4Map	   *unfit;			/* shapes that fit none, until something is learnt */
	bool		merges_ready;	/* printed and chains are filled; not yet after decoding */
	L4Map	   *printed;		/* tag and printed text -> template */
	L4Map	   *chains;			/* key -> number + 1 of the newest template with it */

	L4Str	   *slab;			/* slots not given out yet */
	int			slab_left;

	/* scratch, reused */
	struct L4Scratch *scratch;
} L4Model;

extern void l4_model_init(L4Model *m, const uint32 *cls, int distinct, int32 max_templates, MemoryContext cxt);
extern uint64 l4_model_key(int tag, const L4Shape *shape);
extern int32 l4_model_resolve(const L4Model *m, int32 event);
extern bool l4_event_is_forgotten(const L4Model *m, int32 event);
extern int32 l4_model_lookup(L4Model *m, int tag, const L4Shape *shape);
extern int32 l4_model_match(L4Model *m, int tag, const L4Shape *shape);
extern int32 l4_model_learn(L4Model *m, int tag, const L4Shape *shape, int64 occurrences);
extern int32 l4_model_learn_coarse(L4Model *m, int tag, const char *bytes, int len);
extern void l4_model_copy_kept(const L4Model *from, L4Model *to, bool *keep);
extern char *l4_model_pattern(L4Model *m, int32 template, int *len, MemoryContext cxt);

#endif							/* L4_MINER_H */
