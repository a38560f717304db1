-- What is no training, and what is hard to see: serving, evaluation, records without silences, links that flap.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_rules;
SET search_path = flow_rules;
SET timezone = 'UTC';
SELECT l4.create_flow_table('flows');
\i sql/include/made_flows.sql
CREATE VIEW jobs AS SELECT flow_job, nics, dp, pp, status, (SELECT count(*) FROM l4.flow_step AS s WHERE s.flow_job = j.flow_job) AS steps FROM l4.flow_job AS j;
CREATE VIEW issues AS
SELECT flow_job, kind, subject, to_char(first_ts, 'MI:SS') AS first, to_char(last_ts, 'MI:SS') AS last, reasons FROM l4.flow_issue WHERE kind <> 'slow_step';
-- slower by a factor
CREATE PROCEDURE slow(factor float8, condition text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE flows SET timestamp_end = timestamp_start + $1 * (timestamp_end - timestamp_start) WHERE ' || condition USING factor;
END;
$$;

CREATE FUNCTION random_at(i int) RETURNS float8 LANGUAGE sql RETURN (1 + ('x' || left(md5(i::text), 6))::bit(24)::int) / 16777217.0;

-- serving beside training: blocks of one size between two NICs, at random times
CALL made_inventory(20);
CALL made_job(0, 1, 30);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(10 + i % 2, 0), nic(12, i % 2), 61000, 6000, 24e6, at(s.t), at(s.t + 0.002), 'leaf-0'
FROM (SELECT i, sum(-0.08 * ln(random_at(i))) OVER (PARTITION BY i % 2 ORDER BY i) AS t
      FROM generate_series(1, 300) AS i) AS s;
CALL l4.trace_flows('flows');
TABLE jobs;
TABLE issues;

-- tokens of a model on three machines, handed on from one to the next every 50 ms
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic(d + 1, 0), 62000, 6000, 24e6, at(i * 0.05 + d * 0.005), at(i * 0.05 + d * 0.005 + 0.004), 'leaf-0'
FROM generate_series(1, 400) AS i, generate_series(0, 1) AS d;
CALL l4.trace_flows('flows');
TABLE jobs;

-- a ring that reduces one way round, then gathers the other way
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + way) % 3, 0), 50100, 6000, CASE way WHEN 1 THEN 24e6 ELSE 12e6 END, at(i * 0.7 + way * 0.02), at(i * 0.7 + way * 0.02 + 0.015), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 2) AS d, generate_series(1, 2) AS way;
CALL l4.trace_flows('flows');
TABLE jobs;
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1;

-- an exporter is silent for four seconds that begin and end inside a step: it is as long as ever, and no evaluation
CALL forget_flows();
CALL made_job(0, 1, 30);
DELETE FROM flows WHERE exporter = 'leaf-1' AND timestamp_start BETWEEN at(2.35) AND at(6.52);
CALL l4.trace_flows('flows');
TABLE jobs;
SELECT reason, count(*), min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0 GROUP BY 1;

-- a sharded job whose longest silence lies inside the step loses records of one of its two rings: steps end where the other says
CALL forget_flows();
CALL made_job(10, 1, 100);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, r), nic((d + 1) % 4, r), 50100 + r, 6000, 24e6, at(s.t), at(s.t + 0.02), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 3) AS d, generate_series(0, 1) AS r, unnest('{0, 0.1, 0.2, 0.55, 0.65, 0.75}'::float8[]) AS o,
LATERAL (SELECT 4 + i + o AS t) AS s
WHERE NOT (r = 0 AND i % 8 = 0 AND o = 0.55 AND d = 1);
CALL l4.trace_flows('flows');
SELECT flow_job, count(*) AS steps, min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0 GROUP BY 1 ORDER BY 1;
SELECT flow_job, kind, subject FROM l4.flow_issue ORDER BY 1, 2, 3;

-- a pipeline of one replica, which reduces nothing
CALL forget_flows();
CALL made_job(0, 1, 30, dp => 1, stages => 3);
CALL l4.trace_flows('flows');
TABLE jobs;
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1;

