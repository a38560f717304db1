-- diagnose() where a node has several ranks, where ranks are only said in lines, and what tells hang from crash and where it happened.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
\pset format unaligned
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA diagnose_ranks;
SET search_path = diagnose_ranks;
SELECT l4.create_log_table('diagnose_ranks.logs');
CREATE TABLE said (job_id text, node text, at float8, line text, place int GENERATED ALWAYS AS IDENTITY);

-- Four nodes with two ranks each that count up with the nodes, all of which print; head = how a line says its rank.
CREATE PROCEDURE job(job_id text, upto int DEFAULT 40, every int DEFAULT 1, head text DEFAULT '[rank%s]: ', self text DEFAULT 'rank %s', world int DEFAULT 8)
LANGUAGE sql AS $$
    INSERT INTO said (job_id, node, at, line)
    SELECT job.job_id, 'n' || r / 2, l.at + r * 0.001, format(head, r) || l.line
    FROM generate_series(0, 7) AS r
    CROSS JOIN LATERAL (
        SELECT 0 AS at, format('INFO:dist:joining as ' || self, r) AS line
        UNION ALL SELECT 1, format('INFO:dist:world has %s ranks', CASE WHEN r / 2 = 2 THEN world ELSE 8 END)
        UNION ALL SELECT 2.5, 'INFO:train:training starts'
        UNION ALL SELECT 3 + i, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) FROM generate_series(every, upto, every) AS i
        UNION ALL SELECT 5 + upto, 'INFO:train:shutting down' WHERE upto = 40) AS l
$$;
CREATE PROCEDURE say(job_id text, rank int, at float8, line text, head text DEFAULT '[rank%s]: ')
LANGUAGE sql AS $$ INSERT INTO said (job_id, node, at, line) VALUES (job_id, 'n' || rank / 2, at, format(head, rank) || line); $$;
-- The ranks of a ring wait for each other; one may say nothing.
CREATE PROCEDURE ring(job_id text, at float8, send int[], receive int[], code text DEFAULT 'all_reduce')
LANGUAGE sql AS $$
    INSERT INTO said (job_id, node, at, line)
    SELECT ring.job_id, 'n' || r / 2, ring.at + r * 0.001, format('[rank%s]: %s', r, l.line)
    FROM (SELECT unnest(send) AS r, 'send' AS waits UNION ALL SELECT unnest(receive), 'recv') AS w
    CROSS JOIN LATERAL (VALUES (1, 'Traceback (most recent call last):'), (2, '  File "/opt/dist.py", line 9, in ' || code), (3, '    wait(work)'),
        (4, format('RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:133] Timed out waiting 15000ms for %s operation to complete', w.waits))) AS l(place, line)
    ORDER BY r, l.place
$$;
CREATE PROCEDURE ingest() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO logs (job_id, node, source, line_no, ts, line)
    SELECT s.job_id, s.node, '', row_number() OVER (PARTITION BY s.job_id, s.node ORDER BY s.at, s.place), '2026-05-01 10:00:00+00'::timestamptz + s.at * interval '1 s', s.line
    FROM said AS s;
    TRUNCATE said;
    CALL l4.ingest('diagnose_ranks.logs');
