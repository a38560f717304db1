-- Ingests the corpus and diagnoses every job while its own row says "running": statuses choose baselines and are never evidence.
-- Each job is compared with the successful ones of its settings, a successful one with the others.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
\echo
\echo Ingest
\timing on
CALL l4.ingest('corpus.line');
\timing off
UPDATE l4.job AS j SET settings = c.settings, status = c.status, started_at = c.started, ended_at = c.ended
FROM corpus.job AS c WHERE c.job_id = j.job_id;
INSERT INTO l4.job (job_id, settings, status, started_at, ended_at)
SELECT c.job_id, c.settings, c.status, c.started, c.ended FROM corpus.job AS c ON CONFLICT DO NOTHING;
ANALYZE;
CREATE TEMP TABLE seconds (job_id text, seconds float8);
\echo Diagnose
SELECT format($$UPDATE l4.job SET status = 'running', ended_at = NULL WHERE job_id = %1$L;
DO 'DECLARE t timestamptz := clock_timestamp(); BEGIN PERFORM l4.diagnose(%2$s%3$s); INSERT INTO seconds SELECT %2$s, extract(epoch FROM clock_timestamp() - t); END';
UPDATE l4.job AS j SET status = c.status, ended_at = c.ended FROM corpus.job AS c WHERE c.job_id = j.job_id AND j.job_id = %1$L;$$,
    job_id, replace(quote_literal(job_id), '''', ''''''), :'arguments')
FROM corpus.job ORDER BY job_id \gexec
SELECT count(*) AS jobs, round(avg(seconds)::numeric, 3) AS seconds_a_job, round(max(seconds)::numeric, 3) AS at_most FROM seconds;
