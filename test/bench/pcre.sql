-- Many signatures against many lines, and algorithm drain: ratios to what the server does with the same warm table in
-- the same session, processor time, best of three.
--   psql -v rows=3000000 -f test/bench/pcre.sql        (l4 installed in the database; makes and drops temporary tables
-- only)
\set ON_ERROR_STOP on
\if :{?rows} \else \set rows 300000 \endif
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
-- lines of about 170 bytes as trainers, launchers, object stores and kernels write them; one in 5,000 shows a fault
CREATE TEMP TABLE line AS
SELECT rpad(CASE WHEN n % 5000 = 0 THEN (SELECT example FROM l4.fault
    WHERE fault_id = f.ids[1 + n / 5000 % cardinality(f.ids)])
    ELSE CASE n % 8
        WHEN 0 THEN '2026-01-07 10:11:12,345 [INFO] [trainer.py:311] rank ' || n % 64 || ' step ' || n / 64 ||
            ' loss 2.' || n % 977 || ' lr 3.0e-04 grad_norm 0.' || n % 811
        WHEN 1 THEN '[node' || n % 128 || ':' || n % 32768 || '] NCCL INFO Channel ' || n % 32 || '/0 : ' || n % 64 ||
            '[' || n % 8 || '] -> ' || n % 61 || ' via P2P/CUMEM'
        WHEN 2 THEN 'W0107 10:11:12.345000 ' || n % 32768 || ' torch/distributed/elastic/agent/server/api.py:' ||
            n % 900 || '] worker group heartbeat took ' || n % 5000 || ' ms'
        WHEN 3 THEN 'DEBUG:dataloader:prefetched shard s3://corpus/part-' || n % 9999 || '.tar in ' || n % 700 ||
            ' ms, queue depth ' || n % 17
        WHEN 4 THEN 'ERROR:objectstore:PUT /ckpt/run-7/step_' || n / 64 || '/rank' || n % 64 ||
            '.bin answered 503, retry ' || n % 5 || ' of 8 after ' || n % 30 || ' s'
        WHEN 5 THEN 'kernel: [' || n || '.000123] mlx5_core 0000:3b:00.0 eth0: link up, speed 400G, lanes ' || n % 8
        WHEN 6 THEN '{"ts": ' || n || ', "level": "debug", "msg": "allreduce bucket ' || n % 40 || ' done", "bytes": '
            || n % 26214400 || ', "elapsed_us": ' || n % 9000 || '}'
        ELSE 'INFO:checkpoint:saved step ' || n / 64 || ' to /mnt/fs' || n % 9 || '/run/epoch_0/iter_' || n || ' (' ||
            n % 77 || '.' || n % 10 || ' GB)' END END,
    170, ' host=h' || n % 128 || '.cluster pod=train-7f9c-' || n % 128 || ' container=main') AS l
FROM (SELECT array_agg(fault_id ORDER BY fault_id) AS ids FROM l4.fault
        WHERE origin = 'builtin' AND example <> '') AS f,
    generate_series(1, :rows) AS n;
-- libraries, the first two with all shipped signatures. user: and 450 such as somebody adds for his own software, in
-- any order;
-- near: and the same with other vowels, near-duplicates of general words, the shipped ones first. numbered: a service
-- and a code each, no shipped ones
CREATE TEMP TABLE signature AS
SELECT kind, row_number() OVER (PARTITION BY kind ORDER BY o, fault_id, md5(p))::int AS id, p::l4.pcre AS p
FROM (SELECT 'near' AS kind, 0 AS o, fault_id, signature::text AS p FROM l4.fault WHERE origin = 'builtin'
    AND signature IS NOT NULL
    UNION ALL SELECT 'near', 1, fault_id, translate(signature::text, 'aeou', 'oaue') FROM l4.fault
        WHERE origin = 'builtin' AND signature IS NOT NULL
    UNION ALL SELECT 'numbered', 0, n, format('service_%s failed: code \d+|ERR-%s\b', n, 1000 + n)
        FROM generate_series(1, 1000) AS n
    UNION ALL SELECT 'user', 0, 0, signature::text FROM l4.fault WHERE origin = 'builtin' AND signature IS NOT NULL
    UNION ALL SELECT 'user', 0, 0, format((ARRAY['%s: %s %s failed with code (?<code>\d+)',
        '(?i)%s %s: %s timed out after \d+ ?(?:s|ms)', '\b%sError: %s %s',
            '%s\[\d+\]: %s.* %s', '(?:%s|%s) %s: (?:corrupt|invalid|missing)', 'E%s%s: .*%s'])[1 + n % 6],
        (ARRAY['scheduler', 'shard', 'tokenizer', 'collator', 'vault', 'mesh', 'quota', 'plugin', 'pipeline', 'router',
            'sampler', 'spool', 'cgroup', 'journal',
            'broker', 'lease', 'gradbuf', 'kvcache', 'prefetch', 'replica', 'snapshot', 'tensorpool'])[1 + n % 22],
        (ARRAY['eviction', 'renewal', 'handshake', 'checksum', 'allocation', 'rotation', 'election', 'lookup',
            'negotiation', 'barrier', 'compaction', 'drain',
            'quorum', 'upload', 'decode', 'attach', 'migration', 'sharding', 'warmup'])[1 + n % 19],
        (ARRAY['refused', 'aborted by peer', 'out of slots', 'stale epoch', 'unknown revision', 'not writable',
            'no such bucket', 'expired', 'mismatch', 'overflow',
            'lost leader', 'unreachable', 'rejected', 'duplicate rank', 'truncated', 'poisoned', 'deadlock']
            )[1 + n % 17]) FROM generate_series(1, 450) AS n) AS s
