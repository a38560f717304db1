-- Jobs that were started again into the same log: the last attempt tells, of good jobs too.
\pset format unaligned
CREATE SCHEMA attempts;
SET search_path = attempts, public;
\i sql/include/said_by_boxes.sql
-- a trainer that no rule knows: epochs of 22 steps of 0.1 s, one line every 5 steps, of the last two none
CREATE PROCEDURE train(job_id text, nodes int, at float8, upto int DEFAULT 66)
LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. nodes - 1 LOOP
        CALL say(job_id, n, at, format('INFO:peer:joins a mesh of %s', nodes));
        CONTINUE WHEN upto IS NULL;
        CALL say(job_id, n, at + 1, 'INFO:peer:loaded 100 samples');
        CALL say(job_id, n, at + 2, 'INFO:peer:weights allocated: 600');
        FOR s IN 1 .. upto LOOP
            IF (s - 1) % 22 % 5 = 4 THEN
                CALL say(job_id, n, at + 3 + 0.1 * s, format('INFO:peer:pass %s part [%s-%s] cost 0.%s',
                    (s - 1) / 22, (s - 1) % 22 - 4, (s - 1) % 22 + 1, 100 + s * 7 % 800));
            ELSIF s % 22 = 0 THEN
                CALL say(job_id, n, at + 3 + 0.1 * s, format('INFO:peer:held out: 0.%s wrong', s));
            END IF;
        END LOOP;
        IF upto = 66 THEN
            CALL say(job_id, n, at + 10, 'the mesh is left');
            CALL say(job_id, n, at + 11, 'unit stopped (rc=0)');
        END IF;
    END LOOP;
END
$$;
-- all good jobs have two attempts
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL train('peer-' || size, size, 0, 10 * size);
        CALL train('peer-' || size, size, 60);
    END LOOP;
END
$$;
-- what starts it again says so, and that is no crash; the epochs of the first attempt are as long as those of the last
CALL train('peer-crash', 4, 0, 48);
CALL say('peer-crash', 0, 20, 'worker group is gone, restarting: attempt 1 of 3');
CALL train('peer-crash', 4, 60, 30);
CALL say('peer-crash', 2, 66.05, 'ValueError: 7 is too few');
-- fails before its second line, and with other words than those of before on one node at the first moment
CALL train('peer-launch', 4, 0, 48);
CALL train('peer-launch', 4, 60, NULL);
CALL say('peer-launch', 1, 60.5, 'ValueError: 7 is too few');
-- its start-up is over; where an evaluation is due
CALL train('peer-first', 4, 0, 20);
CALL train('peer-first', 4, 60, 0);
CALL say('peer-first', 3, 62.3, 'ValueError: 7 is too few');
CALL train('peer-eval', 4, 0, 48);
CALL train('peer-eval', 4, 60, 42);
DO $$ BEGIN FOR n IN 0 .. 3 LOOP CALL say('peer-eval', n, 67.42, 'ValueError: 7 is too few'); END LOOP; END $$;
-- what comes first comes again when all is over, in good jobs too
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL train('left-' || size, size, 0);
        FOR n IN 0 .. size - 1 LOOP
            CALL say('left-' || size, n, 12, format('INFO:peer:joins a mesh of %s', size - 1));
        END LOOP;
    END LOOP;
    CALL train('left-hang', 4, 0, 48);
    FOR n IN 0 .. 3 LOOP
        CALL say('left-hang', n, 50, 'INFO:peer:joins a mesh of 3');
    END LOOP;
END
$$;
-- numbers that the first attempts of good jobs did not come to
CREATE PROCEDURE shards(job_id text, nodes int, at float8, upto int)
LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. nodes - 1 LOOP
        CALL say(job_id, n, at, 'INFO:peer:joins a mesh');
        CALL say(job_id, n, at + 1, 'INFO:peer:loaded samples');
        FOR s IN 1 .. upto LOOP
            CALL say(job_id, n, at + 2 + 0.1 * s, format('INFO:peer:shard %s costs 0.%s', s, 100 + s * s * 37 % 800));
        END LOOP;
    END LOOP;
