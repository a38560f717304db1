-- Isolation forest: the type, training, scores, explanations, limits.
-- Most checks compare two ways to one number, so that no seed is baked into the expected output.

-- 200 nodes that do the same with some noise; node 7 logs an event of its own, node 8 logs much more of another
CREATE TEMP TABLE node AS
SELECT n AS node, l4.event_vector_agg(e, 20 + (hashint4(n * 1000 + e) % 4) + CASE WHEN n = 8 AND e = 5 THEN 500 ELSE 0 END)
       OPERATOR(l4.+) CASE WHEN n = 7 THEN '{99:3}'::l4.event_vector ELSE '{}' END AS v
FROM generate_series(1, 200) AS n, generate_series(1, 12) AS e GROUP BY n;
CREATE TEMP TABLE forest AS SELECT l4.iforest_train(v) AS f FROM node;

SELECT l4.iforest_info(f) - 'nodes' AS info FROM forest;
SELECT node AS most_suspicious, l4.iforest_score(f, v) > 0.55 AS clearly FROM node, forest ORDER BY l4.iforest_score(f, v) DESC LIMIT 1;
SELECT bool_and(score > 0 AND score <= 1) AS in_range, round(avg(score)::numeric, 1) AS mean FROM (SELECT l4.iforest_score(f, v) AS score FROM node, forest) AS s;

-- the event that sets the node apart comes first
SELECT node, (SELECT event_id FROM l4.iforest_explain(f, v) LIMIT 1) AS event_id FROM node, forest WHERE node IN (7, 8) ORDER BY node;
-- contributions are exact: with the base they make up log2 of the score
SELECT count(*) AS nodes, bool_and(abs(l4.iforest_base(f) + (SELECT coalesce(sum(contribution), 0) FROM l4.iforest_explain(f, v)) - log(2, l4.iforest_score(f, v)::numeric)::float8) < 1e-9) AS exact
FROM node, forest;
-- and on average over the training set of a full sample they cancel out
SELECT abs(avg(s)) < 1e-9 AS cancel FROM (
	SELECT (SELECT sum(contribution) FROM l4.iforest_explain(f, v)) AS s
	FROM node, (SELECT l4.iforest_train(v, '{"sample_size": 200}') AS f FROM node) AS full_sample) AS sums;

-- the same for ids and counts of any size, close together or far apart; a full sample cancels out only if training and scores read them alike
SELECT what, bool_and(abs(l4.iforest_base(f) + s - ln(l4.iforest_score(f, v)) / ln(2)) < 1e-9) AS exact, abs(avg(s)) < 1e-9 AS cancel, count(DISTINCT l4.iforest_score(f, v)) > 5 AS differ
FROM (SELECT what, v, f, (SELECT sum(contribution) FROM l4.iforest_explain(f, v)) AS s
	FROM (SELECT what, v, l4.iforest_train(v, '{"trees": 20, "sample_size": 200}') OVER (PARTITION BY what) AS f
		FROM (SELECT what, n, l4.event_vector_agg(id, count) AS v
			FROM (SELECT what, n, id, count FROM (VALUES ('one byte', 1, 0, 1), ('two bytes', 1, 0, 200), ('eight bytes', 1, 0, 100000), ('gaps', 9, -40, 1), ('gaps of two bytes', 70, 0, 13),
					('far apart', 90000000, 0, 1), ('far apart, eight bytes', 90000000, 0, 100000), ('negative', 1, -6, 1)) AS kind (what, step, shift, factor),
				generate_series(1, 200) AS n, generate_series(1, 20) AS e, LATERAL (SELECT e * step + shift AS id, (abs(hashint4(n * 1000 + e)) % 4) * factor::bigint AS count) AS c
			-- one row has events that no other row leads to expect
			UNION ALL SELECT 'later range', n, e, (abs(hashint4(n * 10 + e)) % 9)::bigint FROM generate_series(1, 200) AS n, generate_series(1, 20) AS e
			UNION ALL SELECT 'later range', 137, e, 700 FROM unnest(ARRAY[-5000, 30, 2147483647]) AS e
			UNION ALL SELECT 'few of many', n, n * 200 + e, 5 FROM generate_series(1, 200) AS n, generate_series(1, 3) AS e
			UNION ALL SELECT 'few of many', 1, e, 1 FROM generate_series(1, 100) AS e) AS counts
			GROUP BY what, n) AS vectors) AS trained) AS scored
GROUP BY what ORDER BY what;

