-- Reading logs: what is kept, what is read again, and from which relations.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA ingest_test;
SET search_path = ingest_test;
\i sql/include/kept.sql
SELECT l4.create_log_table('logs');
-- two nodes of a job: start, six iterations, and on the second node a traceback
CREATE FUNCTION make(job text, nodes int) RETURNS TABLE (job_id text, node text, line_no bigint, ts timestamptz, line text) LANGUAGE sql AS $$
    SELECT job, format('host%s', n), row_number() OVER (PARTITION BY n ORDER BY k, i), '2026-01-01 00:00:00+00'::timestamptz + make_interval(secs => k * 10 + i), l
    FROM generate_series(0, nodes - 1) n, LATERAL (
        SELECT 0, i, l FROM unnest(ARRAY[
            format('2026-01-01 00:00:00,000 [INFO] [rank %s] main: initializing torch distributed', n),
            format('2026-01-01 00:00:00,000 [INFO] [rank %s] main: connected to 10.0.0.%s', n, (n + 1) % nodes), '']) WITH ORDINALITY AS t(l, i)
        UNION ALL
        SELECT it, i, l FROM generate_series(1, 6) it, unnest(ARRAY[
            format('2026-01-01 00:00:%s,000 [DEBUG] [rank %s] training: forward step took %s.5 ms', lpad((it * 2)::text, 2, '0'), n, 3 + it),
            format('2026-01-01 00:00:%s,500 [INFO] [rank %s] training: iteration %s/ 100 | consumed samples: %s | elapsed time per iteration (ms): %s.0 | learning rate: 1.0E-04 | lm loss: %s.25', lpad((it * 2)::text, 2, '0'), n, it, it * 16, 40 + it, 9 - it)
            ]) WITH ORDINALITY AS t(l, i)
        UNION ALL
        SELECT 7, i, l FROM unnest(ARRAY['Traceback (most recent call last):', '  File "train.py", line 10, in main', '    step()', 'RuntimeError: rank 0 is gone',
            format('2026-01-01 00:00:20,000 [ERROR] [rank %s] main: worker failed with exit code 1', n)]) WITH ORDINALITY AS t(l, i) WHERE n = 1
    ) AS x(k, i, l)
$$;
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT * FROM make('job-1', 2);
CALL l4.ingest('logs');
SELECT status FROM l4.job WHERE job_id = 'job-1';
SELECT node, rank FROM l4.job_node WHERE job_id = 'job-1' ORDER BY 1;
SELECT state, lines_done, lines_total FROM l4.ingest_progress WHERE logs = 'ingest_test.logs';
SELECT e.line_no, e.record_line_no, e.ts, e.rank, e.level, t.template, e.stage, e.iteration
FROM l4.event_line e JOIN l4.template t USING (event_id) WHERE e.job_id = 'job-1' AND e.node = 'host1' ORDER BY 1;
SELECT c.node, t.template, c.occurrences, c.first_line_no, c.last_line_no FROM l4.event_count c JOIN l4.template t USING (event_id)
WHERE c.job_id = 'job-1' ORDER BY 1, 4;
SELECT node, epoch, iteration, started, duration_ms, metrics FROM l4.iteration WHERE job_id = 'job-1' AND iteration IN (1, 6) ORDER BY 1, 3;
SELECT node, stage, first_line_no, last_line_no FROM l4.stage_span WHERE job_id = 'job-1' ORDER BY 1, 3;
SELECT node, iteration, cardinality(events) AS events FROM kept_sequence WHERE job_id = 'job-1' ORDER BY 1, 2;
SELECT d.node, d.block, d.n, d.sum_ms FROM kept_duration d JOIN l4.template t USING (event_id) WHERE job_id = 'job-1' AND template LIKE 'forward%' ORDER BY 1, 2;
SELECT node, kind, value, named_node, occurrences FROM l4.mention WHERE job_id = 'job-1' ORDER BY 1, 2, 3;
SELECT p.slot, p.mask, p.value, p.occurrences, p.nodes FROM l4.template t, l4.event_parameters('job-1', t.event_id) p WHERE template LIKE 'connected%' ORDER BY 1, 3;
-- the lines of an event come with those of their records
SELECT l.node, l.line_no, l.record_line_no FROM l4.template t, l4.event_lines('job-1', t.event_id) l WHERE t.template LIKE 'RuntimeError%' ORDER BY 2;
SELECT j.first_node, j.first_line_no, j.occurrences, j.nodes, j.example FROM l4._job_event j JOIN l4._event e USING (event_id) WHERE e.template LIKE 'RuntimeError%';
-- one line, as ingest reads it
SELECT ts, level, rank, component, message, template, stage, iteration
FROM l4.parse('2026-01-01 00:00:02,500 [INFO] [rank 3] training: iteration 77/ 100 | consumed samples: 16 | elapsed time per iteration (ms): 41.0 | learning rate: 1.0E-04 | lm loss: 8.25');
SELECT level, message, event_id, template FROM l4.parse('nothing that was seen');
SELECT message FROM l4.parse('');

