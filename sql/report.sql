-- l4.report() and l4.report_html(): errors, widths, hostile text, and jobs with little to show.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;

-- what lines and names may contain must not come out as markup or as control characters
SELECT l4.create_log_table('hostile');
INSERT INTO hostile (job_id, node, source, rank, line_no, ts, line)
SELECT job, format(E'n%s<script>"''&\x1b[2J', n), '', n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second' + n * interval '10 ms', CASE
    WHEN job = 'r-bad<b>' AND i = 41 AND n = 2 THEN E'ERROR: </pre><script>alert("x")</script> \x1b[31mred\x1b[0m ]]> <!-- &lt;'
    WHEN job = 'r-bad<b>' AND i > 40 THEN U&'ERROR: waiting for rank 2 timed out <img src=x onerror=alert(1)> \202Etxt.exe\2069 \009B2J'
    ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END
FROM unnest(ARRAY['r-ok1', 'r-ok2', 'r-bad<b>']) AS job, generate_series(0, 3) AS n, generate_series(1, 60) AS i
WHERE job <> 'r-bad<b>' OR i <= 41 OR n <> 2 AND i <= 43;
INSERT INTO l4.job (job_id, settings, status, expected_nodes)
VALUES ('r-ok1', '</dd><script>', 'succeeded', 4), ('r-ok2', '</dd><script>', 'succeeded', 4), ('r-bad<b>', '</dd><script>', 'failed', 5), ('r-none', '', 'running', 2);
CALL l4.ingest('hostile');
SELECT status, symptom FROM l4.diagnose('r-bad<b>');
SELECT count(*) > 20 AS has_lines, max(length(r)) <= 100 AS fits, bool_or(r ~ '[\x01-\x1f\x7f-\u009f\u202e\u2069]') AS has_controls FROM l4.report('r-bad<b>') AS r;
SELECT max(length(r)) <= 60 AS fits FROM l4.report('r-bad<b>', width => 60) AS r WHERE r !~ '^  (SELECT|UPDATE)';
SELECT h ~ '^<!DOCTYPE html>.*</html>$' AS is_a_page, h ~* '<(script|img|iframe|object|link)' AS has_foreign_markup, h ~ '[\x01-\x08\x0b-\x1f\x7f-\u009f\u202e\u2069]' AS has_controls,
       h ~* '(src|href)="[^#]' AS loads_something, h ~ 'default-src ''none''' AS forbids_loading, (length(h) - length(replace(h, '<svg', ''))) / 4 >= 4 AS has_pictures
FROM l4.report_html('r-bad<b>') AS h;

-- a healthy job, and one with neither logs nor baseline
SELECT status FROM l4.diagnose('r-ok1');
SELECT r FROM l4.report('r-ok1') AS r WHERE r LIKE 'NOTHING%';
SELECT length(l4.report_html('r-ok1')) > 1000 AS has_page;
SELECT status FROM l4.diagnose('r-none');
SELECT r FROM l4.report('r-none') WITH ORDINALITY AS l(r, n) WHERE r !~ '^diagnosed ' ORDER BY n;
SELECT length(l4.report_html('r-none')) > 1000 AS has_page;

-- names that differ at their ends, ranks of five digits, a narrow terminal: names keep their ends, reasons have room
CREATE TABLE wide (LIKE hostile INCLUDING ALL);
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-wide', 'llama-70b-pretrain-7f9c2-worker-' || n, 12340 + n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    CASE WHEN i = 21 AND n = 5 THEN 'RuntimeError: CUDA error: an illegal memory access was encountered'
         ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END
FROM generate_series(0, 9) AS n, generate_series(1, 22) AS i WHERE n <> 5 OR i <= 21;
-- numbers of iterations near the end of int
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-far', 'n' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    format('iteration %s/2147483647 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.5E+00', 107374182 * i::bigint)
FROM generate_series(0, 2) AS n, generate_series(1, 20) AS i;
-- slow from iteration 71 on
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-slow', 'n' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + (i + greatest(0, i - 70) * 5) * interval '1 second',
    format('iteration %s/90 | elapsed time per iteration (ms): %s.0 | lm loss: 2.5E+00', i, CASE WHEN i > 70 THEN 6000 ELSE 1000 END)