-- also where counts are too many for a matrix
SELECT bool_and(abs(l4.iforest_base(f) + s - ln(l4.iforest_score(f, v)) / ln(2)) < 1e-9) AS exact, abs(avg(s)) < 1e-9 AS cancel, count(*)
FROM (SELECT v, f, (SELECT sum(contribution) FROM l4.iforest_explain(f, v)) AS s
	FROM (SELECT v, l4.iforest_train(v, '{"trees": 2, "sample_size": 300}') OVER () AS f
		FROM (SELECT l4.event_vector(array_agg(n * 400 + e), array_agg(65000 + n * 10::bigint)) AS v
			FROM generate_series(1, 300) AS n, generate_series(1, 400) AS e GROUP BY n) AS vectors) AS trained) AS scored;

-- scores of scikit-learn 1.9.1, mean of ten forests of 1,000 trees, times 10,000: the same order, and the same five nodes first
SELECT round(corr(mine_rank, their_rank)::numeric, 2) AS rank_correlation, max(abs(score - theirs / 10000.0)) < 0.02 AS alike,
	array_agg(n ORDER BY score DESC) FILTER (WHERE mine_rank <= 5) @> ARRAY[59, 118, 177, 236, 295] AS planted_first
FROM (SELECT n, score, theirs, rank() OVER (ORDER BY score DESC) AS mine_rank, rank() OVER (ORDER BY theirs DESC) AS their_rank
	FROM (SELECT n, theirs, l4.iforest_score(l4.iforest_train(v, '{"trees": 1000}') OVER (), v) AS score
		FROM (SELECT n::int, theirs, (SELECT l4.event_vector_agg(e, 10 + (n * n * e * 7 + n * 13 + e * n * n * n) % (11 + 4 * e) * ((n * e) % 3 + 1) + CASE WHEN n % 59 = 0 THEN 30 * e * (n % 4 + 1) ELSE 0 END)
				FROM generate_series(1, 6) AS e) AS v
			FROM unnest('{4470,4487,3894,4052,5039,4081,4498,4774,4060,4767,4946,4152,4423,4570,4287,4442,4530,4215,5104,4548,4040,4300,4915,4603,4560,4901,4297,4708,4413,4128,4339,4893,3953,4364,4605,3969,5291,5282,4272,4691,4421,4256,4381,4428,4347,4417,4301,4145,4623,4308,4425,4574,4696,4370,4840,4509,4095,4420,8379,4409,4368,4617,3959,4748,4896,4322,4719,4881,4239,4840,4952,4205,4817,4734,4131,4429,4280,4120,4477,4306,4177,4126,4922,4260,4577,4805,4053,5002,4636,4231,4068,4876,4289,5217,4450,4076,4904,4689,4421,4758,4654,4277,4182,4390,4489,4674,4411,4106,4577,4260,4243,4980,5015,4172,4600,4468,4268,8172,5193,4829,4239,4111,4028,4751,4570,3984,4726,5034,4474,4815,4741,4217,4751,4541,4498,4165,4239,4283,4327,5115,3943,4700,5176,4014,4349,4975,4144,4150,4213,4271,4788,4687,4032,4430,4501,4071,4652,4827,4472,4492,4696,4014,4819,4515,4239,5374,4678,3901,4859,4393,4133,4813,5325,4055,4665,4689,8011,4186,4579,4343,5113,4515,3986,4457,4307,4342,4581,4616,4634,4541,4307,4310,4311,4764,4378,4130,4332,4222,4640,4971,4125,4481,4858,4617,4685,4627,4305,4911,4668,4504,4047,4838,4102,4253,4152,4166,4425,4587,4073,4957,4890,3995,4865,4275,4320,4761,5022,4166,4283,4547,3958,4607,5081,4298,5101,7776,4111,4544,4596,4263,4369,4457,4066,4643,4507,4171,4640,5015,4285,4678,4478,4291,4299,5053,4429,4110,4276,4384,4647,4465,4037,4510,4732,4164,5331,4699,4093,4300,4514,4444,4449,4389,4314,4992,4671,4148,4715,4943,4135,5273,5281,4182,4398,4456,4481,4162,4545,3978,4048,4869,4026,4592,4629,4197,8289,4593,4230,4659,4553,4321}'::int[]) WITH ORDINALITY AS s (theirs, n)) AS nodes) AS scored) AS ranked;

