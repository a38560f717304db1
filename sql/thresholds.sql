-- Each number of l4.diagnose_thresholds() decides: a job gets another answer when the number moves to the other side of
-- what the job shows. The test fails when a default moves across, and when the list of numbers without a job is wrong.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA thresholds;
SET search_path = thresholds;
SELECT l4.create_log_table('thresholds.logs');
\i sql/include/made_jobs.sql
-- Six nodes whose iterations take the times given; said is what the lines say instead.
CREATE PROCEDURE pace(job_id text, ms int[], said int DEFAULT NULL)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
    SELECT pace.job_id, 'n' || n, '', n, row_number() OVER (PARTITION BY n ORDER BY l.at),
        '2026-05-01 10:00:00+00'::timestamptz + (l.at + n * 0.001) * interval '1 s', l.line
    FROM generate_series(0, 5) AS n
    CROSS JOIN LATERAL (
        SELECT 0 AS at, 'INFO:dist:initializing process group for rank ' || n AS line
        UNION ALL SELECT 2, 'INFO:train:training starts'
        UNION ALL SELECT 3 + sum(u.ms) OVER (ORDER BY u.i) / 1000.0,
            format('INFO:train:iteration %s/%s | elapsed time per iteration (ms): %s.0', u.i, greatest(40, cardinality(pace.ms)), coalesce(said, u.ms))
        FROM unnest(pace.ms) WITH ORDINALITY AS u(ms, i)) AS l;
$$;
CREATE FUNCTION times(ms int, n int) RETURNS int[] LANGUAGE sql RETURN array_fill(ms, ARRAY[n]);
CREATE PROCEDURE shift(job_id text, nodes int[], since float8, seconds float8)
LANGUAGE sql AS $$
    UPDATE logs AS l SET ts = l.ts + seconds * interval '1 s'
    WHERE l.job_id = shift.job_id AND l.rank = ANY (nodes) AND l.ts >= '2026-05-01 10:00:00+00'::timestamptz + since * interval '1 s';
$$;
-- Rank 2 fails, the others lose their connections to it.
CREATE PROCEDURE crash(job_id text, at float8)
LANGUAGE sql AS $$
    CALL say(job_id, '{2}', at, 'ERROR:train:RuntimeError: a tensor is broken');
    CALL say(job_id, '{0,1,3,4,5}', at + 0.5, 'ERROR:comm:RuntimeError: Connection closed by rank 2');
$$;

