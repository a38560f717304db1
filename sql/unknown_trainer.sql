-- A trainer and a launcher that no rule knows: progress, stages and statuses by what good jobs print.
\pset format unaligned
CREATE SCHEMA unknown_trainer;
SET search_path = unknown_trainer, public;
\i sql/include/said_by_boxes.sql
-- epochs of 22 steps of 0.1 s, one line every 5 steps, of the last two none; a label that is learnt from a few lines
CREATE PROCEDURE job(job_id text, nodes int, bars bool, upto int DEFAULT 66)
LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. nodes - 1 LOOP
        CALL say(job_id, n, 0, format('Peer[%s] joins a mesh of %s', n, nodes));
        CALL say(job_id, n, 1, format('Peer[%s] loaded 100 samples', n));
        CALL say(job_id, n, 2, format('Peer[%s] weights allocated: 600', n));
        FOR s IN 1 .. upto LOOP
            IF (s - 1) % 22 % 5 = 4 THEN
                CALL say(job_id, n, 3 + 0.1 * s, CASE
                    WHEN bars THEN format('[%s] %s left cost 0.%s', rpad(repeat('=', s / 6), 12), 66 - s, 100 + s * 7 % 800)
                    ELSE format('Peer[%s] pass %s part [%s-%s] cost 0.%s', n, (s - 1) / 22, (s - 1) % 22 - 4, (s - 1) % 22 + 1, 100 + s * 7 % 800) END);
            ELSIF s % 22 = 0 THEN
                CALL say(job_id, n, 3 + 0.1 * s, format('Peer[%s] held out: 0.%s wrong', n, s));
            END IF;
        END LOOP;
        IF upto = 66 THEN
            CALL say(job_id, n, 10, 'the mesh is left');
            CALL say(job_id, n, 11, 'unit stopped (rc=0)');
        END IF;
    END LOOP;
END
$$;
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL job('range-' || size, size, false);
        CALL job('bar-' || size, size, true);
    END LOOP;
END
$$;
-- one process is killed: its launcher's line is known, its status is not
CALL job('range-killed', 4, false, 48);
CALL say('range-killed', 2, 7.85, 'unit stopped (rc=-9)');
-- nothing more is said by any node
CALL job('bar-silent', 4, true, 48);
-- nodes whose logs are cut at different places
CALL job('bar-cut', 4, true, 48);
DELETE FROM logs WHERE job_id = 'bar-cut' AND node = 'box-1' AND line_no > 8;
-- a node that does not get to print what the others do
CALL job('bar-behind', 4, true, 42);
DELETE FROM logs WHERE job_id = 'bar-behind' AND node = 'box-1' AND line ~ ' 24 left';
CALL say('bar-behind', 1, 7.3, 'RuntimeError: 7 is too few');
-- one of the nodes that the others tell of is not there
CALL job('range-missing', 3, false, 0);
UPDATE logs SET line = replace(line, 'mesh of 3', 'mesh of 4') WHERE job_id = 'range-missing';
DELETE FROM logs WHERE job_id = 'range-missing' AND line ~ 'loaded|weights';
DO $$ BEGIN FOR n IN 0 .. 2 LOOP CALL say('range-missing', n, 30, 'TimeoutError: the mesh is not complete'); END LOOP; END $$;
-- fails where good jobs say that the data is loaded, in code that tells nothing
CALL job('range-data', 4, false, 0);
DELETE FROM logs WHERE job_id = 'range-data' AND node = 'box-1' AND line ~ 'loaded|weights';
CALL say('range-data', 1, 1.2, 'ValueError: 7 is too few');
-- fails in a module of the user's
CALL job('range-module', 4, false, 48);
CALL say('range-module', 3, 7.82, 'Traceback (most recent call last):');
CALL say('range-module', 3, 7.82, '  File "/app/evaluation.py", line 8, in run');
CALL say('range-module', 3, 7.82, 'ValueError: 7 is too few');
-- goes through; then those that end last say that another one has left
CALL job('range-left', 4, false);
-- fails alike on all nodes where the line of an evaluation is due
CALL job('range-eval', 4, false, 42);
-- fails in the middle of an epoch, in a file of a checkpoint
CALL job('range-file', 4, false, 34);
DO $$
BEGIN
    FOR n IN 0 .. 3 LOOP
        IF n > 0 THEN
            CALL say('range-left', n, 17, 'nobody answers on port 7');
        END IF;
        CALL say('range-eval', n, 7.42, 'ValueError: 7 is too few');
        CALL say('range-file', n, 6.5, 'OSError: no room for /ckpt/weights-' || n);
    END LOOP;
END
$$;
-- a launcher shows the last line of the start-up, which one node prints, together with the first iteration
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL job('shown-' || size, size, false);
    END LOOP;