END
$$;
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL shards('shard-' || size, size, 0, 8);
        CALL shards('shard-' || size, size, 60, 24);
    END LOOP;
    CALL shards('shard-crash', 4, 0, 12);
    CALL shards('shard-crash', 4, 60, 18);
    CALL say('shard-crash', 1, 63.85, 'ValueError: 7 is too few');
END
$$;
-- a trainer that rules know: epochs that are printed, and begin with the first again
CREATE PROCEDURE epochs(job_id text, nodes int, at float8, upto int)
LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. nodes - 1 LOOP
        CALL say(job_id, n, at, 'trainer 0.1 starts');
        CALL say(job_id, n, at + 0.1, 'rows are loaded');
        CALL say(job_id, n, at + 0.2, 'model is built');
        FOR s IN 1 .. upto LOOP
            CALL say(job_id, n, at + 1 + 0.1 * s, format('step epoch=%s step=%s loss=0.%s', (s + 11) / 12,
                10 * ((s - 1) % 12 + 1), 100 + s));
        END LOOP;
        IF upto = 36 THEN
            CALL say(job_id, n, at + 5, 'trainer is done');
        END IF;
    END LOOP;
END
$$;
DO $$
BEGIN
    FOR size IN 3 .. 5 LOOP
        CALL epochs('printed-' || size, size, 0, 36);
    END LOOP;
    CALL epochs('printed-crash', 4, 0, 20);
    CALL epochs('printed-crash', 4, 60, 8);
    CALL say('printed-crash', 1, 61.85, 'ValueError: 7 is too few');
    -- of attempts that all crash the first one tells
    CALL epochs('printed-retry', 4, 0, 20);
    CALL say('printed-retry', 1, 3.05, 'ValueError: 7 is too few');
    FOR attempt IN 1 .. 3 LOOP
        CALL epochs('printed-retry', 4, 10 * attempt, 12);
        CALL say('printed-retry', 1, 10 * attempt + 3, 'ValueError: 7 is too few');
    END LOOP;
END
$$;
-- measured values without a number that counts
DO $$
BEGIN
    FOR size IN 3 .. 6 LOOP
        FOR attempt IN 0 .. (size = 6)::int LOOP
            FOR n IN 0 .. size - 1 LOOP
                CALL say('bare-' || size, n, 60 * attempt, 'INFO:peer:joins a mesh');
                CALL say('bare-' || size, n, 60 * attempt + 1, 'INFO:peer:loaded samples');
                CALL say('bare-' || size, n, 60 * attempt + 2, 'INFO:peer:weights allocated');
                FOR s IN 1 .. 20 + 7 * (size % 3) LOOP
                    CALL say('bare-' || size, n, 60 * attempt + 3 + 0.1 * s, format('INFO:peer:cost 0.%s', 100 + s * s * 37 % 800));
                END LOOP;
            END LOOP;
        END LOOP;
    END LOOP;
    CALL say('bare-6', 2, 66, 'ValueError: 7 is too few');
END
$$;
-- the same where each attempt has files of its own and the first one ran on another node
INSERT INTO logs
SELECT replace(l.job_id, 'peer', 'moved'), CASE WHEN a.first AND l.node = 'box-2' THEN 'box-9' ELSE l.node END,
    CASE WHEN a.first THEN 'job.out' ELSE 'job.out.1' END, right(l.node, 1)::int, l.line_no, l.ts, l.line
FROM logs AS l CROSS JOIN LATERAL (SELECT l.ts < '2026-05-01 10:01:00+00' AS first) AS a
WHERE l.job_id LIKE 'peer-%';
-- it crashed before: on other nodes the last attempt tells, on the same ones the first
INSERT INTO logs SELECT z.job_id, 'box-1', 'job.out', 1, 1000, '2026-05-01 10:00:09+00', 'ValueError: 8 is too many'
FROM (VALUES ('moved-drained'), ('moved-retry')) AS z(job_id);
INSERT INTO logs
SELECT z.job_id, CASE z.job_id WHEN 'moved-retry' THEN replace(l.node, '9', '2') ELSE l.node END, l.source, l.rank,
    l.line_no, l.ts, l.line
