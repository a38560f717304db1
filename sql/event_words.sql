-- Words that vary by statistics are values like any other: the same whatever the size of batches, the order of rows, the workers, and when the template grew.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA event_words;
SET search_path = event_words;
CREATE TABLE want (n int GENERATED ALWAYS AS IDENTITY, node text, source text, line_no bigint, ts timestamptz, line text);
-- words come one after the other, so the template grows while lines are read; the first lines are long stored by then
CREATE FUNCTION name(i int) RETURNS text LANGUAGE sql RETURN
    (ARRAY['alder', 'birch', 'cedar', 'elm', 'fir', 'hazel', 'juniper', 'larch', 'maple', 'oak', 'pine', 'rowan', 'spruce', 'willow', 'yew', 'aspen'])[1 + i % 16]
    || repeat('x', i / 16 % 4);
INSERT INTO want (node, source, line_no, ts, line)
SELECT 'n' || n, '', i, timestamptz '2026-01-01 00:00:00Z' + i / 4 * interval '1 s',
    CASE i % 4
        -- fifteen words, more of them the longer the log; a number, and two words that are alike
        WHEN 0 THEN format('scheduler moved the task to pool %s of kind %s after %s ms', event_words.name(i / 4 % least(15, 1 + i / 20)), (ARRAY['fast', 'slow'])[1 + i / 201], i % 30)
        -- at the end more than 32 different ones
        WHEN 1 THEN format('volume of owner %s was mounted on the host', event_words.name((i / 4 * 7 + n) % least(60, 2 + i / 6)))
        -- empty, a word, a number
        WHEN 2 THEN format('session closed for user=%s uid=%s', CASE i / 4 % 5 WHEN 0 THEN '' WHEN 1 THEN '77' ELSE event_words.name(i / 4 % 13) END, i % 3)
        ELSE format('"%s" joined the ring of %s members', event_words.name((i / 4 + n) % least(12, 1 + i / 90)), n) END
FROM generate_series(1, 3) n, generate_series(1, 400) i;
-- what is to come out, by the lines themselves: slot as the words count from the left
CREATE TABLE truth AS
SELECT node, CASE WHEN event = 'scheduler' THEN concat(event, ' ', substring(line FROM 'of kind (\S+)')) ELSE event END AS event, slot, value, count(*) AS occurrences, min(ts) AS first_ts
FROM want CROSS JOIN LATERAL (
    SELECT 'scheduler' AS event, m AS words FROM regexp_match(line, '^scheduler moved the task to pool (\S+) of kind \S+ after (\S+) ms') m WHERE m IS NOT NULL
    UNION ALL SELECT 'volume', m FROM regexp_match(line, '^volume of owner (\S+) was') m WHERE m IS NOT NULL
    UNION ALL SELECT 'session', m FROM regexp_match(line, '^session closed for user=(\S*) uid=(\S+)') m WHERE m IS NOT NULL
    UNION ALL SELECT 'ring', m FROM regexp_match(line, '^"(\S+)" joined the ring of (\S+) members') m WHERE m IS NOT NULL) e
CROSS JOIN LATERAL unnest(e.words) WITH ORDINALITY AS w(value, slot)
GROUP BY 1, 2, 3, 4;
CREATE TABLE logs (job_id text, node text, source text, line_no bigint, ts timestamptz, line text);
CREATE INDEX ON logs (job_id, node, source, line_no);
CREATE TABLE result (run text, event text, slot int, mask text, value text, occurrences bigint, nodes text[]);
CREATE TABLE first_value (run text, node text, event text, slot_values text[]);
CREATE TABLE counted (run text, node text, event text, slot int, value text, occurrences bigint, first_ts timestamptz);
CREATE TABLE events (run text, template text, event_ids int);
CREATE FUNCTION event_of(template text) RETURNS text LANGUAGE sql RETURN
    CASE WHEN template LIKE 'scheduler%' THEN concat('scheduler ', substring(template FROM 'of kind (\S+)')) WHEN template LIKE 'volume%' THEN 'volume' WHEN template LIKE 'session%' THEN 'session' WHEN template LIKE '%ring%' THEN 'ring' END;
