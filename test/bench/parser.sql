-- Speed of the parser as ratios to hashtext() over the same warm table: psql -v lines=3000000 -f test/bench/parser.sql
\set ON_ERROR_STOP 1
\set QUIET 1
\if :{?lines} \else \set lines 3000000 \endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE line AS
SELECT g AS k, CASE g % 3
	WHEN 0 THEN format('2024-05-01 12:%s:%s,%s INFO [rank%s] megatron.training: iteration %s/ 500000 | consumed samples: %s | elapsed time per iteration (ms): %s | lm loss: 2.3450E+00 | grad norm: 0.731',
		lpad((g / 60 % 60)::text, 2, '0'), lpad((g % 60)::text, 2, '0'), lpad((g % 1000)::text, 3, '0'), g % 64, g, g * 512, g % 1000 * 1.37)
	WHEN 1 THEN format('worker-%s.cluster.local:29500 NCCL INFO Channel %s/0 : %s[a1b2c3d4] -> %s[d4e5f6] via P2P/IPC/read for the ring %s with algorithm tree and protocol simple, buffer of %s bytes',
		g % 100, g % 16, g % 8, (g + 1) % 8, g % 3, g % 4096 * 1024)
	ELSE format('[2024-05-01 12:00:%s] saving checkpoint of shard %s to /mnt/ckpt/run-17/iter_%s/mp_rank_%s/model_optim_rng.pt finished after %s s with status success and checksum %s',
		lpad((g % 60)::text, 2, '0'), g % 512, lpad((g / 1000 * 1000)::text, 7, '0'), g % 8, g % 90 + 0.25, md5(g::text)) END AS line
FROM generate_series(1, :lines) AS g;
ANALYZE line;
CREATE TEMP TABLE small AS SELECT l4.parser_train(line ORDER BY k) AS p FROM line WHERE k <= 3000;
CREATE TEMP TABLE large AS
SELECT l4.parser_train(line ORDER BY k) AS p FROM (
	SELECT k, line FROM line WHERE k <= 3000
	UNION ALL
	SELECT g + 3000, string_agg((ARRAY['alpha', 'beta', 'gamma', 'delta', 'node', 'disk', 'link', 'ring', 'pump', 'queue', 'cache', 'shard', 'epoch', 'token', 'layer', 'batch'])
		[1 + (hashint8(g * 16 + i)::bigint & 15)::int] || translate((hashint8(g * 31 + i)::bigint & 255)::text, '0123456789', 'abcdefghij'), ' ' ORDER BY i)
	FROM generate_series(1, 100000) AS g, generate_series(1, 9) AS i GROUP BY g) s;
CREATE TEMP TABLE took (what text, try int, ms float8);
CREATE PROCEDURE pg_temp.time_it(what text, try int, query text) LANGUAGE plpgsql AS $$
DECLARE start timestamptz := clock_timestamp();
BEGIN
	EXECUTE query;
	INSERT INTO took VALUES (what, try, extract(epoch FROM clock_timestamp() - start) * 1000);
END $$;
SELECT format('CALL pg_temp.time_it(%L, %s, %L)', what, try, query)
FROM generate_series(1, 3) AS try, (VALUES (1, 'hashtext', 'SELECT sum(hashtext(line)) FROM line'),
	(2, 'parser_match', 'SELECT sum(l4.parser_match((SELECT p FROM small), line)) FROM line'),
	(3, 'parser_match, 100,000 templates', 'SELECT sum(l4.parser_match((SELECT p FROM large), line)) FROM line'),
	(4, 'parser_train', 'SELECT l4.parser_train(line) FROM line'),
	(5, 'load of 100,000 templates', 'SELECT l4.parser_match(p, ''x'') FROM large')) AS q (o, what, query)
ORDER BY try, o
\gexec
\pset footer off
SELECT count(*) AS lines, round(avg(length(line))) AS bytes_a_line FROM line;
SELECT what, round(min(ms)) AS ms, round((min(ms) / (SELECT min(ms) FROM took WHERE what = 'hashtext'))::numeric, 2) AS to_hashtext FROM took GROUP BY what ORDER BY min(ms);
SELECT (SELECT count(*) FROM small, l4.parser_templates(p)) AS templates_small, (SELECT count(*) FROM large, l4.parser_templates(p)) AS templates_large,
	(SELECT pg_size_pretty(pg_column_size(p)::bigint) FROM large) AS stored, (SELECT pg_size_pretty(length(l4.parser_send(p))::bigint) FROM large) AS bytes;
