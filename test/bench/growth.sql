-- psql -v jobs=2 -v nodes=4 -v streams=1 -v iterations=20 -v lines=20 -v events=5 -v templates=0 -v faults=0 -f test/bench/growth.sql
-- Milliseconds of processor time of each public step on made jobs: one failed, the others good. In an empty database, as
-- superuser; workers are off, so that all of it is this process's.
--   jobs        good jobs of the same settings      nodes       of each job
--   streams     sources a node                      iterations  of each job, one line a node
--   lines       other lines a stream                events      new ones of the failed job, on one node
--   templates   that another job left in the model  faults      of the user's own in the library
-- Prints "what|milliseconds"; what only reads is run three times, of which the fastest counts.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION l4;
SELECT l4.create_log_table('growth_line') AS made \gset
CREATE TABLE growth_result (n serial, what text, ms float8);

-- a word that no other number gives; made of letters, so that no mask takes it for a number
CREATE FUNCTION growth_word(n int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate(lpad(to_hex(n), 6, '0') || substr(md5(n::text), 1, 4), '0123456789abcdef', 'bdfghjklmnpqrtvw');

CREATE PROCEDURE growth_job(job_id text, nodes int, streams int, iterations int, lines int) LANGUAGE sql AS $$
    INSERT INTO growth_line (job_id, node, source, rank, line_no, ts, line)
    SELECT job_id, 'node' || lpad(n::text, 5, '0'), 'rank' || s, n, row_number() OVER (PARTITION BY n, s ORDER BY l.at),
        timestamptz '2026-01-01 00:00:00Z' + l.at * interval '1 s' + n * interval '10 us', l.line
    FROM generate_series(1, nodes) AS n
    CROSS JOIN generate_series(1, streams) AS s
    CROSS JOIN LATERAL (
        SELECT 10 + i AS at, format('INFO:train:iteration %s/ 1000000 | elapsed time per iteration (ms): 1000.%s', i, i % 7) AS line
        FROM generate_series(1, iterations) AS i WHERE s = 1
        UNION ALL
        SELECT 10 + i * iterations::float8 / lines, format('INFO:data:shard %s, batch %s read in %s ms', n % 16, i, i % 9)
        FROM generate_series(1, lines) AS i) AS l
$$;

-- what fails: one node reports events of words that nobody else has, the others lose it
CREATE PROCEDURE growth_failure(job_id text, nodes int, iterations int, lines int, events int) LANGUAGE sql AS $$
    INSERT INTO growth_line (job_id, node, source, rank, line_no, ts, line)
    SELECT job_id, 'node' || lpad(f.n::text, 5, '0'), 'rank1', f.n, iterations + lines + f.i,
        timestamptz '2026-01-01 00:00:00Z' + (11 + iterations + f.i * 0.0001 + (f.n > 1)::int) * interval '1 s', f.line
    FROM (
        SELECT 1 AS n, i, format('ERROR:%s:%s %s while it was %s', growth_word(4 * i), growth_word(4 * i + 1),
            growth_word(4 * i + 2), growth_word(4 * i + 3)) AS line FROM generate_series(1, events) AS i
        UNION ALL
        SELECT 1, events + 1, 'ERROR:train:RuntimeError: CUDA error: an illegal memory access was encountered'
        UNION ALL
        SELECT n, 1, 'ERROR:comm:RuntimeError: Connection closed by peer node00001' FROM generate_series(2, nodes) AS n) AS f
$$;

CREATE FUNCTION growth_used() RETURNS float8 LANGUAGE sql VOLATILE
RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;

CREATE PROCEDURE growth_time(what text, statement text, times int DEFAULT 3) LANGUAGE plpgsql AS $$
DECLARE
    began float8;
    least float8;
BEGIN
    FOR i IN 1 .. times LOOP
        began := growth_used();
        EXECUTE statement;
        least := least(least, growth_used() - began);
    END LOOP;
    INSERT INTO growth_result (what, ms) VALUES (what, least);
END
$$;

-- templates of another job, ten lines each so that its words are no parameters
INSERT INTO growth_line (job_id, node, source, line_no, ts, line)
SELECT 'other', 'node1', '', 10 * i + k, timestamptz '2026-01-01 00:00:00Z' + (10 * i + k) * interval '1 ms',
    format('INFO:%s:%s %s of %s', growth_word(-i), growth_word(-i - 10000000), growth_word(-i - 20000000), k)
FROM generate_series(0, :templates) AS i, generate_series(0, 9) AS k;
SELECT format('CALL growth_job(%L, %s, %s, %s, %s)', j.job_id, :nodes, :streams, :iterations, :lines)
FROM (SELECT 'good' || i AS job_id FROM generate_series(1, :jobs) AS i UNION ALL SELECT 'failed') AS j \gexec
CALL growth_failure('failed', :nodes, :iterations, :lines, :events);
INSERT INTO l4.job (job_id, settings, status)
SELECT DISTINCT job_id, 'growth', CASE WHEN job_id = 'failed' THEN 'failed' ELSE 'succeeded' END FROM growth_line WHERE job_id <> 'other';
INSERT INTO l4.fault (name, category, component, root_cause, remedy, signature, origin)
SELECT 'growth_' || i, 'user', 'program', 'c', 'r', format('%s: line \d+ reports status 0x', growth_word(-i))::l4.pcre, 'confirmed'
FROM generate_series(1, :faults) AS i;
VACUUM ANALYZE growth_line;

CALL l4.ingest('growth_line', job_id => 'other');
SELECT growth_used() AS before \gset
CALL l4.ingest('growth_line');
INSERT INTO growth_result (what, ms) VALUES ('ingest', growth_used() - :before);
CALL growth_time('first diagnose', $$SELECT l4.diagnose('failed')$$, 1);
CALL growth_time('diagnose', $$DELETE FROM l4.diagnosis; SELECT l4.diagnose('failed')$$);
CALL growth_time('compare', $$SELECT count(*) FROM l4.compare('failed')$$);
CALL growth_time('match_faults', $$SELECT count(*) FROM l4.match_faults('failed')$$);
CALL growth_time('test_fault', $$SELECT count(*) FROM l4.test_fault('Connection (?:closed|reset) by peer')$$);
CALL growth_time('parse', $$SELECT l4.parse('INFO:data:shard 3, batch 7 read in 2 ms')$$);
CALL growth_time('report', $$SELECT count(*) FROM l4.report('failed')$$);
CALL growth_time('report_html', $$SELECT length(l4.report_html('failed'))$$);
CALL growth_time('event_count', $$SELECT count(*) FROM l4.event_count WHERE job_id = 'failed'$$);
CALL growth_time('iteration', $$SELECT count(*) FROM l4.iteration WHERE job_id = 'failed'$$);
CALL growth_time('event_line', $$SELECT count(*) FROM l4.event_line WHERE job_id = 'failed'$$);
CALL growth_time('template', $$SELECT count(*) FROM l4.template$$);
SELECT growth_used() AS before \gset
CALL l4.ingest('growth_line');
INSERT INTO growth_result (what, ms) VALUES ('ingest, nothing new', growth_used() - :before);
CREATE FUNCTION growth_event() RETURNS int LANGUAGE sql STABLE
RETURN (SELECT event_id FROM l4.event_count WHERE job_id = 'failed' GROUP BY event_id ORDER BY sum(occurrences) DESC, event_id LIMIT 1);
CALL growth_time('event_lines', $$SELECT count(*) FROM l4.event_lines('failed', growth_event())$$);
CALL growth_time('event_parameters', $$SELECT count(*) FROM l4.event_parameters('failed', growth_event())$$);
CALL growth_time('lines', $$SELECT count(*) FROM l4.lines('failed')$$);
CALL growth_time('line_counts', $$SELECT count(*) FROM l4.line_counts('failed', '1 min')$$);
CALL growth_time('iterations', $$SELECT count(*) FROM l4.iterations('failed')$$);
CALL growth_time('iteration_times', $$SELECT count(*) FROM l4.iteration_times('failed', '1 min')$$);
CALL growth_time('node_evidence', $$SELECT count(*) FROM l4.node_evidence('failed')$$);
CALL growth_time('node_forest', $$SELECT count(*) FROM l4.node_forest('failed')$$);
CALL growth_time('address_book', $$SELECT count(*) FROM l4.address_book('failed')$$);
CALL growth_time('stage_span', $$SELECT count(*) FROM (SELECT * FROM l4.stage_span WHERE job_id = 'failed' OFFSET 0) AS v$$);
CALL growth_time('mention', $$SELECT count(*) FROM (SELECT * FROM l4.mention WHERE job_id = 'failed' OFFSET 0) AS v$$);
CALL growth_time('ingest_progress', $$SELECT count(*) FROM l4.ingest_progress$$);
CALL growth_time('faults', $$SELECT (SELECT count(*) FROM l4.fault_seen), (SELECT count(*) FROM l4.fault_trend),
    (SELECT count(*) FROM l4.fault_problem), (SELECT count(*) FROM l4.fault_history), (SELECT jsonb_typeof(l4.export_faults()))$$);
CREATE TABLE growth_export (parts bytea[]);
CALL growth_time('export_job', $$TRUNCATE growth_export; INSERT INTO growth_export SELECT array(SELECT l4.export_job('failed'))$$);
CALL growth_time('export_model', $$SELECT sum(length(p)) FROM l4.export_model() AS p$$);
CALL growth_time('confirm_fault', $$SELECT count(*) FROM l4.confirm_fault('failed', 'growth', 'c', 'r')$$, 1);
CALL growth_time('forget_job', $$SELECT l4.forget_job('failed')$$, 1);
CALL growth_time('import_job', $$SELECT count(*) FROM growth_export AS e, l4.import_job(e.parts)$$, 1);
CALL growth_time('forget_templates', $$SELECT l4.forget_templates()$$, 1);
\t on
\a
SELECT what, round(ms::numeric, 1) FROM growth_result ORDER BY n;
