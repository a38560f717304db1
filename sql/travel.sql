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
bDRleHBvcnQB9RAExWLupLcAAAAAAAAAAAEBKLUv/WCfDC0lAAawqkjg1jgHiAkcUkOq0SEnQ7oqFILVuAMnNwMIgyq6t5OkNMK2Kz0y0UJuRCiQ
AeFgUWL81Gc3ks1gvaUoUfzELiuBfmzQJ1KmlAKZAJwAlwAyMjEk+cUq3JiW2RNfEZYUeqmcS9JzkZYEgqD1Ui/ZtcAz78u7rvH0WDe/RPJ6JjzU
A+u9XKLNFc17jipcmqfYui4y5ieuowgtjq1glpZhDDMz7BTPHHsJMWrZh7LAoUMLj6xyha8shsvxfJX4ssiyxRpVI5KEYS/15csqMYgyhEgzgiTF
0xRfnzf6QJIlgZ+X+kzkF8s0IgJVBv2uRIohP47MPLTh9Jg9kxs+gjSZMXOV5+o3HT3vmrYCQNMoypOgz8nAGOilQsOGLqvBMJoV6qRpjeSMCo8q
GxEsseq0uRhUwWCYNceZUs2qAQyYAi0HCzoogQ5OIRh+qjOLN5PiTDbF18qElaB5Qbiuy54jhmUYPJLkKJ4mVOn0uqfsBbQj6yGG7/0l+Z20LDyt
V4NF00vJZAg+lHTjUTRPzT+5VlCLPupkCkHSiEF3FUZ7ixfeLT3j0p9RQ3ECAjwQyHPobzg5sw0HiI7WuN5mTb9/1Ny3WrVKt4+h3+0RkmNnwnPc
B3rYYcjtuRgoMEDU0qgIJwimUhhSD8oj+MkhuMlLHrp1lgsNwx43kDtuJZSC4qnbDp1pT7595gPqd8u4BXAKIg0URBhcRAVE9PMB391Z+A+5c83i
9y3X6qW8ew33ajoOllwbpLN9PBQgpJIgFKKf9x36LrMwIMrGfMWKsui6dl6966rgFfxvoL9kR5EYOytuILnprt0doCpu3L0HDyM5SVzcBLHh/fl4
d3Occ107gB2Oa/z4uzWxv6lOdZdA/91DYutUFF8BgULU85l+CoLxPx5KQOu76Hf9RAKA8KjxOOeUIhlJkiTDAWCElFFROmKpRMfRlELMEERGJhAR
EZEgkpKCwkqGMZUmmYHJu/PDzHfa1FLWlCJBCO+3GaRZK9M4eghbHMx3QL7T5qULghkANafnDtMxeCOJlHHXUgaEqXGp+WzwuMQYfXtdOiyWLnFd
uqdfLKO4cY/Qyx5wgZn5bPSOQecPYKGnacFdtLYInwIJk8CQgIBxIp/PFKuPYM0HKXyGRzfNE2P9LPzKp0UAkMP4u6Z7U0s1zDDx8easfh82xID5
3x6DOGx9rQ7KGxFrPJ8J7l8YnsiMsxMLP/bMSaxtiBqTloPYBys6/3Q9ghV05wmmMjFnJuEiKNIlcQGcXtWbosjogrBe8SRkcNRkj+depuVWp7h5
OvYrcRRqoYjj2of6rKCaGsf6OxJ6oBA4yGSUcrreAGJzoxs2T+fNeb5nBBdassc2QDgwXwb4jXdJcUfxX1hc/yxEnQzUWnBNgERZ3bRjGQVQ/inu
BFaLFWLfYjXYBNnvShYrfdx8aPCiZt0UR4lap5HB9D8m1Au30sefOBq+Sk0GsHoU+UbG95e2EoECG2JEDL/WYYlTe9AAdxslsTvR2Xh9JI3nO9zS
G7EI2thFsdfekNSA0TZS++ThtqKprA6kg4W9caNA3r+bZIMiqhgnBmun7bBIyUSIsqo=
', 'base64')]);
SELECT c.node, e.level, e.template, c.occurrences, c.first_ts, c.last_line_no
FROM l4.event_count AS c JOIN l4.template AS e USING (event_id) WHERE c.job_id = 'golden' ORDER BY 1, 3;
SELECT node, count(*), sum(iteration), max(duration_ms) FROM l4.iteration WHERE job_id = 'golden' GROUP BY 1 ORDER BY 1;
SELECT node, line_no, level, iteration FROM l4.event_line WHERE job_id = 'golden' AND line_no > 7 ORDER BY 1, 2;
SELECT l4.forget_job('golden');
DROP FUNCTION t_import, t_head;
DROP TABLE t_logs, t_part, t_small, t_rule;
