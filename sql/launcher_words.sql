-- What launchers say of how processes ended, and what stands in where nobody says why: causes of jobs of four nodes.
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA launcher_words;
SET search_path = launcher_words;
SELECT l4.create_log_table('launcher_words.logs');
CREATE TABLE said (job_id text, node text, at float8, line text, place int GENERATED ALWAYS AS IDENTITY);
CREATE PROCEDURE say(job_id text, node int, at float8, line text)
LANGUAGE sql AS $$ INSERT INTO said (job_id, node, at, line) VALUES (job_id, 'box-' || node, at, line) $$;
CREATE PROCEDURE job(job_id text, upto int, nodes int DEFAULT 4, leader text DEFAULT 'box-0')
LANGUAGE sql AS $$
    INSERT INTO said (job_id, node, at, line)
    SELECT job.job_id, CASE n WHEN 0 THEN leader ELSE 'box-' || n - (leader <> 'box-0')::int END, l.at + n * 0.001, l.line
    FROM generate_series(0, nodes - 1) AS n
    CROSS JOIN LATERAL (
        SELECT 0 AS at, 'INFO joining' AS line
        UNION ALL SELECT 1, 'INFO training starts' WHERE upto > 0
        UNION ALL SELECT 1 + i, format('INFO iteration %s/20 loss 2.%s', i, i * 7 % 10) FROM generate_series(1, upto) AS i
        UNION ALL SELECT 21.1, 'fit ██████ 20/20' WHERE upto = 20
        UNION ALL SELECT 22, 'INFO shutting down' WHERE upto = 20
        UNION ALL SELECT 23, 'host exited with error code 0' WHERE upto = 20) AS l
$$;
CALL job('good-1', 20);
CALL job('good-2', 20);
CALL job('good-3', 20);
-- told to end
CALL job('stopped', 9);
CALL say('stopped', 0, 10.2, 'slurmstepd: error: *** STEP 7.0 ON box-0 CANCELLED AT 2026-05-01T10:00:10 ***');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('stopped', n, 10.3, 'ERROR SIGTERM received by the trainer'); END LOOP; END $$;
-- who was told to end falls silent, and the others lose it; who was not told fell silent before
CALL job('told', 9);
CALL say('told', 1, 10.2, 'WARNING Received 15 death signal, shutting down workers');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP IF n <> 1 THEN CALL say('told', n, 10.3, 'ERROR RuntimeError: Connection closed by peer'); END IF; END LOOP; END $$;
CALL job('untold', 9);
CALL say('untold', 1, 10.2, 'WARNING Received 15 death signal, shutting down workers');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP IF n <> 2 THEN CALL say('untold', n, 10.3, 'ERROR RuntimeError: Connection closed by peer'); END IF; END LOOP; END $$;
-- the step is cancelled because a task was killed, as the launcher on another node says
CALL job('killed', 9);
CALL say('killed', 0, 10.2, 'srun: error: box-2: task 2: Killed');
CALL say('killed', 0, 10.3, 'slurmstepd: error: *** STEP 7.0 ON box-0 CANCELLED AT 2026-05-01T10:00:10 ***');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP IF n <> 2 THEN CALL say('killed', n, 10.25, 'ERROR the ring of gradients is open'); END IF; END LOOP; END $$;
-- one that did not end when it was told to is killed later
CALL job('late', 9);
CALL say('late', 1, 10.2, 'ERROR RuntimeError: no such option: depht');
CALL say('late', 0, 10.3, 'slurmstepd: error: *** STEP 7.0 ON box-0 CANCELLED AT 2026-05-01T10:00:10 ***');
CALL say('late', 0, 18, 'srun: error: box-3: task 3: Killed');
-- the launcher names who ended, and right after it all others
CALL job('report', 9);
CALL say('report', 0, 10.2, 'one of the processes ended in a bad way');
CALL say('report', 0, 10.2, 'it ran at box-2 with status 9 as the trainer');
CALL say('report', 0, 10.25, 'box-1: the daemon gives up since its stream was closed');
CALL say('report', 0, 10.25, 'box-3: the daemon gives up since its stream was closed');
-- a status that tells of a signal
CALL job('status', 9);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP
    IF n <> 3 THEN CALL say('status', n, 10.25, 'ERROR RuntimeError: the ring of gradients is open'); END IF;
    CALL say('status', n, 10.3, 'host exited with error code ' || CASE n WHEN 3 THEN 137 ELSE 1 END);
