-- What is kept of a stream does not depend on where reading was cut: between calls at any line, between pieces of any size.
SET client_min_messages = warning;
SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA cuts;
SET search_path = cuts;
SELECT l4.create_log_table('cuts.logs');
-- a continuation line whose record was read by an earlier call, with more new lines behind it than any memory of recent records holds
INSERT INTO logs (job_id, node, line_no, line) VALUES ('late', 'n', 1, 'INFO:root:metrics_cfg {}');
CALL l4.ingest('cuts.logs');
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'late', 'n', 2, '' UNION ALL
SELECT 'late', 'n', 2 + i, 'INFO:root:' || translate(md5(i::text), '0123456789', 'ghijklmnop') || ' now' FROM generate_series(1, 200) AS i;
CALL l4.ingest('cuts.logs');
SELECT line_no, record_line_no, template FROM l4.event_line JOIN l4.template USING (event_id) WHERE job_id = 'late' AND line_no < 3 ORDER BY 1;
-- streams of several writers, made of all kinds of lines in any order
CREATE TABLE kinds (kind int, line text);
INSERT INTO kinds SELECT n - 1, l FROM unnest(ARRAY[
    'INFO:root:loading dataset shard %s', 'INFO:root:building the model with 24 layers', 'iteration %s/ 100 | elapsed time per iteration (ms): 12.5 | lm loss: 2.5',
    '', '  detail of what is above: %s', 'Traceback (most recent call last):', '  File "a.py", line %s, in f', '    call(x)', 'KeyError: y',
    '[rank0]: Traceback (most recent call last):', '[rank0]:   File "b.py", line %s, in g', '[rank0]: ValueError: x', '[rank0]:', '[rank0]: INFO:run:begin',
    '[rank1]: Traceback (most recent call last):', '[rank1]:   File "c.py", line 3, in h', '[rank1]: RuntimeError: NCCL error in rank %s', '[rank1]: WARNING:run:slow node',
    '[rank1]: iteration %s/ 100 | lm loss: 2.5', 'WARNING:root:retry %s of the store:', '    at java.base/java.lang.Thread.run(Thread.java:829)',
    'ERROR:root:cannot reach 10.0.0.%s', '[rank2]: saving checkpoint at iteration %s to /ckpt', '[rank2]:',
    'During handling of the above exception, another exception occurred:', '================================================================', 'train.py FAILED',
    'terminate called after throwing an instance of ''std::runtime_error''', '  what():  out of memory', 'INFO:root:evaluation of step %s took 7 ms'])
    WITH ORDINALITY AS u(l, n);
CREATE FUNCTION stream(seed int, size int) RETURNS TABLE (line_no bigint, ts timestamptz, line text) LANGUAGE sql AS $$
    SELECT i, timestamptz '2026-05-01 08:00:00Z' + i * interval '300 ms', replace(k.line, '%s', (i / 3)::text)
    FROM generate_series(1, size) AS i
    JOIN cuts.kinds AS k ON k.kind = abs(hashint8extended(i, seed) % CASE WHEN i % 60 < 45 THEN 30 ELSE 4 END)
$$;
\i sql/include/kept.sql
-- what is kept of each job
CREATE VIEW kept AS
    SELECT e.job_id, format('line %s < %s %s %s %s %s %s', e.line_no, e.record_line_no, e.ts, e.rank, e.stage, e.iteration, t.template) AS what
    FROM l4.event_line AS e JOIN l4._event AS t USING (event_id)
    UNION ALL
    SELECT c.job_id, format('count %s %s %s %s %s %s', c.occurrences, c.first_ts, c.last_ts, c.first_line_no, c.last_line_no, t.template)
    FROM l4.event_count AS c JOIN l4._event AS t USING (event_id)
    UNION ALL
    SELECT i.job_id, format('iteration %s %s %s %s %s', i.epoch, i.iteration, i.started, i.duration_ms, i.metrics) FROM l4.iteration AS i
    UNION ALL
    SELECT s.job_id, format('stage %s %s %s %s %s', s.stage, s.first_ts, s.last_ts, s.first_line_no, s.last_line_no) FROM l4.stage_span AS s
    UNION ALL
    SELECT s.job_id, format('sequence %s %s %s %s', s.rank, s.epoch, s.iteration, s.events) FROM kept_sequence AS s
    UNION ALL
    SELECT d.job_id, format('duration %s %s %s %s', d.slot, d.block, d.n, d.sum_ms) FROM kept_duration AS d
    UNION ALL
    SELECT a.job_id, format('activity %s %s', a.bucket, a.lines) FROM l4._activity AS a
    UNION ALL
    SELECT j.job_id, format('value %s %s %s %s', v.slot, v.mask, v.value, v.occurrences) FROM l4.job AS j, l4._slot_values(j.job_id, NULL) AS v
    UNION ALL
    SELECT n.job_id, format('node %s %s %s %s', n.lines, n.last_iteration, n.max_in_flight, n.unparsed) FROM l4._node AS n;
