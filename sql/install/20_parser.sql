-- Template mining: type parser, its training, and what can be asked of it.
CREATE TYPE l4.parser;

CREATE FUNCTION l4.parser_in(cstring) RETURNS l4.parser
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_parser_in';

CREATE FUNCTION l4.parser_out(l4.parser) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_parser_out';

CREATE FUNCTION l4.parser_recv(internal) RETURNS l4.parser
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_parser_recv';

CREATE FUNCTION l4.parser_send(l4.parser) RETURNS bytea
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteasend';

--: a trained template miner: options, templates and what was learnt
CREATE TYPE l4.parser (
    INPUT = l4.parser_in,
    OUTPUT = l4.parser_out,
    RECEIVE = l4.parser_recv,
    SEND = l4.parser_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = extended
);

CREATE FUNCTION l4._parser_train_trans(bytea, text) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_parser_train_trans';

CREATE FUNCTION l4._parser_train_trans(bytea, text, jsonb) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_parser_train_trans';

CREATE FUNCTION l4._parser_train_combine(bytea, bytea) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_parser_train_combine';

CREATE FUNCTION l4._parser_train_final(bytea) RETURNS l4.parser
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_parser_train_final';

-- What is learnt depends on the order of the rows and on how they are cut into parts. An engine whose parts are
-- fixed, as shards are, may combine them. Parallel workers take whatever rows come next: it is not parallel safe.
--: learns templates from messages; write the order inside: parser_train(message ORDER BY key)
CREATE AGGREGATE l4.parser_train(message text) (
    SFUNC = l4._parser_train_trans,
    STYPE = bytea,
    SSPACE = 200000,
    FINALFUNC = l4._parser_train_final,
    COMBINEFUNC = l4._parser_train_combine,
    PARALLEL = RESTRICTED
);

--: learns templates from messages with options; write the order behind them: parser_train(message, options ORDER BY
--: key)
CREATE AGGREGATE l4.parser_train(message text, options jsonb) (
    SFUNC = l4._parser_train_trans,
    STYPE = bytea,
    SSPACE = 200000,
    FINALFUNC = l4._parser_train_final,
    COMBINEFUNC = l4._parser_train_combine,
    PARALLEL = RESTRICTED
);

--: event of a message, NULL if no template fits; learns nothing
CREATE FUNCTION l4.parser_match(parser l4.parser, message text) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5 AS 'MODULE_PATHNAME', 'l4_parser_match_sql';

--: the parameters of a message, in the order of its template
CREATE FUNCTION l4.parser_parameters(parser l4.parser, message text, OUT slot integer, OUT mask text, OUT value text)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 ROWS 5 AS 'MODULE_PATHNAME', 'l4_parser_parameters_sql';

--: templates of a parser; events that were merged into others are left out
CREATE FUNCTION l4.parser_templates(parser l4.parser, OUT event_id integer, OUT template text, OUT occurrences bigint)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1000 AS 'MODULE_PATHNAME', 'l4_parser_templates';

--: the line with its parameters replaced by <*> or the name of a mask
CREATE FUNCTION l4.mask(line text, options jsonb DEFAULT NULL) RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 AS 'MODULE_PATHNAME', 'l4_mask';

-- private functions
--: a parser that knows no template yet
CREATE FUNCTION l4._parser_new(options jsonb DEFAULT NULL) RETURNS l4.parser
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_parser_new';

--: options that a parser was made with
CREATE FUNCTION l4._parser_options(parser l4.parser) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_parser_options';

--: the parser without the templates of all other events; their ids are not given again
CREATE FUNCTION l4._parser_keep(parser l4.parser, event_ids int[]) RETURNS l4.parser
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'l4_parser_keep_sql';

--: a parser under other masks: it knows what it knew; the names of its masks must be among the new ones
CREATE FUNCTION l4._parser_masked(parser l4.parser, options jsonb) RETURNS l4.parser
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'l4_parser_masked';