END LOOP; END $$;
-- the launcher's line with the statuses of all is no crash of most
CALL job('crashed', 9);
CALL say('crashed', 2, 10.2, 'run.sh: line 6: 9926 Segmentation fault      python3 train.py');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP
    IF n <> 2 THEN CALL say('crashed', n, 10.25, 'ERROR RuntimeError: Connection closed by peer'); END IF;
    CALL say('crashed', n, 10.3, 'host exited with error code ' || CASE n WHEN 2 THEN 139 ELSE 1 END);
END LOOP; END $$;
-- a file that is not there: a path of the user at the start, a checkpoint that was there, a file that one node lost, or that nobody has
CALL job('path', 0);
CALL job('checkpoint', 0);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP
    CALL say('path', n, 1, 'ERROR cannot open /etc/run.yaml: No such file or directory');
    CALL say('checkpoint', n, 1, 'INFO loading checkpoint /ckpt/step-9');
    CALL say('checkpoint', n, 2, 'ERROR cannot open /ckpt/step-9: No such file or directory');
END LOOP; END $$;
CALL job('lost', 9);
CALL say('lost', 1, 10.2, 'ERROR cannot open /data/part-3: No such file or directory');
CALL job('moved', 9);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('moved', n, 10.2, 'ERROR cannot open /data/part-3: No such file or directory'); END LOOP; END $$;
-- the last words before the end have no level
CALL job('words', 9);
CALL say('words', 1, 10.2, 'table of merges is not sorted');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('words', n, 10.3 + n * 0.01, 'unit: main process exited, code=exited, status=1/FAILURE'); END LOOP; END $$;
-- nobody says a word
CALL job('still', 9);
-- a leader and two workers wait for a third
CALL job('joined', 0, 3, 'chief-0');
DO $$ BEGIN FOR n IN 0 .. 1 LOOP CALL say('joined', n, 60, 'ERROR gave up: 3/4 workers joined'); END LOOP; END $$;
CALL job('good-4', 20, 3);
-- nobody comes to train
CALL job('unmet', 0);
-- a launcher on a node of its own does not lack what all nodes report
CALL job('told-by', 9);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP
    CALL say('told-by', n, 10.2, 'ERROR ValueError: 7 is too few');
    CALL say('told-by', 9, 10.3 + n * 0.1, format('launcher: box-%s: exited with error code 1', n));
END LOOP; END $$;
-- nor does it where it says nothing of them
CALL job('apart', 9);
CALL say('apart', 9, 0, 'INFO the queue has given 4 hosts');
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('apart', n, 10.2, 'ERROR ValueError: 7 is too few'); END LOOP; END $$;
-- nothing is left to train; a function that is not written in Python has no frame, and a bar that
-- differs by its signs is no news
CALL job('after', 20);
DELETE FROM said WHERE job_id = 'after' AND line ~ 'shutting|exited';
CALL say('after', 2, 21.2, 'Traceback (most recent call last):');
CALL say('after', 2, 21.2, '  File "/app/fit.py", line 9, in fit');
CALL say('after', 2, 21.2, 'ValueError: 7 is too few');
CALL job('native', 9);
CALL say('native', 0, 10.1, 'fit ██▊░░░ 9/20');
CALL say('native', 1, 10.2, 'Traceback (most recent call last):');
CALL say('native', 1, 10.2, '  File "/app/fit.py", line 9, in fit');
CALL say('native', 1, 10.2, '    store.save_weights(path)');
CALL say('native', 1, 10.2, 'RuntimeError: [write] Unable to write 2809 bytes to file.');
-- one text for all ends: who was killed, and who was told to end for it
CALL job('signals', 9, 16);
CALL say('signals', 2, 10.2, 'rank 2 died from signal 9');
CALL say('signals', 3, 10.6, 'rank 3 died from signal 15');
CALL say('signals', 0, 10.6, 'launcher ended with 137');
-- the scheduler ends a job that was slow, or that stood still
CALL job('limit', 9);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP FOR i IN 10 .. 15 LOOP
    CALL say('limit', n, 10 + 6 * (i - 9), format('INFO iteration %s/20 loss 2.1', i));
