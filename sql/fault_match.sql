-- Matching, combinations, confirming and sharing faults, on jobs that went through ingest.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA fault_match;
SET search_path = fault_match;
SET timezone = 'UTC';
CREATE TABLE lines (job_id text, node text, rank int, line_no bigint, ts timestamptz, line text);

-- A healthy job, and one that fails: a GPU of node1 has Xid 63 thrice and then 79, its process dies, its peers time out.
-- node0 beats every 5 s to the end, node1 until 10:00:20.
INSERT INTO lines
SELECT j, 'node' || n, n, 1000 + i, timestamptz '2026-03-02 10:00+00' + i * interval '5 s', format('[rank%s]: step %s of 12 done, heartbeat sent to node0', n, i)
FROM unnest(ARRAY['fm-ok', 'fm-bad']) j, generate_series(0, 2) n, generate_series(0, 12) i
WHERE j = 'fm-ok' OR n <> 1 OR i <= 4;
INSERT INTO lines VALUES
('fm-bad', 'node1', 1, 1005, '2026-03-02 10:00:05.1+00', 'NVRM: Xid (PCI:0000:3b:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.'),
('fm-bad', 'node1', 1, 1006, '2026-03-02 10:00:06+00', 'NVRM: Xid (PCI:0000:3c:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.'),
('fm-bad', 'node1', 1, 1007, '2026-03-02 10:00:20.5+00', 'custom widget 7 of node1 broke at slot 3'),
('fm-bad', 'node1', 1, 1008, '2026-03-02 10:00:21+00', 'Traceback (most recent call last):'),
('fm-bad', 'node1', 1, 1009, '2026-03-02 10:00:21+00', '  File "/opt/train.py", line 12, in <module>'),
('fm-bad', 'node1', 1, 1010, '2026-03-02 10:00:21+00', '    main()'),
('fm-bad', 'node1', 1, 1011, '2026-03-02 10:00:21+00', 'RuntimeError: CUDA error: unknown error'),
('fm-bad', 'node0', 0, 2000, '2026-03-02 10:01:01+00', '[rank0]:[E ProcessGroupNCCL.cpp:523] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1298, OpType=ALLREDUCE) ran for 1800410 milliseconds before timing out.'),
('fm-bad', 'node2', 2, 2000, '2026-03-02 10:01:01.2+00', '[rank2]:[E ProcessGroupNCCL.cpp:523] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1298, OpType=ALLREDUCE) ran for 1800411 milliseconds before timing out.'),
('fm-bad', 'node1', 1, 1012, '2026-03-02 10:00:21.5+00', 'worker process exits with status 1');
-- the kernel log of a node: one event, whose first value is harmless
INSERT INTO lines
SELECT 'fm-xid', 'node4', 4, i, timestamptz '2026-03-03 10:00+00' + i * interval '1 s', format('NVRM: Xid (PCI:0000:3b:00): %s, pid=1896, name=python3', CASE WHEN i = 9 THEN 79 ELSE 63 END)
FROM generate_series(1, 12) i;
-- one of four workers is killed: the exit status, a variable part, says on which node
INSERT INTO lines
SELECT 'fm-exit', 'node' || n, n, i, timestamptz '2026-03-04 10:00+00' + i * interval '1 s',
	CASE WHEN i < 3 THEN format('step %s done', i) WHEN n = 2 THEN 'ERROR: failed (exitcode: -9) local_rank: 0 (pid: 4712)'
		ELSE format('ERROR: failed (exitcode: 1) local_rank: 0 (pid: %s)', 4710 + n) END
FROM generate_series(0, 3) n, generate_series(1, 3) i;
INSERT INTO lines SELECT 'fm-exit-all', node, rank, line_no, ts, replace(line, '-9', '1') FROM lines WHERE job_id = 'fm-exit';
INSERT INTO lines SELECT 'fm-exit-two', node, rank, line_no, ts, CASE node WHEN 'node1' THEN replace(line, 'exitcode: 1', 'exitcode: -9') ELSE line END FROM lines WHERE job_id = 'fm-exit';
-- a worker that is told to end: before its peers time out it is the cause, after that somebody cleaned up
INSERT INTO lines
SELECT 'fm-term-' || j, 'node' || n, n, i, timestamptz '2026-03-06 10:00+00' + CASE WHEN n = 1 AND i = 2 AND j = 'after' THEN interval '50 s' ELSE i * interval '10 s' END,
	CASE WHEN i = 1 THEN 'step 1 done' WHEN n = 1 THEN 'Received 15 death signal, shutting down workers'
		ELSE 'RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 18000ms for recv operation to complete' END
