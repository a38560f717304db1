-- Speed of the parser as ratios to hashtext() over the same warm table: psql -v lines=3000000 -f test/bench/parser.sql
\set ON_ERROR_STOP 1
\set QUIET 1
\if :{?lines} \else \set lines 3000000 \endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA l4_bench;
SET search_path = l4_bench, public;
-- three styles of lines, 170 bytes on average; words: the same with words that differ from line to line, so that none is like another
CREATE UNLOGGED TABLE line AS
SELECT g AS k, CASE g % 3
	WHEN 0 THEN format('2024-05-01 12:%s:%s,%s INFO [rank%s] training: iteration %s/ 500000 | consumed samples: %s | elapsed time per iteration (ms): %s | lm loss: 2.3450E+00',
		lpad((g / 60 % 60)::text, 2, '0'), lpad((g % 60)::text, 2, '0'), lpad((g % 1000)::text, 3, '0'), g % 64, g, g * 512::bigint, g % 1000 * 1.37)
	WHEN 1 THEN format('worker-%s.cluster.local:29500 NCCL INFO Channel %s/0 : %s[a1b2c3d4] -> %s[d4e5f6] via P2P/IPC/read for the ring %s with protocol simple, buffer of %s bytes',
		g % 100, g % 16, g % 8, (g + 1) % 8, g % 3, g % 4096 * 1024)
	ELSE format('[2024-05-01 12:00:%s] saving checkpoint of shard %s to /mnt/ckpt/run-17/iter_%s/mp_rank_%s/model_optim_rng.pt finished after %s s with checksum %s',
		lpad((g % 60)::text, 2, '0'), g % 512, lpad((g / 1000 * 1000)::text, 7, '0'), g % 8, g % 90 + 0.25, md5(g::text)) END AS line
FROM generate_series(1, :lines) AS g;
CREATE UNLOGGED TABLE words AS
SELECT k, CASE k % 3 WHEN 1 THEN replace(line, 'ring', w) WHEN 0 THEN replace(line, 'training', w) ELSE replace(line, 'ckpt', w) END AS line
FROM line CROSS JOIN LATERAL (SELECT translate(to_hex(k * 7919::bigint), '0123456789', 'ghijklmnop') AS w) x;
VACUUM ANALYZE line;
VACUUM ANALYZE words;
CREATE TABLE made AS
SELECT g AS k, string_agg((ARRAY['alpha', 'beta', 'gamma', 'delta', 'node', 'disk', 'link', 'ring', 'pump', 'queue', 'cache', 'shard', 'epoch', 'token', 'layer', 'batch'])
	[1 + (hashint8(g * 16 + i)::bigint & 15)::int] || translate((hashint8(g * 31 + i)::bigint & 255)::text, '0123456789', 'abcdefghij'), ' ' ORDER BY i) AS line
FROM generate_series(1, 99997) AS g, generate_series(1, 9) AS i GROUP BY g;
CREATE TABLE parser AS
SELECT t.what, (SELECT l4.parser_train(x.line ORDER BY x.o, x.k)
	FROM (SELECT 1 AS o, k, line FROM line WHERE k <= 3000 UNION ALL SELECT 2, k, line FROM made WHERE k <= t.n) x) AS p
FROM (VALUES ('small', 97), ('large', 99997)) AS t(what, n);
CREATE TABLE took (what text, try int, ms float8);
CREATE PROCEDURE time_it(what text, try int, query text, workers int) LANGUAGE plpgsql AS $$
DECLARE start timestamptz;
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true), set_config('parallel_leader_participation', 'off', true),
		set_config('min_parallel_table_scan_size', '0', true), set_config('parallel_setup_cost', '0', true), set_config('parallel_tuple_cost', '0', true);
	start := clock_timestamp();
	EXECUTE query;
	INSERT INTO took VALUES (what, try, extract(epoch FROM clock_timestamp() - start) * 1000);
END $$;
SELECT format('CALL time_it(%L, %s, %L, %s)', what, try, query, workers)
FROM generate_series(1, 3) AS try, (VALUES (1, 'hashtext', 0, 'SELECT sum(hashtext(line)) FROM line'),
	(2, 'parser_match, 100 templates', 0, 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ''small''), line)) FROM line'),
	(3, 'parser_match, 100,000 templates', 0, 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ''large''), line)) FROM line'),
	(4, 'parser_train', 0, 'SELECT l4.parser_train(line) FROM line'),
	(5, 'parser_match, one worker', 1, 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ''small''), line)) FROM line'),
	(6, 'parser_match, two workers', 2, 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ''small''), line)) FROM line'),
	(7, 'parser_match, no template fits', 0, 'SELECT sum(l4.parser_match((SELECT p FROM parser WHERE what = ''small''), line)) FROM words'),
	(8, 'load of 100,000 templates', 0, 'SELECT l4.parser_match(p, ''x'') FROM parser WHERE what = ''large''')) AS q (o, what, workers, query)
ORDER BY try, o
\gexec
\pset footer off
SELECT count(*) AS lines, round(avg(length(line))) AS bytes_a_line FROM line;
SELECT what, round(min(ms)) AS ms, round((min(ms) / (SELECT min(ms) FROM took WHERE what = 'hashtext'))::numeric, 2) AS to_hashtext FROM took GROUP BY what ORDER BY min(ms);
SELECT round((SELECT min(ms) FROM took WHERE what LIKE '%one worker')::numeric / (SELECT min(ms) FROM took WHERE what LIKE '%two workers')::numeric, 2) AS two_workers,
	round((SELECT min(ms) FROM took WHERE what = 'parser_match, 100,000 templates')::numeric / (SELECT min(ms) FROM took WHERE what = 'parser_match, 100 templates')::numeric, 2) AS large_to_small;
SELECT what, (SELECT count(*) FROM l4.parser_templates(p)) AS templates, pg_size_pretty(pg_column_size(p)::bigint) AS stored, pg_size_pretty(length(l4.parser_send(p))::bigint) AS bytes FROM parser;
DROP SCHEMA l4_bench CASCADE;
