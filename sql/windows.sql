-- Lines and iterations between two times, and their numbers by time: the same as from the views.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET TimeZone = 'UTC';
CREATE SCHEMA windows;
SET search_path = windows;
SELECT l4.create_log_table('lines');
-- three nodes of two sources, a long and a short one; some lines have no time, of one iteration nobody says how long
INSERT INTO lines (job_id, node, source, line_no, ts, line)
SELECT 'windows-1', 'n' || n, 's' || s, i,
    CASE WHEN i > 3 THEN timestamptz '2026-03-01 10:00:00+00' + i * interval '0.7 s' + n * interval '1 ms' END,
    CASE WHEN i % 90 = 50 THEN format('ERROR store: upload %s of shard %s failed', i, n)
        WHEN i % 3 = 0 THEN format('INFO trainer: iteration %s/400%s | lm loss: %s', i / 3,
            CASE WHEN i <> 30 THEN format(' | elapsed time per iteration (ms): %s', 2000 + i * 7 % 31) END, 5 - i / 900.0)
        WHEN i % 3 = 1 THEN format('WARNING loader: batch %s is late', i) ELSE 'waiting for the others' END
FROM generate_series(0, 2) AS n, generate_series(0, 1) AS s, generate_series(1, 1000) AS i
WHERE s = 0 OR i <= 40;
INSERT INTO lines (job_id, node, source, line_no, line)
SELECT 'windows-2', 'n0', '', i, 'INFO loader: no clock here, batch ' || i FROM generate_series(1, 20) AS i;
CALL l4.ingest('lines');

CREATE TABLE span (from_ts timestamptz, to_ts timestamptz);
INSERT INTO span VALUES (NULL, NULL), ('2026-03-01 10:01:10.001', '2026-03-01 10:01:24.001'), (NULL, '2026-03-01 10:00:10'),
    ('2026-03-01 10:11:00', NULL), ('2026-03-01 12:00:00', '2026-03-01 13:00:00'), ('infinity', '-infinity');
CREATE SCHEMA fenced
    CREATE VIEW event_line AS SELECT * FROM l4.event_line OFFSET 0
    CREATE VIEW iteration AS SELECT * FROM l4.iteration OFFSET 0
    CREATE VIEW event_count AS SELECT * FROM l4.event_count;
-- rows that one has and the other has not: none
CREATE FUNCTION unlike(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%s EXCEPT ALL %s) UNION ALL (%2$s EXCEPT ALL %1$s)) AS x', a, b) INTO n;
    RETURN n;
END $$;
SELECT s.from_ts, s.to_ts, (SELECT count(*) FROM l4.lines('windows-1', NULL, s.from_ts, s.to_ts)) AS lines,
    unlike(format('SELECT * FROM l4.lines(%L, %L, %L, %L, %L)', 'windows-1', v.levels, s.from_ts, s.to_ts, v.node),
        format('SELECT * FROM l4.event_line WHERE job_id = %L AND %s AND %s AND %s AND %s', 'windows-1',
            coalesce('level = ANY (' || quote_literal(v.levels) || '::text[])', 'true'), coalesce('ts >= ' || quote_literal(s.from_ts), 'true'),
            coalesce('ts < ' || quote_literal(s.to_ts), 'true'), coalesce('node = ' || quote_literal(v.node), 'true'))) AS unlike
FROM span AS s, (VALUES (NULL::text[], NULL), ('{ERROR,WARNING}', NULL), ('{ERROR}', 'n1'), ('{none}', NULL)) AS v(levels, node)
ORDER BY s.from_ts, s.to_ts, v.levels, v.node;
SELECT s.from_ts, s.to_ts, (SELECT count(*) FROM l4.iterations('windows-1', s.from_ts, s.to_ts)) AS iterations,
    unlike(format('SELECT * FROM l4.iterations(%L, %L, %L, %L)', 'windows-1', s.from_ts, s.to_ts, v.node),
        format('SELECT * FROM l4.iteration WHERE job_id = %L AND %s AND %s AND %s', 'windows-1',
            coalesce('started >= ' || quote_literal(s.from_ts), 'true'), coalesce('started < ' || quote_literal(s.to_ts), 'true'),
            coalesce('node = ' || quote_literal(v.node), 'true'))) AS unlike
