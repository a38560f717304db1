-- diagnose() on small made jobs: every symptom, odd clocks, few nodes, attempts, and input that is missing or wrong.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
\pset format unaligned
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA diagnose_jobs;
SET search_path = diagnose_jobs;
SELECT l4.create_log_table('diagnose_jobs.logs');
CREATE TABLE said (job_id text, node text, rank int, at float8, line text, place int GENERATED ALWAYS AS IDENTITY);

-- A job that goes well up to an iteration; the last one is followed by the shutdown.
CREATE PROCEDURE job(job_id text, nodes int, first int DEFAULT 1, upto int DEFAULT 40, ms int DEFAULT 1000, begin_at float8 DEFAULT 0)
LANGUAGE sql SET jit = off AS $$
    INSERT INTO said (job_id, node, rank, at, line)
    SELECT job.job_id, 'n' || n, n, begin_at + l.at + n * 0.001, l.line
    FROM generate_series(0, nodes - 1) AS n
    CROSS JOIN LATERAL (
        SELECT 0 AS at, 'INFO:dist:initializing process group for rank ' || n AS line
        UNION ALL SELECT 1, 'INFO:data:building datasets'
        UNION ALL SELECT 2, 'INFO:model:building model'
        UNION ALL SELECT 2.5, 'INFO:train:training starts'
        UNION ALL SELECT 3 + (i - first + 0.6) * ms / 1000.0, format('DEBUG:train:forward step took %s ms', 300 + 7 * i % 5) FROM generate_series(first, upto) AS i
        UNION ALL SELECT 3 + (i - first + 1) * ms / 1000.0, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): %s.%s | lm loss: 2.5E+00', i, ms, i % 7)
        FROM generate_series(first, upto) AS i
        UNION ALL SELECT 3 + i * 5, 'INFO:monitor:heartbeat' FROM generate_series(0, ((upto - first + 1) * ms / 5000)::int) AS i
        UNION ALL SELECT 4 + (upto - first + 1) * ms / 1000.0, 'INFO:train:training finished after 40 iterations' WHERE upto = 40
        UNION ALL SELECT 5 + (upto - first + 1) * ms / 1000.0, 'INFO:train:shutting down' WHERE upto = 40) AS l
    ORDER BY n, l.at;
$$;
CREATE PROCEDURE say(job_id text, node int, at float8, line text)
LANGUAGE sql AS $$ INSERT INTO said (job_id, node, rank, at, line) VALUES (job_id, 'n' || say.node, say.node, at, line); $$;
-- One rank fails, the others lose their connections to it.
CREATE PROCEDURE crash(job_id text, nodes int, bad int, at float8)
LANGUAGE sql AS $$
    INSERT INTO said (job_id, node, rank, at, line)
    SELECT crash.job_id, 'n' || n, n, crash.at + CASE WHEN n = bad THEN 0 ELSE 0.5 + n * 0.01 END,
        CASE WHEN n = bad THEN 'ERROR:train:RuntimeError: CUDA error: an illegal memory access was encountered'
            ELSE 'ERROR:comm:RuntimeError: Connection closed by rank ' || bad END
    FROM generate_series(0, nodes - 1) AS n
$$;
-- What is in the table of logs and in l4 afterwards; times may be left out.
CREATE PROCEDURE ingest(timed bool DEFAULT true) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
    SELECT s.job_id, s.node, '', s.rank, row_number() OVER (PARTITION BY s.job_id, s.node ORDER BY s.at, s.place)
            + coalesce((SELECT max(l.line_no) FROM logs AS l WHERE l.job_id = s.job_id AND l.node = s.node), 0),
        CASE WHEN timed THEN '2026-05-01 10:00:00+00'::timestamptz + s.at * interval '1 s' END, s.line
    FROM said AS s;
    TRUNCATE said;
    CALL l4.ingest('diagnose_jobs.logs');
