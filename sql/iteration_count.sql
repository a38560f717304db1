-- Reports without a number are counted; where others give numbers they belong to what is going on.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
BEGIN;
SELECT l4.create_log_table('pg_temp.logs');
INSERT INTO logs (job_id, node, source, line_no, ts, line)
SELECT 'count-1', 'n1', 'counted', i, '2025-02-23 10:00Z'::timestamptz + i * interval '2 s', format('{''loss'': %s, ''learning_rate'': 0.0002, ''epoch'': %s}', 3.5 - i * 0.25, i * 0.25) FROM generate_series(1, 6) i
UNION ALL
SELECT 'count-1', 'n1', 'numbered', i, '2025-02-23 10:00Z'::timestamptz + i * interval '1 s',
	CASE WHEN i % 2 = 0 THEN format('{''loss'': %s, ''learning_rate'': 0.0002, ''epoch'': %s}', 3.5 - i * 0.25, i * 0.25)
		ELSE format(' 12%%|#   | %s/100 [00:05<00:38,  2.00s/it]', 10 + i) END FROM generate_series(1, 6) i
UNION ALL
SELECT 'count-1', 'n1', 'other', i, '2025-02-23 10:00Z', l FROM unnest(ARRAY['{''eval_loss'': 2.05, ''eval_runtime'': 12.31, ''epoch'': 0.5}', '{''train_runtime'': 160.7, ''train_loss'': 10.26, ''epoch'': 2.0}', '{''loss'': 1}']) WITH ORDINALITY AS u(l, i)
UNION ALL
-- a bar's number belongs to the report that is printed over it; evaluation and data have bars of their own, with other totals
SELECT 'count-1', 'n1', 'painted', i, '2025-02-23 10:00Z'::timestamptz + i * interval '1 s', l FROM unnest(ARRAY[
	'100%|##########| 512/512 [00:01<00:00, 480.00it/s]',
	E'\r  0%|          | 0/60 [00:00<?, ?it/s]\r  8%|8         | 5/60 [00:05<00:55,  1.00s/it]\r      \r{''loss'': 3.5, ''learning_rate'': 0.0002, ''epoch'': 0.1}',
	E'\r 17%|#6        | 10/60 [00:10<00:50,  1.00s/it]\r      \r{''loss'': 3.25, ''learning_rate'': 0.0002, ''epoch'': 0.2}',
	'100%|##########| 128/128 [00:01<00:00, 90.00it/s]',
	E'\r 20%|##        | 12/60 [00:12<00:48,  1.00s/it][INFO|trainer.py:2926] 2025-02-23 10:00:05,100 >> Saving model checkpoint to /ckpt/checkpoint-12',
	'  0%|          | 0/2 [00:00<?, ?it/s]Traceback (most recent call last):', '  File "train.py", line 1, in <module>', 'RuntimeError: boom']) WITH ORDINALITY AS u(l, i)
UNION ALL
-- a bar's line may be ended long after it was painted, by what a hang leads to: its own seconds tell
SELECT 'count-1', 'n1', 'late', i, '2025-02-23 10:00Z'::timestamptz + s * interval '1 s', l FROM unnest(ARRAY[
	' 5%|5         | 3/60 [00:03<00:57,  1.00s/it]', '  8%|8         | 5/60 [00:05<00:55,  1.00s/it]',
	E'\r 12%|#1        | 7/60 [00:07<00:53,  1.00s/it]Traceback (most recent call last):', '  File "train.py", line 1, in <module>', 'RuntimeError: boom',
	E'\r 12%|#1        | 7/60 [00:38<00:53,  5.00s/it]'], ARRAY[3, 5, 37, 37, 37, 38]) WITH ORDINALITY AS u(l, s, i);