-- called twice, nothing is counted twice
CREATE TABLE before AS SELECT * FROM l4.event_line WHERE job_id = 'job-1';
CALL l4.ingest('logs');
SELECT count(*) FROM (SELECT * FROM l4.event_line WHERE job_id = 'job-1' EXCEPT SELECT * FROM before) x;
SELECT lines_done FROM l4.ingest_progress WHERE logs = 'ingest_test.logs';
-- in pieces, one line at a time: the same records, and what a piece cuts is put together again
CREATE TABLE pieces (LIKE logs INCLUDING ALL);
DO $$
BEGIN
    FOR n IN 1..20 LOOP
        INSERT INTO ingest_test.pieces (job_id, node, line_no, ts, line) SELECT 'job-2', m.node, m.line_no, m.ts, m.line FROM ingest_test.make('job-2', 2) m WHERE m.line_no = n;
        CALL l4.ingest('ingest_test.pieces', commit => false);
    END LOOP;
END $$;
SELECT count(*) FROM l4.event_line WHERE job_id = 'job-2';
SELECT node, source, line_no, record_line_no, ts, rank, level, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-1'
EXCEPT SELECT node, source, line_no, record_line_no, ts, rank, level, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-2' ORDER BY 1, 3;
SELECT node, event_id, occurrences FROM l4.event_count WHERE job_id = 'job-1' EXCEPT SELECT node, event_id, occurrences FROM l4.event_count WHERE job_id = 'job-2';
SELECT node, iteration, duration_ms, metrics FROM l4.iteration WHERE job_id = 'job-1' EXCEPT SELECT node, iteration, duration_ms, metrics FROM l4.iteration WHERE job_id = 'job-2';
SELECT node, epoch, iteration, events FROM kept_sequence WHERE job_id = 'job-1' EXCEPT SELECT node, epoch, iteration, events FROM kept_sequence WHERE job_id = 'job-2';
SELECT event_id, occurrences, nodes, first_ts, last_ts, example FROM l4._job_event WHERE job_id = 'job-1' EXCEPT SELECT event_id, occurrences, nodes, first_ts, last_ts, example FROM l4._job_event WHERE job_id = 'job-2';
-- a traceback without its last lines is shown, and becomes what it is when they come
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT 'job-3', m.node, m.line_no, m.ts, m.line FROM make('job-3', 2) m WHERE m.line_no <= 18;
CALL l4.ingest('logs', 'job-3');
SELECT lines, tail_lines FROM l4._stream WHERE job_id = 'job-3' AND node = 'host1';
SELECT count(*) FROM l4.event_line WHERE job_id = 'job-3' AND node = 'host1';
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT 'job-3', m.node, m.line_no, m.ts, m.line FROM make('job-3', 2) m WHERE m.line_no > 18;
CALL l4.ingest('logs', 'job-3');
SELECT lines, tail_lines FROM l4._stream WHERE job_id = 'job-3' AND node = 'host1';
SELECT node, line_no, record_line_no, event_id FROM l4.event_line WHERE job_id = 'job-1' EXCEPT SELECT node, line_no, record_line_no, event_id FROM l4.event_line WHERE job_id = 'job-3';
-- late lines: a gap is filled later
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT 'job-4', m.node, m.line_no, m.ts, m.line FROM make('job-4', 2) m WHERE m.line_no NOT IN (1, 5, 6);
CALL l4.ingest('logs');
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT 'job-4', m.node, m.line_no, m.ts, m.line FROM make('job-4', 2) m WHERE m.line_no IN (1, 5, 6);
CALL l4.ingest('logs');
SELECT node, seen FROM l4._stream WHERE job_id = 'job-4' ORDER BY 1;
SELECT node, event_id, occurrences FROM l4.event_count WHERE job_id = 'job-1' EXCEPT SELECT node, event_id, occurrences FROM l4.event_count WHERE job_id = 'job-4';