FROM generate_series(0, 2) AS n, generate_series(1, 85) AS i;
-- a trace that begins with its message, on all nodes at the same moment
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-panic', 'n' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + least(i, 21) * interval '1 second', CASE WHEN i > 20
    THEN (ARRAY['panic: runtime error: index out of range [600] with length 600', 'goroutine 1 [running]:', 'main.main()', E'\t/app/main.go:171 +0xcd'])[i - 20]
    ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.5E+00', i) END
FROM generate_series(0, 2) AS n, generate_series(1, 24) AS i;
-- in one second two nodes lose the third, and it says why, a little later by its clock
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-second', 'n' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + (i + n % 2 * 0.1) * interval '1 second', CASE WHEN i < 21
    THEN format('iteration %s/60 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.5E+00', i)
    WHEN n = 1 THEN 'RuntimeError: CUDA error: an illegal memory access was encountered' ELSE 'RuntimeError: Connection closed by peer' END
FROM generate_series(0, 2) AS n, generate_series(1, 21) AS i;
-- no times: nothing to draw on an axis of time
INSERT INTO wide (job_id, node, rank, line_no, line) SELECT 'r-timeless', 'n' || n, n, i, 'step ' || i FROM generate_series(0, 2) AS n, generate_series(1, 20) AS i;
CALL l4.ingest('wide');
SELECT symptom FROM unnest(ARRAY['r-wide', 'r-far', 'r-slow', 'r-timeless', 'r-panic', 'r-second']) AS j(job), l4.diagnose(j.job);
SELECT r FROM (SELECT r, n, min(n) FILTER (WHERE r = 'NODES') OVER () AS a,
        min(n) FILTER (WHERE r = 'KNOWN FAULTS') OVER () AS b
    FROM l4.report('r-wide', width => 60) WITH ORDINALITY AS l(r, n)) AS x
WHERE n BETWEEN a AND b ORDER BY n;
SELECT h ~ '>llama-[.][.]9c2-worker-5<' AS has_name FROM l4.report_html('r-wide') AS h;
SELECT length(l4.report_html('r-far')) > 10000 AS has_page;
-- the failure is in the middle of the closer look
SELECT zoom_ts FROM l4._failure_window('r-wide', ARRAY(SELECT m FROM l4._report_moments('r-wide') AS m));
SELECT zoom_ts FROM l4._failure_window('r-slow', ARRAY(SELECT m FROM l4._report_moments('r-slow') AS m));
SELECT r FROM l4.report('r-slow') AS r WHERE r ~ 'slow from here on$';
SELECT h ~ 'moment-onset"' AS has_line, h ~ 'first slow iteration</li>' AS has_key FROM l4.report_html('r-slow') AS h;
SELECT l4._html_timeline('r-timeless');
-- full hours are those of the reader
SET timezone = 'Asia/Kolkata';
SELECT DISTINCT t[1] FROM regexp_matches(l4._svg_time_axis(('r-wide', '2026-03-01 10:00:00+00', '2026-03-01 15:00:00+00', 1160, '{}'), 0), '>[0-9]+(:[0-9]+)<', 'g') AS t;
SET timezone = 'UTC';

-- the first screen: 25 lines, no masks, no length of a silence that has no times, no row of dashes
SELECT j AS job, count(*) < 25 AS fits_a_screen, bool_or(b.r ~ '<[*]>|for  s|-----') AS has_debris
FROM unnest(ARRAY['r-bad<b>', 'r-wide', 'r-slow', 'r-timeless']) AS j
CROSS JOIN LATERAL (SELECT r, n, min(n) FILTER (WHERE r ~ '^W') OVER () AS first_n
    FROM l4.report(j) WITH ORDINALITY AS x(r, n)) AS b
