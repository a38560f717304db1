/*
 * mask.h
 *		Masks that users write: named PCRE2 patterns, applied one after another.
 */
#ifndef L4_MASK_H
#define L4_MASK_H

#include "utils/palloc.h"

typedef struct L4Masks L4Masks;

/* One replacement: its bytes in the masked text, what it stood for in the line, and whose it is. */
typedef struct L4MaskSpan
{
	int			off;
	int			len;
	int			src_off;
	int			src_len;
	int			mask;			/* index of the mask */
} L4MaskSpan;

/*
 * Compile n masks; names and patterns are NUL-terminated and copied. With
 * python, \d \w \s \b take in Unicode as Python's re does (for Drain3's
 * results). A pattern that does not compile is an error with the mask's name
 * as context.
 */
extern L4Masks *l4_masks_create(int n, const char *const *names, const char *const *patterns,
								bool python, MemoryContext cxt);
extern int	l4_masks_count(const L4Masks *masks);
extern const char *l4_masks_name(const L4Masks *masks, int i);

/*
 * Replace every match of every mask, in order, by "<NAME>". The result is not
 * NUL-terminated and valid until the next call; it is the line itself when
 * nothing matched. A mask that gives up at a limit leaves the line as it was
 * before this mask; the first time raises a NOTICE.
 */
extern const char *l4_masks_apply(L4Masks *masks, const char *line, int len, int *masked_len);

/* What the last l4_masks_apply replaced, by position, without overlap. */
extern int	l4_masks_spans(L4Masks *masks, const L4MaskSpan **spans);

#endif							/* L4_MASK_H */
