-- The type event_vector: text, bytes, operators, casts, aggregates.

-- text form: any order in, by event id out, zeros left out
SELECT '{}'::l4.event_vector AS empty, ' { 17 : 42 ,3:1,-5:7, 9:0 } '::l4.event_vector AS vector, '{2147483647:9223372036854775807,-2147483648:1}'::l4.event_vector AS extremes;
SELECT v AS round_trip FROM unnest('{"{}","{0:1}","{-1:1, 0:127, 1:128, 2:129, 200:16384}"}'::text[]) AS v WHERE v::l4.event_vector::text <> v;
SELECT ''::l4.event_vector;
SELECT '3:1'::l4.event_vector;
SELECT '{3}'::l4.event_vector;
SELECT '{x:1}'::l4.event_vector;
SELECT '{3:}'::l4.event_vector;
SELECT '{3:1.5}'::l4.event_vector;
SELECT '{3:1,}'::l4.event_vector;
SELECT '{3:1 4:2}'::l4.event_vector;
SELECT '{3:1'::l4.event_vector;
SELECT '{3:1} x'::l4.event_vector;
SELECT '{3:-1}'::l4.event_vector;
SELECT '{3:1,4:2,3:5}'::l4.event_vector;
SELECT '{2147483648:1}'::l4.event_vector;
SELECT '{-2147483649:1}'::l4.event_vector;
SELECT '{1:9223372036854775808}'::l4.event_vector;
SELECT '{1:99999999999999999999999999}'::l4.event_vector;

-- runs and lone events, short and long numbers, in vectors long enough to be read in blocks: text and binary form agree with the counts
SELECT count(*) AS vectors, count(*) FILTER (WHERE v::text <> want) AS wrong_text, count(*) FILTER (WHERE v::text::l4.event_vector OPERATOR(l4.<>) v) AS wrong_input,
       count(*) FILTER (WHERE (SELECT '{' || string_agg(event_id || ':' || n, ', ' ORDER BY o) || '}' FROM l4.event_vector_each(v) WITH ORDINALITY AS x(event_id, n, o)) <> want) AS wrong_each
FROM (SELECT l4.event_vector(array_agg(e), array_agg(n)) AS v, '{' || string_agg(e || ':' || n, ', ' ORDER BY e) || '}' AS want
      FROM (SELECT g, e, CASE WHEN hashint4(g * 31 + e) % 11 = 0 THEN 1000000 + e ELSE abs(hashint4(e - g) % 90) + 1 END::bigint AS n
            FROM generate_series(0, 19) AS g, generate_series(-150, 150) AS i, LATERAL (SELECT i * CASE WHEN g % 3 = 0 THEN 1 WHEN g % 3 = 1 THEN 2 ELSE 1 + (abs(i) % 2) * 90 END AS e) AS s
            WHERE hashint4(g * 1000 + i) % (1 + g) <> 1) AS s GROUP BY g) AS t;

-- from and to arrays, each, get
SELECT l4.event_vector('{5,3,9}', '{1,0,7}'), l4.event_vector('{}', '{}');
SELECT l4.event_vector('{1,2}', '{1}');
SELECT l4.event_vector('{1,NULL}', '{1,2}');
SELECT l4.event_vector('{1,2}', '{1,NULL}');
SELECT l4.event_vector('{{1,2}}', '{1,2}');
SELECT l4.event_vector('{1,1}', '{1,2}');
SELECT l4.event_vector('{1}', '{-2}');
SELECT * FROM l4.event_vector_each('{17:42, -3:1}');
SELECT count(*) FROM l4.event_vector_each('{}');
SELECT l4.event_vector_get('{17:42, 3:1}', e) FROM unnest('{2,3,4,17,18}'::int[]) AS e;

-- jsonb
SELECT '{17:42, 3:1, -4:9223372036854775807}'::l4.event_vector::jsonb, '{}'::l4.event_vector::jsonb;
SELECT '{"17": 42, "3": 1, "4": 0}'::jsonb::l4.event_vector, '{}'::jsonb::l4.event_vector;
SELECT '[1,2]'::jsonb::l4.event_vector;
SELECT '{"a": 1}'::jsonb::l4.event_vector;
SELECT '{"1 ": 1}'::jsonb::l4.event_vector;
SELECT '{"1": "1"}'::jsonb::l4.event_vector;
SELECT '{"1": [1]}'::jsonb::l4.event_vector;
SELECT '{"1": 1.5}'::jsonb::l4.event_vector;
SELECT '{"1": -1}'::jsonb::l4.event_vector;
SELECT '{"1": 1, "01": 1}'::jsonb::l4.event_vector;
SELECT '{"3000000000": 1}'::jsonb::l4.event_vector;
SELECT '{"1": 1e30}'::jsonb::l4.event_vector;

