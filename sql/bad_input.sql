-- What real logs have that they should not: a clear error or a stated answer, and nothing lost or counted twice.
\set SHOW_CONTEXT never
\set VERBOSITY default
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA bad_input;
SET search_path = bad_input;
SELECT l4.create_log_table('logs');
CREATE VIEW counted AS
SELECT job_id, count(*) AS lines, count(DISTINCT (node, source, line_no)) AS keys,
       (SELECT sum(occurrences) FROM l4.event_count c WHERE c.job_id = e.job_id) AS records
FROM l4.event_line e WHERE job_id LIKE 'bad-%' GROUP BY job_id;

-- a name of a megabyte: refused by name, in an indexed table by the table itself; the other lines are read once it is gone
CREATE TABLE long_name (job_id text, node text, source text, line_no bigint, line text);
INSERT INTO long_name SELECT 'bad-1', CASE WHEN i < 3 THEN 'n1' ELSE (SELECT string_agg(md5(k::text), '') FROM generate_series(1, 32768) k) END, 'out', i, 'a line ' || i
FROM generate_series(1, 4) i;
CALL l4.ingest('long_name');
SELECT count(*) FROM l4.job WHERE job_id = 'bad-1';
UPDATE long_name SET node = 'n2', source = node WHERE line_no > 2;
CALL l4.ingest('long_name');
UPDATE long_name SET job_id = source, source = '' WHERE line_no > 2;
CALL l4.ingest('long_name');
DELETE FROM long_name WHERE line_no > 2;
CALL l4.ingest('long_name');
SELECT * FROM counted WHERE job_id = 'bad-1';
-- a long name that is short on disk is a name
INSERT INTO logs (job_id, node, line_no, line) SELECT 'bad-2', repeat('node', 25000), i, 'step ' || i FROM generate_series(1, 3) i;
CALL l4.ingest('logs');
SELECT * FROM counted WHERE job_id = 'bad-2';
SELECT symptom FROM l4.diagnose('bad-2');
SELECT max(length(line)) < 1000 AS lines_are_short FROM l4.report('bad-2') AS line;

-- line numbers beyond any
CREATE TABLE odd_numbers (job_id text, node text, line_no bigint, line text);
INSERT INTO odd_numbers VALUES ('bad-3', 'a', 1, 'x'), ('bad-3', 'b', -5, 'y');
CALL l4.ingest('odd_numbers');
UPDATE odd_numbers SET line_no = 9223372036854775807 WHERE node = 'b';
CALL l4.ingest('odd_numbers');
UPDATE odd_numbers SET line_no = 9223372036854773806 WHERE node = 'b';
CALL l4.ingest('odd_numbers');
CALL l4.ingest('odd_numbers');
SELECT * FROM counted WHERE job_id = 'bad-3';
-- ranks and iterations beyond any: no rank; the highest that there is
CREATE TABLE odd_ranks (job_id text, node text, rank bigint, line_no bigint, line text);
INSERT INTO odd_ranks SELECT 'bad-13', 'n' || n, (ARRAY[0, 99999999, 100000000, 2147483647, -1])[n + 1], i, format('iteration %s00000000000/9 done', i)
FROM generate_series(0, 4) n, generate_series(1, 3) i;
INSERT INTO odd_ranks SELECT 'bad-14', 'n' || n, nullif(n * 49999999, 99999998), i, 'step ' || i FROM generate_series(0, 2) n, generate_series(1, 3) i;
CALL l4.ingest('odd_ranks');
SELECT node, rank FROM l4.job_node WHERE job_id = 'bad-13' ORDER BY node;
SELECT iteration FROM l4.parse('iteration 100000000000/9 done');
-- one node without a rank, millions of ranks without a node
SET statement_timeout = '10s';
SELECT symptom FROM l4.diagnose('bad-14');
RESET statement_timeout;
INSERT INTO l4.job_node (job_id, node, rank) VALUES ('bad-13', 'n9', 100000000);
UPDATE l4.job SET expected_nodes = 1000001 WHERE job_id = 'bad-13';
-- a number that comes twice counts once, with an index and without
CREATE TABLE twice (job_id text, node text, line_no int, line text);
INSERT INTO twice SELECT 'bad-4', 'n', i % 50, 'step of the ' || CASE WHEN i < 50 THEN 'first' ELSE 'second' END || ' kind took 5 ms' FROM generate_series(0, 99) i;
CALL l4.ingest('twice');
CALL l4.ingest('twice');
CREATE TABLE twice_indexed (LIKE twice);
CREATE INDEX ON twice_indexed (job_id, node, line_no);
INSERT INTO twice_indexed SELECT 'bad-5', node, line_no, line FROM twice;
CALL l4.ingest('twice_indexed');
CALL l4.ingest('twice_indexed');
SELECT * FROM counted WHERE job_id IN ('bad-4', 'bad-5') ORDER BY 1;