-- A small case by hand: two rows, so every tree is one split of event 1 between 0 and 10, whose leaves lie at depth 1 = c(2).
CREATE TEMP TABLE pair AS SELECT l4.iforest_train(v) AS f FROM unnest('{"{}","{1:10}"}'::l4.event_vector[]) AS v;
SELECT l4.iforest_info(f), l4.iforest_score(f, '{}') AS none, l4.iforest_score(f, '{1:10}') AS ten, l4.iforest_base(f) AS base FROM pair;
SELECT e.* FROM pair, l4.iforest_explain(f, '{1:10}') AS e;
-- one row three times and another once, samples of 4: the split takes the one (path 1) from the three (path 1 + c(3))
SELECT abs(l4.iforest_score(f, '{1:1}') - 2 ^ -((1 + c3) / c4)) < 1e-12 AS three, abs(l4.iforest_score(f, '{1:2}') - 2 ^ -(1 / c4)) < 1e-12 AS one,
       abs(l4.iforest_base(f) + ((3 * (1 + c3) + 1) / 4) / c4) < 1e-12 AS base
FROM (SELECT l4.iforest_train(v) AS f FROM unnest('{"{1:1}","{1:1}","{1:2}","{1:1}"}'::l4.event_vector[]) AS v) AS t,
     (SELECT 2 * (ln(2::float8) + 0.57721566490153286061) - 4 / 3.0::float8 AS c3, 2 * (ln(3::float8) + 0.57721566490153286061) - 6 / 4.0::float8 AS c4) AS c;

-- no rows, only NULLs, NULL among rows, one row, identical rows, empty vectors
SELECT l4.iforest_train(v) IS NULL AND l4.iforest_train(v, '{}') IS NULL AS no_rows FROM node WHERE false;
SELECT l4.iforest_train(NULL) IS NULL AND l4.iforest_train(NULL, '{}') IS NULL AS all_null FROM node;
SELECT l4.iforest_info(l4.iforest_train(v)) FROM unnest('{"{1:1}",NULL,"{1:2}"}'::l4.event_vector[]) AS v;
SELECT l4.iforest_info(f) AS one_row, l4.iforest_score(f, '{1:1}') AS itself, l4.iforest_score(f, '{9:9}') AS other, l4.iforest_base(f) AS base,
       (SELECT count(*) FROM l4.iforest_explain(f, '{1:1}')) AS explained
FROM (SELECT l4.iforest_train('{1:1}') AS f) AS t;
SELECT l4.iforest_info(f) AS identical, l4.iforest_score(f, '{1:1, 2:7}') AS itself, l4.iforest_score(f, '{9:9}') AS other
FROM (SELECT l4.iforest_train('{1:1, 2:7}') AS f FROM generate_series(1, 1000)) AS t;
SELECT l4.iforest_info(l4.iforest_train('{}')) - 'nodes' AS empty FROM generate_series(1, 3);
SELECT l4.iforest_score(NULL, '{}') IS NULL AND l4.iforest_base(NULL) IS NULL AND l4.iforest_info(NULL) IS NULL AS nulls,
       l4.iforest_score(f, NULL) IS NULL AS null_vector, (SELECT count(*) FROM l4.iforest_explain(f, NULL)) AS no_explanation FROM forest;
-- what the training set never had does not count: filter or train with it
SELECT l4.iforest_score(f, v) = l4.iforest_score(f, v OPERATOR(l4.+) '{-5:100, 7777:100}') AS unknown_events_ignored,
       l4.iforest_score(f, v) = l4.iforest_score(f, v OPERATOR(l4.+) (SELECT l4.event_vector_agg(e) FROM generate_series(-40, 140) AS e WHERE e NOT BETWEEN 1 AND 99)) AS runs_too
FROM node, forest WHERE node = 1;
-- as does the order in which vectors are scored: none leaves anything for the next
SELECT count(*) AS scored, count(*) FILTER (WHERE l4.iforest_score(f, v) <> l4.iforest_score((f::text)::l4.iforest, v)) AS differ FROM node, forest WHERE node <= 20;
-- wide counts and ids, ids far apart
SELECT l4.iforest_score(f, '{-2147483648:1, 5:9223372036854775807}') > l4.iforest_score(f, '{5:1, 2147483647:1}') AS extremes_work
FROM (SELECT l4.iforest_train(v) AS f FROM (SELECT '{5:1, 2147483647:1}'::l4.event_vector AS v FROM generate_series(1, 50)
      UNION ALL SELECT '{-2147483648:1, 5:9223372036854775807}') AS t) AS t;

