-- Heads that no line format describes: with the name of the stream's node, or learnt from its first lines.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA stream_head;
SET search_path = stream_head;

-- what is left of a line of node "nid-07.cluster", and the rank that its head names
CREATE FUNCTION told(VARIADIC lines text[]) RETURNS TABLE (level text, rank int, message text) LANGUAGE sql
AS $$ SELECT r.level, r.rank, r.message FROM l4._records(l4._ruleset(), lines, NULL, 'nid-07.cluster') r ORDER BY r.line_no $$;

-- the node's own name is known at once, in any dress
SELECT * FROM told(
'<nid-07> [2024-05-21 11:58:06,441] [WARNING] [loader.py:12:read] shard 3 is late',
'[nid-07.cluster]: loading shard 3',
'nid-07 | loading shard 3',
'nid-07 3: loading shard 3',
'NID-07/trainer> RuntimeError: boom',
'job/nid-07.cluster: rank 3: loading shard 3',
'nid-07');
-- but a sentence about the node is one, and another name is no head
SELECT * FROM told(
'nid-07 is ready to load shard 3',
'nid-070 | loading shard 3',
'other-07 | loading shard 3');

-- other heads must have been seen: lines of many kinds that begin alike
CREATE TABLE lines AS
SELECT 8 * k + i AS line_no, CASE WHEN k % 2 = 0 THEN '[2] ' ELSE '[3] ' END || CASE i
    WHEN 0 THEN '2024-05-21 11:58:0' || k || ',441 INFO loader: reading shard ' || k
    WHEN 1 THEN 'reading of shard ' || k || ' took 3 s' WHEN 2 THEN 'Traceback (most recent call last):'
    WHEN 3 THEN '  File "/w/load.py", line 3, in read' WHEN 4 THEN '    raise OSError("torn")' WHEN 5 THEN 'OSError: torn'
    WHEN 6 THEN 'iteration ' || k || '/90 loss 2.5' ELSE 'retry ' || k || ' begins' END AS line
FROM generate_series(0, 9) k, generate_series(0, 7) i;
CREATE FUNCTION of_lines(batch int) RETURNS TABLE (line_no bigint, record bigint, kind text, level text, rank int, message text) LANGUAGE sql
AS $$ SELECT r.line_no, r.record_line_no, r.kind, r.level, r.rank, r.message
    FROM l4._records(l4._ruleset(), (SELECT array_agg(line ORDER BY line_no) FROM lines), batch, 'n1') r $$;
SELECT * FROM of_lines(NULL) WHERE line_no <= 4 OR line_no > 64 ORDER BY 1;

-- a format that passes over a word in front of the time hides it not: what other lines have behind it is read
SELECT r.level, r.rank, r.message
FROM l4._records(l4._ruleset(), (SELECT array_agg('[7] 2024-05-21 11:58:06,441 - trainer - INFO - shard ' || i ORDER BY i) FROM generate_series(1, 10) i)
    || '[7] RuntimeError: boom'::text, NULL, 'n1') r WHERE r.line_no IN (1, 10, 11) ORDER BY r.line_no;
-- dates and times are none
SELECT DISTINCT r.message LIKE '2024.05.21/11:58:06 %' AS kept
FROM l4._records(l4._ruleset(), (SELECT array_agg('2024.05.21/11:58:06 ' || (ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests'])[1 + i % 5] || ' shard ' || i ORDER BY i)
    FROM generate_series(1, 40) i), NULL, 'n1') r;

-- numbers that count are no head, nor are words that all lines of one kind have
SELECT DISTINCT r.message LIKE 'epoch=1 %' AS kept
FROM l4._records(l4._ruleset(), (SELECT array_agg('epoch=1 ' || (ARRAY['loads', 'saves', 'shuffles', 'evaluates', 'rests'])[1 + i % 5] || ' shard ' || i ORDER BY i)
    FROM generate_series(1, 40) i), NULL, 'n1') r;
SELECT DISTINCT r.message LIKE 'cuda:0 holds %' AS kept
FROM l4._records(l4._ruleset(), (SELECT array_agg('cuda:0 holds ' || i || ' tensors' ORDER BY i) FROM generate_series(1, 40) i), NULL, 'n1') r;

-- the same whatever a batch is, and with a stream that grows: what was learnt goes on, and is learnt anew where a record was open
SELECT l4.create_log_table('logs');
CREATE FUNCTION read_as(batch_lines int, job text, upto int DEFAULT NULL) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN
    INSERT INTO logs (job_id, node, source, line_no, ts, line)
    SELECT job, 'n1', 'out', l.line_no, timestamptz '2024-05-21 11:58:00Z' + l.line_no * interval '1 s', l.line FROM lines l
    WHERE l.line_no NOT IN (SELECT x.line_no FROM logs x WHERE x.job_id = job) AND l.line_no < coalesce(upto, 1000);
    CALL l4.ingest('logs', batch_lines => read_as.batch_lines, commit => false);
END $$;
SELECT read_as(100000, 'whole');
SELECT read_as(1000, 'cut', n) FROM (VALUES (5), (11), (29), (44), (61), (62), (63), (64), (69), (1000)) v(n);
SELECT e.job_id, count(*) AS lines, count(DISTINCT e.record_line_no) AS records, max(e.rank) AS rank, count(*) FILTER (WHERE e.level = 'ERROR') AS errors,
    md5(string_agg(concat_ws(',', e.line_no, e.record_line_no, e.rank, e.level, e.event_id, e.iteration), ';' ORDER BY e.line_no)) = min(w.md5) AS as_whole
FROM l4.event_line e
CROSS JOIN (SELECT md5(string_agg(concat_ws(',', e.line_no, e.record_line_no, e.rank, e.level, e.event_id, e.iteration), ';' ORDER BY e.line_no)) FROM l4.event_line e WHERE e.job_id = 'whole') w
WHERE e.job_id IN ('whole', 'cut') GROUP BY 1 ORDER BY 1;
SELECT DISTINCT l4.forget_job(j.job_id) IS NULL AS forgotten FROM l4.job j WHERE j.job_id IN ('whole', 'cut');
DROP SCHEMA stream_head CASCADE;
