-- Reading logs from within the statement that reads logs: nothing that the outer call still uses is freed or replaced.
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA reentry;
SET search_path = reentry;
SELECT l4.create_log_table('reentry.logs');
INSERT INTO logs (job_id, node, line_no, line) VALUES ('reentry', 'n', 1, 'INFO:root:one line');
CALL l4.ingest('reentry.logs');
SELECT stream_id FROM l4._stream WHERE job_id = 'reentry' \gset
-- a share that is scanned from within another one, with other rules, and fails
CREATE FUNCTION deeper(n int, rules bigint) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF n = 0 THEN
        PERFORM count(*) FROM l4._ingest_worker('SELECT 1::bigint, NULL::timestamptz, 1, ''x''', 'x', rules, '{}');
        RETURN 0;
    END IF;
    RETURN reentry.deeper(n - 1, rules);
END
$$;
CREATE FUNCTION try(rules bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM reentry.deeper((200 + rules % 1200)::int, rules);
    RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
    RETURN left(SQLERRM, 20);
END
$$;
SELECT number, length(result) > 0 FROM l4._ingest_worker(
    'SELECT g::bigint, NULL::timestamptz, 1, ''ERROR something '' || repeat(md5(g::text), (g % 7)::int) || '' failed at step '' || g || reentry.try(g)
     FROM generate_series(3000550::bigint, 3000800) AS g WHERE $1 = $1 AND $2 = $2 AND $3 = $3 AND $4 = $4 AND $5 = $5',
    'x', 1, ARRAY[ROW(1, 1, :stream_id, true, false, 3000000, 3100000, NULL, NULL)::l4._ingest_piece]);
-- lines that read other logs when they are read: the outer call keeps its units
CREATE TABLE inner_logs (LIKE logs INCLUDING ALL);
CREATE TABLE outer_logs (LIKE logs INCLUDING ALL);
CREATE FUNCTION nested(line_no bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF line_no % 100 = 0 THEN
        INSERT INTO reentry.inner_logs (job_id, node, line_no, line) VALUES ('inner', 'n' || line_no, line_no, 'nested line') ON CONFLICT DO NOTHING;
        CALL l4.ingest('reentry.inner_logs', commit => false);
    END IF;
    RETURN '';
END
$$;
INSERT INTO outer_logs (job_id, node, line_no, line) SELECT 'outer-' || n, 'n', i, 'line ' || i FROM generate_series(1, 3) AS n, generate_series(1, 250) AS i;
CREATE VIEW reads AS SELECT job_id, node, line_no, line || reentry.nested(line_no) AS line FROM outer_logs;
INSERT INTO l4.job (job_id) VALUES ('outer-1'), ('outer-2');
INSERT INTO l4._stream (job_id, node, source) VALUES ('outer-1', 'n', ''), ('outer-2', 'n', '');
SELECT l4._ingest_hold(format(
    'SELECT s.number, s.result FROM l4._ingest_worker(''SELECT line_no, NULL::timestamptz, NULL::int, line FROM reentry.reads '
    'WHERE job_id = $1 AND node = $2 AND $3 IS NOT NULL AND line_no >= $4 AND line_no <= $5 ORDER BY line_no'', ''x'', 1, %L) AS s',
    array_agg(ROW(s.n, s.n, s.stream_id, false, false, 1, 1000, NULL, NULL)::l4._ingest_piece)), 2)
FROM (SELECT stream_id, row_number() OVER (ORDER BY stream_id)::int AS n FROM l4._stream WHERE job_id LIKE 'outer-%') AS s;
SELECT * FROM l4._ingest_check();
SELECT count(*) FROM l4.event_line WHERE job_id = 'inner';
DROP SCHEMA reentry CASCADE;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^(reentry$|inner$|outer-)';
