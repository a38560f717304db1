-- psql -v nodes=2500 -v batch=1000000 -f test/bench/streams.sql: seconds of l4.ingest() for one job of eight short streams a node, then for a few
-- lines more on each. In an empty database, as superuser.
\set ON_ERROR_STOP on
\set QUIET on
CREATE EXTENSION IF NOT EXISTS l4;
SELECT l4.create_log_table('streams_line') AS made \gset
CREATE PROCEDURE streams_lines(nodes int, first int, last int) LANGUAGE sql AS $$
    INSERT INTO streams_line (job_id, node, source, line_no, ts, line)
    SELECT 'many', 'node' || lpad(n::text, 5, '0'), 'rank' || r, i, timestamptz '2026-01-01 00:00:00Z' + i * interval '1 s' + n * interval '1 ms',
        CASE i % 5 WHEN 0 THEN format('iteration %s/ 100000 | elapsed time per iteration (ms): %s | lm loss: %s', i / 5 + 1, 350 + (i * 7 + n) % 9, (n * 7 + i) % 97)
            WHEN 1 THEN format('data loader: shard %s, batch %s read in %s ms', n % 16, i / 5, 4 + (i + n) % 3)
            ELSE format('memory: allocated %s MB, reserved %s MB', 40000 + (i * 13 + n) % 500, 61440) END
    FROM generate_series(1, nodes) n, generate_series(0, 7) r, generate_series(first, last) i
$$;
CALL streams_lines(:nodes, 1, 20);
VACUUM ANALYZE streams_line;
\timing on
\echo ingest, 20 lines a stream
CALL l4.ingest('streams_line', batch_lines => :batch);
\timing off
CALL streams_lines(:nodes, 21, 25);
\timing on
\echo ingest, five more
CALL l4.ingest('streams_line', batch_lines => :batch);
\echo nothing new
CALL l4.ingest('streams_line', batch_lines => :batch);
\timing off
SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job \gset
DROP TABLE streams_line;
DROP PROCEDURE streams_lines(int, int, int);
