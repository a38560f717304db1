-- What diagnosis reads packed is what SQL makes of the views, row by row.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA packs;
SET search_path = packs;
\i sql/include/kept.sql
SELECT l4.create_log_table('lines');
-- six nodes with two ranks each, 60 iterations; n3 is slow from 41 on and says other things now and then
INSERT INTO l4.job (job_id, expected_nodes) VALUES ('packs-1', 6), ('packs-2', 6);
INSERT INTO lines (job_id, node, source, rank, line_no, ts, line)
SELECT 'packs-1', 'n' || n, 'rank' || r, 2 * n + r, row_number() OVER (PARTITION BY n, r ORDER BY i, part),
    timestamptz '2026-03-01 10:00:00+00' + (i + CASE WHEN i > 40 THEN 2.5 * (i - 40) ELSE 0 END + part * 0.1 + n * 0.003 + r * 0.001
        + CASE WHEN n = 3 AND i > 40 THEN 0.4 ELSE 0 END) * interval '1 s',
    CASE part WHEN 0 THEN format('[INFO] loader: fetched batch %s from shard-%s.bin', i, (i * 7 + n) % 40)
        WHEN 1 THEN format('[INFO] engine: forward took %s ms', 100 + i % 5 + CASE WHEN n = 3 AND i > 40 THEN 400 ELSE 0 END)
        WHEN 2 THEN format('[WARNING] storage: attempt %s of node%s failed, retrying', 1 + i % 3, n)
        WHEN 3 THEN format('[INFO] trainer: iteration %s/60 | elapsed time per iteration (ms): %s | lm loss: %s', i,
            CASE WHEN i > 40 THEN 3500 ELSE 1000 + (i * 13 + n) % 50 END, 5 - i / 50.0) END
FROM generate_series(0, 5) AS n, generate_series(0, 1) AS r, generate_series(1, 60) AS i, generate_series(0, 3) AS part
WHERE part <> 2 OR (i * 5 + n * 3 + r) % 17 = 0 OR n = 3 AND i IN (30, 31);
INSERT INTO lines (job_id, node, source, rank, line_no, ts, line)
SELECT 'packs-1', 'n' || n, 'rank0', 2 * n, 0, timestamptz '2026-03-01 10:00:00+00',
    format('[INFO] setup: world size 12, cache %s, seed %s', CASE n WHEN 4 THEN 'cold' ELSE 'warm' END, n * 31) FROM generate_series(0, 5) AS n;
INSERT INTO lines SELECT 'packs-2', node, source, rank, line_no, ts, line FROM lines WHERE node <> 'n2';
CALL l4.ingest('lines');
-- more lines for some: what is open is read too
INSERT INTO lines (job_id, node, source, rank, line_no, ts, line)
SELECT 'packs-1', node, source, rank, 10000, max(ts) + interval '3.5 s', '[INFO] trainer: iteration 61/60 | elapsed time per iteration (ms): 3500.0 | lm loss: 3.1'
FROM lines WHERE job_id = 'packs-1' AND node < 'n4' GROUP BY node, source, rank;
CALL l4.ingest('lines');
CREATE VIEW stream AS
SELECT m.*, substr(m.node, 2)::int AS number FROM l4._summary AS m WHERE job_id = 'packs-1';
-- iterations: number of nodes, last report, median duration
CREATE TEMP TABLE packed AS SELECT l4._iteration_table(iterations, open_iterations, number, 0, NULL ORDER BY number) AS parts FROM stream;
SELECT count(*), sum(nodes), max(duration_ms)
FROM packed, l4._unpack(parts[1]) AS u(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8);
(SELECT u.* FROM packed, l4._unpack(parts[1]) AS u(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8)
 EXCEPT SELECT epoch, iteration, count(DISTINCT node), max(ended), percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms)
    FROM l4._iteration WHERE job_id = 'packs-1' GROUP BY 1, 2);
