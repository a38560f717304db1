-- Parts of diagnosis that need no logs, or few: rules, options, helpers, the forest, and what is refused.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA diagnose_parts;
SET search_path = diagnose_parts;
SELECT l4.diagnose('no such job');
SELECT l4.diagnose('no such job', method => 'magic');
SELECT l4.diagnose('no such job', top_k => 0);
-- every shipped rule matches its own example; a frame rule says its stage
SELECT name FROM l4.marker_rule WHERE NOT l4.pcre_match(example, signature);
SELECT rule_id < 1000000 AS shipped, count(*) > 20 AS several FROM l4.marker_rule GROUP BY 1;
INSERT INTO l4.marker_rule (name, kind, signature) VALUES ('mine', 'frame', 'x');
INSERT INTO l4.marker_rule (name, kind, stage, signature) VALUES ('mine', 'terminal', 'train', 'x');
INSERT INTO l4.marker_rule (name, kind, signature) VALUES ('mine', 'nonsense', 'x');
INSERT INTO l4.marker_rule (name, kind, signature) VALUES ('mine', 'terminal', '(');
-- what reports a crash, and what does not
SELECT line, l4._marked(line, 'terminal') AS terminal, l4._marked(line, 'exit') AS exit
FROM unnest(ARRAY['RuntimeError: Connection closed by peer [10.0.0.7]:4711', 'torch.distributed.DistBackendError: NCCL error', 'java.lang.OutOfMemoryError',
    'Fatal Python error: Segmentation fault', 'process 12 exited with code 1', 'shutting down, exit code 0', 'node02: error: task 3: Killed',
    'no heartbeat from rank 5 for 4.0 s', 'still waiting for 3 ranks', 'error rate 0.1', 'terminate called after throwing an instance of ''x''',
    'slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01 ***', 'rank 3 died from signal 15', 'launcher ended with 1', 'upload failed after 4 attempts',
    'a worker that gets SIGTERM will be waited for', 'worker ended: code [0], SIGINT', 'worker ended: code [0], SIGKILL']) AS line;
-- a user's rule of the same name replaces the shipped one; switched off is switched off
BEGIN;
INSERT INTO l4.marker_rule (name, kind, signature) VALUES ('signal', 'terminal', '^PLEASE DIE$') RETURNING rule_id >= 1000000 AS own_id, origin;
SELECT l4._marked('Process 7 got signal: 15', 'terminal'), l4._marked('PLEASE DIE', 'terminal');
INSERT INTO l4.disabled_rule (kind, name) VALUES ('marker_rule', 'signal');
SELECT l4._marked('PLEASE DIE', 'terminal');
ROLLBACK;
-- options
SELECT l4._diagnose_parameters('{"hang_seconds": 60, "weights": {"exit": 0}}') - 'as_of' = l4.diagnose_defaults() - 'as_of'
    || '{"hang_seconds": 60}' || jsonb_build_object('weights', l4.diagnose_defaults() -> 'weights' || '{"exit": 0}') AS completed;
SELECT l4._diagnose_parameters('{"hang": 60}');
SELECT l4._diagnose_parameters('{"weights": {"moon": 1}}');
SELECT l4._diagnose_parameters('{"slow_ratio": -1}');
SELECT l4._diagnose_parameters('{"slow_ratio": 0}');
SELECT l4._diagnose_parameters('{"majority": 1.5}');
-- a count may be written as a fraction
SELECT l4._elsewhere('none', NULL, '{}', l4._diagnose_parameters('{"max_elsewhere": 50.0, "max_baseline": 2.5}')) AS jobs;
SELECT l4._diagnose_parameters('{"weights": {"exit": "much"}}');
SELECT l4._diagnose_parameters('{"elsewhere": 1}');
SELECT l4._diagnose_parameters('[]');
-- every piece of evidence has a weight
SELECT count(*) = (SELECT count(*) FROM jsonb_object_keys(l4.diagnose_defaults() -> 'weights')) AS all_weighted
FROM regexp_matches(pg_get_functiondef('l4.node_evidence'::regproc), 'l4[.]evidence_', 'g');
-- helpers
SELECT l4._fill('rank <*> lost <*>', '{3,node07}'), l4._fill('no slots', '{}'), l4._fill('one <*>', NULL);
SELECT a, l4._ip_number(a) FROM unnest('{10.0.0.1,255.255.255.255,fe80::1,node07,1.2.3}'::text[]) AS a;
SELECT array_agg(l4._level(l)) FROM unnest('{DEBUG,INFO,WARNING,ERROR,CRITICAL,FATAL,NULL}'::text[]) AS l;
-- functions that tell a stage, and two that hold several
SELECT f, (SELECT string_agg(r.stage, ', ') FROM l4._marker('frame') AS r WHERE l4.pcre_match(f, r.signature)) AS stage
FROM unnest('{evaluate,run_validation,test_step,_maybe_log_save_evaluate,train_and_evaluate,save_checkpoint,load_state_dict,savez,heldout}'::text[]) AS f;
-- blame: a chain ends where nobody else is named; the edge that would close a cycle is left out
SELECT l4._blame('{}', '{}', '{1,0}');
SELECT l4._blame('{1,2}', '{2,3}', '{1,1,0}');
SELECT l4._blame('{1,2,3}', '{2,3,1}', '{1,1,1}');
SELECT l4._blame('{1,1}', '{2,3}', '{1,0,0}');
SELECT l4._blame('{1}', '{2,3}', '{1,0,0}');
SELECT l4._blame('{1}', '{4}', '{1,0,0}');
SELECT l4._blame('{1}', '{1}', '{1,0,0}');
SELECT l4._blame('{1,NULL}', '{2,3}', '{1,0,0}');