FROM unnest(ARRAY['before', 'after']) AS j, generate_series(0, 3) n, generate_series(1, 3) i
WHERE i < 2 OR i = CASE n WHEN 1 THEN 2 ELSE 3 END;
-- a name that one node cannot resolve, and one that nobody can
INSERT INTO lines
SELECT 'fm-name-' || j, 'node' || n, n, i, timestamptz '2026-03-06 10:00+00' + i * interval '1 s',
	CASE WHEN i = 1 THEN 'Starting elastic agent' WHEN j = 'all' OR n = 1
		THEN '[c10d] The IPv6 network addresses of (node0, 29500) cannot be retrieved (gai error: -3 - Temporary failure in name resolution).' ELSE 'waiting for workers' END
FROM unnest(ARRAY['one', 'all']) AS j, generate_series(0, 3) n, generate_series(1, 2) i;
INSERT INTO l4.job (job_id, settings, status, started_at) SELECT 'fm-' || s, 'fm', 'failed', '2026-03-06 10:00+00' FROM unnest(ARRAY['term-before', 'term-after', 'name-one', 'name-all']) s;
INSERT INTO l4.job (job_id, settings, status, started_at) SELECT 'fm-exit' || s, 'fm', 'failed', '2026-03-04 10:00+00' FROM unnest(ARRAY['', '-all', '-two']) s;
INSERT INTO l4.job (job_id, settings, status, started_at) VALUES ('fm-ok', 'fm', 'succeeded', '2026-03-02 10:00+00'), ('fm-bad', 'fm', 'failed', '2026-03-02 10:00+00'),
	('fm-xid', 'fm', 'failed', '2026-03-03 10:00+00');
CALL l4.ingest('lines');

-- ingest has matched the first record of every event: shown at once, nothing of it in a healthy job
SELECT job_id, fault_name, severity, is_effect, node, line_no, occurrences FROM l4.fault_seen WHERE job_id LIKE 'fm-%' ORDER BY job_id, ts, fault_name;
-- what comes later is matched when it comes
INSERT INTO lines VALUES ('fm-late', 'node0', 0, 5, '2026-03-05 10:00:05+00', 'NVRM: Xid (PCI:0000:3b:00): 63, pid=1896, name=python3'),
	('fm-late', 'node0', 0, 6, '2026-03-05 10:00:06+00', 'nothing to see here');
CALL l4.ingest('lines');
SELECT fault_name, line_no, occurrences FROM l4.fault_seen WHERE job_id = 'fm-late' ORDER BY 1;
INSERT INTO lines VALUES ('fm-late', 'node0', 0, 7, '2026-03-05 10:00:07+00', 'OSError: [Errno 28] No space left on device');
CALL l4.ingest('lines');
SELECT fault_name, line_no, occurrences FROM l4.fault_seen WHERE job_id = 'fm-late' ORDER BY 1;
-- a pattern keeps the value by which the known fault is told, though the job knows no other, and the head of the line has such digits too
INSERT INTO lines VALUES ('fm-link', 'node1', 1, 1, '2026-03-07 10:00:01+00',
	'2026-03-07 10:00:01,101 [WARNING] [rank 1] monitor: eth0 link state changed: carrier 1 -> 0, carrier_down_count 3');
CALL l4.ingest('lines');
SELECT fault_name FROM l4.fault_seen WHERE job_id = 'fm-link';
SELECT l4.confirm_fault('fm-link', 'fm_link', 'c', 'r', events => ARRAY(SELECT event_id FROM l4._job_event WHERE job_id = 'fm-link')) >= 1000000 AS confirmed;
SELECT signature, category, component FROM l4.fault WHERE name = 'fm_link';
DELETE FROM l4.fault WHERE name = 'fm_link';
SELECT l4.forget_job('fm-link');
-- a new fault, by signature or by template, and one that is switched off: known from the next ingest or match on
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fm_signature', 'user', 'program', 'nothing (?:at all )?to see', 'c', 'r');
INSERT INTO l4.fault (name, category, component, templates, root_cause, remedy) VALUES ('fm_by_template', 'user', 'program', '{nothing to see <*>}', 'c', 'r');
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'storage_full');
SELECT l4._watch_faults('{fm-late}');
SELECT fault_name, line_no, line FROM l4.fault_seen WHERE job_id = 'fm-late' ORDER BY 1;
SELECT n, count(*) FROM l4._fault_hit WHERE fault_id >= 1000000 GROUP BY 1 ORDER BY 1;
DELETE FROM l4.fault WHERE name IN ('fm_signature', 'fm_by_template');
DELETE FROM l4.disabled_rule WHERE name = 'storage_full';
SELECT l4.forget_job('fm-late'), (SELECT count(*) FROM l4._fault_hit WHERE job_id = 'fm-late') AS hits_before;
SELECT count(*) AS hits_after FROM l4._fault_hit WHERE job_id = 'fm-late';