SELECT u.* FROM packed, l4._unpack(parts[2]) AS u(node int, train_ts timestamptz, progress_ts timestamptz, iterations int, last_iteration int)
EXCEPT SELECT substr(node, 2)::int, min(ended), max(ended), count(*), (max(ARRAY[epoch, iteration]))[2] FROM l4._iteration WHERE job_id = 'packs-1' GROUP BY node;
SELECT l4._iteration_table(NULL, NULL, 1, 0, NULL) IS NOT NULL AS empty, l4._iteration_table(iterations, NULL, NULL, 0, NULL) = l4._iteration_table(NULL, NULL, 1, 0, NULL) AS nobody FROM stream;
SELECT l4._iteration_table(iterations, NULL, -1, 0, NULL) FROM stream;
SELECT l4._iteration_table(iterations, NULL, 2147483647, 0, NULL) FROM stream;
SELECT l4._iteration_table(events, NULL, 1, 0, NULL) FROM stream;
-- sequences: distance to the ten before, three deviations
WITH sequence AS (
    SELECT q.*, row_number() OVER w AS place FROM kept_sequence AS q WHERE job_id = 'packs-1' WINDOW w AS (PARTITION BY node, source, rank ORDER BY epoch, iteration)
), distance AS (
    SELECT a.node, a.source, a.rank, a.epoch, a.iteration, a.place, avg(l4.dtw_distance(a.events, b.events)) AS distance
    FROM sequence AS a JOIN sequence AS b ON b.node = a.node AND b.source = a.source AND b.rank IS NOT DISTINCT FROM a.rank AND b.place BETWEEN a.place - 10 AND a.place - 1
    GROUP BY 1, 2, 3, 4, 5, 6
), measured AS (
    SELECT d.*, avg(distance) OVER w AS mean, greatest(stddev_pop(distance) OVER w, 0.5) AS sd, count(*) OVER w AS n FROM distance AS d
    WINDOW w AS (PARTITION BY node, source, rank ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), expected AS (
    SELECT node, source, epoch, iteration, round(distance::numeric, 9) AS distance, round(((distance - mean) / sd)::numeric, 6) AS sigma FROM measured WHERE n >= 10 AND distance - mean > 3 * sd
), found AS (
    SELECT s.node, s.source, u.epoch, u.iteration, round(u.distance::numeric, 9) AS distance, round(u.sigma::numeric, 6) AS sigma
    FROM (SELECT l4._deviations(sequences, open_sequences, stream_id, '{}', '{}' ORDER BY stream_id) AS packed FROM stream) AS d
    CROSS JOIN l4._unpack(d.packed) AS u(stream_id int, epoch int, iteration int, distance float8, sigma float8) JOIN l4._stream AS s USING (stream_id)
)
SELECT (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM (SELECT * FROM found EXCEPT SELECT * FROM expected) AS x) AS wrong,
    (SELECT count(*) FROM (SELECT * FROM expected EXCEPT SELECT * FROM found) AS x) AS missing;
SELECT l4._deviations(events, NULL, 1, NULL, NULL) FROM stream;
SELECT l4._deviations(NULL, NULL, 1, '{}', '{}') IS NOT NULL AS none, l4._deviations(sequences, NULL, NULL, NULL, NULL) = l4._deviations(NULL, NULL, 1, '{}', '{}') AS nobody FROM stream;
SELECT l4._deviations(sequences, NULL, 1, '{1}', '{}') FROM stream;
-- lateness, against the median node and the time before
WITH done AS (
    SELECT node, dense_rank() OVER (ORDER BY epoch, iteration) AS place, count(*) OVER (PARTITION BY epoch, iteration) AS streams, extract(epoch FROM ended) * 1000 AS ms
    FROM l4._iteration WHERE job_id = 'packs-1'
), normal AS (
    SELECT place, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms::float8) AS ms FROM done GROUP BY place
), late AS (
    SELECT node, avg(d.ms::float8 - n.ms) FILTER (WHERE place >= 41) - percentile_cont(0.5) WITHIN GROUP (ORDER BY d.ms::float8 - n.ms) FILTER (WHERE place < 41) AS ms
    FROM done AS d JOIN normal AS n USING (place) WHERE place > 1 AND streams >= 10 GROUP BY node
)
SELECT l.node, round(l.ms::numeric, 1) AS expected, round(u.ms::numeric, 1) AS found
FROM late AS l JOIN (SELECT l4._late_nodes(iterations, open_iterations, number, 41, 5, 0, NULL ORDER BY number) AS packed FROM stream) AS p ON true
JOIN l4._unpack(p.packed) AS u(number int, ms float8) ON l.node = 'n' || u.number ORDER BY 1;
SELECT l4._late_nodes(iterations, open_iterations, number, NULL, 5, 0, NULL ORDER BY number) FROM stream;
-- durations before and since a block
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE v IS DISTINCT FROM d) AS wrong
FROM (SELECT s.node, u.event_id, u.slot, sum(u.n_before) AS n0, sum(u.us_before) / 1000.0 AS ms0, sum(u.n_since) AS n1, sum(u.us_since) / 1000.0 AS ms1
    FROM stream AS s CROSS JOIN l4._duration_sums(durations, open_durations, 4) AS u GROUP BY 1, 2, 3) AS d
