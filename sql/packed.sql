-- What is stored: compressed where it repeats, some values of many measured ones; the same in one batch and in many.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA packed;
SET search_path = packed;
\i sql/include/kept.sql
SELECT l4.create_log_table('packed_log');
INSERT INTO packed_log (job_id, node, line_no, ts, line)
SELECT j.job, 'node-' || n, i, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => i),
    CASE i % 3 WHEN 0 THEN format('step %s had a loss of 0.%s after 1.%s ms', i / 3, 1000 + i * 7, i)
        WHEN 1 THEN format('waiting for rank %s', i / 3) ELSE format('worker %s reads shard %s', n, i % 7) END
FROM (VALUES ('packed-1'), ('packed-2')) AS j(job), generate_series(1, 2) n, generate_series(1, 600) i;
CALL l4.ingest('packed_log', 'packed-1');
CALL l4.ingest('packed_log', 'packed-2', batch_lines => 1);
-- line by line, so that values come batch by batch
INSERT INTO packed_log (job_id, node, line_no, ts, line) SELECT 'packed-3', l.node, l.line_no, l.ts, l.line FROM packed_log l WHERE l.job_id = 'packed-1' AND l.line_no <= 40;
CALL l4.ingest('packed_log', 'packed-3');
INSERT INTO packed_log (job_id, node, line_no, ts, line) SELECT 'packed-3', l.node, l.line_no, l.ts, l.line FROM packed_log l WHERE l.job_id = 'packed-1' AND l.line_no BETWEEN 41 AND 120;
CALL l4.ingest('packed_log', 'packed-3');
INSERT INTO packed_log (job_id, node, line_no, ts, line) SELECT 'packed-3', l.node, l.line_no, l.ts, l.line FROM packed_log l WHERE l.job_id = 'packed-1' AND l.line_no > 120;
CALL l4.ingest('packed_log', 'packed-3');
-- what several short streams share (3), and what a stream has for itself (2: compressed)
SELECT s.job_id, count(DISTINCT s.pack_id) AS packs, min(get_byte(c.body, 0)) AS lines, min(get_byte(m.slots, 0)) AS values,
    bool_and(get_byte(v.body, 0) = CASE WHEN s.member IS NULL THEN 2 ELSE 1 END) AS lines_shown
FROM l4._stream s JOIN l4._pack_chunk c USING (pack_id) JOIN l4._pack m USING (pack_id) JOIN l4._chunk v USING (stream_id) WHERE s.job_id LIKE 'packed%' GROUP BY 1 ORDER BY 1;
-- of more than 32 different values a stream 8 are kept where they are fractions or durations, 32 of others
SELECT t.template, p.slot, p.mask, count(*) AS shown, bool_or(p.occurrences IS NULL) AS more, min(p.value) AS one
FROM l4.template t CROSS JOIN LATERAL l4.event_parameters('packed-1', t.event_id) p
WHERE EXISTS (SELECT FROM l4.event_count c WHERE c.job_id = 'packed-1' AND c.event_id = t.event_id) GROUP BY 1, 2, 3 ORDER BY t.template COLLATE "C", 2;
SELECT count(*) AS different FROM (
    SELECT node, event_id, slot, mask, value, occurrences, first_ts FROM l4._slot_values('packed-1', NULL)
    EXCEPT SELECT node, event_id, slot, mask, value, occurrences, first_ts FROM l4._slot_values('packed-3', NULL)) x;
SELECT j.job_id, count(*) AS lines,
    (SELECT count(*) FROM (SELECT node, line_no, ts, event_id, iteration, stage FROM l4.event_line l WHERE l.job_id = j.job_id
        EXCEPT SELECT node, line_no, ts, event_id, iteration, stage FROM l4.event_line l WHERE l.job_id = 'packed-1') x) AS different
FROM l4.job j JOIN l4.event_line l USING (job_id) WHERE j.job_id LIKE 'packed%' GROUP BY 1 ORDER BY 1;
-- streams that leave a pack they share, a few at a time, and lines that fill a gap: as if all had been read at once
SELECT l4.create_log_table('leaving_log');
CREATE FUNCTION packed.leave(target text, wanted text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO leaving_log (job_id, node, line_no, ts, line) SELECT %L, l.node, l.line_no, l.ts, l.line FROM leaving_log l WHERE l.job_id = %L AND (%s)', target, 'packed-4', wanted);
END
$$;
INSERT INTO leaving_log (job_id, node, line_no, ts, line)
SELECT 'packed-4', 'node-' || n, i, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => i),
    CASE i % 3 WHEN 0 THEN format('step %s had a loss of 0.%s after 1.%s ms', i / 3, 1000 + i * 7, i)
        WHEN 1 THEN E'Traceback (most recent call last):\n  File "a.py", line 5, in f' ELSE format('ValueError: worker %s, shard %s', n, i % 7) END
