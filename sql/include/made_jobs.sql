-- Jobs made for evidence and thresholds: procedures that write lines into the table logs of the search path.
-- A job of six nodes that trains 40 iterations; as a baseline it gets through, else it stands at an iteration.
CREATE PROCEDURE job(job_id text, upto int DEFAULT 40)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
    SELECT job.job_id, 'n' || n, '', n, row_number() OVER (PARTITION BY n ORDER BY l.at),
        '2026-05-01 10:00:00+00'::timestamptz + (l.at + n * 0.001) * interval '1 s', l.line
    FROM generate_series(0, 5) AS n
    CROSS JOIN LATERAL (
        SELECT 0 AS at, 'INFO:dist:initializing process group for rank ' || n AS line
        UNION ALL SELECT 1, 'INFO:data:building datasets, 64 shards'
        UNION ALL SELECT 2, 'INFO:train:training starts'
        UNION ALL SELECT 2.6 + i, format('DEBUG:train:forward step took %s ms', 300 + 7 * i % 5)
        FROM generate_series(1, upto) AS i
        UNION ALL SELECT 3 + i, format('INFO:train:iteration %s/40 | elapsed time per iteration (ms): 1000.0', i)
        FROM generate_series(1, upto) AS i
        UNION ALL SELECT 44, 'INFO:train:training finished after 40 iterations' WHERE upto = 40
        UNION ALL SELECT 45, 'INFO:train:shutting down' WHERE upto = 40) AS l;
$$;
CREATE PROCEDURE say(job_id text, nodes int[], at float8, line text)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, source, rank, line_no, ts, line)
    SELECT say.job_id, 'n' || n, '', n,
        (SELECT coalesce(max(x.line_no), 0) + 1 FROM logs AS x WHERE x.job_id = say.job_id AND x.node = 'n' || n),
        '2026-05-01 10:00:00+00'::timestamptz + (say.at + n * 0.01) * interval '1 s', say.line
    FROM unnest(say.nodes) AS n;
$$;
