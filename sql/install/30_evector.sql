-- Event vectors: how often each event occurred.

CREATE TYPE l4.event_vector;

CREATE FUNCTION l4.event_vector_in(cstring) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_in';
CREATE FUNCTION l4.event_vector_out(l4.event_vector) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_out';
CREATE FUNCTION l4.event_vector_recv(internal) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_recv';
CREATE FUNCTION l4.event_vector_send(l4.event_vector) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_send';

-- Vectors are read whole and often: up to a page they stay in the row, where reading them costs half.
--: how often each event occurred: {event_id:count, ...}, sparse
CREATE TYPE l4.event_vector (
    INPUT = l4.event_vector_in, OUTPUT = l4.event_vector_out,
    RECEIVE = l4.event_vector_recv, SEND = l4.event_vector_send,
    INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = main
);

--: event vector of these events and their counts
CREATE FUNCTION l4.event_vector(event_ids int[], counts bigint[]) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_from_arrays';

--: event vector of a JSON object: event ids as keys, counts as values
CREATE FUNCTION l4.event_vector(jsonb) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_from_jsonb';
--: event vector as a JSON object: event ids as keys, counts as values
CREATE FUNCTION l4.event_vector_to_jsonb(l4.event_vector) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_to_jsonb';
CREATE CAST (jsonb AS l4.event_vector) WITH FUNCTION l4.event_vector(jsonb);
CREATE CAST (l4.event_vector AS jsonb) WITH FUNCTION l4.event_vector_to_jsonb(l4.event_vector);

--: events of a vector and how often each occurred, by event id
CREATE FUNCTION l4.event_vector_each(vector l4.event_vector, OUT event_id int, OUT n bigint) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 100 AS 'MODULE_PATHNAME', 'l4_event_vector_each';
--: how often an event occurred, 0 if it is not in the vector
CREATE FUNCTION l4.event_vector_get(vector l4.event_vector, event_id int) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_get';

-- Arithmetic and distances.

CREATE FUNCTION l4.event_vector_add(l4.event_vector, l4.event_vector) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_add';
CREATE OPERATOR l4.+ (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_add, COMMUTATOR = OPERATOR(l4.+)
);
COMMENT ON OPERATOR l4.+ (l4.event_vector, l4.event_vector) IS 'add the counts of each event';

--: Euclidean distance of two event vectors
CREATE FUNCTION l4.l2_distance(l4.event_vector, l4.event_vector) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_l2_distance';
--: sum of the absolute differences of the counts of two event vectors
CREATE FUNCTION l4.l1_distance(l4.event_vector, l4.event_vector) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_l1_distance';
--: one minus the cosine of the angle between two event vectors
CREATE FUNCTION l4.cosine_distance(l4.event_vector, l4.event_vector) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_cosine_distance';
CREATE OPERATOR l4.<-> (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.l2_distance, COMMUTATOR = OPERATOR(l4.<->)
);
COMMENT ON OPERATOR l4.<-> (l4.event_vector, l4.event_vector) IS 'Euclidean distance';
CREATE OPERATOR l4.<+> (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.l1_distance, COMMUTATOR = OPERATOR(l4.<+>)
);
COMMENT ON OPERATOR l4.<+> (l4.event_vector, l4.event_vector) IS 'sum of absolute differences';
CREATE OPERATOR l4.<=> (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.cosine_distance, COMMUTATOR = OPERATOR(l4.<=>)
);
COMMENT ON OPERATOR l4.<=> (l4.event_vector, l4.event_vector) IS 'cosine distance';

-- Order and equality, for grouping, sorting and DISTINCT.

