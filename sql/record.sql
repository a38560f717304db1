-- Which lines belong together, and which of them is the record's message.
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS l4 CASCADE;  -- what earlier tests taught the parser shows in templates
CREATE EXTENSION l4;
CREATE SCHEMA record;
SET search_path = record;
SELECT l4.create_log_table('record.logs');
-- the lines of one stream, read so many at a time, each with its record, and how the record's message begins: the rest of its
-- template depends on other tests
CREATE PROCEDURE ingest_lines(lines text[], step int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..cardinality(lines) BY step LOOP
        INSERT INTO record.logs (job_id, node, line_no, line)
        SELECT 'record', 'n', n, coalesce(lines[n], '') FROM generate_series(i, least(i + step - 1, cardinality(lines))) AS n;
        CALL l4.ingest('record.logs', commit => false);
    END LOOP;
END
$$;
CREATE FUNCTION read_lines(lines text[], step int)
RETURNS TABLE (line_no bigint, record bigint, level text, rank int, message text) LANGUAGE plpgsql AS $$
BEGIN
    CALL record.ingest_lines(lines, step);
    RETURN QUERY
    SELECT e.line_no, e.record_line_no, e.level, e.rank, CASE WHEN e.line_no = e.record_line_no THEN split_part(t.template, ' ', 1) END
    FROM l4.event_line AS e
    LEFT JOIN l4.template AS t USING (event_id)
    WHERE e.job_id = 'record';
    PERFORM l4.forget_job('record');
    TRUNCATE record.logs;
END
$$;
-- the texts of records that are kept as examples
CREATE FUNCTION texts(lines text[], step int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    CALL record.ingest_lines(lines, step);
    RETURN QUERY SELECT j.example FROM l4._job_event AS j WHERE j.job_id = 'record' ORDER BY j.first_line_no;
    PERFORM l4.forget_job('record');
    TRUNCATE record.logs;
END
$$;
CREATE FUNCTION records(VARIADIC lines text[])
RETURNS TABLE (line_no bigint, record bigint, level text, rank int, message text, line text) LANGUAGE sql AS $$
    SELECT r.line_no, r.record, r.level, r.rank, r.message, btrim(left(lines[r.line_no], 50))
    FROM record.read_lines(lines, 1000000) AS r ORDER BY 1
$$;

-- a traceback between two lines of a logger; blank lines belong to what is before them
SELECT * FROM records(
'2024-05-21 11:58:06,441 [INFO] [rank 3] trainer: step 10 begins now',
'Traceback (most recent call last):',
'  File "/w/train.py", line 571, in <module>',
'    main()',
'    ~~~~^^',
'  File "/w/train.py", line 563, in main',
'    raise RuntimeError("boom")',
'RuntimeError: boom',
'',
'2024-05-21 11:58:06,441 [INFO] [rank 3] trainer: leaving the loop');

-- chained tracebacks: each exception is a record of its own
SELECT * FROM records(
'Traceback (most recent call last):',
'  File "a.py", line 1, in f',
'    g()',
'KeyError: ''lr''',
'',
'During handling of the above exception, another exception occurred:',
'',
'Traceback (most recent call last):',
'  File "a.py", line 3, in <module>',
'    f()',
'ValueError: no learning rate',
'',
'The above exception was the direct cause of the following exception:',
'',
'Traceback (most recent call last):',
'  File "b.py", line 3, in <module>',
'    f()',
'omegaconf.errors.ConfigAttributeError: Key ''lr'' is not in struct',
'    full_key: optimizer.lr',
'    object_type=dict');

-- a message of several lines, and the C++ stack below it
SELECT * FROM records(
'2024-05-21 11:58:06,441 INFO trainer.loop: starting the next epoch',
'Traceback (most recent call last):',
'  File "a.py", line 1, in f',
'    loss.backward()',
'RuntimeError: CUDA error: device-side assert triggered',
'CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.',
'For debugging consider passing CUDA_LAUNCH_BLOCKING=1.',
'Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.',
'',
'Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:44 (most recent call first):',
'frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f2b in /usr/lib/libc10.so)',
'frame #1: <unknown function> + 0xd8 (0x7f2c in /lib/x86_64-linux-gnu/libc.so.6)',
'',
'2024-05-21 11:58:07,441 INFO trainer.loop: starting the next epoch');

-- an exception group is one record with its own exception as message
SELECT * FROM records(
'  + Exception Group Traceback (most recent call last):',
'  |   File "x.py", line 1, in <module>',
'  |     raise ExceptionGroup("two", [ValueError(1), TypeError(2)])',
'  | ExceptionGroup: two (2 sub-exceptions)',
'  +-+---------------- 1 ----------------',
'    | ValueError: 1',
'    +---------------- 2 ----------------',
'    | TypeError: 2',
'    +------------------------------------',
'step 12 done');

-- a syntax error has no first line
SELECT * FROM records(
'  File "/w/train.py", line 333',
'    def core(m)',
'               ^',
'SyntaxError: expected '':''',
'ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 25423) of binary: /usr/bin/python3');

-- the report of torchelastic below its exception
SELECT * FROM records(
'Traceback (most recent call last):',
'  File "run.py", line 1, in <module>',
'    raise ChildFailedError(',
'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
'============================================================',
'train.py FAILED',
'------------------------------------------------------------',
'Failures:',
'  <NO_OTHER_FAILURES>',
'------------------------------------------------------------',
'Root Cause (first observed failure):',
'[0]:',
'  time      : 2024-05-21_11:58:06',
'  exitcode  : -9 (pid: 1204)',
'  traceback : Signal 9 (SIGKILL) received by PID 1204',
'============================================================',
'step 12 done');
-- and alone; rules around other text are lines like any other
SELECT * FROM records(
'*****************************************',
'Setting OMP_NUM_THREADS environment variable for each process to be 1 in default',
'*****************************************',
'==========================',
'train.py FAILED',
'--------------------------',
'Root Cause:',
'==========================',
'next');

-- fatal signals: faulthandler, C++ terminate, glog
SELECT * FROM records(
'terminate called after throwing an instance of ''c10::Error''',
'  what():  [enforce fail at inline_container.cc:325] . unexpected pos 64 vs 0',
'frame #0: c10::ThrowEnforceNotMet(char const*, int) + 0x40 (0x7f2b)',
'Fatal Python error: Aborted',
'',
'Thread 0x00007f8a (most recent call first):',
'  File "/usr/lib/python3.11/threading.py", line 320 in wait',
'',
'Current thread 0x00007f8b (most recent call first):',
'  File "/w/train.py", line 12 in save',
'',
'Extension modules: numpy.core._multiarray_umath, torch._C (total: 12)',
'*** Aborted at 1716292686 (unix time) try "date -d @1716292686" if you are using GNU date ***',
'PC: @                0x0 (unknown)',
'*** SIGSEGV (@0x0) received by PID 1204 (TID 0x7f8a) from PID 0; stack trace: ***',
'    @     0x7f2b00001234 (unknown)',
'    @     0x55d3a0001234 main');

-- Java, Rust, Go
SELECT * FROM records(
'Exception in thread "main" java.lang.IllegalStateException: no leader',
'	at org.apache.spark.Foo.bar(Foo.java:12)',
'	at org.apache.spark.Foo.main(Foo.java:3)',
'Caused by: java.io.IOException: connection refused',
'	at org.apache.spark.Net.open(Net.java:99)',
'	... 12 more',
'thread ''main'' panicked at src/main.rs:10:5:',
'index out of bounds: the len is 3 but the index is 99',
'note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace',
'stack backtrace:',
'   0: rust_begin_unwind',
'             at /rustc/lib/std/panicking.rs:645:5',
'  10: main',
'thread ''worker'' panicked at ''oops'', src/lib.rs:2:5',
'panic: runtime error: index out of range [3] with length 3',
'',
'goroutine 1 [running]:',
'main.main()',
'	/src/main.go:12 +0x1d',
'exit status 2',
'step 12 done');

-- frames below an error are part of its text, but for those that come with a later reading
SELECT s.step, t.text
FROM (VALUES (6), (100)) AS s(step)
CROSS JOIN LATERAL texts(ARRAY['epoch 1 begins', 'java.io.IOException: no leader', '	at a.Net.open(Net.java:99)',
'	at a.Main.main(Main.java:5)', 'KeyError: 5', 'TypeError: no rows', '    at Model.backward (/app/model.js:24:27)',
'panic: index out of range', '', 'goroutine 1 [running]:', 'main.step(0x1)', '	/app/net.go:49 +0x1b0',
'*** Aborted at 1699999999 (unix time) ***', 'PC: @ 0x0 (unknown)', '*** SIGSEGV (@0x0) received by PID 5 ***',
'    @ 0x7f2b00001234 Trainer::Step()', 'epoch 2 begins'], s.step) AS t(text)
ORDER BY s.step, t.text COLLATE "C";

-- usage text ends with the error
SELECT * FROM records(
'usage: train_lm [-h] [--hidden-size HIDDEN_SIZE]',
'                [--num-layers NUM_LAYERS]',
'train_lm: error: unrecognized arguments: --use-flash-attn',
'next');

-- two ranks write tracebacks at the same time, told apart by the launcher's prefix
SELECT * FROM records(
'[rank0]: Traceback (most recent call last):',
'[rank1]: Traceback (most recent call last):',
'[rank0]:   File "a.py", line 1, in f',
'[rank1]:   File "b.py", line 7, in g',
'[rank1]:     x.wait()',
'[rank0]:     y.wait()',
'[rank1]: RuntimeError: one',
'[rank0]: RuntimeError: zero',
'[rank1]: after one');
-- a logger writes in between
SELECT * FROM records(
'Traceback (most recent call last):',
'2024-05-21 11:58:06,441 INFO trainer.loop: starting the next epoch',
'  File "a.py", line 1, in f',
'2024-05-21 11:58:06,442 ERROR trainer.loop: could not send heartbeat',
'    x.wait()',
'RuntimeError: one',
'2024-05-21 11:58:06,443 INFO trainer.loop: starting the next epoch');
-- no prefix tells the writers apart: the second exception still ends the traceback that waits
SELECT * FROM records(
'Traceback (most recent call last):',
'Traceback (most recent call last):',
'  File "a.py", line 1, in f',
'  File "a.py", line 1, in f',
'RuntimeError: one',
'RuntimeError: two',
'step 12 done');
-- each line of the traceback with a prefix of its own; one without end
SELECT * FROM records(
'[2024-05-21 11:58:06,441] [ERROR] [launch.py:1:main] Traceback (most recent call last):',
'[2024-05-21 11:58:06,441] [ERROR] [launch.py:1:main]   File "a.py", line 1, in f',
'[2024-05-21 11:58:06,441] [ERROR] [launch.py:1:main] RuntimeError: one',
'Traceback (most recent call last):',
'  File "a.py", line 1, in f');

-- text below a prefix belongs to it, settings stand for themselves
SELECT * FROM records(
'WARNING:torch.distributed.run:the launcher has found',
'    more than one interface, taking the first',
'INFO:torch.distributed.launcher.api:Starting elastic_operator with launch configs:',
'  entrypoint       : train.py',
'  max_restarts = 0',
'  log_level ....................................... DEBUG',
'  "hidden_size": 4096,',
'INFO:root:loading',
'  successfully loaded checkpoint from /ckpt/run [ t 1/8, p 1/4 ] at iteration 95000',
' iteration       10/    1000 | consumed samples:           40 | elapsed time per iteration (ms): 3171.3 |',
'/w/functional.py:504: UserWarning: torch.meshgrid needs an argument',
'  return _VF.meshgrid(tensors, **kwargs)',
'  a second one');
-- so it is where each line has a stamp
SELECT * FROM records(
'2024-05-21 11:58:06,441 WARNING /w/functional.py:504: UserWarning: torch.meshgrid needs an argument',
'2024-05-21 11:58:06,441   return _VF.meshgrid(tensors, **kwargs)',
'2024-05-21 11:58:06,441   a second one');

-- saving and loading the state between lines changes nothing
WITH s AS (
	SELECT array_agg(l ORDER BY i, o) AS lines
	FROM generate_series(1, 12) i, unnest(ARRAY[
		'[rank' || i % 3 || ']: Traceback (most recent call last):',
		'[rank' || i % 3 || ']:   File "a.py", line 1, in f',
		'INFO:root:step ' || i,
		'[rank' || i % 3 || ']: RuntimeError: failed ' || i,
		'[rank' || i % 3 || ']:   detail: ' || i,
		'    and more']) WITH ORDINALITY AS t(l, o))
SELECT step, count(*) AS lines, count(DISTINCT (x.r).record) AS records,
    (array_agg(format('%s instead of %s', x.r, x.w) ORDER BY x.line_no) FILTER (WHERE x.r IS DISTINCT FROM x.w))[1:3] AS differ
FROM s CROSS JOIN unnest(ARRAY[1, 7, 50]) AS step
CROSS JOIN LATERAL (
    SELECT line_no, r, w FROM read_lines(s.lines, step) AS r FULL JOIN read_lines(s.lines, 1000) AS w USING (line_no)) AS x
GROUP BY step ORDER BY step;

-- bounds: an unfinished traceback is settled after 1,000 lines, the lines after it are records of their own
SELECT count(*), count(DISTINCT record), min(message) FILTER (WHERE line_no = 1) AS message, count(*) FILTER (WHERE record = 1) AS in_traceback
FROM read_lines(ARRAY['Traceback (most recent call last):'] || array_fill('    x.wait()'::text, ARRAY[1500]), 10000);
-- hundreds of writers are told apart, ten thousand do no harm
SELECT n, count(*), count(DISTINCT record) FROM (
    SELECT n, array_agg(i % n || ': ' || CASE WHEN i < n THEN 'RuntimeError: x' ELSE '  text below' END ORDER BY i) AS lines
    FROM (VALUES (500), (10000)) AS v(n), generate_series(0, 2 * n - 1) AS i GROUP BY n) AS s, read_lines(s.lines, 1000000)
GROUP BY n ORDER BY n;
-- blank lines first
SELECT * FROM records('', NULL, 'x', '');

-- a box that rich draws around a traceback, and loguru's mark at the frame that caught
SELECT * FROM records(
'╭────────────── Traceback (most recent call last) ──────────────╮',
'│ /w/train.py:112 in main                                       │',
'│ ❱ 112 │   loss.backward()                                     │',
'╰───────────────────────────────────────────────────────────────╯',
'RuntimeError: boom',
'│ a table │',
'2024-05-21 11:58:06.441 | ERROR    | __main__:<module>:12 - An error has been caught in function main',
'Traceback (most recent call last):',
'',
'> File "/w/train.py", line 12, in <module>',
'    main()',
'    └ <function main at 0x7f0c>',
'',
'ZeroDivisionError: division by zero');
-- Ray: the exception of a worker, named by the class that stands for it
SELECT * FROM records(
'Traceback (most recent call last):',
'  File "/w/event_manager.py", line 110, in resolve_future',
'    result = ray.get(future)',
'ray.exceptions.RayTaskError(ValueError): ray::_Inner.train() (pid=1204, ip=10.0.3.7)',
'  File "/w/trainable.py", line 331, in train',
'    raise skipped from exception_cause(skipped)',
'ValueError: no shard 3',
'Error(s): none');
-- a collector that takes indentation off: a line of code stands right below its frame, and who writes between is another
SELECT * FROM records(
'{app="train", pod="worker-3"} Traceback (most recent call last):',
'{app="train", pod="worker-3"} File "/w/train.py", line 3, in main',
'{app="train", pod="worker-3"} step(batch)',
'{app="train", pod="worker-3"} ^^^^^^^^^^^',
'{app="train", pod="worker-3"} File "/w/train.py", line 9, in step',
'{app="train", pod="worker-3"} return a[b]',
'{app="train", pod="worker-3"} still here',
'{app="train", pod="worker-3"} KeyError: 3',
'{app="train", pod="worker-3"} saved nothing');
-- a collector's time in front of each line, without level: indentation and empty lines are those of the text
SELECT * FROM records(
'2024-05-21T11:58:06.441Z Traceback (most recent call last):',
'2024-05-21T11:58:06.441Z   File "a.py", line 1, in f',
'2024-05-21T11:58:06.441Z     g()',
'2024-05-21T11:58:06.441Z KeyError: ''lr''',
'2024-05-21T11:58:06.441Z ',
'2024-05-21T11:58:06.441Z The above exception was the direct cause of the following exception:',
'2024-05-21T11:58:06.441Z',
'2024-05-21T11:58:06.441Z Traceback (most recent call last):',
'2024-05-21T11:58:06.441Z   File "a.py", line 2, in h',
'2024-05-21T11:58:06.441Z     f()',
'2024-05-21T11:58:06.441Z torch.distributed.elastic.multiprocessing.errors.ChildFailedError:',
'2024-05-21T11:58:06.441Z ============================================================',
'2024-05-21T11:58:06.441Z train.py FAILED',
'2024-05-21T11:58:06.441Z ------------------------------------------------------------',
'2024-05-21T11:58:06.441Z Failures:',
'2024-05-21T11:58:06.441Z   <NO_OTHER_FAILURES>',
'2024-05-21T11:58:06.441Z ============================================================',
'2024-05-21T11:58:06.441Z step 12 done');
-- Google Cloud's log: the raw line, the severity is that of the stream
SELECT * FROM records(
'{"textPayload": "Traceback (most recent call last):", "severity": "ERROR", "insertId": "a1", "timestamp": "2024-05-21T11:58:06.441Z"}',
'{"textPayload": "  File \"a.py\", line 1, in f", "severity": "ERROR", "insertId": "a2", "timestamp": "2024-05-21T11:58:06.441Z"}',
'{"textPayload": "KeyError: lr", "severity": "ERROR", "insertId": "a3", "timestamp": "2024-05-21T11:58:06.441Z"}',
'{"textPayload": "", "severity": "ERROR", "insertId": "a4", "timestamp": "2024-05-21T11:58:06.441Z"}',
'{"textPayload": "2024-05-21 11:58:06,441 INFO trainer: step 12 done", "severity": "ERROR", "insertId": "a5", "timestamp": "2024-05-21T11:58:06.441Z"}');

-- a container runtime cuts long lines in parts (P, the last one F); of each output on its own, and the parts need no prefix of their own
SELECT * FROM records(
'2025-02-23T16:24:18.101123456Z stdout P 2025-02-23 16:24:18,100 - root - INFO - step: 12 loss: ',
'2025-02-23T16:24:18.101123457Z stderr F RuntimeError: somebody else',
'2025-02-23T16:24:18.101123458Z stdout P  8.1 ERROR: not the beginning ',
'2025-02-23T16:24:18.101123459Z stdout F of a line',
'2025-02-23T16:24:18.101123460Z stdout F a line',
'2025-02-23T16:24:18.101123461Z stderr P Runtime',
'2025-02-23T16:24:18.101123462Z stderr F Error: cut in the word',
'2025-02-23T16:24:18.101123463Z stderr P never ended',
'no prefix any more');
-- bars that are painted over are read one by one
SELECT * FROM records(
E'2025-02-23T16:24:18.101123456Z stderr P \r 10%|#         | 1/10 [00:01<00:09,  1.00s/it]',
E'2025-02-23T16:24:18.101123456Z stderr P \r 20%|##        | 2/10 [00:02<00:08,  1.00s/it]',
'2025-02-23T16:24:18.101123456Z stderr F ');
-- frames by number, of gdb and of sanitizers; not every such line is one
SELECT * FROM records(
'[ERROR] worker: Fatal error: Segmentation fault',
'#0  0x00007f2a in raise () from /lib/libc.so.6',
'#1  run (n=3) at train.c:12',
'#2  main at train.c:40',
'[INFO] loader: shards',
'#3 of 8 shards is read');
SET client_min_messages = warning;
DROP SCHEMA record CASCADE;
