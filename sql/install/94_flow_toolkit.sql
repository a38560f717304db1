-- What the analysis of flows is made of, for any table.

CREATE FUNCTION l4._component_add(state internal, a text, b text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_component_add';
CREATE FUNCTION l4._component_combine(state internal, other internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_component_combine';
CREATE FUNCTION l4._component_serialize(state internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_component_serialize';
CREATE FUNCTION l4._component_deserialize(bytes bytea, state internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_component_deserialize';
CREATE FUNCTION l4._component_final(state internal) RETURNS jsonb
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_component_final';
--: connected components of a graph given by its edges: each member, and the least member of its component
CREATE AGGREGATE l4.component_agg(a text, b text) (
    SFUNC = l4._component_add, STYPE = internal, COMBINEFUNC = l4._component_combine,
    SERIALFUNC = l4._component_serialize, DESERIALFUNC = l4._component_deserialize, FINALFUNC = l4._component_final,
    PARALLEL = SAFE);

CREATE FUNCTION l4._change_points_add(state internal, value float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_change_points_add';
CREATE FUNCTION l4._change_points_add(state internal, value float8, options jsonb) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_change_points_add';
CREATE FUNCTION l4._change_points_final(state internal) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_change_points_final';
--: of each value the probability that the series changes before it (Bayesian online change points); give ORDER BY
CREATE AGGREGATE l4.change_points(value float8) (
    SFUNC = l4._change_points_add, STYPE = internal, FINALFUNC = l4._change_points_final, PARALLEL = SAFE);
--: the same with options: length (expected values between changes), lag (values to look back from)
CREATE AGGREGATE l4.change_points(value float8, options jsonb) (
    SFUNC = l4._change_points_add, STYPE = internal, FINALFUNC = l4._change_points_final, PARALLEL = SAFE);

--: number of the step, from 0, in which each record lies: records are divided at their silences
CREATE FUNCTION l4.divide_steps(start float8[], finish float8[], bytes float8[], options jsonb DEFAULT '{}')
RETURNS int[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_divide_steps';
