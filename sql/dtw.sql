-- Dynamic time warping: known values, a reference implementation, limits and errors.
SELECT l4.dtw_distance('{1,2,3}', '{1,2,3}') AS same, l4.dtw_distance('{1,2,3}', '{1,2,2,3}') AS stretched,
       l4.dtw_distance('{1,2,3}', '{1,9,3}') AS replaced, l4.dtw_distance('{1,2,3}', '{4,5}') AS disjoint,
       l4.dtw_distance('{7}', '{7,7,8,7}') AS one;
SELECT l4.dtw_distance_numeric('{1,2,3}', '{1,2,3}') AS same, l4.dtw_distance_numeric('{1,2,3}', '{1,2.5,2,3}') AS half,
       l4.dtw_distance_numeric('{0,0,10,0,0}', '{0,10,0,0,0}') AS shifted, l4.dtw_distance_numeric('{-1e300}', '{1e300}') AS far;

-- a common beginning may not be cut off: x y x x x y against x y
SELECT l4.dtw_distance('{1,2,1,1,1,2}', '{1,2}') AS warped;

-- empty sequences: nothing can be aligned with nothing
SELECT l4.dtw_distance('{}', '{}') AS both, l4.dtw_distance('{}', '{1}') AS first, l4.dtw_distance('{1}', '{}') AS second,
       l4.dtw_distance_numeric('{}', '{}') AS both_numeric, l4.dtw_distance_numeric('{1}', '{}') AS numeric;
SELECT count(*) FROM l4.dtw_path('{}', '{1,2}');

-- NULL arguments; a NULL band is none
SELECT l4.dtw_distance(NULL, '{1}') IS NULL AND l4.dtw_distance('{1}', NULL) IS NULL AND l4.dtw_distance_numeric(NULL, '{1}') IS NULL
   AND l4.dtw_distance_numeric('{1}', NULL) IS NULL AS all_null, l4.dtw_distance('{1,2}', '{1,2}', NULL) AS no_band;
SELECT count(*) FROM l4.dtw_path(NULL, '{1,2}');
SELECT count(*) FROM l4.dtw_path('{1,2}', NULL);

-- the band: with equal lengths, 0 compares position by position
SELECT band, l4.dtw_distance('{1,2,3,4,5,6}', '{9,1,2,3,4,5}', band) AS "int",
       l4.dtw_distance_numeric('{1,2,3,4,5,6}', '{9,1,2,3,4,5}', band) AS "numeric"
FROM unnest('{0,1,2,2147483647,NULL}'::int[]) WITH ORDINALITY AS b(band, o) ORDER BY o;
-- with lengths that differ, the strip between both diagonals is always allowed
SELECT band, l4.dtw_distance('{1,2,3}', '{1,1,1,1,2,3}', band) AS late, l4.dtw_distance('{1,1,1,1,2,3}', '{1,2,3}', band) AS swapped,
       l4.dtw_distance('{5,6,7,8}', '{8,8,8,5,6,7,8,8}', band) AS other
FROM generate_series(0, 2) AS band ORDER BY band;

-- the path
SELECT * FROM l4.dtw_path('{1,2,3,4}', '{1,2,2,3,5,4}');
SELECT * FROM l4.dtw_path(b => '{5,6,7}', a => '{5,7}');
SELECT string_agg(format('%s-%s', i, j), ' ') AS band_0 FROM l4.dtw_path('{1,2,3}', '{2,3,3}', 0);

-- A second implementation, straight from the definition.
CREATE FUNCTION pg_temp.reference(a float8[], b float8[], band int, zero_one bool) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	n int := cardinality(a);
	m int := cardinality(b);
	above float8[];
	cur float8[];
	cost float8;
BEGIN
	above := array_prepend(0::float8, array_fill('Infinity'::float8, ARRAY[m]));
	FOR i IN 1 .. n LOOP
		cur := array_fill('Infinity'::float8, ARRAY[m + 1]);
		FOR j IN 1 .. m LOOP
			CONTINUE WHEN i - j > band + greatest(0, n - m) OR j - i > band + greatest(0, m - n);
			cost := CASE WHEN zero_one THEN (a[i] <> b[j])::int ELSE abs(a[i] - b[j]) END;
			cur[j + 1] := cost + least(above[j], above[j + 1], cur[j]);
		END LOOP;
		above := cur;
	END LOOP;
	RETURN above[m + 1];
END $$;
CREATE FUNCTION pg_temp.hash01(seed bigint) RETURNS float8 LANGUAGE sql AS
$$ SELECT (hashint8extended(seed, 4711) & 4294967295) / 4294967296.0::float8 $$;
CREATE TEMP TABLE pair AS
SELECT id, alphabet, band,
       (SELECT coalesce(array_agg((floor(pg_temp.hash01(id * 1000 + k) * alphabet) * spread)::int ORDER BY k), '{}') FROM generate_series(1, n) AS k) AS a,
       (SELECT coalesce(array_agg((floor(pg_temp.hash01(id * 1000 + 500 + k) * alphabet) * spread)::int ORDER BY k), '{}') FROM generate_series(1, m) AS k) AS b,
       (SELECT array_agg(pg_temp.hash01(id * 1000 + k) * 100 - 50 ORDER BY k) FROM generate_series(1, n) AS k) AS x,
       (SELECT array_agg(pg_temp.hash01(id * 1000 + 500 + k) * 100 - 50 ORDER BY k) FROM generate_series(1, m) AS k) AS y
