-- How good the parser is on labelled logs, one setting for all of them: psql -v dir=FOLDER -f test/score/loghub.sql
-- FOLDER holds <Dataset>.csv.gz with line_no,content,event_id,template, and may hold full/<Dataset>.csv.gz of the same form and
-- drain3_reference.csv.gz with config,dataset,line_no,cluster_id,template. GA, FGA, PA and FTA are those of the Loghub-2.0
-- evaluator: groups are sets of lines with the same template text, and texts are compared byte for byte.
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TEMP TABLE truth (dataset text, line_no int, content text, template text);
CREATE TEMP TABLE csv (line_no int, content text, event_id text, template text);
CREATE TEMP TABLE reference (config text, dataset text, line_no int, cluster_id int, template text);
SELECT format('TRUNCATE csv; COPY csv FROM PROGRAM %L CSV HEADER; INSERT INTO truth SELECT %L, line_no, content, template FROM csv',
	format('gzip -dc %L', :'dir' || '/' || part || name), part || replace(name, '.csv.gz', ''))
FROM (SELECT '' AS part, pg_ls_dir(:'dir') AS name UNION ALL SELECT 'full/', pg_ls_dir(:'dir' || '/full', true, false)) f
WHERE name LIKE '%.csv.gz' AND name <> 'drain3_reference.csv.gz' ORDER BY part, name
\gexec
SELECT format('COPY reference FROM PROGRAM %L CSV HEADER', format('gzip -dc %L', :'dir' || '/' || name))
FROM pg_ls_dir(:'dir') name WHERE name = 'drain3_reference.csv.gz'
\gexec
CREATE TEMP TABLE trained AS SELECT dataset, l4.parser_train(content ORDER BY line_no) AS p FROM truth GROUP BY 1;
CREATE TEMP TABLE parsed AS
SELECT t.dataset, t.line_no, t.template AS g, coalesce(s.template, '') AS p
FROM (SELECT t.dataset, t.line_no, t.template, l4.parser_match(p, content) AS event_id
	FROM (SELECT * FROM truth ORDER BY dataset OFFSET 0) t JOIN trained USING (dataset)) t
LEFT JOIN (SELECT dataset, (l4.parser_templates(p)).* FROM trained) s ON s.dataset = t.dataset AND s.event_id = t.event_id;
CREATE TEMP TABLE score AS
WITH sized AS (
	SELECT dataset, g, p, count(*) OVER (PARTITION BY dataset, g) AS ng, count(*) OVER (PARTITION BY dataset, p) AS np,
		count(*) OVER (PARTITION BY dataset, g, p) AS both_n
	FROM parsed)
SELECT dataset, count(*) AS lines, count(DISTINCT g) AS truth, count(DISTINCT p) AS templates,
	avg((both_n = ng AND both_n = np)::int) AS ga,
	2.0 * count(DISTINCT g) FILTER (WHERE both_n = ng AND both_n = np) / (count(DISTINCT g) + count(DISTINCT p)) AS fga,
	avg((g = p)::int) AS pa,
	2.0 * count(DISTINCT p) FILTER (WHERE g = p AND both_n = np) / (count(DISTINCT g) + count(DISTINCT p)) AS fta
FROM sized GROUP BY dataset;
\pset footer off
SELECT dataset, lines, truth, templates, round(ga, 3) AS "GA", round(fga, 3) AS "FGA", round(pa, 3) AS "PA", round(fta, 3) AS "FTA"
FROM (SELECT 0 AS o, * FROM score WHERE dataset NOT LIKE 'full/%'
	UNION ALL SELECT 1, 'AVERAGE', sum(lines), sum(truth), sum(templates), avg(ga), avg(fga), avg(pa), avg(fta) FROM score WHERE dataset NOT LIKE 'full/%'
	UNION ALL SELECT 2, * FROM score WHERE dataset LIKE 'full/%') s
ORDER BY o, dataset COLLATE "C";
-- algorithm drain against Drain3; a line that Drain3 gave two clusters in turn is held against the last one
CREATE TEMP TABLE drained AS
SELECT config, dataset, l4.parser_train(content, CASE config WHEN 'plain' THEN '{"algorithm": "drain", "masks": []}'::jsonb
	ELSE jsonb_build_object('algorithm', 'drain', 'masks', jsonb_build_array(
		jsonb_build_object('name', 'IP', 'pattern', '((?<=[^A-Za-z0-9])|^)(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})((?=[^A-Za-z0-9])|$)'),
		jsonb_build_object('name', 'HEX', 'pattern', '((?<=[^A-Za-z0-9])|^)(0x[a-f0-9A-F]+)((?=[^A-Za-z0-9])|$)'),
		jsonb_build_object('name', 'NUM', 'pattern', '((?<=[^A-Za-z0-9])|^)([\-\+]?\d+)((?=[^A-Za-z0-9])|$)'))) END ORDER BY line_no) AS p
FROM truth JOIN (SELECT DISTINCT config, dataset FROM reference) r USING (dataset) GROUP BY 1, 2;
SELECT r.config AS drain, count(*) AS lines, count(*) FILTER (WHERE c.template IS DISTINCT FROM r.template) AS other_template,
	count(*) FILTER (WHERE l4.parser_match(d.p, content) IS DISTINCT FROM last_id) AS other_cluster
FROM (SELECT r.*, content, last_value(cluster_id) OVER (PARTITION BY config, dataset, content ORDER BY line_no
		ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_id
	FROM reference r JOIN truth t USING (dataset, line_no) ORDER BY config, dataset OFFSET 0) r
JOIN drained d USING (config, dataset)
LEFT JOIN (SELECT config, dataset, (l4.parser_templates(p)).* FROM drained) c ON c.config = r.config AND c.dataset = r.dataset AND c.event_id = r.cluster_id
GROUP BY 1 ORDER BY 1;
