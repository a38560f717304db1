-- What a failure was, by its diagnosis, and what is learnt of it when it is confirmed.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA fault_learn;
SET search_path = fault_learn;
SET timezone = 'UTC';
SELECT l4.create_log_table('fault_learn.logs');
\i sql/include/made_jobs.sql
CALL job('fl-ok-1');
CALL job('fl-ok-2');

-- a sample that one node cannot use: its peers say that they end
CALL job('fl-ragged', 20);
CALL say('fl-ragged', '{3}', 23.4, 'ValueError: setting an array element with a sequence, inhomogeneous shape at row 17');
CALL say('fl-ragged', '{0,1,2,4,5}', 23.5, 'FatalError: `Process abort signal` is detected by the operating system.');
-- what the library knows of the peers' line is more than of the suspect's
CALL job('fl-shape', 20);
CALL say('fl-shape', '{3}', 23.4, 'ValueError: the last batch holds 17 samples of another kind');
CALL say('fl-shape', '{0,1,2,4,5}', 23.5, 'RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED');
-- a node that breaks in words that nobody knows: its peers say that they end
CALL job('fl-widget', 20);
CALL say('fl-widget', '{4}', 23.4, 'ERROR:engine:widget 7 came loose in slot 3');
CALL say('fl-widget', '{0,1,2,3,5}', 23.5, 'ERROR:engine:Process abort signal is detected, rank 4 is gone');
-- a second one of each kind
CALL job('fl-ragged-2', 20);
CALL say('fl-ragged-2', '{1}', 23.4, 'ValueError: setting an array element with a sequence, inhomogeneous shape at row 2');
CALL say('fl-ragged-2', '{0,2,3,4,5}', 23.5, 'FatalError: `Process abort signal` is detected by the operating system.');
CALL job('fl-widget-2', 20);
CALL say('fl-widget-2', '{2}', 23.4, 'ERROR:engine:widget 9 came loose in slot 1');
CALL say('fl-widget-2', '{0,1,3,4,5}', 23.5, 'ERROR:engine:Process abort signal is detected, rank 2 is gone');
-- all nodes fail alike, in a way that the library knows only by its class
CALL job('fl-alike', 20);
CALL say('fl-alike', '{0,1,2,3,4,5}', 23.4, 'ValueError: micro batch does not fit');
-- a cause that a suspect states, beside what its peers report
CALL job('fl-xid', 20);
CALL say('fl-xid', '{2}', 23.3, 'NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, GPU has fallen off the bus.');
CALL say('fl-xid', '{0,1,3,4,5}', 23.4, 'RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer');
-- what a user's program lacks, on one node only: more likely the node's than all nodes' program
CALL job('fl-module', 0);
CALL say('fl-module', '{1}', 3.0, 'ModuleNotFoundError: No module named ''fused_ops''');
-- a node falls silent, its peers time out
CALL job('fl-silent', 20);
DELETE FROM logs WHERE job_id = 'fl-silent' AND node = 'n1' AND ts > '2026-05-01 10:00:20+00';
CALL say('fl-silent', '{0,2,3,4,5}', 80, 'RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation to complete');
-- nobody falls silent, all time out
CALL job('fl-network', 20);
CALL say('fl-network', '{0,1,2,3,4,5}', 80, 'RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation to complete');
-- all processes are killed, and nothing says why
CALL job('fl-killed', 20);
CALL say('fl-killed', '{0,1,2,3,4,5}', 23.4, 'ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 1421) of binary: /usr/bin/python3');
-- a node that was expected never wrote
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'fl-absent', 'n' || n, '', n, 1, '2026-05-01 10:00:00+00', 'INFO:dist:initializing process group for rank ' || n FROM generate_series(0, 4) AS n;
CALL say('fl-absent', '{0,1,2,3,4}', 300, 'torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError');
INSERT INTO l4.job (job_id, settings, status, expected_nodes)
SELECT DISTINCT job_id, 'fl', CASE WHEN job_id ~ '-ok-' THEN 'succeeded' ELSE 'failed' END, 6 FROM logs;
CALL l4.ingest('logs');
SELECT count(*) AS diagnosed FROM l4.job AS j CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d WHERE j.job_id LIKE 'fl-%';

