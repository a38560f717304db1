-- Regular expressions (PCRE2) as values: type pcre, match and captures with limits.
CREATE TYPE l4.pcre;

CREATE FUNCTION l4.pcre_in(cstring) RETURNS l4.pcre
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_pcre_in';

CREATE FUNCTION l4.pcre_out(l4.pcre) RETURNS cstring
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE FUNCTION l4.pcre_recv(internal) RETURNS l4.pcre
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_pcre_recv';

CREATE FUNCTION l4.pcre_send(l4.pcre) RETURNS bytea
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textsend';

-- STORAGE main: a library's rows are wide, and a signature that was moved out of line is fetched for every match.
--: a regular expression (PCRE2), stored as its source
CREATE TYPE l4.pcre (
    INPUT = l4.pcre_in,
    OUTPUT = l4.pcre_out,
    RECEIVE = l4.pcre_recv,
    SEND = l4.pcre_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = main
);

--: pattern of a text; checks that it compiles
CREATE FUNCTION l4.pcre(text) RETURNS l4.pcre
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_pcre_from_text';

CREATE CAST (text AS l4.pcre) WITH FUNCTION l4.pcre(text) AS ASSIGNMENT;
CREATE CAST (l4.pcre AS text) WITHOUT FUNCTION AS ASSIGNMENT;

--: why a text is not a valid pattern, NULL when it is one
CREATE FUNCTION l4.pcre_error(pattern text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_pcre_error';

-- match
--: does the pattern match somewhere in the line; NULL, or with strict an error, when it gave up at a limit
CREATE FUNCTION l4.pcre_match(line text, pattern l4.pcre, strict boolean DEFAULT false) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'l4_pcre_match';

CREATE FUNCTION l4._pcre_match(line text, pattern l4.pcre) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'l4_pcre_match';

CREATE OPERATOR l4.=~ (
    LEFTARG = text, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_match,
    RESTRICT = pg_catalog.matchingsel, JOIN = pg_catalog.matchingjoinsel
);
COMMENT ON OPERATOR l4.=~ (text, l4.pcre) IS 'matches the regular expression (PCRE2); NULL at a limit';

--: groups of the first match by name, else by number, "0" the whole match; NULL without a match or at a limit
CREATE FUNCTION l4.pcre_captures(line text, pattern l4.pcre) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'l4_pcre_captures';

-- comparison, bytewise: a pcre has the bytes of its text, and bytea is compared as is wanted here
CREATE FUNCTION l4._pcre_cmp(l4.pcre, l4.pcre) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
CREATE FUNCTION l4._pcre_eq(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'byteaeq';
CREATE FUNCTION l4._pcre_ne(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'byteane';
CREATE FUNCTION l4._pcre_lt(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'bytealt';
CREATE FUNCTION l4._pcre_le(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'byteale';
CREATE FUNCTION l4._pcre_gt(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'byteagt';
CREATE FUNCTION l4._pcre_ge(l4.pcre, l4.pcre) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'byteage';
CREATE FUNCTION l4._pcre_hash(l4.pcre) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlena';
CREATE FUNCTION l4._pcre_hash_extended(l4.pcre, bigint) RETURNS bigint
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlenaextended';

CREATE OPERATOR l4.= (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_eq,
    COMMUTATOR = OPERATOR(l4.=), NEGATOR = OPERATOR(l4.<>),
    RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR l4.= (l4.pcre, l4.pcre) IS 'same pattern text';
CREATE OPERATOR l4.<> (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_ne,
    COMMUTATOR = OPERATOR(l4.<>), NEGATOR = OPERATOR(l4.=),
    RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel
);
COMMENT ON OPERATOR l4.<> (l4.pcre, l4.pcre) IS 'different pattern text';
CREATE OPERATOR l4.< (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_lt,
    COMMUTATOR = OPERATOR(l4.>), NEGATOR = OPERATOR(l4.>=),
    RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel
);
COMMENT ON OPERATOR l4.< (l4.pcre, l4.pcre) IS 'less, bytewise';
CREATE OPERATOR l4.<= (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_le,
    COMMUTATOR = OPERATOR(l4.>=), NEGATOR = OPERATOR(l4.>),
    RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel
);
COMMENT ON OPERATOR l4.<= (l4.pcre, l4.pcre) IS 'less or equal, bytewise';
CREATE OPERATOR l4.> (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_gt,
    COMMUTATOR = OPERATOR(l4.<), NEGATOR = OPERATOR(l4.<=),
    RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel
);
COMMENT ON OPERATOR l4.> (l4.pcre, l4.pcre) IS 'greater, bytewise';
CREATE OPERATOR l4.>= (
    LEFTARG = l4.pcre, RIGHTARG = l4.pcre, FUNCTION = l4._pcre_ge,
    COMMUTATOR = OPERATOR(l4.<=), NEGATOR = OPERATOR(l4.<),
    RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel
);
COMMENT ON OPERATOR l4.>= (l4.pcre, l4.pcre) IS 'greater or equal, bytewise';

CREATE OPERATOR CLASS l4.pcre_ops DEFAULT FOR TYPE l4.pcre USING btree AS
    OPERATOR 1 l4.<, OPERATOR 2 l4.<=, OPERATOR 3 l4.=, OPERATOR 4 l4.>=, OPERATOR 5 l4.>,
    FUNCTION 1 l4._pcre_cmp(l4.pcre, l4.pcre);
CREATE OPERATOR CLASS l4.pcre_ops DEFAULT FOR TYPE l4.pcre USING hash AS
    OPERATOR 1 l4.=,
    FUNCTION 1 l4._pcre_hash(l4.pcre),
    FUNCTION 2 l4._pcre_hash_extended(l4.pcre, bigint);

-- many patterns over a line in one pass
--: id of the first of the patterns that matches the line, NULL when none does
CREATE FUNCTION l4.pcre_first(line text, ids integer[], patterns l4.pcre[]) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'l4_pcre_first';

--: ids of all patterns that match the line, in the order given
CREATE FUNCTION l4.pcre_all(line text, ids integer[], patterns l4.pcre[]) RETURNS integer[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'l4_pcre_all';

--: the patterns that match the line (matched true) and those that gave up at a limit (matched NULL)
CREATE FUNCTION l4.pcre_scan(
    line text, ids integer[], patterns l4.pcre[], OUT id integer, OUT matched boolean
) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 ROWS 1 AS 'MODULE_PATHNAME', 'l4_pcre_scan';

-- private functions
--: subscripts of lines and of the patterns that match them; matched is NULL where a pattern gave up at a limit
CREATE FUNCTION l4._pcre_multimatch(
    patterns l4.pcre[], lines text[], OUT line integer, OUT pattern integer, OUT matched boolean
) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'l4_pcre_multimatch';
