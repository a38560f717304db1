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
SELECT 'count-1', 'n1', 'other', i, '2025-02-23 10:00Z', l FROM unnest(ARRAY['{''eval_loss'': 2.05, ''eval_runtime'': 12.31, ''epoch'': 0.5}', '{''train_runtime'': 160.7, ''train_loss'': 10.26, ''epoch'': 2.0}', '{''loss'': 1}']) WITH ORDINALITY AS u(l, i);
CALL l4.ingest('pg_temp.logs', commit => false, batch_lines => 4);
SELECT source, epoch, iteration, started, duration_ms, metrics FROM l4.iteration WHERE job_id = 'count-1' ORDER BY source, iteration;
SELECT source, line_no, iteration FROM l4.event_line WHERE job_id = 'count-1' AND source <> 'counted' ORDER BY 1, 2;
ROLLBACK;
SELECT kind, iteration, epoch, metrics FROM l4._iteration(l4._ruleset(), '{''loss'': 2.075, ''grad_norm'': nan, ''learning_rate'': 2e-05, ''epoch'': 1.5}');