-- The same forest for any row order, any plan, with the seed given or by default; another seed makes another.
CREATE FUNCTION pg_temp.id(f l4.iforest) RETURNS text LANGUAGE sql AS $$ SELECT md5(l4.iforest_send(f)) $$;
SELECT count(DISTINCT pg_temp.id(f)) AS forests FROM (
	SELECT f FROM forest
	UNION ALL SELECT l4.iforest_train(v ORDER BY node DESC) FROM node
	UNION ALL SELECT l4.iforest_train(v ORDER BY hashint4(node)) FROM node
	UNION ALL SELECT l4.iforest_train(v, '{}') FROM node
	UNION ALL SELECT l4.iforest_train(v, NULL) FROM node
	UNION ALL SELECT l4.iforest_train(v, '{"seed": 0, "trees": 100, "sample_size": 256}' ORDER BY v) FROM node
	UNION ALL SELECT l4.iforest_train(v, CASE WHEN node % 2 = 0 THEN '{"seed": 0}' ELSE '{}' END::jsonb) FROM node) AS t;
SELECT count(DISTINCT pg_temp.id(f)) AS forests FROM (SELECT l4.iforest_train(v, jsonb_build_object('seed', seed)) AS f
	FROM node, unnest('{-9223372036854775808,-1,0,1,9223372036854775807}'::bigint[]) AS seed GROUP BY seed) AS t;
-- pinned: this forest must never change, on any platform or server version
SELECT pg_temp.id(l4.iforest_train(l4.event_vector(ARRAY[i % 7, 10 + i % 5, 50], ARRAY[i, i * i, 3]), '{"trees": 20, "sample_size": 64, "seed": 42}')) AS pinned
FROM generate_series(1::int, 500) AS i;

-- groups, FILTER, DISTINCT; a window frame grows a forest a row
SELECT node % 3 AS part, l4.iforest_info(l4.iforest_train(v))->'rows' AS rows, l4.iforest_info(l4.iforest_train(v) FILTER (WHERE node < 10))->'rows' AS filtered
FROM node GROUP BY 1 ORDER BY 1;
SELECT l4.iforest_info(l4.iforest_train(DISTINCT v))->'rows' AS "distinct" FROM (SELECT v FROM node UNION ALL SELECT v FROM node) AS t;
SELECT node, l4.iforest_info(l4.iforest_train(v, '{"trees": 3}') OVER (ORDER BY node))->'rows' AS rows,
       pg_temp.id(l4.iforest_train(v, '{"trees": 3}') OVER (ORDER BY node)) = (SELECT pg_temp.id(l4.iforest_train(v, '{"trees": 3}')) FROM node AS b WHERE b.node <= a.node) AS same
FROM node AS a WHERE node <= 4 ORDER BY node;

-- the value: text and table round trips, several forests in one query
CREATE TEMP TABLE stored (id int, f l4.iforest);
INSERT INTO stored SELECT 1, f FROM forest UNION ALL SELECT 2, f FROM pair;
INSERT INTO stored SELECT id + 10, f::text::l4.iforest FROM stored;
SELECT bool_and(pg_temp.id(a.f) = pg_temp.id(b.f)) AS round_trip FROM stored AS a JOIN stored AS b ON b.id = a.id + 10;
SELECT count(*) AS rows, bool_and(l4.iforest_score(s.f, v) = l4.iforest_score(CASE s.id % 10 WHEN 1 THEN forest.f ELSE pair.f END, v)) AS same
FROM stored AS s, node, forest, pair WHERE node < 20;
SELECT id, l4.iforest_score(f, '{1:10, 99:1}') = lag(l4.iforest_score(f, '{1:10, 99:1}'), 2) OVER (ORDER BY id) AS same FROM stored ORDER BY id;

-- options
SELECT l4.iforest_info(l4.iforest_train(v, '{"trees": 7, "sample_size": 16, "seed": -3}')) - 'nodes' - 'events' AS info FROM node;
SELECT l4.iforest_train(v, '{"tree": 7}') FROM node;
SELECT l4.iforest_train(v, '[1]') FROM node;
SELECT l4.iforest_train(v, '{"trees": 0}') FROM node;
SELECT l4.iforest_train(v, '{"trees": 10001}') FROM node;
SELECT l4.iforest_train(v, '{"trees": "7"}') FROM node;
SELECT l4.iforest_train(v, '{"trees": 7.5}') FROM node;
SELECT l4.iforest_train(v, '{"sample_size": 1}') FROM node;
SELECT l4.iforest_train(v, '{"sample_size": 65537}') FROM node;
SELECT l4.iforest_train(v, '{"trees": 10000, "sample_size": 420}') FROM node;
SELECT l4.iforest_train(v, '{"seed": 1e30}') FROM node;
SELECT l4.iforest_train(v, jsonb_build_object('seed', node)) FROM node;

