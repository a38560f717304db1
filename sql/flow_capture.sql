-- Flows of two real jobs at once (test/data/README.md), against what they are: jobs, pairs, steps.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_capture;
SET search_path = flow_capture;
SELECT l4.create_flow_table('flows');
\copy flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end) FROM PROGRAM 'gzip -dc test/data/flows.csv.gz' WITH (FORMAT csv, HEADER)
CREATE TABLE done (job text, step int, ended timestamptz);
\copy done FROM 'test/data/flow-steps.csv' WITH (FORMAT csv, HEADER)
-- a table that has the name of a type
CREATE TABLE record (nothing inet);
CALL l4.trace_flows('flows');
SELECT CASE dp WHEN 4 THEN 'a' ELSE 'b' END AS job, nics, dp, pp, status FROM l4.flow_job ORDER BY 1;
SELECT CASE dp WHEN 4 THEN 'a' ELSE 'b' END AS job, array_agg(host(m.address) ORDER BY m.address) AS nics
FROM l4.flow_job JOIN l4.flow_member AS m USING (flow_job) GROUP BY 1 ORDER BY 1;
-- a ring of four; two replicas of two stages
SELECT a, b, kind FROM l4.flow_pair ORDER BY 1, 2;
-- each rank's clock after its last all-reduce, of every step the last of them
SELECT d.job, count(*) AS steps, count(*) FILTER (WHERE f.apart < 50) > 0.95 * count(*) AS found,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY f.apart) < 10 AS near
FROM done AS d
JOIN l4.flow_job AS j ON (j.dp = 4) = (d.job = 'a')
CROSS JOIN LATERAL (SELECT min(abs(extract(epoch FROM s.ended - d.ended)::float8)) * 1000 AS apart
    FROM l4.flow_step AS s WHERE s.flow_job = j.flow_job) AS f
GROUP BY d.job ORDER BY 1;
SELECT l4.flow_report(flow_job) AS report FROM l4.flow_job WHERE dp = 4 LIMIT 3;
SELECT count(*) FROM l4.flow_issue WHERE kind <> 'slow_step';
SELECT l4.forget_flows() > 0 AS gone;
DROP SCHEMA flow_capture CASCADE;
