-- Flows are analyzed a span after the other, long ones and short ones, and only where something changed. However rows
-- are divided among calls, the answer is that of one call.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA flow_spans;
SET search_path = flow_spans;
SET timezone = 'UTC';
SET jit = off;
SELECT l4.create_flow_table('flows');
\i sql/include/made_flows.sql
CREATE VIEW answer AS
SELECT 'flow_job' AS what, to_jsonb(x) AS row FROM l4.flow_job AS x
UNION ALL SELECT 'flow_member', to_jsonb(x) FROM l4.flow_member AS x
UNION ALL SELECT 'flow_pair', to_jsonb(x) FROM l4.flow_pair AS x
UNION ALL SELECT 'flow_step', to_jsonb(x) FROM l4.flow_step AS x
UNION ALL SELECT 'flow_step_nic', to_jsonb(x) FROM l4.flow_step_nic AS x
UNION ALL SELECT 'flow_issue', to_jsonb(x) FROM l4.flow_issue AS x;
-- a job over four spans with a slow step and, where two spans meet, a slow NIC; one that starts again in the third span;
-- one that hangs in the first; one that is slower
-- from 650 s on; one in the second and third, of which a slow job on more machines takes the NICs; one with steps of minutes; a link that is no job's
CALL made_inventory(30);
CALL made_job(0, 130, 380, period => 5, slow_step => 150);
UPDATE flows SET timestamp_end = timestamp_start + 2.5 * (timestamp_end - timestamp_start)
WHERE timestamp_start BETWEEN at(1130) AND at(1270) AND (nic(1, 0) IN (ip_src, ip_dst) OR port_src > 50001 AND ip_src IN (nic(0, 0), nic(2, 0)));
CALL made_job(6, 201, 100, dp => 4, stages => 1, period => 4);
CALL made_job(6, 1390, 60, dp => 4, stages => 1, period => 4);
CALL made_job(10, 20, 90, period => 3);
CALL made_job(16, 50, 150, dp => 4, stages => 1, period => 4);
CALL made_job(16, 650, 235, dp => 4, stages => 1, period => 5.3);
CALL made_job(20, 10, 260, dp => 4, stages => 1, period => 4.7);
CALL made_job(20, 1480, 18, dp => 6, stages => 1, mb => 0.7, period => 25);
CALL made_job(26, 5, 7, dp => 2, period => 290);
DELETE FROM flows WHERE ip_src BETWEEN nic(10, 0) AND nic(15, 1) AND timestamp_start > at(20 + 70 * 3 + 0.1);
INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end)
SELECT nic(15, 0), nic(0, 0), n, 10000, 1000 * exp(('x' || left(md5(n::text), 4))::bit(16)::int / 5000.0), at(n * 7.3), at(n * 7.3 + 0.1) FROM generate_series(1, 250) AS n;
CREATE TABLE kept AS SELECT row_number() OVER (ORDER BY md5(f::text)) AS n, f.* FROM flows AS f;
CALL l4.trace_flows('flows');
SELECT flow_job, runs, nics, machines, round(period_ms) AS period_ms, dp, pp, status, coverage FROM l4.flow_job ORDER BY 1;
SELECT flow_job, count(*) AS steps, max(step) AS last, round(min(duration_ms) FILTER (WHERE reason IS NULL)) AS least,
    round(max(duration_ms) FILTER (WHERE reason IS NULL)) AS most, array_agg(step || ' ' || reason ORDER BY step) FILTER (WHERE reason IS NOT NULL) AS reasons
FROM l4.flow_step GROUP BY 1 ORDER BY 1;
SELECT flow_job, kind, count(*) AS pairs, sum(records) AS records FROM l4.flow_pair GROUP BY 1, 2 ORDER BY 1, 2;
SELECT flow_job, rank, kind, subject, to_char(first_ts, 'MI:SS') AS first, to_char(last_ts, 'MI:SS') AS last, reasons
FROM l4.flow_issue ORDER BY 1, 2;
-- short spans had jobs that went on as they were; of those of the third block whose NICs another job took nothing is shown
SELECT s.span & 3 AS size, s.hidden, count(DISTINCT s.span) AS spans, array_agg(DISTINCT s.nics[1] ORDER BY s.nics[1]) AS least_nics
FROM l4._flow_stint AS s GROUP BY 1, 2 ORDER BY 1, 2;
CREATE TABLE at_once AS TABLE answer;

