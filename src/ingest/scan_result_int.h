/*
 * scan_result_int.h
 *		What the two halves of a scan result's bytes share.
 */
#ifndef L4_SCAN_RESULT_INT_H
#define L4_SCAN_RESULT_INT_H

#include "ingest/scan_result.h"

extern void l4_code_shapes(L4Codec *codec, L4ResultPart *part);

#endif							/* L4_SCAN_RESULT_INT_H */
