/*
 * args.h
 *		Entries of the library: checks of arguments that all share, so that the
 *		same fault always reads the same, and the making of results.
 */
#ifndef L4_ARGS_H
#define L4_ARGS_H

#include "fmgr.h"
#include "utils/array.h"
#include "utils/jsonb.h"

/* A function that SQL calls. */
#define L4_FUNCTION(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS)

/* An array must be one-dimensional (or empty), without NULL; its length. name is the argument as the user knows it. */
extern int	l4_check_array(ArrayType *array, const char *name);

/* The same; the result points into the array, *n is its length. */
extern const int32 *l4_check_int4_array(ArrayType *array, const char *name, int *n);
extern const int64 *l4_check_int8_array(ArrayType *array, const char *name, int *n);

/* The same for float8, where every element must also be finite. */
extern const float8 *l4_check_float8_array(ArrayType *array, const char *name, int *n);

/* Arrays that go together. */
extern void l4_check_same_length(int n, const char *name, int other, const char *other_name);

/* Results: an array of a type, of integers; a row of the type that the function returns. */
extern Datum l4_array(Datum *elements, int n, Oid type);
extern Datum l4_int4_array(const int32 *values, int n);
extern Datum l4_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/* The context of the state of the aggregate whose support function is called. */
extern MemoryContext l4_aggregate_context(FunctionCallInfo fcinfo);

/* An integer argument that must lie between min and max. */
extern void l4_check_range(int64 value, const char *name, int64 min, int64 max);

/*
 * Options: one jsonb object, each key one row of a table like this. An
 * unknown key, a value of the wrong type or out of range is an error. The
 * value is left alone when the option is not given.
 */
typedef enum L4OptionType
{
	L4_OPTION_INT,				/* int64 * */
	L4_OPTION_FLOAT,			/* double * */
	L4_OPTION_BOOL,				/* bool * */
	L4_OPTION_TEXT,				/* char **, palloc'd */
	L4_OPTION_JSONB				/* Jsonb **, palloc'd: the caller checks it */
} L4OptionType;

typedef struct L4Option
{
	const char *name;
	L4OptionType type;
	double		min;			/* both inclusive, for INT and FLOAT; INT limits */
	double		max;			/* beyond 2^53 mean: the whole range of bigint */
	void	   *value;
} L4Option;

extern void l4_check_options(Jsonb *options, const L4Option *known, int nknown,
							 const char *function);

#endif							/* L4_ARGS_H */
