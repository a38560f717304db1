-- Dynamic time warping.

CREATE FUNCTION l4.dtw_distance(a int[], b int[], band int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_dtw_distance';
COMMENT ON FUNCTION l4.dtw_distance(int[], int[], int) IS 'dynamic time warping distance of two event sequences: 0 or 1 a step';
CREATE FUNCTION l4.dtw_distance_numeric(a float8[], b float8[], band int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_dtw_distance_numeric';
COMMENT ON FUNCTION l4.dtw_distance_numeric(float8[], float8[], int) IS 'dynamic time warping distance of two series of numbers: the absolute difference a step';
CREATE FUNCTION l4.dtw_path(a int[], b int[], band int DEFAULT NULL, OUT i int, OUT j int, OUT cost float8) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 100 AS 'MODULE_PATHNAME', 'l4_dtw_path_rows';
COMMENT ON FUNCTION l4.dtw_path(int[], int[], int) IS 'a cheapest warping path of two event sequences: pairs of positions, and what each costs';

-- For the workflow: how far each iteration is from the ones before it.

CREATE FUNCTION l4._dtw_deviation_accum(internal, int[], int) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_dtw_deviation_accum';
COMMENT ON FUNCTION l4._dtw_deviation_accum(internal, int[], int) IS 'transition of _dtw_deviation';
CREATE FUNCTION l4._dtw_deviation_final(internal) RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_dtw_deviation_final';
COMMENT ON FUNCTION l4._dtw_deviation_final(internal) IS 'result of _dtw_deviation';
CREATE AGGREGATE l4._dtw_deviation(events int[], window_size int) (
	SFUNC = l4._dtw_deviation_accum, STYPE = internal, SSPACE = 10000, FINALFUNC = l4._dtw_deviation_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE l4._dtw_deviation(int[], int) IS 'mean warping distance of each sequence to the window_size ones before it, in the order of rows: use ORDER BY';