END
$$;
CREATE FUNCTION answer(job_id text, options jsonb DEFAULT '{}', baseline text[] DEFAULT NULL, method text DEFAULT 'l4') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    d l4.diagnosis;
BEGIN
    d := l4.diagnose(job_id, baseline, method, options => options);
    RETURN format(E'%s, %s, %s, iteration %s, baseline %s\n%s', d.coverage -> 'states', d.symptom, coalesce(d.stage, 'no stage'), coalesce(d.iteration::text, '-'),
        cardinality(d.baseline), d.summary);
END
$$;

-- Two good jobs, and a third one that is healthy beside them.
CALL job('g1', 4);
CALL job('g2', 4);
CALL job('g3', 4);
CALL ingest();
UPDATE l4.job SET settings = 'small', expected_nodes = 4, status = 'succeeded' WHERE job_id LIKE 'g_';
SELECT answer('g3');

-- A crash: node, events and iteration, each with its reasons.
CALL job('crash', 4, upto => 20);
CALL crash('crash', 4, 2, 23.5);
CALL ingest();
UPDATE l4.job SET settings = 'small', status = 'failed' WHERE job_id = 'crash';
SELECT answer('crash');
SELECT rank, node, is_suspect, reasons FROM l4.suspect_node WHERE job_id = 'crash' ORDER BY rank;
SELECT rank, nodes, reasons, example_line FROM l4.suspect_event WHERE job_id = 'crash' ORDER BY rank;
SELECT rank, iteration, reasons FROM l4.suspect_iteration WHERE job_id = 'crash' ORDER BY rank;
SELECT node, kind, round(value::numeric, 3) AS value, weight FROM l4.evidence WHERE job_id = 'crash' AND weight > 0 ORDER BY node, kind;
-- without a baseline, and told so
SELECT answer('crash', baseline => '{}');

-- A job that runs: nothing wrong so far; then it stands still; the same by the clock of whoever asks.
CALL job('run', 4, upto => 15);
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'run';
SELECT answer('run');
SELECT answer('run', '{"as_of": "2026-05-01 10:10:00+00"}');
INSERT INTO said (job_id, node, rank, at, line) SELECT 'run', 'n' || n, n, 18 + 5 * i, 'INFO:monitor:heartbeat' FROM generate_series(0, 3) AS n, generate_series(1, 12) AS i WHERE n <> 1;
CALL ingest();
SELECT answer('run');
SELECT node, reasons FROM l4.suspect_node WHERE job_id = 'run' AND is_suspect;

-- A job that runs and turns slow: rank 3 takes longer in its own step.
CALL job('slow', 4, upto => 12);
CALL job('slow', 4, 13, 30, 5000, 12);
DELETE FROM said WHERE job_id = 'slow' AND line ~ '^INFO:(dist|data|model|train:training)' AND at > 11;
UPDATE said SET line = 'DEBUG:train:forward step took 4300 ms' WHERE job_id = 'slow' AND rank = 3 AND at > 15 AND line LIKE '%forward%';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'slow';
SELECT answer('slow');

-- One node, two nodes.
CALL job('one', 1, upto => 20);
CALL crash('one', 1, 0, 23.5);
CALL job('two', 2, upto => 20);
CALL crash('two', 2, 1, 23.5);
CALL job('alone', 1);
CALL job('pair', 2);
CALL ingest();
UPDATE l4.job SET settings = 'small', expected_nodes = NULL WHERE job_id IN ('one', 'two', 'alone', 'pair');
SELECT answer(j) FROM unnest('{one,two,alone,pair}'::text[]) AS j;
-- Lines without times.
CALL job('untimed', 4, upto => 20);
CALL crash('untimed', 4, 2, 23.5);
CALL job('untimed-good', 4);
CALL ingest(false);
UPDATE l4.job SET settings = 'small' WHERE job_id LIKE 'untimed%';
SELECT answer(j) FROM unnest('{untimed,untimed-good}'::text[]) AS j;

