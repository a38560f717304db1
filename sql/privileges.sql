-- Who may do what: PUBLIC the toolkit, a reader, an ingester and a curator as docs/reference/rights.md grants it.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS l4;
CREATE ROLE regress_l4_reader NOLOGIN;
CREATE ROLE regress_l4_ingester NOLOGIN IN ROLE regress_l4_reader;
CREATE ROLE regress_l4_curator NOLOGIN IN ROLE regress_l4_reader;
CREATE ROLE regress_l4_nobody NOLOGIN;
\pset format unaligned
\pset tuples_only on
SELECT l4.grant_access('regress_l4_reader', 'reader'), l4.grant_access('regress_l4_ingester', 'ingester'),
    l4.grant_access('regress_l4_curator', 'curator');
SELECT l4.grant_access('regress_l4_reader', 'owner');
SELECT l4.grant_access('regress_l4_missing', 'reader');
-- who may call what: the functions that PUBLIC may not, and none that PUBLIC may writes but those that check for themselves
SELECT p.oid::regprocedure, has_function_privilege('regress_l4_reader', p.oid, 'EXECUTE') AS reader,
    has_function_privilege('regress_l4_ingester', p.oid, 'EXECUTE') AS ingester,
    has_function_privilege('regress_l4_curator', p.oid, 'EXECUTE') AS curator
FROM pg_proc AS p
WHERE p.pronamespace = 'l4'::regnamespace AND NOT has_function_privilege('regress_l4_nobody', p.oid, 'EXECUTE')
ORDER BY p.proname COLLATE "C";
SELECT p.oid::regprocedure AS public_and_volatile
FROM pg_proc AS p
WHERE p.pronamespace = 'l4'::regnamespace AND p.provolatile = 'v' AND p.prorettype <> 'trigger'::regtype
    AND has_function_privilege('regress_l4_nobody', p.oid, 'EXECUTE')
ORDER BY p.proname COLLATE "C";
\pset format aligned
\pset tuples_only off
CREATE SCHEMA regress_logs;
GRANT CREATE, USAGE ON SCHEMA regress_logs TO regress_l4_ingester;

-- nobody in particular: the toolkit, but no table, and nothing can be planted in the schema
SET ROLE regress_l4_nobody;
SELECT l4.dtw_distance(ARRAY[1, 2, 3], ARRAY[1, 3], 3) AS distance;
SELECT l4.mask('took 35 ms') AS masked;
SELECT count(*) FROM l4.job;
SELECT count(*) FROM l4.event_count;
SELECT l4.report('p-1');
SELECT l4.export_job('p-1');
SELECT l4.confirm_fault('p-1', name => 'x', root_cause => 'x', remedy => 'x');
CREATE FUNCTION l4.planted() RETURNS int LANGUAGE sql RETURN 1;
RESET ROLE;

-- an ingester: its own log table, jobs, ingest, diagnose, forget; no faults, no rules
SET ROLE regress_l4_ingester;
SET search_path = regress_logs;
SELECT l4.create_log_table('p_logs');
INSERT INTO p_logs (job_id, node, source, rank, line_no, ts, line)
SELECT job, 'n' || n, '', n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    CASE WHEN job = 'p-1' AND i > 40 THEN CASE WHEN n = 2 THEN 'FATAL: the disk of this node is gone' ELSE 'ERROR: waiting for rank 2 timed out' END
         ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END
FROM unnest(ARRAY['p-0', 'p-1']) AS job, generate_series(0, 3) AS n, generate_series(1, 60) AS i WHERE job = 'p-0' OR i <= 41;
INSERT INTO l4.job (job_id, settings, status) VALUES ('p-0', 'p', 'succeeded'), ('p-1', 'p', 'failed');
CALL l4.ingest('p_logs');
SELECT symptom FROM l4.diagnose('p-1');
SELECT * FROM l4.import_job(ARRAY(SELECT l4.export_job('p-1')));
SELECT l4.import_model(ARRAY(SELECT l4.export_model()));
INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('planted', 'eval', 'x', 1);
SELECT l4.confirm_fault('p-1', name => 'x', root_cause => 'x', remedy => 'x');
RESET ROLE;

-- a reader: everything, changing nothing
SET ROLE regress_l4_reader;
SELECT count(*) > 10 AS has_lines FROM l4.report('p-1');
SELECT length(l4.report_html('p-1')) > 1000 AS has_page;
SELECT count(*) > 0 AS has_rows FROM l4.compare('p-1');
SELECT count(*) > 0 AS has_rows FROM l4.event_line WHERE job_id = 'p-1';
SELECT count(*) > 0 AS has_rows FROM l4.fault;
SELECT l4.diagnose('p-1');
CALL l4.ingest('regress_logs.p_logs');
DELETE FROM l4.job;
UPDATE l4.fault SET remedy = 'nothing';
SELECT l4.forget_job('p-1');
SELECT count(*) > 0 AS has_rows FROM l4.export_job('p-1');
SELECT l4.import_job(ARRAY(SELECT l4.export_job('p-1')));
SELECT l4.import_faults('[{"name": "p_planted", "category": "hardware", "component": "storage", "signature": "disk of this node", "root_cause": "x", "remedy": "x"}]');
RESET ROLE;

-- a curator: faults and rules, no jobs
SET ROLE regress_l4_curator;
SELECT l4.confirm_fault('p-1', name => 'p_disk_gone', root_cause => 'disk', remedy => 'replace it') >= 1000000 AS archived;
INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('p_rule', 'eval', '^p evaluation', 1);
DELETE FROM l4.stage_rule WHERE name = 'p_rule';
DELETE FROM l4.fault WHERE name = 'p_disk_gone';
SELECT l4.diagnose('p-1');
RESET ROLE;

-- row security of the logs holds for who reads them, and who sees more reads the rest; a view shows all of it to whom it was granted
CREATE TABLE regress_logs.part AS SELECT 'p-2' AS job_id, 'n' || n AS node, i AS line_no, 'step ' || i AS line FROM generate_series(1, 2) AS n, generate_series(1, 3) AS i;
ALTER TABLE regress_logs.part ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_node ON regress_logs.part TO regress_l4_ingester USING (node = 'n1');
GRANT SELECT ON regress_logs.part TO regress_l4_ingester;
SET ROLE regress_l4_ingester;
CALL l4.ingest('part');
RESET ROLE;
GRANT SELECT ON l4.event_line TO regress_l4_nobody;
SET ROLE regress_l4_nobody;
SELECT node, line_no FROM l4.event_line WHERE job_id = 'p-2' ORDER BY 1, 2;
SELECT count(*) FROM l4._stream;
RESET ROLE;
CALL l4.ingest('regress_logs.part');
SELECT node, count(*) FROM l4.event_line WHERE job_id = 'p-2' GROUP BY 1 ORDER BY 1;

SET ROLE regress_l4_ingester;
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id IN ('p-0', 'p-1', 'p-2') ORDER BY job_id;
RESET ROLE;
RESET search_path;
DROP SCHEMA regress_logs CASCADE;
DROP OWNED BY regress_l4_reader, regress_l4_ingester, regress_l4_curator, regress_l4_nobody;
DROP ROLE regress_l4_nobody, regress_l4_curator, regress_l4_ingester, regress_l4_reader;
