-- Bytes that are none of ours: what ingest stores, changed at random and on purpose. An error that says what, or a value; never a crash.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS l4;
CREATE FUNCTION pg_temp.parser_learn(parser l4.parser, tags integer[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
CREATE SCHEMA damaged;
SET search_path = damaged;
CREATE TABLE lines (job_id text, node text, source text, line_no bigint, ts timestamptz, line text, PRIMARY KEY (job_id, node, source, line_no));
INSERT INTO lines
SELECT 'damaged-1', 'n', '', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '0.3 s',
    CASE i % 5 WHEN 0 THEN format('[rank%s]: iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: %s', i % 2, i / 5, i, 5 - i / 100.0)
        WHEN 1 THEN format('[WARNING] storage: attempt %s of node%s failed, retrying', i % 3, i) WHEN 2 THEN format('[INFO] engine: forward took %s ms', 100 + i % 5)
        WHEN 3 THEN E'Traceback (most recent call last):\n  File "a.py", line 5, in f\nValueError: ' || i ELSE 'loading data from shard-' || i || '.bin' END
FROM generate_series(1, 120) AS i;
CALL l4.ingest('lines');
CREATE TABLE part (name text, bytes bytea);
-- what is stored
INSERT INTO part SELECT 'body', c.body FROM l4._chunk AS c WHERE c.job_id = 'damaged-1';
INSERT INTO part SELECT x.name, x.bytes FROM l4._summary AS m JOIN l4._stream AS s USING (stream_id),
    LATERAL (VALUES ('events', m.events), ('slots', m.slots), ('durations', m.durations), ('iterations', m.iterations), ('activity', m.activity), ('sequences', m.sequences)) AS x(name, bytes)
WHERE s.job_id = 'damaged-1' AND x.bytes IS NOT NULL;
-- and of two streams in one
INSERT INTO lines SELECT 'damaged-2', 'n' || n, source, line_no, ts, line FROM lines, generate_series(1, 2) AS n;
CALL l4.ingest('lines', 'damaged-2');
INSERT INTO part SELECT x.name, x.bytes FROM l4._pack AS p JOIN l4._stream AS s USING (pack_id), LATERAL (VALUES ('shared', p.slots), ('shared', p.scan_state)) AS x(name, bytes)
WHERE s.job_id = 'damaged-2' AND s.member = 1;

CREATE TABLE use (name text, statement text);
INSERT INTO use VALUES
('body', 'SELECT count(x::text) FROM l4._unpack($1) AS x(a bigint, b bigint, c timestamptz, d int, e int, f text, g int)'),
('body', 'SELECT count(x::text) FROM l4._lines_between($1, ''{1,2,3,4}'', NULL, NULL) AS x'),
('slots', 'SELECT count(x::text) FROM part AS p, l4._unpack_values($1, $1, p.bytes, NULL, ''{}'', ''{}'', ''{}'', ''{}'', ''{}'', NULL, NULL, false) AS x WHERE p.name = ''events'''),
('events', 'SELECT count(x::text) FROM part AS p, l4._unpack_values(p.bytes, NULL, $1, $1, ''{}'', ''{}'', ''{1,2,3}'', ''{0,0,0}'', ''{a,b,c}'', NULL, NULL, true) AS x WHERE p.name = ''slots'''),
('shared', 'SELECT count(l4._member($1, i)) FROM generate_series(-1, 2) AS i'),
('durations', 'SELECT count(x::text) FROM l4._duration_sums($1, $1, 2) AS x'),
('iterations', 'SELECT l4._iteration_metrics($1, $1, 3)'),
('iterations', 'SELECT l4._iteration_table($1, $1, 1, 0, NULL)'),
('iterations', 'SELECT l4._late_nodes($1, $1, 1, 2, 1, 0, NULL)'),
('activity', 'SELECT l4._activity_columns($1, $1, 1, ''2026-03-01'', ''2026-03-02'', 60)'),
('activity', 'SELECT l4._wrote_between($1, $1, ''2026-03-02'', ''2026-03-03'')'),
('sequences', 'SELECT count(x::text) FROM l4._last_of_ranks($1, $1) AS x'),
('sequences', 'SELECT l4._deviations($1, $1, 1, ''{1}'', ''{2}'')');
CREATE FUNCTION outcome(statement text, bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE statement USING bytes;
        RAISE no_data_found;
    EXCEPTION WHEN no_data_found THEN
        -- nothing of it stays
        RETURN 'value';
    WHEN data_corrupted THEN
        RETURN 'corrupted';
    WHEN integrity_constraint_violation OR data_exception THEN
        RETURN 'refused';
    END;
END
$$;
CREATE FUNCTION damage(bytes bytea, seed int) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    h bigint;
BEGIN
    IF seed % 10 = 0 THEN
        RETURN substr(bytes, 1, (abs(hashint8extended(seed, 0)) % length(bytes))::int);
    END IF;
    FOR i IN 1 .. 1 + seed % 3 LOOP
        h := abs(hashint8extended(seed, i));
        -- the heads most of all; bytes, and numbers beyond all
        IF h % 3 = 0 THEN
            bytes := overlay(bytes PLACING decode((ARRAY['ffffffff0f', 'ffffffffffffffffff01', 'ffffffff07', '8080808010'])[1 + (h >> 8) % 4], 'hex')
                             FROM 1 + ((h >> 16) % least(length(bytes), 200))::int FOR 1);
        ELSE
            bytes := set_byte(bytes, ((h >> 16) % least(length(bytes), CASE h % 3 WHEN 1 THEN 40 ELSE 100000 END))::int, ((h >> 8) & 255)::int);
        END IF;
    END LOOP;
    RETURN bytes;
END
$$;
SELECT u.name, count(*) >= 60 AS tried, bool_or(r = 'corrupted') AS refused
FROM part AS p JOIN use AS u USING (name) CROSS JOIN generate_series(1, 60) AS seed CROSS JOIN LATERAL (SELECT outcome(u.statement, damage(p.bytes, seed)) AS r) AS o
GROUP BY u.name ORDER BY u.name;

CREATE FUNCTION failure(statement text, bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    EXECUTE statement USING bytes;
    RETURN 'read';
EXCEPTION WHEN data_corrupted THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN detail;
END
$$;
SELECT occurrences FROM l4.parser_templates(pg_temp.parser_learn(l4._parser_new(), ARRAY[0, 0], ARRAY['one line', 'one line'], ARRAY[9223372036854775807, 9223372036854775807]));
SELECT * FROM l4._unpack_values(NULL, NULL, NULL, NULL, NULL, NULL, '{1}', '{1}', NULL, NULL, NULL, NULL);
-- a few bytes that would take gigabytes: rows, rows and columns, what is compressed, members; and members of what has none
SELECT note, failure('SELECT count(x::text) FROM l4._unpack($1) AS x(a int)', decode(replace(bytes, ' ', ''), 'hex')) FROM (VALUES
    (2, 'more rows', '01 80808004 01 69 06 02 02 80808004'),
    (3, 'more columns', '01 80808001 03' || repeat('69 06 02 02 80808001', 3)),
    (4, 'compressed bytes of too many', '02 28b52ffd a0 00000001' || '03 1000 00'),
    (5, 'more than any', '02 28b52ffd e0 0000000000000001' || '03 1000 00'),
    (6, 'of how many is not said', '02 28b52ffd 00 58 190000 616263'),
    (7, 'compressed bytes of fewer', '02 28b52ffd 20 04 190000 616263'),
    (8, 'nothing compressed', '02')) AS t(o, note, bytes) ORDER BY o;
SELECT note, failure('SELECT l4._member($1, 0)', decode(replace(bytes, ' ', ''), 'hex')) FROM (VALUES
    (1, 'bytes of one stream', '01 00 00'),
    (2, 'compressed bytes of too many', '04 28b52ffd a0 00000001' || '03 1000 00'),
    (3, 'more members than there may be', '04 28b52ffd 20 4d 690200 41' || repeat('00', 76)),
    (4, 'more members than bytes', '04 28b52ffd 20 03 190000 400000'),
    (5, 'a member beyond the bytes', '04 28b52ffd 20 03 190000 010903'),
    (6, 'no member', '04 28b52ffd 20 02 110000 0100')) AS t(o, note, bytes) ORDER BY o;
-- a text that is none
SELECT * FROM l4._unpack('\x01010173050102ff0000') AS u(a text);
-- a parser that knows no shapes
CREATE TABLE damaged.drained AS SELECT l4.parser_train(m, '{"algorithm": "drain", "max_clusters": 1}' ORDER BY m) AS parser FROM unnest(ARRAY['a b c', 'one two three four']) AS m;
SELECT l4._parse(d.parser, '{}', 'a b c') FROM damaged.drained AS d;
-- a parser of '5 %' and '5 6' whose second row was made like the first: rows that are all the same, and have no word,
-- have no column to tell them apart by (another version of the format needs these bytes anew)
SELECT e.event_id, e.template, e.occurrences FROM l4.parser_templates(pg_temp.parser_learn(('l4:'
    '010000006017c26086f7247b0000020000020120012501000206010200000000030100000102000001020101ed899be501abc6f4c90502070201'
    'ed899be501bcf7b4c40e0207020003010300')::l4.parser, ARRAY[0], ARRAY['5 6'], ARRAY[1]::bigint[])) AS e;
-- statements that read no lines, and calls that are none
CREATE FUNCTION read_by(statement text, lines text DEFAULT ' WHERE ($1, $2, $3, $4, $5) IS NOT NULL') RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM l4._ingest_begin(1, 1000, statement || lines, '', 'SELECT 1::bigint, 2::bigint WHERE ($1, $2, $3, $4) IS NULL');
    PERFORM l4._ingest_wait(1, s.job_id, s.stream_id, true, 5000, 6000, false, true, 1000, 0) FROM l4._stream AS s WHERE s.job_id = 'damaged-1';
    RETURN l4._ingest_read(1);
END
$$;
SELECT read_by('SELECT 5000::bigint, NULL::timestamptz, 1, ''line''::text');
SELECT read_by('SELECT 5000::bigint, NULL::timestamptz, 1, 12345::bigint');
SELECT read_by('SELECT 5000::bigint');
SELECT read_by(s, '') FROM unnest(ARRAY['DROP TABLE damaged.lines']) AS s;
SELECT read_by(s, '') FROM unnest(ARRAY['DELETE FROM damaged.lines']) AS s;
SELECT read_by('', '');
SELECT read_by('SELECT 1; SELECT 2', '');
SELECT l4._ingest_read(1);
SELECT l4._ingest_wait(1, 'damaged-1', 1, true, 5000, 6000, false, true, 1000, 0);
SELECT l4._ingest_store(1);
SELECT l4._ingest_begin(1, -5, '', '', ''), l4._ingest_store(1), l4._ingest_wait(1, 'damaged-1', -1, false, 9223372036854775807, -5, false, true, -1, -1), l4._ingest_read(1), l4._ingest_read(1);
-- a row before the first
SELECT l4._iteration_metrics(iterations, iterations, -9223372036854775808) IS NULL AS none FROM l4._summary LIMIT 1;
SELECT l4.forget_job('damaged-1'), l4.forget_job('damaged-2');
DROP SCHEMA damaged CASCADE;