CALL l4.ingest('pg_temp.logs', commit => false, batch_lines => 4);
SELECT source, epoch, iteration, started, duration_ms, metrics FROM l4.iteration WHERE job_id = 'count-1' ORDER BY source, iteration;
SELECT source, line_no, iteration FROM l4.event_line WHERE job_id = 'count-1' AND source <> 'counted' ORDER BY 1, 2;
-- how many there are to be is in some reports of a rule, and not in others
INSERT INTO logs (job_id, node, line_no, line)
SELECT job, 'n1', i, format('{''loss'': 1.%s, ''learning_rate'': 0.0002, ''%s'': %s}', i % 7, name, value)
FROM generate_series(1, 30) i, LATERAL (VALUES ('count-2', 'step', i::text), ('count-3', 'global_step/max_steps', quote_literal(i || '/40'))) AS v(job, name, value);
CALL l4.ingest('pg_temp.logs', commit => false);
SELECT job, l4._total_iterations(job) FROM unnest(ARRAY['count-2', 'count-3', 'count-4']) AS job;
-- stamps of whole seconds: the first report of an epoch is none shown again
INSERT INTO logs (job_id, node, line_no, line)
SELECT 'count-5', 'n1', 1000 + e * 5 + i, format('2025-02-23 10:00:0%s,000 INFO Epoch %s/3 [%s0/50] loss: 1.5', e / 2, e, i)
FROM generate_series(1, 3) AS e, generate_series(1, 5) AS i;
CALL l4.ingest('pg_temp.logs', commit => false);
SELECT epoch, count(*), min(iteration), max(iteration) FROM l4.iteration WHERE job_id = 'count-5' GROUP BY 1 ORDER BY 1;
-- reports are counted until a bar, painted late, tells the number of the last of them
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'count-8', 'n1', i, '2025-02-23 10:00Z'::timestamptz + i * interval '2 s', format('{''loss'': 3.%s, ''learning_rate'': 0.0002, ''epoch'': 0.%s}', i, i) FROM generate_series(1, 6) AS i
UNION ALL
SELECT 'count-8', 'n1', 10 + i, '2025-02-23 10:00:12.1Z'::timestamptz + i * interval '4 s', format(' 12%%|#   | %s/100 [00:%s<00:38,  2.50it/s]', 30 + 10 * i, 12 + 4 * i) FROM generate_series(0, 1) AS i;
CALL l4.ingest('pg_temp.logs', commit => false);
-- an evaluation that reports as the training does, and the end of the log, shown again; shorter loops that go on
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'count-6', 'n1', i, '2025-02-23 10:00Z'::timestamptz + i * interval '1 s', format('step %s - loss: 0.%s - %sms/step', l, i, ms)
FROM unnest(ARRAY['4/12', '8/12', '12/12', '2/2', '4/12', '8/12', '12/12', '2/2', '4/12'], ARRAY[250, 240, 230, 90, 220, 210, 200, 80, 190]) WITH ORDINALITY AS u(l, ms, i)
UNION ALL
SELECT 'count-6', 'n1', 10 + i, '2025-02-23 10:01Z', format('step %s - loss: 0.%s - %sms/step', l, i, ms)
FROM unnest(ARRAY['12/12', '2/2', '4/12', '8/12', '12/12', '2/2', '4/12'], ARRAY[230, 90, 220, 210, 200, 80, 190]) WITH ORDINALITY AS u(l, ms, i)
UNION ALL
SELECT 'count-7', 'n1', i, '2025-02-23 10:00Z'::timestamptz + i * interval '1 s', format('step %s/3 - loss: 0.%s', i, i) FROM generate_series(1, 3) AS i
UNION ALL
SELECT 'count-7', 'n1', 3 + i, '2025-02-23 10:01Z'::timestamptz + i * interval '1 s', format('step %s/2 - loss: 0.%s', 1 + (i - 1) % 2, i) FROM generate_series(1, 6) AS i;
CALL l4.ingest('pg_temp.logs', commit => false);
SELECT i.job_id, i.epoch, i.iteration, i.duration_ms, i.ended FROM l4._iteration AS i WHERE i.job_id IN ('count-6', 'count-7') ORDER BY 1, i.ended, 2, 3;
SELECT u.* FROM (SELECT l4._iteration_table(m.iterations, m.open_iterations, 1, 0, NULL) AS packed
	FROM l4._stream AS s JOIN l4._summary AS m USING (stream_id) WHERE s.job_id = 'count-6') AS t
