-- Logs that come again: a file that is loaded anew, as it was or longer; one that was rotated; a table that was emptied.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA read_again;
SET search_path = read_again;
\i sql/include/kept.sql
SELECT l4.create_log_table('logs');
CREATE FUNCTION load(job text, source text, from_line int, to_line int, skip int DEFAULT 0) RETURNS void LANGUAGE sql
AS $$
    INSERT INTO logs (job_id, node, source, line_no, ts, line)
    SELECT job, 'n1', source, i - skip, timestamptz '2026-05-01 08:00:00Z' + i * interval '1 s', 'part ' || i % 3 || ' of record ' || i || ' arrived'
    FROM generate_series(from_line, to_line) i
$$;
CREATE VIEW read_lines AS
SELECT job_id, source, count(*) AS lines, count(DISTINCT line_no) AS numbers, min(line_no) AS first, max(line_no) AS last, max(ts) AS until,
    (SELECT sum(occurrences) FROM l4.event_count c WHERE c.job_id = e.job_id) AS records
FROM l4.event_line e WHERE job_id LIKE 'again-%' GROUP BY 1, 2 ORDER BY 1, 2;

-- uploaded again while the table still has other jobs: nothing is read twice
SELECT load('again-1', 'out', 1, 100);
CALL l4.ingest('logs');
DELETE FROM logs WHERE job_id = 'again-1';
SELECT load('again-1', 'out', 1, 100);
CALL l4.ingest('logs');
SELECT * FROM read_lines;
-- and with more lines: only those are read
DELETE FROM logs WHERE job_id = 'again-1';
SELECT load('again-1', 'out', 1, 130);
CALL l4.ingest('logs');
SELECT * FROM read_lines;
-- a table that keeps new lines only
TRUNCATE logs;
CALL l4.ingest('logs');
SELECT load('again-1', 'out', 131, 150);
CALL l4.ingest('logs');
SELECT * FROM read_lines;
-- a rotated file: as a source of its own, or with numbers that go on
SELECT load('again-2', 'out.1', 1, 60), load('again-2', 'out', 61, 90, 60);
CALL l4.ingest('logs');
SELECT load('again-2', 'out', 91, 100, 60);
SELECT load('again-3', 'out', 1, 60);
CALL l4.ingest('logs');
DELETE FROM logs WHERE job_id = 'again-3';
SELECT load('again-3', 'out', 61, 100);
CALL l4.ingest('logs');
SELECT * FROM read_lines WHERE job_id > 'again-1';
-- numbers that begin anew are those of lines that were read: they count once, until the job is forgotten
DELETE FROM logs WHERE job_id = 'again-3';
SELECT load('again-3', 'out', 101, 150, 100);
CALL l4.ingest('logs');
SELECT * FROM read_lines WHERE job_id = 'again-3';
SELECT l4.forget_job('again-3');
CALL l4.ingest('logs');
SELECT * FROM read_lines WHERE job_id = 'again-3';
SELECT count(l4.forget_job(j.job_id)) AS forgotten FROM l4.job j WHERE j.job_id LIKE 'again-%';
-- what is read does not depend on how the planner joins streams and packs: here it takes the packs
-- for none, as there were when it looked last, and asks for each pack about each stream
TRUNCATE logs;
ANALYZE l4._pack, l4._pack_chunk;
SELECT load('again-4', 'out', 1, 20), load('again-5', 'out.1', 1, 20), load('again-5', 'out.2', 1, 20);
CALL l4.ingest('logs');
ANALYZE l4._stream;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM read_lines;
SELECT count(l4.forget_job(j.job_id)) AS forgotten FROM l4.job j WHERE j.job_id LIKE 'again-%';
RESET enable_hashjoin;
RESET enable_mergejoin;
-- an event that was merged after a good job had it is known of that job, and counts where only it is stored
INSERT INTO logs (job_id, node, source, line_no, ts, line)
SELECT j, 'n' || n, 'out', i, timestamptz '2026-03-01' + i * interval '1 s', CASE WHEN i < 3 THEN 'ERROR:root:cell ' || w || ' of this shelf went quiet'
    ELSE 'iteration ' || i || '/ 9 | lm loss: 2.5 in ' || w END
FROM (VALUES ('again-good', 'alpha'), ('again-bad', 'bravo')) AS v(j, w), generate_series(1, 3) AS n, generate_series(1, 9) AS i;
CALL l4.ingest('logs', job_id => 'again-good');
CALL l4.ingest('logs', job_id => 'again-bad');
UPDATE l4.job SET settings = 'again', status = CASE job_id WHEN 'again-good' THEN 'succeeded' ELSE 'failed' END WHERE job_id IN ('again-good', 'again-bad');
BEGIN;
UPDATE l4._event AS e SET merged_into = b.event_id FROM l4._event AS b
WHERE e.template ~ '^(cell|iter).*alpha' AND b.template = replace(e.template, 'alpha', 'bravo');
SELECT l4._telling_events('again-bad') AS telling;
-- by the number that is stored, as by the one that counts
SELECT j.job_id, e.merged_into IS NOT NULL AS merged, c.node, c.occurrences FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
CROSS JOIN LATERAL l4._event_counts(j.job_id, ARRAY[j.event_id]) AS c WHERE e.template ~ '^cell' AND j.job_id = 'again-good' ORDER BY 3;
SELECT job_id, status, node, line_no FROM l4.test_fault(job_ids => '{again-good,again-bad}', conditions => '[{"step": 1, "signature": "cell .* went quiet"}]') ORDER BY 1;
SELECT (l4.diagnose('again-bad')).symptom;
SELECT l4._first_crash(k) AS crash, l4._ends_with(k, (SELECT e.event_id FROM l4._event AS e WHERE e.template ~ '^cell.*bravo')) AS ends_with
FROM l4._case AS k WHERE k.job_id = 'again-bad';
ROLLBACK;
SELECT count(l4.forget_job(j)) AS forgotten FROM unnest(ARRAY['again-good', 'again-bad']) AS j;
-- events that were merged while a job was read are one event to its iterations, as when it is read with all of them known
INSERT INTO logs (job_id, node, source, line_no, line)
SELECT 'again-6', 'n1', 'out', i, CASE WHEN i % 20 = 0 THEN format('iteration %s/ 100 | lm loss: 2.5', i / 20) WHEN i BETWEEN 1501 AND 1510 THEN 'the helper restarts its cache' ELSE format('piece %s of heap h%s took %s us', i, i % 40, i % 13) END
FROM generate_series(1, 2000) AS i;
CALL l4.ingest('logs', job_id => 'again-6');
CREATE TABLE deviating AS SELECT * FROM l4._deviating_sequences('again-6');
SELECT count(*) > 0 AS merged FROM kept_sequence AS s CROSS JOIN unnest(s.events) AS event_id JOIN l4._event AS e USING (event_id) WHERE s.job_id = 'again-6' AND e.merged_into IS NOT NULL;
SELECT l4.forget_job('again-6');
CALL l4.ingest('logs', job_id => 'again-6');
SELECT (SELECT count(*) FROM deviating) AS first_time, count(*) AS different
FROM (SELECT * FROM deviating EXCEPT SELECT * FROM l4._deviating_sequences('again-6') UNION ALL (SELECT * FROM l4._deviating_sequences('again-6') EXCEPT SELECT * FROM deviating)) AS x;
SELECT l4.forget_job('again-6');
DROP SCHEMA read_again CASCADE;
