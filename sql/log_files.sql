-- Nodes that write two files: what goes to stderr carries no times, or last had one long before.
\pset format unaligned
SET timezone = 'UTC';
CREATE SCHEMA log_files;
SET search_path = log_files;
SELECT l4.create_log_table('log_files.logs');

\i sql/include/made_jobs.sql

-- lines of stderr: the first has a time if it says so itself
CREATE PROCEDURE err(job_id text, nodes int[], lines text[])
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, source, rank, line_no, line)
    SELECT err.job_id, 'n' || n, 'err', n, 1000 + l.place, l.line
    FROM unnest(nodes) AS n CROSS JOIN unnest(lines) WITH ORDINALITY AS l(line, place);
$$;
CALL job('good-1');
CALL job('good-2');
CALL err('good-1', '{0,1,2,3,4,5}', '{2026-05-01 10:00:00 WARNING setting x is old}');
CALL err('good-2', '{0,1,2,4,5}', '{2026-05-01 10:00:00 WARNING setting x is old}');
-- no time at all: it comes last, and in the order of its lines
CALL job('none', 20);
CALL err('none', '{2}', '{RuntimeError: the tensor is broken,RuntimeError: a file was lost}');
-- one at the start, which is over before training
CALL job('stale', 20);
CALL err('stale', '{2}', '{2026-05-01 10:00:00 WARNING setting x is old,RuntimeError: a tensor is broken}');
-- all say that they waited: how long is not known
CALL job('waits', 20);
CALL err('waits', '{0,1,3,4,5}', '{RuntimeError: Timed out waiting for the barrier}');
-- the launcher has a time
CALL job('launcher', 20);
CALL err('launcher', '{2}', '{RuntimeError: a tensor is broken}');
CALL say('launcher', '{0}', 90, 'ERROR:agent:worker failed (exitcode: 1)');
-- n2 writes on for a while: that its error is later than that of n0 is not known
CALL job('later', 20);
CALL err('later', '{2}', '{RuntimeError: a tensor is broken}');
CALL say('later', '{0}', 24, 'ERROR:train:RuntimeError: a peer is gone');
CALL say('later', '{0,1,2,3,4,5}', 32, 'INFO:data:building datasets, 64 shards');
-- a launcher's label, which the first lines of a longer stream teach, is part of a short one
CALL job('labelled', 20);
CALL err('good-2', '{3}', '{[3] begins,[3] opens a file,[3] reads on,[3] goes to sleep,[3] wakes up,[3] closes the file}');
CALL err('labelled', '{3}', '{[3] closes the file}');
CALL err('labelled', '{2}', '{RuntimeError: a tensor is broken}');

CALL l4.ingest('log_files.logs');
UPDATE l4.job SET settings = 'files', status = CASE WHEN job_id LIKE 'good%' THEN 'succeeded' ELSE 'running' END
WHERE job_id IN (SELECT l.job_id FROM logs AS l);
SELECT job_id, node, source, timed_line_no FROM l4._stream WHERE job_id = 'stale' AND node = 'n2' ORDER BY source;
CREATE TABLE answer AS
SELECT (d).* FROM (SELECT l4.diagnose(j.job_id) AS d FROM l4.job AS j WHERE j.settings = 'files') AS x;
SELECT a.job_id, a.status, a.symptom, a.stage, a.iteration,
    (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = a.job_id AND s.rank = 1 AND s.is_suspect) AS suspect,
    (SELECT e.value FROM l4.evidence AS e WHERE e.job_id = a.job_id AND e.node = 'n2' AND e.kind = 'unique') AS "unique"
FROM answer AS a ORDER BY a.job_id;
SELECT s.job_id, s.example_line FROM l4.suspect_event AS s JOIN answer USING (job_id) ORDER BY s.job_id, s.rank;
SELECT count(l4.forget_job(job_id)) AS forgotten FROM answer;
DROP SCHEMA log_files CASCADE;
