-- Flow records of a made platform, for test/bench/flows_size.sh: jobs of 64 NICs (8 machines of 8 NICs, two pipeline
-- stages of four replicas on each rail), 832 records a step: 8 micro-batches each way over a pipeline
-- pair, 5 buckets over a link of a ring. Steps take :period seconds. Rows come as they end. The same numbers give the
-- same rows.
CREATE FUNCTION flow_nic(job int, machine int, rail int) RETURNS inet
LANGUAGE sql IMMUTABLE RETURN '10.0.0.0'::inet + (job * 64 + machine * 8 + rail + 1);

CREATE FUNCTION make_flows(jobs int, from_step int, to_step int, period int) RETURNS bigint
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
        + ((step * 1000000::bigint + at * 1000) * period + x.job * 13331 % 977000 + h.noise % 900) * interval '1 us'
        AS start) AS t
    ORDER BY 9;
    GET DIAGNOSTICS made = ROW_COUNT;
    RETURN made;
END
$$;

-- What flows_size.sh prints. Seconds are processor time of this backend, memory what it has of its own at most.
CREATE EXTENSION l4 CASCADE;
CREATE FUNCTION spent() RETURNS float8 LANGUAGE sql VOLATILE
RETURN (SELECT (f[14]::float8 + f[15]::float8) / 100
        FROM regexp_split_to_array(pg_read_file('/proc/self/stat', 0, 2000), ' ') AS f);
CREATE FUNCTION memory_mb(field text) RETURNS int LANGUAGE sql VOLATILE
RETURN (SELECT (regexp_match(pg_read_file('/proc/self/status', 0, 9000), field || ':\s+(\d+)'))[1]::int / 1024);
CREATE UNLOGGED TABLE flows (ip_src inet, ip_dst inet, port_src int, port_dst int, ip_proto smallint, packets bigint,
    bytes bigint, timestamp_start timestamptz, timestamp_end timestamptz, exporter text, sampling_rate int);
CREATE INDEX ON flows USING brin (timestamp_end);
INSERT INTO l4.flow_endpoint
SELECT flow_nic(j, m, r), format('j%sm%s', j, m), r, 'leaf-' || j % 16
FROM generate_series(0, :jobs - 1) AS j, generate_series(0, 7) AS m, generate_series(0, 7) AS r;

-- Seconds of a scan of steps, and of the call that reads them.
CREATE PROCEDURE take_steps(jobs int, from_step int, to_step int, period int, INOUT made bigint, INOUT scan float8, INOUT trace float8)
LANGUAGE plpgsql AS $$
DECLARE
    t float8;
BEGIN
    made := make_flows(jobs, from_step, to_step, period);
    COMMIT;
    -- as autovacuum does
    PERFORM brin_summarize_new_values('flows_timestamp_end_idx');
    ANALYZE flows;
    COMMIT;
    t := spent();
    PERFORM count(ip_src), count(sampling_rate) FROM flows AS f
    WHERE f.timestamp_end >= '2026-01-01 00:01:00+00'::timestamptz + from_step * period * interval '1 second';
    scan := spent() - t;
    t := spent();
    CALL l4.trace_flows('flows');
    trace := spent() - t;
END
$$;

CREATE PROCEDURE measure(millions int, jobs int, period int)
LANGUAGE plpgsql AS $$
DECLARE
    steps constant int := 1000000 * millions::bigint / (832 * jobs);
    before constant int := memory_mb('RssAnon');
    upto int := steps;
    made bigint;
    scan float8;
    trace float8;
BEGIN
    CALL take_steps(jobs, 0, steps, period, made, scan, trace);
    RAISE NOTICE '% NICs, % rows: % s, without reading % s: % rows a second; % bytes a row, % with all of the table',
        64 * jobs, made, round(trace::numeric, 1), round((trace - scan)::numeric, 1), round(made / (trace - scan)),
        (SELECT round(sum(length(c.body))::numeric / sum(c.records), 2) FROM l4._flow_chunk AS c),
        round(pg_total_relation_size('l4._flow_chunk')::numeric / made, 2);
    -- and minutes, one after the other: ten, so that a span ends among them
    FOR i IN 1 .. 10 LOOP
        CALL take_steps(jobs, upto, upto + 60 / period, period, made, scan, trace);
        RAISE NOTICE 'a minute of % rows: % s, without reading % s', made, round(trace::numeric, 2), round((trace - scan)::numeric, 2);
        upto := upto + 60 / period;
    END LOOP;
    RAISE NOTICE '% MB more memory; % of % jobs found, % of % steps, % issues',
        memory_mb('VmHWM') - memory_mb('RssShmem') - memory_mb('RssFile') - before, (SELECT count(*) FROM l4.flow_job), jobs,
        (SELECT count(*) FROM l4.flow_step), upto::bigint * jobs, (SELECT count(*) FROM l4.flow_issue);
END
$$;
CALL measure(:rows, :jobs, :period);
