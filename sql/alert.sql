-- Alerts: each once when it is new, once when it is over.
SET client_min_messages = warning;
CREATE SCHEMA alert;
SET search_path = alert;
CREATE PROCEDURE say(job_id text, symptom text, suspects text[]) LANGUAGE sql AS $$
    DELETE FROM l4.diagnosis AS d WHERE d.job_id = say.job_id;
    DELETE FROM l4.suspect_node AS s WHERE s.job_id = say.job_id;
    INSERT INTO l4.diagnosis (job_id, status, symptom, summary, baseline, coverage, parameters)
    VALUES (say.job_id, 'OK', say.symptom, say.job_id || ': ' || say.symptom, '{}', '{}', '{}');
    INSERT INTO l4.suspect_node (job_id, rank, node, score, is_suspect, reasons, evidence, events)
    SELECT say.job_id, u.n, u.node, 2, u.n < 3, ARRAY['silent', u.node], '{}', '{}'
    FROM unnest(say.suspects) WITH ORDINALITY AS u(node, n);
$$;
INSERT INTO l4.job (job_id) VALUES ('alert-1'), ('alert-2'), ('alert-3');
CALL say('alert-1', 'hang', '{n1,n2,n3}');
CALL say('alert-2', 'none', '{n1}');
CALL say('alert-3', 'crash', '{}');
SELECT job_id, node, symptom, state, what, diagnosed_at IS NULL AS undiagnosed, told_at FROM l4.alert ORDER BY 1, 2 NULLS FIRST;
-- looking takes nothing, and what is rolled back was not taken
BEGIN;
SELECT count(*) FROM l4.take_alerts();
ROLLBACK;
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT job_id, node, symptom, state, told_at <= now() AS told FROM l4.alert ORDER BY 1, 2 NULLS FIRST;
-- the same again is no news; another node is; so is one that is suspect no more
CALL say('alert-1', 'hang', '{n1,n4}');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
-- another symptom of the job: it alone is told again
CALL say('alert-1', 'crash', '{n1,n4}');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
-- over: nothing is found any more, the job succeeded, it was forgotten
CALL say('alert-1', 'none', '{n1}');
UPDATE l4.job SET status = 'succeeded' WHERE job_id = 'alert-3';
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
CALL say('alert-2', 'slow', '{n9}');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT l4.forget_job('alert-2');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
-- and new again when it comes back
CALL say('alert-1', 'hang', '{n1}');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT l4.forget_job('alert-1'), l4.forget_job('alert-3');
SELECT job_id, node, symptom, state, what FROM l4.take_alerts();
SELECT count(*) FROM l4._alert_told;
-- a reader looks, an ingester takes
CREATE ROLE alert_reader;
CREATE ROLE alert_ingester;
SELECT l4.grant_access('alert_reader', 'reader'), l4.grant_access('alert_ingester', 'ingester');
SET ROLE alert_reader;
SELECT count(*) FROM l4.alert;
SELECT count(*) FROM l4.take_alerts();
SET ROLE alert_ingester;
SELECT count(*) FROM l4.take_alerts();
RESET ROLE;
DROP OWNED BY alert_reader, alert_ingester;
DROP ROLE alert_reader, alert_ingester;
DROP SCHEMA alert CASCADE;