FROM (SELECT id, 1 + (pg_temp.hash01(id * 7) * 45)::int AS n, 1 + (pg_temp.hash01(id * 7 + 1) * 45)::int AS m,
             1 + (pg_temp.hash01(id * 7 + 2) * 8)::int AS alphabet, CASE WHEN id % 3 = 0 THEN (pg_temp.hash01(id * 7 + 3) * 12)::int END AS band,
             CASE WHEN id % 2 = 0 THEN 1 ELSE 100000000 END AS spread
      FROM generate_series(1, 300) AS id) AS s;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE l4.dtw_distance(a, b, band) <> pg_temp.reference(a::float8[], b::float8[], coalesce(band, 1000), true)) AS int_differs,
       count(*) FILTER (WHERE l4.dtw_distance_numeric(x, y, band) <> pg_temp.reference(x, y, coalesce(band, 1000), false)) AS numeric_differs,
       count(*) FILTER (WHERE l4.dtw_distance(a, b, band) <> l4.dtw_distance(b, a, band)) AS asymmetric,
       count(*) FILTER (WHERE l4.dtw_distance(a, b, band) <> (SELECT sum(cost) FROM l4.dtw_path(a, b, band))) AS path_differs
FROM pair;
-- every path starts at the first pair, ends at the last, and steps by one
SELECT count(*) AS bad_paths FROM pair, LATERAL (
	SELECT bool_and(CASE WHEN lag_i IS NULL THEN i = 1 AND j = 1 ELSE i - lag_i IN (0, 1) AND j - lag_j IN (0, 1) AND i + j > lag_i + lag_j END)
	       AND max(i) = cardinality(a) AND max(j) = cardinality(b) AND bool_and(cost = (a[i] <> b[j])::int) AS good
	FROM (SELECT i, j, cost, lag(i) OVER w AS lag_i, lag(j) OVER w AS lag_j FROM l4.dtw_path(a, b, band) WITH ORDINALITY AS p(i, j, cost, o)
	      WINDOW w AS (ORDER BY o)) AS steps) AS p
WHERE NOT good;

-- longer sequences
SELECT band, l4.dtw_distance_numeric(x, y, band) = pg_temp.reference(x, y, coalesce(band, 1000), false) AS "numeric"
FROM (SELECT array_agg(pg_temp.hash01(k) * 100 ORDER BY k) AS x, array_agg(pg_temp.hash01(-k) * 100 ORDER BY k) FILTER (WHERE k <= 570) AS y FROM generate_series(1, 640) AS k) AS s,
     unnest('{NULL,30,0}'::int[]) AS band;

-- sequences too long for 16-bit cells: the same answer as in parts of the same run
WITH s AS (SELECT array_fill(1, ARRAY[40000]) AS a, array_fill(1, ARRAY[20000]) || 2 || array_fill(1, ARRAY[19999]) AS b)
SELECT l4.dtw_distance(a, b, 3) AS one_differs, l4.dtw_distance(b, a[1:30000], 3) AS shorter, l4.dtw_distance(a, a) AS same FROM s;
SELECT l4.dtw_distance(array_fill(1, ARRAY[32766]), array_fill(2, ARRAY[32766]), 1) AS at_16_bits,
       l4.dtw_distance(array_fill(1, ARRAY[32767]), array_fill(2, ARRAY[32767]), 1) AS beyond_16_bits;

-- errors
SELECT l4.dtw_distance('{1,NULL}', '{1}');
SELECT l4.dtw_distance('{1}', '{{1},{2}}');
SELECT l4.dtw_distance('{1}', '{1}', -1);
SELECT l4.dtw_distance_numeric('{1,NULL}', '{1}');
SELECT l4.dtw_distance_numeric('{1}', '{{1},{2}}');
SELECT l4.dtw_distance_numeric('{1,NaN}', '{1}');
SELECT l4.dtw_distance_numeric('{1}', '{1,2,-Infinity}');
SELECT l4.dtw_distance_numeric('{1}', '{1}', -5);
SELECT l4.dtw_distance(array_fill(1, ARRAY[1000001]), '{1}');
SELECT l4.dtw_distance_numeric('{1}', array_fill(1::float8, ARRAY[1000001]));
SELECT * FROM l4.dtw_path(array_fill(1, ARRAY[8193]), array_fill(1, ARRAY[8193]));
SELECT * FROM l4.dtw_path('{1}', '{1,NULL}');
SELECT * FROM l4.dtw_path('{1}', '{1}', -1);