CALL job('good-1');
CALL job('good-2');
-- progress
CALL pace('stalls', times(1000, 20) || times(3200, 10) || times(1000, 10));
CALL pace('stays', times(1000, 20) || times(2200, 20));
CALL pace('stays_mostly', times(1000, 32) || times(2200, 8));
CALL pace('stays_long', times(1000, 49) || times(2200, 11));
CALL pace('two_stalls', times(1000, 10) || 12000 || times(1000, 10) || 12000 || times(1000, 18));
CALL pace('near_stalls', times(1000, 10) || 4000 || times(1000, 3) || 4000 || times(1000, 10) || times(4000, 12) || times(1000, 3));
CALL pace('overlap', times(1000, 30), 2300);
CALL crash('overlap', 33.5);
CALL pace('fast', times(100, 30));
CALL say('fast', '{0,1,2,3,4,5}', 12.5, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
CALL pace('tenth', times(1000, 30));
DELETE FROM logs WHERE job_id = 'tenth' AND substring(line FROM 'iteration (\d+)')::int % 10 <> 0;
CALL say('tenth', '{0,1,2,3,4,5}', 33 + 35, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
CALL job('unexplained', 20);
CALL say('unexplained', '{0,1,2,3,4,5}', 23 + 30, 'ERROR:train:RuntimeError: sizes differ');
CALL job('flushed', 20);
-- lines that no rule knows, one a second but for one that takes 15 s; they come for 33 s, 11 s after the first line
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'counts', 'n' || n, '', n, row_number() OVER (PARTITION BY n ORDER BY l.at), '2026-05-01 10:00:00+00'::timestamptz + l.at * interval '1 s', l.line
FROM generate_series(0, 5) AS n, (
    SELECT 0 AS at, 'graph is built' AS line UNION ALL SELECT i + CASE WHEN i > 10 THEN 24 ELSE 10 END, format('%s of 20, %s bad', i, i * 37 % 100) FROM generate_series(1, 20) AS i
    UNION ALL SELECT 60, 'RuntimeError: a tensor is broken') AS l;
CALL say('flushed', '{0,1,2,3,4,5}', 54, 'INFO:train:iteration 21/40 | elapsed time per iteration (ms): 1000.0');
CALL say('flushed', '{0,1,2,3,4,5}', 55, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
-- clocks
CALL job('clock', 20);
CALL crash('clock', 23.5);
CALL shift('clock', '{2}', -1, 0.15);
CALL job('clock_spread', 20);
CALL crash('clock_spread', 23.5);
CALL shift('clock_spread', '{2}', -1, 2);
UPDATE logs SET ts = ts + (line_no % 5 - 2) * 0.2 * interval '1 s' WHERE job_id = 'clock_spread' AND node = 'n2';
CALL job('clock_lines', 20);
CALL crash('clock_lines', 23.5);
CALL say('clock_lines', '{0,1,2,3,4,5}', 1.1, 'INFO:dist:group a is set up');
CALL say('clock_lines', '{0,1,2,3,4,5}', 1.2, 'INFO:dist:group b is set up');
CALL say('clock_lines', '{0,1,2,3,4,5}', 1.3, 'INFO:dist:group c is set up');
DELETE FROM logs WHERE job_id = 'clock_lines' AND rank > 0 AND line ~ 'iteration';
CALL shift('clock_lines', '{2}', -1, 0.7);
CALL job('clock_log', 0);
CALL crash('clock_log', 6.5);
CALL shift('clock_log', '{2}', -1, 70);
-- how many are how many
CALL job('drift_some', 20);
UPDATE logs SET line = replace(line, '64', '63') WHERE job_id = 'drift_some' AND node = 'n2';
DELETE FROM logs WHERE job_id = 'drift_some' AND node = 'n5' AND line ~ 'shards';
CALL say('drift_some', '{0,1,2,3,4,5}', 24, 'ERROR:train:RuntimeError: sizes differ');
CALL job('rare', 20);
CALL say('rare', '{2,4}', 23.5, 'ERROR:train:RuntimeError: a tensor is broken');
CALL say('rare', '{0,1,3,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'wide', 'w' || lpad(n::text, 2, '0'), '', n, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s',
    CASE WHEN i < 4 THEN format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.0', i)
        WHEN n % 10 = 7 THEN 'ERROR:train:RuntimeError: a tensor is broken'
        WHEN n % 5 = 1 THEN 'ERROR:train:OSError: a file is gone'
        ELSE 'ERROR:comm:RuntimeError: Connection closed by peer' END
FROM generate_series(0, 79) AS n, generate_series(1, 4) AS i;
CALL job('gap', 20);
DELETE FROM logs WHERE job_id = 'gap' AND rank = 2;
CALL say('gap', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
-- time
CALL job('late_error', 20);
CALL say('late_error', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
CALL say('late_error', '{2}', 26.5, 'ERROR:train:RuntimeError: a tensor is broken');
CALL job('retry', 20);
CALL say('retry', '{2}', 23.5, E'Traceback (most recent call last):');
CALL say('retry', '{2}', 23.5001, '  File "run.py", line 7, in run');
CALL say('retry', '{2}', 23.5002, 'KeyError: no such row');
CALL say('retry', '{2}', 35.5, 'Traceback (most recent call last):');
CALL say('retry', '{2}', 35.5001, '  File "run.py", line 3, in init_process_group');
CALL say('retry', '{2}', 35.5002, 'ConnectionError: the store is gone');
CALL job('known', 20);
CALL say('known', '{2}', 20, 'WARNING:kernel:NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.');
CALL crash('known', 23.5);
CALL job('mute', 20);
-- once in each third of the time until the trouble
CALL job('along', 20);
CALL say('along', '{0,1,2}', 4, 'WARNING:data:a cache is cold');
CALL say('along', '{3,4,5}', 10, 'WARNING:data:a cache is cold');
CALL say('along', '{0,1,2,3,4,5}', 17, 'WARNING:data:a cache is cold');
CALL crash('along', 23.5);
-- evidence
CALL job('step', 30);
UPDATE logs SET ts = ts + 4 * greatest(0, substring(line FROM 'iteration (\d+)')::int - 15) * interval '1 s',
    line = replace(line, '1000.0', CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN '5000.0' ELSE '1000.0' END)
WHERE job_id = 'step' AND line ~ 'iteration';
UPDATE logs SET ts = ts + 4 * (line_no / 2 - 17) * interval '1 s',
    line = format('DEBUG:train:forward step took %s ms', (ARRAY[300, 330, 600, 380, 260, 320])[1 + rank])
WHERE job_id = 'step' AND line ~ 'forward' AND line_no > 34;
CREATE TABLE sample AS SELECT * FROM logs WHERE job_id = 'step';
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'even', node, source, rank, line_no, ts, regexp_replace(line, 'took (300|330|380|260|320)', 'took 300') FROM sample;
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'behind', node, source, rank, line_no,
    ts + CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN (ARRAY[0, 20, 70, 40, 30, 10])[1 + rank] ELSE 0 END * interval '1 ms', line
FROM sample WHERE line !~ 'forward';
CALL job('chain', 20);
CALL say('chain', '{2}', 23.5, 'ERROR:comm:RuntimeError: Connection closed by rank 4');
CALL say('chain', '{0,1,3,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by rank 2');
CALL job('absent', 0);
DELETE FROM logs WHERE job_id = 'absent' AND (rank = 2 OR line ~ 'training starts');
CALL say('absent', '{0,1,3,4,5}', 100, 'ERROR:dist:TimeoutError: timed out waiting for all ranks to join');
CALL job('edge', 20);
CALL say('edge', '{0,1,5}', 40, 'RuntimeError: [gloo/unbound_buffer.cc:81] Timed out waiting 15000ms for recv operation to complete');
CALL say('edge', '{3,4}', 40, 'RuntimeError: [gloo/unbound_buffer.cc:133] Timed out waiting 15000ms for send operation to complete');
CALL job('silent', 20);
CALL say('silent', '{0,1,3,4,5}', 40, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
-- the baseline
CALL job('short-1', 38);
CALL say('short-1', '{0,1,2,3,4,5}', 45, 'INFO:train:shutting down');
CALL job('other-1');
CALL say('other-1', '{0,1,2,3,4,5}', 30, 'WARNING:data:a shard is slow to come');
CALL job('baseline', 20);
CALL say('baseline', '{2}', 5, 'WARNING:data:a disk is slow');
CALL say('baseline', '{1}', 23, 'WARNING:data:a shard is slow to come');
CALL crash('baseline', 23.5);
CALL l4.ingest('thresholds.logs');
UPDATE l4.job SET settings = CASE job_id WHEN 'other-1' THEN 'thresholds else' WHEN 'counts' THEN 'thresholds alone' WHEN 'stays' THEN 'thresholds alone' ELSE 'thresholds' END,
    expected_nodes = CASE WHEN job_id NOT IN ('wide', 'gap') THEN 6 END,
    status = CASE WHEN job_id ~ '^(good|short|other)-' THEN 'succeeded' WHEN job_id = 'mute' THEN 'running' ELSE 'failed' END
WHERE job_id IN (SELECT DISTINCT l.job_id FROM logs AS l);

-- symptom, stage, iteration, baseline, limits, nodes, evidence, events and iterations, a row each
CREATE FUNCTION answer(job_id text, options jsonb, method text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    d l4.diagnosis := l4.diagnose(job_id, method => method, options => options);
BEGIN
    RETURN ARRAY[format('%s in %s at %s', d.symptom, d.stage, d.iteration), 'baseline ' || array_to_string(d.baseline, ' '),
            'limits ' || (d.coverage ->> 'limits'), 'said: ' || d.summary]
        || ARRAY(SELECT format('%s %s %s', CASE WHEN s.is_suspect THEN 'suspect' ELSE 'node' END, s.node, round(s.score::numeric, 2))
            FROM l4.suspect_node AS s WHERE s.job_id = answer.job_id ORDER BY s.rank)
        || ARRAY(SELECT format('%s of %s: %s', e.kind, e.node, round(e.value::numeric, 2))
            FROM l4.evidence AS e WHERE e.job_id = answer.job_id ORDER BY e.kind, e.node)
        || ARRAY(SELECT format('event %s on %s: %s', round(s.score::numeric, 2), s.nodes, s.example_line) FROM l4.suspect_event AS s WHERE s.job_id = answer.job_id ORDER BY s.rank)
        || ARRAY(SELECT format('iteration %s', s.iteration) FROM l4.suspect_iteration AS s WHERE s.job_id = answer.job_id ORDER BY s.rank);
END
$$;
-- the number, a job that it decides, and a value on the other side
CREATE TABLE decides (name text PRIMARY KEY, job_id text, other numeric, method text DEFAULT 'l4');
INSERT INTO decides VALUES
('absent_value', 'absent', 2.5), ('along_parts', 'along', 4), ('along_records', 'along', 1), ('break_bonus', 'edge', 0.04), ('break_value', 'edge', 0.5),
('clock_agreement', 'clock_log', 1), ('clock_likeness', 'clock', 1), ('clock_spread', 'clock_spread', 0.05), ('counter_share', 'counts', 0.8), ('steady_ratio', 'counts', 1.5), ('end_value', 'edge', 0.5),
('error_level', 'silent', 5), ('faint', 'late_error', 0.2), ('first_moment', 'edge', 0.04),
('flush_seconds', 'flushed', 0.5), ('half', 'near_stalls', 0.4), ('hang_iterations', 'unexplained', 10), ('silent_seconds', 'mute', 1000000000), ('hang_reports', 'tenth', 3.2),
('hang_seconds', 'fast', 7), ('late_mads', 'behind', 2.4), ('late_part', 'stays_long', 0.4),
('late_seconds', 'late_error', 3), ('mad_sigma', 'step', 1.2), ('majority', 'rare', 0.75), ('max_baseline', 'baseline', 1),
('max_elsewhere', 'baseline', 0), ('max_excess', 'two_stalls', 8), ('max_overlap', 'overlap', 2.5), ('mention_score', 'gap', 0.625),
('min_baseline', 'baseline', 10), ('min_blame', 'chain', 1.2), ('min_clock', 'clock', 0.2),
('min_log_clock', 'clock_log', 75), ('min_nodes', 'edge', 7), ('min_pair', 'drift_some', 4),
('min_past', 'stays_mostly', 11), ('min_shared_lines', 'clock_lines', 1), ('min_spread', 'even', 0.08),
('nearly_all', 'drift_some', 1), ('noise_weight', 'stays', 0.4), ('raised_ratio', 'stays', 2.5),
('rare_nodes', 'wide', 7), ('rare_share', 'rare', 0.4), ('retry_seconds', 'retry', 12.5),
('same_moment', 'silent', 18), ('slow_excess', 'stalls', 0.625), ('slow_ratio', 'stalls', 4),
('stayed_quantile', 'stays_mostly', 0.2), ('stayed_ratio', 'stays', 2.5), ('step_cap', 'even', 1), ('step_sigmas', 'even', 4),
('suspect_score', 'rare', 1.25), ('suspect_share', 'rare', 1.5), ('uncommon_nodes', 'wide', 15), ('uncommon_share', 'rare', 0.4),
('unexplained_patience', 'unexplained', 1), ('value_jobs', 'drift_some', 1), ('victim_weight', 'chain', 0.08), ('warning_level', 'known', 4),
('weak', 'rare', 0.4);
INSERT INTO decides VALUES ('forest_score', 'fast', 0.4, 'paper');
CREATE TABLE usual AS SELECT d.job_id, d.method, answer(d.job_id, '{}', d.method) AS rows FROM (SELECT DISTINCT job_id, method FROM decides) AS d;
CREATE TABLE moved AS SELECT d.*, u.rows AS usual, answer(d.job_id, jsonb_build_object(d.name, d.other), d.method) AS rows
FROM decides AS d JOIN usual AS u USING (job_id, method);

-- the first rows that only one side has; none where the number decides nothing
SELECT m.name, t.value, m.other, m.job_id,
    left((SELECT u.row FROM unnest(m.usual) WITH ORDINALITY AS u(row, n) WHERE u.row <> ALL (m.rows) ORDER BY u.row LIKE 'said%', u.n LIMIT 1), 90) AS row,
    left((SELECT u.row FROM unnest(m.rows) WITH ORDINALITY AS u(row, n) WHERE u.row <> ALL (m.usual) ORDER BY u.row LIKE 'said%', u.n LIMIT 1), 90) AS other_row
FROM moved AS m JOIN l4.diagnose_thresholds() AS t USING (name)
WHERE m.rows <> m.usual
ORDER BY m.name;
-- no job decides these yet: a list to be shortened
SELECT t.name FROM l4.diagnose_thresholds() AS t LEFT JOIN moved AS m USING (name) WHERE m.rows IS NOT DISTINCT FROM m.usual ORDER BY 1;

SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job WHERE settings LIKE 'thresholds%';
DROP SCHEMA thresholds CASCADE;