END
$$;
CALL job('shown-early', 4, false, 0);
UPDATE logs SET line = 'the plan is written', ts = '2026-05-01 10:00:03.5+00'
WHERE job_id LIKE 'shown-%' AND node = 'box-0' AND line ~ 'weights';
DELETE FROM logs WHERE job_id = 'shown-early' AND line ~ 'plan';
CALL say('shown-early', 1, 2.2, 'ValueError: 7 is too few');
-- slow from the start, and on all nodes alike
CALL job('range-slow', 4, false);
UPDATE logs SET ts = ts + 19 * (ts - '2026-05-01 10:00:03+00') WHERE job_id = 'range-slow' AND ts > '2026-05-01 10:00:03+00';
-- two stalls of 8 s: together longer than the whole job without them
CALL job('range-stalled', 4, false);
UPDATE logs SET ts = ts + interval '8 s' WHERE job_id = 'range-stalled' AND ts > '2026-05-01 10:00:05+00';
UPDATE logs SET ts = ts + interval '8 s' WHERE job_id = 'range-stalled' AND ts > '2026-05-01 10:00:16+00';
-- a process is killed, all begin anew where they left off, and the job gets through: what is said then is not normal
CALL job('plain-3', 3, true);
CALL job('plain-4', 4, true);
CALL job('plain-5', 5, true);
CALL job('plain-again', 4, true, 48);
CALL say('plain-again', 2, 7.85, 'unit stopped (rc=-9)');
DO $$
BEGIN
    FOR n IN 0 .. 3 LOOP
        IF n <> 2 THEN
            CALL say('plain-again', n, 7.9, 'ConnectionResetError: a peer left the mesh');
        END IF;
        CALL say('plain-again', n, 9, 'joins a mesh of 4');
        CALL say('plain-again', n, 10, 'loaded 100 samples');
        CALL say('plain-again', n, 11, 'weights allocated: 600');
    END LOOP;
END
$$;
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'plain-again', l.node, l.line_no + 100, l.ts + interval '5.2 s', l.line
FROM logs AS l WHERE l.job_id = 'plain-4' AND l.ts > '2026-05-01 10:00:07.41+00';
CALL job('plain-reset', 4, true, 48);
DO $$
BEGIN
    FOR n IN 0 .. 2 LOOP
        CALL say('plain-reset', n, 7.9, 'ConnectionResetError: a peer left the mesh');
    END LOOP;
END
$$;
UPDATE logs SET line = regexp_replace(line, '^Peer.[0-9]. ', '') WHERE job_id LIKE 'plain-%';
-- the clock of one node is off, in good jobs too: what it does before its first step is start-up; a job that is ended
-- from outside and started again into the same files counts anew
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL job('anew-' || size, size, false);
    END LOOP;
END
$$;
CALL job('anew-weights', 4, false, 0);
DELETE FROM logs WHERE job_id = 'anew-weights' AND node = 'box-2' AND line ~ 'weights';
CALL say('anew-weights', 2, 1.2, 'ValueError: 7 is too few');
UPDATE logs SET ts = ts + interval '2 s' WHERE job_id LIKE 'anew-%' AND node = 'box-1';
CALL job('anew-again', 4, false, 48);
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'anew-again', l.node, l.line_no + 100, l.ts + interval '60 s', l.line
FROM logs AS l WHERE l.job_id = 'range-4' AND l.ts < '2026-05-01 10:00:05+00';
INSERT INTO logs (job_id, node, line_no, ts, line)
VALUES ('anew-again', 'box-2', 200, '2026-05-01 10:01:05+00', 'ValueError: 7 is too few');
-- what takes longer is printed with another unit: the same bar, and slow
DO $$
BEGIN
    FOR size IN 3 .. 6 LOOP
        FOR n IN 0 .. size - 1 LOOP
            CALL say('rate-' || size, n, 0, 'joins a mesh of ' || size);
            FOR s IN 1 .. 20 LOOP
                CALL say('rate-' || size, n, CASE WHEN size = 6 AND s > 10 THEN 20 * s - 195 ELSE 0.5 * s END, format('fit: %s/20 [%s, cost=0.%s]',
                    5 * s, CASE WHEN size = 6 AND s > 10 THEN '4.0' || s % 7 || 's/it' ELSE '10.' || s % 7 || 'it/s' END, 100 + s * 7));
                -- what is kept of each of them counts as often, but comes later
                CALL say('rate-' || size, n, CASE WHEN size = 6 AND s > 10 THEN 20 * s - 195 ELSE 0.5 * s END, format('copy %s kept at cost 0.%s', s, 100 + s * 7));
            END LOOP;
            CALL say('rate-' || size, n, CASE size WHEN 6 THEN 206 ELSE 11 END, 'the mesh is left');
        END LOOP;
    END LOOP;
END
$$;
UPDATE logs SET job_id = 'rate-slow' WHERE job_id = 'rate-6';
-- bars of epochs on one node: a checkpoint that fails after an evaluation, whose bar is written when all is over; and a
-- job that stands still within an epoch
DO $$
DECLARE
    ends text;
