-- Network flows beside the logs of the same job: evidence about its nodes, the cause, and which step is which iteration.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_logs;
SET search_path = flow_logs;
SELECT l4.create_log_table('flow_logs.logs');
SELECT l4.create_flow_table('flows');
\i sql/include/made_jobs.sql
\i sql/include/made_flows.sql
CREATE OR REPLACE FUNCTION at(seconds float8) RETURNS timestamptz
LANGUAGE sql STABLE RETURN '2026-05-01 10:00:00+00'::timestamptz + seconds * interval '1 second';
-- slow from iteration 16 on; the ranks of n0 and n1 most
CALL job('flow-good');
CALL job('flow-slow', 30);
UPDATE logs SET ts = ts + 4 * greatest(0, substring(line FROM 'iteration (\d+)')::int - 15) * interval '1 s',
    line = replace(line, '1000.0', CASE WHEN substring(line FROM 'iteration (\d+)')::int > 15 THEN '5000.0' ELSE '1000.0' END)
WHERE job_id = 'flow-slow' AND line ~ 'iteration';
UPDATE logs SET ts = ts + 4 * (line_no / 2 - 17) * interval '1 s',
    line = CASE WHEN node < 'n2' THEN 'DEBUG:train:forward step took 4300 ms' ELSE line END
WHERE job_id = 'flow-slow' AND line ~ 'forward' AND line_no > 34;
CALL job('flow-hung', 20);
CALL say('flow-hung', '{0,1,2,3,4,5}', 60, 'ERROR:comm:RuntimeError: Timed out waiting for the barrier');
CALL l4.ingest('flow_logs.logs');
UPDATE l4.job SET settings = 'flow_logs', expected_nodes = 6, status = CASE job_id WHEN 'flow-good' THEN 'succeeded' ELSE 'failed' END
WHERE job_id LIKE 'flow-%';
UPDATE l4.job_node SET addresses = ARRAY[host(nic(substr(node, 2)::int, 0)), host(nic(substr(node, 2)::int, 1))] WHERE job_id LIKE 'flow-%';
CREATE VIEW network AS SELECT job_id, node, kind, round(value::numeric, 2) AS value, detail FROM l4.evidence
WHERE kind IN ('network', 'step_time') AND job_id LIKE 'flow-%';

-- without flows
SELECT symptom, category, component, confidence, cause FROM l4.diagnose('flow-slow');
SELECT rank, node, is_suspect FROM l4.suspect_node WHERE job_id = 'flow-slow' AND rank < 4 ORDER BY 1;
SELECT count(*) FROM l4.flow_iterations('flow-slow');

-- a slow rack explains its two nodes: one cause, and no node is to blame
INSERT INTO l4.flow_endpoint SELECT nic(m, r), 'm' || m, r, 'rack-' || m / 2 FROM generate_series(0, 5) AS m, generate_series(0, 1) AS r;
CALL made_job(0, 3.7, 80, period => 1);
UPDATE flows SET exporter = NULL;
UPDATE flows SET timestamp_end = timestamp_start + 2.5 * (timestamp_end - timestamp_start)
WHERE timestamp_start BETWEEN at(18) AND at(40) AND (ip_src <= nic(1, 1) OR ip_dst <= nic(1, 1));
CALL l4.trace_flows('flows');
SELECT kind, subject, reasons FROM l4.flow_issue WHERE kind <> 'slow_step';
SELECT symptom, category, component, confidence, cause, alternatives FROM l4.diagnose('flow-slow');
SELECT * FROM network ORDER BY node, kind;
SELECT rank, node, is_suspect FROM l4.suspect_node WHERE job_id = 'flow-slow' AND rank < 4 ORDER BY 1;

-- which step is which iteration; the log's clock may be off
SELECT count(*), min(iteration - step) AS least, max(iteration - step) AS most, round(min(delay_ms)) AS delay_ms, max(abs(apart_ms)) < 5 AS near
FROM l4.flow_iterations('flow-good');
-- steps of other durations in both tell by how much
CALL forget_flows();
CALL made_job(0, 3.7 + 7, 40, period => 1, slow_step => 20);
UPDATE flows SET timestamp_start = timestamp_start + interval '0.6 s', timestamp_end = timestamp_end + interval '0.6 s'
WHERE timestamp_start > at(11 + 20);
CREATE TABLE again AS SELECT 'flow-long' AS job_id, node, source, rank, line_no, ts + CASE WHEN ts > at(24) THEN 0.75 ELSE 0 END * interval '1 s' AS ts, line
FROM logs WHERE job_id = 'flow-good';
CALL l4.ingest('flow_logs.again');
UPDATE l4.job_node SET addresses = ARRAY[host(nic(substr(node, 2)::int, 0)), host(nic(substr(node, 2)::int, 1))] WHERE job_id = 'flow-long';
CALL l4.trace_flows('flows');
SELECT count(*), min(iteration - step) AS least, max(iteration - step) AS most, round(min(delay_ms)) AS delay_ms, max(abs(apart_ms)) < 60 AS near
FROM l4.flow_iterations('flow-long');

-- a slow link of one node
CALL forget_flows();
CALL made_job(0, 3.7, 80, period => 1);
UPDATE flows SET timestamp_end = timestamp_start + 2.5 * (timestamp_end - timestamp_start)
WHERE timestamp_start > at(18) AND (nic(4, 0) IN (ip_src, ip_dst) OR port_src > 50001 AND ip_src IN (nic(3, 0), nic(5, 0)));
CALL l4.trace_flows('flows');
SELECT symptom, category, component, confidence, cause FROM l4.diagnose('flow-slow');
SELECT * FROM network WHERE kind = 'network' ORDER BY node;

