-- Who may read the lines: workers, or the leader alone; the outcome is the same.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SET max_parallel_workers_per_gather = 2;
-- a plan that is forced to be parallel is none that workers may run
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
CREATE SCHEMA ingest_workers;
SET search_path = ingest_workers;
CREATE TABLE lines (job_id text, node text, source text, line_no bigint, line text, PRIMARY KEY (job_id, node, source, line_no));
INSERT INTO lines SELECT 'plain', 'n' || n, '', i, CASE WHEN i % 3 = 0 THEN 'connection ' || i || ' to 10.0.0.' || n || ' is lost' ELSE 'iteration ' || i || ' done in ' || n || ' ms' END
FROM generate_series(1, 6) n, generate_series(1, 2800) i;
CREATE TABLE parts (LIKE lines) PARTITION BY LIST (node);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN ('n1', 'n2', 'n3');
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
CREATE INDEX ON parts (job_id, node, source, line_no);
INSERT INTO parts SELECT 'parts', node, source, line_no, line FROM lines;
CREATE MATERIALIZED VIEW mat AS SELECT 'mat'::text AS job_id, node, source, line_no, line FROM lines;
CREATE INDEX ON mat (job_id, node, source, line_no);
CREATE TEMP TABLE temporary AS SELECT 'temporary'::text AS job_id, node, source, line_no, line FROM lines;
CREATE INDEX ON pg_temp.temporary (job_id, node, source, line_no);
CREATE VIEW seen AS SELECT 'seen'::text AS job_id, node, source, line_no, line FROM lines;
CREATE FUNCTION unsafe(line text) RETURNS text LANGUAGE sql PARALLEL UNSAFE AS 'SELECT $1';
CREATE VIEW with_function AS SELECT 'with_function'::text AS job_id, node, source, line_no, unsafe(line) AS line FROM lines;
-- a policy may forbid it, or may not
CREATE TABLE guarded (LIKE lines INCLUDING ALL);
INSERT INTO guarded SELECT 'guarded', node, source, line_no, line FROM lines;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION is_allowed(node text) RETURNS bool LANGUAGE plpgsql PARALLEL UNSAFE AS 'BEGIN RETURN node <> ''n6''; END';
CREATE POLICY nodes ON guarded USING (is_allowed(node));
CREATE ROLE regress_l4_lines;
GRANT USAGE ON SCHEMA ingest_workers TO regress_l4_lines;
GRANT SELECT ON guarded TO regress_l4_lines;
SELECT l4.grant_access('regress_l4_lines', 'ingester') \g /dev/null
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ingest_workers TO regress_l4_lines;
SET ROLE regress_l4_lines;
CALL l4.ingest('guarded');
RESET ROLE;
SELECT node, count(*) FROM l4.event_line WHERE job_id = 'guarded' GROUP BY 1 ORDER BY 1;
SELECT l4.forget_job('guarded');
ALTER FUNCTION is_allowed(text) PARALLEL SAFE;
SET ROLE regress_l4_lines;
CALL l4.ingest('guarded');
RESET ROLE;
SELECT node, count(*) FROM l4.event_line WHERE job_id = 'guarded' GROUP BY 1 ORDER BY 1;
-- all of them give the same
CALL l4.ingest('lines');
CALL l4.ingest('parts');
CALL l4.ingest('mat');
CALL l4.ingest('pg_temp.temporary');
CALL l4.ingest('seen');
CALL l4.ingest('with_function');
CREATE VIEW read AS
SELECT job_id, node, line_no, event_id, iteration FROM l4.event_line WHERE job_id IN ('plain', 'parts', 'mat', 'temporary', 'seen', 'with_function');
SELECT job_id, count(*) FROM read GROUP BY job_id ORDER BY job_id;
-- the first rows of each that differ
SELECT d.* FROM (SELECT DISTINCT job_id FROM read) AS j
CROSS JOIN LATERAL (
    SELECT j.job_id, p AS plain, o AS other
    FROM (SELECT * FROM read WHERE job_id = 'plain') AS p FULL JOIN (SELECT * FROM read AS r WHERE r.job_id = j.job_id) AS o USING (node, line_no)
    WHERE to_jsonb(p) - 'job_id' IS DISTINCT FROM to_jsonb(o) - 'job_id'
    ORDER BY node, line_no LIMIT 3) AS d
ORDER BY d.job_id, d.plain, d.other;
-- lines that are NULL, very long, or stored out of line
CREATE TABLE stored_apart (LIKE lines INCLUDING ALL);
ALTER TABLE stored_apart ALTER line SET STORAGE EXTERNAL;
INSERT INTO stored_apart (job_id, node, source, line_no, line) SELECT 'apart', 'n', '', i, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 5 = 0 THEN repeat('x' || i || ' ', 3000) ELSE 'short ' || i END FROM generate_series(1, 100) i;
CALL l4.ingest('stored_apart');
SELECT sum(lines) FROM l4._stream WHERE job_id = 'apart';
-- what goes wrong in a worker is said as it is
CREATE FUNCTION refuses(line text) RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
    IF line = 'connection 2799 to 10.0.0.5 is lost' THEN
        RAISE EXCEPTION 'line % is refused', line USING ERRCODE = '22012', DETAIL = 'Of no use.', HINT = 'Leave it out.';
    END IF;
    RETURN true;
END
$$;
CREATE POLICY lines ON guarded AS RESTRICTIVE USING (refuses(line));
SELECT l4.forget_job('guarded');
SET ROLE regress_l4_lines;
DO $$
DECLARE
    hint text;
    detail text;
BEGIN
    CALL l4.ingest('guarded', commit => false);
EXCEPTION WHEN division_by_zero THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
    RAISE WARNING 'caught: % % %', SQLERRM, detail, hint;
END
$$;
RESET ROLE;
-- no workers, none that can be had
DROP POLICY lines ON guarded;
SET max_parallel_workers = 0;
SET ROLE regress_l4_lines;
CALL l4.ingest('guarded');
RESET ROLE;
SELECT node, count(*) FROM l4.event_line WHERE job_id = 'guarded' GROUP BY 1 ORDER BY 1;
SELECT l4.forget_job(j) FROM unnest(ARRAY['plain', 'guarded', 'parts', 'mat', 'temporary', 'seen', 'with_function', 'apart']) j;
DROP TABLE pg_temp.temporary;
DROP SCHEMA ingest_workers CASCADE;
DROP OWNED BY regress_l4_lines;
DROP ROLE regress_l4_lines;