FROM generate_series(1, 4) n, generate_series(1, 90) i;
CALL l4.ingest('leaving_log', 'packed-4');
SELECT packed.leave('packed-5', 'l.line_no <= 31 AND l.line_no NOT BETWEEN 11 AND 15');
CALL l4.ingest('leaving_log', 'packed-5');
CREATE VIEW packed.held AS SELECT count(DISTINCT s.pack_id) AS packs, count(s.member) AS sharing,
    (SELECT count(*) FROM l4._pack p WHERE p.pack_id NOT IN (SELECT x.pack_id FROM l4._stream x)) + (SELECT count(*) FROM l4._pack_chunk p WHERE p.pack_id NOT IN (SELECT x.pack_id FROM l4._stream x)) AS abandoned
FROM l4._stream s WHERE s.job_id = 'packed-5';
SELECT * FROM packed.held;
SELECT packed.leave('packed-5', $$l.line_no BETWEEN 32 AND 40 AND l.node = 'node-2'$$);
CALL l4.ingest('leaving_log', 'packed-5');
SELECT * FROM packed.held;
SELECT packed.leave('packed-5', $$l.line_no BETWEEN 11 AND 15 AND l.node IN ('node-1', 'node-2', 'node-3')$$);
CALL l4.ingest('leaving_log', 'packed-5');
SELECT * FROM packed.held;
SELECT packed.leave('packed-5', $$l.line_no BETWEEN 41 AND 61 AND l.node = 'node-2' OR l.line_no BETWEEN 32 AND 61 AND l.node IN ('node-3', 'node-4')$$);
CALL l4.ingest('leaving_log', 'packed-5');
SELECT * FROM packed.held;
SELECT packed.leave('packed-5', $$l.line_no > 61 AND l.node <> 'node-1' OR l.line_no > 31 AND l.node = 'node-1' OR l.line_no BETWEEN 11 AND 15 AND l.node = 'node-4'$$);
CALL l4.ingest('leaving_log', 'packed-5');
SELECT * FROM packed.held;
SELECT v.view, v.rows, v.different FROM (
    SELECT 1, 'event_count', count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM l4.event_count b WHERE b.job_id = 'packed-4' AND (b.node, b.event_id, b.occurrences, b.first_ts, b.last_ts, b.first_line_no, b.last_line_no) = (a.node, a.event_id, a.occurrences, a.first_ts, a.last_ts, a.first_line_no, a.last_line_no)))
    FROM l4.event_count a WHERE a.job_id = 'packed-5'
    UNION ALL SELECT 2, 'event_line', count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM l4.event_line b WHERE b.job_id = 'packed-4' AND (b.node, b.line_no, b.ts, b.event_id) = (a.node, a.line_no, a.ts, a.event_id)))
    FROM l4.event_line a WHERE a.job_id = 'packed-5'
    UNION ALL SELECT 3, '_slot_values', count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM l4._slot_values('packed-4', NULL) b WHERE (b.node, b.event_id, b.slot, b.value, b.first_ts) = (a.node, a.event_id, a.slot, a.value, a.first_ts)))
    FROM l4._slot_values('packed-5', NULL) a
    UNION ALL SELECT 4, '_job_event', count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM l4._job_event b WHERE b.job_id = 'packed-4' AND (b.event_id, b.occurrences, b.nodes, b.first_ts, b.last_ts, b.first_node, b.first_line_no, b.example) = (a.event_id, a.occurrences, a.nodes, a.first_ts, a.last_ts, a.first_node, a.first_line_no, a.example)))
    FROM l4._job_event a WHERE a.job_id = 'packed-5') AS v(o, view, rows, different) ORDER BY v.o;
-- short streams with metrics have more of what grows than a row of a pack of their own takes: all of it stays when they go on
SELECT l4.create_log_table('growing_log');
CREATE PROCEDURE packed.grow(target text, first int, last int) LANGUAGE sql AS $$
    INSERT INTO growing_log (job_id, node, line_no, ts, line)
    SELECT target, 'node-' || n, i, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => i), 'iteration ' || i || '/ 900 | '
        || (SELECT string_agg(format('%s: 0.%s', m, abs(hashint8extended(i, n * length(m)) % 1000000000000000)), ' | ') FROM unnest('{lm loss,grad norm,learning rate}'::text[]) m)
    FROM generate_series(1, 2) n, generate_series(first, last) i
$$;
CALL packed.grow('packed-6', 1, 420);
CALL l4.ingest('growing_log', 'packed-6');
CALL packed.grow('packed-7', 1, 400);
CALL l4.ingest('growing_log', 'packed-7');
SELECT min(length(l4._member(p.iterations, s.member))) > 8192 AS much, count(s.member) AS sharing FROM l4._stream s JOIN l4._pack p USING (pack_id) WHERE s.job_id = 'packed-7';
CALL packed.grow('packed-7', 401, 420);
CALL l4.ingest('growing_log', 'packed-7');
SELECT i.job_id, count(*) AS iterations, sum((i.metrics ->> 'loss')::numeric) AS metric, (SELECT count(*) FROM kept_sequence q WHERE q.job_id = i.job_id) AS sequences,
    (SELECT sum(a.lines) FROM l4._activity a WHERE a.job_id = i.job_id) AS active
FROM l4.iteration i WHERE i.job_id IN ('packed-6', 'packed-7') GROUP BY 1 ORDER BY 1;
SELECT count(l4.forget_job(j.job_id)) AS forgotten FROM l4.job j WHERE j.job_id LIKE 'packed%';
DROP SCHEMA packed CASCADE;
