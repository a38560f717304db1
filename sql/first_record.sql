-- The first record that is kept of an event: the earliest by time, then by node, source and line, in whatever order and in whatever pieces lines arrive.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA first_record;
SET search_path = first_record;
CREATE TABLE want (node text, source text, line_no bigint, ts timestamptz, line text, part int);
-- a stream whose clock goes back, one without times, one with several lines of one time, a record of several lines
INSERT INTO want SELECT 'b', 'back', i, timestamptz '2026-01-01 00:01:00Z' + ((i * 7) % 40) * interval '1 s', 'cannot reach peer ' || i || ' of the ring', i % 3 FROM generate_series(1, 40) i;
INSERT INTO want SELECT n, 'none', i, NULL, 'no clock on card ' || i || ' of this host', (i + 1) % 3 FROM unnest(ARRAY['c', 'b']) n, generate_series(1, 40) i;
INSERT INTO want SELECT 'a', 'same', i, timestamptz '2026-01-01 00:02:00Z' + i / 10 * interval '1 s', 'retry ' || i || ' of the transfer', (i + 2) % 3 FROM generate_series(1, 40) i;
INSERT INTO want SELECT 'a', 'stack', i, timestamptz '2026-01-01 00:03:00Z' - i / 4 * interval '1 s',
    CASE i % 4 WHEN 0 THEN 'Traceback (most recent call last):' WHEN 1 THEN '  File "a.py", line ' || i || ', in main' WHEN 2 THEN '    go()' ELSE 'ValueError: bad row' END, i / 4 % 3
FROM generate_series(0, 39) i;
CREATE TABLE logs (job_id text, node text, source text, line_no bigint, ts timestamptz, line text, PRIMARY KEY (job_id, node, source, line_no));
-- all at once; one line a batch; in three parts, each of which fills gaps of the one before; the same the other way round
INSERT INTO logs SELECT 'all', node, source, line_no, ts, line FROM want;
CALL l4.ingest('logs');
INSERT INTO logs SELECT 'lines', node, source, line_no, ts, line FROM want;
CALL l4.ingest('logs', batch_lines => 1);
CREATE PROCEDURE in_parts(job text, parts int[]) LANGUAGE plpgsql AS $$
BEGIN
    FOR p IN 1 .. cardinality(parts) LOOP
        INSERT INTO first_record.logs SELECT job, w.node, w.source, w.line_no, w.ts, w.line FROM first_record.want w WHERE w.part = parts[p];
        CALL l4.ingest('first_record.logs', commit => false);
    END LOOP;
END
$$;
CALL in_parts('forth', '{0,1,2}');
CALL in_parts('back', '{2,1,0}');
SELECT e.template, j.first_ts, j.first_node, j.first_source, j.first_line_no, j.example_ts, split_part(j.example, E'\n', 1) AS example, j.occurrences
FROM l4._job_event j JOIN l4._event e USING (event_id) WHERE j.job_id = 'all' ORDER BY 1;
SELECT j.job_id, e.template, j.first_node, j.first_source, j.first_line_no, j.example_ts, j.example
FROM l4._job_event j JOIN l4._event e USING (event_id) JOIN l4._job_event a ON a.job_id = 'all' AND a.event_id = j.event_id
WHERE j.job_id IN ('lines', 'forth', 'back') AND (j.first_ts, j.first_node, j.first_source, j.first_line_no, j.example_ts, j.example, j.occurrences, j.nodes)
    IS DISTINCT FROM (a.first_ts, a.first_node, a.first_source, a.first_line_no, a.example_ts, a.example, a.occurrences, a.nodes) ORDER BY 1, 2;
SELECT job_id, count(*) FROM l4._job_event WHERE job_id IN ('all', 'lines', 'forth', 'back') GROUP BY 1 ORDER BY 1;
-- of lines in a collector's JSON the record is what they hold; a wrapped line with several lines in it stays as it is; colours go
INSERT INTO logs SELECT 'json', 'a', 'json', i, NULL, jsonb_build_object('log', l || E'\n', 'stream', 'stderr')::text
FROM unnest(ARRAY['Traceback (most recent call last):', '  File "a.py", line 1, in main', '    go()', 'OSError: no such row', E'two\nlines']) WITH ORDINALITY u(l, i);
INSERT INTO logs VALUES ('json', 'b', 'colours', 1, NULL, E'  \033[1;31mOSError\033[0m: \033[35mno such column\033[0m');
CALL l4.ingest('logs');
SELECT j.example FROM l4._job_event j WHERE j.job_id = 'json' ORDER BY first_node, first_line_no;
SELECT l4.forget_job(j) FROM unnest(ARRAY['all', 'lines', 'forth', 'back', 'json']) j;
DROP SCHEMA first_record CASCADE;