-- best first, one line each, effects last and with their cause; the specific Xid, not the one for any Xid
SELECT rank, fault_name, node, line_no, is_effect, caused_by, is_suspect, occurrences, captures ->> '0' AS match FROM l4.match_faults('fm-bad');
-- again: the same rows, not more
SELECT count(*) FROM l4.match_faults('fm-bad');
SELECT count(*) FROM l4.fault_match WHERE job_id = 'fm-bad';
-- a healthy job has none
SELECT count(*) FROM l4.match_faults('fm-ok');
-- another value of a variable part decides as well
SELECT rank, fault_name, node, line_no, line ~ '79,' AS has_its_value FROM l4.match_faults('fm-xid');
-- a combination too goes by the nodes that have the value: one of four, none, two
SELECT j, m.rank, m.fault_name, m.node, m.line_no, m.caused_by, m.captures -> '1' AS on_nodes
FROM unnest(ARRAY['fm-exit', 'fm-exit-all', 'fm-exit-two']) AS j CROSS JOIN LATERAL l4.match_faults(j) AS m ORDER BY j, m.rank;
-- an effect by nature is the cause only of what comes after it; one node without a name is not the same as none with it
SELECT j AS job_id, m.rank, m.fault_name, m.is_effect, m.caused_by
FROM unnest(ARRAY['fm-term-before', 'fm-term-after', 'fm-name-one', 'fm-name-all']) AS j CROSS JOIN LATERAL l4.match_faults(j) AS m ORDER BY j, m.rank;
-- what one node says while another goes on points to the node; alone in the job it does not
INSERT INTO lines SELECT 'fm-disk' || j, 'node' || n, n, i, timestamptz '2026-03-08 10:00+00' + i * interval '1 s',
	CASE WHEN n = 0 AND i = 4 THEN 'OSError: [Errno 28] No space left on device' ELSE format('2026-03-08 10:00:0%s INFO step %s loss 2.5', i, i) END
FROM unnest('{-one,-alone}'::text[]) j, generate_series(0, 1) n, generate_series(1, 4) i WHERE NOT (j = '-alone' AND n = 1) AND (n = 0 OR i < 4);
CALL l4.ingest('lines');
SELECT j AS job_id, m.rank, m.fault_name, m.is_effect, m.caused_by
FROM unnest(ARRAY['fm-disk-one', 'fm-disk-alone']) AS j CROSS JOIN LATERAL l4.match_faults(j) AS m ORDER BY j, m.rank;
SELECT l4.forget_job(j) FROM unnest('{fm-disk-one,fm-disk-alone}'::text[]) j;
-- what is switched off is not matched
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'nvidia_xid_79_fallen_off_bus');
SELECT fault_name FROM l4.match_faults('fm-xid');
DELETE FROM l4.disabled_rule WHERE kind = 'fault' AND name = 'nvidia_xid_79_fallen_off_bus';
SELECT l4.match_faults('fm-none');
SELECT count(*) FROM l4.match_faults(NULL);

-- a hostile signature is given up, and says so
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fm_hostile', 'user', 'program', 'widget (?:[\w ]+ ?)+(?<!3)$', 'c', 'r');
SET client_min_messages = notice;
SELECT count(*) FROM l4.match_faults('fm-bad');
SET client_min_messages = warning;
SELECT fault_name, node, line_no, line FROM l4.fault_given_up;
DELETE FROM l4.fault WHERE name = 'fm_hostile';

-- templates, also one that has become more general since
INSERT INTO l4.fault (name, category, component, templates, root_cause, remedy)
SELECT 'fm_template', 'user', 'program', ARRAY['custom <*> 7 of <*> broke at slot <NUMBER>'], 'c', 'r';
SELECT fault_name, node, line_no, line FROM l4.match_faults('fm-bad') WHERE fault_name LIKE 'fm%';
DELETE FROM l4.fault WHERE name = 'fm_template';

-- yours first where it speaks of what a shipped row says, more severe or of the node alone; not where you call it a warning, or general
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, severity, priority)
VALUES ('fm_own', 'user', 'program', 'failed \(exitcode: -9\)', 'c', 'r', 'error', 50), ('fm_own_specific', 'user', 'program', 'failed \(exitcode: -9\).*pid', 'c', 'r', 'error', 55),
	('fm_own_warning', 'user', 'program', 'exitcode: -9\) local', 'c', 'r', 'warning', 50), ('fm_own_general', 'user', 'program', 'failed \(exitcode: ', 'c', 'r', 'error', 40),
	('fm_own_elsewhere', 'user', 'program', 'step \d done', 'c', 'r', 'error', 50);
SELECT rank, fault_name, node FROM l4.match_faults('fm-exit');
DELETE FROM l4.fault WHERE name = 'fm_own_specific';
SELECT rank, fault_name, node FROM l4.match_faults('fm-exit') WHERE fault_name ~ 'fm_own|one_node';
SELECT fault_name FROM l4.fault_seen WHERE job_id = 'fm-exit' AND fault_name ~ 'fm_own' ORDER BY 1;
DELETE FROM l4.fault WHERE name LIKE 'fm\_own%';