WHERE b.n > 2 AND b.n < b.first_n GROUP BY j ORDER BY j;
SELECT label, value FROM l4._report_brief('r-wide');
SELECT value FROM l4._report_brief('r-second') WHERE label = 'since';
SELECT label, value FROM l4._report_brief('r-panic') WHERE label IN ('since', 'how sure', 'cause', 'proof');
-- reasons in words: the job's own line where it names the node, dots elsewhere
SELECT l4._in_words(ARRAY['a <*> of nothing', e'ends\x1b[2J\nhere']) AS in_words;
SELECT l4._in_words(reasons) FROM l4.suspect_node WHERE job_id = 'r-bad<b>' AND rank = 1;
-- a page of many iterations is linear in them: quadratic, this takes minutes
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-long', 'n0', 0, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    format('iteration %s/20000 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.5E+00', i)
FROM generate_series(1, 20000) AS i;
CALL l4.ingest('wide', 'r-long');
SELECT symptom FROM l4.diagnose('r-long');
SET statement_timeout = '30s';
SELECT length(l4.report_html('r-long')) BETWEEN 10000 AND 100000 AS is_small;
RESET statement_timeout;

-- one node; names of right-to-left letters, a job's with quotes, a line break and markup; ten thousand events
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-one', U&'\05E9\05E8\05EA-\062E\0627\062F\0645', 0, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    CASE WHEN i > 20 THEN U&'RuntimeError: \05E0\05DB\05E9\05DC CUDA error: an illegal memory access was encountered'
         ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END
FROM generate_series(1, 21) AS i;
-- and without a rank
INSERT INTO wide (job_id, node, line_no, ts, line)
SELECT 'r-alone', 'alone', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    CASE WHEN i > 20 THEN 'ValueError: bad shape' WHEN i IN (3, 15, 19) THEN 'WARNING: a slow read of a shard' ELSE format('iteration %s/60 | loss: 2.%s', i, i % 7) END
FROM generate_series(1, 21) AS i;
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT E'r-"o''\n<b>\x1b[2J%s \\', E'a''"b;\t&' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    CASE WHEN i = 21 THEN E'ERROR: it''s "over" \\ %s' ELSE format('iteration %s/60', i) END
FROM generate_series(0, 2) AS n, generate_series(1, 21) AS i WHERE n = 1 OR i <= 20;
INSERT INTO wide (job_id, node, rank, line_no, ts, line)
SELECT 'r-many', 'n' || n, n, i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 ms',
    CASE WHEN i > 100 THEN format('ERROR %s: %s failed in %s', translate(i::text, '0123456789', 'abcdefghij'), translate(md5(i::text), '0123456789', 'ghijklmnop'),
            translate(md5(n::text || i), '0123456789', 'ghijklmnop'))
         ELSE format('iteration %s/60000', i) END
FROM generate_series(0, 3) AS n, generate_series(1, 2600) AS i;
CALL l4.ingest('wide');
SELECT count(symptom) FROM unnest(ARRAY['r-one', 'r-alone', E'r-"o''\n<b>\x1b[2J%s \\', 'r-many']) AS j(job), l4.diagnose(j.job);
SELECT left(j, 5) AS job, count(*) BETWEEN 20 AND 200 AS readable, max(length(r)) FILTER (WHERE r !~ '^  (SELECT|UPDATE)') <= 100 AS fits,
       bool_or(r ~ '[\x01-\x1f\x7f]') AS has_controls
FROM unnest(ARRAY['r-one', E'r-"o''\n<b>\x1b[2J%s \\', 'r-many']) AS j, l4.report(j) AS r GROUP BY j ORDER BY 1;
SELECT left(j, 5) AS job, h ~ '^<!DOCTYPE html>.*</html>$' AS is_a_page, length(h) BETWEEN 10000 AND 200000 AS is_small, h ~ '<b>[^A-Z]' AS has_foreign_markup,
       h ~ '[\x01-\x08\x0b-\x1f\x7f]' AS has_controls
