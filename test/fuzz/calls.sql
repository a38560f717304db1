-- Makes statements that call every function of schema l4 with values that are mostly wrong. fuzz.call(seed) is the
-- statement of a seed: always the same one on the same extension.
CREATE EXTENSION l4;
CREATE SCHEMA fuzz;
CREATE TABLE fuzz.lines (job_id text, node text, source text, line_no bigint, ts timestamptz, line text);
INSERT INTO fuzz.lines
SELECT 'job' || j, 'n' || n, '', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '0.3 s',
    CASE i % 5 WHEN 0 THEN format('iteration %s/40 | elapsed time per iteration (ms): 1000.%s | lm loss: %s',
            i / 5, i, 5 - i / 100.0)
        WHEN 1 THEN format('[WARNING] storage: attempt %s of node%s failed', i % 3, i)
        WHEN 2 THEN format('[INFO] engine: forward took %s ms', 100 + i % 5)
        WHEN 3 THEN E'Traceback (most recent call last):\n  File "a.py", line 5, in f\nValueError: ' || i
        ELSE 'loading data from shard-' || i || '.bin' END
FROM generate_series(1, 60) AS i, generate_series(1, 2) AS n, generate_series(1, 3) AS j;
CALL l4.ingest('fuzz.lines');
UPDATE l4.job SET status = 'failed' WHERE job_id = 'job1';

-- flows, for what their tables hold
CREATE SCHEMA fuzz_flow;
SET search_path = fuzz_flow;
SET timezone = 'UTC';
SELECT l4.create_flow_table('flows');
\ir ../../sql/include/made_flows.sql
CALL made_inventory(6);
CALL made_job(0, 1, 20);
CALL l4.trace_flows('flows');
RESET search_path;