-- clocks that jump: forth by an hour and back, and to times at which no job ran, which are no times at all
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'bad-6', 'n' || n, i, CASE i WHEN 20 THEN '1970-01-01 00:00:09+00' WHEN 21 THEN 'infinity' WHEN 22 THEN '-infinity' WHEN 23 THEN '4000-01-01 BC' WHEN 24 THEN '290000-01-01'
    ELSE '2026-03-01 10:00:00+00'::timestamptz + make_interval(secs => i, hours => CASE WHEN n = 2 AND i BETWEEN 30 AND 35 THEN 1 ELSE 0 END) END,
    format('iteration %s/ 60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7)
FROM generate_series(1, 3) n, generate_series(1, 60) i;
INSERT INTO logs (job_id, node, line_no, line) SELECT 'bad-7', 'n1', i, CASE i WHEN 3 THEN '1970-01-01 00:00:05 [INFO] main: step 3' ELSE format('2026-03-01 10:00:%s [INFO] main: step %s', lpad(i::text, 2, '0'), i) END
FROM generate_series(1, 9) i;
CALL l4.ingest('logs');
SELECT min(ts), max(ts), count(*) FROM l4.event_line WHERE job_id = 'bad-6';
SELECT line_no, ts FROM l4.event_line WHERE job_id = 'bad-6' AND node = 'n1' AND line_no BETWEEN 19 AND 25 ORDER BY 1;
SELECT line_no, ts FROM l4.event_line WHERE job_id = 'bad-7' AND line_no BETWEEN 2 AND 4 ORDER BY 1;
SELECT symptom FROM l4.diagnose('bad-6');
SELECT count(*) > 10 AS has_lines FROM l4.report('bad-6');
SELECT length(l4.report_html('bad-6')) > 1000 AS has_page;

-- durations that no iteration can have, metrics at the end of what a number holds, an epoch after the last one
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'bad-' || j, 'n' || n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s', format('iteration %s/ 40 | elapsed time per iteration (ms): %s | lm loss: %s', i,
    CASE WHEN i < 30 THEN '1000.' || i % 7 ELSE (ARRAY['1e308', '-5', '1e-308', repeat('9', 60)])[i - 29] END, CASE WHEN i > 20 THEN '1E+308' ELSE '2.5E+00' END)
FROM generate_series(21, 22) j, generate_series(1, 3) n, generate_series(1, 33) i
UNION ALL
SELECT 'bad-23', 'n1', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s', CASE i WHEN 1 THEN 'epoch 2147483647 step 5 loss: 1.5' ELSE format('iteration %s/ 40 | lm loss: 2.5E+00', 5 - i) END
FROM generate_series(1, 3) i;
CALL l4.ingest('logs');
SELECT iteration, started, duration_ms FROM l4.iteration WHERE job_id = 'bad-21' AND node = 'n1' AND iteration BETWEEN 29 AND 33 ORDER BY 1;
SELECT epoch, iteration FROM l4.iteration WHERE job_id = 'bad-23';
UPDATE l4.job SET settings = 'beyond', status = CASE job_id WHEN 'bad-21' THEN 'failed' ELSE 'succeeded' END WHERE job_id IN ('bad-21', 'bad-22');
SELECT symptom, stage, iteration FROM l4.diagnose('bad-21');
SELECT count(*) > 10 AS has_lines FROM l4.report('bad-21');
SELECT length(l4.report_html('bad-21')) > 1000 AS has_page;

