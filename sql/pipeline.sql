-- The whole path on the sample jobs of test/data: logs in a table, jobs, ingest, compare, diagnose, report, fault library.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
SELECT l4.create_log_table('sample_logs');
\copy sample_logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-12.csv.gz' WITH (FORMAT csv, HEADER)
\copy sample_logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-13.csv.gz' WITH (FORMAT csv, HEADER)
\copy sample_logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-14.csv.gz' WITH (FORMAT csv, HEADER)
\copy sample_logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-17.csv.gz' WITH (FORMAT csv, HEADER)
\copy l4.job (job_id, settings, status, expected_nodes, started_at, ended_at) FROM 'test/data/jobs.csv' WITH (FORMAT csv, HEADER)
UPDATE l4.job SET status = 'running', ended_at = NULL WHERE job_id = 'job-17';
CALL l4.ingest('sample_logs');

-- every line is kept, under its own key
SELECT job_id, count(*) AS lines, count(DISTINCT node) AS nodes,
       (SELECT count(*) FROM l4.event_line AS e WHERE e.job_id = s.job_id) AS kept
FROM sample_logs AS s GROUP BY job_id ORDER BY job_id;
SELECT count(*) AS lines_that_are_not_kept FROM (SELECT job_id, node, line_no FROM sample_logs EXCEPT SELECT job_id, node, line_no FROM l4.event_line
    WHERE job_id IN ('job-12', 'job-13', 'job-14', 'job-17')) AS missing;

-- again: nothing new, nothing counted twice
CALL l4.ingest('sample_logs');
SELECT job_id, sum(occurrences) = (SELECT count(*) FROM (SELECT DISTINCT node, source, record_line_no FROM l4.event_line AS e WHERE e.job_id = c.job_id) AS records) AS counts_agree
FROM l4.event_count AS c WHERE job_id LIKE 'job-1_' GROUP BY job_id ORDER BY job_id;

-- iterations and stages
SELECT node, max(iteration) AS last_iteration FROM l4.iteration WHERE job_id = 'job-17' GROUP BY node ORDER BY node;
SELECT DISTINCT stage FROM l4.stage_span WHERE job_id = 'job-17' ORDER BY stage;

-- the diagnosis, while the job's own row says running
SELECT status, symptom, stage, iteration BETWEEN 95 AND 97 AS iteration_is_right, cardinality(baseline) AS baseline_jobs FROM l4.diagnose('job-17');
SELECT rank, node, is_suspect, cardinality(reasons) > 0 AS has_reasons FROM l4.suspect_node WHERE job_id = 'job-17' AND rank = 1;
SELECT count(*) = max(rank) AND min(rank) = 1 AS ranks_without_gaps FROM l4.suspect_event WHERE job_id = 'job-17';
SELECT count(*) AS link_event_claimed FROM l4.suspect_event AS s JOIN l4.event_line AS e USING (job_id, event_id)
WHERE s.job_id = 'job-17' AND e.node = 'node04' AND e.line_no = 622;
SELECT verdict FROM l4.compare('job-17') AS c JOIN l4.event_line AS e USING (event_id)
WHERE e.job_id = 'job-17' AND e.node = 'node04' AND e.line_no = 622;

-- a successful job among the other ones is healthy
SELECT status, symptom FROM l4.diagnose('job-14');
SELECT count(*) AS claims FROM l4.suspect_event WHERE job_id = 'job-14';

-- the answer outlives the raw lines, and is the same when asked again
CREATE TEMP TABLE answer AS SELECT r AS line FROM l4.report('job-17') AS r WHERE r NOT LIKE 'diagnosed %';
DROP TABLE sample_logs;
SELECT symptom FROM l4.diagnose('job-17');
SELECT line FROM answer EXCEPT SELECT r FROM l4.report('job-17') AS r;
SELECT line FROM answer WHERE line ~ '^[A-Z ]+$' OR line ~ '^HANG';

-- confirmed, it is a known fault of the next job
SELECT l4.confirm_fault('job-17', name => 'sample_link_down', root_cause => 'cable', remedy => 'replace it') >= 1000000 AS archived;
SELECT f.name, m.node FROM l4.match_faults('job-17') AS m JOIN l4.fault AS f USING (fault_id) WHERE f.name = 'sample_link_down' LIMIT 1;
SELECT substring((l4.diagnose('job-17')).summary FROM 'Known fault.*') AS summary;
DELETE FROM l4.fault WHERE name = 'sample_link_down';
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id LIKE 'job-1_' ORDER BY job_id;
SELECT count(*) AS left_over FROM l4.event_count WHERE job_id LIKE 'job-1_';