WHERE l4.pcre_error(p) IS NULL;
-- lines of which none is like another but for its digits, as those with a name that is made up for each
CREATE TEMP TABLE fresh AS SELECT left(l, 138) || translate(md5(l), '0123456789', 'ghijklmnop') AS l
    FROM line LIMIT :rows / 3;
CREATE TEMP TABLE result (no int, what text, ms float8, found bigint);
-- processor time of this backend in ms where the system tells it, so that other work on the machine counts less; else
-- the time of day
CREATE FUNCTION pg_temp.clock_ms() RETURNS float8 LANGUAGE sql VOLATILE AS $$
    SELECT coalesce((SELECT 10 * (f[12]::float8 + f[13]::float8)
        FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 1000, true), '^.*\) ', ''), ' ') AS f),
        extract(epoch FROM clock_timestamp()) * 1000) $$;
CREATE PROCEDURE pg_temp.measure(no int, what text, query text, kind text, signatures int) LANGUAGE plpgsql AS $$
DECLARE
    started float8;
    found bigint;
    best float8 := 'Infinity';
    ids int[];
    patterns l4.pcre[];
BEGIN
    SELECT array_agg(id ORDER BY id), array_agg(p ORDER BY id) INTO ids, patterns FROM signature AS s
        WHERE s.kind = measure.kind AND s.id <= signatures;
    FOR i IN 1..3 LOOP
        started := pg_temp.clock_ms();
        EXECUTE query INTO found USING ids, patterns;
        best := least(best, pg_temp.clock_ms() - started);
    END LOOP;
    INSERT INTO result VALUES (no, what, best, found);
END $$;
\set hash 'SELECT sum(hashtext(l)) FROM line'
\set posix 'SELECT count(*) FROM line WHERE l ~ ''ECC|ecc error'''
\set pcre 'SELECT count(*) FROM line WHERE l OPERATOR(l4.=~) ''ECC|ecc error'''
\set first 'SELECT count(l4.pcre_first(l, $1, $2)) FROM line'
\set all 'SELECT count(*) FROM line WHERE cardinality(l4.pcre_all(l, $1, $2)) > 0'
\set scan 'SELECT count(DISTINCT l) FROM line, l4.pcre_scan(l, $1, $2)'
\set first_fresh 'SELECT count(l4.pcre_first(l, $1, $2)) FROM fresh'
CALL pg_temp.measure(0, 'sum(hashtext(line))', :'hash', '', 0);
CALL pg_temp.measure(1, 'line ~ ''ECC|ecc error''', :'posix', '', 0);
CALL pg_temp.measure(2, 'line =~ ''ECC|ecc error''', :'pcre', '', 0);
CALL pg_temp.measure(3, 'pcre_first, 100 signatures', :'first', 'user', 100);
CALL pg_temp.measure(4, 'pcre_first, 400 signatures', :'first', 'user', 400);
CALL pg_temp.measure(5, 'pcre_first, 1,000 signatures', :'first', 'user', 1000);
CALL pg_temp.measure(6, 'pcre_all, 100 signatures', :'all', 'user', 100);
CALL pg_temp.measure(7, 'pcre_all, 400 signatures', :'all', 'user', 400);
CALL pg_temp.measure(8, 'pcre_all, 1,000 signatures', :'all', 'user', 1000);
CALL pg_temp.measure(9, 'pcre_scan, 400 signatures', :'scan', 'user', 400);
CALL pg_temp.measure(10, 'pcre_scan, 1,000 signatures', :'scan', 'user', 1000);
CALL pg_temp.measure(11, 'pcre_first, 100 near-duplicates', :'first', 'near', 100);
CALL pg_temp.measure(12, 'pcre_first, 400 near-duplicates', :'first', 'near', 400);
CALL pg_temp.measure(13, 'pcre_first, 1,000 near-duplicates', :'first', 'near', 1000);
CALL pg_temp.measure(14, 'pcre_first, 100 numbered', :'first', 'numbered', 100);
CALL pg_temp.measure(15, 'pcre_first, 1,000 numbered', :'first', 'numbered', 1000);
CALL pg_temp.measure(16, 'pcre_first, 100 signatures, a third of the lines, each new', :'first_fresh', 'user', 100);
CALL pg_temp.measure(17, 'pcre_first, 400 signatures, these lines', :'first_fresh', 'user', 400);
CALL pg_temp.measure(18, 'pcre_first, 1,000 signatures, these lines', :'first_fresh', 'user', 1000);
CALL pg_temp.measure(20, 'parser_train, drain, no masks',
    $$SELECT length(l4.parser_train(l, '{"algorithm": "drain", "masks": []}')::text) FROM line$$, '', 0);
CALL pg_temp.measure(21, 'parser_train, drain, masks IP, HEX, NUM',
    $$SELECT length(l4.parser_train(l, '{"algorithm": "drain", "masks": [
    {"name": "IP", "pattern": "((?<=[^A-Za-z0-9])|^)(\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3})((?=[^A-Za-z0-9])|$)"},
    {"name": "HEX", "pattern": "((?<=[^A-Za-z0-9])|^)(0x[a-f0-9A-F]+)((?=[^A-Za-z0-9])|$)"},
    {"name": "NUM", "pattern": "((?<=[^A-Za-z0-9])|^)([\\-\\+]?\\d+)((?=[^A-Za-z0-9])|$)"}]}')::text)
        FROM line$$, '', 0);
SELECT what, round(ms) AS ms, round((ms / first_value(ms) OVER (ORDER BY no))::numeric, 2) AS to_hashtext,
    round((ms / (SELECT r.ms FROM result AS r WHERE r.no = 1))::numeric, 2) AS to_posix_regex, found
FROM result ORDER BY no;
