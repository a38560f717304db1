-- Frames of tracebacks and stacks: whose code an exception came from.
\pset null '-'
CREATE FUNCTION pg_temp.frames(record text) RETURNS TABLE (frame text) LANGUAGE sql AS $$
    SELECT format('%s.%s %s | %s | %s:%s | %s', f.stack, f.place, coalesce(f.owner, '-'), coalesce(f.package, '-'),
        coalesce(f.file, '-'), coalesce(f.line::text, '-'), coalesce(f.function, '-'))
    FROM l4.stack_frames(record) AS f
$$;

-- Python: installed, the user's, the language's, a source tree of a framework, below a launcher's prefix.
SELECT * FROM pg_temp.frames($$[default3]:Traceback (most recent call last):
[default3]:  File "/opt/venv/bin/torchrun", line 8, in <module>
[default3]:    sys.exit(main())
[default3]:  File "/code/llm/train.py", line 88, in <module>
[default3]:    main()
[default3]:  File "/opt/Megatron-LM/megatron/training.py", line 120, in train_step
[default3]:  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1518, in _call_impl
[default3]:  File "/usr/lib/python3/dist-packages/numpy/core/numeric.py", line 3, in full
[default3]:  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
[default3]:  File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed
[default3]:  File "C:\Python311\Lib\runpy.py", line 7, in run
[default3]:  File "C:\work\train.py", line 9, in run
[default3]:json.decoder.JSONDecodeError: Expecting value$$);

-- Chained: the first exception is where it came from; one nested in a message came before it.
SELECT * FROM pg_temp.frames($$Traceback (most recent call last):
  File "data.py", line 5, in load
KeyError: 'tokens'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 9, in main
RuntimeError: cannot load

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/conda/lib/python3.10/site-packages/ray/train/trainer.py", line 1, in fit
ray.exceptions.RayTaskError$$);
SELECT * FROM pg_temp.frames($$Traceback (most recent call last):
  File "train.py", line 9, in main
  File "/v/lib/python3.10/site-packages/torch/utils/data/dataloader.py", line 3, in __next__
RuntimeError: Caught IndexError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/v/lib/python3.10/site-packages/torch/utils/data/_utils/worker.py", line 308, in _worker_loop
  File "my_dataset.py", line 14, in __getitem__
IndexError: list index out of range$$);
-- torchrun's box, rich's box, faulthandler, a syntax error, code that was typed in
SELECT * FROM pg_temp.frames($$============================================================
train.py FAILED
Root Cause (first observed failure):
[0]:
  rank      : 3 (local_rank: 3)
  error_file: /tmp/torchelastic/error.json
  traceback : Traceback (most recent call last):
    File "/v/lib/python3.10/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 346, in wrapper
    File "train.py", line 40, in main
  ValueError: no such split
============================================================$$);
SELECT * FROM pg_temp.frames($$+------ Traceback (most recent call last) ------+
| /code/train.py:12 in <module>                 |
| /v/lib/python3.10/site-packages/jax/_src/api.py:5 in grad |
+-----------------------------------------------+$$);
SELECT * FROM pg_temp.frames($$Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007f02 (most recent call first):
  File "/v/lib/python3.11/site-packages/torch/autograd/__init__.py", line 200 in backward
  File "train.py", line 7 in step$$);
SELECT * FROM pg_temp.frames($$  File "conf.py", line 3
    x = = 1
SyntaxError: invalid syntax
  File "<string>", line 1, in <module>$$);

-- C++: torch, glog, backtrace_symbols, a debugger, a sanitizer
SELECT * FROM pg_temp.frames($$RuntimeError: CUDA error: an illegal memory access was encountered
Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:44 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f2 in /v/lib/python3.10/site-packages/torch/lib/libc10.so)
frame #1: void at::native::fill<float>(at::Tensor&, (anonymous namespace)::Op) + 0x12 (0x7f3 in libtorch_cpu.so)
frame #2: <unknown function> + 0x29d90 (0x7f4 in /lib/x86_64-linux-gnu/libc.so.6)$$);
SELECT * FROM pg_temp.frames($$*** Aborted at 1700000000 (unix time) try "date -d @1700000000" ***
*** Check failure stack trace: ***
    @     0x7f8b10 google::LogMessage::Fail()
    @     0x7f8b11 std::terminate()
    @     0x7f8b12 my::Trainer::Step(int)
    @     0x7f8b13 (unknown)$$);
