-- Ranks beyond any, late lines far apart, operators of others in front of the built-in ones.
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA edges;
SET search_path = edges;
-- a rank that is none does not stop the others
CREATE TABLE ranks (job_id text, node text, line_no bigint, rank bigint, line text, PRIMARY KEY (job_id, node, line_no));
INSERT INTO ranks VALUES ('edges-1', 'n', 1, 1, 'fine'), ('edges-1', 'n', 2, 3000000000, 'too high'), ('edges-1', 'n', 3, -1, 'too low');
CALL l4.ingest('edges.ranks');
CREATE TABLE numeric_ranks AS SELECT 'edges-2' AS job_id, node, line_no, rank::numeric AS rank, line FROM ranks;
INSERT INTO numeric_ranks VALUES ('edges-2', 'n', 4, 'NaN', 'no number');
CALL l4.ingest('edges.numeric_ranks');
SELECT job_id, line_no, rank FROM l4.event_line WHERE job_id LIKE 'edges-%' ORDER BY 1, 2;
-- late lines at both ends of a gap, however wide it is, are read by one call
CREATE TABLE gaps (job_id text, node text, line_no bigint, line text, PRIMARY KEY (job_id, node, line_no));
INSERT INTO gaps VALUES ('edges-3', 'n', 0, 'a'), ('edges-3', 'n', 4611686018427387904, 'b'), ('edges-3', 'n', 9223372036854773806, 'c');
INSERT INTO gaps SELECT 'edges-4', 'n', i * 10000000, 'a' FROM generate_series(0, 1) AS i;
CALL l4.ingest('edges.gaps');
INSERT INTO gaps VALUES ('edges-3', 'n', 1, 'late'), ('edges-3', 'n', 4611686018427387903, 'late'), ('edges-3', 'n', 9223372036854773805, 'late');
INSERT INTO gaps SELECT 'edges-4', 'n', i * 999999 + 1, 'late' FROM generate_series(0, 9) AS i;
CALL l4.ingest('edges.gaps');
SELECT job_id, count(*), count(DISTINCT line_no) FROM l4.event_line WHERE job_id IN ('edges-3', 'edges-4') GROUP BY 1 ORDER BY 1;
-- every operator on types that the procedure uses, in a schema before pg_catalog: none of them runs
CREATE SCHEMA shadow;
CREATE TABLE shadow.proof (what text);
DO $$
DECLARE
    o record;
BEGIN
    FOR o IN SELECT p.oprname, p.oprleft::regtype AS l, p.oprright::regtype AS r, p.oprresult::regtype AS result, p.oprcode
             FROM pg_operator AS p
             WHERE p.oprleft <> 0 AND p.oprnamespace = 'pg_catalog'::regnamespace
               AND p.oprleft = ANY (ARRAY['int4', 'int8', 'text', 'bool', 'oid', 'name', 'numeric', 'float8', 'anyarray', 'anyelement', 'anycompatiblearray']::regtype[])
               AND p.oprright = ANY (ARRAY['int4', 'int8', 'text', 'bool', 'oid', 'name', 'numeric', 'float8', 'anyarray', 'anyelement', 'anycompatiblearray']::regtype[])
    LOOP
        EXECUTE format('CREATE FUNCTION shadow.f%s(a %s, b %s) RETURNS %s LANGUAGE plpgsql AS '
                       '$f$ BEGIN INSERT INTO shadow.proof VALUES (%L); RETURN a OPERATOR(pg_catalog.%s) b; END $f$',
                       md5(o::text), o.l, o.r, o.result, o.oprname || ' ' || o.l || ' ' || o.r, o.oprname);
        EXECUTE format('CREATE OPERATOR shadow.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = shadow.f%s)', o.oprname, o.l, o.r, md5(o::text));
    END LOOP;
END
$$;
CREATE TABLE plain (job_id text, node text, line text);
INSERT INTO plain SELECT 'edges-5', 'n', 'line ' || i FROM generate_series(1, 10) AS i;
INSERT INTO gaps VALUES ('edges-4', 'n', 77, 'later');
SET search_path = shadow, pg_catalog;
CALL l4.ingest('edges.gaps');
CALL l4.ingest('edges.plain');
SELECT DISTINCT what FROM shadow.proof;
SET search_path = edges;
SELECT count(*) FROM l4.event_line WHERE job_id IN ('edges-4', 'edges-5');
-- whatever the default isolation, a call that commits reads by transactions that see what others stored
SET default_transaction_isolation = serializable;
INSERT INTO plain SELECT 'edges-6', 'n', 'line ' || i FROM generate_series(1, 10) AS i;
CALL l4.ingest('edges.plain');
BEGIN;
CALL l4.ingest('edges.plain', commit => false);
SHOW transaction_isolation;
COMMIT;
RESET default_transaction_isolation;
-- a job that was mistyped is named, with the one that was meant
CALL l4.ingest('edges.plain', job_id => 'edge-6');
CALL l4.ingest('edges.plain', job_id => 'nothing like it');
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT l4.report('edges_6');
DROP SCHEMA shadow CASCADE;
DROP SCHEMA edges CASCADE;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'edges-%';