-- without an index; in any order; in batches of any size; from a view; with other columns
CREATE TABLE plain AS SELECT 'job-5' AS job_id, node, line_no, ts, line FROM make('job-5', 2) ORDER BY md5(node || line_no);
CALL l4.ingest('plain', batch_lines => 1);
CALL l4.ingest('plain');
CREATE VIEW as_view AS SELECT node, line_no::int, ts::timestamp, line::varchar FROM plain;
CALL l4.ingest('as_view', job_id => 'job-6');
SELECT job_id, count(*), sum(lines) FROM l4._stream WHERE job_id IN ('job-5', 'job-6') GROUP BY 1 ORDER BY 1;
SELECT node, line_no, record_line_no, ts, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-1' EXCEPT SELECT node, line_no, record_line_no, ts, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-5';
SELECT node, line_no, record_line_no, ts, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-1' EXCEPT SELECT node, line_no, record_line_no, ts, event_id, stage, iteration FROM l4.event_line WHERE job_id = 'job-6';
-- without line numbers the order of the rows numbers them
CREATE TABLE unnumbered AS SELECT 'job-7' AS job_id, node, CASE WHEN line_no % 2 = 0 THEN 'err' END AS source, line FROM make('job-7', 1) ORDER BY line_no;
CALL l4.ingest('unnumbered');
INSERT INTO unnumbered VALUES ('job-7', 'host0', 'err', 'one more');
CALL l4.ingest('unnumbered');
SELECT source, lines, seen FROM l4._stream WHERE job_id = 'job-7' ORDER BY 1;
-- a source that is NULL, with an index
CREATE TABLE sources (job_id text, node text, source text, line_no int, line text);
CREATE INDEX ON sources (job_id, node, source, line_no);
INSERT INTO sources VALUES ('job-8', 'a', NULL, 1, 'x'), ('job-8', 'a', 'out', 1, 'x'), ('job-8', 'b', '', 1, 'y'), (NULL, 'b', '', 1, 'y'), ('job-8', NULL, '', 1, 'y'), ('job-8', 'c', NULL, 1, NULL);
CALL l4.ingest('sources');
CALL l4.ingest('sources');
SELECT node, source, lines FROM l4._stream WHERE job_id = 'job-8' ORDER BY 1, 2;
-- lines of any kind
INSERT INTO logs (job_id, node, line_no, line) VALUES ('job-9', 'a', 1, ''), ('job-9', 'a', 2, repeat('x', 1000000)), ('job-9', 'a', 3, repeat('a b ', 100000)),
    ('job-9', 'a', 4, '{"level":"info","msg":"nul \u0000 inside","rank":1}'), ('job-9', 'a', 5, E'\033[31mred\033[0m\r\rprogress 10%\r'), ('job-9', 'a', 6, repeat('[', 10000)),
    ('job-9', 'a', 7, '{"broken'), ('job-9', 'a', 9223372036854770000, 'very far');
