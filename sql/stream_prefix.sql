-- Prefixes that no line format describes: with the name of the stream's node, or learnt from its first lines.
SET client_min_messages = warning;
SET timezone = 'UTC';
DROP EXTENSION IF EXISTS l4 CASCADE;  -- what earlier tests taught the parser shows in templates
CREATE EXTENSION l4;
CREATE SCHEMA stream_prefix;
SET search_path = stream_prefix;

-- the level and the rank of each line of a node, and how its event begins: what parameters are depends on other tests
SELECT l4.create_log_table('logs');
CREATE FUNCTION read_node(node text, lines text[]) RETURNS TABLE (line_no bigint, level text, rank int, event text) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO logs (job_id, node, line_no, line) SELECT 'one', read_node.node, l.n, l.line FROM unnest(lines) WITH ORDINALITY AS l(line, n);
    CALL l4.ingest('logs', commit => false);
    RETURN QUERY SELECT e.line_no, e.level, e.rank, t.template FROM l4.event_line AS e JOIN l4.template AS t USING (event_id) WHERE e.job_id = 'one' ORDER BY 1;
    PERFORM l4.forget_job('one');
    TRUNCATE logs;
END
$$;
CREATE FUNCTION read_named(VARIADIC lines text[]) RETURNS TABLE (level text, rank int, begins text) LANGUAGE sql
AS $$ SELECT r.level, r.rank, split_part(r.event, ' ', 1) FROM read_node('nid-07.cluster', lines) AS r ORDER BY r.line_no $$;

-- the node's own name is known at once, in any dress
SELECT * FROM read_named(
'<nid-07> [2024-05-21 11:58:06,441] [WARNING] [loader.py:12:read] shard 3 is late',
'[nid-07.cluster]: loading shard 3',
'nid-07 | loading shard 3',
'nid-07 3: loading shard 3',
'NID-07/trainer> RuntimeError: boom',
'job/nid-07.cluster: rank 3: loading shard 3',
E'nid-07\t  loading shard 3',
'nid-07');
-- but a sentence about the node is one, and another name is no prefix
SELECT * FROM read_named(
'nid-07 is ready to load shard 3',
'nid-070 | loading shard 3',
'other-07 | loading shard 3');

-- a double bar between labels and message belongs to neither; a single one may be a table's
SELECT * FROM read_named('[nid-07] [rank=3] || RuntimeError: boom', '[nid-07] [rank=3] | epoch | loss |');

-- what a collector puts in front of time and host is no prefix to be learnt
SELECT DISTINCT r.event FROM read_node('nid-07', VARIADIC ARRAY(SELECT
    format('<14>1 2024-05-21T11:58:%s.441Z nid-07 trainer 4711 - - shard %s is open', 10 + i, i) FROM generate_series(1, 12) AS i)) AS r;

-- other prefixes must have been seen: lines of many kinds that begin alike
CREATE TABLE lines AS
SELECT 8 * k + i AS line_no, CASE WHEN k % 2 = 0 THEN '[2] ' ELSE '[3] ' END || CASE i
    WHEN 0 THEN '2024-05-21 11:58:0' || k || ',441 INFO loader: reading shard ' || k
    WHEN 1 THEN 'reading of shard ' || k || ' took 3 s' WHEN 2 THEN 'Traceback (most recent call last):'
    WHEN 3 THEN '  File "/w/load.py", line 3, in read' WHEN 4 THEN '    raise OSError("torn")' WHEN 5 THEN 'OSError: torn'
    WHEN 6 THEN 'iteration ' || k || '/90 loss 2.5' ELSE 'retry ' || k || ' begins' END AS line
FROM generate_series(0, 9) k, generate_series(0, 7) i;
SELECT line_no, level, rank, split_part(event, ' ', 1) AS begins FROM read_node('n1', ARRAY(SELECT line FROM lines ORDER BY line_no)) WHERE line_no <= 4 OR line_no > 64;

