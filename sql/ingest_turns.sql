-- A job of many streams, few of which fit into a batch: what is known of it is what it is when all are read at once.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA turns;
SET search_path = turns;
SELECT l4.create_log_table('lines');
CREATE PROCEDURE more(first int, last int, nodes int) LANGUAGE sql AS $$
    INSERT INTO lines (job_id, node, source, line_no, ts, line)
    SELECT j, 'n' || n, 's' || s, i, timestamptz '2026-03-01 10:00:00+00' + i * interval '1 s' + n * interval '1 ms' + s * interval '0.1 ms',
        CASE WHEN i % 20 = 19 AND n % 3 = 0 THEN 'Traceback (most recent call last):'
            WHEN i % 20 = 0 AND n % 3 = 0 THEN '  File "train.py", line ' || i || ', in step'
            WHEN i % 20 = 1 AND n % 3 = 0 AND i > 1 THEN 'RuntimeError: shard ' || n || ' of step ' || i || ' is lost'
            WHEN i % 4 = 0 THEN 'loader: shard ' || n || ' read in ' || i || ' ms'
            WHEN i = 3 AND n = 7 THEN 'link of ' || n || ' went down'
            ELSE 'step ' || i || ' done, loss 0.' || i % 7 END
    FROM unnest(ARRAY['turns-small', 'turns-large']) AS j, generate_series(1, nodes) AS n, generate_series(1, 2) AS s, generate_series(first, last) AS i
$$;
-- all columns of the roll-up, and the counts that the streams have
CREATE VIEW differing AS
WITH job AS (SELECT job_id, event_id, occurrences, nodes, first_ts, last_ts, first_node, first_source, first_line_no, example, example_ts FROM l4._job_event),
    small AS (SELECT (j.*)::text AS row FROM job AS j WHERE job_id = 'turns-small'),
    large AS (SELECT replace((j.*)::text, 'turns-large', 'turns-small') AS row FROM job AS j WHERE job_id = 'turns-large'),
    counted AS (SELECT event_id, sum(occurrences) AS occurrences, count(*) AS nodes, min(first_ts) AS first_ts, max(last_ts) AS last_ts
        FROM l4.event_count WHERE job_id = 'turns-small' GROUP BY event_id)
SELECT (SELECT count(*) FROM small) AS events, (SELECT count(*) FROM (TABLE small EXCEPT TABLE large) AS x) AS differing,
    (SELECT count(*) FROM (TABLE large EXCEPT TABLE small) AS x) AS missing,
    (SELECT count(*) FROM counted AS c FULL JOIN (SELECT * FROM job WHERE job_id = 'turns-small') AS j USING (event_id)
     WHERE (c.occurrences, c.nodes, c.first_ts, c.last_ts) IS DISTINCT FROM (j.occurrences::numeric, j.nodes::bigint, j.first_ts, j.last_ts)) AS wrong;
INSERT INTO l4.job (job_id) VALUES ('turns-small'), ('turns-large');
CALL more(1, 39, 30);
CALL l4.ingest('lines', 'turns-large');
CALL l4.ingest('lines', 'turns-small', batch_lines => 300);
TABLE differing;
SELECT units, count(*) AS streams, sum(lines + tail_lines) AS lines FROM l4._stream WHERE job_id = 'turns-small' GROUP BY units;
-- the records that were open, the latest of all, go on as others
CALL more(40, 45, 30);
CALL l4.ingest('lines', 'turns-large');
CALL l4.ingest('lines', 'turns-small', batch_lines => 300);
TABLE differing;
-- some streams alone, which are behind those of a new node in turns
CALL more(46, 59, 3);
INSERT INTO lines (job_id, node, source, line_no, ts, line)
SELECT j, 'new', 's1', i, timestamptz '2026-03-01 09:00:00+00' + i * interval '1 s', 'step ' || i || ' done, loss 0.5' FROM unnest(ARRAY['turns-small', 'turns-large']) AS j, generate_series(1, 9) AS i;
CALL l4.ingest('lines', 'turns-large');
CALL l4.ingest('lines', 'turns-small', batch_lines => 300);
TABLE differing;
SELECT job_id, count(*) AS streams, sum(lines + tail_lines) AS lines FROM l4._stream WHERE job_id ~ '^turns-' GROUP BY 1 ORDER BY 1;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^turns-';
DROP SCHEMA turns CASCADE;