-- packets get lost: every seventh step is sent in three pieces, with longer silences between them than between steps
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 3, 0), 50100, 6000, 24e6 / n, at(s.t + k * 0.4), at(s.t + k * 0.4 + 0.02), 'leaf-0'
FROM (SELECT n, sum(0.3 + 0.4 * (n - 1)) OVER (ORDER BY i) - 0.4 * (n - 1) AS t
      FROM generate_series(1, 30) AS i, LATERAL (SELECT CASE WHEN i % 7 = 0 THEN 3 ELSE 1 END AS n) AS x) AS s
CROSS JOIN generate_series(0, 2) AS d CROSS JOIN LATERAL generate_series(0, n - 1) AS k;
CALL l4.trace_flows('flows');
SELECT count(*) AS steps, min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0;

-- a ring whose pairs carry what is sent to experts, too, in sizes that vary
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 4, 0), 50100, 6000, 24e6, at(i * 0.7), at(i * 0.7 + 0.015), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 3) AS d
UNION ALL
SELECT nic((d + way) % 4, 0), nic((d + 1 - way) % 4, 0), 55000, 500, 5e5 + 2e6 * random_at(i * 100 + d * 20 + way * 10 + k),
       at(i * 0.7 + 0.2 + k * 0.1 + way * 0.03), at(i * 0.7 + 0.202 + k * 0.1 + way * 0.03), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 3) AS d, generate_series(0, 1) AS way, generate_series(0, 3) AS k;
CALL l4.trace_flows('flows');
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1;

-- an evaluation behind step 9: it sends forward only, and the step has it, not the next one
CALL forget_flows();
CALL made_job(0, 1, 10);
CALL made_job(0, 4.09, 10);
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '2.99 s', timestamp_end + interval '2.99 s', exporter
FROM flows WHERE port_src = 50000 AND timestamp_start < at(1.2);
CALL l4.trace_flows('flows');
SELECT step, round(duration_ms) AS duration_ms FROM l4.flow_step WHERE step BETWEEN 8 AND 11 ORDER BY step;
SELECT kind, subject FROM l4.flow_issue;

-- an evaluation of a pipeline with few records, a message in two pieces, which is none, and steps of which most lost
-- those of the pipeline: no end is moved too far
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(r.a, 0), nic(1 - r.a, 0), 50000 + r.a, 6000, 24e6, at(i * 0.7 + r.at), at(i * 0.7 + r.at + 0.005), 'leaf-0'
FROM generate_series(1, 30) AS i CROSS JOIN (VALUES (0, 0.1), (1, 0.2), (0, -0.05), (0, -0.03), (0, -0.01), (0, 0.12)) AS r(a, at)
WHERE r.at IN (0.1, 0.2) OR i = 16 AND r.at < 0.1 OR i = 20 AND r.at = 0.12;
CALL made_job(4, 1, 40);
DELETE FROM flows WHERE port_src <= 50001 AND ip_src >= nic(4, 0) AND timestamp_start > at(7) AND mod(extract(epoch FROM timestamp_start - at(1)), 1.2) > 0.29;
CALL l4.trace_flows('flows');
SELECT flow_job, reason, count(*), min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0 GROUP BY 1, 2 ORDER BY 1, 2;

-- Phases with seconds between them, as of a model that generates what it learns from: the steps are found, and no slow
-- ones. Of eight steps with a pipeline; in layers that are alike. Of six to eight, sent at once, before pauses that
-- differ: these may be stalls, and are slow steps.
CALL forget_flows();
DO $$
BEGIN
    FOR k IN 0..5 LOOP
        CALL made_job(0, 1 + k * 8, 8);
        CALL made_job(6, 1.1 + k * 8 + k % 3 * 1.5, 8 - k % 3, stages => 1, dp => 4);
    END LOOP;
END
$$;
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(10 + d, 0), nic(10 + (d + 1) % 4, 0), 50100, 6000, 24e6, at(s.t), at(s.t + 0.02), 'leaf-0'
FROM generate_series(0, 5) AS k, generate_series(0, 7) AS i, generate_series(0, 3) AS d, unnest('{0, 0.1, 0.2, 0.3, 0.4, 0.55, 0.6, 0.7, 0.75}'::float8[]) AS o,
LATERAL (SELECT 1.2 + k * 24 + i + o AS t) AS s;
-- one also sends the trained weights before each pause, which takes longer
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '60 ms', timestamp_end + interval '60 ms', exporter
FROM flows WHERE port_src > 50001 AND ip_src < nic(6, 0) AND timestamp_start < at(41)
    AND mod(extract(epoch FROM timestamp_start - at(1)), 8) BETWEEN 2.15 AND 3;
