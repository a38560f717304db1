-- psql -f test/bench/limits.sql      in an empty database, as superuser; some two minutes
-- Milliseconds of processor time at the limits, without workers: a job of 100,000 iterations, one of 20,000 new events,
-- and a small failed job in new sessions, the least of five, on an empty parser and on one that 90 noisy jobs filled.
-- The database keeps that parser: test/score/corpus.sql, run in it, says what it still learns.
\set ON_ERROR_STOP on
\set QUIET on
\t on
\a
SET client_min_messages = warning;
ALTER DATABASE :"DBNAME" SET max_parallel_workers_per_gather = 0;
ALTER DATABASE :"DBNAME" SET client_min_messages = warning;
\connect
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA limits;
SELECT l4.create_log_table('limits.log') \g /dev/null
CREATE FUNCTION limits.used() RETURNS float8 LANGUAGE sql VOLATILE
RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
CREATE FUNCTION limits.word(i int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate(substr(md5(i::text), 1, 9), '0123456789', 'ghijklmnop');
CREATE FUNCTION limits.random(i bigint, k int, below int) RETURNS int LANGUAGE sql IMMUTABLE
RETURN abs(hashint8(i * 64 + k) % below);
CREATE TABLE limits.small (model text, what text, ms float8);
CREATE PROCEDURE limits.use(model text, turn int) LANGUAGE plpgsql AS $$
DECLARE
    job constant text := format('small-%s-%s', model, turn);
    step text[];
    began float8;
BEGIN
    INSERT INTO limits.log (job_id, node, line_no, ts, line)
    SELECT job, 'n' || n, i, timestamptz '2026-01-01' + i * interval '1 second',
        CASE WHEN n = 3 AND i = 20 THEN 'ERROR: link ' || turn || ' of the ring is down'
            ELSE 'INFO iteration ' || i || '/100 loss ' || 5.0 / i END
    FROM generate_series(1, 8) AS n, generate_series(1, 60) AS i WHERE n <> 3 OR i <= 20;
    FOREACH step SLICE 1 IN ARRAY ARRAY[
        ['1 parse', $s$SELECT l4.parse('INFO iteration 5/100 loss 1.5')$s$],
        ['2 read', format('CALL l4.ingest(''limits.log'', job_id => %L, commit => false)', job)],
        ['3 diagnose', format('SELECT l4.diagnose(%L)', job)], ['4 page', format('SELECT l4.report_html(%L)', job)]]
    LOOP
        began := limits.used();
        EXECUTE step[2];
        INSERT INTO limits.small VALUES (model, step[1], limits.used() - began);
    END LOOP;
END $$;
CREATE FUNCTION limits.diagnosed(job text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    began constant float8 := limits.used();
BEGIN
    PERFORM l4.diagnose(job);
    RETURN format('diagnosed in %s ms', round(limits.used() - began));
END $$;
CALL limits.use('empty', 1);
\connect
CALL limits.use('empty', 2);
\connect
CALL limits.use('empty', 3);
\connect
CALL limits.use('empty', 4);
\connect
CALL limits.use('empty', 5);

INSERT INTO limits.log (job_id, node, line_no, ts, line)
SELECT 'iterations', 'n' || n, i, timestamptz '2026-03-01' + i * interval '1 s',
    format('iteration %s/100000 | elapsed time per iteration (ms): 99%s.0 | lm loss: 5.1E+00', i, i % 9)
FROM generate_series(1, 2) AS n, generate_series(1, 100000) AS i;
CALL l4.ingest('limits.log');
SELECT '100,000 iterations: ' || limits.diagnosed('iterations');
SELECT limits.used() AS began \gset
SELECT length(l4.report_html('iterations')) AS bytes \gset
SELECT 'their page: ' || round(limits.used() - :began) || ' ms, ' || :bytes || ' bytes';

-- twelve words out of 1,024 each: the bound is raised, so that each line is an event
SELECT l4.forget_templates(max_templates => 2000000) \g /dev/null
INSERT INTO limits.log (job_id, node, line_no, ts, line)
SELECT 'events', 'n' || i % 8, i, timestamptz '2026-03-01' + i * interval '1 ms',
    'ERROR ' || (SELECT string_agg(limits.word(limits.random(i, k, 1024)), ' ') FROM generate_series(1, 12) AS k)
FROM generate_series(1, 20000) AS i;
CALL l4.ingest('limits.log');
SELECT limits.diagnosed('events') \gset
SELECT count(*) || ' new events: ' || :'diagnosed' FROM l4._case_event WHERE job_id = 'events';

-- each of the noisy jobs prints lines of 5 to 16 of 3,000 words of its own, a third of them errors
SELECT l4.forget_job(job_id) FROM l4.job \g /dev/null
SELECT l4.forget_templates(max_templates => 20000) \g /dev/null
TRUNCATE limits.log;
INSERT INTO limits.log (job_id, node, line_no, ts, line)
SELECT 'noisy-' || j, 'n' || i % 2, i, timestamptz '2026-01-01' + i * interval '1 s',
    CASE WHEN i % 3 = 0 THEN 'ERROR ' ELSE 'INFO ' END
    || (SELECT string_agg(limits.word(j * 3000 + limits.random(i * 100 + j, k, 3000)), ' ')
        FROM generate_series(1, 5 + limits.random(i * 100 + j, 63, 12)) AS k)
FROM generate_series(1, 90) AS j, generate_series(1, 4000) AS i;
CALL l4.ingest('limits.log');
SELECT 'full parser: ' || count(*) || ' templates' FROM l4._event WHERE merged_into IS NULL;
\connect
CALL limits.use('full', 1);
\connect
CALL limits.use('full', 2);
\connect
CALL limits.use('full', 3);
\connect
CALL limits.use('full', 4);
\connect
CALL limits.use('full', 5);
SELECT format('small job, %s: %s ms on an empty parser, %s on the full one', substr(what, 3),
    round(min(ms) FILTER (WHERE model = 'empty')), round(min(ms) FILTER (WHERE model = 'full')))
FROM limits.small GROUP BY what ORDER BY what;
