-- Dynamic time warping.

--: dynamic time warping distance of two event sequences: 0 or 1 a step
CREATE FUNCTION l4.dtw_distance(a int[], b int[], band int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_dtw_distance';
--: dynamic time warping distance of two series of numbers: the absolute difference a step
CREATE FUNCTION l4.dtw_distance_numeric(a float8[], b float8[], band int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_dtw_distance_numeric';
--: a cheapest warping path of two event sequences: pairs of positions, and what each costs
CREATE FUNCTION l4.dtw_path(a int[], b int[], band int DEFAULT NULL, OUT i int, OUT j int, OUT cost float8)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 100 AS 'MODULE_PATHNAME', 'l4_dtw_path_rows';