END LOOP; END LOOP; END $$;
CALL say('limit', 0, 48, '=>> PBS: job killed: walltime 48 exceeded limit 45');
CALL say('limit', 1, 48.1, 'rank 1 died from signal 15');
CALL job('still-limit', 9);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('still-limit', n, 40, 'WARNING the ring of gradients is open'); END LOOP; END $$;
CALL say('still-limit', 0, 100, '=>> PBS: job killed: walltime 100 exceeded limit 97');
-- good jobs whose start-up tells no stage: all but one get through it, one never came, and a line names it
INSERT INTO said (job_id, node, at, line)
SELECT replace(s.job_id, 'good', 'good-mute'), 'x' || right(s.node, 1) || 'c7n3', s.at,
    replace(s.line, 'training starts', 'the ring is closed')
FROM said AS s WHERE s.job_id IN ('good-1', 'good-2') ORDER BY s.place;
INSERT INTO said (job_id, node, at, line)
SELECT j, s.node, s.at, s.line
FROM said AS s CROSS JOIN unnest('{mute-port,mute-absent}'::text[]) AS j
WHERE s.job_id = 'good-mute-1' AND s.at < 2 AND NOT (s.node = 'x2c7n3' AND (j = 'mute-absent' OR s.at > 1)) ORDER BY s.place;
INSERT INTO said (job_id, node, at, line) VALUES
    ('mute-port', 'x2c7n3', 0.5, 'OSError: [Errno 98] Address already in use'),
    ('mute-port', 'x0c7n3', 3, 'launcher ended with 1'),
    ('mute-absent', 'x1c7n3', 3, 'cannot forward the start to x2c7n3.cluster.example: no answer'),
    ('mute-absent', 'x0c7n3', 3.1, 'ERROR gave up: 3/4 workers joined');
-- a job on as many nodes as good ones had lacks none, although they all had one that it has not
INSERT INTO said (job_id, node, at, line)
SELECT replace(s.job_id, 'good', 'good-mute-other'), translate(s.node, CASE s.job_id WHEN 'good-2' THEN '3' ELSE '' END, '4'), s.at,
    replace(s.line, 'training starts', 'the ring is closed')
FROM said AS s WHERE s.job_id IN ('good-1', 'good-2') ORDER BY s.place;
INSERT INTO said (job_id, node, at, line)
SELECT 'mute-other', 'box-' || n, 0, 'INFO joining' FROM generate_series(1, 4) AS n;
CALL say('mute-other', 2, 0.5, 'OSError: [Errno 98] Address already in use');
INSERT INTO logs (job_id, node, source, line_no, ts, line)
SELECT s.job_id, s.node, '', row_number() OVER (PARTITION BY s.job_id, s.node ORDER BY s.at, s.place),
    '2026-05-01 10:00:00+00'::timestamptz + s.at * interval '1 s', s.line
FROM said AS s;
CALL l4.ingest('launcher_words.logs');
UPDATE l4.job SET settings = CASE WHEN job_id ~ 'other' THEN 'other' WHEN job_id ~ 'mute' THEN 'mute' ELSE 'launcher_words' END, status = CASE WHEN job_id LIKE 'good%' THEN 'succeeded' ELSE 'failed' END
WHERE job_id IN (SELECT s.job_id FROM said AS s);
SELECT l4.diagnose(j) IS NULL FROM unnest('{stopped,told,untold,killed,late,report,status,crashed,path,checkpoint,lost,moved,words,still,joined,unmet,told-by,apart,after,native,signals,limit,still-limit,mute-port,mute-absent,mute-other}'::text[]) AS j;
SELECT d.job_id, d.symptom, d.stage, d.category, d.component, d.cause,
    (SELECT string_agg(n.node || ' ' || round(n.score::numeric, 2), ', ' ORDER BY n.rank) FROM l4.suspect_node AS n
     WHERE n.job_id = d.job_id AND n.score > 0)
FROM l4.diagnosis AS d WHERE d.job_id IN (SELECT s.job_id FROM said AS s) ORDER BY d.job_id;
-- the remedy is that of the cause; where none is stated, what may be behind it
SELECT d.job_id, b.value FROM l4.diagnosis AS d CROSS JOIN LATERAL l4._report_brief(d.job_id) AS b
WHERE d.job_id IN ('crashed', 'path') AND b.label = 'do now' ORDER BY 1;
SELECT l4.forget_job(j) IS NULL FROM (SELECT DISTINCT s.job_id FROM said AS s ORDER BY 1) AS s(j);
SET client_min_messages = warning;
DROP SCHEMA launcher_words CASCADE;