-- a source that changes its columns between two calls
CREATE TABLE changing (job_id text, node text, line text);
INSERT INTO changing SELECT 'bad-8', 'n1', 'step ' || i FROM generate_series(1, 10) i;
CALL l4.ingest('changing');
ALTER TABLE changing ADD COLUMN line_no int, ADD COLUMN ts timestamp, ADD COLUMN source varchar(20);
UPDATE changing SET line_no = substring(line from '\d+')::int;
CREATE INDEX ON changing (job_id, node, source, line_no);
INSERT INTO changing SELECT 'bad-8', 'n1', 'step ' || i, i, '2026-03-01' FROM generate_series(11, 12) i;
CALL l4.ingest('changing');
SELECT * FROM counted WHERE job_id = 'bad-8';
ALTER TABLE changing ALTER COLUMN line_no TYPE bigint, DROP COLUMN ts, ADD COLUMN rank numeric;
INSERT INTO changing (job_id, node, line, line_no, rank) VALUES ('bad-8', 'n1', 'step 13', 13, 7);
CALL l4.ingest('changing');
SELECT * FROM counted WHERE job_id = 'bad-8';
ALTER TABLE changing RENAME COLUMN node TO host;
CALL l4.ingest('changing');
ALTER TABLE changing RENAME COLUMN host TO node;
ALTER TABLE changing ALTER COLUMN line_no TYPE text USING 'line ' || line_no;
CALL l4.ingest('changing');
DROP TABLE changing;
CALL l4.ingest('changing');
SELECT * FROM counted WHERE job_id = 'bad-8';

-- lines of no content, of a megabyte, of zeros and controls, in a job that is then diagnosed
CREATE TABLE odd_lines (job_id text, node text, line_no bigint, line text);
INSERT INTO odd_lines (job_id, node, line_no, line)
SELECT 'bad-9', 'n' || n, i, CASE i WHEN 1 THEN '' WHEN 2 THEN '   ' WHEN 3 THEN NULL WHEN 4 THEN repeat('lorem ipsum ', 87382) WHEN 5 THEN repeat('x', 1048576)
    WHEN 6 THEN '{"level": "error", "message": "a \u0000 zero and a lone \ud800 surrogate", "time": "2026-03-01T10:00:00Z"}' WHEN 7 THEN '{"level": "info", "message": ' || repeat('[', 100000)
    WHEN 8 THEN E'\x01\x02\x1b[31m\x7f\r\n\t' WHEN 9 THEN repeat('{', 5000) || '<*>' || repeat('%s%n', 100)
    ELSE 'RuntimeError: <script>alert(1)</script> & "quotes" ''apostrophes'' ]]> --> ' || chr(8238) || ' over' END
FROM generate_series(1, 2) n, generate_series(1, 10) i WHERE n = 1 OR i < 10;
CALL l4.ingest('odd_lines');
SELECT * FROM counted WHERE job_id = 'bad-9';
SELECT symptom, coverage -> 'states' AS states FROM l4.diagnose('bad-9');
SELECT max(length(line)) < 1000 AS lines_are_short, bool_or(line ~ '[\x01-\x08\x0b-\x1f\x7f]') AS has_controls FROM l4.report('bad-9') AS line;
SELECT position('<script>alert' in page) AS script, page ~ '[\x01-\x08\x0b-\x1f\x7f]' AS has_controls FROM l4.report_html('bad-9') AS page;