CALL l4.trace_flows('flows');
SELECT flow_job, count(*) AS steps, percentile_disc(0.5) WITHIN GROUP (ORDER BY round(duration_ms)) AS usual
FROM l4.flow_step GROUP BY 1 ORDER BY 1;
SELECT flow_job, kind, subject, round(score::numeric, 2) AS score, reasons FROM l4.flow_issue ORDER BY 1, subject::int;

-- an evaluation every eighth step is one issue, the stall between two of them another; so is what takes as long at any
-- distance, as by the clock; what is slow twice is no rule. The picture marks the steps, not what lies between.
CALL forget_flows();
CALL made_job(0, 1, 60, dp => 4, stages => 1);
CALL made_job(6, 1, 40, dp => 4, stages => 1);
CALL made_job(12, 1, 40, dp => 4, stages => 1);
UPDATE flows SET timestamp_start = timestamp_start + w.wait, timestamp_end = timestamp_end + w.wait
FROM (SELECT f.ctid AS row, (CASE WHEN f.ip_src < nic(6, 0) THEN n / 8 * 0.14 + (n >= 29)::int * 0.3
             WHEN f.ip_src < nic(12, 0) THEN (n >= 7)::int * 0.4 + (n >= 19)::int * 0.2
             ELSE (n >= 7)::int * 0.2 + (n >= 17)::int * 0.2 + (n >= 24)::int * 0.2 END) * interval '1 s' AS wait
      FROM flows AS f CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM f.timestamp_start - at(1)) / 0.3)::int AS n) AS x) AS w
WHERE flows.ctid = w.row;
CALL l4.trace_flows('flows');
SELECT flow_job, kind, subject, to_char(first_ts, 'MI:SS') AS first, to_char(last_ts, 'MI:SS') AS last, reasons, evidence FROM l4.flow_issue ORDER BY 1, subject::int;
SELECT flow_job, count(*) FROM jobs CROSS JOIN LATERAL regexp_matches(l4._svg_flow_steps((flow_job, at(0), at(30), 1160, NULL)::l4._plot), '"slow"', 'g') GROUP BY 1 ORDER BY 1;

-- two jobs of one shape on the same machines, begun fourteen steps apart; one whose rails begin and end together, but are
-- stamped by clocks that differ by much of a step
CALL forget_flows();
CALL made_job(0, 1, 40);
CALL made_job(6, 8, 40);
UPDATE flows SET timestamp_start = timestamp_start + w.late, timestamp_end = timestamp_end + w.late
FROM (VALUES (0, interval '4.2 s'), (6, interval '0.12 s')) AS w(machine, late)
WHERE exporter = 'leaf-1' AND ip_src >= nic(machine, 0) AND ip_src < nic(machine + 6, 0);
CALL l4.trace_flows('flows');
TABLE jobs;

-- shards over two machines, whose replicas are reduced layer by layer: nothing of it is context parallel; what is sent
-- beside a ring all through the step is
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(3 * r + d, 0), nic(3 * r + mod(d + 1, 3), 0), 50100, 6000, 24e6, at(s.t), at(s.t + 0.008), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 2) AS r, generate_series(0, 2) AS d, generate_series(0, 17) AS m, LATERAL (SELECT i + m * 0.05 AS t) AS s
UNION ALL
SELECT nic(3 * r + d, 0), nic(mod(3 * r + 3, 9) + d, 0), 50200, 3000, 12e6, at(s.t), at(s.t + 0.008), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 2) AS r, generate_series(0, 2) AS d, generate_series(0, 5) AS m, LATERAL (SELECT i + 0.36 + m * 0.1 AS t) AS s
UNION ALL
SELECT nic(10 + d, 0), nic(10 + mod(d + 1, 4), 0), 50100, 12000, 48e6, at(i * 1.1 + 0.8), at(i * 1.1 + 0.82), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 3) AS d
UNION ALL
SELECT nic(10 + 2 * r + d, 0), nic(11 + 2 * r - d, 0), 50200, 6000, 24e6, at(s.t), at(s.t + 0.004), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 1) AS r, generate_series(0, 1) AS d, generate_series(0, 9) AS m, LATERAL (SELECT i * 1.1 + m * 0.078 AS t) AS s;
CALL l4.trace_flows('flows');
SELECT flow_job, kind, count(*) FROM l4.flow_pair GROUP BY 1, 2 ORDER BY 1, 2;

