/*
 * patternset.h
 *		A set of patterns, one bit for each.
 */
#ifndef L4_PATTERNSET_H
#define L4_PATTERNSET_H

#define L4_PATTERNSET_WORDS(n) (((n) + 63) / 64)

static inline void
l4_patternset_add(uint64 *set, int pattern)
{
	set[pattern >> 6] |= UINT64CONST(1) << (pattern & 63);
}

static inline void
l4_patternset_remove(uint64 *set, int pattern)
{
	set[pattern >> 6] &= ~(UINT64CONST(1) << (pattern & 63));
}

static inline bool
l4_patternset_has(const uint64 *set, int pattern)
{
	return (set[pattern >> 6] >> (pattern & 63)) & 1;
}

#endif							/* L4_PATTERNSET_H */