-- combinations, tried without being stored too
CREATE FUNCTION pg_temp.combined(VARIADIC conditions jsonb[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE id int; answer text; tried text := (
	SELECT string_agg(format('%s line %s %s', t.node, t.line_no, t.captures), '; ')
	FROM l4.test_fault(job_ids => '{fm-bad}', conditions => (SELECT jsonb_agg(u.value || jsonb_build_object('step', n)) FROM unnest(conditions) WITH ORDINALITY AS u(value, n))) t);
BEGIN
	INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined) VALUES ('fm_combined', 'user', 'program', 'c', 'r', true) RETURNING fault_id INTO id;
	INSERT INTO l4.fault_condition SELECT c.* FROM unnest(conditions) WITH ORDINALITY AS u(value, n) CROSS JOIN LATERAL jsonb_populate_record(NULL::l4.fault_condition,
		jsonb_build_object('fault_id', id, 'step', n, 'kind', 'event', 'min_occurrences', 1, 'min_nodes', 1, 'same_node', false) || value) AS c;
	SELECT string_agg(format('%s line %s %s', m.node, m.line_no, m.captures), '; ') INTO answer FROM l4.match_faults('fm-bad') m WHERE m.fault_id = id;
	DELETE FROM l4.fault WHERE fault_id = id;
	RETURN CASE WHEN tried IS DISTINCT FROM answer THEN format('tried: %s, ', tried) ELSE '' END || coalesce(answer, 'no match');
END $$;
-- all of a set, on one node or on many
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "collective operation timeout"}') AS both;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "collective operation timeout", "same_node": true}') AS not_on_one_node;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "CUDA error", "same_node": true}') AS on_one_node;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "nothing like it"}') AS one_is_missing;
SELECT pg_temp.combined('{"signature": "collective operation timeout", "min_nodes": 2}') AS on_two;
SELECT pg_temp.combined('{"signature": "collective operation timeout", "min_nodes": 3}') AS not_on_three;
SELECT pg_temp.combined('{"signature": "collective operation timeout", "max_nodes": 1}') AS more_than_one;
SELECT pg_temp.combined('{"signature": "heartbeat sent", "min_occurrences": 13}') AS thirteen_times;
SELECT pg_temp.combined('{"signature": "heartbeat sent", "min_occurrences": 14}') AS not_fourteen_times;
-- order within a time
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "CUDA error", "within": "1 s"}') AS within_a_second;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "CUDA error", "within": "100 ms"}') AS too_late;
SELECT pg_temp.combined('{"signature": "CUDA error"}', '{"signature": "custom widget", "within": "1 h"}') AS wrong_order;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "CUDA error", "within": "1 s"}', '{"signature": "collective operation timeout", "within": "1 min"}') AS chain;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "CUDA error", "within": "1 s"}', '{"signature": "collective operation timeout", "within": "30 s"}') AS chain_too_late;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"signature": "collective operation timeout", "within": "1 min", "same_node": true}') AS other_node;
-- absence and silence
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"kind": "absent", "signature": "nothing like it"}') AS absent;
SELECT pg_temp.combined('{"signature": "custom widget"}', '{"kind": "absent", "signature": "collective operation timeout"}') AS not_absent;
SELECT pg_temp.combined('{"signature": "heartbeat sent"}', '{"kind": "absent", "signature": "collective operation timeout", "same_node": true}') AS absent_there;
SELECT pg_temp.combined('{"kind": "silence", "signature": "heartbeat sent", "silence": "30 s"}') AS silence;
SELECT pg_temp.combined('{"kind": "silence", "signature": "heartbeat sent", "silence": "2 min"}') AS not_so_long;
SELECT pg_temp.combined('{"kind": "silence", "signature": "heartbeat sent", "silence": "30 s", "max_nodes": 1}', '{"kind": "absent", "signature": "received SIGTERM", "same_node": true}') AS silence_of_one;

-- test, confirm
SELECT job_id, status, node, line_no, line, occurrences, captures, gave_up FROM l4.test_fault('widget (?<widget>\d+)');
SELECT count(*) AS jobs, min(occurrences) FROM l4.test_fault('heartbeat sent');
SELECT job_id FROM l4.test_fault(templates => ARRAY['custom widget <*> of <*> broke at slot <*>']);
SELECT count(*) FROM l4.test_fault();
-- conditions, in the form of a fault file: a value that decides, as match_faults() sees it
SELECT job_id, status, node, line_no, line, occurrences, captures, gave_up FROM l4.test_fault(conditions => '[{"step": 1, "signature": "exitcode: -9", "max_nodes": 1}]');
SELECT DISTINCT job_id FROM l4.test_fault('widget \d', conditions => '[{"step": 1, "signature": "exitcode: -9"}]') ORDER BY 1;
SELECT * FROM l4.test_fault(conditions => '{}');
SELECT * FROM l4.test_fault(conditions => '[{"step": 2, "signature": "abcd"}]');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "signature": "abcd"}, {"step": 1, "signature": "efgh"}]');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "signature": "abcd", "colour": "red"}]');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "signature": "a("}]');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "signature": "abcd", "template": "abcd"}]');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "kind": "effect"}, {"step": 2, "kind": "quiet"}]');
-- what a proposed pattern leaves open: names of nodes, lists of any length
SELECT l4._general_template('fm-bad', 'Ranks <*>, <NUMBER>, <*> of node1 failed') AS template, l4._general_template('fm-bad', 'peer node<NUMBER> of subnode<*> is lost') AS of_numbers;
SELECT l4._propose_signature('Ranks <LIST> of <*> failed', 'Ranks 4, 5, 17 of node1 failed') AS signature;
INSERT INTO lines
SELECT 'fm-kill', 'node' || n, n, 1, timestamptz '2026-03-06 10:00+00' + CASE n WHEN 2 THEN 0 ELSE 1 END * interval '1 s',
	format('ERROR: failed (exitcode: %s) local_rank: 0 (pid: %s)', CASE n WHEN 2 THEN -9 ELSE 1 END, 4710 + n)
