-- A node that leads the others, neither the first nor the last one: it alone prints what counts, and announces it.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA leader;
SET search_path = leader;
SELECT l4.create_log_table('leader.logs');
-- what nodes say, each of one letter
CREATE PROCEDURE say(job_id text, nodes text, at float8, line text)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, line_no, ts, line)
    SELECT say.job_id, n.node, 1 + (SELECT count(*) FROM logs AS l WHERE l.job_id = say.job_id AND l.node = n.node),
        '2026-05-01 10:00:00+00'::timestamptz + say.at * interval '1 s', say.line
    FROM string_to_table(say.nodes, NULL) AS n(node);
$$;

-- The leader m says what it plans, evaluates, announces the first turn, and waits for the parts; then two lines a turn.
CREATE PROCEDURE turns(job_id text, parts bool, upto int, finished bool)
LANGUAGE plpgsql AS $$
BEGIN
    CALL say(job_id, 'm', 0, 'plan is read');
    CALL say(job_id, 'm', 0.5, 'Starting evaluation of initial parameters');
    CALL say(job_id, 'm', 1, '[turn 1]');
    CALL say(job_id, 'a', 1, 'part is here');
    IF parts THEN
        CALL say(job_id, 'z', 9, 'part is here');
    END IF;
    FOR i IN 1 .. upto LOOP
        IF i > 1 THEN
            CALL say(job_id, 'm', 9 + i, format('[turn %s]', i));
        END IF;
        CALL say(job_id, 'm', 9.2 + i, 'parts are asked');
        IF finished OR i < upto THEN
            CALL say(job_id, 'm', 9.7 + i, 'parts have answered');
        END IF;
    END LOOP;
    IF finished THEN
        CALL say(job_id, 'am', 11 + upto, 'all is through');
    END IF;
    IF upto > 1 THEN
        CALL say(job_id, 'z', 11 + upto, 'all is through');
    END IF;
END
$$;
CALL turns('turns-good-1', true, 40, true);
CALL turns('turns-good-2', true, 50, true);
-- a part that never comes: the turn that was announced did not begin
CALL turns('turns-wait', false, 0, false);
CALL say('turns-wait', 'z', 5, 'OSError: the part cannot be read');
-- it breaks within the first turn
CALL turns('turns-first', true, 1, false);
CALL say('turns-first', 'z', 10.5, 'ValueError: the part has 7 columns');
-- nobody says why it stands still, and a part ends as it would have anyway
CALL turns('turns-still', true, 8, false);

-- The same with reports: the table that the leader builds is the last of the start.
CREATE PROCEDURE reports(job_id text, built bool, upto int, finished bool, read float8 DEFAULT 8.4)
LANGUAGE plpgsql AS $$
BEGIN
    CALL say(job_id, 'm', 0, 'plan is read');
    CALL say(job_id, 'amz', read, 'part is here');
    IF built THEN
        CALL say(job_id, 'm', 9, 'table is built');
    END IF;
    FOR i IN 1 .. upto LOOP
        CALL say(job_id, 'm', 9 + i, format('[%s] %s', i, round(1.0 / i, 3)));
    END LOOP;
    IF finished THEN
        CALL say(job_id, 'amz', 11 + upto, 'all is through');
    END IF;
END
$$;
CALL reports('reports-good-1', true, 40, true);
CALL reports('reports-good-2', true, 50, true);
CALL reports('reports-built', true, 0, false);
CALL say('reports-built', 'z', 9.5, 'ValueError: the part has 7 columns');
CALL reports('reports-table', false, 0, false);
CALL say('reports-table', 'z', 9.5, 'ValueError: the part has 7 columns');
CALL reports('reports-crash', true, 21, false);
-- it reads a state again, long after the start
CALL say('reports-crash', 'z', 30.5, 'Traceback (most recent call last):');
CALL say('reports-crash', 'z', 30.5, '  File "run.py", line 3, in load_checkpoint');
CALL say('reports-crash', 'z', 30.5, 'ValueError: the part has 7 columns');
CALL say('reports-crash', 'z', 30.6, '>)');

