-- What a mistyped status or name of settings brings: the values that there are, and the nearest one.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA names;
SET search_path = names;
INSERT INTO l4.job (job_id, status) VALUES ('names-1', 'faild');
INSERT INTO l4.job (job_id, status) VALUES ('names-1', 'Succeeded');
INSERT INTO l4.job (job_id, status) VALUES ('names-1', 'over');
INSERT INTO l4.job (job_id, status) VALUES ('names-1', '');
\set VERBOSITY sqlstate
INSERT INTO l4.job (job_id, status) VALUES ('names-1', 'done');
INSERT INTO l4.job (job_id, status) VALUES ('names-1', NULL);
\set VERBOSITY default
INSERT INTO l4.job (job_id, settings, status) VALUES ('names-1', 'llama-70b, 8 nodes', 'failed');
UPDATE l4.job SET status = 'runing' WHERE job_id = 'names-1';
INSERT INTO l4.job (job_id, settings, status) VALUES ('names-1', 'llama-70b, 8 nodes', 'succeded')
ON CONFLICT (job_id) DO UPDATE SET status = excluded.status;
-- without the trigger the constraint still holds
ALTER TABLE l4.job DISABLE TRIGGER job_wrong_status;
UPDATE l4.job SET status = 'runing' WHERE job_id = 'names-1';
ALTER TABLE l4.job ENABLE TRIGGER job_wrong_status;

SELECT l4.create_log_table('logs');
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'names-' || j, 'n' || n, i, timestamptz '2026-05-01 10:00:00+00' + i * interval '1 s', CASE i WHEN 40 THEN 'RuntimeError: the link is down'
    ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s', i, i % 7) END
FROM generate_series(1, 2) AS j, generate_series(1, 3) AS n, generate_series(1, 40) AS i WHERE i < 40 OR j = 1;
CALL l4.ingest('logs');
CREATE FUNCTION said() RETURNS jsonb LANGUAGE sql AS $$SELECT (l4.diagnose('names-1')).coverage -> 'limits'$$;
UPDATE l4.job SET settings = 'Llama 70b, 8 nodes', status = 'succeeded' WHERE job_id = 'names-2';
SELECT said();
SELECT r FROM l4.report('names-1') AS r WHERE r LIKE '  seen %' OR r ~ 'did you' ORDER BY r;
-- what was said changes with what it depends on
UPDATE l4.job SET settings = 'something else' WHERE job_id = 'names-2';
SELECT said();
UPDATE l4.job SET settings = 'llama-70b, 8 node' WHERE job_id = 'names-2';
SELECT said();
UPDATE l4.job SET status = 'failed' WHERE job_id = 'names-2';
SELECT said();
UPDATE l4.job SET settings = NULL WHERE job_id = 'names-1';
SELECT said();
UPDATE l4.job SET settings = 'llama-70b, 8 node', status = 'failed' WHERE job_id = 'names-1';
UPDATE l4.job SET status = 'succeeded' WHERE job_id = 'names-2';
SELECT said();
SELECT (l4.diagnose('names-1', baseline => '{}')).coverage -> 'limits';
SELECT l4._near_name('abc', '{}'), l4._near_name(NULL, '{a}'), l4._near_name('abc', '{abd,Abc,xyz}');
-- other words are not mistyped ones; of two as near the one that is as long
SELECT l4._near_name('counter alone', '{counter bare}'), l4._near_name('job-17', '{job-18,job-71}'), l4._near_name('job-2l', '{job-2,job-21}');
SELECT l4.diagnose('names-1', options => '{"min_elsewere": 3}');
SELECT l4.diagnose('names-1', options => '{"weights": {"accussed": 3}}');
SELECT l4.diagnose('names-1', options => '{"patience": 3}');
SELECT l4.forget_job('names-1'), l4.forget_job('names-2');
DROP SCHEMA names CASCADE;
