-- Lines without end that are like no other: they get coarse templates, and what they leave behind is bounded and freed.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA bounded;
SET search_path = bounded;
CREATE FUNCTION parser_learn(parser l4.parser, tags int[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
CREATE FUNCTION word(i int, k int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate(substr(md5((i::bigint * 331 + k)::text), 1, 9), '0123456789', 'ghijklmnop');
CREATE TABLE made AS
SELECT k.kind, i, CASE k.kind
    WHEN 'first word' THEN word(i, 1) || ' could not be read from the cache of this node'
    WHEN 'last word' THEN 'could not read from the cache of this node the file ' || word(i, 1)
    WHEN 'all words' THEN (SELECT string_agg(word(i, n), ' ') FROM generate_series(1, 8) AS n)
    WHEN 'lengths' THEN (SELECT string_agg(word(i, n), ' ') FROM generate_series(1, 1 + i % 40) AS n)
    WHEN 'same words' THEN (SELECT string_agg('item', ' ') FROM generate_series(1, i) AS n)
    WHEN 'keys' THEN (SELECT string_agg(word(i, n) || '=' || n * i, ' ') FROM generate_series(1, 4) AS n)
    WHEN 'known word' THEN 'dump of ' || (SELECT string_agg(word(i, n), ',') FROM generate_series(1, 8) AS n)
    WHEN 'known words' THEN (SELECT string_agg(word((i * n * 7919 + n) % 197, 0), ' ') FROM generate_series(1, 8) AS n)
    END AS line
FROM unnest(ARRAY['first word', 'last word', 'all words', 'lengths', 'same words', 'keys', 'known word', 'known words'])
    AS k(kind), generate_series(1, 700) AS i;

-- The parser: templates stay few, every line has one, stored and read again it answers the same.
CREATE TABLE trained AS
SELECT m.kind, l4.parser_train(m.line, '{"max_templates": 1000}' ORDER BY m.i) AS p
FROM (SELECT x.kind, x.i, x.line FROM made AS x
    UNION ALL SELECT DISTINCT x.kind, 0, 'dump of the state' FROM made AS x) AS m GROUP BY m.kind;
SELECT t.kind, (SELECT count(*) FROM l4.parser_templates(t.p)) AS templates,
    (SELECT count(*) FROM made AS m WHERE m.kind = t.kind AND l4.parser_match(t.p, m.line) IS NULL) AS without,
    length(l4.parser_send(t.p)) < 100000 AS small, t.p::text::l4.parser::text = t.p::text AS round_trip
FROM trained AS t ORDER BY t.kind;
-- coarse templates are by a known first word, else by length
SELECT t.kind, e.template FROM trained AS t CROSS JOIN LATERAL l4.parser_templates(t.p) AS e
WHERE e.template ~ '^(\w+ )?<\*>( <\*>)*$' AND t.kind IN ('lengths', 'keys', 'known word')
ORDER BY t.kind, e.template COLLATE "C";
SELECT a.* FROM trained AS t CROSS JOIN LATERAL l4.parser_parameters(t.p, 'dump of things, that, none, ever, printed, before') AS a
WHERE t.kind = 'known word';

-- Learnt in parts, stored between, the events are those of learning in one go, whatever the parts.
CREATE FUNCTION in_parts(kind text, lines int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    p l4.parser := l4._parser_new('{"max_templates": 200}');
    r record;
BEGIN
    FOR r IN SELECT array_agg(m.line ORDER BY m.i) AS messages, array_agg(0) AS tags, array_agg(1::bigint) AS counts
        FROM made AS m WHERE m.kind = in_parts.kind GROUP BY m.i / lines ORDER BY m.i / lines
    LOOP
        p := parser_learn(p, r.tags, r.messages, r.counts);
    END LOOP;
    RETURN ARRAY(SELECT l4.parser_match(p, m.line) FROM made AS m WHERE m.kind = in_parts.kind ORDER BY m.i);
END
$$;
SELECT k.kind FROM (SELECT DISTINCT m.kind FROM made AS m) AS k
WHERE in_parts(k.kind, 100000) IS DISTINCT FROM in_parts(k.kind, 100) OR in_parts(k.kind, 100000) IS DISTINCT FROM in_parts(k.kind, 7);
-- Learnt apart and put together, they stay few, every line is counted, and has an event.
CREATE AGGREGATE pg_temp.part(message text, options jsonb) (SFUNC = l4._parser_train_trans, STYPE = bytea);
CREATE AGGREGATE pg_temp.joined(state bytea) (
    SFUNC = l4._parser_train_combine, STYPE = bytea, FINALFUNC = l4._parser_train_final);
SELECT j.kind, (SELECT count(*) FROM l4.parser_templates(j.p)) AS templates, (SELECT sum(t.occurrences) FROM l4.parser_templates(j.p) AS t) AS lines,
    (SELECT count(*) FROM made AS m WHERE m.kind = j.kind AND l4.parser_match(j.p, m.line) IS NULL) AS without,
    j.p::text::l4.parser::text = j.p::text AS round_trip
FROM (SELECT q.kind, pg_temp.joined(q.state) AS p FROM (SELECT m.kind, m.i % 3, pg_temp.part(m.line, '{"max_templates": 200}' ORDER BY m.i)::bytea AS state
    FROM made AS m GROUP BY 1, 2) AS q GROUP BY 1) AS j ORDER BY 1;
-- a line that comes again has the event that it had
SELECT count(*) AS other FROM (SELECT l4.parser_train(m.line ORDER BY r, m.i) AS twice, l4.parser_train(m.line ORDER BY m.i) FILTER (WHERE r = 1) AS once
    FROM made AS m CROSS JOIN generate_series(1, 2) AS r WHERE m.kind <> 'known words') AS p, made AS m
WHERE m.kind <> 'known words' AND l4.parser_match(p.twice, m.line) IS DISTINCT FROM l4.parser_match(p.once, m.line);

-- Reading logs: the same events for batches and workers of any number, and all that is kept is small.
SELECT l4.create_log_table('bounded.log');
INSERT INTO log (job_id, node, line_no, line)
SELECT 'good', 'n' || n, i, 'step ' || i || ' is done' FROM generate_series(1, 4) AS n, generate_series(1, 20) AS i;
INSERT INTO log (job_id, node, line_no, line)
SELECT 'noise', 'n' || i % 4, row_number() OVER (ORDER BY m.i, m.kind) + 20, m.line FROM made AS m WHERE m.kind <> 'same words';
INSERT INTO log (job_id, node, line_no, line)
SELECT 'noise', 'n' || n, i, 'step ' || i || ' is done' FROM generate_series(1, 4) AS n, generate_series(1, 15) AS i;
INSERT INTO log (job_id, node, line_no, line)
SELECT 'bad', 'n' || n, i, CASE WHEN n = 2 AND i = 9 THEN 'ERROR: the link of this ring is gone' ELSE 'step ' || i || ' is done' END
FROM generate_series(1, 4) AS n, generate_series(1, 20) AS i WHERE NOT (n = 2 AND i > 9);
CREATE TABLE answer (turn text, job_id text, node text, line_no bigint, event_id int, template text);
CREATE PROCEDURE read_all(turn text, lines int) LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM l4.job;
    DELETE FROM l4._model;
    DELETE FROM l4._event;
    DELETE FROM l4._event_slot;
    DELETE FROM l4._event_word;
    -- so few that the noise closes the parser
    INSERT INTO l4._model (parser) VALUES (l4._parser_new('{"max_templates": 2500}'));
    CALL l4.ingest('bounded.log', commit => false, batch_lines => lines);
    INSERT INTO answer
    SELECT turn, l.job_id, l.node, l.line_no, l.event_id, t.template FROM l4.event_line AS l JOIN l4.template AS t USING (event_id);
END
$$;
CALL read_all('one batch', 1000000);
CALL read_all('small batches', 500);
SET max_parallel_workers_per_gather = 0;
CALL read_all('no workers', 3000);
RESET max_parallel_workers_per_gather;
SELECT a.turn, count(*) AS lines, count(*) FILTER (WHERE a.template IS DISTINCT FROM o.template OR a.event_id <> o.event_id) AS other
FROM answer AS a LEFT JOIN answer AS o ON o.turn = 'one batch' AND (o.job_id, o.node, o.line_no) = (a.job_id, a.node, a.line_no)
GROUP BY a.turn ORDER BY a.turn;
SELECT count(*) BETWEEN 1 AND 134 AS some_coarse FROM l4._event WHERE is_coarse;
SELECT state, coarse_records > 500 AS coarse_records FROM l4.ingest_progress WHERE logs = 'bounded.log';
SELECT (SELECT count(*) FROM l4._event_word AS w JOIN l4._event AS e USING (event_id) WHERE e.is_coarse) AS words,
    (SELECT count(*) FROM l4._event_slot AS s JOIN l4._event AS e USING (event_id) WHERE e.is_coarse) AS slots;
-- a line of the job is parsed to the event that it was read as
SELECT count(*) AS other FROM (SELECT l.* FROM log AS l WHERE l.job_id = 'noise' ORDER BY md5(l.line) LIMIT 200) AS l
JOIN answer AS a ON a.turn = 'one batch' AND (a.job_id, a.node, a.line_no) = (l.job_id, l.node, l.line_no)
WHERE (l4.parse(l.line)).event_id IS DISTINCT FROM a.event_id;
UPDATE l4.job SET settings = 'bounded', status = CASE job_id WHEN 'good' THEN 'succeeded' ELSE 'failed' END;
SELECT (d).coverage -> 'limits' ->> -1 ~ '^\d+ records are like no other' AS said FROM l4.diagnose('noise') AS d;
SELECT count(*) FROM l4.diagnose('bad');

-- What only a forgotten job had is freed, ids stay, and new words are learnt again.
CREATE TABLE kept AS SELECT a.job_id, a.node, a.line_no, a.event_id, a.template FROM answer AS a WHERE a.turn = 'one batch' AND a.job_id <> 'noise';
SELECT count(*) > 250 AS many, max(event_id) > 250 AS high FROM l4._event;
SELECT l4.forget_templates() AS nothing_yet;
-- with an old snapshot it would free what others began to use
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT l4.forget_templates();
ROLLBACK;
SELECT l4.forget_job('noise');
SELECT l4.forget_templates() > 250 AS freed;
SELECT count(*) < 20 AS few, (SELECT length(l4.parser_send(parser)) < 5000 FROM l4._model) AS small FROM l4._event;
SELECT count(*) AS other FROM (SELECT l.job_id, l.node, l.line_no, l.event_id, t.template FROM l4.event_line AS l JOIN l4.template AS t USING (event_id)) AS l
FULL JOIN kept AS k USING (job_id, node, line_no) WHERE (l.event_id, l.template) IS DISTINCT FROM (k.event_id, k.template);
SELECT count(*) AS other FROM log AS l JOIN kept AS k USING (job_id, node, line_no) WHERE (l4.parse(l.line)).event_id IS DISTINCT FROM k.event_id;
SELECT count(*) AS suspects_without_template FROM l4.suspect_event AS s LEFT JOIN l4._event AS e USING (event_id) WHERE e.event_id IS NULL;
SELECT l4.forget_templates() AS again;
INSERT INTO log (job_id, node, line_no, line) VALUES ('next', 'n1', 1, 'entirely unseen words here now');
CALL l4.ingest('bounded.log', job_id => 'next');
SELECT t.template, t.event_id > (SELECT max(a.event_id) FROM answer AS a) AS new_id, t.occurrences
FROM l4.template AS t WHERE t.template ~ 'unseen';
-- the limit may be set; what is refused
SELECT l4.forget_templates(max_templates => 1000) AS none;
SELECT l4._parser_options(parser) FROM l4._model;
\set VERBOSITY terse
SELECT l4.forget_templates(max_templates => 0);
\set VERBOSITY default
SELECT l4._parser_keep((SELECT parser FROM l4._model), ARRAY[0]);
SELECT l4._parser_keep(l4._parser_new('{"algorithm": "drain"}'), ARRAY[1]);
SELECT l4._parser_new('{"max_templates": 0}');
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id IN ('good', 'bad', 'next');
SELECT l4.forget_templates() > 0 AS all_freed;
SELECT count(*) FROM l4._event;

-- One job prints noise without end, of new words and of old ones. What another job says for the first time is learnt
-- word by word, and so are the noisy job's own errors, in batches of any size.
DELETE FROM l4._model;
SELECT l4.create_log_table('bounded.flood');
INSERT INTO flood (job_id, node, line_no, line)
SELECT 'a-noise', 'n' || n, i, CASE WHEN n = 1 AND i = 1500 THEN 'ERROR: gasket crumbled beside sprocket vestibule'
    WHEN i % 3 > 0 THEN (SELECT string_agg(word(i * 4 + n, k), ' ') FROM generate_series(1, 8) AS k)
    ELSE (SELECT string_agg(word((i * k * 7919 + n + k) % 197, 0), ' ') FROM generate_series(1, 8) AS k) END
FROM generate_series(0, 3) AS n, generate_series(1, 1600) AS i;
INSERT INTO flood (job_id, node, line_no, line)
SELECT job, 'n' || n, i, CASE WHEN job = 'c-bad' AND n = 2 AND i = 9 THEN 'tantalum wafer shattered amid quorum ballot'
    WHEN job = 'c-bad' AND n = 2 AND i = 10 THEN 'ERROR: marmalade overflowed under trellis pulley'
    ELSE 'step ' || i || ' is done' END
FROM unnest(ARRAY['b-good', 'c-bad']) AS job, generate_series(1, 4) AS n, generate_series(1, 20) AS i
WHERE NOT (job = 'c-bad' AND n = 2 AND i > 10);
CREATE TABLE flooded (turn text, job_id text, node text, line_no bigint, event_id int, template text);
CREATE PROCEDURE flood_all(turn text, lines int) LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM l4.job;
    DELETE FROM l4._model;
    DELETE FROM l4._event;
    DELETE FROM l4._event_slot;
    DELETE FROM l4._event_word;
    -- so few that the noise closes its budget
    INSERT INTO l4._model (parser) VALUES (l4._parser_new('{"max_templates": 80}'));
    CALL l4.ingest('bounded.flood', commit => false, batch_lines => lines);
    INSERT INTO flooded
    SELECT turn, l.job_id, l.node, l.line_no, l.event_id, t.template FROM l4.event_line AS l JOIN l4.template AS t USING (event_id);
END
$$;
CALL flood_all('small batches', 700);
CALL flood_all('one batch', 1000000);
SELECT count(*) AS lines, count(*) FILTER (WHERE a.template IS DISTINCT FROM o.template OR a.event_id <> o.event_id) AS other
FROM flooded AS a LEFT JOIN flooded AS o ON o.turn = 'one batch' AND (o.job_id, o.node, o.line_no) = (a.job_id, a.node, a.line_no);
SELECT count(*) > 20 AS many, count(*) < 100 AS bounded FROM l4._event WHERE NOT is_coarse AND merged_into IS NULL;
SELECT job_id, line_no, template FROM flooded WHERE turn = 'one batch' AND template ~ '(gasket|wafer|marmalade)' ORDER BY job_id;
UPDATE l4.job SET settings = 'flood', status = CASE job_id WHEN 'b-good' THEN 'succeeded' ELSE 'failed' END;
SELECT count(*) FROM l4.diagnose('c-bad');
SELECT s.event_id = f.event_id AS suspected FROM l4.suspect_event AS s JOIN flooded AS f USING (job_id, event_id)
WHERE f.turn = 'one batch' AND f.template ~ 'marmalade';
SELECT b.job_id, b.of_errors, b.vocabulary > 0 AS closed FROM l4._job_budget AS b ORDER BY 1, 2;
-- A parser that fills up: the first jobs fill it, which leaves each later one its 64 templates of errors and 64 of others,
-- until these are four times what it may have.
DELETE FROM l4.job;
DELETE FROM l4._event;
DELETE FROM l4._model;
INSERT INTO l4._model (parser) VALUES (l4._parser_new('{"max_templates": 200}'));
SELECT l4.create_log_table('bounded.filling');
INSERT INTO filling (job_id, node, line_no, line)
SELECT 'fill-' || j, 'n', i, CASE WHEN i % 2 = 0 THEN 'ERROR: ' ELSE '' END
    || (SELECT string_agg(word((hashint8extended(j * 1000 + i, n) & 127)::int, 0), ' ') FROM generate_series(1, 9) AS n)
FROM generate_series(11, 20) AS j, generate_series(1, 220) AS i;
CALL l4.ingest('filling', batch_lines => 90);
SELECT b.job_id, max(b.templates) FILTER (WHERE b.of_errors) AS of_errors, max(b.templates) FILTER (WHERE NOT b.of_errors) AS others
FROM l4._job_budget AS b GROUP BY 1 ORDER BY 1;
SELECT count(*) FILTER (WHERE NOT is_coarse) AS templates FROM l4._event WHERE merged_into IS NULL;
SELECT count(*) = 2200 AS all_lines FROM l4.event_line;
SELECT count(l4.forget_job(job_id)) FROM l4.job;
SELECT count(*) AS budgets FROM l4._job_budget;
DELETE FROM l4._event;
DELETE FROM l4._model;
DROP SCHEMA bounded CASCADE;
