-- make demo: four training jobs of the same settings; job-17 failed. Its logs are those of a real job, see test/data/README.md.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
\pset pager off
CREATE EXTENSION l4;
\echo '[1/5] Loading the logs of four jobs, eight nodes each'
SELECT l4.create_log_table('logs') \g /dev/null
\copy logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-12.csv.gz' WITH (FORMAT csv, HEADER)
\copy logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-13.csv.gz' WITH (FORMAT csv, HEADER)
\copy logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-14.csv.gz' WITH (FORMAT csv, HEADER)
\copy logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc test/data/job-17.csv.gz' WITH (FORMAT csv, HEADER)
SELECT count(*) AS lines, count(DISTINCT job_id) AS jobs FROM logs;
\echo '[2/5] Registering the jobs: what they were started with, and which succeeded'
\copy l4.job (job_id, settings, status, expected_nodes, started_at, ended_at) FROM 'test/data/jobs.csv' WITH (FORMAT csv, HEADER)
\echo '[3/5] CALL l4.ingest(\'logs\')'
CALL l4.ingest('logs');
\echo '[4/5] SELECT * FROM l4.diagnose(\'job-17\')'
\x on
SELECT status, symptom, stage, iteration, summary FROM l4.diagnose('job-17');
\x off
\echo '[5/5] SELECT l4.report(\'job-17\')'
\echo
\pset format unaligned
\pset tuples_only on
SELECT l4.report('job-17');
\o l4-report-job-17.html
SELECT l4.report_html('job-17');
\o
