-- Built-in masks, kind by kind, and masks that users write.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SELECT x AS line, l4.mask(x) FROM unnest(ARRAY[
	'took 12.5ms, 3 s and 1e-05 of 100% at -7 (+8) 0x7ffe 2.3450E+00',
	'2024-05-01 12:00:05,123 and 2024/5/1 and 2024-05-01T12:00:05.123Z at 09:21:58.929',
	'at=26.11.2026-23:30:53 and 11/26/2026 07:08 or 26-11-2026, not 1.10.2024',
	'Mon Jan  2 10:11:12 CET 2024 then Thu Jan 4 2024',
	'from 10.0.0.7:29500 to /10.0.0.8:80,10.0.0.9:80 (fe80::1 and ::1) 2607:f140:6000:8:c6b3:1ff:fecd:467f',
	'5c:50:15:4c:18:13 at 0000:3b:00.0 or 00000000:3B:00',
	'node-12.cluster.local:29500 gpu-node-012 localhost:8080 worker_3 blk_-123 r12-n4 R02-M1-N0-C:J12-U11',
	'https://x.org/a?b=c&d, tcp://[::1]:29500 and mail a.b@c.org done.',
	'550e8400-e29b-41d4-a716-446655440000 deadbeefcafe 1a2b3c com.example.Foo@1a2b3c v1.2.3',
	'"GET /v2/servers/detail HTTP/1.1" status: 200',
	'open /usr/lib/python3.10/site.py, ./rel/path ~/x ../y and C:\Windows\x.dll',
	'reuse=True value=null name=com.example.Foo user root',
	'eth0 ssh2 fp16 L2 MLPerf4x A100 mlx5_0 80GB 16 GiB <1 sec 1.0beta',
	'class torch.nn.Linear in module.layer.weight calls std::vector::at',
	'   blanks	and tabs   ',
	'']) x;
SELECT l4.mask(NULL) IS NULL AS is_null;
-- masks of users: none, before the built-in ones, after them, instead of them
SELECT l4.mask('job a-17 at 10.0.0.1', '{"masks": []}');
SELECT l4.mask('job a-17 at 10.0.0.1', '{"masks": [{"name": "JOB", "pattern": "a-\\d+"}]}');
SELECT l4.mask('job a-17 at 10.0.0.1', '{"masks": [{"name": "JOB", "pattern": "a-\\d+"}, "builtin"]}');
SELECT l4.mask('job a-17 at 10.0.0.1 on abc', '{"masks": ["builtin", {"name": "JOB", "pattern": "a-\\d+"}, {"name": "W", "pattern": "abc"}]}');
SELECT l4.mask('x' || chr(1) || 'y <*> 7');
-- user masks are kinds of parameters
SELECT a.* FROM (SELECT l4.parser_train(x, '{"masks": [{"name": "JOB", "pattern": "job-\\d+"}, "builtin"]}') AS p FROM unnest(ARRAY['start job-1 on 4 nodes', 'start job-2 on 8 nodes']) x) s, l4.parser_parameters(p, 'start job-9 on 16 nodes') a;
SELECT t.* FROM (SELECT l4.parser_train(x, '{"masks": [{"name": "JOB", "pattern": "job-\\d+"}, "builtin"]}') AS p FROM unnest(ARRAY['start job-1 on 4 nodes', 'start job-2 on 8 nodes']) x) s, l4.parser_templates(p) t;
-- a built-in mask ends where a user's begins; what users mask is bounded as well
SELECT a.mask, a.value FROM (SELECT l4.parser_train(x, '{"masks": [{"name": "Q", "pattern": "1-02|:04"}, "builtin"]}') AS p FROM unnest(ARRAY['on 2024-01-02 12:03:04 x']) x) s, l4.parser_parameters(p, 'on 2024-01-02 12:03:04 x') a;
SELECT length(template), right(template, 9) AS ends FROM l4.parser_templates((SELECT l4.parser_train(repeat('x', 10000), '{"masks": [{"name": "X", "pattern": "x"}, "builtin"]}'))) t;
-- more delimiters
SELECT t.template FROM l4.parser_templates((SELECT l4.parser_train('unit_7x_b is up'))) t;
SELECT t.template FROM l4.parser_templates((SELECT l4.parser_train('unit_7x_b is up', '{"delimiters": "_~"}'))) t;
-- a list of one separator is one variable; a line longer than any template keeps its start
SELECT t.template FROM l4.parser_templates((SELECT l4.parser_train(x) FROM unnest(ARRAY['ids 1, 2, 3, 4, 5, 6, 7, 8 end', 'ids 1, 2, 3, 4, 5, 6, 7, 8, 9 end']) x)) t;
SELECT length(template), left(template, 20) AS starts, right(template, 8) AS ends FROM l4.parser_templates((SELECT l4.parser_train('head: ' || repeat('word ', 2000)))) t;

-- progress bars, numbers in groups of thousands, dates of web servers, slashes alone, a bus address before a colon
SELECT l, l4.mask(l) FROM unnest(ARRAY['Epoch 3:  45%|####5     | 450/1000 [01:30<01:50,  5.00it/s]', 'Epoch 4: 100%|██████████| 9/9 [00:09<00:00,  1.00s/it]', '  0%|          | 0/9 [00:00<?, ?it/s]', 'cpu 45%|user| 3', 'disk 45%|##',
	'saved 2,147,483,648 bytes, 1,532 files and 12 more', 'list 1,2,3 and 100,200,30 and 1000,200 and 1,234,56', 'paid 1,234.50 and 1,234ms', '[21/Nov/2026:11:01:02 +0000] "GET /a HTTP/1.1" 200', '1/Feb/2026:11:01:02 x', '12/Foo/2026:11:01:02',
	'via env:// or // or /', 'in /data/ or /data/. or /a//', 'mlx5_core 0000:3b:00.0: failed', 'EXT4-fs and R02-M1-N0 are up']) l;
-- a date and a time that one sign joins
SELECT l4.mask('a=2026-03-01:10:00:05 and run-2026-03-01/10:00:05');
