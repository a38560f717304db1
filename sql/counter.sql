-- Progress without words: the event that counts up tells the iterations where no rule reads any. Four nodes begin with
-- a burst of numbered shards, then print lines that no rule knows; one of them fails, and the others lose it.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA counter;
SET search_path = counter;
SELECT l4.create_log_table('counter.logs');
CREATE FUNCTION loss(i int) RETURNS text LANGUAGE sql RETURN round(1.5 + 4.0 / (1 + 0.1 * i) + (i * 37 % 11) * 0.003, 3);

-- What a line says of the i-th iteration since the start; NULL: nothing.
CREATE FUNCTION said(form text, i int, n int) RETURNS text
LANGUAGE sql RETURN CASE form
    WHEN 'bare' THEN format('%s %s 0.0003', i, loss(i))
    WHEN 'quick' THEN format('%s %s 0.0003', i, loss(i))
    WHEN 'left' THEN format('%s %s 0.0003', i, loss(i))
    WHEN 'told' THEN format('step %s loss=%s', i, loss(i))
    WHEN 'tenth' THEN CASE WHEN i % 10 = 0 THEN format('<%s> %s', i, loss(i)) END
    WHEN 'brackets' THEN format('[%s/4][%s/20] %s', (i - 1) / 20 + 1, (i - 1) % 20 + 1, loss(i))
    WHEN 'fifth' THEN CASE WHEN i % 5 = 0 THEN format('[%s/4][%s/40] %s', (i - 1) / 40 + 1, (i - 1) % 40 + 1, loss(i)) END
    WHEN 'passes' THEN format('p=%s t=%s: %s', (i - 1) / 12, (i - 1) % 12, loss(i))
    WHEN 'writers' THEN format('w=0 p=%s t=%s: %s', (i - 1) / 12, (i - 1) % 12, loss(i))
    WHEN 'skips' THEN CASE WHEN ((i - 1) % 23 + 1) % 5 = 0 THEN format('p=%s t=%s: %s', (i - 1) / 23, (i - 1) % 23 + 1, loss(i)) END
    WHEN 'ranges' THEN CASE WHEN i % 20 = 0 THEN format('t=[%s-%s]: %s', i - 10, i, loss(i)) END
    -- every twentieth since the start, by words that rules know
    WHEN 'across' THEN CASE WHEN i % 20 = 0 THEN format('epoch %s step %s loss=%s', (i - 1) / 110, (i - 1) % 110 + 1, loss(i))
        WHEN i = 110 THEN 'pass is over' END
    WHEN 'bag' THEN format('{"n": %s, "seen": %s, "v": %s}', i - 1, i * 256, loss(i))
    -- one more column in some lines, lines that are torn, and two lines in one moment, values with a decimal comma
    WHEN 'table' THEN format('%s %s %s%s', (i - 1) / 8, i, CASE WHEN i % 8 = 1 AND i > 1 THEN '0.25 ' END, loss(i))
    WHEN 'torn' THEN CASE WHEN i % 3 = 0 AND i < 10 THEN 'torn' ELSE format('%s %s 0.0003', i, loss(i)) END
    WHEN 'pair' THEN format('turn %s is over, %s to come', i, 100 - i)
    WHEN 'rows' THEN format('turn | %s |', i)
    WHEN 'first' THEN CASE WHEN n = 0 THEN format('round %s is through', i) END
    -- numbers that count nothing
    WHEN 'jumps' THEN format('%s %s 0.0003', 1 + i * i * 7919 % 1009, loss(i))
    WHEN 'backwards' THEN format('%s %s 0.0003', 1000 - i, loss(i))
    WHEN 'repeats' THEN format('%s %s 0.0003', 7, loss(i))
    WHEN 'differs' THEN format('%s %s 0.0003', i * CASE WHEN n = 0 THEN 1 ELSE 3 + i * n % 5 END, loss(i)) END;

