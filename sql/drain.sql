-- Algorithm drain gives the clusters of Drain3 (version of February 2025): ids, sizes and templates, here as number and MD5.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE FUNCTION pg_temp.parser_learn(parser l4.parser, tags integer[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
CREATE TEMP TABLE line AS
WITH word AS (
	SELECT ARRAY['job', 'rank', '7', 'loss=0.5', 'node-3', 'error:', 'of', '10.0.0.9', '<*>', 'step', 'é', U&'x\0663', 'a_b', 'k:v::w', '', U&'\00A0', '0x1f', '-12'] AS w)
SELECT i, string_agg(w[1 + CASE j WHEN 0 THEN (i * i + i / 50) % 18
		ELSE (i * i * 31 + j * 17 + (i / (j + 1)) * (j % 2) + CASE WHEN j < 2 THEN 0 ELSE i % 3 END) % 18 END], ' ' ORDER BY j) AS l
FROM word, generate_series(0, 2999) AS i, generate_series(0, (i * 7 + i / 40) % 8) AS j
GROUP BY i;
CREATE TEMP TABLE config (no int, options jsonb, clusters int, md5 text);
INSERT INTO config VALUES
	(1, '{"algorithm": "drain", "masks": []}', 801, 'fe07f9e4ce910127b5c808225204f211'),
	(2, '{"algorithm": "drain", "masks": [], "depth": 3}', 419, '0e74efb76c05c11afab6fbf20db436e4'),
	(3, '{"algorithm": "drain", "masks": [], "depth": 6, "sim_th": 0.5}', 1000, '5470b6472b524dd71735a71a739a0405'),
	(4, '{"algorithm": "drain", "masks": [], "sim_th": 0.7, "max_children": 2}', 1396, '5d5873b047c829125d2f7fc5e8cc2717'),
	(5, '{"algorithm": "drain", "masks": [], "sim_th": 0.9, "max_children": 5, "depth": 5}', 2242, '2f92ce514f669e38bf42e2e663f160c4'),
	(6, '{"algorithm": "drain", "masks": [], "max_clusters": 20}', 20, '84cc3fa8f35058b97387faf3f2956349'),
	(7, '{"algorithm": "drain", "masks": [], "max_clusters": 1, "sim_th": 0.6}', 1, '487d47474f650b93280951d1e81cd254'),
	(8, '{"algorithm": "drain", "masks": [], "max_clusters": 100, "sim_th": 0.8, "depth": 5}', 100, 'f5004447086c80ca59ed86974cf64f7d'),
	(9, '{"algorithm": "drain", "masks": [], "extra_delimiters": ["_", "::", "="]}', 895, '86757ac651905879a4486e87a3606b17'),
	(10, '{"algorithm": "drain", "masks": [], "extra_delimiters": [":"], "parametrize_numeric_tokens": false, "depth": 5}', 1306, '62b27624b8a2c74ed68ded20fae3f0de'),
	(11, '{"algorithm": "drain", "masks": [], "sim_th": 1}', 2242, '2f92ce514f669e38bf42e2e663f160c4'),
	(12, '{"algorithm": "drain", "masks": [], "sim_th": 0}', 22, '1720c78293c0b98f4d08f4667f6e065b'),
	(13, '{"algorithm": "drain", "masks": [{"name": "IP", "pattern": "((?<=[^A-Za-z0-9])|^)(\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3})((?=[^A-Za-z0-9])|$)"}, {"name": "NUM", "pattern": "((?<=[^A-Za-z0-9])|^)([\\-\\+]?\\d+)((?=[^A-Za-z0-9])|$)"}]}', 929, '2e86e816d0544ec3126a20ce921b14ab'),
	(14, '{"algorithm": "drain", "masks": [{"name": "E", "pattern": "x*"}, {"name": "W", "pattern": "\\b\\w{3}\\b"}], "sim_th": 0.6}', 1474, 'a38d761a69a4ba430bea5d2c8173e66f');
CREATE TEMP TABLE trained AS
SELECT no, l4.parser_train(l, options ORDER BY i) AS p FROM line, config GROUP BY no;
SELECT no, count(*) = clusters AS same_number,
	md5(string_agg(event_id || ' ' || occurrences || ' ' || template, E'\n' ORDER BY event_id)) = md5 AS same_clusters
FROM config JOIN trained USING (no), l4.parser_templates(p) GROUP BY no, clusters, md5 ORDER BY no;

-- a stored parser goes on as if it had never been stored: learn half, keep, learn the other half
CREATE TEMP TABLE half AS
SELECT no, l4.parser_train(l, options ORDER BY i) AS p FROM line, config WHERE i < 1500 GROUP BY no;
SELECT no, pg_temp.parser_learn(half.p, tags, lines, counts)::text = trained.p::text AS same
FROM half JOIN trained USING (no),
	(SELECT array_agg(0) AS tags, array_agg(l ORDER BY i) AS lines, array_agg(1::bigint) AS counts FROM line WHERE i >= 1500) AS rest
ORDER BY no;

-- what matches: every token equal or a parameter
WITH p AS (SELECT l4.parser_train(x, '{"algorithm": "drain", "masks": []}' ORDER BY x) AS p FROM unnest(ARRAY['a b c', 'a b d', 'x y']) AS x)
SELECT l4.parser_match(p, 'a b zzz') AS fits, l4.parser_match(p, 'a z c') AS no, l4.parser_match(p, 'x y') AS exact, l4.parser_match(p, '') AS empty FROM p;
SELECT l4.parser_match(l4.parser_train(x, '{"algorithm": "drain", "masks": []}'), '  ') AS empty FROM unnest(ARRAY['', 'a', '   ']) AS x;

-- a mask that gives up leaves the line as it is and is told once
SET client_min_messages = notice;
SELECT t.* FROM (SELECT l4.parser_train(x, '{"algorithm": "drain", "masks": [{"name": "A", "pattern": "^(a+)+$"}, {"name": "B", "pattern": "b"}]}' ORDER BY length(x)) AS p
	FROM unnest(ARRAY['aaa', repeat('a', 40) || 'b', repeat('a', 41) || 'b']) AS x) AS trained, l4.parser_templates(p) AS t ORDER BY 1;
SELECT l4.parser_train('x', '{"algorithm": "drain", "masks": [{"name": "OPEN", "pattern": "(x"}]}');