-- text and stored bytes that are no forest
SELECT 'forest'::l4.iforest;
SELECT '\x'::l4.iforest;
SELECT '\x02'::l4.iforest;
SELECT '\x0'::l4.iforest;
CREATE FUNCTION pg_temp.damaged(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM ('\x' || encode(bytes, 'hex'))::l4.iforest;
	RETURN 'accepted';
EXCEPTION WHEN invalid_text_representation OR data_corrupted THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN detail;
END $$;
-- every truncation and every changed byte of a forest is noticed
SELECT pg_temp.damaged(substr(b, 1, n)) AS truncated, count(*) FROM (SELECT l4.iforest_send(f) AS b FROM pair) AS t, generate_series(0, octet_length(b) - 1) AS n GROUP BY 1 ORDER BY 1;
SELECT pg_temp.damaged(set_byte(b, n, get_byte(b, n) # bit)) AS changed, count(*) FROM (SELECT l4.iforest_send(f) AS b FROM pair) AS t,
       generate_series(0, octet_length(b) - 1) AS n, LATERAL (SELECT 1 << n % 8) AS b2(bit) GROUP BY 1 ORDER BY 1;
-- hostile bytes with a fingerprint that fits
CREATE FUNCTION pg_temp.forged(body bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	modulus numeric := 18446744073709551616;
	h numeric := octet_length(body);
	digits text := '';
BEGIN
	FOR i IN 0 .. octet_length(body) - 1 LOOP
		h := (div(h, 256) * 256 + ((h % 256)::int # get_byte(body, i))) * 18397679294719823053 % modulus;
		h := div(h, 4294967296) * 4294967296 + ((h % 4294967296)::bigint # div(h, 4294967296)::bigint);
	END LOOP;
	FOR i IN 0 .. 7 LOOP
		digits := digits || lpad(to_hex((h % 256)::int), 2, '0');
		h := div(h, 256);
	END LOOP;
	RETURN '\x01'::bytea || decode(digits, 'hex') || body;
END $$;
-- trees, sample, seed, rows, number of events, events …, nodes
SELECT note, pg_temp.damaged(pg_temp.forged(body)) FROM (VALUES
	(1, 'one tree, one split', '\x0102000201020105000100 01'::text), (2, 'no tree', '\x00020002010201050001 0001'), (3, 'too many trees', '\x914e02000201020105000100 01'),
	(4, 'no sample', '\x01000002010201050001 0001'), (5, 'fewer rows than the sample', '\x010200010102010500010001'), (6, 'more events than bytes', '\x01020002ff01020105000100 01'),
	(7, 'event id out of range', '\x0102000202feffffff0f00010500010001'), (8, 'step too long', '\x0102000201ffffffff1f010500010001'), (9, 'too many leaves', '\x904e a004 00 a004 00 00a004'),
	(10, 'unknown event', '\x010200020102020500010001'), (11, 'deeper than a sample allows', '\x0102000201020105010500010001'), (12, 'leaf of no rows', '\x010200020102010500000002'),
	(13, 'too many rows in a leaf', '\x0102000201020105000200 01'), (14, 'rows missing', '\x010300030102010500010001'), (15, 'threshold out of range', '\x01020002010201ffffffffffffffff7f00010001'),
	(16, 'bytes at the end', '\x010200020102010500010001ff'), (17, 'no second tree', '\x020200020102010500010001'), (18, 'nothing', '\x'), (19, 'not the shortest number', '\x01028000020102010500010001'),
	(20, 'more nodes than rows', '\x010300030102 0105 0105 0001 0001 0105 0001 0001')
	) AS t(o, note, hex), LATERAL (SELECT decode(replace(substr(hex, 3), ' ', ''), 'hex') AS body) AS b ORDER BY o;
CREATE CAST (bytea AS l4.iforest) WITHOUT FUNCTION;
SELECT l4.iforest_score('\x00'::bytea::l4.iforest, '{}');
SELECT l4.iforest_base(set_byte(l4.iforest_send(f), 30, 77)::l4.iforest) FROM pair;
DROP CAST (bytea AS l4.iforest);