FROM generate_series(0, 3) n;
INSERT INTO lines
SELECT 'fm-task', 'node' || n, n, 1, timestamptz '2026-03-06 10:00+00' + n * interval '1 s',
	format('srun: error: node%s: task %s: %s', n, n, CASE n WHEN 2 THEN 'Killed' ELSE 'Exited with exit code 1' END)
FROM generate_series(0, 3) n;
CALL l4.ingest('lines');
-- a launcher's report of how a process ended is not learnt
INSERT INTO l4.suspect_event SELECT 'fm-kill', 1, event_id, 1, '{new}', 4, 4, first_ts, first_node, first_line_no, example FROM l4._job_event WHERE job_id = 'fm-kill';
SELECT l4.confirm_fault('fm-kill', 'fm_killed', 'c', 'r');
-- a known combination of whose event only the value says something: its conditions, which other words show as well
SELECT count(*) FROM l4.match_faults('fm-exit');
INSERT INTO l4.suspect_event SELECT 'fm-exit', 1, event_id, 1, '{new}', 4, 4, first_ts, first_node, first_line_no, example FROM l4._job_event WHERE job_id = 'fm-exit' AND example ~ 'exitcode';
SET client_min_messages = notice;
SELECT l4.confirm_fault('fm-exit', 'fm_killed', 'c', 'r') >= 1000000 AS confirmed;
SET client_min_messages = warning;
SELECT f.category, f.component, f.severity, f.signature IS NULL AS no_signature, jsonb_agg(to_jsonb(c) - '{fault_id,step}'::text[] ORDER BY step)
	= (SELECT jsonb_agg(to_jsonb(c) - '{fault_id,step}'::text[] ORDER BY step) FROM l4.fault_condition c JOIN l4.fault f USING (fault_id) WHERE f.name = 'one_node_process_killed') AS same