FULL JOIN (SELECT node, event_id, slot, coalesce(sum(n) FILTER (WHERE block < 4), 0) AS n0, coalesce(sum(sum_ms::numeric) FILTER (WHERE block < 4), 0.0) AS ms0,
        coalesce(sum(n) FILTER (WHERE block >= 4), 0) AS n1, coalesce(sum(sum_ms::numeric) FILTER (WHERE block >= 4), 0.0) AS ms1
    FROM kept_duration WHERE job_id = 'packs-1' AND block >= 0 GROUP BY 1, 2, 3) AS v USING (node, event_id, slot, n0, ms0, n1, ms1);
SELECT count(*) FROM stream CROSS JOIN l4._duration_sums(durations, open_durations, NULL);
-- activity
SELECT count(*) FILTER (WHERE l4._wrote_between(activity, open_activity, '2026-03-01 10:00:59+00', '2026-03-01 10:01:05+00')) AS then,
    count(*) FILTER (WHERE l4._wrote_between(activity, open_activity, '2026-03-01 11:00:00+00', '2026-03-01 12:00:00+00')) AS later,
    count(*) FILTER (WHERE l4._wrote_between(activity, open_activity, NULL, '2026-03-01 12:00:00+00')) AS unknown FROM stream;
SELECT count(*) > 5 AS some, count(*) FILTER (WHERE a.n IS DISTINCT FROM b.n) AS wrong
FROM (SELECT u.line, u.k, u.lines AS n FROM (SELECT l4._activity_columns(activity, open_activity, number % 2, '2026-03-01 10:00:10+00', '2026-03-01 10:01:30+00', 7.5) AS p FROM stream) AS x,
    l4._unpack(x.p) AS u(line int, k int, lines bigint)) AS a
FULL JOIN (SELECT substr(node, 2)::int % 2 AS line, floor(extract(epoch FROM bucket - timestamptz '2026-03-01 10:00:10+00') / 7.5)::int AS k, sum(lines)::bigint AS n
    FROM l4._activity WHERE job_id = 'packs-1' AND bucket > '2026-03-01 10:00:09+00' AND bucket <= '2026-03-01 10:01:30+00' GROUP BY 1, 2) AS b USING (line, k);
