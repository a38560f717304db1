-- Cross-job comparison: what is refused, and counts written by hand.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA compare;
SET search_path = compare;
SELECT * FROM l4.compare('no such job');
INSERT INTO l4.job (job_id, settings, status) VALUES ('compare-a', 'compare', 'running'), ('compare-b', 'compare', 'succeeded'),
    ('compare-c', 'compare', 'succeeded'), ('compare-d', 'other', 'succeeded');
SELECT * FROM l4.compare('compare-a');
INSERT INTO l4._event (event_id, level, template, example, example_record)
SELECT 1000000 + i, 'INFO', t, t, t
FROM unnest('{compare same <*>,compare new,compare more,compare fewer,compare gone,compare once gone,compare merged}'::text[]) WITH ORDINALITY AS u(t, i);
UPDATE l4._event SET merged_into = 1000001 WHERE event_id = 1000007;
-- as docs/internals.md describes packed rows: event_id, occurrences, nodes, no times, node, source, line, example
CREATE FUNCTION number(n bigint) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN n < 128 THEN lpad(to_hex(n), 2, '0') ELSE lpad(to_hex(n % 128 + 128), 2, '0') || number(n / 128) END
$$;
CREATE FUNCTION field(type text, data text) RETURNS text LANGUAGE sql AS $$ SELECT type || number(length(data) / 2) || data $$;
CREATE FUNCTION list(numbers bigint[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(number(CASE WHEN d < 0 THEN -2 * d - 1 ELSE 2 * d END), '' ORDER BY i)
    FROM (SELECT i, n - lag(n, 1, 0::bigint) OVER (ORDER BY i) AS d FROM unnest(numbers) WITH ORDINALITY AS u(n, i)) AS x
$$;
INSERT INTO l4._job_pack (job_id, events)
SELECT j, decode('01' || number(count(*)) || '0a'
    || field('69', list(array_agg(1000000 + e ORDER BY e))) || field('69', list(array_agg(n ORDER BY e)))
    || field('69', list(array_agg(1))) || repeat(field('e9', list(array_agg(1))), 2)
    || field('73', '01026e30' || list(array_agg(0))) || field('73', '0100' || list(array_agg(0)))
    || field('69', list(array_agg(1))) || field('73', '010178' || list(array_agg(0)))
    || field('e9', list(array_agg(1))), 'hex')
FROM (VALUES ('compare-a', 1, 90), ('compare-a', 7, 10), ('compare-a', 2, 3), ('compare-a', 3, 40), ('compare-a', 4, 2),
    ('compare-b', 1, 100), ('compare-b', 3, 5), ('compare-b', 4, 40), ('compare-b', 5, 10), ('compare-b', 6, 4),
    ('compare-c', 1, 100), ('compare-c', 3, 5), ('compare-c', 4, 40), ('compare-c', 5, 10),
    ('compare-d', 2, 3)) AS v(j, e, n) GROUP BY j;
SELECT job_id, event_id, occurrences, nodes, first_ts, last_ts, first_node, first_source, first_line_no, example FROM l4._job_event WHERE job_id LIKE 'compare-%' AND event_id = 1000003 ORDER BY 1;
INSERT INTO l4._stream (job_id, node, source) SELECT j, 'n0', '' FROM unnest('{compare-a,compare-b,compare-c,compare-d}'::text[]) AS j;
-- the baseline: succeeded jobs of the same settings, never the job itself
SELECT l4._baseline('compare-a', NULL), l4._baseline('compare-b', NULL), l4._baseline('compare-a', '{compare-d,compare-a,none}'), l4._baseline('compare-a', '{}');
SELECT template, occurrences, round(share::numeric, 3) AS share, baseline_occurrences, round(baseline_share::numeric, 3) AS baseline_share,
    round(lift::numeric, 2) AS lift, verdict
FROM l4.compare('compare-a');
-- a given baseline, and none
SELECT template, verdict FROM l4.compare('compare-a', '{compare-d}') ORDER BY template COLLATE "C";
SELECT template, occurrences, baseline_occurrences, lift, verdict FROM l4.compare('compare-a', '{}') ORDER BY template COLLATE "C";
-- how much counts
SELECT template, verdict FROM l4.compare('compare-a', min_lift => 10) WHERE template = 'compare more';
SELECT template, verdict FROM l4.compare('compare-a', sigma => 100) WHERE template = 'compare more';
SELECT * FROM l4.compare('compare-a', min_lift => 1);
SELECT * FROM l4.compare('compare-a', sigma => -1);
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'compare-%';
DELETE FROM l4._event WHERE event_id > 1000000;
