-- One minimal job for each kind of evidence: node n2 of six does what the kind is about, and the kind names n2 first.
-- A failing row names the kind. What the kinds say in words is tested in diagnose_jobs.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA evidence;
SET search_path = evidence;
SELECT l4.create_log_table('evidence.logs');

\i sql/include/made_jobs.sql

-- every two neighbours are one node with two ranks, whose lines stand in one stream
CREATE PROCEDURE share(name text)
LANGUAGE sql AS $$
    UPDATE logs SET node = 'n' || rank / 2 * 2, line_no = 1000 + 2 * line_no + rank % 2 WHERE job_id = name;
$$;
CALL job('good-1');
CALL job('good-2');
-- accused: the others name it
CALL job('accused', 20);
CALL say('accused', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by rank 2');
-- unique: an error that it alone has
CALL job('unique', 20);
CALL say('unique', '{2}', 23.5, 'ERROR:train:RuntimeError: a tensor is broken');
CALL say('unique', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
-- exit: one of its processes ends with another status
CALL job('exit', 20);
CALL say('exit', '{0,1,3,4,5}', 24, 'ERROR:agent:worker failed (exitcode: 1)');
CALL say('exit', '{2}', 24, 'ERROR:agent:worker failed (exitcode: -9)');
CALL say('exit', '{2}', 24, 'ERROR:agent:worker failed (exitcode: 1)');
-- it was killed first, a peer lost it, and a launcher then killed the others
CALL job('struck', 20);
CALL say('struck', '{2}', 23, 'ERROR:agent:worker failed (exitcode: -9)');
CALL say('struck', '{4}', 24.5, 'ERROR:agent:worker failed (exitcode: 1)');
CALL say('struck', '{0,1,3,5}', 27, 'ERROR:agent:worker failed (exitcode: -9)');
-- silent: it does not report what the others report
CALL job('silent', 20);
CALL say('silent', '{0,1,3,4,5}', 40, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
-- of two ranks on a node one does not, while the other writes on
CALL job('shared', 20);
CALL say('shared', '{0,1,3,4,5}', 40, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
CALL share('shared');
CALL job('still', 20);
CALL say('still', '{0,1,3,4,5}', 30, 'INFO:train:training starts');
CALL say('still', '{0,1,3,4,5}', 60, 'INFO:train:training starts');
CALL share('still');
-- one of two ranks stops, and all others get through
CALL job('lone');
DELETE FROM logs WHERE job_id = 'lone' AND node = 'n2' AND ts > '2026-05-01 10:00:24+00';
CALL share('lone');
-- lag: its last iteration is behind
CALL job('lag', 20);
DELETE FROM logs WHERE job_id = 'lag' AND node = 'n2' AND line ~ 'iteration (19|20)/';
CALL say('lag', '{0,1,2,3,4,5}', 40, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
-- the same without iterations: the others went one step further than it before all waited; what n5 lacks good jobs lack
-- there too. In a crash it would have been cut off.
CREATE PROCEDURE step(name text)
LANGUAGE sql AS $$
    CALL job(name, 20);
    DELETE FROM logs WHERE job_id = name AND line ~ 'iteration' AND node <> 'n0'
        OR job_id = name AND node = 'n2' AND line_no = (SELECT max(x.line_no) FROM logs AS x
            WHERE x.job_id = name AND x.node = 'n2' AND x.line ~ 'forward');
$$;
CALL step('step');
CALL step('torn');
CALL say('torn', '{0}', 24, 'ERROR:train:RuntimeError: a tensor is broken');
CALL say('good-1', '{0,1,2,3,4,5}', 8.1, 'INFO:io:buffers were flushed');
CALL say('good-1', '{0,1,2,3,4}', 8.2, 'INFO:io:buffers were flushed');
CALL say('good-2', '{0,1,2,3,4,5}', 8.1, 'INFO:io:buffers were flushed');
CALL say('good-2', '{0,1,2,3,4}', 8.2, 'INFO:io:buffers were flushed');
CALL say('step', '{0,1,2,3,4,5}', 8.1, 'INFO:io:buffers were flushed');
CALL say('step', '{0,1,2,3,4}', 8.2, 'INFO:io:buffers were flushed');
-- edge: it is the last of the ranks that wait to receive before those that wait to send
CALL job('edge', 20);
CALL say('edge', '{0,1,2,5}', 40, 'RuntimeError: [gloo/unbound_buffer.cc:81] Timed out waiting 15000ms for recv operation to complete');
CALL say('edge', '{3,4}', 40, 'RuntimeError: [gloo/unbound_buffer.cc:133] Timed out waiting 15000ms for send operation to complete');
-- drift: it says another value than all nodes of good jobs
CALL job('drift', 20);
UPDATE logs SET line = replace(line, '64', '63') WHERE job_id = 'drift' AND node = 'n2';
CALL say('drift', '{0,1,2,3,4,5}', 24, 'ERROR:train:RuntimeError: sizes differ');
-- step_time: slow from iteration 16 on, and its own step takes longest
CALL job('step_time', 30);
UPDATE logs SET ts = ts + 4 * greatest(0, substring(line FROM 'iteration (\d+)')::int - 15) * interval '1 s',
    line = replace(line, '1000.0', CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN '5000.0' ELSE '1000.0' END)
WHERE job_id = 'step_time' AND line ~ 'iteration';
UPDATE logs SET ts = ts + 4 * (line_no / 2 - 17) * interval '1 s',
    line = CASE node WHEN 'n2' THEN 'DEBUG:train:forward step took 4300 ms' ELSE line END
WHERE job_id = 'step_time' AND line ~ 'forward' AND line_no > 34;
-- what takes no part of an iteration does not make it slow
UPDATE logs SET line = line || CASE node WHEN 'n1' THEN ', cleared in 0.7 ms' ELSE ', cleared in 0.1 ms' END
WHERE job_id = 'step_time' AND line ~ 'forward';
-- late: the same, and it reports each iteration after the others
CALL job('late', 30);
UPDATE logs SET ts = ts + (4 * greatest(0, substring(line FROM 'iteration (\d+)')::int - 15)
        + CASE WHEN node = 'n2' AND substring(line FROM 'iteration (\d+)')::int > 15 THEN 0.8 ELSE 0 END) * interval '1 s',
    line = replace(line, '1000.0', CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN '5000.0' ELSE '1000.0' END)
WHERE job_id = 'late' AND line ~ 'iteration';
DELETE FROM logs WHERE job_id = 'late' AND line ~ 'forward';

-- step_time as well where one node alone prints iterations
CALL job('unnumbered', 30);
UPDATE logs SET ts = ts + 4 * greatest(0, substring(line FROM 'iteration (\d+)')::int - 15) * interval '1 s',
    line = replace(line, '1000.0', CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN '5000.0' ELSE '1000.0' END)
WHERE job_id = 'unnumbered' AND line ~ 'iteration';
UPDATE logs SET line = 'DEBUG:train:forward step took 900 ms' WHERE job_id = 'unnumbered' AND node = 'n2' AND line ~ 'forward';
DELETE FROM logs WHERE job_id = 'unnumbered' AND line ~ 'iteration' AND node <> 'n0';

-- What is about others is not held against who says it. n4 lost somebody, and n2 has trouble of its own.
CALL job('lost', 20);
CALL say('lost', '{4}', 23.4, 'RuntimeError: Connection reset by peer');
CALL say('lost', '{2}', 23.5, 'WARNING:train:the bracket is loose');
CALL say('lost', '{0,1,3,5}', 24, 'ERROR:comm:RuntimeError: the step was given up');
-- n2 fails first, below a heading that all print, and three lose it; n4 and n5 do not get to say so
CALL job('heading', 20);
CALL say('heading', '{2}', 23.2, 'ERROR:root:Uncaught exception');
CALL say('heading', '{2}', 23.2, 'KeyError: 120');
CALL say('heading', '{0,1,3}', 24.5, 'ERROR:root:Uncaught exception');
CALL say('heading', '{0,1,3}', 24.5, 'RuntimeError: Connection closed by rank 2');
-- all wait in vain, and n0 alone says for whom
CALL job('asked', 20);
CALL say('asked', '{0}', 40, 'TimeoutError: rank 2 gave no gradients');
CALL say('asked', '{1,2,3,4,5}', 40, 'TimeoutError: timed out');
-- a name with dots that is no host's
CALL job('shape', 0);
CALL say('shape', '{2}', 3, 'ValueError: received shape (128, 64) for parameter model.layers.0.mlp.gate_proj.weight');
CALL say('shape', '{4}', 4, 'RuntimeError: Connection reset by peer');
-- the others got through
CALL job('early');
DELETE FROM logs WHERE job_id = 'early' AND node = 'n2' AND ts > '2026-05-01 10:00:24+00';
-- nothing is new, and n2 ends last
CALL job('tail');
CALL say('tail', '{2}', 50, 'INFO:train:shutting down');
-- n2 falls silent; n4 never wrote in training
CALL job('mute', 20);
DELETE FROM logs WHERE job_id = 'mute' AND node = 'n4' AND line ~ 'forward|iteration';
CALL say('mute', '{0,1,3,5}', 40, 'INFO:io:buffers were flushed');
CALL say('mute', '{0,1,2,3,5}', 60, 'INFO:io:buffers were flushed');
-- launchers that count ranks by node
CALL job('local', 20);
CALL say('local', '{2}', 23.5, 'ERROR:train:RuntimeError: a tensor is broken');
CALL say('local', '{0,2,4}', 24, 'ERROR:pod:container of rank 0 is gone');
-- the near end of a connection is the writer's own: n0 waits for n2, which says so later
CALL job('ends', 20);
CALL say('ends', '{0}', 24, 'ERROR:comm:RuntimeError: read tcp 10.0.7.31:51->10.0.7.58:40: i/o timeout');
CALL say('ends', '{4}', 24.1, 'ERROR:comm:RuntimeError: read tcp 10.0.7.12:33->10.0.7.31:51: EOF');
CALL say('ends', '{2}', 30, 'ERROR:comm:RuntimeError: read tcp 10.0.7.58:40->10.0.7.31:51: i/o timeout');
-- ranks by the word that nodes use for themselves
CALL job('numbered', 20);
CALL say('numbered', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: worker 2 sent 7 values');
-- n2 leaves the others for the last checkpoint: they hang in training
CALL job('leaving', 20);
CALL say('leaving', '{2}', 23.3, 'INFO:train:saving checkpoint at iteration 40');
CALL say('leaving', '{0,1,3,4,5}', 60, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
-- a stall that good jobs have in the same iteration makes nothing slow
CALL job('warm', 20);
CALL job('warm-1');
CALL job('warm-2');
UPDATE logs SET ts = ts + interval '29 s', line = replace(line, 'iteration 10/40 | elapsed time per iteration (ms): 1',
    'iteration 10/40 | elapsed time per iteration (ms): 30') WHERE job_id ~ 'warm' AND line_no > 21;
-- functions of the language tell no stage
UPDATE logs SET line = E'ERROR:train:Traceback (most recent call last):\n  File "/usr/lib/python3.11/ast.py", line 64, in '
    'literal_eval\nValueError: malformed node' WHERE job_id = 'local' AND node = 'n2' AND line ~ 'RuntimeError';
-- a clock is no setting
UPDATE logs SET line = line || ', at=26.11.2026-10:00:0' || CASE WHEN job_id = 'drift' AND node = 'n0' THEN 6 ELSE 5 END
WHERE line ~ 'training starts';
-- good jobs for those
CALL job('saved-1');
CALL job('saved-2');
CALL say('saved-1', '{0,1,2,3,4,5}', 43.5, 'INFO:train:saving checkpoint at iteration 40');
CALL say('saved-2', '{0,1,2,3,4,5}', 43.5, 'INFO:train:saving checkpoint at iteration 40');
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT j.job_id, 'n' || n, '', n, 1000, '2026-05-01 10:00:00.5+00', format('INFO:dist:worker %s of 6 is ready', n)
FROM unnest('{saved-1,saved-2,numbered}'::text[]) AS j(job_id), generate_series(0, 5) AS n;

-- n2 was waited for, and does not end as the others do when they are told to
CALL job('unended', 20);
CALL say('unended', '{0}', 40, 'ERROR:main:TimeoutError: timed out');
CALL say('unended', '{0,1,3,4,5}', 50, 'INFO:train:shutting down');

-- n2 cannot connect, which is no waiting for n0; a heartbeat that it could not send is none either
CALL job('unconnected', 20);
CALL say('unconnected', '{2}', 39, 'WARNING:dist:the addresses of (n0, 29500) cannot be retrieved');
CALL say('unconnected', '{2}', 40, 'ERROR:main:TimeoutError: the client timed out while trying to connect to (n0, 29500)');
CALL job('beatless', 20);
CALL say('beatless', '{2}', 40, 'ERROR:dist:could not send heartbeat: Operation not permitted');
CALL say('beatless', '{0,1,3,4,5}', 50, 'ERROR:main:RuntimeError: Connection closed by peer');
-- n4 and n5 have a role of their own, in which nobody has anything to do until the others go on, or to report
CALL job('served-1');
CALL job('served-2');
CALL job('waiting', 20);
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT j.job_id, 'n' || n, '', n, 1000, '2026-05-01 10:00:00.5+00', 'INFO:http:ready to serve'
FROM unnest('{served-1,served-2,waiting}'::text[]) AS j(job_id), generate_series(4, 5) AS n;
CALL say('waiting', '{0,1,2,3}', 30, 'INFO:io:buffers were flushed');
CALL say('waiting', '{0,1,2,3}', 40, 'ERROR:main:RuntimeError: the batch is gone');

-- passes over the data of an iteration are no epochs
CALL job('passes', 0);
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'passes', 'n' || n, '', n, 1000 + 2 * i + e, '2026-05-01 10:00:03+00'::timestamptz + (i + 0.3 * e) * interval '1 s',
    format('INFO:train:update %s epoch %s: loss 0.5%s', i, e, i)
FROM generate_series(0, 5) AS n, generate_series(1, 20) AS i, generate_series(1, 2) AS e;
CALL say('passes', '{2}', 24, 'ERROR:train:RuntimeError: a tensor is broken');

-- no node's: all refuse a value before the first iteration and end as good jobs do
CALL job('refused', 0);
CALL say('refused', '{0,1,2,3,4,5}', 3, 'ValueError: no such optimizer');
CALL say('refused', '{0,1,2,3,4,5}', 4, 'INFO:train:shutting down');
-- one fails in words that nobody knows while it writes a file
CALL job('files', 20);
CALL say('files', '{0,1,2,3,4,5}', 23.2, 'INFO:train:saving checkpoint at iteration 20');
CALL say('files', '{2}', 23.5, 'ERROR:train:RuntimeError: the bracket fell off');
-- one gives up again and again under a supervisor, the others train without it, and all end as good jobs do
CALL job('alone');
DELETE FROM logs WHERE job_id = 'alone' AND node = 'n2' AND line ~ 'train';
CALL say('alone', '{2}', 1.5, 'Error: the bracket fell off');
CALL say('alone', '{2}', 2.5, 'Error: the bracket fell off');
CALL say('alone', '{2}', 3, 'worker exited (exit status 1; not expected)');
CALL say('alone', '{2}', 50, 'INFO:train:shutting down');
-- an exception that names an iteration reports none as done
CALL job('named', 0);
CALL say('named', '{0,1,2,3,4,5}', 3, 'ValueError: loss is nan in batch 7 of epoch 0');
CALL say('named', '{0,1,2,3,4,5}', 4, 'INFO:train:shutting down');
-- all stop in training and nobody complains
CALL job('silenced', 20);
-- what is missing at the start was never there; what is missing later was lost, as a way to the others is
CALL job('absent', 0);
CALL say('absent', '{2}', 3, 'FileNotFoundError: [Errno 2] No such file or directory: ''/data/valid.bin''');
CALL job('mislaid', 20);
CALL say('mislaid', '{2}', 23.5, 'FileNotFoundError: [Errno 2] No such file or directory: ''/data/valid.bin''');
CALL say('mislaid', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
CALL job('cut', 20);
CALL say('cut', '{2}', 23.5, 'OSError: [Errno 101] Network is unreachable');
CALL say('cut', '{0,1,3,4,5}', 24, 'ERROR:comm:RuntimeError: Connection closed by peer');
-- what its client says of a service tells of the node that serves; of a service that no suspect serves it is the cause
CALL job('asked_of', 20);
CALL say('asked_of', '{2}', 23.5, 'ERROR:http:IndexError: list index out of range');
CALL say('asked_of', '{0}', 24, 'ERROR:main:httpx.RemoteProtocolError: Server disconnected without sending a response.');
CALL job('outside', 20);
CALL say('outside', '{0}', 24, 'ERROR:main:httpx.RemoteProtocolError: Server disconnected without sending a response.');
-- a cause that good jobs state as well causes nothing here
CALL say('good-1', '{0,1,2,3,4,5}', 0.5, 'fatal: chdir to /opt/csrc - No such file or directory');
CALL say('good-2', '{0,1,2,3,4,5}', 0.5, 'fatal: chdir to /opt/csrc - No such file or directory');
CALL job('common', 20);
CALL say('common', '{2}', 0.5, 'fatal: chdir to /opt/csrc - No such file or directory');
CALL say('common', '{2}', 23.5, 'Received 15 death signal, shutting down workers');
CALL say('common', '{0,1,3,4,5}', 24, 'ERROR:agent:failed (exitcode: 1) local_rank: 0 (pid: 4711) of binary: /usr/bin/python3');

-- nodes named by their ranks, as srun --label does: numbers in a line do not name them, words for ranks do
CALL job('digits', 20);
CALL say('digits', '{0,1,3,4,5}', 24, 'ERROR:launch:restarting: train.py --workers 3 --shards 4');
CALL say('digits', '{0,1,3,4,5}', 24.5, 'ERROR:comm:RuntimeError: Connection closed by rank 2');
UPDATE logs SET node = rank WHERE job_id = 'digits';
CALL l4.ingest('evidence.logs');
UPDATE l4.job SET settings = 'evidence', expected_nodes = CASE WHEN job_id IN ('shared', 'still', 'lone') THEN 3 ELSE 6 END,
    status = CASE WHEN job_id ~ '^(good|saved|served|warm)-' THEN 'succeeded' ELSE 'failed' END
WHERE job_id IN (SELECT DISTINCT l.job_id FROM logs AS l);

CREATE TABLE kind AS SELECT k.kind, d.symptom
FROM unnest('{accused,unique,exit,silent,lag,edge,drift,step_time,late}'::text[]) AS k(kind)
CROSS JOIN LATERAL l4.diagnose(k.kind) AS d;
SELECT k.kind, k.symptom, (SELECT e.node FROM l4.evidence AS e WHERE e.job_id = k.kind AND e.kind = k.kind
        ORDER BY e.value DESC, e.node LIMIT 1) AS named_first,
    (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = k.kind AND s.rank = 1) AS suspect
FROM kind AS k ORDER BY k.kind;
-- what is behind a failure of which no line states the cause
SELECT j.job_id, d.symptom, d.stage, d.category, d.component, d.confidence
FROM unnest('{refused,files,drift,absent,mislaid,cut,common,asked_of,outside}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d;
SELECT cause FROM l4.diagnosis WHERE job_id = 'drift';
SELECT m.rank, m.fault_name, m.is_suspect, m.caused_by FROM l4.fault_match AS m WHERE m.job_id = 'common' ORDER BY m.rank;
-- orderly last words make no failed job healthy
SELECT j.job_id, d.status, d.symptom, d.stage, d.iteration, d.summary ~ 'without a word' AS wordless
FROM unnest('{alone,named,silenced}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d;
SELECT count(*) AS iterations FROM l4.iteration WHERE job_id = 'named';
SELECT coverage -> 'states' AS states, coverage -> 'limits' AS limits FROM l4.diagnose('lone');
SELECT symptom FROM unnest('{shared,still}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id);
SELECT job_id, node, reasons FROM l4.suspect_node WHERE job_id IN ('shared', 'still') AND rank = 1 ORDER BY job_id;
SELECT symptom FROM l4.diagnose('step');
SELECT node, reasons FROM l4.suspect_node WHERE job_id = 'step' AND rank = 1;
SELECT symptom FROM l4.diagnose('torn');
SELECT node FROM l4.evidence_lag('torn');
CREATE TABLE other AS SELECT j.job_id, d.symptom, d.stage
FROM unnest('{unnumbered,lost,heading,asked,shape,early,tail,mute,local,ends,numbered,leaving,struck,unended,unconnected,beatless}'::text[]) AS j(job_id)
CROSS JOIN LATERAL l4.diagnose(j.job_id, CASE WHEN j.job_id IN ('numbered', 'leaving') THEN '{saved-1,saved-2}' END::text[]) AS d;
SELECT o.*, s.node, s.reasons FROM other AS o JOIN l4.suspect_node AS s USING (job_id) WHERE s.rank = 1;
SELECT symptom, epoch, iteration FROM l4.diagnose('passes', '{}');
SELECT symptom FROM l4.diagnose('warm', '{warm-1,warm-2}');
SELECT node FROM l4.evidence_silent('mute');
SELECT job_id, node, value FROM l4.evidence WHERE job_id IN ('unconnected', 'beatless') AND node = 'n2' AND kind = 'unique' ORDER BY job_id;
SELECT symptom FROM l4.diagnose('waiting', '{served-1,served-2}');
SELECT node, value, detail FROM l4.evidence_silent('waiting');
SELECT accuser, accused FROM l4._case_edge WHERE job_id = 'local';
SELECT symptom FROM l4.diagnose('digits');
SELECT accused, count(*) FROM l4._case_edge WHERE job_id = 'digits' GROUP BY accused;
SELECT * FROM l4.address_book('ends');
-- none of them says anything of a good job
SELECT status FROM l4.diagnose('good-2');
SELECT kind, node FROM l4.evidence WHERE job_id = 'good-2' AND value > 0 AND kind IN (SELECT k.kind FROM kind AS k);

-- a case goes with its job
SELECT string_agg(format('SELECT %1$L AS left_behind FROM l4.%1$I WHERE job_id NOT IN (SELECT job_id FROM l4.job)',
    c.relname), ' UNION ') AS left_behind
FROM pg_class AS c WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^_(case|counted)' \gset
BEGIN;
SET LOCAL client_min_messages = warning;
TRUNCATE l4.job CASCADE;
:left_behind;
ROLLBACK;
SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job WHERE settings = 'evidence';
:left_behind;
DROP SCHEMA evidence CASCADE;
