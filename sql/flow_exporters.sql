-- Two real jobs at once (test/data/README.md), as softflowd metered them with time-outs of a second, in the rows that
-- nfacctd of pmacct, goflow2 and nfdump wrote: all three give the same records. No job is found in them: softflowd ends
-- a record when the next packet has come, so that records hide the silences, and hold any number of steps.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_exporters;
SET search_path = flow_exporters;
CREATE TABLE acct (peer_ip_src inet, ip_src inet, ip_dst inet, port_src int, port_dst int, ip_proto text, timestamp_start timestamp, timestamp_end timestamp, packets bigint, bytes bigint);
\copy acct FROM PROGRAM 'gzip -dc test/data/exporters/nfacctd.csv.gz' WITH (FORMAT csv, HEADER)
CREATE VIEW nfacctd_flows AS
SELECT ip_src, ip_dst, port_src, port_dst, CASE ip_proto WHEN 'tcp' THEN 6 WHEN 'udp' THEN 17 END AS ip_proto, packets, bytes, host(peer_ip_src) AS exporter,
    timestamp_start AT TIME ZONE 'UTC' AS timestamp_start, timestamp_end AT TIME ZONE 'UTC' AS timestamp_end
FROM acct;
CREATE TABLE message (flow jsonb);
\copy message FROM PROGRAM 'gzip -dc test/data/exporters/goflow2.json.gz' WITH (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')
CREATE VIEW goflow2_flows AS
SELECT f.src_addr AS ip_src, f.dst_addr AS ip_dst, f.src_port AS port_src, f.dst_port AS port_dst, CASE f.proto WHEN 'TCP' THEN 6 WHEN 'UDP' THEN 17 END AS ip_proto,
    f.packets, f.bytes, f.sampler_address AS exporter, f.sampling_rate,
    'epoch'::timestamptz + f.time_flow_start_ns / 1000 * interval '1 us' AS timestamp_start, 'epoch'::timestamptz + f.time_flow_end_ns / 1000 * interval '1 us' AS timestamp_end
FROM message AS m
CROSS JOIN jsonb_to_record(m.flow) AS f(src_addr inet, dst_addr inet, src_port int, dst_port int, proto text, packets bigint, bytes bigint, sampler_address text, sampling_rate bigint,
    time_flow_start_ns bigint, time_flow_end_ns bigint);
CREATE TABLE dump (started numeric, lasted numeric, ip_src inet, ip_dst inet, port_src int, port_dst int, packets bigint, bytes bigint);
\copy dump FROM PROGRAM 'gzip -dc test/data/exporters/nfdump.csv.gz' WITH (FORMAT csv)
CREATE VIEW nfdump_flows AS
SELECT ip_src, ip_dst, port_src, port_dst, packets, bytes, to_timestamp(started::float8) AS timestamp_start, to_timestamp((started + lasted)::float8) AS timestamp_end FROM dump;
CREATE VIEW packed AS SELECT host(k.a) AS a, host(k.b) AS b, c.first_ts, c.last_ts, c.records, md5(c.body) AS body FROM l4._flow_chunk AS c JOIN l4._flow_link AS k USING (pair_id);

CALL l4.trace_flows('nfacctd_flows');
CREATE TABLE expected AS TABLE packed;
SELECT count(*) AS pairs, sum(records) AS records, min(first_ts) AS first, max(last_ts) AS last FROM expected;
SELECT rows_read, duplicate, control, late, impossible, future, unknown, no_end FROM l4.flow_progress;
SELECT count(*) AS jobs FROM l4.flow_job;
SELECT l4.forget_flows() > 0 AS gone;
CALL l4.trace_flows('goflow2_flows');
SELECT count(*) AS differ FROM (TABLE expected EXCEPT TABLE packed) AS x;
SELECT rows_read, duplicate, control, late, impossible, future, unknown, no_end FROM l4.flow_progress;
SELECT l4.forget_flows() > 0 AS gone;
CALL l4.trace_flows('nfdump_flows');
SELECT a.a, a.b, a.records - b.records AS records FROM expected AS a FULL JOIN packed AS b USING (a, b) WHERE a.records IS DISTINCT FROM b.records OR abs(extract(epoch FROM a.first_ts - b.first_ts)) > 0.001;
SELECT rows_read, duplicate, control, late, impossible, future, unknown, no_end FROM l4.flow_progress;
SELECT l4.forget_flows() > 0 AS gone;
DROP SCHEMA flow_exporters CASCADE;
DELETE FROM l4._flow_exporter;
