-- component_agg, change_points, divide_steps: for any table.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
\set SHOW_CONTEXT never
SELECT l4.component_agg(a, b) FROM (VALUES ('b', 'a'), ('c', 'b'), ('x', 'y'), ('z', 'z'), ('w', NULL), (NULL, 'v')) AS e(a, b);
SELECT l4.component_agg(a, a) FROM (SELECT 'a' AS a) AS e WHERE false;
-- a ring of a thousand, rows in any order; and the same by workers
CREATE TABLE edges AS SELECT 'n' || n AS a, 'n' || (n + 7) % 1000 AS b FROM generate_series(0, 999) AS n;
INSERT INTO edges SELECT 'm' || n, 'm' || n + 2 FROM generate_series(0, 9999) AS n;
SELECT count(DISTINCT value), count(*), min(value), max(value) FROM jsonb_each_text((SELECT l4.component_agg(a, b) FROM edges));
SELECT (SELECT l4.component_agg(a, b) FROM edges) = (SELECT l4.component_agg(a, b ORDER BY md5(a)) FROM edges) AS same;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
ALTER TABLE edges SET (parallel_workers = 2);
EXPLAIN (COSTS off) SELECT l4.component_agg(a, b) FROM edges;
SELECT count(DISTINCT value), count(*) FROM jsonb_each_text((SELECT l4.component_agg(a, b) FROM edges));
ROLLBACK;
DROP TABLE edges;

-- changes of a level; none in noise
CREATE FUNCTION noise(i int) RETURNS float8 LANGUAGE sql RETURN (abs(hashint4(i)) % 1000) / 1000.0;
SELECT n - 1 AS after, round(p::numeric, 1) AS probability
FROM unnest((SELECT l4.change_points(CASE WHEN i > 60 THEN 0.5 WHEN i > 30 THEN 3 ELSE 0 END + noise(i) ORDER BY i) FROM generate_series(1, 90) AS i))
    WITH ORDINALITY AS x(p, n) WHERE p > 0.5;
SELECT max(p) < 0.2 AS quiet FROM unnest((SELECT l4.change_points(noise(i) ORDER BY i) FROM generate_series(1, 200) AS i)) AS p;
SELECT array_length(l4.change_points(noise(i), '{"length": 20, "lag": 2}' ORDER BY i), 1) FROM generate_series(1, 5) AS i;
SELECT l4.change_points(v) FROM (VALUES (1::float8), (NULL)) AS x(v);
SELECT l4.change_points(v) FROM (VALUES (NULL::float8)) AS x(v);
SELECT l4.change_points('NaN'::float8);
SELECT l4.change_points(1, '{"lag": 0}');
SELECT l4.change_points(1, '{"hazard": 0}');
DROP FUNCTION noise(int);

-- six steps of four buckets: records divide at the silences between steps, though buckets are silent in between, in any order
CREATE TEMP TABLE r AS
SELECT s, s + 0.04 * b + 0.0007 * ((s * 5 + b) % 3) AS start, s + 0.04 * b + 0.02 AS finish, CASE b WHEN 3 THEN 2e6 ELSE 5e6 END AS bytes
FROM generate_series(0, 5) AS s, generate_series(0, 3) AS b;
SELECT l4.divide_steps(array_agg(start ORDER BY start), array_agg(finish ORDER BY start), array_agg(bytes ORDER BY start)) FROM r;
SELECT count(*) FILTER (WHERE u.part <> u.s) AS wrong
FROM (SELECT array_agg(s ORDER BY md5(start::text)) AS s, l4.divide_steps(array_agg(start ORDER BY md5(start::text)), array_agg(finish ORDER BY md5(start::text)), array_agg(bytes ORDER BY md5(start::text))) AS part FROM r) AS x,
    unnest(x.s, x.part) AS u(s, part);
SELECT l4.divide_steps(array_agg(start ORDER BY start), array_agg(finish ORDER BY start), array_agg(bytes ORDER BY start), '{"period": 0.04}') FROM r WHERE s < 3;
-- buckets of long steps are alike, but come unevenly; two steps are longer
SELECT max(part) + 1 AS steps, count(*) AS buckets FROM (SELECT unnest(l4.divide_steps(array_agg(t), array_agg(t + 0.2), array_agg(9e8))) AS part
    FROM generate_series(0, 11) AS s, generate_series(0, 2) AS b, LATERAL (SELECT 268 * s + 73 * (s / 4) + 6.0 * b AS t) AS x) AS y;
SELECT l4.divide_steps('{}', '{}', '{}'), l4.divide_steps('{1}', '{2}', '{3}');
SELECT l4.divide_steps('{1,2}', '{2}', '{3}');
SELECT l4.divide_steps('{1,2}', '{2,1}', '{3,3}');
SELECT l4.divide_steps('{1}', '{2}', '{3}', '{"periods": 1}');
