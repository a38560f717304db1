-- The shipped rules, each against its own example and those of the others; users' rules beside them.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TEMP TABLE peeled AS
SELECT 'stage' AS kind, s.rule_id, s.name, p.message FROM l4.stage_rule s, (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._peel(r.rules, s.example) p
UNION ALL
SELECT 'iteration', s.rule_id, s.name, p.message FROM l4.iteration_rule s, (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._peel(r.rules, s.example) p;

-- every rule has an example that it matches, a source, an id in the range of its framework
SELECT 'line_format' AS "table", count(*) > 50 AS many, count(*) FILTER (WHERE example IS NULL OR source_url IS NULL OR origin <> 'builtin') AS incomplete,
	max(ranges) AS frameworks_of_a_range FROM (SELECT *, 1 AS ranges FROM l4.line_format) t
UNION ALL SELECT 'stage_rule', count(*) > 100, count(*) FILTER (WHERE example IS NULL OR source_url IS NULL OR origin <> 'builtin'),
	(SELECT max(n) FROM (SELECT count(DISTINCT framework) AS n FROM l4.stage_rule GROUP BY rule_id / 1000) x) FROM l4.stage_rule
UNION ALL SELECT 'iteration_rule', count(*) > 30, count(*) FILTER (WHERE example IS NULL OR source_url IS NULL OR origin <> 'builtin'),
	(SELECT max(n) FROM (SELECT count(DISTINCT framework) AS n FROM l4.iteration_rule GROUP BY rule_id / 1000) x) FROM l4.iteration_rule;
SELECT name AS format_does_not_match FROM l4.line_format WHERE l4.pcre_match(example, signature) IS NOT TRUE;
SELECT name AS stage_rule_does_not_match FROM peeled p JOIN l4.stage_rule USING (rule_id, name) WHERE p.kind = 'stage' AND l4.pcre_match(message, signature) IS NOT TRUE;
SELECT name AS iteration_rule_does_not_match FROM peeled p JOIN l4.iteration_rule USING (rule_id, name) WHERE p.kind = 'iteration' AND l4.pcre_match(message, signature) IS NOT TRUE;

-- the stage of each example is that of its own rule, whichever rule gives it
SELECT p.name, s.stage, s.then_stage, g.stage AS got, g.then_stage AS then_got
FROM peeled p JOIN l4.stage_rule s USING (rule_id, name), l4._stage_of(p.message) g
WHERE p.kind = 'stage' AND (g.stage, g.then_stage) IS DISTINCT FROM (s.stage, s.then_stage);
-- examples of iterations are training, or speak of evaluation and checkpoints
SELECT g.stage, i.kind, count(*) FROM peeled p JOIN l4.iteration_rule i USING (rule_id, name), l4._stage_of(p.message) g
WHERE p.kind = 'iteration' GROUP BY 1, 2 ORDER BY 1, 2;

-- what each iteration rule reads
SELECT i.name, t.kind, t.iteration, t.total, t.epoch, round(t.duration_ms::numeric, 3) AS ms, t.metrics
FROM peeled p JOIN l4.iteration_rule i USING (rule_id, name), (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, p.message) t
WHERE p.kind = 'iteration' ORDER BY i.rule_id;
SELECT p.name, g.name AS answers FROM peeled p, (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, p.message) t JOIN l4.iteration_rule g USING (rule_id)
WHERE p.kind = 'iteration' AND g.name <> p.name;
-- no example of another stage reports an iteration as done
SELECT p.name, t.iteration FROM peeled p JOIN l4.stage_rule s USING (rule_id, name), (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, p.message) t
WHERE p.kind = 'stage' AND s.stage <> 'train' AND t.kind = 'done';

-- words of any trainer
SELECT m, (l4._stage_of(m)).stage, (l4._stage_of(m)).then_stage, t.kind, t.iteration, t.duration_ms
FROM unnest(ARRAY[
	'saving checkpoint at step 100', 'Checkpoint saved to /mnt/x in 2.1 s', 'could not save the checkpoint: disk full', 'save ............................ /ckpt',
	'restoring the checkpoint of step 100', 'checkpoint restored', 'resuming training from step 100', 'no checkpoint found, starting from scratch',
	'evaluating ...', 'Running validation', 'eval_interval: 100', 'validation loss: 2.31', 'val_loss=2.31 at step 100', 'the validation dataset has 100 samples',
	'creating the dataloader', 'Building train loader...', 'building the transformer model', 'number of parameters: 7.1B', 'initializing NCCL', 'initializing tensor model parallel group',
	'starting training', 'Training finished', 'shutting down', 'epoch 3 starts', 'loss is nan',
	'Step 100/1000 | loss 2.31 | lr 3e-4 | 412 ms/step', 'iter 100: loss=nan lr=0.1', 'step=100 loss=2.31 time=0.41s', 'step: 100 eval loss 2.3',
	'worker 3 of 4, batch=100 lr=0.3 hidden=24', 'global_step 100 grad_norm 0.3 tokens/s 1000', 'iteration 27 still pending after 1.0 s', 'waiting for the loss all-reduce of step 27 for 2.0 s', 'finished step 12 in 412 ms',
	'loaded 12 steps', 'step 100 ms', 'Evaluating step 3', 'stepping 3', '/ckpt/step 5']) m,
	(SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, m) t;
-- progress bars: those of the training, not those of loading
SELECT m, t.iteration, t.total, t.epoch, round(t.duration_ms) AS ms, t.metrics
FROM unnest(ARRAY['  1%|▏         | 1/72 [00:27<32:54, 27.82s/it]', ' 50%|█████     | 36/72 [00:27<?, ?it/s]', 'Steps:  12%|█▏ | 12/100 [00:05<00:38,  2.00it/s, loss=2.31]',
	'Epoch 3: 12%|█▏ | 12/100 [00:05<00:38,  2.00it/s, v_num=1, train_loss=2.31]', 'Loading checkpoint shards: 100%|██████████| 4/4 [00:04<00:00,  1.20s/it]',
	'Map (num_proc=8):  12%|█▏ | 12/100 [00:05<00:38,  2.00 examples/s]', 'Validation DataLoader 0: 12%|█▏ | 12/100 [00:05<00:38,  2.00it/s]']) m,
	(SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, m) t;

-- users' rules: ids from 1,000,000, first among equals, they replace shipped ones of the same name
-- (the ids are printed: whatever other tests took of them)
ALTER TABLE l4.line_format ALTER rule_id RESTART;
ALTER TABLE l4.stage_rule ALTER rule_id RESTART;
ALTER TABLE l4.iteration_rule ALTER rule_id RESTART;
ALTER TABLE l4.mask_rule ALTER rule_id RESTART;
INSERT INTO l4.line_format (name, signature, ts_format, priority) VALUES ('ours', '^<<(?<ts>[^>]+)>> (?<level>\w+) (?<message>.*)$', 'DD.MM.YYYY HH24:MI', 200) RETURNING rule_id, framework, origin;
INSERT INTO l4.stage_rule (name, stage, signature) VALUES ('ours', 'data', '^gathering shards') RETURNING rule_id, priority;
INSERT INTO l4.iteration_rule (name, signature) VALUES ('ours', '^tick (?<iter>\d+) (?<temperature>\d+)C') RETURNING rule_id, kind;
INSERT INTO l4.mask_rule (name, pattern) VALUES ('SHARD', 'shard-\w+') RETURNING rule_id, position;
SELECT p.*, (l4._stage_of(p.message)).* FROM l4._peel(l4._ruleset(), '<<03.02.2025 10:11>> WARN gathering shards') p;
SELECT * FROM l4._iteration(l4._ruleset(), 'tick 7 81C');
SELECT l4._ruleset() -> 'masks';
SELECT (l4._stage_of('saving checkpoint at iteration     500 to /ckpt')).stage;
INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('megatron_checkpoint_save', 'shutdown', '^saving checkpoint at', 75);
SELECT (l4._stage_of('saving checkpoint at iteration     500 to /ckpt')).stage;
INSERT INTO l4.disabled_rule (kind, name, reason) VALUES ('stage_rule', 'megatron_checkpoint_save', 'test'), ('stage_rule', 'generic_checkpoint_save', 'test'),
	('line_format', 'ours', 'test'), ('iteration_rule', 'ours', 'test'), ('mask_rule', 'SHARD', 'test');
SELECT (l4._stage_of('saving checkpoint at iteration     500 to /ckpt')).stage, (l4._peel(l4._ruleset(), '<<03.02.2025 10:11>> WARN x')).message,
	l4._iteration(l4._ruleset(), 'tick 7 81C') IS NULL AS no_iteration, l4._ruleset() -> 'masks' AS masks;
DELETE FROM l4.disabled_rule;
DELETE FROM l4.stage_rule WHERE rule_id >= 1000000;
DELETE FROM l4.iteration_rule WHERE rule_id >= 1000000;
DELETE FROM l4.line_format WHERE rule_id >= 1000000;
DELETE FROM l4.mask_rule WHERE rule_id >= 1000000;

-- what is no rule is refused
INSERT INTO l4.line_format (name, signature) VALUES ('x', '^(?<msg>.*)$');
INSERT INTO l4.line_format (name, signature, ts_format) VALUES ('x', '^(?<message>.*)$', 'ISO8601');
INSERT INTO l4.line_format (name, signature, ts_format) VALUES ('x', '^(?<ts>.)(?<message>.*)$', 'Q');
INSERT INTO l4.line_format (name, signature) VALUES ('x', '^(?<message>');
INSERT INTO l4.line_format (rule_id, name, signature) VALUES (5, 'x', '^(?<message>.*)$');
INSERT INTO l4.line_format (name, signature, origin) VALUES ('x', '^(?<message>.*)$', 'builtin');
INSERT INTO l4.line_format (name, signature, origin) VALUES ('x', '^(?<message>.*)$', 'elsewhere');
INSERT INTO l4.stage_rule (name, stage, signature) VALUES ('x', 'lunch', 'x');
INSERT INTO l4.stage_rule (name, stage, then_stage, signature) VALUES ('x', 'eval', 'lunch', 'x');
INSERT INTO l4.iteration_rule (name, signature) VALUES ('x', '(?<step>\d+)');
INSERT INTO l4.iteration_rule (name, kind, signature) VALUES ('x', 'maybe', '(?<iter>\d+)');
INSERT INTO l4.mask_rule (name, pattern) VALUES ('no <name>', 'x');
INSERT INTO l4.mask_rule (name, pattern, position) VALUES ('x', 'x', 'within');
INSERT INTO l4.disabled_rule (kind, name, disabled_at) VALUES ('rule', 'x', '2025-01-01');

-- other trainers and launchers, line by line
SELECT p.level, p.rank, p.host, p.stage, p.iteration, left(p.message, 50) AS message FROM unnest(ARRAY[
	'gpu07: [2024-05-21 11:58:06,441] [INFO] [engine.py:12:step] weights ready',
	'nid001234: ValueError: no shard 3',
	'x3109c0s13b0n0: ValueError: no shard 3',
	'gpu0: 80 GB',
	'GPU-A07: ValueError: no shard 3',
	'SHA-256: ValueError: no shard 3',
	'[1,mpirank:3,algo-1]<stderr>:ValueError: no shard 3',
	'2024-05-21T11:58:06.441Z stdout F [worker 2] 2024-05-21 11:58:06.441123: I tensorflow/core/server.cc:33] no shard 3',
	'[2024-05-21 11:58:06,441] [INFO] [axolotl.train:29] [PID:1204] weights ready',
	'[2024-05-21 11:58:06,441] [WARNING] [axolotl.train] [RANK:1] weights ready',
	'05/21 11:58:06 [INFO|node07]: weights ready',
	'Epoch 0: :   1%|#         | 12/1000 [00:20<27:00, v_num=0, reduced_train_loss=10.40, global_step=11.00]',
	'Train step of epoch [1/2]:  10%|#         | 12/120 [00:12<01:50,  1.02s/it, gpt_loss=2.1]',
	'Episode [1/20]:  10%|#         | 12/120 [00:12<01:50,  1.02s/it]',
	'{''loss'': 1.23, ''grad_norm'': 1.02, ''learning_rate'': 1e-05, ''epoch'': 0.12, ''global_step/max_steps'': ''12/100'', ''percentage'': ''12.00%''}',
	'[epoch=1][batch=12/4800]:',
	'Loading checkpoint from gs://bucket/step-100',
	'wrote: checkpoint persisted to s3://bucket/step-100',
	'Starting JAX distributed service on [::]:1234'
]) WITH ORDINALITY l(line, n), l4.parse(l.line) p ORDER BY n;
-- how long an iteration took, in which unit
SELECT t.iteration, t.duration_ms, t.metrics, m FROM unnest(ARRAY[
	'Epoch: 0 | Step: 12/60 | Loss: 4.12 | LR: 9.8e-04 | Grad norm: 1.203 | Step time: 123.4 ms',
	'step=12 loss=4.1 step_time_s=0.125 tokens_per_sec=1041',
	'step 12/1000 | train loss 9.111 | norm 1.2 | lr 6.00e-04 | (512.10 ms | 102400 tok/s)',
	'step=12 loss=2.31 time/step=0.5s',
	'step 12 took 0.5 s, loss 2.31',
	'[12/1000] loss: 2.31, 0.5 s/it',
	'step 12 loss 2.31 time: 12:03'
]) WITH ORDINALITY l(m, n), (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._iteration(r.rules, l.m) t ORDER BY n;
-- stages of messages that no trainer's own rule knows, and of Accelerate's
SELECT s.stage, s.then_stage, m FROM unnest(ARRAY[
	'opened shard /data/train/part-00001.jsonl',
	'dataset ready: 2048 samples',
	'the model is ready: 42,048 parameters',
	'Starting distributed training with 64 workers',
	'Wrote checkpoint of step 500',
	'Scheduled async checkpoint for step 500',
	'Saving training state',
	'Training new model from scratch',
	'Distributed environment: DistributedType.MULTI_CPU  Backend: gloo',
	'Random states saved in /ckpt/step_20/random_states_3.pkl',
	'[Torch] Checkpoint global_step20 is ready now!',
	'Using precision Precision.FP32',
	'all nodes are ready'
]) WITH ORDINALITY l(m, n) LEFT JOIN LATERAL l4._stage_of(l.m) s ON true ORDER BY n;
