/*
 * varint.h
 *		Unsigned integers in as few bytes as they need (LEB128: seven bits a
 *		byte, least significant first, top bit set on all but the last). The
 *		shortest form is the only valid one, so equal values have equal bytes
 *		on every platform.
 */
#ifndef L4_VARINT_H
#define L4_VARINT_H

#define L4_VARINT_MAX	10		/* bytes of the longest 64-bit value */

/*
 * Read one value. Returns the position after it, or NULL when the bytes end
 * early, the value does not fit 64 bits, or it is not in its shortest form.
 */
static inline const uint8 *
l4_varint_get(const uint8 *p, const uint8 *end, uint64 *value)
{
	uint64		v;
	int			shift;

	if (p >= end)
		return NULL;
	v = *p++;
	if (v < 0x80)
	{
		*value = v;
		return p;
	}
	v &= 0x7f;
	for (shift = 7; shift < 64; shift += 7)
	{
		uint8		b;

		if (p >= end)
			return NULL;
		b = *p++;
		if (shift == 63 && b > 1)
			return NULL;		/* more than 64 bits */
		v |= (uint64) (b & 0x7f) << shift;
		if (b < 0x80)
		{
			if (b == 0)
				return NULL;	/* not the shortest form */
			*value = v;
			return p;
		}
	}
	return NULL;
}

/* Write one value; the caller has made room for L4_VARINT_MAX bytes. */
static inline uint8 *
l4_varint_put(uint8 *p, uint64 value)
{
	while (value >= 0x80)
	{
		*p++ = (uint8) (value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8) value;
	return p;
}

/* Signed values near zero, of either sign, become small unsigned ones. */
static inline uint64
l4_zigzag(int64 value)
{
	return ((uint64) value << 1) ^ (value < 0 ? ~UINT64CONST(0) : 0);
}

static inline int64
l4_unzigzag(uint64 value)
{
	return (int64) (value >> 1) ^ -(int64) (value & 1);
}

#endif							/* L4_VARINT_H */