-- sums and distances
SELECT '{1:1, 3:5}'::l4.event_vector OPERATOR(l4.+) '{2:7, 3:1, 9:1}', '{}'::l4.event_vector OPERATOR(l4.+) '{}';
SELECT '{1:9223372036854775807}'::l4.event_vector OPERATOR(l4.+) '{1:1}';
SELECT x OPERATOR(l4.<->) y AS l2, x OPERATOR(l4.<+>) y AS l1, round((x OPERATOR(l4.<=>) y)::numeric, 6) AS cosine
FROM (VALUES ('{1:3}'::l4.event_vector, '{2:4}'::l4.event_vector), ('{1:3, 2:4}', '{1:6, 2:8}'), ('{1:1, 5:2}', '{1:1, 5:2}'),
             ('{}', '{1:2}'), ('{1:2}', '{}'), ('{}', '{}'), ('{1:9223372036854775807}', '{1:9223372036854775806}')) AS t(x, y);
SELECT l4.l2_distance('{1:3}', NULL), l4.l1_distance(NULL, '{1:3}'), l4.cosine_distance(NULL, NULL), NULL OPERATOR(l4.+) '{1:3}'::l4.event_vector AS plus;

-- order, equality, hashing
WITH v AS (
    SELECT v, row_number() OVER (ORDER BY v) AS i
    FROM unnest('{"{2:1}","{1:2}","{1:1, 2:1}","{}","{1:1}","{-1:5}","{1:1, 3:1}"}'::l4.event_vector[]) AS v)
SELECT count(*) AS pairs, bool_and((x.v OPERATOR(l4.=) y.v) = (x.i = y.i) AND (x.v OPERATOR(l4.<>) y.v) = (x.i <> y.i)
       AND (x.v OPERATOR(l4.<) y.v) = (x.i < y.i) AND (x.v OPERATOR(l4.<=) y.v) = (x.i <= y.i)
       AND (x.v OPERATOR(l4.>) y.v) = (x.i > y.i) AND (x.v OPERATOR(l4.>=) y.v) = (x.i >= y.i)
       AND sign(l4.event_vector_cmp(x.v, y.v)) = sign(x.i - y.i)) AS consistent
FROM v AS x, v AS y;
CREATE TEMP TABLE vectors AS SELECT l4.event_vector(ARRAY[i % 10, 100 + i % 3], ARRAY[1, 2]) AS v FROM generate_series(1, 1000) AS i;
SET enable_sort = off;
SELECT count(*), count(DISTINCT v) FROM (SELECT v FROM vectors GROUP BY v) AS g;
SELECT count(*) FROM vectors AS a JOIN (SELECT DISTINCT v FROM vectors) AS b ON a.v OPERATOR(l4.=) b.v;
RESET enable_sort;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SELECT count(*), count(DISTINCT v) FROM (SELECT v FROM vectors GROUP BY v) AS g;
SELECT count(*) FROM vectors AS a JOIN (SELECT DISTINCT v FROM vectors) AS b ON a.v OPERATOR(l4.=) b.v;
RESET enable_hashagg;
RESET enable_hashjoin;
SELECT bool_and(l4.event_vector_hash(v) = (l4.event_vector_hash_extended(v, 0) << 32 >> 32)::int) AS same_low_half,
       bool_or(l4.event_vector_hash_extended(v, 0) = l4.event_vector_hash_extended(v, 1)) AS seed_ignored FROM vectors;