-- a ring whose pairs carry what is sent to experts behind it, at times that vary less: steps end with the ring
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 3, 0), 50100, 6000, 24e6, at(i * 0.7), at(i * 0.7 + 0.015 + i % 3 * 0.001), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 2) AS d
UNION ALL
SELECT nic(d, 0), nic((d + 1) % 3, 0), 55000, 500, 5e5 + 2e6 * random_at(i * 10 + d), at(i * 0.7 + 0.1), at(i * 0.7 + 0.102), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 2) AS d;
CALL l4.trace_flows('flows');
SELECT mod(extract(epoch FROM ended - at(0)), 0.7) AS last, count(*) FROM l4.flow_step GROUP BY 1 ORDER BY 1;

-- four ranks behind each NIC; those of one replica's first stage are slow; then one packet in sixteen is sampled
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(2 * p + d, 0), nic(2 - 2 * p + d, 0), 50000 + 10 * p + r, 6000, 24e6, at(s.t), at(s.t + 0.002), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 1) AS d, generate_series(0, 1) AS p, generate_series(0, 5) AS m, generate_series(0, 3) AS r,
LATERAL (SELECT i + (m + 1) * CASE WHEN d = 1 AND i BETWEEN 10 AND 20 THEN 0.03 ELSE 0.02 END + p * 0.01 + r * 0.00002 AS t) AS s
UNION ALL
SELECT nic(2 * p + d, 0), nic(2 * p + 1 - d, 0), 50100 + r, 12000, 48e6, at(i + 0.25), at(i + 0.27), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 1) AS d, generate_series(0, 1) AS p, generate_series(0, 3) AS r;
CALL l4.trace_flows('flows');
TABLE issues;
SELECT l4.forget_flows();
UPDATE flows SET packets = packets / 16, bytes = bytes / 16, sampling_rate = 16;
CALL l4.trace_flows('flows');
TABLE issues;

-- the clock of one rail is set before half of the steps: it is of the same job. A rank stops while it sends to its ring,
-- and the other stage comes to the end of the step.
CALL forget_flows();
CALL made_job(0, 1, 60);
CALL made_job(6, 1, 30);
UPDATE flows SET timestamp_start = timestamp_start + interval '40 ms', timestamp_end = timestamp_end + interval '40 ms'
WHERE exporter = 'leaf-1' AND ip_src < nic(6, 0) AND timestamp_start > at(8);
DELETE FROM flows WHERE port_src = 50101 AND ip_src >= nic(9, 0) AND timestamp_start > at(9.85);
CALL l4.trace_flows('flows');
TABLE jobs;
TABLE issues;

-- a rank's sends to one stage are stamped by a clock that is late: it is not faster than the other rank, which is not slow
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(2 * f.a + d, 0), nic(2 * f.b + d, 0), 50000 + f.a, 6000, 24e6, at(t.at), at(t.at + 0.004), 'leaf-' || f.b
FROM generate_series(1, 30) AS i, generate_series(0, 1) AS d, generate_series(0, 5) AS k,
    (VALUES (0, 1, -0.008), (1, 2, 0), (2, 1, 0.003), (1, 0, 0.01)) AS f(a, b, at),
    LATERAL (SELECT i * 0.5 + k * 0.02 + f.at + CASE WHEN f.b + d = 0 THEN 0.006 ELSE 0 END AS at) AS t
UNION ALL
SELECT nic(2 * p + d, 0), nic(2 * p + 1 - d, 0), 50100, 6000, 48e6, at(i * 0.5 + 0.2), at(i * 0.5 + 0.22), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 1) AS d, generate_series(0, 2) AS p;
CALL l4.trace_flows('flows');
TABLE jobs;
TABLE issues;

-- steps of any length, as of sequences: none is slow, but the one that is five times as long
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 3, 0), 50100, 6000, 24e6, at(s.t), at(s.t + 0.015), 'leaf-0'
FROM (SELECT sum(CASE i WHEN 70 THEN 2.5 ELSE 0.5 * exp(0.25 * sqrt(-2 * ln(random_at(i))) * cos(2 * pi() * random_at(-i))) END) OVER (ORDER BY i) AS t
      FROM generate_series(1, 120) AS i) AS s
