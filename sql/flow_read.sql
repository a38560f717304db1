-- Reading flow records: what is counted and left out, shapes of tables, errors.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_test;
SET search_path = flow_test;
SET timezone = 'UTC';
SELECT l4.create_flow_table('flows');
SELECT l4.create_flow_table('a.b.c');
\d flows
\i sql/include/made_flows.sql
CREATE VIEW progress AS
SELECT source, rows_read, duplicate, control, late, impossible, future, unknown, no_end, first_ts, last_ts FROM l4.flow_progress;
CREATE VIEW found AS
SELECT (SELECT count(*) FROM l4.flow_job) AS jobs, (SELECT count(*) FROM l4.flow_step) AS steps,
    (SELECT string_agg(kind || ' ' || n, ', ' ORDER BY kind) FROM (SELECT kind, count(*) AS n FROM l4.flow_pair GROUP BY 1) AS k) AS pairs;

-- every row that cannot be or says nothing is counted; none disturbs
CALL made_inventory(6);
CALL made_job(0, 1, 20);
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end) VALUES
    (nic(0, 0), nic(1, 0), 10, 400, at(1), at(1.1)),
    (nic(0, 0), nic(1, 0), 100000, 6000000, at(1), at(1.1)),
    (nic(0, 0), nic(1, 0), 100, 400000, at(2), at(1.9)),
    (nic(0, 0), nic(1, 0), 100, 0, at(2), at(2.1)),
    (nic(0, 0), nic(1, 0), 100, -5, at(2), at(2.1)),
    (nic(0, 0), NULL, 100, 400000, at(2), at(2.1)),
    (nic(0, 0), nic(0, 0), 100, 400000, at(2), at(2.1)),
    (nic(0, 0), nic(1, 0), 100, 400000, NULL, at(2.1)),
    (nic(0, 0), nic(1, 0), 100, 400000, '-infinity', at(2.1)),
    (nic(0, 0), nic(1, 0), 100, 400000, at(2), NULL),
    (nic(0, 0), nic(1, 0), 100, 9223372036854775807, at(2), at(2.1)),
    (nic(0, 0), nic(1, 0), 100, 400000, now() + interval '3 days', now() + interval '3 days'),
    (nic(0, 0), nic(0, 1), 100, 400000, at(2), at(2.1)),
    (nic(0, 0), '10.200.0.1', 100, 400000, at(2), at(2.1));
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end, sampling_rate) VALUES
    (nic(0, 0), nic(1, 0), 2, 8192, at(2), at(2.1), 64);
INSERT INTO flows SELECT * FROM flows WHERE port_src = 50100 LIMIT 7;
CALL l4.trace_flows('flows');
SELECT * FROM progress;
TABLE found;
-- again: nothing is new; then late rows and new ones
CALL l4.trace_flows('flows');
SELECT rows_read, duplicate, late FROM progress;
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end)
SELECT nic(0, 0), nic(1, 0), 100, 400000, at(2 + n), at(2.1 + n) FROM generate_series(1, 6) AS n;
CALL l4.trace_flows('flows');
SELECT rows_read, duplicate, late FROM progress;
-- later than late_s: only if from_ts says so
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end) VALUES (nic(0, 0), nic(1, 0), 100, 500000, at(0), at(0.1));
CALL l4.trace_flows('flows', parameters => '{"late_s": 1}');
SELECT rows_read, duplicate, late FROM progress;
CALL l4.trace_flows('flows', from_ts => at(0), to_ts => at(1));
SELECT rows_read, duplicate, late FROM progress;
SELECT sum(c.records) AS packed, sum(length(c.body)) < 10 * sum(c.records) AS small FROM l4._flow_chunk AS c;

-- a full pack stays as it is when rows come that lie in it, which are told from those that it has
CALL forget_flows();
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end)
SELECT nic(0, 0), nic(1, 0), 100, 400000, at(n * 0.01), at(n * 0.01 + 0.005) FROM generate_series(1, 600) AS n;
CALL l4.trace_flows('flows');
CREATE TABLE packs AS SELECT chunk_id, records FROM l4._flow_chunk;
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end)
SELECT nic(0, 0), nic(1, 0), 100, 400000, at(n * 0.005), at(n * 0.005 + 0.005) FROM generate_series(1190, 1209) AS n;
CALL l4.trace_flows('flows');
SELECT rows_read, duplicate, late FROM progress;
SELECT c.records, p.chunk_id IS NOT NULL AS kept FROM l4._flow_chunk AS c LEFT JOIN packs AS p USING (chunk_id) ORDER BY c.chunk_id;

-- the tables of pmacct and goflow2, by views
CALL forget_flows();
CALL made_job(0, 1, 20);
CREATE TABLE acct (ip_src inet, ip_dst inet, port_src int, port_dst int, ip_proto smallint, packets bigint, bytes bigint,
    timestamp_start timestamp, timestamp_start_residual int, timestamp_end timestamp, timestamp_end_residual int, peer_ip_src inet, sampling_rate int);
INSERT INTO acct SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, date_trunc('second', timestamp_start), extract(microseconds FROM timestamp_start)::int % 1000000,
    date_trunc('second', timestamp_end), extract(microseconds FROM timestamp_end)::int % 1000000, '10.255.0.1', 1 FROM flows;