FROM l4.fault f JOIN l4.fault_condition c USING (fault_id) WHERE f.name = 'fm_killed' GROUP BY 1, 2, 3, 4;
SELECT j.job_id, m.rank FROM l4.job j CROSS JOIN LATERAL l4.match_faults(j.job_id) m WHERE j.job_id IN ('fm-exit', 'fm-exit-all', 'fm-exit-two', 'fm-kill', 'fm-task') AND m.fault_name = 'fm_killed' ORDER BY 1;
DELETE FROM l4.fault WHERE name = 'fm_killed';
SELECT l4.forget_job('fm-kill'), l4.forget_job('fm-task');
SELECT l4.confirm_fault('fm-none', 'x', 'c', 'r');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', events => '{-5}');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', events => '{}');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', events => '{NULL}');
SELECT l4.confirm_fault('fm-bad', NULL, 'c', 'r', signature => 'custom widget');
SELECT l4.confirm_fault('fm-bad', 'x', ' ', 'r', signature => 'custom widget');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', signature => 'nothing like it');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', signature => 'heartbeat sent');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', signature => 'custom widget', leads_to => '{nobody}');
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', signature => 'custom widget', leads_to => '{x}');
\set VERBOSITY terse
SELECT l4.confirm_fault('fm-bad', 'x', 'c', 'r', signature => 'custom widget', category => 'other');
\set VERBOSITY default
SELECT event_id AS widget FROM l4.template WHERE example ~ '^custom widget' \gset
INSERT INTO l4.diagnosis (job_id, status, symptom, summary, baseline, coverage, parameters) VALUES ('fm-bad', 'OK', 'crash', 's', '{fm-ok}', '{}', '{}');
-- the best suspect is what a healthy job has too: the next one is taken
INSERT INTO l4.suspect_event SELECT 'fm-bad', 2, event_id, 1, '{more}', 3, 39, first_ts, 'node1', 1001, example FROM l4._job_event WHERE job_id = 'fm-bad' AND example ~ 'heartbeat sent';
UPDATE l4.suspect_event SET rank = 0 WHERE job_id = 'fm-bad' AND rank = 2;
INSERT INTO l4.suspect_event VALUES ('fm-bad', 1, :widget, 1, '{new}', 1, 1, '2026-03-02 10:00:20.5+00', 'node1', 1007, 'custom widget 7 of node1 broke at slot 3');
INSERT INTO l4.suspect_node VALUES ('fm-bad', 1, 'node1', 1, true, NULL, '{}', '{}', '{}');
-- with a diagnosis, what it claims comes first
SELECT l4.confirm_fault('fm-bad', 'fm_widget', 'widgets break', 'new widgets', leads_to => '{sym_c10d_collective_timeout}') >= 1000000 AS confirmed;
SELECT name, category, component, signature, templates, example, origin, source_job, confirmed_by = session_user AS by, confirmed_at IS NOT NULL AS at FROM l4.fault WHERE origin = 'confirmed';
SELECT rank, fault_name, is_suspect, is_effect, caused_by FROM l4.match_faults('fm-bad');
SELECT l4.confirm_fault('fm-bad', 'fm_widget', 'c', 'r', signature => 'custom widget \d');
SET client_min_messages = notice;
SELECT l4.confirm_fault('fm-bad', 'fm_widget2', 'c', 'r') = (SELECT fault_id FROM l4.fault WHERE name = 'fm_widget') AS same;
-- a name that is switched off, hidden, or shipped
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'fm_off');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fm_hidden', 'user', 'program', 'hidden text', 'c', 'r');
SELECT l4.confirm_fault('fm-bad', t.name, 'c', 'r', signature => ('custom widget 7 of node1 broke|' || t.name)::l4.pcre) > 0 AS confirmed FROM unnest(ARRAY['fm_off', 'fm_hidden', 'host_oom_kill']) AS t(name);
DELETE FROM l4.fault WHERE name IN ('fm_off', 'fm_hidden', 'host_oom_kill') AND fault_id >= 1000000;
DELETE FROM l4.disabled_rule WHERE kind = 'fault' AND name = 'fm_off';
-- a pattern of what other faults lead to: a warning, after the cause, before the shipped effect
INSERT INTO l4.suspect_event SELECT 'fm-bad', 3, event_id, 1, '{new}', 2, 2, first_ts, first_node, first_line_no, example FROM l4._job_event WHERE job_id = 'fm-bad' AND example ~ 'Watchdog';
SELECT l4.confirm_fault('fm-bad', 'fm_hang', 'c', 'r', events => ARRAY(SELECT event_id FROM l4.suspect_event WHERE job_id = 'fm-bad' AND rank = 3)) >= 1000000 AS confirmed;
SET client_min_messages = warning;
SELECT fault_name, f.severity, m.is_effect FROM l4.match_faults('fm-bad') m JOIN l4.fault f USING (fault_id) WHERE m.is_suspect ORDER BY rank;
DELETE FROM l4.fault WHERE name = 'fm_hang';
-- an event without a word
CREATE TABLE numbers (job_id text, node text, line_no bigint, line text, PRIMARY KEY (job_id, node, line_no));
INSERT INTO numbers VALUES ('fm-numbers', 'node1', 1, '1 2');
CALL l4.ingest('numbers');
DO $$
BEGIN
    PERFORM l4.confirm_fault('fm-numbers', 'x', 'c', 'r', events => ARRAY(SELECT event_id FROM l4._job_event WHERE job_id = 'fm-numbers'));
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, '[0-9]+', 'N');
END
$$;
SELECT l4.forget_job('fm-numbers');

-- merge
INSERT INTO l4.fault (name, category, component, signature, templates, root_cause, remedy, leads_to)
VALUES ('fm_other', 'user', 'program', 'process exits with status', '{"some other template"}', 'c', 'r', '{fm_widget}');
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to) VALUES ('fm_third', 'user', 'program', 'third text', 'c', 'r', '{fm_other}');
SELECT l4.merge_faults((SELECT fault_id FROM l4.fault WHERE name = 'fm_widget'), (SELECT fault_id FROM l4.fault WHERE name = 'fm_other')) > 0 AS merged;
SELECT name, signature, templates, leads_to FROM l4.fault WHERE fault_id >= 1000000 ORDER BY name;
-- references and names of groups hold in both halves
INSERT INTO l4.fault (name, category, component, signature, example, root_cause, remedy)
VALUES ('fm_ref1', 'user', 'program', 'gpu (?<gpu>\d+) lost', 'gpu 7 lost', 'c', 'r'), ('fm_ref2', 'user', 'program', '(\w+) meets \1 on (?<node>\w+)', 'a meets a on n1', 'c', 'r');
SELECT l4.merge_faults(k.fault_id, g.fault_id) > 0 AS merged FROM l4.fault k, l4.fault g WHERE k.name = 'fm_ref1' AND g.name = 'fm_ref2';
SELECT signature, l4.pcre_captures('gpu 7 lost', signature) AS a, l4.pcre_captures('a meets a on n1', signature) AS b, l4.pcre_match('a meets b on n1', signature) AS no
FROM l4.fault WHERE name = 'fm_ref1';
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fm_verb', 'user', 'program', '(*CR)some text', 'c', 'r');
SELECT l4.merge_faults(k.fault_id, g.fault_id) FROM l4.fault k, l4.fault g WHERE k.name = 'fm_ref1' AND g.name = 'fm_verb';
UPDATE l4.fault SET signature = '(\w+) likes \1' WHERE name = 'fm_verb';
SELECT l4.merge_faults(k.fault_id, g.fault_id) FROM l4.fault k, l4.fault g WHERE k.name = 'fm_ref1' AND g.name = 'fm_verb';
UPDATE l4.fault SET signature = 'chip (?<gpu>\d+) gone' WHERE name = 'fm_verb';
SELECT l4.merge_faults(k.fault_id, g.fault_id) > 0 AS merged FROM l4.fault k, l4.fault g WHERE k.name = 'fm_ref1' AND g.name = 'fm_verb';
SELECT l4.pcre_captures('gpu 7 lost', signature) AS a, l4.pcre_captures('chip 8 gone', signature) AS b FROM l4.fault WHERE name = 'fm_ref1';
DELETE FROM l4.fault WHERE name IN ('fm_ref1', 'fm_verb');
SELECT l4.merge_faults(1, 2);
SELECT l4.merge_faults(min(fault_id), min(fault_id)) FROM l4.fault WHERE name = 'fm_third';
SELECT l4.merge_faults(f.fault_id, s.fault_id) FROM l4.fault f, l4.fault s WHERE f.name = 'fm_third' AND s.name = 'host_oom_kill';

