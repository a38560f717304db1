-- make score EXCERPTS=folder: matches excerpts of failed runs, each as a job of its own, and lines of healthy ones.
--   psql -v dir=folder -f test/score/excerpts.sql     test/score/README.md says what is in the folder
-- As superuser, in a database of its own; the server's user must be able to read the folder.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA excerpt;
CREATE TABLE excerpt.truth (excerpt text PRIMARY KEY, category text NOT NULL, source text);
CREATE TABLE excerpt.line (
    job_id text NOT NULL, node text NOT NULL DEFAULT 'node0', rank int, line_no bigint NOT NULL, ts timestamptz,
    line text NOT NULL, PRIMARY KEY (job_id, line_no));
CREATE TABLE excerpt.healthy (line text NOT NULL);
\set file :dir '/excerpts.csv'
SELECT format('COPY excerpt.truth FROM %L WITH (FORMAT csv, HEADER)', :'file') \gexec
\set file :dir '/lines.csv'
SELECT format('COPY excerpt.line (job_id, line_no, line) FROM %L WITH (FORMAT csv, HEADER)', :'file') \gexec
\set file :dir '/healthy.csv'
SELECT format('COPY excerpt.healthy FROM %L WITH (FORMAT csv, HEADER)', :'file')
WHERE (pg_stat_file(:'file', true)).size IS NOT NULL \gexec
CALL l4.ingest('excerpt.line');
CREATE TABLE excerpt.match AS
SELECT t.excerpt, m.rank, m.fault_name, f.category, f.is_effect, l4._is_catch_all(f.priority) AS is_catch_all
FROM excerpt.truth AS t CROSS JOIN LATERAL l4.match_faults(t.excerpt) AS m JOIN l4.fault AS f USING (fault_id);
CREATE TABLE excerpt.result AS
SELECT t.excerpt, t.category AS truth, t.source, m.fault_name AS first_fault, m.category AS first_category,
    coalesce(m.is_catch_all, true) AS is_catch_all,
    EXISTS (SELECT FROM excerpt.match AS n WHERE n.excerpt = t.excerpt AND NOT n.is_catch_all) AS is_named
FROM excerpt.truth AS t LEFT JOIN excerpt.match AS m ON m.excerpt = t.excerpt AND m.rank = 1;

\echo Excerpts: an entry matches; one that is no catch-all does, stands first; category of the first-ranked is right
SELECT coalesce(truth, 'all') AS category, count(*) AS excerpts,
    round(avg((first_fault IS NOT NULL)::int), 3) AS matched, round(avg(is_named::int), 3) AS named,
    round(avg((NOT is_catch_all)::int), 3) AS named_first,
    round(avg((truth IS NOT DISTINCT FROM first_category)::int), 3) AS right_category
FROM excerpt.result GROUP BY GROUPING SETS ((truth), ()) ORDER BY truth;
\echo Not named, or of another category
SELECT excerpt, truth, first_category, first_fault, source FROM excerpt.result
WHERE NOT is_named OR truth IS DISTINCT FROM first_category ORDER BY truth, excerpt;
\echo Healthy lines that match a fault
CREATE TABLE excerpt.false_match AS
SELECT DISTINCT h.line, f.name, f.severity
FROM (SELECT array_agg(DISTINCT h.line) AS lines FROM excerpt.healthy AS h) AS a
CROSS JOIN l4._fault_library() AS b
CROSS JOIN LATERAL l4._pcre_multimatch(b.signatures, a.lines) AS s
CROSS JOIN LATERAL (SELECT a.lines[s.line]) AS h(line)
JOIN l4.fault AS f ON f.fault_id = b.ids[s.pattern];
SELECT (SELECT count(DISTINCT h.line) FROM excerpt.healthy AS h) AS lines, count(DISTINCT m.line) AS matched,
    count(DISTINCT m.line) FILTER (WHERE m.severity IN ('error', 'fatal')) AS as_error
FROM excerpt.false_match AS m;
SELECT name, severity, count(*) AS lines, left(min(line), 160) AS for_example
FROM excerpt.false_match GROUP BY name, severity ORDER BY count(*) DESC, name;