CREATE VIEW pmacct_flows AS
SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, host(peer_ip_src) AS exporter, sampling_rate,
    timestamp_start AT TIME ZONE 'UTC' + timestamp_start_residual * interval '1 us' AS timestamp_start,
    timestamp_end AT TIME ZONE 'UTC' + timestamp_end_residual * interval '1 us' AS timestamp_end
FROM acct;
CREATE TABLE goflow (src_addr text, dst_addr text, src_port int, dst_port int, proto int, packets bigint, bytes bigint,
    time_flow_start_ns bigint, time_flow_end_ns bigint, sampler_address text, sampling_rate bigint);
INSERT INTO goflow SELECT host(ip_src), host(ip_dst), port_src, port_dst, ip_proto, packets, bytes, (extract(epoch FROM timestamp_start) * 1000000)::bigint * 1000,
    (extract(epoch FROM timestamp_end) * 1000000)::bigint * 1000, '10.255.0.1', 0 FROM flows;
CREATE VIEW goflow2_flows AS
SELECT src_addr::inet AS ip_src, dst_addr::inet AS ip_dst, src_port AS port_src, dst_port AS port_dst, proto AS ip_proto,
    packets, bytes, sampler_address AS exporter, sampling_rate,
    'epoch'::timestamptz + time_flow_start_ns / 1000 * interval '1 us' AS timestamp_start,
    'epoch'::timestamptz + time_flow_end_ns / 1000 * interval '1 us' AS timestamp_end
FROM goflow;
CALL l4.trace_flows('flows');
CREATE TABLE steps AS SELECT * FROM l4.flow_step;
TABLE found;
CALL forget_flows();
CALL l4.trace_flows('pmacct_flows');
SELECT found.*, (SELECT count(*) FROM (TABLE steps EXCEPT TABLE l4.flow_step) AS x) AS differ FROM found;
CALL forget_flows();
CALL l4.trace_flows('goflow2_flows');
SELECT found.*, (SELECT count(*) FROM (TABLE steps EXCEPT TABLE l4.flow_step) AS x) AS differ FROM found;
-- both see the same flows: one exporter stands for each
CALL l4.trace_flows('pmacct_flows');
SELECT found.*, (SELECT count(*) FROM (TABLE steps EXCEPT TABLE l4.flow_step) AS x) AS differ FROM found;
-- columns that may be missing; addresses of version 6
CALL forget_flows();
CREATE VIEW few AS
SELECT ('fd00::' || host(ip_src))::inet AS ip_src, ('fd00::' || host(ip_dst))::inet AS ip_dst, bytes, timestamp_start, timestamp_end FROM pmacct_flows;
DELETE FROM l4.flow_endpoint;
CALL l4.trace_flows('few');
TABLE found;
SELECT min(address), max(address) FROM l4.flow_member;

-- a record that an active time-out cut is one; several switches of a path report each flow, with clocks apart
CALL forget_flows();
CALL made_job(0, 1, 10, period => 3);
UPDATE flows SET timestamp_end = timestamp_start + interval '2 s' WHERE port_src = 50100;
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets / 2, bytes / 2, timestamp_start + interval '1 s', timestamp_end, exporter
FROM flows WHERE port_src = 50100;
UPDATE flows SET timestamp_end = timestamp_start + interval '1 s', bytes = bytes / 2 WHERE port_src = 50100 AND bytes = 60000000;
INSERT INTO flows (ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '4 ms', timestamp_end + interval '4 ms', 'spine-1'
FROM flows WHERE timestamp_start > at(2);
CALL l4.trace_flows('flows');
SELECT kind, sizes FROM l4.flow_pair WHERE kind = 'dp' LIMIT 1;
TABLE found;

-- of what was read only the spans of the last seconds are kept, and what was found in them
CALL forget_flows();
CALL made_job(0, 1, 100, period => 0.2);
CALL made_job(0, 2000, 100, period => 0.2);
CALL l4.trace_flows('flows');
TABLE found;
CALL l4.trace_flows('flows', parameters => '{"keep_s": 10.1, "late_s": 5}');
TABLE found;
SELECT min(started) > at(1999) AS late FROM l4.flow_step;
-- rows of a span that was forgotten change nothing
CALL l4.trace_flows('flows', from_ts => at(0), parameters => '{"keep_s": 0.001}');
TABLE found;

-- errors
CALL l4.trace_flows(NULL);
CALL l4.trace_flows('steps');
CALL l4.trace_flows('flow_test.flows_timestamp_end_idx'::regclass);
CALL l4.trace_flows('flows', parameters => '{"late": 1}');
CALL l4.trace_flows('flows', parameters => '{"window_s": 0}');
BEGIN;
CALL l4.trace_flows('flows');
ROLLBACK;
BEGIN;
CALL l4.trace_flows('flows', commit => false);
COMMIT;
TABLE found;
SELECT l4._flow_read('SELECT 1', 'infinity');
UPDATE l4._flow_chunk SET body = '\x07' WHERE chunk_id = (SELECT min(chunk_id) FROM l4._flow_chunk);
UPDATE l4._flow_span SET changed = true;
SELECT l4._flow_analyze();
UPDATE l4._flow_chunk SET body = '\x01ffff7f' WHERE body = '\x07';
UPDATE l4._flow_span SET changed = true;
SELECT l4._flow_analyze();
CALL forget_flows();
CALL l4.trace_flows('flows');
DROP SCHEMA flow_test CASCADE;
DELETE FROM l4._flow_exporter;