CROSS JOIN generate_series(0, 2) AS d;
CALL l4.trace_flows('flows');
SELECT count(*) AS steps, percentile_disc(0.5) WITHIN GROUP (ORDER BY round(duration_ms)) AS usual, max(round(duration_ms)) FROM l4.flow_step WHERE step > 0;
SELECT kind, subject, round(score::numeric, 2) AS score FROM l4.flow_issue;

-- a sharded job gathers three times, then reduces, in each micro-batch: of one, then two, then three a step
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 4, 0), 50100, 6000, CASE l WHEN 3 THEN 72e6 ELSE 24e6 END, at(s.t + 0.28 * m + 0.07 * l), at(s.t + 0.28 * m + 0.07 * l + 0.05), 'leaf-0'
FROM (SELECT (i - 1) / 14 AS more, sum(0.5 + 0.28 * ((i - 1) / 14)) OVER (ORDER BY i) - 0.28 * ((i - 1) / 14) AS t FROM generate_series(1, 40) AS i) AS s
CROSS JOIN generate_series(0, 3) AS d CROSS JOIN generate_series(0, 3) AS l CROSS JOIN LATERAL generate_series(0, more) AS m;
CALL l4.trace_flows('flows');
SELECT round(duration_ms) AS ms, count(*) FROM l4.flow_step WHERE step > 0 GROUP BY 1 ORDER BY 1;

-- micro-batches of 200 to 260 ms, two a step of which the first is 60 ms later, and once no silence between two
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 4, 0), 50100, 6000, 24e6, at(s.t), at(CASE i WHEN 41 THEN s.next ELSE s.t + 0.05 END), 'leaf-0'
FROM (SELECT i, x.t, lead(x.t, 1, x.t + 0.05) OVER (ORDER BY i) AS next
      FROM (SELECT i, sum(0.2 + 0.06 * random_at(i) + CASE i % 2 WHEN 1 THEN 0.06 ELSE 0 END) OVER (ORDER BY i) AS t FROM generate_series(1, 80) AS i) AS x) AS s
CROSS JOIN generate_series(0, 3) AS d;
CALL l4.trace_flows('flows');
SELECT count(*) AS steps, min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0;

-- twice as many micro-batches from step 25 on are no evaluations
CALL forget_flows();
CALL made_job(0, 1, 40);
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '8 ms', timestamp_end + interval '8 ms', exporter
FROM flows WHERE port_src <= 50001 AND timestamp_start > at(8.49);
CALL l4.trace_flows('flows');
SELECT reason, count(*), min(round(duration_ms)), max(round(duration_ms)) FROM l4.flow_step WHERE step > 0 GROUP BY 1;

-- a sharded job whose longest silence lies inside the step, with a longer one before the last message than behind it:
-- steps end with the last message
CALL forget_flows();
CALL made_job(10, 0, 30);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 4, 0), 50100, 6000, 24e6, at(s.t), at(s.t + 0.005), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 3) AS d, generate_series(0, 59) AS m,
LATERAL (SELECT i * 1.9 + m * 0.02 + CASE WHEN m >= 20 THEN 0.4 ELSE 0 END + CASE WHEN m = 59 THEN 0.2 ELSE 0 END AS t) AS s;
CALL l4.trace_flows('flows');
SELECT mod(extract(epoch FROM ended - at(0)), 1.9) AS last, count(*) FROM l4.flow_step WHERE flow_job LIKE '%.0.1' GROUP BY 1;

-- records that fill the time hide the steps: a job, but no steps, and no kind of what was sent both ways
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic(e, 0), 50100, 6000, 24e6 + 8e6 * (i % 3), at(s.t - s.l), at(s.t - 0.05), 'leaf-0'
FROM (SELECT i, l, sum(l) OVER (ORDER BY i) AS t
      FROM generate_series(1, 60) AS i, LATERAL (SELECT 0.3 - 1.5 * ln(random_at(i)) AS l) AS r) AS s
CROSS JOIN (VALUES (0, 1), (1, 0), (1, 2), (2, 3), (3, 0)) AS p(d, e);
CALL l4.trace_flows('flows');
TABLE jobs;
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1 ORDER BY 1;

-- steps of almost five minutes, of which a long span sees too few
CALL forget_flows();
CALL made_job(0, 1, 16, period => 290);
CALL l4.trace_flows('flows');
TABLE jobs;
SELECT round(duration_ms) AS ms, count(*) FROM l4.flow_step WHERE reason IS NULL GROUP BY 1;