FROM logs AS l CROSS JOIN (VALUES ('moved-drained'), ('moved-retry'), ('moved-hang')) AS z(job_id)
WHERE l.job_id = 'moved-crash' AND l.line NOT LIKE '%restarting%'
    AND NOT (z.job_id = 'moved-hang' AND l.line LIKE 'ValueError%');
-- no rank but what nodes say of themselves, and two nodes say the same of two attempts
INSERT INTO logs
SELECT 'moved-said', l.node, l.source, NULL, l.line_no, l.ts,
    CASE WHEN l.line LIKE '%loaded%' THEN 'this unit has rank ' || l.rank ELSE l.line END
FROM logs AS l WHERE l.job_id = 'moved-crash';
-- no attempts: what began later is no start-up, or one node's, or on other nodes alone
CALL train('moved-stderr', 4, 0, 48);
CALL train('moved-alone', 4, 0, 48);
INSERT INTO logs
SELECT 'moved-stderr', l.node, 'later', NULL, l.line_no, l.ts, 'INFO:peer:no answer since 55 s' FROM logs AS l
WHERE l.job_id = 'peer-crash' AND l.ts >= '2026-05-01 10:01:00+00' AND l.line LIKE '%joins%';
INSERT INTO logs
SELECT 'moved-alone', l.node, 'later', NULL, l.line_no, l.ts, l.line
FROM logs AS l WHERE l.job_id = 'peer-crash' AND l.ts >= '2026-05-01 10:01:00+00' AND l.node = 'box-3';
INSERT INTO logs
SELECT 'moved-late', l.node, '', NULL, l.line_no, l.ts - (l.node = 'box-0')::int * interval '9 s', l.line
FROM logs AS l WHERE l.job_id = 'peer-launch' AND l.ts >= '2026-05-01 10:01:00+00';
CALL l4.ingest('attempts.logs');
UPDATE l4.job SET settings = 'attempts ' || split_part(job_id, '-', 1),
    status = CASE WHEN job_id ~ '[345]$' THEN 'succeeded' ELSE 'running' END
WHERE job_id IN (SELECT l.job_id FROM logs AS l);
SELECT count(*), count(DISTINCT i.ended) FROM l4._iteration AS i WHERE i.job_id = 'printed-crash' AND i.node = 'box-0';
CREATE TABLE answer AS
SELECT (d).* FROM (SELECT l4.diagnose(j.job_id) AS d FROM l4.job AS j WHERE j.settings LIKE 'attempts %') AS x;
SELECT a.job_id, a.status, a.symptom, a.stage, a.epoch, a.iteration, a.coverage -> 'iteration_between' AS between,
    (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = a.job_id AND s.rank = 1 AND s.is_suspect) AS suspect,
    c.attempt_ts - '2026-05-01 10:00:00+00' AS attempt, c.good_since[1] - '2026-05-01 10:00:00+00' AS good
FROM answer AS a JOIN l4._case AS c USING (job_id) ORDER BY a.job_id;
SELECT a.job_id, a.coverage -> 'nodes_expected' AS nodes, a.coverage -> 'nodes_silent' AS silent,
    jsonb_path_query_first(a.coverage, '$.limits[*] ? (@ like_regex "anew")') AS anew
FROM answer AS a WHERE a.job_id LIKE 'moved-%' ORDER BY a.job_id;
SELECT p.node, p.rank FROM l4._case_place AS p WHERE p.job_id = 'moved-said' ORDER BY p.node;
SELECT count(l4.forget_job(job_id)) AS forgotten FROM answer;
DROP SCHEMA attempts CASCADE;