-- each vector has one encoding, so equality is that of bytes
CREATE FUNCTION l4.event_vector_eq(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteaeq';
CREATE FUNCTION l4.event_vector_ne(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteane';
CREATE FUNCTION l4.event_vector_lt(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytealt';
CREATE FUNCTION l4.event_vector_le(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteale';
CREATE FUNCTION l4.event_vector_gt(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteagt';
CREATE FUNCTION l4.event_vector_ge(l4.event_vector, l4.event_vector) RETURNS bool
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteage';
CREATE FUNCTION l4.event_vector_cmp(l4.event_vector, l4.event_vector) RETURNS int
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
CREATE FUNCTION l4.event_vector_hash(l4.event_vector) RETURNS int
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlena';
CREATE FUNCTION l4.event_vector_hash_extended(l4.event_vector, bigint) RETURNS bigint
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlenaextended';

CREATE OPERATOR l4.= (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_eq,
    COMMUTATOR = OPERATOR(l4.=), NEGATOR = OPERATOR(l4.<>), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR l4.= (l4.event_vector, l4.event_vector) IS 'equal';
CREATE OPERATOR l4.<> (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_ne,
    COMMUTATOR = OPERATOR(l4.<>), NEGATOR = OPERATOR(l4.=), RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR l4.<> (l4.event_vector, l4.event_vector) IS 'not equal';
CREATE OPERATOR l4.< (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_lt,
    COMMUTATOR = OPERATOR(l4.>), NEGATOR = OPERATOR(l4.>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR l4.< (l4.event_vector, l4.event_vector) IS 'before, in the order of stored bytes';
CREATE OPERATOR l4.<= (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_le,
    COMMUTATOR = OPERATOR(l4.>=), NEGATOR = OPERATOR(l4.>), RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR l4.<= (l4.event_vector, l4.event_vector) IS 'before or equal, in the order of stored bytes';
CREATE OPERATOR l4.> (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_gt,
    COMMUTATOR = OPERATOR(l4.<), NEGATOR = OPERATOR(l4.<=), RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR l4.> (l4.event_vector, l4.event_vector) IS 'after, in the order of stored bytes';
CREATE OPERATOR l4.>= (
    LEFTARG = l4.event_vector, RIGHTARG = l4.event_vector, FUNCTION = l4.event_vector_ge,
    COMMUTATOR = OPERATOR(l4.<=), NEGATOR = OPERATOR(l4.<), RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR l4.>= (l4.event_vector, l4.event_vector) IS 'after or equal, in the order of stored bytes';

CREATE OPERATOR CLASS l4.event_vector_ops DEFAULT FOR TYPE l4.event_vector USING btree AS
    OPERATOR 1 l4.<, OPERATOR 2 l4.<=, OPERATOR 3 l4.=, OPERATOR 4 l4.>=, OPERATOR 5 l4.>,
    FUNCTION 1 l4.event_vector_cmp(l4.event_vector, l4.event_vector);
COMMENT ON OPERATOR CLASS l4.event_vector_ops USING btree IS 'sorting and grouping of event vectors';
CREATE OPERATOR CLASS l4.event_vector_ops DEFAULT FOR TYPE l4.event_vector USING hash AS
    OPERATOR 1 l4.=,
    FUNCTION 1 l4.event_vector_hash(l4.event_vector),
    FUNCTION 2 l4.event_vector_hash_extended(l4.event_vector, bigint);
COMMENT ON OPERATOR CLASS l4.event_vector_ops USING hash IS 'hashing of event vectors';

-- Aggregates. SSPACE: measured for some 50 events.

CREATE FUNCTION l4._event_vector_accum(l4.event_vector, int) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_accum';
CREATE FUNCTION l4._event_vector_accum(l4.event_vector, int, bigint) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_accum';
CREATE FUNCTION l4._event_vector_combine(l4.event_vector, l4.event_vector) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_combine';
CREATE FUNCTION l4._event_vector_final(l4.event_vector) RETURNS l4.event_vector
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_event_vector_final';

--: counts how often each event occurs
CREATE AGGREGATE l4.event_vector_agg(event_id int) (
    SFUNC = l4._event_vector_accum, STYPE = l4.event_vector, SSPACE = 3000,
    FINALFUNC = l4._event_vector_final, COMBINEFUNC = l4._event_vector_combine, PARALLEL = SAFE
);
--: adds up the occurrences of each event
CREATE AGGREGATE l4.event_vector_agg(event_id int, n bigint) (
    SFUNC = l4._event_vector_accum, STYPE = l4.event_vector, SSPACE = 3000,
    FINALFUNC = l4._event_vector_final, COMBINEFUNC = l4._event_vector_combine, PARALLEL = SAFE
);
--: adds up event vectors
CREATE AGGREGATE l4.event_vector_sum(vector l4.event_vector) (
    SFUNC = l4._event_vector_combine, STYPE = l4.event_vector, SSPACE = 3000,
    FINALFUNC = l4._event_vector_final, COMBINEFUNC = l4._event_vector_combine, PARALLEL = SAFE
);