-- The same with a leader that tells more at the start. One that is struck before it tells the last of it was through
-- with the start, as the others were; not one that read a state, which good jobs do not.
CREATE PROCEDURE plans(job_id text, built bool, upto int, finished bool, read float8 DEFAULT 8.4)
LANGUAGE sql AS $$
    CALL say(job_id, 'm', 0, 'paths are set');
    CALL say(job_id, 'm', 0, 'seeds are drawn');
    CALL say(job_id, 'm', 0, 'sizes are known');
    CALL reports(job_id, built, upto, finished, read);
$$;
CALL plans('plans-good-1', true, 40, true);
CALL plans('plans-good-2', true, 50, true);
CALL plans('plans-struck', false, 0, false);
CALL say('plans-struck', 'z', 9.5, 'ValueError: the part has 7 columns');
CALL plans('plans-state', false, 0, false);
CALL say('plans-state', 'z', 9.2, 'loading checkpoint from /ckpt/3');
CALL say('plans-state', 'z', 9.5, 'ValueError: the part has 7 columns');

-- One of three nodes is not there: the one that good jobs have beside the others. What tells of trouble before the first
-- crash report, or comes again after it, is no routine.
CALL plans('plans-less', false, 0, false);
DELETE FROM logs WHERE job_id = 'plans-less' AND node = 'z';
CALL say('plans-less', 'a', 9.1, 'the cup is broken');
CALL say('plans-less', 'a', 9.2, 'the cup is full');
CALL say('plans-less', 'a', 9.3, 'a fresh cup was taken');
CALL say('plans-less', 'a', 9.5, 'ValueError: the part has 7 columns');
CALL say('plans-less', 'a', 9.6, 'a fresh cup was taken');
-- what all tell comes early: the table took most of the start
CALL plans('early-good-1', true, 40, true, 1);
CALL plans('early-good-2', true, 50, true, 1);
CALL plans('early-struck', false, 0, false, 1);
CALL say('early-struck', 'z', 9.5, 'ValueError: the part has 7 columns');
-- nobody reports a crash in words that are known: the last ones of who leaves first tell the cause
CALL reports('foreign-good-1', true, 40, true);
CALL reports('foreign-good-2', true, 50, true);
CALL reports('foreign-words', true, 21, false);
CALL say('foreign-words', 'z', 30.5, 'die Spalten passen nicht');
CALL say('foreign-words', 'am', 30.6, 'die Verbindung ist weg');

CALL l4.ingest('leader.logs');
UPDATE l4.job SET settings = 'leader ' || split_part(job_id, '-', 1),
    status = CASE WHEN job_id ~ 'good' THEN 'succeeded' ELSE 'failed' END
WHERE job_id IN (SELECT l.job_id FROM logs AS l);
SELECT j.job_id, d.status, d.symptom, d.stage, d.iteration
FROM (SELECT DISTINCT l.job_id FROM logs AS l) AS j CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d
ORDER BY j.job_id COLLATE "C";
SELECT d.symptom, d.cause FROM l4.diagnosis AS d WHERE d.job_id = 'foreign-words';
SELECT s.example_line FROM l4.suspect_event AS s WHERE s.job_id IN ('reports-crash', 'plans-less') ORDER BY s.job_id, s.rank;
SELECT d.coverage -> 'nodes_silent' AS absent FROM l4.diagnosis AS d WHERE d.job_id = 'plans-less';
-- on which shares of the nodes good jobs print lines of the start-up
SELECT DISTINCT round(s.share::numeric, 2) AS share
FROM l4._case AS c CROSS JOIN LATERAL l4._start_up(c) AS s WHERE c.job_id = 'turns-wait' ORDER BY share;
-- the class of an exception may stand in brackets
SELECT e.line, l4._marked(e.line, 'terminal'), l4._marked(e.line, 'timeout') AS waited
FROM (VALUES ('** (File.Error) could not write to file'),
    ('/app/run.rb:4:in `step'': undefined method (NoMethodError)'),
    ('/app/run.rb:4:in `take'': nothing received for 20 s (Ring::Silence)'), ('trying again (ConnectionError)')) AS e(line);
SELECT count(l4.forget_job(j.job_id)) AS forgotten FROM (SELECT DISTINCT l.job_id FROM logs AS l) AS j;
DROP SCHEMA leader CASCADE;