FROM span AS s, (VALUES (NULL), ('n2')) AS v(node) ORDER BY s.from_ts, s.to_ts, v.node;
SELECT s.from_ts, s.to_ts, v.width,
    unlike(format('SELECT started, level, lines FROM l4.line_counts(%L, %L, %L, %L)', 'windows-1', v.width, s.from_ts, s.to_ts),
        format('SELECT date_bin(%L, ts, %L), level, count(*) FROM l4.lines(%L, NULL, %L, %L) GROUP BY 1, 2', v.width,
            '2000-01-01 00:00:00+00', 'windows-1', s.from_ts, s.to_ts)) AS counts_unlike,
    unlike(format('SELECT started, node, iterations, round(mean_ms::numeric, 6), highest_ms FROM l4.iteration_times(%L, %L, %L, %L)',
            'windows-1', v.width, s.from_ts, s.to_ts),
        format('SELECT date_bin(%L, started, %L), node, count(*), round(avg(duration_ms)::numeric, 6), max(duration_ms)
            FROM l4.iterations(%L, %L, %L) WHERE duration_ms IS NOT NULL AND started IS NOT NULL GROUP BY 1, 2', v.width,
            '2000-01-01 00:00:00+00', 'windows-1', s.from_ts, s.to_ts)) AS times_unlike
