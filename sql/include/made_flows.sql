CREATE FUNCTION nic(machine int, rail int) RETURNS inet
LANGUAGE sql IMMUTABLE RETURN ('10.9.' || machine || '.' || rail + 1)::inet;
CREATE FUNCTION at(seconds float8) RETURNS timestamptz
LANGUAGE sql STABLE RETURN '2026-03-01 10:00:00+00'::timestamptz + seconds * interval '1 second';
-- Flow records of made jobs, written into the table flows of the search path. A job has dp * stages machines from a
-- number on and two NICs in each. A step takes 300 ms if nothing else is said: four micro-batches forward and back between stages, then rings
-- of two channels within each stage. slow_step takes 150 ms longer. Bandwidth is 20 GB/s.
CREATE PROCEDURE made_job(machine int, start float8, steps int, dp int DEFAULT 3, stages int DEFAULT 2, slow_step int DEFAULT NULL,
    mb float8 DEFAULT 1, period float8 DEFAULT 0.3)
LANGUAGE sql SET jit = off AS $$
    INSERT INTO flows (ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end, exporter)
    SELECT nic(machine + f.a, r), nic(machine + f.b, r), f.port, 4791, 17, (f.bytes * mb / 4096)::bigint, (f.bytes * mb)::bigint,
        at(f.at), at(f.at + f.bytes * mb / 2e10), 'leaf-' || r
    FROM generate_series(0, 1) AS r
    CROSS JOIN LATERAL (
        SELECT p * dp + d AS a, (p + 1) * dp + d AS b, 50000 AS port, 25e6 AS bytes,
            t.at + CASE WHEN s > slow_step THEN 0.15 ELSE 0 END + 0.01 * p + 0.02 * m AS at
        FROM generate_series(0, steps - 1) AS s, generate_series(0, stages - 2) AS p, generate_series(0, dp - 1) AS d,
            generate_series(0, 3) AS m, LATERAL (SELECT start + period * s + 0.0003 * ((s * 7 + d * 3 + r * 5 + m) % 11) AS at) AS t
        UNION ALL
        SELECT (p + 1) * dp + d, p * dp + d, 50001, 25e6,
            t.at + CASE WHEN s > slow_step THEN 0.15 ELSE 0 END + 0.1 - 0.01 * p + 0.02 * m
        FROM generate_series(0, steps - 1) AS s, generate_series(0, stages - 2) AS p, generate_series(0, dp - 1) AS d,
            generate_series(0, 3) AS m, LATERAL (SELECT start + period * s + 0.0003 * ((s * 5 + d * 4 + r * 3 + m) % 11) AS at) AS t
        UNION ALL
        SELECT p * dp + d, p * dp + (d + 1) % dp, 50100 + c, 60e6,
            t.at + CASE WHEN s >= slow_step THEN 0.15 ELSE 0 END + 0.22 - 0.005 * p
        FROM generate_series(0, steps - 1) AS s, generate_series(0, stages - 1) AS p, generate_series(0, dp - 1) AS d,
            generate_series(0, 1) AS c, LATERAL (SELECT start + period * s + 0.0001 * ((s * 7 + p * 3 + r * 5) % 11) + 0.00001 * d AS at) AS t
    ) AS f;
$$;
-- what platforms know, of so many machines: two racks
CREATE PROCEDURE made_inventory(machines int)
LANGUAGE sql AS $$
    INSERT INTO l4.flow_endpoint (address, machine, nic, switch)
    SELECT nic(m, r), 'm' || m, r, 'leaf-' || r FROM generate_series(0, machines - 1) AS m, generate_series(0, 1) AS r;
$$;
-- a new start
CREATE PROCEDURE forget_flows()
LANGUAGE sql AS $$
    SELECT l4.forget_flows();
    DELETE FROM flows;
$$;
