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
bDRleHBvcnQBXCPlXfMFLTIAAAAAAAAAAAEBKLUv/WCfDB0lALbwq0jglDgHCIwULEASjhSVOHvb4MFHiGIo9sYwJIjS//TTWsK2LTxg0VTq3MZK
Yle+7yMw+r0byW1+U0V4wNym2nbQL163bSlTSgGcAJ4AlwAomQoyMjEk+cEi3JiO2RPfDnYUeqicW6RXknYEgqD1UC+5dPHM6/JuOZ7e6maXSF4v
hHdaYD1XKdpc0bznmMIt8xRZtyRhLuL6iNBiWApW6RjGLzO/TvHMsBcOoo59JwkXMLDwuGqp8I3BcGs8XS18V2SLtRpTIpJ8YQ/15btq4Q0tDiKN
B5IUT1N0fZ7oA0d2BH4e6iuRHyzTdAihAiHq+dqCfgeChA8dQmQO2nBwyB6JjBw8kriQOcpz9ZuOnXdNSwGgadTkP9DnYiDs40J5YUOP1eAXjep0
0rBGciaFx5SNCLZw6rS5GEzB4Jc1xxlSjSoBDIgC7QULKiCBCkwhGH6pM4s3k+JMNkWXyny1QPNuKG9pzxG/MgweSXIUz9KJZHLdM/YCWpHNAMP3
/pH8SjoWntarwaLpBfVL+l3/jxxGuvEomqfmnlzrh0X/ZCqF4EiEoLu6oh2FCu+Vnmlpz6iZOAEB3ufjOfQ3nBzZhrOjRmtcb7Km3z9q7lutWqXb
x9Dv7vSgMXvwHPeBHnYUcnstLAUGhFb61MDEoEQKQ9o5eQM3OQMvOclDt64yoV+44yy541JAJyadus2oTFvy7TIfUL9Xxi2AQwhZgBCi0BLf3Ul4
DblzzeL3Ldfqnbw7DPdq+gyVXPszZPM4KAAI5QAIRD3vM/oeszDgycLchIqe6Npr59W7pi7v8o+B/hEbQFjMTMggctNdu7vuOmehJW7cHceNIDlF
UtzwiOHt8Xh3c5xzXTuAGcd1+eW/A6HfrYn9TYdUdwf03x0k9pBq4imfD4h2PtM/MTC+x0EHaIDtqOE455QqmZEkSWtQBCmj2rQBUrlAx9GUQswQ
REYmEBERkSCSkoLCSoYxFSSZgcm788P8925qkvV5SRDE820GCWtl4o8CqimCcg7Ie9xkKUEQg1t7evIICoZvmkiZd1FTAMzbT9pfw+OTowbx+oaw
eIPg+jqnfy1d32CDpFtrwF5oloDW8Gj2GHQcQW1H36QTTIOlfYKFU+v0RHj+sEE+LMBa5fKqHxb/DPINNTg12LXDx/byVimYn/4d1fNBU+i3/PFy
Z7ZuV6FKCdaxT+eL1f2A8YGQcD5kMYa+TGK1GFFlCGqEdXhl599vg4CF7QwBnLloxwihqgtLGAAB3QebOVQnWCBye3wEHENtXby/5Vq1OtXNE2O2
EkcjFHBwQNbAwgKA4lq9/o44FS6ACjLBQEZrzR42MXjP5t84Ok3omUBU6LxLBR8WzNdBkuO7qCSS8K0S7oEK0eoBtxClBWAh82a7neMCJN+aD976
DiHrWb4GPyB0t5L4lQK3tbR4V5s+j3xHv9MI4VgJ5e8GLTEDgRgKHkYFhq1+MHCynHO8Ws0Hd5jaspRnwkkOAg8D7/1zieyOTjhiL08VfpCyPImY
OrXDJrC2wEm+wckVAXO6cIfvllf50KOAVy7ruj9HuBij6ABT1/hLRv7RDtEFWtIq
', 'base64')]);
SELECT c.node, e.level, e.template, c.occurrences, c.first_ts, c.last_line_no
FROM l4.event_count AS c JOIN l4.template AS e USING (event_id) WHERE c.job_id = 'golden' ORDER BY 1, 3;
SELECT node, count(*), sum(iteration), max(duration_ms) FROM l4.iteration WHERE job_id = 'golden' GROUP BY 1 ORDER BY 1;
SELECT node, line_no, level, iteration FROM l4.event_line WHERE job_id = 'golden' AND line_no > 7 ORDER BY 1, 2;
SELECT l4.forget_job('golden');
DROP FUNCTION t_import, t_head;
DROP TABLE t_logs, t_part, t_small, t_rule;
