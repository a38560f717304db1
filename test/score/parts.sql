-- What a parser loses when its lines are learnt in parts and put together: psql -v dir=FOLDER -f test/score/parts.sql
-- FOLDER is that of loghub.sql. Each set is cut into 1, 2, 4 and 8 parts: of lines that follow each other, and of every
-- so manieth line. Printed: grouping accuracy of one pass, the difference for each cut, and the bytes of all states.
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE AGGREGATE pg_temp.part(message text) (SFUNC = l4._parser_train_trans, STYPE = bytea);
CREATE AGGREGATE pg_temp.joined(state bytea) (
	SFUNC = l4._parser_train_combine, STYPE = bytea, FINALFUNC = l4._parser_train_final);
CREATE TEMP TABLE truth (dataset text, line_no int, content text, template text);
CREATE TEMP TABLE csv (line_no int, content text, event_id text, template text);
SELECT format('TRUNCATE csv; COPY csv FROM PROGRAM %L CSV HEADER; '
		'INSERT INTO truth SELECT %L, line_no, content, template FROM csv',
	format('gzip -dc %L', :'dir' || '/' || name), replace(name, '.csv.gz', ''))
FROM pg_ls_dir(:'dir') AS name WHERE name LIKE '%.csv.gz' AND name <> 'drain3_reference.csv.gz' ORDER BY name
\gexec
CREATE TEMP TABLE cut AS
SELECT t.dataset, c.how, c.parts, CASE c.how WHEN 'behind' THEN (t.line_no - 1) * c.parts / n.lines ELSE t.line_no % c.parts END AS part,
	t.line_no, t.content
FROM truth t JOIN (SELECT dataset, max(line_no) AS lines FROM truth GROUP BY 1) n USING (dataset),
	(VALUES ('behind', 1), ('behind', 2), ('behind', 4), ('behind', 8), ('among', 2), ('among', 4), ('among', 8)) c(how, parts);
CREATE TEMP TABLE state AS
SELECT dataset, how, parts, part, pg_temp.part(content ORDER BY line_no)::bytea AS state FROM cut GROUP BY 1, 2, 3, 4;
CREATE TEMP TABLE trained AS
SELECT dataset, how, parts, pg_temp.joined(state) AS p, sum(length(state)) AS bytes FROM state GROUP BY 1, 2, 3;
CREATE TEMP TABLE score AS
WITH parsed AS (
	SELECT t.how, t.parts, t.dataset, u.template AS g, coalesce(s.template, '') AS p
	FROM trained t JOIN truth u USING (dataset)
	LEFT JOIN LATERAL (SELECT l4.parser_match(t.p, u.content) AS event_id) m ON true
	LEFT JOIN (SELECT how, parts, dataset, (l4.parser_templates(p)).* FROM trained) s
		ON (s.how, s.parts, s.dataset, s.event_id) = (t.how, t.parts, t.dataset, m.event_id)),
sized AS (
	SELECT *, count(*) OVER (PARTITION BY how, parts, dataset, g) AS ng, count(*) OVER (PARTITION BY how, parts, dataset, p) AS np,
		count(*) OVER (PARTITION BY how, parts, dataset, g, p) AS both_n FROM parsed)
SELECT how, parts, dataset, count(*) FILTER (WHERE p = '') AS unmatched, avg((both_n = ng AND both_n = np)::int) AS ga
FROM sized GROUP BY 1, 2, 3;
\pset footer off
WITH d AS (
	SELECT s.*, o.ga AS whole, s.ga - o.ga AS difference, t.bytes
	FROM score s JOIN score o ON o.parts = 1 AND o.dataset = s.dataset JOIN trained t ON (t.how, t.parts, t.dataset) = (s.how, s.parts, s.dataset))
SELECT dataset, round(max(whole), 4) AS "GA",
	round(max(difference) FILTER (WHERE how = 'behind' AND parts = 2), 4) AS "2",
	round(max(difference) FILTER (WHERE how = 'behind' AND parts = 4), 4) AS "4",
	round(max(difference) FILTER (WHERE how = 'behind' AND parts = 8), 4) AS "8",
	round(max(difference) FILTER (WHERE how = 'among' AND parts = 2), 4) AS "every 2nd",
	round(max(difference) FILTER (WHERE how = 'among' AND parts = 4), 4) AS "every 4th",
	round(max(difference) FILTER (WHERE how = 'among' AND parts = 8), 4) AS "every 8th",
	sum(unmatched) AS unmatched, max(bytes) FILTER (WHERE how = 'behind' AND parts = 8) AS bytes
FROM d GROUP BY 1 ORDER BY 1;
SELECT how, parts, round(avg(ga), 4) AS "GA", round(min(difference), 4) AS worst, round(avg(difference), 4) AS mean
FROM (SELECT s.how, s.parts, s.ga, s.ga - o.ga AS difference FROM score s JOIN score o ON o.parts = 1 AND o.dataset = s.dataset) d
GROUP BY 1, 2 ORDER BY 1 DESC, 2;
