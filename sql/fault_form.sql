-- Faults told by their form: who reports a lost peer, and which node is silent.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA fault_form;
SET search_path = fault_form;
SET timezone = 'UTC';
CREATE TABLE lines (job_id text, node text, rank int, line_no bigint, ts timestamptz, line text);
-- Five nodes do a step every 5 s for a minute. Then they hang: every 100 s all say that they wait, after 900 s they give up.
-- ends: node2 writes nothing more; back: it writes again at last; all: nobody says that it waits; none: all do.
INSERT INTO lines
SELECT j, 'node' || n, n, i, timestamptz '2026-04-01 10:00+00' + i * interval '5 s' + n * interval '10 ms', format('iteration %s/ 20 | elapsed time per iteration (ms): 5000.0 | lm loss: 2.%s', i, i)
FROM unnest(ARRAY['ff-ok', 'ff-ends', 'ff-ends2', 'ff-back', 'ff-all', 'ff-none']) j, generate_series(0, 4) n, generate_series(1, 20) i
WHERE j = 'ff-ok' OR i <= 12;
INSERT INTO lines SELECT 'ff-ok', 'node' || n, n, 21, '2026-04-01 10:01:41+00', 'training finished' FROM generate_series(0, 4) n;
INSERT INTO lines
SELECT j, 'node' || n, n, 100 + i, timestamptz '2026-04-01 10:01+00' + i * interval '100 s' + n * interval '10 ms', format('all-reduce of iteration 13 still pending after %s s', i * 100)
FROM unnest(ARRAY['ff-ends', 'ff-ends2', 'ff-back', 'ff-none']) j, generate_series(0, 4) n, generate_series(1, 8) i
WHERE j = 'ff-none' OR n <> CASE j WHEN 'ff-ends2' THEN 4 ELSE 2 END;
INSERT INTO lines
SELECT j, 'node' || n, n, 200, timestamptz '2026-04-01 10:16+00' + n * interval '20 ms',
	format('RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 900000ms for %s operation to complete', CASE WHEN n < 2 THEN 'recv' ELSE 'send' END)
FROM unnest(ARRAY['ff-ends', 'ff-ends2', 'ff-back', 'ff-all', 'ff-none']) j, generate_series(0, 4) n WHERE n <> CASE j WHEN 'ff-ends2' THEN 4 WHEN 'ff-none' THEN -1 ELSE 2 END;
INSERT INTO lines SELECT j, 'node2', 2, 300, '2026-04-01 10:16:05+00', 'process was continued' FROM unnest(ARRAY['ff-back', 'ff-all']) j;
-- no line has a time
INSERT INTO lines SELECT 'ff-timeless', node, rank, line_no, NULL, line FROM lines WHERE job_id = 'ff-ends';
INSERT INTO l4.job (job_id, settings, status, expected_nodes, started_at)
SELECT DISTINCT job_id, 'ff', CASE job_id WHEN 'ff-ok' THEN 'succeeded' ELSE 'failed' END, 5, timestamptz '2026-04-01 10:00+00' FROM lines;
CALL l4.ingest('lines');
SELECT j, s.node, s.since, s.length, s.ended FROM unnest(ARRAY['ff-ok', 'ff-ends', 'ff-back', 'ff-all', 'ff-none', 'ff-timeless', 'ff-nobody']) j CROSS JOIN LATERAL l4._silences(j, '2 min') s;

-- the kinds
INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined)
SELECT 'ff_' || t.name, 'hardware', 'node', 'c', 'r', true FROM unnest(ARRAY['quiet', 'ends', 'nobody', 'long', 'same', 'two']) AS t(name);
INSERT INTO l4.fault_condition (fault_id, step, kind) SELECT f.fault_id, 1, 'effect' FROM l4.fault f WHERE f.name ~ '^ff_';
INSERT INTO l4.fault_condition (fault_id, step, kind, silence, min_nodes, max_nodes, same_node)
SELECT f.fault_id, 2, c.kind, c.silence, c.min_nodes, c.max_nodes, c.same_node
FROM (VALUES ('quiet', 'quiet', interval '5 min', 1, NULL::int, false), ('ends', 'ends', '5 min', 1, NULL, false), ('nobody', 'quiet', '5 min', 0, 0, false),
	('long', 'quiet', '1 h', 1, NULL, false), ('same', 'quiet', '5 min', 1, NULL, true), ('two', 'quiet', '5 min', 2, NULL, false))
	AS c(name, kind, silence, min_nodes, max_nodes, same_node)