-- a job without logs, one that nothing is known of
INSERT INTO l4.job (job_id, settings, status, expected_nodes) VALUES ('bad-10', 'bad settings', 'failed', 4);
SELECT status, symptom, stage, summary, coverage ->> 'nodes_seen' AS seen, coverage ->> 'nodes_expected' AS expected FROM l4.diagnose('bad-10');
SELECT line FROM l4.report('bad-10') WITH ORDINALITY AS r(line, n) WHERE n = 3 OR line LIKE '  seen %' ORDER BY n;
SELECT length(l4.report_html('bad-10')) > 1000 AS has_page;
SELECT * FROM l4.diagnose('bad-11');
SELECT * FROM l4.report('bad-11');
SELECT * FROM l4.report_html('bad-11');
SELECT * FROM l4.compare('bad-11');
SELECT * FROM l4.match_faults('bad-11');
SELECT l4.confirm_fault('bad-11', name => 'x', root_cause => 'x', remedy => 'x');
SELECT l4.forget_job('bad-11');
-- a single node, without a baseline; then with one that ended as it did
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT job, 'n', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s', CASE WHEN i = 50 AND job = 'bad-12' THEN 'RuntimeError: CUDA error: an illegal memory access was encountered'
    ELSE format('iteration %s/ 50 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END
FROM unnest(ARRAY['bad-12', 'bad-13']) AS job, generate_series(1, 50) i;
CALL l4.ingest('logs');
UPDATE l4.job SET settings = 'alone', status = CASE job_id WHEN 'bad-12' THEN 'failed' ELSE 'running' END WHERE job_id IN ('bad-12', 'bad-13');
SELECT status, symptom, stage, iteration, coverage -> 'states' AS states FROM l4.diagnose('bad-12');
SELECT rank, node, is_suspect FROM l4.suspect_node WHERE job_id = 'bad-12';
UPDATE l4.job SET status = 'succeeded' WHERE job_id = 'bad-13';
SELECT status, symptom, stage, iteration, baseline FROM l4.diagnose('bad-12');
SELECT rank, example_line FROM l4.suspect_event WHERE job_id = 'bad-12';
SELECT baseline, coverage -> 'states' AS states FROM l4.diagnose('bad-13', baseline => ARRAY['bad-12']);
SELECT baseline, coverage -> 'states' AS states FROM l4.diagnose('bad-13', baseline => ARRAY['bad-13']);
SELECT baseline, coverage -> 'states' AS states FROM l4.diagnose('bad-13', baseline => ARRAY['nothing']);
SELECT baseline, coverage -> 'states' AS states FROM l4.diagnose('bad-13', baseline => '{}');
SELECT baseline, coverage -> 'states' AS states FROM l4.diagnose('bad-13', baseline => ARRAY[NULL]::text[]);
SELECT status FROM l4.diagnose(NULL);
-- iterations as high as any, and far apart; a rank that no number holds
CREATE TABLE odd_high (job_id text, node text, rank int, line_no bigint, ts timestamptz, line text);
INSERT INTO odd_high
SELECT j.job, 'n' || n, n, i, '2026-01-01 00:00:00Z'::timestamptz + CASE i WHEN 9 THEN interval '1 h' ELSE i * interval '1 s' END,
    CASE i WHEN 9 THEN format('RuntimeError: Rank %s9999999999 timed out, connection closed by rank 3', n) ELSE format('iteration %s/2147483647 | elapsed time per iteration (ms): 990.0', j.number * i) END
FROM (VALUES ('bad-15', 1000000000000), ('bad-16', 900000000), ('bad-17', 1)) AS j(job, number), generate_series(0, 3) n, generate_series(1, 9) i
WHERE n < 3 OR i < 9;
CALL l4.ingest('odd_high');
SELECT d.job_id, d.symptom, d.stage, d.iteration FROM unnest(ARRAY['bad-15', 'bad-16', 'bad-17']) AS j(job), l4.diagnose(j.job) AS d;
-- what a call says of it
SET client_min_messages = notice;
CREATE TABLE said (job_id text, node text, line_no int, ts timestamptz, line text);
CALL l4.ingest('said');
INSERT INTO said
SELECT 'bad-20', 'n' || n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s', format('step %s done', i)
FROM generate_series(1, 3) AS n, generate_series(1, 30) AS i;
INSERT INTO said VALUES (NULL, 'n1', 1, NULL, 'no job'), ('bad-20', NULL, 1, NULL, 'no node'), ('bad-20', 'n1', NULL, NULL, 'no number'),
    ('bad-20', 'n1', 30, NULL, 'again'), ('bad-20', 'n1', 31, NULL, NULL), ('bad-20', 'n2', 31, '1970-01-01 00:00:09+00', 'early'),
    ('bad-20', 'n2', 32, '-infinity', 'never'), ('bad-21', 'n4', 1, NULL, 'timeless');
CALL l4.ingest('said', batch_lines => 7);
CALL l4.ingest('said');
INSERT INTO said VALUES ('bad-20', 'n3', 31, NULL, 'one more');
CALL l4.ingest('said');
CALL l4.ingest('said', 'bad-2l');
SELECT l4.forget_job('bad-20'), l4.forget_job('bad-21');
CREATE INDEX ON said (job_id, node, line_no);
CALL l4.ingest('said');
CALL l4.ingest('said');
DELETE FROM said WHERE job_id IS NOT NULL;
CALL l4.ingest('said');
SET client_min_messages = warning;

SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'bad-%';
DROP SCHEMA bad_input CASCADE;
