-- The first job that somebody loads: known to have failed, with no good job to compare with, of a trainer that no rule
-- knows.
\pset format unaligned
CREATE SCHEMA first_job;
SET search_path = first_job, public;
CREATE TABLE logs (job_id text, node text, source text DEFAULT '', line_no bigint, ts timestamptz, line text);
CREATE PROCEDURE say(job_id text, nodes int[], at float8, line text)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, line_no, ts, line)
    SELECT say.job_id, 'box-' || n,
        (SELECT count(*) + 1 FROM logs AS x WHERE x.job_id = say.job_id AND x.node = 'box-' || n),
        '2026-05-01 10:00:00+00'::timestamptz + (say.at + n * 0.001) * interval '1 s', say.line
    FROM unnest(say.nodes) AS n
$$;
-- a start-up of 40 s with settings, a peer at a time and a pause; then a report every 5th step of 0.1 s
CREATE PROCEDURE job(job_id text, upto int, nodes int[] DEFAULT '{0,1,2,3}')
LANGUAGE plpgsql AS $$
BEGIN
    CALL say(job_id, '{0,1,2,3}', 0, 'le maillage est tendu');
    FOR i IN 1 .. 12 LOOP
        CALL say(job_id, '{0,1,2,3}', 0.5, format('reglage %s vaut %s.5', substr('abcdefghijkl', i, 1), i));
    END LOOP;
    FOR i IN 1 .. 3 LOOP
        CALL say(job_id, '{0}', i, format('le pair %s arrive', i));
    END LOOP;
    CALL say(job_id, '{0,1,2,3}', 4, 'les poids sont lus');
    FOR s IN 1 .. upto LOOP
        IF s % 5 = 0 THEN
            CALL say(job_id, nodes, 40 + 0.1 * s, format('pas %s, perte 0.%s', s, 100 + s * 7 % 800));
        END IF;
    END LOOP;
END
$$;
-- the last words tell of the failure, in words that no rule knows
CALL job('words', 42);
CALL say('words', '{2}', 44.25, 'trois colonnes au lieu de dix');
CALL say('words', '{0,1,3}', 44.4, 'lien ferme par un pair');
-- before any step, after the peers have come one by one: their numbers count no steps, nor do settings
CALL job('start', 0);
CALL say('start', '{2}', 4.2, 'trois colonnes au lieu de dix');
CALL say('start', '{0,1,3}', 4.3, 'lien ferme par un pair');
-- box-2 never comes: each of the others says which one it is, of how many
DO $$ BEGIN
    FOR n IN 0 .. 3 LOOP
        CALL say('counted', array_remove(ARRAY[n], 2), 0, format('poste %s/4', n));
        CALL say('counted-world', array_remove(ARRAY[n], 2), 0, format('poste=%s, world_size=4', n));
    END LOOP;
END $$;
CALL say('counted', '{0,1,3}', 30, 'RuntimeError: le maillage a un trou');
CALL say('counted-world', '{0,1,3}', 30, 'RuntimeError: le maillage a un trou');
-- all fall silent, for long
CALL job('silent', 62);
CALL say('silent', '{0,1,2,3}', 900, 'INFO: signal 15 recu');
DELETE FROM logs WHERE job_id = 'silent' AND node = 'box-1' AND ts > '2026-05-01 10:00:45+00';
-- stopped without a word
CALL job('stopped', 62);
-- a launcher tells how a process ended by a status alone
CALL job('status', 42);
CALL say('status', '{3}', 44.3, 'unite: arret (rc=9)');
CALL say('status', '{0,1,2}', 44.5, 'unite: arret (rc=0)');
-- one node does not start, the others train without it
CALL job('left', 62, '{0,1,3}');
CALL say('left', '{2}', 5, 'Error: cannot read /data/rows');
CALL say('left', '{0,1,3}', 46.4, 'unite: arret');
-- ten times as slow from step 40 on, to its end
CALL job('slow', 80);
UPDATE logs SET ts = ts + 9 * (ts - '2026-05-01 10:00:44+00') WHERE job_id = 'slow' AND ts > '2026-05-01 10:00:44.1+00';
CALL say('slow', '{0,1,2,3}', 85, 'tout est fini');
CALL job('slow-told', 80);
UPDATE logs SET ts = ts + 9 * (ts - '2026-05-01 10:00:44+00')
WHERE job_id = 'slow-told' AND ts > '2026-05-01 10:00:44.1+00';
CALL say('slow-told', '{0,1,2,3}', 85, 'unite: exited with code [0] via signal [SIGINT]');
CALL say('slow-told', '{0,1,2,3}', 85.2, 'unite: sending SIGTERM to la sonde');
-- in the first step: a frame tells, or a word of the error; not where one node fails before the others come to it
CALL job('first-frame', 0);
CALL say('first-frame', '{0,1,2,3}', 4.2, 'java.lang.IllegalStateException: largeur 34');
CALL say('first-frame', '{0,1,2,3}', 4.2, E'\tat org.acme.Reseau.gradient(Reseau.java:14)');
CALL say('first-frame', '{0,1,2,3}', 4.2, E'\tat org.acme.Main.main(Main.java:3)');
CALL job('first-word', 0);
CALL say('first-word', '{0}', 4.2, 'RuntimeError: gradient of rank 3 has 4800 bytes, expected 3200');
CALL job('before', 0);
CALL say('before', '{2}', 4.2, 'RuntimeError: trois colonnes au lieu de dix');
CALL say('before', '{0,1,3}', 4.4, 'RuntimeError: gradient of rank 2 did not come');
-- two reports
CALL job('two', 0);
CALL say('two', '{0,1,2,3}', 45, 'pas 50, perte 0.9');
CALL say('two', '{0,1,2,3}', 50, 'pas 100, perte 0.7');
CALL say('two', '{2}', 51.2, 'RuntimeError: trois colonnes au lieu de dix');
SET client_min_messages = warning;
CALL l4.ingest('first_job.logs');
CREATE VIEW job AS SELECT j.* FROM l4.job AS j WHERE j.job_id IN (SELECT l.job_id FROM logs AS l);
CREATE VIEW answer AS
SELECT d.job_id, d.symptom, d.stage, d.iteration,
    (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = d.job_id AND s.rank = 1) AS node,
    (SELECT string_agg(e.template, ' | ' ORDER BY s.rank) FROM l4.suspect_event AS s JOIN l4._event AS e USING (event_id)
        WHERE s.job_id = d.job_id) AS events
FROM l4.diagnosis AS d JOIN job USING (job_id);
-- while nobody says that they failed, nothing is made of last words and silence
SELECT l4.diagnose(j.job_id) IS NULL AS failed FROM job AS j WHERE j.job_id IN ('words', 'start', 'stopped') \g /dev/null
SELECT a.job_id, a.symptom, a.events FROM answer AS a ORDER BY a.job_id COLLATE "C";
UPDATE job SET status = 'failed';
SELECT l4.diagnose(j.job_id) IS NULL AS failed FROM job AS j \g /dev/null
SELECT * FROM answer AS a ORDER BY a.job_id COLLATE "C";
SELECT b.value FROM l4._report_brief('stopped') AS b WHERE b.label = 'since';
SELECT l4.forget_job(j.job_id) IS NULL AS forgotten FROM job AS j \g /dev/null
DROP SCHEMA first_job CASCADE;
