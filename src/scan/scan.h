/*
 * scan.h
 *		One pass over a message: its parameters, its shape and the hash of
 *		that shape.
 *
 * The shape of a message is its text with blanks collapsed and every variable
 * part replaced by one mark: the byte L4_MARK for a built-in mask, L4_USER_MARK
 * and one more byte for a mask that the user wrote. Control bytes of the
 * message count as blanks, so that a mark in a shape is always ours.
 */
#ifndef L4_SCAN_H
#define L4_SCAN_H

#include "base/foldmemo.h"

#define L4_MARK			'\001'
#define L4_USER_MARK	'\002'	/* followed by L4_USER_MARK_BASE + number */
#define L4_USER_MARK_BASE 0x80
#define L4_MAX_USER_MASKS 100
#define L4_OPEN_MARK	'\003'	/* in templates only: varies by statistics */
#define L4_IS_MARK(c)	((c) == L4_MARK || (c) == L4_OPEN_MARK)

/* What a parameter is. The order is part of the stored form: append only. */
typedef enum L4Mask
{
	L4_MASK_NONE,
	L4_MASK_WORD,				/* a word that varies (found by statistics, or letters and digits mixed) */
	L4_MASK_NUMBER,
	L4_MASK_HEX,
	L4_MASK_ID,					/* name and number joined: worker_3, r12-n4, Foo@1a2b3c */
	L4_MASK_UUID,
	L4_MASK_DATE,
	L4_MASK_TIME,
	L4_MASK_DURATION,
	L4_MASK_SIZE,
	L4_MASK_IP,
	L4_MASK_MAC,
	L4_MASK_HOST,
	L4_MASK_EMAIL,
	L4_MASK_URL,
	L4_MASK_PATH,
	L4_MASK_NAME,				/* a dotted name given as a value: a=com.example.Foo */
	L4_MASK_CONSTANT,			/* true, false, null, root, admin */
	L4_MASK_LIST,				/* a run of variables of one separator, or several parts at once */
	L4_MASK_USER = 128			/* + number of the user's mask */
} L4Mask;

/* One parameter: the bytes [off, off + len) of the message. */
typedef struct L4Slot
{
	uint32		off;
	uint32		len;
	uint8		mask;			/* L4Mask */
} L4Slot;

/*
 * The result of a scan. The buffers are reused from call to call and grow as
 * needed, in cxt. slots[i] belongs to the i-th mark of text.
 */
typedef struct L4Shape
{
	char	   *text;			/* not terminated */
	int			len;
	uint64		hash;			/* of text */
	L4Slot	   *slots;
	int			nslots;
	/* private */
	Size		text_size;
	uint64	   *bits;
	int			bits_size;
	int			slots_size;
	MemoryContext cxt;
} L4Shape;

/* After so many bytes a loop over a message looks for a cancel. */
#define L4_SCAN_STRIDE	65536

/* A part of a message that is masked before the scan looks at it (user masks), ascending, not overlapping. */
typedef struct L4Range
{
	uint32		off;
	uint32		len;
	int			user_mask;		/* number of the mask */
} L4Range;

/* Default of max_text: bounds what a message of any length can make a parser remember. */
#define L4_MAX_SHAPE	4096

/* How to scan: which bytes are what. Plain data, no pointers. */
typedef struct L4Scanner
{
	uint32		cls[256];		/* class bits of a byte, see scan_int.h */
	bool		builtin;		/* use the built-in masks */
	bool		plain_words;	/* words are made of letters, digits, _ and bytes above 127 */
	int			max_text;		/* a shape longer than this ends in one variable for the rest of the message */
} L4Scanner;

extern void l4_scanner_init(L4Scanner *scanner, bool builtin, const char *delimiters);
extern void l4_shape_init(L4Shape *shape, MemoryContext cxt);
extern void l4_shape_copy(L4Shape *to, const L4Shape *from);
extern void l4_scan(const L4Scanner *scanner, const char *msg, int len,
					const L4Range *ranges, int nranges, L4Shape *out);
extern uint64 l4_hash_bytes(const void *bytes, int len);
extern const char *l4_mask_name(int mask);

/*
 * ---- scanmemo.c ----
 * Remembers what scans made of messages, so that most messages need not be
 * scanned: see scanmemo.c.
 */

extern L4FoldMemo *l4_scanmemo_create(MemoryContext cxt);

/*
 * What a scan of the message would give; false if that is not known. The shape
 * points into the memo until the next l4_scanmemo_learn.
 */
extern bool l4_scanmemo_find(L4FoldMemo *memo, const char *msg, int len, L4Shape *out);

/* Remember what a scan gave of the message that was just not found. */
extern void l4_scanmemo_learn(L4FoldMemo *memo, const L4Scanner *scanner, const char *msg, int len, const L4Shape *shape);

#endif							/* L4_SCAN_H */
