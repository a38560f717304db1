-- Twelve jobs of four nodes, 460,800 lines; every fourth job fails on its node 3. Half of the streams have no source, and
-- each has a gap in its numbers. Needs a schema citus_test with a table logs.
INSERT INTO citus_test.logs (job_id, node, source, rank, line_no, ts, line)
SELECT 'citus-' || j, 'node' || n, CASE WHEN n % 2 = 0 THEN 'out' END, n, i * 4 + p + CASE WHEN i > 300 THEN 100 ELSE 0 END,
    '2026-01-01'::timestamptz + make_interval(hours => j, secs => i * 2 + p / 2.0),
    CASE p WHEN 0 THEN format('iteration %s/2400 | loss: %s | elapsed time per iteration (ms): %s', i, 9.5 - i / 1000.0, 2000 + i % 7)
        WHEN 1 THEN format('rank %s: reduced %s buckets of group %s in %s ms', n, i % 5 + 1, j % 3, i % 11)
        WHEN 2 THEN format('loader worker %s of %s read shard-%s.bin at offset %s', i % 4, 4, i % 97, i * 4096)
        WHEN 3 THEN CASE WHEN j % 4 = 0 AND n = 3 AND i = 2399
            THEN 'RuntimeError: CUDA error: uncorrectable ECC error encountered'
            ELSE format('gpu %s: %s C, %s W', n, 60 + i % 9, 400 + i % 13) END END
FROM generate_series(1, 12) AS j, generate_series(1, 4) AS n, generate_series(1, 2400) AS i, generate_series(0, 3) AS p;
