\echo Use "CREATE EXTENSION l4" to load this file. \quit

-- The schema is made here and nowhere else: if somebody owns a schema of this name already, installing fails.
CREATE SCHEMA l4;
COMMENT ON SCHEMA l4 IS 'l4: diagnosis of failed distributed training jobs from their logs';

--: version of the loaded l4 library
CREATE FUNCTION l4.l4_version() RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_version';