-- Aggregates against plain SQL.
CREATE TEMP TABLE event AS
SELECT i AS id, CASE WHEN i % 50 = 0 THEN NULL ELSE (i * i) % 97 END AS event_id, CASE WHEN i % 70 = 0 THEN NULL ELSE i % 5 END::bigint AS n, i % 7 AS node
FROM generate_series(1, 2000) AS i;
CREATE FUNCTION pg_temp.expected(counts jsonb) RETURNS text LANGUAGE sql AS
$$ SELECT '{' || coalesce(string_agg(key || ':' || value, ', ' ORDER BY key::int), '') || '}' FROM jsonb_each_text(counts) $$;
SELECT count(*) AS nodes, bool_and(v::text = pg_temp.expected(counts)) AS same
FROM (SELECT node, l4.event_vector_agg(event_id) AS v FROM event GROUP BY node) AS a
JOIN (SELECT node, jsonb_object_agg(event_id, c) AS counts
      FROM (SELECT node, event_id, count(*) AS c FROM event WHERE event_id IS NOT NULL GROUP BY node, event_id) AS s GROUP BY node) AS b USING (node);
SELECT count(*) AS nodes, bool_and(v::text = pg_temp.expected(counts)) AS same
FROM (SELECT node, l4.event_vector_agg(event_id, n) AS v FROM event GROUP BY node) AS a
JOIN (SELECT node, jsonb_object_agg(event_id, c) FILTER (WHERE c > 0) AS counts
      FROM (SELECT node, event_id, sum(n) AS c FROM event WHERE event_id IS NOT NULL GROUP BY node, event_id) AS s GROUP BY node) AS b USING (node);
SELECT l4.event_vector_sum(v) OPERATOR(l4.=) (SELECT l4.event_vector_agg(event_id, n) FROM event) AS sum_of_groups
FROM (SELECT l4.event_vector_agg(event_id, n) AS v FROM event GROUP BY node) AS s;
-- no rows, only NULLs, NULL in one argument, one row, only zeros
SELECT l4.event_vector_agg(event_id) IS NULL AND l4.event_vector_agg(event_id, n) IS NULL AND l4.event_vector_sum(NULL) IS NULL AS no_rows FROM event WHERE false;
SELECT l4.event_vector_agg(NULL) IS NULL AND l4.event_vector_agg(NULL, 1) IS NULL AND l4.event_vector_agg(1, NULL) IS NULL
   AND l4.event_vector_sum(NULL) IS NULL AS all_null FROM generate_series(1, 3);
SELECT l4.event_vector_agg(5), l4.event_vector_agg(5, 3), l4.event_vector_agg(5, 0) AS zero, l4.event_vector_sum('{5:3}') AS one, l4.event_vector_sum('{}') AS empty;
SELECT l4.event_vector_agg(x), l4.event_vector_agg(x, 2), l4.event_vector_sum(CASE WHEN x > 0 THEN l4.event_vector(ARRAY[x], '{3}') END) FROM unnest('{1,NULL,2,1}'::int[]) AS x;
-- DISTINCT, FILTER, ORDER BY, grouping sets, several aggregates that share a state
SELECT l4.event_vector_agg(DISTINCT event_id % 3) AS "distinct", l4.event_vector_agg(event_id % 3) FILTER (WHERE n = 1) AS filtered,
       l4.event_vector_agg(event_id % 3 ORDER BY id DESC) AS ordered, l4.event_vector_agg(event_id % 3) AS plain, l4.event_vector_agg(event_id % 3)::text AS shared FROM event;
SELECT node, l4.event_vector_agg(event_id % 2) FROM event WHERE node < 2 GROUP BY ROLLUP (node) ORDER BY node;
-- window frames call the final function again and again on one state
SELECT id, l4.event_vector_agg(event_id % 4) OVER (ORDER BY id) AS running, l4.event_vector_sum(l4.event_vector(ARRAY[id], '{1}')) OVER (ORDER BY id ROWS 1 PRECEDING) AS moving,
       l4.event_vector_agg(id, n) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS ahead
FROM event WHERE id <= 5 ORDER BY id;
SELECT count(*) AS wrong FROM (
	SELECT id, l4.event_vector_agg(event_id) OVER (ORDER BY id) AS running FROM event) AS w
WHERE id % 100 = 0 AND running OPERATOR(l4.<>) (SELECT l4.event_vector_agg(event_id) FROM event AS e WHERE e.id <= w.id);
-- state functions called by hand change nothing that somebody else holds
DO $$
DECLARE
	v l4.event_vector := '{1:1}';
	w l4.event_vector;
BEGIN
	w := l4._event_vector_accum(v, 1);
	w := l4._event_vector_accum(w, 7, 5);
	w := l4._event_vector_combine(w, v);
	RAISE NOTICE '% % %', v, w, l4._event_vector_final(w);