CROSS JOIN LATERAL l4._unpack(t.packed[1]) AS u(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8) ORDER BY 1, 2;
SELECT u.* FROM (SELECT l4._iteration_table(m.iterations, m.open_iterations, 1, 0, NULL) AS packed
	FROM l4._stream AS s JOIN l4._summary AS m USING (stream_id) WHERE s.job_id = 'count-8') AS t
CROSS JOIN LATERAL l4._unpack(t.packed[1]) AS u(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8) ORDER BY 1, 2;
-- a bar of an epoch, shown by itself and again behind the epoch and the number since the start, in its own line and in the next
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'count-9', 'n' || n, 4 * i + z.k, '2025-02-23 10:00Z'::timestamptz + i * interval '2 s',
	CASE z.k WHEN 1 THEN bar || CASE WHEN i < 8 THEN named ELSE '' END WHEN 2 THEN named
	ELSE CASE WHEN n = 1 THEN 'Traceback (most recent call last):' ELSE 'RuntimeError: Connection reset by peer' END END
FROM generate_series(1, 2) AS n, generate_series(1, 12) AS i,
	LATERAL (SELECT format(' 12%%|#   | %s/8 [00:%s<00:38,  2.00s/it]', (i - 1) % 8 + 1, to_char(((i - 1) % 8 + 1) * 2, 'FM00'))) AS b(bar),
	LATERAL (SELECT format('%s|%s|Loss: 2.%s:', (i - 1) / 8 + 1, i, i) || bar) AS d(named),
	LATERAL (SELECT 1 AS k UNION ALL SELECT 2 WHERE i >= 8 UNION ALL SELECT 3 WHERE i = 12) AS z;
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'count-9', 'n1', 60 + i, '2025-02-23 10:00:25Z', l FROM unnest(ARRAY['  File "train.py", line 1, in <module>', 'RuntimeError: boom']) WITH ORDINALITY AS u(l, i);
CALL l4.ingest('pg_temp.logs', commit => false, batch_lines => 5);
SELECT node, epoch, count(*), min(iteration), max(iteration) FROM l4.iteration WHERE job_id = 'count-9' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT symptom, stage, iteration FROM l4.diagnose('count-9', baseline => '{}');
ROLLBACK;
SELECT kind, iteration, epoch, metrics FROM l4._iteration(l4._ruleset(), '{''loss'': 2.075, ''grad_norm'': nan, ''learning_rate'': 2e-05, ''epoch'': 1.5}');
-- rows of a table, whatever their columns are called; a sentence about a step is no report, nor is a step of something else
SELECT m, (l4._iteration(l4._ruleset(), m)).*
FROM unnest(ARRAY['Batch 12 of 90 | cross-entropy 5.5123 | 0.19 s', '[step=12/90,epoch=1,eta=0:00:12]', 'batch 12 | bits per byte 1.5123', 'step 12: still waiting for rank 3 after 1.5 s',
	'step 1/4: loading the model', 'eval batch 12 of 90 | cross-entropy 5.5', '[3/10][50/400] loss: 2.31', 'Epoch 3/10 [50/400] loss: 2.31', 'step 12, retrying after 0.5 s',
	'epochs=5 batch=100 lr=0.3', 'epoch=5 batch=100 lr=0.3', 'ValueError: loss is nan in batch 2 of epoch 0',
	'rank 0 of 3, {"steps": 160, "lr": 0.001, "max_grad_norm": 1.0}']) WITH ORDINALITY AS u(m, i) ORDER BY i;
