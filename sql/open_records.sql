-- Records that are open when the lines end are shown, read again when more come, and neither lost nor counted twice.
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA open_records;
SET search_path = open_records;
SELECT l4.create_log_table('open_records.logs');
CREATE TABLE said (job_id text, line_no bigint, line text, rank int);
-- all that a stream has said is open; two ranks take turns, and the one that began first ends first; the same between settled lines
INSERT INTO said SELECT 'one', i, l FROM unnest(ARRAY['Traceback (most recent call last):', '  File "a.py", line 1, in f', 'KeyError: y', 'INFO:end:done'])
    WITH ORDINALITY AS u(l, i);
INSERT INTO said SELECT 'two', i, l FROM unnest(ARRAY['[rank0]: Traceback (most recent call last):', '[rank1]: Traceback (most recent call last):',
    '[rank0]:   File "a.py", line 1, in f', '[rank1]:   File "b.py", line 1, in g', '[rank0]: ValueError: x', '[rank1]:   File "b.py", line 2, in h',
    '[rank1]: KeyError: y', '[rank0]: INFO:end:done']) WITH ORDINALITY AS u(l, i);
INSERT INTO said SELECT 'between', i, l FROM unnest(ARRAY['[rank0]: INFO:run:begin', '[rank0]: Traceback (most recent call last):', '[rank1]: INFO:run:begin',
    '[rank1]: Traceback (most recent call last):', '[rank0]:   File "a.py", line 1, in f', '[rank0]: ValueError: x', '[rank0]: Traceback (most recent call last):',
    '[rank1]:   File "b.py", line 1, in g', '[rank1]: KeyError: y', '[rank0]:   File "a.py", line 2, in f', '[rank1]: INFO:end:done', '[rank0]: OSError: z'])
    WITH ORDINALITY AS u(l, i);
-- a column tells the rank, of each line, or of the first one of a record alone
INSERT INTO said SELECT 'column', line_no, regexp_replace(line, '^.rank.]: ', ''), substring(line FROM 'rank(.)')::int FROM said WHERE job_id = 'two';
INSERT INTO said SELECT 'head', i, l, substring(l FROM 'rank (.)')::int FROM unnest(ARRAY['ERROR:rank 0:failed', 'Traceback (most recent call last):',
    '  File "a.py", line 1, in f', 'ValueError: x', 'INFO:rank 1:done']) WITH ORDINALITY AS u(l, i);
-- what is kept of a job: each line with its record and event, and how often each event came
CREATE FUNCTION kept(job text) RETURNS TABLE (what text) LANGUAGE sql AS $$
    SELECT format('%s < %s %s', e.line_no, e.record_line_no, t.template) FROM l4.event_line AS e JOIN l4.template AS t USING (event_id) WHERE e.job_id = job
    UNION ALL SELECT format('%s times %s', c.occurrences, t.template) FROM l4.event_count AS c JOIN l4.template AS t USING (event_id) WHERE c.job_id = job
    UNION ALL SELECT format('%s lines', n.lines) FROM l4._node AS n WHERE n.job_id = job
$$;
-- read whole
INSERT INTO logs (job_id, node, rank, line_no, line) SELECT job_id, 'n', rank, line_no, line FROM said;
CALL l4.ingest('open_records.logs');
CREATE TABLE whole AS SELECT j.job_id, k.what FROM (SELECT DISTINCT job_id FROM said) AS j, kept(j.job_id) AS k;
SELECT job_id, what FROM whole WHERE what ~ 'times|lines' ORDER BY job_id COLLATE "C", what COLLATE "C";
-- read in two and in three calls, cut anywhere: the same
CREATE PROCEDURE cut(at bigint[]) LANGUAGE plpgsql AS $$
DECLARE
    upto bigint;
BEGIN
    PERFORM l4.forget_job(job_id) FROM (SELECT DISTINCT job_id FROM said) AS j;
    TRUNCATE logs;
    FOREACH upto IN ARRAY at LOOP
        INSERT INTO logs (job_id, node, rank, line_no, line)
        SELECT s.job_id, 'n', s.rank, s.line_no, s.line FROM said AS s
        WHERE s.line_no <= upto AND NOT EXISTS (SELECT FROM logs AS l WHERE l.job_id = s.job_id AND l.line_no = s.line_no);
        CALL l4.ingest('open_records.logs', commit => false);
    END LOOP;