-- a merge that would make a cycle changes nothing
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to)
VALUES ('fm_c3', 'user', 'program', 'cycle text 3', 'c', 'r', '{}'), ('fm_c2', 'user', 'program', 'cycle text 2', 'c', 'r', '{fm_c3}'), ('fm_c1', 'user', 'program', 'cycle text 1', 'c', 'r', '{fm_c2}');
SELECT l4.merge_faults(k.fault_id, g.fault_id) FROM l4.fault k, l4.fault g WHERE k.name = 'fm_c1' AND g.name = 'fm_c3';
SELECT name, signature, leads_to FROM l4.fault WHERE name ~ '^fm_c\d' ORDER BY 1;
DELETE FROM l4.fault WHERE name ~ '^fm_c\d';

-- history and trends
SELECT count(*) > 0 AS matched FROM l4.match_faults('fm-xid');
SELECT name, category, jobs, first_ranks, as_effect, first_seen, last_job FROM l4.fault_history WHERE name IN ('fm_widget', 'nvidia_xid_63_row_remap_event', 'sym_c10d_collective_timeout') ORDER BY 1;
SELECT week, category, component, jobs, first_ranks, faults FROM l4.fault_trend WHERE component IN ('accelerator', 'program') ORDER BY 1, 2, 3;

-- export, import
CREATE TABLE pack AS SELECT l4.export_faults() AS pack;
SELECT f ->> 'name' AS name, f ->> 'origin' AS origin FROM pack, jsonb_array_elements(pack -> 'faults') f;
SELECT i.* FROM pack, l4.import_faults(pack) i;
DELETE FROM l4.fault WHERE fault_id >= 1000000;
SELECT i.* FROM pack, l4.import_faults(pack, dry_run => true) i;
SELECT count(*) FROM l4.fault WHERE fault_id >= 1000000;
SELECT i.* FROM pack, l4.import_faults(pack) i;
SELECT name, origin FROM l4.fault WHERE fault_id >= 1000000 ORDER BY 1;
SELECT i.* FROM pack, l4.import_faults(jsonb_set(pack, '{faults,0,remedy}', '"another"')) i;
-- half of it is invalid: a report by row, and nothing is kept
SELECT * FROM l4.import_faults('[
	{"name": "good", "category": "user", "component": "program", "signature": "good text", "root_cause": "c", "remedy": "r"},
	{"name": "good", "category": "user", "component": "program", "signature": "twice", "root_cause": "c", "remedy": "r"},
	{"name": "bad1", "category": "user", "component": "program", "signature": "a(", "root_cause": "c", "remedy": "r"},
	{"name": "bad2", "category": "nobody", "component": "program", "signature": "some text", "root_cause": "c", "remedy": "r"},
	{"name": "bad3", "category": "user", "component": "program", "signature": ".*", "root_cause": "c", "remedy": "r"},
	{"name": "bad4", "category": "user", "component": "program", "signature": "some text", "remedy": "r"},
	{"name": "bad5", "category": "user", "component": "program", "signature": "some text", "root_cause": "c", "remedy": "r", "leads_to": ["nobody"]},
	{"name": "bad6", "category": "user", "component": "program", "signature": "some text", "root_cause": "c", "remedy": "r", "priority": "high"},
	{"name": "bad7", "category": "user", "component": "program", "signature": "some text", "root_cause": "c", "remedy": "r", "colour": "red"},
	{"name": "cyc1", "category": "user", "component": "program", "signature": "text one", "root_cause": "c", "remedy": "r", "leads_to": ["cyc2"]},
	{"name": "cyc2", "category": "user", "component": "program", "signature": "text two", "root_cause": "c", "remedy": "r", "leads_to": ["cyc1"]},
	{"name": "ok2", "category": "user", "component": "program", "signature": "heartbeat sent", "root_cause": "c", "remedy": "r"},
	{"name": "ok3", "category": "user", "component": "program", "root_cause": "c", "remedy": "r", "conditions": [{"step": 1, "signature": "text one"}, {"step": 2, "kind": "absent", "template": "some text <*>"}]},
	{"name": "ok4", "category": "user", "component": "program", "templates": ["step <*> of <*> done, heartbeat <*>", "no such <*> text"], "root_cause": "c", "remedy": "r"},
	17, {}
]');
SELECT count(*) FROM l4.fault WHERE name ~ '^(good|bad|cyc|ok)';
SELECT * FROM l4.import_faults('[{"name": "ok5", "category": "user", "component": "program", "root_cause": "c", "remedy": "r",
	"conditions": [{"step": 1, "signature": "heartbeat sent"}, {"step": 2, "kind": "absent", "signature": "no such text"}]}]', true);
