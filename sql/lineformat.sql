-- Lines taken apart: headers, time stamps, levels, launcher prefixes, structured lines, terminal output.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE FUNCTION pg_temp.peel(VARIADIC lines text[]) RETURNS TABLE (ts timestamptz, level text, rank int, host text, component text, pid bigint, format text, message text) AS $$
	SELECT p.ts, p.level, p.rank, p.host, p.component, p.pid, f.name, left(p.message, 80)
	FROM (SELECT l4._ruleset() AS rules OFFSET 0) r, unnest(lines) WITH ORDINALITY AS u(line, i),
		l4._peel(r.rules, u.line, '2025-06-01 00:00:00+00') p LEFT JOIN l4.line_format f ON f.rule_id = p.format_id
	ORDER BY u.i
$$ LANGUAGE sql;

-- what each shipped format makes of its own example
SELECT f.name, p.ts, p.level, p.rank, p.host, p.component, p.pid, left(p.message, 60) AS message
FROM l4.line_format f, (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._peel(r.rules, f.example, '2025-06-01 00:00:00+00') p
ORDER BY f.rule_id;
-- another format answers for it only where prefixes nest
SELECT f.name, g.name AS answers
FROM l4.line_format f, (SELECT l4._ruleset() AS rules OFFSET 0) r, l4._peel(r.rules, f.example) p LEFT JOIN l4.line_format g ON g.rule_id = p.format_id
WHERE g.name IS DISTINCT FROM f.name ORDER BY f.rule_id;

-- prefixes nest: the collector's, the launcher's, then the logger's header
SELECT * FROM pg_temp.peel(
'2025-02-23T16:24:18.101123456Z stderr F [rank3]: [titan] 2025-02-23 16:24:18,100 - root - INFO - Training starts at step 1.',
'worker-3: [default0]:2025-02-23 16:24:18,100 [INFO] [rank 12] trainer: building the model now',
'12: (TrainWorker pid=1204, ip=10.0.3.7) INFO:root:ready',
'4: [rank: 12] Received SIGTERM: 15',
'[1,7]<stderr>:Traceback (most recent call last):',
'Oct 16 20:47:19 gpu07 trainer[1204]: WARNING:root:late',
'<165>1 2025-08-24T05:14:15.000003-07:00 gpu07 trainer 8710 - - [rank3]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:1743] stuck',
'0: 1: two labels are one too many');

-- a bar that nothing ended stands in front of what was printed next; its launcher's label stays with it
SELECT * FROM pg_temp.peel(
E'\r 42%|####2     | 25/60 [00:04<00:06,  5.52it/s][INFO|trainer.py:2926] 2025-02-23 16:24:18,100 >> Saving model checkpoint to /ckpt/checkpoint-25',
E'  0%|          | 0/60 [00:00<?, ?it/s]Traceback (most recent call last):',
E'3: \r 40%|####      | 24/60 [00:04<00:06,  5.5it/s]\r 42%|####2     | 25/60 [00:04<00:06,  5.5it/s]\r       \r{\'loss\': 4.2, \'learning_rate\': 0.0006, \'epoch\': 0.39}',
E'[default1]:Epoch 0:  16%|#6        | 10/64 [00:04<00:24,  2.21it/s, v_num=0]WARNING:root:late',
E'Training: |          | 0/? [00:00<?, ?it/s]  1%|1         | 1/64 [00:01<00:31]\033[Ait is both bars',
E'\r100%|##########| 60/60 [00:10<00:00,  5.5it/s]',
'loss | 5/60 | is no bar', 'use 20%| of it | 3/4 of a pipe', E'first\rsecond');

-- JSON: message and level are taken out, the rest follows; envelopes hold a raw line
SELECT * FROM pg_temp.peel(
'{"timestamp": "2025-02-23T16:24:18.122Z", "level": "info", "rank": 3, "logger": "trainer", "message": "step 10", "loss": 2.31, "tags": ["a", "b"]}',
'{"ts": 1740327858.5, "lvl": "WARN", "msg": "caf\u00e9 \"late\"\tby \ud83d\ude00", "host": "gpu07"}',
'{"log": "[rank3]: RuntimeError: boom\n", "stream": "stderr", "time": "2025-02-23T16:24:18.101123456Z"}',
'{"log": "{\"level\": \"error\", \"message\": \"inner\"}\n", "stream": "stdout", "time": "2025-02-23T16:24:18.101123456Z", "kubernetes": {"pod_name": "worker-3"}}',
'{"MESSAGE": "Out of memory: Killed process 1204", "PRIORITY": "3", "_HOSTNAME": "gpu07", "SYSLOG_IDENTIFIER": "kernel", "__REALTIME_TIMESTAMP": "1740327858101123"}',
'{"labels": {"app": "train"}, "line": "2025-02-23 16:24:18,100 [INFO] [rank 12] trainer: building", "timestamp": "2025-02-23T16:24:18.1Z"}',
'{"file": "/var/log/0.log", "host": "gpu07", "message": "[rank3]: RuntimeError: boom", "timestamp": "2025-02-23T16:24:18.1Z"}',
'{"timestamp": "2025-02-23T16:24:18.1Z", "message": "[rank3]: step", "loss": 2.31}',
'{"level": "ERROR", "message": "step failed", "exc_info": "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: bad batch"}',
'{"step": 10, "loss": 2.31, "time": 0.41}',
'{"levelno": 40, "event": "epoch", "epoch": 3}', '{"level": 30, "msg": "Node.js informs"}', '{"level": 60, "msg": "and fails"}',
'{}', '{"a"', '{"a": 1} and more', '{''loss'': 0.81}', '{"message": {"a": 1}}', '{"level": "info", "message": ""}');

-- logfmt, and what only looks like it
SELECT * FROM pg_temp.peel(
'time="2025-02-23T16:24:18Z" level=warning msg="no \"route\" to host" peer=10.0.0.7',
'ts=1740327858.5 lvl=info msg=ready rank=3',
'level=error component=storage err=timeout msg="upload failed"',
'master_addr=node00', 'step=10 loss=2.31 level=3', 'level=info', 'level=info msg="open');

-- terminal output: escapes, progress bars, line ends
SELECT * FROM pg_temp.peel(
E'\033[36m(Worker pid=12)\033[0m \033[1;31mERROR\033[0m: it \033]8;;http://x\007broke\033]8;;\033\\',
E'\033(B\033[m plain \033',
E'\r  1%|          | 1/100 [00:01<01:40,  1.0s/it]\r  2%|2         | 2/100 [00:02<01:38,  1.0s/it]',
E'Training:   3%|3\rTraining:   4%|4\r', E'dos line\r\n', E'\r\r', E'\033[2K');

-- levels without a format: by the word in front, by an exception's name, by what runtimes print
SELECT line, (l4._peel(rules, line)).level
FROM (SELECT l4._ruleset() AS rules OFFSET 0) r, unnest(ARRAY['ERROR: x', 'error: x', 'Error in x', 'ERROR in x', '[warn] x', 'Warning: x', 'train.py: error: x',
	'ninja: fatal: x', 'RuntimeError: x', 'torch.OutOfMemoryError: x', 'KeyboardInterrupt', 'a.py:3: UserWarning: x', 'Fatal Python error: Aborted',
	'Traceback (most recent call last):', 'panic: x', 'information is power', 'Info', 'DEBUG', 'error::Code', 'Timeout: x', 'no error here', 'Warnings: 3', 'E', 'fatal']) line;
-- behind a stamp a program's "Error:" is the message, as it is without one, not what a logger writes
SELECT * FROM pg_temp.peel('2025-02-23 16:24:18,100 Error: no such file', '2025-02-23 16:24:18,100 error: no such file');
-- a rank in brackets behind the level is none of a thread's
SELECT line, p.rank, p.message FROM unnest(ARRAY['2025-02-23 16:24:18 INFO [rank3] x', '2025-02-23 16:24:18 INFO [Rank 3] x', '2025-02-23 16:24:18 INFO [main] x']) AS line, l4._peel(l4._ruleset(), line) AS p;
-- and the words that loggers write
SELECT level, (l4._peel(rules, '2025-02-23 16:24:18 [' || level || '] x')).level AS means
FROM (SELECT l4._ruleset() AS rules OFFSET 0) r, unnest(ARRAY['DEBUG', 'debug', 'Trace', 'info', 'NOTICE', 'SUCCESS', 'WARN', 'warning', 'err', 'ERROR', 'CRIT', 'CRITICAL', 'fatal', 'PANIC', 'other']) level;

-- time stamps: any usual form, a year from the reference, a zone where there is one
SELECT * FROM pg_temp.peel('2025-02-23 16:24:18 x', '2025/02/23 16:24:18.5 x', '[2025-02-23T16:24:18,123456789+01:00] x', '2025-02-23 16:24:18 -0530 x',
	'2024-02-29 23:59:60 x', '2025-02-29 10:00:00 x', '2025-13-01 10:00:00 x', '[1740327858.25] x', 'Tue May 21 11:58:06 2024 x', '16:24:18 x',
	'I0531 23:59:59.000001 12 a.cc:3] x', 'I1231 23:59:59.000001 12 a.cc:3] x', 'E626 05:14:36.393067540 12 a.cc:3] x', '[E626 05:14:36.393067540 a.cc:3] x', 'I0229 00:00:00.000000 12 a.cc:3] x',
	'Feb  3 04:08:03 gpu07 trainer: x', '24/05/21 11:58:06 WARN A: x', '2025-02-23_16:24:18.120+0800: [E] x');
SELECT (l4._peel(l4._ruleset(), 'I0102 03:04:05.000000 12 a.cc:3] x', '2024-12-31 00:00:00+00')).ts AS next_year,
	(l4._peel(l4._ruleset(), 'I1231 03:04:05.000000 12 a.cc:3] x', '2025-01-02 00:00:00+00')).ts AS last_year,
	(l4._peel(l4._ruleset(), 'I0229 03:04:05.000000 12 a.cc:3] x', '2024-06-01 00:00:00+00')).ts AS leap_day;
-- logs are of the past, though the nearest such day may be to come; a leap day is years ago
SELECT (l4._peel(l4._ruleset(), 'I0301 03:04:05.000000 12 a.cc:3] x', '2025-11-21 00:00:00+00')).ts AS this_year,
	(l4._peel(l4._ruleset(), 'I0301 03:04:05.000000 12 a.cc:3] x', '2025-02-10 00:00:00+00')).ts AS soon,
	(l4._peel(l4._ruleset(), 'I0229 03:04:05.000000 12 a.cc:3] x', '2027-01-01 00:00:00+00')).ts AS leap_day;
-- a time stamp without zone is in the zone of the session, summer time included
SET timezone = 'Europe/Berlin';
SELECT x, (l4._peel(l4._ruleset(), x)).ts FROM unnest(ARRAY['2025-01-23 16:24:18 x', '2025-07-23 16:24:18 x', '2025-03-30 03:00:00 x', '2025-03-30 01:59:59 x']) x;
SET timezone = 'UTC';
-- to_timestamp() agrees, where it knows the format: TZ only from version 16 on
SELECT count(*) AS different FROM l4.line_format f, l4.pcre_captures(f.example, f.signature) c, l4._peel(l4._ruleset(), f.example, '2025-06-01 00:00:00+00') p
WHERE f.ts_format ~ 'YYYY' AND CASE WHEN f.ts_format ~ 'TZ' THEN false ELSE p.ts <> to_timestamp(c ->> 'ts', f.ts_format) END;

-- damaged, empty and huge lines are lines
SELECT * FROM pg_temp.peel('', ' ', E'\t', E'\x01\x02', 'é', '[rank', '[rank99999999999]: x', '[default]: x', '99999999999: x', '[2025', '<999> x', repeat('[', 40));
SELECT length(p.message), p.level, p.rank FROM l4._peel(l4._ruleset(), '[rank3]: 2025-02-23 16:24:18 [INFO] ' || repeat('é x ', 300000)) p;
SET statement_timeout = '5s';	-- in linear time
SELECT length(p.message) FROM l4._peel(l4._ruleset(), '{"message": "' || repeat('\n\\x ', 400000) || '"}') p;
RESET statement_timeout;
SELECT length(p.message) FROM l4._peel(l4._ruleset(), repeat('{"a": ', 100000)) p;
-- nanoseconds of 19 digits are a number of 64 bits without a sign
SELECT ts FROM l4._peel(l4._ruleset(), '{"timestamp": 9999999999999999999, "message": "y"}');
-- a row of several lines: its first line, and the exception of a traceback in it
SELECT * FROM pg_temp.peel(E'2025-02-23 16:24:18 [ERROR] step failed\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: bad',
	E'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: bad', E'one\ntwo', E'\n\nx');

-- what a line means does not depend on the lines before it: the same in any order
WITH e AS (
	SELECT example AS line FROM l4.line_format UNION SELECT example FROM l4.stage_rule UNION SELECT example FROM l4.iteration_rule
), v AS (
	SELECT line FROM e UNION SELECT translate(line, '0123456789', '9999999999') FROM e UNION SELECT left(a.line, k) || b.line FROM e a, e b, generate_series(5, 60, 11) k WHERE md5(a.line || b.line || k) < '008'
)
SELECT count(*) > 500 AS many, count(*) FILTER (WHERE x.p IS DISTINCT FROM y.p) AS different
FROM (SELECT line, l4._peel(r.rules, line, '2025-06-01 00:00:00+00')::text AS p FROM v, (SELECT l4._ruleset() AS rules OFFSET 0) r ORDER BY line LIMIT 100000) x
JOIN (SELECT line, l4._peel(r.rules, line, '2025-06-01 00:00:00+00')::text AS p FROM v, (SELECT l4._ruleset() AS rules OFFSET 0) r ORDER BY md5(line) LIMIT 100000) y USING (line);

-- errors
SELECT l4._peel('[]', 'x');
SELECT l4._peel('{"formats": 1}', 'x');
SELECT l4._peel('{"formats": [1]}', 'x');
SELECT l4._peel('{"formats": [{"id": "x"}]}', 'x');
SELECT l4._peel('{"formats": [{"id": 1}]}', 'x');
SELECT l4._peel('{"formats": [{"id": 1, "signature": 2}]}', 'x');
SELECT l4._peel('{"formats": [{"id": 1, "signature": "("}]}', 'x');
SELECT l4._peel('{"formats": [{"id": 1, "signature": "x"}]}', 'x');
SELECT l4._peel('{"formats": [{"id": 1, "signature": "(?<ts>x)(?<message>)", "ts_format": "YYYY-Q"}]}', 'x');
SELECT l4._peel('{"iterations": [{"id": 1, "signature": "(?<iter>x)", "kind": "maybe"}]}', 'x');
SELECT l4._peel('{"iterations": [{"id": 1, "signature": "x", "kind": "done"}]}', 'x');
SELECT l4._peel(jsonb_build_object('iterations', jsonb_build_array(jsonb_build_object('id', 1, 'kind', 'done', 'signature', '(?<iter>x)' || repeat('()', 30)))), 'x');
SELECT l4._peel(jsonb_build_object('formats', (SELECT jsonb_agg(i) FROM generate_series(1, 5000) i)), 'x');
SELECT l4._check_ts_format(repeat('-', 50));
-- no rules: the line is the message; NULL in, NULL out
SELECT (l4._peel('{}', '2025-02-23 16:24:18 x')).*;
SELECT l4._peel(NULL, 'x'), l4._peel('{}', NULL);