BEGIN
    FOREACH ends IN ARRAY ARRAY['1', '2', '3', 'flushed', 'still'] LOOP
        FOR n IN 0 .. 2 LOOP
            CALL say('lit-' || ends, n, 0, 'joins a mesh of 3');
        END LOOP;
        FOR e IN 0 .. CASE WHEN ends = 'still' THEN 0 WHEN ends = 'flushed' THEN 1 ELSE 2 END LOOP
            CALL say('lit-' || ends, 0, 15 * e + 14, format('Validation DataLoader 0: 100%%|##########| 5/5 [00:01<00:00, 4.0%sit/s]', e));
            CALL say('lit-' || ends, 0, 15 * e + 15, format('Epoch %s: 100%%|##########| 30/30 [00:14<00:00, 2.0%sit/s]', e, e));
        END LOOP;
    END LOOP;
    CALL say('lit-flushed', 0, 30.2, 'Validation DataLoader 0: 100%|##########| 5/5 [00:01<00:00, 4.00it/s]');
    CALL say('lit-flushed', 0, 30.5, 'OSError: [Errno 30] Read-only file system: ''/ckpt/epoch-1.pt''');
    FOR n IN 1 .. 2 LOOP
        CALL say('lit-flushed', n, 37, 'ConnectionResetError: a peer left the mesh');
    END LOOP;
    CALL say('lit-flushed', 0, 37, 'Epoch 1: 100%|##########| 30/30 [00:14<00:00, 2.03it/s]');
    CALL say('lit-still', 0, 90, 'Epoch 1:  40%|####      | 12/30 [00:05<00:08, 2.03it/s]');
END
$$;
-- steps that a rule reads, every 5th printed; one that fails before the second report
DO $$
BEGIN
    FOR n IN 0 .. 2 LOOP
        FOR s IN 1 .. 9 LOOP
            CALL say('fifth-3', n, 2 + s, format('step: %s loss: 2.%s', 5 * s, 10 - s));
            CALL say('fifth-4', n, 2 + s, format('step: %s loss: 2.%s', 5 * s, 10 - s));
        END LOOP;
        CALL say('fifth-3', n, 12, 'unit stopped (rc=0)');
        CALL say('fifth-4', n, 12, 'unit stopped (rc=0)');
        CALL say('fifth-once', n, 3, 'step: 5 loss: 2.9');
        CALL say('fifth-once', n, 3.5, 'ValueError: 7 is too few');
    END LOOP;
END
$$;
-- a node that fails long before the others write has a good clock
DO $$
DECLARE
    n int;
BEGIN
    CALL say('range-early', 1, 19, 'ValueError: 7 is too few');
    FOREACH n IN ARRAY '{0,2,3}'::int[] LOOP
        CALL say('range-early', n, 29.9, format('Peer[%s] joins a mesh of 4', n));
        CALL say('range-early', n, 30, 'TimeoutError: the mesh is not complete');
    END LOOP;
END
$$;
-- one log is cut; one node fails before it prints what the others do
CALL job('range-cut', 4, false);
DELETE FROM logs WHERE job_id = 'range-cut' AND node = 'box-3' AND line !~ 'Peer';
CALL job('range-alone', 4, false, 22);
DELETE FROM logs WHERE job_id = 'range-alone' AND node = 'box-2' AND line ~ 'pass|held';
CALL say('range-alone', 2, 5.1, 'ValueError: 7 is too few');
-- the same where all clocks are off, in a good job that began anew as well
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT l.job_id || '-skewed', l.node, l.line_no, l.ts, l.line FROM logs AS l WHERE l.job_id ~ '^range-[a-z]';
UPDATE logs SET ts = ts + ('{40,0,-25,70}'::int[])[right(node, 1)::int + 1] * interval '1 s'
WHERE job_id ~ '-skewed$' OR job_id = 'plain-again';
CALL l4.ingest('unknown_trainer.logs');
UPDATE l4.job SET settings = 'unknown ' || split_part(job_id, '-', 1), status = CASE WHEN job_id ~ '[0-9]$' OR job_id IN ('plain-again', 'range-stalled') THEN 'succeeded' ELSE 'running' END
WHERE job_id IN (SELECT l.job_id FROM logs AS l);
CREATE TABLE answer AS
SELECT (d).* FROM (SELECT l4.diagnose(j.job_id) AS d FROM l4.job AS j WHERE j.settings LIKE 'unknown%') AS x;
SELECT a.job_id, a.status, a.symptom, a.stage, a.epoch, a.iteration, a.coverage -> 'iteration_between' AS between,
    (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = a.job_id AND s.rank = 1 AND s.is_suspect) AS suspect
FROM answer AS a ORDER BY a.job_id;
SELECT a.job_id, s.example_line FROM answer AS a JOIN l4.suspect_event AS s USING (job_id) ORDER BY a.job_id, s.rank;
SELECT a.job_id, a.summary FROM answer AS a WHERE a.job_id IN ('bar-silent', 'plain-again', 'plain-reset', 'range-early', 'range-alone-skewed',
    'range-missing-skewed') ORDER BY a.job_id;
SELECT count(l4.forget_job(job_id)) AS forgotten FROM answer;
DROP SCHEMA unknown_trainer CASCADE;
