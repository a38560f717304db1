-- Ingests the corpus and diagnoses every job while its own row says "running", unless the variable status is empty.
-- Each job is compared with the successful ones of its settings, a successful one with the others.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
\ir corpus_leave_out.sql
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
-- For arguments ", baseline => corpus.good_job($1, 1)": one good job of the settings as baseline, the first (1), second (2) or last (-1).
CREATE OR REPLACE FUNCTION corpus.good_job(job_id text, place int) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce((array_agg(b.job_id ORDER BY b.job_id))[CASE WHEN place > 0 THEN place ELSE count(*) + 1 + place END : CASE WHEN place > 0 THEN place ELSE count(*) + 1 + place END], '{}')
    FROM corpus.job AS j JOIN corpus.job AS b USING (settings)
    WHERE j.job_id = good_job.job_id AND b.job_id <> j.job_id AND b.status = 'succeeded'
$$;
CREATE OR REPLACE PROCEDURE corpus.diagnose(job_id text, arguments text, status text) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
BEGIN
    UPDATE l4.job AS j SET status = coalesce(nullif(diagnose.status, ''), j.status), ended_at = NULL
    WHERE j.job_id = diagnose.job_id;
    began := clock_timestamp();
    EXECUTE 'SELECT l4.diagnose($1' || arguments || ')' USING job_id;
    INSERT INTO seconds SELECT job_id, extract(epoch FROM clock_timestamp() - began);
    UPDATE l4.job AS j SET status = c.status, ended_at = c.ended FROM corpus.job AS c
    WHERE c.job_id = j.job_id AND j.job_id = diagnose.job_id;
END
$$;
\echo Diagnose
SELECT format('CALL corpus.diagnose(%L, %L, %L)', job_id, :'arguments', :'status') FROM corpus.job ORDER BY job_id \gexec
SELECT count(*) AS jobs, round(avg(seconds)::numeric, 3) AS seconds_a_job, round(max(seconds)::numeric, 3) AS at_most FROM seconds;
