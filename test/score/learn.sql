-- What confirm_fault would learn of each failed job, tried on the others, and the causes of all.
--   psql -d DATABASE -f test/score/learn.sql     (a database in which corpus.sql ran)
-- For the table in docs/development.md: replace a function first (CREATE OR REPLACE, in a transaction).
SET client_min_messages = error;
CREATE TEMP TABLE learnt (job_id text, matched text[]);
DO $$
DECLARE
    job text;
BEGIN
    FOR job IN SELECT j.job_id FROM corpus.job AS j WHERE j.status = 'failed' LOOP
        BEGIN
            INSERT INTO learnt SELECT job, p.failed_jobs FROM l4._learn(job, 'learnt', NULL::l4._pattern) AS p;
        EXCEPTION WHEN no_data_found OR check_violation THEN
            INSERT INTO learnt VALUES (job, NULL);
        END;
    END LOOP;
END
$$;
\echo Learnt; matched of the jobs with the same fault; with the same fault of those matched
SELECT count(l.matched) AS learnt, count(*) AS jobs, round(avg(s.recall), 3) AS recall,
    round(sum(s.same)::numeric / nullif(sum(cardinality(l.matched)), 0), 3) AS precision
FROM learnt AS l
JOIN corpus.job AS j USING (job_id)
CROSS JOIN LATERAL (
    SELECT avg((o.job_id = ANY (coalesce(l.matched, '{}')))::int) AS recall,
        count(*) FILTER (WHERE o.job_id = ANY (l.matched)) AS same
    FROM corpus.job AS o WHERE o.fault = j.fault AND o.job_id <> j.job_id AND o.status = 'failed') AS s;
\echo Right category: of the best match, of the cause, where it is certain
SELECT count(*) AS jobs, count(*) FILTER (WHERE f.category = j.category) AS first,
    count(*) FILTER (WHERE c.category = j.category) AS category,
    count(*) FILTER (WHERE c.category = j.category AND c.confidence = 'certain') AS certain_right,
    count(*) FILTER (WHERE c.confidence = 'certain') AS certain
FROM corpus.job AS j
JOIN l4.diagnosis AS d USING (job_id)
JOIN l4._case AS k USING (job_id)
LEFT JOIN LATERAL l4.match_faults(j.job_id) AS m ON m.rank = 1
LEFT JOIN l4.fault AS f USING (fault_id)
CROSS JOIN LATERAL l4._cause(k, d) AS c
WHERE j.status = 'failed';
