/*
 * rng.h
 *		Random numbers that are the same on every platform and in every server
 *		version: xoshiro256** by Blackman and Vigna, seeded by splitmix64. The
 *		generators of the server promise neither.
 */
#ifndef L4_RNG_H
#define L4_RNG_H

typedef struct L4Rng
{
	uint64		s[4];
} L4Rng;

/* One step of splitmix64; also a good 64-bit mixer. */
static inline uint64
l4_splitmix64(uint64 *state)
{
	uint64		z = (*state += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/*
 * Seed a generator. stream tells apart the generators of one run (one per
 * tree, say), so that none depends on how much another one consumed.
 */
static inline void
l4_rng_seed(L4Rng *rng, uint64 seed, uint64 stream)
{
	uint64		state = seed;

	state = l4_splitmix64(&state) ^ stream;
	for (int i = 0; i < 4; i++)
		rng->s[i] = l4_splitmix64(&state);
}

static inline uint64
l4_rng_next(L4Rng *rng)
{
	uint64	   *s = rng->s;
	uint64		result = s[1] * 5;
	uint64		t = s[1] << 17;

	result = ((result << 7) | (result >> 57)) * 9;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Uniform in 0 … bound - 1, exactly; bound must not be 0. */
static inline uint64
l4_rng_below(L4Rng *rng, uint64 bound)
{
	uint64		mask = bound - 1;
	uint64		value;

	mask |= mask >> 1;
	mask |= mask >> 2;
	mask |= mask >> 4;
	mask |= mask >> 8;
	mask |= mask >> 16;
	mask |= mask >> 32;
	/* the high bits are the better ones */
	do
	{
		value = (l4_rng_next(rng) >> 8) & mask;
		if (mask >> 56)
			value = l4_rng_next(rng) & mask;
	} while (value >= bound);
	return value;
}

#endif							/* L4_RNG_H */