-- a job read in parts: each part is a call of its own
CREATE PROCEDURE run(run text, backwards bool, batch_lines int, parts int[]) LANGUAGE plpgsql AS $$
DECLARE
    part int;
    before int := 0;
BEGIN
    DELETE FROM l4.job; DELETE FROM l4._event; DELETE FROM l4._event_slot; DELETE FROM l4._event_word; UPDATE l4._model SET parser = l4._parser_new();
    TRUNCATE event_words.logs;
    FOREACH part IN ARRAY parts LOOP
        INSERT INTO event_words.logs SELECT 'words', w.node, w.source, w.line_no, w.ts, w.line FROM event_words.want w
        WHERE w.line_no > before AND w.line_no <= part ORDER BY CASE WHEN backwards THEN -w.n ELSE w.n END;
        CALL l4.ingest('event_words.logs', commit => false, batch_lines => run.batch_lines);
        before := part;
    END LOOP;
    INSERT INTO event_words.result SELECT run.run, event_words.event_of(t.template), p.*
    FROM l4.template t CROSS JOIN LATERAL l4.event_parameters('words', t.event_id) p WHERE t.merged_into IS NULL;
    INSERT INTO event_words.first_value SELECT run.run, f.node, event_words.event_of(t.template), f.slot_values
    FROM l4._values('words', ARRAY(SELECT t.event_id FROM l4.template t)) f JOIN l4.template t USING (event_id);
    INSERT INTO event_words.counted SELECT run.run, v.node, event_words.event_of(t.template), dense_rank() OVER (PARTITION BY v.event_id ORDER BY v.slot), v.value, v.occurrences, v.first_ts
    FROM l4._slot_values('words', NULL) v JOIN l4.template t USING (event_id);
    INSERT INTO event_words.events SELECT run.run, t.template, count(*) FROM l4.template t WHERE t.merged_into IS NULL GROUP BY 1, 2;
END
$$;
SET max_parallel_workers_per_gather = 0;
CALL run('plain', false, 500000, '{400}');
SELECT template, event_ids FROM events WHERE run = 'plain' ORDER BY 1;
SELECT slot, mask, value, occurrences, nodes FROM result WHERE run = 'plain' AND (event IN ('scheduler slow', 'ring') AND mask <> 'duration' OR event = 'session') ORDER BY event, slot, value COLLATE "C";
-- of the owners 32 a node, not counted
SELECT event, slot, bool_and(occurrences IS NULL) AS not_counted, count(DISTINCT value) FROM result WHERE run = 'plain' AND event = 'volume' GROUP BY 1, 2;
SELECT node, event, slot_values FROM first_value WHERE run = 'plain' ORDER BY 2, 1;
-- as the lines say, with their first times
SELECT c.* FROM counted c LEFT JOIN truth t USING (node, event, slot, value) WHERE c.run = 'plain' AND (t.value IS NULL OR c.occurrences <> t.occurrences OR c.first_ts <> t.first_ts);
SELECT t.event, t.slot, count(*) AS missing, bool_and((SELECT count(*) FROM truth o WHERE (o.node, o.event, o.slot) = (t.node, t.event, t.slot)) > 32) AS more_than_32
FROM truth t LEFT JOIN counted c ON c.run = 'plain' AND (c.node, c.event, c.slot, c.value) = (t.node, t.event, t.slot, t.value) WHERE c.value IS NULL GROUP BY 1, 2 ORDER BY 1, 2;
-- other ways
CALL run('7 a batch', false, 7, '{400}');
CALL run('100 a batch', false, 100, '{400}');
CALL run('backwards', true, 500000, '{400}');
CALL run('in parts', false, 500000, '{9,30,77,400}');
SET max_parallel_workers_per_gather = 2;
CALL run('2 workers', false, 500000, '{400}');
CALL run('2 workers, 100 a batch, backwards', true, 100, '{200,400}');
SET max_parallel_workers_per_gather = 0;
CREATE VIEW outcome AS
SELECT run, event, (slot, mask, value, occurrences, nodes)::text AS row FROM result
UNION ALL SELECT run, event, (node, slot_values)::text FROM first_value
UNION ALL SELECT run, event, (node, slot, value, occurrences, first_ts)::text FROM counted
UNION ALL SELECT run, event_of(template), template FROM events;
SELECT run, count(DISTINCT event) AS events, count(*) AS rows FROM outcome GROUP BY 1 ORDER BY 1;
-- the first rows of each run that differ from the first run's
SELECT d.* FROM (SELECT DISTINCT run FROM outcome) AS r
CROSS JOIN LATERAL (
    SELECT r.run, x.what, x.event, x.row FROM (
        SELECT 'too much' AS what, m.* FROM (SELECT event, row FROM outcome AS o WHERE o.run = r.run EXCEPT ALL SELECT event, row FROM outcome WHERE run = 'plain') AS m
        UNION ALL
        SELECT 'missing', m.* FROM (SELECT event, row FROM outcome WHERE run = 'plain' EXCEPT ALL SELECT event, row FROM outcome AS o WHERE o.run = r.run) AS m) AS x
    ORDER BY x.event, x.row COLLATE "C" LIMIT 4) AS d