CREATE PROCEDURE job(job_id text, form text, upto int, finished bool DEFAULT false)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, rank, line_no, ts, line)
    SELECT job.job_id, 'n' || l.n, l.n, row_number() OVER (PARTITION BY l.n ORDER BY l.at, l.line),
        '2026-05-01 10:00:00+00'::timestamptz + (l.at + l.n * 0.001) * interval '1 s', l.line
    FROM (
        SELECT n, i * 0.01 AS at, format('shard %s/9 mapped', i) AS line
        FROM generate_series(0, 3) AS n, generate_series(1, 9) AS i
        UNION ALL SELECT n, 1, 'graph of 4096 cells is built' FROM generate_series(0, 3) AS n
        -- what beats as steadily measures nothing
        UNION ALL SELECT n, 0.1 + i * 0.5, format('alive %s', i)
        FROM generate_series(0, 3) AS n, generate_series(1, 2 + 2 * upto) AS i WHERE form NOT IN ('pair', 'rows')
        UNION ALL SELECT n, 2 + i, said(form, i, n) FROM generate_series(0, 3) AS n, generate_series(1, upto) AS i
        UNION ALL SELECT n, 2.0001 + i, translate(format('mean %s; took 1.0 s', 9.05 - 0.1 * i), '.', ',')
        FROM generate_series(0, 3) AS n, generate_series(1, upto) AS i WHERE form = 'pair'
        -- two of these and their step are in a good job
        UNION ALL SELECT 0, 2.5 + i, format('score at %s: 0.%s', i, i) FROM generate_series(25, upto, 25) AS i WHERE form = 'first'
        -- what counts in larger steps comes a few times more often
        UNION ALL SELECT n, 2.0002 + i, format('seen | %s |', 16 * i)
        FROM generate_series(0, 3) AS n, generate_series(1, upto) AS i WHERE form = 'rows'
        UNION ALL SELECT n, 2.0003 + i, format('seen | %s |', 16 * i)
        FROM generate_series(0, 3) AS n, generate_series(1, upto) AS i WHERE form = 'rows' AND i % 20 = 0
        UNION ALL SELECT n, 3 + upto, 'all is through' FROM generate_series(0, 3) AS n WHERE finished
        UNION ALL SELECT 2, 2.4 + upto, 'RuntimeError: a tensor is broken' WHERE NOT finished
        UNION ALL SELECT n, 2.6 + upto, 'RuntimeError: Connection closed by rank 2'
        FROM unnest('{0,1,3}'::int[]) AS n WHERE NOT finished) AS l
    WHERE l.line IS NOT NULL;