SELECT l4._activity_columns(activity, open_activity, -1, '2026-03-01 10:00:10+00', '2026-03-01 10:01:30+00', 7.5) FROM stream;
SELECT l4._activity_columns(activity, open_activity, 1, '2026-03-01 10:00:10+00', '2026-03-01 10:01:30+00', 0) FROM stream;
-- some events of the views
CREATE TEMP TABLE wanted AS SELECT array_agg(event_id) AS ids FROM l4.template WHERE template ~ 'retrying|world size';
SELECT count(*) AS counts FROM (TABLE wanted) AS w, l4._event_counts('packs-1', w.ids);
SELECT c.* FROM (TABLE wanted) AS w, l4._event_counts('packs-1', w.ids) AS c EXCEPT SELECT c.* FROM wanted AS w, l4.event_count AS c WHERE job_id = 'packs-1' AND event_id = ANY (w.ids);
SELECT count(*) FROM (SELECT * FROM l4._event_counts('packs-1', NULL) EXCEPT SELECT * FROM l4.event_count WHERE job_id = 'packs-1') AS x;
SELECT count(*) AS values FROM (TABLE wanted) AS w, l4._slot_values('packs-1', w.ids);
SELECT v.* FROM (TABLE wanted) AS w, l4._slot_values('packs-1', w.ids) AS v EXCEPT SELECT v.* FROM wanted AS w, l4._slot_values('packs-1', NULL) AS v WHERE event_id = ANY (w.ids);
SELECT v.* FROM (TABLE wanted) AS w, l4._values('packs-1', w.ids) AS v EXCEPT SELECT v.* FROM wanted AS w, l4._values('packs-1', ARRAY(SELECT event_id FROM l4.template)) AS v WHERE v.event_id = ANY (w.ids);
SELECT count(*), bool_and(v.node = n.node) AS of_the_node, count(*) = (SELECT count(*) FROM (TABLE wanted) AS w, l4._values('packs-1', w.ids) AS a WHERE a.node = min(n.node)) AS all_of_it
FROM (TABLE wanted) AS w, (SELECT max(node) AS node FROM l4._node WHERE job_id = 'packs-1') AS n, l4._values('packs-1', w.ids, ARRAY[n.node]) AS v;
SELECT m.* FROM (TABLE wanted) AS w, l4._mentions('packs-1', w.ids) AS m EXCEPT SELECT m.* FROM wanted AS w, l4.mention AS m WHERE job_id = 'packs-1' AND event_id = ANY (w.ids);
SELECT count(*) FROM l4._slot_values('packs-1', '{}'), l4._event_counts('packs-1', '{}'), l4._first_parameters('packs-1', '{}');
-- the lines of an event are those that the view shows
SELECT count(*) > 3 AS several, bool_and(d.differing = 0) AS same FROM (
    SELECT (SELECT count(*) FROM (SELECT v.* FROM l4.event_line AS v WHERE v.job_id = e.job_id AND v.event_id = e.event_id
            EXCEPT SELECT w.* FROM l4.event_lines(e.job_id, e.event_id) AS w) AS x)
        + abs((SELECT count(*) FROM l4.event_line AS v WHERE v.job_id = e.job_id AND v.event_id = e.event_id) - (SELECT count(*) FROM l4.event_lines(e.job_id, e.event_id)))
        + (SELECT count(*) FROM (SELECT v.* FROM l4.event_line AS v WHERE v.job_id = e.job_id AND v.event_id = e.event_id AND v.node = n.node
            EXCEPT ALL SELECT w.* FROM l4._event_lines(e.job_id, e.event_id, n.node) AS w) AS x)
        + (SELECT count(*) FROM l4._event_lines(e.job_id, e.event_id, n.node) AS w WHERE w.node <> n.node) AS differing
    FROM (SELECT DISTINCT c.job_id, c.event_id FROM l4.event_count AS c WHERE c.job_id = 'packs-1') AS e
    JOIN (SELECT z.job_id, max(z.node) AS node FROM l4._node AS z GROUP BY z.job_id) AS n USING (job_id)) AS d;