SELECT * FROM pg_temp.frames($$[node3:4711] *** Process received signal ***
[node3:4711] [ 0] /lib/x86_64-linux-gnu/libc.so.6(abort+0x12b)[0x7f01]
[node3:4711] [ 1] /usr/lib/libnccl.so.2(_ZN4nccl4initEv+0x5) [0x7f02]
[node3:4711] [ 2] ./train(+0x1234) [0x7f03]$$);
SELECT * FROM pg_temp.frames($$#0  0x00007f in raise () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f in Trainer::step (this=0x1, n=3) at src/trainer.cc:12
#0 0x7f in foo(int) /code/src/foo.cc:12:5
#1 0x7f (/usr/lib/libfoo.so+0x12)$$);

-- Java: the last cause is where it came from.
SELECT * FROM pg_temp.frames($$Exception in thread "main" org.apache.spark.SparkException: Job aborted
	at org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2454)
	at com.example.Train$.main(Train.scala:12)
	Suppressed: java.io.IOException: close
		at java.base/java.io.FileOutputStream.close(FileOutputStream.java:9)
Caused by: java.lang.IllegalStateException: task failed
	at org.tensorflow.Session.run(Session.java:5) ~[tensorflow.jar:?]
	... 12 more
Caused by: java.lang.OutOfMemoryError
	at java.base/java.util.Arrays.copyOf(Native Method)
	at com.example.Loader.read(Unknown Source)$$);

-- Go behind a prefix.
SELECT * FROM pg_temp.frames($$May 01 box trainer[12]: panic: index out of range [6] with length 6
May 01 box trainer[12]: goroutine 1 [running]:
May 01 box trainer[12]: main.(*net).gradient(0x18, {0x1, 0x2}, 0x3)
May 01 box trainer[12]: 	/app/net.go:49 +0x1b0
May 01 box trainer[12]: runtime.main()
May 01 box trainer[12]: 	/usr/local/go/src/runtime/proc.go:267 +0x1$$);

-- What looks like frames and is none, and damage.
SELECT t, f.frame FROM (VALUES
    (''), (E'\n\n'), ('File "x", line'), ('File "x", line y'), ('looked at foo.bar(x) and found nothing'),
    ('see issue #3 in repo at x'), ('#'), ('# 3 in f'), ('frame #'), ('frame #1'), ('frame #x: y'), ('user@0x12 came'),
    ('@'), ('@ 0x'), ('[0x'), (')[0x'), ('()[0x'), ('Caused by: '), ('at '), ('at a.b('), ('at a.b'), ('at .'),
    ('/train.py:12 in main'), ('x.go:'), ('/x.go:1'), ('Traceback (most recent call last)')) AS v(t)
CROSS JOIN LATERAL pg_temp.frames(t) AS f;
SELECT * FROM pg_temp.frames('File "", line 99999999999999999999, in ');
SELECT * FROM pg_temp.frames(E'#0 <<<<(((((\n#1 0x1 in >>>)))\nframe #0: \n @ 0x1 ::\n @ 0x1 _ZN99999999999999x\n @ 0x1 _ZN\nFile "/", line 1, in x\nFile "site-packages", line 1\nFile "a/site-packages/", line 1\nFile "a/site-packages/x", line 1');
-- a record of any size is read in one pass
SELECT count(*), max(f.place) FROM l4.stack_frames(repeat(E'  File "a.py", line 1, in f\n', 20000)) AS f;
SELECT count(*) FROM l4._stack_frames(repeat('File "', 300000) || repeat('(', 300000) || ' #0 ' || repeat('<', 300000));
SELECT count(*) FROM l4._stack_frames(E'#0 0x1 in ' || repeat('f + ', 200000) || E'\nat ' || repeat('a.', 200000));
