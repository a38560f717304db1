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
bDRleHBvcnQBVdxO93eKKxsAAAAAAAAAAAEBKLUv/WCkC3UgACbsmjwAmTpJFkkbZCiyQT6eyPr32v/aG7Duf5Kn+bZvJyud8SlBLlQ/A6NlHGl6EeJm
6ISQsp7NYVtGLclSkgGOAIwAjgBZZXfDkTxVRU8SeOJbWZaY5D2oQAcyzUEyA/VK/rIaNM9MupC6CUwGgSZLNtO86t5G09U0ycBz6C/ZY3B4Dwv2gSXu
LUxV4Wqu6vABJcISbboNkBCTrX+ob2ficKN6DaI7/07U5Kd7Eecp3CTPpuYfuklQFPNk5TzNNTWDNjLCVt7wrbSRPBvFaRuqJyoBA5pgfP3/GvY+MfG9
+yOxHNKCtCiMc2LKFp74dOuJiT5Lelv3WMwS3b2VJe+yt9tCnOqSXIoPYlfySgyCS4lcKWGBK3G23qqaWT3NEjU1g75UiJZpJgFmIF71Fqq7rc9TmyuF
LmcRzCvxocQRWGS4c34t9bssEbdiMmWbKcn76Pj40DhP2zAja1giXndGWVub6RrgMtXB4T3u7zjPZ7cER8dptmRBy2Q6QOYhIe8992NIUsUYUpLQ1aNr
6zpWfP2uA9wTEn7i/gLOWthS0BeGJrAFDI/LUVRYXOh2NxwATOcXbuEVTuE5xzn2Aw7VCjfMFVSCL4BigJcXE/Rb+wg6huAwf2Xu/9gi03RUVaTpGFJR
8beAjJS4eIoBb2sbP6KO/35Va/F+h6n2vlYgBd6dx/2m7jOqr63sTP9Mx2aOou9Q952Id6UOD73G9101e2t+/aI0XTxURFhMN/baWs3+AsCMjbsXDU1J
XeXYKP24nX25tePoY826wdc42o2+P92317RW1x0B4RvcaabM6sp+pkn9M8f4ffdr7hSAvajhQMaYMRkFSQoKksZgZKbKStqywTwF8hhiRGQCoUAklEAC
iREJCiRJsRgPVDqxREDGaMGU5i8uy3hU3jDepXHF36PmzO9RIvgh0EQWMYYFMt/Gf6avGiMz8lbQRa5But2ikfc25w8IUaXinWtugCxjACTA5uy4wg3D
8iTwoGoQutSH9czg2GTQQl2EKLf2j/E4d7ChlY/jxV6BMKS6W60BYW9iSbXaFFbHdim4Kgzc32lknTjnfRiqr/ElMJeS9dV0QWKbbB2DN58kwY/GfFcu
6EE0t16GNIPRI8nSgPm8MozXs0q0Mi9ZoYgLCWQC2O2QbiSEunZl/GIGuJAd7R8GBRG0tZBZGHC7AIcArGHn2t6BH4DKT++1tf6GQv2WyEHbiNuZxE2a
2ijTrMaptT6MEEWmRqjko5n1rsKSMmrFqnEutQRkdG32VXngD9FaBz5tpMWRN4SrHF151NDukZjw4oxkHO4J0vmexS0BBxv7JkaPtS+RIBiQcyPBRxTj
y0/ZVR/dKI7lWoJ8rjQPsxBYA9UAmSSYk55UIWTofw==
', 'base64')]);
SELECT c.node, e.level, e.template, c.occurrences, c.first_ts, c.last_line_no
FROM l4.event_count AS c JOIN l4.template AS e USING (event_id) WHERE c.job_id = 'golden' ORDER BY 1, 3;
SELECT node, count(*), sum(iteration), max(duration_ms) FROM l4.iteration WHERE job_id = 'golden' GROUP BY 1 ORDER BY 1;
SELECT node, line_no, level, iteration FROM l4.event_line WHERE job_id = 'golden' AND line_no > 7 ORDER BY 1, 2;
SELECT l4.forget_job('golden');
DROP FUNCTION t_import, t_head;
DROP TABLE t_logs, t_part, t_small, t_rule;