JOIN l4.fault f ON f.name = 'ff_' || c.name;
SELECT j.job_id, m.fault_name, m.node, m.captures, left(m.line, 30) AS line
FROM l4.job j CROSS JOIN LATERAL l4.match_faults(j.job_id) m WHERE j.job_id LIKE 'ff-%' AND m.fault_name LIKE 'ff\_%' ORDER BY 1, 2;
DELETE FROM l4.fault WHERE name ~ '^ff_';

-- a hang is confirmed by its form where a suspect was silent; where nobody was, no line and no form says a cause
SELECT status, symptom FROM l4.diagnose('ff-ends');
SELECT status, symptom FROM l4.diagnose('ff-none');
SET client_min_messages = notice;
SELECT l4.confirm_fault('ff-ends', 'ff_node_stopped', 'a power supply', 'replace it') > 0 AS confirmed;
SELECT l4.confirm_fault('ff-none', 'ff_network', 'a switch', 'restart it');
SET client_min_messages = warning;
SELECT f.name, f.category, f.component, f.severity, f.priority, f.combined, c.step, c.kind, c.signature, c.silence, c.min_nodes, c.max_nodes
FROM l4.fault f JOIN l4.fault_condition c USING (fault_id) WHERE f.name ~ '^ff_' ORDER BY 1, 7;
SELECT j.job_id, m.fault_name, m.captures FROM l4.job j CROSS JOIN LATERAL l4.match_faults(j.job_id) m WHERE j.job_id LIKE 'ff-%' AND m.fault_name LIKE 'ff\_%' ORDER BY 1, 2;
-- the same before it is kept
SELECT t.job_id, t.captures, t.line LIKE '%Timed out waiting%' AS proof
FROM l4.test_fault(conditions => (l4.export_faults('{ff_node_stopped}') #> '{faults,0,conditions}')) AS t WHERE t.job_id LIKE 'ff-%' ORDER BY 1;
-- two of one form become one that matches what both matched
INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined) VALUES ('ff_other', 'hardware', 'node', 'c', 'r', true);
INSERT INTO l4.fault_condition (fault_id, step, kind, silence, max_nodes)
SELECT f.fault_id, c.* FROM l4.fault f, (VALUES (1, 'effect', NULL::interval, NULL::int), (2, 'quiet', '2 min', 1)) AS c WHERE f.name = 'ff_other';
SELECT l4.merge_faults(k.fault_id, g.fault_id) > 0 AS merged FROM l4.fault k, l4.fault g WHERE k.name = 'ff_node_stopped' AND g.name = 'ff_other';
-- another form does not
INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined) VALUES ('ff_other', 'hardware', 'node', 'c', 'r', true);
INSERT INTO l4.fault_condition (fault_id, step, kind) SELECT f.fault_id, 1, 'effect' FROM l4.fault f WHERE f.name = 'ff_other';
SELECT l4.merge_faults(k.fault_id, g.fault_id) FROM l4.fault k, l4.fault g WHERE k.name = 'ff_node_stopped' AND g.name = 'ff_other';
DELETE FROM l4.fault WHERE name = 'ff_other';
SELECT f.name, c.step, c.kind, c.max_nodes, c.silence FROM l4.fault f JOIN l4.fault_condition c USING (fault_id) WHERE f.name ~ '^ff_' ORDER BY 1, 2;
-- an event says what happened on the silent node: it is taken, not the form
INSERT INTO lines VALUES ('ff-ends2', 'node4', 4, 99, '2026-04-01 10:01:00.5+00', 'NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, GPU has fallen off the bus.');
CALL l4.ingest('lines');
SELECT status, symptom FROM l4.diagnose('ff-ends2');
SELECT l4.confirm_fault('ff-ends2', 'ff_gpu', 'a loose riser', 'reseat it') > 0 AS confirmed;
SELECT signature, combined, severity FROM l4.fault WHERE name = 'ff_gpu';
SELECT rank, fault_name FROM l4.match_faults('ff-ends2') WHERE rank < 4;
-- what is asked for is what is stored
SELECT l4.confirm_fault('ff-ends', 'ff_line', 'c', 'r', signature => 'still pending after 100 s') > 0 AS confirmed;
SELECT signature, templates, combined FROM l4.fault WHERE name = 'ff_line';
DELETE FROM l4.fault WHERE name ~ '^ff_';
-- a healthy job of this form: neither it nor a line of it is taken
UPDATE l4.job SET status = 'succeeded' WHERE job_id = 'ff-back';
SELECT l4.confirm_fault('ff-ends', 'ff_node_stopped', 'a power supply', 'replace it');
SELECT count(*) FROM l4.fault WHERE name ~ '^ff_';

SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'ff-%';
DROP SCHEMA fault_form CASCADE;