-- no effect is first where a cause is stated
SELECT d.job_id, m.fault_name AS first, m.is_effect FROM l4.diagnosis AS d LEFT JOIN l4.fault_match AS m ON m.job_id = d.job_id AND m.rank = 1
WHERE d.job_id LIKE 'fl-%' AND d.symptom <> 'none' ORDER BY 1;
-- category: of the cause that is stated; else weak, by who failed and how; NULL where that tells nothing
SELECT d.job_id, d.symptom, d.category, d.component, d.confidence, cardinality(d.alternatives) > 0 AS has_alternatives
FROM l4.diagnosis AS d WHERE d.job_id LIKE 'fl-%' ORDER BY 1;
-- in these words
SELECT cause, alternatives[1] AS first FROM l4.diagnosis WHERE job_id IN ('fl-killed', 'fl-ragged', 'fl-silent', 'fl-xid') ORDER BY job_id;
-- the summary says what is known, or that nothing is
SELECT job_id, summary ~ 'Known fault: ' AS known, summary ~ 'No cause is stated' AS unstated FROM l4.diagnosis WHERE job_id IN ('fl-silent', 'fl-xid') ORDER BY 1;

-- learnt is what only the suspect says, not what its peers say when it dies
SET client_min_messages = notice;
SELECT l4.confirm_fault('fl-ragged', 'fl_ragged', 'a ragged sample', 'drop it') > 0 AS confirmed;
SELECT l4.confirm_fault('fl-widget', 'fl_widget', 'a loose widget', 'fasten it') > 0 AS confirmed;
SELECT l4.confirm_fault('fl-shape', 'fl_shape', 'a batch of another kind', 'sort it out') > 0 AS confirmed;
SET client_min_messages = warning;
SELECT name, category, component, severity, example FROM l4.fault WHERE name ~ '^fl_' ORDER BY 1;
SELECT j.job_id, m.fault_name, m.node FROM l4.job AS j CROSS JOIN LATERAL l4.match_faults(j.job_id) AS m WHERE j.job_id LIKE 'fl-%' AND m.fault_name ~ '^fl_' AND m.rank = 1 ORDER BY 1;
-- where a pattern would match jobs of another confirmed cause, another one is asked for; who asks for it gets it
SELECT l4.confirm_fault('fl-ragged-2', 'fl_other', 'another cause', 'another remedy');
SET client_min_messages = notice;
SELECT l4.confirm_fault('fl-ragged-2', 'fl_other', 'another cause', 'another remedy', signature => 'inhomogeneous shape at row') > 0 AS confirmed;
SELECT l4.confirm_fault('fl-ragged-2', 'fl_row', 'another cause', 'another remedy', signature => 'inhomogeneous shape at row 2$') > 0 AS confirmed;
SET client_min_messages = warning;
-- where all report a lost peer nothing is learnt
SELECT l4.confirm_fault('fl-network', 'fl_network', 'a switch', 'another switch');
-- the form of a hang is for jobs in which no line states a cause
SELECT l4.confirm_fault('fl-silent', 'fl_silent', 'a power supply', 'replace it') > 0 AS confirmed;
SELECT rank, fault_name FROM l4.match_faults('fl-silent') WHERE rank = 1;
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('fl_stated', 'hardware', 'network', 'Timed out waiting 60000ms', 'c', 'r');
SELECT rank, fault_name FROM l4.match_faults('fl-silent') WHERE fault_name ~ '^fl_';
-- the example is the cause's line, without the progress bar that it follows
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) VALUES ('fl-bar', 'n0', '', 0, 1, '2026-05-01 10:00:00+00', E'epoch 3:  41%|####      | 82/200\repoch 3:  42%|####      | 84/200\rspindle 4 is jammed');
CALL l4.ingest('logs');
SELECT l4.confirm_fault('fl-bar', 'fl_bar', 'c', 'r', signature => 'spindle \d is jammed') > 0 AS confirmed;
SELECT example FROM l4.fault WHERE name = 'fl_bar';

DELETE FROM l4.fault WHERE name ~ '^fl_';
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'fl-%';
DROP SCHEMA fault_learn CASCADE;
