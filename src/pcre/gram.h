/*
 * gram.h
 *		Some bytes in a row as one number, letters of both cases alike.
 */
#ifndef L4_GRAM_H
#define L4_GRAM_H

/* Bytes are taken with this bit set; some that are no letters become equal as well. */
#define FOLD4 0x20202020

/* The bytes of a word, as it is in memory, that belong to a gram of this size. */
static inline uint32
gram_mask(int size)
{
#ifdef WORDS_BIGENDIAN
	return PG_UINT32_MAX << (8 * (4 - size));
#else
	return PG_UINT32_MAX >> (8 * (4 - size));
#endif
}

/* A gram of up to four bytes; there must be four. */
static inline uint32
read_gram(const unsigned char *p, int size)
{
	uint32		gram;

	memcpy(&gram, p, 4);
	return (gram | FOLD4) & gram_mask(size);
}

/* The same where there may be fewer. */
static inline uint32
read_short_gram(const unsigned char *p, int size)
{
	unsigned char bytes[4] = {0};

	memcpy(bytes, p, size);
	return read_gram(bytes, size);
}

#endif							/* L4_GRAM_H */
