-- Isolation forest over event vectors.

CREATE TYPE l4.iforest;

CREATE FUNCTION l4.iforest_in(cstring) RETURNS l4.iforest
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_in';
CREATE FUNCTION l4.iforest_out(l4.iforest) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_out';
CREATE FUNCTION l4.iforest_recv(internal) RETURNS l4.iforest
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_recv';
CREATE FUNCTION l4.iforest_send(l4.iforest) RETURNS bytea
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteasend';

--: a trained isolation forest
CREATE TYPE l4.iforest (
    INPUT = l4.iforest_in, OUTPUT = l4.iforest_out, RECEIVE = l4.iforest_recv, SEND = l4.iforest_send,
    INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);

--: anomaly score in (0, 1]: well above 0.5 is unlike the training set
CREATE FUNCTION l4.iforest_score(forest l4.iforest, vector l4.event_vector) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_iforest_score_sql';
--: what each event adds to log2 of the score, the greatest first
CREATE FUNCTION l4.iforest_explain(forest l4.iforest, vector l4.event_vector, OUT event_id int, OUT contribution float8)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200 ROWS 100 AS 'MODULE_PATHNAME', 'l4_iforest_explain_rows';
--: what log2 of a score is without any contribution of iforest_explain
CREATE FUNCTION l4.iforest_base(forest l4.iforest) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_iforest_base_sql';
--: trees, sample_size, seed, rows, events and nodes of a forest
CREATE FUNCTION l4.iforest_info(forest l4.iforest) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_iforest_info';

-- SSPACE: some thousand vectors of a hundred events.

CREATE FUNCTION l4._iforest_accum(internal, l4.event_vector) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_accum';
CREATE FUNCTION l4._iforest_accum(internal, l4.event_vector, jsonb) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_accum';
CREATE FUNCTION l4._iforest_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_combine';
CREATE FUNCTION l4._iforest_serialize(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_serialize';
CREATE FUNCTION l4._iforest_deserialize(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_deserialize';
CREATE FUNCTION l4._iforest_final(internal) RETURNS l4.iforest
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iforest_final';

--: trains an isolation forest: 100 trees, samples of 256, seed 0
CREATE AGGREGATE l4.iforest_train(vector l4.event_vector) (
    SFUNC = l4._iforest_accum, STYPE = internal, SSPACE = 1000000, FINALFUNC = l4._iforest_final,
    COMBINEFUNC = l4._iforest_combine, SERIALFUNC = l4._iforest_serialize,
    DESERIALFUNC = l4._iforest_deserialize, PARALLEL = SAFE
);
--: trains an isolation forest; options: trees, sample_size, seed
CREATE AGGREGATE l4.iforest_train(vector l4.event_vector, options jsonb) (
    SFUNC = l4._iforest_accum, STYPE = internal, SSPACE = 1000000, FINALFUNC = l4._iforest_final,
    COMBINEFUNC = l4._iforest_combine, SERIALFUNC = l4._iforest_serialize,
    DESERIALFUNC = l4._iforest_deserialize, PARALLEL = SAFE
);