-- what comes every so many iterations: as all triples tell
SELECT l4._periodic('{1,4,7}', '{1,1,1}'), l4._periodic('{1,3,5}', '{1,1,1}'), l4._periodic('{1,4,7}', '{1,2,3}'), l4._periodic('{1,4,7}', '{2,1,4}'),
    l4._periodic('{-2147483648,0,2147483647}', '{1,1,1}'), l4._periodic('{}', '{}');
CREATE TEMP TABLE deviating AS
SELECT s.set_no, i.iteration, CASE WHEN i.iteration % 50 = 0 THEN 100 ELSE 1 + abs(hashint4(i.iteration * 31 + s.set_no)) % s.spread END AS nodes
FROM (VALUES (1, 7, 9), (2, 3, 4), (3, 30, 40), (4, 60, 2)) AS s(set_no, rare, spread)
CROSS JOIN generate_series(1, 400) AS i(iteration)
WHERE abs(hashint4(i.iteration + 1000 * s.set_no)) % s.rare = 0 OR i.iteration % 50 = 0;
WITH triple AS (
    SELECT DISTINCT a.set_no, p.iteration
    FROM deviating AS a
    JOIN deviating AS b ON b.set_no = a.set_no AND b.iteration >= a.iteration + 3 AND greatest(a.nodes, b.nodes) <= 2 * least(a.nodes, b.nodes)
    JOIN deviating AS c ON c.set_no = a.set_no AND c.iteration = 2 * b.iteration - a.iteration AND greatest(a.nodes, c.nodes) <= 2 * least(a.nodes, c.nodes)
    CROSS JOIN LATERAL (VALUES (a.iteration), (b.iteration), (c.iteration)) AS p(iteration)
)
SELECT d.set_no, count(*) AS iterations, cardinality(p.periodic) AS periodic,
    p.periodic = ARRAY(SELECT t.iteration FROM triple AS t WHERE t.set_no = d.set_no ORDER BY 1) AS same
FROM deviating AS d
JOIN (SELECT z.set_no, l4._periodic(array_agg(z.iteration ORDER BY z.iteration), array_agg(z.nodes ORDER BY z.iteration)) AS periodic
    FROM deviating AS z GROUP BY z.set_no) AS p USING (set_no)
GROUP BY d.set_no, p.periodic ORDER BY 1;
SELECT l4._periodic('{1,4}', '{1}');
SELECT l4._periodic('{4,1}', '{1,1}');
-- a job without lines: an answer that says so
INSERT INTO l4.job (job_id) VALUES ('parts-1');
SELECT status, symptom, stage, iteration, summary, coverage - 'first_ts' AS coverage FROM l4.diagnose('parts-1');
-- expected nodes without lines are named by the inventory, and by a gap in it
INSERT INTO l4.job_node (job_id, node, rank) VALUES ('parts-1', 'n0', 0), ('parts-1', 'n1', 1), ('parts-1', 'n3', 3);
SELECT status, coverage -> 'nodes_silent' FROM l4.diagnose('parts-1');
SELECT node, rank, is_suspect, reasons FROM l4.suspect_node WHERE job_id = 'parts-1' ORDER BY rank;
SELECT l4.forget_job('parts-1');
SELECT count(*) FROM l4.diagnosis WHERE job_id = 'parts-1';

-- a template with its values: names and lists that were kept as one value stand for several marks
SELECT l4._fill(t.template, t.slot_values) FROM (VALUES
    ('connect to ip-<*>-<*>-<*>-<*> failed for ranks [<*>, <*>, <*>] after <*> tries of gpu-a-<*>', '{ip-10-0-3-8,"1, 2, 3",5,gpu-a-17}'::text[]),
    ('on <*>-<*>-<*> <*>:<*>:<*> gpu-<*> x', '{2026,01,02,12,00,01,17}'), ('shape [<*>, <*>] of <*>', '{3,4,5}'), ('shape (<*>, <*>). node-<*>.', '{"3, 4",node-5}'),
    ('100%-<*> of c_d-<*>', '{7,c_d-8}'), ('no marks - here', '{}'), ('x-<*> (<*>) <*>', '{x-1}'), ('loss <*> of <*>', '{2.5,<*>}'),
    ('start <JOB> on <*> of <HOST>, not <unk>', '{job-9,16,n1}')) AS t(template, slot_values);