-- read whole, at once
CREATE TABLE streams AS SELECT seed, s.* FROM generate_series(1, 2) AS seed, stream(seed, 120) AS s;
INSERT INTO logs (job_id, node, line_no, ts, line) SELECT 'whole-' || seed, 'n', line_no, ts, line FROM streams;
CALL l4.ingest('cuts.logs');
-- by two calls, cut at each line; in one call, in pieces of so many lines
CREATE TABLE jobs AS
SELECT format('cut-%s-%s', seed, upto) AS job_id, seed, upto, NULL::int AS step, NULL::int AS every
FROM generate_series(1, 2) AS seed, generate_series(seed, 119, 2) AS upto
UNION ALL
SELECT format('step-%s-%s', seed, step), seed, 120, step, NULL
FROM generate_series(1, 2) AS seed, unnest(ARRAY[1, 2, 3, 5, 8, 13, 34, 55]) AS step;
INSERT INTO l4.job (job_id) SELECT job_id FROM jobs WHERE step IS NOT NULL;
INSERT INTO l4._stream (job_id, node, source, step) SELECT job_id, 'n', '', step FROM jobs WHERE step IS NOT NULL;
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT j.job_id, 'n', s.line_no, s.ts, s.line FROM jobs AS j JOIN streams AS s USING (seed) WHERE s.line_no <= j.upto;
CALL l4.ingest('cuts.logs');
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT j.job_id, 'n', s.line_no, s.ts, s.line FROM jobs AS j JOIN streams AS s USING (seed) WHERE s.line_no > j.upto;
CALL l4.ingest('cuts.logs', batch_lines => 100);
-- by many calls: one for each line, for every third and every 40th
SELECT l4.create_log_table('cuts.growing');
INSERT INTO jobs SELECT format('every-%s-%s', seed, every), seed, NULL, NULL, every
FROM generate_series(1, 2) AS seed, unnest(ARRAY[1, 3, 40]) AS every;
DO $$
BEGIN
    FOR turn IN 1..120 LOOP
        INSERT INTO cuts.growing (job_id, node, line_no, ts, line)
        SELECT j.job_id, 'n', s.line_no, s.ts, s.line FROM cuts.jobs AS j JOIN cuts.streams AS s USING (seed)
        WHERE (turn % j.every = 0 OR turn = 120) AND s.line_no BETWEEN (turn - 1) / j.every * j.every + 1 AND turn;
        CALL l4.ingest('cuts.growing', commit => false);
    END LOOP;
END
$$;
CREATE TABLE found AS SELECT * FROM kept;
CREATE TABLE expected AS
SELECT j.job_id, f.what FROM jobs AS j JOIN found AS f ON f.job_id = 'whole-' || j.seed;
DELETE FROM found WHERE job_id NOT IN (SELECT job_id FROM jobs);
SELECT count(*) > 20000 FROM expected;
CREATE TABLE differs AS
(SELECT 'more' AS is, * FROM (SELECT * FROM found EXCEPT ALL SELECT * FROM expected) AS m)
UNION ALL
(SELECT 'missing', * FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM found) AS m);
SELECT count(DISTINCT job_id) FROM differs;
SELECT * FROM differs ORDER BY job_id COLLATE "C", what COLLATE "C" LIMIT 20;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^(late$|whole-|cut-|every-|step-)';
DROP SCHEMA cuts CASCADE;
