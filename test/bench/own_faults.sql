-- A library with thousands of own faults: importing them, matching a job with them, trying a pattern on all jobs.
-- psql -d DATABASE -f test/bench/own_faults.sql     (a database with diagnosed jobs; everything is rolled back)
SET client_min_messages = warning;
BEGIN;
SELECT d.job_id FROM l4.diagnosis d WHERE EXISTS (SELECT FROM l4.suspect_event e WHERE e.job_id = d.job_id)
    ORDER BY 1 LIMIT 1 \gset
\timing on
\echo match_faults with the shipped faults, the second time with what the first one kept
SELECT count(*) FROM l4.match_faults(:'job_id');
SELECT count(*) FROM l4.match_faults(:'job_id');
\echo importing 2,000 faults, each checked against the successful jobs
SELECT action, count(*) FROM l4.import_faults((
    SELECT jsonb_agg(jsonb_build_object('name', 'imported_' || i, 'category', 'user', 'component', 'program',
        'root_cause', 'c', 'remedy', 'r',
        'signature', format((ARRAY['subsystem%s: device \d+ reports status 0x',
            'worker pool %s stopped after \d+ retries', '(?:fatal|error): module m%s returned',
            'cache_%s: lost lease of segment', 'driver %s: ring \w+ timeout'])[1 + i % 5], i)))
    FROM generate_series(1, 2000) i)) GROUP BY 1;
\timing off
INSERT INTO l4.fault (name, category, component, root_cause, remedy, signature, templates, origin)
SELECT 'confirmed_' || i, 'user', 'program', 'c', 'r', format('unit%s: line \d+ reports status 0x', i)::l4.pcre,
    ARRAY[format('unit%s: line <*> reports status <*>', i)], 'confirmed'
FROM generate_series(1, 1000) i;
\timing on
\echo match_faults with 3,000 more, 1,000 of them with a template: anew, and with what that kept
SELECT count(*) FROM l4.match_faults(:'job_id');
SELECT count(*) FROM l4.match_faults(:'job_id');
\echo test_fault over all jobs, by signature and by template
SELECT count(*) FROM l4.test_fault('Connection (?:closed|reset) by peer');
SELECT count(*) FROM l4.test_fault(templates => ARRAY['RuntimeError: <*> Connection closed by peer <*>']);
\timing off
ROLLBACK;
