-- Flow records of a made platform, for test/bench/flows_size.sh: jobs of 64 NICs (8 machines of 8 NICs, two pipeline
-- stages of four replicas on each rail), a step a second, 832 records a step: 8 micro-batches each way over a pipeline
-- pair, 5 buckets over a link of a ring. The same numbers give the same rows.
CREATE FUNCTION flow_nic(job int, machine int, rail int) RETURNS inet
LANGUAGE sql IMMUTABLE RETURN '10.0.0.0'::inet + (job * 64 + machine * 8 + rail + 1);

CREATE FUNCTION make_flows(jobs int, from_step int, to_step int) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    made bigint;
BEGIN
    WITH link AS MATERIALIZED (
        SELECT j AS job, flow_nic(j, p.a, r) AS a, flow_nic(j, p.b, r) AS b, r, p.dp, p.s
        FROM generate_series(0, jobs - 1) AS j, generate_series(0, 7) AS r,
            (SELECT s * 4 + d AS a, s * 4 + (d + 1) % 4 AS b, true AS dp, s
             FROM generate_series(0, 1) AS s, generate_series(0, 3) AS d
             UNION ALL SELECT d, 4 + d, false, 0 FROM generate_series(0, 3) AS d) AS p
    ), record AS (
        -- milliseconds since the step began
        SELECT l.*, m AS n, false AS back, 20 + m * 60 AS at, 8 AS takes, 4200000 AS bytes
        FROM link AS l, generate_series(0, 7) AS m WHERE NOT l.dp
        UNION ALL
        SELECT l.*, m, true, 50 + m * 60, 8, 4200000 FROM link AS l, generate_series(0, 7) AS m WHERE NOT l.dp
        UNION ALL
        SELECT l.*, k, false, 620 + k * 40, 35, 48000000 + k * 1000000 FROM link AS l, generate_series(0, 4) AS k WHERE l.dp
    )
    INSERT INTO flows (ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end,
        exporter, sampling_rate)
    SELECT CASE WHEN back THEN b ELSE a END, CASE WHEN back THEN a ELSE b END, 40000 + r, 4791, 17, bytes / 4096, bytes,
        t.start, t.start + (takes * 1000 + t.noise / 7 % 700) * interval '1 us', 'leaf-' || job % 16, 1
    FROM generate_series(from_step, to_step - 1) AS step
    CROSS JOIN record AS x
    CROSS JOIN LATERAL (SELECT abs(hashint8(step * 1000003::bigint + x.n * 7919 + x.job * 31 + x.r * 17 + x.at)) AS noise) AS h
    CROSS JOIN LATERAL (SELECT h.noise, '2026-01-01 00:01:00+00'::timestamptz
        + (step * 1000000::bigint + at * 1000 + x.job * 13331 % 977000 + h.noise % 900) * interval '1 us' AS start) AS t;
    GET DIAGNOSTICS made = ROW_COUNT;
    RETURN made;
END
$$;
