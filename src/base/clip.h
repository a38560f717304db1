/*
 * clip.h
 *		The beginning of a text.
 */
#ifndef L4_CLIP_H
#define L4_CLIP_H

#include "mb/pg_wchar.h"

/* Bytes of text that fit in max without cutting a character. */
static inline int
l4_clip(const char *text, int len, int max)
{
	return len <= max ? len : pg_mbcliplen(text, len, max);
}

#endif							/* L4_CLIP_H */