-- a format that passes over a word in front of the time does not hide it: what other lines have behind it is read
SELECT level, rank, split_part(event, ' ', 1) AS begins
FROM read_node('n1', ARRAY(SELECT '[7] 2024-05-21 11:58:06,441 - trainer - INFO - shard ' || i FROM generate_series(1, 10) AS i ORDER BY i) || '[7] RuntimeError: boom'::text)
WHERE line_no IN (1, 10, 11);
-- an identifier of digits is no rank
SELECT DISTINCT rank
FROM read_node('n1', ARRAY(SELECT '[21740773] ' || split_part('loads saves shuffles', ' ', 1 + i % 3) || ' shard ' || i FROM generate_series(1, 12) AS i ORDER BY i))
WHERE line_no > 9;
-- a number alone, where a tab stands behind it, and other things than numbers
SELECT level, rank, split_part(event, ' ', 1) AS begins
FROM read_node('n1', ARRAY(SELECT E'7\t' || split_part('loads saves shuffles', ' ', 1 + i % 3) || ' shard ' || i FROM generate_series(1, 12) AS i ORDER BY i) || E'7\tRuntimeError: boom'::text)
WHERE line_no IN (1, 12, 13);
SELECT DISTINCT rank FROM read_node('n1', ARRAY(SELECT E'7\t' || i || E'\t0.25' FROM generate_series(1, 40) AS i ORDER BY i));
-- nor does the node's name in front of it: a collector's label stands before a launcher's
SELECT level, rank, split_part(event, ' ', 1) AS begins
FROM read_node('nid-07', ARRAY(SELECT 'nid-07 | ' || line FROM lines ORDER BY line_no)) WHERE line_no > 64;
-- and where no format knows the first one both are learnt as one, although what stands behind the first is always the same
SELECT level, rank, split_part(event, ' ', 1) AS begins
FROM read_node('n1', ARRAY(SELECT '(worker pid=71, host=n1) pod-7 trainer ' || line FROM lines ORDER BY line_no)) WHERE line_no > 64;
-- dates and times are none, nor are numbers that count, nor words that all lines of one kind have
CREATE FUNCTION kept(prefix text, kinds text[]) RETURNS boolean LANGUAGE sql AS $$
    SELECT bool_and(cardinality(string_to_array(event, ' ')) = 3) FROM read_node('n1', ARRAY(
        SELECT prefix || kinds[1 + i % cardinality(kinds)] || ' ' || i FROM generate_series(1, 40) AS i ORDER BY i))
$$;
SELECT kept('[7] ', ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests']) AS prefix,
    kept('2024.05.21/11:58:06 ', ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests']) AS date,
    kept('epoch=1 ', ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests']) AS counter,
    kept('/app/a.py:7: ', ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests']) AS place,
    kept('cuda:0 ', ARRAY['holds']) AS words;

-- the same whatever a batch is, and with a stream that grows: what was learnt goes on, and is learnt anew where a record was open
CREATE FUNCTION read_as(batch_lines int, job text, upto int DEFAULT NULL) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN
    INSERT INTO logs (job_id, node, source, line_no, ts, line)
    SELECT job, 'n1', 'out', l.line_no, timestamptz '2024-05-21 11:58:00Z' + l.line_no * interval '1 s', l.line FROM lines l
    WHERE l.line_no NOT IN (SELECT x.line_no FROM logs x WHERE x.job_id = job) AND l.line_no < coalesce(upto, 1000);
    CALL l4.ingest('logs', batch_lines => read_as.batch_lines, commit => false);
END $$;
SELECT read_as(100000, 'whole');
SELECT read_as(1000, 'cut', n) FROM (VALUES (5), (11), (29), (44), (61), (62), (63), (64), (69), (1000)) v(n);
CREATE VIEW read AS
SELECT e.job_id, e.line_no, e.record_line_no, e.rank, e.level, e.event_id, e.iteration FROM l4.event_line AS e WHERE e.job_id IN ('whole', 'cut');
SELECT job_id, count(*) AS lines, count(DISTINCT record_line_no) AS records, max(rank) AS rank, count(*) FILTER (WHERE level = 'ERROR') AS errors
FROM read GROUP BY 1 ORDER BY 1;
-- the first rows that differ
SELECT w AS whole, c AS cut FROM (SELECT * FROM read WHERE job_id = 'whole') AS w FULL JOIN (SELECT * FROM read WHERE job_id = 'cut') AS c USING (line_no)
WHERE to_jsonb(w) - 'job_id' IS DISTINCT FROM to_jsonb(c) - 'job_id' ORDER BY line_no LIMIT 5;
SELECT DISTINCT l4.forget_job(j.job_id) IS NULL AS forgotten FROM l4.job j WHERE j.job_id IN ('whole', 'cut');
DROP SCHEMA stream_prefix CASCADE;