FROM span AS s, (VALUES (interval '10 seconds'), (interval '7 hours')) AS v(width) ORDER BY s.from_ts, s.to_ts, v.width;
-- conditions on the views are looked at while rows are unpacked: what a query has is what it would have afterwards
CREATE FUNCTION reads(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    calls text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS off) ' || query LOOP
        IF line LIKE '%Function Call: l4.\_%between%' THEN
            calls := calls || concat_ws(', ', CASE WHEN line ~ '10:0\d:' THEN 'times' END,
                CASE WHEN line ~ ' END, (\$|\(InitPlan)' THEN 'events' END, CASE WHEN line ~ ', (\d+, (\d+|NULL::integer)|NULL::integer, \d+)[,)]' THEN 'iterations' END,
                CASE WHEN line ~ '''\w+''::text' THEN 'stage' END, 'columns ' || (regexp_match(line, '_lines_between.* (-?\d+)\)$'))[1]);
        END IF;
    END LOOP;
    RETURN (SELECT string_agg(c, '; ' ORDER BY c COLLATE "C") FROM unnest(calls) AS c);
END $$;
SELECT v.query, reads(q.query), unlike(q.query, replace(q.query, 'l4.', 'fenced.')) AS unlike
FROM (VALUES ($$l.* FROM l4.event_line AS l WHERE ts >= timestamptz '2026-03-01 10:01:10+00'$$),
    ($$line_no, ts FROM l4.event_line WHERE ts BETWEEN '2026-03-01 10:01:10+00' AND '2026-03-01 10:01:24+00'$$),
    ($$line_no FROM l4.event_line WHERE ts = '2026-03-01 10:01:10+00'$$),
    ($$count(*) FROM l4.event_line WHERE '2026-03-01 10:01:10+00' > ts AND ts >= '2026-03-01 10:00:40+00'$$),
    ($$ts FROM l4.event_line WHERE ts < timestamptz '2026-03-01 10:01:10+00' + random() * interval '0'$$),
    ($$node, stage FROM l4.event_line WHERE level = 'ERROR' AND iteration IS NOT NULL$$),
    ($$* FROM l4.event_line WHERE level IN ('ERROR', 'WARNING') AND node = 'n1'$$),
    ($$* FROM l4.event_line WHERE level IS NULL$$),
    ($$event_id FROM l4.event_line WHERE event_id = (SELECT min(event_id) FROM l4.event_count WHERE job_id = 'windows-1')$$),
    ($$l.line_no FROM span AS s JOIN l4.event_line AS l ON l.ts = s.from_ts$$),
    ($$l.line_no FROM span AS s LEFT JOIN l4.event_line AS l ON l.ts = s.from_ts AND l.level = 'ERROR'$$),
    ($$a.line_no, b.ts FROM l4.event_line AS a JOIN l4.event_line AS b USING (node, source, line_no)
        WHERE a.level = 'ERROR' AND b.ts < '2026-03-01 10:05:00+00'$$),
    ($$node, (SELECT count(*) FROM span WHERE from_ts <= l.ts) FROM l4.event_line AS l WHERE source = 's1'$$),
    ($$metrics FROM l4.iteration WHERE started >= '2026-03-01 10:01:10+00' AND started <= '2026-03-01 10:01:24+00'$$),
    ($$x.* FROM l4.event_line AS l, LATERAL (SELECT l.stage OFFSET 0) AS x WHERE l.line_no < 5$$),
    ($$rank, count(*) FROM l4.event_line AS l GROUP BY rank HAVING max(line_no) > 0$$),
    ($$line_no, level FROM l4.event_line WHERE iteration = 7 AND level IS NULL$$),
    ($$count(*) FROM l4.event_line WHERE iteration BETWEEN 7 AND 9 AND ts >= '2026-03-01 10:00:40+00'$$),
    ($$* FROM l4.event_line WHERE 7 >= iteration AND stage = 'train'$$),
    ($$line_no FROM l4.event_line WHERE stage = 'none'$$),
    ($$line_no FROM l4.event_line WHERE stage = 'train' COLLATE "C"$$),
    ($$line_no FROM l4.event_line WHERE iteration = rank$$),
    ($$* FROM l4.iteration WHERE iteration = 7$$),
    ($$iteration FROM l4.iteration WHERE iteration < 7 AND started >= '2026-03-01 10:00:10+00'$$),
    ($$metrics FROM l4.iteration WHERE started > '2026-03-01 10:01:10+00'$$))
    AS v(query), LATERAL (SELECT 'SELECT ' || v.query) AS q(query);
SELECT * FROM l4.iteration_times('windows-1', '5 min', on_node => 'n1');
SELECT * FROM l4.line_counts('windows-1', '5 min', '2026-03-01 10:05', on_node => 'n1');
-- when an iteration began: its report less how long it took
SELECT i.iteration, i.started, i.duration_ms, i.metrics, l.ts AS reported
FROM l4.iterations('windows-1', '2026-03-01 10:00:20', '2026-03-01 10:00:24', 'n1') AS i
JOIN lines AS l ON (l.job_id, l.node, l.source, l.line_no) = (i.job_id, i.node, i.source, 3 * i.iteration)
ORDER BY i.source, i.iteration;
-- lines without times are in no window, and count under no time
SELECT count(*) FROM l4.lines('windows-2');
SELECT count(*) FROM l4.lines('windows-2', NULL, '-infinity', 'infinity');
SELECT * FROM l4.line_counts('windows-2', '1 day');
SELECT count(*) FROM l4.lines('none');
SELECT * FROM l4.line_counts('windows-1', '0');
SELECT * FROM l4.line_counts('windows-1', NULL);
SELECT * FROM l4.iteration_times('windows-1', '1 month');
SELECT * FROM l4.iteration_times('windows-1', '-1 s');
SELECT l4._line_counts('\x0100', 0, NULL, NULL);
-- bytes that are something else are refused
SELECT l4._line_counts('\x010100', 1, NULL, NULL);
SELECT l4._lines_between('\x01020169020205', NULL, NULL, NULL);
SELECT l4._iterations_between('\x01020169020205', NULL, NULL, NULL);
SELECT l4._iteration_times('\x01', NULL, 1, NULL, NULL);
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id LIKE 'windows-%';
DROP SCHEMA fenced, windows CASCADE;
