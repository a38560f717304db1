-- Masks of users in reading logs: before and behind the built-in ones, changed later, taken away.
SET client_min_messages = warning;
\set VERBOSITY terse
CREATE EXTENSION IF NOT EXISTS l4;
BEGIN;
DELETE FROM l4.job; DELETE FROM l4._event; DELETE FROM l4._event_slot; DELETE FROM l4._event_word; DELETE FROM l4._model;
SELECT l4.create_log_table('pg_temp.logs');
INSERT INTO l4.mask_rule (name, pattern, position) VALUES ('SHARD', '\bshard-[a-z]+\b', 'before'), ('COLOUR', '\b(?:red|green|blue)\b', 'after');
CREATE FUNCTION pg_temp.learn(job text, lines text[]) RETURNS TABLE (event_id int, occurrences bigint, template text) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO logs (job_id, node, line_no, line) SELECT job, 'n1', k, l FROM unnest(lines) WITH ORDINALITY AS u(l, k);
	CALL l4.ingest('pg_temp.logs', job, commit => false);
	RETURN QUERY SELECT c.event_id, c.occurrences, t.template FROM l4.event_count c JOIN l4.template t USING (event_id) WHERE c.job_id = job ORDER BY 1;
END $$;
SELECT * FROM pg_temp.learn('mask-1', ARRAY['load shard-abc took 12 ms', 'load shard-xyz took 13 ms', 'paint it red now', 'paint it blue now', 'paint it black now', 'unit tango ready', 'unit foxtrot ready']);
SELECT p.slot, p.mask, p.value FROM l4.template t, l4.event_parameters('mask-1', t.event_id) p WHERE t.template ~ 'SHARD|COLOUR' ORDER BY t.event_id, 1, 3;
-- one more mask before the others: the marks of those keep their names; what the new one masks is a new event
INSERT INTO l4.mask_rule (name, pattern) VALUES ('UNIT', '\b(?:tango|foxtrot)\b');
SELECT * FROM pg_temp.learn('mask-2', ARRAY['load shard-abc took 12 ms', 'paint it green now', 'unit tango ready', 'unit foxtrot ready']);
-- one is taken away: its events stay and keep their texts, its words are words again
DELETE FROM l4.mask_rule WHERE name = 'SHARD';
SELECT * FROM pg_temp.learn('mask-3', ARRAY['load shard-abc took 12 ms', 'paint it green now', 'unit tango ready']);
SELECT event_id, template FROM l4.template WHERE template ~ '<[A-Z]+>' ORDER BY 1;
-- switched off and on again
INSERT INTO l4.disabled_rule (kind, name) VALUES ('mask_rule', 'UNIT');
SELECT * FROM pg_temp.learn('mask-4', ARRAY['unit tango ready']);
DELETE FROM l4.disabled_rule;
INSERT INTO l4.mask_rule (name, pattern) VALUES ('SHARD', '\bshard-[a-z]+\b');
SELECT * FROM pg_temp.learn('mask-5', ARRAY['load shard-new took 12 ms', 'unit foxtrot ready']);
ROLLBACK;
-- what is no mask
INSERT INTO l4.mask_rule (name, pattern) VALUES ('BAD', '(');
SELECT l4._parser_masked(l4._parser_new('{"algorithm": "drain"}'), '{"masks": []}');
