-- What export and import refuse; the whole way between servers is in test/t/061_travel.pl.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TABLE t_logs (job_id text, node text, source text, line_no bigint, ts timestamptz, line text,
    PRIMARY KEY (job_id, node, source, line_no));
INSERT INTO t_logs
SELECT 't-1', 'n' || n, '', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 second',
    format('loader %s opened %s of %s', n, md5((n * 1000 + i)::text), repeat(md5((i * 7 + n)::text), 60))
FROM generate_series(1, 3) AS n, generate_series(1, 200) AS i;
CALL l4.ingest('t_logs');
SELECT l4.export_job(NULL);
SELECT l4.export_job('t-1', NULL);
SELECT l4.export_job('t-1', 'half');
SELECT l4.export_job('nowhere');
SELECT l4.export_job('t-1', 'all', '{n1,n9}');
SELECT l4.import_job(NULL);
SELECT l4.import_job('{}');
SELECT l4.import_job(ARRAY[NULL::bytea]);
SELECT l4.import_job('{x}');
SELECT l4.import_job(ARRAY(SELECT l4.export_model()));
SELECT l4.import_model(ARRAY(SELECT l4.export_job('t-1')));

-- rows: cut, twice, of two exports, of another format, in any order
CREATE TABLE t_part AS SELECT row_number() OVER () AS n, p FROM l4._export_rows($$
    SELECT e.* FROM l4._job_entries('t-1', 'all', NULL) AS e
    UNION ALL SELECT 'j', jsonb_build_object('status', 'running', 'attributes', string_agg(md5(i::text), '')), NULL
    FROM generate_series(1, 80000) AS i$$) AS p;
