-- What l4.trace_flows() finds: jobs, kinds of pairs, steps, issues, statuses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_test;
SET search_path = flow_test;
SET timezone = 'UTC';
SELECT l4.create_flow_table('flows');
\i sql/include/made_flows.sql
CREATE VIEW jobs AS SELECT flow_job, runs, nics, machines, round(period_ms::numeric) AS period_ms, dp, pp, status FROM l4.flow_job;
CREATE VIEW issues AS
SELECT flow_job, rank, kind, subject, to_char(first_ts, 'MI:SS.MS') AS first, to_char(last_ts, 'MI:SS.MS') AS last,
    round(score::numeric, 2) AS score, reasons, evidence
FROM l4.flow_issue;

-- two jobs side by side; one of them has a slow step
CALL made_inventory(20);
CALL made_job(0, 1, 20);
CALL made_job(6, 1.1, 18, dp => 4, stages => 1, slow_step => 11, mb => 1.2);
CALL l4.trace_flows('flows');
SELECT * FROM jobs ORDER BY 1;
SELECT flow_job, kind, count(*) AS pairs, sum(records) AS records, min(sizes[1]) AS size, min(evidence ->> 'records_a_step') AS records_a_step
FROM l4.flow_pair GROUP BY 1, 2 ORDER BY 1, 2;
SELECT flow_job, machine, count(*) AS nics, array_agg(nic ORDER BY nic) AS nic, count(DISTINCT dp_group) AS groups FROM l4.flow_member GROUP BY 1, 2 ORDER BY 1, 2;
SELECT flow_job, count(*) AS steps, round(min(duration_ms) FILTER (WHERE step > 0)) AS least, round(max(duration_ms) FILTER (WHERE step > 0)) AS most,
    min(cover) AS cover, round(min(dp_ms)::numeric, 1) AS dp_ms, array_agg(reason) FILTER (WHERE reason IS NOT NULL) AS reasons
FROM l4.flow_step GROUP BY 1 ORDER BY 1;
SELECT flow_job, count(*) AS steps, count(DISTINCT address) AS nics, round(min(pp_ms)::numeric, 1) AS pp_ms, bool_and(compute_ms >= 0) AS computes
FROM l4.flow_step_nic GROUP BY 1 ORDER BY 1;
SELECT * FROM issues ORDER BY 1, 2;
SELECT l4.flow_report(flow_job) FROM jobs WHERE dp = 4;
SELECT l4.flow_report('none');

-- the same rows in any order, in any batches, give the same
CREATE TABLE before AS SELECT * FROM l4.flow_step_nic;
CREATE TABLE pairs_before AS SELECT * FROM l4.flow_pair;
CREATE TABLE kept AS SELECT * FROM flows;
CALL forget_flows();
INSERT INTO flows SELECT * FROM kept ORDER BY md5(kept::text);
CALL l4.trace_flows('flows', parameters => '{"window_s": 1}');
SELECT count(*) AS differ FROM (TABLE before EXCEPT TABLE l4.flow_step_nic) AS x;
CALL forget_flows();
INSERT INTO flows SELECT * FROM kept WHERE abs(hashtext(kept::text)) % 3 = 0;
CALL l4.trace_flows('flows');
INSERT INTO flows SELECT * FROM kept WHERE abs(hashtext(kept::text)) % 3 = 1;
CALL l4.trace_flows('flows');
INSERT INTO flows SELECT * FROM kept WHERE abs(hashtext(kept::text)) % 3 = 2;
CALL l4.trace_flows('flows');
SELECT count(*) AS differ FROM (TABLE before EXCEPT TABLE l4.flow_step_nic) AS x;
SELECT count(*) AS differ FROM (TABLE pairs_before EXCEPT TABLE l4.flow_pair) AS x;
SELECT rows_read, duplicate, late > 0 AS late FROM l4.flow_progress;

-- a job that the logs know: by address, by machine, by time
INSERT INTO l4.job (job_id, status, started_at, ended_at) VALUES ('f-1', 'succeeded', at(0), at(10)), ('f-2', 'running', at(0), NULL),
    ('f-3', 'failed', at(-10), at(-5));
INSERT INTO l4.job_node (job_id, node, addresses) VALUES ('f-1', 'a', '{10.9.0.1,10.9.0.2}'), ('f-2', 'm6', NULL), ('f-3', 'm6', NULL);
SELECT * FROM l4.flow_job_match ORDER BY 1, 2;
-- the report of a job that ran on most of them says what the network saw, whatever the session's zone
BEGIN;
INSERT INTO l4.job (job_id, status, started_at, ended_at) VALUES ('f-4', 'running', at(0), NULL), ('f-5', 'failed', at(-10), at(-5));
INSERT INTO l4.job_node (job_id, node) SELECT j.job_id, 'm' || i FROM (VALUES ('f-4'), ('f-5')) AS j(job_id), generate_series(6, 9) AS i;
SET LOCAL timezone = 'Asia/Tokyo';
SELECT l4._report_network('f-4') AS network;
SELECT l4._html_network('f-4') LIKE '<figure>%<pre>  Job flow-%</pre>' AS page, l4._html_network('f-2') AS quarter, l4._html_network('f-5') AS of_another_time;
ROLLBACK;

-- it is said to run, but others go on without it: stopped, and not a finish
CALL made_job(12, 1, 30);
CALL l4.trace_flows('flows');
SELECT flow_job, kind, subject, reasons FROM issues WHERE kind = 'stopped';
DELETE FROM l4.job;

