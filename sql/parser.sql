-- The template miner: what it learns, what it answers, what varies, and that order and storage do not change it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE FUNCTION pg_temp.parser_learn(parser l4.parser, tags integer[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
CREATE TABLE parser_log (k int, line text);
INSERT INTO parser_log SELECT row_number() OVER (), x FROM unnest(ARRAY[
	'Rank 3 joined from 10.0.0.7:29500 after 12.5 ms',
	'Rank 14 joined from 10.0.0.8:29500 after 8.25 ms',
	'Saving checkpoint to /ckpt/run-7/step_000100 (1.5 GB)',
	'Saving checkpoint to /ckpt/run-7/step_000200 (1.5 GB)',
	'NCCL error in: ProcessGroupNCCL.cpp:1331, unhandled system error',
	'loss: 3.25',
	'loss: nan',
	'loss: 2.5',
	NULL]) x;
CREATE TABLE parser_kept AS SELECT l4.parser_train(line ORDER BY k) AS p FROM parser_log;
SELECT t.* FROM parser_kept, l4.parser_templates(p) t ORDER BY 1;
SELECT k, l4.parser_match(p, line) FROM parser_kept, parser_log ORDER BY k;
SELECT l4.parser_match(p, 'nothing like it') IS NULL AS none, l4.parser_match(p, '') IS NULL AS empty FROM parser_kept;
SELECT a.* FROM parser_kept, l4.parser_parameters(p, 'Rank   5 joined from 10.0.0.9:29500 after 7 ms') a;
SELECT a.* FROM parser_kept, l4.parser_parameters(p, 'Saving checkpoint to /ckpt/x (512 MB)') a;
SELECT count(*) AS none FROM parser_kept, l4.parser_parameters(p, 'nothing like it') a;

-- the aggregate: no rows, NULL rows, groups, a window, DISTINCT, FILTER
SELECT l4.parser_train(line) IS NULL AS no_rows FROM parser_log WHERE false;
SELECT l4.parser_train(NULL::text) IS NULL AS null_rows FROM parser_log;
SELECT k % 2 AS half, count(*) FROM (SELECT k % 2 AS k, l4.parser_train(line ORDER BY k) AS p FROM parser_log GROUP BY 1) s, l4.parser_templates(p) GROUP BY 1 ORDER BY 1;
SELECT k, (SELECT count(*) FROM l4.parser_templates(p)) AS templates FROM (SELECT k, l4.parser_train(line) OVER (ORDER BY k) AS p FROM parser_log) s ORDER BY k;
SELECT sum(occurrences) FROM (SELECT l4.parser_train(DISTINCT line) AS p FROM parser_log) s, l4.parser_templates(p);
SELECT sum(occurrences) FROM (SELECT l4.parser_train(line) FILTER (WHERE k > 6) AS p FROM parser_log) s, l4.parser_templates(p);

-- a word that takes many values is a variable; the event keeps its oldest id
CREATE TABLE parser_words AS
SELECT g AS k, 'service ' || translate(g::text, '0123456789', 'abcdefghij') || ' was started by the scheduler' AS line FROM generate_series(11, 31) AS g;
SELECT t.* FROM (SELECT l4.parser_train(line ORDER BY k) AS p FROM parser_words) s, l4.parser_templates(p) t;
SELECT t.* FROM (SELECT l4.parser_train(line, '{"distinct_values": 1000}' ORDER BY k) AS p FROM parser_words) s, l4.parser_templates(p) t ORDER BY 1 LIMIT 2;
SELECT slot, mask, value FROM (SELECT l4.parser_train(line ORDER BY k) AS p FROM parser_words) s, l4.parser_parameters(p, 'service never_seen was started by the scheduler');
-- names that differ in a number alone are variable at once; a few values of a key are too
SELECT template FROM l4.parser_templates((SELECT l4.parser_train(x) FROM unnest(ARRAY['link eth0 is up now', 'link eth1 is up now']) x));
SELECT template FROM l4.parser_templates((SELECT l4.parser_train(x) FROM unnest(ARRAY['backend=nccl was chosen for all of the process groups', 'backend=gloo was chosen for all of the process groups']) x));

-- what is learnt does not depend on how it came in: in one go, in batches, stored between, or as distinct shapes with counts
WITH whole AS (SELECT pg_temp.parser_learn(l4._parser_new(), array_agg(0 ORDER BY k), array_agg(line ORDER BY k), array_agg(1::bigint ORDER BY k)) AS p FROM parser_words),
	first AS (SELECT pg_temp.parser_learn(l4._parser_new(), array_agg(0 ORDER BY k), array_agg(line ORDER BY k), array_agg(1::bigint ORDER BY k)) AS p FROM parser_words WHERE k <= 17),
	second AS (SELECT pg_temp.parser_learn((SELECT p FROM first), array_agg(0 ORDER BY k), array_agg(line ORDER BY k), array_agg(1::bigint ORDER BY k)) AS p FROM parser_words WHERE k > 17)
SELECT (SELECT string_agg(e::text, ' ' ORDER BY event_id) FROM l4.parser_templates(whole.p) e) = (SELECT string_agg(e::text, ' ' ORDER BY event_id) FROM l4.parser_templates(second.p) e) AS batches,
	(SELECT string_agg(e::text, ' ') FROM l4.parser_templates(whole.p) e) = (SELECT string_agg(e::text, ' ') FROM l4.parser_templates((SELECT l4.parser_train(line ORDER BY k) FROM parser_words)) e) AS aggregate
FROM whole, second;
-- tags keep events apart
SELECT event_id, template, occurrences FROM l4.parser_templates(pg_temp.parser_learn(l4._parser_new(), '{2,4,2}', ARRAY['link 1 down', 'link 2 down', 'link 3 down'], '{5,1,7}')) ORDER BY 1;

-- text form and binary form are the same parser
SELECT p::text::l4.parser::text = p::text AS round_trip, l4.parser_match(p::text::l4.parser, 'loss: 7') FROM parser_kept;

-- algorithm drain: Drain's clusters
SELECT t.* FROM (SELECT l4.parser_train(line, '{"algorithm": "drain", "masks": []}' ORDER BY k) AS p FROM parser_log) s, l4.parser_templates(p) t ORDER BY 1;
SELECT t.* FROM (SELECT l4.parser_train(line, '{"algorithm": "drain"}' ORDER BY k) AS p FROM parser_log) s, l4.parser_templates(p) t ORDER BY 1;
SELECT t.* FROM (SELECT l4.parser_train(line, '{"algorithm": "drain", "masks": [{"name": "NUM", "pattern": "\\b\\d+\\b"}], "sim_th": 0.5, "extra_delimiters": ["_"]}' ORDER BY k) AS p FROM parser_log) s, l4.parser_templates(p) t ORDER BY 1;
SELECT a.* FROM (SELECT l4.parser_train(line, '{"algorithm": "drain", "masks": [{"name": "NUM", "pattern": "\\b\\d+\\b"}]}' ORDER BY k) AS p FROM parser_log) s, l4.parser_parameters(p, 'Rank 77 joined from 10.0.0.7:29500 after 12.5 ms') a;
SELECT a.* FROM (SELECT l4.parser_train(line, '{"algorithm": "drain"}' ORDER BY k) AS p FROM parser_log) s, l4.parser_parameters(p, 'Rank 77 joined from 10.0.0.7:29500 after 12.5 ms') a;
-- the least recently used cluster goes; its event is no more, the others keep their ids
SELECT t.* FROM (SELECT l4.parser_train(x, '{"algorithm": "drain", "masks": [], "max_clusters": 2}' ORDER BY n) AS p FROM unnest(ARRAY['a b', 'c d e', 'f g h i']) WITH ORDINALITY u(x, n)) s, l4.parser_templates(p) t ORDER BY 1;
DROP TABLE parser_log, parser_kept, parser_words;
-- opposite outcomes stay two events, whatever else varies
SELECT t.template, t.occurrences FROM l4.parser_templates((
    SELECT l4.parser_train(format('Local worker group %s finished (WorkerState.%s). Waiting %s seconds for other agents', k,
                                  (ARRAY['FAILED', 'SUCCEEDED'])[1 + k % 2], k * 100) ORDER BY k)
    FROM generate_series(1, 20) k)) t ORDER BY 1;
-- so do states and their opposites, also in names, while the other words in their place are one variable; and joining hides none
CREATE FUNCTION parser_states(form text) RETURNS TABLE (template text, occurrences bigint) LANGUAGE sql AS $$
    SELECT t.template, t.occurrences FROM l4.parser_templates((
        SELECT l4.parser_train(format(form, w) ORDER BY k)
        FROM unnest(ARRAY['alder', 'up', 'birch', 'down', 'cedar', 'Ready', 'elm', 'NotReady', 'fir', 'isHealthy', 'hazel', 'isUnhealthy', 'juniper', 'State.ONLINE',
            'larch', 'State.OFFLINE', 'maple', 'disconnected', 'oak', 'unsuccessful', 'pine', 'inactive', 'rowan', 'upper', 'breakdown', 'already', 'index', 'understand'])
            WITH ORDINALITY u(w, k))) t ORDER BY t.occurrences DESC, t.template COLLATE "C"
$$;
SELECT * FROM parser_states('the state of this device changed to %s after the check');
SELECT * FROM parser_states('link of the adapter in this machine is now: %s');
DROP FUNCTION parser_states;
-- many templates of one structure: the group is split, and stored and read again it answers the same
CREATE TABLE parser_many AS
SELECT g AS k, string_agg(translate(((g * 7919 + i * i * 104729) % 997)::text, '0123456789', 'abcdefghij'), ' ' ORDER BY i) AS line FROM generate_series(1, 2000) AS g, generate_series(1, 8) AS i GROUP BY g;
CREATE TABLE parser_split AS SELECT l4.parser_train(line ORDER BY k) AS p FROM parser_many;
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE l4.parser_match(p, line) IS NULL) AS lost FROM parser_split, parser_many;
SELECT p::text::l4.parser::text = p::text AS round_trip FROM parser_split;
SELECT (SELECT string_agg(e::text, ' ' ORDER BY event_id) FROM l4.parser_templates(pg_temp.parser_learn(p, '{0,0}', '{brand new words here,and more}', '{1,1}')) e)
	= (SELECT string_agg(e::text, ' ' ORDER BY event_id) FROM l4.parser_templates((SELECT l4.parser_train(line ORDER BY k)
		FROM (SELECT * FROM parser_many UNION ALL VALUES (3000, 'brand new words here'), (3001, 'and more')) s)) e) AS same_as_in_one_go FROM parser_split;
DROP TABLE parser_many, parser_split;
-- a number does not make single words its values, nor the words before a colon
SELECT t.template, t.occurrences FROM l4.parser_templates((
    SELECT l4.parser_train(x ORDER BY k) FROM unnest(ARRAY['17', 'start', 'retry', 'done', '3.5', '4: 1', 'left: 2', 'right: 3', 'up: 4']) WITH ORDINALITY AS u(x, k))) AS t
ORDER BY t.event_id;

-- learnt in parts: in whatever order they come they make one parser; a single part is what one pass gives
CREATE AGGREGATE pg_temp.part(message text, options jsonb) (SFUNC = l4._parser_train_trans, STYPE = bytea);
CREATE AGGREGATE pg_temp.joined(state bytea) (
    SFUNC = l4._parser_train_combine, STYPE = bytea, FINALFUNC = l4._parser_train_final);
CREATE TEMP TABLE parser_lines AS
SELECT k, CASE WHEN k % 4 = 0 THEN format('Rank %s joined from 10.0.0.%s:29500 after %s ms', k, k, k / 4.0)
    ELSE 'service ' || translate((k + 10)::text, '0123456789', 'abcdefghij') || ' was started by the scheduler' END AS line
FROM generate_series(0, 29) AS k;
CREATE TEMP TABLE parser_parts AS
SELECT o.options, n, k * n / 30 AS part, pg_temp.part(line, o.options ORDER BY k)::bytea AS state
FROM parser_lines, (VALUES (1), (2), (4)) AS c(n), (VALUES ('{"algorithm": "l4"}'::jsonb), ('{"algorithm": "drain"}')) AS o(options)
GROUP BY 1, 2, 3;
SELECT options ->> 'algorithm' AS algorithm, n, p::text = back::text AS any_order, p::text = whole::text AS same,
    (SELECT count(*) FROM (SELECT template, occurrences FROM l4.parser_templates(whole) EXCEPT ALL
        SELECT template, occurrences FROM l4.parser_templates(p)) AS d) AS missing,
    (SELECT sum(occurrences) FROM l4.parser_templates(p)) AS lines
FROM (SELECT options, n, pg_temp.joined(state ORDER BY part) AS p, pg_temp.joined(state ORDER BY part DESC) AS back FROM parser_parts GROUP BY 1, 2) AS j
JOIN (SELECT o.options, l4.parser_train(line, o.options ORDER BY k) AS whole FROM parser_lines, (SELECT DISTINCT options FROM parser_parts) AS o GROUP BY 1) AS w USING (options)
ORDER BY 1 DESC, 2;
-- what is cut into partitions is learnt so where the planner is told to; workers never cut it
CREATE TABLE parser_half (k int, line text) PARTITION BY RANGE (k);
CREATE TABLE parser_half_1 PARTITION OF parser_half FOR VALUES FROM (0) TO (15);
CREATE TABLE parser_half_2 PARTITION OF parser_half FOR VALUES FROM (15) TO (99);
INSERT INTO parser_half SELECT * FROM parser_lines;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT l4.parser_train(line) FROM parser_half;
SELECT l4.parser_train(line, '{"algorithm": "l4"}')::text = (SELECT pg_temp.joined(state)::text FROM parser_parts WHERE n = 2 AND options ->> 'algorithm' = 'l4') AS as_parts
FROM parser_half;
RESET enable_partitionwise_aggregate;
SELECT proparallel FROM pg_proc WHERE oid = 'l4.parser_train(text)'::regprocedure;
DROP TABLE parser_half;
