-- Every kind of relation that lines can come from gives the same lines once: partitioned by job and by time, materialized views,
-- views over joins, inheritance, row-level security, columns of other types and in another order.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA kinds;
SET search_path = kinds;
CREATE FUNCTION lines(job text, first int, last int) RETURNS TABLE (job_id text, node text, source text, rank int, line_no bigint, ts timestamptz, line text)
LANGUAGE sql AS $$
    SELECT job || '-' || j, 'node' || n, s, n, i, '2026-03-01 23:59:30+00'::timestamptz + i * interval '1 s', format('step %s of %s took %s ms on %s', i, 100, i % 7, s)
    FROM generate_series(1, 2) j, generate_series(0, 1) n, unnest(ARRAY['out', 'err']) s, generate_series(first, last) i
$$;
-- lines, different keys, counted records; expected: 2 jobs x 2 nodes x 2 sources x lines
CREATE FUNCTION counted(job text, OUT lines bigint, OUT keys bigint, OUT records numeric) LANGUAGE sql AS $$
    SELECT count(*), count(DISTINCT (job_id, node, source, line_no)), (SELECT sum(occurrences) FROM l4.event_count WHERE job_id LIKE job || '-%')
    FROM l4.event_line WHERE job_id LIKE job || '-%'
$$;

-- partitioned by job, without an index at first; a partition comes and another goes
CREATE TABLE by_job (job_id text, node text, source text, rank int, line_no bigint, ts timestamptz, line text) PARTITION BY LIST (job_id);
CREATE TABLE by_job_1 PARTITION OF by_job FOR VALUES IN ('by_job-1');
CREATE TABLE by_job_rest PARTITION OF by_job DEFAULT;
INSERT INTO by_job SELECT * FROM lines('by_job', 1, 40);
CALL l4.ingest('by_job');
SELECT * FROM counted('by_job');
CREATE UNIQUE INDEX ON by_job (job_id, node, source, line_no);
INSERT INTO by_job SELECT * FROM lines('by_job', 41, 60);
CALL l4.ingest('by_job');
SELECT * FROM counted('by_job');
ALTER TABLE by_job DETACH PARTITION by_job_1;
CALL l4.ingest('by_job');
SELECT * FROM counted('by_job');
-- a partition is a table of its own
CALL l4.ingest('by_job_1');
SELECT * FROM counted('by_job');

-- partitioned by time: the lines of a stream lie in several partitions, the next ones in a partition that comes later
CREATE TABLE by_time (ts timestamptz, line text, line_no int, source varchar(20), node varchar(64), job_id varchar) PARTITION BY RANGE (ts);
CREATE TABLE by_time_1 PARTITION OF by_time FOR VALUES FROM ('2026-03-01') TO ('2026-03-02');
CREATE TABLE by_time_2 PARTITION OF by_time FOR VALUES FROM ('2026-03-02 00:00:00+00') TO ('2026-03-02 00:01:00+00');
CREATE INDEX ON by_time (job_id, node, source, line_no);
INSERT INTO by_time SELECT ts, line, line_no, source, node, job_id FROM lines('by_time', 1, 60);
CALL l4.ingest('by_time');
CALL l4.ingest('by_time');
SELECT * FROM counted('by_time');
CREATE TABLE by_time_3 PARTITION OF by_time FOR VALUES FROM ('2026-03-02 00:01:00+00') TO ('2026-03-03');
INSERT INTO by_time SELECT ts, line, line_no, source, node, job_id FROM lines('by_time', 61, 100);
DROP TABLE by_time_1;
CALL l4.ingest('by_time');
SELECT * FROM counted('by_time');
SELECT min(ts), max(ts) FROM l4.event_line WHERE job_id = 'by_time-1';

-- inheritance, older than partitions
CREATE TABLE parent AS SELECT * FROM lines('parent', 1, 10);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT * FROM lines('parent', 11, 20);
CALL l4.ingest('parent');
SELECT * FROM counted('parent');

-- a materialized view, before and after it is refreshed, with an index and without
CREATE TABLE base AS SELECT * FROM lines('refreshed', 1, 10);
CREATE MATERIALIZED VIEW refreshed AS SELECT * FROM base;
CALL l4.ingest('refreshed');
INSERT INTO base SELECT * FROM lines('refreshed', 11, 20);
REFRESH MATERIALIZED VIEW refreshed;
CALL l4.ingest('refreshed');
SELECT * FROM counted('refreshed');
CREATE INDEX ON refreshed (job_id, node, source, line_no);
INSERT INTO base SELECT * FROM lines('refreshed', 21, 30);
REFRESH MATERIALIZED VIEW refreshed;
CALL l4.ingest('refreshed');
SELECT * FROM counted('refreshed');