-- near-duplicates: equal but for one word of at least five, found by hashing as a comparison of all pairs finds them
BEGIN;
INSERT INTO l4._event (event_id, level, template, example, example_record)
SELECT 2000000 + n, 'ERROR', t, t, t FROM unnest(ARRAY['RuntimeError: timed out waiting <*> for send to end',
    'timed out waiting <*> for recv to end', 'timed out waiting <*> for recv to finish', 'loss <*> at step <*> of epoch',
    'loss nan at step <*> of epoch', 'loss inf at step <*> of epoch', 'loss high at step <*> of epoch', 'four words in it',
    'four words in them', 'OSError: four words in it']) WITH ORDINALITY AS u(t, n);
INSERT INTO l4._event (event_id, level, template, example, example_record)
SELECT 2100000 + n, 'ERROR', t, t, t FROM (
    SELECT n, concat_ws(' ', 'a' || n % 3, 'b' || n % 5, 'c' || n % 7, (ARRAY['<*>', 'nan', 'd'])[1 + n % 3], 'e' || n % 4) AS t
    FROM generate_series(1, 400) AS n) AS x;
CREATE TEMP TABLE pairwise AS
WITH text AS (
    SELECT event_id, string_to_array(regexp_replace(template, '^(?:[[:alnum:]_.]+: )+', ''), ' ') AS words
    FROM l4._event WHERE event_id > 2000000
)
SELECT a.event_id, min(b.event_id) AS oldest
FROM text AS a
JOIN text AS b ON cardinality(a.words) = cardinality(b.words) AND (a.words = b.words OR cardinality(a.words) >= 5 AND 1 >= (
    SELECT sum(CASE WHEN w.x LIKE '%<*>%' AND w.y = ANY ('{nan,inf}') OR w.y LIKE '%<*>%' AND w.x = ANY ('{nan,inf}') THEN 2
        ELSE 1 END)
    FROM ROWS FROM (unnest(a.words), unnest(b.words)) AS w(x, y) WHERE w.x <> w.y))
GROUP BY a.event_id;
SELECT d.event_id - 2000000 AS event, d.oldest - 2000000 AS oldest
FROM l4._near_duplicates(ARRAY(SELECT event_id FROM pairwise WHERE event_id < 2100000), 5) AS d ORDER BY 1;
SELECT count(*) AS events, count(*) FILTER (WHERE d.oldest <> p.oldest) AS different, count(DISTINCT p.oldest) AS groups
FROM pairwise AS p JOIN l4._near_duplicates(ARRAY(SELECT event_id FROM pairwise), 5) AS d USING (event_id);
ROLLBACK;
-- percentages in reasons and times of coverage do not depend on settings of the session
SET extra_float_digits = -15;
SELECT round(100 * 1.0::float8)::int || ' %' AS share, l4._utc('2026-01-02 03:04:05+01') AS utc;
RESET extra_float_digits;
-- the forest of a job is the same whatever was learnt before
SELECT l4.create_log_table('diagnose_parts.woods');
INSERT INTO woods (job_id, node, source, line_no, ts, line)
SELECT j.job_id, 'n' || n, '', i, '2026-05-01 10:00:00+00'::timestamptz + i * interval '1 s',
    'ERROR: ' || (ARRAY['root of tree is broken', 'bark peels', 'no leaf is left', 'a branch fell upon the shed', 'crown lost', 'flowers did not open in spring',
        'stem split by lightning', 'seeds eaten'])[CASE j.job_id WHEN 'woods' THEN i ELSE 9 - i END]
FROM (VALUES ('woods'), ('before')) AS j(job_id), generate_series(1, 8) AS n, generate_series(1, 8) AS i
WHERE (hashint4(n * 8 + i) & 3) > 0 OR j.job_id = 'before';
BEGIN;
CALL l4.ingest('woods', job_id => 'before', commit => false);
CALL l4.ingest('woods', job_id => 'woods', commit => false);
SELECT count(l4.diagnose('woods', '{}'));
SELECT string_agg(f::text, ' ' ORDER BY f.node) AS after_others FROM (
    SELECT f.node, f.score, ARRAY(SELECT t.template FROM unnest(f.events) WITH ORDINALITY AS e(event_id, place)
        JOIN l4.template AS t USING (event_id) ORDER BY e.place) AS events
    FROM l4.node_forest('woods') AS f) AS f \gset
ROLLBACK;
CALL l4.ingest('woods', job_id => 'woods');
SELECT count(l4.diagnose('woods', '{}'));
SELECT string_agg(f::text, ' ' ORDER BY f.node) = :'after_others' AS same, count(DISTINCT f.score) > 1 AS scored FROM (
    SELECT f.node, f.score, ARRAY(SELECT t.template FROM unnest(f.events) WITH ORDINALITY AS e(event_id, place)
        JOIN l4.template AS t USING (event_id) ORDER BY e.place) AS events
    FROM l4.node_forest('woods') AS f) AS f;
