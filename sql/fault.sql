-- The fault library: what a row must be, which row counts, leads_to.
\set SHOW_CONTEXT never
-- A row with nothing wrong.
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy)
VALUES ('a', 'user', 'program', 'bucket (?<bucket>\d+) never arrived', 'cause', 'remedy')
RETURNING fault_id >= 1000000 AS id, severity, origin, priority, is_effect, leads_to;

-- checks
CREATE FUNCTION pg_temp.try_fault(change jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text; d text;
BEGIN
	INSERT INTO l4.fault (fault_id, name, category, component, signature, templates, root_cause, remedy, leads_to, severity, example, origin, priority, combined)
	SELECT f.fault_id, f.name, f.category, f.component, f.signature, f.templates, f.root_cause, f.remedy, f.leads_to, f.severity, f.example, f.origin, f.priority, f.combined
	FROM jsonb_populate_record(NULL::l4.fault, '{"fault_id": 1999999, "name": "t", "category": "user", "component": "program", "signature": "some text",
		"root_cause": "c", "remedy": "r", "leads_to": [], "severity": "error", "origin": "user", "priority": 50, "combined": false}' || change) f;
	DELETE FROM l4.fault WHERE fault_id = 1999999;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, d = COLUMN_NAME;
	RETURN SQLSTATE || ' ' || coalesce(nullif(c, ''), nullif(d, ''), SQLERRM);
END $$;
SELECT change, pg_temp.try_fault(change) FROM unnest(ARRAY[
	'{}', '{"name": ""}', '{"name": "two words"}', '{"name": "a"}', '{"category": "other"}', '{"component": "gpu"}', '{"severity": "bad"}',
	'{"origin": "somebody"}', '{"origin": "builtin"}', '{"fault_id": 12}', '{"priority": 101}', '{"priority": -1}',
	'{"signature": ""}', '{"signature": ".*"}', '{"signature": "\\w"}', '{"signature": "(?i)iteration|loss"}', '{"signature": "(a+)+$"}',
	'{"signature": null}', '{"signature": null, "combined": true}', '{"combined": true}', '{"signature": "*"}',
	'{"signature": null, "templates": ["worker <*> died"]}', '{"templates": []}', '{"templates": ["<*> <IP> <*>"]}', '{"templates": [null]}',
	'{"example": "some text here"}', '{"example": "other"}', '{"leads_to": ["t"]}', '{"leads_to": [null]}', '{"root_cause": null}', '{"remedy": null}'
]::jsonb[]) AS t(change);
SELECT pg_temp.try_fault(jsonb_build_object('signature', repeat('x', 1000000)));
-- what is wrong is said, not only which check it breaks
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('t', 'user', 'gpu', 'some text', 'c', 'r');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('t', 'user', 'program', '.*', 'c', 'r');
INSERT INTO l4.fault (name, category, component, templates, root_cause, remedy) VALUES ('t', 'user', 'program', '{"<*> <IP>"}', 'c', 'r');
INSERT INTO l4.fault (name, category, component, signature, example, root_cause, remedy) VALUES ('t', 'user', 'program', 'some text', 'other', 'c', 'r');
INSERT INTO l4.fault (name, category, component, root_cause, remedy) VALUES ('t', 'user', 'program', 'c', 'r');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('two words', 'user', 'program', 'some text', 'c', 'r');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, priority) VALUES ('t', 'user', 'program', 'some text', 'c', 'r', 101);
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to) VALUES ('t', 'user', 'program', 'some text', 'c', 'r', '{t}');
INSERT INTO l4.fault (fault_id, name, category, component, signature, root_cause, remedy) VALUES (17, 't', 'user', 'program', 'some text', 'c', 'r');

-- leads_to: a cycle of the user's rows is an error, an unknown name a warning
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to) VALUES ('b', 'user', 'program', 'text b', 'c', 'r', '{a}');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to) VALUES ('c', 'user', 'program', 'text c', 'c', 'r', '{b}');
UPDATE l4.fault SET leads_to = '{c}' WHERE name = 'a';
UPDATE l4.fault SET leads_to = '{nobody}' WHERE name = 'a';
SELECT name, problem FROM l4.fault_problem;
UPDATE l4.fault SET leads_to = '{}' WHERE name = 'a';

-- a cycle over a shipped row is a warning: an update of l4 could make one, too
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to)
VALUES ('sym_c10d_collective_timeout', 'user', 'program', 'my own timeout', 'c', 'r', '{host_oom_kill}');
SELECT name, problem FROM l4.fault_problem WHERE name LIKE 'sym_c10d_coll%';
-- and it hides the shipped one
SELECT origin, signature FROM l4.active_fault WHERE name = 'sym_c10d_collective_timeout';
DELETE FROM l4.fault WHERE fault_id >= 1000000 AND name LIKE 'sym%';

-- a long chain takes a time that grows with its length
SET statement_timeout = '20s';
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to)
SELECT 'chain' || i, 'user', 'program', ('link ' || i || ' of a chain')::l4.pcre, 'c', 'r', CASE WHEN i > 1 THEN ARRAY['chain' || i - 1] ELSE '{}' END FROM generate_series(1, 1500) AS i;
SELECT count(*) FROM l4.fault_problem WHERE name LIKE 'chain%';
UPDATE l4.fault SET leads_to = '{chain30}' WHERE name = 'chain1';
RESET statement_timeout;
DELETE FROM l4.fault WHERE name LIKE 'chain%';