-- a job that ends inside a step hangs; one that begins again was stopped, and is one job though a machine was replaced
CALL forget_flows();
CALL made_job(0, 1, 12, dp => 4);
DELETE FROM flows WHERE timestamp_start > at(1 + 3.1);
CALL made_job(8, 1, 15, dp => 4, stages => 1);
CALL made_job(8, 12, 15, dp => 4, stages => 1);
UPDATE flows SET ip_src = nic(12, right(exporter, 1)::int) WHERE timestamp_start > at(10) AND ip_src <<= '10.9.11.0/24';
UPDATE flows SET ip_dst = nic(12, right(exporter, 1)::int) WHERE timestamp_start > at(10) AND ip_dst <<= '10.9.11.0/24';
CALL l4.trace_flows('flows');
SELECT * FROM jobs ORDER BY 1;
SELECT * FROM issues WHERE kind = 'stopped' ORDER BY 1;
SELECT machine, to_char(first_ts, 'MI:SS') AS first, to_char(last_ts, 'MI:SS') AS last FROM l4.flow_member WHERE machine IN ('m10', 'm11', 'm12') AND nic = 0 ORDER BY 1;
-- another job on the same machines, of other sizes, is another job
CALL made_job(8, 24, 15, dp => 4, stages => 1, mb => 3);
CALL l4.trace_flows('flows');
SELECT * FROM jobs ORDER BY 1;

-- a slow NIC: its ring and its pipeline pairs. A slow switch: the rings of one rail, of two jobs
CALL forget_flows();
CALL made_job(0, 1, 40);
CALL made_job(6, 1.1, 40);
UPDATE flows SET timestamp_end = timestamp_start + 2.5 * (timestamp_end - timestamp_start)
WHERE timestamp_start BETWEEN at(4) AND at(9) AND (nic(1, 0) IN (ip_src, ip_dst)
    OR port_src > 50001 AND ip_src IN (nic(0, 0), nic(2, 0)));
CALL l4.trace_flows('flows');
SELECT * FROM issues WHERE kind <> 'slow_step' ORDER BY 1, 2;
SELECT DISTINCT evidence FROM issues WHERE kind = 'slow_step';
CALL forget_flows();
CALL made_job(0, 1, 40);
CALL made_job(6, 1.1, 40);
UPDATE flows SET timestamp_end = timestamp_start + 2.5 * (timestamp_end - timestamp_start)
WHERE timestamp_start BETWEEN at(4) AND at(9) AND exporter = 'leaf-1';
CALL l4.trace_flows('flows');
SELECT * FROM issues WHERE kind <> 'slow_step' ORDER BY 1, 2;

-- a slow rank: of one replica all sends of a stage lie further apart
CALL forget_flows();
CALL made_job(0, 1, 30);
UPDATE flows f SET timestamp_start = f.timestamp_start + x.late, timestamp_end = f.timestamp_end + x.late
FROM (SELECT ctid AS id, 0.35 * (timestamp_start - first_value(timestamp_start) OVER (PARTITION BY ip_src, div(extract(epoch FROM timestamp_start - at(1)), 0.3)
        ORDER BY timestamp_start)) AS late
      FROM flows WHERE ip_src IN (nic(1, 0), nic(1, 1)) AND port_src = 50000 AND timestamp_start BETWEEN at(4) AND at(7)) AS x
WHERE f.ctid = x.id;
CALL l4.trace_flows('flows');
SELECT * FROM issues ORDER BY 1, 2;

-- statuses
CALL forget_flows();
CALL made_job(0, 1, 4, period => 1);
CALL l4.trace_flows('flows');
SELECT status FROM jobs;
CALL forget_flows();
CALL made_job(0, 1, 20);
DELETE FROM flows WHERE port_src > 50001 AND timestamp_start BETWEEN at(3.1) AND at(3.4)
    AND NOT (exporter = 'leaf-0' AND ip_src IN (nic(0, 0), nic(1, 0), nic(2, 0)));
CALL l4.trace_flows('flows');
SELECT status FROM jobs;
SELECT step, round(duration_ms) AS duration_ms, cover FROM l4.flow_step WHERE cover < 1;
CALL forget_flows();
CALL made_job(0, 1, 20);
UPDATE flows SET timestamp_end = timestamp_start + interval '50 ms' WHERE port_src < 50100;
CALL l4.trace_flows('flows');
SELECT status FROM jobs;
CALL forget_flows();
CALL made_job(0, 1, 20);
UPDATE flows SET packets = packets / 64, bytes = packets / 64 * 4096, sampling_rate = 64;
CALL l4.trace_flows('flows');
SELECT status FROM jobs;
SELECT kind, count(*) FROM l4.flow_pair GROUP BY 1 ORDER BY 1;

-- a translated address with many peers is left out and counted
CALL forget_flows();
DELETE FROM l4.flow_endpoint;
CALL made_job(0, 1, 20);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end, exporter)
SELECT '10.8.0.1', ('10.7.0.' || p)::inet, 50000 + s % 7, 1000, 4000000, at(1 + s * 0.5 + p * 0.001), at(1.01 + s * 0.5 + p * 0.001), 'leaf-0'
FROM generate_series(1, 70) AS p, generate_series(1, 10) AS s;
CALL l4.trace_flows('flows');
SELECT nics, machines, pp, coverage FROM l4.flow_job;
-- nothing at all
CALL forget_flows();
CALL l4.trace_flows('flows');
SELECT count(*) FROM l4.flow_job;
DROP SCHEMA flow_test CASCADE;
DELETE FROM l4._flow_exporter;