-- Rows in pieces, a call after each: piece of a row is given by an expression. Returns calls, and rows of the answer that
-- differ; all spans that were not changed kept what was found.
CREATE FUNCTION in_pieces(piece text, parameters jsonb DEFAULT '{"late_s": 3000}') RETURNS TABLE (calls int, differ bigint)
LANGUAGE plpgsql AS $$
DECLARE
    k int;
BEGIN
    CALL forget_flows();
    calls := 0;
    FOR k IN EXECUTE format('SELECT DISTINCT (%s)::int FROM kept AS f ORDER BY 1', piece) LOOP
        EXECUTE format('INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end, exporter,
            sampling_rate FROM kept AS f WHERE (%s)::int = $1 ORDER BY n', piece) USING k;
        CALL l4.trace_flows('flows', commit => false, parameters => parameters);
        calls := calls + 1;
    END LOOP;
    differ := (SELECT count(*) FROM ((TABLE at_once EXCEPT ALL TABLE answer) UNION ALL (TABLE answer EXCEPT ALL TABLE at_once)) AS x);
    RETURN NEXT;
END
$$;
-- shuffled; in windows of time of one length and another, also where spans meet; a part of the rows late; little by little where spans of both kinds end
SELECT * FROM in_pieces('1');
SELECT * FROM in_pieces('1', '{"window_s": 100}');
SELECT * FROM in_pieces('n % 3');
SELECT * FROM in_pieces('extract(epoch FROM timestamp_end - at(0)) / 397', '{"late_s": 1}');
SELECT * FROM in_pieces('extract(epoch FROM timestamp_end - at(0)) / 430 + CASE WHEN n % 20 = 0 THEN 2 ELSE 0 END');
SELECT * FROM in_pieces('CASE WHEN timestamp_end < at(1399) THEN 0 WHEN timestamp_end < at(1411) THEN extract(epoch FROM timestamp_end - at(1399)) / 2 ELSE 99 END', '{"late_s": 1}');
SELECT * FROM in_pieces('CASE WHEN n % 2 = 0 THEN -extract(epoch FROM timestamp_end - at(0)) / 450 ELSE 1 END');
-- spans that did not change are not looked at again, but a late row opens its own
CREATE TABLE looked AS SELECT span, xmin::text AS row FROM l4._flow_stint;
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start + interval '1 s', timestamp_end + interval '1 s'
FROM flows WHERE timestamp_start > at(2000);
CALL l4.trace_flows('flows');
SELECT count(DISTINCT span) AS kept FROM looked JOIN l4._flow_stint AS s USING (span) WHERE s.xmin::text = row;
-- what the analysis depends on, too: the inventory
UPDATE l4.flow_endpoint SET machine = 'other' WHERE machine = 'm0';
CALL l4.trace_flows('flows');
SELECT count(*) FROM l4.flow_member WHERE machine = 'other';
SELECT count(*) FROM looked JOIN l4._flow_stint AS s USING (span) WHERE s.xmin::text = row;
UPDATE l4.flow_endpoint SET machine = 'm0' WHERE machine = 'other';
-- open packs are merged when they fill the memory
SET maintenance_work_mem = '1MB';
SELECT * FROM in_pieces('1');
-- many addresses whose flows recur nowhere change nothing but the machines, which are not known now
DELETE FROM l4.flow_endpoint;
CALL forget_flows();
INSERT INTO flows SELECT ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end, exporter, sampling_rate FROM kept;
INSERT INTO flows (ip_src, ip_dst, packets, bytes, timestamp_start, timestamp_end)
SELECT nic(0, 0), '10.64.0.0'::inet + n, 100, 100000, at(1700 + n * 0.001), at(1700 + n * 0.001) FROM generate_series(1, 30000) AS n;
CALL l4.trace_flows('flows');
SELECT flow_job, runs, nics, machines, dp, pp, status, coverage FROM l4.flow_job ORDER BY 1;
SELECT count(*) > 30000 AS links FROM l4._flow_link;
CALL forget_flows();
SELECT count(*) AS spans FROM l4._flow_span;
DROP SCHEMA flow_spans CASCADE;
