-- The template miner: what it learns, what it answers, and that a stored value is the same parser.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TABLE parser_log (k int, line text);
INSERT INTO parser_log SELECT row_number() OVER (), x FROM unnest(ARRAY[
	'Rank 3 joined from 10.0.0.7:29500 after 12.5 ms',
	'Rank 14 joined from 10.0.0.8:29500 after 8.25 ms',
	'Saving checkpoint to /ckpt/run-7/step_000100 (1.5 GB)',
	'Saving checkpoint to /ckpt/run-7/step_000200 (1.5 GB)',
	'NCCL error in: ProcessGroupNCCL.cpp:1331, unhandled system error',
	'loss: 3.25',
	'loss: nan',
	'loss: 2.5']) x;
CREATE TABLE parser_kept AS SELECT l4.parser_train(line ORDER BY k) AS p FROM parser_log;
SELECT t.* FROM parser_kept, l4.parser_templates(p) t ORDER BY 1;
SELECT k, l4.parser_match(p, line) FROM parser_kept, parser_log ORDER BY k;
SELECT l4.parser_match(p, 'nothing like it') IS NULL AS none FROM parser_kept;
DROP TABLE parser_log, parser_kept;
