/*
 * shortscan.h
 *		Find some hundred short strings in a line at once, with SIMD.
 */
#ifndef L4_SHORTSCAN_H
#define L4_SHORTSCAN_H

/* Strings of one scanner: more would make too many places look like a hit. */
#define L4_SHORT_MAX 256

/* Shortest string that can be added. */
#define L4_SHORT_LEN 2

typedef struct L4ShortScan L4ShortScan;

/* Where the string with this number occurs in the line, the callback is told. */
typedef void (*L4LiteralHit) (void *arg, int number);

extern bool l4_short_available(void);	/* does this machine have what it takes? */
extern L4ShortScan *l4_short_create(void);	/* in the current context */

/* The text is not copied; in lower case when caseless. False when the scanner is full. */
extern bool l4_short_add(L4ShortScan *scan, const unsigned char *text, int len,
						 bool caseless, int number);

/* After the last string was added. */
extern void l4_short_prepare(L4ShortScan *scan);
extern void l4_short_scan(const L4ShortScan *scan, const char *line, int len,
						  L4LiteralHit hit, void *arg);

#endif							/* L4_SHORTSCAN_H */