-- which row counts: user, confirmed, imported, shipped; none when switched off
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, origin)
VALUES ('a', 'user', 'program', 'imported a', 'c', 'r', 'imported'), ('a', 'user', 'program', 'confirmed a', 'c', 'r', 'confirmed');
SELECT origin FROM l4.active_fault WHERE name = 'a';
SELECT name, problem FROM l4.fault_problem ORDER BY 1, 2;
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'a'), ('fault', 'host_oom_kill');
SELECT count(*) FROM l4.active_fault WHERE name IN ('a', 'host_oom_kill');
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'host_oom_kil');
SELECT name, problem FROM l4.fault_problem WHERE name = 'host_oom_kil';
DELETE FROM l4.disabled_rule WHERE kind = 'fault';

-- conditions
INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined) VALUES ('comb', 'user', 'program', 'c', 'r', true);
SELECT name, problem FROM l4.fault_problem WHERE name = 'comb';
CREATE FUNCTION pg_temp.try_condition(change jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text;
BEGIN
	INSERT INTO l4.fault_condition SELECT f.* FROM jsonb_populate_record(NULL::l4.fault_condition, jsonb_build_object('fault_id', (SELECT fault_id FROM l4.fault WHERE name = 'comb'),
		'step', 2, 'kind', 'event', 'signature', 'some text', 'min_occurrences', 1, 'min_nodes', 1, 'same_node', false) || change) f;
	DELETE FROM l4.fault_condition WHERE fault_id >= 1000000;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS c = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ' ' || coalesce(nullif(c, ''), SQLERRM);
END $$;
SELECT change, pg_temp.try_condition(change) FROM unnest(ARRAY[
	'{}', '{"step": 0}', '{"step": 17}', '{"kind": "maybe"}', '{"signature": null}', '{"template": "worker <*> died"}', '{"signature": null, "template": "worker <*> died"}',
	'{"signature": ".*"}', '{"signature": null, "template": "<*>"}', '{"min_occurrences": 0}', '{"min_nodes": 0}', '{"min_nodes": 3, "max_nodes": 2}',
	'{"within": "10 s"}', '{"within": "0 s"}', '{"kind": "absent", "within": "10 s"}', '{"step": 1, "within": "10 s"}', '{"step": 1, "same_node": true}', '{"step": 1, "kind": "absent"}',
	'{"kind": "silence"}', '{"kind": "silence", "silence": "60 s"}', '{"silence": "60 s"}', '{"kind": "silence", "silence": "-1 s"}', '{"fault_id": 5}',
	'{"kind": "effect"}', '{"kind": "effect", "signature": null}', '{"kind": "effect", "signature": null, "within": "10 s"}', '{"step": 1, "kind": "effect", "signature": null}',
	'{"kind": "quiet", "signature": null}', '{"kind": "quiet", "silence": "60 s"}', '{"kind": "quiet", "signature": null, "silence": "60 s"}', '{"kind": "ends", "signature": null, "silence": "60 s"}',
	'{"step": 1, "kind": "quiet", "signature": null, "silence": "60 s"}', '{"kind": "quiet", "signature": null, "silence": "60 s", "within": "10 s"}',
	'{"min_nodes": 0, "max_nodes": 0}', '{"step": 1, "min_nodes": 0, "max_nodes": 0}'
]::jsonb[]) AS t(change);
INSERT INTO l4.fault_condition (fault_id, step, signature) SELECT fault_id, 2, 'some text' FROM l4.fault WHERE name = 'comb';
INSERT INTO l4.fault_condition (fault_id, step, signature) SELECT fault_id, 1, 'some text' FROM l4.fault WHERE name = 'b';
SELECT name, problem FROM l4.fault_problem WHERE name IN ('comb', 'b') ORDER BY 1, 2;

-- shipped rows stay as they are, of whatever kind; one of the same name takes its place, and is all that a dump needs
UPDATE l4.fault SET remedy = 'ours' WHERE name = 'host_oom_kill';
DELETE FROM l4.fault WHERE name = 'host_oom_kill';
TRUNCATE l4.fault CASCADE;
UPDATE l4.fault SET fault_id = 999999, origin = 'builtin' WHERE name = 'b';
CREATE FUNCTION pg_temp.try_shipped(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN SQLERRM;
END $$;
SELECT pg_temp.try_shipped(format(s.statement, t.name)) FROM unnest(ARRAY['line_format', 'stage_rule', 'iteration_rule', 'mask_rule', 'marker_rule', 'fault_condition']) AS t(name),
	unnest(ARRAY['UPDATE l4.%I SET signature = signature', 'DELETE FROM l4.%I', 'TRUNCATE l4.%I']) AS s(statement) WHERE t.name <> 'mask_rule' OR s.statement ~ 'TRUNC';
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to, severity, example, priority)
SELECT name, category, component, signature, root_cause, 'ask the site''s team', leads_to, severity, example, priority FROM l4.fault WHERE name = 'host_oom_kill';
SELECT origin, remedy FROM l4.active_fault WHERE name = 'host_oom_kill';

-- templates as patterns
SELECT t, (l4._template_patterns(ARRAY[t]))[1] FROM unnest(ARRAY['worker <*> died (code <NUMBER>)', '<*><*>x', 'a+b [c]  d']) AS t;
SELECT l4.pcre_match('worker 7 died (code -9)', (l4._template_patterns(ARRAY['worker <*> died (code <NUMBER>)']))[1]) AS yes,
	l4.pcre_match('worker 7 died (code -9) again', (l4._template_patterns(ARRAY['worker <*> died (code <NUMBER>)']))[1]) AS no;
SELECT l4._propose_signature('worker <*> died (code <*>)', 'worker 7 died (code -9)'), l4._propose_signature('<*> failed:<*>', 'gpu 3 failed: no memory'),
	l4._propose_signature('<*> <*>', 'a b') IS NULL AS says_nothing;
DELETE FROM l4.fault WHERE fault_id >= 1000000;