-- right values to begin with, by the name of their type
CREATE TABLE fuzz.value (type text, n int, value text, PRIMARY KEY (type, n));
CREATE FUNCTION fuzz.learn(type_name text, statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    FOR found IN EXECUTE statement LOOP
        INSERT INTO fuzz.value
        SELECT type_name, count(*), found FROM fuzz.value WHERE type = type_name HAVING found IS NOT NULL;
    END LOOP;
END
$$;
SELECT fuzz.learn('bytea', format('SELECT %I::text FROM %s WHERE length(%1$I) < 20000', attname, attrelid::regclass))
FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
WHERE relnamespace = 'l4'::regnamespace AND relkind = 'r' AND atttypid = 'bytea'::regtype AND attnum > 0;
SELECT fuzz.learn('l4.parser', 'SELECT parser::text FROM l4._model');
SELECT fuzz.learn('l4.parser', $$SELECT l4._parser_new('{"algorithm": "drain"}')::text$$);
SELECT fuzz.learn('l4.event_vector', 'SELECT l4.event_vector_agg(i)::text FROM generate_series(1, 9) AS i');
SELECT fuzz.learn('l4.iforest', $$SELECT l4.iforest_train(l4.event_vector(ARRAY[i % 3 + 1], ARRAY[i::bigint]))::text
    FROM generate_series(1, 30) AS i$$);
SELECT fuzz.learn('l4.fault', 'SELECT f::text FROM l4.fault AS f LIMIT 20');
SELECT fuzz.learn('text', 'SELECT line FROM fuzz.lines LIMIT 5');
INSERT INTO fuzz.value
SELECT type, 100 + row_number() OVER (), value FROM (VALUES
    ('boolean', '{t,f}'), ('integer', '{0,1,-1,2,100,2147483647,-2147483648}'),
    ('bigint', '{0,1,-1,5,9223372036854775807,-9223372036854775808}'),
    ('double precision', '{0,1,-1,0.5,1e308,-1e308,5e-324,NaN,Infinity,-Infinity}'), ('numeric', '{0,1,-1,NaN,1e100}'),
    ('timestamp with time zone', '{2026-03-01 10:00:05+00,infinity,-infinity,4713-01-01 BC,294276-12-31}'),
    ('interval', '{1 s,-1 s,178000000 years,0}'), ('regclass', '{fuzz.lines,l4.job,pg_class}'),
    ('text', '{"",job1,job2,n1,fuzz.lines,shard-(\\d+),html,paper,"SELECT 1","a\n\tb",\u00e9,"(a+)+$"}'),
    ('jsonb', '{"{}","[]","null","1","{\"masks\": [{\"name\": \"x\", \"pattern\": \"[0-9]+\"}]}","{\"1\": 5}",
        "{\"algorithm\": \"drain\", \"depth\": 5}","[{\"id\": \"x\", \"any\": [1e400]}]"}'),
    ('l4.pcre', '{a,shard-(\\d+),(?i)error|lost,\\bx,(a|b)*c}'), ('int4multirange', '{"{}","{[1,5),[9,20)}"}'),
    ('bytea', '{"\\\\x","\\\\x00","\\\\x0101ff","\\\\x02ffffffff0f"}')) AS v(type, all_values),
    unnest(v.all_values::text[]) AS value;

-- numbers from 0 up to below of a seed
CREATE FUNCTION fuzz.roll(seed bigint, below bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN (hashint8extended(seed, 5) & 9223372036854775807) % greatest(below, 1);

-- a value of a type as text: one that is known, damaged more often than not where the type is made of bytes or text
CREATE FUNCTION fuzz.damaged(type_name text, known text, seed bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    hex constant boolean := known LIKE '\\x%' AND length(known) >= 4;
    at int;
    signs constant text[] := ARRAY['9', '{', '"', '-', ':', '\', ',', E'\n', 'a', '(', '[', '1e9'];
    bytes constant text[] := ARRAY['ffffffff0f', 'ffffffffffffffffff01', '80', '00', '7f', 'ff', '01'];
BEGIN
    FOR i IN 1 .. fuzz.roll(seed, 4) LOOP
        IF hex THEN
            at := 3 + 2 * fuzz.roll(seed + i, CASE fuzz.roll(seed - i, 2) WHEN 0 THEN least(40, length(known) / 2 - 1)
                ELSE length(known) / 2 - 1 END);
            known := overlay(known PLACING bytes[1 + fuzz.roll(seed * 3 + i, 7)]
                FROM at FOR 2 * fuzz.roll(seed + 7 * i, 3)::int);
        ELSIF type_name IN ('text', 'jsonb', 'l4.pcre', 'l4.event_vector') AND length(known) > 0
            AND fuzz.roll(seed + i, 5) = 0 THEN
            at := 1 + fuzz.roll(seed * 5 + i, length(known));
            known := overlay(known PLACING signs[1 + fuzz.roll(seed - 3 * i, 12)]
                FROM at FOR fuzz.roll(seed * 7 + i, 3)::int);
        END IF;
    END LOOP;
    RETURN known;
END
$$;

CREATE FUNCTION fuzz.argument(type regtype, seed bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text := replace(type::text, 'anymultirange', 'int4multirange');
    element constant regtype := (SELECT typelem FROM pg_type WHERE oid = type AND typcategory = 'A');
    kind constant "char" := (SELECT typtype FROM pg_type WHERE oid = type);
    known text;
    parts text[];
BEGIN
    IF fuzz.roll(seed, 25) = 0 OR type = 'record'::regtype THEN
        RETURN 'NULL' || CASE WHEN type = 'record'::regtype THEN '' ELSE '::' || name END;
    END IF;
    IF element <> 0 THEN
        SELECT array_agg(fuzz.argument(element, seed * 31 + i)) INTO parts
        FROM generate_series(1, fuzz.roll(seed * 3, 6)) AS i;
        RETURN format('ARRAY[%s]::%s', array_to_string(parts, ', '), name);
    END IF;
    SELECT value INTO known FROM fuzz.value AS v WHERE v.type = name ORDER BY n
    OFFSET fuzz.roll(seed * 11, (SELECT count(*) FROM fuzz.value AS v WHERE v.type = name)) LIMIT 1;
    IF known IS NULL AND kind = 'c' THEN
        SELECT array_agg(fuzz.argument(atttypid, seed * 37 + attnum)) INTO parts FROM pg_attribute
        WHERE attrelid = (SELECT typrelid FROM pg_type WHERE oid = type) AND attnum > 0 AND NOT attisdropped;
        RETURN format('ROW(%s)::%s', array_to_string(parts, ', '), name);
    END IF;
    -- a type without known values takes those of text
    known := coalesce(known, (SELECT value FROM fuzz.value AS v WHERE v.type = 'text' ORDER BY n
        OFFSET fuzz.roll(seed, 5) LIMIT 1));
    RETURN format('%L::%s', fuzz.damaged(name, known, seed), name);
END
$$;

-- what can be called: all but triggers, and the functions that types and aggregates call
CREATE TABLE fuzz.callable AS
SELECT row_number() OVER (ORDER BY oid::regprocedure::text) AS n, oid, prokind, proargtypes::oid[] AS types,
    pronargs - (hashtextextended(proname, 0) & 1) * pronargdefaults AS nargs
FROM pg_proc
WHERE pronamespace = 'l4'::regnamespace AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
    AND NOT proargtypes::oid[] && ARRAY['internal'::regtype::oid] AND prorettype <> 'internal'::regtype;

-- an export of a job whose stored values were damaged before they were made into rows, taken in as another job; every
-- other time with events that are not known here
CREATE FUNCTION fuzz.import(seed bigint) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT i.* FROM l4.import_job(ARRAY(SELECT l4._export_rows(format(
        'SELECT e.kind, CASE e.kind WHEN ''h'' THEN e.head || ''{"job_id": "fuzz"}'' WHEN ''e'' THEN e.head || %L '
        'ELSE e.head END, ARRAY(SELECT CASE fuzz.roll(u.n * 13 + %s, 20) WHEN 0 THEN '
        'fuzz.damaged(''bytea'', u.b::text, %2$s + u.n) ELSE u.b::text END::bytea '
        'FROM unnest(e.bodies) WITH ORDINALITY AS u(b, n)) FROM l4._job_entries(''job1'', ''all'', NULL) AS e',
        CASE WHEN seed % 4 >= 2 THEN '{"example": "seen nowhere"}' ELSE '{}' END, seed)))) AS i
$$;

CREATE FUNCTION fuzz.call(seed bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f fuzz.callable := (SELECT c FROM fuzz.callable AS c
        WHERE n = 1 + fuzz.roll(seed, (SELECT count(*) FROM fuzz.callable)));
    args constant text[] := ARRAY(SELECT CASE WHEN f.types[i] = 'cstring'::regtype
        THEN format('%L::cstring', (SELECT fuzz.damaged('text', value, seed) FROM fuzz.value ORDER BY type, n
            OFFSET fuzz.roll(seed, (SELECT count(*) FROM fuzz.value)) LIMIT 1))
        ELSE fuzz.argument(f.types[i], seed * 41 + i) END
        FROM generate_series(0, f.nargs::int - 1) AS i);
    called constant text := format('%s(%s)', f.oid::regproc, array_to_string(args, ', '));
BEGIN
    IF seed % 20 = 0 THEN
        RETURN format('SELECT count(x::text) FROM fuzz.import(%s) AS x(job_id text, a int, b int, c int)', seed / 20);
    ELSIF f.prokind = 'p' THEN
        RETURN 'CALL ' || called;
    ELSIF (SELECT prorettype = 'record'::regtype AND proallargtypes IS NULL FROM pg_proc WHERE oid = f.oid) THEN
        RETURN format('SELECT count(x::text) FROM %s AS x(a bigint, b bigint, c timestamptz, d int, e int, f text, '
            'g int, h int)', called);
    ELSIF f.prokind = 'a' THEN
        RETURN format('SELECT %s::text FROM generate_series(1, 3)', called);
    END IF;
    RETURN format('SELECT count(x::text) FROM %s AS x', called);
END
$$;
