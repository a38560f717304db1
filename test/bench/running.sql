-- psql -v nodes=1024 -v lines=1000 -f test/bench/running.sql: seconds of l4.ingest() and l4.diagnose() for a running job, of which each
-- node has so many lines, when every node wrote ten lines more since the call before. In an empty database, as superuser.
\set ON_ERROR_STOP on
\set QUIET on
CREATE EXTENSION IF NOT EXISTS l4;
SELECT l4.create_log_table('running_line') AS made \gset
CREATE PROCEDURE running_lines(job text, nodes int, first int, last int) LANGUAGE sql AS $$
    INSERT INTO running_line (job_id, node, line_no, ts, line)
    SELECT job, 'node' || lpad(n::text, 5, '0'), i, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => i * 0.07 + n % 7 * 0.001),
        CASE WHEN i = 1 THEN format('torch distributed is initialized: world size %s, rank %s', nodes, n)
            WHEN i = 2 THEN 'training starts: iterations 1 to 100000'
            WHEN i % 5 = 3 THEN format('iteration %s/ 100000 | elapsed time per iteration (ms): %s | lm loss: %s | grad norm: 1.%s', i / 5 + 1, 350 + (i * 7 + n) % 9, 9.0 - ln(i), (i * 31 + n) % 97)
            WHEN i % 5 = 4 THEN format('data loader: shard %s, batch %s read in %s ms', n % 16, i / 5, 4 + (i + n) % 3)
            WHEN i % 5 = 0 THEN format('[rank %s] forward %s ms, backward %s ms', n, 110 + i % 7, 220 + (i + n) % 11)
            WHEN i % 250 = 1 THEN format('saving checkpoint at iteration %s to /ckpt/%s', i / 5, i / 5)
            ELSE format('memory: allocated %s MB, reserved %s MB', 40000 + (i * 13 + n) % 500, 61440) END
    FROM generate_series(1, nodes) n, generate_series(first, last) i
$$;
INSERT INTO l4.job (job_id, settings, status, expected_nodes) VALUES ('done-1', 'bench', 'succeeded', :nodes), ('done-2', 'bench', 'succeeded', :nodes), ('running', 'bench', 'running', :nodes);
CALL running_lines('done-1', :nodes, 1, 200);
CALL running_lines('done-2', :nodes, 1, 200);
CALL l4.ingest('running_line');
CALL running_lines('running', :nodes, 1, :lines);
VACUUM ANALYZE running_line;
\timing on
\echo ingest
CALL l4.ingest('running_line', 'running');
\echo diagnose
SELECT symptom AS found FROM l4.diagnose('running') \g (format=unaligned tuples_only=on)
\timing off
CALL running_lines('running', :nodes, :lines + 1, :lines + 10);
\timing on
\echo ingest, ten lines more a node
CALL l4.ingest('running_line', 'running');
\echo diagnose
SELECT symptom AS found FROM l4.diagnose('running') \g (format=unaligned tuples_only=on)
\timing off
CALL running_lines('running', :nodes, :lines + 11, :lines + 20);
\timing on
\echo ingest, ten lines more a node
CALL l4.ingest('running_line', 'running');
\echo diagnose
SELECT symptom AS found FROM l4.diagnose('running') \g (format=unaligned tuples_only=on)
\echo nothing new: ingest, diagnose
CALL l4.ingest('running_line', 'running');
SELECT symptom AS found FROM l4.diagnose('running') \g (format=unaligned tuples_only=on)
\timing off
SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job \gset
DROP TABLE running_line;
DROP PROCEDURE running_lines(text, int, int, int);