ORDER BY d.run, d.event, d.row COLLATE "C";
-- the toolkit says the same about a line
SELECT p.* FROM l4._model m, l4.parser_parameters(m.parser, 'scheduler moved the task to pool cedar of kind fast after 12 ms') p;
SELECT l4.forget_job('words');
-- a name with a hyphen whose numbers vary is one value, so that it tells which node is meant; what else has hyphens stays what it is
TRUNCATE logs;
INSERT INTO logs (job_id, node, source, line_no, line) SELECT 'names', n, '', i, l
FROM unnest(ARRAY['gpu-a-17', 'ip-10-0-3-8', 'dgx-h100-04.rack-2']) n, unnest(ARRAY[
    'lost contact with gpu-a-17, it was silent for 12.5 s', 'lost contact with gpu-a-18, it was silent for 3 s', 'connected to [ip-10-0-3-8]:29500 on [ip-10-0-3-9]:41214.',
    'dgx-h100-04.rack-2 has left the ring.', 'waited -3 to 2026-01-02 on eth-0', 'the lr-finder took lr-1.5 ms for pass 7-8-9, shard a-1/b-2']) WITH ORDINALITY l(l, i);
CALL l4.ingest('logs');
SELECT t.template, p.slot, p.mask, p.value FROM l4.template t CROSS JOIN LATERAL l4.event_parameters('names', t.event_id) p WHERE t.merged_into IS NULL ORDER BY t.template COLLATE "C", p.slot, p.value COLLATE "C";
SELECT DISTINCT kind, value, named_node FROM l4.mention WHERE job_id = 'names' AND kind = 'host' ORDER BY 2;
SELECT l4.forget_job('names');
-- the status of a call is none of a process
TRUNCATE logs;
INSERT INTO logs (job_id, node, source, line_no, line) SELECT 'status', 'n', '', i, format('call %s ends with rpc_status: %s, child with exit_status: %s', i, 13 + i, 20 + i) FROM generate_series(1, 2) i;
CALL l4.ingest('logs');
SELECT kind, value FROM l4.mention WHERE job_id = 'status' AND kind = 'exit' ORDER BY 2;
SELECT l4.forget_job('status');
-- of one rank or several
TRUNCATE logs;
INSERT INTO logs (job_id, node, source, line_no, line) SELECT 'ranks', 'n', '', i, format('no gradients from rank(s) [%s] for %s s, nor from rank(s) %s, %s', i, 10 + i, i + 3, i + 5) FROM generate_series(1, 2) i;
CALL l4.ingest('logs');
SELECT kind, value FROM l4.mention WHERE job_id = 'ranks' ORDER BY 1, 2;
SELECT l4.forget_job('ranks');
DROP SCHEMA event_words CASCADE;