-- Clocks that are off by an hour and by minus a minute: told, set right, and the first error is still the one of rank 2. A job that hangs does not seem
-- to go on for an hour.
CALL job('clock', 4, upto => 20);
CALL crash('clock', 4, 2, 23.5);
UPDATE said SET at = at + CASE node WHEN 'n1' THEN -60 WHEN 'n3' THEN 3600 ELSE 0 END WHERE job_id = 'clock';
CALL job('clock-hang', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'clock-hang', 'n' || n, n, 23 + 5 * i, 'INFO:monitor:heartbeat' FROM generate_series(0, 3) AS n, generate_series(1, 12) AS i;
UPDATE said SET at = at + 3600 WHERE job_id = 'clock-hang' AND node = 'n3';
-- a node that only started late has a good clock
CALL job('late', 4);
UPDATE said SET at = at - 90 WHERE job_id = 'late' AND node <> 'n3' AND line ~ '^INFO:(dist|data|model):';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id ~ '^(clock|late)';
SELECT answer(j) FROM unnest('{clock,clock-hang,late}'::text[]) AS j;
SELECT rank, node, reasons FROM l4.suspect_node WHERE job_id = 'clock' AND is_suspect;

-- A clock that is off by three seconds: told; without that, the accused would seem to have failed last. The same where only one node prints
-- iterations, by the lines that all print.
CALL job('clock-3', 4, upto => 20);
CALL crash('clock-3', 4, 2, 23.5);
UPDATE said SET at = at + 3 WHERE job_id = 'clock-3' AND node = 'n2';
CALL job('clock-lines', 4, upto => 20);
CALL crash('clock-lines', 4, 2, 23.5);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'clock-lines', 'n' || n, n, 1.5 + i * 0.1, 'INFO:dist:group ' || chr(96 + i) || ' is set up' FROM generate_series(0, 3) AS n, generate_series(1, 6) AS i;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'clock-lines', 'n' || n, n, 5 + i, 'DEBUG:train:pass ' || p || ' done' FROM generate_series(0, 3) AS n, generate_series(1, 15) AS i, unnest('{a,b,c,d,e}'::text[]) AS p;
DELETE FROM said WHERE job_id = 'clock-lines' AND node <> 'n0' AND line ~ 'iteration';
UPDATE said SET at = at + 3 WHERE job_id = 'clock-lines' AND node = 'n2';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id ~ '^clock-[3l]';
SELECT job_id, (l4.diagnose(job_id)).coverage -> 'limits' ->> 0 AS limits FROM l4.job WHERE job_id ~ '^clock-[3l]' ORDER BY 1;
SELECT job_id, reasons FROM l4.suspect_node WHERE job_id ~ '^clock-[3l]' AND is_suspect ORDER BY job_id, rank;

-- A job that got through, but the logs of two nodes end early: healthy, and told. One whose logs all end early shows no failure, and accuses nobody.
CALL job('cut', 5);
DELETE FROM said WHERE job_id = 'cut' AND node IN ('n1', 'n4') AND at > 38;
CALL job('cut-all', 4);
DELETE FROM said WHERE job_id = 'cut-all' AND at > 36 - 2 * rank;
-- ranks in the text alone: the stages of a node do not end with the first line that names one
CALL job('no-rank', 4, upto => 20);
CALL crash('no-rank', 4, 2, 23.5);
UPDATE said SET rank = NULL, line = regexp_replace(line, '^([A-Z]+:\w+):', '\1:[rank ' || rank || '] ') WHERE job_id = 'no-rank' AND at > 2.7;
UPDATE said SET rank = NULL WHERE job_id = 'no-rank';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id ~ '^(cut|no-rank)';
SELECT answer(j) FROM unnest('{cut,cut-all,no-rank}'::text[]) AS j;
SELECT count(*) FILTER (WHERE is_suspect) AS accused FROM l4.suspect_node WHERE job_id ~ '^cut';
SELECT stage, count(*) FROM l4.stage_span WHERE job_id = 'no-rank' GROUP BY 1 ORDER BY 1;

-- A hang whose last progress lines, kept in a buffer, are written when the processes are ended; without a crash report.
CALL job('flushed', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line)
SELECT 'flushed', 'n' || n, n, 69 + i + n * 0.01, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.3 | lm loss: 2.5E+00', i) FROM generate_series(0, 3) AS n, generate_series(21, 22) AS i;
-- all processes are told to end, and some of them say that they shut down
CALL job('told', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'told', 'n' || n, n, 22.9996 + n * 0.01, 'WARNING:agent:Received 15 death signal, shutting down workers' FROM generate_series(0, 3) AS n;
-- training was announced, but the state is still being loaded
CALL job('start', 4, upto => 0);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'start', 'n2', 2, 4 + p * 0.0001, l
FROM unnest(ARRAY['Traceback (most recent call last):', '  File "run.py", line 9, in main', '    train()', '  File "run.py", line 7, in train', '    load_optimizer(path)',
    '  File "run.py", line 5, in load_optimizer', '    torch.load(path)', 'RuntimeError: unexpected end of file']) WITH ORDINALITY AS u(l, p);
-- slower by a factor that is small, but stays: the beginning counts, not the first outlier
CALL job('mild', 4, upto => 16);
CALL job('mild', 4, 17, 40, 2400, begin_at => 16);
DELETE FROM said WHERE job_id = 'mild' AND at > 15.9 AND line ~ 'process group|building|training starts';
UPDATE said SET at = at + 1.5 WHERE job_id = 'mild' AND at > 70;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('flushed', 'told', 'start', 'mild');
SELECT answer(j) FROM unnest('{flushed,told,start,mild}'::text[]) AS j;

-- What comes every ten iterations is not listed; what comes once, on one node, is.
CALL job('routine', 4, upto => 35);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'routine', 'n' || n, n, i + 2.1 + p * 0.01, 'INFO:save:shard ' || p || ' is written'
FROM generate_series(0, 3) AS n, unnest('{15,25,35}'::int[]) AS i, generate_series(1, 6) AS p;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'routine', 'n1', 1, 22.1 + p * 0.01, 'WARNING:data:shard ' || p || ' is read again' FROM generate_series(1, 40) AS p;
CALL crash('routine', 4, 2, 38.5);
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'routine';
SELECT symptom FROM l4.diagnose('routine');
SELECT rank, iteration, node, reasons FROM l4.suspect_iteration WHERE job_id = 'routine' ORDER BY rank;
SELECT iteration FROM l4._deviating_sequences('routine') WHERE node = 'n0' ORDER BY 1;

-- Lines out of order: each node's lines arrive late by up to two seconds, in any order.
CALL job('shuffled', 4, upto => 20);
CALL crash('shuffled', 4, 2, 23.5);
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT s.job_id, s.node, '', s.rank, row_number() OVER (PARTITION BY s.node ORDER BY s.at + (s.place * 7919 % 20) / 10.0), '2026-05-01 10:00:00+00'::timestamptz + s.at * interval '1 s', s.line
FROM said AS s;
TRUNCATE said;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'shuffled';
SELECT answer('shuffled');

-- Iterations start again at a checkpoint after a crash; the second attempt gets through, or crashes elsewhere.
CALL job('again', 4, upto => 20);
CALL crash('again', 4, 2, 23.5);
CALL job('again', 4, 11, 40, begin_at => 60);
CALL job('twice', 4, upto => 20);
CALL crash('twice', 4, 2, 23.5);
CALL job('twice', 4, 11, 30, begin_at => 60);
CALL crash('twice', 4, 1, 83.5);
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('again', 'twice');
SELECT answer(j) FROM unnest('{again,twice}'::text[]) AS j;

-- What was ended from outside and started again, into the same files, is judged by what came then: a failure to start,
-- a crash at an earlier iteration.
CALL job('restarted', 4, upto => 20);
CALL job('restarted', 4, upto => 0, begin_at => 60);
DELETE FROM said WHERE at > 62.1;
CALL say('restarted', 2, 62.3, 'ERROR:model:FileNotFoundError: no such file: /data/shape-3');
CALL job('repeated', 4, upto => 20);
CALL job('repeated', 4, upto => 8, begin_at => 60);
CALL crash('repeated', 4, 1, 71.5);
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('restarted', 'repeated');
SELECT answer(j) FROM unnest('{restarted,repeated}'::text[]) AS j;

-- A baseline job that was a failure in truth is left out, also when it is the only one.
CALL job('g4', 4, upto => 25);
CALL crash('g4', 4, 3, 28.5);
CALL ingest();
UPDATE l4.job SET settings = 'small', status = 'succeeded' WHERE job_id = 'g4';
SELECT answer('crash');
SELECT answer('crash', baseline => '{g4}');
UPDATE l4.job SET status = 'failed' WHERE job_id = 'g4';

-- A job without lines, and one without nodes to expect.
INSERT INTO l4.job (job_id, settings, expected_nodes) VALUES ('empty', 'small', 4);
SELECT answer('empty');
-- A node that was expected and never wrote.
CALL job('absent', 4, upto => 0);
DELETE FROM said WHERE node = 'n2' OR line ~ 'training starts';
INSERT INTO said (job_id, node, rank, at, line) SELECT 'absent', 'n' || n, n, 100, 'ERROR:dist:TimeoutError: timed out waiting for all ranks to join' FROM unnest('{0,1,3}'::int[]) AS n;
CALL ingest();
UPDATE l4.job SET settings = 'small', expected_nodes = 4 WHERE job_id = 'absent';
SELECT answer('absent');

-- One node that wrote alone tells neither how the others are called nor that they are to blame.
CALL say('lonely', 2, 60, 'ERROR:dist:TimeoutError: timed out waiting for all ranks to join');
UPDATE said SET rank = 4;
CALL ingest();
UPDATE l4.job SET settings = 'small', expected_nodes = 8 WHERE job_id = 'lonely';
SELECT answer('lonely');

-- Only every fifth iteration is printed: the time since tells which one was in flight; where the next line is overdue, the middle.
CALL job('sparse', 4, upto => 30);
CALL crash('sparse', 4, 1, 34.5);
CALL job('overdue', 4, upto => 30);
CALL crash('overdue', 4, 1, 39.5);
DELETE FROM said WHERE job_id IN ('sparse', 'overdue') AND substring(line FROM 'iteration (\d+)/')::int % 5 <> 0;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('sparse', 'overdue');
SELECT iteration FROM l4.diagnose('sparse');
SELECT symptom, iteration FROM l4.diagnose('overdue');

-- Jobs and nodes of any name.
CALL job(E'odd "job''s"; $1 %s \\ é', 3, upto => 20);
CALL crash(E'odd "job''s"; $1 %s \\ é', 3, 1, 23.5);
UPDATE said SET node = E'a/b "' || rank || E'''; (.*) \\1 %s é' WHERE job_id LIKE 'odd%';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id LIKE 'odd%';
SELECT answer(job_id) FROM l4.job WHERE job_id LIKE 'odd%';

-- Known effects rank below their causes: the library says that one fault leads to the other.
CALL job('effect', 4, upto => 20);
CALL say('effect', 1, 23.2, 'ERROR:io:StreamError: nothing left to read');
CALL say('effect', 1, 23.4, 'ERROR:io:FluxError: the flux gate is stuck');
CALL say('effect', 3, 23.5, 'ERROR:io:FluxError: the flux gate is stuck');
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'effect';
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy)
SELECT n, 'hardware', 'storage', s::l4.pcre, 'made up', 'none' FROM (VALUES ('made_flux', 'flux gate is stuck'), ('made_stream', 'nothing left to read')) AS v(n, s);
SELECT answer('effect');
SELECT rank, round(score::numeric, 2) AS score, example_line FROM l4.suspect_event WHERE job_id = 'effect' ORDER BY rank;
UPDATE l4.fault SET leads_to = '{made_stream}' WHERE name = 'made_flux';
SELECT symptom FROM l4.diagnose('effect');
SELECT rank, round(score::numeric, 2) AS score, reasons[array_upper(reasons, 1)] AS last_reason, example_line FROM l4.suspect_event WHERE job_id = 'effect' ORDER BY rank;
DELETE FROM l4.fault WHERE name LIKE 'made%';

-- What proves the cause as well is no effect of it: data is damaged on one node, and the error that tells so.
CALL job('proof', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'proof', 'n1', 1, 23.2, l
FROM unnest(ARRAY['Traceback (most recent call last):', '  File "run.py", line 7, in batch', '    json.loads(row)', '  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads',
    '    return _default_decoder.decode(s)', 'json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 10 (char 9)']) AS u(l);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'proof', 'n' || n, n, 23.4 + n * 0.01, 'ERROR:comm:RuntimeError: Connection closed by peer' FROM unnest('{0,2,3}'::int[]) AS n;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'proof';
SELECT symptom FROM l4.diagnose('proof');
SELECT fault_name, caused_by FROM l4.fault_match WHERE job_id = 'proof' ORDER BY rank;
SELECT rank, reasons, example_line FROM l4.suspect_event WHERE job_id = 'proof' ORDER BY rank;

-- The paper's steps alone rank the node with the most new lines first, ours the one that is named.
CALL job('paper', 6, upto => 20);
INSERT INTO said (job_id, node, rank, at, line)
SELECT 'paper', 'n0', 0, 23.6 + i * 0.01, 'WARNING:comm:retry ' || i || ' of the barrier, still waiting for rank 4' FROM generate_series(1, 30) AS i;
INSERT INTO said (job_id, node, rank, at, line)
SELECT 'paper', 'n' || n, n, 38, 'ERROR:comm:RuntimeError: timed out waiting for a message from rank 4' FROM generate_series(0, 5) AS n WHERE n <> 4;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id = 'paper';
SELECT answer('paper');
SELECT bool_or(is_suspect) FILTER (WHERE node = 'n0') AS accuses_who_complains, max(iforest_score) = max(score) AS by_forest FROM l4.suspect_node WHERE job_id = 'paper';
SELECT symptom FROM l4.diagnose('paper', method => 'paper');
SELECT bool_or(is_suspect) FILTER (WHERE node = 'n0') AS accuses_who_complains, max(iforest_score) = max(score) AS by_forest FROM l4.suspect_node WHERE job_id = 'paper';
SELECT parameters ->> 'method' AS method FROM l4.diagnosis WHERE job_id = 'paper';

-- many nodes of few lines, after the planner has seen small jobs only
ANALYZE l4._case, l4._case_place, l4._case_iteration, l4._case_event, l4._case_count, l4._case_edge;
INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'wide', 'w' || lpad(n::text, 4, '0'), '', n, i, '2026-05-01 12:00:00+00'::timestamptz + i * interval '1 s',
    CASE WHEN i < 4 THEN format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7)
        WHEN n = 77 THEN 'ERROR:train:RuntimeError: CUDA error: an illegal memory access was encountered'
        ELSE 'ERROR:comm:RuntimeError: Connection closed by rank 77' END
FROM generate_series(0, 4095) AS n, generate_series(1, 4) AS i;
CALL l4.ingest('logs', job_id => 'wide');
UPDATE l4.job SET settings = 'small' WHERE job_id = 'wide';
SELECT symptom FROM l4.diagnose('wide', baseline => '{}');
SELECT node FROM l4.suspect_node WHERE job_id = 'wide' AND rank = 1;

-- Whose address it is: nodes print their own at the start. Not believed is a line that prints the neighbour's: a node would complain about itself.
CALL job('own-address', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'own-address', 'n' || n, n, 0.5, 'INFO:dist:this is 10.9.' || (n * 89 + 31) % 97 || '.' || (n * 53 + 7) % 101 FROM generate_series(0, 3) AS n;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'own-address', 'n' || n, n, 23.5 + n * 0.01, 'ERROR:comm:RuntimeError: Connection closed by peer [10.9.15.12]:4711' FROM unnest('{0,1,3}'::int[]) AS n;
CALL job('neighbour', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'neighbour', 'n' || (n + 3) % 4, (n + 3) % 4, 0.5, 'INFO:dist:next is 10.9.' || (n * 89 + 31) % 97 || '.' || (n * 53 + 7) % 101 FROM generate_series(0, 3) AS n;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'neighbour', 'n' || n, n, 23.5 + n * 0.01, 'ERROR:comm:RuntimeError: Connection closed by peer [10.9.15.12]:4711' FROM unnest('{0,1,3}'::int[]) AS n;
-- names of hosts spell their addresses, which do not count up with the ranks
CALL job('spelled', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'spelled', 'n' || n, n, 23.5 + n * 0.01, 'ERROR:comm:RuntimeError: Connection closed by peer [10.9.7.59]:4711' FROM unnest('{0,1,3}'::int[]) AS n;
UPDATE said SET node = 'ip-10-9-7-' || (rank * 89 + 72) % 191 WHERE job_id = 'spelled';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('own-address', 'neighbour', 'spelled');
SELECT answer(j) FROM unnest('{own-address,neighbour,spelled}'::text[]) AS j;
SELECT j, b.* FROM unnest('{own-address,neighbour,spelled}'::text[]) AS j CROSS JOIN LATERAL l4.address_book(j) AS b ORDER BY j, b.node;

-- Only the node that prints iterations ends as in good jobs; the others end with whatever came last.
CALL job('few-words', 4);
DELETE FROM said WHERE job_id = 'few-words' AND node <> 'n0' AND (line ~ 'iteration' OR at > 20);
-- What failed in training began anew, and did not get through the start: the first crash tells where it happened.
CALL job('anew', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'anew', 'n2', 2, 23.5 + 60 * a + p * 0.0001, l
FROM (VALUES (0, ARRAY['Traceback (most recent call last):', '  File "run.py", line 7, in run', '    read(row)', 'KeyError: no such row']),
    (1, ARRAY['Traceback (most recent call last):', '  File "run.py", line 3, in init_process_group', '    connect(store)', 'ConnectionError: the store is gone'])) AS v(a, u)
CROSS JOIN LATERAL unnest(v.u) WITH ORDINALITY AS x(l, p);
-- "nan" where others have a number; that the launcher's node ended after it had crashed as all did is no news.
CALL job('nan', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'nan', 'n' || n, n, 23.5 + n * 0.01, 'ERROR:train:ArithmeticError: mean loss is not finite in this batch, its own was ' || CASE n WHEN 2 THEN 'nan' ELSE '2.' || 31 + n END FROM generate_series(0, 3) AS n;
CALL say('nan', 0, 24, 'INFO:launcher:Exit code: 1');
-- A launcher names a rank without calling it one.
CALL job('process-name', 4, upto => 20);
CALL say('process-name', 0, 23.5, 'INFO:launcher:Process name: 2');
CALL say('process-name', 0, 23.5, 'INFO:launcher:Exit code: 137');
-- All crash as one does that cannot say so; who reports that all others are gone by then is not the odd one.
CALL job('reporter', 6, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'reporter', 'n' || n, n, 23.5 + n * 0.01, 'ERROR:train:RuntimeError: a peer closed its connection' FROM generate_series(0, 5) AS n;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'reporter', 'n' || n, n, 24, 'ERROR:agent:worker has exit code ' || CASE n WHEN 3 THEN -9 ELSE 1 END FROM generate_series(0, 5) AS n;
INSERT INTO said (job_id, node, rank, at, line) SELECT 'reporter', 'n0', 0, 30 + n, format('WARNING:monitor:no heartbeat from rank %s', n) FROM generate_series(1, 5) AS n;
-- How a process of its own ended is told of the node that says so, whomever else it names.
CALL job('own-end', 4, upto => 20);
INSERT INTO said (job_id, node, rank, at, line) SELECT 'own-end', 'n' || n, n, 23.5, 'ERROR:train:RuntimeError: Connection reset by rank ' || (n + 1) % 4 FROM unnest('{1,2}'::int[]) AS n;
CALL say('own-end', 2, 23.6, 'srun: error: host-02: task 5: Killed');
UPDATE said SET node = 'host-0' || rank WHERE job_id = 'own-end';
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('few-words', 'anew', 'nan', 'process-name', 'reporter', 'own-end');
SELECT answer(j) FROM unnest('{few-words,anew,nan,process-name,reporter}'::text[]) AS j;
SELECT symptom FROM l4.diagnose('own-end');
SELECT node, detail FROM l4.evidence_unique('own-end') ORDER BY node;

-- A node that wrote nothing yet, when nodes of good jobs write nothing either.
CALL job('late-words', 4);
DELETE FROM said WHERE job_id = 'late-words' AND node <> 'n0' AND at < 20;
CALL job('no-word', 4, upto => 0);
DELETE FROM said WHERE job_id = 'no-word' AND (node <> 'n0' OR line ~ 'training starts');
INSERT INTO said (job_id, node, rank, at, line) SELECT 'no-word', 'n' || n, n, 3 + n * 0.01, 'ERROR:dist:RuntimeError: ' || CASE n WHEN 1 THEN 'four ranks are too few' ELSE 'a peer closed its connection' END FROM unnest('{0,1,3}'::int[]) AS n;
CALL ingest();
UPDATE l4.job SET settings = 'late words', expected_nodes = 4, status = CASE job_id WHEN 'late-words' THEN 'succeeded' ELSE 'failed' END WHERE job_id IN ('late-words', 'no-word');
SELECT answer('no-word');

-- Of two ranks on each node one may complain about the other, and that a log ends says less than a crash: the one between the others. Where several
-- nodes fit, it is none.
INSERT INTO said (job_id, node, rank, at, line)
SELECT j, 'n' || r / 2, r, i, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) FROM unnest('{between,any}'::text[]) AS j, generate_series(0, 7) AS r, generate_series(1, 20) AS i;
INSERT INTO said (job_id, node, rank, at, line)
SELECT j, 'n' || r / 2, r, 20.5 + r * 0.01, 'ERROR:comm:RuntimeError: Connection closed by peer [10.9.15.12]:4711' FROM (VALUES ('between', '{3,4,6}'::int[]), ('any', '{0,7}')) AS v(j, ranks), unnest(v.ranks) AS r;
CALL ingest();
UPDATE l4.job SET settings = 'small' WHERE job_id IN ('between', 'any');
SELECT count(l4.diagnose(j)) FROM unnest('{between,any}'::text[]) AS j;
SELECT j, b.* FROM unnest('{between,any}'::text[]) AS j LEFT JOIN LATERAL l4.address_book(j) AS b ON true ORDER BY j;

-- two ranks take turns in one log, and the report of one is still open at its end
INSERT INTO logs (job_id, node, source, line_no, ts, line)
SELECT 'turns', 'n0', '', i, '2026-05-01 12:00:00+00', l FROM unnest(ARRAY['[rank0]: Traceback (most recent call last):', '[rank1]: Traceback (most recent call last):',
    '[rank0]:   File "a.py", line 1, in f', '[rank1]:   File "a.py", line 1, in f', '[rank0]: ValueError: x', '[rank1]:   File "b.py", line 2, in g']) WITH ORDINALITY AS u(l, i);
CALL l4.ingest('logs', job_id => 'turns');
UPDATE l4.job SET settings = 'small' WHERE job_id = 'turns';
SELECT e.line_no, e.rank, t.template FROM l4.event_line AS e JOIN l4.template AS t USING (event_id) WHERE e.job_id = 'turns' ORDER BY 1;

SELECT count(l4.forget_job(job_id)) > 20 AS forgotten FROM l4.job WHERE settings IN ('small', 'late words');
DROP SCHEMA diagnose_jobs CASCADE;
