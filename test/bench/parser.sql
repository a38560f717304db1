-- Speed of the parser as ratios to hashtext() over the same warm table, and the size of parsers.
-- FILE holds lines in the form of COPY, see test/bench/genlines.c: psql -v lines=FILE -f test/bench/parser.sql
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA l4_bench;
SET search_path = l4_bench, public;
CREATE UNLOGGED TABLE line (k bigserial, line text);
COPY line (line) FROM :'lines';
VACUUM ANALYZE line;

-- small has learnt the first lines, large 100,000 templates of other lines before them
CREATE TABLE made AS
SELECT g AS k, string_agg((ARRAY['alpha', 'beta', 'gamma', 'delta', 'node', 'disk', 'link', 'ring', 'pump', 'queue', 'cache',
    'shard', 'epoch', 'token', 'layer', 'batch'])[1 + (hashint8(g * 16 + i)::bigint & 15)::int]
    || translate((hashint8(g * 31 + i)::bigint & 255)::text, '0123456789', 'abcdefghij'), ' ' ORDER BY i) AS line
FROM generate_series(1, 100000) AS g, generate_series(1, 9) AS i
GROUP BY g;
CREATE TABLE parser AS
SELECT t.what, (
    SELECT l4.parser_train(x.line, '{"max_templates": 1000000}' ORDER BY x.o, x.k)
    FROM (SELECT 1 AS o, k, line FROM line WHERE k <= 12000 UNION ALL SELECT 0, k, line FROM made WHERE k <= t.n) x) AS p
FROM (VALUES ('small', 0), ('large', 100000)) AS t (what, n);

CREATE TABLE took (what text, try int, ms float8);
CREATE PROCEDURE time_it(what text, try int, query text, workers int) LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true),
        set_config('parallel_leader_participation', 'off', true), set_config('min_parallel_table_scan_size', '0', true),
        set_config('parallel_setup_cost', '0', true), set_config('parallel_tuple_cost', '0', true);
    start := clock_timestamp();
    EXECUTE query;
    INSERT INTO took VALUES (what, try, extract(epoch FROM clock_timestamp() - start) * 1000);
END $$;
CREATE TEMP TABLE query AS
SELECT o, what, workers, replace(q, '$match', 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ') AS query
FROM (VALUES
    (1, 'hashtext', 0, 'SELECT sum(hashtext(line)) FROM line'),
    (2, 'parser_match', 0, '$match''small''), line)) FROM line'),
    (3, 'parser_match, 100,000 templates more', 0, '$match''large''), line)) FROM line'),
    (4, 'parser_train', 0, 'SELECT l4.parser_train(line) FROM line'),
    (5, 'parser_match, one worker', 1, '$match''small''), line)) FROM line'),
    (6, 'parser_match, two workers', 2, '$match''small''), line)) FROM line'),
    (7, 'load of 100,000 templates', 0, 'SELECT l4.parser_match(p, ''x'') FROM parser WHERE what = ''large''')
    ) AS v (o, what, workers, q);
SELECT format('CALL time_it(%L, %s, %L, %s)', what, try, query, workers)
FROM generate_series(1, 3) AS try, query
ORDER BY try, o
\gexec

\pset footer off
SELECT count(*) AS lines, round(avg(octet_length(line))) AS bytes_a_line FROM line;
SELECT what, round(min(ms)) AS ms, round(min(ms) * 1000000 / (SELECT count(*) FROM line)) AS ns_a_line,
    round((min(ms) / (SELECT min(ms) FROM took WHERE what = 'hashtext'))::numeric, 2) AS to_hashtext
FROM took GROUP BY what ORDER BY min(ms);
SELECT what, (SELECT count(*) FROM l4.parser_templates(p)) AS templates,
    pg_size_pretty(pg_column_size(p)::bigint) AS stored, pg_size_pretty(length(l4.parser_send(p))::bigint) AS bytes
FROM parser ORDER BY what DESC;
DROP SCHEMA l4_bench CASCADE;