$$;
CREATE TABLE made (job_id text, form text, iteration int);
CREATE FUNCTION make(form text, good int[], failed int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(good) LOOP
        CALL job(format('%s-good-%s', form, i), form, good[i], true);
    END LOOP;
    CALL job(form || '-bad', form, failed);
    INSERT INTO made VALUES (form || '-bad', form, failed + 1);
END
$$;
SELECT count(make(f.form, f.good, f.failed)) FROM (VALUES
    ('bare', '{60,50}'::int[], 41), ('tenth', '{90,60}', 47), ('brackets', '{80,80}', 53), ('fifth', '{80,120}', 97), ('passes', '{48,36}', 31),
    ('bag', '{60,50}', 44), ('skips', '{92,69}', 57), ('ranges', '{400,300}', 255), ('across', '{330,330}', 255), ('table', '{30,25}', 21), ('torn', '{60,50}', 11), ('pair', '{60,50}', 30),
    ('first', '{60,50}', 35), ('jumps', '{60,50}', 30), ('backwards', '{60,50}', 30), ('repeats', '{60,50}', 30),
    ('differs', '{60,50}', 30), ('quick', '{60,50}', 41), ('left', '{60,50}', 41), ('told', '{60,50}', 41),
    ('writers', '{48,36}', 31), ('rows', '{60,50}', 41))
    AS f(form, good, failed);
-- of the plain form: before the first iteration, after it, without good jobs, slow from 31 on, cut at the head, cut at the tail, an epoch
-- that is begun again, and several ranks in a stream, which may say who they are
CALL job('bare-none', 'bare', 0);
CALL job('bare-one', 'bare', 1);
CALL job('alone', 'bare', 41);
CALL job('alone-epochs', 'passes', 31);
CALL job('bare-slow', 'bare', 60, true);
UPDATE logs SET ts = ts + 8 * greatest(0, substring(line FROM '^\d+')::int - 30) * interval '1 s' WHERE job_id = 'bare-slow' AND line ~ '^\d';
UPDATE logs SET ts = ts + interval '250 s' WHERE job_id = 'bare-slow' AND line ~ 'through';
CALL job('bare-head', 'bare', 41);
DELETE FROM logs WHERE job_id = 'bare-head' AND ts < '2026-05-01 10:00:20+00';
CALL job('bare-tail', 'bare', 41);
DELETE FROM logs WHERE job_id = 'bare-tail' AND ts > '2026-05-01 10:00:33+00';
CALL job('bare-again', 'bare', 30);
UPDATE logs SET line = said('bare', substring(line FROM '^\d+')::int - 8, 0) WHERE job_id = 'bare-again' AND line ~ '^(2\d|30) ';
CALL job('bare-ranks', 'bare', 20);
INSERT INTO logs (job_id, node, rank, line_no, ts, line)
SELECT l.job_id, l.node, l.rank, 1000 + l.line_no * 4 + r, l.ts + r * interval '1 ms', replace(l.line, 'w=0', 'w=' || r + 1)
FROM logs AS l, generate_series(0, 2) AS r WHERE l.job_id ~ '^(bare-ranks|writers)';
UPDATE logs SET line_no = r.n + 10000
FROM (SELECT l.job_id, l.node, l.line_no, row_number() OVER (PARTITION BY l.job_id, l.node ORDER BY l.ts, l.line_no) AS n
    FROM logs AS l WHERE l.job_id ~ '^(bare-ranks|writers)') AS r
WHERE logs.job_id = r.job_id AND logs.node = r.node AND logs.line_no = r.line_no;
-- steps of 0.2 s whose stamps have whole seconds, of a good job, too
UPDATE logs SET ts = date_trunc('second', '2026-05-01 10:00:00+00'::timestamptz + 0.2 * (ts - '2026-05-01 10:00:00+00'))
WHERE job_id ~ '^quick';
INSERT INTO made VALUES ('quick-good-1', 'quick', NULL);
-- a node that fails before the training of the others, and does not get to what each node of good jobs tells
UPDATE logs SET line = 'model is built' WHERE job_id ~ '^left' AND line ~ '^graph';
CALL job('left-alone', 'left', 60, true);
DELETE FROM logs WHERE job_id = 'left-alone' AND node = 'n2' AND ts > '2026-05-01 10:00:00.9+00';
UPDATE logs SET line = 'model is built' WHERE job_id = 'left-alone' AND line ~ '^graph';
INSERT INTO logs (job_id, node, rank, line_no, ts, line)
VALUES ('left-alone', 'n2', 2, 100, '2026-05-01 10:00:01.5+00', 'RuntimeError: cannot read /data/shard-7.bin');
INSERT INTO made VALUES ('left-alone', 'left', NULL);
-- the last words have the form of a report that rules read
UPDATE logs SET line = 'update 41 has failed: loss=nan' WHERE job_id = 'told-bad' AND line ~ '^RuntimeError';
-- and one whose numbers count nothing, although those of good jobs do
CALL job('bare-odd', 'jumps', 30);
INSERT INTO made VALUES ('bare-odd', 'bare', 31), ('bare-none', 'bare', 1), ('bare-one', 'bare', 2), ('alone', 'alone', 42), ('alone-epochs', 'alone-epochs', 32), ('bare-slow', 'bare', 31),
    ('bare-head', 'bare', 42), ('bare-tail', 'bare', NULL), ('bare-again', 'bare', 23), ('bare-ranks', 'bare', 21);
-- of good jobs without their heads three nodes have a line of the start-up
CALL job('heads-good-1', 'bare', 60, true);
CALL job('heads-good-2', 'bare', 50, true);
DELETE FROM logs WHERE job_id ~ '^heads' AND ts < '2026-05-01 10:00:20+00' AND NOT (node <> 'n3' AND line ~ '^graph');
CALL job('heads', 'bare', 0);
INSERT INTO made VALUES ('heads', 'heads', NULL);
-- good jobs stall in every fifth iteration; so does a job like them, and another one for longer
CALL job('stalls-good-1', 'bare', 60, true);
CALL job('stalls-good-2', 'bare', 60, true);
CALL job('stalls-alike', 'bare', 60, true);
CALL job('stalls-longer', 'bare', 60, true);
UPDATE logs AS l SET ts = l.ts + s.stalls * CASE WHEN l.job_id = 'stalls-longer' THEN interval '30 s' ELSE interval '4 s' END
FROM (SELECT z.job_id, z.node, z.line_no, count(*) FILTER (WHERE z.line ~ CASE WHEN z.job_id = 'stalls-longer' THEN '^[24]2 ' ELSE '^\d*[05] ' END)
        OVER (PARTITION BY z.job_id, z.node ORDER BY z.line_no) AS stalls
    FROM logs AS z WHERE z.job_id ~ '^stalls') AS s
WHERE (l.job_id, l.node, l.line_no) = (s.job_id, s.node, s.line_no);
-- every second iteration takes longer, in some good jobs as well
CALL job('uneven-good-1', 'bare', 60, true);
CALL job('uneven-good-2', 'bare', 60, true);
CALL job('uneven', 'bare', 60, true);
CALL job('rough-good-1', 'bare', 60, true);
CALL job('rough-good-2', 'bare', 60, true);
CALL job('rough', 'bare', 60, true);
UPDATE logs AS l SET ts = l.ts + s.stalls * CASE WHEN l.job_id ~ 'good' THEN 0.8 ELSE 1.8 END * interval '1 s'
FROM (SELECT z.job_id, z.node, z.line_no, count(*) FILTER (WHERE z.line ~ '^(2[2-8]|[3-6]\d) ' AND z.line ~ '^\d*[02468] ')
        OVER (PARTITION BY z.job_id, z.node ORDER BY z.line_no) AS stalls
    FROM logs AS z WHERE z.job_id ~ '^(uneven$|rough)') AS s
WHERE (l.job_id, l.node, l.line_no) = (s.job_id, s.node, s.line_no);
CALL l4.ingest('counter.logs');
UPDATE l4.job SET settings = 'counter ' || coalesce((SELECT m.form FROM made AS m WHERE m.job_id = job.job_id), split_part(job_id, '-', 1)),
    status = CASE WHEN job_id ~ 'good' THEN 'succeeded' ELSE 'failed' END
WHERE job_id IN (SELECT l.job_id FROM logs AS l);

-- no rule reads these lines
SELECT f, (l4.parse(said(f, 20, 0))).iteration FROM unnest(ARRAY['bare', 'tenth', 'brackets', 'fifth', 'passes', 'bag', 'first']) AS f
WHERE (l4.parse(said(f, 20, 0))).iteration IS NOT NULL;
SELECT m.job_id, m.iteration AS truth, d.status, d.symptom, d.stage, d.epoch, d.iteration, d.coverage -> 'iteration_in_epoch' AS in_epoch,
    d.coverage -> 'iteration_between' AS between,
    substring(d.summary FROM '(?:at|from) ((?:epoch|iteration)[^.:]*)') AS words
FROM made AS m CROSS JOIN LATERAL l4.diagnose(m.job_id) AS d ORDER BY m.job_id COLLATE "C";
SELECT d.job_id, l."limit" FROM l4.diagnosis AS d JOIN made AS m USING (job_id), jsonb_array_elements_text(d.coverage -> 'limits') AS l("limit")
ORDER BY d.job_id COLLATE "C", l."limit" COLLATE "C";

-- what good jobs count is read the same, whether they were diagnosed or not
SELECT d.job_id, d.status, d.symptom, d.iteration FROM unnest('{stalls-alike,stalls-longer,stalls-good-1,stalls-good-2}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d;
SELECT d.job_id, d.status, d.symptom, d.iteration FROM unnest('{stalls-alike,stalls-longer}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id, options => '{"silent_seconds": 119}') AS d;

SELECT d.job_id, d.status, d.symptom, d.iteration FROM unnest('{uneven,rough}'::text[]) AS j(job_id) CROSS JOIN LATERAL l4.diagnose(j.job_id) AS d;

-- numbers at the end of what an integer holds, an epoch of one iteration, and records that nothing is known of
SELECT e.epochs, e.epoch, e.iteration, l4._since_start(e.epochs::l4._epochs, e.epoch, e.iteration), l4._in_epoch(e.epochs::l4._epochs, 2147483647)
FROM (VALUES ('(1,0,30,t,)', 3, 5), ('(1,0,1,t,)', 2147483647, 0), ('(0,1,2147483647,t,)', 2147483647, 2147483647), ('(1,1,20,t,4)', -5, 50)) AS e(epochs, epoch, iteration);
SELECT u.* FROM l4._unpack(l4._count_records('{3,5,9,12,15}', ARRAY['2026-05-01', '-infinity', '2026-05-02', '2026-05-03', 'infinity']::timestamptz[],
    '{5}', '{2147483640}', '{}', '{}', 2147483647, 0, NULL)) AS u(epoch int, iteration int, ended timestamptz, duration_ms float8);
SELECT l4._count_records('{3,5}', ARRAY['2026-05-01']::timestamptz[], '{}', '{}', '{}', '{}', 1, 0, NULL);
SELECT l4._count_records('{3}', ARRAY['2026-05-01']::timestamptz[], '{5,4}', '{1,2}', '{}', '{}', 1, 0, NULL);
SELECT l4._count_records('{3}', ARRAY['2026-05-01']::timestamptz[], '{}', '{}', '{}', '{}', 0, 0, NULL);

SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job WHERE settings LIKE 'counter %';
SELECT count(*) AS counted FROM l4._counted AS c JOIN made AS m USING (job_id);
DROP SCHEMA counter CASCADE;