END
$$;
CREATE FUNCTION answer(job_id text, baseline text[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    d l4.diagnosis := l4.diagnose(job_id, baseline);
BEGIN
    RETURN format('%s, %s, iteration %s: %s', d.symptom, coalesce(d.stage, 'no stage'), coalesce(d.iteration::text, '-'), (
        SELECT string_agg(s.node || ' ' || round(s.score::numeric, 2) || ' (' || array_to_string(s.reasons, '; ') || ')', ', ' ORDER BY s.rank)
        FROM l4.suspect_node AS s WHERE s.job_id = answer.job_id AND s.rank <= 2));
END
$$;
CALL job('g1');
CALL job('g2');
CALL job('sparse1', every => 5);
CALL job('sparse2', every => 5);
CALL job('bare1', head => '', self => 'global rank: %s');
CALL job('bare2', head => '', self => 'global rank: %s');

-- One of two ranks of a node says nothing, between those that wait to receive and those that wait to send.
CALL job('quiet', upto => 20);
CALL ring('quiet', 60, '{7,0,1}', '{2,3,4,5}');
-- All ranks report: the ring breaks between two nodes, and ends within one.
CALL job('link', upto => 20);
CALL ring('link', 60, '{0,1,2}', '{3,4,5,6,7}');
-- A barrier passes on to the rank after: who waits to receive from the last sender is cut off.
CALL job('barrier', upto => 20);
CALL ring('barrier', 60, '{2,3}', '{4,5,6,7,0,1}', 'barrier');
-- A global rank is named, by a line that says which of several ranks speaks; a complaint about the rank beside it is none about another node.
CALL job('named', upto => 20);
CALL say('named', 3, 60, 'ERROR:comm:RuntimeError: [Rank 3] watchdog timeout: rank 5 did not join the collective');
CALL say('named', 7, 60, 'ERROR:comm:RuntimeError: [Rank 7] watchdog timeout: rank 5 did not join the collective');
CALL say('named', 6, 60, 'ERROR:comm:RuntimeError: [Rank 6] watchdog timeout: rank 7 did not join the collective');
-- Nothing but a line in which each rank tells its own says which node has it.
CALL job('bare', upto => 20, head => '', self => 'global rank: %s');
CALL say('bare', 0, 60, 'ERROR:comm:RuntimeError: watchdog timeout: missing ranks 4, 5', '');
-- One node says 6 where the others say 8, once a rank.
CALL job('world', upto => 20, world => 6);
CALL ring('world', 60, '{2,3,4,5}', '{6,7,0,1}');
-- The head of a traceback whose end went elsewhere sets nobody apart.
CALL job('head', upto => 20);
CALL ring('head', 60, '{7,0,1}', '{2,3,4,5}');
CALL say('head', 2, 60.5, 'Traceback (most recent call last):', 'ERROR:main:');
-- Who lost a peer may take seconds to say so: no hang. Who waited that long hung.
CALL job('lost', upto => 20);
CALL say('lost', 5, 45.5, 'RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:2411');
CALL job('waited', upto => 20);
CALL say('waited', 5, 45.5, 'RuntimeError: Timed out waiting 20000ms for the other ranks');
CALL job('heard', upto => 20);
CALL say('heard', 5, 45.5, 'RuntimeError: nothing of rank 2 for 20s');
-- Iterations are reported every five: four such lines must be due.
CALL job('sparse', upto => 20, every => 5);
CALL say('sparse', 5, 44.5, 'RuntimeError: Timed out waiting 20000ms for the other ranks');
-- An exception need not be called an error.
CALL job('stop', upto => 20);
CALL say('stop', 5, 23.2, 'Traceback (most recent call last):');
CALL say('stop', 5, 23.2, '  File "/w/train.py", line 114, in evaluate');
CALL say('stop', 5, 23.2, '    batch = next(it)');
CALL say('stop', 5, 23.2, 'StopIteration');
CALL say('stop', 0, 60, 'INFO:launcher:still here');
-- Two nodes print iterations, one of them every ten, and the node that fails prints none.
INSERT INTO said (job_id, node, at, line)
SELECT 'rhythm', 'n' || r / 2, 3 + i, format('[rank%s]: INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', r, i, i % 7)
FROM generate_series(1, 27) AS i, unnest('{0,7}'::int[]) AS r WHERE r = 7 OR i % 10 = 0;
CALL say('rhythm', 4, 2, 'INFO:train:training starts');
CALL say('rhythm', 2, 2, 'INFO:train:training starts');
CALL say('rhythm', 4, 30.5, 'RuntimeError: CUDA error: an illegal memory access was encountered');
-- All ranks but one report that they timed out: that rank is silent; where it reports something else instead, that counts first.
INSERT INTO said (job_id, node, at, line)
SELECT j, 'n' || r / 2, 60 + r * 0.001, format('[rank%s]: RuntimeError: %s', r, CASE WHEN r = 1 THEN 'No route to host' ELSE 'watchdog caught a collective that timed out' END)
FROM unnest('{partly,instead}'::text[]) AS j, generate_series(0, 7) AS r WHERE r <> 1 OR j = 'instead';
CALL job('partly', upto => 20);
CALL job('instead', upto => 20);
-- All name rank 0, which names rank 6, which names rank 4: the complaint of rank 4's node about the reporter does not close the circle.
CALL job('corners', upto => 20);
CALL say('corners', 2, 60.1, 'RuntimeError: reached the barrier, but errors while waiting for rank 0');
CALL say('corners', 4, 60.1, 'RuntimeError: reached the barrier, but errors while waiting for rank 0');
CALL say('corners', 0, 60.1, 'RuntimeError: rank 6 failed to pass the barrier in time');
CALL say('corners', 7, 61.5, 'RuntimeError: reached the barrier, but errors while waiting for rank 4');
-- A launcher reports who was killed: that node could not. Exit codes accuse nobody.
CALL job('killed', upto => 20);
CALL say('killed', 0, 23.2, 'mpirun noticed that process rank 5 with PID 0 on node n2 exited on signal 9 (Killed).');
-- Also in a report of several lines, and where the other rank of the node is a victim.
CALL job('banner', upto => 20);
CALL say('banner', 0, 23.2, '=   RANK 5 PID 0 RUNNING AT n2');
CALL say('banner', 0, 23.2, '=   KILLED BY SIGNAL: 11 (Segmentation fault)');
CALL say('banner', 4, 23.1, 'RuntimeError: the collective was aborted');
CALL say('banner', 7, 23.1, 'RuntimeError: the collective was aborted');
-- An address names a node as well.
CALL job('addressed', upto => 20);
CALL say('addressed', 0, 23.2, 'the process on 10.9.0.7 (PID 811) exited on signal 9 (Killed).');
CALL job('exited', upto => 20);
CALL say('exited', 0, 23.2, 'mpirun noticed that process rank 5 with PID 0 on node n2 exited with exit code 1.');
CALL say('exited', 6, 23.1, 'ERROR:main:RuntimeError: CUDA error: an illegal memory access was encountered');
-- One rank reports iterations, and a node that does not began to evaluate ten before the end: that is over.
INSERT INTO said (job_id, node, at, line)
SELECT 'evaled', 'n0', 3 + i, format('[rank0]: INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) FROM generate_series(1, 20) AS i;
CALL say('evaled', 4, 13.1, 'INFO:train:begin validation on subset "valid"');
CALL say('evaled', 4, 23.5, 'RuntimeError: CUDA error: an illegal memory access was encountered');
-- What the process ended with stands at the end of good logs too, with another code; before it comes the end of the worker's log once more, cut in its first line.
INSERT INTO said (job_id, node, at, line)
SELECT j, 'n' || n, 3 + i, to_char(timestamp '2026-05-01 10:00' + (3 + i) * interval '1 s', '[YYYY-MM-DD HH24:MI:SS,MS] [INFO] [train.py:9:main] ') || format('iteration %s/40 | lm loss: 2.5E+00', i)
FROM unnest('{shown,shown1,shown2}'::text[]) AS j, generate_series(0, 3) AS n, generate_series(1, 40) AS i WHERE i <= 20 OR j <> 'shown';
INSERT INTO said (job_id, node, at, line)
SELECT j, 'n' || n, 50, 'launcher: INFO exit code ' || CASE j WHEN 'shown' THEN 1 ELSE 0 END FROM unnest('{shown,shown1,shown2}'::text[]) AS j, generate_series(0, 3) AS n;
INSERT INTO said (job_id, node, at, line)
SELECT 'shown', 'n' || n, CASE WHEN n = 2 THEN 23.4 ELSE 24.5 END, CASE WHEN n = 2 THEN 'ValueError: the loss is not a number' ELSE 'RuntimeError: Connection closed by peer [10.0.0.7]:2411' END FROM generate_series(0, 3) AS n;
INSERT INTO said (job_id, node, at, line)
SELECT 'shown', 'n' || n, 30, CASE WHEN i > 15 THEN to_char(timestamp '2026-05-01 10:00' + (3 + i) * interval '1 s', '[YYYY-MM-DD HH24:MI:SS,MS] [INFO] [train.py:9:main] ') ELSE '' END
    || format('iteration %s/40 | lm loss: 2.5E+00', i)
FROM generate_series(0, 3) AS n, generate_series(15, 20) AS i;
CALL ingest();
UPDATE l4.job SET settings = regexp_replace(job_id, '[0-9]+$', ''), expected_nodes = 4, status = 'succeeded' WHERE job_id ~ '[0-9]$';
UPDATE l4.job SET settings = CASE job_id WHEN 'sparse' THEN 'sparse' WHEN 'bare' THEN 'bare' WHEN 'shown' THEN 'shown' ELSE 'g' END, expected_nodes = 4 WHERE settings IS NULL;
UPDATE l4.job_node SET addresses = ARRAY['10.9.0.' || 5 + right(node, 1)::int] WHERE job_id = 'addressed';
SELECT job_id, answer(job_id) FROM unnest('{quiet,link,barrier,named,bare,world,head,lost,waited,heard,sparse,stop,rhythm,partly,instead,corners,killed,banner,addressed,exited,evaled,shown}'::text[]) AS j(job_id);
SELECT node, rank, ranks, block FROM l4._case_node WHERE job_id = 'bare' ORDER BY place;

-- All ranks of a job write to one stream: eight reports of an iteration do not come eight times as fast.
CALL job('stream1');
CALL job('stream2');
CALL job('stream3');
UPDATE said SET node = 'n0';
CALL ingest();
UPDATE l4.job SET settings = 'stream', status = 'succeeded' WHERE job_id ~ '^stream';
SELECT answer('stream1');

-- Ranks a node: {0}, {3}, {4}, {6} fit four nodes by twos only; a node that tells none has the block that is left.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'some', 'm' || n.node, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s', CASE WHEN i < 3 THEN 'INFO:main:starting' ELSE n.line END
FROM (VALUES (3, '[rank0]: RuntimeError: rank 2 closed the connection'), (1, 'INFO:main:waiting'), (0, '[rank4]: RuntimeError: rank 2 closed the connection'),
    (2, '[rank7]: RuntimeError: rank 2 closed the connection')) AS n(node, line), generate_series(1, 3) AS i;
CALL l4.ingest('diagnose_ranks.logs', job_id => 'some');
UPDATE l4.job SET expected_nodes = 4 WHERE job_id = 'some';
SELECT answer('some', '{}');
SELECT node, rank, ranks, block FROM l4._case_node WHERE job_id = 'some' ORDER BY place;

-- A job that fails to start where no function tells the stage: the class that is made, or the file that is missing.
CREATE PROCEDURE start(job_id text, VARIADIC lines text[])
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, line_no, ts, line)
    SELECT start.job_id, 'n' || n, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s', CASE WHEN i <= 2 THEN 'INFO:dist:initializing process group' ELSE lines[i - 2] END
    FROM generate_series(0, 3) AS n CROSS JOIN generate_series(1, 2 + CASE WHEN n = 1 THEN cardinality(lines) ELSE 0 END) AS i
$$;
CALL start('dataset', 'Traceback (most recent call last):', '  File "/w/run.py", line 136, in <module>', '    main()', '  File "/w/run.py", line 109, in main',
    '    train = JsonlDataset(folder, "train")', '  File "/w/run.py", line 43, in __init__', '    with open(name) as f:',
    'FileNotFoundError: [Errno 2] No such file or directory: ''/mnt/x/part-0.jsonl''');
CALL start('file', 'Traceback (most recent call last):', '  File "/w/run.py", line 98, in <module>', '    size = os.path.getsize(name)',
    'FileNotFoundError: [Errno 2] No such file or directory: ''/mnt/data/train.bin''');
CALL start('neither', 'Traceback (most recent call last):', '  File "/w/run.py", line 98, in <module>', '    size = os.path.getsize(name)',
    'FileNotFoundError: [Errno 2] No such file or directory: ''/etc/cluster.conf''');
CALL l4.ingest('diagnose_ranks.logs');
SELECT job_id, (l4.diagnose(job_id)).stage FROM unnest('{dataset,file,neither}'::text[]) AS j(job_id);

-- A node that never wrote: where ranks are not known its name tells, if names count; else it is only known that one is missing. The others' stacks tell
-- the stage. What trained had all nodes, and where good jobs have silent nodes as well, they are none.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT j.job_id, CASE WHEN j.named THEN 'worker-' || n ELSE translate(n::text, '0123', 'abcd') END, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s', l.line
FROM (VALUES ('gap', true, false), ('unnamed', false, false), ('uncollected', true, true), ('usual1', false, true), ('usual2', false, false)) AS j(job_id, named, trained)
CROSS JOIN (VALUES (0), (2), (3)) AS n(n)
CROSS JOIN LATERAL (SELECT 1 AS i, 'INFO:data:building datasets' AS line
    UNION ALL SELECT 1 + i, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) FROM generate_series(1, CASE WHEN j.trained THEN 12 ELSE 0 END) AS i
    UNION ALL SELECT 100, 'Traceback (most recent call last):' UNION ALL SELECT 101, '  File "/w/run.py", line 9, in ' || CASE WHEN j.trained THEN 'backward' ELSE 'init_process_group' END
    UNION ALL SELECT 102, '    store = TCPStore()' UNION ALL SELECT 103, 'torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients') AS l
WHERE j.job_id <> 'usual1' OR i < 100;
CALL l4.ingest('diagnose_ranks.logs');
UPDATE l4.job SET expected_nodes = 4, settings = CASE WHEN job_id LIKE 'usual_' THEN 'usual' END, status = CASE job_id WHEN 'usual1' THEN 'succeeded' ELSE status END
WHERE job_id IN ('gap', 'unnamed', 'uncollected', 'usual1', 'usual2');
SELECT job_id, answer(job_id) FROM unnest('{gap,unnamed,uncollected}'::text[]) AS j(job_id);
SELECT symptom FROM l4.diagnose('usual2', '{usual1}');
SELECT node, lines FROM l4._case_node WHERE job_id = 'usual2' ORDER BY place;

-- No line tells of the training, but most were struck in a step of it.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'step', 'n' || n, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s', l.line
FROM generate_series(0, 3) AS n
CROSS JOIN LATERAL (VALUES (1, 'INFO:data:building datasets'), (2, 'Traceback (most recent call last):'), (3, '  File "/w/run.py", line 9, in ' || CASE n WHEN 1 THEN 'fetch' ELSE 'backward' END),
    (4, '    go()'), (5, CASE n WHEN 1 THEN 'KeyError: ''text''' ELSE 'RuntimeError: Connection closed by peer' END)) AS l(i, line);
CALL l4.ingest('diagnose_ranks.logs', job_id => 'step');
SELECT answer('step', '{}');

-- Nothing to compare with: all iterations are done, no trouble, and no long silence after the last one.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'alone' || j, node, line_no, CASE WHEN line ~ 'shutting' THEN ts + j * interval '60 s' ELSE ts END, regexp_replace(line, 'shutting down', 'bye')
FROM logs, generate_series(0, 1) AS j WHERE job_id = 'g1';
-- Training was announced, but what failed belongs to the start: then start-up says nothing here either.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'resume', 'n' || n, i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s', l.line
FROM generate_series(0, 3) AS n
CROSS JOIN LATERAL (VALUES (1, 'INFO:train:training starts'), (3, 'Traceback (most recent call last):'),
    (4, '  File "/w/run.py", line 9, in load_checkpoint'), (5, '    go()'), (6, 'RuntimeError: invalid header'), (7, 'INFO:ckpt:reading part 3 of the checkpoint')) AS l(i, line)
WHERE CASE n WHEN 1 THEN i < 7 ELSE i IN (1, 7) END;
CALL l4.ingest('diagnose_ranks.logs');
SELECT job_id, (l4.diagnose(job_id, '{}')).status FROM unnest('{alone0,alone1}'::text[]) AS j(job_id);
SELECT answer('resume', '{g1,g2}');
SELECT example_line FROM l4.suspect_event WHERE job_id = 'resume' ORDER BY rank;

-- Slow from iteration 27 on; 25 is slow by itself, as with a checkpoint. One node is late by less than a tenth of an iteration.
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'slow', 'n' || n, i, max(at) OVER (PARTITION BY n ORDER BY i) + n * interval '1 ms' + CASE WHEN n = 2 AND i >= 27 THEN interval '40 ms' ELSE interval '0' END,
    format('INFO:train:iteration %s/60 | lm loss: 2.5E+00', i)
FROM generate_series(0, 3) AS n, (
    SELECT i, '2026-05-01 10:00:00+00'::timestamptz + sum(CASE WHEN i IN (25, 50) THEN 3.4 WHEN i < 27 THEN 1 ELSE 2.2 + i % 3 * 0.8 END) OVER (ORDER BY i) * interval '1 s' AS at
    FROM generate_series(1, 60) AS i) AS t;
CALL l4.ingest('diagnose_ranks.logs', job_id => 'slow');
SELECT answer('slow', '{}');

-- No line but a few carries a time: what hung is told by words.
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'untimed', node, row_number() OVER (PARTITION BY node ORDER BY line_no, line), line FROM (
    SELECT node, line_no, CASE WHEN line ~ 'RuntimeError' THEN 'ERROR:main:' || regexp_replace(line, '^\[rank.\]: ', '') ELSE regexp_replace(line, '^(\[rank.\]: )INFO:dist:', '\1 2026-05-01 10:00:00,123 INFO:dist:') END AS line
    FROM logs WHERE job_id = 'waited') AS l;
CALL l4.ingest('diagnose_ranks.logs', job_id => 'untimed');
SELECT symptom, coverage ->> 'timed' FROM l4.diagnose('untimed', '{}');
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id IN (SELECT l.job_id FROM logs AS l);
DROP SCHEMA diagnose_ranks CASCADE;