-- two ranks a node: nobody is missing but the node that is
SELECT (l4.diagnose('packs-1')).coverage -> 'nodes_silent' AS silent, (l4.diagnose('packs-2')).coverage -> 'nodes_silent' AS silent_2;
SELECT node, rank FROM l4._rank_node WHERE job_id = 'packs-1' ORDER BY rank;
-- what has not changed is not diagnosed again; whatever an answer depends on counts
CREATE FUNCTION again(what text, options jsonb DEFAULT '{}', baseline text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM l4.suspect_iteration WHERE job_id = 'packs-1';
    PERFORM l4.diagnose('packs-1', again.baseline, options => again.options);
    RETURN what || CASE WHEN EXISTS (SELECT FROM l4.suspect_iteration WHERE job_id = 'packs-1') THEN ': diagnosed' ELSE ': as before' END;
END $$;
SELECT again('nothing');
SELECT again('options', '{"late_seconds": 3}');
SELECT again('baseline', '{"late_seconds": 3}', '{packs-2}');
SELECT again('nothing', '{"late_seconds": 3}', '{packs-2}');
INSERT INTO l4.marker_rule (name, kind, signature) VALUES ('packs', 'exit', 'zzz');
SELECT again('rule', '{"late_seconds": 3}', '{packs-2}');
INSERT INTO l4.iteration_rule (name, signature) VALUES ('packs', 'zzz (?<iter>\d+)');
SELECT again('iteration rule', '{"late_seconds": 3}', '{packs-2}');
UPDATE l4.iteration_rule SET kind = 'in_flight' WHERE name = 'packs';
SELECT again('kind of the iteration rule', '{"late_seconds": 3}', '{packs-2}');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('packs_fault', 'user', 'program', 'nobody says this', 'c', 'r');
SELECT again('fault', '{"late_seconds": 3}', '{packs-2}');
UPDATE l4.fault SET priority = priority WHERE name = 'packs_fault';
SELECT again('same fault', '{"late_seconds": 3}', '{packs-2}');
UPDATE l4.job_node SET addresses = '{10.0.0.1}' WHERE job_id = 'packs-2' AND node = 'n1';
SELECT again('inventory', '{"late_seconds": 3}', '{packs-2}');
UPDATE l4.job SET expected_nodes = 7 WHERE job_id = 'packs-1';
SELECT again('expected nodes', '{"late_seconds": 3}', '{packs-2}');
INSERT INTO lines (job_id, node, source, rank, line_no, ts, line) VALUES ('packs-2', 'n5', 'rank1', 11, 20000, '2026-03-01 10:03:00+00', '[INFO] trainer: training finished');
CALL l4.ingest('lines');
SELECT again('line of the baseline', '{"late_seconds": 3}', '{packs-2}');
INSERT INTO lines (job_id, node, source, rank, line_no, ts, line) VALUES ('packs-1', 'n5', 'rank1', 11, 20000, '2026-03-01 10:03:00+00', '[INFO] trainer: training finished');
CALL l4.ingest('lines');
SELECT again('line', '{"late_seconds": 3}', '{packs-2}');
BEGIN;
SELECT again('nothing', '{"late_seconds": 3}', '{packs-2}');
SELECT diagnosed_at = now() AS dated FROM l4.diagnosis WHERE job_id = 'packs-1';
COMMIT;
DELETE FROM l4.marker_rule WHERE name = 'packs';
DELETE FROM l4.iteration_rule WHERE name = 'packs';
DELETE FROM l4.fault WHERE name = 'packs_fault';
-- times of values follow from the numbers of their lines, whether these are close together or far apart
INSERT INTO lines (job_id, node, source, line_no, ts, line)
SELECT 'packs-' || step, 'n1', '', i * step, timestamptz '2026-03-01 10:00:00+00' + i * interval '1 s', 'shard ' || i || ' of 99 read'
FROM (VALUES (3), (4000000007)) AS d(step), generate_series(1, 25) AS i;
CALL l4.ingest('lines');
SELECT job_id, count(*) AS values, count(*) FILTER (WHERE first_ts = timestamptz '2026-03-01 10:00:00+00' + value::int * interval '1 s') AS of_their_time
FROM unnest('{packs-3,packs-4000000007}'::text[]) AS job_id, l4._slot_values(job_id, NULL) WHERE value <> '99' GROUP BY 1 ORDER BY 1;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^packs-';
DROP SCHEMA packs CASCADE;