END $$;
-- limits and errors
SELECT l4.event_vector_agg(1, -1);
SELECT l4.event_vector_agg(1, 9223372036854775807) FROM generate_series(1, 2);
SELECT l4.event_vector_sum('{1:9223372036854775807}') FROM generate_series(1, 2);
SELECT pg_column_size(l4.event_vector_agg(i)) AS at_the_limit FROM generate_series(1, 1048576) AS i;
SELECT l4.event_vector_agg(i) FROM generate_series(1, 1048577) AS i;
SELECT (SELECT l4.event_vector_agg(i) FROM generate_series(1, 600000) AS i) OPERATOR(l4.+) (SELECT l4.event_vector_agg(-i) FROM generate_series(1, 600000) AS i);
SELECT ('{' || string_agg(i || ':1', ',') || '}')::l4.event_vector FROM generate_series(1, 1048577) AS i;

-- Stored bytes that are none of ours: a superuser's cast shows what hostile bytes do.
CREATE CAST (bytea AS l4.event_vector) WITHOUT FUNCTION;
CREATE CAST (l4.event_vector AS bytea) WITHOUT FUNCTION;
CREATE FUNCTION pg_temp.read(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	-- the sum reads event by event, this in blocks
	PERFORM l4.event_vector_each(bytes::l4.event_vector);
	RETURN (bytes::l4.event_vector OPERATOR(l4.+) '{}')::text;
EXCEPTION WHEN data_corrupted THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN detail;
END $$;
SELECT note, pg_temp.read(decode(hex, 'hex')) FROM (VALUES
	(1, 'a good one', '01020c000009'),
	(2, 'a good run', '01040d0000090102'),
	(3, 'nothing', ''),
	(4, 'version', '02'),
	(5, 'no number', '01'),
	(6, 'bytes behind none', '0100ff'),
	(7, 'more events than bytes', '01050d000009'),
	(8, 'a number too large', '01ffffffff7f0c00'),
	(9, 'a run too long', '01030d00000000'),
	(10, 'a run cut off', '01040d00'),
	(11, 'a second run cut off', '01050d0000090102'),
	(12, 'a run of a huge number', '01040dffffffffffffffffff0100'),
	(13, 'a count cut off', '01040d0000'),
	(14, 'a count missing', '01010c'),
	(15, 'bytes behind', '01010c00ff'),
	(16, 'a count not in its shortest form', '01010c8000'),
	(17, 'a gap not in its shortest form', '01018c0000'),
	(18, 'a gap too large', '010180808080800100'),
	(19, 'an id too large', '0102fcffffff1f000000'),
	(20, 'a run that leaves the range', '0104f9ffffff1f0000000000'),
	(21, 'many runs that leave the range', '0106f0ffffff1f0000000000000000000000'),
	(22, 'a count beyond 64 bits', '01010cffffffffffffffffff02'),
	(23, 'a count of 2^64', '01010cffffffffffffffffff01'),
	(24, 'a count of 2^63', '01010cffffffffffffffff7f')
	) AS t(o, note, hex) ORDER BY o;
-- every truncation is an error; every byte changed is one, or another vector
SELECT count(*) AS truncated, count(*) FILTER (WHERE pg_temp.read(substr(b, 1, n)) LIKE '{%') AS accepted
FROM (SELECT v::bytea AS b FROM (SELECT l4.event_vector_agg(e * e / 7, e * e * e) AS v FROM generate_series(1, 100) AS e) AS t) AS t,
     generate_series(0, octet_length(b) - 1) AS n;
SELECT count(*) AS changed, count(*) FILTER (WHERE r LIKE '{%' AND r::l4.event_vector::text <> r) AS wrong, count(*) FILTER (WHERE r LIKE '{%') BETWEEN 1 AND count(*) - 1 AS some_accepted
FROM (SELECT v::bytea AS b FROM (SELECT l4.event_vector_agg(e * e / 7, e * e * e) AS v FROM generate_series(1, 60) AS e) AS t) AS t,
     generate_series(0, octet_length(b) - 1) AS n, unnest('{1,2,64,128,255}'::int[]) AS bits,
     LATERAL (SELECT set_byte(b, n, get_byte(b, n) # bits) AS changed) AS c, LATERAL (SELECT pg_temp.read(changed) AS r) AS d;
DROP CAST (bytea AS l4.event_vector);
DROP CAST (l4.event_vector AS bytea);