FROM unnest(ARRAY['r-one', E'r-"o''\n<b>\x1b[2J%s \\', 'r-many']) AS j, l4.report_html(j) AS h ORDER BY 1;
SELECT r FROM l4.report('r-one') WITH ORDINALITY AS l(r, n) WHERE n = 3 OR r ~ '^  (where|how sure|seen)|1 of 1|one node' ORDER BY n;
SELECT r FROM l4.report('r-alone') WITH ORDINALITY AS l(r, n) WHERE n = 3 OR r ~ '^  (since|cause)|alike' ORDER BY n;
SELECT r FROM l4.report(E'r-"o''\n<b>\x1b[2J%s \\') WITH ORDINALITY AS l(r, n) WHERE n IN (1, 3) OR r ~ 'suspect_event' ORDER BY n;
-- the axis of the iterations has round numbers, also where they begin anew
SELECT (SELECT array_agg(t[1]::int) FROM regexp_matches(l4._svg_iterations(j, 1160, l4._iteration_columns(j)), 'y="244.0"[^>]*>([0-9]+)<', 'g') AS t)
FROM unnest(ARRAY['r-wide', 'r-slow', 'r-long', 'r-far']) AS j;

-- errors
SELECT l4.report('nothing');
SELECT l4.report_html('nothing');
SELECT l4.report('r-ok2');
SELECT l4.report_html('r-ok2');
SELECT l4.report(E'no ''"\n\x1b[2J<b>');
SELECT l4.report('r-bad<b>', width => 59);
SELECT l4.report('r-bad<b>', width => 241);
SELECT l4.report(NULL), l4.report_html(NULL) IS NULL AS is_null;

-- helpers
SELECT l4._plain(E'10%|#   |\r 20%|##  | 2/10'), l4._plain('a --------------- b'), l4._excerpt(E'one\n======\n\ntwo');
SELECT l4._counted(n, 'node'), l4._how_often(n, 2) FROM unnest(ARRAY[1, 2, 1200]) AS n;
SELECT s, l4._status_words(jsonb_populate_record(NULL::l4.diagnosis, jsonb_build_object('status', s, 'symptom', 'hang',
    'coverage', '{"lines": 9, "nodes_expected": 4, "nodes_seen": 3, "nodes_silent": ["n3"], "timed": true,
        "truncated": true}'::jsonb || c)))
FROM (VALUES ('HEALTHY', '{}'::jsonb), ('PARTIAL', '{}'), ('PARTIAL', '{"nodes_silent": [], "timed": false}'),
    ('PARTIAL', '{"lines": 0}'), ('PARTIAL', '{"nodes_seen": 4, "nodes_silent": [], "servers_missing": ["db2"]}'),
    ('NO_BASELINE', '{}'), ('OK', '{}')) AS t(s, c);
SELECT l4._wrap('one two three four five six', 10);
SELECT l4._wrap('averyveryverylongword short', 10);
SELECT l4._elapsed(s) FROM unnest(ARRAY[0.34, 42, 119.4, 600, 7100, 8000, 200000]) AS s;
SELECT l4._excerpt(E'1\n2\n3\n4'), l4._excerpt(E'1\n2\n3\n4\n5\n6\n');
SELECT l4._html('<a href="x">&''' || chr(27));
SELECT l4._short_name(n, 20) FROM unnest(ARRAY['worker-0', 'llama-70b-pretrain-worker-17', 'exactly-twenty-chars', 'gpu-09-node-0300.cluster.internal', 'a-name-that-is-long-worker-12.local', '10.20.30.40.extra.5678']) AS n;
SELECT l4._nice_step(s, 5) FROM unnest(ARRAY[0.7, 9, 23, 4100]::float8[]) AS s;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'r-%';
DROP TABLE hostile, wide;