-- a model on two machines beside it: an all-reduce a token, of as many requests as there are
CALL forget_flows();
CALL made_job(0, 1, 30);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(10 + way, r), nic(11 - way, r), 62000, 40, 80000 * (1 << (4 * random_at(k + 900))::int), at(s.t + i * 0.025 + 0.001 * random_at(k * 40 + i)),
    at(s.t + i * 0.025 + 0.0012), 'leaf-0'
FROM (SELECT k, sum(0.4 - ln(random_at(k))) OVER (ORDER BY k) AS t FROM generate_series(1, 16) AS k) AS s,
    generate_series(1, 12) AS i, generate_series(0, 1) AS r, generate_series(0, 1) AS way;
CALL l4.trace_flows('flows');
TABLE jobs;

-- copies of a job's state, sent now and then over its links beside its messages, are slow by nature
CALL forget_flows();
CALL made_job(0, 1, 60);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 3) % 6, 0), 7100, 20000, 96e6, at(s.t), at(s.t + 0.03), 'leaf-0'
FROM generate_series(0, 2) AS k, generate_series(0, 44) AS i, generate_series(0, 5) AS d, LATERAL (SELECT 2 + 6 * k + 0.05 * i AS t) AS s;
CALL l4.trace_flows('flows');
TABLE jobs;
TABLE issues;

-- an evaluation before every fourth step sends forward only; one of a job without a pipeline before every sixth is
-- shorter than a forward pass before six buckets: steps are not taken together. The last evaluation is no stop.
CALL forget_flows();
CALL made_job(0, 1, 60);
CALL made_job(6, 1, 80, dp => 4, stages => 1);
UPDATE flows SET timestamp_start = timestamp_start + w.wait, timestamp_end = timestamp_end + w.wait
FROM (SELECT f.ctid AS row, CASE WHEN f.ip_src < nic(6, 0) THEN n / 4 * 0.12 ELSE n / 6 * 0.36 END * interval '1 s' AS wait
      FROM flows AS f CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM f.timestamp_start - at(1)) / 0.3)::int AS n) AS x) AS w
WHERE flows.ctid = w.row;
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start - interval '0.12 s', timestamp_end - interval '0.12 s', exporter
FROM flows WHERE port_src = 50000 AND mod(extract(epoch FROM timestamp_start - at(0.88)), 1.32) < 0.18;
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '1.32 s', timestamp_end + interval '1.32 s', exporter
FROM flows WHERE port_src = 50000 AND timestamp_start BETWEEN at(19.35) AND at(19.47);
CALL l4.trace_flows('flows');
TABLE jobs;
TABLE issues;

-- a ring whose parts are unlike is a job of unknown steps; what is copied in turn around three others is none
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 3, 0), 50100, 6000, 24e6 * (1 + i % 2), at(s.t), at(s.t + 0.02), 'leaf-0'
FROM (SELECT i, sum(0.1 - 0.3 * ln(random_at(i))) OVER (ORDER BY i) AS t FROM generate_series(1, 90) AS i) AS s CROSS JOIN generate_series(0, 2) AS d
UNION ALL
SELECT nic(4 + d, 0), nic(4 + (d + 1) % 3, 0), 7000, 6000, 24e6 * (1 + i % 2), at(s.t), at(s.t + 0.02), 'leaf-0'
FROM generate_series(0, 2) AS d CROSS JOIN LATERAL (SELECT i, sum(0.1 - 0.3 * ln(random_at(1000 * d + i))) OVER (ORDER BY i) AS t FROM generate_series(100, 190) AS i) AS s;
CALL l4.trace_flows('flows');
SELECT j.*, f.period_ms FROM jobs AS j JOIN l4.flow_job AS f USING (flow_job);
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1;
SELECT l4.flow_report(flow_job) FROM jobs;

-- unlike parts again and again: a wide span that takes them together goes on with the last of the runs before it
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(d, 0), nic((d + 1) % 3, 0), 50100, 6000, 24e6 * (1 + i % 2), at(s.t + 290 * k), at(s.t + 290 * k + 0.02), 'leaf-0'
FROM (SELECT i, sum(0.1 - 0.3 * ln(random_at(4000 + i))) OVER (ORDER BY i) AS t FROM generate_series(1, 60) AS i) AS s
CROSS JOIN generate_series(0, 2) AS d CROSS JOIN generate_series(0, 4) AS k;
CALL l4.trace_flows('flows');
TABLE issues;