-- a view over a join; columns that l4 does not know, and names that need quotes
CREATE TABLE "Pods of ""us""" AS SELECT * FROM unnest(ARRAY[0, 1], ARRAY['node0', 'node1']) AS pod(id, name);
CREATE TABLE "Lines" AS SELECT job_id AS "Job", substring(node FROM '\d')::int AS pod_id, source, line_no, line, 'x' AS other FROM lines('quoted', 1, 25);
CREATE VIEW "View of 'lines'" AS SELECT l."Job" AS job_id, p.name AS node, l.source, l.line_no, l.line, l.other
FROM "Lines" l JOIN "Pods of ""us""" p ON p.id = l.pod_id ORDER BY random();
CALL l4.ingest('"View of ''lines''"');
CALL l4.ingest('"View of ''lines''"', job_id => 'quoted-1');
SELECT * FROM counted('quoted');
SELECT logs, job_id, state FROM l4.ingest_progress WHERE logs LIKE '%View of%' ORDER BY 2;
-- one job of many; and all lines as one job's where there is no job_id
CALL l4.ingest('by_job_1', job_id => 'none-of-these');
SELECT count(*) FROM l4.job WHERE job_id = 'none-of-these';
CREATE VIEW anonymous AS SELECT p.name AS node, source, line_no, line FROM "Lines" JOIN "Pods of ""us""" p ON p.id = pod_id WHERE "Job" = 'quoted-2';
CALL l4.ingest('anonymous', job_id => 'anonymous-1');
SELECT * FROM counted('anonymous');

-- row-level security: a session reads what it may see; another that sees more adds the rest, and nothing is counted twice
CREATE ROLE regress_l4_kinds;
GRANT USAGE ON SCHEMA kinds TO regress_l4_kinds;
SELECT l4.grant_access('regress_l4_kinds', 'ingester') \g /dev/null
CREATE TABLE secured AS SELECT * FROM lines('secured', 1, 30);
CREATE INDEX ON secured (job_id, node, source, line_no);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secured FOR SELECT TO regress_l4_kinds USING (node = 'node1' AND line_no % 3 > 0);
GRANT SELECT ON secured TO regress_l4_kinds;
SET ROLE regress_l4_kinds;
CALL l4.ingest('secured');
SELECT * FROM counted('secured');
SELECT count(*) FROM secured;
RESET ROLE;
CALL l4.ingest('secured');
SELECT * FROM counted('secured');
SET ROLE regress_l4_kinds;
CALL l4.ingest('secured');
CALL l4.ingest('by_job');
RESET ROLE;
SELECT * FROM counted('secured');

-- a temporary table, an unlogged one, an empty one
CREATE TEMP TABLE passing AS SELECT * FROM lines('passing', 1, 5);
CALL l4.ingest('passing');
SELECT * FROM counted('passing');
-- which no worker may read, not even where a server is told to use one for everything
DO $$ BEGIN
    EXECUTE format('SET %s = on', CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END);
END $$;
INSERT INTO passing SELECT * FROM lines('passing', 6, 10);
CALL l4.ingest('passing');
CREATE INDEX ON passing (job_id, node, source, line_no);
INSERT INTO passing SELECT * FROM lines('passing', 11, 15);
CALL l4.ingest('passing');
SELECT * FROM counted('passing');
DO $$ BEGIN
    EXECUTE format('RESET %s', CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END);
END $$;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM lines('unlogged', 1, 5);
CALL l4.ingest('unlogged');
SELECT * FROM counted('unlogged');
CREATE TABLE nothing (LIKE base);
CALL l4.ingest('nothing');
CREATE INDEX ON nothing (job_id, node, source, line_no);
CALL l4.ingest('nothing');
SELECT state, lines_done FROM l4.ingest_progress WHERE logs = 'kinds.nothing';

-- many lines a row: the same is read as from a line a row, from any part of it, and a row that fills a gap
CREATE TABLE single AS SELECT * FROM lines('single', 1, 40);
CREATE UNIQUE INDEX ON single (job_id, node, source, line_no);
CALL l4.ingest('single');
CREATE TABLE many (job_id text, node text, source text, rank int, line_no bigint, last_line_no bigint, ts timestamptz,
    lines text);
CALL l4.ingest('many');
ALTER TABLE many ADD PRIMARY KEY (job_id, node, source, line_no);
CREATE FUNCTION pack(first int, last int, size int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO kinds.many SELECT 'many-' || split_part(job_id, '-', 2), node, source, rank, min(line_no), max(line_no), min(ts),
        string_agg(line, E'\n' ORDER BY line_no)
    FROM kinds.single WHERE line_no BETWEEN first AND last GROUP BY job_id, node, source, rank, (line_no - first) / size
$$;
SELECT pack(1, 10, 3), pack(31, 35, 100);
CALL l4.ingest('many');
SELECT pack(36, 40, 1), pack(11, 30, 7);
CALL l4.ingest('many');
CALL l4.ingest('many');
SELECT count(*), count(*) FILTER (WHERE s.record_line_no = m.record_line_no AND s.event_id = m.event_id) AS same
FROM l4.event_line AS s JOIN l4.event_line AS m USING (node, source, line_no)
WHERE s.job_id LIKE 'single-%' AND m.job_id = 'many-' || split_part(s.job_id, '-', 2);

DROP SCHEMA kinds CASCADE;
DROP OWNED BY regress_l4_kinds;
DROP ROLE regress_l4_kinds;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^(by_job|by_time|parent|refreshed|quoted|anonymous|secured|passing|unlogged|single|many)-';
