-- Every kind of bad input that flows have: it is counted, or said, and nothing stops. Where each is provoked:
--   clocks of exporters differ: of one flow in flow_read, of groups here
--   sampling: flow (SAMPLED); lost records, and a gap of one exporter: flow (PARTIAL), and here that it is no stop
--   duplicates, several switches: flow_read; long time-outs: flow (COARSE), flow_rules (no steps)
--   active time-out: flow_read; counters that wrap, no duration, rates that cannot be: here; bytes 0, end before start: flow_read
--   translated addresses: flow; addresses that are used again: flow (another job on the same machines)
--   rows in any order: flow; of the future, with NULLs: flow_read; jobs on the same machines: here
--   IPv4 and IPv6 of one NIC, addresses of scanners: here
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_bad;
SET search_path = flow_bad;
SET timezone = 'UTC';
SELECT l4.create_flow_table('flows');
\i sql/include/made_flows.sql
CREATE VIEW found AS
SELECT j.flow_job, j.nics, j.machines, j.dp, j.pp, j.status, count(s.step) AS steps, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY s.duration_ms)) AS ms,
    (SELECT count(*) FROM l4.flow_issue AS i WHERE i.flow_job = j.flow_job) AS issues
FROM l4.flow_job AS j LEFT JOIN l4.flow_step AS s ON s.flow_job = j.flow_job AND s.step > 0
GROUP BY j.flow_job;
CREATE VIEW progress AS SELECT rows_read, duplicate, control, late, impossible, future, unknown, no_end FROM l4.flow_progress;
CALL made_inventory(20);

-- clocks of two leaves are 12 ms apart: each rail is a cluster of its own, behind its leaf
CALL made_job(0, 1, 20);
UPDATE flows SET timestamp_start = timestamp_start + interval '12 ms', timestamp_end = timestamp_end + interval '12 ms' WHERE exporter = 'leaf-1';
CALL l4.trace_flows('flows');
TABLE found;

-- a leaf exports nothing for five steps, others do: no stop
CALL forget_flows();
CALL made_job(0, 1, 40);
DELETE FROM flows WHERE exporter = 'leaf-1' AND timestamp_start BETWEEN at(4) AND at(5.5);
CALL l4.trace_flows('flows');
TABLE found;

-- counters that wrapped, negative ones, rates that cannot be, no duration
CALL forget_flows();
CALL made_job(0, 1, 20);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, sampling_rate) VALUES
    (nic(0, 0), nic(1, 0), 50100, 3, 4294967000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 50100, -9, 400000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 50100, 4294967290, 400000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 50100, 0, 400000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, at(2), at(2.1), 0),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, at(2), at(2.1), -4),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, at(2), at(2.1), NULL),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, at(2), at(2.1), 2147483647),
    (nic(0, 0), nic(1, 0), -1, 100, 400000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 70000, 100, 400000, at(2), at(2.1), 1),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, 'infinity', 'infinity', 1),
    (nic(0, 0), nic(1, 0), 50100, 100, 400000, at(2), at(2) + interval '40 years', 1);
UPDATE flows SET timestamp_end = timestamp_start WHERE port_src = 50001 AND ip_dst = nic(0, 1);
CALL l4.trace_flows('flows');
TABLE progress;
TABLE found;

-- two jobs on the same machines, a NIC each
CALL forget_flows();
CALL made_job(0, 1, 30);
UPDATE flows SET exporter = 'rail' WHERE exporter = 'leaf-0';
DELETE FROM flows WHERE exporter = 'leaf-1';
CALL made_job(0, 1.07, 26, period => 0.35);
DELETE FROM flows WHERE exporter = 'leaf-0';
CALL l4.trace_flows('flows');
TABLE found;

-- a machine and a NIC have two addresses, of which the greater IPv4 is the lesser IPv6: the ring of a rail speaks IPv6, its pipeline IPv4
CALL forget_flows();
CREATE FUNCTION six(inet) RETURNS inet LANGUAGE sql IMMUTABLE
RETURN ('fd00::' || 99 - split_part(host($1), '.', 3)::int || ':' || split_part(host($1), '.', 4))::inet;
CALL made_job(0, 1, 20);
UPDATE flows SET ip_src = six(ip_src), ip_dst = six(ip_dst) WHERE port_src > 50001;
INSERT INTO l4.flow_endpoint SELECT six(address), machine, nic, switch FROM l4.flow_endpoint;
CALL l4.trace_flows('flows');
TABLE found;
SELECT family(a) AS a, family(b) AS b, kind, count(*) FROM l4.flow_pair GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- and one of the ring's two connections of each pair, and what goes back in the pipeline
CALL forget_flows();
CALL made_job(0, 1, 20);
UPDATE flows SET ip_src = six(ip_src), ip_dst = six(ip_dst) WHERE port_src % 2 = 1;
CALL l4.trace_flows('flows');
TABLE found;
SELECT family(a) AS a, family(b) AS b, kind, count(*), sum(records) AS records, bool_and(a < b) AS ordered FROM l4.flow_pair GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- scanners: of addresses that nobody knows with an inventory, and without one
CALL forget_flows();
CALL made_job(0, 1, 20);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end)
SELECT '11.0.0.0'::inet + i, nic(i % 6, i % 2), 1024 + i % 60000, 20, 20000, at(1 + i * 0.0003), at(1 + i * 0.0003) FROM generate_series(1, 20000) AS i;
CALL l4.trace_flows('flows');
TABLE progress;
TABLE found;
CREATE TABLE kept AS TABLE flows;
CALL forget_flows();
DELETE FROM l4.flow_endpoint;
INSERT INTO flows TABLE kept;
CALL l4.trace_flows('flows');
TABLE progress;
TABLE found;
CALL forget_flows();
-- a late record that began long ago
CALL made_job(0, 1, 20);
CALL l4.trace_flows('flows');
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end)
VALUES (nic(0, 0), nic(1, 0), 100, 400000, '0101-01-01', at(1.5));
CALL l4.trace_flows('flows');
SELECT late FROM l4.flow_progress;
SELECT count(*) FROM l4._flow_span;
CALL forget_flows();
-- no such span
SELECT l4._flow_analyze_span(-9223372036854775808, '2026-03-01', '2026-03-02', 600, 200, 200, '{}');
SELECT l4._flow_analyze_span(9223372036854775807, '2026-03-01', '2026-03-02', 600, 200, 200, '{}');
DROP SCHEMA flow_bad CASCADE;
DELETE FROM l4._flow_exporter;