-- micro-batches of one replica, with pauses between steps that are shorter than a forward pass before buckets
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(way, 0), nic(1 - way, 0), 50000 + way, 6000, 24e6, at(s.t), at(s.t + 0.004), 'leaf-0'
FROM generate_series(1, 30) AS i, generate_series(0, 7) AS m, generate_series(0, 1) AS way, LATERAL (SELECT i * 0.95 + m * 0.1 + way * 0.05 AS t) AS s;
CALL l4.trace_flows('flows');
TABLE jobs;

-- objects that a balancer's address hands to both rails of a job, without an inventory
CALL forget_flows();
CREATE TEMP TABLE known AS TABLE l4.flow_endpoint;
DELETE FROM l4.flow_endpoint;
CALL made_job(0, 1, 60);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT '10.90.0.1', nic(m, r), 443, 16000, 64e6, at(s.t), at(s.t + 0.01), 'leaf-0'
FROM generate_series(0, 5) AS m, generate_series(0, 1) AS r, generate_series(1, 17) AS i, LATERAL (SELECT i + 0.13 * m + 0.07 * r AS t) AS s;
CALL l4.trace_flows('flows');
TABLE jobs;
INSERT INTO l4.flow_endpoint TABLE known;

-- a switch that is slow for 0.6 of every 1.5 s; a NIC that is
CALL forget_flows();
CALL made_job(0, 1, 60);
CALL slow(3, $$exporter = 'leaf-1' AND timestamp_start BETWEEN at(5) AND at(14) AND mod(extract(epoch FROM timestamp_start - at(0)), 1.5) < 0.6$$);
CALL l4.trace_flows('flows');
TABLE issues;
CALL forget_flows();
CALL made_job(0, 1, 60);
CALL slow(3, $$timestamp_start BETWEEN at(5) AND at(14) AND mod(extract(epoch FROM timestamp_start - at(0)), 1.5) < 0.6
    AND (nic(1, 0) IN (ip_src, ip_dst) OR port_src > 50001 AND ip_src IN (nic(0, 0), nic(2, 0)))$$);
CALL l4.trace_flows('flows');
TABLE issues;
-- one link of a ring, where the time-out cuts the waiting out of the records of the others
CALL forget_flows();
CALL made_job(0, 1, 60);
CALL slow(4, $$ip_src = nic(1, 0) AND ip_dst = nic(2, 0) AND timestamp_start BETWEEN at(5) AND at(14)$$);
CALL l4.trace_flows('flows');
TABLE issues;
-- all that a slow ring has in common: its NICs, each of which may be the cause
CALL forget_flows();
CALL made_job(0, 1, 60, dp => 4, stages => 1);
CALL slow(4, $$exporter = 'leaf-0' AND timestamp_start BETWEEN at(5) AND at(14)$$);
CALL l4.trace_flows('flows');
TABLE issues;
-- a slow switch, where it is not known behind which one a NIC is
CALL forget_flows();
UPDATE l4.flow_endpoint SET switch = NULL;
CALL made_job(0, 1, 60);
CALL slow(3, $$exporter = 'leaf-0' AND timestamp_start BETWEEN at(5) AND at(14)$$);
CALL l4.trace_flows('flows');
TABLE issues;
-- a slow switch that exports nothing: the rings behind it are not seen, those behind its neighbour are as fast as ever
CALL forget_flows();
UPDATE l4.flow_endpoint SET switch = 'rack-' || (right(machine, -1)::int / 3);
CALL made_job(0, 1, 60);
DELETE FROM flows WHERE port_src > 50001 AND ip_src >= nic(3, 0);
UPDATE flows SET exporter = 'core';
CALL slow(3, $$port_src < 50100 AND timestamp_start BETWEEN at(5) AND at(14)$$);
CALL l4.trace_flows('flows');
TABLE issues;
-- a job that goes on with five replicas for three, whose rings send 4 / 5 of what is reduced for 2 / 3
CALL forget_flows();
CALL made_job(0, 1, 20);
CALL made_job(0, 16, 20, dp => 5);
UPDATE flows SET bytes = 1.2 * bytes WHERE port_src > 50001 AND timestamp_start > at(15);
CALL l4.trace_flows('flows');
SELECT runs, nics, dp, pp FROM l4.flow_job;
SELECT kind, count(*) FROM l4.flow_issue GROUP BY 1;
-- another job on the same machines: three replicas of two stages for six of one
CALL forget_flows();
CALL made_job(0, 1, 20, dp => 6, stages => 1);
CALL made_job(0, 16, 20);
UPDATE flows SET bytes = 0.8 * bytes WHERE port_src > 50001 AND timestamp_start > at(15);
CALL l4.trace_flows('flows');
SELECT runs, nics, dp, pp FROM l4.flow_job ORDER BY dp;
-- weights are pushed to machines that hand them on, every third step: these are no members, and a step is none of three
CALL forget_flows();
CALL made_job(0, 1, 60, dp => 4, stages => 1);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(m, r), nic(CASE m WHEN 0 THEN 6 ELSE m + 1 END, r), 50900, 50000, 200e6, at(s.t), at(s.t + 0.01), 'leaf-' || r
FROM generate_series(0, 19) AS i, generate_series(0, 1) AS r, unnest('{0,6,7,8,9,10}'::int[]) AS m, LATERAL (SELECT 1.24 + i * 0.9 + m * 0.001 AS t) AS s;
CALL l4.trace_flows('flows');
TABLE jobs;
-- a rail that is so slow for twenty steps that the other one is done by two thirds of a usual step before it, for which all wait
CALL forget_flows();
CALL made_job(0, 1, 60, dp => 4, stages => 1);
UPDATE flows SET timestamp_start = timestamp_start + w.wait,
    timestamp_end = timestamp_end + w.wait + CASE WHEN exporter = 'leaf-1' AND w.n BETWEEN 20 AND 39 THEN interval '0.2 s' ELSE '0' END
