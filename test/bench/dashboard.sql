-- psql -d DATABASE -v job=NAME -f test/bench/dashboard.sql: milliseconds of what dashboards ask, for a job that was ingested and
-- diagnosed; conditions on views first, then the functions with the same rows. Changes nothing.
\set ON_ERROR_STOP on
\set QUIET on
SELECT min(first_ts) + (max(last_ts) - min(first_ts)) / 2 AS from_ts, min(first_ts) + (max(last_ts) - min(first_ts)) / 2 + interval '1 min' AS to_ts
FROM l4.stage_span WHERE job_id = :'job' \gset
\o /dev/null
\timing on
\echo iterations of a minute: view, function
SELECT node, iteration, started, duration_ms FROM l4.iteration WHERE job_id = :'job' AND started >= :'from_ts' AND started < :'to_ts';
SELECT node, iteration, started, duration_ms FROM l4.iterations(:'job', :'from_ts', :'to_ts');
\echo iteration times of each node, a minute: view, function
SELECT date_trunc('minute', started), node, avg(duration_ms) FROM l4.iteration WHERE job_id = :'job' GROUP BY 1, 2;
SELECT started, node, mean_ms FROM l4.iteration_times(:'job', '1 min');
\echo lines of level ERROR and CRITICAL: view, function
SELECT node, line_no, ts, event_id FROM l4.event_line WHERE job_id = :'job' AND level IN ('ERROR', 'CRITICAL');
SELECT node, line_no, ts, event_id FROM l4.lines(:'job', '{ERROR,CRITICAL}');
\echo lines of a minute, of the event that is suspected first: view
SELECT node, line_no, ts, event_id FROM l4.event_line WHERE job_id = :'job' AND ts >= :'from_ts' AND ts < :'to_ts';
SELECT node, line_no, ts FROM l4.event_line
WHERE job_id = :'job' AND event_id = (SELECT s.event_id FROM l4.suspect_event AS s WHERE s.job_id = :'job' AND s.rank = 1);
\echo lines a minute by level: view, function
SELECT date_trunc('minute', ts), level, count(*) FROM l4.event_line WHERE job_id = :'job' GROUP BY 1, 2;
SELECT started, level, lines FROM l4.line_counts(:'job', '1 min');
\echo twenty most frequent templates
SELECT template, occurrences FROM l4.template ORDER BY occurrences DESC LIMIT 20;
\echo test_fault by a signature, by conditions
SELECT * FROM l4.test_fault('link state changed');
SELECT * FROM l4.test_fault(conditions => '[{"step": 1, "signature": "link state changed", "max_nodes": 1}, {"step": 2, "kind": "effect"}]');
\echo report, page
SELECT * FROM l4.report(:'job');
SELECT l4.report_html(:'job');