SELECT count(*) AS rows, max(length(p)) <= 1000000 AS short FROM t_part;
CREATE FUNCTION t_import(parts bytea[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    PERFORM l4.import_job(parts);
    RETURN 'imported';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' | ', SQLSTATE, SQLERRM, nullif(detail, ''));
END
$$;
SELECT t_import(array_agg(p ORDER BY n DESC)) FROM t_part;
SELECT t_import(array_agg(p)) FROM t_part WHERE n < 3;
SELECT t_import(array_agg(p)) FROM t_part WHERE n > 1;
SELECT t_import(array_agg(p)) FROM t_part WHERE n <> 2;
SELECT t_import(array_agg(p) || (array_agg(p))[1]) FROM t_part;
SELECT t_import(array_agg(p ORDER BY n) FILTER (WHERE n < 3) || ARRAY(SELECT x FROM (SELECT p AS x, n FROM t_part) AS y
    WHERE y.n = 3) || ARRAY(SELECT l4.export_job('t-1'))) FROM t_part;
SELECT t_import(ARRAY[set_byte(p, 8, 7)]) FROM t_part WHERE n = 1;
SELECT t_import(ARRAY[substr(p, 1, 500)]) FROM t_part WHERE n = 1;
SELECT t_import(ARRAY[set_byte(p, 700, get_byte(p, 700) # 1)]) FROM t_part WHERE n = 1;

-- headers of others
CREATE FUNCTION t_head(changed jsonb, kind text DEFAULT 'h') RETURNS bytea[] LANGUAGE sql AS $$
    SELECT array_agg(p) FROM l4._export_rows(format('SELECT e.kind, CASE e.kind WHEN %L THEN e.head || %L ELSE e.head END,
        e.bodies FROM l4._job_entries(''t-1'', ''all'', NULL) AS e', kind, changed)) AS p
$$;
SELECT t_import(t_head('{"l4": "99.1"}'));
SELECT t_import(t_head('{"l4": "none"}'));
SELECT t_import(t_head('{"encoding": "EUC_JP"}'));
SELECT t_import(t_head('{"options": {"masks": []}}'));
SELECT t_import(t_head('{"what": null}'));
SELECT t_import(t_head('{"l4": "0.0.9"}'));
CREATE TABLE t_rule AS SELECT unnest(t_head('{"example": "seen nowhere", "rule": "of no one here"}', 'e')) AS p;

-- every byte of a small export counts, here 150 of them: nothing is taken in, nothing changes
CREATE TABLE t_small AS SELECT p FROM l4.export_job('t-1', 'baseline') AS p;
SELECT count(*) FILTER (WHERE r.answer ~ '^(XX001|0A000)') = count(*) AS all_refused
FROM t_small CROSS JOIN generate_series(0, length(p) - 1, greatest(1, length(p) / 150)) AS i
CROSS JOIN LATERAL t_import(ARRAY[set_byte(p, i, get_byte(p, i) # 64)]) AS r(answer);
SELECT l4.forget_job('t-1');
SELECT t_import(array_agg(p)) FROM t_rule;
SELECT streams_imported, streams_kept FROM l4.import_job(ARRAY(SELECT p FROM t_small));
SELECT l4.forget_job('t-1');

-- an export as it was made once: it reads the same on machines of either byte order, and by later versions
SELECT streams_imported, streams_kept FROM l4.import_job(ARRAY[decode('
bDRleHBvcnQBMvspA9fqE8sAAAAAAAAAAAEBKLUv/WAODMUhAIZuozvw2ubQlrviUBHJ2f8cIEq/fnXyXyBG+Wltl+q1aknum0RYBsB0FGbG3O5gtm+b
KTYHCpIgCC3dWraUZJcAlwCTAMMNlQMTz3erL70cWvpcl11L4HrmTNM8S5+EC4woWzVYqkD9limqG0xXtZwpeRZnGQSmMWraqq/+bbZ90xUVuA6dRvUa
9NzDgn2AiXsLW1f4pq87lGihwEQcr0NkZGXrFBZlq8ThZvUbZLeasrIrKfpHsa7CXfpwrprC7hO2JWWBWdf0bdMgrqTAmbkzZ+JKH2634oYuy0tPW0Uf
0DaopuKHHTlJiQkVnUD/mB/PdO394uJd8o9EcygQHBg6USe6bCELCu9lWdGrym/rX0xqsvv3xqjb/PW28Gy1is4FZaJn+sxT5DQrdGYFBmqiuN/rpqq7
pipumwZRWiFrtuoJUAWer95Ct7f1uur03fF0GEH1JUqYJ8VZMtyq+mDuj2Ei+p6ly07b0hfyERLCsa64+K2cvrZO25fmN7ei4kvyB1HkTHSHwfNhD8gq
PkDuA1jlQeObpgE4Ccl7UX4bFFbRBhWlhGl6xLYinunHr2nuDQ3fy/8oxrWppDIN/eOIy4cGhgWFBIzqdhcYGbxeDp3VeJ7hGH7hO9c56qcfeLhYuGve
4JJjwUAAQC2XzYo0ssde9AWdHydoG4LffO7JT5IyNlUBjzHZ8SYu6bRzv9vcnMuAdydyz60jHbgZC3DhAG27OQzMe1d+J549k3cOfQdlhkPiTHp2EueI
iAfJz+qMCWkxeVH1YJwx6TDL4XH3pqUsrK4fHikjx7eb4zLHeBx9JLEblI0j3uz7VX6MaSmJH8+4svvCwp/5P8VcGcB3u9f5HwdoCP031+l+JT8ZgMCo
4TzHlCkaSZKCpANQBKGq4rQBkvk8hOGUYkQCCUYkEJFIJBDJSFCYJGkxFYR7bymmx3XJD6/V6cFNaOJrYVbCZcvBsJg5T5WxcZ1aYr7GWaCfMnKiOKYB
Q3O5hu98hxejluTyFpXubFpeQXOPKspfWCSkaR6CI+jfwePseB6fMDdsqoeSoeKBbLNly9iAbqi0A12plgknsEYdtUAz7QqLYGOlIU9eE5Gs8rWqJ+25
Pnu0/150JpLrntyh8biyCd2rnNWsgwmk16gsGSZXuTQQXeK04Ps7Q6ewcV1X/f6mH7k+qIU8e8Fl8zo0BCrwNYnYkO8J7LxgYXczE/B7OT6DDC1Cbs6p
ij6kWYUpFaJhBtwq6gBghwFtu4N7AHQ/3I6AFbkIVVu+BxGjGYXJ4EiRG1i6KJ9U44MsRRHXCEn+j0P2NCyRUUEUCa6j9ELPDzf4UOYcF63WQRTGtTTl
lXuNo8/DdO2OMhNiHMbQjHthKm7X4JbQiNFogwMFQVuXiRdUrwjQtw2jG1jt6hg6eQz7GHx8vuNjRJF74z/cO9t8Zk9WCF1WFQ==
', 'base64')]);
SELECT c.node, e.level, e.template, c.occurrences, c.first_ts, c.last_line_no
FROM l4.event_count AS c JOIN l4.template AS e USING (event_id) WHERE c.job_id = 'golden' ORDER BY 1, 3;
SELECT node, count(*), sum(iteration), max(duration_ms) FROM l4.iteration WHERE job_id = 'golden' GROUP BY 1 ORDER BY 1;
SELECT node, line_no, level, iteration FROM l4.event_line WHERE job_id = 'golden' AND line_no > 7 ORDER BY 1, 2;
SELECT l4.forget_job('golden');
DROP FUNCTION t_import, t_head;
DROP TABLE t_logs, t_part, t_small, t_rule;