FROM (SELECT f.ctid AS row, x.n, least(greatest(x.n - 20, 0), 20) * interval '0.2 s' AS wait
      FROM flows AS f CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM f.timestamp_start - at(1)) / 0.3)::int AS n) AS x) AS w
WHERE flows.ctid = w.row;
CALL l4.trace_flows('flows');
TABLE jobs;
-- two jobs of one shape on two rails of the same machines, begun half a step apart: their steps vary, but not together
CALL forget_flows();
CALL made_job(10, 0, 70, dp => 4, stages => 1);
CALL made_job(0, 1, 60);
UPDATE flows SET timestamp_start = timestamp_start + w.wait, timestamp_end = timestamp_end + w.wait
FROM (SELECT f.ctid AS row, (0.15 * y.r + (SELECT sum(k * (7 - 2 * y.r) % 11 - 5) FROM generate_series(0, x.n) AS k) * 0.002) * interval '1 s' AS wait
      FROM flows AS f CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM f.timestamp_start - at(1)) / 0.3)::int AS n) AS x
          CROSS JOIN LATERAL (SELECT right(f.exporter, 1)::int AS r) AS y
      WHERE f.ip_src < nic(10, 0)) AS w
WHERE flows.ctid = w.row;
CALL l4.trace_flows('flows');
TABLE jobs;
-- a sharded job that is silent for longest between gathering forward and gathering backward, four times as long as at the end
CALL forget_flows();
CALL made_job(10, 1, 60, dp => 4, stages => 1);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT nic(m, 0), nic((m + 1) % 4, 0), 50100, 4000, CASE WHEN k >= 8 AND k % 2 = 1 THEN 32e6 ELSE 16e6 END, at(s.t), at(s.t + 0.02), 'leaf-0'
FROM generate_series(0, 9) AS i, generate_series(0, 3) AS m, generate_series(0, 23) AS k, LATERAL (
    SELECT 5 + i * 1.555 + CASE WHEN k < 8 THEN 0.05 * k ELSE 0.105 + 0.06 * k END AS t) AS s;
CALL l4.trace_flows('flows');
SELECT step, to_char(ended, 'SS.MS') AS ended FROM l4.flow_step WHERE flow_job IN (SELECT flow_job FROM l4.flow_job WHERE nics = 4) ORDER BY step;
CALL forget_flows();
DROP SCHEMA flow_rules CASCADE;
DELETE FROM l4.flow_endpoint;
DELETE FROM l4._flow_exporter;