SELECT * FROM l4.import_faults('{"format": "l4 faults", "version": 1, "faults": [
	{"name": "ok3", "category": "user", "component": "program", "root_cause": "c", "remedy": "r", "conditions": [{"step": 1, "signature": "text one"}, {"step": 2, "kind": "absent", "template": "some text <*>"}]}]}');
SELECT step, kind, c.signature, template FROM l4.fault_condition c JOIN l4.fault f USING (fault_id) WHERE f.name = 'ok3' ORDER BY 1;
SELECT jsonb_path_query(l4.export_faults('{ok3}'), '$.faults[*].conditions');
-- one that replaces a shipped fault, one that one of the user's hides
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fm_mine', 'user', 'program', 'my own text', 'c', 'r');
SELECT name, action, problem FROM l4.import_faults('[
	{"name": "host_oom_kill", "category": "user", "component": "program", "signature": "another text", "root_cause": "c", "remedy": "r"},
	{"name": "fm_mine", "category": "user", "component": "program", "signature": "yet another text", "root_cause": "c", "remedy": "r"}]', true);
-- many rows that lead to others take a time that grows with their number
SET statement_timeout = '20s';
SELECT action, problem, count(*) FROM l4.import_faults((
	SELECT jsonb_agg(jsonb_build_object('name', 'fm_m' || i, 'category', 'user', 'component', 'program', 'signature', 'text number ' || i || ' of it', 'root_cause', 'c', 'remedy', 'r',
		'leads_to', jsonb_build_array('sym_c10d_collective_timeout', 'fm_m' || least(i + 1, 300))) #- CASE WHEN i = 300 THEN '{leads_to,1}'::text[] ELSE '{leads_to,9}' END)
	FROM generate_series(1, 300) AS i), true) GROUP BY 1, 2;
RESET statement_timeout;
SELECT l4.export_faults('{fm_mine,nobody}');
SELECT l4.export_faults('{host_oom_kill}');
SELECT i.* FROM (SELECT '{"category": "user", "component": "program", "root_cause": "c", "remedy": "r"}'::jsonb) AS t(f), l4.import_faults(jsonb_build_array(f || '{"name": "two words", "signature": "abcd"}', f || '{"name": "n1", "signature": "abcd", "priority": 101}', f || '{"name": "n2", "signature": "abcd", "leads_to": ["n2"]}',
	f || '{"name": "n3", "signature": "abcd", "leads_to": null, "severity": null}', f || '{"name": "n4", "conditions": []}', f || '{"name": "n5", "conditions": {}}', f || '{"name": "n6", "conditions": [17]}',
	f || '{"name": "n7", "conditions": [{"step": 2, "signature": "abcd"}]}', f || '{"name": "n8", "conditions": [{"step": 1, "signature": "abcd", "colour": "red"}]}',
	f || '{"name": "n9", "conditions": [{"step": 1, "kind": "quiet", "silence": "60 s"}]}', f || '{"name": "n10", "conditions": [{"step": 1, "kind": "effect"}, {"step": 2, "kind": "ends", "silence": "60 s"}]}'), true) AS i;
SELECT * FROM l4.import_faults('[]', NULL);
SELECT * FROM l4.import_faults(NULL);
SELECT * FROM l4.import_faults('17');
SELECT * FROM l4.import_faults('{"format": "other", "faults": []}');
SELECT * FROM l4.import_faults('[]');

DELETE FROM l4.fault WHERE fault_id >= 1000000;
SELECT l4.forget_job(j) FROM unnest('{fm-term-before,fm-term-after,fm-name-one,fm-name-all,fm-ok,fm-bad,fm-xid,fm-exit,fm-exit-all,fm-exit-two}'::text[]) j;
SELECT count(*) FROM l4.fault_match WHERE job_id LIKE 'fm-%';
DROP SCHEMA fault_match CASCADE;