-- its picture: around the first issue and the whole job, each wide and narrow; red marks slow steps and the slow NIC
CREATE FUNCTION times(page text, pattern text) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN (SELECT count(*) FROM regexp_matches(page, pattern, 'g'));
CREATE FUNCTION page(job text) RETURNS text
LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN l4._html_flow(job); END $$;
CREATE VIEW picture AS
SELECT substring(p.part FROM '<figcaption>(.*?)</figcaption>') AS caption, times(p.part, '<svg') AS pictures, times(p.part, 'class="act1"') AS computing,
    times(p.part, 'class="part1"') AS pipeline, times(p.part, 'class="part0"') AS data, times(p.part, 'class="slow" x1="\S+" y1="19.0"') AS slow_steps,
    times(p.part, 'node suspect') AS suspects, times(p.part, 'class="node') AS rows, length(p.part) / 1000 AS kb,
    substring(p.part FROM '<title>([^<]* slow [^<]*)</title>') AS why
FROM l4.flow_job, page(flow_job), LATERAL regexp_split_to_table(page, '</figure>') AS p(part) WHERE p.part ~ 'figcaption';
SELECT caption, pictures, computing, pipeline, data, slow_steps, suspects, rows, kb < 250 AS small, why FROM picture;
-- 1,024 NICs get 16 rows: those that issues name, and one of each group
BEGIN;
DELETE FROM l4.flow_job;
INSERT INTO l4.flow_job SELECT 'large', at(0), at(3000), 1, 1024, NULL, 1000, 64, 16, 'OK', '{}';
DELETE FROM l4._flow_stint;
INSERT INTO l4._flow_stint SELECT 1, 0, at(0), at(3000), 1000, 1000, 3000, '{}', '{}', '{}', 64, 16, 0, false, false, false, 0, NULL, NULL, false, 'large', 1, 0;
INSERT INTO l4._flow_stint_step SELECT 1, 0, s, at(s), at(s + 1), 100, 1, NULL FROM generate_series(0, 2999) AS s;
INSERT INTO l4._flow_stint_nic SELECT 1, 0, '10.8.0.0'::inet + n, 1 + n / 128, array_fill((n / 4)::float4, '{3000}')
FROM generate_series(0, 1023) AS n;
INSERT INTO l4.flow_issue SELECT 'large', n, 'slow_rank', '10.8.0.' || n, at(60), at(90 * n), 1, '{"so it is"}', '{}' FROM generate_series(1, 9) AS n;
INSERT INTO l4.flow_issue SELECT 'large', 10 + s, 'slow_step', s, at(s), at(s + 1), 1, '{long}', '{}' FROM generate_series(0, 2999, 2) AS s;
SELECT caption, pictures, slow_steps > 10 AS slow_steps, suspects, rows, kb < 250 AS small, why FROM picture;
SELECT substring(l4._html_flow('large') FROM '[^.]+ more NICs in l4.flow_step_nic') AS more;
ROLLBACK;

-- who sent nothing more first
CALL forget_flows();
CALL made_job(0, 3.7, 80, period => 1);
CALL made_job(20, 3.7, 80, period => 1);
INSERT INTO l4.flow_endpoint SELECT nic(m, r), 'm' || m, r, 'rack-' || m / 2 FROM generate_series(20, 25) AS m, generate_series(0, 1) AS r;
DELETE FROM flows WHERE ip_src <= nic(5, 1) AND timestamp_start > at(23.7) AND (timestamp_start > at(23.85) OR ip_src <= nic(1, 1) AND ip_src >= nic(1, 0));
CALL l4.trace_flows('flows');
SELECT kind, subject, reasons FROM l4.flow_issue;
SELECT symptom, category, component, confidence, cause FROM l4.diagnose('flow-hung');
SELECT * FROM network WHERE kind = 'network' AND job_id = 'flow-hung' ORDER BY node;
-- diagnosed anew when the flows say something else
CALL forget_flows();
CALL l4.trace_flows('flows');
SELECT symptom, category, component, confidence, cause FROM l4.diagnose('flow-hung');
SELECT count(*) FROM network WHERE kind = 'network' AND job_id = 'flow-hung';
-- forgotten: packs that are older, then all; and read again
CALL made_job(0, 3.7, 600, period => 1);
CALL l4.trace_flows('flows');
SELECT sum(records) AS records, count(*) AS pairs FROM l4.flow_pair;
SELECT l4.forget_flows(at(400)) > 0 AS gone;
SELECT count(*) > 0 AS kept, bool_and(last_ts >= at(400)) AS late FROM l4._flow_chunk;
SELECT l4.forget_flows(NULL), l4.forget_flows(at(0));
SELECT l4.forget_flows() > 0 AS gone;
SELECT (SELECT count(*) FROM l4._flow_link) AS pairs, (SELECT count(*) FROM l4.flow_progress) AS sources,
    (SELECT count(*) FROM l4.flow_job) AS jobs;
CALL l4.trace_flows('flows');
SELECT sum(records) AS records, count(*) AS pairs FROM l4.flow_pair;
SELECT l4.forget_flows() > 0 AS gone;
DELETE FROM l4.job WHERE job_id LIKE 'flow-%';
DROP SCHEMA flow_logs CASCADE;
DELETE FROM l4._flow_exporter;
DELETE FROM l4.flow_endpoint;