CALL l4.ingest('logs');
SELECT line_no, ts FROM l4.event_line WHERE job_id = 'job-9' ORDER BY 1;
-- of a long record the example has the beginning and the end, where the exception is; no character is cut
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'job-9', 'b', i, CASE WHEN i = 1 THEN 'Traceback (most recent call last):' WHEN i = 122 THEN 'ValueError: Größe 17 ' || repeat('ü', 300)
    WHEN i % 2 = 0 THEN format('  File "größe_%s.py", line %s, in läuft', i, i) ELSE '    weiter()' END FROM generate_series(1, 122) i;
INSERT INTO logs (job_id, node, line_no, line) VALUES ('job-9', 'c', 1, 'start ' || repeat('ü', 3000) || ' RuntimeError: at the end'),
    ('job-9', 'd', 1, 'Traceback (most recent call last):'), ('job-9', 'd', 2, '  File "' || repeat('ö', 3000) || '", line 1, in main'), ('job-9', 'd', 3, 'KeyError: ' || repeat('ß', 3000));
-- ... nor has it the values that some draw below the code of a frame
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'job-9', 'e', i, l FROM unnest(ARRAY['Traceback (most recent call last):', '> File "train.py", line 12, in main', '    run(step, shape)',
    '    │   │     └ Shape(', '    │   │         8)', '    │   └ 3', '    └ <function run at 0x7f0c>', 'ZeroDivisionError: division by zero']) WITH ORDINALITY AS v(l, i);
CALL l4.ingest('logs');
SELECT j.example FROM l4._job_event j WHERE j.job_id = 'job-9' AND j.first_node = 'e';
SELECT j.first_node, octet_length(j.example) BETWEEN 1500 AND 2048 AS fits, left(j.example, 76) AS start, j.example ~ '\n\[\.\.\.\]\n' AS has_gap,
    right(regexp_replace(split_part(j.example, E'\n[...]\n', 2), 'ü{3,}|ß{3,}', '…', 'g'), 90) AS rest
FROM l4._job_event j WHERE j.job_id = 'job-9' AND j.first_node BETWEEN 'b' AND 'd' ORDER BY 1;
-- what is forgotten comes back when it is read again
SELECT l4.forget_job('job-1');
SELECT count(*) FROM l4.event_line WHERE job_id = 'job-1';
CALL l4.ingest('logs', 'job-1');
SELECT count(*) FROM l4.event_line WHERE job_id = 'job-1';
-- errors say what is missing, and what to do
CALL l4.ingest(NULL);
CALL l4.ingest('logs', commit => NULL);
CALL l4.ingest('logs', batch_lines => 0);
BEGIN;
CALL l4.ingest('logs');
ROLLBACK;
DO $$ BEGIN PERFORM 1; CALL l4.ingest('ingest_test.logs', commit => false); END $$;
CREATE TABLE lacks (job_id text, host text);
CALL l4.ingest('lacks');
CALL l4.ingest('lacks', job_id => 'x');
CREATE VIEW no_numbers AS SELECT job_id, node, line FROM logs;
CALL l4.ingest('no_numbers');
CREATE TABLE wrong_ts (job_id text, node text, ts text, line text);
CALL l4.ingest('wrong_ts');
CREATE TABLE wrong_no (job_id text, node text, line_no text, line text);
CALL l4.ingest('wrong_no');
CREATE SEQUENCE seq;
CALL l4.ingest('seq');
CALL l4.ingest(1::oid::regclass);
-- state that was damaged is not trusted
BEGIN;
UPDATE l4._pack SET events = '\x0100' WHERE part = 0;
SELECT count(*) FROM l4.event_count WHERE job_id = 'job-1';
ROLLBACK;
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id ~ '^job-[0-9]$' ORDER BY job_id;
DROP SCHEMA ingest_test CASCADE;