END
$$;
CREATE TABLE differs (at bigint[], job_id text, what text);
DO $$
DECLARE
    a bigint;
    b bigint;
BEGIN
    FOR a IN 1..11 LOOP
        FOR b IN a + 1..12 BY 3 LOOP
            CALL open_records.cut(ARRAY[a, b, 12]);
            INSERT INTO open_records.differs
            SELECT ARRAY[a, b], j.job_id, x.what
            FROM (SELECT DISTINCT s.job_id FROM open_records.said AS s) AS j
            CROSS JOIN LATERAL (
                (SELECT k.what FROM open_records.kept(j.job_id) AS k EXCEPT ALL SELECT w.what FROM open_records.whole AS w WHERE w.job_id = j.job_id)
                UNION ALL
                (SELECT 'missing ' || w.what FROM open_records.whole AS w WHERE w.job_id = j.job_id
                 EXCEPT ALL SELECT 'missing ' || k.what FROM open_records.kept(j.job_id) AS k)) AS x(what);
        END LOOP;
    END LOOP;
END
$$;
SELECT * FROM differs ORDER BY at, job_id COLLATE "C", what COLLATE "C" LIMIT 20;
-- behind an open record two iterations, the last one without a metric, in messages that are new
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'iterations', 'n', i, l FROM unnest(ARRAY['[rank3]: Traceback (most recent call last):', '[rank0]: iteration 1/ 10 | lm loss: 2.5 | tail of open records: 1',
    '[rank0]: step 2 done']) WITH ORDINALITY AS u(l, i);
CALL l4.ingest('open_records.logs');
SELECT iteration, metrics ->> 'loss' FROM l4.iteration WHERE job_id = 'iterations';
-- sixteen ranks that end at once
INSERT INTO logs (job_id, node, rank, line_no, line)
SELECT 'many', 'n', r, i * 16 + r, l FROM generate_series(0, 15) AS r,
    unnest(ARRAY['Traceback (most recent call last):', '  File "a.py", line 1, in f', 'KeyError: y']) WITH ORDINALITY AS u(l, i);
CALL l4.ingest('open_records.logs');
SELECT what FROM kept('many') WHERE what ~ 'times|lines' ORDER BY what COLLATE "C";
-- a line of an open record that turns up when those behind it were read, and none follows: of an indexed table, of another
CREATE TABLE unindexed (job_id text, node text, line_no bigint, line text);
CREATE TEMP TABLE report AS
SELECT * FROM unnest(ARRAY['INFO:run:begin', 'Traceback (most recent call last):', '  File "a.py", line 1, in f', '  File "b.py", line 2, in g',
    '  File "c.py", line 3, in h']) WITH ORDINALITY AS u(line, line_no);
INSERT INTO logs (job_id, node, line_no, line) SELECT 'gap', 'n', line_no, line FROM report WHERE line_no NOT IN (1, 4);
INSERT INTO unindexed SELECT 'gap without index', 'n', line_no, line FROM report WHERE line_no NOT IN (1, 4);
CALL l4.ingest('open_records.logs');
CALL l4.ingest('open_records.unindexed');
INSERT INTO logs (job_id, node, line_no, line) SELECT 'gap', 'n', line_no, line FROM report WHERE line_no IN (1, 4);
INSERT INTO unindexed SELECT 'gap without index', 'n', line_no, line FROM report WHERE line_no IN (1, 4);
CALL l4.ingest('open_records.logs');
CALL l4.ingest('open_records.unindexed');
SELECT j, k.what FROM unnest(ARRAY['gap', 'gap without index']) AS j, kept(j) AS k ORDER BY j, k.what COLLATE "C";
SELECT l4.forget_job(job_id) FROM (SELECT DISTINCT job_id FROM said UNION SELECT unnest('{iterations,many,gap,gap without index}'::text[])) AS j;
DROP TABLE logs, said, whole, differs, unindexed;
